"""One turn from question to verified answer: retrieve, draft, verify, once more if need be, or refuse.

The evidence is fetched first, and a question without any is refused before a model is asked. A draft is shown to
nobody; only what `grounding` makes of it, or a refusal, is emitted. The user's words choose the actions to propose
and the evidence to look for, and are never a source. What is no question (a greeting, thanks) has a fixed answer.

How a draft becomes an answer is one of three ways (`ways`): whole, sentence by sentence, or as claims. This module
is what they have in common: the evidence, the redraft and the refusals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec

import structlog
import trio

from ..actions.triggers import asked, proposals
from ..config import READ_AT_ONCE
from ..errors import ModelFailed, StorageFailed, Withdrawn
from ..grounding import refusals
from ..grounding.binding import Binding
from ..grounding.courtesies import noted, reply, stated
from ..grounding.verify import read_ahead
from ..lang import LANGUAGES
from ..numbers.read import Token
from ..ports.brain import (
    Act,
    Beside,
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
from ..ports.conversation import Exchange
from ..ports.draft import NO_CHARTER, NO_REMINDER, Charter, Drafter, Prompt, Reminder
from ..ports.remember import MEMORY_FILES, NOTHING_REMEMBERED, Memory
from ..ports.search import Hit, Lang, Library, Query, Retriever
from ..text.courtesy import courtesy, without
from ..text.language import language
from .drafting import Drafting
from .explain import (
    NEAREST,
    Explain,
    Judged,
    courtesy_lines,
    draft_lines,
    ended_lines,
    failed_lines,
    found_lines,
    nearest_lines,
)
from .prompts import instructions, within
from .settings import AnswerSettings
from .ways import Failed, Tell, Way, by_claims, by_sentences, whole

_log = structlog.get_logger("agent.answering")

HITS = 40  # statements that a model is given at most

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Found:
    """What a turn has to answer from.

    text: the question, less its courtesies. hits: the evidence, best first, of what is remembered last. reminder: what
    is remembered, to be told and not to be cited. stated: nothing is asked, and it can be remembered. beside: some of
    it can, or something is proposed; told where nothing was found alone. unread: some of what is remembered could not
    be read.
    """

    text: str
    lang: Lang
    hits: tuple[Hit, ...]
    history: tuple[Exchange, ...]
    reminder: Reminder = NO_REMINDER
    stated: bool = False
    beside: Beside | None = None
    unread: bool = False


class GroundedBrain:
    """Answers from a knowledge base, and refuses what it cannot show: implements `agent.ports.brain.Brain`.

    It keeps nothing between turns, so one serves every session at once; a turn keeps the snapshot of the documents
    that was present when it began. explain: hears why each answer is what it is, which is for the operator alone.
    charter: what a project says in every prompt; no number stands because it stands there. memory: what users want
    remembered; None remembers nothing.
    """

    def __init__(
        self,
        library: Library,
        drafter: Drafter,
        settings: AnswerSettings,
        explain: Explain | None = None,
        charter: Charter = NO_CHARTER,
        memory: Memory | None = None,
    ) -> None:
        self.charter = charter
        self.memory = memory
        self._library = library
        self._settings = settings
        self._heard_by = explain
        self._drafting = Drafting(drafter, settings.turn_timeout)
        self._confidence: Confidence | None = None if settings.confidence else "low"
        way = whole
        if settings.answer == "claims":
            way = by_claims
        elif settings.verify == "sentence":
            way = by_sentences
        self._way: Way = partial(way, binding=settings.binding, counts=settings.own_counts)

    async def answer(
        self,
        question: Question,
        emit: Callable[[TurnEvent], None],
        act: Act | None = None,
        found: Callable[[Sequence[Hit]], None] = lambda hits: None,
    ) -> None:
        """Answer one question; the last event, answer or refusal, carries the proposals.

        found: hears of the evidence, before it is drafted from.
        Cancelled, nothing more is emitted and the model's stream is closed before it returns (its closing is
        shielded for UNWIND_TIMEOUT seconds at most).
        """
        asked_for = proposals(question.text)
        said = courtesy(question.text)
        if said is not None:
            retriever = await self._library.present()
            lang = question.lang or said.lang
            self._explain(courtesy_lines, said.what)
            emit(Drafted())
            emit(Verified(reply(said.what, lang, retriever.topics(lang)), proposals=asked_for))
            return
        if self.told(question):
            emit(Drafted())
            emit(Verified(noted(self._lang(question)), proposals=asked_for))
            return
        evidence = await self.find(question)
        found(evidence.hits)
        await self.draft(evidence, emit, asked_for)

    def told(self, question: Question) -> bool:
        """Return whether a question is nothing but the order to remember something, and that can be done."""
        return self.memory is not None and self.memory.told(question, self._lang(question))

    def _lang(self, question: Question) -> Lang:
        return question.lang or language(question.text) or self._settings.lang

    async def find(self, question: Question) -> Found:
        """Return what the documents say about a question. Cancelled, nothing is left."""
        settings = self._settings
        retriever = await self._library.present()
        text, before = without(question.text), _before(question)
        lang = self._lang(question)
        query = Query(asked(text), lang, HITS, asked(before), question.scope)
        every = await retriever.search(query)
        hits = within(every, settings.evidence_tokens)
        self._explain(found_lines, query, every, len(hits))
        remembered, told, beside, unread = NOTHING_REMEMBERED, False, None, question.unread
        if self.memory is not None:
            remembered = await self.memory.remembered(question, text, lang)
            unread = unread or remembered.unread
            hits = within((*(() if remembered.asked else hits), *remembered.hits), 0)
            if not hits:
                told, beside = self.memory.stated(question, lang), self.memory.beside(question, lang)
        if not hits:
            await self._explain_nothing(retriever, query)
        reminder = remembered.reminder
        if unread:
            reminder = reminder.saying(LANGUAGES[lang].prompting.unreadable)
        return Found(text, lang, hits, question.history, reminder, told, beside, unread)

    async def check(self, text: VerifiedText) -> None:
        """Raise `Withdrawn` where a text cites what is not remembered any more, `StorageFailed` where nobody knows.

        A cancel leaves nothing.
        """
        cited = {each.file for each in text.citations if each.file.startswith(MEMORY_FILES)}
        if cited and self.memory is not None and not await self.memory.stands(cited):
            raise Withdrawn

    async def draft(
        self,
        found: Found,
        emit: Callable[[TurnEvent], None],
        asked_for: tuple[Proposal, ...] = (),
        first: str = "",
    ) -> None:
        """Draft from what was found, and tell the answer or the refusal, with what was asked for.

        first: a draft that is there already, which is verified before the drafter is asked. Cancelled as `answer`.
        """
        settings, lang, hits = self._settings, found.lang, found.hits
        if found.unread:
            emit = without_memory(emit)
        if not hits:
            self._end_with_nothing(found, emit, asked_for)
            return
        await read(hits, settings.binding)
        try:
            written = first if settings.answer == "text" else ""
            result = await self._answer(self.prompt(found), hits, emit, written)
            last = _last(result, lang, hits, asked_for)
            await self.check(last.text)
        except Withdrawn:
            kept = [hit for hit in hits if not hit.snippet.file.startswith(MEMORY_FILES)]
            last = Refused(refusals.number_mismatch(lang, kept, ()), asked_for)
        except StorageFailed:
            last = Refused(refusals.no_sources(lang, unread=True), asked_for)
        except ModelFailed as error:
            _log.warning("model failed", exc_info=error)
            self._explain(failed_lines, error)
            emit(Refused(refusals.model_failed(lang), asked_for))
            return
        self._explain(ended_lines, last.text)
        emit(last)

    def _end_with_nothing(
        self, found: Found, emit: Callable[[TurnEvent], None], asked_for: tuple[Proposal, ...]
    ) -> None:
        beside = "suggested" if asked_for else found.beside
        last: Verified | Refused = Refused(refusals.no_sources(found.lang, beside, found.unread), asked_for)
        if found.stated:
            emit(Drafted())
            last = Verified(stated(found.lang), proposals=asked_for)
        self._explain(ended_lines, last.text)
        emit(last)

    def prompt(self, found: Found) -> Prompt:
        """Return what is asked for a first draft from what was found."""
        settings = self._settings
        return Prompt(
            instructions(found.lang, settings.answer, settings.clarify),
            found.text,
            found.lang,
            form=settings.answer,
            may_ask=settings.clarify and settings.answer == "text",
            history=found.history,
            charter=self.charter,
            reminder=found.reminder,
        )

    def _explain(self, lines: Callable[P, Sequence[str]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Let the operator hear some lines, which are made only where somebody listens."""
        if self._heard_by is not None:
            self._heard_by(lines(*args, **kwargs))

    async def _explain_nothing(self, retriever: Retriever, query: Query) -> None:
        """Let the operator hear what a search that found nothing came nearest to."""
        if self._heard_by is not None:
            self._explain(
                nearest_lines,
                await retriever.nearest(Query(query.text, query.lang, NEAREST, scope=query.scope)),
            )

    async def _answer(
        self, asked: Prompt, hits: Sequence[Hit], emit: Callable[[TurnEvent], None], first: str
    ) -> VerifiedText | Sequence[Token]:
        """Return the text to say last, or the numbers for which every draft was refused.

        Raises `ModelFailed`, also when no draft could be read at all.
        """
        settings = self._settings
        tell = Tell(emit, self.check)
        prompt = asked
        refused: list[Token] = []
        failed: Failed | None = None
        for attempt in range(1 + settings.redrafts):
            if failed is not None:
                emit(Redraft())
                prompt = asked.retold(attempt, failed.again(asked.lang))
            hear = partial(self._explain_draft, attempt, hits) if self._heard_by is not None else None
            drafting = self._drafting.given(first) if first and not attempt else self._drafting
            result = await self._way(drafting, prompt, hits, tell, self._confidence, told=hear)
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

    def _explain_draft(self, attempt: int, hits: Sequence[Hit], judged: Judged) -> None:
        self._explain(draft_lines, attempt, judged, hits)


