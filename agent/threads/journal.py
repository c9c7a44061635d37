"""The journal of a thread: it stores what the frames of a session mean, as messages, calls and their ends.

One turn of a thread is in progress at a time. Its message was stored before it began; the journal stores its end, with
the answer and the suggested calls, in one step. Tasks that wait for the end of a turn or of a call wake after that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import trio

from ..errors import AgentError, Conflict, NotFound, StorageFailed
from ..ports.action import BeginCheck, Call
from ..ports.calls import CallStatus, CallStore, CallTransition, StoredCall
from ..ports.clock import Clock
from ..ports.thread_service import Mode, Reply
from ..ports.threads import MessageStatus, StoredMessage, ThreadStore, TurnStep
from ..ports.tools import ToolDefinition
from ..protocol.outbound import (
    ActionClosed,
    ActionExecuted,
    ActionSuggestion,
    Error,
    Outbound,
    Response,
    StreamEnd,
)
from .hashes import digest
from .recorder import ThreadRecorder

_TURNED_AWAY = frozenset(("busy", "rate_limited", "shutting_down", "bad_message", "bad_edit"))


@dataclass(slots=True)
class TurnWaiter:
    """The wait for the end of a turn. Once `over` is set, exactly one of `reply` and `error` is there."""

    over: trio.Event = field(default_factory=trio.Event)
    reply: Reply | None = None
    error: AgentError | None = None

    async def wait(self) -> Reply:
        """Return the reply. Raises `Conflict` with the reason why there is none, or `StorageFailed`."""
        await self.over.wait()
        if self.reply is None:
            raise self.error or Conflict("internal")
        return self.reply

    def answer(self, reply: Reply) -> None:
        """End the wait with a reply; a first end stands."""
        if not self.over.is_set():
            self.reply = reply
            self.over.set()

    def fail(self, error: AgentError) -> None:
        """End the wait with an error; a first end stands."""
        if not self.over.is_set():
            self.error = error
            self.over.set()


@dataclass(slots=True, kw_only=True)
class _CurrentTurn:
    """The turn to which the current frames belong."""

    message: str
    number: int
    tools: Mapping[str, ToolDefinition]
    waiter: TurnWaiter
    calls: list[str] = field(default_factory=list)
    suggested: bool = False
    position: int = 0
    ended: bool = False  # and its end is stored


class Journal:
    """The journal of one thread, fed by its `ThreadWire`.

    `kept_for`: the seconds for which a suggested call can be approved, or a call handed over be claimed. `recorder`
    remembers the exchange.
    """

    def __init__(
        self,
        project: str,
        thread: str,
        threads: ThreadStore,
        calls: CallStore,
        clock: Clock,
        new_id: Callable[[], str],
        kept_for: float,
        recorder: ThreadRecorder,
    ) -> None:
        self._project = project
        self._thread = thread
        self._threads = threads
        self._calls = calls
        self._clock = clock
        self._new_id = new_id
        self._kept_for = kept_for
        self._recorder = recorder
        self._turn: _CurrentTurn | None = None
        self._number = 0  # of the last turn
        self._ends: dict[str, trio.Event] = {}  # by call; set when it ends

    @property
    def is_asking(self) -> bool:
        """Whether a turn that began here has no stored end."""
        return self._turn is not None

    @property
    def message(self) -> str | None:
        """The id of the turn's message, until the turn's end is stored."""
        return self._turn.message if self._turn and not self._turn.ended else None

    def open_turn(self, message: str, number: int, tools: Mapping[str, ToolDefinition]) -> TurnWaiter:
        """Begin the turn of a stored message; return the waiter for its end."""
        if self._turn is not None and not self._turn.ended:
            self._turn.waiter.fail(Conflict("cancelled"))
        waiter = TurnWaiter()
        self._number = number
        self._turn = _CurrentTurn(message=message, number=number, tools=tools, waiter=waiter)
        return waiter

    def end_event(self, call: str) -> trio.Event:
        """Return an event that is set once the call has ended."""
        return self._ends.setdefault(call, trio.Event())

    def fail(self, error: AgentError) -> None:
        """Fail the turn's waiter with `error`, and wake the tasks that wait for the end of a call."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.waiter.fail(error)
        for event in self._ends.values():
            event.set()
        self._ends.clear()

    async def keep_frames(self, frames: Sequence[Outbound]) -> None:
        """Store the meaning of some frames, all or nothing, then wake the tasks that wait for it.

        Raises `StorageFailed`. Raises `Conflict("cancelled")` for the end of a turn that was cancelled in the rows: its
        answer is not stored.
        """
        step = _FrameStep(at=self._clock.now_ms())
        turn = self._turn
        for frame in frames:
            self._note_frame(step, frame)
        goes_on = True
        if step.has_content:
            turn_step = step.to_turn_step(self._project, self._thread)
            goes_on = await self._threads.record_step(turn_step, partial(_fail_waiter, turn))
        for call in step.ended:
            event = self._ends.pop(call, None)
            if event is not None:
                event.set()
        if not goes_on:
            raise Conflict("cancelled")
        if turn is not None and step.ends == turn.message:
            turn.ended = True
            await self._end(turn, step)

    async def keep_call(self, call: Call) -> None:
        """Store a call of the current turn before it is claimed; any other call must be stored with the same arguments.

        Raises `Conflict("arguments_changed")` for other arguments, and `Conflict("cancelled")` when its turn was
        cancelled, also by another process. Nothing runs then.
        """
        turn = self._turn
        hashed = digest(call.payload)
        if turn is None or turn.ended or call.message != turn.message:
            stored_call = await self._calls.call(self._project, call.suggestion_id)
        else:
            new_call = self._call(turn, call.suggestion_id, call.action, call.payload, hashed)
            new_call = replace(
                new_call,
                status="confirmed",
                needs_approval=False,
                approved_by="definition",
                approved_at=new_call.created_at,
                risk=call.risk or new_call.risk,
                sources=call.sources,
            )
            await self._calls.keep_call(new_call)
            turn.calls.append(new_call.id)
            stored_call = await self._calls.call(self._project, new_call.id)
        if stored_call.arguments_hash != hashed:
            raise Conflict("arguments_changed")

    def begin_check(self, call: Call) -> BeginCheck:
        """Return the check whether a claimed call may begin.

        For a call of the turn: whether that is still pending in the rows. For an approved one: whether its thread was
        neither cancelled nor deleted since the claim.
        """
        return partial(
            self._may_begin, call.suggestion_id, call.message if call.message == self.message else None
        )

    async def _may_begin(self, call: str, message: str | None) -> bool:
        try:
            if message is None:
                return await self._calls.may_begin(self._project, call)
            return (await self._threads.message(self._project, message)).status == "pending"
        except NotFound:  # its thread was deleted
            return False

    # --- what a frame says

    def _note_frame(self, step: "_FrameStep", frame: Outbound) -> None:
        if isinstance(frame, StreamEnd) and frame.reason == "cancelled":
            step.end(frame.id, "cancelled")
        elif isinstance(frame, Response):
            step.end(frame.id, "refused" if frame.blocked else "done")
            step.response = frame
            if self._turn is not None:
                step.answer = self._answer(self._turn, frame, step.at)
        elif isinstance(frame, ActionSuggestion):
            self._add_suggestion(step, frame)
        elif isinstance(frame, ActionExecuted):
            status = _status(frame.result)
            if status is not None:
                result = None if status in _CLOSED else dict(frame.result)
                step.move(CallTransition(frame.suggestion_id, status, result))
                if status == "failed":  # one that could not be claimed has not run
                    step.move(CallTransition(frame.suggestion_id, "cancelled"))
                if status not in _CLOSED:
                    step.tools.append(self._result(frame, step.at))
            else:
                step.ended.append(frame.suggestion_id)
        elif isinstance(frame, ActionClosed):
            step.move(CallTransition(frame.suggestion_id, frame.reason))
            if frame.reason != "answered":
                self._end_answer(step, frame.suggestion_id)
        elif isinstance(frame, Error) and frame.code in _TURNED_AWAY:
            self._note_error(step, frame)

    def _end_answer(self, step: "_FrameStep", call: str) -> None:
        """End the turn of an answer to a suggestion which the session had dropped in the meantime."""
        if self._turn is not None and call == self._turn.message:
            step.end(call, "cancelled")

    def _note_error(self, step: "_FrameStep", frame: Error) -> None:
        turned_away = frame.id or frame.suggestion_id
        if frame.suggestion_id is not None:
            step.move(CallTransition(frame.suggestion_id, "cancelled"))  # it was approved, and will never run
        if self._turn is not None and turned_away == self._turn.message:
            step.end(turned_away, "failed")
            step.error = frame.code

    def _add_suggestion(self, step: "_FrameStep", frame: ActionSuggestion) -> None:
        turn = self._turn
        if turn is None:
            return
        call = self._call(turn, frame.suggestion_id, frame.action, frame.payload, digest(frame.payload))
        call = replace(
            call,
            risk=frame.risk or call.risk,
            sources=frame.sources,
            why=frame.why,
            missing=frame.missing,
            deadline=frame.expires_at or call.deadline,
        )
        if frame.approved:
            call = replace(
                call, status="confirmed", needs_approval=False, approved_by="definition", approved_at=step.at
            )
        turn.suggested = True
        turn.calls.append(call.id)
        step.calls.append(call)

    def _call(
        self, turn: _CurrentTurn, id: str, tool: str, arguments: Mapping[str, Any], hashed: str
    ) -> StoredCall:
        now = self._clock.now_ms()
        known = turn.tools.get(tool)
        turn.position += 1
        return StoredCall(
            id=id,
            project=self._project,
            thread=self._thread,
            message=turn.message,
            turn=turn.number,
            position=turn.position,
            tool=tool,
            arguments=arguments,
            arguments_hash=hashed,
            proposed_hash=hashed,
            runs_at=known.runs_at if known else "record",
            needs_approval=True,
            status="suggested",
            created_at=now,
            deadline=now + round(self._kept_for * 1000),
            risk=known.risk if known else "medium",
            parameters=known.parameters if known else None,
        )

    def _answer(self, turn: _CurrentTurn, frame: Response, at: int) -> StoredMessage:
        citations = tuple(msgspec.to_builtins(each) for each in frame.citations)
        return StoredMessage(
            id=self._new_id(),
            thread=self._thread,
            turn=turn.number,
            role="assistant",
            content=frame.text,
            status="refused" if frame.blocked else "done",
            created_at=at,
            citations=citations,
        )

    def _result(self, frame: ActionExecuted, at: int) -> StoredMessage:
        content = msgspec.json.encode(frame.result).decode()
        return StoredMessage(
            id=self._new_id(),
            thread=self._thread,
            turn=self._number,
            role="tool",
            content=content,
            status="done",
            created_at=at,
            call=frame.suggestion_id,
        )

    # --- the end of a turn

    async def _end(self, turn: _CurrentTurn, step: "_FrameStep") -> None:
        response = step.response
        remembered = await self._recorder.record_end(turn.message) if response is not None else ()
        calls = tuple([await self._calls.call(self._project, call) for call in turn.calls])
        if self._turn is turn:  # no later turn has begun
            self._turn = None  # only now: until here `fail` must find the waiter
        if response is None:
            turn.waiter.fail(Conflict(step.error or "cancelled"))
            return
        mode: Mode = "ACT" if turn.suggested else "ASK" if response.asks else "NOOP"
        turn.waiter.answer(
            Reply(
                thread=self._thread,
                message=turn.message,
                mode=mode,
                text=response.text,
                citations=tuple(msgspec.to_builtins(each) for each in response.citations),
                confidence=response.confidence,
                blocked={"code": response.blocked.code, "message": response.blocked.message}
                if response.blocked
                else None,
                calls=calls,
                remembered=remembered or (),
                without_memory=response.without_memory or remembered is None,
            )
        )


