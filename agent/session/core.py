"""The session's decisions: `handle(event) -> [Effect]`. No await, no clock, no randomness.

Two tables decide what may happen: the session's (states.py) and a suggestion's own (actions/suggestions.py). The
handlers below find out what an event is about and hand it to a table; the table says what is done about it, and the
methods of its deeds do it, by facts (is there a turn, what waits), never by asking for the state.

A core is composed of the turn in progress (turns.py) and of suggestions and actions (actions.py); both write to one
`Out` and ask the session's table through `react`. Beside them stands what is asked of what is remembered (consults.py),
which no state has to do with. What is about neither, or about both, is here: the client's frames
and their limits, the messages that wait, and how a session ends.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, get_args
from weakref import ref

from ..config import (
    BAD_FRAMES,
    BAD_FRAMES_WINDOW,
    FRAMES_PER_SECOND,
    QUEUED_MESSAGES,
)
from ..fsm import Engine
from ..ports.action import CANCELLED, Outcome
from ..ports.brain import Question
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.tools import ToolDefinition
from ..protocol import inbound
from ..protocol.outbound import Error, StreamEnd
from ..wire.bucket import Bucket
from .actions import Actions, SuggestionEngine
from .consults import Consults
from .effects import Close, Effect, Leave
from .events import (
    Acting,
    Disconnected,
    Drain,
    Dropped,
    Erased,
    Event,
    Expired,
    Faulted,
    Kill,
    Malformed,
    Offered,
    Posed,
    Received,
    Replied,
    Reported,
    Slept,
    Spoken,
    Told,
    Woken,
)
from .history import History
from .out import Out, React
from .states import TABLE, Deed, Guard, SessionTable, State, Trigger
from .turns import Turns

SessionEngine: TypeAlias = Engine[State, Trigger, Guard, Deed]


class Core:
    """The state of one session, and what it wants done about each event.

    rate_limit: messages per second that may pre-empt or queue, 0 for no limit.
    history: tokens of what was said that are kept for the next question. scope: whose the session is.
    engine, suggestion_engine: what runs the two tables; the tests pass mutilated ones. held: the client knows what a
    suggestion may lack (it offered the subprotocol), so that no confirm of it runs with a required field missing. kept:
    seconds in which a suggestion can be confirmed, where it is kept elsewhere and outlives the session.
    Raises nothing for anything a client or a Brain does. A core that nobody holds is gone at once.
    """

    __slots__ = (
        "__weakref__",
        "_bad",
        "_closing",
        "_engine",
        "_frames",
        "_kept",
        "_queue",
        "_rate",
        "actions",
        "consults",
        "out",
        "state",
        "turns",
    )

    def __init__(
        self,
        rate_limit: float = 0.0,
        history: int = 0,
        scope: Scope = NO_SCOPE,
        engine: SessionEngine | None = None,
        suggestion_engine: SuggestionEngine | None = None,
        held: bool = True,
        kept: float | None = None,
    ) -> None:
        self.state = TABLE.initial
        self.out = Out()
        react = _weakly(self)
        self.turns = Turns(self.out, react, History(history))
        self.consults: Consults = Consults(self.out, scope)
        self.actions = Actions(self.out, react, suggestion_engine, held, scope, kept)
        self._engine = engine or ENGINE
        self._queue: list[Question] = []  # QUEUED_MESSAGES at most
        self._rate = Bucket(rate_limit, 2 * rate_limit)
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        self._kept = kept is not None
        self._bad: tuple[float, ...] = ()  # when the last bad frames came
        self._closing = (1012, "going down")

    def handle(self, event: Event) -> list[Effect]:
        """Take one event; return what is to be done, in order."""
        self.out.now = event.at
        effects: list[Effect] = []
        self.out.effects = effects
        self._HANDLERS[type(event)](self, event)
        return effects

    def react(self, trigger: Trigger, subject: object = None) -> bool:
        """Ask the session's table: take the row for `trigger`, if it has one, and do what it says."""
        return self._engine.react(self, self, trigger, subject)

    @property
    def asking(self) -> str | None:
        """The id of the message in progress, or None."""
        return self.turns.asking

    # --- guards: the facts that rows ask for

    @property
    def queue_full(self) -> bool:
        """No further message can wait."""
        return len(self._queue) >= QUEUED_MESSAGES

    @property
    def over_rate(self) -> bool:
        """The client pre-empts or queues faster than it may."""
        return not self._rate.has(self.out.now)

    @property
    def will_be_live(self) -> bool:
        """A suggestion can be confirmed, or the turn is about to make one."""
        return self.actions.any_live or self.turns.offering

    # --- events, each by its handler

    def end(self, code: int, reason: str) -> None:
        """End now, and tell the client with this close code."""
        self._closing = (code, reason)
        self.react(Trigger.KILL)

    def _received(self, event: Received) -> None:
        if not self._frames.take(event.at):
            self.end(1008, "too many frames per second")
            return
        if isinstance(event.frame, inbound.Message):
            self._message(event.frame, event.tools, event.key)
        else:
            self._FRAMES[type(event.frame)](self, event.frame)

    def _malformed(self, event: Malformed) -> None:
        if not self._frames.take(event.at):
            self.end(1008, "too many frames per second")
            return
        self.out.send(Error(code=event.code, message=event.message, id=event.ref))  # type: ignore[arg-type]
        self.out.note("errors", event.code)
        self._bad = (*self._bad, event.at)[-BAD_FRAMES:]
        if len(self._bad) == BAD_FRAMES and event.at - self._bad[0] < BAD_FRAMES_WINDOW:
            self.end(1008, "too many bad frames")

    def _message(self, frame: inbound.Message, tools: tuple[ToolDefinition, ...], key: str) -> None:
        self.react(
            Trigger.MESSAGE,
            Question(
                frame.id, frame.text, frame.lang, self.out.now, self.consults.scope, tools=tools, key=key
            ),
        )

    def _cancel(self, frame: inbound.Cancel) -> None:
        self.turns.forget_wishes()
        self.turns.disown(frame.id)
        named = [question for question in self._queue if question.id == frame.id]
        for question in named:
            self._queue.remove(question)
        if frame.id is None or self.asking == frame.id:
            self.react(Trigger.CANCEL)
        elif not named:
            self.actions.cancel_led_by(frame.id)
        for question in named:
            self.out.send(StreamEnd(reason="cancelled", id=question.id))

    def _woken(self, event: Woken) -> None:
        self.turns.remember(event.history)
        self.actions.restore(event.live)
        self.react(Trigger.WAKE)

    def _offered(self, event: Offered) -> None:
        if self.turns.answered(event.question.id):
            self.out.wall_ms = event.wall_ms
            self.react(Trigger.OFFER, event)

    def _replied(self, event: Replied) -> None:
        self.consults.replied(event)
        if event.scope is not None:
            self.turns.turn_over()
            self.actions.scope = event.scope
            self._queue = [question.of(event.scope) for question in self._queue]

    def _reported(self, event: Reported) -> None:
        self.react(Trigger.EXECUTED if event.outcome.claimed else Trigger.UNCLAIMED, event.outcome)

    # --- what the rows of the session's table do

    def cancel_nothing(self) -> None:
        """Count a cancel that found nothing in progress; no frame is sent."""
        self.out.note("cancels", "nothing")

    def enqueue(self, question: Question) -> None:
        """Keep a message until the action has reported."""
        self._queue.append(question)

    def take_queued(self) -> None:
        """Take the oldest message that waits, if one does."""
        if self._queue:
            self.react(Trigger.MESSAGE, self._queue.pop(0))

    def cancel_queue(self) -> None:
        """End every message that waits."""
        while self._queue:
            self.out.send(StreamEnd(reason="cancelled", id=self._queue.pop(0).id))

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

    def spend_rate(self) -> None:
        """Count a message against the client's rate."""
        self._rate.take(self.out.now)

    def finish_turn(self) -> None:
        """Send what follows the last delta, suggestions too, as one group that nothing removes."""
        for offer in self.turns.finish():
            if self._kept or not self.out.draining:
                self.actions.suggest(*offer)

    def suggest(self, offered: Offered) -> None:
        """Suggest what an answered question gave after its turn."""
        self.actions.suggest(offered.suggestion_id, offered.proposal, offered.question)

    def grant(self) -> None:
        """Let the call run that the turn waits for."""
        call = self.turns.grants()
        if call is not None:
            self.actions.grant(*call)

    def turn_down(self, asked: Acting) -> None:
        """Run nothing for a turn any more: the server is going down."""
        self.turns.resume(Outcome(asked.suggestion_id, True, "cancelled", CANCELLED))

    def begin_drain(self) -> None:
        """Take nothing new from here on."""
        self.out.draining = True

    def go_down(self) -> None:
        """Close what is open, tell the client, and close the connection."""
        self.cancel_queue()
        self.actions.close_live()
        self.actions.let_go()
        self.out.add(Close(*self._closing))

    def lie_down(self) -> None:
        """End without a word: what was suggested stays as it is, where it is kept."""
        self.out.add(Close(1000, "asleep"))

    def abandon(self) -> None:
        """The client is gone: end everything; there is nobody to tell."""
        self.turns.abandon()
        self.actions.abandon()
        self._queue.clear()
        self.out.add(Leave())

    # --- helpers

    def _refuse(self, code: Any, message: str, question: Question) -> None:
        self.out.send(Error(code=code, message=message, id=question.id))
        self.out.note("errors", code, question.id)

    _HANDLERS: ClassVar[dict[type[Event], Callable[["Core", Any], object]]] = {
        Received: _received,
        Malformed: _malformed,
        Told: lambda core, event: core.turns.told(event),
        Acting: lambda core, event: core.turns.told(event),
        Faulted: lambda core, event: core.turns.faulted(event),
        Dropped: lambda core, event: core.turns.dropped(event),
        Spoken: lambda core, event: core.turns.spoken(event),
        Reported: _reported,
        Expired: lambda core, event: core.actions.expired(event),
        Offered: _offered,
        Replied: _replied,
        Erased: lambda core, event: core.turns.erase(event, core.consults.scope),
        Woken: _woken,
        Posed: lambda core, event: core.react(Trigger.MESSAGE, event.question),
        Slept: lambda core, _: core.react(Trigger.SLEEP),
        Drain: lambda core, _: core.react(Trigger.DRAIN),
        Kill: lambda core, event: core.end(event.code, event.reason),
        Disconnected: lambda core, _: core.react(Trigger.DISCONNECT),
    }
    _FRAMES: ClassVar[dict[type[inbound.Inbound], Callable[["Core", Any], object]]] = {
        inbound.Cancel: _cancel,
        inbound.ConfirmAction: lambda core, frame: core.actions.confirm(frame),
        inbound.RejectAction: lambda core, frame: core.actions.reject(frame),
        **dict.fromkeys(get_args(inbound.Consult), lambda core, frame: core.consults.take(frame)),
    }


