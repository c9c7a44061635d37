"""The approvers' view of a database: open calls, the words that led to them, and the decisions in the audit."""

from collections.abc import Collection
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from ..ports.inbox import (
    WAITING_COUNTED,
    CallDecision,
    DecisionFilter,
    InboxEntry,
    InboxLook,
    InboxMark,
)
from ..ports.pages import Page
from .call_transitions import call_of
from .database import Database
from .decisions import SELECT_DECISIONS, decision_of
from .listing import require_project
from .schema import audit, calls, messages, project_keys, threads

_MARKS = (calls.c.id, calls.c.status, calls.c.arguments_hash)
_SUGGESTED: Final = sa.text("calls.status = 'suggested'")  # as the index over them has it
_AT_WORK: Final = calls.c.status.in_(("confirmed", "claimed"))
_PROJECT: sa.BindParameter[Any] = sa.bindparam("project")
_KEY = sa.select(project_keys.c.number).where(
    project_keys.c.project_id == _PROJECT,
    project_keys.c.id == sa.bindparam("key"),
    project_keys.c.revoked_at.is_(None),
)
_ENTRIES = (
    sa.select(calls, threads.c.user_id)
    .join(threads, sa.and_(threads.c.project_id == calls.c.project_id, threads.c.id == calls.c.thread_id))
    .where(calls.c.id.in_(sa.bindparam("ids", expanding=True)))
)
# A turn that goes on from a result has a tool's message: the words are those of the user's last message before it.
_WORDS = (
    sa.select(messages.c.content)
    .where(
        messages.c.project_id == _PROJECT,
        messages.c.thread_id == sa.bindparam("thread"),
        messages.c.turn <= sa.bindparam("turn"),
        messages.c.role == "user",
    )
    .order_by(messages.c.turn.desc(), messages.c.number.desc())
    .limit(1)
)
_LAST = (
    SELECT_DECISIONS.where(audit.c.subject == sa.bindparam("call"), audit.c.project_id == _PROJECT)
    .order_by(audit.c.number.desc())
    .limit(1)
)


class DatabaseInbox:
    """The open calls and decisions of an open database (implements `agent.ports.inbox.InboxStore`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, project: str | None, most: int) -> InboxLook:
        """Return the state of the open calls: at most `most` that wait, and as many of the others."""
        return await self._database.read(partial(_look, project, most))

    async def entries(self, project: str | None, ids: Collection[str]) -> tuple[InboxEntry, ...]:
        """Return these calls in the order of their ids; those that do not exist are left out."""
        return await self._database.read(partial(_find_entries, project, tuple(ids)))

    async def decision(self, project: str, call: str) -> CallDecision | None:
        """Return the last decision about a call."""
        return await self._database.read(partial(_find_decision, project, call))

    async def decisions(
        self, project: str | None, wanted: DecisionFilter, limit: int, before: int = 0
    ) -> Page[CallDecision]:
        """Return decisions, newest first."""
        return await self._database.read(partial(_select_decisions, project, wanted, limit, before))

    async def is_live_key(self, project: str, key: str) -> bool:
        """Return whether a key opens its project."""
        return await self._database.read(
            lambda connection: connection.execute(_KEY, {"project": project, "key": key}).first() is not None
        )


def _look(project: str | None, most: int, connection: sa.Connection) -> InboxLook:
    of = () if project is None else (calls.c.project_id == project,)
    if project is not None:
        require_project(connection, project)
    waiting = sa.select(*_MARKS).where(_SUGGESTED, *of).order_by(calls.c.deadline, calls.c.number).limit(most)
    others = sa.select(*_MARKS).where(_AT_WORK, *of).order_by(calls.c.number.desc()).limit(most)
    counted = sa.select(calls.c.number).where(_SUGGESTED, *of).limit(WAITING_COUNTED).subquery()
    marks = {
        id: InboxMark(status, hashed)
        for query in (waiting, others)
        for id, status, hashed in connection.execute(query)
    }
    return InboxLook(marks, connection.execute(sa.select(sa.func.count()).select_from(counted)).scalar_one())


def _find_entries(
    project: str | None, ids: tuple[str, ...], connection: sa.Connection
) -> tuple[InboxEntry, ...]:
    query = _ENTRIES if project is None else _ENTRIES.where(calls.c.project_id == project)
    rows = {row.id: row for row in connection.execute(query, {"ids": ids})}
    return tuple([_entry_of(connection, rows[id]) for id in ids if id in rows])


def _entry_of(connection: sa.Connection, row: Any) -> InboxEntry:
    of = {"project": row.project_id, "thread": row.thread_id, "turn": row.turn}
    words = connection.execute(_WORDS, of).scalar_one_or_none()
    decision = _find_decision(row.project_id, row.id, connection) if row.status != "suggested" else None
    return InboxEntry(call=call_of(row), user=row.user_id, words=words or None, decision=decision)


def _find_decision(project: str, call: str, connection: sa.Connection) -> CallDecision | None:
    row = connection.execute(_LAST, {"project": project, "call": call}).one_or_none()
    return None if row is None else decision_of(row)


def _select_decisions(
    project: str | None, wanted: DecisionFilter, limit: int, before: int, connection: sa.Connection
) -> Page[CallDecision]:
    if project is not None:
        require_project(connection, project)
    query = SELECT_DECISIONS
    for column, value in (
        (audit.c.project_id, project),
        (audit.c.tool, wanted.tool),
        (audit.c.user_id, wanted.user),
        (audit.c.approver, wanted.approver),
        (audit.c.event, wanted.event),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.since is not None:
        query = query.where(audit.c.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(audit.c.at < wanted.until)
    if before:
        query = query.where(audit.c.number < before)
    rows = connection.execute(query.order_by(audit.c.number.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    return Page(tuple(map(decision_of, shown)), shown[-1].number if len(rows) > limit else None)
