"""The tables of the one file, and what the database itself refuses, whatever the code does.

A call's status moves only as the suggestion's own table says: the table `moves` is filled from it, and a trigger asks
there. What was approved is frozen, what is not approved gets no row in the ledger, and a call's row in the ledger
lives as long as the call. Everything else hangs on its project: a row of one cannot name a thread of another.

`actions`, the ledger, is as its first version made it, with columns added; all other tables are STRICT and came with
the second, one with a column added since. A file of an older version is upgraded in place when it is opened: tables,
columns and indexes that are missing are made, whichever they are, so that it can be done twice. Code of an older
version does not open it any more; what of it is running meanwhile goes on, for it names the columns that it writes, and
none of them has changed.
"""

import json
from collections.abc import Collection
from functools import cache
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.types import TypeDecorator

from ..actions.suggestions import TABLE, Status
from ..config import ROLE_CHARACTERS
from ..ports.calls import CallStatus
from ..ports.projects import HOUSE, Category
from ..ports.threads import MessageStatus, Role
from ..ports.tools import Risk, RunsAt

SCHEMA = 2  # PRAGMA user_version of a file that this code reads and writes

MOVES = frozenset(
    (row.source.value, row.target.value)
    for row in TABLE.rows
    if row.target is not None and row.target is not row.source
) | {(Status.CONFIRMED.value, Status.EXPIRED.value)}
"""From which status a call goes to which. The last: one that its caller never took, which no session holds."""


class Json(TypeDecorator[Any]):
    """A JSON value as text: what a STRICT table takes."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """Write it; raises ValueError or TypeError for what JSON cannot hold."""
        return None if value is None else json.dumps(value, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Read it."""
        return None if value is None else json.loads(value)


metadata = sa.MetaData()


def _table(name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index) -> sa.Table:
    """A STRICT table whose rows are numbered in the order in which they came; no number comes twice."""
    number = sa.Column("number", sa.Integer, primary_key=True, autoincrement=True)
    return sa.Table(name, metadata, number, *columns, sqlite_autoincrement=True, sqlite_strict=True)


def _text(name: str, *more: Any, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, *more, nullable=null)


def _whole(name: str, null: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=null)  # Unix ms, where it is a time


def _json(name: str, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, Json, nullable=null)


def _one_of(column: str, words: Any) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in get_args(words))})")


def _of_project() -> sa.Column[str]:
    return _text("project_id", sa.ForeignKey("projects.id", ondelete="CASCADE"))


def _of_thread() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "thread_id"], ["threads.project_id", "threads.id"], ondelete="CASCADE"
    )


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


