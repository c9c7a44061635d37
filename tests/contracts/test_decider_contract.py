"""What every decider must do. A new one joins by a line in DECIDERS.

Each is made so that it calls `get_order` for a question about order A-17, answers about its result, and takes at least
half a second for either.
"""

from collections.abc import AsyncGenerator, Callable

import pytest
import trio
from trio.testing import MockClock

from agent.errors import BadDecision, ModelFailed
from agent.llm.mock_decider import MockDecider
from agent.llm.model_decider import ModelDecider
from agent.llm.prompt_assembly import DECIDE
from agent.llm.script import ScriptDecider, ScriptEntry
from agent.ports.decide import Act, Ask, Briefing, CallResult, Decider, Noop
from agent.ports.model import CallDelta, Finish, ModelRequest, Piece
from agent.ports.tools import ToolDefinition
from agent.testing.fakes import ScriptedDecider

_SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOL = ToolDefinition(
    name="get_order", description="Shows an order.", parameters=_SCHEMA, requires_approval=False, risk="low"
)
CALLED = Act("get_order", {"order_id": "A-17"})
SHOWN = CallResult(
    call_id="c1", tool="get_order", arguments={"order_id": "A-17"}, ok=True, lines=("status: shipped",)
)
FIRST = Briefing(question="Where is order A-17?", lang="en", tools=(TOOL,))
SECOND = Briefing(question="Where is order A-17?", lang="en", tools=(TOOL,), results=(SHOWN,))
BROKEN = Briefing(question="break order A-17", lang="en", tools=(TOOL,))
NO_DECISION = Briefing(question="mumble about order A-17", lang="en", tools=(TOOL,))
_ACT = '{"mode": "ACT", "tool": "get_order", "args": {"order_id": "A-17"}}'
_NOOP = '{"mode": "NOOP", "message": "It is shipped."}'


class Slow:
    """A language model that decides in two pieces, a second apart, and breaks or mumbles where it is told to."""

    def __init__(self) -> None:
        self.open = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        self.open += 1
        try:
            asked = next(each.text for each in request.messages if each.role == "user")
            written = _NOOP if any(each.call_id == "result_1" for each in request.messages) else _ACT
            await trio.sleep(1)
            yield CallDelta(0, "c", DECIDE, written[:9])
            await trio.sleep(1)
            if asked.startswith("break"):
                raise ModelFailed("the model broke", "server")
            yield CallDelta(0, "", "", "" if asked.startswith("mumble") else written[9:])
            yield Finish("calls")
        finally:
            self.open -= 1


MODEL = Slow()
DECIDERS: dict[str, Callable[[], Decider]] = {
    "mock": lambda: MockDecider(delay=1.0),
    "script": lambda: ScriptDecider(
        [
            ScriptEntry(match="break", error="the model broke", delay_ms=1000),
            ScriptEntry(match="mumble", text="Well.", delay_ms=1000),
            ScriptEntry(match="order", text=_ACT, delay_ms=1000, round=0),
            ScriptEntry(match="order", text=_NOOP, delay_ms=1000, round=1),
        ]
    ),
    "language model": lambda: ModelDecider(MODEL),
}


@pytest.fixture(params=sorted(DECIDERS))
def decider(request: pytest.FixtureRequest) -> Decider:
    return DECIDERS[request.param]()


async def test_a_decision_comes_of_every_round(decider: Decider, autojump_clock: MockClock) -> None:
    """The same briefing is decided alike each time."""
    for _ in range(2):
        assert await decider.decide(FIRST) == CALLED
        answer = await decider.decide(SECOND)
        assert isinstance(answer, Noop)
        assert "shipped" in answer.message
    assert trio.current_time() > 1


async def test_a_second_try_is_a_decision_too(decider: Decider, autojump_clock: MockClock) -> None:
    """With the problems of the first one."""
    assert isinstance(await decider.decide(FIRST, ("/order_id: found 1; a string",)), Act | Ask | Noop)


async def test_two_decisions_at_a_time_are_two(decider: Decider, autojump_clock: MockClock) -> None:
    """One decider serves every session."""
    found: list[object] = []

    async def decide(briefing: Briefing) -> None:
        found.append(await decider.decide(briefing))

    async with trio.open_nursery() as nursery:
        for briefing in (FIRST, SECOND, FIRST):
            nursery.start_soon(decide, briefing)
    assert sum(each == CALLED for each in found) == 2
    assert sum(isinstance(each, Noop) for each in found) == 1


@pytest.mark.parametrize("seconds", [0.0, 0.5, 1.5])
async def test_a_cancel_ends_it_at_once(seconds: float, decider: Decider, autojump_clock: MockClock) -> None:
    """Without another error, and a model's stream is closed before it returns."""
    with trio.move_on_after(seconds) as cancelled:
        while True:
            await decider.decide(FIRST)
    assert cancelled.cancelled_caught
    assert trio.current_time() == pytest.approx(seconds)
    assert MODEL.open == 0


@pytest.mark.parametrize("name", sorted(set(DECIDERS) - {"mock"}))  # nothing breaks a mock
async def test_what_it_cannot_do_has_one_of_two_names(name: str, autojump_clock: MockClock) -> None:
    """The model failed, or what it wrote is no decision."""
    with pytest.raises(ModelFailed):
        await DECIDERS[name]().decide(BROKEN)
    with pytest.raises(BadDecision) as bad:
        await DECIDERS[name]().decide(NO_DECISION)
    assert bad.value.problems
    assert MODEL.open == 0


async def test_the_fake_plays_what_it_is_given(autojump_clock: MockClock) -> None:
    """In order, the last one again; it keeps what it was asked with."""
    fake = ScriptedDecider(CALLED, 2.0, BadDecision(("x",)), Noop("Done."))
    assert await fake.decide(FIRST) == CALLED
    with pytest.raises(BadDecision):
        await fake.decide(FIRST, ["y"])
    assert trio.current_time() == pytest.approx(2)
    assert [await fake.decide(SECOND) for _ in range(2)] == [Noop("Done."), Noop("Done.")]
    assert fake.problems == [(), ("y",), (), ()]
    assert fake.briefings[2] is SECOND
