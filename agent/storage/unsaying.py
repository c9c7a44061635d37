"""Forgetting what was said in a thread: the words of its messages, and of answers to requests that told of them.

What is left are rows without words: ids, times, who said something, and how it ended. The request says that it erases,
so that the log is cut off before it is answered; the database overwrites what it frees (PRAGMA secure_delete).

Of a call the words go, too, where it holds what is forgotten: each text of its arguments and its result that says it.
What it was, who approved it, when, how it ended, and the hash of what was approved stay, so that it is done once at
most. What nobody has approved is cancelled with that, since it cannot be shown any more for what it is; what is
approved and has not begun keeps its words, since it is to be done as it was approved. Of the other calls of a message
that is forgotten those that never ran lose their arguments; those that ran keep them: they are the record of what was
done. What the ledger has of an action of a socket, of which no call is kept, loses such texts, too.

The audit loses its lines about the item. Its lines about calls stay, as the calls do.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecodeError, loads
from typing import Any, Final

import sqlalchemy as sa

from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.remember import Again
from ..ports.requests import ITEM_DECIDED
from . import moves
from .schema import actions, audit, calls, idempotency, messages, threads
from .transaction import Transaction

_LOOKED_AT: Final = 1_000  # messages, and calls, in one look
_NEVER_RAN: Final = ("rejected", "expired", "cancelled", "answered")
_PROJECT: sa.BindParameter[Any] = sa.bindparam("project")
_OF: sa.BindParameter[Any] = sa.bindparam("of")
_ASKED = messages.alias("asked")
_TURN = (
    sa.select(_ASKED.c.turn)
    .where(_ASKED.c.project_id == _PROJECT, _ASKED.c.id == sa.bindparam("message"))
    .scalar_subquery()
)
_EMPTY = sa.update(messages).where(
    messages.c.project_id == _PROJECT,
    messages.c.thread_id == sa.bindparam("thread"),
    messages.c.turn == _TURN,
    sa.or_(messages.c.role == "assistant", sa.bindparam("whole", type_=sa.Boolean)),
    messages.c.status != "pending",
)
_UNSAY = _EMPTY.values(content="", citations=[])
_UNSAY_ONE = (
    sa.update(messages)
    .where(messages.c.number == _OF, messages.c.status != "pending")
    .values(content="", citations=[])
)
_UNCITE = sa.update(messages).where(messages.c.number == _OF).values(citations=sa.bindparam("cited"))
_UNSUGGEST = (
    sa.update(calls)
    .where(
        calls.c.project_id == _PROJECT,
        calls.c.thread_id == sa.bindparam("thread"),
        calls.c.message_id == sa.bindparam("message"),
        calls.c.status.in_(_NEVER_RAN),
    )
    .values(arguments={})
)
_TELLS: sa.ColumnElement[Any] = sa.func.instr(
    idempotency.c.answer, sa.cast(sa.bindparam("id"), sa.LargeBinary)
)
_UNTELL = sa.update(idempotency).where(idempotency.c.owner.is_(None), _TELLS > 0).values(answer=b"")
_UNAUDIT = sa.delete(audit).where(
    audit.c.subject == sa.bindparam("item"), audit.c.event.startswith(ITEM_DECIDED, autoescape=True)
)
_THEIRS = (  # of a user all threads, of nobody the one
    threads.c.project_id == _PROJECT,
    threads.c.user_id == sa.bindparam("user"),
    sa.or_(threads.c.user_id != "", threads.c.id == sa.bindparam("thread")),
)


def _said(table: sa.Table, *wanted: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query for some rows of a table that hang on the threads of a user."""
    of_thread = sa.and_(threads.c.project_id == table.c.project_id, threads.c.id == table.c.thread_id)
    after, upto = table.c.number > sa.bindparam("after"), table.c.number <= sa.bindparam("upto")
    return sa.select(table).join(threads, of_thread).where(*_THEIRS, after, upto, *wanted)


_MESSAGES = _said(messages, messages.c.content != "", messages.c.status != "pending")
_CALLS = _said(calls, calls.c.status != "confirmed")
_ACTIONS = sa.select(actions).where(
    actions.c.project == _PROJECT,
    actions.c.user == sa.bindparam("user"),
    sa.or_(actions.c.user != "", actions.c.thread == sa.bindparam("thread")),
    actions.c.number > sa.bindparam("after"),
    actions.c.number <= sa.bindparam("upto"),
    actions.c.result.is_not(None),
)
_LAST = sa.select(
    sa.func.max(
        *(
            sa.func.coalesce(sa.select(sa.func.max(each.c.number)).scalar_subquery(), 0)
            for each in (messages, calls, actions)
        )
    )
)
_MESSAGE = sa.select(messages).where(messages.c.number == _OF)
_CALL = sa.select(calls).where(calls.c.number == _OF)
_SAME_TURN = sa.select(messages.c.id).where(
    messages.c.project_id == _PROJECT,
    messages.c.thread_id == sa.bindparam("thread"),
    messages.c.turn == sa.bindparam("turn"),
)
_EMPTY_CALL = (
    sa.update(calls)
    .where(calls.c.id == _OF)
    .values(arguments=sa.bindparam("said"), result=sa.bindparam("came"))
)
_OUTCOME = sa.select(actions.c.result).where(actions.c.suggestion_id == _OF, actions.c.result.is_not(None))
_EMPTY_OUTCOME = sa.update(actions).where(actions.c.suggestion_id == _OF).values(result=sa.bindparam("came"))


