"""A turn with tools: decide, call, decide again, then answer, ask or suggest.

The evidence is fetched first, as without tools. Then the decider (a model, or a stand-in for a model) decides: answer
(the draft is verified like every draft), ask, or call a tool. A call passes the `CallGate` (`calls.py`): an invalid
call may be corrected once, and when it fails again, or an argument has no source, the user is asked. A call that needs
no approval is made inside the turn, and its result is evidence like any other, to be cited as `tool/<call id>`. A call
that needs approval ends the turn with a suggestion. So no text of a model, a document or a result can do more than
suggest a call.

Every text passes the number rule. A question, or a sentence beside a call, that fails the rule is replaced by a fixed
text.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial

import structlog
import trio

from ..errors import BadDecision, ModelFailed, StorageFailed, Withdrawn
from ..grounding import refusals
from ..grounding.questions import announce_hand_over, ask_approval, ask_parameters
from ..grounding.verify import verify
from ..intents.user_message import UserMessage
from ..ports.brain import (
    Brain,
    DraftBegun,
    DraftCompleted,
    Question,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from ..ports.brain import RunCall as ActNow
from ..ports.decide import Act, Ask, Briefing, CallResult, Decider, Decision, Noop
from ..ports.draft import Charter
from ..ports.observe import Observer
from ..ports.search import Hit, Passage
from ..ports.tools import CheckerFactory, ReadTools, Risk, ToolDefinition
from ..ports.tracing import trace_step
from ..tools.catalogue import Catalogue
from ..tools.memory_tools import PROPOSING
from ..tools.results import ResultLines, format_outcome
from ..tools.sources import SourceTexts
from .brain import GroundedBrain, TurnEvidence, mark_without_memory, read_numbers
from .calls import CallGate, CheckedCall, InvalidCall, UnsourcedCall
from .settings import READ_AT_ONCE
from .turn_proposals import TurnProposals

# Characters of a model's question, or of its words beside a call; a longer text is replaced by a fixed one.
ASKED_CHARACTERS = 2000

MUST_CALL = (
    "/mode: found NOOP; this request wants a call of a tool: ACT, or ASK for an argument that is missing"
)

_log = structlog.get_logger("agent.answering")

Emit = Callable[[TurnEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTools:
    """The tools that turns may call, and the limits of their use.

    `operator`: the operator's tools; they may change, and each decision uses the tools of that moment.
    `read_message_tools`: parses the tools that come with a message. `arguments`: makes the checkers of arguments.
    `rounds`: most calls in one turn that need no approval. `approve_from`: the risk from which a call needs approval.
    `timeout`: seconds for a decision. `today`: returns the date. `proposes_items`: whether the tools that propose
    memory items are offered too, where there is a memory; `offers_these_alone`: also where there is no other tool.
    """

    operator: Collection[ToolDefinition]
    read_message_tools: ReadTools
    arguments: CheckerFactory
    rounds: int
    approve_from: Risk
    timeout: float
    today: Callable[[], date]
    proposes_items: bool = True
    offers_these_alone: bool = False


class DecidingBrain:
    """Answers with tools when some are offered, else as `plain` does (implements `agent.ports.brain.Brain`).

    `plain`: answers questions without tools. `grounded`: finds the evidence and drafts from it. Keeps nothing between
    turns.
    """

    def __init__(
        self, plain: Brain, grounded: GroundedBrain, decider: Decider, tools: TurnTools, observer: Observer
    ) -> None:
        self._plain = plain
        self._grounded = grounded
        self._decider = decider
        self._tools = tools
        self._observer = observer

    async def answer(self, question: Question, emit: Emit, act: ActNow | None = None) -> None:
        """Answer one question; the last event carries the call to approve, if there is one.

        Cancelled, nothing more is emitted or begun, and the streams of its models are closed before it returns.
        """
        order = self._grounded.find_memory_order(question)
        is_fixed = order is not None or UserMessage.of(question).courtesy is not None
        if act is None or not self._decides(question) or (is_fixed and not question.must_call):
            await self._plain.answer(question, emit, act)
            return
        turn = await self._begin(question)
        if question.progress:
            emit(DraftBegun())
        try:
            outcome = await turn.decide_turn(act)
        except ModelFailed as error:
            _log.info("model failed", kind=error.kind)
            emit(TurnRefusal(refusals.model_failed(turn.evidence.lang)))
            return
        emit_event = partial(
            _emit_event, mark_without_memory(emit) if turn.evidence.unread else emit, turn.proposing
        )
        if isinstance(outcome, Noop):
            await self._grounded.draft_answer(
                turn.collect_evidence(), emit_event, ready_draft=outcome.message
            )
            return
        emit_event(DraftCompleted())
        emit_event(outcome)

    async def make_briefing(self, question: Question) -> Briefing | None:
        """Return the briefing for the first decision of a question's turn; `None` when there is nothing to decide.

        Cancelled, nothing is left.
        """
        return (await self._begin(question)).make_briefing() if self._decides(question) else None

    def _decides(self, question: Question) -> bool:
        """Tell whether there is anything to decide: a tool is offered, or a call has ended."""
        tools = self._tools
        proposes = tools.proposes_items and tools.offers_these_alone and self._grounded.memory is not None
        return proposes or _concerns_calls(tools, question)

    async def _begin(self, question: Question) -> "_DecidingTurn":
        """Return a question's turn with its evidence, before the first decision. Cancelled, nothing is left."""
        evidence = await self._grounded.find_evidence(question)
        catalogue, proposing = self._offer_tools(question, evidence)
        turn = _DecidingTurn(
            question=question,
            evidence=evidence,
            catalogue=catalogue,
            charter=self._grounded.charter,
            decider=self._decider,
            tools=self._tools,
            observer=self._observer,
            check_citations=partial(self._grounded.check_citations, question.scope),
            proposing=proposing,
        )
        turn.add_results(question.results)
        return turn

    def _offer_tools(self, question: Question, evidence: TurnEvidence) -> tuple[Catalogue, TurnProposals]:
        """Return the tools that a turn may call, and the collector of its memory proposals."""
        operator = tuple(self._tools.operator)
        memory = self._grounded.memory if self._tools.proposes_items else None
        tools = PROPOSING if memory is not None else ()
        return Catalogue((*operator, *tools), question.tools), TurnProposals(
            question=question, lang=evidence.lang, memory=memory, tools=tools
        )


