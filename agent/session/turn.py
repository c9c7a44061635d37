"""One turn's task: the Brain's work under a scope of its own, and what it says handed to the outbox word by word.

A turn never touches the wire, and its scope never holds a write. When it is ended its scope is cancelled and its
number is refused by core and outbox alike; the task may take a moment to unwind, and the next turn's Brain waits for
that on the session's lock.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
import trio

from ..actions.runner import Runner
from ..grounding import refusals
from ..lang import DEFAULT, Lang
from ..ports.brain import Brain, Drafted, Question, Redraft, Refused, TurnEvent, Verified, VerifiedText
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..protocol.codec import encode
from ..protocol.outbound import Stream
from ..protocol.payload import fits
from ..text.language import language
from ..text.words import deltas
from ..wire.outbox import Outbox
from .effects import Speak
from .events import Dropped, Event, Faulted, Spoken, Told
from .registry import Registry
from .settings import SessionSettings

_log = structlog.get_logger("agent.session")


@dataclass(frozen=True, slots=True)
class Parts:
    """What the sessions of one server share.

    new_id: returns an unguessable id at each call. lang: of a refusal, where a question's own cannot be told. project:
    what its scopes are of.
    """

    settings: SessionSettings
    brain: Brain
    runner: Runner
    registry: Registry
    clock: Clock
    observer: Observer
    new_id: Callable[[], str]
    lang: Lang = DEFAULT
    project: str = ""


class Turn:
    """A turn that is alive or unwinding.

    post: the session's mailbox. frame: makes a text message of UTF-8 bytes.
    """

    __slots__ = (
        "__weakref__",
        "_answered",
        "_ended",
        "_frame",
        "_heard",
        "_outbox",
        "_parts",
        "_post",
        "_scope",
        "_texts",
        "_thinking",
        "number",
        "question",
    )

    def __init__(
        self,
        number: int,
        question: Question,
        parts: Parts,
        outbox: Outbox,
        post: Callable[[Event], None],
        frame: Callable[[bytes], bytes],
    ) -> None:
        self.number = number
        self.question = question
        self._parts = parts
        self._outbox = outbox
        self._post = post
        self._frame = frame
        self._scope = trio.CancelScope()
        self._thinking = trio.CancelScope()
        self._texts: deque[Speak] = deque()
        self._heard = trio.Event()
        self._answered = False  # the Brain has said its last word
        self._ended = False  # by the session, or because everything was handed over

    async def run(self, unwound: trio.Lock) -> None:
        """Answer the question once `unwound` is free; return when everything was handed over, or when ended.

        Whatever else ends it, the session is told: a turn never disappears without a word.
        """
        self._parts.observer.gauge("turns", 1)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._say)
                    async with unwound:
                        await self._think()
        finally:
            self._parts.observer.gauge("turns", -1)
            if not self._ended:
                self._post(Dropped(self.number, trio.current_time()))

    @property
    def cancel_scope(self) -> trio.CancelScope:
        """What everything that this turn does runs in; cancelled by another than the session, that is told."""
        return self._scope

    def end(self) -> None:
        """Cancel everything this turn does."""
        self._ended = True
        self._scope.cancel()

    def say(self, speak: Speak) -> None:
        """Say a text after those that were given before."""
        self._texts.append(speak)
        self._heard.set()

    def distrust(self) -> None:
        """Stop a Brain that spoke out of order; the refusal that follows is still said."""
        self._thinking.cancel()
        self._fault(RuntimeError("the Brain spoke out of order"))

    async def _think(self) -> None:
        try:
            with self._thinking:
                await self._parts.brain.answer(self.question, self._tell)
                if not self._answered:
                    raise RuntimeError("the Brain returned without an answer")
        except* Exception as broken:  # noqa: BLE001 - the edge of one turn
            self._fault(broken.exceptions[0])

    async def _say(self) -> None:
        pace = self._parts.settings.pace_ms / 1000
        first = True
        last = False
        while not last:
            while not self._texts:
                self._heard = trio.Event()
                await self._heard.wait()
            speak = self._texts.popleft()
            last = speak.last
            pieces = deltas(speak.text)
            for position, delta in enumerate(pieces, 1):
                if pace and not first:
                    await trio.sleep(pace)
                await self._outbox.room()
                frame = self._frame(encode(Stream(delta, self.question.id)))
                written = self._spoken if position == len(pieces) else None
                if not self._outbox.put_delta(self.number, frame, written):
                    return
                if first:
                    first = False
                    self._parts.observer.measure(
                        "first_delta_seconds", trio.current_time() - self.question.at
                    )
            if not pieces:
                self._spoken()
        self._ended = True

    def _tell(self, event: TurnEvent) -> None:
        """What the Brain calls; raises TypeError into it for what may not be sent or suggested."""
        ids: tuple[str, ...] = ()
        if isinstance(event, Verified | Refused):
            if not isinstance(event.text, VerifiedText):
                raise TypeError("only verified text may be sent")
            if not all(fits(each.payload) for each in event.proposals):
                raise TypeError("a payload is a JSON object, neither large nor deep")
            ids = tuple(self._parts.new_id() for _ in event.proposals)
            self._answered = isinstance(event, Refused) or event.last
        elif not isinstance(event, Drafted | Redraft):
            raise TypeError("a Brain emits turn events only")
        self._post(Told(self.number, event, ids, trio.current_time()))

    def _spoken(self) -> None:
        self._post(Spoken(self.number, trio.current_time(), self._parts.clock.now_ms()))

    def _fault(self, error: BaseException) -> None:
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
