"""What the file of what is remembered refuses by itself, whatever code writes it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.config import ITEM_QUOTE, ITEM_TEXT
from agent.memory.states import TABLE
from agent.ports.vectors import PackedVector, VectorKind
from agent.storage.memories import FILE
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.memories.store import open_database_memory
from agent.storage.sqlite.database_file import DatabaseFile
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, a_draft, accepted, an_exchange, budget, proposed

MOVES = {
    (row.source.value, row.target.value)
    for row in TABLE.rows
    if row.target is not None and row.target is not row.source
}
STATUSES = sorted({status for move in MOVES for status in move})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a live item i1, a proposed one i2 that contradicts it, and one exchange."""
    folder = tmp_path_factory.mktemp("schema")

    async def fill() -> None:
        async with open_database_memory(folder, inline, Noon()) as memory:
            await memory.keep_exchanges([an_exchange(details="{}")], 1)
            await memory.rename_thread(ANA, "Named", 1)
            await accepted(memory, budget(50))
            await proposed(memory, budget(60))
            await proposed(
                memory, a_draft("It is 5 %", "share", "metric", expires_at=Noon().now_ms() + 9, by_rule=True)
            )
            await memory.keep_vectors(VectorKind("mini:1", 2), [PackedVector("t1", b"ab", 1.0)])

    trio.run(fill)
    return folder / FILE


