"""Threads as they were told: lists of them, their messages with the details of answers, titles, and their changes.

Nothing is counted in advance: a list reads the numbers of a user's turns, some 10 ms for 10,000 of them, on the
connection that waits for no write. So keeping an exchange costs one more row, for the details of its answer.
"""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from ...errors import NotFound
from ...memory.repeats import Repeats
from ...memory.thread_titles import TITLE_READ, shorten_title
from ...ports.conversation import Scope
from ...ports.pages import Page, Window
from ...ports.thread_history import (
    ThreadChange,
    ThreadChanges,
    ThreadMark,
    ThreadMessage,
    ThreadOwner,
    ThreadSummary,
)
from ..followed_rows import FollowedRows
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import scopes
from .schema import IS_DELETED, feed, thread_log, turn_details, turn_words, turns
from .schema import scopes as scopes_table

_AT_ONCE = 500  # numbers in one statement
_OF: sa.BindParameter[int] = sa.bindparam("of")
_AFTER: sa.BindParameter[int] = sa.bindparam("after")
_UPTO: sa.BindParameter[int] = sa.bindparam("upto")
_MOST: sa.BindParameter[int] = sa.bindparam("most")
_AMONG: sa.BindParameter[list[int]] = sa.bindparam("among", expanding=True)

_DESCRIBE = PreparedStatement(sa.insert(turn_details), "turn", "details")
_THEIRS = (  # all threads of a user; without a user the one thread
    scopes_table.c.project == sa.bindparam("project"),
    scopes_table.c.user == sa.bindparam("user"),
    sa.or_(scopes_table.c.user != "", scopes_table.c.thread == sa.bindparam("thread")),
)
_TOLD = turns.join(turn_words, sa.and_(turn_words.c.turn == turns.c.number, turn_words.c.text != ""))
_LAST = sa.func.max(turns.c.number)
_THREADS = (
    sa.select(turns.c.scope, _LAST.label("last"), sa.func.count().label("messages"))
    .select_from(_TOLD.join(scopes_table, scopes_table.c.number == turns.c.scope))
    .where(*_THEIRS)
    .group_by(turns.c.scope)
    .having(sa.or_(_AFTER == 0, _LAST < _AFTER))
    .order_by(_LAST.desc())
    .limit(_MOST)
)
_SUMMED = (
    sa.select(_LAST.label("last"), sa.func.count().label("messages"))
    .select_from(_TOLD)
    .where(turns.c.scope == _OF)
)
_WHEN = sa.select(turns.c.at).where(turns.c.number == _OF)
_TITLE = (
    sa.select(thread_log.c.title)
    .where(thread_log.c.scope == _OF)
    .order_by(thread_log.c.number.desc())
    .limit(1)
)
_FIRST = (
    sa.select(sa.func.substr(turn_words.c.text, 1, TITLE_READ))
    .select_from(_TOLD)
    .where(turns.c.scope == _OF)
    .order_by(turns.c.role.desc(), turns.c.number)  # a user's message before any answer
    .limit(1)
)
_SCOPE = sa.select(scopes_table).where(scopes_table.c.number == _OF)
_MESSAGE = sa.select(
    *(turns.c[name] for name in ("number", "scope", "message", "role", "at", "speaker", "blocked")),
    turn_words.c.text,
    turn_details.c.details,
).select_from(
    turns.join(turn_words, turn_words.c.turn == turns.c.number).outerjoin(
        turn_details, turn_details.c.turn == turns.c.number
    )
)
_MESSAGES = (
    _MESSAGE.where(
        turns.c.number.in_(
            sa.select(turns.c.number)
            .select_from(_TOLD)
            .where(turns.c.scope == _OF, sa.or_(_AFTER == 0, turns.c.number < _AFTER))
            .order_by(turns.c.number.desc())
            .limit(_MOST)
        )
    )
).order_by(turns.c.number)
_EXCHANGE = _MESSAGE.where(
    turns.c.scope == _OF, turns.c.message == sa.bindparam("message"), turn_words.c.text != ""
)
_CHANGED = _MESSAGE.where(turns.c.number.in_(_AMONG)).order_by(turns.c.number)
_LOG = sa.insert(thread_log)
_UNTITLE = sa.update(thread_log).where(thread_log.c.scope == _OF, thread_log.c.title != "").values(title="")
_UNTITLE_SOME = sa.update(thread_log).where(thread_log.c.number.in_(_AMONG)).values(title="")
_TITLES = (
    sa.select(thread_log.c.number, thread_log.c.title)
    .join(scopes_table, scopes_table.c.number == thread_log.c.scope)
    .where(*_THEIRS, thread_log.c.title != "")
)
_IS_DELETED = (
    sa.select(thread_log.c.number)
    .where(thread_log.c.scope == _OF, sa.text(f"thread_log.{IS_DELETED}"))
    .limit(1)
)
_FED = FollowedRows(
    feed,
    sa.select(feed.c.turn, scopes_table.c.project, scopes_table.c.user).select_from(
        feed.outerjoin(turns, turns.c.number == feed.c.turn).outerjoin(
            scopes_table, scopes_table.c.number == turns.c.scope
        )
    ),
)
_NAMED = FollowedRows(
    thread_log,
    sa.select(
        thread_log.c.deleted, thread_log.c.scope, scopes_table.c.project, scopes_table.c.user
    ).join_from(thread_log, scopes_table, scopes_table.c.number == thread_log.c.scope),
)