actions = sa.Table(
    "actions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),  # the order of the claims
    sa.Column("suggestion_id", sa.Text, nullable=False, unique=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("claimed_at", sa.Integer, nullable=False),  # Unix ms, as every time here
    sa.Column("ended_at", sa.Integer, index=True),
    sa.Column("result", sa.JSON(none_as_null=True)),
    sa.Column(
        "kb", sa.Text
    ),  # these last ones, as files made before they were there get them behind the others
    sa.Column("lease_until", sa.Integer),
    sa.Index("actions_claimed", "owner", **_where("status = 'claimed'")),
    sqlite_autoincrement=True,
)

projects = _table(
    "projects",
    _text("id"),
    _text("name", sa.CheckConstraint("length(name) BETWEEN 1 AND 200")),
    _text("role", sa.CheckConstraint(f"length(role) <= {ROLE_CHARACTERS}")),
    _whole("created_at"),
    _whole("revision"),
    sa.UniqueConstraint("id"),
)

project_keys = _table(
    "project_keys",
    _of_project(),
    _text("id"),
    _text("digest", sa.CheckConstraint("length(digest) = 64")),
    _text("name"),
    _whole("created_at"),
    _whole("revoked_at", null=True),
    sa.UniqueConstraint("project_id", "id"),
    sa.UniqueConstraint("digest"),
)

documents = _table(
    "documents",
    _of_project(),
    _text("id"),
    _text("category"),
    _text("filename"),
    _text("mime"),
    _text("sha256"),
    _whole("size"),
    _whole("pieces"),
    _whole("version"),
    _whole("created_at"),
    _text("error"),
    _whole("text_bytes"),
    _text("text"),
    sa.UniqueConstraint("project_id", "id"),
    sa.UniqueConstraint("project_id", "category", "filename"),
    _one_of("category", Category),
)

threads = _table(
    "threads",
    _of_project(),
    _text("id"),
    _text("user_id"),
    _whole("created_at"),
    _whole("updated_at"),
    _whole("turn"),
    sa.UniqueConstraint("project_id", "id"),
    sa.Index("threads_listed", "project_id", "number"),
)

messages = _table(
    "messages",
    _text("project_id"),
    _text("thread_id"),
    _text("id"),
    _whole("turn"),
    _text("role"),
    _text("content"),
    _json("citations"),
    _text("status"),
    _text("call_id", null=True),
    _whole("created_at"),
    _text("owner", null=True),  # whose turn it is, while it is pending
    _of_thread(),
    sa.UniqueConstraint("project_id", "id"),
    _one_of("role", Role),
    _one_of("status", MessageStatus),
    sa.CheckConstraint("(status = 'pending') = (owner IS NOT NULL)"),
    sa.Index("messages_listed", "project_id", "thread_id", "number"),
    sa.Index("messages_of_turn", "project_id", "thread_id", "turn"),
    sa.Index("one_turn", "project_id", "thread_id", unique=True, **_where("status = 'pending'")),
    sa.Index("messages_at_work", "owner", **_where("owner IS NOT NULL")),
)

calls = _table(
    "calls",
    _text("id"),
    _text("project_id"),
    _text("thread_id"),
    _text("message_id"),
    _whole("turn"),
    _whole("position"),
    _text("tool"),
    _json("arguments"),
    _text("arguments_hash"),
    _text("proposed_hash"),
    _text("runs_at"),
    _whole("needs_approval"),
    _text("status"),
    _whole("created_at"),
    _whole("deadline"),
    _text("risk"),
    _json("sources"),
    _json("why"),
    _json("missing"),
    _json("parameters", null=True),
    _text("approved_by", null=True),
    _whole("approved_at", null=True),
    _whole("lease_until", null=True),
    _json("result", null=True),
    _text("result_hash", null=True),
    _whole("ended_at", null=True),
    _text("owner", null=True),  # who is about to run it, while it is confirmed and the server runs it
    sa.UniqueConstraint("id"),
    sa.UniqueConstraint("project_id", "thread_id", "turn", "position"),
    _of_thread(),
    _one_of("runs_at", RunsAt),
    _one_of("risk", Risk),
    _one_of("status", CallStatus),
    sa.CheckConstraint("needs_approval IN (0, 1)"),
    sa.CheckConstraint(
        "NOT (needs_approval AND approved_by IS NULL"
        " AND status IN ('confirmed', 'claimed', 'done', 'failed', 'unknown'))",
        name="approved",
    ),
    sa.CheckConstraint("(status IN ('done', 'failed', 'unknown')) = (result IS NOT NULL)", name="ended"),
    sa.CheckConstraint(
        "(status = 'confirmed' AND runs_at <> 'caller') = (owner IS NOT NULL)", name="about_to_run"
    ),
    sa.CheckConstraint("lease_until IS NULL OR runs_at = 'caller'", name="leased"),
    sa.Index("calls_listed", "project_id", "number"),
    sa.Index("calls_of_thread", "project_id", "thread_id", "number"),
    sa.Index("calls_by_status", "project_id", "status", "number"),
    sa.Index("calls_due", "deadline", **_where("status IN ('suggested', 'confirmed')")),
    sa.Index("calls_leased", "lease_until", **_where("status = 'claimed'")),
    sa.Index("calls_at_work", "owner", **_where("owner IS NOT NULL")),
)

moves = sa.Table(
    "moves",
    metadata,
    sa.Column("a", sa.Text, primary_key=True),
    sa.Column("b", sa.Text, primary_key=True),
    sqlite_strict=True,
)

idempotency = _table(
    "idempotency",
    _text("key_owner"),
    _text("key"),
    _text("request_hash"),
    _whole("status", null=True),
    sa.Column("answer", sa.LargeBinary, nullable=True),
    _whole("created_at"),
    _text("owner", null=True),  # who works on the answer, while there is none
    _text("project_id", null=True),
    sa.UniqueConstraint("key_owner", "key"),
    sa.CheckConstraint("(owner IS NULL) = (status IS NOT NULL AND answer IS NOT NULL)"),
    sa.Index("idempotency_by_age", "created_at"),
    sa.Index("idempotency_by_project", "project_id"),
    sa.Index("idempotency_at_work", "owner", **_where("owner IS NOT NULL")),
)

audit = _table(
    "audit",
    _whole("at"),
    _text("project_id"),
    _text("user_id"),
    _text("event"),
    _text("subject"),
)

_TRIGGERS = {
    "calls_moves": """CREATE TRIGGER calls_moves BEFORE UPDATE OF status ON calls
    WHEN OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)
    BEGIN SELECT RAISE(ABORT, 'a call does not move so'); END""",
    "calls_begin": """CREATE TRIGGER calls_begin BEFORE INSERT ON calls
    WHEN NEW.status NOT IN ('suggested', 'confirmed')
    BEGIN SELECT RAISE(ABORT, 'a call does not begin so'); END""",
    "calls_frozen": """CREATE TRIGGER calls_frozen BEFORE UPDATE OF
    id, project_id, thread_id, tool, arguments, arguments_hash, runs_at, needs_approval ON calls
    WHEN OLD.status <> 'suggested'
    BEGIN SELECT RAISE(ABORT, 'what was approved does not change'); END""",
    "actions_call": """CREATE TRIGGER actions_call BEFORE INSERT ON actions
    WHEN EXISTS (SELECT 1 FROM calls WHERE id = NEW.suggestion_id AND status <> 'confirmed')
    BEGIN SELECT RAISE(ABORT, 'only a confirmed call is claimed'); END""",
    "actions_kept": """CREATE TRIGGER actions_kept BEFORE DELETE ON actions
    WHEN EXISTS (SELECT 1 FROM calls WHERE id = OLD.suggestion_id)
    BEGIN SELECT RAISE(IGNORE); END""",
}


def prepare(connection: sa.Connection, now: int) -> None:
    """Make what is missing, and stamp the file. Inside a write transaction. now: Unix milliseconds."""
    known = {name for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master")}
    for column in (actions.c.kb, actions.c.lease_until, idempotency.c.project_id):
        _add(connection, column, known)
    for name, statement in _made_by().items():
        if name not in known:
            connection.exec_driver_sql(statement)
    if {(a, b) for a, b in connection.execute(sa.select(moves.c.a, moves.c.b))} != MOVES:
        connection.execute(sa.delete(moves))
        connection.execute(sa.insert(moves), [{"a": a, "b": b} for a, b in sorted(MOVES)])
    if connection.execute(sa.select(projects.c.id).where(projects.c.id == HOUSE)).first() is None:
        connection.execute(
            sa.insert(projects).values(id=HOUSE, name=HOUSE, role="", created_at=now, revision=0)
        )
    stamp(connection)


def _add(connection: sa.Connection, column: sa.Column[Any], known: Collection[str]) -> None:
    """Add a column that came later to its table, where that is there without it."""
    table = column.table.name
    if table in known:
        columns = {name for _, name, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table})")}
        if column.name not in columns:
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column.name} {column.type}")


@cache
def _made_by() -> dict[str, str]:
    """Return the statement that makes each table, index and trigger, by its name, in an order in which they can be."""
    made: dict[str, ExecutableDDLElement] = {
        table.name: CreateTable(table) for table in metadata.sorted_tables
    }
    indexes = {
        str(each.name): CreateIndex(each) for table in metadata.sorted_tables for each in table.indexes
    }
    written = {name: str(each.compile(dialect=dialect())) for name, each in (made | indexes).items()}
    return written | _TRIGGERS


def stamp(connection: sa.Connection) -> None:
    """Write the version of the tables into the file; that writes a page even when it stands there already."""
    connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA}")


def version(connection: sa.Connection) -> int:
    """Return the version of the tables that the file was written by, 0 for a new one."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
