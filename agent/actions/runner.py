"""Runs confirmed actions: claim, run, record, report. One task each, in the app's nursery, never in a session's.

An action passes four steps in its task. A stop, a deadline or a fault has this effect in each:

| step | stop() | deadline | fault |
| --- | --- | --- | --- |
| claim (shielded) | told at once, executor never called, row cancelled | failed, executor never called | the same |
| run, before begin() | cancelled | failed | failed |
| run, after begin() | no effect | unknown | unknown |
| record (shielded), report | no effect | the real result is reported all the same | the same, and it is logged |

`begin()` and `stop()` are both synchronous, so one of them is first. After a granted stop, `begin()` raises
`BeginRefused`, and the outcome is cancelled regardless of the executor's result. After a granted `begin()`, every stop
is a no-op. So "cancelled" is never said of an action that began. An executor's own report overrides these rules:
`ActionFailed` is always failed, `ActionUnknown` always unknown.

Another process may withdraw the turn or thread of an action. If a `still` check is given, it is asked every
`BEGIN_LOOK` seconds until `begin()`, and the answer False is a stop. Its last True, or the claim, is trusted for
`BEGIN_SURE` seconds; a later `begin()` is refused. So a process that withdraws an action and waits that long knows that
it will not begin any more.

After `begin()` no cancel scope of a session is above the run, so nothing in a session can cut it. Only a cancel of the
app's nursery ("end it now") can: the run ends at once, as cancelled or, after `begin()`, as unknown; that is recorded
(shielded) and reported before the task ends.

A ledger whose disk hangs delays no action for long: it gives up after RECORD_TIMEOUT seconds of the disk's silence, not
counting seconds in which the event loop is late. A silent ledger has `STORE_TIMEOUT`. A late claim is left to the
ledger: nothing is run, and if the row was made after all, the ledger records it as cancelled. A late record is left to
it as well: it keeps the outcome until it is written.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
import trio

from ..config import ACTION_TIMEOUT, BEGIN_LOOK, BEGIN_SURE, STORE_TIMEOUT
from ..errors import ActionFailed, ActionUnknown, AgentError, Conflict, NotFound
from ..ports.action import (
    CANCELLED,
    ActionHandle,
    BeginCheck,
    Call,
    ClaimPrecondition,
    EndStatus,
    Executor,
    Outcome,
)
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.observe import Observer
from ..ports.tools import ToolDefinition
from ..ports.tracing import TRACE_PARENT, TURN_SPAN, Span, Tracer

_log = structlog.get_logger(__name__)

IGNORED: Mapping[str, Any] = {"ignored": True}


class BeginRefused(AgentError):
    """`begin()` was refused: a stop or a deadline came first. The executor may do nothing any more."""


@dataclass(frozen=True, slots=True)
class _Ending:
    status: EndStatus
    result: Mapping[str, Any]


def _failed_ending(message: str) -> _Ending:
    return _Ending("failed", {"success": False, "error": message})


def _unknown_ending(message: str) -> _Ending:
    return _Ending("unknown", {"success": False, "unknown": True, "error": message})


_STOPPED = _Ending("cancelled", CANCELLED)
_NOT_CLAIMED = _failed_ending(
    "The action could not be claimed, so it was not run and never will be. Ask again to get a new suggestion."
)
_NEVER_BEGAN = _failed_ending(f"The action did not begin within {ACTION_TIMEOUT:g} s and was given up.")
_NOT_SURE = _failed_ending(
    "The server could not check whether the action was still wanted, so it did not begin."
)
_NO_OUTCOME = _unknown_ending(f"The action began but did not finish within {ACTION_TIMEOUT:g} s.")
_CUT_OFF = _unknown_ending("The server went down after the action had begun.")
_FAULT_BEFORE = _failed_ending("The action failed before it began.")
_FAULT_AFTER = _unknown_ending("The action began and then failed; its outcome is not known.")


class RunningAction:
    """One action in progress. Its session holds it as an `ActionHandle`, and sees no more of it."""

    __slots__ = (
        "_begun",
        "_refused",
        "_report",
        "_reported",
        "_scope",
        "_stopping",
        "_unsure",
        "before",
        "call",
        "still",
        "sure_at",
    )

    def __init__(
        self,
        call: Call,
        report: Callable[[Outcome], None],
        before: ClaimPrecondition | None = None,
        still: BeginCheck | None = None,
    ) -> None:
        self.call = call
        self.before = before
        self.still = still
        self.sure_at = trio.current_time()  # when the last check allowed it to begin
        self._unsure = False  # begin() was refused because that was too long ago
        self._report: Callable[[Outcome], None] | None = report
        self._scope = trio.CancelScope()
        self._begun = False
        self._refused = False  # begin() was called and refused
        self._stopping = trio.Event()  # stop() was called before begin()
        self._reported = False

    @property
    def has_begun(self) -> bool:
        """Whether `begin()` was granted."""
        return self._begun

    @property
    def is_stopped(self) -> bool:
        """Whether a stop came before `begin()`, so that the action will never begin."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Refuse `begin()` from now on and cancel the run; do nothing after a granted `begin()`."""
        if not self._begun:
            self._stopping.set()
            self._scope.cancel()

    def detach(self) -> None:
        """Drop the report, and with it the reference to the session."""
        self._report = None

    def _begin(self) -> None:
        """Grant the start of the effect; a second call changes nothing. Raises `BeginRefused`."""
        if self._begun:
            return
        if self._scope.cancel_called or _is_over():
            self._refused = True
            raise BeginRefused("begin() came after a stop or a deadline")
        if self.still is not None and trio.current_time() - self.sure_at > BEGIN_SURE:
            self._refused = self._unsure = True
            raise BeginRefused("the last check that the action may begin is too old")
        self._begun = True
        self._scope.deadline = trio.current_time() + ACTION_TIMEOUT

    async def run(self, executor: Executor) -> _Ending:
        """Run the executor to its ending. Raises `trio.Cancelled` only if the app's nursery is cancelled."""
        if self.is_stopped:
            return _STOPPED
        ending: _Ending | None = None
        self._scope.deadline = trio.current_time() + ACTION_TIMEOUT
        try:
            with self._scope:
                data = await executor.run(self.call, self._begin)
                ending = _Ending("done", {"success": True, "data": dict(data)})
        except ActionFailed as error:
            ending = _failed_ending(str(error))
        except ActionUnknown as error:
            return _unknown_ending(str(error))
        except Exception as error:  # noqa: BLE001  the edge of one action: a fault becomes its outcome
            ending = _FAULT_AFTER if self._begun else _FAULT_BEFORE
            if not isinstance(error, BeginRefused):
                _log_error("action broke", self.call, error)
        if self._begun:
            return ending or _NO_OUTCOME
        if self.is_stopped or (self._refused and not self._scope.cancel_called and _is_over()):
            return _STOPPED  # the second: the app's nursery was cancelled before begin()
        if self._unsure:
            return _NOT_SURE
        return _NEVER_BEGAN if self._refused else ending or _NEVER_BEGAN

    def ending_if_cut(self) -> _Ending:
        """Return the ending of a run that a cancel of the app's nursery cut."""
        return _CUT_OFF if self._begun else _STOPPED

    async def report_stop(self) -> None:
        """Report a stop during the claim at once: nothing will begin, whichever way the ledger answers."""
        await self._stopping.wait()
        self.report_outcome(Outcome(self.call.suggestion_id, True, _STOPPED.status, _STOPPED.result))

    def report_outcome(self, outcome: Outcome) -> bool:
        """Report the outcome unless one was reported; return False if no report was left to call."""
        report, self._report = self._report, None
        if report is not None:
            self._reported = True
            try:
                report(outcome)
            except Exception as error:  # noqa: BLE001  the same edge: a session's fault is not the runner's
                _log_error("action report broke", self.call, error)
        return self._reported


