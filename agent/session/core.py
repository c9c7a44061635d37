"""The session's decisions: `handle(event) -> [Effect]`. No await, no clock, no randomness.

Two tables decide what may happen: the session's (states.py) and a suggestion's own (actions/suggestions.py). The
handlers below find out what an event is about and hand it to a table; the table says what is done about it, and the
methods of its deeds do it, by facts (is there a turn, what waits), never by asking for the state.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from ..actions.suggestions import Step
from ..config import (
    BAD_FRAMES,
    BAD_FRAMES_WINDOW,
    FRAMES_PER_SECOND,
    QUEUED_MESSAGES,
)
from ..fsm import Engine
from ..ports.brain import Question
from ..ports.conversation import NO_SCOPE, Scope
from ..protocol import inbound
from ..protocol.outbound import Error, StreamEnd
from ..wire.bucket import Bucket
from .confirming import OwnEngine
from .effects import Close, Effect, EndTurn, Leave
from .events import (
    Disconnected,
    Drain,
    Dropped,
    Event,
    Expired,
    Faulted,
    Kill,
    Malformed,
    Received,
    Reported,
    Spoken,
    Told,
)
from .history import History
from .speaking import Speaking
from .states import TABLE, Deed, Guard, SessionTable, State, Trigger

SessionEngine: TypeAlias = Engine[State, Trigger, Guard, Deed]


class Core(Speaking):
    """The state of one session, and what it wants done about each event.

    rate_limit: messages per second that may pre-empt or queue, 0 for no limit.
    history: tokens of what was said that are kept for the next question. scope: whose the session is.
    engine, own_engine: what runs the two tables; the tests pass mutilated ones. held: the client knows what a
    suggestion may lack (it offered the subprotocol), so that no confirm of it runs with a required field missing.
    Raises nothing for anything a client or a Brain does.
    """

    __slots__ = (
        "_bad",
        "_closing",
        "_engine",
        "_frames",
        "_queue",
        "_rate",
        "_scope",
        "state",
    )

    def __init__(
        self,
        rate_limit: float = 0.0,
        history: int = 0,
        scope: Scope = NO_SCOPE,
        engine: SessionEngine | None = None,
        own_engine: OwnEngine | None = None,
        held: bool = True,
    ) -> None:
        super().__init__(own_engine, History(history), held)
        self.state = TABLE.initial
        self._engine = engine or ENGINE
        self._queue: deque[Question] = deque()
        self._rate = Bucket(rate_limit, 2 * rate_limit)
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        self._scope = scope
        self._bad: deque[float] = deque(maxlen=BAD_FRAMES)
        self._closing = (1012, "going down")

    def handle(self, event: Event) -> list[Effect]:
        """Take one event; return what is to be done, in order."""
        self._effects = []
        self._now = event.at
        self._HANDLERS[type(event)](self, event)
        return self._effects

    # --- guards: the facts that rows ask for

    @property
    def queue_full(self) -> bool:
        """No further message can wait."""
        return len(self._queue) >= QUEUED_MESSAGES

    @property
    def over_rate(self) -> bool:
        """The client pre-empts or queues faster than it may."""
        return not self._rate.has(self._now)

    # --- events, each by its handler

    def _received(self, event: Received) -> None:
        if not self._frames.take(event.at):
            self._end(1008, "too many frames per second")
            return
        self._FRAMES[type(event.frame)](self, event.frame)

    def _malformed(self, event: Malformed) -> None:
        if not self._frames.take(event.at):
            self._end(1008, "too many frames per second")
            return
        self._send(Error(code=event.code, message=event.message, id=event.ref))  # type: ignore[arg-type]
        self._note("errors", event.code)
        self._bad.append(event.at)
        if len(self._bad) == BAD_FRAMES and event.at - self._bad[0] < BAD_FRAMES_WINDOW:
            self._end(1008, "too many bad frames")

    def _message(self, frame: inbound.Message) -> None:
        self._react(Trigger.MESSAGE, Question(frame.id, frame.text, frame.lang, self._now, self._scope))

    def _cancel(self, frame: inbound.Cancel) -> None:
        named = [question for question in self._queue if question.id == frame.id]
        for question in named:
            self._queue.remove(question)
        if frame.id is None or self.asking == frame.id:
            self._react(Trigger.CANCEL)
        elif not named:
            self._cancel_led_by(frame.id)
        for question in named:
            self._send(StreamEnd(reason="cancelled", id=question.id))

    def _confirm(self, frame: inbound.ConfirmAction) -> None:
        self._note("confirms")
        self._about(frame.suggestion_id, Step.CONFIRM, frame.payload)

    def _reject(self, frame: inbound.RejectAction) -> None:
        self._about(frame.suggestion_id, Step.REJECT)

    def _reported(self, event: Reported) -> None:
        self._react(Trigger.EXECUTED if event.outcome.claimed else Trigger.UNCLAIMED, event.outcome)

    def _expired(self, event: Expired) -> None:
        self._expire(event.suggestion_id)

    def _drain(self, event: Drain) -> None:
        self._react(Trigger.DRAIN)

    def _kill(self, event: Kill) -> None:
        self._end(event.code, event.reason)

    def _disconnected(self, event: Disconnected) -> None:
        self._react(Trigger.DISCONNECT)

    # --- what the rows of the session's table do

    def cancel_nothing(self, _: object) -> None:
        """Count a cancel that found nothing in progress; no frame is sent."""
        self._note("cancels", "nothing")

    def enqueue(self, question: Question) -> None:
        """Keep a message until the action has reported."""
        self._queue.append(question)

    def take_queued(self, _: object) -> None:
        """Take the oldest message that waits, if one does."""
        if self._queue:
            self._react(Trigger.MESSAGE, self._queue.popleft())

    def cancel_queue(self, _: object = None) -> None:
        """End every message that waits."""
        while self._queue:
            self._send(StreamEnd(reason="cancelled", id=self._queue.popleft().id))

    def turn_away(self, question: Question) -> None:
        """Refuse a message: the server is going down."""
        self._refuse("shutting_down", "The server is going down; connect again in a moment.", question)

    def slow_down(self, question: Question) -> None:
        """Refuse a message that comes too fast."""
        self._refuse("rate_limited", "Too many messages; wait for the answer before you ask again.", question)

    def say_busy(self, question: Question) -> None:
        """Refuse a message that finds the queue full."""
        self._refuse(
            "busy", "An action is running and the queue is full; ask again when it has ended.", question
        )

    def spend_rate(self, _: object) -> None:
        """Count a message against the client's rate."""
        self._rate.take(self._now)

    def begin_drain(self, _: object) -> None:
        """Take nothing new from here on."""
        self.draining = True

    def go_down(self, _: object) -> None:
        """Close what is open, tell the client, and close the connection."""
        self.cancel_queue()
        self.cancel_live()
        self._let_go()
        self._effects.append(Close(*self._closing))

    def abandon(self, _: object) -> None:
        """The client is gone: end everything; there is nobody to tell."""
        if self._turn:
            self._effects.append(EndTurn(self._turn.number))
            self._note("turns", "disconnected", self._turn.question.id)
            self._turn = None
        self._drop_actions()
        self._queue.clear()
        self._effects.append(Leave())

    # --- helpers

    def _react(self, trigger: Trigger, subject: object = None) -> bool:
        return self._engine.react(self, self, trigger, subject)

    def _end(self, code: int, reason: str) -> None:
        self._closing = (code, reason)
        self._react(Trigger.KILL)

    def _refuse(self, code: Any, message: str, question: Question) -> None:
        self._send(Error(code=code, message=message, id=question.id))
        self._note("errors", code, question.id)

    _HANDLERS: ClassVar[dict[type, Callable[["Core", Any], None]]] = {
        Received: _received,
        Malformed: _malformed,
        Told: Speaking.told,
        Faulted: Speaking.faulted,
        Dropped: Speaking.dropped,
        Spoken: Speaking.spoken,
        Reported: _reported,
        Expired: _expired,
        Drain: _drain,
        Kill: _kill,
        Disconnected: _disconnected,
    }
    _FRAMES: ClassVar[dict[type, Callable[["Core", Any], None]]] = {
        inbound.Message: _message,
        inbound.Cancel: _cancel,
        inbound.ConfirmAction: _confirm,
        inbound.RejectAction: _reject,
    }


