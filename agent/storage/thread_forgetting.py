"""Forgetting in threads: empties the words of messages, and stored answers to requests that hold these words.

Rows without words stay: ids, times, roles and statuses. The request sets `erases`, so that the log is truncated before
it is answered; the database overwrites the pages that it frees (`PRAGMA secure_delete`).

A call loses its words too, if it holds the forgotten ones: each such text of its arguments, its result and the reason
of its rejection. Its tool, approval, times, outcome and the hash of its approved arguments stay, so that it is done at
most once. A call that is not approved is cancelled with that, since its suggestion can no longer be shown as it was. An
approved call that has not begun keeps its words, since it must be done as it was approved. Of the other calls of a
forgotten message, those that never ran lose their arguments; those that ran keep them as the record of their effect.
The ledger's row of an action from a socket, which has no call, loses such texts too.

The audit loses its lines about the item. Its lines about calls stay, as the calls do.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from json import JSONDecodeError, loads
from typing import Any, Final

import sqlalchemy as sa

from ..ports.conversation import Scope
from ..ports.memory import StoredTurn
from ..ports.remember import RepeatMatcher
from ..ports.requests import ITEM_DECIDED
from . import call_transitions
from .dialect import EVERY, find_bytes, last_place, look_size, place_of_row
from .schema import actions, audit, calls, idempotency, messages, threads
from .settle import end_turns
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
    .values(arguments={}, reason=None)
)
_TELLS: Any = find_bytes(idempotency.c.answer, sa.cast(sa.bindparam("id"), sa.LargeBinary))
_UNTELL = sa.update(idempotency).where(idempotency.c.owner.is_(None), _TELLS > 0).values(answer=b"")
_UNAUDIT = sa.delete(audit).where(
    audit.c.subject == sa.bindparam("item"), audit.c.event.startswith(ITEM_DECIDED, autoescape=True)
)
_THEIRS = (  # all threads of a user; without a user the one thread
    threads.c.project_id == _PROJECT,
    threads.c.user_id == sa.bindparam("user"),
    sa.or_(threads.c.user_id != "", threads.c.id == sa.bindparam("thread")),
)


def _rows_query(table: sa.Table, *wanted: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query for some rows of a table that belong to the threads of a user."""
    of_thread = sa.and_(threads.c.project_id == table.c.project_id, threads.c.id == table.c.thread_id)
    after, upto = place_of_row(table) > sa.bindparam("after"), place_of_row(table) <= sa.bindparam("upto")
    return sa.select(table).join(threads, of_thread).where(*_THEIRS, after, upto, *wanted)


_MESSAGES = _rows_query(messages, messages.c.content != "", messages.c.status != "pending")
_OF_THREAD = sa.and_(threads.c.project_id == messages.c.project_id, threads.c.id == messages.c.thread_id)
_GOING_ON = (  # word for word as the index over them has it
    sa.select(messages).join(threads, _OF_THREAD).where(*_THEIRS, sa.text("messages.status = 'pending'"))
)
_END_ONE = end_turns().where(messages.c.number == _OF)
_CALLS = _rows_query(calls, calls.c.status != "confirmed")
_ACTIONS = sa.select(actions).where(
    actions.c.project == _PROJECT,
    actions.c.user == sa.bindparam("user"),
    sa.or_(actions.c.user != "", actions.c.thread == sa.bindparam("thread")),
    place_of_row(actions) > sa.bindparam("after"),
    place_of_row(actions) <= sa.bindparam("upto"),
    actions.c.result.is_not(None),
)
_LAST = sa.select(last_place(messages, calls, actions))
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
    .values(arguments=sa.bindparam("said"), result=sa.bindparam("came"), reason=sa.bindparam("because"))
)
_OUTCOME = sa.select(actions.c.result).where(actions.c.suggestion_id == _OF, actions.c.result.is_not(None))
_EMPTY_OUTCOME = sa.update(actions).where(actions.c.suggestion_id == _OF).values(result=sa.bindparam("came"))


@dataclass(frozen=True, slots=True)
class RepeatingRows:
    """The rows that repeat some words, as far as they were searched for.

    `messages` and `calls` hold row numbers. `actions` holds ids of ledger rows without a call. `upto` is the last
    number that was looked at.
    """

    messages: frozenset[int] = frozenset()
    calls: frozenset[int] = frozenset()
    actions: frozenset[str] = frozenset()
    upto: int = 0


def find_repeats(
    scope: Scope,
    repeats: RepeatMatcher,
    before: RepeatingRows,
    connection: sa.Connection,
    final: bool = False,
) -> tuple[RepeatingRows, bool]:
    """Search the next rows of a user's threads; return all matches so far, and whether there are more rows.

    `final`: of all rows that there are, in the transaction that empties them.
    """
    last = int(connection.execute(_LAST).scalar_one())
    upto = EVERY if final else min(last, before.upto + look_size(connection, _LOOKED_AT))
    if upto <= before.upto:
        return before, False
    whose = {"project": scope.project, "user": scope.user, "thread": scope.thread}
    of = {**whose, "after": before.upto, "upto": upto}
    said = [
        row.number
        for row in connection.execute(_MESSAGES, of).all()
        if _is_repeat(row, repeats) or repeats.matches_json(row.citations)
    ]
    made = [
        row.number
        for row in connection.execute(_CALLS, of).all()
        if repeats.matches_json([row.arguments, row.result, row.reason])
    ]
    ran = [
        row.suggestion_id
        for row in connection.execute(_ACTIONS, of).all()
        if repeats.matches_json(row.result)
    ]
    found = RepeatingRows(
        before.messages.union(said), before.calls.union(made), before.actions.union(ran), upto
    )
    return found, upto < last


