"""One turn: the Brain's work in a task under its own cancel scope, and its texts, handed to the wire word by word.

Streaming is no task: a turn is a `Voice` of the server's one `Pulse`. Its scope never holds a write. When a turn is
ended, its scope is cancelled, the pulse forgets it, and core and wire alike refuse its number. The task may take a
moment to unwind, and the next turn's Brain waits for that on the session's lock. Where no client receives deltas (over
HTTP without events) a text is handed over as one piece, since a cancel could not stop it halfway.
"""

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

import structlog
import trio

from ..errors import describe_error
from ..grounding import refusals
from ..lang import Lang
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
)
from ..ports.tracing import TURN_SPAN, Span
from ..ports.wire import Wire
from ..protocol.codec import encode
from ..protocol.outbound import Stream
from ..protocol.payload import is_valid_payload
from ..text.language import detect_language
from ..text.words import split_deltas
from ..wire.pulse import PULSE_TICK
from .context import SessionContext
from .effects import SpeakText
from .events import (
    BrainEvent,
    BrainFailed,
    CallRequested,
    Event,
    MemoryErased,
    SpeechPlayed,
    StateLasted,
    TextWritten,
    TurnDropped,
)
from .forgotten_exchanges import drop_forgotten

DELTAS_A_PASS = 8  # of one turn without a pace, before the turns of others

_log = structlog.get_logger("agent.session")


class StateWatch:
    """Posts `StateLasted` for the turn `number` at `due` (implements `agent.wire.pulse.Voice`).

    `break_session`: ends the session when the event cannot be handled.
    """

    __slots__ = ("_break_session", "_number", "_post", "due")

    def __init__(
        self, number: int, post: Callable[[Event], None], break_session: Callable[[Exception], None]
    ) -> None:
        self._number = number
        self._post = post
        self._break_session = break_session
        self.due = 0.0

    def step(self, now: float) -> float | None:
        """Post the event, unless it is only hurried and not due: the pulse calls in the tick of `due`, or later."""
        if now < self.due - PULSE_TICK:
            return self.due
        self._post(StateLasted(self._number, now))
        return None

    def fail(self, error: Exception) -> None:
        """Break the session."""
        self._break_session(error)