@dataclass(frozen=True, slots=True)
class Found:
    """What was found to say some words again. messages, calls: their numbers. upto: of the last one looked at.

    actions: ids of what the ledger has of them, where no call is kept.
    """

    messages: frozenset[int] = frozenset()
    calls: frozenset[int] = frozenset()
    actions: frozenset[str] = frozenset()
    upto: int = 0


def look(scope: Scope, again: Again, before: Found, connection: sa.Connection) -> tuple[Found, bool]:
    """Look through more of a user's threads; return what was found so far, and whether there is more."""
    last = int(connection.execute(_LAST).scalar_one())
    upto = min(last, before.upto + _LOOKED_AT)
    if upto <= before.upto:
        return before, False
    whose = {"project": scope.project, "user": scope.user, "thread": scope.thread}
    of = {**whose, "after": before.upto, "upto": upto}
    said = [
        row.number
        for row in connection.execute(_MESSAGES, of).all()
        if _says(row, again) or again.within(row.citations)
    ]
    made = [
        row.number
        for row in connection.execute(_CALLS, of).all()
        if again.within([row.arguments, row.result])
    ]
    ran = [row.suggestion_id for row in connection.execute(_ACTIONS, of).all() if again.within(row.result)]
    found = Found(before.messages.union(said), before.calls.union(made), before.actions.union(ran), upto)
    return found, upto < last


def unsay(scope: Scope, again: Again, found: Found, at: int, transaction: Transaction) -> None:
    """Empty what says some words again; what the port says of `unsay`. found: what does, as far as it was looked at."""
    connection = transaction.connection
    more = True
    while more:
        found, more = look(scope, again, found, connection)
    told: list[str] = []
    for number in sorted(found.messages):
        said = connection.execute(_MESSAGE, {"of": number}).one_or_none()
        if said is not None:  # its thread may have been deleted meanwhile
            told += _unsay_message(connection, said, again)
    for number in sorted(found.calls):
        call = connection.execute(_CALL, {"of": number}).one_or_none()
        if call is not None and call.status != "confirmed":  # nor has it been approved meanwhile
            told.append(call.id)
            _unsay_call(transaction, call, again, at)
    for id in sorted(found.actions):
        told.append(id)
        _unsay_outcome(connection, id, again)
    _untell(connection, told)
    transaction.erases = bool(told)


def forget(turns: Sequence[StoredTurn], item: str, transaction: Transaction) -> None:
    """Empty what was said; what the port says of `forget`."""
    transaction.erases = True
    connection = transaction.connection
    for turn in turns:
        _empty(
            connection, turn.scope.project, turn.scope.thread, turn.remark.message, turn.remark.role == "user"
        )
    _untell(connection, [*(turn.remark.message for turn in turns), *([item] if item else [])])
    if item:
        connection.execute(_UNAUDIT, {"item": item})


def _empty(connection: sa.Connection, project: str, thread: str, message: str, whole: bool) -> None:
    """Empty the answer to a message; whole: the message too, and all that was said and suggested in its turn."""
    of = {"project": project, "thread": thread, "message": message}
    connection.execute(_UNSAY, {**of, "whole": whole})
    if whole:
        connection.execute(_UNSUGGEST, of)


def _untell(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Empty the answers to requests that name one of these."""
    for id in dict.fromkeys(ids):
        connection.execute(_UNTELL, {"id": f'"{id}"'.encode()})


def _unsay_message(connection: sa.Connection, said: Any, again: Again) -> list[str]:
    """Empty a message, and of a user's its whole turn; of one that only cites it, what it cites.

    Return the ids by which that is told of.
    """
    if not _says(said, again):
        connection.execute(_UNCITE, {"of": said.number, "cited": again.without(said.citations)})
    elif said.role == "user":
        _empty(connection, said.project_id, said.thread_id, said.id, whole=True)
    else:
        connection.execute(_UNSAY_ONE, {"of": said.number})
    of = {"project": said.project_id, "thread": said.thread_id, "turn": said.turn}
    return [*connection.execute(_SAME_TURN, of).scalars()]


def _unsay_call(transaction: Transaction, call: Any, again: Again, at: int) -> None:
    """Empty the texts of a call that say it, and what the ledger has of its result."""
    connection = transaction.connection
    if call.status == "suggested":
        moves.close(transaction, call.project_id, call.id, "cancelled", at)
    left = {"said": again.without(call.arguments), "came": again.without(call.result)}
    connection.execute(_EMPTY_CALL, {"of": call.id, **left})
    _unsay_outcome(connection, call.id, again)


def _unsay_outcome(connection: sa.Connection, id: str, again: Again) -> None:
    """Empty the texts that say it of what came of an action."""
    for outcome in connection.execute(_OUTCOME, {"of": id}).scalars().all():
        connection.execute(_EMPTY_OUTCOME, {"of": id, "came": again.without(outcome)})


def _says(message: Any, again: Again) -> bool:
    if message.role == "user":
        return again.said(message.content)
    if message.role == "tool":
        with suppress(JSONDecodeError):
            return again.within(loads(message.content))
    return again.told(message.content)
