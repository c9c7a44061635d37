"""What every brain must do. A new one joins by a line in BRAINS.

Each is made over documents that hold "The Standard plan costs 299 kr a month.", with a drafter that the test scripts.
"""

import re
from collections.abc import AsyncGenerator, Callable, Sequence

import pytest
import trio
from trio.testing import MockClock

from agent.answering.brain import GroundedBrain
from agent.answering.settings import AnswerSettings
from agent.errors import ModelFailed
from agent.ports.brain import (
    Brain,
    DraftCompleted,
    Question,
    Redraft,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from agent.ports.conversation import Exchange
from agent.ports.draft import Delta, Drafter, Prompt
from agent.ports.search import Hit
from agent.testing.fakes import FixedRetriever

TRUE = "The Standard plan costs 299 kr a month."
FALSE = "The Standard plan costs 349 kr a month."
GRAMMAR = re.compile(r"(?:DV|D|R)*(?:L|X)")
"""Drafted, verified in part, redraft; then the last word: a text or a refusal."""


class Drafts:
    """Drafts these, one an attempt and a second each, or raises."""

    def __init__(self, drafts: Sequence[str | Exception]) -> None:
        self.drafts = drafts
        self.open = 0

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        self.open += 1
        try:
            await trio.sleep(1)
            draft = self.drafts[min(prompt.attempt, len(self.drafts) - 1)]
            if isinstance(draft, Exception):
                raise draft
            yield Delta(f'[{{"text": "{draft}", "evidence": [1]}}]' if prompt.form == "claims" else draft)
        finally:
            self.open -= 1


def _brain(**settings: object) -> Callable[[Drafter], Brain]:
    return lambda drafter: GroundedBrain(FixedRetriever(), drafter, AnswerSettings(**settings))  # type: ignore[arg-type]


BRAINS: dict[str, Callable[[Drafter], Brain]] = {
    "whole": _brain(),
    "sentences": _brain(verify="sentence"),
    "claims": _brain(answer="claims"),
    "explained": lambda drafter: GroundedBrain(
        FixedRetriever(), drafter, AnswerSettings(), lambda lines: None
    ),
}


@pytest.fixture(params=sorted(BRAINS))
def make(request: pytest.FixtureRequest) -> Callable[[Drafter], Brain]:
    return BRAINS[request.param]


def letter(event: TurnEvent) -> str:
    if isinstance(event, VerifiedPart):
        return "L" if event.last else "V"
    return {DraftCompleted: "D", Redraft: "R", TurnRefusal: "X"}[type(event)]


def ask(text: str = "What does the Standard plan cost?", *history: Exchange) -> Question:
    return Question(id="1", text=text, lang="en", at=0.0, history=history)


SCENES: dict[str, tuple[str, Sequence[str | Exception], str | None]] = {
    "true": ("What does it cost?", (TRUE,), None),
    "false, then true": ("What does it cost?", (FALSE, TRUE), None),
    "false": ("What does it cost?", (FALSE, FALSE), "number_mismatch"),
    "true, then false": ("What does it cost?", (f"{TRUE} {FALSE}",) * 2, "number_mismatch"),
    "the model fails": ("What does it cost?", (ModelFailed("it failed"),), "model_failed"),
    "an empty draft": ("What does it cost?", (" ",), "model_failed"),
    "a draft of marks": ("What does it cost?", ("[1]\n[2]",), "model_failed"),
    "nothing is found": ("nothing", (TRUE,), "no_sources"),
    "no question": ("Hello!", (TRUE,), None),
}


@pytest.mark.parametrize("scene", sorted(SCENES))
async def test_a_turn_is_told_in_order_and_every_text_is_verified(
    make: Callable[[Drafter], Brain], scene: str, autojump_clock: MockClock
) -> None:
    """The last word comes once and last; every number said stands in a citation; no draft is left open."""
    text, drafts, code = SCENES[scene]
    events: list[TurnEvent] = []
    drafter = Drafts(drafts)
    await make(drafter).answer(ask(text), events.append)
    assert GRAMMAR.fullmatch("".join(map(letter, events)))
    last = events[-1]
    assert isinstance(last, VerifiedPart | TurnRefusal)
    if scene != "true, then false":  # of which claims, and sentences, may say the first half
        assert (last.text.blocked.code if last.text.blocked else None) == code
    for event in events:
        if isinstance(event, VerifiedPart | TurnRefusal):
            assert isinstance(event.text, VerifiedText)
            assert "349" not in event.text.text
            held = " ".join(each.text for each in event.text.citations)
            assert all(number in held for number in re.findall(r"\d+", event.text.text))
    assert drafter.open == 0


@pytest.mark.parametrize("after", [0.0, 0.5, 1.5])
async def test_a_cancel_ends_it_at_once(
    make: Callable[[Drafter], Brain], after: float, autojump_clock: MockClock
) -> None:
    """Nothing is told afterwards, and no draft is left open."""
    events: list[TurnEvent] = []
    drafter = Drafts((FALSE, FALSE))
    with trio.move_on_after(after):
        await make(drafter).answer(ask(), events.append)
    told = len(events)
    assert trio.current_time() == pytest.approx(after)
    await trio.sleep(10)
    assert (len(events), drafter.open) == (told, 0)


async def test_one_serves_many_at_a_time(make: Callable[[Drafter], Brain], autojump_clock: MockClock) -> None:
    """Each turn as if it were alone."""
    brain = make(Drafts((FALSE, TRUE)))
    told: list[list[TurnEvent]] = [[] for _ in range(8)]
    async with trio.open_nursery() as nursery:
        for events in told:
            nursery.start_soon(brain.answer, ask(), events.append)
    assert len({"".join(map(letter, events)) for events in told}) == 1
    assert trio.current_time() == pytest.approx(2)


async def test_what_was_said_before_is_no_source(
    make: Callable[[Drafter], Brain], autojump_clock: MockClock
) -> None:
    """A number that only the conversation holds is refused as any other."""
    events: list[TurnEvent] = []
    before = Exchange("Is it 349 kr?", FALSE)
    await make(Drafts((FALSE,))).answer(ask("And what does it cost?", before), events.append)
    assert isinstance(events[-1], TurnRefusal)
