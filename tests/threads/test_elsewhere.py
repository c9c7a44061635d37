"""Two desks over one database, as two processes have them: what one cancels, the other neither runs nor says."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import BEGIN_LOOK, BEGIN_SURE
from agent.errors import Conflict, NotFound
from agent.ports.decide import Act
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.thread_service import ChatRequest
from agent.session.events import DrainStarted
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.testing.network import inline
from agent.threads.thread_registry import SWEEP_EVERY
from tests.examples import sample

from .lab import ANSWER, LOOK_UP, REFUND, SHIP, Ear, Lab, Wall, lab

NEXT = Act("look_up", {"order": "A-2"})


class Asking:
    """Somebody who asks, and what became of it."""

    def __init__(self, at: Lab) -> None:
        self.at = at
        self.ear = Ear()
        self.end: str | None = None

    async def run(self, text: str, thread: str | None = None) -> None:
        try:
            self.end = (await self.at.chat(text, thread, listener=self.ear)).text
        except Conflict as why:
            self.end = why.code
        except NotFound:
            self.end = "not found"


@asynccontextmanager
async def two(*decisions: Any, **how: Any) -> AsyncGenerator[tuple[Lab, Lab], None]:
    """The desk whose turn it is, and the other one."""
    async with (
        lab(*decisions, **how) as ours,
        lab(stores=ours.stores, name="other", think=0.1) as other,
    ):
        yield ours, other


async def the_thread(at: Lab) -> str:
    """The only one."""
    (thread,) = (await at.stores.threads.threads(HOUSE, Window(9))).entries
    return str(thread.id)


async def statuses(at: Lab) -> list[tuple[str, str]]:
    """Who said what, and how it stands."""
    return [(each.role, each.status) for each in await at.messages(await the_thread(at))]


async def test_a_turn_is_cancelled_from_elsewhere(autojump_clock: trio.testing.MockClock) -> None:
    """It is cancelled when that is answered; who runs it ends it at the next look, and the thread can be used."""
    async with two(think=60.0) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "price?")
        await trio.sleep(0.5)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        assert await statuses(ours) == [("user", "cancelled")]
        await trio.sleep(SWEEP_EVERY)
        assert asked.end == "cancelled"
        assert (await other.chat("price?", await the_thread(ours))).mode == "NOOP"
        nursery.cancel_scope.cancel()


async def test_a_process_that_drains_delays_no_turn_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A thread that is awake there is in nobody's way: its next turn begins here at once, and knows the last one."""
    async with two() as (ours, other):
        thread = (await ours.chat("price?")).thread
        ours.registry.draining = True
        ours.registry.post_all(DrainStarted(trio.current_time()))
        asked_at = trio.current_time()
        assert (await other.chat("and now?", thread)).text == "It costs 299 kr."
        assert trio.current_time() <= asked_at + 0.2  # as its own turns take
        assert [each.question for each in other.decider.briefings[-1].history] == ["price?"]


async def test_a_cancel_of_everything_reaches_a_turn_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The bare cancel too."""
    async with two(think=60.0) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "price?")
        await trio.sleep(0.5)
        await other.desk.cancel_thread(HOUSE, await the_thread(ours))
        await trio.sleep(SWEEP_EVERY)
        assert (asked.end, await statuses(ours)) == ("cancelled", [("user", "cancelled")])
        nursery.cancel_scope.cancel()


async def test_what_was_cancelled_elsewhere_says_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """An answer that is ready before the next look is neither kept nor told, and its suggestion is none."""
    async with two(REFUND, ANSWER, think=0.1) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        ours.stores.threads.record_step = slow(ours.stores.threads.record_step, 0.3)
        nursery.start_soon(asked.run, "price of A-1?")
        await trio.sleep(0.2)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(0.5)
        assert (asked.end, await statuses(ours)) == ("cancelled", [("user", "cancelled")])
        assert "response" not in asked.ear.kinds()
        assert (await ours.stores.calls.calls(HOUSE, Window(9))).entries == ()
        assert (await ours.chat("price?", await the_thread(ours))).mode == "NOOP"
        assert ours.decider.briefings[-1].history == ()
        nursery.cancel_scope.cancel()


async def test_an_approval_stands_whose_thread_is_deleted_elsewhere(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its call has begun: the approver is told of a call that was approved, not of one that was never there."""
    async with two(REFUND, after=2.0) as (ours, other), trio.open_nursery() as nursery:
        (call,) = (await ours.chat()).calls
        told: list[str] = []

        async def approve() -> None:
            told.append((await ours.desk.approve_call(HOUSE, call.id, "anna", wait=5.0)).status)

        nursery.start_soon(approve)
        await trio.sleep(1)
        assert ours.began() == [(call.id, {"order": "A-1"})]
        await other.desk.delete_thread(HOUSE, call.thread)
        await trio.sleep(9)
        assert told == ["confirmed"]


