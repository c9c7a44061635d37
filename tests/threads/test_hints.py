"""Two desks over one database with hints between them: what the one changes, the other looks at, and only that."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import NotFound
from agent.ports.hints import Hint
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.testing.network import inline
from agent.threads import call_ends, thread_registry

from .lab import ANSWER, LOOK_UP, REFUND, Lab, Wall, lab
from .test_elsewhere import Asking, slow, the_thread

LONG = 3600.0


class Channel:
    """Carries hints between the desks of a test; `sent` are all of them. A `deaf` one loses them."""

    def __init__(self, deaf: bool = False) -> None:
        self.sent: list[Hint] = []
        self.ends: list[End] = []
        self.deaf = deaf

    def join(self) -> "End":
        """The end of one more process."""
        self.ends.append(End(self))
        return self.ends[-1]

    def forge(self, hint: Hint) -> None:
        """Tell everybody something, as another program could."""
        for end in self.ends:
            for hear in end.hearers:
                hear(hint)


class End:
    """One process's end of a channel (implements `agent.ports.hints.Hints`)."""

    def __init__(self, channel: Channel) -> None:
        self.hearers: list[Callable[[Hint], None]] = []
        self._channel = channel

    def send(self, hint: Hint) -> None:
        self._channel.sent.append(hint)
        for end in self._channel.ends:
            for hear in end.hearers:
                if end is not self and not self._channel.deaf:
                    hear(hint)

    def subscribe(self, hear: Callable[[Hint], None]) -> None:
        self.hearers.append(hear)


@asynccontextmanager
async def nodes(
    folder: Path, *decisions: Any, theirs: tuple[Any, ...] = (), channel: Channel | None = None, **how: Any
) -> AsyncGenerator[tuple[Lab, Lab, Channel], None]:
    """Two desks, each with a store of its own over one file, and the hints between them."""
    channel = channel or Channel()

    def kept() -> Any:
        return open_store(StorageSettings(data=str(folder)), Path("kb"), inline, Wall())

    async with (
        kept() as one,
        kept() as another,
        lab(*decisions, stores=one, hints=channel.join(), **how) as ours,
        lab(*theirs, stores=another, name="other", think=0.1, hints=channel.join()) as other,
    ):
        yield ours, other, channel


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks by themselves: what comes in time comes by a hint."""
    monkeypatch.setattr(thread_registry, "SWEEP_EVERY", LONG)
    monkeypatch.setattr(call_ends, "CALL_LOOK", LONG)


@pytest.mark.usefixtures("seldom")
@pytest.mark.parametrize("how", ["turn", "thread", "interrupt"])
async def test_a_turn_ends_at_the_hint_that_it_was_cancelled(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str
) -> None:
    """Within 0.3 s of the cancel elsewhere, though nobody sweeps."""
    async with nodes(tmp_path, think=60.0) as (ours, other, channel), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "price?")
        await trio.sleep(0.5)
        thread = await the_thread(ours)
        if how == "interrupt":
            nursery.start_soon(partial(other.chat, "price?", thread, interrupt=True))
        else:
            cancel = other.desk.cancel_turn if how == "turn" else other.desk.cancel_thread
            await cancel(HOUSE, thread)
        await trio.sleep(0.3)
        assert asked.end == "cancelled"
        assert channel.sent == [Hint("thread_cancelled", thread)]
        nursery.cancel_scope.cancel()


async def test_a_turn_ends_without_a_hint(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """Within 1.5 s of the cancel elsewhere, where hints are lost."""
    deaf = nodes(tmp_path, think=60.0, channel=Channel(deaf=True))
    async with deaf as (ours, other, _), trio.open_nursery() as nursery:
        asked = Asking(ours)
        nursery.start_soon(asked.run, "price?")
        await trio.sleep(0.5)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(1.5)
        assert asked.end == "cancelled"
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("seldom")
async def test_a_hint_is_no_truth(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """What another program says was cancelled, or has ended, goes on: the rows say otherwise."""
    async with nodes(tmp_path, REFUND, ANSWER, think=2.0, after=4.0) as (ours, _, channel):
        (call,) = (await ours.chat("price of A-1?")).calls
        asked, ends = Asking(ours), list[str]()

        async def approve() -> None:
            ends.append((await ours.desk.approve_call(HOUSE, call.id, "bo", wait=9.0)).status)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(approve)
            nursery.start_soon(asked.run, "price?", call.thread)
            for id in (call.thread, call.id, call.message, "", "never", "x" * 9999):
                await trio.sleep(0.1)
                channel.forge(Hint("thread_cancelled", id))
                channel.forge(Hint("call_ended", id))
            await trio.sleep(0.1)
            assert (ends, asked.end) == ([], None)
        assert (ends, asked.end) == (["done"], "It costs 299 kr.")


async def test_an_ordinary_turn_sends_no_hint(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """Nor does its call, nor one that is cancelled where it runs."""
    async with nodes(tmp_path, LOOK_UP, ANSWER, ANSWER, think=0.5) as (ours, _, channel):
        reply = await ours.chat("price of A-1?")
        assert reply.calls[0].status == "done"
        async with trio.open_nursery() as nursery:
            asked = Asking(ours)
            nursery.start_soon(asked.run, "price?", reply.thread)
            await trio.sleep(0.2)
            await ours.desk.cancel_turn(HOUSE, reply.thread)
        assert (asked.end, channel.sent) == ("cancelled", [])


@pytest.mark.usefixtures("seldom")
async def test_who_waits_elsewhere_hears_of_the_end_of_a_call(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """As soon as the process that runs it has stored it."""
    async with nodes(tmp_path, REFUND, after=4.0) as (ours, other, channel), trio.open_nursery() as nursery:
        (call,) = (await ours.chat()).calls
        approved_at = trio.current_time()
        nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        ended = await other.desk.wait_for_end(HOUSE, call.id, 9.0)
        assert (ended.status, trio.current_time()) == ("done", approved_at + 4)
        assert channel.sent == [Hint("call_ended", call.id)]


async def test_who_waits_elsewhere_finds_the_end_of_a_call_by_itself(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Where hints are lost, and between processes that share a folder."""
    deaf = nodes(tmp_path, REFUND, after=4.0, channel=Channel(deaf=True))
    async with deaf as (ours, other, _), trio.open_nursery() as nursery:
        (call,) = (await ours.chat()).calls
        approved_at = trio.current_time()
        nursery.start_soon(partial(ours.desk.approve_call, HOUSE, call.id, "anna", wait=9.0))
        await trio.sleep(1)
        assert (await other.desk.wait_for_end(HOUSE, call.id, 9.0)).status == "done"
        assert trio.current_time() <= approved_at + 4 + call_ends.CALL_LOOK


