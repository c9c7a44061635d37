"""Rules of the session that only an unlucky order shows: what the dead still say, events inside events, early ends."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
import trio.testing

from agent.actions.runner import RunningAction
from agent.actions.suggestions import Suggestion, SuggestionDeed, SuggestionStep
from agent.ports.action import Outcome
from agent.ports.brain import DraftCompleted, Proposal, Question
from agent.protocol.inbound import Cancel
from agent.session.actions import ENGINE
from agent.session.events import ActionEnded, BrainEvent, BrainFailed, FrameReceived
from agent.session.session import Session
from agent.testing.wires import MemoryWire

from .driver import REFUSAL, Driver
from .harness import Counts, World, ask, hang, saying, world


def preempted() -> Driver:
    """A core whose first turn was ended by a second question."""
    driver = Driver()
    driver.message("a")
    driver.message("b")
    assert (driver.turn, driver.state) == (2, "buffering")
    return driver


def test_what_a_dead_turn_says_is_not_heard() -> None:
    """A Brain that still drafts after its turn was ended moves nothing."""
    driver = preempted()
    assert driver.post(BrainEvent(1, DraftCompleted(), (), driver.now)) == []
    assert (driver.state, driver.effects) == ("buffering", [])
    driver.drafted()
    assert driver.state == "verifying"


def test_what_a_dead_turn_wrote_last_counts_for_no_other() -> None:
    """A word that a slow socket takes after its turn was pre-empted ends nothing of the next one."""
    driver = preempted()
    driver.drafted()
    driver.verified()
    assert driver.spoken(turn=1) == []
    assert driver.state == "streaming"
    driver.spoken()
    assert driver.state == "idle"


def test_a_dead_turns_fault_is_not_the_next_ones() -> None:
    """A Brain that breaks after its turn was ended is no fault of the next question."""
    driver = preempted()
    assert driver.post(BrainFailed(1, "f", REFUSAL, driver.now)) == []
    assert (driver.state, driver.effects) == ("buffering", [])


class Meddler(Counts):
    """An observer that posts an event in the middle of another, once."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label
        self.act: Callable[[], None] | None = None

    def count(self, metric: str, label: str = "") -> None:
        super().count(metric, label)
        if label == self.label and self.act is not None:
            act, self.act = self.act, None
            act()


async def meddled(w: World, meddler: Meddler) -> MemoryWire:
    """Connect a session whose observer meddles."""
    w.parts = replace(w.parts, observer=meddler)
    return await w.connect()


async def test_an_event_waits_for_the_one_being_handled(autojump_clock: trio.testing.MockClock) -> None:
    """A cancel that comes while a question pre-empts another finds that question's turn begun, and ends it."""
    async with world() as w:
        w.brain.script = hang
        meddler = Meddler("cancelled")
        wire = await meddled(w, meddler)
        (session,) = w.registry
        meddler.act = lambda: session.post(FrameReceived(Cancel(), trio.current_time()))
        wire.push(ask("a"))
        await trio.testing.wait_all_tasks_blocked()
        wire.push(ask("b"))
        await trio.testing.wait_all_tasks_blocked()
        assert [frame["id"] for frame in wire.sent("stream_end")] == ["a", "b"]
        assert (w.states, w.brain.alive) == (["idle"], 0)


async def test_a_session_that_breaks_lets_go_of_everything(autojump_clock: trio.testing.MockClock) -> None:
    """A fault in the session itself stops an action that has not begun, and leaves nothing."""

    def broken() -> None:
        raise ValueError("31337")

    async with world() as w:
        w.brain.script = saying("word", proposals=2)
        w.executor.before = 5.0
        meddler = Meddler("bad_json")
        meddler.act = broken
        wire = await meddled(w, meddler)
        wire.push(ask())
        sid = (await wire.until("action_suggestion"))["suggestionId"]
        wire.push({"type": "confirm_action", "suggestionId": sid})
        await trio.sleep(1)
        assert w.states == ["executing"]
        wire.push("{")
        await trio.sleep(1)
        assert wire.raw == [b"CLOSE 1011"]
        w.nothing_is_left()
        await w.runner.wait_idle()
        row = await w.ledger.get_row(sid)
        assert row is not None
        assert (row.status, w.executor.begun) == ("cancelled", [])


async def test_a_session_that_breaks_is_at_once_nobodys(autojump_clock: trio.testing.MockClock) -> None:
    """No timer and no drain meets a broken session, though its client takes its time to close."""

    def broken() -> None:
        raise ValueError("31337")

    async with world() as w:
        meddler = Meddler("bad_json")
        meddler.act = broken
        wire = await meddled(w, meddler)
        wire.push("{")
        await trio.testing.wait_all_tasks_blocked()
        assert wire.raw == [b"CLOSE 1011"]
        assert len(w.registry) == 0


