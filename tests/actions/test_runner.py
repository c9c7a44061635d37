"""Claim, run, record, report: what a stop, a deadline or a fault does at each step."""

import gc
import io
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.actions.runner import BeginRefused, Runner
from agent.config import ACTION_TIMEOUT, STORE_TIMEOUT
from agent.errors import ActionFailed, ActionUnknown, Conflict, NotFound
from agent.ports.action import ActionHandle, Call, Executor, Outcome
from agent.ports.conversation import NO_SCOPE, Scope
from agent.ports.ledger import ClaimStatus, LedgerRow
from agent.storage.memory_ledger import MemoryLedger
from tests.logs import logged

Begin = Callable[[], None]
CALL = Call(suggestion_id="s1", action="send_sms", payload={"phone": "070-SECRET"})


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged at the default level."""
    with logged() as stream:
        yield stream


class FakeClock:
    def now_ms(self) -> int:
        return 1000 + int(trio.current_time() * 1000)


class Figures:
    def __init__(self) -> None:
        self.counts: list[tuple[str, str]] = []
        self.levels: dict[str, int] = {}
        self.times: list[tuple[str, float]] = []

    def count(self, metric: str, label: str = "") -> None:
        self.counts.append((metric, label))

    def measure(self, metric: str, seconds: float) -> None:
        self.times.append((metric, seconds))

    def gauge(self, metric: str, change: int) -> None:
        self.levels[metric] = self.levels.get(metric, 0) + change


class SlowLedger(MemoryLedger):
    """A ledger that waits, or fails, before it claims and records."""

    def __init__(self, claim: float = 0.0, record: float = 0.0, fault: str = "") -> None:
        super().__init__()
        self.waits = {"claim": claim, "record": record}
        self.fault = fault

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        await self._wait("claim")
        return await super().claim(suggestion_id, action, at)

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        await self._wait("record")
        await super().record_outcome(suggestion_id, status, result, at)

    async def _wait(self, step: str) -> None:
        await trio.sleep(self.waits[step])
        if self.fault == step:
            raise OSError("disk with 070-SECRET")


class Scripted:
    """An executor that waits, begins, waits and then returns or raises."""

    def __init__(
        self, before: float = 0.0, after: float = 0.0, ending: object = None, raises: Exception | None = None
    ) -> None:
        self.before, self.after, self.ending, self.raises = before, after, ending, raises
        self.called = 0
        self.begun = 0

    async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
        self.called += 1
        await trio.sleep(self.before)
        if self.raises is not None and not self.after:
            raise self.raises
        begin()
        self.begun += 1
        await trio.sleep(self.after)
        if self.raises is not None:
            raise self.raises
        return self.ending if self.ending is not None else {"sent": call.suggestion_id}  # type: ignore[return-value]


class Rig:
    """A runner with everything it needs, and what it reported."""

    def __init__(self, nursery: trio.Nursery, executor: Executor, ledger: MemoryLedger | None = None) -> None:
        self.ledger = ledger or MemoryLedger()
        self.figures = Figures()
        self.runner = Runner(nursery, self.ledger, executor, FakeClock(), self.figures)
        self.outcomes: list[Outcome] = []

    def start(self) -> ActionHandle:
        return self.runner.start(CALL, self.outcomes.append)

    async def ended(self) -> tuple[str | None, Mapping[str, Any]]:
        """Wait for the end; return the status of the one report and its result, which the ledger agrees with."""
        await self.runner.wait_idle()
        (outcome,) = self.outcomes
        row = await self.ledger.get_row("s1")
        assert row is not None
        assert (outcome.suggestion_id, outcome.claimed) == ("s1", True)
        assert (row.status, row.result) == (outcome.status, outcome.result)
        return outcome.status, outcome.result


DONE = ("done", {"success": True, "data": {"sent": "s1"}})
CANCELLED = ("cancelled", {"cancelled": True})


async def test_an_action_is_claimed_run_recorded_and_reported(nursery: trio.Nursery) -> None:
    """The executor's answer is reported as data, stands in the ledger, and the runner is idle again."""
    rig = Rig(nursery, Scripted())
    rig.start()
    assert rig.runner.running_count == 1
    assert await rig.ended() == DONE
    assert rig.runner.running_count == 0
    assert rig.figures.levels == {"actions_running": 0}


