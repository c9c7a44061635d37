"""What the database refuses by itself, asked for with SQL that passes by all code; and that nothing else is refused."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.actions.suggestions import TABLE
from agent.ports.projects import HOUSE
from agent.storage.schema import SCHEMA
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.trust import FILE
from agent.testing.fakes import Noon

CALL: dict[str, Any] = {
    "id": "c1",
    "project_id": HOUSE,
    "thread_id": "t1",
    "message_id": "m1",
    "turn": 1,
    "position": 1,
    "tool": "refund",
    "arguments": "{}",
    "arguments_hash": "h1",
    "proposed_hash": "h1",
    "runs_at": "caller",
    "needs_approval": 1,
    "status": "suggested",
    "created_at": 1,
    "deadline": 2,
    "risk": "high",
    "sources": "{}",
    "why": "[]",
    "missing": "[]",
}
MESSAGE = {
    "project_id": HOUSE,
    "thread_id": "t1",
    "id": "m1",
    "turn": 1,
    "role": "user",
    "content": "text",
    "citations": "[]",
    "status": "pending",
    "created_at": 1,
    "owner": "x",
}
ACTION = {"suggestion_id": "c1", "action": "refund", "status": "claimed", "owner": "x", "claimed_at": 1}


class Sql:
    """A database with one thread, asked by hand."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA foreign_keys=ON")
        self.connection.execute("PRAGMA synchronous=OFF")
        self.insert(
            "threads",
            {"project_id": HOUSE, "id": "t1", "user_id": "u", "created_at": 1, "updated_at": 1, "turn": 1},
        )

    def insert(self, table: str, row: dict[str, Any], **other: Any) -> None:
        row = {**row, **other}
        marks = ", ".join("?" * len(row))
        self.connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )

    def do(self, statement: str) -> int:
        return self.connection.execute(statement).rowcount


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database as it is when it is new."""
    folder = tmp_path_factory.mktemp("schema")
    file = DatabaseFile(folder, Noon())
    file.open()
    file.close()
    return folder / FILE


@pytest.fixture
def sql(made: Path, tmp_path: Path) -> Iterator[Sql]:
    """A copy of it."""
    (tmp_path / FILE).write_bytes(made.read_bytes())
    opened = Sql(tmp_path / FILE)
    yield opened
    opened.connection.close()


def test_the_moves_are_the_suggestions_own(sql: Sql) -> None:
    """Each that its table has, and one more: a confirmed call that its caller never took expires."""
    of_table = {
        (row.source.value, row.target.value)
        for row in TABLE.rows
        if row.target is not None and row.target is not row.source
    }
    found = sql.connection.execute("SELECT a, b FROM moves").fetchall()
    assert set(found) == of_table | {("confirmed", "expired")}
    assert len(found) == 12


PATHS = {
    "suggested": (),
    "rejected": ("rejected",),
    "answered": ("answered",),
    "expired": ("expired",),
    "cancelled": ("cancelled",),
    "confirmed": ("confirmed",),
    "claimed": ("confirmed", "claimed"),
    "done": ("confirmed", "claimed", "done"),
    "failed": ("confirmed", "claimed", "failed"),
    "unknown": ("confirmed", "claimed", "unknown"),
}


def moved(sql: Sql, status: str, id: str = "c1") -> None:
    """Set a call's status, and with it what belongs to that status, so that nothing but the move can be wrong."""
    result = "'{}'" if status in ("done", "failed", "unknown") else "NULL"
    sql.do(f"UPDATE calls SET status = '{status}', result = {result}, approved_by = 'u' WHERE id = '{id}'")


def reach(sql: Sql, status: str, number: int = 1) -> None:
    """Make a call, and take it into a status."""
    sql.insert("calls", CALL, id=f"c{number}", position=number)
    for step in PATHS[status]:
        moved(sql, step, f"c{number}")


def test_no_call_moves_but_as_the_table_says(sql: Sql) -> None:
    """Every pair of statuses: those in the table go, all others are refused."""
    went, refused = set(), ""
    pairs = [(a, b) for a in PATHS for b in PATHS if a != b]
    for number, (one, other) in enumerate(pairs):
        reach(sql, one, number)
        try:
            moved(sql, other, f"c{number}")
        except sqlite3.IntegrityError as error:
            refused = str(error)
        else:
            went.add((one, other))
    assert refused == "a call does not move so"
    assert went == set(sql.connection.execute("SELECT a, b FROM moves"))


