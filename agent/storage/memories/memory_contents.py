"""The database of memory: its tables, the rules that it enforces on their rows, and the steps to today's schema.

An item's status moves only as its state table allows: the table `moves` is filled from it, and a trigger checks it. An
item begins as proposed. It is never live without a decision, a source and a place of its own among the live items of
its scope. Its text never changes: it can only be emptied, once the item is forgotten, and its quotes before. Rows of
`item_log` are only added. Triggers empty vectors and details with their words.
"""

import sqlalchemy as sa

from ...memory.states import TABLE
from ..columns import fill_moves
from ..contents import DatabaseContents
from ..migrations import MEMORY_STEPS
from ..triggers import Trigger
from . import FILE
from .schema import IS_DELETED, metadata, moves

SCHEMA = max(MEMORY_STEPS)  # of a database that this code reads and writes

MOVES = frozenset(
    (row.source.value, row.target.value)
    for row in TABLE.rows
    if row.target is not None and row.target is not row.source
)
"""The allowed moves of an item's status."""


def _no_delete_trigger(table: str) -> Trigger:
    """Return the trigger that forbids deleting rows of `table`."""
    return Trigger(
        name=f"{table}_kept",
        table=table,
        event="BEFORE DELETE",
        refusal="what is remembered is emptied, not deleted",
        indent=8,
    )


def _empty_only_triggers(table: str, column: str, said: str, unless: str = "0") -> tuple[Trigger, Trigger]:
    """Return the triggers that let a `column` of words only be emptied, once its item is forgotten.

    `said` lists the other columns that must not change. `unless` is a condition for changes that are allowed.
    """
    forgotten = "(SELECT status FROM items WHERE number = OLD.item)"
    return _no_delete_trigger(table), Trigger(
        name=f"{table}_frozen",
        table=table,
        event=f"BEFORE UPDATE OF {column}, {said}",
        when=f"NOT ({unless})\n        AND (NEW.{column} <> '' OR {forgotten} <> 'forgotten')",
        refusal="what is remembered does not change",
        indent=8,
    )


TRIGGERS = (
    Trigger(
        name="items_moves",
        table="items",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="an item does not move so",
    ),
    Trigger(
        name="items_begin",
        table="items",
        event="BEFORE INSERT",
        when="NEW.status <> 'proposed'",
        refusal="an item does not begin so",
    ),
    Trigger(
        name="items_frozen",
        table="items",
        event="BEFORE UPDATE OF\n    scope, type, valid_from, expires_at, confidence, created_at",
        refusal="what was proposed does not change",
    ),
    Trigger(
        name="items_place",
        table="items",
        event="BEFORE UPDATE OF about, place",
        when="NEW.status <> 'forgotten' OR NEW.about <> '' OR NEW.place <> ''",
        refusal="what was proposed does not change",
    ),
    Trigger(
        name="item_log_sourced",
        table="item_log",
        event="BEFORE INSERT",
        when="NOT EXISTS (SELECT 1 FROM item_sources WHERE item = NEW.item)",
        refusal="an item has a source",
    ),
    Trigger(
        name="item_log_frozen",
        table="item_log",
        event="BEFORE UPDATE",
        refusal="what happened does not change",
    ),
    Trigger(
        name="turn_words_frozen",
        table="turn_words",
        event="BEFORE UPDATE",
        when="NEW.text <> ''",
        refusal="what was said does not change",
    ),
    Trigger(
        name="feed_said",
        table="turn_words",
        event="AFTER INSERT",
        follow_up="INSERT INTO feed (turn) VALUES (NEW.turn)",
    ),
    Trigger(
        name="feed_unsaid",
        table="turn_words",
        event="AFTER UPDATE",
        follow_up="INSERT INTO feed (turn) VALUES (NEW.turn)",
    ),
    Trigger(
        name="feed_changed",
        table="item_log",
        event="AFTER INSERT",
        follow_up="INSERT INTO feed (item) VALUES (NEW.item)",
    ),
    Trigger(
        name="vectors_late",
        table="vectors",
        event="BEFORE INSERT",
        when=(
            "NOT EXISTS (SELECT 1 FROM turn_words WHERE turn = NEW.turn AND text <> '')\n"
            "    AND NOT EXISTS (SELECT 1 FROM item_words WHERE item = NEW.item AND text <> '')"
        ),
    ),
    Trigger(
        name="vectors_frozen",
        table="vectors",
        event="BEFORE UPDATE",
        when="NEW.steps <> x''",
        refusal="a vector does not change",
    ),
    Trigger(
        name="vectors_unsaid",
        table="turn_words",
        event="AFTER UPDATE",
        when="NEW.text = ''",
        follow_up="UPDATE vectors SET scale = 0, steps = x'' WHERE turn = NEW.turn",
    ),
    Trigger(
        name="vectors_forgotten",
        table="item_words",
        event="AFTER UPDATE",
        when="NEW.text = ''",
        follow_up="UPDATE vectors SET scale = 0, steps = x'' WHERE item = NEW.item",
    ),
    Trigger(
        name="details_unsaid",
        table="turn_words",
        event="AFTER UPDATE",
        when="NEW.text = ''",
        follow_up="UPDATE turn_details SET details = '' WHERE turn = NEW.turn",
    ),
    Trigger(
        name="turn_details_frozen",
        table="turn_details",
        event="BEFORE UPDATE",
        when="NEW.details <> ''",
        refusal="what was shown does not change",
    ),
    Trigger(
        name="thread_log_frozen",
        table="thread_log",
        event="BEFORE UPDATE",
        when="NEW.title <> '' OR NEW.scope <> OLD.scope OR NEW.deleted <> OLD.deleted",
        refusal="what happened does not change",
    ),
    Trigger(
        name="turns_deleted",
        table="turns",
        event="BEFORE INSERT",
        when=f"EXISTS (SELECT 1 FROM thread_log WHERE scope = NEW.scope AND {IS_DELETED})",
    ),
    _no_delete_trigger("turn_details"),
    _no_delete_trigger("thread_log"),
    _no_delete_trigger("items"),
    _no_delete_trigger("item_log"),
    _no_delete_trigger("turns"),
    _no_delete_trigger("turn_words"),
    *_empty_only_triggers("item_words", "text", "key, slot, numbers"),
    *_empty_only_triggers(
        "item_sources", "ref", "kind, quote", "NEW.quote = '' AND NEW.ref = OLD.ref AND NEW.kind = OLD.kind"
    ),
)


def fill(connection: sa.Connection, now: int) -> None:
    """Write the rows that belong to the schema, in a write transaction."""
    fill_moves(connection, moves, MOVES)


MEMORY = DatabaseContents(
    file=FILE,
    name="memory",
    unusable="what is remembered cannot be kept in {data}: {why}",
    instead="choose another place with --data DIR, or go without it with --memory off",
    steps=MEMORY_STEPS,
    tables=metadata,
    triggers=TRIGGERS,
    fill=fill,
    watched=True,
)
