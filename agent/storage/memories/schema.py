"""The tables of memory, and the rules that the database itself enforces.

An item's status moves only as its state table allows: the table `moves` is filled from it, and a trigger checks it. An
item begins as proposed. It is never live without a decision, a source and a place of its own among the live items of
its scope. Its text never changes: it can only be emptied, once the item is forgotten, and its quotes before. Rows of
`item_log` are only added.

Words, keys and quotes stand in `item_words`, `item_sources` and `turn_words` and nowhere else. Vectors, by which words
can be guessed, stand in `vectors`: a trigger empties them with their words. SQLite overwrites deleted data (`PRAGMA
secure_delete`), but leaves copies of rows behind in pages that it splits or merges. Rows of these four tables come at
the end, only ever get shorter, and are never deleted, but for all vectors at once: so their pages are neither split nor
merged. Items are looked up by digests.
"""

from functools import cache

import sqlalchemy as sa

from ...config import ITEM_QUOTE, ITEM_TEXT
from ...memory.states import TABLE
from ..columns import (
    drop_changed,
    fill_moves,
    json_value,
    list_names,
    moves_of,
    numbered_table,
    one_of,
    statements,
    text,
    where,
    whole,
)
from ..connection import execute_raw
from ..file_contents import FileContents
from ..migrations import MEMORY_STEPS
from . import FILE

SCHEMA = max(MEMORY_STEPS)  # PRAGMA user_version of a file that this code reads and writes

MOVES = frozenset(
    (row.source.value, row.target.value)
    for row in TABLE.rows
    if row.target is not None and row.target is not row.source
)
"""The allowed moves of an item's status."""

# The words of the columns that have a fixed set of them, equal to the `Literal` types of `agent.ports.memory`. They are
# part of the tables: add a word here with a step in `migrations.py` that adds it to the table of an older file.
SIDES = ("user", "assistant")
ITEM_TYPES = ("fact", "rule", "decision", "open_loop", "idea", "event", "metric", "preference", "lesson")
ITEM_STATUSES = (
    "proposed",
    "accepted",
    "active",
    "blocked",
    "done",
    "rejected",
    "expired",
    "superseded",
    "forgotten",
)
LIVE_STATUSES = ("accepted", "active", "blocked")
ITEM_DECIDERS = ("user", "rule")
SOURCE_KINDS = ("message", "document", "tool")

IS_LIVE = f"status IN ({', '.join(map(repr, LIVE_STATUSES))})"
MAY_END = f"status IN ('proposed', {', '.join(map(repr, LIVE_STATUSES))})"
IS_PROPOSED = "status = 'proposed'"
"""Conditions on items, word for word those of the partial indexes."""
IS_UNREAD = "unread > 0"
"""The condition of the partial index over turns."""

metadata = sa.MetaData()

scopes = numbered_table(
    metadata,
    "scopes",
    text("project"),
    text("user"),
    text("thread"),
    sa.UniqueConstraint("project", "user", "thread"),
)

turns = numbered_table(
    metadata,
    "turns",
    whole("scope", sa.ForeignKey("scopes.number")),
    text("message"),
    text("role"),
    text("speaker"),
    whole("at"),
    whole("blocked"),
    whole("sitting"),
    whole(
        "unread", server_default="0"
    ),  # how often a model may still try to read it; below 0 it was given up
    whole("taken", server_default="0"),  # until when a reader has it
    sa.UniqueConstraint("scope", "message", "role"),
    one_of("role", SIDES),
    sa.CheckConstraint("blocked IN (0, 1)"),
    sa.Index("turns_unread", "scope", "number", "taken", **where(IS_UNREAD)),
)

turn_words = sa.Table(
    "turn_words",
    metadata,
    sa.Column("turn", sa.Integer, sa.ForeignKey("turns.number"), primary_key=True, autoincrement=False),
    text("text"),
    sqlite_strict=True,
)

turn_cites = numbered_table(
    metadata,
    "turn_cites",
    whole("turn", sa.ForeignKey("turns.number")),
    text("ref"),
    sa.Index("turn_cites_of", "ref"),
)