async def test_a_session_that_is_cancelled_stops_its_action(autojump_clock: trio.testing.MockClock) -> None:
    """Cancelled from outside, a session leaves what a client that left leaves: nothing, and nothing begins."""
    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        w.executor.before = 5.0
        async with trio.open_nursery() as connection:
            wire = MemoryWire(connection)
            session = Session(w.parts, wire)
            w.gone.append(weakref.ref(session))
            connection.start_soon(session.run)
            del session
            wire.push(ask())
            sid = (await wire.until("action_suggestion"))["suggestionId"]
            wire.push({"type": "confirm_action", "suggestionId": sid})
            await trio.sleep(1)
            assert w.states == ["executing"]
            connection.cancel_scope.cancel()
        await trio.sleep(10)
        assert w.executor.begun == []
        row = await w.ledger.get_row(sid)
        assert row is not None
        assert row.status == "cancelled"
        w.nothing_is_left()


async def test_an_action_that_has_reported_is_let_go_of(autojump_clock: trio.testing.MockClock) -> None:
    """A session that goes on keeps nothing of an action that is over, its payload least of all."""

    def handles() -> list[RunningAction]:
        return [each for each in gc.get_objects() if isinstance(each, RunningAction)]

    others = handles()  # what earlier tests have left to be collected
    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        wire = await w.connect()
        wire.push(ask())
        sid = (await wire.until("action_suggestion"))["suggestionId"]
        wire.push({"type": "confirm_action", "suggestionId": sid})
        await wire.until("action_executed")
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        assert [each for each in handles() if each not in others] == []


@pytest.mark.parametrize("closing", [SuggestionStep.REJECT, SuggestionStep.CANCEL, SuggestionStep.EXPIRE])
def test_what_was_closed_stays_closed(closing: SuggestionStep) -> None:
    """A confirm of a suggestion that was closed unconfirmed changes nothing, and is only answered."""
    suggestion = Suggestion(
        "s1", Proposal(action="create_ticket"), Question(id="m", text="", lang=None, at=0.0), deadline=130.0
    )
    ENGINE.fire(suggestion, closing)
    closed = suggestion.state
    row = ENGINE.fire(suggestion, SuggestionStep.CONFIRM)
    assert suggestion.state is closed
    assert row is not None
    assert row.deeds in ((SuggestionDeed.SEND_CANCELLED,), (SuggestionDeed.SEND_EXPIRED,))


class AtTheLast(trio.abc.Instrument):
    """Acts in the one instant when a session's task has been cancelled and does not know yet."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self.acted = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task.name.endswith("Session.run") and not self.acted:
            self.acted = True
            self._act()


@pytest.mark.parametrize("again", range(10))
async def test_an_action_that_ends_with_its_session_starts_nothing(
    again: int, autojump_clock: trio.testing.MockClock
) -> None:
    """An outcome that comes while a cancelled session ends takes no message from its queue, and breaks nothing.

    Many times, because trio draws lots in which order the session's tasks hear of the cancel.
    """
    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        w.executor.after = 5.0
        async with trio.open_nursery() as connection:
            wire = MemoryWire(connection)
            session = Session(w.parts, wire)
            connection.start_soon(session.run)
            wire.push(ask())
            sid = (await wire.until("action_suggestion"))["suggestionId"]
            wire.push({"type": "confirm_action", "suggestionId": sid})
            await trio.sleep(1)
            wire.push(ask("queued"))
            await trio.testing.wait_all_tasks_blocked()
            outcome = Outcome(sid, True, "unknown", {"success": False, "unknown": True, "error": "cut off"})
            late = AtTheLast(lambda: session.post(ActionEnded(outcome, trio.current_time())))
            trio.lowlevel.add_instrument(late)
            connection.cancel_scope.cancel()
        trio.lowlevel.remove_instrument(late)
        assert late.acted
        assert [label for metric, label in w.counts.counted if metric == "errors"] == []
        assert w.brain.ended == 1


@pytest.mark.parametrize("how", ["leaves", "breaks"])
async def test_a_running_action_keeps_no_session(how: str, autojump_clock: trio.testing.MockClock) -> None:
    """While an action that has begun goes on, nothing is left of the session that its client has lost."""

    def broken() -> None:
        raise ValueError("31337")

    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        w.executor.after = 8.0
        meddler = Meddler("bad_json")
        meddler.act = broken
        wire = await meddled(w, meddler)
        wire.push(ask())
        sid = (await wire.until("action_suggestion"))["suggestionId"]
        wire.push({"type": "confirm_action", "suggestionId": sid})
        await trio.sleep(1)
        if how == "leaves":
            wire.leave()
        else:
            wire.push("{")
        await trio.sleep(2)
        gc.collect()
        assert [session() for session in w.gone] == [None]
        assert (len(w.registry), w.runner.running_count) == (0, 1)
        await w.runner.wait_idle()
        row = await w.ledger.get_row(sid)
        assert row is not None
        assert row.status == "done"