@pytest.fixture
def sql(made: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it, in memory."""
    opened = sqlite3.connect(":memory:", isolation_level=None)
    with closing(sqlite3.connect(made)) as kept:
        kept.backup(opened)
    opened.execute("PRAGMA foreign_keys=ON")
    yield opened
    opened.close()


def test_the_moves_are_the_tables_own(sql: sqlite3.Connection) -> None:
    """Each that the item's table has, and no other."""
    assert set(sql.execute("SELECT a, b FROM moves").fetchall()) == MOVES


def test_an_item_moves_only_as_its_table_says(sql: sqlite3.Connection) -> None:
    """From every status to every other one; with all else in order."""
    sql.execute("DELETE FROM moves")
    every = [(a, b) for a in STATUSES for b in STATUSES if a != b]
    sql.executemany("INSERT INTO moves VALUES (?, ?)", every)
    for before, after in every:
        sql.execute("BEGIN")
        decided = "decided_at = 1, decided_by = 'user'"
        for status in ("rejected", before):
            closed = 2 if status == "superseded" else None
            sql.execute(
                f"UPDATE items SET status = ?, superseded_by = ?, {decided} WHERE number = 1",
                (status, closed),
            )
        sql.execute("DELETE FROM moves")
        sql.executemany("INSERT INTO moves VALUES (?, ?)", MOVES)
        closed = 2 if after == "superseded" else None
        move = f"UPDATE items SET status = '{after}', superseded_by = ? WHERE number = 1"
        if (before, after) in MOVES:
            assert sql.execute(move, (closed,)).rowcount == 1
        else:
            with pytest.raises(sqlite3.IntegrityError, match="an item does not move so"):
                sql.execute(move, (closed,))
        sql.execute("ROLLBACK")


LONG = "å" * (ITEM_TEXT + 1)
VECTOR = "INSERT INTO vectors (embedder, turn, item, scale, steps) VALUES"
REFUSED = {
    "a second live one in its place": (
        "UPDATE items SET status = 'accepted', decided_at = 1, decided_by = 'user' WHERE number = 2",
        "UNIQUE constraint failed: items.scope, items.place",
    ),
    "live without a decision": (
        "UPDATE items SET decided_at = NULL, decided_by = NULL WHERE number = 3",
        "decided",
    ),
    "a decision without its time": ("UPDATE items SET decided_by = 'user' WHERE number = 2", "CHECK"),
    "a rule that accepts a fact": (
        "UPDATE items SET status = 'rejected', decided_at = 1, decided_by = 'rule' WHERE number = 2",
        "by_rule",
    ),
    "closed without a successor": ("UPDATE items SET status = 'superseded' WHERE number = 1", "closed"),
    "live with a successor": ("UPDATE items SET superseded_by = 2 WHERE number = 1", "open"),
    "a successor that is not there": (
        "UPDATE items SET status = 'superseded', superseded_by = 99 WHERE number = 1",
        "FOREIGN KEY",
    ),
    "an end before its beginning": ("UPDATE items SET valid_to = valid_from WHERE number = 1", "CHECK"),
    "a raised confidence": ("UPDATE items SET confidence = 0.9 WHERE number = 1", "does not change"),
    "a widened scope": ("UPDATE items SET scope = 1 WHERE number = 1", "does not change"),
    "a later end": ("UPDATE items SET expires_at = 9 WHERE number = 3", "does not change"),
    "another type": ("UPDATE items SET type = 'rule' WHERE number = 1", "does not change"),
    "another place": ("UPDATE items SET place = 'x' WHERE number = 2", "does not change"),
    "another text": ("UPDATE item_words SET text = 'x' WHERE item = 1", "does not change"),
    "other numbers": ("UPDATE item_words SET numbers = '[]' WHERE item = 1", "does not change"),
    "no text before it is forgotten": ("UPDATE item_words SET text = '' WHERE item = 1", "does not change"),
    "another quote": ("UPDATE item_sources SET quote = 'x' WHERE item = 1", "does not change"),
    "another source": ("UPDATE item_sources SET ref = 'x', quote = '' WHERE item = 1", "does not change"),
    "another kind of source": (
        "UPDATE item_sources SET kind = 'tool', quote = '' WHERE item = 1",
        "does not change",
    ),
    "no source before it is forgotten": (
        "UPDATE item_sources SET ref = '' WHERE item = 1",
        "does not change",
    ),
    "a source that is deleted": ("DELETE FROM item_sources WHERE item = 1", "not deleted"),
    "words that are deleted": ("DELETE FROM item_words WHERE item = 1", "not deleted"),
    "an item that is deleted": ("DELETE FROM items WHERE number = 2", "not deleted"),
    "other words of a turn": ("UPDATE turn_words SET text = 'x' WHERE turn = 1", "does not change"),
    "a turn that is deleted": ("DELETE FROM turns WHERE number = 1", "not deleted"),
    "words of a turn that are deleted": ("DELETE FROM turn_words WHERE turn = 1", "not deleted"),
    "other details of an answer": ("UPDATE turn_details SET details = 'x'", "does not change"),
    "details that are deleted": ("DELETE FROM turn_details", "not deleted"),
    "another title in the log": ("UPDATE thread_log SET title = 'x'", "does not change"),
    "a deleted thread that comes back": ("UPDATE thread_log SET title = '', deleted = 1", "does not change"),
    "a thread's log that is deleted": ("DELETE FROM thread_log", "not deleted"),
    "another history": ("UPDATE item_log SET at = 0 WHERE item = 1", "does not change"),
    "history that is deleted": ("DELETE FROM item_log WHERE item = 1", "not deleted"),
    "a gap of nothing": ("INSERT INTO gaps (scope, at, count) VALUES (1, 1, 0)", "CHECK"),
    "another vector": ("UPDATE vectors SET steps = x'00'", "does not change"),
    "a vector of two": (
        f"{VECTOR} (1, 2, 1, 1, x'00')",
        "CHECK",
    ),
    "a vector of no embedder": (
        f"{VECTOR} (9, 2, NULL, 1, x'00')",
        "FOREIGN",
    ),
    "a second vector": (
        f"{VECTOR} (1, 1, NULL, 1, x'00')",
        "UNIQUE",
    ),
    "a turn twice": (
        "INSERT INTO turns (scope, message, role, speaker, at, blocked, sitting)"
        " SELECT scope, message, role, 'x', 1, 0, 0 FROM turns WHERE number = 1",
        "UNIQUE",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_break_a_promise_is_refused(sql: sqlite3.Connection, what: str) -> None:
    """By the database itself."""
    statement, why = REFUSED[what]
    before = [*sql.iterdump()]
    with pytest.raises(sqlite3.IntegrityError, match=why):
        sql.execute(statement)
    assert [*sql.iterdump()] == before


def _insert(sql: sqlite3.Connection, **other: Any) -> int | None:
    row: dict[str, Any] = {
        "scope": 1,
        "type": "fact",
        "status": "proposed",
        "about": "a",
        "place": "b",
        "valid_from": 1,
        "confidence": 0.5,
        "created_at": 1,
        "since": 1,
        "revision": 1,
        **other,
    }
    marks = ", ".join("?" * len(row))
    return sql.execute(f"INSERT INTO items ({', '.join(row)}) VALUES ({marks})", [*row.values()]).lastrowid


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "proposed"])
def test_an_item_begins_as_proposed(sql: sqlite3.Connection, status: str) -> None:
    """In no other status, whoever decided it."""
    with pytest.raises(sqlite3.IntegrityError, match="an item does not begin so"):
        _insert(sql, status=status, decided_at=1, decided_by="user", superseded_by=1)


@pytest.mark.parametrize(
    "other",
    [
        {"type": "metric"},
        {"type": "lie"},
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"scope": 99},
        {"valid_to": 1},
    ],
)
def test_an_item_that_is_not_sound_is_refused(sql: sqlite3.Connection, other: dict[str, Any]) -> None:
    """A metric that never ends, a type that is none, a confidence out of range, nobody's, one that ends at once."""
    with pytest.raises(sqlite3.IntegrityError):
        _insert(sql, **other)