@pytest.mark.parametrize("status", sorted(set(PATHS) - {"suggested", "confirmed"}))
def test_a_call_begins_as_suggested_or_confirmed(sql: Sql, status: str) -> None:
    """In no status that something must have led to."""
    result = "{}" if status in ("done", "failed", "unknown") else None
    with pytest.raises(sqlite3.IntegrityError, match="does not begin so"):
        sql.insert("calls", CALL, status=status, result=result, approved_by="u")
    sql.insert("calls", CALL, status="confirmed", needs_approval=0)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("arguments", "'{\"amount\": 9}'"),
        ("arguments_hash", "'h2'"),
        ("tool", "'other'"),
        ("id", "'c9'"),
        ("project_id", "'p2'"),
        ("thread_id", "'t2'"),
        ("runs_at", "'webhook'"),
        ("needs_approval", "0"),
    ],
)
def test_what_was_approved_is_frozen(sql: Sql, column: str, value: str) -> None:
    """From the moment it is confirmed; an edit comes with that."""
    sql.insert("projects", {"id": "p2", "name": "p2", "role": "", "created_at": 1, "revision": 0})
    for project, thread in (("p2", "t1"), (HOUSE, "t2")):
        row = {
            "project_id": project,
            "id": thread,
            "user_id": "u",
            "created_at": 1,
            "updated_at": 1,
            "turn": 1,
        }
        sql.insert("threads", row)
    sql.insert("calls", CALL)
    sql.do(
        f"UPDATE calls SET {column} = {value}, status = 'confirmed', approved_by = 'u', owner = "
        + ("'x'" if column == "runs_at" else "NULL")
    )
    reach(sql, "confirmed", 2)
    for status in ("confirmed", "claimed", "done"):
        if status != "confirmed":
            moved(sql, status, "c2")
        with pytest.raises(sqlite3.IntegrityError, match="does not change"):
            sql.do(f"UPDATE calls SET {column} = {value} WHERE id = 'c2'")


@pytest.mark.parametrize("status", sorted(set(PATHS) - {"suggested"}))
def test_arguments_are_emptied_once_nobody_is_to_begin_the_call(sql: Sql, status: str) -> None:
    """They only get shorter; what is approved and not begun keeps them, since it is to be done as it was approved."""
    sql.insert("calls", CALL, id="c2", position=2, arguments='{"to": "Ana"}')
    for step in PATHS[status]:
        moved(sql, step, "c2")
    for other in ('{"to": "Anna"}', '{"to": "Bob"}'):
        with pytest.raises(sqlite3.IntegrityError, match="does not change"):
            sql.do(f"UPDATE calls SET arguments = '{other}' WHERE id = 'c2'")
    if status == "confirmed":
        with pytest.raises(sqlite3.IntegrityError, match="does not change"):
            sql.do("UPDATE calls SET arguments = '{\"to\": \"\"}' WHERE id = 'c2'")
    else:
        assert sql.do("UPDATE calls SET arguments = '{\"to\": \"\"}' WHERE id = 'c2'") == 1


def test_a_trigger_that_reads_otherwise_is_made_anew(made: Path, tmp_path: Path) -> None:
    """A file that an earlier version has made refuses what this one refuses, and nothing else."""
    (tmp_path / FILE).write_bytes(made.read_bytes())
    wanted = "SELECT name, sql FROM sqlite_master ORDER BY name"
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as opened:
        before = opened.execute(wanted).fetchall()
        opened.execute("DROP TRIGGER calls_frozen")
        opened.execute("DROP TRIGGER calls_emptied")
        opened.execute(
            "CREATE TRIGGER calls_frozen BEFORE UPDATE OF arguments, tool ON calls WHEN OLD.status <> 'suggested'"
            " BEGIN SELECT RAISE(ABORT, 'what was approved does not change'); END"
        )
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    file.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as opened:
        assert opened.execute(wanted).fetchall() == before


@pytest.mark.parametrize("status", sorted(set(PATHS) - {"confirmed"}))
def test_the_ledger_has_no_row_for_a_call_that_is_not_confirmed(sql: Sql, status: str) -> None:
    """A confirmed one is claimed, and so is an action of a socket, which is no call that is kept."""
    reach(sql, status)
    with pytest.raises(sqlite3.IntegrityError, match="only a confirmed call"):
        sql.insert("actions", ACTION)
    reach(sql, "confirmed", 2)
    sql.insert("actions", ACTION, suggestion_id="c2")
    sql.insert("actions", ACTION, suggestion_id="of a socket")


def test_a_calls_row_in_the_ledger_lives_as_long_as_the_call(sql: Sql) -> None:
    """It cannot be deleted before; then it is a tombstone like any other."""
    reach(sql, "confirmed")
    for id in ("c1", "of a socket"):
        sql.insert("actions", ACTION, suggestion_id=id)
    assert sql.do("DELETE FROM actions") == 1
    sql.do("DELETE FROM calls")
    assert sql.do("DELETE FROM actions") == 1


