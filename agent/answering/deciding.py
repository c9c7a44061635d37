"""A turn with tools: decide, call, decide again, then answer, ask or suggest.

The evidence is fetched first, as without tools. Then the model, or what stands in for it, decides: answer (the draft
goes the way of every draft), ask, or call a tool. A call goes through the gate (`calls`): what it gets wrong it may
mend once, and where it fails again, or an argument stands nowhere, the user is asked. A call that needs no approval
is made inside the turn, and its result is evidence like any other, to be cited as `tool/<call id>`; one that needs it
ends the turn with a suggestion. So nothing that a model, a document or a result says can do more than suggest.

What is said passes the number guard; a question, or a sentence beside a call, that does not is replaced by a fixed one.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial

import structlog
import trio

from ..config import ASKED_CHARACTERS, READ_AT_ONCE
from ..errors import BadDecision, ModelFailed, StorageFailed, Withdrawn
from ..grounding import refusals
from ..grounding.questions import confirming, handing_over, telling
from ..grounding.verify import verify
from ..ports.brain import Act as ActNow
from ..ports.brain import Brain, Drafted, Question, Refused, TurnEvent, Verified, VerifiedText
from ..ports.decide import Act, Ask, Briefing, Decider, Decision, Noop, Result
from ..ports.draft import Charter
from ..ports.observe import Observer
from ..ports.search import Hit, Passage
from ..ports.tools import Arguments, ReadTools, Risk, ToolDefinition
from ..text.courtesy import courtesy
from ..tools.catalogue import Catalogue
from ..tools.proposing import PROPOSING
from ..tools.results import Shown, told
from ..tools.sources import Sources
from .brain import Found, GroundedBrain, read, without_memory
from .calls import Gate, Sound, Unsourced, Wrong
from .proposing import Proposing

_log = structlog.get_logger("agent.answering")

Emit = Callable[[TurnEvent], None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What turns may call, and how.

    operator: the operator's tools; they may change, and a turn has those that stand when it decides. read: makes tools
    of what comes with a message. rounds: calls in one turn that wait for no approval. approve_from: the risk from which
    a call needs one. timeout: seconds for a decision. today: the day, by the clock.
    """

    operator: Collection[ToolDefinition]
    read: ReadTools
    arguments: Arguments
    rounds: int
    approve_from: Risk
    timeout: float
    today: Callable[[], date]


class DecidingBrain:
    """Answers with tools where some are offered, and as `plain` does where none are (implements `Brain`).

    plain: answers what needs no tools. grounded: finds the evidence and drafts from it. It keeps nothing between turns.
    """

    def __init__(
        self, plain: Brain, grounded: GroundedBrain, decider: Decider, tools: Tools, observer: Observer
    ) -> None:
        self._plain = plain
        self._grounded = grounded
        self._decider = decider
        self._tools = tools
        self._observer = observer

    async def answer(self, question: Question, emit: Emit, act: ActNow | None = None) -> None:
        """Answer one question; the last event carries the call to approve, where there is one.

        Cancelled, nothing more is emitted or begun, and the streams of its models are closed before it returns.
        """
        said = courtesy(question.text) is not None or self._grounded.told(question)
        if act is None or not self._decides(question) or said:
            await self._plain.answer(question, emit, act)
            return
        turn = await self._begin(question)
        try:
            decided = await turn.decide(act)
        except ModelFailed as error:
            _log.warning("model failed", exc_info=error)
            emit(Refused(refusals.model_failed(turn.found.lang)))
            return
        tell = partial(_tell, without_memory(emit) if turn.found.unread else emit, turn.proposing)
        if isinstance(decided, Noop):
            await self._grounded.draft(turn.evidence(), tell, first=decided.message)
            return
        tell(Drafted())
        tell(decided)

    async def brief(self, question: Question) -> Briefing | None:
        """Return what the first decision of a question's turn is made from; None where there is none to make.

        Cancelled, nothing is left.
        """
        return (await self._begin(question)).briefing() if self._decides(question) else None

    def _decides(self, question: Question) -> bool:
        """Return whether there is anything to decide: some tool is offered, or a call has ended."""
        return bool(self._tools.operator or question.tools or question.results)

    async def _begin(self, question: Question) -> "_Turn":
        """Return a question's turn with its evidence, in which nothing is decided yet. A cancel leaves nothing."""
        found = await self._grounded.find(question)
        catalogue, proposing = self._offered(question, found)
        turn = _Turn(
            question,
            found,
            catalogue,
            self._grounded.charter,
            self._decider,
            self._tools,
            self._observer,
            self._grounded.check,
            proposing,
        )
        turn.go_on(question.results)
        return turn

    def _offered(self, question: Question, found: Found) -> tuple[Catalogue, Proposing]:
        """Return what a turn may call, and what takes its proposals."""
        operator = tuple(self._tools.operator)
        memory = self._grounded.memory
        tools = PROPOSING if memory is not None else ()
        return Catalogue((*operator, *tools), question.tools), Proposing(question, found.lang, memory, tools)


