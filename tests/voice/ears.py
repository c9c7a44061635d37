"""A hearing over a wire in memory, with an ear and a mouth that a test can break."""

import hashlib
import itertools
import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from agent.errors import VoiceFailed
from agent.lang import LANGUAGES, Lang
from agent.ports.voice import Ear, EarUpdate, Recognizer, VoiceTranscript
from agent.protocol.audio import Listen
from agent.testing.fakes import Figures
from agent.testing.wires import MemoryWire
from agent.voice.engines.script import Script
from agent.voice.hearing import Hearing, HearingParts, VoicePlaces

FRAME = 0.1  # seconds
SILENCE = bytes(3200)


def sound(number: int) -> bytes:
    """Return a frame of 100 ms that differs from those of other numbers."""
    return number.to_bytes(2, "little", signed=True) * 1600


def digest(*frames: bytes) -> str:
    """Return the hash of an utterance, as a file of `script` has it."""
    return hashlib.sha256(b"".join(frames)).hexdigest()


def script(words: Mapping[tuple[int, ...], str]) -> Script:
    """Return a recogniser of utterances by the numbers of their sounds."""
    return Script({digest(*map(sound, numbers)): text for numbers, text in words.items()})


class BreakableEar:
    """An ear that hears "word" in every sound, until it breaks.

    `fails`, `hangs`: the methods that raise, or never return. `words`: of a final. `garbage`: of a partial.
    """

    def __init__(self, of: "BreakableRecognizer") -> None:
        self._of = of
        self._heard = 0

    async def feed(self, pcm: bytes) -> EarUpdate:
        await self._of.step("feed")
        self._of.fed += 1
        self._heard += any(pcm) and not self._of.deaf
        return EarUpdate(any(pcm) and not self._of.deaf, self._of.partial if self._heard else "")

    async def finish(self) -> VoiceTranscript:
        await self._of.step("finish")
        self._heard = 0
        return VoiceTranscript(self._of.words, self._of.is_sure)

    async def discard(self) -> None:
        await self._of.step("discard")
        self._of.discarded += 1
        self._heard = 0


@dataclass
class BreakableRecognizer:
    """Opens ears that break as the test says. `open`: the ears that are open now."""

    partial: str = "word"
    words: str = "two words"
    is_sure: bool = True
    fails: Collection[str] = ()
    hangs: Collection[str] = ()
    error: Exception = field(default_factory=lambda: VoiceFailed("the process ended"))
    langs: tuple[Lang, ...] = tuple(LANGUAGES)
    origin: str = "a file"
    seconds: float = 0.0  # for a final
    dies: float = 0.0  # seconds that the end of an ear takes
    deaf: bool = False  # it hears a noise, and no speech
    open: int = 0
    opened: int = 0
    fed: int = 0
    discarded: int = 0

    async def step(self, name: str) -> None:
        await trio.lowlevel.checkpoint()
        if name in self.hangs:
            await trio.sleep_forever()
        if name == "finish":
            await trio.sleep(self.seconds)
        if name in self.fails:
            raise self.error

    @asynccontextmanager
    async def open_ear(self) -> AsyncGenerator[Ear, None]:
        self.opened += 1
        self.open += 1
        try:
            await self.step("open")
            yield BreakableEar(self)
        finally:
            if self.dies:
                with trio.CancelScope(shield=True):
                    await trio.sleep(self.dies)
            self.open -= 1
            if "close" in self.fails:
                raise self.error


class FakeMouth:
    """A mouth that says one text until it is told otherwise (implements `PausableMouth`)."""

    def __init__(self, message: str = "m1", words: str = "the torque is seven newton metres") -> None:
        self.state = "speaking"
        self.message = message
        self.spoken_words = frozenset(words.split())
        self.calls: list[tuple[float, str]] = []

    @property
    def is_speaking(self) -> bool:
        return self.state == "speaking"

    def _go(self, call: str, sources: tuple[str, ...], state: str) -> bool:
        if self.state in sources:
            self.calls.append((round(trio.current_time(), 3), call))
            self.state = state
            return True
        return False

    def pause(self) -> bool:
        return self._go("pause", ("speaking",), "paused")

    def resume(self) -> None:
        self._go("resume", ("paused",), "speaking")

    def cancel(self, message: str | None = None) -> None:
        if message in (None, self.message):
            self._go("cancel", ("speaking", "paused"), "silent")


class TakingWire(MemoryWire):
    """A wire that keeps the messages that it is to take as the client's."""

    def __init__(self, nursery: trio.Nursery, mouth: FakeMouth | None = None) -> None:
        super().__init__(nursery)
        self.taken: list[dict[str, Any]] = []
        self._mouth = mouth

    def take_message(self, message: str | bytes) -> None:
        frame = json.loads(message)
        self.taken.append(frame)
        if self._mouth is not None:
            self._mouth.cancel(frame["id"] if frame["type"] == "cancel" else None)


@dataclass
class Listener:
    """A hearing and its client."""

    hearing: Hearing
    wire: TakingWire
    parts: HearingParts

    def listen(self, on: bool = True, echo_cancelled: bool = True) -> None:
        self.hearing.set_listening(Listen(on, echo_cancelled))

    async def say(self, *sounds: int, silence: float = 0.0) -> None:
        """Send the frames of sounds, and then of silence, half a second at a time."""
        frames = [*map(sound, sounds), *[SILENCE] * round(silence / FRAME)]
        for begin in range(0, len(frames), 5):
            part = frames[begin : begin + 5]
            for pcm in part:
                self.hearing.take_audio(pcm)
            await trio.sleep(len(part) * FRAME)

    def heard(self) -> list[tuple[str, bool]]:
        """Return the words that the client was shown, and whether they are final."""
        return [(frame["text"], frame.get("final", False)) for frame in self.wire.sent("heard")]

    def errors(self) -> list[str]:
        return [frame["code"] for frame in self.wire.sent("error")]

    def messages(self) -> list[str]:
        return [frame["text"] for frame in self.wire.taken if frame["type"] == "message"]


def parts_of(recognizer: Recognizer, streams: int = 4) -> HearingParts:
    """Return the parts of a server's hearings."""
    ids = itertools.count(1)
    return HearingParts(recognizer, VoicePlaces(streams), lambda: f"heard{next(ids)}", Figures())


@asynccontextmanager
async def listener(
    recognizer: Recognizer | None = None, mouth: FakeMouth | None = None, parts: HearingParts | None = None
) -> AsyncGenerator[Listener, None]:
    """Open a hearing; at the end its client has left, and no ear and no task is left of it."""
    parts = parts or parts_of(recognizer or BreakableRecognizer())
    async with trio.open_nursery() as nursery:
        wire = TakingWire(nursery, mouth)
        hearing = Hearing(parts, wire, mouth)
        yield Listener(hearing, wire, parts)
        hearing.close()
        await trio.testing.wait_all_tasks_blocked()
        assert not nursery.child_tasks
        assert not hearing._has_place
        if isinstance(parts.recognizer, BreakableRecognizer):
            assert not parts.recognizer.open