@pytest.mark.parametrize("wait", sample([0.05, 0.15, 0.25, 0.35, 0.45, 0.55], 3))
async def test_no_tool_of_it_begins_afterwards(autojump_clock: trio.testing.MockClock, wait: float) -> None:
    """Whatever step its turn is at: what had begun is recorded, the next call is never claimed."""
    decisions = (0.1, LOOK_UP, 0.1, NEXT, ANSWER)
    async with two(*decisions, after=0.1) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "what about orders A-1 and A-2?")
        await trio.sleep(wait)
        cancelled_at = trio.current_time()
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(5)
        assert [at for at in ours.times if at > cancelled_at] == []
        assert asked.end == "cancelled" or wait > 0.5
        rows = {row.suggestion_id: row.status for row in await ours.stores.ledger.rows()}
        assert rows == {each.suggestion_id: "done" for each in ours.effects}
        calls = {each.id: each.status for each in (await ours.stores.calls.calls(HOUSE, Window(9))).entries}
        assert calls == rows
        nursery.cancel_scope.cancel()


async def test_a_call_that_was_not_kept_is_none_of_its_turn(autojump_clock: trio.testing.MockClock) -> None:
    """Who asked is told that the turn was cancelled, also when that is noticed after the call was refused."""
    async with two(0.1, LOOK_UP, 60.0, ANSWER) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(0.05)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(2 * SWEEP_EVERY)
        assert (asked.end, ours.effects) == ("cancelled", [])
        nursery.cancel_scope.cancel()


async def test_a_call_that_was_kept_and_not_claimed_is_let_go(autojump_clock: trio.testing.MockClock) -> None:
    """A cancel between the two is before the claim, and that is lost."""
    async with two(LOOK_UP, ANSWER) as (ours, other), trio.open_nursery() as nursery:
        asked = Asking(ours)
        ours.stores.ledger.claim = slow(ours.stores.ledger.claim, 0.3)
        nursery.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(0.2)
        (call,) = (await ours.stores.calls.calls(HOUSE, Window(9))).entries
        assert call.status == "confirmed"
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(5)
        assert (ours.effects, (await ours.call(call.id)).status) == ([], "cancelled")
        nursery.cancel_scope.cancel()


async def test_a_message_interrupts_a_turn_elsewhere(autojump_clock: trio.testing.MockClock) -> None:
    """The new message is answered where it came, and the old one ends where it ran."""
    async with two(think=20.0) as (ours, other), trio.open_nursery() as nursery:
        first = Asking(ours)
        nursery.start_soon(first.run, "price?")
        await trio.sleep(0.2)
        assert (await other.chat("and now?", await the_thread(ours), interrupt=True)).mode == "NOOP"
        await trio.sleep(SWEEP_EVERY)
        assert first.end == "cancelled"
        assert await statuses(ours) == [("user", "cancelled"), ("user", "done"), ("assistant", "done")]
        nursery.cancel_scope.cancel()


async def test_who_ran_it_takes_the_next_message_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """Also before it has looked; who listens to the new turn hears nothing of the old one."""
    async with two(think=20.0) as (ours, other), trio.open_nursery() as nursery:
        first, then = Asking(ours), Asking(ours)
        nursery.start_soon(first.run, "price?")
        await trio.sleep(0.2)
        thread = await the_thread(ours)
        await other.desk.cancel_turn(HOUSE, thread)
        nursery.start_soon(then.run, "and now?", thread)
        await trio.sleep(0.1)
        assert (first.end, then.end) == ("cancelled", None)
        await trio.sleep(25)
        assert then.end == "It costs 299 kr."
        assert [each for each in then.ear.frames if each.get("reason") == "cancelled"] == []
        nursery.cancel_scope.cancel()


