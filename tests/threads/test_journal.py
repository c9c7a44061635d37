"""What a thread's journal keeps of a call before it runs, and of a turn that ends."""

from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import Conflict
from agent.ports.action import Call
from agent.ports.brain import Question
from agent.ports.calls import StoredCall
from agent.ports.memory import ProposalOutcome
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.remember import NO_RECORDER, FinishedAnswer
from agent.protocol.outbound import Error, Response
from agent.testing.return_paths import NotedReturnPath
from agent.threads.journal import Journal
from agent.threads.recorder import ThreadRecorder

from .lab import REFUND, SHIP, Notebook, Wall, lab


class SlowNotebook(Notebook):
    """A notebook that takes a second to remember."""

    async def record_and_propose(
        self, question: Question, answered: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...]:
        await trio.sleep(1)
        return await super().record_and_propose(question, answered)


class StepsOnly:
    """A store that takes every step of a turn, and holds nothing."""

    async def record_step(self, said: Any, told: Any) -> bool:
        await trio.lowlevel.checkpoint()
        return True


async def test_what_was_approved_runs_and_nothing_else(autojump_clock: trio.testing.MockClock) -> None:
    """A call whose arguments are not those of its row is not kept, and so is never claimed."""
    async with lab(REFUND) as r:
        reply = await r.chat()
        (call,) = reply.calls
        journal = Journal(
            HOUSE,
            reply.thread,
            r.stores.threads,
            r.stores.calls,
            Wall(),
            lambda: "x",
            100.0,
            ThreadRecorder(NO_RECORDER),
        )
        await journal.keep_call(
            Call(suggestion_id=call.id, action="refund", payload={"order": "A-1"}, message=reply.message)
        )
        with pytest.raises(Conflict, match="arguments_changed"):
            await journal.keep_call(
                Call(suggestion_id=call.id, action="refund", payload={"order": "A-2"}, message=reply.message)
            )


async def test_a_message_that_was_never_begun_is_not_left_pending(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A caller that leaves while its message is being kept leaves a thread that can be used at once."""
    async with lab(SHIP) as r:
        thread = (await r.chat()).thread
        for steps in range(1, 12):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(r.chat, "price?", thread)
                    for _ in range(steps):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
            await trio.sleep(1)
            assert [each.status for each in await r.messages(thread) if each.status == "pending"] == []


async def test_what_is_approved_before_its_turn_was_told_runs(autojump_clock: trio.testing.MockClock) -> None:
    """A turn has ended once that is kept: a call that somebody approves then is none that it makes."""
    async with lab(REFUND) as r, trio.open_nursery() as nursery:
        read, first = r.stores.calls.call, trio.Event()

        async def late_once(project: str, id: str) -> StoredCall:
            if not first.is_set():
                first.set()
                await trio.sleep(1)  # the end of the turn is kept, and its reply is not made yet
            return await read(project, id)  # type: ignore[no-any-return]

        r.stores.calls.call = late_once
        nursery.start_soon(r.chat)
        await first.wait()
        (call,) = (await r.stores.calls.calls(HOUSE, Window(9))).entries
        ended = await r.desk.approve_call(HOUSE, call.id, "bo", wait=5.0)
        assert (ended.status, len(r.effects)) == ("done", 1)
        nursery.cancel_scope.cancel()


async def test_the_end_of_a_turn_does_not_end_the_next_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A turn that begins while the last one is being remembered stays open until its own end."""
    recorder, stores = ThreadRecorder(SlowNotebook()), StepsOnly()
    parts: tuple[Any, ...] = (stores, stores, Wall(), lambda: "x", 100.0, recorder)
    journal = Journal(HOUSE, "t", *parts)
    recorder.record_exchange(
        Question(id="one", text="price?", lang=None, at=0.0), FinishedAnswer("199 kr."), NotedReturnPath()
    )
    last = journal.open_turn("one", 1, {})
    async with trio.open_nursery() as nursery:
        frame = Response(text="199 kr.", citations=(), confidence="high", id="one")
        nursery.start_soon(journal.keep_frames, [frame])
        await trio.sleep(0.5)
        following = journal.open_turn("two", 2, {})
    assert (last.reply is None, journal.message) == (False, "two")
    journal.fail(Conflict("shutting_down"))
    assert isinstance(following.error, Conflict)


async def test_a_frame_without_a_meaning_for_the_rows_stores_nothing() -> None:
    """The fault of a turn is no end of it: the refusal that follows is."""
    steps: list[Any] = []

    class RecordedSteps(StepsOnly):
        async def record_step(self, said: Any, told: Any) -> bool:
            steps.append(said)
            return await super().record_step(said, told)

    stores = RecordedSteps()
    journal = Journal(HOUSE, "t", stores, stores, Wall(), lambda: "x", 100.0, ThreadRecorder(NO_RECORDER))  # type: ignore[arg-type]
    waiter = journal.open_turn("one", 1, {})
    await journal.keep_frames([Error(code="internal", message="Something broke here.", id="one")])
    assert (steps, waiter.over.is_set(), journal.message) == ([], False, "one")
