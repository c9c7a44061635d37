"""What the mock says of its evidence, and what it makes up."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock

from agent.config import Settings
from agent.grounding.claims import parse, render
from agent.llm.mock import MockModel
from agent.llm.open import open_model
from agent.llm.wording import ALSO, NOTHING, OTHER_LANGUAGE
from agent.ports.model import Prompt
from agent.ports.search import Hit, Lang, Passage, Snippet


def passage(file: str, lang: Lang, first: int, *texts: str, headings: tuple[str, ...] = ()) -> Passage:
    """A passage of one-line snippets, from line `first` on; an empty text is a line that is no snippet.

    A row before such a line is the header of a table.
    """
    snippets = tuple(Snippet(file, text, first + i, first + i) for i, text in enumerate(texts) if text)
    headers = [text for text, below in pairwise(texts) if text.startswith("|") and not below]
    return Passage(file, headings, lang, snippets, tuple(each for each in snippets if each.text in headers))


PLANS = passage(
    "kb/pricing.md",
    "en",
    5,
    "| Plan | Price per month | Video (days) |",
    "",
    "| Basic | 149 kr | 7 |",
    "| Standard | **299 kr** | 30 |",
    headings=("Prices", "Plans"),
)
RETURNS = passage(
    "kb/policies.md",
    "en",
    3,
    "- You get [your money](x) within 30 days. A return costs 59 kr.",
    headings=("Returns",),
)
PRISER = passage("kb/sv/pricing.md", "sv", 3, "Standard kostar 299 kr per månad.", headings=("Priser 2025",))


def hit(of: Passage, index: int = 0, score: float = 0.9) -> Hit:
    return Hit(of.snippets[index], of, score)


async def drafts(
    model: MockModel, question: str, evidence: Sequence[Hit], lang: Lang = "en", attempt: int = 0
) -> list[str]:
    return [delta.text async for delta in model.stream(Prompt("", question, lang, attempt), evidence)]


async def draft(
    model: MockModel, question: str, evidence: Sequence[Hit], lang: Lang = "en", attempt: int = 0
) -> str:
    return "".join(await drafts(model, question, evidence, lang, attempt))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


async def test_a_row_is_told_by_the_names_of_its_columns() -> None:
    """A table row becomes a sentence that names its columns, without a column name that is no plain name."""
    text = await draft(MockModel(), "q", [hit(PLANS, 2)])
    assert text.endswith("For Standard you find price per month: 299 kr, 30.")


async def test_a_row_without_a_header_is_told_by_its_values() -> None:
    """A row whose table has no header among the snippets is told all the same."""
    bare = passage("kb/a.md", "en", 3, "Some text.", "| Basic | 149 kr |")
    assert (await draft(MockModel(), "q", [hit(bare, 1)])).endswith("For Basic you find 149 kr.")


async def test_prose_is_told_in_other_words() -> None:
    """Prose loses its markdown and gets other words; what stands beside a number stays."""
    text = await draft(MockModel(), "q", [hit(RETURNS)])
    assert text.endswith(
        "You will get your money within 30 days. A return costs you 59 kr, says our page under Returns."
    )
    assert RETURNS.snippets[0].text not in text


async def test_a_heading_with_a_number_is_not_repeated() -> None:
    """Only what the snippet holds may be in a draft, so a heading with digits is left out."""
    assert (await draft(MockModel(), "q", [hit(PRISER)], "sv")).endswith(
        "Standard kostar dig 299 kr per månad."
    )


async def test_up_to_two_passages_are_combined() -> None:
    """The best hit and the best of another passage are told, a third is not, nor one that is much worse."""
    both = await draft(MockModel(), "q", [hit(PLANS, 2), hit(PLANS, 1), hit(RETURNS, score=0.8), hit(PRISER)])
    assert numbers(both) == {"299", "30", "59"}
    assert any(lead in both for lead in ALSO["en"])
    assert numbers(await draft(MockModel(), "q", [hit(PLANS, 2), hit(RETURNS, score=0.5)])) == {"299", "30"}


async def test_the_answer_is_in_the_questions_language() -> None:
    """Hits in the question's language go first; without one, it says so in that language."""
    assert numbers(await draft(MockModel(), "q", [hit(RETURNS), hit(PRISER)], "sv")) == {"299"}
    assert (await draft(MockModel(), "q", [hit(PRISER)], "en")).startswith(OTHER_LANGUAGE["en"])


async def test_without_evidence_it_says_so_without_a_number() -> None:
    """No evidence gives a sentence in the language asked for."""
    assert await draft(MockModel(), "q", [], "sv") == NOTHING["sv"]


