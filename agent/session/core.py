"""The session's decisions: `handle(event) -> [Effect]`. No await, no clock, no randomness.

Two tables decide which events have effects: the session's (`states.py`) and a suggestion's own
(`actions/suggestions.py`). The handlers below find the subject of an event and hand it to a table. The table names the
deeds, and their methods act on facts (is there a turn, does a confirm wait), never on the name of the state.

A core is composed of the turn in progress (`turns.py`), of suggestions and actions (`actions.py`), and of the messages
that wait (`message_queue.py`). They write to one `CoreOutput` and ask the session's table through `react`. This module
has the rest: the client's frames and their limits, and the ways in which a session ends.

`ConsultQueue` has a client's requests answered beside the turn, one at a time and in their order. They neither read nor
change the session's state, and a cancel does not reach them. Each request sees the changes of those before it.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from ..config import BAD_FRAMES, CONFIRM_SECONDS, FRAMES_PER_SECOND
from ..fsm import Engine
from ..ports.action import CANCELLED, Outcome
from ..ports.brain import Question
from ..ports.conversation import NO_SCOPE, Scope
from ..ports.tools import ToolDefinition
from ..protocol import inbound
from ..protocol.outbound import Error
from ..protocol.stories import AnyConsult, AnyInbound, AnyMessage, StoryMessage
from ..wire.bucket import Bucket
from ..wire.meter import are_too_many
from .actions import SessionActions, SuggestionEngine
from .consult_queue import ConsultQueue
from .core_output import CoreOutput, hold_weakly
from .effects import CloseConnection, Effect, LeaveClient
from .events import (
    ActionEnded,
    BadFrameReceived,
    BrainEvent,
    BrainFailed,
    CallRequested,
    ClientDisconnected,
    ConsultAnswered,
    ConversationResumed,
    DrainStarted,
    Event,
    FrameReceived,
    IdleTimedOut,
    KeeperReported,
    KillRequested,
    MemoryErased,
    QuestionPosed,
    SpeechPlayed,
    StateLasted,
    SuggestionExpired,
    SuggestionOffered,
    TextWritten,
    ThreadErased,
    ThreadNews,
    TurnDropped,
)
from .history import History
from .message_queue import MessageQueue
from .sent_answers import ANSWERS_RATED, SentAnswers
from .states import TABLE, SessionDeed, SessionGuard, SessionState, SessionTable, SessionTrigger
from .turns import SessionTurns

SessionEngine: TypeAlias = Engine[SessionState, SessionTrigger, SessionGuard, SessionDeed]


class Core:
    """The state of one session, and the effects it asks for on each event.

    `rate_limit`: messages per second that may pre-empt or queue, 0 for no limit. `history`: tokens of earlier exchanges
    that are kept for the next question. `scope`: the user and thread of the session. `engine`, `suggestion_engine`: run
    the two tables; tests pass engines with rows left out. `fills_in`: the client can fill in fields that a suggestion
    lacks (it offered the subprotocol), so no confirm runs with a required field missing. `stored_seconds`: seconds in
    which a suggestion can be confirmed, where suggestions are stored and outlive the session; `None` where they end
    with it, and `confirm_time` counts. Raises nothing for anything a client or a Brain does. A core without a reference
    left is freed at once.
    """

    __slots__ = (
        "__weakref__",
        "_bad",
        "_closing",
        "_engine",
        "_frames",
        "_keeps_suggestions",
        "actions",
        "consults",
        "messages",
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
        fills_in: bool = True,
        stored_seconds: float | None = None,
        confirm_time: float = CONFIRM_SECONDS,
    ) -> None:
        self.state = TABLE.initial
        self.out = CoreOutput()
        react = hold_weakly(self)
        # A stored thread has its messages.
        answers = SentAnswers(ANSWERS_RATED if stored_seconds is None else 0)
        self.turns = SessionTurns(self.out, react, History(history), answers)
        self.messages = MessageQueue(self.out, react, rate_limit)
        self.consults: ConsultQueue = ConsultQueue(self.out, scope, answers)
        self.actions = SessionActions(
            self.out, react, suggestion_engine, fills_in, scope, stored_seconds, confirm_time
        )
        self._engine = engine or ENGINE
        self._frames = Bucket(FRAMES_PER_SECOND, FRAMES_PER_SECOND)
        self._keeps_suggestions = stored_seconds is not None
        self._bad: tuple[float, ...] = ()  # when the last bad frames came
        self._closing = (1012, "going down")

    def handle(self, event: Event) -> list[Effect]:
        """Handle one event; return the effects to perform, in order."""
        self.out.now = event.at
        effects: list[Effect] = []
        self.out.effects = effects
        self._HANDLERS[type(event)](self, event)
        return effects

    def react(self, trigger: SessionTrigger, subject: object = None) -> bool:
        """Take the row of the session's table for `trigger`, if there is one, and do its deeds."""
        return self._engine.react(self, self, trigger, subject)

    @property
    def current_message(self) -> str | None:
        """The id of the message in progress, or `None`."""
        return self.turns.current_message

    # --- guards: the facts that rows depend on
    @property
    def will_be_live(self) -> bool:
        """Whether a suggestion can be confirmed, or the turn is about to make one."""
        return self.actions.any_live or self.turns.is_offering

    # --- events, each by its handler

    def end(self, code: int, reason: str) -> None:
        """End the session now, and close the connection with `code` and `reason`."""
        self._closing = (code, reason)
        self.react(SessionTrigger.KILL)

    def _handle_frame(self, event: FrameReceived) -> None:
        if not self._frames.take_token(event.at):
            self.end(1008, "too many frames per second")
            return
        if isinstance(event.frame, inbound.Message | StoryMessage):
            self._handle_message(event.frame, event.tools, event.key)
        else:
            self._FRAMES.get(type(event.frame), Core._add_consult)(self, event.frame)

    def _add_consult(self, frame: AnyConsult) -> None:
        """Have a request answered beside the turn; so is every frame that none of the other handlers takes."""
        self.consults.add_frame(frame)

    def _handle_bad_frame(self, event: BadFrameReceived) -> None:
        if not self._frames.take_token(event.at):
            self.end(1008, "too many frames per second")
            return
        self.out.send_frame(Error(code=event.code, message=event.message, id=event.ref))  # type: ignore[arg-type]
        self.out.record_fact("errors", event.code)
        self._bad = (*self._bad, event.at)[-BAD_FRAMES:]
        if are_too_many(self._bad):
            self.end(1008, "too many bad frames")

    def _handle_message(self, frame: AnyMessage, tools: tuple[ToolDefinition, ...], key: str) -> None:
        self.react(
            SessionTrigger.MESSAGE,
            Question(
                id=frame.id,
                text=frame.text,
                lang=frame.lang,
                at=self.out.now,
                scope=self.consults.scope,
                tools=tools,
                key=key,
                progress=getattr(frame, "progress", False),
                heard=getattr(frame, "heard", False),
                directive=frame if isinstance(frame, StoryMessage) else None,
            ),
        )

    def _handle_cancel(self, frame: inbound.Cancel) -> None:
        self.turns.forget_wishes()
        self.turns.disown_message(frame.id)
        queued = self.messages.withdraw(frame.id)
        if frame.id is None or self.current_message == frame.id:
            self.react(SessionTrigger.CANCEL)
        elif not queued:
            self.actions.cancel_led_by(frame.id)
        self.messages.send_cancelled(queued)

    def _resume_conversation(self, event: ConversationResumed) -> None:
        self.turns.restore_history(event.history)
        self.actions.restore_live(event.live)
        self.react(SessionTrigger.WAKE)

    def _handle_offer(self, event: SuggestionOffered) -> None:
        if self.turns.was_answered(event.question.id):
            self.out.wall_ms = event.wall_ms
            self.react(SessionTrigger.OFFER, event)

    def _send_report(self, event: KeeperReported) -> None:
        """Send the frames of the recorder's report, after the answer and all that followed it."""
        for frame in event.frames:
            self.out.send_frame(frame)

    def _finish_consult(self, event: ConsultAnswered) -> None:
        self.consults.finish_first(event)
        if event.scope is not None:
            self._enter_thread(event.scope)
            self.turns.restore_history(event.history)

    def _enter_thread(self, scope: Scope) -> None:
        """Go on in another thread; a turn in progress still belongs to the previous one."""
        self.consults.scope = scope
        self.turns.clear_history()
        self.actions.scope = scope
        self.messages.enter_scope(scope)

    def _leave_thread(self, event: ThreadErased) -> None:
        """Cancel all work in a deleted thread, as its user's cancel does, and go on in a new one."""
        here = event.scope == self.consults.scope
        if here:
            self.messages.cancel_all()
        if self.turns.current_scope == event.scope:
            self.react(SessionTrigger.CANCEL)
        self.turns.silence_thread(event.scope)
        if here:
            self.turns.disown_message(None)
            self.actions.cancel_all()
            self._enter_thread(event.scope.in_thread(event.fresh))

    def _follow_thread(self, event: ThreadNews) -> None:
        """Tell the client of a change in a thread of its user, and of exchanges in the thread that it has open."""
        scope, update = self.consults.scope, event.update
        if scope.includes(update.scope):
            self.out.send_frame(update.frame)
        for exchange in update.exchanges if update.scope == scope else ():
            self.turns.follow_exchange(exchange)

    def _handle_action_end(self, event: ActionEnded) -> None:
        trigger = SessionTrigger.EXECUTED if event.outcome.claimed else SessionTrigger.UNCLAIMED
        self.react(trigger, event.outcome)

    # --- deeds of the session's table

    def count_idle_cancel(self) -> None:
        """Count a cancel that found nothing in progress; no frame is sent."""
        self.out.record_fact("cancels", "nothing")

    def finish_turn(self) -> None:
        """Send the frames that follow the last delta, suggestions too, as one group that no cancel removes."""
        for offer in self.turns.finish_turn():
            if self._keeps_suggestions or not self.out.draining:
                self.actions.suggest(*offer)

    def suggest_action(self, offered: SuggestionOffered) -> None:
        """Suggest the proposal to which an answered question led after its turn."""
        self.actions.suggest(offered.suggestion_id, offered.proposal, offered.question)

    def run_pending_call(self) -> None:
        """Run the call that the turn waits for."""
        call = self.turns.find_pending_call()
        if call is not None:
            self.actions.grant_call(*call)

    def refuse_call(self, request: CallRequested) -> None:
        """Refuse the call that a turn asks for: the server is going down."""
        self.turns.end_call(Outcome(request.suggestion_id, True, "cancelled", CANCELLED))

    def begin_drain(self) -> None:
        """Accept no new work from here on."""
        self.out.draining = True

    def close_session(self) -> None:
        """Cancel waiting messages and live suggestions, tell the client, and close the connection."""
        self.messages.cancel_all()
        self.actions.close_live()
        self.actions.detach_action()
        self.out.add(CloseConnection(*self._closing))

    def suspend_session(self) -> None:
        """Close the connection and leave stored suggestions as they are."""
        self.out.add(CloseConnection(1000, "asleep"))

    def abandon_session(self) -> None:
        """End everything without a frame: the client is gone."""
        self.turns.abandon_turn()
        self.actions.abandon_actions()
        self.messages.clear()
        self.out.add(LeaveClient())

    _HANDLERS: ClassVar[dict[type[Event], Callable[["Core", Any], object]]] = {
        FrameReceived: _handle_frame,
        BadFrameReceived: _handle_bad_frame,
        BrainEvent: lambda core, event: core.turns.take_event(event),
        CallRequested: lambda core, event: core.turns.take_event(event),
        BrainFailed: lambda core, event: core.turns.fail_turn(event),
        TurnDropped: lambda core, event: core.turns.cancel_dropped(event),
        StateLasted: lambda core, event: core.turns.tell_lasting(event),
        TextWritten: lambda core, event: core.turns.finish_text(event),
        SpeechPlayed: lambda core, event: core.turns.note_played(event),
        ActionEnded: _handle_action_end,
        SuggestionExpired: lambda core, event: core.actions.expire_suggestion(event),
        SuggestionOffered: _handle_offer,
        KeeperReported: _send_report,
        ConsultAnswered: _finish_consult,
        MemoryErased: lambda core, event: core.turns.erase_memory(event, core.consults.scope),
        ThreadErased: _leave_thread,
        ThreadNews: _follow_thread,
        ConversationResumed: _resume_conversation,
        QuestionPosed: lambda core, event: core.react(SessionTrigger.MESSAGE, event.question),
        IdleTimedOut: lambda core, _: core.react(SessionTrigger.SLEEP),
        DrainStarted: lambda core, _: core.react(SessionTrigger.DRAIN),
        KillRequested: lambda core, event: core.end(event.code, event.reason),
        ClientDisconnected: lambda core, _: core.react(SessionTrigger.DISCONNECT),
    }
    _FRAMES: ClassVar[dict[type[AnyInbound], Callable[["Core", Any], object]]] = {
        inbound.Cancel: _handle_cancel,
        inbound.ConfirmAction: lambda core, frame: core.actions.confirm(frame),
        inbound.RejectAction: lambda core, frame: core.actions.reject(frame),
    }


