"""What the mock says of its evidence, and what it makes up."""

import re
from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock

from agent.grounding.claims import parse_claims, render_claims
from agent.llm.mock import PIECES_AT_ONCE, MockModel
from agent.llm.open import open_drafter
from agent.llm.settings import MockSettings
from agent.ports.draft import Prompt
from agent.ports.search import Hit, Lang, Passage, Snippet


def passage(file: str, lang: Lang, *said: str, kind: str = "paragraph", headings: tuple[str, ...]) -> Passage:
    """A section of statements, one a line."""
    snippets = tuple(
        Snippet(
            file=file,
            text=f"**{text}**",
            first=line,
            last=line,
            plain_text=text,
            kind=kind,
            headings=headings,
        )
        for line, text in enumerate(said, 5)
    )
    return Passage(file, headings, lang, snippets)


PLANS = passage(
    "kb/pricing.md",
    "en",
    "Basic; Price per month: 149 kr; Video: 7 days",
    "Standard; Price per month: 299 kr; Video: 30 days",
    kind="row",
    headings=("Prices", "Plans"),
)
RETURNS = passage(
    "kb/policies.md",
    "en",
    "You get your money within 30 days.",
    "A return costs 59 kr.",
    headings=("Returns",),
)
PRISER = passage("kb/sv/pricing.md", "sv", "Standard kostar 299 kr per månad.", headings=("Priser 2025",))


def hit(of: Passage, index: int = 0, score: float = 0.9) -> Hit:
    return Hit(of.snippets[index], of, score)


async def drafts(
    model: MockModel, question: str, evidence: Sequence[Hit], lang: Lang = "en", attempt: int = 0
) -> list[str]:
    return [
        delta.text
        async for delta in model.stream(
            Prompt(instructions="", question=question, lang=lang, attempt=attempt), evidence
        )
    ]


async def draft(
    model: MockModel, question: str, evidence: Sequence[Hit], lang: Lang = "en", attempt: int = 0
) -> str:
    return "".join(await drafts(model, question, evidence, lang, attempt))


async def test_it_quotes_the_best_statements() -> None:
    """Three, whole and in plain words, the best first, each under the headings it stands under."""
    text = await draft(MockModel(), "q", [hit(PLANS, 1), hit(RETURNS, 1), hit(RETURNS), hit(PLANS)])
    assert text == (
        "From “Prices › Plans”:\n- Standard; Price per month: 299 kr; Video: 30 days"
        "\n\nFrom “Returns”:\nA return costs 59 kr.\n\nYou get your money within 30 days."
    )


async def test_the_answer_is_in_the_questions_language() -> None:
    """The frame is; when everything found is in another one, it says so first."""
    assert (await draft(MockModel(), "q", [hit(PRISER)], "sv")) == (
        "Från våra sidor:\nStandard kostar 299 kr per månad."
    )
    assert (await draft(MockModel(), "q", [hit(PRISER)], "en")).startswith(
        "I only found this on a page in Swedish.\n"
    )


async def test_without_evidence_it_says_so_without_a_number() -> None:
    """No evidence gives a sentence in the language asked for."""
    assert await draft(MockModel(), "q", [], "sv") == "Sidorna jag fick säger inget om det."


async def test_the_same_seed_gives_the_same_deltas_in_any_order() -> None:
    """Drafts follow from seed, question and attempt only, not from what was asked before."""
    evidence = [hit(PLANS, 1), hit(RETURNS)]
    first, second = MockModel(7, 0.5), MockModel(7, 0.5)
    questions = [f"question {n}" for n in "abcdefgh"]
    one = [await drafts(first, q, evidence) for q in questions]
    two = [await drafts(second, q, evidence) for q in reversed(questions)]
    assert one == two[::-1]
    assert one != [await drafts(MockModel(8, 0.5), q, evidence) for q in questions]


async def test_the_rate_is_the_share_of_drafts() -> None:
    """About half of the drafts hold an invention at 0.5, drawn anew for a redraft; none at 0 and all at 1."""
    evidence = [hit(PLANS, 1), hit(RETURNS)]
    true = {q: await draft(MockModel(0, 0.0), q, evidence) for q in map(str, range(100))}
    made_up = {}
    for rate in (0.0, 0.5, 1.0):
        texts = {q: await draft(MockModel(0, rate), q, evidence) for q in true}
        made_up[rate] = sum(texts[q] != true[q] for q in true)
    assert made_up[0.0] == 0
    assert 37 <= made_up[0.5] <= 63
    assert made_up[1.0] == 100
    again = [
        await draft(MockModel(0, 0.5), q, evidence, attempt=1)
        == await draft(MockModel(), q, evidence, attempt=1)
        for q in true
    ]
    assert 37 <= sum(again) <= 63