@dataclass(slots=True, kw_only=True)
class _FrameStep:
    """The meaning of one step of a session. `ends` is the id of the message that it ends."""

    at: int
    ends: str | None = None
    status: MessageStatus | None = None
    response: Response | None = None
    error: str | None = None
    answer: StoredMessage | None = None
    calls: list[StoredCall] = field(default_factory=list)
    moves: list[CallTransition] = field(default_factory=list)
    tools: list[StoredMessage] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @property
    def has_content(self) -> bool:
        return bool(self.ends or self.calls or self.moves or self.tools)

    def end(self, message: str | None, status: MessageStatus) -> None:
        self.ends, self.status = message, status

    def move(self, move: CallTransition) -> None:
        self.moves.append(move)
        self.ended.append(move.call)

    def to_turn_step(self, project: str, thread: str) -> TurnStep:
        return TurnStep(
            project=project,
            thread=thread,
            message=self.ends,
            status=self.status,
            at=self.at,
            answer=self.answer,
            calls=tuple(self.calls),
            moves=tuple(self.moves),
            tools=tuple(self.tools),
        )


def _fail_waiter(turn: _CurrentTurn | None) -> None:
    """Fail the waiter of a turn that cannot be stored now."""
    if turn is not None:
        turn.waiter.fail(StorageFailed("its disk does not answer"))


_CLOSED: frozenset[CallStatus] = frozenset(("cancelled", "expired"))


def _status(result: Mapping[str, Any]) -> CallStatus | None:
    """Return the end of a call that a result means, or `None` if it means none (the call was confirmed before)."""
    if result.get("cancelled"):
        return "cancelled"
    if result.get("expired"):
        return "expired"
    if result.get("ignored"):
        return None
    if result.get("success"):
        return "done"
    return "unknown" if result.get("unknown") else "failed"
