"""What is remembered: told to a model, cited like a document, and of no use once it is withdrawn."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent.answering.brain import GroundedBrain
from agent.answering.settings import AnswerSettings
from agent.errors import StorageFailed
from agent.lang import LANGUAGES, Lang
from agent.llm.prompt_assembly import assemble_draft
from agent.ports.brain import Blocked, MemoryNotice, Question, TurnEvent, TurnRefusal, VerifiedPart
from agent.ports.conversation import Scope
from agent.ports.draft import Reminder
from agent.ports.memory import Draft, Item
from agent.ports.remember import EMPTY_MEMORY, UNREAD_MEMORY, MemoryOrder, TurnMemory
from agent.ports.search import Hit, Passage, Query, Snippet
from agent.testing.models import FakeDrafter

BUDGET = Snippet(file="memory/i1", text="The budget of Atlas is 50 000 kr.", first=1, last=1)
ITEM = Hit(BUDGET, Passage("memory/i1", (), "en", (BUDGET,)), 0.8)
REMINDER = Reminder("- be brief", "- Atlas is late", "- assistant: it was 70 000 kr")
SAYS = "The budget of Atlas is 50 000 kr."
WAYS = [AnswerSettings(), AnswerSettings(verify="sentence"), AnswerSettings(answer="claims")]


class Documents:
    """Documents in which the same is found for everything."""

    def __init__(self, hits: tuple[Hit, ...]) -> None:
        self._hits = hits

    async def load_snapshot(self) -> "Documents":
        return self

    async def search(self, query: Query) -> tuple[Hit, ...]:
        return self._hits

    async def search_nearest(self, query: Query) -> tuple[Hit, ...]:
        return self._hits

    def topics(self, lang: Lang) -> tuple[str, ...]:
        return ()


class FakeMemory:
    """Remembers one thing, for as long as it is left it. stood: what was asked about, in turn."""

    def __init__(self, remembered: TurnMemory = EMPTY_MEMORY, stands: bool = True) -> None:
        self._remembered = remembered
        self.standing = stands
        self.asked: list[Question] = []
        self.stood: list[set[str]] = []

    def find_order(self, question: Question, lang: Lang) -> MemoryOrder | None:
        if question.text.startswith("Forget"):
            return "forget"
        return "remember" if question.text.startswith("Remember") else None

    def is_statement(self, question: Question, lang: Lang) -> bool:
        return "?" not in question.text

    def find_notice(self, question: Question, lang: Lang) -> MemoryNotice | None:
        return "suggested" if "I live" in question.text else None

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        self.asked.append(question)
        return self._remembered

    async def find_live_item(self, question: Question, id: str) -> Item | None:
        return None

    def draft_item(self, *proposed: Any) -> Draft:
        raise AssertionError("there are no tools")

    async def are_citable(self, scope: Scope, files: Collection[str]) -> bool:
        self.stood.append(set(files))
        return self.standing


def brain(
    drafter: FakeDrafter,
    memory: FakeMemory,
    hits: tuple[Hit, ...] = (),
    settings: AnswerSettings | None = None,
) -> GroundedBrain:
    return GroundedBrain(Documents(hits), drafter, settings or AnswerSettings(), memory=memory)


def drafts(text: str, settings: AnswerSettings) -> FakeDrafter:
    """A drafter of one text, in the form that the settings ask for."""
    claim = f'[{{"text": "{text}", "evidence": [1]}}]'
    return FakeDrafter(
        claim if settings.answer == "claims" else text, claim if settings.answer == "claims" else text
    )


def ask(text: str) -> Question:
    return Question(id="m1", text=text, lang="en", at=0.0, wishes=())


async def told(of: GroundedBrain, question: Question) -> list[TurnEvent]:
    events: list[TurnEvent] = []
    await of.answer(question, events.append)
    return events


def shape(events: Sequence[TurnEvent]) -> list[str]:
    """Name the events, a refusal by its code."""
    return [
        event.text.blocked.code
        if isinstance(event, TurnRefusal) and event.text.blocked
        else type(event).__name__
        for event in events
    ]


def cited(events: Sequence[TurnEvent]) -> list[str]:
    last = events[-1]
    assert isinstance(last, VerifiedPart | TurnRefusal)
    return [each.file for each in last.text.citations]


@pytest.mark.parametrize("settings", WAYS, ids=lambda each: f"{each.answer}-{each.verify}")
async def test_a_number_may_be_said_from_memory_with_its_citation(settings: AnswerSettings) -> None:
    """Where no document says anything."""
    memory = FakeMemory(TurnMemory(REMINDER, (ITEM,)))
    events = await told(brain(drafts(SAYS, settings), memory, settings=settings), ask("What is the budget?"))
    assert isinstance(events[-1], VerifiedPart)
    assert cited(events) == ["memory/i1"]
    assert memory.stood == [{"memory/i1"}]


@pytest.mark.parametrize("settings", WAYS, ids=lambda each: f"{each.answer}-{each.verify}")
async def test_what_was_withdrawn_meanwhile_supports_nothing(settings: AnswerSettings) -> None:
    """Neither an answer nor the citations of its refusal."""
    memory = FakeMemory(TurnMemory(REMINDER, (ITEM,)), stands=False)
    text = f"{SAYS} {SAYS}"
    events = await told(brain(drafts(text, settings), memory, settings=settings), ask("What is the budget?"))
    assert shape(events)[-1] == "number_mismatch"
    assert cited(events) == []
    assert not any(isinstance(each, VerifiedPart) for each in events)


@pytest.mark.parametrize("lang", ["en", "sv"])
async def test_what_asks_nothing_is_no_question_without_an_answer(lang: Lang) -> None:
    """Where nothing is found on it; what is found is answered with as ever, and a question is refused."""
    says = replace(ask("I live in Malmö."), lang=lang)
    asks = replace(ask("Where do I live?"), lang=lang)
    drafter = FakeDrafter(SAYS)
    events = await told(brain(drafter, FakeMemory()), says)
    assert shape(events) == ["DraftCompleted", "VerifiedPart"]
    assert (cited(events), drafter.prompts) == ([], [])
    assert shape(await told(brain(drafter, FakeMemory()), asks)) == ["no_sources"]
    found = FakeMemory(TurnMemory(REMINDER, (ITEM,)))
    assert cited(await told(brain(drafter, found), says)) == ["memory/i1"]
    assert shape(await told(GroundedBrain(Documents(()), drafter, AnswerSettings()), says)) == ["no_sources"]


async def test_what_is_suggested_is_told_before_a_refusal() -> None:
    """An action, and what is to be remembered; what is found is answered without, and so is what suggests nothing."""
    drafter = FakeDrafter(SAYS)
    for text, lead in (
        ("I live in Malmö. What is the airspeed of a swallow?", "Please look at what I suggest"),
        (
            "Please call me on 08-123 45 67. What is the airspeed of a swallow?",
            "Please look at what I suggest",
        ),
        ("What is the airspeed of a swallow?", "I couldn't find"),
    ):
        (last,) = await told(brain(drafter, FakeMemory()), ask(text))
        assert isinstance(last, TurnRefusal)
        assert last.text.text.startswith(lead)
        assert last.text.text.endswith("I couldn't find any references to this in the knowledge base")
        assert last.text.blocked == Blocked("no_sources", "No sources found")


async def test_what_was_said_before_is_told_and_supports_nothing() -> None:
    """The agent's own answers are no source, nor is a reminder."""
    memory = FakeMemory(TurnMemory(REMINDER, (ITEM,)))
    drafter = FakeDrafter("It was 70 000 kr.", "It was 70 000 kr.")
    events = await told(brain(drafter, memory), ask("What was it?"))
    assert shape(events)[-1] == "number_mismatch"
    assert drafter.prompts[0].reminder == REMINDER
    sent = [each.text for each in assemble_draft(drafter.prompts[0], [ITEM]).messages]
    assert "be brief" in sent[0]
    assert "it was 70 000 kr" in sent[-1]


