"""The three ways from a draft to a text that may be sent: whole, sentence by sentence, as claims.

Each way asks the model once and emits its progress: `DraftCompleted` when a text is being verified, and in sentence
mode each sentence but the last. It returns the last text, or a `FailedDraft`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

from ..errors import ModelFailed
from ..grounding.binding import Binding
from ..grounding.citations import Steps
from ..grounding.claims import parse_claims, render_claims
from ..grounding.verify import Verdict, verify, verify_in_steps
from ..numbers.number_tokens import NumberToken, tokens
from ..ports.brain import Confidence, DraftCompleted, TurnEvent, VerifiedPart, VerifiedText
from ..ports.draft import Prompt
from ..ports.search import Hit, Lang
from ..ports.tracing import trace_step
from . import prompts
from .drafting import DraftReader
from .explain import JudgedDraft
from .sentences import SentenceStream
from .settings import READ_AT_ONCE

Emit = Callable[[TurnEvent], None]
Check = Callable[[VerifiedText], Awaitable[None]]
"""Checks each text before it is sent; an exception of it ends the answer."""

DraftListener = Callable[[JudgedDraft], None]
"""Receives each draft with its verdict; for the operator alone."""


@dataclass(frozen=True, slots=True)
class TurnReporter:
    """Emits the progress of a way. `check`: called with each sentence before it is sent."""

    emit: Emit
    check: Check

    def report_draft(self) -> None:
        """Report that a text is being verified."""
        self.emit(DraftCompleted())

    async def send_sentence(self, text: VerifiedText) -> None:
        """Send a verified sentence that another one follows."""
        await self.check(text)
        self.report_draft()
        self.emit(VerifiedPart(text=text, last=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedDraft:
    """A draft that is not supported.

    `refused`: its numbers that no citation holds. `text`, `wrong`: the text to quote to the model for the redraft, and
    the unsupported numbers in it. `sentences`: those of the draft, of which a part may have been sent; the redraft
    continues them. `is_unparsed`: the draft was not in the requested form.
    """

    refused: Sequence[NumberToken]
    text: str = ""
    wrong: Sequence[NumberToken] = ()
    sentences: SentenceStream | None = None
    is_unparsed: bool = False

    @property
    def sent_text(self) -> str:
        """The part of the answer that was sent."""
        return self.sentences.sent_text if self.sentences is not None else ""

    def explain_redraft(self, lang: Lang) -> str:
        """Return the reason for the redraft, for the model."""
        return (
            prompts.explain_unparsed(lang)
            if self.is_unparsed
            else prompts.explain_redraft(lang, self.text, self.wrong, self.sent_text)
        )


class DraftWay(Protocol):
    """A way from a draft to a text: asks the model once and verifies its draft."""

    async def __call__(
        self,
        drafting: DraftReader,
        prompt: Prompt,
        hits: Sequence[Hit],
        reporter: TurnReporter,
        *,
        on_draft: DraftListener | None,
        failed: FailedDraft | None,
    ) -> VerifiedText | FailedDraft:
        """Return the last text of the turn, or the `FailedDraft`; raises `agent.errors.ModelFailed`.

        `hits`: the evidence, best first. A clarifying question has the confidence `low`. `on_draft`: receives the draft
        and its verdict, if given. `failed`: the draft before this one, if there was one.
        """
        ...


async def answer_whole(
    drafting: DraftReader,
    prompt: Prompt,
    hits: Sequence[Hit],
    reporter: TurnReporter,
    *,
    binding: Binding = "off",
    on_draft: DraftListener | None = None,
    failed: FailedDraft | None = None,
) -> VerifiedText | FailedDraft:
    """Verify the whole draft at its end."""
    draft = await drafting.read_whole(prompt, hits)
    reporter.report_draft()
    confidence: Confidence | None = "low" if prompts.asks_back(draft) else None
    text = prompts.strip_ask_mark(draft)
    if not text.strip():
        raise ModelFailed("the draft is empty")
    with trace_step("verify"):
        verdict = await _verify_in_turn(verify_in_steps(text, hits, confidence=confidence, binding=binding))
    if on_draft is not None:
        on_draft(JudgedDraft(draft, verdict))
    if verdict.text is not None:
        return _require_words(verdict.text)
    return _make_failed_draft(verdict)


async def _verify_in_turn(steps: Steps[Verdict]) -> Verdict:
    """Return the verdict; other tasks get their turn after every `READ_AT_ONCE` characters of evidence."""
    characters = 0
    while True:
        try:
            characters += next(steps)
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
        if characters >= READ_AT_ONCE:
            characters = 0
            await trio.lowlevel.checkpoint()


async def answer_by_sentences(
    drafting: DraftReader,
    prompt: Prompt,
    hits: Sequence[Hit],
    reporter: TurnReporter,
    *,
    binding: Binding = "off",
    on_draft: DraftListener | None = None,
    failed: FailedDraft | None = None,
) -> VerifiedText | FailedDraft:
    """Send each sentence as soon as it is verified; the model goes on meanwhile. After `failed`, go on from its end."""
    if failed is not None and failed.sentences is not None:
        sentences = failed.sentences
        sentences.continue_draft()
    else:
        sentences = SentenceStream(hits, prompt.lang, binding)
    drafted: list[str] = []
    async with drafting.read_pieces(prompt, hits) as pieces:
        async for piece in pieces:
            if on_draft is not None:
                drafted.append(piece)
            for text in sentences.feed(piece):
                await reporter.send_sentence(text)
            if sentences.failed_verdict is not None:
                break
    reporter.report_draft()
    with trace_step("verify"):
        last = sentences.finish()
    if on_draft is not None:
        on_draft(
            JudgedDraft(
                "".join(drafted),
                sentences.failed_verdict or verify(sentences.sent_text, hits, binding=binding),
            )
        )
    if last is None:
        assert sentences.failed_verdict is not None
        return _make_failed_draft(sentences.failed_verdict, sentences)
    _check_words(sentences.sent_text)
    return last


async def answer_by_claims(
    drafting: DraftReader,
    prompt: Prompt,
    hits: Sequence[Hit],
    reporter: TurnReporter,
    *,
    binding: Binding = "off",
    on_draft: DraftListener | None = None,
    failed: FailedDraft | None = None,
) -> VerifiedText | FailedDraft:
    """Verify each claim against the evidence it names, and return the text of the supported claims."""
    draft = await drafting.read_whole(prompt, hits)
    claims = parse_claims(draft)
    reporter.report_draft()
    if claims is None:
        if on_draft is not None:
            on_draft(JudgedDraft(draft, dropped=("all of it: it is not the JSON that was asked for",)))
        return FailedDraft(refused=(), is_unparsed=True)
    if not any(claim.text.strip() for claim in claims):
        raise ModelFailed("the draft is empty")
    with trace_step("verify"):
        rendered = render_claims(claims, hits, binding=binding)
    if on_draft is not None:
        on_draft(JudgedDraft(draft, rendered.verdict, rendered.refused, rendered.dropped))
    if rendered.text is None:
        dropped_text = "\n".join(rendered.dropped)
        return FailedDraft(refused=rendered.refused, text=dropped_text, wrong=tokens(dropped_text))
    return _require_words(rendered.text)


def _require_words(text: VerifiedText) -> VerifiedText:
    """Return `text`; raise `ModelFailed` when it holds only marks, such as those of footnotes."""
    _check_words(text.text)
    return text


def _check_words(text: str) -> None:
    """Raise `ModelFailed` when `text` has no letter or digit."""
    if not any(map(str.isalnum, text)):
        raise ModelFailed("the draft is empty")


def _make_failed_draft(verdict: Verdict, sentences: SentenceStream | None = None) -> FailedDraft:
    return FailedDraft(refused=verdict.refused, text=verdict.said, wrong=verdict.refused, sentences=sentences)
