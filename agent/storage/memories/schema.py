"""The tables of memory; the rules that the database itself enforces on their rows are in `memory_contents.py`.

Words, keys and quotes stand in `item_words`, `item_sources`, `turn_words`, `turn_details` and `thread_log` and nowhere
else. Vectors, by which words can be guessed, stand in `vectors`. Triggers empty vectors and details with their words.
SQLite overwrites deleted data (`PRAGMA secure_delete`), but leaves copies of rows behind in pages that it splits or
merges. Rows of these six tables come at the end, only ever get shorter, and are never deleted, but for all vectors at
once: so their pages are neither split nor merged. Items are looked up by digests.

A deleted thread keeps its scope and a mark in `thread_log`, and a trigger keeps no further turn of it, from
any process.
"""

import sqlalchemy as sa

from ...config import ITEM_QUOTE, ITEM_TEXT
from ..columns import json_value, moves_of, numbered_table, one_of, text, where, whole
from ..dialect import NUMBER, REAL

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

TAKES_BACK = ("rejected", "superseded")
"""The statuses of an item whose words its user took back: the messages that it comes from are not cited."""

IS_LIVE = f"status IN ({', '.join(map(repr, LIVE_STATUSES))})"
MAY_END = f"status IN ('proposed', {', '.join(map(repr, LIVE_STATUSES))})"
IS_PROPOSED = "status = 'proposed'"
"""Conditions on items, word for word those of the partial indexes."""
IS_DELETED = "deleted = 1"
IS_UNREAD = "unread > 0"
"""The conditions of the partial indexes over deleted threads and over turns."""

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
    # how often a model may still try to read it; below 0 it was given up
    whole("unread", server_default="0"),
    whole("taken", server_default="0"),  # until when a reader has it
    sa.UniqueConstraint("scope", "message", "role"),
    one_of("role", SIDES),
    sa.CheckConstraint("blocked IN (0, 1)"),
    sa.Index("turns_unread", "scope", "number", "taken", **where(IS_UNREAD)),
    followed=True,
)

turn_words = sa.Table(
    "turn_words",
    metadata,
    sa.Column("turn", NUMBER, sa.ForeignKey("turns.number"), primary_key=True, autoincrement=False),
    text("text"),
    sqlite_strict=True,
)

# details shown with an answer, as JSON: its citations, confidence and reason for a refusal
turn_details = sa.Table(
    "turn_details",
    metadata,
    sa.Column("turn", NUMBER, sa.ForeignKey("turns.number"), primary_key=True, autoincrement=False),
    text("details"),
    sqlite_strict=True,
)

thread_log = numbered_table(  # renamed and deleted threads; the last row with a title has the present one
    metadata,
    "thread_log",
    whole("scope", sa.ForeignKey("scopes.number")),
    whole("at"),
    text("title"),
    whole("deleted"),
    sa.CheckConstraint("deleted IN (0, 1)"),
    sa.Index("thread_log_of", "scope"),
    sa.Index("threads_deleted", "scope", **where(IS_DELETED)),
    followed=True,
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
    sa.Column("confidence", REAL, nullable=False),
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
    sa.Column("item", NUMBER, sa.ForeignKey("items.number"), primary_key=True, autoincrement=False),
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
    followed=True,
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
    sa.Column("scale", REAL, nullable=False),
    sa.Column("steps", sa.LargeBinary, nullable=False),
    sa.CheckConstraint("(turn IS NULL) <> (item IS NULL)"),
    sa.UniqueConstraint("turn", "embedder"),
    sa.UniqueConstraint("item", "embedder"),
)

moves = moves_of(metadata)
