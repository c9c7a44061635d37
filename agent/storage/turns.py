"""Reads and writes of a turn in its thread: its message, its end, and the state with which a thread wakes.

Every message of every user comes through here, so the statements are made once and take their values by name: making a
statement costs ten times as much as running it. Those of every turn are prepared (`prepared.py`).
"""

from collections.abc import Collection
from typing import Any

import msgspec
import sqlalchemy as sa

from ..config import PROMPT_THREAD_BATCH
from ..errors import Conflict, NotFound
from ..ports.calls import StoredCall
from ..ports.conversation import Exchange
from ..ports.threads import (
    StoredMessage,
    Thread,
    ThreadState,
    TurnCancellation,
    TurnOpening,
    TurnStart,
    TurnStep,
)
from . import call_groups, call_transitions
from .columns import encode_json
from .dialect import NUMBER, greatest, insert
from .listing import OF_THREAD, SELECT_THREAD, make_record, require_project, require_row, require_thread
from .prepared import PreparedStatement
from .rows import CALLER
from .schema import actions, calls, messages, threads
from .settle import end_turns
from .transaction import Transaction

MESSAGES_MOST = 10_000  # of one thread

_OF = (messages.c.project_id == sa.bindparam("project"), messages.c.thread_id == sa.bindparam("thread"))
_CALLS_OF = (calls.c.project_id == sa.bindparam("project"), calls.c.thread_id == sa.bindparam("thread"))
_STANDS = PreparedStatement(  # the number of a thread's messages, and the owner of its pending turn, if any
    sa.select(
        sa.select(sa.func.count()).select_from(messages).where(*_OF).scalar_subquery().label("held"),
        sa.select(messages.c.owner)
        .where(*_OF, messages.c.status == "pending")
        .scalar_subquery()
        .label("owner"),
    )
)
_STATUS = PreparedStatement(
    sa.select(messages.c.status).where(*_OF, messages.c.id == sa.bindparam("message"))
)
_COLUMNS = tuple(column.name for column in messages.columns if column.name != "number")
_NEW_THREAD = PreparedStatement(
    sa.insert(threads), "project_id", "id", "user_id", "created_at", "updated_at", "turn"
)
_INSERT = PreparedStatement(sa.insert(messages), *_COLUMNS)
_INSERT_ONCE = PreparedStatement(
    insert(messages).on_conflict_do_nothing(index_elements=["project_id", "id"]), *_COLUMNS
)
_NEXT_TURN = PreparedStatement(
    sa.update(threads)
    .where(*OF_THREAD)
    .values(turn=threads.c.turn + 1, updated_at=sa.bindparam("at"))
    .returning(threads.c.user_id, threads.c.created_at, threads.c.updated_at, threads.c.turn)
)
_TOUCH = PreparedStatement(
    sa.update(threads)
    .where(*OF_THREAD)
    .values(updated_at=greatest(threads.c.updated_at, sa.bindparam("at", type_=NUMBER)))
    .returning(threads.c.number)
)
_END = PreparedStatement(
    sa.update(messages)
    .where(*_OF, messages.c.id == sa.bindparam("message"), messages.c.status == "pending")
    .values(status=sa.bindparam("to"), owner=sa.null())
    .returning(messages.c.number)
)
_FORGET_RESULT = sa.delete(messages).where(
    *_OF, messages.c.role == "tool", messages.c.call_id == sa.bindparam("call")
)
_END_ALL = end_turns().where(*_OF)
_END_PENDING = _END_ALL.returning(messages.c.id)
_LET_GO = (  # cancels the calls that run within the turn of a message and have not begun
    sa.update(calls)
    .where(
        *_CALLS_OF,
        calls.c.message_id == sa.bindparam("message"),
        calls.c.status == "confirmed",
        calls.c.needs_approval == 0,
        calls.c.runs_at != CALLER,
    )
    .values(status="cancelled", owner=None, ended_at=sa.bindparam("at", type_=NUMBER))
)
_CLAIMED = (  # selects the calls that another process has claimed: those of a turn, or every one
    sa.select(calls.c.id)
    .join(actions, actions.c.suggestion_id == calls.c.id)
    .where(
        *_CALLS_OF,
        calls.c.status == "claimed",
        sa.or_(calls.c.needs_approval == 0, sa.bindparam("every", type_=NUMBER) == 1),
        calls.c.runs_at != CALLER,
        actions.c.owner != sa.bindparam("owner"),
    )
)
_TOLD = (  # the last answered turn: its prompt had every call that had ended before it began
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
_ENDED_CALLS = PreparedStatement(_ENDED.with_only_columns(calls.c.number))
"""Selects the numbers of the calls of `_ENDED`: most turns have none, and need no row of them."""
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


def _answered_queries() -> tuple[sa.Select[Any], sa.Select[Any]]:
    """Return the query for the newest answered exchanges, newest first, and the query for their number."""
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


_ANSWERED, _HOW_MANY = _answered_queries()


def begin_turn(opening: TurnOpening, transaction: Transaction) -> TurnStart:
    """Insert a message as pending (see `begin_turn` of the port `ThreadStore`)."""
    connection = transaction.connection
    if opening.new:
        require_project(connection, opening.project)
    else:
        _check_free(opening, transaction)
    if opening.closes is not None:
        closed = call_transitions.close_call(
            transaction,
            opening.project,
            opening.closes,
            "answered",
            opening.at,
            closing=call_transitions.Closing(by=opening.user, approver=opening.approver, once=True),
        )
        if closed.thread != opening.thread:
            raise NotFound("there is no such thing")
    changed = _first_turn(opening, connection) if opening.new else _next_turn(opening, connection)
    of = {"project": opening.project, "thread": opening.thread}
    if opening.call is not None:  # the call's result stands in the thread once, as this turn's message
        connection.execute(_FORGET_RESULT, {**of, "call": opening.call})
    message = StoredMessage(
        id=opening.id,
        thread=opening.thread,
        turn=changed.turn,
        role=opening.role,
        content=opening.content,
        status="pending",
        created_at=opening.at,
        call=opening.call,
    )
    _INSERT.rows(connection, **_row(opening.project, message, transaction.owner))
    if opening.new or not _ENDED_CALLS.rows(connection, **of):
        return TurnStart(changed)
    return TurnStart(changed, _read_calls(connection, _ENDED, of))


def keep_result(transaction: Transaction, call: StoredCall, at: int) -> None:
    """Insert the reported result of a call as a message of its thread, under the call's id."""
    _TOUCH.rows(transaction.connection, project=call.project, thread=call.thread, at=at)
    content = msgspec.json.encode(call.result).decode()
    message = StoredMessage(
        id=call.id,
        thread=call.thread,
        turn=call.turn,
        role="tool",
        content=content,
        status="done",
        created_at=at,
        call=call.id,
    )
    _INSERT_ONCE.rows(transaction.connection, **_row(call.project, message))


def abandon_turn(opening: TurnOpening, transaction: Transaction) -> None:
    """Cancel a turn that began after its caller had given up, so that it does not block another turn."""
    of = {"project": opening.project, "thread": opening.thread, "message": opening.id}
    _END.rows(transaction.connection, **of, to="cancelled")


def record_step(step: TurnStep, kb: str | None, transaction: Transaction) -> bool:
    """Write a step of a turn (see `record_step` of the port `ThreadStore`)."""
    connection = transaction.connection
    if not _TOUCH.rows(connection, project=step.project, thread=step.thread, at=step.at):
        raise NotFound("there is no such thing")
    goes_on = _end_message(step, transaction)
    if goes_on:
        if step.answer is not None:
            _INSERT_ONCE.rows(connection, **_row(step.project, step.answer))
        for call in step.calls:
            call_transitions.keep_call(transaction, call, kb)
    for message in step.tools:
        if message.call is not None and not call_transitions.is_kept(connection, message.call):
            continue  # the turn had ended before its call was stored, so that nothing can refer to it
        _INSERT_ONCE.rows(connection, **_row(step.project, message))
    for move in step.moves:
        call_transitions.move_call(transaction, step.project, step.thread, move, step.at)
    return goes_on


def cancel_turn(
    project: str, thread: str, at: int, calls: bool, transaction: Transaction
) -> TurnCancellation:
    """End the pending message and the calls that its turn has not begun (see `cancel_turn` of the port `ThreadStore`).

    A claim requires a confirmed call in its own transaction, so of a claim and a cancel one comes first. With `calls`
    the claims that processes hold are withdrawn, which they see before they begin.
    """
    connection = transaction.connection
    require_thread(connection, project, thread)
    of = {"project": project, "thread": thread}
    pending = connection.execute(_END_PENDING, of).scalars().all()
    for ended in pending:
        connection.execute(_LET_GO, {**of, "message": ended, "at": at})
    if calls:
        call_groups.cancel_calls(transaction, project, thread, at)
    claimed = {**of, "owner": transaction.owner, "every": int(calls)}
    return TurnCancellation(bool(pending), tuple(connection.execute(_CLAIMED, claimed).scalars().all()))


def check_pending(connection: sa.Connection, project: str, thread: str, message: str) -> None:
    """Raise `Conflict` unless the message is still pending."""
    if _find_status(connection, {"project": project, "thread": thread, "message": message}) != "pending":
        raise Conflict("cancelled")


def find_cancelled(
    wanted: Collection[tuple[str, str]], connection: sa.Connection
) -> frozenset[tuple[str, str]]:
    """Return the messages that have ended as cancelled."""
    named = sa.tuple_(messages.c.project_id, messages.c.id).in_(wanted)
    query = sa.select(messages.c.project_id, messages.c.id).where(named, messages.c.status == "cancelled")
    return frozenset((project, id) for project, id in connection.execute(query))


def load_state(project: str, id: str, exchanges: int, connection: sa.Connection) -> ThreadState:
    """Return the state with which a thread wakes."""
    of = {"project": project, "thread": id}
    made = thread_of(require_row(connection.execute(SELECT_THREAD, of).one_or_none()))
    most = exchanges
    if made.turn > exchanges >= PROMPT_THREAD_BATCH:
        over = connection.execute(_HOW_MANY, of).scalar_one() - exchanges
        most -= -max(0, over) % PROMPT_THREAD_BATCH  # so that the first exchange stays the same for a batch
    said = connection.execute(_ANSWERED, {**of, "most": most}).all()
    history = tuple(
        Exchange(question, answer, bool(back), asked) for question, answer, back, asked in reversed(said)
    )
    live, ended = (_read_calls(connection, wanted, of) for wanted in (_LIVE, _ENDED))
    return ThreadState(made, history, live, ended)


def thread_of(one: Any) -> Thread:
    """Return a row as a `Thread`."""
    return make_record(Thread, one, project=one.project_id, user=one.user_id)


def message_of(one: Any) -> StoredMessage:
    """Return a row as a `StoredMessage`."""
    return make_record(
        StoredMessage, one, thread=one.thread_id, citations=tuple(one.citations), call=one.call_id
    )


def _read_calls(
    connection: sa.Connection, wanted: sa.Select[Any], of: dict[str, Any]
) -> tuple[StoredCall, ...]:
    return tuple(map(call_transitions.call_of, connection.execute(wanted, of)))


def _first_turn(opening: TurnOpening, connection: sa.Connection) -> Thread:
    """Insert a thread in which a turn begins."""
    made = Thread(
        id=opening.thread,
        project=opening.project,
        user=opening.user,
        created_at=opening.at,
        updated_at=opening.at,
        turn=1,
    )
    row = {
        "project_id": made.project,
        "id": made.id,
        "user_id": made.user,
        "created_at": made.created_at,
        "updated_at": made.updated_at,
        "turn": made.turn,
    }
    _NEW_THREAD.rows(connection, **row)
    return made


def _next_turn(opening: TurnOpening, connection: sa.Connection) -> Thread:
    """Count another turn of a thread; raises `NotFound` if it does not exist or belongs to another project."""
    rows = _NEXT_TURN.rows(connection, project=opening.project, thread=opening.thread, at=opening.at)
    if not rows:
        raise NotFound("there is no such thing")
    ((user, created_at, updated_at, turn),) = rows
    return Thread(
        id=opening.thread,
        project=opening.project,
        user=user,
        created_at=created_at,
        updated_at=updated_at,
        turn=turn,
    )


def _check_free(opening: TurnOpening, transaction: Transaction) -> None:
    """Cancel a pending message whose process has ended; raise `Conflict` if a turn is in progress or the thread is
    full.

    A thread that does not exist passes this check.
    """
    of = {"project": opening.project, "thread": opening.thread}
    ((held, owner),) = _STANDS.rows(transaction.connection, **of)
    if owner is not None:
        leftover = owner == transaction.owner and opening.alone
        if not leftover and not transaction.dead(owner):
            raise Conflict("turn_in_progress")
        transaction.connection.execute(_END_ALL, of)
    if held >= MESSAGES_MOST:
        raise Conflict("thread_full")


def _row(project: str, message: StoredMessage, owner: str | None = None) -> dict[str, Any]:
    """Return a message as a row. `owner` is the process that works on its turn, while it is pending."""
    return {
        "project_id": project,
        "thread_id": message.thread,
        "id": message.id,
        "turn": message.turn,
        "role": message.role,
        "content": message.content,
        "citations": encode_json([dict(each) for each in message.citations]),
        "status": message.status,
        "call_id": message.call,
        "created_at": message.created_at,
        "owner": owner,
        "confidence": message.confidence,
        "blocked": message.blocked,
    }


def _end_message(step: TurnStep, transaction: Transaction) -> bool:
    """End the message of a step if the step ends it; return `False` if it had ended otherwise before."""
    if step.message is None:
        return True
    of = {"project": step.project, "thread": step.thread, "message": step.message}
    if step.status is not None and _END.rows(transaction.connection, **of, to=step.status):
        return True
    return _find_status(transaction.connection, of) in ("pending", step.status)


def _find_status(connection: sa.Connection, of: dict[str, str]) -> str:
    """Return the status of a message; raises `NotFound` if it does not exist."""
    rows = _STATUS.rows(connection, **of)
    if not rows:
        raise NotFound("there is no such thing")
    ((status,),) = rows
    return str(status)
