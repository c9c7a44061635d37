"""The three ways from a draft to a text that may be said: whole, sentence by sentence, as claims.

Each asks the model once and tells what happens: `Drafted` when something is being verified, and in
sentence mode each sentence but the last. It returns the last text, or how the draft failed.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import ModelFailed
from ..grounding.binding import Binding
from ..grounding.claims import parse, render
from ..grounding.verify import Verdict, verify
from ..numbers.read import Token, tokens
from ..ports.brain import Confidence, Drafted, TurnEvent, Verified, VerifiedText
from ..ports.draft import Prompt
from ..ports.search import Hit, Lang
from . import prompts
from .drafting import Drafting
from .explain import Judged
from .sentences import Sentences
from .standing import standing

Emit = Callable[[TurnEvent], None]
Check = Callable[[VerifiedText], Awaitable[None]]
"""Is asked about each text before it is said; whatever it raises ends the answer there."""

Told = Callable[[Judged], None]
"""Is told what became of a draft; for the operator alone."""


@dataclass(frozen=True, slots=True)
class Tell:
    """How a way tells what happens. check: is asked about each text that it says itself, before."""

    emit: Emit
    check: Check

    def drafted(self) -> None:
        """Something is being verified."""
        self.emit(Drafted())

    async def say(self, text: VerifiedText) -> None:
        """Say a sentence that stands, and that another one follows."""
        await self.check(text)
        self.drafted()
        self.emit(Verified(text, last=False))


@dataclass(frozen=True, slots=True)
class Failed:
    """A draft that does not stand.

    refused: its numbers that no citation holds. said, wrong: what the redraft is told about, and the numbers that
    were wrong in it. partly_said: a part of the draft has reached the client, so there is no second one.
    unread: it was not in the form that was asked for. keep: its sentences that stand, when asked for.
    """

    refused: Sequence[Token]
    said: str = ""
    wrong: Sequence[Token] = ()
    partly_said: bool = False
    unread: bool = False
    keep: Callable[[], VerifiedText | None] | None = None

    def again(self, lang: Lang) -> str:
        """Return why there is a redraft, for the model."""
        return prompts.unread(lang) if self.unread else prompts.again(lang, self.said, self.wrong)

    def standing(self) -> VerifiedText | None:
        """Return what stands of the draft, when that is a claim at least."""
        return self.keep() if self.keep is not None else None


class Way(Protocol):
    """Asks the model once, and makes what it can of the draft."""

    async def __call__(
        self,
        drafting: Drafting,
        prompt: Prompt,
        hits: Sequence[Hit],
        tell: Tell,
        confidence: Confidence | None,
        *,
        told: Told | None,
    ) -> VerifiedText | Failed:
        """Return the last text of the turn, or how the draft failed; raises `agent.errors.ModelFailed`.

        hits: the evidence, best first. confidence: of the text; None works it out. A clarifying question is as sure
        as can be told from a question: low. told: hears of the draft; None is nobody.
        """
        ...


async def whole(
    drafting: Drafting,
    prompt: Prompt,
    hits: Sequence[Hit],
    tell: Tell,
    confidence: Confidence | None,
    *,
    binding: Binding = "off",
    counts: bool = False,
    told: Told | None = None,
) -> VerifiedText | Failed:
    """Verify a draft when all of it is here."""
    draft = await drafting.whole(prompt, hits)
    tell.drafted()
    sure: Confidence | None = "low" if prompts.asks(draft) else confidence
    said = prompts.unmarked(draft)
    if not said.strip():
        raise ModelFailed("the draft is empty")
    verdict = verify(said, hits, confidence=sure, binding=binding, counts=counts)
    if told is not None:
        told(Judged(draft, verdict))
    if verdict.text is not None:
        return _said(verdict.text)
    return Failed(
        verdict.refused,
        verdict.said,
        verdict.refused,
        keep=lambda: standing(verdict, hits, confidence=sure, binding=binding, counts=counts),
    )


async def by_sentences(
    drafting: Drafting,
    prompt: Prompt,
    hits: Sequence[Hit],
    tell: Tell,
    confidence: Confidence | None,
    *,
    binding: Binding = "off",
    counts: bool = False,
    told: Told | None = None,
) -> VerifiedText | Failed:
    """Say each sentence once it stands; the model goes on meanwhile."""
    sentences = Sentences(hits, prompt.lang, confidence, binding, counts)
    drafted: list[str] = []
    async with drafting.pieces(prompt, hits) as pieces:
        async for piece in pieces:
            if told is not None:
                drafted.append(piece)
            for text in sentences.feed(piece):
                await tell.say(text)
            if sentences.failed is not None:
                break
    tell.drafted()
    last = sentences.finish()
    if told is not None:
        told(
            Judged(
                "".join(drafted),
                sentences.failed or verify(sentences.said, hits, binding=binding, counts=counts),
            )
        )
    if last is None:
        return _failed(sentences.failed, bool(sentences.said))
    _check_said(sentences.said)
    return last


async def by_claims(
    drafting: Drafting,
    prompt: Prompt,
    hits: Sequence[Hit],
    tell: Tell,
    confidence: Confidence | None,
    *,
    binding: Binding = "off",
    counts: bool = False,
    told: Told | None = None,
) -> VerifiedText | Failed:
    """Verify each claim on the evidence it names, and say those that stand."""
    draft = await drafting.whole(prompt, hits)
    claims = parse(draft)
    tell.drafted()
    if claims is None:
        if told is not None:
            told(Judged(draft, dropped=("all of it: it is not the JSON that was asked for",)))
        return Failed((), unread=True)
    if not any(claim.text.strip() for claim in claims):
        raise ModelFailed("the draft is empty")
    rendered = render(claims, hits, confidence=confidence, counts=counts)
    verdict: Verdict | None = None
    if rendered.text is not None and (binding != "off" or told is not None):
        its = [hit for hit in hits if hit.snippet in rendered.text.citations]
        verdict = verify(rendered.text.text, its, confidence=confidence, binding=binding, counts=counts)
    if told is not None:
        told(Judged(draft, verdict, rendered.refused, rendered.dropped))
    if rendered.text is None:
        said = "\n".join(rendered.dropped)
        return Failed(rendered.refused, said, tokens(said))
    _check_said(rendered.text.text)
    if binding == "off" or verdict is None:
        return rendered.text
    return verdict.text or Failed(verdict.refused, verdict.said, verdict.refused)


def _said(text: VerifiedText) -> VerifiedText:
    """Return a text that says something; what holds marks only, such as those of footnotes, is no answer."""
    _check_said(text.text)
    return text


def _check_said(text: str) -> None:
    """Raise `ModelFailed` when nothing is left of a draft but marks."""
    if not any(map(str.isalnum, text)):
        raise ModelFailed("the draft is empty")


def _failed(verdict: Verdict | None, partly_said: bool) -> Failed:
    assert verdict is not None
    return Failed(verdict.refused, verdict.said, verdict.refused, partly_said)
