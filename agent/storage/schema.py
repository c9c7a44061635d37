"""The tables of the ledger's file, and the rules that the database itself enforces.

A call's status moves only as the table of suggestions allows: the table `moves` is filled from it, and a trigger checks
it. An approved call is frozen; its arguments can only be emptied once it has begun or can never begin. A call that is
not confirmed gets no row in the ledger, and a call's row in the ledger lives as long as the call. Everything else
belongs to a project: a row of one project cannot name a thread of another.

`actions`, the ledger, is as its first version made it, with columns added, the last one (`attempt`) by the third; all
other tables are `STRICT`, and came with the second version, `feedback` with the fifth. A file of an older version is
upgraded in place when it is opened: the steps of `migrations.py` change the tables that it has; tables and indexes that
are missing are made, and every trigger with another text is made anew. Code of an older version does not open
the file any more. Processes of it that are running go on, for they name the columns that they write, and none of these
has changed.
"""

from typing import Any

import sqlalchemy as sa

from ..actions.suggestions import TABLE, SuggestionState
from ..config import ROLE_CHARACTERS
from ..ports.projects import HOUSE
from .columns import (
    fill_moves,
    moves_of,
    numbered_table,
    one_of,
    text,
    where,
    whole,
)
from .columns import json_value as json
from .dialect import FOLLOWED, NUMBER
from .migrations import LEDGER_STEPS
from .triggers import Trigger

SCHEMA = max(LEDGER_STEPS)  # of a database that this code reads and writes
CALLS_SINCE = 2  # the version that brought calls, messages and requests

MOVES = frozenset(
    (row.source.value, row.target.value)
    for row in TABLE.rows
    if row.target is not None and row.target is not row.source
) | {(SuggestionState.CONFIRMED.value, SuggestionState.EXPIRED.value)}
"""The allowed moves of a call's status. The last one is for a call that its caller never took: no session holds it."""


# The words of columns that have a fixed set of them, equal to the `Literal` types of `agent.ports`. They are part of
# the tables: add a word here with a step in `migrations.py` that adds it to the table of an older file.
CATEGORIES = ("FACTS", "RULES", "STATE")
MESSAGE_ROLES = ("user", "assistant", "tool")
MESSAGE_STATUSES = ("pending", "done", "cancelled", "refused", "failed")
RUNS_AT = ("record", "webhook", "mcp", "caller", "function")
RISKS = ("low", "medium", "high")
VERDICTS = ("up", "down")
CALL_STATUSES = (
    "suggested",
    "confirmed",
    "claimed",
    "done",
    "failed",
    "unknown",
    "cancelled",
    "rejected",
    "expired",
    "answered",
)

metadata = sa.MetaData()


def _table(
    name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index, followed: bool = False
) -> sa.Table:
    return numbered_table(metadata, name, *columns, followed=followed)


def _of_project() -> sa.Column[str]:
    return text("project_id", sa.ForeignKey("projects.id", ondelete="CASCADE"))


def _of_thread() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "thread_id"], ["threads.project_id", "threads.id"], ondelete="CASCADE"
    )


