"""A thread that falls asleep, or whose server goes down, while somebody asks: who asks is told what is so."""

import pytest
import trio
import trio.testing

from agent.errors import Conflict, UsageError
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.threads import thread_registry
from agent.threads.settings import THREAD_CALM, ThreadSettings

from .lab import ANSWER, REFUND, Lab, Wall, lab, opened_memory

STEPS = 13  # checkpoints of a request on virtual time until its turn has begun, and some more


async def steps(number_of: int) -> None:
    """Let others go on by so many steps."""
    for _ in range(number_of):
        await trio.lowlevel.checkpoint()


async def pending(r: Lab) -> list[str]:
    """Return the messages whose turn has not ended."""
    page = await r.stores.threads.threads(HOUSE, Window(200))
    return [
        message.id
        for thread in page.entries
        for message in await r.messages(thread.id)
        if message.status == "pending"
    ]


async def test_a_message_to_a_thread_that_falls_asleep_is_answered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whichever step of it the sleep comes at: never told as a fault."""
    async with lab(*[ANSWER] * (STEPS + 1), think=0.0) as r:
        thread = (await r.chat("What does it cost?")).thread
        modes: list[str] = []

        async def ask() -> None:
            try:
                modes.append((await r.chat("What does it cost?", thread)).mode)
            except Conflict as why:
                modes.append(why.code)

        for step in range(STEPS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await steps(step)
                if (awake := r.desk.awake.get(HOUSE, thread)) is not None:
                    awake.sleep()
        assert modes == ["NOOP"] * STEPS


async def test_a_call_of_a_thread_that_falls_asleep_is_run(autojump_clock: trio.testing.MockClock) -> None:
    """Once it is approved: it is not taken back as if the server went down."""
    async with lab(*[REFUND] * STEPS, think=0.0) as r:
        ends: list[str] = []

        async def approve(id: str) -> None:
            ends.append((await r.desk.approve_call(HOUSE, id, "anna", wait=5.0)).status)

        for step in range(STEPS):
            reply = await r.chat()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(approve, reply.calls[0].id)
                await steps(step)
                awake = r.desk.awake.get(HOUSE, reply.thread)
                assert awake is not None
                awake.sleep()
        assert ends == ["done"] * STEPS


async def test_a_message_that_crosses_the_beginning_of_a_drain(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is answered, or told that the server goes down, and not that it is at fault; nothing is left pending."""
    told: list[str] = []
    for step in range(STEPS):
        async with lab(ANSWER, think=0.0) as r:

            async def ask(r: Lab = r) -> None:
                try:
                    told.append((await r.chat("What does it cost?")).mode)
                except Conflict as why:
                    told.append(why.code)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await steps(step)
                r.registry.draining = True
            await trio.sleep(1)
            assert await pending(r) == []
    assert set(told) == {"NOOP", "shutting_down"}


async def test_a_message_whose_client_and_server_go_at_once_is_kept_as_cancelled(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Before the server has gone, not when it is next opened."""
    async with opened_memory(None, Wall()) as stores:
        for step in range(STEPS):
            async with lab(ANSWER, stores=stores, name=f"{step}/") as r, trio.open_nursery() as nursery:
                nursery.start_soon(r.chat, "What does it cost?")
                await steps(step)
                nursery.cancel_scope.cancel()
            assert await pending(r) == []


async def test_words_in_place_of_an_approval_that_cross_a_cancel(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """They are answered, or told that the call, or their turn, is cancelled: at once, not when the thread sleeps."""
    told: list[str] = []
    async with lab(*[REFUND] * (2 * STEPS), think=0.0) as r:

        async def respond(id: str) -> None:
            try:
                with trio.move_on_after(THREAD_CALM / 2):
                    told.append((await r.desk.answer_call(HOUSE, id, "anna", "No, why?")).mode)
            except Conflict as why:
                told.append(why.code)

        for step in range(STEPS):
            reply = await r.chat()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(respond, reply.calls[0].id)
                await steps(step)
                await r.desk.cancel_thread(HOUSE, reply.thread)
        assert len(told) == STEPS
        assert set(told) <= {"ACT", "cancelled", "closed"}
        assert await pending(r) == []


async def test_only_so_many_threads_are_awake(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more lets the one sleep that was calm the longest; where none is, it is refused, and nothing of it begins."""
    monkeypatch.setattr(thread_registry, "THREADS_AWAKE", 2)
    async with lab(*[ANSWER] * 9, think=5.0) as r, trio.open_nursery() as nursery:
        first, second, third = [(await r.chat("price?")).thread for _ in range(3)]
        await trio.sleep(0.1)
        assert {thread for _, thread in r.desk.awake} == {second, third}
        for thread in (second, third):
            nursery.start_soon(r.chat, "price?", thread)
        await trio.sleep(1)
        with pytest.raises(Conflict, match="too_many_threads"):
            await r.chat("price?", first)
        assert len(r.desk.awake) == 2
        await trio.sleep(9)
        assert await pending(r) == []
        assert (await r.chat("price?", first)).mode == "NOOP"


async def test_a_thread_sleeps_when_it_was_calm_for_as_long_as_is_set(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Neither before nor long after."""
    async with lab(ANSWER, settings=ThreadSettings(calm_time=5.0)) as r:
        await r.chat("What does it cost?")
        await trio.sleep(4.5)
        assert len(r.desk.awake) == 1
        await trio.sleep(2.0)
        assert len(r.desk.awake) == 0


@pytest.mark.parametrize("wrong", [0.5, 86401, float("nan")])
def test_a_time_that_cannot_work_is_refused(wrong: float) -> None:
    """In one line that names the setting."""
    with pytest.raises(UsageError):
        ThreadSettings(calm_time=wrong)
