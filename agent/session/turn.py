"""One turn: the Brain's work in a task under a scope of its own, and what it says handed to the wire word by word.

Saying is no task: a turn is a voice of the server's one pulse. Its scope never holds a write. When it is ended its
scope is cancelled, the pulse forgets it, and its number is refused by core and wire alike; the task may take a moment
to unwind, and the next turn's Brain waits for that on the session's lock. A text that nobody hears (over HTTP, where no
events are asked for) is handed over as one: of it nothing is said that a cancel could leave unsaid.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
import trio

from ..config import DELTAS_A_PASS
from ..errors import BadTool
from ..grounding import refusals
from ..lang import DEFAULT, Lang
from ..ports.action import Outcome, Runs
from ..ports.brain import (
    Brain,
    Drafted,
    Proposal,
    Question,
    Redraft,
    Refused,
    TurnEvent,
    Verified,
    VerifiedText,
)
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.remember import UNKEPT, Consulted, Recorder
from ..ports.tools import ReadTools, ToolDefinition
from ..ports.wire import Wire
from ..protocol.codec import encode
from ..protocol.outbound import Stream
from ..protocol.payload import fits
from ..text.language import language
from ..text.words import deltas
from ..wire.pulse import Pulse
from .effects import Speak
from .events import Acting, Dropped, Erased, Event, Faulted, Spoken, Told
from .registry import Registry
from .settings import SessionSettings
from .unsaid import without_forgotten

_log = structlog.get_logger("agent.session")


def no_tools(given: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Refuse the tools of a message."""
    raise BadTool("This server takes no tools; send the message without them.")


@dataclass(frozen=True, slots=True)
class Parts:
    """What the sessions of one server share.

    new_id: returns an unguessable id at each call. lang: of a refusal, where a question's own cannot be told. project:
    what its scopes are of. read_tools: makes tools of what came with a message. recorder: remembers what was said.
    memory: answers what clients ask of what is remembered; None where nothing is.
    """

    settings: SessionSettings
    brain: Brain
    runner: Runs
    registry: Registry
    pulse: Pulse
    clock: Clock
    observer: Observer
    new_id: Callable[[], str]
    lang: Lang = DEFAULT
    project: str = ""
    read_tools: ReadTools = no_tools
    recorder: Recorder = UNKEPT
    memory: Consulted | None = None