class LiveTurn:
    """A turn that runs or unwinds (implements `agent.wire.pulse.Voice`).

    `post`: the session's mailbox. `break_session`: ends the session when streaming fails. `span`: that of the turn,
    which the session ends.
    """

    __slots__ = (
        "__weakref__",
        "_begun",
        "_break_session",
        "_context",
        "_deltas",
        "_due",
        "_ended",
        "_last_word",
        "_pace",
        "_pieces",
        "_post",
        "_scope",
        "_sources",
        "_span",
        "_speaking",
        "_task_over",
        "_texts",
        "_thinking",
        "_waiting",
        "_watch",
        "_wire",
        "number",
        "question",
    )

    def __init__(
        self,
        number: int,
        question: Question,
        context: SessionContext,
        wire: Wire,
        post: Callable[[Event], None],
        break_session: Callable[[Exception], None],
        span: Span | None = None,
    ) -> None:
        self.number = number
        self.question = question
        self._context = context
        self._wire = wire
        self._deltas = wire.deltas
        self._pace = context.settings.pace_ms / 1000
        self._post = post
        self._break_session = break_session
        self._span = span
        self._scope = trio.CancelScope()
        self._thinking = trio.CancelScope()
        self._waiting: tuple[trio.Event, list[Outcome]] | None = None  # of the call that the Brain waits for
        self._texts: list[SpeakText] = []  # the first is being streamed
        self._pieces: list[str] = []  # the rest of that text, the next piece last
        self._sources: dict[int, tuple[int, ...]] = {}  # of its parts, by the pieces that follow each
        self._due = 0.0  # when the next piece may be sent; 0 is now
        self._begun = False  # a piece was sent
        self._speaking = False  # the pulse calls it, or will when there is room
        self._last_word = False  # the Brain has emitted its last event, or has failed
        self._task_over = False
        self._watch: StateWatch | None = None  # where the client asks for the turn's progress
        self._ended = False  # by the session, or because everything was handed over
        context.observer.gauge("turns", 1)

    async def run(self, unwound: trio.Lock) -> None:
        """Let the Brain answer once `unwound` is free; return when it has, or when the turn was ended.

        When the task ends in any other way, `TurnDropped` is posted: a turn never disappears unnoticed.
        """
        if self._span is not None:
            TURN_SPAN.set(self._span)  # in this task's own context
        try:
            with self._scope:
                async with unwound:
                    await self._think()
        finally:
            self._task_over = True
            if self._ended:
                self._context.observer.gauge("turns", -1)
            if not self._ended and not self._last_word:
                self._post(TurnDropped(self.number, trio.current_time()))

    @property
    def cancel_scope(self) -> trio.CancelScope:
        """The scope that the Brain runs in; a cancel by anything but the session posts `TurnDropped`."""
        return self._scope

    def end(self) -> None:
        """Cancel everything this turn does, and send no more of it."""
        self._stop_speaking()
        self._scope.cancel()

    def speak_text(self, speak: SpeakText) -> None:
        """Stream a text after the earlier ones; its first piece at once when no text is being streamed."""
        if self._ended:
            return  # the wire accepts no delta of this turn any more
        self._texts.append(speak)
        if not self._speaking:
            self._resume()
        speaker = self._wire.speaker
        if speaker is not None:
            lang = self._choose_lang()
            speaker.speak_text(speak.make_speech(self.question.id, lang, self._report_played))

    def watch_state(self, due: float) -> None:
        """Post `StateLasted` at `due`, in place of an earlier call, unless the turn has ended by then."""
        if self._ended:
            return
        if self._watch is None:
            self._watch = StateWatch(self.number, self._post, self._break_session)
        self._watch.due = due
        self._context.pulse.add(self._watch, due)

    def resume_brain(self, outcome: Outcome) -> None:
        """Give the Brain the outcome of the call it waits for; do nothing when it has stopped waiting."""
        if self._waiting is not None:
            resumed, ended = self._waiting
            ended.append(outcome)
            resumed.set()

    def stop_brain(self) -> None:
        """Stop a Brain that emitted an event out of order; the refusal that follows is still streamed."""
        self._thinking.cancel()
        self._fault(RuntimeError("the Brain emitted an event out of order"))

    def step(self, now: float) -> float | None:
        """Hand over the piece that is due, or a few where there is no pace; return when the next piece is due.

        A draining server keeps no pace: verified text is sent while there is time. Return `None` when everything was
        handed over, or when the outbox is full: then the turn continues as soon as deltas have left.
        """
        deltas = self._deltas
        pace = 0.0 if self._context.registry.draining else self._pace
        if not pace:
            self._due = 0.0
        elif self._begun and len(self._pieces) > 1 and deltas.room > 0:  # nearly all deltas
            self._due = due = (self._due or now) + pace
            if not deltas.send_delta(self.number, self._take_frame()):
                self._stop_speaking()
            if self._texts:
                return due
            self._speaking = False
            return None
        passes_left = 1 if pace else DELTAS_A_PASS
        while passes_left:
            passes_left -= 1
            if not self._pieces and not self._has_piece():
                break
            if deltas.room <= 0:
                self._due = 0.0  # time that a slow client cost is not made up for
                deltas.call_when_room(self._go_on)
                return None
            if pace:
                self._due = (self._due or now) + pace
            self._hand_over(now)
        deltas.flush()
        self._speaking = bool(self._texts)
        return self._due if self._speaking else None

    def fail(self, error: Exception) -> None:
        """Break the session: the text cannot be streamed."""
        self._break_session(error)

    async def _think(self) -> None:
        try:
            with self._thinking:
                question = await self._load_question()
                act = self._run_call if self._context.kind.suggests else None
                await self._context.brain.answer(question, self._take_event, act)
                if not self._last_word:
                    raise RuntimeError("the Brain returned without an answer")
        except* Exception as broken:  # noqa: BLE001 - the edge of one turn
            self._fault(broken.exceptions[0])

    async def _load_question(self) -> Question:
        """Return the question without forgotten exchanges; the session's history drops them too."""
        memory = self._context.memory
        if memory is None:
            return self.question
        question, forgotten = await drop_forgotten(self.question, memory.desk)
        if forgotten:
            self._post(MemoryErased(forgotten, frozenset(), trio.current_time()))
        return question

    def _go_on(self) -> None:
        """Continue in the pulse now that there is room; the pulse reports a fault through `fail`."""
        self._context.pulse.add(self, self._due)

    def _resume(self) -> None:
        """Start or continue streaming: now, unless the pace says later."""
        self._speaking = True
        due: float | None = self._due
        now = trio.current_time()
        if self._due <= now:
            self._due = 0.0
            due = self.step(now)
        if due is not None:
            self._context.pulse.add(self, due)

    def _has_piece(self) -> bool:
        """Tell whether there is a piece to hand over, after cutting the next text into pieces where needed."""
        while self._texts and not self._pieces:
            self._pieces = self._cut_text(self._texts[0])
            if not self._pieces:
                self._end_text()
                self._report_written()
        return bool(self._texts)

    def _cut_text(self, speak: SpeakText) -> list[str]:
        """Return the pieces of a text, the last one first; one piece where no client listens.

        Note the sources of each part with the number of the pieces after its last one.
        """
        text = speak.text
        deltas = split_deltas(text) if self._deltas.has_listener or not text else [text]
        places = list(accumulate(map(len, deltas))) if speak.marks else []
        for end, sources in speak.marks:
            after = len(deltas) - 1 - bisect_left(places, end)
            self._sources[after] = (*self._sources.get(after, ()), *sources)
        return deltas[::-1]

    def _take_frame(self) -> bytes:
        """Take the next piece, and return its frame."""
        piece = self._pieces.pop()
        sources = self._sources.pop(len(self._pieces), ()) if self._sources else ()
        return self._wire.make_frame(encode(Stream(piece, self.question.id, sources)))

    def _hand_over(self, now: float) -> None:
        frame = self._take_frame()
        last = not self._pieces
        if not self._deltas.put_delta(self.number, frame, self._report_written if last else None):
            self._stop_speaking()
            return
        if not self._begun:
            self._begun = True
            self._context.observer.measure("first_delta_seconds", now - self.question.at)
        if last:
            self._end_text()

    def _end_text(self) -> None:
        if self._texts.pop(0).last:
            self._stop_speaking()

    def _stop_speaking(self) -> None:
        """Stop streaming. Idempotent."""
        if self._ended:
            return
        self._ended = True
        self._texts.clear()
        self._pieces.clear()
        self._context.pulse.discard(self)
        if self._watch is not None:
            self._context.pulse.discard(self._watch)
        if self._task_over:
            self._context.observer.gauge("turns", -1)

    def _take_event(self, event: TurnEvent) -> None:
        """Post an event of the Brain (its `emit`); raise `TypeError` when it may not be sent or suggested."""
        ids: tuple[str, ...] = ()
        if isinstance(event, VerifiedPart | TurnRefusal):
            kind = self._context.kind
            if type(event.text) not in kind.texts:
                raise TypeError("only verified text of the connection's kind may be sent")
            if event.proposals and not kind.suggests:
                raise TypeError("nothing is suggested on a connection of this kind")
            if not all(is_valid_payload(each.payload) for each in event.proposals):
                raise TypeError("a payload is a JSON object, neither large nor deep")
            ids = tuple(self._context.new_id() for _ in event.proposals)
            self._last_word = isinstance(event, TurnRefusal) or event.last
        elif not isinstance(event, DraftBegun | DraftCompleted | Redraft):
            raise TypeError("a Brain emits turn events only")
        self._post(BrainEvent(self.number, event, ids, trio.current_time()))

    async def _run_call(self, proposal: Proposal) -> Outcome:
        """Run a call inside the turn for the Brain, and return its outcome (implements `agent.ports.brain.RunCall`)."""
        if not is_valid_payload(proposal.payload):
            raise TypeError("a payload is a JSON object, neither large nor deep")
        if proposal.needs_approval:
            raise TypeError("a call that needs approval is suggested, not run inside the turn")
        if self._waiting is not None or self._last_word:
            raise TypeError("a turn waits for one call at a time, before its last word")
        resumed = trio.Event()
        ended: list[Outcome] = []
        self._waiting = (resumed, ended)
        self._post(CallRequested(self.number, proposal, self._context.new_id(), trio.current_time()))
        try:
            await resumed.wait()
        finally:
            self._waiting = None
        return ended[0]

    def _report_written(self) -> None:
        self._post(TextWritten(self.number, trio.current_time(), self._context.clock.now_ms()))

    def _report_played(self, end: int) -> None:
        self._post(SpeechPlayed(self.question.key_or_id, end, trio.current_time()))

    def _fault(self, error: BaseException) -> None:
        self._last_word = True
        fault = self._context.new_id()
        _log.error("turn broke", message=self.question.id, fault=fault, **describe_error(error))
        refusal = refusals.model_failed(self._choose_lang())
        self._post(BrainFailed(self.number, fault, refusal, trio.current_time()))

    def _choose_lang(self) -> Lang:
        return self.question.lang or detect_language(self.question.text) or self._context.lang
