"""Calls inside a turn, as a session, its Brain and the runner carry them out together, on virtual time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import BadTool
from agent.ports.action import Outcome
from agent.ports.brain import DraftCompleted, Question, VerifiedPart
from agent.ports.tools import ToolDefinition
from agent.session.events import DrainStarted

from .driver import CALL, text
from .harness import Emit, World, ask, world

CANCEL = {"type": "cancel"}
Clock = trio.testing.MockClock


class Acts:
    """A script that waits for some calls and then answers; keeps how they ended."""

    def __init__(self, w: World, calls: int = 1, patience: float = float("inf"), **changed: Any) -> None:
        self._w = w
        self._calls = calls
        self._patience = patience
        self._call = replace(CALL, **changed)
        self.outcomes: list[Outcome] = []

    async def __call__(self, question: Question, emit: Emit) -> None:
        act = self._w.brain.act
        assert act is not None
        with trio.move_on_after(self._patience):
            for _ in range(self._calls):
                self.outcomes.append(await act(self._call))
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("It is 299 kr.")))


async def settle() -> None:
    await trio.testing.wait_all_tasks_blocked(0.001)


async def test_a_turn_gets_the_results_of_its_calls(autojump_clock: Clock) -> None:
    """Each is run once, recorded, and told to the client with what it was."""
    async with world() as w:
        w.brain.script = acts = Acts(w, calls=2)
        wire = await w.connect()
        wire.push(ask("a"))
        await wire.until("response")
        told = wire.sent("action_executed")
        assert [(each["action"], each["payload"], each["id"]) for each in told] == [
            ("look_up", {"order": "A-1"}, "a")
        ] * 2
        ids = [each["suggestionId"] for each in told]
        assert w.executor.begun == ids == [each.suggestion_id for each in acts.outcomes]
        assert [each.status for each in acts.outcomes] == ["done", "done"]
        assert not await w.ledger.claim(ids[0], "look_up", 0)
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_a_cancel_before_the_call_begins_leaves_it_undone(autojump_clock: Clock) -> None:
    """The turn ends at once, and its call never begins."""
    async with world() as w:
        w.brain.script = acts = Acts(w)
        w.executor.before = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await trio.sleep(1)
        wire.push(CANCEL)
        end = await wire.until("stream_end")
        assert (end["reason"], trio.current_time() % 1) == ("cancelled", 0)
        assert (await wire.until("action_executed"))["result"] == {"cancelled": True}
        assert (w.executor.begun, acts.outcomes, w.states) == ([], [], ["idle"])
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_a_cancel_after_the_call_began_ends_the_turn_and_tells_the_truth(autojump_clock: Clock) -> None:
    """The turn ends at once; what had begun is reported and recorded when it has ended."""
    async with world() as w:
        w.brain.script = Acts(w)
        w.executor.after = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await trio.sleep(1)
        began = trio.current_time()
        wire.push(CANCEL)
        await wire.until("stream_end")
        assert trio.current_time() == began
        told = await wire.until("action_executed")
        assert told["result"]["success"]
        assert len(w.executor.begun) == 1
        assert w.states == ["idle"]
        assert wire.sent("response") == []


async def test_a_message_takes_the_place_of_a_turn_that_waits(autojump_clock: Clock) -> None:
    """It is answered when the call has reported, and hears nothing of it."""
    async with world() as w:
        w.brain.script = Acts(w)
        w.executor.before = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await trio.sleep(1)
        w.executor.before = 0
        wire.push(ask("b"))
        assert (await wire.until("response"))["id"] == "b"
        ends = [(each["id"], each["reason"]) for each in wire.sent("stream_end")]
        assert ends == [("a", "cancelled"), ("b", "done")]
        assert len(w.executor.begun) == 1


async def test_who_leaves_takes_along_what_has_not_begun(autojump_clock: Clock) -> None:
    """Nothing begins for nobody, and nothing is left."""
    async with world() as w:
        w.brain.script = Acts(w)
        w.executor.before = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await trio.sleep(1)
        wire.leave()
        await trio.sleep(10)
        assert w.executor.begun == []
        w.nothing_is_left()


async def test_a_drain_lets_a_call_end_and_no_other_begin(autojump_clock: Clock) -> None:
    """The turn is answered with what it has."""
    async with world() as w:
        w.brain.script = acts = Acts(w, calls=2)
        w.executor.after = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await trio.sleep(1)
        for member in list(w.registry):
            member.post(DrainStarted(trio.current_time()))
        await wire.until("response")
        assert [each.status for each in acts.outcomes] == ["done", "cancelled"]
        assert len(w.executor.begun) == 1


async def test_a_brain_that_waits_no_longer_still_answers(autojump_clock: Clock) -> None:
    """Its words follow the report of what it gave up waiting for."""
    async with world() as w:
        w.brain.script = acts = Acts(w, patience=1)
        w.executor.after = 5
        wire = await w.connect()
        wire.push(ask("a"))
        await wire.until("response")
        assert next(each["type"] for each in wire.sent()) == "action_executed"
        assert acts.outcomes == []


@pytest.mark.parametrize("changed", [{"needs_approval": True}, {"payload": {"x": "y" * 20_000}}])
async def test_what_may_not_run_inside_a_turn_does_not(
    autojump_clock: Clock, changed: dict[str, Any]
) -> None:
    """A Brain that asks for it is at fault, whatever it meant."""
    async with world() as w:
        w.brain.script = Acts(w, **changed)
        wire = await w.connect()
        wire.push(ask("a"))
        assert (await wire.until("error"))["code"] == "internal"
        await wire.until("response")
        assert w.executor.begun == []
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_one_call_at_a_time(autojump_clock: Clock) -> None:
    """A Brain that waits for two at once is at fault; what had begun is recorded."""
    async with world() as w:

        async def twice(question: Question, emit: Emit) -> None:
            act = w.brain.act
            assert act is not None
            async with trio.open_nursery() as nursery:
                nursery.start_soon(act, CALL)
                nursery.start_soon(act, CALL)

        w.brain.script = twice
        w.executor.after = 1
        wire = await w.connect()
        wire.push(ask("a"))
        assert (await wire.until("error"))["code"] == "internal"
        await wire.until("response")
        assert len(w.executor.begun) == 1
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_the_tools_of_a_message_are_read_or_refused(autojump_clock: Clock) -> None:
    """The Brain gets what was made of them; what cannot be used is told, and the message was not taken."""
    tool = ToolDefinition(name="look_up", description="Looks an order up.", parameters={"type": "object"})

    def read(given: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
        if given[0]["name"] != tool.name:
            raise BadTool("/tools/0/name: a name has letters.")
        return (tool,)

    async with world() as w:
        asked: list[Question] = []

        async def keep(question: Question, emit: Emit) -> None:
            asked.append(question)
            emit(DraftCompleted())
            emit(VerifiedPart(text=text()))

        w.brain.script = keep
        wire = await w.connect()
        wire.push({**ask("a"), "tools": [{"name": "look_up"}]})
        refused = await wire.until("error")
        assert (refused["code"], refused["id"]) == ("bad_tool", "a")
        w.parts = replace(w.parts, read_tools=read)
        wire = await w.connect()
        wire.push({**ask("b"), "tools": [{"name": "1"}]})
        refused = await wire.until("error")
        assert (refused["code"], refused["id"], refused["message"]) == (
            "bad_tool",
            "b",
            "/tools/0/name: a name has letters.",
        )
        wire.push({**ask("c"), "tools": [{"name": "look_up"}]})
        await wire.until("response")
        assert [(each.id, each.tools) for each in asked] == [("c", (tool,))]