class Runner:
    """Runs every confirmed action of the process.

    `nursery`: the app's; it must be open for as long as actions may be started. `clock`: for the ledger's stamps.
    `observer`: measures `action_seconds` from start to report, keeps the level `actions_running`, and counts `actions`
    by outcome if no session is left to do so. `tracer`: makes a span of each action that no turn waits for; `None`
    where nothing traces. `operator`: the operator's tools; a span names no other.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        ledger: Ledger,
        executor: Executor,
        clock: Clock,
        observer: Observer,
        tracer: Tracer | None = None,
        operator: Collection[ToolDefinition] = (),
    ) -> None:
        self._nursery = nursery
        self._ledger = ledger
        self._executor = executor
        self._clock = clock
        self._observer = observer
        self._tracer = tracer
        self._operator = operator
        self._running = 0
        self._idle = trio.Event()

    @property
    def running_count(self) -> int:
        """The number of actions started and not yet reported."""
        return self._running

    def start(
        self,
        call: Call,
        report: Callable[[Outcome], None],
        before: ClaimPrecondition | None = None,
        still: BeginCheck | None = None,
    ) -> ActionHandle:
        """Start a confirmed action and return its handle at once.

        `report`: called exactly once, synchronously, from the action's task, unless detached; its exceptions are logged
        and go no further. `before`: awaited before the claim, within the claim's time. `still`: asked between the claim
        and `begin()` (see the opening of this module).
        """
        action = RunningAction(call, report, before, still)
        self._nursery.start_soon(self._carry_out, action, name=f"action {call.action}")
        self._running += 1
        self._observer.gauge("actions_running", 1)
        return action

    async def wait_idle(self) -> None:
        """Wait until no action is running; the caller sets the deadline. A cancel changes nothing."""
        await trio.lowlevel.checkpoint()
        while self._running:
            await self._idle.wait()

    async def _carry_out(self, action: RunningAction) -> None:
        call, started = action.call, trio.current_time()
        span = self._start_span(call)
        claimed = await self._claim(action)
        ending: _Ending | None = None
        if not claimed:
            ending = _STOPPED if action.is_stopped else _NOT_CLAIMED
        try:
            if claimed:
                ending = await self._run(action)
        finally:  # also when the app's nursery is cancelled
            ending = ending or action.ending_if_cut()
            if claimed:
                await self._record(call, ending)
            outcome = Outcome(call.suggestion_id, True, ending.status, ending.result)
            if claimed is False:
                outcome = Outcome(call.suggestion_id, False, None, IGNORED)
            self._observer.measure("action_seconds", trio.current_time() - started)
            if not action.report_outcome(outcome):
                self._observer.count("actions", outcome.status or "ignored")
            if span is not None:
                span.end("" if outcome.status == "done" else outcome.status or "ignored")
            self._count_finished()

    def _start_span(self, call: Call) -> Span | None:
        """Start the span of a call where calls are traced; a turn that waits for a call has made its span already."""
        if self._tracer is None or TURN_SPAN.get() is not None:
            return None
        is_ours = call.risk is None or any(tool.name == call.action for tool in self._operator)
        return self._tracer.start_call(call.action if is_ours else "", TRACE_PARENT.get())

    async def _claim(self, action: RunningAction) -> bool | None:
        """Return the ledger's answer, or None if none came in time. Shielded."""
        claimed: bool | None = None
        call = action.call
        with trio.move_on_after(STORE_TIMEOUT, shield=True) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(action.report_stop, name=f"action {call.action}: a stop")
                try:
                    if action.before is not None:
                        await action.before()
                    action.sure_at = trio.current_time()
                    now = self._clock.now_ms()
                    claimed = await self._ledger.claim(call.suggestion_id, call.action, now, call.scope)
                except Exception as error:  # noqa: BLE001  the edge of one action: an unclaimed action is not run
                    if _is_withdrawn(error):
                        _log.info("action taken back", action=call.action, suggestionId=call.suggestion_id)
                    else:
                        _log_error("action claim failed", call, error)
                nursery.cancel_scope.cancel()
        if scope.cancelled_caught and claimed is None:
            _log.error("action claim late", action=call.action, suggestionId=call.suggestion_id)
        return claimed

    async def _run(self, action: RunningAction) -> _Ending:
        if action.still is None:
            return await action.run(self._executor)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                self._watch_still, action, action.still, name=f"action {action.call.action}: still"
            )
            ending = await action.run(self._executor)
            nursery.cancel_scope.cancel()
        return ending

    async def _watch_still(self, action: RunningAction, still: BeginCheck) -> None:
        """Stop an action that may not begin any more. A failed check changes nothing, and the last answer grows old."""
        while not action.has_begun and not action.is_stopped:
            await trio.sleep(BEGIN_LOOK)
            asked_at = trio.current_time()
            try:
                if not await still():
                    action.stop()
                action.sure_at = asked_at
            except Exception as error:  # noqa: BLE001  the edge of one action
                _log_error("action look failed", action.call, error)

    async def _record(self, call: Call, ending: _Ending) -> None:
        """Record the ending, waiting for at most `STORE_TIMEOUT`. Shielded; a failure is only logged."""
        try:
            with trio.move_on_after(STORE_TIMEOUT, shield=True) as scope:
                await self._ledger.record_outcome(
                    call.suggestion_id, ending.status, ending.result, self._clock.now_ms()
                )
            if scope.cancelled_caught:
                _log.error("action record late", action=call.action, suggestionId=call.suggestion_id)
        except Exception as error:  # noqa: BLE001  the edge of one action: the real result is still reported
            _log_error("action record failed", call, error)

    def _count_finished(self) -> None:
        self._running -= 1
        self._observer.gauge("actions_running", -1)
        if not self._running:
            self._idle.set()
            self._idle = trio.Event()


def _is_over() -> bool:
    """Return whether the current task is cancelled, or a deadline around it has passed, even before it is delivered."""
    return trio.current_effective_deadline() <= trio.current_time()


def _is_withdrawn(error: Exception) -> bool:
    """Return whether the claim failed because the turn was cancelled or the thread deleted."""
    return isinstance(error, NotFound) or (isinstance(error, Conflict) and error.code == "cancelled")


def _log_error(event: str, call: Call, error: Exception) -> None:
    _log.error(event, action=call.action, suggestionId=call.suggestion_id, exc_info=error)