items = numbered_table(
    metadata,
    "items",
    whole("scope", sa.ForeignKey("scopes.number")),
    text("type"),
    text("status"),
    text("about"),  # a digest of its key
    text("place"),  # a digest of its key and slot, of which one in a scope is live
    whole("valid_from"),
    whole("valid_to", null=True),
    whole("expires_at", null=True),
    whole("ends", null=True),  # the first of these two, as it was made
    sa.Column("confidence", sa.REAL, nullable=False),
    whole("created_at"),
    whole("since"),  # when it came into its status
    whole("decided_at", null=True),
    text("decided_by", null=True),
    whole("supersedes", sa.ForeignKey("items.number"), null=True),
    whole("superseded_by", sa.ForeignKey("items.number"), null=True),
    whole("revision"),
    one_of("type", ITEM_TYPES),
    one_of("status", ITEM_STATUSES),
    one_of("decided_by", ITEM_DECIDERS),
    sa.CheckConstraint("confidence BETWEEN 0 AND 1"),
    sa.CheckConstraint("valid_to IS NULL OR valid_to > valid_from"),
    sa.CheckConstraint("type <> 'metric' OR expires_at IS NOT NULL", name="limited"),
    sa.CheckConstraint("(decided_at IS NULL) = (decided_by IS NULL)"),
    sa.CheckConstraint(
        f"NOT ({IS_LIVE} OR status IN ('done', 'rejected')) OR decided_by IS NOT NULL", name="decided"
    ),
    sa.CheckConstraint("decided_by IS NOT 'rule' OR type IN ('event', 'metric')", name="by_rule"),
    sa.CheckConstraint("status <> 'superseded' OR superseded_by IS NOT NULL", name="closed"),
    sa.CheckConstraint(f"NOT ({IS_LIVE}) OR (superseded_by IS NULL AND place <> '')", name="open"),
    sa.Index("items_listed", "scope", "number"),
    sa.Index("items_about", "scope", "about"),
    sa.Index("one_live", "scope", "place", unique=True, **where(IS_LIVE)),
    sa.Index("items_live", "scope", "type", "number", **where(IS_LIVE)),
    sa.Index("items_ending", "ends", **where(MAY_END)),
    sa.Index("items_waiting", "since", **where(IS_PROPOSED)),
    sa.Index("items_closed_by", "superseded_by", **where("superseded_by IS NOT NULL")),
)

item_words = sa.Table(
    "item_words",
    metadata,
    sa.Column("item", sa.Integer, sa.ForeignKey("items.number"), primary_key=True, autoincrement=False),
    text("text", sa.CheckConstraint(f"length(text) <= {ITEM_TEXT}")),
    json_value("key"),
    text("slot"),
    json_value("numbers"),
    sqlite_strict=True,
)

item_sources = numbered_table(
    metadata,
    "item_sources",
    whole("item", sa.ForeignKey("items.number")),
    whole("nth"),
    whole("scope", sa.ForeignKey("scopes.number")),  # with the thread in which it was found
    text("kind"),
    text("ref"),
    whole("first"),
    whole("last"),
    text("quote", sa.CheckConstraint(f"length(quote) <= {ITEM_QUOTE}")),
    one_of("kind", SOURCE_KINDS),
    sa.UniqueConstraint("item", "nth"),
    sa.Index("item_sources_said", "scope", **where("kind = 'message'")),
)

item_log = numbered_table(
    metadata,
    "item_log",
    whole("item", sa.ForeignKey("items.number")),
    whole("at"),
    text("trigger"),
    text("before", null=True),
    text("after"),
    text("by", null=True),
    sa.Index("item_log_of", "item"),
)

gaps = numbered_table(
    metadata,
    "gaps",
    whole("scope", sa.ForeignKey("scopes.number")),
    whole("at"),
    whole("count"),
    sa.CheckConstraint("count > 0"),
)

feed = numbered_table(  # changes that an index has to take in, in their order; filled by triggers
    metadata,
    "feed",
    whole("turn", null=True),
    whole("item", null=True),
)

embedders = numbered_table(
    metadata, "embedders", text("name"), whole("dimension"), sa.UniqueConstraint("name", "dimension")
)

vectors = numbered_table(  # can be made again from the words; all rows are deleted at once, or none
    metadata,
    "vectors",
    whole("embedder", sa.ForeignKey("embedders.number")),
    whole("turn", sa.ForeignKey("turns.number"), null=True),
    whole("item", sa.ForeignKey("items.number"), null=True),
    sa.Column("scale", sa.REAL, nullable=False),
    sa.Column("steps", sa.LargeBinary, nullable=False),
    sa.CheckConstraint("(turn IS NULL) <> (item IS NULL)"),
    sa.UniqueConstraint("turn", "embedder"),
    sa.UniqueConstraint("item", "embedder"),
)

moves = moves_of(metadata)


def _no_delete_trigger(table: str) -> dict[str, str]:
    """Return the trigger that forbids deleting rows of `table`."""
    return {
        f"{table}_kept": f"""CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}
        BEGIN SELECT RAISE(ABORT, 'what is remembered is emptied, not deleted'); END"""
    }


def _empty_only_triggers(table: str, column: str, said: str, unless: str = "0") -> dict[str, str]:
    """Return the triggers that let a `column` of words only be emptied, once its item is forgotten.

    `said` lists the other columns that must not change. `unless` is a condition for changes that are allowed.
    """
    return _no_delete_trigger(table) | {
        f"{table}_frozen": f"""CREATE TRIGGER {table}_frozen BEFORE UPDATE OF {column}, {said} ON {table}
        WHEN NOT ({unless})
        AND (NEW.{column} <> '' OR (SELECT status FROM items WHERE number = OLD.item) <> 'forgotten')
        BEGIN SELECT RAISE(ABORT, 'what is remembered does not change'); END"""
    }


