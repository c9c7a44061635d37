"""What a turn reads and writes of its thread: its message, all that it says, and what a thread wakes with.

Every message of every user comes through here, so its statements are made once and take their values by name: making
one costs ten times what running it does.
"""

from collections.abc import Collection
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from ..config import MESSAGES_MOST, PROMPT_THREAD_BATCH
from ..errors import Conflict, NotFound
from ..ports.calls import StoredCall
from ..ports.conversation import Exchange
from ..ports.threads import Begun, MessageStatus, Opening, Role, Said, StoredMessage, Thread, Woken
from . import moves
from .listing import KNOWN_THREAD, OF_THREAD, found, known_project, known_thread
from .rows import CALLER
from .schema import actions, calls, messages, threads
from .settle import end_turns
from .transaction import Transaction

_OF = (messages.c.project_id == sa.bindparam("project"), messages.c.thread_id == sa.bindparam("thread"))
_CALLS_OF = (calls.c.project_id == sa.bindparam("project"), calls.c.thread_id == sa.bindparam("thread"))
_STANDS = sa.select(  # how many messages a thread has, and whose turn is pending in it: none where none is
    sa.select(sa.func.count()).select_from(messages).where(*_OF).scalar_subquery().label("held"),
    sa.select(messages.c.owner).where(*_OF, messages.c.status == "pending").scalar_subquery().label("owner"),
)
_MESSAGE: sa.Select[Any] = sa.select(messages.c.status).where(*_OF, messages.c.id == sa.bindparam("message"))
_NEW_THREAD = sa.insert(threads)
_INSERT = sa.insert(messages)
_INSERT_ONCE = insert(messages).on_conflict_do_nothing(index_elements=["project_id", "id"])
_NEXT_TURN = (
    sa.update(threads)
    .where(*OF_THREAD)
    .values(turn=threads.c.turn + 1, updated_at=sa.bindparam("at"))
    .returning(threads)
)
_TOUCH = (
    sa.update(threads)
    .where(*OF_THREAD)
    .values(updated_at=sa.func.max(threads.c.updated_at, sa.bindparam("at", type_=sa.Integer)))
)
_END = (
    sa.update(messages)
    .where(*_OF, messages.c.id == sa.bindparam("message"), messages.c.status == "pending")
    .values(status=sa.bindparam("to"), owner=None)
)
_FORGET_RESULT = sa.delete(messages).where(
    *_OF, messages.c.role == "tool", messages.c.call_id == sa.bindparam("call")
)
_END_ALL = end_turns().where(*_OF)
_END_PENDING = _END_ALL.returning(messages.c.id)
_LET_GO = (  # what runs within the turn of a message, and has not begun
    sa.update(calls)
    .where(
        *_CALLS_OF,
        calls.c.message_id == sa.bindparam("message"),
        calls.c.status == "confirmed",
        calls.c.needs_approval == 0,
        calls.c.runs_at != CALLER,
    )
    .values(status="cancelled", owner=None, ended_at=sa.bindparam("at", type_=sa.Integer))
)
_CLAIMED = (  # within a turn, by another process than this one
    sa.select(calls.c.id)
    .join(actions, actions.c.suggestion_id == calls.c.id)
    .where(
        *_CALLS_OF,
        calls.c.status == "claimed",
        calls.c.needs_approval == 0,
        calls.c.runs_at != CALLER,
        actions.c.owner != sa.bindparam("owner"),
    )
)
_TOLD = (  # the last turn that was answered: it was told of every call that had ended before it began
    sa.select(messages.c.turn)
    .where(*_OF, messages.c.role == "assistant")
    .order_by(messages.c.turn.desc())
    .limit(1)
    .scalar_subquery()
)
_TOLD_AT = sa.select(sa.func.min(messages.c.created_at)).where(*_OF, messages.c.turn == _TOLD)
_ENDED = (
    sa.select(calls)
    .where(
        *_CALLS_OF,
        sa.or_(
            calls.c.turn >= sa.func.coalesce(_TOLD, 0),
            calls.c.ended_at > _TOLD_AT.scalar_subquery(),
        ),
        sa.text("calls.status IN ('done', 'failed', 'unknown')"),
        sa.or_(calls.c.needs_approval == 1, calls.c.runs_at == CALLER),
    )
    .order_by(calls.c.turn, calls.c.position)
)
_LIVE = (
    sa.select(calls)
    .where(
        *_CALLS_OF,
        sa.or_(
            calls.c.status == "suggested", sa.and_(calls.c.status == "confirmed", calls.c.runs_at != CALLER)
        ),
    )
    .order_by(calls.c.number)
)


