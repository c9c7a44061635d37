"""A client says whether an answer was good: the server says what it was, and stores nothing it has forgotten."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
import trio.lowlevel
import trio.testing

from agent.errors import StorageFailed
from agent.grounding.refusals import model_failed
from agent.memory.repeats import Repeats
from agent.ports.brain import Question, TurnRefusal
from agent.ports.conversation import Scope
from agent.ports.feedback import FeedbackAccess
from agent.ports.remember import MemoryAccess
from agent.protocol.inbound import RateAnswer
from agent.protocol.outbound import Response
from agent.protocol.outbound_frame import Citation
from agent.session.consult_queue import CONSULTS_WAITING, RATINGS_AT_ONCE
from agent.session.events import MemoryErased
from agent.session.feedback_answerer import FEEDBACK_TIMEOUT, FeedbackAnswerer
from agent.session.sent_answers import ANSWERS_CHARACTERS, ANSWERS_RATED, SentAnswer, SentAnswers
from agent.testing.fake_feedback import FakeFeedback
from agent.testing.fake_memory import FakeMemory
from agent.testing.wires import MemoryWire

from .harness import ANSWER, FixedClock, World, ask, hang, world

NONE: frozenset[str] = frozenset()


@asynccontextmanager
async def rating_world(**other: Any) -> AsyncGenerator[tuple[World, FakeFeedback], None]:
    """A world whose sessions can be told whether their answers are good."""
    async with world() as w:
        kept = FakeFeedback(**other)
        w.parts = replace(w.parts, feedback=FeedbackAccess(kept, "default", "mock"))
        yield w, kept


def rate(message: str = "m", verdict: str = "down", **other: Any) -> dict[str, Any]:
    """A frame with a verdict."""
    return {"type": "feedback", "message": message, "verdict": verdict, "id": "f", **other}


async def answered(w: World, *ids: str, words: str = "price?") -> MemoryWire:
    """A connection with an answer to each message."""
    wire = await w.connect()
    for number, id in enumerate(ids or ("m",), 1):
        wire.push(ask(id, words))
        await wire.until("response", number)
    return wire


async def test_a_rating_is_stored_with_what_was_answered(autojump_clock: trio.testing.MockClock) -> None:
    """Question, answer and evidence are the server's own; the answer comes once it is stored."""
    async with rating_world() as (w, kept):
        wire = await answered(w)
        wire.push(rate(text=" Too old ", question="forged", answer="forged"))
        frame = await wire.until("feedback_stored")
        assert frame == {
            "type": "feedback_stored",
            "message": "m",
            "verdict": "down",
            "text": "Too old",
            "id": "f",
        }
        [(scope, made)] = kept.stored
        assert (made.question, made.answer, made.confidence) == ("price?", ANSWER, "high")
        assert (made.verdict, made.text, made.model, made.project) == ("down", "Too old", "mock", "default")
        assert [each["file"] for each in made.citations] == ["kb/pricing.md"]
        assert made.thread == scope.thread != ""


async def test_a_mind_that_changes_replaces(autojump_clock: trio.testing.MockClock) -> None:
    """One rating stays of an answer; a later answer under the same id is another one."""
    async with rating_world() as (w, kept):
        wire = await answered(w)
        for verdict in ("down", "up"):
            wire.push(rate(verdict=verdict))
        await wire.until("feedback_stored", 2)
        assert [each.verdict for _, each in kept.stored] == ["up"]
        wire.push(ask("m", "another price?"))
        await wire.until("response", 2)
        wire.push(rate())
        await wire.until("feedback_stored", 3)
        assert [(each.question, each.verdict) for _, each in kept.stored] == [
            ("price?", "up"),
            ("another price?", "down"),
        ]


async def test_a_refusal_is_rated_too(autojump_clock: trio.testing.MockClock) -> None:
    """With its code: what was wrongly refused is what its owner wants to hear of."""

    async def refuse(_: Question, emit: Any) -> None:
        emit(TurnRefusal(model_failed("en")))

    async with rating_world() as (w, kept):
        w.brain.script = refuse
        wire = await answered(w)
        wire.push(rate())
        await wire.until("feedback_stored")
        assert kept.stored[0][1].blocked == "model_failed"


async def test_an_answer_of_another_session_cannot_be_rated(autojump_clock: trio.testing.MockClock) -> None:
    """Nor one that is not there, or was cancelled; each says what to do, and nothing is stored."""
    async with rating_world() as (w, kept):
        await answered(w)
        wire = await answered(w, "mine")
        w.brain.script = hang
        wire.push(ask("cut"))
        wire.push({"type": "cancel"})
        await wire.until("stream_end", 2)
        for number, message in enumerate(("m", "none", "cut"), 1):
            wire.push(rate(message))
            frame = await wire.until("error", number)
            assert (frame["code"], frame["id"]) == ("unknown_answer", "f")
            assert "ask the question again" in frame["message"]
        assert kept.stored == []


async def test_a_server_without_a_store_says_so(autojump_clock: trio.testing.MockClock) -> None:
    """In its welcome, by leaving out that it has one, and to each rating."""
    async with world() as w:
        wire = await w.connect(greet=True)
        assert "feedback" not in wire.sent("welcome")[0]
        wire.push(rate())
        assert (await wire.until("error"))["code"] == "feedback_off"
    async with rating_world() as (w, _):
        assert (await w.connect(greet=True)).sent("welcome")[0]["feedback"] is True