async def test_the_ledger_is_stamped_with_the_wall_clock(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The row holds when it was claimed and when it ended, in Unix milliseconds."""
    rig = Rig(nursery, Scripted(before=1.0, after=2.0))
    rig.start()
    await rig.ended()
    row = await rig.ledger.get_row("s1")
    assert row == LedgerRow(
        suggestion_id="s1", action="send_sms", status="done", claimed_at=1000, ended_at=4000, result=DONE[1]
    )
    assert rig.figures.times == [("action_seconds", 3.0)]


async def test_eight_claimers_have_one_winner(nursery: trio.Nursery) -> None:
    """Eight starts of one suggestion, over two runners with one ledger, run the executor once."""
    executor, ledger = Scripted(), MemoryLedger()
    rigs = [Rig(nursery, executor, ledger) for _ in range(2)]
    for rig in rigs * 4:
        rig.start()
    for rig in rigs:
        await rig.runner.wait_idle()
    outcomes = rigs[0].outcomes + rigs[1].outcomes
    assert executor.called == 1
    assert [o.status for o in outcomes if o.claimed] == ["done"]
    ignored = [o for o in outcomes if not o.claimed]
    assert len(ignored) == 7
    assert {o.status for o in ignored} == {None}
    assert all(o.result == {"ignored": True} for o in ignored)


async def test_a_second_start_does_not_touch_the_first_outcome(nursery: trio.Nursery) -> None:
    """A start after the end is ignored, and the recorded outcome stands."""
    rig = Rig(nursery, Scripted())
    rig.start()
    await rig.ended()
    rig.start().stop()
    await rig.runner.wait_idle()
    assert rig.outcomes[1].result == {"ignored": True}
    row = await rig.ledger.get_row("s1")
    assert row is not None
    assert row.status == "done"


# --- stop, at each step


async def test_a_stop_in_the_tick_of_the_start_cancels_the_row(nursery: trio.Nursery) -> None:
    """Stopped before its task ran at all, the row is cancelled and the executor never called."""
    executor = Scripted()
    rig = Rig(nursery, executor)
    rig.start().stop()
    assert await rig.ended() == CANCELLED
    assert executor.called == 0


async def test_a_stop_before_the_claims_answer_cancels_the_row(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """Stopped while the ledger is still deciding, it is told at once, and then the row is cancelled; nothing is run."""
    executor = Scripted()
    rig = Rig(nursery, executor, SlowLedger(claim=1.0))
    running = rig.start()
    await trio.sleep(0.5)
    running.stop()
    running.stop()
    await wait_all_tasks_blocked()
    assert [(o.claimed, o.status, o.result) for o in rig.outcomes] == [(True, *CANCELLED)]
    assert (trio.current_time(), rig.runner.running_count) == (0.5, 1)
    assert await rig.ended() == CANCELLED
    assert trio.current_time() == pytest.approx(1.0)
    assert (executor.called, rig.figures.counts) == (0, [])


@pytest.mark.parametrize("ledger", [SlowLedger(claim=3600.0), SlowLedger(claim=1.0, fault="claim")])
async def test_a_stop_while_the_ledger_hangs_is_answered_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock, ledger: SlowLedger
) -> None:
    """Whatever then becomes of the claim, it is told once, as cancelled, and nothing is run."""
    executor = Scripted()
    rig = Rig(nursery, executor, ledger)
    running = rig.start()
    await trio.sleep(0.5)
    running.stop()
    await wait_all_tasks_blocked()
    assert [(o.status, o.result) for o in rig.outcomes] == [CANCELLED]
    assert trio.current_time() == 0.5
    await rig.runner.wait_idle()
    assert trio.current_time() <= STORE_TIMEOUT
    assert (len(rig.outcomes), executor.called) == (1, 0)


async def test_stopped_and_let_go_during_the_claim_it_counts_as_cancelled(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """A client that leaves while the ledger is still deciding is told nothing; the figures are."""
    rig = Rig(nursery, Scripted(), SlowLedger(claim=1.0))
    running = rig.start()
    await trio.sleep(0.5)
    running.stop()
    running.detach()
    await rig.runner.wait_idle()
    assert (rig.outcomes, rig.figures.counts) == ([], [("actions", "cancelled")])


async def test_a_stop_before_begin_cancels_it_at_once(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """Stopped before begin, the action ends there, without an effect."""
    executor = Scripted(before=5.0)
    rig = Rig(nursery, executor)
    running = rig.start()
    await trio.sleep(1.0)
    running.stop()
    assert not running.has_begun
    assert await rig.ended() == CANCELLED
    assert (executor.called, executor.begun) == (1, 0)
    assert trio.current_time() == pytest.approx(1.0)


async def test_a_stop_after_begin_has_no_effect(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    """Stopped after begin, the action goes on and its real result is reported."""
    rig = Rig(nursery, Scripted(after=5.0))
    running = rig.start()
    await trio.sleep(1.0)
    assert running.has_begun
    running.stop()
    running.stop()
    assert await rig.ended() == DONE
    assert trio.current_time() == pytest.approx(5.0)


@pytest.mark.parametrize("swallows", [False, True])
async def test_begin_after_a_stop_of_the_same_tick_is_refused(nursery: trio.Nursery, swallows: bool) -> None:
    """A stop that comes first makes begin raise, and the outcome is cancelled even if the executor goes on."""
    refused: list[bool] = []

    class StopsItself:
        async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
            running.stop()
            try:
                begin()
            except BeginRefused:
                refused.append(True)
                if not swallows:
                    raise
            return {"sent": "s1"}

    rig = Rig(nursery, StopsItself())
    running = rig.start()
    assert await rig.ended() == CANCELLED
    assert refused == [True]


async def test_a_stop_after_begin_of_the_same_tick_is_ignored(nursery: trio.Nursery) -> None:
    """A begin that comes first makes the stop a no-op, and a second begin changes nothing."""

    class StoppedAfter:
        async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
            begin()
            running.stop()
            begin()
            await trio.lowlevel.checkpoint()
            return {"sent": "s1"}

    rig = Rig(nursery, StoppedAfter())
    running = rig.start()
    assert await rig.ended() == DONE


async def test_a_stop_while_recording_changes_nothing(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """Stopped when the outcome is already being written, it is that outcome that is reported."""
    rig = Rig(nursery, Scripted(raises=ActionFailed("The gateway said no.")), SlowLedger(record=1.0))
    running = rig.start()
    await trio.sleep(0.5)
    running.stop()
    assert await rig.ended() == ("failed", {"success": False, "error": "The gateway said no."})


# --- deadlines


async def test_an_action_that_never_begins_fails(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    """Without begin in ACTION_TIMEOUT the action has failed: certainly nothing was done."""
    rig = Rig(nursery, Scripted(before=3600.0))
    rig.start()
    status, result = await rig.ended()
    assert (status, result["success"], "unknown" in result) == ("failed", False, False)
    assert trio.current_time() == pytest.approx(ACTION_TIMEOUT)


async def test_an_action_that_hangs_after_begin_is_unknown(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """ACTION_TIMEOUT counts anew from begin; when it passes, the outcome is unknown."""
    rig = Rig(nursery, Scripted(before=4.0, after=3600.0))
    rig.start()
    status, result = await rig.ended()
    assert (status, result["success"], result["unknown"]) == ("unknown", False, True)
    assert trio.current_time() == pytest.approx(4.0 + ACTION_TIMEOUT)


@pytest.mark.parametrize("swallows", [False, True])
async def test_begin_in_the_tick_of_its_deadline_is_refused(
    nursery: trio.Nursery, autojump_clock: MockClock, swallows: bool
) -> None:
    """A begin that comes when the time is over is refused, and the action has failed, whatever it returns."""

    class Late:
        async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
            with trio.CancelScope(shield=True):
                await trio.sleep(ACTION_TIMEOUT)
            try:
                begin()
            except BeginRefused:
                if not swallows:
                    raise
            return {"sent": "s1"}

    rig = Rig(nursery, Late())
    rig.start()
    assert (await rig.ended())[0] == "failed"


async def test_begin_inside_the_executors_own_expired_scope_is_refused(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """An executor whose own time is over cannot begin any more, and the action has failed."""

    class OwnScope:
        async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
            with trio.CancelScope() as scope:
                scope.cancel()
                begin()
                await trio.lowlevel.checkpoint()
            return {}

    rig = Rig(nursery, OwnScope())
    rig.start()
    assert (await rig.ended())[0] == "failed"


# --- faults


@pytest.mark.parametrize(
    ("raises", "after", "expected"),
    [
        (ActionFailed("no"), 0.0, ("failed", {"success": False, "error": "no"})),
        (ActionFailed("no"), 1.0, ("failed", {"success": False, "error": "no"})),
        (ActionUnknown("lost"), 0.0, ("unknown", {"success": False, "unknown": True, "error": "lost"})),
        (ActionUnknown("lost"), 1.0, ("unknown", {"success": False, "unknown": True, "error": "lost"})),
    ],
)
async def test_an_executors_own_word_is_believed(
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    raises: Exception,
    after: float,
    expected: tuple[str, dict[str, Any]],
) -> None:
    """ActionFailed is failed and ActionUnknown is unknown, before begin and after it."""
    rig = Rig(nursery, Scripted(after=after, raises=raises))
    rig.start()
    assert await rig.ended() == expected


@pytest.mark.parametrize(("after", "status"), [(0.0, "failed"), (1.0, "unknown")])
async def test_a_fault_is_failed_before_begin_and_unknown_after(
    nursery: trio.Nursery, autojump_clock: MockClock, after: float, status: str
) -> None:
    """Any other exception is judged by begin, and none of its text reaches the client."""
    rig = Rig(nursery, Scripted(after=after, raises=ValueError("070-SECRET")))
    rig.start()
    ended, result = await rig.ended()
    assert (ended, result["success"], result.get("unknown", False)) == (status, False, status == "unknown")
    assert "SECRET" not in str(result)


async def test_a_fault_in_a_group_is_one_fault(nursery: trio.Nursery) -> None:
    """An executor with a nursery of its own may fail with a group; it ends as one outcome."""
    rig = Rig(nursery, Scripted(raises=ExceptionGroup("two", [ValueError(), OSError()])))
    rig.start()
    assert (await rig.ended())[0] == "failed"


async def test_an_answer_that_is_no_mapping_is_unknown(nursery: trio.Nursery) -> None:
    """An executor that breaks its port after begin leaves the outcome unknown."""
    rig = Rig(nursery, Scripted(ending=[1]))
    rig.start()
    assert (await rig.ended())[0] == "unknown"


@pytest.mark.parametrize("ledger", [SlowLedger(claim=3600.0), SlowLedger(fault="claim")])
async def test_what_cannot_be_claimed_is_never_run(
    nursery: trio.Nursery, autojump_clock: MockClock, ledger: SlowLedger
) -> None:
    """A claim that fails or is late ends as failed, without the executor and without a record."""
    executor = Scripted()
    rig = Rig(nursery, executor, ledger)
    rig.start()
    await rig.runner.wait_idle()
    (outcome,) = rig.outcomes
    assert (outcome.claimed, outcome.status, outcome.result["success"]) == (True, "failed", False)
    assert executor.called == 0
    assert await ledger.get_row("s1") is None
    assert trio.current_time() <= STORE_TIMEOUT


@pytest.mark.parametrize("ledger", [SlowLedger(record=3600.0), SlowLedger(fault="record")])
async def test_a_record_that_fails_does_not_hide_the_result(
    nursery: trio.Nursery, autojump_clock: MockClock, ledger: SlowLedger
) -> None:
    """When the outcome cannot be written, the real result is still reported, within STORE_TIMEOUT."""
    rig = Rig(nursery, Scripted(), ledger)
    rig.start()
    await rig.runner.wait_idle()
    assert [(o.status, o.result) for o in rig.outcomes] == [DONE]
    assert trio.current_time() <= STORE_TIMEOUT


async def test_a_report_that_raises_does_not_break_the_runner(nursery: trio.Nursery) -> None:
    """The fault of one session's report is not seen by the next action."""
    rig = Rig(nursery, Scripted())

    def report(outcome: Outcome) -> None:
        raise RuntimeError("session is broken")

    rig.runner.start(Call(suggestion_id="other", action="send_sms", payload={}), report)
    rig.start()
    assert await rig.ended() == DONE
    assert rig.runner.running_count == 0


async def test_no_log_line_holds_a_payload_or_a_faults_text(
    nursery: trio.Nursery, autojump_clock: MockClock, log: io.StringIO
) -> None:
    """Faults of executor, ledger and report are logged without what they said."""
    from_report = ValueError("070-SECRET")

    def report(outcome: Outcome) -> None:
        raise from_report

    for ledger in (SlowLedger(fault="claim"), SlowLedger(fault="record")):
        runner = Rig(nursery, Scripted(raises=ValueError("070-SECRET")), ledger).runner
        runner.start(CALL, report)
        await runner.wait_idle()
    lines = log.getvalue()
    assert "action broke" in lines
    assert "action claim failed" in lines
    assert "action record failed" in lines
    assert "action report broke" in lines
    assert "SECRET" not in lines


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (NotFound("the thread was deleted"), "info"),
        (Conflict("cancelled"), "info"),
        (Conflict("arguments_changed"), "error"),
    ],
)
async def test_an_action_that_its_client_takes_back_before_its_claim_is_no_fault(
    nursery: trio.Nursery, log: io.StringIO, error: Exception, level: str
) -> None:
    """A thread that is deleted, or a turn that is cancelled meanwhile: nothing runs, and the log holds no error."""
    outcomes: list[Outcome] = []
    executor = Scripted()
    runner = Rig(nursery, executor).runner

    async def before() -> None:
        await trio.lowlevel.checkpoint()
        raise error

    runner.start(CALL, outcomes.append, before)
    await runner.wait_idle()
    assert ([each.status for each in outcomes], executor.called) == (["failed"], 0)
    assert ('"level": "error"' in log.getvalue()) == (level == "error")
    assert ("action taken back" in log.getvalue()) == (level == "info")