async def test_a_document_is_cited_before_what_is_remembered() -> None:
    """Where both hold it."""
    snippet = Snippet(file="kb/atlas.md", text="The budget of Atlas is 50 000 kr.", first=3, last=3)
    hit = Hit(snippet, Passage("kb/atlas.md", (), "en", (snippet,)), 0.9)
    events = await told(
        brain(FakeDrafter(SAYS), FakeMemory(TurnMemory(REMINDER, (ITEM,))), (hit,)),
        ask("What is the budget?"),
    )
    assert cited(events) == ["kb/atlas.md"]


async def test_who_only_asks_to_remember_gets_no_search() -> None:
    """And the answer repeats nothing of it; where nothing is remembered it is a question like any other."""
    question = ask("Remember that my budget is 50 000 kr.")
    memory = FakeMemory()
    events = await told(brain(FakeDrafter(), memory), question)
    assert shape(events) == ["DraftCompleted", "VerifiedPart"]
    assert isinstance(events[-1], VerifiedPart)
    assert "50" not in events[-1].text.text
    assert memory.asked == []
    without = GroundedBrain(Documents(()), FakeDrafter(), AnswerSettings())
    assert shape(await told(without, question)) == ["no_sources"]
    swedish = await told(brain(FakeDrafter(), memory), replace(question, lang="sv"))
    assert isinstance(swedish[-1], VerifiedPart)
    assert swedish[-1].text.text.startswith("Noterat")


