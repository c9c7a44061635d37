"""A turn without a session: what it says, why it says nothing, and that nothing of it is left."""

import gc
import weakref
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.grounding.refusals import model_failed
from agent.models.health import WatchedModel
from agent.ports.brain import DraftCompleted, Proposal, Question, Redraft, RunCall, TurnRefusal, VerifiedPart
from agent.ports.conversation import Exchange
from agent.ports.model import Finish, TextDelta, Usage
from agent.ports.tools import ToolDefinition
from agent.protocol.outbound import Response
from agent.session.events import DrainStarted, KillRequested
from agent.session.single_turn import GOING_DOWN, AnswerFailure, SingleTurn
from agent.testing.models import ASKED, FakeModel

from .driver import text
from .harness import Emit, Script, World, hang, saying, world

SECRET = "31337"
LIMIT = 60.0  # seconds


def question(*history: Exchange) -> Question:
    """A question that comes now."""
    return Question(id="m", text="price?", lang=None, at=trio.current_time(), history=history)


class Heard:
    """Takes the pieces of an answer, each after some seconds, and when they came."""

    def __init__(self, takes: float = 0.0) -> None:
        self.pieces: list[str] = []
        self.at: list[float] = []
        self._takes = takes

    async def say(self, piece: str) -> None:
        await trio.sleep(self._takes)
        self.pieces.append(piece)
        self.at.append(trio.current_time())


async def run(
    w: World, script: Script, say: Callable[[str], Awaitable[None]] | None = None
) -> Response | Proposal | AnswerFailure:
    """Answer a question with a scripted Brain; nothing is left of it."""
    w.brain.script = script
    ended = await SingleTurn(w.parts, question(), LIMIT, say).run()
    w.nothing_is_left()
    return ended


async def test_an_answer_is_said_a_word_at_a_time_at_the_pace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The joined pieces are the answer's text, and the turn is counted as a session's is."""
    async with world(pace_ms=20) as w:
        heard = Heard()
        ended = await run(w, saying("It is 299 kr. ", 1.0, proposals=1), heard.say)
        assert isinstance(ended, Response)
        assert (ended.text, heard.pieces) == ("It is 299 kr. ", ["It ", "is ", "299 ", "kr. "])
        assert heard.at == pytest.approx([1.0, 1.02, 1.04, 1.06])
        assert w.counts.counted == [("messages", ""), ("turns", "answered")]
        ((measured, seconds),) = w.counts.measured
        assert measured == "first_delta_seconds"
        assert seconds == pytest.approx(1.0)


async def test_a_whole_answer_has_no_pace(autojump_clock: trio.testing.MockClock) -> None:
    """Nobody sees its words come."""
    async with world(pace_ms=20) as w:
        ended = await run(w, saying("It is 299 kr. ", 1.0))
        assert isinstance(ended, Response)
        assert (ended.text, ended.citations[0].file, ended.blocked) == (
            "It is 299 kr. ",
            "kb/pricing.md",
            None,
        )
        assert trio.current_time() == pytest.approx(1.0)


async def test_a_refusal_follows_what_was_said_before_it(autojump_clock: trio.testing.MockClock) -> None:
    """After a space, as in a session; what comes after the last word is not heard."""

    async def script(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("One."), last=False))
        emit(Redraft())
        emit(TurnRefusal(model_failed("en")))
        emit(VerifiedPart(text=text("Two.")))
        await trio.sleep_forever()  # who has said its last word is not waited for

    async with world() as w:
        heard = Heard()
        ended = await run(w, script, heard.say)
        assert isinstance(ended, Response)
        assert ended.text == f"One. {model_failed('en').text}" == "".join(heard.pieces)
        assert ended.blocked is not None
        assert ended.blocked.code == "model_failed"
        assert w.counts.counted[-1] == ("turns", "model_failed")


async def unverified(_: Question, emit: Emit) -> None:
    """Say something that was never verified."""
    emit(VerifiedPart(text=f"It is {SECRET} kr."))  # type: ignore[arg-type]


async def alike(_: Question, emit: Emit) -> None:
    """Say what looks verified."""
    fields = {
        "text": f"It is {SECRET} kr.",
        "citations": (),
        "confidence": "high",
        "blocked": None,
        "unread": False,
        "places": (),
    }
    emit(VerifiedPart(text=SimpleNamespace(**fields)))  # type: ignore[arg-type]


async def no_event(_: Question, emit: Emit) -> None:
    """Say what is no event."""
    emit(f"It is {SECRET} kr.")  # type: ignore[arg-type]


async def silent(_: Question, __: Emit) -> None:
    """Say nothing."""
    await trio.lowlevel.checkpoint()


async def breaks(_: Question, emit: Emit) -> None:
    """Break in the middle of an answer."""
    emit(VerifiedPart(text=text("One."), last=False))
    await trio.sleep(1)
    raise RuntimeError(SECRET)


@pytest.mark.parametrize("script", [unverified, alike, no_event, silent, breaks])
async def test_a_fault_is_told_without_content(
    script: Script, autojump_clock: trio.testing.MockClock
) -> None:
    """By the id of a line in the log, which names the place and holds no word of a model's."""
    async with world() as w:
        heard = Heard()
        with capture_logs() as logs:
            ended = await run(w, script, heard.say)
        assert isinstance(ended, AnswerFailure)
        broke = next(entry for entry in logs if entry["event"] == "turn broke")
        assert (ended.code, broke["fault"] in ended.message) == ("internal", True)
        assert SECRET not in f"{ended}{logs}{heard.pieces}"
        assert heard.pieces == (["One."] if script is breaks else [])
        assert w.counts.counted[-1] == ("turns", "internal")