def test_an_item_has_a_source_and_words_of_some_length(sql: sqlite3.Connection) -> None:
    """Nothing can happen to it before it has one; neither its text nor a quote is longer than it may be."""
    number = _insert(sql)
    log = "INSERT INTO item_log (item, at, trigger, after) VALUES (?, 1, 'propose', 'proposed')"
    with pytest.raises(sqlite3.IntegrityError, match="an item has a source"):
        sql.execute(log, [number])
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        sql.execute("INSERT INTO item_words VALUES (?, ?, '[]', '', '[]')", [number, LONG])
    columns = "item, nth, scope, kind, ref, first, last, quote"
    source = f"INSERT INTO item_sources ({columns}) VALUES (?, 0, 1, ?, 'm', 0, 0, ?)"
    for kind, quote in (("message", "å" * (ITEM_QUOTE + 1)), ("hearsay", "")):
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            sql.execute(source, [number, kind, quote])
    sql.execute(source, [number, "message", "å" * ITEM_QUOTE])
    sql.execute(log, [number])


def test_a_quote_can_be_emptied_alone(sql: sqlite3.Connection) -> None:
    """Where its words are forgotten with another item; where it is from stays."""
    assert sql.execute("UPDATE item_sources SET quote = '' WHERE item = 1").rowcount == 1
    assert sql.execute("SELECT kind, ref != '', quote FROM item_sources WHERE item = 1").fetchall() == [
        ("message", 1, "")
    ]


def test_what_changes_is_told_to_an_index(sql: sqlite3.Connection) -> None:
    """By the database, so that no code can forget it."""
    before = sql.execute("SELECT max(number) FROM feed").fetchone()[0]
    sql.execute("UPDATE turn_words SET text = '' WHERE turn = 1")
    sql.execute("INSERT INTO item_log (item, at, trigger, after) VALUES (1, 1, 'x', 'accepted')")
    told = sql.execute("SELECT turn, item FROM feed WHERE number > ?", [before]).fetchall()
    assert told == [(1, None), (None, 1)]


def test_a_file_is_made_again_where_something_is_missing(made: Path, tmp_path: Path) -> None:
    """Opened again, a table, an index and a trigger that are not there are made, and the moves are the table's."""
    (tmp_path / FILE).write_bytes(made.read_bytes())
    with sqlite3.connect(tmp_path / FILE) as opened:
        before = {name for (name,) in opened.execute("SELECT name FROM sqlite_master")}
        for gone in ("TABLE gaps", "INDEX items_about", "TRIGGER items_moves"):
            opened.execute(f"DROP {gone}")
        (frozen,) = opened.execute("SELECT sql FROM sqlite_master WHERE name = 'items_frozen'").fetchone()
        opened.execute("DROP TRIGGER items_frozen")
        opened.execute(frozen.replace("scope, type,", "scope,"))
        opened.execute("INSERT INTO moves VALUES ('forgotten', 'accepted')")
    opened.close()
    file = DatabaseFile(tmp_path, Noon(), MEMORY)
    file.open()
    file.close()
    with sqlite3.connect(tmp_path / FILE) as opened:
        assert {name for (name,) in opened.execute("SELECT name FROM sqlite_master")} == before
        assert opened.execute("SELECT sql FROM sqlite_master WHERE name = 'items_frozen'").fetchone() == (
            frozen,
        )
        assert set(opened.execute("SELECT a, b FROM moves").fetchall()) == MOVES
    opened.close()