actions = sa.Table(
    "actions",
    metadata,
    sa.Column("number", NUMBER, primary_key=True, autoincrement=True),  # the order of the claims
    sa.Column("suggestion_id", sa.Text, nullable=False, unique=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("claimed_at", NUMBER, nullable=False),  # Unix ms, as every time here
    sa.Column("ended_at", NUMBER, index=True),
    sa.Column("result", sa.JSON(none_as_null=True)),
    # these last ones, as files made before they were there get them behind the others
    sa.Column("kb", sa.Text),
    sa.Column("lease_until", NUMBER),
    *(sa.Column(name, sa.Text) for name in ("project", "user", "thread")),  # its owner, if known
    sa.Column("attempt", sa.Text, nullable=False, server_default=""),  # which claim of its owner made the row
    sa.Index("actions_claimed", "owner", **where("status = 'claimed'")),
    info={FOLLOWED: True},
    sqlite_autoincrement=True,
)

projects = _table(
    "projects",
    text("id"),
    text("name", sa.CheckConstraint("length(name) BETWEEN 1 AND 200")),
    text("role", sa.CheckConstraint(f"length(role) <= {ROLE_CHARACTERS}")),
    whole("created_at"),
    whole("revision"),
    sa.UniqueConstraint("id"),
)

project_keys = _table(
    "project_keys",
    _of_project(),
    text("id"),
    text("digest", sa.CheckConstraint("length(digest) = 64")),
    text("name"),
    whole("created_at"),
    whole("revoked_at", null=True),
    sa.UniqueConstraint("project_id", "id"),
    sa.UniqueConstraint("digest"),
)

documents = _table(
    "documents",
    _of_project(),
    text("id"),
    text("category"),
    text("filename"),
    text("mime"),
    text("sha256"),
    whole("size"),
    whole("pieces"),
    whole("version"),
    whole("created_at"),
    text("error"),
    json("report", null=True),
    whole("text_bytes"),
    text("text"),
    sa.UniqueConstraint("project_id", "id"),
    sa.UniqueConstraint("project_id", "category", "filename"),
    one_of("category", CATEGORIES),
)

threads = _table(
    "threads",
    _of_project(),
    text("id"),
    text("user_id"),
    whole("created_at"),
    whole("updated_at"),
    whole("turn"),
    sa.UniqueConstraint("project_id", "id"),
    sa.Index("threads_listed", "project_id", "number"),
    sa.Index("threads_by_age", "updated_at"),
)

messages = _table(
    "messages",
    text("project_id"),
    text("thread_id"),
    text("id"),
    whole("turn"),
    text("role"),
    text("content"),
    json("citations"),
    text("status"),
    text("call_id", null=True),
    whole("created_at"),
    text("owner", null=True),  # the process that answers it, while it is pending
    text("confidence", null=True),  # of an answer; these last two, as older files got them behind the others
    text("blocked", null=True),  # the code of a refusal
    _of_thread(),
    sa.UniqueConstraint("project_id", "id"),
    one_of("role", MESSAGE_ROLES),
    one_of("status", MESSAGE_STATUSES),
    sa.CheckConstraint("(status = 'pending') = (owner IS NOT NULL)"),
    sa.Index("messages_listed", "project_id", "thread_id", "number"),
    sa.Index("messages_of_turn", "project_id", "thread_id", "turn"),
    sa.Index("one_turn", "project_id", "thread_id", unique=True, **where("status = 'pending'")),
    sa.Index("messages_at_work", "owner", **where("owner IS NOT NULL")),
    followed=True,
)

calls = _table(
    "calls",
    text("id"),
    text("project_id"),
    text("thread_id"),
    text("message_id"),
    whole("turn"),
    whole("position"),
    text("tool"),
    json("arguments"),
    text("arguments_hash"),
    text("proposed_hash"),
    text("runs_at"),
    whole("needs_approval"),
    text("status"),
    whole("created_at"),
    whole("deadline"),
    text("risk"),
    json("sources"),
    json("why"),
    json("missing"),
    json("parameters", null=True),
    text("approved_by", null=True),
    whole("approved_at", null=True),
    whole("lease_until", null=True),
    json("result", null=True),
    text("result_hash", null=True),
    whole("ended_at", null=True),
    text(
        "owner", null=True
    ),  # the process that is about to run it, while it is confirmed and the server runs it
    text(  # the user who did so, if known
        "closed_by",
        sa.CheckConstraint("closed_by IS NULL OR status IN ('rejected', 'answered', 'cancelled')"),
        null=True,
    ),
    text("reason", null=True),  # in the approver's words, as the last column of a file that was upgraded
    sa.UniqueConstraint("id"),
    sa.UniqueConstraint("project_id", "thread_id", "turn", "position"),
    _of_thread(),
    one_of("runs_at", RUNS_AT),
    one_of("risk", RISKS),
    one_of("status", CALL_STATUSES),
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
    sa.Index("calls_waiting", "project_id", "deadline", **where("status = 'suggested'")),
    sa.Index("calls_due", "deadline", **where("status IN ('suggested', 'confirmed')")),
    sa.Index("calls_leased", "lease_until", **where("status = 'claimed'")),
    sa.Index("calls_at_work", "owner", **where("owner IS NOT NULL")),
    followed=True,
)

moves = moves_of(metadata)

idempotency = _table(
    "idempotency",
    text("key_owner"),
    text("key"),
    text("request_hash"),
    whole("status", null=True),
    sa.Column("answer", sa.LargeBinary, nullable=True),
    whole("created_at"),
    text("owner", null=True),  # the process that works on the answer, while there is none
    text("project_id", null=True),
    sa.UniqueConstraint("key_owner", "key"),
    sa.CheckConstraint("(owner IS NULL) = (status IS NOT NULL AND answer IS NOT NULL)"),
    sa.Index("idempotency_by_age", "created_at"),
    sa.Index("idempotency_by_project", "project_id"),
    sa.Index("idempotency_at_work", "owner", **where("owner IS NOT NULL")),
)

audit = _table(
    "audit",
    whole("at"),
    text("project_id"),
    text("user_id"),
    text("event"),
    text("subject"),
    # of a decision on a call
    *(text(name, null=True) for name in ("approver", "key_id", "tool", "arguments_hash")),
    sa.Index("audit_by_age", "at"),
    sa.Index("audit_by_subject", "subject"),
)

feedback = _table(
    "feedback",
    _of_project(),
    text("message_id"),
    text("scope_project"),  # the project of the question's scope: over a socket the folder of the documents
    text("user_id"),
    text("thread_id"),
    text("verdict"),
    text("text"),
    text("question"),
    text("answer"),
    json("citations"),
    text("model"),
    text("confidence", null=True),
    text("blocked", null=True),
    whole("at"),
    sa.UniqueConstraint("project_id", "message_id"),
    one_of("verdict", VERDICTS),
    sa.Index("feedback_listed", "project_id", "number"),
    sa.Index("feedback_of_user", "project_id", "user_id", "number"),
    sa.Index("feedback_of_thread", "project_id", "thread_id"),
    sa.Index("feedback_of_scope", "scope_project", "user_id", "thread_id"),
)

server_metadata = sa.MetaData()
"""The tables that only a server's database has: nothing in a folder changes with them."""

nodes = sa.Table(  # the processes that share the database; times are the server's
    "nodes",
    server_metadata,
    sa.Column("id", sa.Text, primary_key=True),  # the `owner` of the rows that it works on
    whole("since"),
    whole("seen"),  # its last heartbeat
    text("kb"),  # a digest of the documents that it serves
    text("version"),  # of the package
)

TRIGGERS = (
    Trigger(
        name="feedback_goes",
        table="threads",
        event="AFTER DELETE",
        follow_up="DELETE FROM feedback WHERE project_id = OLD.project_id AND thread_id = OLD.id",
    ),
    Trigger(
        name="calls_moves",
        table="calls",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="a call does not move so",
    ),
    Trigger(
        name="calls_begin",
        table="calls",
        event="BEFORE INSERT",
        when="NEW.status NOT IN ('suggested', 'confirmed')",
        refusal="a call does not begin so",
    ),
    Trigger(
        name="calls_frozen",
        table="calls",
        event="BEFORE UPDATE OF\n    id, project_id, thread_id, tool, arguments_hash, runs_at, needs_approval",
        when="OLD.status <> 'suggested'",
        refusal="what was approved does not change",
    ),
    Trigger(
        name="calls_emptied",
        table="calls",
        event="BEFORE UPDATE OF arguments",
        when=(
            "OLD.status <> 'suggested' AND OLD.arguments <> NEW.arguments\n"
            "    AND (OLD.status = 'confirmed' OR length(OLD.arguments) <= length(NEW.arguments))"
        ),
        refusal="what was approved does not change, and is emptied once it begins no more",
    ),
    Trigger(
        name="actions_call",
        table="actions",
        event="BEFORE INSERT",
        when="EXISTS (SELECT 1 FROM calls WHERE id = NEW.suggestion_id AND status <> 'confirmed')",
        refusal="only a confirmed call is claimed",
    ),
    Trigger(
        name="actions_kept",
        table="actions",
        event="BEFORE DELETE",
        when="EXISTS (SELECT 1 FROM calls WHERE id = OLD.suggestion_id)",
    ),
)


def fill(connection: sa.Connection, now: int) -> None:
    """Write the rows that belong to the schema, in a write transaction, at Unix milliseconds `now`."""
    fill_moves(connection, moves, MOVES)
    if connection.execute(sa.select(projects.c.id).where(projects.c.id == HOUSE)).first() is None:
        connection.execute(
            sa.insert(projects).values(id=HOUSE, name=HOUSE, role="", created_at=now, revision=0)
        )