class Turn:
    """A turn that is alive or unwinding (implements `agent.wire.pulse.Voice`).

    post: the session's mailbox. break_session: what the session does when it is itself at fault.
    """

    __slots__ = (
        "__weakref__",
        "_begun",
        "_break_session",
        "_deltas",
        "_due",
        "_ended",
        "_last_word",
        "_pace",
        "_parts",
        "_pieces",
        "_post",
        "_scope",
        "_speaking",
        "_task_over",
        "_texts",
        "_thinking",
        "_waiting",
        "_wire",
        "number",
        "question",
    )

    def __init__(
        self,
        number: int,
        question: Question,
        parts: Parts,
        wire: Wire,
        post: Callable[[Event], None],
        break_session: Callable[[Exception], None],
    ) -> None:
        self.number = number
        self.question = question
        self._parts = parts
        self._wire = wire
        self._deltas = wire.deltas
        self._pace = parts.settings.pace_ms / 1000
        self._post = post
        self._break_session = break_session
        self._scope = trio.CancelScope()
        self._thinking = trio.CancelScope()
        self._waiting: tuple[trio.Event, list[Outcome]] | None = None  # of the call that the Brain waits for
        self._texts: list[Speak] = []  # the first is being said
        self._pieces: list[str] = []  # what is left of that one, the next piece last
        self._due = 0.0  # when the next piece may be said; 0 is now
        self._begun = False  # something was said
        self._speaking = False  # the pulse calls it, or will when there is room
        self._last_word = False  # the Brain has said it, or was found at fault
        self._task_over = False
        self._ended = False  # by the session, or because everything was handed over
        parts.observer.gauge("turns", 1)

    async def run(self, unwound: trio.Lock) -> None:
        """Let the Brain answer once `unwound` is free; return when it has, or when the turn was ended.

        Whatever else ends it, the session is told: a turn never disappears without a word.
        """
        try:
            with self._scope:
                async with unwound:
                    await self._think()
        finally:
            self._task_over = True
            if self._ended:
                self._parts.observer.gauge("turns", -1)
            if not self._ended and not self._last_word:
                self._post(Dropped(self.number, trio.current_time()))

    @property
    def cancel_scope(self) -> trio.CancelScope:
        """What the Brain runs in; when it is cancelled by another than the session, that is told."""
        return self._scope

    def end(self) -> None:
        """Cancel everything this turn does, and say nothing more."""
        self._fall_silent()
        self._scope.cancel()

    def say(self, speak: Speak) -> None:
        """Say a text after those that were given before; the first piece at once, where nothing is being said."""
        if self._ended:
            return  # its wire takes nothing any more
        self._texts.append(speak)
        if not self._speaking:
            self._resume()

    def resume(self, outcome: Outcome) -> None:
        """Tell the Brain how the call ended that it waits for; one that has given up waiting hears nothing."""
        if self._waiting is not None:
            resumed, ended = self._waiting
            ended.append(outcome)
            resumed.set()

    def distrust(self) -> None:
        """Stop a Brain that spoke out of order; the refusal that follows is still said."""
        self._thinking.cancel()
        self._fault(RuntimeError("the Brain spoke out of order"))

    def step(self, now: float) -> float | None:
        """Hand over the piece that is due, or a few where there is no pace; return when the next one is due.

        A server that goes down keeps no pace: what is verified is said while there is time.
        None when everything was handed over, or no more may wait: then it goes on as soon as something has left.
        """
        deltas = self._deltas
        pace = 0.0 if self._parts.registry.draining else self._pace
        if not pace:
            self._due = 0.0
        left = 1 if pace else DELTAS_A_PASS
        while left:
            left -= 1
            if not self._pieces and not self._next_piece():
                break
            if deltas.room <= 0:
                self._due = 0.0  # what is held up by its client is not made up for
                deltas.when_room(self._go_on)
                return None
            if pace:
                self._due = (self._due or now) + pace
            self._hand_over(now)
        deltas.flush()
        self._speaking = bool(self._texts)
        return self._due if self._speaking else None

    def broke(self, error: Exception) -> None:
        """Break the session: what it would say cannot be said."""
        self._break_session(error)

    async def _think(self) -> None:
        try:
            with self._thinking:
                question = await self._recalled()
                await self._parts.brain.answer(question, self._tell, self._act)
                if not self._last_word:
                    raise RuntimeError("the Brain returned without an answer")
        except* Exception as broken:  # noqa: BLE001 - the edge of one turn
            self._fault(broken.exceptions[0])

    async def _recalled(self) -> Question:
        """Return the question after what may still be told of the conversation; its session lets go of the rest."""
        memory = self._parts.memory
        if memory is None:
            return self.question
        question, gone = await without_forgotten(self.question, memory.desk)
        if gone:
            self._post(Erased(gone, frozenset(), trio.current_time()))
        return question

    def _go_on(self) -> None:
        """There is room again: go on in the pulse, which knows what to do about a fault."""
        self._parts.pulse.add(self, self._due)

    def _resume(self) -> None:
        """Go on, or begin: now, unless the pace says later."""
        self._speaking = True
        due: float | None = self._due
        now = trio.current_time()
        if self._due <= now:
            self._due = 0.0
            due = self.step(now)
        if due is not None:
            self._parts.pulse.add(self, due)

    def _next_piece(self) -> bool:
        """Whether there is a piece to hand over; makes those of the text whose turn it is."""
        while self._texts and not self._pieces:
            text = self._texts[0].text
            self._pieces = deltas(text)[::-1] if self._deltas.heard or not text else [text]
            if not self._pieces:
                self._text_is_over()
                self._spoken()
        return bool(self._texts)

    def _hand_over(self, now: float) -> None:
        piece = self._pieces.pop()
        last = not self._pieces
        frame = self._wire.frame(encode(Stream(piece, self.question.id)))
        if not self._deltas.put_delta(self.number, frame, self._spoken if last else None):
            self._fall_silent()
            return
        if not self._begun:
            self._begun = True
            self._parts.observer.measure("first_delta_seconds", now - self.question.at)
        if last:
            self._text_is_over()

    def _text_is_over(self) -> None:
        if self._texts.pop(0).last:
            self._fall_silent()

    def _fall_silent(self) -> None:
        """Say nothing more. Idempotent."""
        if self._ended:
            return
        self._ended = True
        self._texts.clear()
        self._pieces.clear()
        self._parts.pulse.discard(self)
        if self._task_over:
            self._parts.observer.gauge("turns", -1)

    def _tell(self, event: TurnEvent) -> None:
        """What the Brain calls; raises TypeError into it for what may not be sent or suggested."""
        ids: tuple[str, ...] = ()
        if isinstance(event, Verified | Refused):
            if not isinstance(event.text, VerifiedText):
                raise TypeError("only verified text may be sent")
            if not all(fits(each.payload) for each in event.proposals):
                raise TypeError("a payload is a JSON object, neither large nor deep")
            ids = tuple(self._parts.new_id() for _ in event.proposals)
            self._last_word = isinstance(event, Refused) or event.last
        elif not isinstance(event, Drafted | Redraft):
            raise TypeError("a Brain emits turn events only")
        self._post(Told(self.number, event, ids, trio.current_time()))

    async def _act(self, proposal: Proposal) -> Outcome:
        """What the Brain calls to run something inside the turn (see `agent.ports.brain.Act`)."""
        if not fits(proposal.payload):
            raise TypeError("a payload is a JSON object, neither large nor deep")
        if proposal.needs_approval:
            raise TypeError("what needs approval is suggested")
        if self._waiting is not None or self._last_word:
            raise TypeError("a turn waits for one call at a time, before its last word")
        resumed = trio.Event()
        ended: list[Outcome] = []
        self._waiting = (resumed, ended)
        self._post(Acting(self.number, proposal, self._parts.new_id(), trio.current_time()))
        try:
            await resumed.wait()
        finally:
            self._waiting = None
        return ended[0]

    def _spoken(self) -> None:
        self._post(Spoken(self.number, trio.current_time(), self._parts.clock.now_ms()))

    def _fault(self, error: BaseException) -> None:
        self._last_word = True
        fault = self._parts.new_id()
        _log.error("turn broke", message=self.question.id, fault=fault, **where(error))
        lang = self.question.lang or language(self.question.text) or self._parts.lang
        self._post(Faulted(self.number, fault, refusals.model_failed(lang), trio.current_time()))


def where(error: BaseException) -> dict[str, Any]:
    """Return what a log line may say of an exception: its type and place; never its text, never the object."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else "?"
    return {"error": type(error).__name__, "at": place}
