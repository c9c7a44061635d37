"""Prompts that are too long for a model's context are shortened, and the next ones at once."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import pytest

from agent.errors import ModelFailed
from agent.llm.drafter import ModelDrafter
from agent.llm.model_decider import ModelDecider
from agent.llm.prompt_room import ModelContext
from agent.ports.conversation import Exchange
from agent.ports.decide import Briefing, Noop
from agent.ports.draft import Prompt
from agent.ports.model import Finish, ModelRequest, Piece, TextDelta
from agent.ports.search import Hit, Passage, Snippet

PROMPT = Prompt(instructions="Rules.", question="What does it cost?", lang="en")
HISTORY = tuple(Exchange(f"Question {number}?", "x" * 200) for number in range(4))


def hit(text: str) -> Hit:
    """Return a hit on one snippet."""
    snippet = Snippet(file="kb/a.md", text=text, first=1, last=1)
    return Hit(snippet, Passage("kb/a.md", (), "en", (snippet,)), 0.9)


HITS = [hit(f"Plan {number} costs {number}99 kr. {'x' * 100}") for number in range(1, 9)]


class SmallModel:
    """A model that takes prompts of `context` characters (a `LanguageModel`)."""

    def __init__(self, context: int, text: str = "It costs 199 kr.") -> None:
        self.context = context
        self.requests: list[str] = []
        self._text = text

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Answer, or refuse a prompt for its length."""
        asked = "\n".join(message.text for message in request.messages)
        self.requests.append(asked)
        if len(asked) > self.context:
            raise ModelFailed("the prompt is longer than its context", "length")
        yield TextDelta(self._text)
        yield Finish("stop")


async def draft(drafter: ModelDrafter, prompt: Prompt = PROMPT, evidence: Sequence[Hit] = HITS) -> str:
    """Return a whole draft."""
    async with aclosing(drafter.stream(prompt, evidence)) as pieces:
        return "".join([piece.text async for piece in pieces])


async def test_the_least_relevant_statements_go_first() -> None:
    """Half of them at a time; the question and the rules stay, and later prompts fit at once."""
    model = SmallModel(400)
    drafter = ModelDrafter(model)
    assert await draft(drafter) == "It costs 199 kr."
    assert [request.count("costs") for request in model.requests] == [8, 4, 2]
    assert "Plan 1 costs" in model.requests[-1]
    assert all("What does it cost?" in request and "Rules." in request for request in model.requests)
    await draft(drafter, evidence=HITS[3:])
    assert [request.count("costs") for request in model.requests[3:]] == [2]


async def test_then_the_oldest_of_the_conversation_goes() -> None:
    """With one statement left; where nothing is left to cut, the failure is raised."""
    model = SmallModel(500)
    assert await draft(ModelDrafter(model), replace(PROMPT, history=HISTORY)) != ""
    last = model.requests[-1]
    assert ("Question 3?" in last, "Question 0?" in last, "Plan 1 costs" in last) == (True, False, True)
    with pytest.raises(ModelFailed) as failed:
        await draft(ModelDrafter(SmallModel(10)), evidence=HITS)
    assert failed.value.kind == "length"


async def test_other_failures_are_no_reason_to_ask_again() -> None:
    """Nor is a failure after the first piece."""

    class Failing(SmallModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
            self.requests.append("")
            if self.context:
                yield TextDelta("It costs. ")
            raise ModelFailed("no", "length" if self.context else "request")

    for context in (0, 1):
        model = Failing(context)
        with pytest.raises(ModelFailed):
            await draft(ModelDrafter(model))
        assert len(model.requests) == 1


async def test_a_decision_is_asked_for_with_less_too() -> None:
    """With the tools and the message whole."""
    model = SmallModel(2_000, '{"mode": "NOOP", "message": "It costs 199 kr."}')
    briefing = Briefing(question="What does it cost?", lang="en", tools=(), evidence=tuple(HITS) * 4)
    decided = await ModelDecider(model).decide(briefing)
    assert isinstance(decided, Noop)
    assert len(model.requests) > 1
    assert "What does it cost?" in model.requests[-1]


async def test_a_known_context_is_fitted_before_the_model_is_asked() -> None:
    """Evidence gets a fifth of it, and the prompt leaves room for the answer, so that no request is refused."""
    model = SmallModel(10_000)
    context = ModelContext()
    drafter = ModelDrafter(model, context=context)
    await draft(drafter)
    context.tokens = 240  # 720 characters; a statement has 118
    await draft(drafter)
    await draft(drafter, replace(PROMPT, history=HISTORY))
    assert [request.count("costs") for request in model.requests] == [8, 1, 1]
    assert "Question 3?" in model.requests[-1]
    assert "Question 0?" not in model.requests[-1]
    assert max(map(len, model.requests[1:])) <= 240 * 3 * 3 / 4


async def test_a_context_with_no_room_at_all_is_still_asked() -> None:
    """The rules and the question are never cut; the server says whether they fit."""
    model = SmallModel(10_000)
    assert await draft(ModelDrafter(model, context=ModelContext(10))) == "It costs 199 kr."
    assert len(model.requests) == 1


async def test_a_large_context_changes_nothing() -> None:
    """All statements and the whole conversation are sent, in decisions too."""
    model = SmallModel(10_000)
    await draft(ModelDrafter(model, context=ModelContext(8192)), replace(PROMPT, history=HISTORY))
    assert model.requests[0].count("costs") == 8
    assert "Question 0?" in model.requests[0]