GUARDS: dict[Guard, Callable[[Core], bool]] = {
    Guard.CONFIRM_WAITS: lambda core: core.confirm_waits,
    Guard.DRAINING: lambda core: core.draining,
    Guard.ANY_LIVE: lambda core: core.any_live,
    Guard.NONE_LIVE: lambda core: core.none_live,
    Guard.WILL_BE_LIVE: lambda core: core.will_be_live,
    Guard.OVER_RATE: lambda core: core.over_rate,
    Guard.QUEUE_FULL: lambda core: core.queue_full,
}
DEEDS: dict[Deed, Callable[[Core, Any], None]] = {
    Deed.RUN_NEXT: Core.run_next,
    Deed.GO_DOWN: Core.go_down,
    Deed.TAKE_QUEUED: Core.take_queued,
    Deed.CANCEL_TURN: Core.cancel_turn,
    Deed.CANCEL_WAITING: Core.cancel_waiting,
    Deed.BEGIN_TURN: Core.begin_turn,
    Deed.TURN_AWAY: Core.turn_away,
    Deed.SLOW_DOWN: Core.slow_down,
    Deed.SPEND_RATE: Core.spend_rate,
    Deed.SAY_BUSY: Core.say_busy,
    Deed.ENQUEUE: Core.enqueue,
    Deed.SPEAK: Core.speak,
    Deed.HEAR_MORE: Core.hear_more,
    Deed.FINISH_TURN: Core.finish_turn,
    Deed.CANCEL_LIVE: Core.cancel_live,
    Deed.STOP_ACTION: Core.stop_action,
    Deed.CANCEL_QUEUE: Core.cancel_queue,
    Deed.CANCEL_NOTHING: Core.cancel_nothing,
    Deed.HOLD: Core.hold,
    Deed.REPORT: Core.report,
    Deed.TELL_CLOSED: Core.tell_closed,
    Deed.BEGIN_DRAIN: Core.begin_drain,
    Deed.ABANDON: Core.abandon,
}


def engine(table: SessionTable = TABLE) -> SessionEngine:
    """Return an engine that runs `table` for cores; one serves them all."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = engine()
