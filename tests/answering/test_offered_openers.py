"""Opening questions are the operator's, or questions of the documents that the documents answer well."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
import trio.testing

import agent.answering.openers as module
from agent.answering.brain import GroundedBrain
from agent.answering.openers import OPENERS, Openers
from agent.answering.settings import AnswerSettings
from agent.llm.mock import MockModel
from agent.ports.brain import Brain, Question, RunCall, TurnEvent, VerifiedPart
from agent.ports.search import Library
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

FAQ = """# Questions

## How far do the sensors reach?

The sensors reach 150 metres in the open.

## What internet speed do the cameras need?

Each camera needs an internet speed of at least 1.5 Mbit/s of upload.

## Who founded the company?

See the other page.
"""


def brain(documents: Library) -> Brain:
    return GroundedBrain(documents, MockModel(), AnswerSettings())


class Sure:
    """Answers every question with a chosen part of the truth (implements `agent.ports.brain.Brain`)."""

    def __init__(self, documents: Library, change: Callable[[VerifiedPart], VerifiedPart]) -> None:
        self._brain = brain(documents)
        self._change = change
        self.asked: list[str] = []

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Answer as the documents do, then change the end."""
        self.asked.append(question.text)
        events: list[TurnEvent] = []
        await self._brain.answer(question, events.append)
        last = events[-1]
        emit(self._change(last) if isinstance(last, VerifiedPart) else last)


def base(*files: str) -> KnowledgeBase:
    return KnowledgeBase.build([SourceFile.of(f"kb/{at}.md", text) for at, text in enumerate(files)])


async def found(openers: Openers) -> None:
    """Let them look until they wait."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(openers.run)
        await trio.sleep(300)
        nursery.cancel_scope.cancel()


async def test_only_questions_that_are_answered_well_are_offered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A question whose section says nothing of it is not, and nothing is known before the documents are."""
    knowledge: list[KnowledgeBase] = []
    openers = Openers(lambda: knowledge[0] if knowledge else None, brain, {})
    assert openers.of_language("en") is None
    knowledge.append(base(FAQ))
    await found(openers)
    assert openers.of_language("en") == (
        "How far do the sensors reach?",
        "What internet speed do the cameras need?",
    )
    assert openers.of_language("sv") == openers.of_language("en")  # rather than none at all


@pytest.mark.parametrize("fault", ["confidence", "elsewhere", "deeper", "itself"])
async def test_an_unsure_answer_or_one_from_elsewhere_is_none(
    fault: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Confidence below high, another section, a section above, and the question quoted as its own answer."""

    def change(part: VerifiedPart) -> VerifiedPart:
        if fault == "confidence":
            return replace(part, text=replace(part.text, confidence="med"))
        first = part.text.citations[0]
        other = {
            "elsewhere": replace(first, file="kb/other.md"),
            "deeper": replace(first, headings=first.headings[:1]),
            "itself": replace(first, plain_text=f"- {first.headings[-1]}"),
        }[fault]
        return replace(part, text=replace(part.text, citations=(*part.text.citations, other)))

    documents = base(FAQ)
    openers = Openers(lambda: documents, lambda each: Sure(each, change), {})
    await found(openers)
    assert openers.of_language("en") == ()


async def test_questions_come_from_different_files_and_are_few(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of each file before the second of any; at most so many are asked at all."""
    things = ("sensor", "camera", "siren", "keypad")
    files = [
        f"# About\n\n## What colour is the {each}?\n\nThe colour of the {each} is white.\n\n"
        f"## Which battery does the {each} use?\n\nThe {each} does use a lithium battery.\n"
        for each in things
    ]
    documents = base(*files)
    openers = Openers(lambda: documents, brain, {})
    await found(openers)
    offered = openers.of_language("en")
    assert offered is not None
    assert len(offered) == OPENERS
    assert len({next(thing for thing in things if thing in each) for each in offered}) == OPENERS
    monkeypatch.setattr(module, "_ASKED", 1)
    asked = Sure(documents, lambda part: replace(part, text=replace(part.text, confidence="low")))
    few = Openers(lambda: documents, lambda _: asked, {})
    await found(few)
    assert asked.asked == ["What colour is the sensor?"]


async def test_a_change_of_the_documents_makes_them_anew_once_asked_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Until then the old ones stand, and the search rests."""
    snapshots = [base(FAQ)]
    made: list[Library] = []

    def make(documents: Library) -> Brain:
        made.append(documents)
        return brain(documents)

    openers = Openers(lambda: snapshots[-1], make, {})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(openers.run)
        await trio.sleep(100)
        first = openers.of_language("en")
        await trio.sleep(100)
        assert len(made) == 1
        snapshots.append(base(FAQ.replace("How far do the sensors reach?", "Sensors")))
        assert openers.of_language("en") == first
        await trio.sleep(100)
        assert openers.of_language("en") == ("What internet speed do the cameras need?",)
        nursery.cancel_scope.cancel()


async def test_the_operators_questions_need_no_documents() -> None:
    """They are offered at once, in their languages, and nothing is looked for."""
    openers = Openers(lambda: None, brain, {"sv": ("Vad kostar det?",)})
    assert openers.of_language("sv") == ("Vad kostar det?",)
    assert openers.of_language("en") == ("Vad kostar det?",)
    await openers.run()  # returns
    assert Openers(None, brain, {}).of_language("en") == ()


async def test_the_search_leaves_the_loop_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait of several times its length follows each step."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr("agent.answering.openers.trio.sleep", sleep)
    documents = base(FAQ)
    candidates = await module._collect_candidates(documents.passages, "en")
    assert len(candidates) == 3
    for each in candidates:
        await module._is_answered(brain(documents), each, "en")
    assert len([seconds for seconds in waits if seconds >= module._BREAK]) == 4
