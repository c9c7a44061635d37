"""Runs confirmed actions: claim, run, record, report. One task each, in the app's nursery, never in a session's.

An action passes four steps in its task, and this is what a stop, a deadline or a fault does in each:

| step | stop() | deadline | fault |
| --- | --- | --- | --- |
| claim (shielded) | told at once, executor never called, row cancelled | failed, executor never called | the same |
| run, before begin() | cancelled | failed | failed |
| run, after begin() | no effect | unknown | unknown |
| record (shielded), report | no effect | the real result is reported all the same | the same, and it is logged |

`begin()` and `stop()` are both synchronous, so one of them is first: a stop that was granted makes a later `begin()`
raise `Stopped`, and whatever the executor then does or returns, the outcome is cancelled; a `begin()` that was granted
makes every later stop a no-op. "Cancelled" is therefore never said of something that began. An executor's own word
goes before these rules: ActionFailed is always failed, ActionUnknown always unknown.

Another process may take back what an action belongs to. Where a `still` is given it is asked every BEGIN_LOOK seconds
until `begin()`, and its no is a stop. What it said last, or the claim, is trusted for BEGIN_SURE seconds: a `begin()`
after that is not granted. So who takes it back and waits that long knows that nothing begins any more.

After `begin()` no scope of a session is above the run, so nothing of a session can cut it. The one cancel that can is
the app nursery's own ("end it now"): the run ends at once, as cancelled or, when it had begun, as unknown; that is
recorded (shielded) and reported before the task ends.

Nobody waits for a ledger whose disk hangs: it says so itself after RECORD_TIMEOUT seconds of that disk's silence, which
are no seconds in which the event loop is late. One that says nothing has STORE_TIMEOUT. A claim that is late is left to
it: nothing is run, and if the row turns out to have been made, the ledger records that it was cancelled. A record that
is late is left to it as well: it keeps the outcome until it is written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
import trio

from ..config import ACTION_TIMEOUT, BEGIN_LOOK, BEGIN_SURE, STORE_TIMEOUT
from ..errors import ActionFailed, ActionUnknown, AgentError, Conflict, NotFound
from ..ports.action import CANCELLED, Before, Call, Ended, Executor, Outcome, Running, Still
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.observe import Observer

_log = structlog.get_logger(__name__)

IGNORED: Mapping[str, Any] = {"ignored": True}


class Stopped(AgentError):
    """`begin()` came too late: a stop or a deadline was first. Nothing may be done any more."""


@dataclass(frozen=True, slots=True)
class _Ending:
    status: Ended
    result: Mapping[str, Any]


def _failed(message: str) -> _Ending:
    return _Ending("failed", {"success": False, "error": message})


def _unknown(message: str) -> _Ending:
    return _Ending("unknown", {"success": False, "unknown": True, "error": message})


_STOPPED = _Ending("cancelled", CANCELLED)
_NOT_CLAIMED = _failed(
    "The action could not be claimed, so it was not run and never will be. Ask again to get a new suggestion."
)
_NEVER_BEGAN = _failed(f"The action did not begin within {ACTION_TIMEOUT:g} s and was given up.")
_NOT_SURE = _failed("Whether the action may still begin could not be looked up, so it did not begin.")
_NO_OUTCOME = _unknown(f"The action began but did not finish within {ACTION_TIMEOUT:g} s.")
_CUT_OFF = _unknown("The server went down after the action had begun.")
_FAULT_BEFORE = _failed("The action failed before it began.")
_FAULT_AFTER = _unknown("The action began and then failed; its outcome is not known.")


class Action:
    """One action in progress, as the runner carries it out. Its session holds it as `Running`, and sees no more."""

    __slots__ = (
        "_begun",
        "_refused",
        "_report",
        "_scope",
        "_stopping",
        "_told",
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
        before: Before | None = None,
        still: Still | None = None,
    ) -> None:
        self.call = call
        self.before = before
        self.still = still
        self.sure_at = trio.current_time()  # when it was last asked for whether it may begin, and it might
        self._unsure = False  # begin() was not granted because that was too long ago
        self._report: Callable[[Outcome], None] | None = report
        self._scope = trio.CancelScope()
        self._begun = False
        self._refused = False  # begin() was called and not granted
        self._stopping = trio.Event()  # stop() was called before begin()
        self._told = False

    @property
    def begun(self) -> bool:
        """Whether `begin()` was granted."""
        return self._begun

    @property
    def stopped(self) -> bool:
        """Whether a stop came before `begin()`, so that nothing will begin any more."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Let no `begin()` be granted from now on, and cancel the run; once one was granted, do nothing."""
        if not self._begun:
            self._stopping.set()
            self._scope.cancel()

    def detach(self) -> None:
        """Drop the report, and with it what holds the session."""
        self._report = None

    def _begin(self) -> None:
        """Be told that the effect is about to start; a second call changes nothing. Raises `Stopped`."""
        if self._begun:
            return
        if self._scope.cancel_called or _over():
            self._refused = True
            raise Stopped("begin() came after a stop or a deadline")
        if self.still is not None and trio.current_time() - self.sure_at > BEGIN_SURE:
            self._refused = self._unsure = True
            raise Stopped("whether it may begin is not known")
        self._begun = True
        self._scope.deadline = trio.current_time() + ACTION_TIMEOUT

    async def run(self, executor: Executor) -> _Ending:
        """Run the executor to its ending. Raises `trio.Cancelled` only when the app's nursery is cancelled."""
        if self.stopped:
            return _STOPPED
        ending: _Ending | None = None
        self._scope.deadline = trio.current_time() + ACTION_TIMEOUT
        try:
            with self._scope:
                data = await executor.run(self.call, self._begin)
                ending = _Ending("done", {"success": True, "data": dict(data)})
        except ActionFailed as error:
            ending = _failed(str(error))
        except ActionUnknown as error:
            return _unknown(str(error))
        except Exception as error:  # noqa: BLE001  the edge of one action: a fault becomes its outcome
            ending = _FAULT_AFTER if self._begun else _FAULT_BEFORE
            if not isinstance(error, Stopped):
                _complain("action broke", self.call, error)
        if self._begun:
            return ending or _NO_OUTCOME
        if self.stopped or (self._refused and not self._scope.cancel_called and _over()):
            return _STOPPED  # the second: the app's nursery was cancelled before begin()
        if self._unsure:
            return _NOT_SURE
        return _NEVER_BEGAN if self._refused else ending or _NEVER_BEGAN

    def cut_off(self) -> _Ending:
        """Return the ending of a run that the app's nursery has cut."""
        return _CUT_OFF if self._begun else _STOPPED

    async def answer_a_stop(self) -> None:
        """Tell a stop during the claim at once: whatever the ledger answers, nothing will begin any more."""
        await self._stopping.wait()
        self.tell(Outcome(self.call.suggestion_id, True, _STOPPED.status, _STOPPED.result))

    def tell(self, outcome: Outcome) -> bool:
        """Report the outcome, if none was; False when nobody was there to take one."""
        report, self._report = self._report, None
        if report is not None:
            self._told = True
            try:
                report(outcome)
            except Exception as error:  # noqa: BLE001  the same edge: a session's fault is not the runner's
                _complain("action report broke", self.call, error)
        return self._told