async def test_the_same_seed_gives_the_same_deltas_in_any_order() -> None:
    """Drafts follow from seed, question and attempt only, not from what was asked before."""
    evidence = [hit(PLANS, 2), hit(RETURNS)]
    first, second = MockModel(7, 0.5), MockModel(7, 0.5)
    questions = [f"question {n}" for n in "abcdefgh"]
    one = [await drafts(first, q, evidence) for q in questions]
    two = [await drafts(second, q, evidence) for q in reversed(questions)]
    assert one == two[::-1]
    assert one != [await drafts(MockModel(8, 0.5), q, evidence) for q in questions]


async def test_the_rate_is_the_share_of_drafts() -> None:
    """About half of the drafts hold an invention at 0.5, drawn anew for a redraft; none at 0 and all at 1."""
    evidence = [hit(PLANS, 2), hit(RETURNS)]
    true = {q: await draft(MockModel(0, 0.0), q, evidence) for q in map(str, range(200))}
    made_up = {}
    for rate in (0.0, 0.5, 1.0):
        texts = {q: await draft(MockModel(0, rate), q, evidence) for q in true}
        made_up[rate] = sum(texts[q] != true[q] for q in true)
    assert made_up[0.0] == 0
    assert 75 <= made_up[0.5] <= 125
    assert made_up[1.0] == 200
    again = [
        await draft(MockModel(0, 0.5), q, evidence, attempt=1)
        == await draft(MockModel(), q, evidence, attempt=1)
        for q in true
    ]
    assert 75 <= sum(again) <= 125


async def test_a_number_is_split_over_deltas() -> None:
    """No delta holds two digits in a row, so no delta holds a whole number of two digits or more."""
    pieces = await drafts(MockModel(), "q", [hit(PLANS, 2), hit(RETURNS)])
    assert len(pieces) > 10
    assert not any(re.search(r"\d\d", piece) for piece in pieces)
    assert max(map(len, pieces)) <= 8


async def test_the_delay_is_before_each_delta(autojump_clock: MockClock) -> None:
    """The settings' delay is in milliseconds, per delta."""
    model = open_model(Settings(mock_delay_ms=250.0))
    count = 0
    async for _ in model.stream(Prompt("", "q", "en"), [hit(RETURNS)]):
        count += 1
        assert trio.current_time() == pytest.approx(0.25 * count)


async def test_the_settings_choose_rate_and_seed() -> None:
    """What the operator chose is what the mock does."""
    evidence = [hit(PLANS, 2), hit(RETURNS)]
    opened = open_model(Settings(mock_seed=3, mock_hallucinate=1.0), ["119.50 kr"])
    own = MockModel(3, 1.0, elsewhere=["119.50 kr"])
    assert isinstance(opened, MockModel)
    assert [await draft(opened, q, evidence) for q in "abcd"] == [
        await draft(own, q, evidence) for q in "abcd"
    ]


async def test_it_gives_claims_when_asked_for_them() -> None:
    """Each snippet's statement is a claim that names it; one that is made up is refused, the others stand."""
    evidence = [hit(PLANS, 2), hit(RETURNS)]
    for question in map(str, range(40)):
        prompt = Prompt("", question, "en", form="claims")
        texts = []
        for rate in (0.0, 1.0):
            stream = MockModel(0, rate).stream(prompt, evidence)
            texts.append("".join([delta.text async for delta in stream]))
        true, made_up = map(parse, texts)
        assert true is not None
        assert made_up is not None
        assert [claim.evidence for claim in true] == [(1,), (2,)]
        assert render(true, evidence).dropped == ()
        assert len(render(made_up, evidence).dropped) == 1


async def test_claims_without_evidence_are_made_up_or_say_nothing() -> None:
    """Also then it keeps to the form."""
    for rate, expected in [(0.0, 0), (1.0, 1)]:
        model = MockModel(0, rate)
        text = "".join([delta.text async for delta in model.stream(Prompt("", "q", "en", form="claims"), [])])
        claims = parse(text)
        assert claims is not None
        assert len(claims) == expected


@pytest.mark.parametrize(
    ("bound", "may_ask", "expected"), [(0.95, True, True), (0.95, False, False), (0.85, True, False)]
)
async def test_it_asks_back_when_its_evidence_is_weak(bound: float, may_ask: bool, expected: bool) -> None:
    """Below the bound it was given (scores are 0.9 here), and only where the prompt lets it."""
    model = open_model(Settings(mock_ask=bound))
    prompt = Prompt("", "q", "sv", may_ask=may_ask)
    text = "".join([delta.text async for delta in model.stream(prompt, [hit(RETURNS)])])
    assert text.startswith("ASK: Jag") is expected
