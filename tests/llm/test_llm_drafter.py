"""A language model as a drafter: what it is asked, and what becomes of what it says."""

import json
import re
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelFailed
from agent.grounding.claims import CLAIM, CLAIMS, EVIDENCE, DraftClaim, parse_claims
from agent.llm.claims import ClaimsDrafter
from agent.llm.drafter import ModelDrafter, make_draft_request
from agent.ports.conversation import Exchange
from agent.ports.draft import Prompt
from agent.ports.model import CallDelta, Finish, LanguageModel, TextDelta
from agent.ports.search import Hit, Passage, Snippet
from agent.testing.models import FakeModel, Step
from agent.testing.replies import says

PROMPT = Prompt(instructions="Use the snippets only.", question="What does Standard cost?", lang="en")


def hit(text: str, file: str = "kb/a.md", headings: tuple[str, ...] = (), lead: str = "") -> Hit:
    """Return a hit on one snippet."""
    snippet = Snippet(file=file, text=text, first=1, last=1, plain_text=text, lead=lead, headings=headings)
    return Hit(snippet, Passage(file, headings, "en", (snippet,)), 0.9)


async def draft(model: LanguageModel, prompt: Prompt = PROMPT) -> list[str]:
    """Return the pieces of a draft."""
    async with aclosing(ModelDrafter(model).stream(prompt, [hit("Standard costs 299 kr.")])) as pieces:
        return [piece.text async for piece in pieces]


def test_what_stays_the_same_comes_first() -> None:
    """Rules, what was said before, evidence, the question, and last why there is another draft; sides alternate."""
    history = (Exchange("Is there a plan?", "Yes, Standard."), Exchange("A small one?", "Basic."))
    prompt = Prompt(
        instructions="Rules.",
        question="What is it?",
        lang="en",
        attempt=1,
        history=history,
        again="It was refused.",
    )
    asked = make_draft_request(
        prompt, [hit("It costs 299 kr.", headings=("Plans", "Prices"), lead="Each month:")], 100
    )
    assert [message.role for message in asked.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    texts = [message.text for message in asked.messages]
    assert texts[0] == "Rules."
    assert texts[1:5] == ["Is there a plan?", "Yes, Standard.", "A small one?", "Basic."]
    assert texts[5] == (
        "[1]\n```\nkb/a.md › Plans › Prices\nEach month:\nIt costs 299 kr.\n```\n\n"
        "What is it?\n\nIt was refused."
    )
    assert (asked.max_tokens, asked.stable, asked.tools, asked.form) == (100, 1, (), None)


@given(
    st.lists(st.text(st.sampled_from("`a\n [1]"), max_size=30), min_size=1, max_size=4),
    st.text("`#a", max_size=9),
)
def test_no_text_closes_its_fence(texts: Sequence[str], heading: str) -> None:
    """Whatever a document holds, the fences are one line each, longer than any run of such marks in it."""
    hits = [hit(text, headings=(heading,)) for text in texts]
    (user,) = (
        message.text for message in make_draft_request(PROMPT, hits, 9).messages if message.role == "user"
    )
    fence = user.split("\n")[1]
    assert re.fullmatch("`{3,}", fence)
    parts = user.split(fence)
    assert len(parts) == 2 * len(texts) + 1
    assert [part.strip() for part in parts[::2]] == [
        *(f"[{n}]" for n in range(1, len(texts) + 1)),
        PROMPT.question,
    ]


async def test_a_draft_comes_in_whole_sentences() -> None:
    """Each when it has ended; the last one with the end."""
    model = FakeModel(
        [[TextDelta("It is 2"), TextDelta("99 kr. And"), TextDelta(" more\nis"), Finish("stop")]]
    )
    assert await draft(model) == ["It is 299 kr. ", "And more\n", "is"]


async def test_half_a_sentence_is_no_part_of_a_draft() -> None:
    """When the tokens were spent, what stands after the last whole one may be half a number."""
    model = FakeModel([[TextDelta("It is 299 kr. Or per year 3 2"), Finish("length")]])
    assert await draft(model) == ["It is 299 kr. "]
    listed = FakeModel([[TextDelta("1. One.\n2. Two.\n3. "), Finish("length")]])
    assert await draft(listed) == ["1. One.\n2. Two.\n"]


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ((TextDelta("It is 2"), Finish("length")), "cut"),
        ((Finish("refusal"),), "request"),
        ((TextDelta("It is 299 kr."), Finish("filtered")), "request"),
        ((CallDelta(0, "1", "pay", "{}"), Finish("calls")), "protocol"),
        ((ModelFailed("slow", "timeout"),), "timeout"),
    ],
)
async def test_what_is_no_draft_is_a_failure(pieces: Sequence[Step], kind: str) -> None:
    """Of which kind, the operator is told."""
    model = FakeModel([pieces])
    with pytest.raises(ModelFailed) as raised:
        await draft(model)
    assert (raised.value.kind, model.running) == (kind, 0)