async def test_a_wait_for_a_call_ends_in_time(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """With the call as it is then; nothing of the wait stays."""
    async with nodes(tmp_path, REFUND) as (ours, other, _):
        (call,) = (await ours.chat()).calls
        began_at = trio.current_time()
        assert (await other.desk.wait_for_end(HOUSE, call.id, 3.3)).status == "suggested"
        assert trio.current_time() == pytest.approx(began_at + 3.3)
        with trio.move_on_after(1):
            await other.desk.wait_for_end(HOUSE, call.id, 9.0)
        assert other.desk._ends._waits == {}
        with pytest.raises(NotFound):
            await other.desk.wait_for_end(HOUSE, "never", 9.0)


@pytest.mark.usefixtures("seldom")
@pytest.mark.parametrize("how", ["cancel", "reject"])
async def test_an_approver_hears_that_the_call_was_taken_back_elsewhere(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, how: str
) -> None:
    """At once, though its thread is busy with another call, which ends later."""
    two_calls = nodes(tmp_path, REFUND, ANSWER, theirs=(REFUND,), after=6.0)
    async with two_calls as (ours, other, _), trio.open_nursery() as nursery:
        (first,) = (await ours.chat("price of A-1?")).calls
        await ours.desk.approve_call(HOUSE, first.id, "bo")
        (call,) = (await other.chat("price of A-1 again?", first.thread)).calls
        told: list[tuple[str, float]] = []

        async def approve() -> None:
            status = (await ours.desk.approve_call(HOUSE, call.id, "bo", wait=14.0)).status
            told.append((status, trio.current_time()))

        nursery.start_soon(approve)
        await trio.sleep(0.5)
        taken_back_at = trio.current_time()
        if how == "cancel":
            nursery.start_soon(other.desk.cancel_thread, HOUSE, call.thread)
        else:
            await other.desk.reject_call(HOUSE, call.id, "bo")
        await trio.sleep(0.1)
        ((status, told_at),) = told
        assert status == "cancelled"
        assert told_at == pytest.approx(taken_back_at, abs=0.05)


@pytest.mark.usefixtures("seldom")
async def test_hints_that_come_during_a_look_are_looked_at_after_it(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """However long it takes, none is lost."""
    async with nodes(tmp_path, think=60.0) as (ours, other, _), trio.open_nursery() as nursery:
        asked = [Asking(ours), Asking(ours)]
        for each in asked:
            nursery.start_soon(each.run, "price?")
            await trio.sleep(0.2)
        ours.stores.threads.cancelled_messages = slow(ours.stores.threads.cancelled_messages, 1.0)
        threads = (await ours.stores.threads.threads(HOUSE, Window(9))).entries
        for thread in threads:
            await other.desk.cancel_turn(HOUSE, thread.id)
            await trio.sleep(0.1)
        await trio.sleep(2.2)
        assert [each.end for each in asked] == ["cancelled", "cancelled"]
        nursery.cancel_scope.cancel()
