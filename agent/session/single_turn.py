"""One turn without a session: a question that came in a plain request, and its answer.

A session's promises for a turn hold here too. Only verified text is sent, a word at a time, at the session's pace; a
fault ends this turn alone, with a sentence that holds nothing of a draft; a cancel (the client leaves, the server ends)
ends it at once. There is no next message, so there is no mailbox and no table: a turn runs once, to its answer or to
the reason why it has none. A call of a tool that came with the question is handed to its client, which runs it. The
Brain's other proposals are dropped, since this client could not confirm them.

`SingleTurn` never writes to a stream itself: `say` passes a piece on, and may wait for room.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import structlog
import trio

from ..errors import describe_error
from ..ports.action import Outcome
from ..ports.brain import (
    DraftBegun,
    DraftCompleted,
    Proposal,
    Question,
    Redraft,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from ..ports.model import Usage
from ..ports.tracing import TRACE_PARENT, TURN_SPAN, Span, end_turn
from ..ports.usage import METER, UsageMeter
from ..protocol.outbound import Response
from ..text.words import split_deltas
from .cited_sources import CitedSources
from .context import SessionContext
from .events import DrainStarted, Event, KillRequested
from .history import History
from .turn_in_progress import join_text, make_response

_log = structlog.get_logger("agent.session")


@dataclass(frozen=True, slots=True)
class AnswerFailure:
    """The reason why a question has no answer: a word for programs, and a sentence with the remedy."""

    code: Literal["internal", "timeout", "shutting_down"]
    message: str


GOING_DOWN = AnswerFailure("shutting_down", "The server is going down; ask again in a moment.")
_TOO_SLOW = AnswerFailure("timeout", "The answer took too long; ask again, or ask for less.")


class SingleTurn:
    """A question that is being answered; a `RegistryMember`, so that a drain waits for it and can end it.

    The question's history is cut to `history_tokens`, as in a session. `limit`: seconds that the Brain may take. `say`:
    passes on a piece of the text; `None` when only the whole answer is wanted, which then has no pace. `keepalive`:
    called now and then while the turn runs; must not block.
    """

    def __init__(
        self,
        context: SessionContext,
        question: Question,
        limit: float,
        say: Callable[[str], Awaitable[None]] | None = None,
        keepalive: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = context
        history = History(context.settings.history_tokens)
        for exchange in question.history:
            history.add(exchange)
        self._question = question.with_history(history.exchanges)
        self._limit = limit
        self._deliver = say
        self._alive = keepalive
        self._scope = trio.CancelScope()
        self._sent_texts: list[VerifiedText] = []
        self._text = ""
        self._unsent: deque[str] = deque()
        self._news = trio.Event()
        self._hurry = trio.Event()  # the server goes down: verified text is sent without a pace
        self._complete = False  # the Brain has emitted its last event
        self._call: Proposal | None = None
        self._meter = UsageMeter()
        self._span: Span | None = None
        self._failure: AnswerFailure | None = None

    def post(self, event: Event) -> None:
        """Handle an event of the server: `DrainStarted` lets the turn finish in haste, `KillRequested` ends it."""
        if isinstance(event, DrainStarted):
            self._hurry.set()
        elif isinstance(event, KillRequested):
            self._failure = GOING_DOWN  # also when the Brain is done: some of its text was not sent
            self._scope.cancel()

    def keepalive(self) -> None:
        """Call the `keepalive` callback: no piece was sent to the client for a while."""
        self._alive()

    @property
    def usage(self) -> Usage:
        """The tokens that the language model's service has counted for this turn."""
        return self._meter.usage

    async def run(self) -> Response | Proposal | AnswerFailure:
        """Answer the question; return the whole answer once its last piece was passed on, or an `AnswerFailure`.

        Return the `Proposal` of a call instead, where the turn ends with one that the client runs; no text of the turn
        stands beside it.

        Takes at most `limit` seconds, and the time that `say` and the pace take. Cancelled, the Brain has unwound when
        this returns, and nothing is left.
        """
        context = self._context
        outcome = "disconnected"
        context.observer.count("messages")
        context.observer.gauge("turns", 1)
        context.registry.add(self)
        if context.tracer is not None:
            self._span = context.tracer.start_turn(TRACE_PARENT.get())
        _log.info("message taken", message=self._question.id)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._think)
                    await self._say()
                    nursery.cancel_scope.cancel()  # after its last event a Brain has nothing more to do
            ended = self._end()
            outcome = _outcome_of(ended)
            return ended
        finally:
            context.registry.remove(self)
            context.observer.gauge("turns", -1)
            context.observer.count("turns", outcome)
            if self._span is not None:
                end_turn(self._span, outcome)
            _log.info("turn ended", message=self._question.id, what=outcome)

    def _end(self) -> Response | Proposal | AnswerFailure:
        return (
            self._failure
            or self._call
            or make_response(self._text, self._sent_texts, CitedSources(self._sent_texts), self._question.id)
        )

    async def _think(self) -> None:
        METER.set(self._meter)  # in this task's own context
        if self._span is not None:
            TURN_SPAN.set(self._span)
        act = _run_nothing if self._question.tools or self._question.results else None
        try:
            with trio.move_on_after(self._limit) as late:
                await self._context.brain.answer(self._question, self._take_event, act)
            if late.cancelled_caught:
                self._fail(_TOO_SLOW)
            elif not self._complete:
                raise RuntimeError("the Brain returned without an answer")
        except* Exception as broken:  # noqa: BLE001 - the edge of one turn
            fault = self._context.new_id()
            _log.error(
                "turn broke", message=self._question.id, fault=fault, **describe_error(broken.exceptions[0])
            )
            self._fail(
                AnswerFailure("internal", f"Something broke here; ask again, or report fault {fault}.")
            )

    async def _say(self) -> None:
        """Pass on the verified texts until the last one; texts from before a failure are still sent."""
        pace = self._context.settings.pace_ms / 1000
        first = True
        while True:
            while not (self._unsent or self._complete or self._failure):
                self._news = trio.Event()
                await self._news.wait()
            if not self._unsent:
                return
            text = self._unsent.popleft()
            for delta in split_deltas(text) if self._deliver is not None else ():
                if pace and not first:
                    with trio.move_on_after(pace):
                        await self._hurry.wait()
                assert self._deliver is not None
                await self._deliver(delta)
                if first:
                    first = False
                    seconds = trio.current_time() - self._question.at
                    self._context.observer.measure("first_delta_seconds", seconds)

    def _take_event(self, event: TurnEvent) -> None:
        """Take an event of the Brain (its `emit`); raise `TypeError` when it may not be sent."""
        if not isinstance(event, DraftBegun | DraftCompleted | Redraft | VerifiedPart | TurnRefusal):
            raise TypeError("a Brain emits turn events only")
        if (
            self._complete
            or self._failure is not None
            or isinstance(event, DraftBegun | DraftCompleted | Redraft)
        ):
            return
        if type(event.text) not in self._context.kind.texts:
            raise TypeError("only verified text of the connection's kind may be sent")
        caller_calls = [each for each in event.proposals if each.runs_at == "caller"]
        if caller_calls:
            self._call, self._complete = caller_calls[0], True
            self._news.set()
            return
        text = join_text(self._text, event.text)
        self._sent_texts.append(event.text)
        self._text += text
        self._unsent.append(text)
        self._complete = isinstance(event, TurnRefusal) or event.last
        self._news.set()

    def _fail(self, failure: AnswerFailure) -> None:
        if not self._complete and self._failure is None:
            self._failure = failure
        self._news.set()


async def _run_nothing(proposal: Proposal) -> Outcome:
    """Raise `TypeError`: the tools of a plain request run at its client."""
    raise TypeError("no call runs inside a single turn")


def _outcome_of(ended: Response | Proposal | AnswerFailure) -> str:
    if isinstance(ended, Proposal):
        return "answered"
    if isinstance(ended, AnswerFailure):
        return "cancelled" if ended is GOING_DOWN else ended.code
    return ended.blocked.code if ended.blocked else "answered"
