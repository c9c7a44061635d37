"""One turn without a session: a question that came in a plain request, and its answer.

What a session promises of a turn holds here too. Only verified text is said, a word at a time, at the session's pace;
a fault ends this turn alone, with a sentence that holds nothing of a draft; who cancels it (the client that leaves, the
server that ends) ends it there and then. There is no next message, so there is no mailbox and no table: a turn runs
once, to its answer or to the reason why it has none. What the Brain would propose is dropped: nobody could confirm it.

It never writes to a stream itself: `say` hands a piece to whoever does, and may wait for room.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import structlog
import trio

from ..ports.brain import Drafted, Question, Redraft, Refused, TurnEvent, Verified, VerifiedText
from ..protocol.outbound import Response
from ..text.words import deltas
from .events import Drain, Event, Kill
from .history import History
from .turn import Parts, where
from .turns import following, response

_log = structlog.get_logger("agent.session")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a question has no answer: a word for programs, and a sentence that says what to do."""

    code: Literal["internal", "timeout", "shutting_down"]
    message: str


GOING_DOWN = Failure("shutting_down", "The server is going down; ask again in a moment.")
_TOO_SLOW = Failure("timeout", "The answer took too long; ask again, or ask for less.")


class Asking:
    """A question that is being answered; a member of the registry, so that a drain waits for it and can end it.

    What was said before is kept within `history_tokens`, as a session keeps it.
    limit: seconds that it may think. say: hands on a piece of the text; None where the whole answer is wanted, which
    then has no pace. keepalive: called now and then while it runs; must not block.
    """

    def __init__(
        self,
        parts: Parts,
        question: Question,
        limit: float,
        say: Callable[[str], Awaitable[None]] | None = None,
        keepalive: Callable[[], None] = lambda: None,
    ) -> None:
        self._parts = parts
        history = History(parts.settings.history_tokens)
        for exchange in question.history:
            history.add(exchange)
        self._question = question.after(history.kept)
        self._limit = limit
        self._deliver = say
        self._alive = keepalive
        self._scope = trio.CancelScope()
        self._said: list[VerifiedText] = []
        self._text = ""
        self._unsaid: deque[str] = deque()
        self._told = trio.Event()
        self._hurry = trio.Event()  # the server goes down: what is verified is said without a pace
        self._complete = False  # the Brain has said its last word
        self._failure: Failure | None = None

    def post(self, event: Event) -> None:
        """Be told what happens to the server: a drain lets the turn end, and soon; a kill ends it."""
        if isinstance(event, Drain):
            self._hurry.set()
        elif isinstance(event, Kill):
            self._failure = GOING_DOWN  # also where the Brain is done: not all of it was said
            self._scope.cancel()

    def keepalive(self) -> None:
        """Be reminded that the client has heard nothing for a while."""
        self._alive()

    async def run(self) -> Response | Failure:
        """Answer the question, and return the whole answer when its last piece was handed on, or why there is none.

        Cancelled, the Brain has unwound when this returns, and nothing is left. Takes at most `limit` seconds
        and those that its pieces take to be said.
        """
        parts = self._parts
        outcome = "disconnected"
        parts.observer.count("messages")
        parts.observer.gauge("turns", 1)
        parts.registry.add(self)
        _log.info("message taken", message=self._question.id)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._think)
                    await self._say()
                    nursery.cancel_scope.cancel()  # a Brain that has said its last word has nothing more to do
            ended = self._failure or response(self._text, self._said, self._question.id)
            outcome = _outcome(ended)
            return ended
        finally:
            parts.registry.remove(self)
            parts.observer.gauge("turns", -1)
            parts.observer.count("turns", outcome)
            _log.info("turn ended", message=self._question.id, what=outcome)

    async def _think(self) -> None:
        try:
            with trio.move_on_after(self._limit) as late:
                await self._parts.brain.answer(self._question, self._hear)
            if late.cancelled_caught:
                self._fail(_TOO_SLOW)
            elif not self._complete:
                raise RuntimeError("the Brain returned without an answer")
        except* Exception as broken:  # noqa: BLE001 - the edge of one turn
            fault = self._parts.new_id()
            _log.error("turn broke", message=self._question.id, fault=fault, **where(broken.exceptions[0]))
            self._fail(Failure("internal", f"Something broke here; ask again, or report fault {fault}."))

    async def _say(self) -> None:
        """Hand on what is told, until its end; what stood before a failure is still said."""
        pace = self._parts.settings.pace_ms / 1000
        first = True
        while True:
            while not (self._unsaid or self._complete or self._failure):
                self._told = trio.Event()
                await self._told.wait()
            if not self._unsaid:
                return
            text = self._unsaid.popleft()
            for delta in deltas(text) if self._deliver is not None else ():
                if pace and not first:
                    with trio.move_on_after(pace):
                        await self._hurry.wait()
                assert self._deliver is not None
                await self._deliver(delta)
                if first:
                    first = False
                    seconds = trio.current_time() - self._question.at
                    self._parts.observer.measure("first_delta_seconds", seconds)

    def _hear(self, event: TurnEvent) -> None:
        """What the Brain calls; raises TypeError into it for what may not be said."""
        if not isinstance(event, Drafted | Redraft | Verified | Refused):
            raise TypeError("a Brain emits turn events only")
        if self._complete or self._failure is not None or isinstance(event, Drafted | Redraft):
            return
        if not isinstance(event.text, VerifiedText):
            raise TypeError("only verified text may be sent")
        text = following(self._text, event.text)
        self._said.append(event.text)
        self._text += text
        self._unsaid.append(text)
        self._complete = isinstance(event, Refused) or event.last
        self._told.set()

    def _fail(self, failure: Failure) -> None:
        if not self._complete and self._failure is None:
            self._failure = failure
        self._told.set()


def _outcome(ended: Response | Failure) -> str:
    if isinstance(ended, Failure):
        return "cancelled" if ended is GOING_DOWN else ended.code
    return ended.blocked.code if ended.blocked else "answered"