def _answered() -> tuple[sa.Select[Any], sa.Select[Any]]:
    """Return the queries for the newest exchanges that were answered, newest first, and for how many there are."""
    asked, answer = messages.alias("asked"), messages.alias("answer")
    taken_back = sa.exists().where(*_CALLS_OF, calls.c.turn == asked.c.turn, calls.c.status == "cancelled")
    together = sa.and_(
        answer.c.project_id == asked.c.project_id,
        answer.c.thread_id == asked.c.thread_id,
        answer.c.turn == asked.c.turn,
        answer.c.role == "assistant",
        answer.c.status == "done",
    )
    wanted = (
        asked.c.project_id == sa.bindparam("project"),
        asked.c.thread_id == sa.bindparam("thread"),
        asked.c.role == "user",
        asked.c.status == "done",
        answer.c.content != "",  # it was not forgotten
    )
    newest = sa.select(asked.c.content, answer.c.content, taken_back, asked.c.id).join(answer, together)
    return (
        newest.where(*wanted).order_by(asked.c.number.desc()).limit(sa.bindparam("most")),
        sa.select(sa.func.count()).select_from(asked.join(answer, together)).where(*wanted),
    )


_ANSWERED, _HOW_MANY = _answered()


def begin(opening: Opening, transaction: Transaction) -> Begun:
    """Keep a message as pending; what the port says of `begin_turn`."""
    connection = transaction.connection
    if opening.new:
        known_project(connection, opening.project)
    else:
        _check_free(opening, transaction)
    if opening.closes is not None:
        closed = moves.close(
            transaction, opening.project, opening.closes, "answered", opening.at, once=True, by=opening.user
        )
        if closed.thread != opening.thread:
            raise NotFound("there is no such thing")
    changed = _first_turn(opening, connection) if opening.new else _next_turn(opening, connection)
    of = {"project": opening.project, "thread": opening.thread}
    if opening.call is not None:  # what it returned is said once, where the turn goes on from it
        connection.execute(_FORGET_RESULT, {**of, "call": opening.call})
    message = StoredMessage(
        opening.id,
        opening.thread,
        changed.turn,
        opening.role,
        opening.content,
        "pending",
        opening.at,
        call=opening.call,
    )
    connection.execute(_INSERT, _row(opening.project, message, transaction.owner))
    if opening.new:
        return Begun(changed)
    return Begun(changed, _read_calls(connection, _ENDED, of))


def keep_result(transaction: Transaction, call: StoredCall, at: int) -> None:
    """Keep what a call returned that its caller has reported, as a message of its thread, under the call's id."""
    of = {"project": call.project, "thread": call.thread, "at": at}
    transaction.connection.execute(_TOUCH, of)
    content = msgspec.json.encode(call.result).decode()
    message = StoredMessage(call.id, call.thread, call.turn, "tool", content, "done", at, call=call.id)
    transaction.connection.execute(_INSERT_ONCE, _row(call.project, message))


def abandon(opening: Opening, transaction: Transaction) -> None:
    """Cancel a turn that has begun of which nobody was told, so that it is not in another's way."""
    of = {"project": opening.project, "thread": opening.thread, "message": opening.id}
    transaction.connection.execute(_END, {**of, "to": "cancelled"})


def say(said: Said, kb: str | None, transaction: Transaction) -> bool:
    """Keep what a turn says; what the port says of `say`."""
    connection = transaction.connection
    touched = connection.execute(_TOUCH, {"project": said.project, "thread": said.thread, "at": said.at})
    if not touched.rowcount:
        raise NotFound("there is no such thing")
    goes_on = _goes_on(said, transaction)
    if goes_on:
        if said.answer is not None:
            connection.execute(_INSERT_ONCE, _row(said.project, said.answer))
        for call in said.calls:
            moves.keep(transaction, call, kb)
    for message in said.tools:
        connection.execute(_INSERT_ONCE, _row(said.project, message))
    for move in said.moves:
        moves.go_on(transaction, said.project, said.thread, move, said.at)
    return goes_on


def cancel(project: str, thread: str, at: int, calls: bool, transaction: Transaction) -> tuple[str, ...]:
    """End the pending message, and what its turn has not begun; what the port says of `cancel_turn`.

    A claim asks for a confirmed call in its own transaction, so of a claim and a cancel one comes first.
    """
    connection = transaction.connection
    known_thread(connection, project, thread)
    of = {"project": project, "thread": thread}
    for ended in connection.execute(_END_PENDING, of).scalars().all():
        connection.execute(_LET_GO, {**of, "message": ended, "at": at})
    if calls:
        moves.cancel_all(transaction, project, thread, at)
    return tuple(connection.execute(_CLAIMED, {**of, "owner": transaction.owner}).scalars().all())