GUARDS: dict[SessionGuard, Callable[[Core], bool]] = {
    SessionGuard.CONFIRM_WAITS: lambda core: core.actions.confirm_waits,
    SessionGuard.DRAINING: lambda core: core.out.draining,
    SessionGuard.ANY_LIVE: lambda core: core.actions.any_live,
    SessionGuard.NONE_LIVE: lambda core: not core.actions.any_live,
    SessionGuard.WILL_BE_LIVE: lambda core: core.will_be_live,
    SessionGuard.OVER_RATE: lambda core: core.messages.is_over_rate,
    SessionGuard.QUEUE_FULL: lambda core: core.messages.is_full,
    SessionGuard.TURN_WAITS: lambda core: core.turns.waits_for_call,
    SessionGuard.DRAFTING: lambda core: core.turns.is_drafting,
}
DEEDS: dict[SessionDeed, Callable[[Core, Any], None]] = {
    SessionDeed.BEGIN_TURN: lambda core, question: core.turns.begin_turn(question),
    SessionDeed.STREAM_TEXT: lambda core, part: core.turns.stream_text(part),
    SessionDeed.HANDLE_WAITING_EVENTS: lambda core, _: core.turns.handle_waiting_events(),
    SessionDeed.CANCEL_TURN: lambda core, _: core.turns.cancel_turn(),
    SessionDeed.FINISH_TURN: lambda core, _: core.finish_turn(),
    SessionDeed.QUEUE_ACTION: lambda core, suggestion: core.actions.queue_action(suggestion),
    SessionDeed.RUN_NEXT_ACTION: lambda core, _: core.actions.run_next_action(),
    SessionDeed.REPORT_OUTCOME: lambda core, outcome: core.actions.report_outcome(outcome),
    SessionDeed.STOP_ACTION: lambda core, _: core.actions.stop_action(),
    SessionDeed.CANCEL_CONFIRMED: lambda core, _: core.actions.cancel_all_confirmed(),
    SessionDeed.CANCEL_LIVE_SUGGESTIONS: lambda core, _: core.actions.cancel_live_suggestions(),
    SessionDeed.SEND_CLOSED: lambda core, suggestion: core.actions.notices.send_closed(suggestion),
    SessionDeed.QUEUE_MESSAGE: lambda core, question: core.messages.add(question),
    SessionDeed.HANDLE_QUEUED_MESSAGE: lambda core, _: core.messages.begin_oldest(),
    SessionDeed.CANCEL_QUEUED: lambda core, _: core.messages.cancel_all(),
    SessionDeed.COUNT_IDLE_CANCEL: lambda core, _: core.count_idle_cancel(),
    SessionDeed.TAKE_TOKEN: lambda core, _: core.messages.take_token(),
    SessionDeed.REFUSE_WHILE_DRAINING: lambda core, question: core.messages.refuse_while_draining(question),
    SessionDeed.REFUSE_OVER_RATE: lambda core, question: core.messages.refuse_over_rate(question),
    SessionDeed.REFUSE_QUEUE_FULL: lambda core, question: core.messages.refuse_full(question),
    SessionDeed.BEGIN_DRAIN: lambda core, _: core.begin_drain(),
    SessionDeed.CLOSE_SESSION: lambda core, _: core.close_session(),
    SessionDeed.ABANDON_SESSION: lambda core, _: core.abandon_session(),
    SessionDeed.RUN_PENDING_CALL: lambda core, _: core.run_pending_call(),
    SessionDeed.REFUSE_CALL: lambda core, request: core.refuse_call(request),
    SessionDeed.SUSPEND_SESSION: lambda core, _: core.suspend_session(),
    SessionDeed.SUGGEST_ACTION: lambda core, offered: core.suggest_action(offered),
    SessionDeed.NOTE_DRAFT: lambda core, _: core.turns.note_draft(),
    SessionDeed.TELL_SEARCHING: lambda core, _: core.turns.tell_step("searching"),
    SessionDeed.TELL_DRAFTING: lambda core, _: core.turns.tell_step("drafting"),
    SessionDeed.TELL_CHECKING: lambda core, _: core.turns.tell_step("checking"),
    SessionDeed.TELL_CALLING: lambda core, _: core.turns.tell_step("calling"),
    SessionDeed.RESUME_TURN: lambda core, outcome: core.turns.end_call(outcome),
}


def make_engine(table: SessionTable = TABLE) -> SessionEngine:
    """Return an engine that runs `table`; one engine serves all cores."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = make_engine()