async def test_a_number_is_split_over_deltas() -> None:
    """No delta holds two digits in a row, so no delta holds a whole number of two digits or more."""
    pieces = await drafts(MockModel(), "q", [hit(PLANS, 1), hit(RETURNS)])
    assert len(pieces) > 10
    assert not any(re.search(r"\d\d", piece) for piece in pieces)
    assert max(map(len, pieces)) <= 31


async def test_the_delay_is_before_each_delta(autojump_clock: MockClock) -> None:
    """The settings' delay is in milliseconds, per delta."""
    count = 0
    async with open_drafter("mock", MockSettings(mock_delay_ms=250.0)) as model:
        async for _ in model.stream(Prompt(instructions="", question="q", lang="en"), [hit(RETURNS)]):
            count += 1
            assert trio.current_time() == pytest.approx(0.25 * count)


async def test_the_settings_choose_rate_and_seed() -> None:
    """What the operator chose is what the mock does."""
    evidence = [hit(PLANS, 1), hit(RETURNS)]
    own = MockModel(3, 1.0, elsewhere=lambda: ["119.50 kr"])
    async with open_drafter(
        "mock", MockSettings(mock_seed=3, mock_hallucinate=1.0), lambda: ["119.50 kr"]
    ) as opened:
        assert isinstance(opened, MockModel)
        assert [await draft(opened, q, evidence) for q in "abcd"] == [
            await draft(own, q, evidence) for q in "abcd"
        ]


async def test_it_gives_claims_when_asked_for_them() -> None:
    """Each snippet's statement is a claim that names it; one that is made up is refused, the others stand."""
    evidence = [hit(PLANS, 1), hit(RETURNS)]
    for question in map(str, range(40)):
        prompt = Prompt(instructions="", question=question, lang="en", form="claims")
        texts = []
        for rate in (0.0, 1.0):
            stream = MockModel(0, rate).stream(prompt, evidence)
            texts.append("".join([delta.text async for delta in stream]))
        true, made_up = map(parse_claims, texts)
        assert true is not None
        assert made_up is not None
        assert [(claim.text, claim.evidence) for claim in true] == [
            ("Standard; Price per month: 299 kr; Video: 30 days", (1,)),
            ("You get your money within 30 days.", (2,)),
        ]
        assert render_claims(true, evidence).dropped == ()
        assert len(render_claims(made_up, evidence).dropped) == 1


async def test_a_claim_of_a_snippet_without_plain_words_is_the_snippet() -> None:
    """Another retriever need not tell what its snippets say."""
    bare = Snippet(file="kb/a.md", text="It is 5 kr.", first=1, last=1)
    evidence = [Hit(bare, Passage("kb/a.md", (), "en", (bare,)), 0.9)]
    stream = MockModel().stream(Prompt(instructions="", question="q", lang="en", form="claims"), evidence)
    claims = parse_claims("".join([delta.text async for delta in stream]))
    assert claims is not None
    assert [claim.text for claim in claims] == ["It is 5 kr."]


async def test_claims_without_evidence_are_made_up_or_say_nothing() -> None:
    """Also then it keeps to the form."""
    for rate, expected in [(0.0, 0), (1.0, 1)]:
        model = MockModel(0, rate)
        text = "".join(
            [
                delta.text
                async for delta in model.stream(
                    Prompt(instructions="", question="q", lang="en", form="claims"), []
                )
            ]
        )
        claims = parse_claims(text)
        assert claims is not None
        assert len(claims) == expected


@pytest.mark.parametrize(
    ("bound", "may_ask", "expected"), [(0.95, True, True), (0.95, False, False), (0.85, True, False)]
)
async def test_it_asks_back_when_its_evidence_is_weak(bound: float, may_ask: bool, expected: bool) -> None:
    """Below the bound it was given (scores are 0.9 here), and only where the prompt lets it."""
    prompt = Prompt(instructions="", question="q", lang="sv", may_ask=may_ask)
    async with open_drafter("mock", MockSettings(mock_ask=bound)) as model:
        text = "".join([delta.text async for delta in model.stream(prompt, [hit(RETURNS)])])
    assert text.startswith("ASK: Jag") is expected


async def test_a_cancel_ends_a_draft_without_a_delay_within_a_few_deltas() -> None:
    """Other tasks, one that cancels among them, have their turn after every PIECES_AT_ONCE deltas."""
    long = Snippet(file="kb/a.md", text="word " * 200, first=1, last=1)
    evidence = [Hit(long, Passage("kb/a.md", (), "en", (long,)), 0.9)]
    assert len(await drafts(MockModel(), "q", evidence)) > PIECES_AT_ONCE
    came = 0
    with trio.CancelScope() as scope:
        async for _ in MockModel().stream(Prompt(instructions="", question="q", lang="en"), evidence):
            came += 1
            scope.cancel()
    assert scope.cancelled_caught
    assert came == PIECES_AT_ONCE