async def test_a_store_that_fails_says_so_and_nothing_of_it(autojump_clock: trio.testing.MockClock) -> None:
    """With the remedy; a bug has an id. The session goes on."""
    async with rating_world() as (w, kept):
        wire = await answered(w)
        for number, (fault, code) in enumerate(
            ((StorageFailed("disk secret"), "feedback_failed"), (KeyError("secret"), "internal")), 1
        ):
            kept.fault = fault
            wire.push(rate())
            frame = await wire.until("error", number)
            assert frame["code"] == code
            assert "secret" not in frame["message"]
        kept.fault = None
        wire.push(rate())
        await wire.until("feedback_stored")


async def test_a_store_that_hangs_holds_up_no_turn(autojump_clock: trio.testing.MockClock) -> None:
    """The rating is given up after a while; its client may leave before that, and nothing is left."""
    async with rating_world(wait=1000) as (w, _):
        wire = await answered(w)
        began = trio.current_time()
        wire.push(rate())
        wire.push(ask("m2"))
        await wire.until("response", 2)
        assert trio.current_time() - began < 1
        assert (await wire.until("error"))["code"] == "feedback_failed"
        assert trio.current_time() - began == pytest.approx(FEEDBACK_TIMEOUT, abs=0.1)
        wire.push(rate())
        await trio.sleep(1)
        wire.leave()
        await trio.sleep(1)
        w.nothing_is_left()


async def test_ratings_are_bounded(autojump_clock: trio.testing.MockClock) -> None:
    """In their rate, and in the number that wait."""
    async with rating_world() as (w, kept):
        wire = await answered(w)
        for _ in range(int(RATINGS_AT_ONCE) + 1):
            wire.push(rate())
            await trio.lowlevel.checkpoint()
        assert (await wire.until("error"))["code"] == "rate_limited"
        await trio.sleep(1)
        kept.wait = 0.5
        for _ in range(2 + CONSULTS_WAITING):
            wire.push({"type": "memory_list", "id": "l"} if _ else rate())
        await trio.sleep(0.1)
        assert wire.sent("error")[-1]["code"] == "busy"


async def test_what_is_forgotten_is_not_stored(autojump_clock: trio.testing.MockClock) -> None:
    """Neither an answer that was forgotten before its rating, nor one that is forgotten while it is written."""
    async with rating_world(wait=0.5) as (w, kept):
        wire = await answered(w, "m1", "m2", words="I live in Lund.")
        wire.push(rate("m1"))
        await trio.sleep(0.1)
        (session,) = w.registry
        scope = session._core.consults.scope  # type: ignore[attr-defined]
        w.registry.post_all(MemoryErased(NONE, NONE, trio.current_time(), scope, Repeats(["I live in Lund"])))
        assert (await wire.until("error"))["code"] == "unknown_answer"
        wire.push(rate("m2"))
        assert (await wire.until("error", 2))["code"] == "unknown_answer"
        assert kept.stored == []


@pytest.mark.parametrize("first", [True, False])
async def test_what_another_process_forgot_is_not_stored(
    first: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Before the write or during it: what was written is deleted again."""

    class Elsewhere(FakeMemory):
        async def forgotten_messages(self, scope: Scope, said: Any) -> frozenset[str]:
            await trio.lowlevel.checkpoint()
            return frozenset(said) if first or kept.stored else frozenset()

    kept = FakeFeedback()
    memory = Elsewhere(clock=FixedClock())
    given = FeedbackAnswerer(
        FeedbackAccess(kept, "default", "mock"), MemoryAccess(memory, memory), FixedClock(), lambda: "new"
    )
    said = await given.answer(RateAnswer("m", "up"), an_answer(key="k"), Scope("p", "t", "ann"))
    assert said.frame.code == "unknown_answer"  # type: ignore[union-attr]
    assert kept.stored == []
    assert kept.last == (0 if first else 1)


def an_answer(
    message: str = "m", words: str = "It is 299 kr.", key: str = "", cites: tuple[str, ...] = ()
) -> SentAnswer:
    """An answer that was sent."""
    question = Question(id=message, text="price?", lang=None, at=0.0, key=key, scope=Scope("p", "t", "ann"))
    cited = (Citation(file="kb/a.md", snippet="299 kr"),)
    return SentAnswer.of(question, Response(text=words, citations=cited), cites)


def test_the_last_answers_are_kept() -> None:
    """So many of them, and so many characters."""
    answers = SentAnswers()
    for number in range(ANSWERS_RATED + 3):
        answers.add(an_answer(f"m{number}"))
    assert len(answers) == ANSWERS_RATED
    assert answers.find("m2") is None
    assert answers.find("m3") is not None
    answers.add(an_answer("long", "x" * ANSWERS_CHARACTERS))
    assert (len(answers), answers.find("long") is not None) == (1, True)
    none = SentAnswers(0)
    none.add(an_answer())
    assert len(none) == 0


@pytest.mark.parametrize(
    ("messages", "refs", "scope", "words", "gone"),
    [
        ({"k"}, set(), Scope(), None, True),
        ({"m"}, set(), Scope(), None, False),
        (set(), {"i1"}, Scope(), None, True),
        (set(), {"i2"}, Scope(), None, False),
        (set(), set(), Scope("p", "t2", "ann"), "It is 299 kr", True),
        (set(), set(), Scope("p", "t", "bob"), "It is 299 kr", False),
        (set(), set(), Scope("p", "t", "ann"), "It is 300 kr", False),
    ],
)
def test_what_is_forgotten_leaves_the_answers(
    messages: set[str], refs: set[str], scope: Scope, words: str | None, gone: bool
) -> None:
    """By its message, by what it cites, or by its words in its user's own answers; it says so to a writer."""
    answers, answer = SentAnswers(), an_answer(key="k", cites=("i1",))
    answers.add(answer)
    again = None if words is None else Repeats([words])
    answers.forget(MemoryErased(frozenset(messages), frozenset(refs), 0.0, scope, again))
    assert (answers.find("m") is None, answer.is_forgotten) == (gone, gone)