def _concerns_calls(tools: TurnTools, question: Question) -> bool:
    """Tell whether a tool of the operator's or of the message is offered, or a call has ended."""
    return bool(tools.operator or question.tools or question.results)


@dataclass(slots=True, kw_only=True)
class _DecidingTurn:
    """One turn with tools: its calls and their results."""

    question: Question
    evidence: TurnEvidence
    catalogue: Catalogue
    charter: Charter
    decider: Decider
    tools: TurnTools
    observer: Observer
    check_citations: Callable[[VerifiedText], Awaitable[None]]
    proposing: TurnProposals
    results: list[CallResult] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)  # of the results
    results_by_key: dict[bytes, CallResult] = field(default_factory=dict)
    mistakes_reported: set[str] = field(default_factory=set)  # kinds of mistakes that the model was told once

    def add_results(self, results: Sequence[CallResult]) -> None:
        """Add the results of calls that ended before this turn began."""
        for result in results:
            self.results.append(result)
            self.hits += _hits_of(result, ResultLines(result.lines, result.cut), self.evidence)

    def collect_evidence(self) -> TurnEvidence:
        """Return the evidence with the results of the calls before it."""
        evidence, hits = self.evidence, (*self.hits, *self.evidence.hits)
        return TurnEvidence(
            scope=self.question.scope,
            text=evidence.text,
            lang=evidence.lang,
            hits=hits,
            history=evidence.history,
            reminder=evidence.reminder,
            only_states=evidence.only_states,
            beside=self.proposing.find_notice(evidence.beside),
        )

    async def decide_turn(self, act: ActNow) -> Noop | VerifiedPart:
        """Decide and call until the turn can end: with an answer to draft, or a text with a call to approve."""
        gate = CallGate(self.catalogue, self.tools.arguments, self.tools.approve_from)
        sources = _sources_of(self.question, self.evidence.hits)
        for result in self.results:
            sources = sources.with_result("\n".join(result.lines))
        problems: tuple[str, ...] = ()
        while True:
            decision = await self._next_decision(problems)
            problems = ()
            if isinstance(decision, Noop) and self._must_call:
                if "noop" not in self.mistakes_reported:
                    self._note_mistake("noop")
                    problems = (MUST_CALL,)
                    continue
                decision = Ask("")
            if isinstance(decision, Noop):
                self._count("noop")
                return decision
            if isinstance(decision, Ask):
                self._count("ask")
                text = await self._verify_message(decision.message) or ask_parameters((), self.evidence.lang)
                return VerifiedPart(text=text, asks=True)
            call = (
                await self._check_call(gate, decision, sources)
                if self._may_call(decision.tool)
                else UnsourcedCall(())
            )
            if isinstance(call, CheckedCall) and self.proposing.is_proposing_tool(call.tool.name):
                proposed = self.proposing.add_proposal(call, self.collect_evidence().hits, self.tools.today())
                if isinstance(proposed, CallResult):
                    self._count("propose")
                    self.results.append(proposed)
                    continue
                call = proposed
            if isinstance(call, InvalidCall) and "call" not in self.mistakes_reported:
                self._note_mistake("call")
                problems = call.problems
                continue
            if not isinstance(call, CheckedCall):
                self._count("ask")
                names = call.names if isinstance(call, UnsourcedCall) else ()
                return VerifiedPart(text=ask_parameters(names, self.evidence.lang), asks=True)
            if call.proposal.needs_approval or call.proposal.handed_over:
                self._count("suggest")
                fixed = announce_hand_over if call.proposal.handed_over else ask_approval
                beside = await self._verify_message(decision.message) or fixed(self.evidence.lang)
                return VerifiedPart(text=beside, proposals=(call.proposal,))
            self._count("act")
            lines = await self._run_call(call, act)
            sources = sources.with_result(lines)

    def make_briefing(self) -> Briefing:
        """Return the briefing for the next decision."""
        question, evidence = self.question, self.evidence
        return Briefing(
            question=question.text,
            lang=evidence.lang,
            tools=tuple(each for each in self.catalogue.tools if self._may_call(each.name)),
            must_call=self._must_call,
            form=question.form,
            evidence=evidence.hits,
            results=tuple(self.results),
            history=question.history,
            charter=self.charter,
            reminder=evidence.reminder,
        )

    async def _next_decision(self, problems: Sequence[str]) -> Decision:
        """Return a decision; an invalid decision is reported to the model once.

        The second time the user is asked, or where no call of the user's is at stake, an answer is drafted.
        """
        briefing = self.make_briefing()
        while True:
            try:
                return await self._in_time(self.decider.decide(briefing, problems))
            except BadDecision as error:
                if "decision" in self.mistakes_reported:
                    return Ask("") if _concerns_calls(self.tools, self.question) else Noop("")
                self._note_mistake("decision")
                problems = error.problems

    async def _in_time(self, deciding: Awaitable[Decision]) -> Decision:
        with trio.move_on_after(self.tools.timeout):
            return await deciding
        _log.warning(
            "decision took too long", seconds=self.tools.timeout, remedy="raise turn-timeout for a slow model"
        )
        raise ModelFailed("the decision took too long", "timeout")

    async def _run_call(self, call: CheckedCall, act: ActNow) -> str:
        """Make a call, unless this turn has made it already; return the lines of its result."""
        result = self.results_by_key.get(call.key)
        if result is None:
            # The name of a tool that came with a message is a text of its client.
            name = call.tool.name if call.tool.origin == "operator" else ""
            with trace_step("execute_tool", name) as span:
                outcome = await act(call.proposal)
                if span is not None and outcome.status != "done":
                    span.end(outcome.status or "ignored")
            returned = format_outcome(outcome.status == "done", outcome.result)
            result = CallResult(
                call_id=outcome.suggestion_id,
                tool=call.tool.name,
                arguments=call.proposal.payload,
                ok=outcome.status == "done",
                lines=returned.lines,
                cut=returned.cut,
            )
            self.results_by_key[call.key] = result
            self.hits += _hits_of(result, returned, self.evidence)
        self.results.append(result)
        return "\n".join(result.lines)

    @property
    def _must_call(self) -> bool:
        return self.question.must_call and (bool(self.question.form) or self._has_rounds_left())

    def _may_call(self, tool: str) -> bool:
        """Return whether a tool may still be called; the form of the answer may, after any number of results."""
        return self._has_rounds_left() or (bool(self.question.form) and tool == self.question.form)

    def _has_rounds_left(self) -> bool:
        return len(self.results) < self.tools.rounds

    async def _check_call(
        self, gate: CallGate, act: Act, sources: SourceTexts
    ) -> CheckedCall | UnsourcedCall | InvalidCall:
        """Return the gate's result for `act`; read evidence, in small steps, only if the conversation is no source."""
        today = self.tools.today()
        if self.proposing.is_proposing_tool(act.tool):
            sources = await self.proposing.find_sources(act, self.collect_evidence().hits)
        call = gate.check_call(act, sources.conversation_only, today)
        if not isinstance(call, UnsourcedCall):
            return call
        characters = 0
        for read_now in sources.read_texts():
            characters += read_now
            if characters >= READ_AT_ONCE:
                characters = 0
                await trio.lowlevel.checkpoint()
        return gate.check_call(act, sources, today)

    async def _verify_message(self, message: str) -> VerifiedText | None:
        """Return `message`, a question or a sentence beside a call, when it is verified, else `None`."""
        if len(message) > ASKED_CHARACTERS or not any(map(str.isalnum, message)):
            return None
        hits = self.collect_evidence().hits
        await read_numbers(hits, "off")
        text = verify(message, hits, confidence="low").text
        if text is not None:
            with suppress(Withdrawn, StorageFailed):
                await self.check_citations(text)
                return text
        return None

    def _note_mistake(self, kind: str) -> None:
        self.mistakes_reported.add(kind)
        self._count("mended")

    def _count(self, label: str) -> None:
        self.observer.count("decisions", label)


def _emit_event(emit: Emit, proposing: TurnProposals, event: TurnEvent) -> None:
    """Emit an event; the last one carries the turn's memory proposals."""
    if proposing.drafts and (
        isinstance(event, TurnRefusal) or (isinstance(event, VerifiedPart) and event.last)
    ):
        event = event.with_keeps(tuple(proposing.drafts))
    emit(event)


def _sources_of(question: Question, hits: Sequence[Hit]) -> SourceTexts:
    return SourceTexts(
        question.text,
        thread=[each.question for each in question.history],
        snippets=[hit.snippet for hit in hits],
        answers=[each.answer for each in question.history],
        heard=question.follows_speech,
    )


def _hits_of(result: CallResult, returned: ResultLines, evidence: TurnEvidence) -> list[Hit]:
    """Return a call's result as hits; the result of a successful call scores 1, since the model asked for it."""
    snippets = returned.make_snippets(result.call_id)
    passage = Passage(f"tool/{result.call_id}", (), evidence.lang, snippets)
    return [Hit(snippet, passage, 1.0 if result.ok else 0.0) for snippet in snippets]