class Runner:
    """Runs every confirmed action of the process.

    nursery: the app's; it must be open for as long as actions may be started.
    clock: for the ledger's stamps. observer: measures `action_seconds` from start to report, keeps the level
    `actions_running`, and counts `actions` by how they ended when no session is left to do so.
    """

    def __init__(
        self, nursery: trio.Nursery, ledger: Ledger, executor: Executor, clock: Clock, observer: Observer
    ) -> None:
        self._nursery = nursery
        self._ledger = ledger
        self._executor = executor
        self._clock = clock
        self._observer = observer
        self._running = 0
        self._idle = trio.Event()

    @property
    def running(self) -> int:
        """How many actions have been started and not yet reported."""
        return self._running

    def start(
        self,
        call: Call,
        report: Callable[[Outcome], None],
        before: Before | None = None,
        still: Still | None = None,
    ) -> Running:
        """Start a confirmed action and return its handle at once.

        report: called exactly once, synchronously, from the action's task, unless detached; what it raises is
        logged and goes no further. before: awaited before the claim, within its time. still: asked between the claim
        and `begin()`, as this module's opening says.
        """
        action = Action(call, report, before, still)
        self._nursery.start_soon(self._carry_out, action, name=f"action {call.action}")
        self._running += 1
        self._observer.gauge("actions_running", 1)
        return action

    async def wait_idle(self) -> None:
        """Wait until no action is running; the caller sets the deadline. Cancelled, nothing has changed."""
        await trio.lowlevel.checkpoint()
        while self._running:
            await self._idle.wait()

    async def _carry_out(self, action: Action) -> None:
        call, started = action.call, trio.current_time()
        claimed = await self._claim(action)
        ending: _Ending | None = None
        if not claimed:
            ending = _STOPPED if action.stopped else _NOT_CLAIMED
        try:
            if claimed:
                ending = await self._run(action)
        finally:  # also when the app's nursery is cancelled
            ending = ending or action.cut_off()
            if claimed:
                await self._record(call, ending)
            outcome = Outcome(call.suggestion_id, True, ending.status, ending.result)
            if claimed is False:
                outcome = Outcome(call.suggestion_id, False, None, IGNORED)
            self._observer.measure("action_seconds", trio.current_time() - started)
            if not action.tell(outcome):
                self._observer.count("actions", outcome.status or "ignored")
            self._finished()

    async def _claim(self, action: Action) -> bool | None:
        """Return the ledger's answer, or None when it gave none in time. Shielded."""
        claimed: bool | None = None
        call = action.call
        with trio.move_on_after(STORE_TIMEOUT, shield=True) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(action.answer_a_stop, name=f"action {call.action}: a stop")
                try:
                    if action.before is not None:
                        await action.before()
                    action.sure_at = trio.current_time()
                    now = self._clock.now_ms()
                    claimed = await self._ledger.claim(call.suggestion_id, call.action, now, call.scope)
                except Exception as error:  # noqa: BLE001  the edge of one action: what cannot be claimed is not run
                    if _taken_back(error):
                        _log.info("action taken back", action=call.action, suggestionId=call.suggestion_id)
                    else:
                        _complain("action claim failed", call, error)
                nursery.cancel_scope.cancel()
        if scope.cancelled_caught and claimed is None:
            _log.error("action claim late", action=call.action, suggestionId=call.suggestion_id)
        return claimed

    async def _run(self, action: Action) -> _Ending:
        if action.still is None:
            return await action.run(self._executor)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look, action, action.still, name=f"action {action.call.action}: still")
            ending = await action.run(self._executor)
            nursery.cancel_scope.cancel()
        return ending

    async def _look(self, action: Action, still: Still) -> None:
        """Stop an action that may not begin any more. A look that fails says nothing, and what was sure grows old."""
        while not action.begun and not action.stopped:
            await trio.sleep(BEGIN_LOOK)
            asked_at = trio.current_time()
            try:
                if not await still():
                    action.stop()
                action.sure_at = asked_at
            except Exception as error:  # noqa: BLE001  the edge of one action
                _complain("action look failed", action.call, error)

    async def _record(self, call: Call, ending: _Ending) -> None:
        """Record the ending, waiting for at most STORE_TIMEOUT. Shielded; a failure is logged, no more."""
        try:
            with trio.move_on_after(STORE_TIMEOUT, shield=True) as scope:
                await self._ledger.record(
                    call.suggestion_id, ending.status, ending.result, self._clock.now_ms()
                )
            if scope.cancelled_caught:
                _log.error("action record late", action=call.action, suggestionId=call.suggestion_id)
        except Exception as error:  # noqa: BLE001  the edge of one action: the real result is still reported
            _complain("action record failed", call, error)

    def _finished(self) -> None:
        self._running -= 1
        self._observer.gauge("actions_running", -1)
        if not self._running:
            self._idle.set()
            self._idle = trio.Event()


def _over() -> bool:
    """Whether the current task is cancelled, or a deadline around it has passed, though it may not know yet."""
    return trio.current_effective_deadline() <= trio.current_time()


def _taken_back(error: Exception) -> bool:
    """Whether nobody wants an action any more that was to be claimed: its turn was cancelled, or its thread deleted."""
    return isinstance(error, NotFound) or (isinstance(error, Conflict) and error.code == "cancelled")


def _complain(event: str, call: Call, error: Exception) -> None:
    _log.error(event, action=call.action, suggestionId=call.suggestion_id, exc_info=error)