def empty_repeats(
    scope: Scope, repeats: RepeatMatcher, found: RepeatingRows, at: int, transaction: Transaction
) -> None:
    """Empty the rows that repeat some words (see `forget_repeats` of the port). `found` holds the matches so far."""
    connection = transaction.connection
    dead = _end_dead(scope, transaction)
    found = replace(
        found, messages=found.messages.union(row.number for row in dead if _is_repeat(row, repeats))
    )
    found, _ = find_repeats(scope, repeats, found, connection, True)
    told: list[str] = []
    for number in sorted(found.messages):
        message = connection.execute(_MESSAGE, {"of": number}).one_or_none()
        if message is not None:  # its thread may have been deleted meanwhile
            told += _empty_message(connection, message, repeats)
    for number in sorted(found.calls):
        call = connection.execute(_CALL, {"of": number}).one_or_none()
        if call is not None and call.status != "confirmed":  # nor has it been approved meanwhile
            told.append(call.id)
            _empty_call(transaction, call, repeats, at)
    for id in sorted(found.actions):
        told.append(id)
        _empty_outcome(connection, id, repeats)
    _empty_answers(connection, told)
    transaction.erases = bool(told)


def _end_dead(scope: Scope, transaction: Transaction) -> list[Any]:
    """End the turns of a user whose process has ended: nothing of them goes on. Return their messages."""
    of = {"project": scope.project, "user": scope.user, "thread": scope.thread}
    going_on = transaction.connection.execute(_GOING_ON, of).all()
    dead = [message for message in going_on if transaction.dead(message.owner)]
    for message in dead:
        transaction.connection.execute(_END_ONE, {"of": message.number})
    return dead


def empty_turns(turns: Sequence[StoredTurn], item: str, transaction: Transaction) -> None:
    """Empty the words of these turns (see `forget_turns` of the port `ThreadStore`)."""
    transaction.erases = True
    connection = transaction.connection
    for turn in turns:
        _empty_messages(
            connection, turn.scope.project, turn.scope.thread, turn.remark.message, turn.remark.role == "user"
        )
    _empty_answers(connection, [*(turn.remark.message for turn in turns), *([item] if item else [])])
    if item:
        connection.execute(_UNAUDIT, {"item": item})


def _empty_messages(connection: sa.Connection, project: str, thread: str, message: str, whole: bool) -> None:
    """Empty the answer to a message; with `whole` the message too, and all messages and suggestions of its turn."""
    of = {"project": project, "thread": thread, "message": message}
    connection.execute(_UNSAY, {**of, "whole": whole})
    if whole:
        connection.execute(_UNSUGGEST, of)


def _empty_answers(connection: sa.Connection, ids: Iterable[str]) -> None:
    """Empty the stored answers to requests that name one of these ids."""
    for id in dict.fromkeys(ids):
        connection.execute(_UNTELL, {"id": f'"{id}"'.encode()})


def _empty_message(connection: sa.Connection, message: Any, repeats: RepeatMatcher) -> list[str]:
    """Empty a message, and with a user's message its turn; a message that only cites the words loses those citations.

    Return the ids of the messages that may stand in a stored answer.
    """
    if not _is_repeat(message, repeats):
        connection.execute(_UNCITE, {"of": message.number, "cited": repeats.blank_repeats(message.citations)})
    elif message.role == "user":
        _empty_messages(connection, message.project_id, message.thread_id, message.id, whole=True)
    else:
        connection.execute(_UNSAY_ONE, {"of": message.number})
    of = {"project": message.project_id, "thread": message.thread_id, "turn": message.turn}
    return [*connection.execute(_SAME_TURN, of).scalars()]


def _empty_call(transaction: Transaction, call: Any, repeats: RepeatMatcher, at: int) -> None:
    """Empty the matching texts of a call and of its result in the ledger."""
    connection = transaction.connection
    if call.status == "suggested":
        call_transitions.close_call(transaction, call.project_id, call.id, "cancelled", at)
    left = {
        "said": repeats.blank_repeats(call.arguments),
        "came": repeats.blank_repeats(call.result),
        "because": repeats.blank_repeats(call.reason),
    }
    connection.execute(_EMPTY_CALL, {"of": call.id, **left})
    _empty_outcome(connection, call.id, repeats)


def _empty_outcome(connection: sa.Connection, id: str, repeats: RepeatMatcher) -> None:
    """Empty the matching texts of an action's result."""
    for outcome in connection.execute(_OUTCOME, {"of": id}).scalars().all():
        connection.execute(_EMPTY_OUTCOME, {"of": id, "came": repeats.blank_repeats(outcome)})


def _is_repeat(message: Any, repeats: RepeatMatcher) -> bool:
    if message.role == "user":
        return repeats.matches_user_text(message.content)
    if message.role == "tool":
        with suppress(JSONDecodeError):
            return repeats.matches_json(loads(message.content))
    return repeats.matches_agent_text(message.content)