_TRIGGERS = {
    "items_moves": """CREATE TRIGGER items_moves BEFORE UPDATE OF status ON items
    WHEN OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)
    BEGIN SELECT RAISE(ABORT, 'an item does not move so'); END""",
    "items_begin": """CREATE TRIGGER items_begin BEFORE INSERT ON items WHEN NEW.status <> 'proposed'
    BEGIN SELECT RAISE(ABORT, 'an item does not begin so'); END""",
    "items_frozen": """CREATE TRIGGER items_frozen BEFORE UPDATE OF
    scope, type, valid_from, expires_at, confidence, created_at ON items
    BEGIN SELECT RAISE(ABORT, 'what was proposed does not change'); END""",
    "items_place": """CREATE TRIGGER items_place BEFORE UPDATE OF about, place ON items
    WHEN NEW.status <> 'forgotten' OR NEW.about <> '' OR NEW.place <> ''
    BEGIN SELECT RAISE(ABORT, 'what was proposed does not change'); END""",
    "item_log_sourced": """CREATE TRIGGER item_log_sourced BEFORE INSERT ON item_log
    WHEN NOT EXISTS (SELECT 1 FROM item_sources WHERE item = NEW.item)
    BEGIN SELECT RAISE(ABORT, 'an item has a source'); END""",
    "item_log_frozen": """CREATE TRIGGER item_log_frozen BEFORE UPDATE ON item_log
    BEGIN SELECT RAISE(ABORT, 'what happened does not change'); END""",
    "turn_words_frozen": """CREATE TRIGGER turn_words_frozen BEFORE UPDATE ON turn_words WHEN NEW.text <> ''
    BEGIN SELECT RAISE(ABORT, 'what was said does not change'); END""",
    "feed_said": """CREATE TRIGGER feed_said AFTER INSERT ON turn_words
    BEGIN INSERT INTO feed (turn) VALUES (NEW.turn); END""",
    "feed_unsaid": """CREATE TRIGGER feed_unsaid AFTER UPDATE ON turn_words
    BEGIN INSERT INTO feed (turn) VALUES (NEW.turn); END""",
    "feed_changed": """CREATE TRIGGER feed_changed AFTER INSERT ON item_log
    BEGIN INSERT INTO feed (item) VALUES (NEW.item); END""",
    "vectors_late": """CREATE TRIGGER vectors_late BEFORE INSERT ON vectors
    WHEN NOT EXISTS (SELECT 1 FROM turn_words WHERE turn = NEW.turn AND text <> '')
    AND NOT EXISTS (SELECT 1 FROM item_words WHERE item = NEW.item AND text <> '')
    BEGIN SELECT RAISE(IGNORE); END""",
    "vectors_frozen": """CREATE TRIGGER vectors_frozen BEFORE UPDATE ON vectors WHEN NEW.steps <> x''
    BEGIN SELECT RAISE(ABORT, 'a vector does not change'); END""",
    "vectors_unsaid": """CREATE TRIGGER vectors_unsaid AFTER UPDATE ON turn_words WHEN NEW.text = ''
    BEGIN UPDATE vectors SET scale = 0, steps = x'' WHERE turn = NEW.turn; END""",
    "vectors_forgotten": """CREATE TRIGGER vectors_forgotten AFTER UPDATE ON item_words WHEN NEW.text = ''
    BEGIN UPDATE vectors SET scale = 0, steps = x'' WHERE item = NEW.item; END""",
    **_no_delete_trigger("items"),
    **_no_delete_trigger("item_log"),
    **_no_delete_trigger("turns"),
    **_no_delete_trigger("turn_words"),
    **_empty_only_triggers("item_words", "text", "key, slot, numbers"),
    **_empty_only_triggers(
        "item_sources", "ref", "kind, quote", "NEW.quote = '' AND NEW.ref = OLD.ref AND NEW.kind = OLD.kind"
    ),
}


def prepare(connection: sa.Connection, now: int) -> None:
    """Create missing tables, indexes and triggers, in a write transaction."""
    drop_changed(connection, _TRIGGERS)
    known = list_names(connection)
    for name, statement in _made_by().items():
        if name not in known:
            execute_raw(connection, statement)
    fill_moves(connection, moves, MOVES)


@cache
def _made_by() -> dict[str, str]:
    return statements(metadata, _TRIGGERS)


MEMORY = FileContents(
    file=FILE,
    name="memory",
    unusable=(
        "what is remembered cannot be kept in {data}: {why}; choose another folder with --data DIR, "
        "or go without it with --memory off"
    ),
    steps=MEMORY_STEPS,
    prepare=prepare,
    # Overwrites what is erased; sorts in memory, not in files; and cuts off the log that a killed process left.
    pragmas=("secure_delete=ON", "temp_store=MEMORY", "wal_checkpoint(TRUNCATE)"),
)
