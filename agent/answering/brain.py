"""One turn from question to verified answer: retrieve, draft, verify, redraft if need be, or refuse.

The evidence is fetched first, and a question without evidence is refused before a model is asked. No client sees a
draft; only the text that `grounding` verifies, or a refusal, is emitted. The user's words choose the actions to propose
and the evidence to look for, and are never a source. A courtesy (a greeting, thanks) has a fixed answer, and so has a
request for an action that no document is about. Where no action can be confirmed, none is proposed.

A draft becomes an answer in one of three ways (`draft_ways.py`): whole, sentence by sentence, or as claims. This module
has their common parts: the evidence, the redraft and the refusals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec

import structlog
import trio

from ..errors import ModelFailed, StorageFailed, Withdrawn
from ..grounding import refusals
from ..grounding.binding import Binding
from ..grounding.courtesies import acknowledge_statement, answer_courtesy, confirm_order, explain_forgetting
from ..grounding.questions import ask_approval
from ..grounding.verify import read_ahead
from ..intents.triggers import remove_requests
from ..intents.user_message import UserMessage
from ..intents.wishes import asks_besides
from ..lang import LANGUAGES
from ..numbers.number_tokens import NumberToken
from ..ports.brain import (
    DraftBegun,
    DraftCompleted,
    MemoryNotice,
    Proposal,
    Question,
    Redraft,
    RunCall,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from ..ports.conversation import Exchange, Scope
from ..ports.draft import NO_CHARTER, NO_REMINDER, Charter, Drafter, Prompt, Reminder
from ..ports.remember import EMPTY_MEMORY, MEMORY_FILES, Memory, MemoryOrder
from ..ports.search import Hit, Lang, Library, Query, Retriever
from ..ports.tracing import trace_step
from ..text.courtesy import find_courtesy, strip_courtesies
from ..text.fences import fence_text
from .draft_ways import (
    DraftWay,
    FailedDraft,
    TurnReporter,
    answer_by_claims,
    answer_by_sentences,
    answer_whole,
)
from .drafting import DraftReader
from .explain import (
    NEAREST,
    Explain,
    JudgedDraft,
    describe_courtesy,
    describe_draft,
    describe_end,
    describe_failure,
    describe_nearest,
    describe_search,
)
from .prompts import fit_hits, make_instructions
from .settings import DRAFTS, READ_AT_ONCE, AnswerSettings

_log = structlog.get_logger("agent.answering")

HITS = 40  # statements that a model is given at most

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvidence:
    """The evidence and the context of one turn.

    `scope`: of the question. `text`: the question without its courtesies. `hits`: the evidence, best first, with memory
    items last. `reminder`: memory items and messages to show the model, which must not be cited. `only_states`: the
    message asks nothing, and can be remembered. `beside`: the notice that a part of the message can be remembered, or
    that an action is proposed; used only without hits. `unread`: some of the memory could not be read.
    `progress`: as of the question.
    """

    scope: Scope
    text: str
    lang: Lang
    hits: tuple[Hit, ...]
    history: tuple[Exchange, ...]
    reminder: Reminder = NO_REMINDER
    only_states: bool = False
    beside: MemoryNotice | None = None
    unread: bool = False
    progress: bool = False


class GroundedBrain:
    """Answers from a knowledge base, and refuses answers without support (implements `agent.ports.brain.Brain`).

    A brain has no state between turns, so one instance serves every session at once. A turn keeps the snapshot of the
    documents with which it began. `explain`: receives the reasons of each answer, for the operator alone. `charter`: a
    project's role and rules, part of every prompt; they support no number. `memory`: `None` where nothing is
    remembered. `first_wait`: seconds that a draft may take until its first words, beside the time of the settings.
    `on_trouble`: called with a sentence when a draft takes too long, and with "" when one comes in time again.
    """

    def __init__(
        self,
        library: Library,
        drafter: Drafter,
        settings: AnswerSettings,
        explain: Explain | None = None,
        charter: Charter = NO_CHARTER,
        memory: Memory | None = None,
        first_wait: float = 0.0,
        on_trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.charter = charter
        self.memory = memory
        self._library = library
        self._settings = settings
        self._listener = explain
        self._drafting = DraftReader(drafter, settings.turn_timeout, first_wait, on_trouble)
        way, self._reads_ahead = answer_whole, settings.binding != "off"
        if settings.answer == "claims":
            way, self._reads_ahead = answer_by_claims, True
        elif settings.verify == "sentence":
            way, self._reads_ahead = answer_by_sentences, True
        self._way: DraftWay = partial(way, binding=settings.binding)

    async def answer(
        self,
        question: Question,
        emit: Callable[[TurnEvent], None],
        act: RunCall | None = None,
        on_evidence: Callable[[Sequence[Hit]], None] = lambda hits: None,
    ) -> None:
        """Answer one question; the last event, answer or refusal, carries the proposals.

        `on_evidence`: called with the evidence before the draft. Cancelled, nothing more is emitted, and the model's
        stream is closed before this returns (closing is shielded for `UNWIND_TIMEOUT` seconds at most).
        """
        message = UserMessage.of(question)
        proposals = message.actions if question.wishes is not None else ()
        courtesy = message.courtesy
        if courtesy is not None:
            retriever = await self._library.load_snapshot()
            lang = question.lang or courtesy.lang
            self._explain(describe_courtesy, courtesy.kind)
            emit(DraftCompleted())
            emit(
                VerifiedPart(
                    text=answer_courtesy(courtesy.kind, lang, retriever.topics(lang)), proposals=proposals
                )
            )
            return
        if order := self.find_memory_order(question):
            reply = confirm_order if order == "remember" else explain_forgetting
            emit(DraftCompleted())
            emit(VerifiedPart(text=reply(self._lang_of(question)), proposals=proposals))
            return
        evidence = await self.find_evidence(question)
        on_evidence(evidence.hits)
        await self.draft_answer(evidence, emit, proposals)

    def find_memory_order(self, question: Question) -> MemoryOrder | None:
        """Return the order that a question consists of: to remember what can be remembered, or to forget something."""
        return None if self.memory is None else self.memory.find_order(question, self._lang_of(question))

    def _lang_of(self, question: Question) -> Lang:
        return question.lang or UserMessage.of(question).lang or self._settings.lang

    async def find_evidence(self, question: Question) -> TurnEvidence:
        """Return the evidence for a question, of documents and memory. Cancelled, nothing is left."""
        settings = self._settings
        retriever = await self._library.load_snapshot()
        message, previous_question = UserMessage.of(question), _find_previous_question(question)
        text = message.without_courtesies
        lang = self._lang_of(question)
        query = Query(message.search_text, lang, HITS, remove_requests(previous_question), question.scope)
        with trace_step("retrieval"):
            all_hits = await retriever.search(query)
        hits = fit_hits(all_hits, settings.evidence_tokens)
        self._explain(describe_search, query, all_hits, len(hits))
        memory_evidence, only_states, beside, unread = EMPTY_MEMORY, False, None, question.unread
        if self.memory is not None:
            with trace_step("search_memory"):
                memory_evidence = await self.memory.load_memory(question, text, lang)
            unread = unread or memory_evidence.unread
            hits = fit_hits((*(() if memory_evidence.is_asked_for else hits), *memory_evidence.hits), 0)
            if not hits:
                only_states, beside = (
                    self.memory.is_statement(question, lang),
                    self.memory.find_notice(question, lang),
                )
        if not hits:
            await self._explain_nearest(retriever, query)
        reminder, texts = memory_evidence.reminder, LANGUAGES[lang].prompting
        if unread:
            reminder = reminder.with_recalled(texts.unreadable)
        if question.context:
            reminder = reminder.with_situation(f"{texts.context}\n{fence_text(question.context)}")
        return TurnEvidence(
            scope=question.scope,
            text=text,
            lang=lang,
            hits=hits,
            history=question.history,
            reminder=reminder,
            only_states=only_states,
            beside=beside,
            unread=unread,
            progress=question.progress,
        )

    async def check_citations(self, scope: Scope, text: VerifiedText) -> None:
        """Raise `Withdrawn` when `text` cites a memory item, of the user of `scope`, that was forgotten meanwhile.

        Raise `StorageFailed` when the memory cannot be read. Cancelled, nothing is left.
        """
        cited = {each.file for each in text.citations if each.file.startswith(MEMORY_FILES)}
        if cited and self.memory is not None and not await self.memory.are_citable(scope, cited):
            raise Withdrawn

    async def draft_answer(
        self,
        evidence: TurnEvidence,
        emit: Callable[[TurnEvent], None],
        proposals: tuple[Proposal, ...] = (),
        ready_draft: str = "",
    ) -> None:
        """Draft from the evidence `evidence`, and emit the answer or the refusal with the proposals `proposals`.

        `ready_draft`: a draft to verify before the drafter is asked, or "". Cancelled as `answer`.
        """
        settings, lang, hits = self._settings, evidence.lang, evidence.hits
        if evidence.unread:
            emit = mark_without_memory(emit)
        if not hits:
            self._end_without_evidence(evidence, emit, proposals)
            return
        emitted: list[TurnEvent] = []

        def emit_draft(event: TurnEvent) -> None:
            emitted.append(event)
            emit(event)

        if evidence.progress:
            emit(DraftBegun())
        if self._reads_ahead:
            await read_numbers(hits, settings.binding)
        try:
            draft = ready_draft if settings.answer == "text" else ""
            result = await self._write_answer(evidence, emit_draft, draft)
            last_event = _make_last_event(result, lang, hits, proposals)
            await self.check_citations(evidence.scope, last_event.text)
        except Withdrawn:
            document_hits = [hit for hit in hits if not hit.snippet.file.startswith(MEMORY_FILES)]
            last_event = TurnRefusal(refusals.number_mismatch(lang, document_hits, ()), proposals)
        except StorageFailed:
            last_event = TurnRefusal(refusals.no_sources(lang, unread=True), proposals)
        except ModelFailed as error:
            _log.info("model failed", kind=error.kind)
            self._explain(describe_failure, error)
            last_event = TurnRefusal(refusals.model_failed(lang), proposals)
        if isinstance(last_event, TurnRefusal) and _may_only_confirm(evidence, proposals, emitted):
            self._explain(describe_end, last_event.text)
            if not (emitted and isinstance(emitted[-1], DraftCompleted)):
                emit(DraftCompleted())
            last_event = _confirm_proposals(lang, proposals)
        self._explain(describe_end, last_event.text)
        emit(last_event)

    def _end_without_evidence(
        self, evidence: TurnEvidence, emit: Callable[[TurnEvent], None], proposals: tuple[Proposal, ...]
    ) -> None:
        beside = "suggested" if proposals else evidence.beside
        last_event: VerifiedPart | TurnRefusal
        if evidence.only_states:
            last_event = VerifiedPart(text=acknowledge_statement(evidence.lang), proposals=proposals)
        elif _may_only_confirm(evidence, proposals):
            last_event = _confirm_proposals(evidence.lang, proposals)
        else:
            last_event = TurnRefusal(refusals.no_sources(evidence.lang, beside, evidence.unread), proposals)
        if isinstance(last_event, VerifiedPart):
            emit(DraftCompleted())
        self._explain(describe_end, last_event.text)
        emit(last_event)

    def make_prompt(self, evidence: TurnEvidence) -> Prompt:
        """Return the prompt for a first draft from the evidence `evidence`."""
        settings = self._settings
        return Prompt(
            instructions=make_instructions(evidence.lang, settings.answer, settings.clarify),
            question=evidence.text,
            lang=evidence.lang,
            form=settings.answer,
            may_ask=settings.clarify and settings.answer == "text",
            history=evidence.history,
            charter=self.charter,
            reminder=evidence.reminder,
        )

    def _explain(self, lines: Callable[P, Sequence[str]], *args: P.args, **kwargs: P.kwargs) -> None:
        """Give the operator's listener the lines of `lines(...)`, which are made only when there is a listener."""
        if self._listener is not None:
            self._listener(lines(*args, **kwargs))

    async def _explain_nearest(self, retriever: Retriever, query: Query) -> None:
        """Give the operator's listener the statements nearest to a query that found nothing."""
        if self._listener is not None:
            self._explain(
                describe_nearest,
                await retriever.search_nearest(Query(query.text, query.lang, NEAREST, scope=query.scope)),
            )

    async def _write_answer(
        self, evidence: TurnEvidence, emit: Callable[[TurnEvent], None], ready_draft: str
    ) -> VerifiedText | Sequence[NumberToken]:
        """Return the last text of the turn, or the numbers for which every draft was refused.

        Raises `ModelFailed`, also when no draft could be parsed at all.
        """
        reporter = TurnReporter(emit, partial(self.check_citations, evidence.scope))
        hits, first_prompt = evidence.hits, self.make_prompt(evidence)
        prompt = first_prompt
        refused: list[NumberToken] = []
        failed: FailedDraft | None = None
        for attempt in range(DRAFTS):
            if failed is not None:
                emit(Redraft())
                reason = failed.explain_redraft(first_prompt.lang)
                prompt = first_prompt.for_redraft(attempt, reason, failed.sent_text)
            on_draft = partial(self._explain_draft, attempt, hits) if self._listener is not None else None
            drafting = (
                self._drafting.from_draft(ready_draft) if ready_draft and not attempt else self._drafting
            )
            result = await self._way(drafting, prompt, hits, reporter, on_draft=on_draft, failed=failed)
            if isinstance(result, VerifiedText):
                return result
            failed = result
            refused += failed.refused
        if failed is not None and failed.is_unparsed:
            raise ModelFailed("the draft is not in the requested form")
        return refused

    def _explain_draft(self, attempt: int, hits: Sequence[Hit], judged: JudgedDraft) -> None:
        self._explain(describe_draft, attempt, judged, hits)