async def test_the_next_turn_may_begin_before_the_last_was_told(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Between what is kept of a turn and its reply the next one can begin; both are answered."""
    async with lab(REFUND, ANSWER) as r, trio.open_nursery() as nursery:
        r.stores.calls.call = slow(r.stores.calls.call, 1.0)
        one, other = Asking(r), Asking(r)
        nursery.start_soon(one.run, "price of A-1?")
        await trio.sleep(0.5)
        nursery.start_soon(other.run, "price?", await the_thread(r))
        await trio.sleep(5)
        assert one.end not in (None, "cancelled")
        assert other.end not in (None, "cancelled")
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def apart(
    folder: Path, *decisions: Any, theirs: Sequence[Any] = (), **how: Any
) -> AsyncGenerator[tuple[Lab, Lab], None]:
    """Two desks, each with a store of its own over one file, as two processes have it."""

    def kept() -> Any:
        return open_store(StorageSettings(data=str(folder)), Path("kb"), inline, Wall())

    async with (
        kept() as one,
        kept() as another,
        lab(*decisions, stores=one, **how) as ours,
        lab(*theirs, stores=another, name="other", think=0.1) as other,
    ):
        yield ours, other


@pytest.mark.parametrize("wait", sample([0.15, 0.35, 0.55, 0.75], 3))
async def test_a_call_that_is_claimed_and_has_not_begun_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, wait: float
) -> None:
    """While it connects, its turn is cancelled elsewhere: once that is answered, at once, nothing of it begins."""
    async with apart(tmp_path, 0.1, LOOK_UP, ANSWER, before=0.8) as (ours, other), trio.open_nursery() as n:
        asked = Asking(ours)
        n.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(wait)
        (call,) = (await other.stores.calls.calls(HOUSE, Window(9))).entries
        assert call.status == "claimed"
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        assert trio.current_time() <= wait + 3 * BEGIN_LOOK
        assert (await other.call(call.id)).status == "cancelled"
        await trio.sleep(5)
        assert (asked.end, ours.effects) == ("cancelled", [])
        n.cancel_scope.cancel()


async def test_a_call_whose_turn_cannot_be_looked_up_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Who cancels elsewhere waits as long as the other process may trust what it knew, and no longer."""
    async with apart(tmp_path, LOOK_UP, ANSWER, before=1.2) as (ours, other), trio.open_nursery() as n:
        asked = Asking(ours)
        ours.stores.threads.message = slow(ours.stores.threads.message, 30)
        ours.stores.threads.cancelled_messages = slow(ours.stores.threads.cancelled_messages, 30)
        n.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(0.1)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        assert trio.current_time() == pytest.approx(0.1 + BEGIN_SURE)
        await trio.sleep(5)
        assert (asked.end, ours.effects) == ("cancelled", [])
        (row,) = await other.stores.ledger.rows()
        assert (row.status, "could not check" in row.result["error"]) == ("failed", True)
        n.cancel_scope.cancel()


async def test_a_call_of_a_deleted_thread_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Deleted elsewhere while it connects, its thread has no turn that goes on."""
    async with apart(tmp_path, LOOK_UP, ANSWER, before=0.8) as (ours, other), trio.open_nursery() as n:
        asked = Asking(ours)
        n.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(0.3)
        await other.desk.delete_thread(HOUSE, await the_thread(ours))
        await trio.sleep(5)
        assert ours.effects == []
        n.cancel_scope.cancel()


async def test_a_call_that_has_begun_is_recorded(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Its turn is cancelled elsewhere all the same; it goes on, and what came of it is kept once."""
    async with apart(tmp_path, LOOK_UP, ANSWER, after=3.0) as (ours, other), trio.open_nursery() as n:
        asked = Asking(ours)
        n.start_soon(asked.run, "what about order A-1?")
        await trio.sleep(0.3)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        assert trio.current_time() <= 0.3 + BEGIN_SURE + 0.01
        await trio.sleep(5)
        (call,) = (await other.stores.calls.calls(HOUSE, Window(9))).entries
        assert (asked.end, call.status, len(ours.effects)) == ("cancelled", "done", 1)
        n.cancel_scope.cancel()


async def test_a_slow_call_of_a_turn_that_goes_on_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Looking up that its turn goes on is all that it takes, however long it connects."""
    async with apart(tmp_path, LOOK_UP, ANSWER, before=5.0) as (ours, _):
        reply = await ours.chat("what about order A-1?")
        assert (reply.calls[0].status, len(ours.effects)) == ("done", 1)


async def take_back(at: Lab, thread: str, how: str) -> None:
    """Cancel or delete a thread, and check that it took no longer than a claim elsewhere is trusted."""
    began_at = trio.current_time()
    await (at.desk.cancel_thread if how == "cancel" else at.desk.delete_thread)(HOUSE, thread)
    assert trio.current_time() <= began_at + BEGIN_SURE + 2 * BEGIN_LOOK


@pytest.mark.parametrize(("connects", "how"), sample(product([3.0, 1.05, 1.5], ["cancel", "delete"]), 3))
async def test_an_approved_call_that_is_taken_back_elsewhere_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str, connects: float
) -> None:
    """While it connects, its thread is cancelled or deleted elsewhere: nothing of it begins after the answer."""
    async with apart(tmp_path, REFUND, before=connects) as (ours, other), trio.open_nursery() as n:
        (call,) = (await ours.chat()).calls
        approved_at = trio.current_time()
        n.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        assert (await other.call(call.id)).status == "claimed"
        await take_back(other, call.thread, how)
        assert trio.current_time() < approved_at + 1.5 or how == "delete"
        answered_at = trio.current_time()
        await trio.sleep(9)
        assert [at for at in ours.times if at > answered_at] == []
        (row,) = await other.stores.ledger.rows()
        assert row.status == ("done" if ours.effects else "cancelled")
        n.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["cancel", "delete"])
async def test_an_approved_call_that_cannot_be_looked_up_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str
) -> None:
    """Taken back elsewhere, it begins within the time for which its claim is trusted, or not at all."""
    async with apart(tmp_path, REFUND, before=2.2) as (ours, other), trio.open_nursery() as n:
        (call,) = (await ours.chat()).calls
        n.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        ours.stores.calls.may_begin = slow(ours.stores.calls.may_begin, 30)
        await take_back(other, call.thread, how)
        await trio.sleep(9)
        assert ours.effects == []
        n.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["cancel", "delete"])
async def test_an_approved_call_that_has_begun_is_recorded(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str
) -> None:
    """What is taken back elsewhere after that has its outcome in the ledger all the same."""
    async with apart(tmp_path, REFUND, after=4.0) as (ours, other), trio.open_nursery() as n:
        (call,) = (await ours.chat()).calls
        n.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        await take_back(other, call.thread, how)
        await trio.sleep(9)
        (row,) = await other.stores.ledger.rows()
        assert (row.status, len(ours.effects)) == ("done", 1)
        n.cancel_scope.cancel()


async def test_an_approved_call_of_a_project_that_is_deleted_elsewhere_never_begins(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """While it connects, its project is deleted elsewhere: nothing of it begins after the answer."""
    async with apart(tmp_path, REFUND, before=1.5) as (ours, other), trio.open_nursery() as n:
        await ours.stores.projects.create_project("p2", "p2", "", 1)
        asked = ChatRequest(project="p2", user="anna", text="refund A-1")
        (call,) = (await ours.desk.chat(asked)).calls
        n.start_soon(partial(ours.desk.approve_call, "p2", call.id, "anna", wait=9.0))
        await trio.sleep(1)
        await other.desk.delete_project("p2")
        answered_at = trio.current_time()
        await trio.sleep(9)
        assert (ours.effects, answered_at) == ([], 1 + BEGIN_SURE)
        n.cancel_scope.cancel()


async def test_cancelling_a_turn_leaves_an_approved_call_elsewhere(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """It is none of the turn: it begins after the cancel, which does not wait for it."""
    async with apart(tmp_path, REFUND, before=2.0) as (ours, other), trio.open_nursery() as n:
        (call,) = (await ours.chat()).calls
        n.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        cancelled_at = trio.current_time()
        await other.desk.cancel_turn(HOUSE, call.thread)
        assert trio.current_time() == cancelled_at
        await trio.sleep(9)
        assert ((await other.call(call.id)).status, len(ours.effects)) == ("done", 1)
        n.cancel_scope.cancel()


@asynccontextmanager
async def busy(folder: Path) -> AsyncGenerator[tuple[Lab, Lab, str, str], None]:
    """A thread in which a call runs here, while another one was suggested elsewhere; the thread, and that call."""
    async with apart(folder, REFUND, ANSWER, theirs=(REFUND,), after=4.0) as (ours, other):
        (first,) = (await ours.chat("price of A-1?")).calls
        await ours.desk.approve_call(HOUSE, first.id, "bo")
        (call,) = (await other.chat("price of A-1 again?", first.thread)).calls
        assert (await ours.call(first.id)).status == "claimed"
        yield ours, other, first.thread, call.id
        assert (await ours.call(first.id)).status == "done"


async def test_an_approval_of_what_was_suggested_elsewhere_reaches_a_busy_thread(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """The session that runs another call meanwhile takes it up, and runs it after that."""
    async with busy(tmp_path) as (ours, _, _, call):
        assert (await ours.desk.approve_call(HOUSE, call, "bo", wait=14.0)).status == "done"
        assert len(ours.effects) == 2


@pytest.mark.parametrize("how", ["reject", "cancel", "delete"])
async def test_what_is_taken_back_elsewhere_is_not_begun_here(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str
) -> None:
    """Two processes on one folder: once the one has answered, the other refuses it."""
    async with apart(tmp_path, SHIP) as (ours, other):
        reply = await ours.chat()
        (call,) = reply.calls
        await ours.desk.approve_call(HOUSE, call.id, "bo")
        if how == "reject":
            assert (await other.desk.reject_call(HOUSE, call.id)).status == "cancelled"
        elif how == "cancel":
            await other.desk.cancel_thread(HOUSE, reply.thread)
        else:
            await other.desk.delete_thread(HOUSE, reply.thread)
        with pytest.raises(NotFound if how == "delete" else Conflict):
            await ours.desk.begin_call(HOUSE, call.id)


async def test_a_cancel_elsewhere_takes_back_what_waits_for_the_server(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Approved, and behind another call in its session: it is not run, and its approver hears so."""
    async with busy(tmp_path) as (ours, other, thread, call), trio.open_nursery() as nursery:
        nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call, "bo", wait=14.0))
        await trio.sleep(0.5)
        assert (await ours.call(call)).status == "confirmed"
        await other.desk.cancel_thread(HOUSE, thread)
        assert (await ours.call(call)).status == "cancelled"
        await trio.sleep(14)
        assert len(ours.effects) == 1