def test_a_thread_has_one_pending_message(sql: Sql) -> None:
    """A user's or a result's; ended ones are as many as there are."""
    sql.insert("messages", MESSAGE)
    for role in ("user", "tool"):
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            sql.insert("messages", MESSAGE, id="m2", role=role)
    sql.insert("messages", MESSAGE, id="m3", status="done", owner=None)


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *(
        ("messages", MESSAGE, each)
        for each in (
            {"role": "system"},
            {"status": "lost"},
            {"owner": None},
            {"status": "done"},
            {"thread_id": "t2"},
            {"project_id": "p2"},
            {"content": b"bytes"},
            {"turn": "one"},
        )
    ),
    *(
        ("calls", CALL, each)
        for each in (
            {"status": "lost"},
            {"risk": "none"},
            {"runs_at": "anywhere"},
            {"needs_approval": 2},
            {"status": "confirmed"},
            {"status": "confirmed", "runs_at": "webhook", "approved_by": "u"},
            {"owner": "x"},
            {"result": "{}"},
            {"runs_at": "webhook", "lease_until": 9},
            {"closed_by": "u"},
            {"thread_id": "t2"},
            {"project_id": "p2"},
        )
    ),
    *(
        ("projects", {"id": "p3", "name": "n", "role": "", "created_at": 1, "revision": 0}, each)
        for each in (
            {"id": HOUSE},
            {"name": ""},
            {"name": "n" * 201},
            {"role": "r" * 8001},
        )
    ),
    *(
        (
            "project_keys",
            {"project_id": HOUSE, "id": "k", "digest": "a" * 64, "name": "", "created_at": 1},
            each,
        )
        for each in ({"digest": "a"}, {"project_id": "p2"})
    ),
    *(
        (
            "idempotency",
            {"key_owner": "o", "key": "k", "request_hash": "h", "created_at": 1, "owner": "x"},
            each,
        )
        for each in ({"owner": None}, {"status": 200, "answer": b""})
    ),
]


@pytest.mark.parametrize(("table", "row", "other"), REFUSED)
def test_what_cannot_be_is_refused(sql: Sql, table: str, row: dict[str, Any], other: dict[str, Any]) -> None:
    """A value of no type, word or project that there is, or that belongs to another status."""
    with pytest.raises(sqlite3.IntegrityError):
        sql.insert(table, row, **other)
    sql.insert(table, row)


@pytest.mark.parametrize("status", ["claimed", "done", "failed", "unknown"])
def test_what_needs_approval_has_an_approver(sql: Sql, status: str) -> None:
    """Whatever it has come to since."""
    reach(sql, status)
    with pytest.raises(sqlite3.IntegrityError, match="approved"):
        sql.do("UPDATE calls SET approved_by = NULL")


def test_a_call_has_one_place_in_its_thread(sql: Sql) -> None:
    """Two cannot be the first of one turn."""
    sql.insert("calls", CALL)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        sql.insert("calls", CALL, id="c2")


def test_a_file_that_is_whole_is_left_as_it_is(made: Path) -> None:
    """Opened again, nothing of its schema changes."""

    def schema() -> list[Any]:
        with sqlite3.connect(made) as seen:
            found = seen.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
            found += seen.execute(
                "SELECT * FROM moves UNION ALL SELECT id, created_at FROM projects"
            ).fetchall()
            found += seen.execute("PRAGMA user_version").fetchall()
        seen.close()
        return found

    before = schema()
    file = DatabaseFile(made.parent, Noon())
    file.open()
    file.close()
    assert schema() == before
    assert before[-1] == (SCHEMA,)


def test_a_column_that_came_later_is_added(tmp_path: Path) -> None:
    """A file of before it is upgraded in place, and what is in it stays."""
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    file.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as before:
        before.execute("DROP INDEX idempotency_by_project")
        before.execute("ALTER TABLE idempotency DROP COLUMN project_id")
        before.execute("PRAGMA user_version=2")
        before.execute(
            "INSERT INTO idempotency (key_owner, key, request_hash, status, answer, created_at)"
            " VALUES ('o1', 'k', 'd1', 200, X'00', ?)",
            (Noon().now_ms(),),
        )
        before.commit()
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    file.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as after:
        assert after.execute("SELECT key, project_id FROM idempotency").fetchall() == [("k", None)]
        names = "SELECT name FROM sqlite_master WHERE name = 'idempotency_by_project'"
        assert after.execute(names).fetchall() != []