def mark_without_memory(emit: Callable[[TurnEvent], None]) -> Callable[[TurnEvent], None]:
    """Return an `emit` that marks each text as made without some of the memory."""

    def emit_unsure(event: TurnEvent) -> None:
        if isinstance(event, VerifiedPart | TurnRefusal):
            event = event.without_memory()
        emit(event)

    return emit_unsure


def _find_previous_question(question: Question) -> str:
    """Return the newest message of the conversation that is no courtesy, or ""."""
    asked_before = (each.question for each in reversed(question.history))
    return next((strip_courtesies(each) for each in asked_before if find_courtesy(each) is None), "")


async def read_numbers(hits: Sequence[Hit], binding: Binding) -> None:
    """Read the numbers of the evidence ahead, for verdicts that cannot pause while they read.

    A search returns few of a knowledge base's statements, and the others are never read: reading all of them was a
    third of a start's CPU. Other tasks get their turn after every `READ_AT_ONCE` characters. Cancelled, nothing is
    left.
    """
    characters = 0
    for hit in hits:
        characters += read_ahead(hit.snippet, binding=binding)
        if characters >= READ_AT_ONCE:
            characters = 0
            await trio.lowlevel.checkpoint()


def _may_only_confirm(
    evidence: TurnEvidence, proposals: Sequence[Proposal], emitted: Sequence[TurnEvent] = ()
) -> bool:
    """Tell whether a turn without an answer may end with its proposals alone, in place of a refusal.

    It may when the message asks nothing besides, and no part of a draft was sent. `emitted`: the events so far.
    """
    return (
        bool(proposals)
        and not any(isinstance(event, VerifiedPart) for event in emitted)
        and not asks_besides(evidence.text, proposals)
    )


def _confirm_proposals(lang: Lang, proposals: tuple[Proposal, ...]) -> VerifiedPart:
    """Return the last event that only asks the user to confirm the proposals."""
    return VerifiedPart(text=ask_approval(lang), proposals=proposals, announces=True)


def _make_last_event(
    result: VerifiedText | Sequence[NumberToken],
    lang: Lang,
    hits: Sequence[Hit],
    proposals: tuple[Proposal, ...],
) -> VerifiedPart | TurnRefusal:
    if isinstance(result, VerifiedText):
        return VerifiedPart(text=result, proposals=proposals)
    return TurnRefusal(refusals.number_mismatch(lang, hits, result), proposals)
