"""One connection's session: a mailbox, and at most one running turn.

The actor is not a task. `post` is its mailbox: synchronous, run to completion, one event at a time in the order of
arrival, nothing interleaved, nothing waiting. Work that takes time (a turn, an action) is started or signalled, and
answers with an event of its own. The frames of all events of one `post` leave for the socket at its end, in one write.

Order on a cancel: the turn's scope is cancelled, its deltas leave the wire's queue and its `stream_end cancelled` is
written, in one synchronous step; the task unwinds later.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import structlog
import trio

from ..errors import BadFrame, BadTool, WireClosed, describe_error
from ..ports.action import ActionHandle, Outcome
from ..ports.brain import Proposal, Question
from ..ports.consult import ThreadUpdate
from ..ports.conversation import HEARD, Scope
from ..ports.observe import Observer
from ..ports.remember import NO_RECORDER
from ..ports.tools import ToolDefinition
from ..ports.tracing import TRACE_PARENT, Span, end_turn
from ..ports.wire import Wire
from ..protocol.codec import decode, encode
from ..protocol.inbound import Message
from ..protocol.outbound import Error, StreamEnd, Welcome
from ..protocol.stories import AnyInbound, AnyMessage, AnyOutbound
from .consult_tasks import ConsultTasks
from .context import SessionContext
from .core import Core
from .effects import (
    ArmExpiry,
    AskConsultant,
    BeginTurn,
    CloseConnection,
    DeclineItem,
    DetachAction,
    DisarmExpiry,
    Effect,
    EndTurn,
    LeaveClient,
    RecordExchange,
    RecordFact,
    ResumeBrain,
    RunAction,
    SendFrame,
    SpeakText,
    StopAction,
    StopBrain,
    StopSpeech,
    StoreFeedback,
    WatchState,
)
from .events import (
    ActionEnded,
    BadFrameReceived,
    ClientDisconnected,
    DrainStarted,
    Event,
    FrameReceived,
    KillRequested,
    SuggestionOffered,
    ThreadNews,
)
from .return_path import SessionReturnPath
from .turn import LiveTurn

_log = structlog.get_logger("agent.session")
# The log line of each counted fact, by its metric.
_LOG_LINES = {
    "messages": "message taken",
    "memory_unread": "answered without some of the memory",
    "turns": "turn ended",
    "cancels": "cancel",
    "errors": "error sent",
    "suggestions": "suggestion",
    "confirms": "confirm",
    "confirms_ended": "action reported",
    "consults": "consult",
}


class Session:
    """One client's session over one wire.

    `greet`: the client offered the subprotocol: send `welcome` first, and run no action that lacks a field.
    `scope`: the user and thread; `None` opens a new thread of `user`. `stored_seconds`: seconds in which a suggestion
    can be confirmed, where suggestions are stored and outlive the session.
    """

    __slots__ = (
        "__weakref__",
        "_consults",
        "_context",
        "_core",
        "_handling",
        "_has_left",
        "_mail",
        "_pinged_at",
        "_running",
        "_since",
        "_turn",
        "_turn_span",
        "_unwound",
        "_wire",
        "id",
    )

    def __init__(
        self,
        context: SessionContext,
        wire: Wire,
        greet: bool = False,
        scope: Scope | None = None,
        stored_seconds: float | None = None,
        user: str = "",
    ) -> None:
        self.id = context.new_id()
        self._context = context
        self._wire = wire
        settings = context.settings
        scope = scope or Scope(context.project, context.new_id(), user)
        fills_in = greet or stored_seconds is not None
        self._core = Core(
            settings.rate_limit,
            settings.history_tokens,
            scope,
            fills_in=fills_in,
            stored_seconds=stored_seconds,
            confirm_time=settings.confirm_time,
        )
        self._mail: list[Event] = []
        self._handling = False
        self._has_left = False
        self._since = 0.0  # when the event being handled arrived
        self._consults = ConsultTasks(context, wire)
        self._turn: LiveTurn | None = None
        self._turn_span: Span | None = None  # of the turn in progress, where turns are traced
        self._unwound: trio.Lock | None = None  # from the first turn on
        self._running: ActionHandle | None = None
        self._pinged_at: float | None = None
        if greet:
            memory, feedback = context.memory is not None, context.feedback is not None
            self._send(Welcome(self.id, 1, context.limits, memory, feedback, voice=context.voice))

    @property
    def state(self) -> str:
        """The session's state, by its name in the state table."""
        return self._core.state.value

    @property
    def current_message(self) -> str | None:
        """The id of the message in progress, or `None`."""
        return self._core.current_message

    def complete_question(self, question: Question) -> Question:
        """Return `question` as a turn would get it now, with its history; no turn is begun."""
        return self._core.turns.complete_question(question)

    def post(self, event: Event) -> None:
        """Handle an event now, or right after the event at hand; a session that has ended ignores it.

        Never blocks and never raises: a fault in here closes this session and no other.
        """
        if self._has_left:
            return
        self._mail.append(event)
        if self._handling:
            return
        self._handling = True
        try:
            while self._mail:
                event = self._mail.pop(0)
                self._since = event.at
                for effect in self._core.handle(event):
                    self._PERFORM[type(effect)](self, effect)
                if not self._mail:
                    self._wire.flush()  # a `written` callback in it may post an event
        except Exception as error:  # noqa: BLE001 - the edge of one connection
            self._break_session(error)
        finally:
            self._handling = False

    async def run(self) -> None:
        """Serve the client until it or the server ends the session.

        When this returns, nothing of the session is left: no timer, suggestion or registry entry. An ended turn may
        take a moment to unwind among the wire's tasks, a claimed action goes on in the runner, and unwritten frames
        belong to the wire. Cancelled, it leaves the same, without a close frame.
        """
        self._context.registry.add(self)
        self._context.observer.gauge("sessions", 1)
        try:
            self._wire.flush()
            if self._context.registry.draining:
                self.post(DrainStarted(trio.current_time()))
            with suppress(WireClosed):
                await self._wire.deliver_messages(self._take_message)
        finally:
            self.post(ClientDisconnected(trio.current_time()))
            self._end_turn(None)  # after its last event a Brain may not have returned yet
            self._context.registry.remove(self)
            self._context.observer.gauge("sessions", -1)

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Suggest a proposal to which `question`, answered here, led after its turn; not after a cancel.

        Nothing is suggested on a connection of a kind without suggestions.
        """
        context = self._context
        if not context.kind.suggests:
            return
        wall_ms = context.clock.now_ms()
        self.post(SuggestionOffered(question, proposal, context.new_id(), trio.current_time(), wall_ms))

    def tell_update(self, update: ThreadUpdate) -> None:
        """Tell the client of a change in a thread of its user (implements `agent.ports.consult.ThreadListener`)."""
        self.post(ThreadNews(update, trio.current_time()))

    def keepalive(self) -> None:
        """Ping the client, or end the session when nothing was heard since the last ping."""
        if self._pinged_at is not None and self._wire.received_at < self._pinged_at:
            self.post(KillRequested(1011, "keepalive lost", trio.current_time()))
            return
        self._pinged_at = trio.current_time()
        self._wire.ping()

    def _take_message(self, message: str | bytes) -> None:
        now = trio.current_time()
        try:
            frame = decode(message, self._context.kind)
            heard = HEARD if isinstance(frame, Message) and frame.heard else ""
            remembered = isinstance(frame, AnyMessage) and self._context.recorder is not NO_RECORDER
            key = heard + self._context.new_id() if heard or remembered else ""
            self.post(FrameReceived(frame, now, self._read_tools(frame), key))
        except BadFrame as error:
            self.post(BadFrameReceived(error.code, error.message, error.ref, now))

    def _read_tools(self, frame: AnyInbound) -> tuple[ToolDefinition, ...]:
        """Return the tools that come with a message. Raises `BadFrame` for invalid ones."""
        if not isinstance(frame, Message) or not frame.tools:
            return ()
        try:
            return self._context.read_tools(frame.tools)
        except BadTool as error:
            raise BadFrame("bad_tool", str(error), frame.id) from None

    def _report(self, outcome: Outcome) -> None:
        self._running = None
        self.post(ActionEnded(outcome, trio.current_time()))

    def _break_session(self, error: Exception) -> None:
        """Report a fault of the session itself, drop all its work, and close the connection."""
        fault = self._context.new_id()
        _log.error("session broke", session=self.id, fault=fault, **describe_error(error))
        self._context.observer.count("errors", "internal")
        self._end_turn(None)
        self._stop_action(None)
        self._detach_action(None)
        message = f"Something broke here; connect again, or report fault {fault}."
        self._send(Error(code="internal", message=message))
        self._close(CloseConnection(1011, "internal error"))

    # --- effects, each by its performer

    def _send(self, frame: AnyOutbound) -> None:
        written = None
        if isinstance(frame, StreamEnd) and frame.reason == "cancelled":
            written = partial(_measure_cancel, self._context.observer, self._since)
        if self._wire.note_frame is not None:
            self._wire.note_frame(frame)
        self._wire.put_frames(self._wire.make_frame(encode(frame)), written)

    def _begin_turn(self, effect: BeginTurn) -> None:
        if self._turn is not None:
            self._turn.end()  # its Brain has emitted its last event, but has not returned
        if self._context.tracer is not None:
            self._turn_span = self._context.tracer.start_turn(TRACE_PARENT.get())
        self._turn = LiveTurn(
            effect.turn,
            effect.question,
            self._context,
            self._wire,
            self.post,
            self._break_session,
            self._turn_span,
        )
        self._wire.open_turn(effect.turn)
        if self._unwound is None:
            self._unwound = trio.Lock()
        self._wire.start_task(self._turn.run, self._unwound)

    def _end_turn(self, _: EndTurn | None) -> None:
        self._wire.purge_deltas()
        if self._turn is not None:
            self._turn.end()
            self._turn = None

    def _watch_state(self, effect: WatchState) -> None:
        if self._turn is not None and self._turn.number == effect.turn:
            self._turn.watch_state(effect.due)

    def _stop_brain(self, _: StopBrain) -> None:
        if self._turn is not None:
            self._turn.stop_brain()

    def _resume_brain(self, effect: ResumeBrain) -> None:
        if self._turn is not None:
            self._turn.resume_brain(effect.outcome)

    def _speak_text(self, effect: SpeakText) -> None:
        if self._turn is not None:
            self._turn.speak_text(effect)

    def _stop_speech(self, _: StopSpeech) -> None:
        if self._wire.speaker is not None:
            self._wire.speaker.cancel()

    def _run_action(self, effect: RunAction) -> None:
        self._running = self._context.runner.start(effect.call, self._report)

    def _stop_action(self, _: StopAction | None) -> None:
        if self._running is not None:
            self._running.stop()

    def _detach_action(self, _: DetachAction | None) -> None:
        if self._running is not None:
            self._running.detach()
            self._running = None

    def _record_exchange(self, effect: RecordExchange) -> None:
        return_path = SessionReturnPath(self)
        self._context.recorder.record_exchange(effect.question, effect.answered, return_path)

    def _close(self, effect: CloseConnection) -> None:
        self._wire.close(effect.code, effect.reason)
        self._leave(None)

    def _leave(self, _: LeaveClient | None) -> None:
        self._has_left = True
        self._end_span("internal")  # a session that breaks reports no end of its turn
        self._mail.clear()
        self._consults.end(self, self._core.consults.scope)

    def _record_fact(self, note: RecordFact) -> None:
        self._context.observer.count(note.metric, note.label)
        if note.metric == "turns":
            self._end_span(note.label)
        fields = {"what": note.label or None, "message": note.message, "suggestion": note.suggestion_id}
        _log.info(
            _LOG_LINES[note.metric],
            session=self.id,
            **{key: value for key, value in fields.items() if value is not None},
        )

    def _end_span(self, outcome: str) -> None:
        """End the span of the turn in progress, if there is one."""
        if self._turn_span is not None:
            end_turn(self._turn_span, outcome)
            self._turn_span = None

    _PERFORM: ClassVar[dict[type[Effect], Callable[["Session", Any], None]]] = {
        SendFrame: lambda self, effect: self._send(effect.frame),
        BeginTurn: _begin_turn,
        EndTurn: _end_turn,
        WatchState: _watch_state,
        StopBrain: _stop_brain,
        SpeakText: _speak_text,
        StopSpeech: _stop_speech,
        ResumeBrain: _resume_brain,
        RunAction: _run_action,
        StopAction: _stop_action,
        DetachAction: _detach_action,
        ArmExpiry: lambda self, effect: self._context.registry.arm_expiry(self, effect.suggestion_id),
        DisarmExpiry: lambda self, effect: self._context.registry.disarm_expiry(self, effect.suggestion_id),
        RecordExchange: _record_exchange,
        DeclineItem: lambda self, effect: self._context.recorder.decline_item(effect.scope, effect.item),
        AskConsultant: lambda self, effect: self._consults.ask_consultant(self, effect),
        StoreFeedback: lambda self, effect: self._consults.store_feedback(self, effect),
        CloseConnection: _close,
        LeaveClient: _leave,
        RecordFact: _record_fact,
    }


def _measure_cancel(observer: Observer, since: float) -> None:
    observer.measure("cancel_seconds", trio.current_time() - since)