@pytest.mark.parametrize(("lang", "reply"), [("en", "I forget only"), ("sv", "Jag glömmer bara")])
async def test_who_asks_to_forget_is_told_how(lang: Lang, reply: str) -> None:
    """Nothing of what is to be forgotten is looked for, or said again."""
    memory = FakeMemory()
    events = await told(brain(FakeDrafter(), memory), replace(ask("Forget my number 4711."), lang=lang))
    assert isinstance(events[-1], VerifiedPart)
    assert events[-1].text.text.startswith(reply)
    assert (memory.asked, events[-1].text.citations) == ([], ())


@pytest.mark.parametrize("lang", ["en", "sv"])
async def test_what_could_not_be_read_is_not_said_to_be_unknown(lang: Lang) -> None:
    """The refusal says so, also where it was the conversation that could not be read."""
    asks = replace(ask("Where do I live?"), lang=lang)
    for memory, question in ((FakeMemory(UNREAD_MEMORY), asks), (FakeMemory(), replace(asks, unread=True))):
        (last,) = await told(brain(FakeDrafter(SAYS), memory), question)
        assert isinstance(last, TurnRefusal)
        assert last.text.blocked == Blocked("memory_unread", "Memory could not be read")
        assert last.text.text.endswith(LANGUAGES[lang].refusals.memory_unread)
        assert last.text.unread


@pytest.mark.parametrize("settings", WAYS, ids=lambda each: f"{each.answer}-{each.verify}")
async def test_an_answer_without_memory_says_so_and_is_not_sure(settings: AnswerSettings) -> None:
    """Whatever it is made of; a model is told not to say that nothing is known."""
    memory = FakeMemory(replace(UNREAD_MEMORY, hits=(ITEM,)))
    drafter = drafts(SAYS, settings)
    events = await told(brain(drafter, memory, settings=settings), ask("What is the budget?"))
    said = [each.text for each in events if isinstance(each, VerifiedPart)]
    assert said
    assert all((each.unread, each.confidence) == (True, "low") for each in said)
    assert "never say that nothing is known" in drafter.prompts[0].reminder.past_messages


async def test_a_citation_that_cannot_be_looked_up_is_not_said() -> None:
    """Nor that it is false: what is remembered cannot be read."""

    class Unreadable(FakeMemory):
        async def are_citable(self, scope: Scope, files: Collection[str]) -> bool:
            raise StorageFailed("full")

    events = await told(brain(FakeDrafter(SAYS), Unreadable(TurnMemory(REMINDER, (ITEM,)))), ask("Budget?"))
    last = events[-1]
    assert isinstance(last, TurnRefusal)
    assert shape([last]) == ["memory_unread"]
    assert last.text.unread
    assert cited([last]) == []