def _weakly(core: Core) -> React:
    """Return the core's `react` for its parts, which do not hold the core that holds them: it needs no collector."""
    known = ref(core)

    def react(trigger: Trigger, subject: object = None) -> bool:
        alive = known()
        return alive is not None and alive.react(trigger, subject)

    return react


GUARDS: dict[Guard, Callable[[Core], bool]] = {
    Guard.CONFIRM_WAITS: lambda core: core.actions.confirm_waits,
    Guard.DRAINING: lambda core: core.out.draining,
    Guard.ANY_LIVE: lambda core: core.actions.any_live,
    Guard.NONE_LIVE: lambda core: not core.actions.any_live,
    Guard.WILL_BE_LIVE: lambda core: core.will_be_live,
    Guard.OVER_RATE: lambda core: core.over_rate,
    Guard.QUEUE_FULL: lambda core: core.queue_full,
    Guard.TURN_WAITS: lambda core: core.turns.waits,
}
DEEDS: dict[Deed, Callable[[Core, Any], None]] = {
    Deed.BEGIN_TURN: lambda core, question: core.turns.begin(question),
    Deed.SPEAK: lambda core, told: core.turns.speak(told),
    Deed.HEAR_MORE: lambda core, _: core.turns.hear_more(),
    Deed.CANCEL_TURN: lambda core, _: core.turns.cancel(),
    Deed.FINISH_TURN: lambda core, _: core.finish_turn(),
    Deed.HOLD: lambda core, suggestion: core.actions.hold(suggestion),
    Deed.RUN_NEXT: lambda core, _: core.actions.run_next(),
    Deed.REPORT: lambda core, outcome: core.actions.report(outcome),
    Deed.STOP_ACTION: lambda core, _: core.actions.stop(),
    Deed.CANCEL_WAITING: lambda core, _: core.actions.cancel_waiting(),
    Deed.CANCEL_LIVE: lambda core, _: core.actions.cancel_live(),
    Deed.TELL_CLOSED: lambda core, suggestion: core.actions.telling.closed(suggestion),
    Deed.ENQUEUE: lambda core, question: core.enqueue(question),
    Deed.TAKE_QUEUED: lambda core, _: core.take_queued(),
    Deed.CANCEL_QUEUE: lambda core, _: core.cancel_queue(),
    Deed.CANCEL_NOTHING: lambda core, _: core.cancel_nothing(),
    Deed.SPEND_RATE: lambda core, _: core.spend_rate(),
    Deed.TURN_AWAY: lambda core, question: core.turn_away(question),
    Deed.SLOW_DOWN: lambda core, question: core.slow_down(question),
    Deed.SAY_BUSY: lambda core, question: core.say_busy(question),
    Deed.BEGIN_DRAIN: lambda core, _: core.begin_drain(),
    Deed.GO_DOWN: lambda core, _: core.go_down(),
    Deed.ABANDON: lambda core, _: core.abandon(),
    Deed.GRANT: lambda core, _: core.grant(),
    Deed.TURN_DOWN: lambda core, asked: core.turn_down(asked),
    Deed.LIE_DOWN: lambda core, _: core.lie_down(),
    Deed.SUGGEST: lambda core, offered: core.suggest(offered),
    Deed.RESUME_TURN: lambda core, outcome: core.turns.resume(outcome),
}


def engine(table: SessionTable = TABLE) -> SessionEngine:
    """Return an engine that runs `table` for cores; one serves them all."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = engine()