# --- detach, drain and the end of the app


async def test_a_detached_action_goes_on_and_reports_to_nobody(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """After detach the action ends in the ledger and in the figures only."""
    rig = Rig(nursery, Scripted(after=1.0))
    rig.start().detach()
    await rig.runner.wait_idle()
    assert rig.outcomes == []
    assert rig.figures.counts == [("actions", "done")]
    row = await rig.ledger.get_row("s1")
    assert row is not None
    assert (row.status, row.result) == DONE


async def test_a_detached_action_keeps_no_session_alive(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """A session that let go of its action can be collected while the action still runs."""

    class Session:
        def report(self, outcome: Outcome) -> None: ...

    rig = Rig(nursery, Scripted(after=5.0))
    session = Session()
    running = rig.runner.start(CALL, session.report)
    seen = weakref.ref(session)
    await wait_all_tasks_blocked()
    running.detach()
    del session
    gc.collect()
    assert seen() is None
    assert rig.runner.running_count == 1


async def test_wait_idle_waits_for_the_last_action(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    """It returns at once when nothing runs, and otherwise when everything has been reported."""
    rig = Rig(nursery, Scripted(after=3.0))
    await rig.runner.wait_idle()
    rig.start()
    await trio.sleep(1.0)
    rig.runner.start(Call(suggestion_id="s2", action="send_sms", payload={}), rig.outcomes.append)
    await rig.runner.wait_idle()
    assert trio.current_time() == pytest.approx(4.0)
    assert len(rig.outcomes) == 2


@pytest.mark.parametrize(
    ("executor", "status"),
    [
        (Scripted(before=5.0), "cancelled"),
        (Scripted(after=5.0), "unknown"),
    ],
)
async def test_the_end_of_the_app_ends_actions_at_once(
    autojump_clock: MockClock, executor: Scripted, status: str
) -> None:
    """When the app's nursery is cancelled an action ends now: cancelled, or unknown when it had begun."""
    async with trio.open_nursery() as nursery:
        rig = Rig(nursery, executor, SlowLedger(record=1.0))
        rig.start()
        await trio.sleep(2.0)
        nursery.cancel_scope.cancel()
    assert trio.current_time() == pytest.approx(3.0)
    assert (await rig.ended())[0] == status


async def test_the_end_of_the_app_is_never_held_up_by_the_ledger(autojump_clock: MockClock) -> None:
    """A ledger that hangs delays the end by STORE_TIMEOUT at most."""
    async with trio.open_nursery() as nursery:
        rig = Rig(nursery, Scripted(after=5.0), SlowLedger(record=3600.0))
        rig.start()
        await trio.sleep(1.0)
        nursery.cancel_scope.cancel()
    assert trio.current_time() == pytest.approx(1.0 + STORE_TIMEOUT)
    assert [o.status for o in rig.outcomes] == ["unknown"]


async def test_nothing_begins_when_the_app_has_ended() -> None:
    """An executor that begins without a pause is refused when the app's nursery is already cancelled."""

    class AtOnce:
        begun = False

        async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
            begin()
            self.begun = True
            return {}

    executor = AtOnce()
    async with trio.open_nursery() as nursery:
        rig = Rig(nursery, executor)
        rig.start()
        nursery.cancel_scope.cancel()
    assert not executor.begun
    assert await rig.ended() == CANCELLED


# --- every moment


class Stepwise:
    """An executor of many checkpoints: some before begin, its effect after it, some more."""

    def __init__(self) -> None:
        self.effects = 0

    async def run(self, call: Call, begin: Begin) -> Mapping[str, Any]:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        begin()
        await trio.lowlevel.checkpoint()
        self.effects += 1
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        return {"sent": call.suggestion_id}


async def test_wherever_a_stop_lands_the_outcome_is_the_truth(nursery: trio.Nursery) -> None:
    """At every step of the run, cancelled means no effect and done means one."""
    seen = []
    for steps in range(25):
        executor = Stepwise()
        rig = Rig(nursery, executor)
        running = rig.start()
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        running.stop()
        ended = await rig.ended()
        assert ended == (DONE if executor.effects else CANCELLED)
        assert rig.runner.running_count == 0
        seen.append(executor.effects)
    assert set(seen) == {0, 1}


async def test_wherever_the_app_ends_the_ledger_has_the_truth() -> None:
    """At every step of the run, the row is closed: cancelled without an effect, unknown or done with at most one."""
    seen = set()
    for steps in range(25):
        executor = Stepwise()
        async with trio.open_nursery() as nursery:
            rig = Rig(nursery, executor)
            rig.start()
            for _ in range(steps):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        status, _ = await rig.ended()
        assert executor.effects in {"cancelled": (0,), "unknown": (0, 1), "done": (1,)}[str(status)]
        assert rig.runner.running_count == 0
        seen.add(status)
    assert seen == {"cancelled", "unknown", "done"}
