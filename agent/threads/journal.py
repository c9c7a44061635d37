"""The journal of a thread: it stores the meaning of a session's frames, as messages, calls and their ends.

One turn of a thread is in progress at a time. Its message was stored before it began; the journal stores its end, with
the answer and the suggested calls, in one step. Tasks that wait for the end of a turn or of a call wake after that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec
import trio

from ..errors import AgentError, Conflict, NotFound, StorageFailed
from ..ports.action import BeginCheck, Call
from ..ports.calls import CallStore
from ..ports.clock import Clock
from ..ports.thread_service import Mode, Reply
from ..ports.threads import ThreadStore
from ..ports.tools import ToolDefinition
from ..protocol.outbound import Outbound, Response
from .frame_step import FrameStep, approve_by_definition
from .hashes import digest
from .recorder import ThreadRecorder
from .turn_rows import CurrentTurn, TurnRows, TurnWaiter


class Journal:
    """The journal of one thread, fed by its `ThreadWire`.

    `approval_time`: the seconds in which a suggested call can be approved, or a call handed over be claimed.
    `recorder`: remembers the exchange.
    """

    def __init__(
        self,
        project: str,
        thread: str,
        threads: ThreadStore,
        calls: CallStore,
        clock: Clock,
        new_id: Callable[[], str],
        approval_time: float,
        recorder: ThreadRecorder,
    ) -> None:
        self._rows = TurnRows(project, thread, new_id, approval_time)
        self._project = project
        self._threads = threads
        self._calls = calls
        self._clock = clock
        self._recorder = recorder
        self._turn: CurrentTurn | None = None
        self._number = 0  # of the last turn
        self._call_ends: dict[str, trio.Event] = {}  # by call; set when it ends

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
        self._number = number
        self._turn = CurrentTurn(message=message, number=number, tools=tools)
        return self._turn.waiter

    def end_event(self, call: str) -> trio.Event:
        """Return an event that is set once the call has ended."""
        return self._call_ends.setdefault(call, trio.Event())

    def fail(self, error: AgentError) -> None:
        """Fail the turn's waiter with `error`, and wake the tasks that wait for the end of a call."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.waiter.fail(error)
        for event in self._call_ends.values():
            event.set()
        self._call_ends.clear()

    async def keep_frames(self, frames: Sequence[Outbound]) -> None:
        """Store the meaning of some frames, all or nothing, then wake the tasks that wait for it.

        Raises `StorageFailed`. Raises `Conflict("cancelled")` for the end of a turn that was cancelled in the rows: its
        answer is not stored.
        """
        turn = self._turn
        step = FrameStep(rows=self._rows, turn=turn, number=self._number, at=self._clock.now_ms())
        for frame in frames:
            step.add_frame(frame)
        goes_on = True
        if step.has_content:
            goes_on = await self._threads.record_step(step.make_turn_step(), partial(_fail_waiter, turn))
        for call in step.settled:
            event = self._call_ends.pop(call, None)
            if event is not None:
                event.set()
        if not goes_on:
            raise Conflict("cancelled")
        if turn is not None and step.message == turn.message:
            turn.ended = True
            await self._finish_turn(turn, step)

    async def keep_call(self, call: Call) -> None:
        """Store a call of the current turn before it is claimed; any other call must be stored with the same arguments.

        Raises `Conflict("arguments_changed")` for other arguments, and `Conflict("cancelled")` when its turn was
        cancelled, also by another process. Nothing runs then.
        """
        turn = self._turn
        if turn is None or turn.ended or call.message != turn.message:
            stored_call = await self._calls.call(self._project, call.suggestion_id)
        else:
            now = self._clock.now_ms()
            new_call = self._rows.make_call(turn, call.suggestion_id, call.action, call.payload, now)
            new_call = approve_by_definition(new_call, now)
            new_call = replace(new_call, risk=call.risk or new_call.risk, sources=call.sources)
            await self._calls.keep_call(new_call)
            turn.calls.append(new_call.id)
            stored_call = await self._calls.call(self._project, new_call.id)
        if stored_call.arguments_hash != digest(call.payload):
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

    async def _finish_turn(self, turn: CurrentTurn, step: FrameStep) -> None:
        """Answer the turn's waiter, once the proposals of the exchange are there."""
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
                thread=self._rows.thread,
                message=turn.message,
                mode=mode,
                text=response.text,
                citations=tuple(msgspec.to_builtins(each) for each in response.citations),
                confidence=response.confidence,
                blocked=_describe_refusal(response),
                calls=calls,
                remembered=remembered or (),
                without_memory=response.without_memory or remembered is None,
            )
        )


def _describe_refusal(response: Response) -> dict[str, str] | None:
    if response.blocked is None:
        return None
    return {"code": response.blocked.code, "message": response.blocked.message}


def _fail_waiter(turn: CurrentTurn | None) -> None:
    """Fail the waiter of a turn that cannot be stored now."""
    if turn is not None:
        turn.waiter.fail(StorageFailed("its database does not answer"))
