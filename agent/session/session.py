"""One connection's session: a mailbox, and at most one turn that is alive.

The actor is not a task. `post` is its mailbox: synchronous, run to completion, events one at a time in the order they
came, nothing interleaved, nothing waiting. Whatever takes time (a turn, an action) is started or signalled and answers
with an event of its own. What the events of one call want said leaves for the socket at its end, in one write.

Order on a cancel: the turn's scope is cancelled, its deltas leave the wire's queue and its `stream_end cancelled` is
written, in one synchronous step; the task unwinds later.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from weakref import WeakMethod

import structlog
import trio

from ..config import (
    CONFIRM_SECONDS,
    LIVE_SUGGESTIONS,
    MAX_FRAME,
    MAX_TEXT,
    QUEUED_MESSAGES,
)
from ..errors import BadFrame, BadTool, WireClosed
from ..ports.action import Outcome, Running
from ..ports.brain import Proposal, Question
from ..ports.conversation import Scope
from ..ports.observe import Observer
from ..ports.remember import UNKEPT, Consulted, Offer
from ..ports.tools import ToolDefinition
from ..ports.wire import Wire
from ..protocol.codec import decode, encode
from ..protocol.inbound import Inbound, Message
from ..protocol.outbound import Error, Limits, Outbound, StreamEnd, Welcome
from .consulting import Consulting, nothing_remembered
from .core import Core
from .effects import (
    ArmExpiry,
    Ask,
    BeginTurn,
    Close,
    Decline,
    DisarmExpiry,
    Distrust,
    Effect,
    EndTurn,
    Keep,
    Leave,
    LetGoAction,
    Note,
    Resume,
    RunAction,
    Send,
    Speak,
    StopAction,
)
from .events import Disconnected, Drain, Event, Kill, Malformed, Offered, Received, Reported
from .settings import SessionSettings
from .turn import Parts, Turn, where

_log = structlog.get_logger("agent.session")
_SAID = {
    "messages": "message taken",
    "memory_unread": "answered without some of what is remembered",
    "turns": "turn ended",
    "cancels": "cancel",
    "errors": "error told",
    "suggestions": "suggestion",
    "confirms": "confirm",
    "confirms_ended": "action reported",
    "consults": "memory asked",
}  # what a log line says of each fact that is counted


class Session:
    """One client's session over one wire.

    greet: the client offered the subprotocol: send `welcome` first, and let nothing run that lacks a field. scope:
    whose it is; None is a conversation of its own, of `user`. kept: seconds in which a suggestion of it can be
    confirmed, where it is kept and outlives the session.
    """

    __slots__ = (
        "__weakref__",
        "_consulting",
        "_core",
        "_handling",
        "_left",
        "_mail",
        "_parts",
        "_pinged_at",
        "_running",
        "_since",
        "_turn",
        "_unwound",
        "_wire",
        "id",
    )

    def __init__(
        self,
        parts: Parts,
        wire: Wire,
        greet: bool = False,
        scope: Scope | None = None,
        kept: float | None = None,
        user: str = "",
    ) -> None:
        self.id = parts.new_id()
        self._parts = parts
        self._wire = wire
        settings = parts.settings
        scope = scope or Scope(parts.project, parts.new_id(), user)
        held = greet or kept is not None
        self._core = Core(settings.rate_limit, settings.history_tokens, scope, held=held, kept=kept)
        self._mail: list[Event] = []
        self._handling = False
        self._left = False
        self._since = 0.0  # when the event being handled arrived
        self._consulting: trio.CancelScope | None = None  # what is remembered
        self._turn: Turn | None = None
        self._unwound: trio.Lock | None = None  # from the first turn on
        self._running: Running | None = None
        self._pinged_at: float | None = None
        if greet:
            self._send(Welcome(self.id, 1, _limits(parts.settings), parts.memory is not None))

    @property
    def state(self) -> str:
        """The session's state, by its name in the state table."""
        return self._core.state.value

    @property
    def asking(self) -> str | None:
        """The id of the message in progress, or None."""
        return self._core.asking

    def complete(self, question: Question) -> Question:
        """Return a question as its turn would be asked it now; nothing is begun."""
        return self._core.turns.complete(question)

    def post(self, event: Event) -> None:
        """Handle an event now, or right after the one being handled; a session that has left ignores it.

        Never blocks and never raises: a fault in here closes this session and no other.
        """
        if self._left:
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
                    self._wire.flush()  # what was written may be news
        except Exception as error:  # noqa: BLE001 - the edge of one connection
            self._break(error)
        finally:
            self._handling = False

    async def run(self) -> None:
        """Serve the client until it or the server ends the session.

        When it returns nothing of the session is left: no timer, suggestion or registry entry. A turn that was ended
        may take a moment to unwind among the wire's tasks, a claimed action goes on in the runner, and what waits to
        be written is the wire's. Cancelled, it leaves the same, without a close frame.
        """
        self._parts.registry.add(self)
        self._parts.observer.gauge("sessions", 1)
        try:
            self._wire.flush()
            if self._parts.registry.draining:
                self.post(Drain(trio.current_time()))
            with suppress(WireClosed):
                await self._wire.deliver(self._hear)
        finally:
            self.post(Disconnected(trio.current_time()))
            self._end_turn(None)  # one that has said its last word may have a Brain that has not returned
            self._parts.registry.remove(self)
            self._parts.observer.gauge("sessions", -1)

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Suggest what an answered question of this session gave after its turn; nothing once a cancel took it back."""
        parts = self._parts
        self.post(Offered(question, proposal, parts.new_id(), trio.current_time(), parts.clock.now_ms()))

    def keepalive(self) -> None:
        """Ping the client, or end the session when nothing was heard since the last ping."""
        if self._pinged_at is not None and self._wire.heard_at < self._pinged_at:
            self.post(Kill(1011, "keepalive lost", trio.current_time()))
            return
        self._pinged_at = trio.current_time()
        self._wire.ping()

    def _hear(self, message: str | bytes) -> None:
        now = trio.current_time()
        try:
            frame = decode(message)
            remembered = isinstance(frame, Message) and self._parts.recorder is not UNKEPT
            key = self._parts.new_id() if remembered else ""
            self.post(Received(frame, now, self._offered(frame), key))
        except BadFrame as error:
            self.post(Malformed(error.code, error.message, error.ref, now))

    def _offered(self, frame: Inbound) -> tuple[ToolDefinition, ...]:
        """Return the tools that come with a message. Raises BadFrame for what is none."""
        if not isinstance(frame, Message) or not frame.tools:
            return ()
        try:
            return self._parts.read_tools(frame.tools)
        except BadTool as error:
            raise BadFrame("bad_tool", str(error), frame.id) from None

    def _report(self, outcome: Outcome) -> None:
        self._running = None
        self.post(Reported(outcome, trio.current_time()))

    def _break(self, error: Exception) -> None:
        """The session itself is at fault: say so, let go of everything, close."""
        fault = self._parts.new_id()
        _log.error("session broke", session=self.id, fault=fault, **where(error))
        self._parts.observer.count("errors", "internal")
        self._end_turn(None)
        self._stop_action(None)
        self._let_go(None)
        message = f"Something broke here; connect again, or report fault {fault}."
        self._send(Error(code="internal", message=message))
        self._close(Close(1011, "internal error"))

    # --- effects, each by its performer

    def _do_send(self, effect: Send) -> None:
        self._send(effect.frame)

    def _send(self, frame: Outbound) -> None:
        written = None
        if isinstance(frame, StreamEnd) and frame.reason == "cancelled":
            written = partial(_measure_cancel, self._parts.observer, self._since)
        self._wire.put(self._wire.frame(encode(frame)), written)

    def _begin_turn(self, effect: BeginTurn) -> None:
        if self._turn is not None:
            self._turn.end()  # it has said its last word, but its Brain has not returned
        self._turn = Turn(effect.turn, effect.question, self._parts, self._wire, self.post, self._break)
        self._wire.open_turn(effect.turn)
        if self._unwound is None:
            self._unwound = trio.Lock()
        self._wire.start(self._turn.run, self._unwound)

    def _end_turn(self, _: EndTurn | None) -> None:
        self._wire.purge()
        if self._turn is not None:
            self._turn.end()
            self._turn = None

    def _distrust(self, _: Distrust) -> None:
        if self._turn is not None:
            self._turn.distrust()

    def _resume(self, effect: Resume) -> None:
        if self._turn is not None:
            self._turn.resume(effect.outcome)

    def _speak(self, effect: Speak) -> None:
        if self._turn is not None:
            self._turn.say(effect)

    def _run_action(self, effect: RunAction) -> None:
        self._running = self._parts.runner.start(effect.call, self._report)

    def _stop_action(self, _: StopAction | None) -> None:
        if self._running is not None:
            self._running.stop()

    def _let_go(self, _: LetGoAction | None) -> None:
        if self._running is not None:
            self._running.detach()
            self._running = None

    def _arm(self, effect: ArmExpiry) -> None:
        self._parts.registry.arm(self, effect.suggestion_id)

    def _disarm(self, effect: DisarmExpiry) -> None:
        self._parts.registry.disarm(self, effect.suggestion_id)

    def _keep(self, effect: Keep) -> None:
        offer = partial(_offer, WeakMethod(self.offer))
        self._parts.recorder.keep(effect.question, effect.answered, offer)

    def _decline(self, effect: Decline) -> None:
        self._parts.recorder.decline(effect.scope, effect.item)

    def _ask(self, effect: Ask) -> None:
        if self._parts.memory is None:
            self.post(nothing_remembered(effect.frame))
            return
        self._consulting = trio.CancelScope()
        self._wire.start(self._consult, self._parts.memory, effect, self._consulting)

    async def _consult(self, memory: Consulted, ask: Ask, scope: trio.CancelScope) -> None:
        """Have what is remembered answer, and hear of it, unless the session has ended."""
        parts = self._parts
        with scope:
            asked = Consulting(memory, parts.clock, parts.new_id, parts.lang)
            self.post(await asked.answer(ask.frame, ask.scope))

    def _close(self, effect: Close) -> None:
        self._wire.close(effect.code, effect.reason)
        self._leave(None)

    def _leave(self, _: Leave | None) -> None:
        self._left = True
        self._mail.clear()
        if self._consulting is not None:
            self._consulting.cancel()

    def _note(self, note: Note) -> None:
        self._parts.observer.count(note.metric, note.label)
        named = {"what": note.label or None, "message": note.message, "suggestion": note.suggestion_id}
        _log.info(
            _SAID[note.metric],
            session=self.id,
            **{key: value for key, value in named.items() if value is not None},
        )

    _PERFORM: ClassVar[dict[type[Effect], Callable[["Session", Any], None]]] = {
        Send: _do_send,
        BeginTurn: _begin_turn,
        EndTurn: _end_turn,
        Distrust: _distrust,
        Speak: _speak,
        Resume: _resume,
        RunAction: _run_action,
        StopAction: _stop_action,
        LetGoAction: _let_go,
        ArmExpiry: _arm,
        DisarmExpiry: _disarm,
        Keep: _keep,
        Decline: _decline,
        Ask: _ask,
        Close: _close,
        Leave: _leave,
        Note: _note,
    }


def _offer(session: "WeakMethod[Offer]", question: Question, proposal: Proposal) -> None:
    """Suggest something in a session, unless it is gone; whoever may do that later does not keep it alive."""
    offer = session()
    if offer is not None:
        offer(question, proposal)


def _measure_cancel(observer: Observer, since: float) -> None:
    observer.measure("cancel_seconds", trio.current_time() - since)


def _limits(settings: SessionSettings) -> Limits:
    return Limits(
        MAX_FRAME, MAX_TEXT, QUEUED_MESSAGES, LIVE_SUGGESTIONS, CONFIRM_SECONDS, settings.rate_limit
    )