def keep_details(connection: sa.Connection, turn: int, details: str) -> None:
    """Insert the details of the answer that is turn number `turn`."""
    _DESCRIBE.rows(connection, turn=turn, details=details)


def list_threads(scope: Scope, window: Window, connection: sa.Connection) -> Page[ThreadSummary]:
    """Return a page of a user's threads, latest first (see `ThreadHistory.list_threads`)."""
    of = {
        "project": scope.project,
        "user": scope.user,
        "thread": scope.thread,
        "after": window.after,
        "most": window.limit + 1,
    }
    rows = connection.execute(_THREADS, of).all()
    shown = [_summarize(connection, row.scope, row.last, row.messages) for row in rows[: window.limit]]
    return Page(tuple(shown), shown[-1].n if len(rows) > len(shown) else None)


def find_thread(connection: sa.Connection, scope: Scope) -> ThreadSummary:
    """Return a thread; raises `NotFound` for one without words, which may be another scope's or deleted."""
    found = _find_summary(connection, scopes.find_scope(connection, scope))
    if found is None:
        raise NotFound("there is no such thing")
    return found


def load_messages(scope: Scope, window: Window, connection: sa.Connection) -> Page[ThreadMessage]:
    """Return the latest messages before a number (see `ThreadHistory.load_messages`)."""
    number = scopes.find_scope(connection, scope)
    if _find_summary(connection, number) is None:
        raise NotFound("there is no such thing")
    of = {"of": number, "after": window.after, "most": window.limit + 1}
    rows = connection.execute(_MESSAGES, of).all()
    shown = rows[-window.limit :]
    return Page(tuple(map(_message_of, shown)), shown[0].number if len(rows) > len(shown) else None)


def find_exchange(
    scope: Scope, message: str, connection: sa.Connection
) -> tuple[ThreadMessage, ThreadMessage]:
    """Return a message and the answer to it (see `ThreadHistory.find_exchange`)."""
    of = {"of": scopes.find_scope(connection, scope), "message": message}
    by_role = {row.role: _message_of(row) for row in connection.execute(_EXCHANGE, of)}
    if by_role.keys() != {"user", "assistant"}:
        raise NotFound("there is no such thing")
    return by_role["user"], by_role["assistant"]