def without_memory(emit: Callable[[TurnEvent], None]) -> Callable[[TurnEvent], None]:
    """Return what emits each text as one that was made without some of what is remembered."""

    def emit_unsure(event: TurnEvent) -> None:
        if isinstance(event, Verified | Refused):
            event = event.without_memory()
        emit(event)

    return emit_unsure


def _before(question: Question) -> str:
    """Return the newest question of the conversation that was one; "" where there is none."""
    asked_before = (each.question for each in reversed(question.history))
    return next((without(each) for each in asked_before if courtesy(each) is None), "")


async def read(hits: Sequence[Hit], binding: Binding) -> None:
    """Read the numbers of the evidence, so that no verdict has to read much of it at once.

    A search returns few of a knowledge base's statements, so no other is ever read: reading all of them was a third
    of a start's CPU. The other tasks have their turn after every READ_AT_ONCE characters. A cancel leaves nothing.
    """
    characters = 0
    for hit in hits:
        characters += read_ahead(hit.snippet, binding=binding)
        if characters >= READ_AT_ONCE:
            characters = 0
            await trio.lowlevel.checkpoint()


def _last(
    result: VerifiedText | Sequence[Token], lang: Lang, hits: Sequence[Hit], asked_for: tuple[Proposal, ...]
) -> Verified | Refused:
    if isinstance(result, VerifiedText):
        return Verified(result, proposals=asked_for)
    return Refused(refusals.number_mismatch(lang, hits, result), asked_for)
