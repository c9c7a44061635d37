"""What a thread's frames say, as it is kept: its messages, its calls, and how each ended.

One turn of a thread is in progress at a time. Its message was kept before it began; here it comes to its end, with the
answer and what that suggests, in one go. Whoever waits for the end of a turn or of a call is told after that was kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import trio

from ..errors import AgentError, Conflict, NotFound, StorageFailed
from ..ports.action import Call, Still
from ..ports.calls import CallStatus, CallStore, Move, StoredCall
from ..ports.clock import Clock
from ..ports.desk import Mode, Reply
from ..ports.threads import MessageStatus, Said, StoredMessage, ThreadStore
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
class Waiter:
    """Somebody who waits for the end of a turn. Exactly one of the two is there once `over` is set."""

    over: trio.Event = field(default_factory=trio.Event)
    reply: Reply | None = None
    error: AgentError | None = None

    async def wait(self) -> Reply:
        """Return the reply. Raises `Conflict` with why there is none, or `StorageFailed`."""
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
        """End the wait with why there is no reply; a first end stands."""
        if not self.over.is_set():
            self.error = error
            self.over.set()


@dataclass(slots=True)
class _Turn:
    """The turn whose frames come now."""

    message: str
    number: int
    tools: Mapping[str, ToolDefinition]
    waiter: Waiter
    calls: list[str] = field(default_factory=list)
    suggested: bool = False
    position: int = 0
    ended: bool = False  # and that is kept


class Journal:
    """Keeps what one thread's frames say.

    kept_for: seconds in which a suggested call can be approved, or a handed over one be taken. recorder: remembers what
    was said.
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
        self._turn: _Turn | None = None
        self._number = 0  # of the last turn
        self._ends: dict[str, trio.Event] = {}  # of calls that somebody waits for

    @property
    def asking(self) -> bool:
        """Whether a turn has begun here that has not come to its end."""
        return self._turn is not None

    @property
    def message(self) -> str | None:
        """The id of its message, until its end is kept."""
        return self._turn.message if self._turn and not self._turn.ended else None

    def open(self, message: str, number: int, tools: Mapping[str, ToolDefinition]) -> Waiter:
        """Take that a turn begins, whose message is kept; return who waits for its end."""
        if self._turn is not None and not self._turn.ended:
            self._turn.waiter.fail(Conflict("cancelled"))
        waiter = Waiter()
        self._number = number
        self._turn = _Turn(message, number, tools, waiter)
        return waiter

    def end_of(self, call: str) -> trio.Event:
        """Return what is set once a call has come to an end."""
        return self._ends.setdefault(call, trio.Event())

    def fail(self, error: AgentError) -> None:
        """Tell who waits that nothing more will come."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.waiter.fail(error)
        for event in self._ends.values():
            event.set()
        self._ends.clear()

    async def keep(self, frames: Sequence[Outbound]) -> None:
        """Keep what some frames say, all or nothing, then tell who waits. Raises StorageFailed.

        Raises `Conflict("cancelled")` for the end of a turn that was cancelled in the rows: it has said nothing.
        """
        step = _Step(self._clock.now_ms())
        turn = self._turn
        for frame in frames:
            self._note(step, frame)
        goes_on = True
        if step.anything:
            said = step.said(self._project, self._thread)
            goes_on = await self._threads.say(said, partial(_tell_of_the_disk, turn))
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
        """Keep a call that its turn makes, before it is claimed; one that somebody approved must be the approved one.

        Raises `Conflict`, "arguments_changed" where it is another, "cancelled" where its turn was cancelled, also by
        another process; nothing is run then.
        """
        turn = self._turn
        hashed = digest(call.payload)
        if turn is None or turn.ended or call.message != turn.message:
            kept = await self._calls.call(self._project, call.suggestion_id)
        else:
            made = self._call(turn, call.suggestion_id, call.action, call.payload, hashed)
            made = replace(
                made,
                status="confirmed",
                needs_approval=False,
                approved_by="definition",
                approved_at=made.created_at,
                risk=call.risk or made.risk,
                sources=call.sources,
            )
            await self._calls.keep_call(made)
            turn.calls.append(made.id)
            kept = await self._calls.call(self._project, made.id)
        if kept.arguments_hash != hashed:
            raise Conflict("arguments_changed")

    def still(self, call: Call) -> Still | None:
        """Return what tells whether the turn that makes a call goes on in the rows; None for a call of no turn."""
        return partial(self._goes_on, call.message) if call.message == self.message else None

    async def _goes_on(self, message: str) -> bool:
        try:
            return (await self._threads.message(self._project, message)).status == "pending"
        except NotFound:  # its thread was deleted
            return False

    # --- what a frame says

    def _note(self, step: "_Step", frame: Outbound) -> None:
        if isinstance(frame, StreamEnd) and frame.reason == "cancelled":
            step.end(frame.id, "cancelled")
        elif isinstance(frame, Response):
            step.end(frame.id, "refused" if frame.blocked else "done")
            step.response = frame
            if self._turn is not None:
                step.answer = self._answer(self._turn, frame, step.at)
        elif isinstance(frame, ActionSuggestion):
            self._suggested(step, frame)
        elif isinstance(frame, ActionExecuted):
            status = _status(frame.result)
            if status is not None:
                told = None if status in _CLOSED else dict(frame.result)
                step.move(Move(frame.suggestion_id, status, told))
                if status == "failed":  # one that could not be claimed has not run
                    step.move(Move(frame.suggestion_id, "cancelled"))
                if status not in _CLOSED:
                    step.tools.append(self._result(frame, step.at))
            else:
                step.ended.append(frame.suggestion_id)
        elif isinstance(frame, ActionClosed):
            step.move(Move(frame.suggestion_id, frame.reason))
            if frame.reason != "answered":
                self._not_taken(step, frame.suggestion_id)
        elif isinstance(frame, Error) and frame.code in _TURNED_AWAY:
            self._turned_away(step, frame)

    def _not_taken(self, step: "_Step", call: str) -> None:
        """End the turn of words that were said in place of an approval which their session let go of meanwhile."""
        if self._turn is not None and call == self._turn.message:
            step.end(call, "cancelled")

    def _turned_away(self, step: "_Step", frame: Error) -> None:
        turned_away = frame.id or frame.suggestion_id
        if frame.suggestion_id is not None:
            step.move(Move(frame.suggestion_id, "cancelled"))  # it was approved, and will never run
        if self._turn is not None and turned_away == self._turn.message:
            step.end(turned_away, "failed")
            step.error = frame.code

    def _suggested(self, step: "_Step", frame: ActionSuggestion) -> None:
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

    def _call(self, turn: _Turn, id: str, tool: str, arguments: Mapping[str, Any], hashed: str) -> StoredCall:
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

    def _answer(self, turn: _Turn, frame: Response, at: int) -> StoredMessage:
        citations = tuple(msgspec.to_builtins(each) for each in frame.citations)
        return StoredMessage(
            self._new_id(),
            self._thread,
            turn.number,
            "assistant",
            frame.text,
            "refused" if frame.blocked else "done",
            at,
            citations,
        )

    def _result(self, frame: ActionExecuted, at: int) -> StoredMessage:
        content = msgspec.json.encode(frame.result).decode()
        return StoredMessage(
            self._new_id(), self._thread, self._number, "tool", content, "done", at, call=frame.suggestion_id
        )

    # --- the end of a turn

    async def _end(self, turn: _Turn, step: "_Step") -> None:
        said = step.response
        remembered = await self._recorder.ended(turn.message) if said is not None else ()
        calls = tuple([await self._calls.call(self._project, call) for call in turn.calls])
        if self._turn is turn:  # and no other has begun meanwhile
            self._turn = None  # not before: whatever ends this wait, who waits is told by `fail`
        if said is None:
            turn.waiter.fail(Conflict(step.error or "cancelled"))
            return
        mode: Mode = "ACT" if turn.suggested else "ASK" if said.asks else "NOOP"
        turn.waiter.answer(
            Reply(
                self._thread,
                turn.message,
                mode,
                said.text,
                tuple(msgspec.to_builtins(each) for each in said.citations),
                said.confidence,
                {"code": said.blocked.code, "message": said.blocked.message} if said.blocked else None,
                calls,
                remembered or (),
                said.without_memory or remembered is None,
            )
        )


@dataclass(slots=True)
class _Step:
    """What one step of a session says. ends: the message whose turn it ends."""

    at: int
    ends: str | None = None
    status: MessageStatus | None = None
    response: Response | None = None
    error: str | None = None
    answer: StoredMessage | None = None
    calls: list[StoredCall] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    tools: list[StoredMessage] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        return bool(self.ends or self.calls or self.moves or self.tools)

    def end(self, message: str | None, status: MessageStatus) -> None:
        self.ends, self.status = message, status

    def move(self, move: Move) -> None:
        self.moves.append(move)
        self.ended.append(move.call)

    def said(self, project: str, thread: str) -> Said:
        return Said(
            project,
            thread,
            self.ends,
            self.status,
            self.at,
            self.answer,
            tuple(self.calls),
            tuple(self.moves),
            tuple(self.tools),
        )


def _tell_of_the_disk(turn: _Turn | None) -> None:
    """Tell who waits for a turn that it cannot be kept now."""
    if turn is not None:
        turn.waiter.fail(StorageFailed("its disk does not answer"))


_CLOSED: frozenset[CallStatus] = frozenset(("cancelled", "expired"))


def _status(result: Mapping[str, Any]) -> CallStatus | None:
    """Return which end of a call a result tells of; None where it tells of none (it was confirmed before)."""
    if result.get("cancelled"):
        return "cancelled"
    if result.get("expired"):
        return "expired"
    if result.get("ignored"):
        return None
    if result.get("success"):
        return "done"
    return "unknown" if result.get("unknown") else "failed"