def check_pending(connection: sa.Connection, project: str, thread: str, message: str) -> None:
    """Raise `Conflict` for a message whose turn has ended."""
    of = {"project": project, "thread": thread, "message": message}
    if found(connection.execute(_MESSAGE, of).one_or_none()).status != "pending":
        raise Conflict("cancelled")


def cancelled(wanted: Collection[tuple[str, str]], connection: sa.Connection) -> frozenset[tuple[str, str]]:
    """Return which messages have ended as cancelled."""
    named = sa.tuple_(messages.c.project_id, messages.c.id).in_(wanted)
    query = sa.select(messages.c.project_id, messages.c.id).where(named, messages.c.status == "cancelled")
    return frozenset((project, id) for project, id in connection.execute(query))


def wake(project: str, id: str, exchanges: int, connection: sa.Connection) -> Woken:
    """Return what a thread needs to go on."""
    of = {"project": project, "thread": id}
    made = thread(found(connection.execute(KNOWN_THREAD, of).one_or_none()))
    most = exchanges
    if made.turn > exchanges >= PROMPT_THREAD_BATCH:
        over = connection.execute(_HOW_MANY, of).scalar_one() - exchanges
        most -= -max(0, over) % PROMPT_THREAD_BATCH  # so that the first one stays the same for as long
    said = connection.execute(_ANSWERED, {**of, "most": most}).all()
    history = tuple(
        Exchange(question, answer, bool(back), asked) for question, answer, back, asked in reversed(said)
    )
    live, ended = (_read_calls(connection, wanted, of) for wanted in (_LIVE, _ENDED))
    return Woken(made, history, live, ended)


def thread(one: Any) -> Thread:
    """Return a row as a thread."""
    return Thread(one.id, one.project_id, one.user_id, one.created_at, one.updated_at, one.turn)


def message(one: Any) -> StoredMessage:
    """Return a row as a message."""
    role: Role = one.role
    status: MessageStatus = one.status
    cited = tuple(one.citations)
    return StoredMessage(
        one.id, one.thread_id, one.turn, role, one.content, status, one.created_at, cited, one.call_id
    )


def _read_calls(
    connection: sa.Connection, wanted: sa.Select[Any], of: dict[str, Any]
) -> tuple[StoredCall, ...]:
    return tuple(map(moves.read, connection.execute(wanted, of)))


def _first_turn(opening: Opening, connection: sa.Connection) -> Thread:
    """Make a thread in which a turn begins."""
    made = Thread(opening.thread, opening.project, opening.user, opening.at, opening.at, 1)
    row = {
        "project_id": made.project,
        "id": made.id,
        "user_id": made.user,
        "created_at": made.created_at,
        "updated_at": made.updated_at,
        "turn": made.turn,
    }
    connection.execute(_NEW_THREAD, row)
    return made


def _next_turn(opening: Opening, connection: sa.Connection) -> Thread:
    """Count a further turn of a thread; raises `NotFound` for one that is not there, or another project's."""
    of = {"project": opening.project, "thread": opening.thread, "at": opening.at}
    return thread(found(connection.execute(_NEXT_TURN, of).one_or_none()))


def _check_free(opening: Opening, transaction: Transaction) -> None:
    """Cancel a pending message that nobody works on any more; raises `Conflict` where somebody does, or in a full one.

    Of a thread that is not there nothing is said.
    """
    of = {"project": opening.project, "thread": opening.thread}
    stands = transaction.connection.execute(_STANDS, of).one()
    if stands.owner is not None:
        leftover = stands.owner == transaction.owner and opening.alone
        if not leftover and not transaction.dead(stands.owner):
            raise Conflict("turn_in_progress")
        transaction.connection.execute(_END_ALL, of)
    if stands.held >= MESSAGES_MOST:
        raise Conflict("thread_full")


def _row(project: str, message: StoredMessage, owner: str | None = None) -> dict[str, Any]:
    """Return a message as a row. owner: whose turn it is, while it is pending."""
    return {
        "project_id": project,
        "thread_id": message.thread,
        "id": message.id,
        "turn": message.turn,
        "role": message.role,
        "content": message.content,
        "citations": [dict(each) for each in message.citations],
        "status": message.status,
        "call_id": message.call,
        "created_at": message.created_at,
        "owner": owner,
    }


def _goes_on(said: Said, transaction: Transaction) -> bool:
    """End the message that it is said of, where it ends; False when that had ended otherwise before."""
    if said.message is None:
        return True
    of = {"project": said.project, "thread": said.thread, "message": said.message}
    if said.status is not None and transaction.connection.execute(_END, {**of, "to": said.status}).rowcount:
        return True
    kept = found(transaction.connection.execute(_MESSAGE, of).one_or_none())
    return bool(kept.status in ("pending", said.status))