@dataclass(slots=True)
class _Turn:
    """One turn with tools: what was called, and what came of it."""

    question: Question
    found: Found
    catalogue: Catalogue
    charter: Charter
    decider: Decider
    tools: Tools
    observer: Observer
    check: Callable[[VerifiedText], Awaitable[None]]
    proposing: Proposing
    results: list[Result] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)  # of the results
    made: dict[bytes, Result] = field(default_factory=dict)
    mended: set[str] = field(default_factory=set)  # which kinds of mistake were told once

    def go_on(self, results: Sequence[Result]) -> None:
        """Take up the results of calls that ended before this turn began."""
        for result in results:
            self.results.append(result)
            self.hits += _hits(result, Shown(result.lines, result.cut), self.found)

    def evidence(self) -> Found:
        """Return what was found, and what the calls have returned before it."""
        found, hits = self.found, (*self.hits, *self.found.hits)
        beside = "suggested" if self.proposing.drafts else found.beside
        return Found(found.text, found.lang, hits, found.history, found.reminder, found.stated, beside)

    async def decide(self, act: ActNow) -> Noop | Verified:
        """Decide and call until there is something to say: an answer to draft, or a text with what to approve."""
        gate = Gate(self.catalogue, self.tools.arguments, self.tools.approve_from)
        sources = _sources(self.question, self.found.hits)
        for result in self.results:
            sources = sources.with_result("\n".join(result.lines))
        problems: tuple[str, ...] = ()
        while True:
            decision = await self._decided(problems)
            problems = ()
            if isinstance(decision, Noop):
                self._count("noop")
                return decision
            if isinstance(decision, Ask):
                self._count("ask")
                asked = await self._verified(decision.message) or telling((), self.found.lang)
                return Verified(asked, asks=True)
            call = await self._checked(gate, decision, sources) if self._left() else Unsourced(())
            if isinstance(call, Sound) and self.proposing.takes(call.tool.name):
                taken = self.proposing.take(call, self.evidence().hits, self.tools.today())
                if isinstance(taken, Result):
                    self._count("propose")
                    self.results.append(taken)
                    continue
                call = taken
            if isinstance(call, Wrong) and "call" not in self.mended:
                self._mend("call")
                problems = call.problems
                continue
            if not isinstance(call, Sound):
                self._count("ask")
                names = call.names if isinstance(call, Unsourced) else ()
                return Verified(telling(names, self.found.lang), asks=True)
            if call.proposal.needs_approval or call.proposal.handed_over:
                self._count("suggest")
                fixed = handing_over if call.proposal.handed_over else confirming
                beside = await self._verified(decision.message) or fixed(self.found.lang)
                return Verified(beside, proposals=(call.proposal,))
            self._count("act")
            lines = await self._call(call, act)
            sources = sources.with_result(lines)

    def briefing(self) -> Briefing:
        """Return what the next decision is made from."""
        question, found = self.question, self.found
        return Briefing(
            question.text,
            found.lang,
            self.catalogue.tools if self._left() else (),
            found.hits,
            tuple(self.results),
            question.history,
            self.charter,
            found.reminder,
        )

    async def _decided(self, problems: Sequence[str]) -> Decision:
        """Return a decision; what is none is told once, and then the user is asked."""
        briefing = self.briefing()
        while True:
            try:
                return await self._in_time(self.decider.decide(briefing, problems))
            except BadDecision as error:
                if "decision" in self.mended:
                    return Ask("")
                self._mend("decision")
                problems = error.problems

    async def _in_time(self, deciding: Awaitable[Decision]) -> Decision:
        with trio.move_on_after(self.tools.timeout):
            return await deciding
        raise ModelFailed("the decision took too long", "timeout")

    async def _call(self, call: Sound, act: ActNow) -> str:
        """Make a call, unless it was made in this turn already; return the lines of its result."""
        result = self.made.get(call.key)
        if result is None:
            outcome = await act(call.proposal)
            returned = told(outcome.status == "done", outcome.result)
            result = Result(
                outcome.suggestion_id,
                call.tool.name,
                call.proposal.payload,
                outcome.status == "done",
                returned.lines,
                returned.cut,
            )
            self.made[call.key] = result
            self.hits += _hits(result, returned, self.found)
        self.results.append(result)
        return "\n".join(result.lines)

    def _left(self) -> bool:
        return len(self.results) < self.tools.rounds

    async def _checked(self, gate: Gate, act: Act, sources: Sources) -> Sound | Unsourced | Wrong:
        """Return what a gate says; what was found is read only where the conversation is not enough, in small steps."""
        today = self.tools.today()
        if self.proposing.takes(act.tool):
            sources = await self.proposing.sources(act, self.evidence().hits)
        call = gate.check(act, sources.said, today)
        if not isinstance(call, Unsourced):
            return call
        characters = 0
        for read_now in sources.read():
            characters += read_now
            if characters >= READ_AT_ONCE:
                characters = 0
                await trio.lowlevel.checkpoint()
        return gate.check(act, sources, today)

    async def _verified(self, message: str) -> VerifiedText | None:
        """Return a question, or what is said beside a call, where it stands; None where a fixed one is said."""
        if len(message) > ASKED_CHARACTERS or not any(map(str.isalnum, message)):
            return None
        hits = self.evidence().hits
        await read(hits, "off")
        text = verify(message, hits, confidence="low").text
        if text is not None:
            with suppress(Withdrawn, StorageFailed):
                await self.check(text)
                return text
        return None

    def _mend(self, kind: str) -> None:
        self.mended.add(kind)
        self._count("mended")

    def _count(self, what: str) -> None:
        self.observer.count("decisions", what)


def _tell(emit: Emit, proposing: Proposing, event: TurnEvent) -> None:
    """Tell an event; the last one says what the turn proposes to remember."""
    if proposing.drafts and (isinstance(event, Refused) or (isinstance(event, Verified) and event.last)):
        event = event.with_drafts(tuple(proposing.drafts))
    emit(event)


def _sources(question: Question, hits: Sequence[Hit]) -> Sources:
    return Sources(
        question.text,
        thread=[each.question for each in question.history],
        snippets=[hit.snippet for hit in hits],
        answers=[each.answer for each in question.history],
    )


def _hits(result: Result, returned: Shown, found: Found) -> list[Hit]:
    """Return a result as evidence: of a call that was done as sure as can be, for it is what was asked for."""
    snippets = returned.snippets(result.call_id)
    passage = Passage(f"tool/{result.call_id}", (), found.lang, snippets)
    return [Hit(snippet, passage, 1.0 if result.ok else 0.0) for snippet in snippets]