async def test_a_draft_that_is_left_closes_the_model() -> None:
    """In the middle of what it says."""
    model = FakeModel([[TextDelta("One. "), TextDelta("Two. "), Finish("stop")]])
    async with aclosing(ModelDrafter(model).stream(PROMPT, [])) as pieces:
        assert (await anext(pieces)).text == "One. "
        assert model.running == 1
    assert model.running == 0


HELD = '{"text": "It is 299 kr.", "evidence": [1]}'


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([says(f"[{HELD}]")], [1]),
        ([says(f"Here you are:\n```json\n[{HELD}, {HELD}]\n```")], [1, 1]),
        ([says(f'[{HELD}, {{"text": "And 3", "evidence": ["1"]}}]'), says("I give up")], [1]),
    ],
)
async def test_claims_are_read_whatever_stands_around_them(
    answers: Sequence[Sequence[Step]], expected: list[int]
) -> None:
    """Those that hold are the draft; for the others the model is asked once more."""
    model = FakeModel(answers)
    claims = Prompt(instructions="Rules.", question="?", lang="en", form="claims")
    async with aclosing(ClaimsDrafter(model, 100).stream(claims, [hit("It is 299 kr.")])) as pieces:
        (text,) = [piece.text async for piece in pieces]
    assert [each["evidence"][0] for each in json.loads(text)] == expected
    assert len(model.requests) == len(answers)


@pytest.mark.parametrize(
    "beyond",
    [
        {"text": "It is 7.", "evidence": [2]},  # there is one snippet
        {"text": "It is 7.", "evidence": [0]},
        {"text": "It is 7.", "evidence": [1] * (EVIDENCE + 1)},
        {"text": "x" * (CLAIM + 1), "evidence": [1]},
        {"text": "", "evidence": [1]},
    ],
    ids=["past the last", "before the first", "too many", "too long", "empty"],
)
async def test_a_claim_beyond_its_bounds_spoils_no_other(beyond: dict[str, Any]) -> None:
    """It is told with the place that is wrong, and left out unless it is mended; the verifier reads the rest."""
    model = FakeModel([says(f"[{HELD}, {json.dumps(beyond)}]"), says("I give up")])
    claims = Prompt(instructions="Rules.", question="?", lang="en", form="claims")
    async with aclosing(ClaimsDrafter(model, 100).stream(claims, [hit("It is 299 kr.")])) as pieces:
        (text,) = [piece.text async for piece in pieces]
    assert parse_claims(text) == (DraftClaim("It is 299 kr.", (1,)),)
    _, again = model.requests
    assert re.search(r"- /(evidence|text)", again.messages[-1].text)


async def test_no_more_claims_are_drafted_than_are_read() -> None:
    """The first ones, since one too many would spoil them all."""
    model = FakeModel([says(f"[{', '.join([HELD] * (CLAIMS + 1))}]")])
    claims = Prompt(instructions="Rules.", question="?", lang="en", form="claims")
    async with aclosing(ClaimsDrafter(model, 100).stream(claims, [hit("It is 299 kr.")])) as pieces:
        (text,) = [piece.text async for piece in pieces]
    assert len(parse_claims(text) or ()) == CLAIMS


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([says("I know nothing of JSON.")] * 2, "protocol"),
        ([[ModelFailed("slow", "timeout", 3.0)]], "timeout"),
        ([[Finish("refusal")]], "request"),
    ],
)
async def test_claims_that_cannot_be_had_are_a_failure(answers: Sequence[Sequence[Step]], kind: str) -> None:
    """After two attempts, or at once where the model fails."""
    model = FakeModel(answers)
    claims = Prompt(instructions="Rules.", question="?", lang="en", form="claims")
    async with aclosing(ClaimsDrafter(model, 100).stream(claims, [hit("It is 299 kr.")])) as pieces:
        with pytest.raises(ModelFailed) as raised:
            await anext(pieces)
    assert (raised.value.kind, len(model.requests)) == (kind, len(answers))