async def test_a_turn_that_thinks_too_long_is_ended(autojump_clock: trio.testing.MockClock) -> None:
    """After its limit, whatever the Brain does."""
    async with world() as w:
        ended = await run(w, hang)
        assert isinstance(ended, AnswerFailure)
        assert ended.code == "timeout"
        assert trio.current_time() == pytest.approx(LIMIT)


@pytest.mark.parametrize("script", [hang, saying("One two three.")])
async def test_a_kill_ends_a_turn_that_a_drain_lets_be(
    script: Script, autojump_clock: trio.testing.MockClock
) -> None:
    """Also one that has its answer and has not said all of it: that is no answer."""
    async with world() as w:
        w.brain.script = script
        heard = Heard(takes=2.0)
        asking = SingleTurn(w.parts, question(), LIMIT, heard.say)
        ended: list[Response | Proposal | AnswerFailure] = []

        async def ask() -> None:
            ended.append(await asking.run())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.sleep(1)
            assert list(w.registry) == [asking]
            w.registry.post_all(DrainStarted(trio.current_time()))
            await trio.sleep(2)
            assert not ended
            w.registry.post_all(KillRequested(1012, "going down", trio.current_time()))
        assert ended == [GOING_DOWN]
        assert trio.current_time() == pytest.approx(3.0)
        w.nothing_is_left()


@pytest.mark.parametrize("after", [0.0, 1.5, 3.5])
async def test_a_cancel_leaves_nothing(after: float, autojump_clock: trio.testing.MockClock) -> None:
    """Neither a task nor a registry entry nor an object, whether it comes before, in or after the thinking."""
    async with world() as w:
        w.brain.script = saying("One two three.", think=2.0)
        heard = Heard(takes=1.0)
        gc.disable()
        try:
            with trio.move_on_after(after):
                asking = SingleTurn(w.parts, question(), LIMIT, heard.say)
                w.gone.append(weakref.ref(asking))
                await asking.run()
            del asking
            assert w.gone[0]() is None, "it waits for a garbage collection"
        finally:
            gc.enable()
        w.nothing_is_left()
        assert w.counts.counted[-1] == ("turns", "disconnected")
        assert heard.pieces == (["One "] if after == 3.5 else [])


async def test_what_was_said_before_is_kept_within_the_budget() -> None:
    """The newest of it; none where nothing is to be kept."""
    told: list[tuple[Exchange, ...]] = []

    async def script(asked: Question, emit: Emit) -> None:
        told.append(asked.history)
        await saying("Yes.")(asked, emit)

    long, short = Exchange("q" * 400, "a"), Exchange("And?", "No.")
    for tokens in (0, 100, 500):
        async with world(history_tokens=tokens) as w:
            w.brain.script = script
            await SingleTurn(w.parts, question(long, short), LIMIT).run()
    assert told == [(), (short,), (long, short)]


async def test_the_client_hears_now_and_then_that_it_is_not_forgotten(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As often as a session's client is pinged."""
    async with world() as w:
        w.brain.script = saying("Yes.", think=45.0)
        heard: list[float] = []
        await SingleTurn(
            w.parts, question(), LIMIT, keepalive=lambda: heard.append(trio.current_time())
        ).run()
        assert heard == pytest.approx([20.0, 40.0])


async def test_a_call_of_the_client_s_own_tool_ends_the_turn_without_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Any other proposal is dropped; a Brain that would run one here is at fault, and runs nothing."""
    mine = Proposal(action="look_up", payload={"order": "A-17"}, runs_at="caller")
    ran: list[object] = []

    async def hands_over(_: Question, emit: Emit, act: RunCall | None = None) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("I look it up."), proposals=(Proposal(action="ticket"), mine)))

    async def runs(_: Question, emit: Emit, act: RunCall | None = None) -> None:
        assert act is not None
        ran.append(await act(mine))

    offered = ToolDefinition(name="look_up", description="", parameters={"type": "object"})
    for answer, code in ((hands_over, None), (runs, "internal")):
        async with world() as w:
            heard = Heard()
            parts = replace(w.parts, brain=SimpleNamespace(answer=answer))
            asked = replace(question(), tools=(offered,))
            ended = await SingleTurn(parts, asked, LIMIT, heard.say).run()
            w.nothing_is_left()
        assert (ended == mine) == (code is None)
        assert getattr(ended, "code", None) == code
        assert heard.pieces == []
    assert not ran


async def test_the_tokens_of_a_turn_are_those_of_all_its_requests(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """And of no other turn that asks the same model meanwhile."""
    model = WatchedModel(FakeModel([[TextDelta("Yes."), Finish("stop", Usage(10, 5))]] * 3), lambda _: None)

    def asks(times: int) -> Script:
        async def script(asked: Question, emit: Emit) -> None:
            for _ in range(times):
                async with aclosing(model.stream(ASKED)) as pieces:
                    async for _ in pieces:
                        await trio.sleep(1)
            await saying("Yes.")(asked, emit)

        return script

    async with world() as one, world() as other:
        one.brain.script, other.brain.script = asks(2), asks(1)
        turns = [SingleTurn(w.parts, question(), LIMIT) for w in (one, other)]
        async with trio.open_nursery() as nursery:
            for turn in turns:
                nursery.start_soon(turn.run)
    assert [turn.usage for turn in turns] == [Usage(20, 10), Usage(10, 5)]