async def test_what_is_claimed_while_a_cancel_is_written_does_not_begin(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Its approval came before the cancel, and its thread's session, busy with another call, had not heard of it."""
    how: dict[str, Any] = {"theirs": (REFUND,), "before": 0.85, "after": 4.0}
    async with apart(tmp_path, REFUND, ANSWER, **how) as (ours, other), trio.open_nursery() as nursery:
        (first,) = (await ours.chat("price of A-1?")).calls
        await ours.desk.approve_call(HOUSE, first.id, "bo")
        (call,) = (await other.chat("price of A-1 again?", first.thread)).calls
        approve = ours.stores.calls.approve_call

        async def approve_and_tell_late(approval: Any) -> Any:
            kept = await approve(approval)
            await trio.sleep(0.1)
            return kept

        ours.stores.calls.approve_call = approve_and_tell_late
        ours.stores.threads.cancel_turn = slow(ours.stores.threads.cancel_turn, 4.62)
        await trio.sleep(1 - trio.current_time())
        nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "bo", wait=9.0))
        await trio.sleep(0.05)
        await ours.desk.cancel_thread(HOUSE, first.thread)
        # The first has ended at 4.85. This one was claimed, may begin by its look at 5.65, and would begin at 5.7.
        assert 5.65 < trio.current_time() < 5.7
        await trio.sleep(5)
        ended = [(await ours.call(each)).status for each in (first.id, call.id)]
        assert (ended, [each.suggestion_id for each in ours.effects]) == (["done", "cancelled"], [first.id])


async def test_words_in_place_of_that_approval_are_the_next_message(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """As where the thread had nothing else to do."""
    async with busy(tmp_path) as (ours, _, _, call):
        with trio.fail_after(60):
            reply = await ours.desk.answer_call(HOUSE, call, "anna", "no, tell me the price")
        assert (reply.text, (await ours.call(call)).status) == ("It costs 299 kr.", "answered")


async def test_a_thread_that_was_busy_learns_what_was_said_elsewhere(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Once it is calm, its next message knows all of it."""
    async with busy(tmp_path) as (ours, _, thread, call):
        await ours.desk.approve_call(HOUSE, call, "bo", wait=14.0)
        await ours.chat("and now?", thread)
        history = ours.decider.briefings[-1].history
        assert [each.question for each in history] == ["price of A-1?", "price of A-1 again?"]


def slow(method: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """The same, later."""

    async def later(*arguments: Any, **named: Any) -> Any:
        await trio.sleep(seconds)
        return await method(*arguments, **named)

    return later
