"""The text of tables, indexes and triggers for PostgreSQL, made of the same declarations as SQLite's.

Conditions are declared in SQL that both read, but for the phrases in `_PHRASES`. A trigger is a function and a trigger
that runs it. Tables whose rows are followed get the column `dialect.PLACE`, the transaction that made the row: numbers
come out of a sequence before their transactions commit, in any order, so a reader of "all rows after the last number"
would miss the row of a transaction that commits late (`agent.storage.followed_rows`). Below the oldest transaction
that still runs there are no more.
"""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from ..dialect import FOLLOWED, PLACE, name_parameters
from ..triggers import Trigger

_PHRASES: Final = {
    "(needs_approval AND ": "(needs_approval = 1 AND ",
    "decided_by IS NOT 'rule'": "decided_by IS DISTINCT FROM 'rule'",
    "x''": "''::bytea",
    "NOT (0)": "NOT (false)",
}
OF_WORDS: Final = frozenset(
    (
        *("actions", "audit", "calls", "documents", "feedback", "idempotency", "messages"),
        *("item_sources", "item_words", "thread_log", "turn_details", "turn_words", "vectors"),
        *("branches", "snapshots", "state_words", "version_words", "words"),
    )
)
"""The tables that hold words of users: autovacuum takes what is emptied out of them at its next round."""
_PLACE: Final = f"{PLACE} bigint DEFAULT (pg_current_xact_id()::text::bigint) NOT NULL"
_DIALECT: Final = name_parameters("postgresql")
_VACUUMED: Final = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1"


def write_tables(metadata: sa.MetaData) -> dict[str, list[str]]:
    """Return the statements that make each table and its indexes, by its name, in an order in which they can be run."""
    return {table.name: _write_table(table) for table in metadata.sorted_tables}


def write_triggers(triggers: tuple[Trigger, ...]) -> list[str]:
    """Return the statements that make all triggers, anew where they are there."""
    return [statement for trigger in triggers for statement in _write_trigger(trigger)]


def _write_table(table: sa.Table) -> list[str]:
    made = [str(CreateTable(table).compile(dialect=_DIALECT))]
    if table.info.get(FOLLOWED):
        made.append(f"ALTER TABLE {table.name} ADD COLUMN {_PLACE}")
        made.append(f"CREATE INDEX {table.name}_{PLACE} ON {table.name} ({PLACE}, number)")
    if table.name in OF_WORDS:
        made.append(f"ALTER TABLE {table.name} SET ({_VACUUMED})")
    made += [_write_index(each) for each in sorted(table.indexes, key=_name)]
    return [_rephrase(statement) for statement in made]


def _write_index(index: sa.Index) -> str:
    index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    return str(CreateIndex(index).compile(dialect=_DIALECT))


def _name(index: sa.Index) -> str:
    return str(index.name)


def _write_trigger(trigger: Trigger) -> list[str]:
    row = "OLD" if "DELETE" in trigger.event else "NEW"
    deed, left = f"{trigger.follow_up};", row
    if trigger.refusal:
        deed = f"RAISE EXCEPTION '{trigger.refusal}' USING ERRCODE = 'integrity_constraint_violation';"
    elif not trigger.follow_up:
        deed = "RETURN NULL;"
    body = f"IF {trigger.when} THEN {deed} END IF;" if trigger.when else deed
    return [
        f"CREATE OR REPLACE FUNCTION {trigger.name}() RETURNS trigger LANGUAGE plpgsql AS $trigger$"
        f" BEGIN {_rephrase(body)} RETURN {left}; END $trigger$",
        f"CREATE OR REPLACE TRIGGER {trigger.name} {trigger.event} ON {trigger.table}"
        f" FOR EACH ROW EXECUTE FUNCTION {trigger.name}()",
    ]


def _rephrase(statement: str) -> str:
    for phrase, other in _PHRASES.items():
        statement = statement.replace(phrase, other)
    return statement
