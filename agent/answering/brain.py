"""One turn from question to verified answer: retrieve, draft, verify, once more if need be, or refuse.

The evidence is fetched first, and a question without any is refused before a model is asked. A draft is shown to
nobody; only what `grounding` makes of it, or a refusal, is emitted. The user's words choose the actions to propose
and the evidence to look for, and are never a source. What is no question (a greeting, thanks) has a fixed answer.

How a draft becomes an answer is one of three ways (`ways`): whole, sentence by sentence, or as claims. This module
is what they have in common: the evidence, the redraft and the refusals.
"""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from ..actions.triggers import asked, proposals
from ..config import Settings
from ..errors import ModelFailed
from ..grounding import refusals
from ..grounding.courtesies import reply
from ..numbers.read import Token
from ..ports.brain import (
    Confidence,
    Drafted,
    Proposal,
    Question,
    Redraft,
    Refused,
    TurnEvent,
    Verified,
    VerifiedText,
)
from ..ports.model import ChatModel, Prompt
from ..ports.search import Hit, Lang, Retriever
from ..text.courtesy import courtesy, without
from ..text.language import language
from .drafting import Drafting
from .prompts import instructions, within
from .ways import Failed, Way, by_claims, by_sentences, whole

_log = structlog.get_logger("agent.answering")

HITS = 40  # statements that a model is given at most

Topics = Callable[[Lang], Sequence[str]]
"""Tells what the documents of a language are about, the largest topic first."""


def _no_topics(lang: Lang) -> Sequence[str]:
    return ()


class GroundedBrain:
    """Answers from a knowledge base, and refuses what it cannot show: implements `agent.ports.brain.Brain`.

    It keeps nothing between turns, so one serves every session at once. topics: told to who greets it.
    """

    def __init__(
        self,
        retriever: Retriever,
        model: ChatModel,
        settings: Settings,
        topics: Topics = _no_topics,
    ) -> None:
        self._retriever = retriever
        self._topics = topics
        self._settings = settings
        self._drafting = Drafting(model, settings.turn_timeout)
        self._confidence: Confidence | None = None if settings.confidence else "low"
        way = whole
        if settings.answer == "claims":
            way = by_claims
        elif settings.verify == "sentence":
            way = by_sentences
        self._way: Way = partial(way, binding=settings.binding, counts=settings.own_counts)

    async def answer(self, question: Question, emit: Callable[[TurnEvent], None]) -> None:
        """Answer one question; the last event, answer or refusal, carries the proposals.

        Cancelled, nothing more is emitted and the model's stream is closed before it returns (its closing is
        shielded for UNWIND_TIMEOUT seconds at most).
        """
        settings = self._settings
        asked_for = proposals(question.text)
        said = courtesy(question.text)
        if said is not None:
            lang = question.lang or said.lang
            emit(Drafted())
            emit(Verified(reply(said.what, lang, self._topics(lang)), proposals=asked_for))
            return
        text = without(question.text)
        lang = question.lang or language(question.text) or settings.lang
        found = await self._retriever.search(asked(text), lang, HITS)
        hits = within(found, settings.evidence_tokens)
        if not hits:
            emit(Refused(refusals.no_sources(lang), asked_for))
            return
        try:
            result = await self._answer(text, lang, hits, emit)
        except ModelFailed as error:
            _log.warning("model failed", exc_info=error)
            emit(Refused(refusals.model_failed(lang), asked_for))
            return
        emit(_last(result, lang, hits, asked_for))

    async def _answer(
        self, question: str, lang: Lang, hits: Sequence[Hit], emit: Callable[[TurnEvent], None]
    ) -> VerifiedText | Sequence[Token]:
        """Return the text to say last, or the numbers for which every draft was refused.

        Raises `ModelFailed`, also when no draft could be read at all.
        """
        settings = self._settings
        form = settings.answer
        told = instructions(lang, form, settings.clarify)
        refused: list[Token] = []
        failed: Failed | None = None
        for attempt in range(1 + settings.redrafts):
            if failed is not None:
                emit(Redraft())
                told = failed.again(instructions(lang, form, settings.clarify), lang)
            prompt = Prompt(told, question, lang, attempt, form, settings.clarify and form == "text")
            result = await self._way(self._drafting, prompt, hits, emit, self._confidence)
            if isinstance(result, VerifiedText):
                return result
            failed = result
            refused += failed.refused
            if failed.partly_said:
                return refused
        if failed is not None and failed.unread:
            raise ModelFailed("the draft is not what was asked for")
        kept = failed.standing() if failed is not None and settings.keep_standing else None
        return refused if kept is None else kept


def _last(
    result: VerifiedText | Sequence[Token], lang: Lang, hits: Sequence[Hit], asked_for: tuple[Proposal, ...]
) -> TurnEvent:
    if isinstance(result, VerifiedText):
        return Verified(result, proposals=asked_for)
    return Refused(refusals.number_mismatch(lang, hits, result), asked_for)