def rename_thread(scope: Scope, title: str, at: int, transaction: Transaction) -> ThreadSummary:
    """Give a thread a title (see `ThreadHistory.rename_thread`)."""
    connection = transaction.connection
    find_thread(connection, scope)
    number = scopes.find_scope(connection, scope)
    connection.execute(_UNTITLE, {"of": number})
    connection.execute(_LOG, {"scope": number, "at": at, "title": title, "deleted": 0})
    return find_thread(connection, scope)


def mark_deleted(connection: sa.Connection, scope: int, at: int) -> None:
    """Insert the mark of a deleted thread and empty its titles."""
    connection.execute(_UNTITLE, {"of": scope})
    connection.execute(_LOG, {"scope": scope, "at": at, "title": "", "deleted": 1})


def is_deleted(connection: sa.Connection, scope: int) -> bool:
    """Return whether the thread of a scope's number was deleted."""
    return connection.execute(_IS_DELETED, {"of": scope}).first() is not None


def empty_titles(connection: sa.Connection, scope: Scope, repeats: Repeats) -> None:
    """Empty the titles of a user's threads that hold forgotten words."""
    of = {"project": scope.project, "user": scope.user, "thread": scope.thread}
    holding = [
        row.number for row in connection.execute(_TITLES, of).all() if repeats.matches_agent_text(row.title)
    ]
    for start in range(0, len(holding), _AT_ONCE):
        connection.execute(_UNTITLE_SOME, {"among": holding[start : start + _AT_ONCE]})


def find_mark(connection: sa.Connection) -> ThreadMark:
    """Return the mark of the latest change."""
    return ThreadMark(_FED.find_mark(connection), _NAMED.find_mark(connection))


def load_changes(
    mark: ThreadMark, owners: Collection[ThreadOwner], limit: int, connection: sa.Connection
) -> ThreadChanges:
    """Return the threads that have changed after a mark (see `ThreadHistory.thread_changes_after`)."""
    fed, words, more_words = _FED.read(connection, mark.words, limit)
    named, names, more_names = _NAMED.read(connection, mark.names, limit)
    wanted = [turn for turn, *owner, _ in fed if turn is not None and tuple(owner) in owners]
    told: dict[int, list[ThreadMessage]] = {}
    for row in connection.execute(_CHANGED, {"among": wanted}).all() if wanted else ():
        told.setdefault(row.scope, []).append(_message_of(row))
    changed = dict.fromkeys(
        [*told, *(scope for deleted, scope, *owner, _ in named if deleted or tuple(owner) in owners)]
    )
    threads = [_change_of(connection, number, told.get(number, ())) for number in changed]
    return ThreadChanges(tuple(threads), ThreadMark(words, names), more_words or more_names)


def _change_of(connection: sa.Connection, number: int, messages: Sequence[ThreadMessage]) -> ThreadChange:
    scope = scopes.scope_of(connection.execute(_SCOPE, {"of": number}).one())
    if is_deleted(connection, number):
        return ThreadChange(scope, None, is_deleted=True)
    return ThreadChange(scope, _find_summary(connection, number), tuple(messages))


def _find_summary(connection: sa.Connection, scope: int) -> ThreadSummary | None:
    """Return the thread of a scope's number, `None` where it has no words."""
    row = connection.execute(_SUMMED, {"of": scope}).one()
    return _summarize(connection, scope, row.last, row.messages) if row.messages else None


def _summarize(connection: sa.Connection, scope: int, last: int, count: int) -> ThreadSummary:
    of = {"of": scope}
    named = connection.execute(_TITLE, of).scalar_one_or_none()
    return ThreadSummary(
        n=last,
        scope=scopes.scope_of(connection.execute(_SCOPE, of).one()),
        title=named or shorten_title(connection.execute(_FIRST, of).scalar_one()),
        at=connection.execute(_WHEN, {"of": last}).scalar_one(),
        count=count,
    )


def _message_of(row: Any) -> ThreadMessage:
    return ThreadMessage(
        n=row.number,
        message=row.message,
        role=row.role,
        text=row.text,
        at=row.at,
        speaker=row.speaker,
        blocked=bool(row.blocked),
        details=row.details or "",
    )
