"""A session with a mouth over a wire in memory, whose engine is `tone` or one that a test breaks."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import trio
import trio.testing

from agent.errors import VoiceFailed
from agent.lang import Lang
from agent.ports.conversation import Scope
from agent.ports.voice import CHUNK_SECONDS, Synthesizer
from agent.protocol.kinds import VOICE
from agent.session.session import Session
from agent.testing.wires import MemoryWire
from agent.voice.engines.tone import Tone
from agent.voice.hearing import Hearing, HearingParts
from agent.voice.mouth import Mouth
from agent.voice.voice_wire import VoiceWire
from tests.session.harness import World


class BrokenEngine:
    """Beeps like `Tone`, but `fails` after some words, or `hangs` there; each end of it takes `dies` seconds.

    `alive`: the engines that have not ended. `most`: the most at once.
    """

    langs: tuple[Lang, ...] = ("en", "sv")
    origin = "a file"

    def __init__(self, fails: int | None = None, hangs: int | None = None, dies: float = 0.0) -> None:
        self.alive = 0
        self.most = 0
        self.begun = 0
        self._fails = fails
        self._hangs = hangs
        self._dies = dies
        self._is_shattered = False
        self._tone = Tone()

    def synthesize(self, words: str, lang: Lang) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open the beeps."""
        return self._open(words, lang)

    @asynccontextmanager
    async def _open(self, words: str, lang: Lang) -> AsyncGenerator[AsyncIterator[bytes], None]:
        self.alive += 1
        self.begun += 1
        self.most = max(self.most, self.alive)
        try:
            async with aclosing(self._make(words, lang)) as pieces:
                yield pieces
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(self._dies)
            self.alive -= 1

    async def _make(self, words: str, lang: Lang) -> AsyncGenerator[bytes, None]:
        count = 0
        async with self._tone.synthesize(words, lang) as pieces:
            async for piece in pieces:
                if count == self._fails or self._is_shattered:
                    raise VoiceFailed("the engine broke")
                if count == self._hangs:
                    await trio.sleep_forever()
                count += 1
                yield piece

    def shatter(self) -> None:
        """Break at the next piece, and at each first piece after it."""
        self._is_shattered = True

    def mend(self) -> None:
        """Work as it should from now on."""
        self._fails = self._hangs = None
        self._is_shattered = False


class WatchedWire(MemoryWire):
    """A wire that writes what it begins to the transcript."""

    transcript: list[tuple[float, str, Any]]
    has_ended = False
    was_blocked = False

    def block(self) -> None:
        """Read nothing from now on."""
        self.was_blocked = True
        super().block()

    def push(self, frame: dict[str, Any] | str | bytes) -> None:
        """Send a frame, unless the client has left."""
        if not self.has_ended:
            super().push(frame)

    def leave(self) -> None:
        """End the connection as the client."""
        self.has_ended = True
        super().leave()

    def abort(self) -> None:
        """Drop the connection."""
        self.has_ended = True
        super().abort()

    def take_message(self, message: str | bytes) -> None:
        """Take a message as if the client had sent it, unless it has left."""
        if self.has_ended:
            return
        self.transcript.append((trio.current_time(), "taken", json.loads(message)))
        self.push(message)

    def _note(self, frame: bytes) -> None:
        audio, texts = len(self.audio), len(self.frames)
        super()._note(frame)
        if len(self.audio) > audio:
            self.transcript.append((trio.current_time(), "audio", None))
        elif len(self.frames) > texts:
            self.transcript.append((trio.current_time(), "frame", self.frames[-1][1]))


class WatchedMouth(Mouth):
    """A mouth that writes to the transcript when it was silenced, and about which message (None: all)."""

    transcript: list[tuple[float, str, Any]]

    def cancel(self, message: str | None = None) -> None:
        """Fall silent."""
        super().cancel(message)
        self.transcript.append((trio.current_time(), "silence", message))

    def close(self) -> None:
        """End."""
        super().close()
        self.transcript.append((trio.current_time(), "silence", None))


@dataclass(slots=True, weakref_slot=True)
class Talk:
    """A connected client and its mouth."""

    wire: WatchedWire
    mouth: WatchedMouth
    transcript: list[tuple[float, str, Any]]
    session: Session
    hearing: Hearing | None = None

    @property
    def was_blocked(self) -> bool:
        """Whether the client has read nothing for a while."""
        return self.wire.was_blocked

    def count_audio(self, message: str) -> int:
        """Return the number of chunks about `message` that were begun."""
        spoken, count = "", 0
        for _, kind, frame in self.transcript:
            if kind == "frame" and frame["type"] == "speech":
                spoken = frame["id"]
            count += kind == "audio" and spoken == message
        return count

    @property
    def scope(self) -> Scope:
        """The scope of the session."""
        return self.session._core.consults.scope

    @property
    def said(self) -> float:
        """Seconds of audio that were begun."""
        return len(self.wire.audio) * CHUNK_SECONDS

    @property
    def ends(self) -> list[Any]:
        """The reasons of the speeches' ends."""
        return [frame["reason"] for frame in self.wire.sent("speech_end")]


async def connect(
    world: World,
    nursery: trio.Nursery,
    engine: Synthesizer | None = None,
    ears: HearingParts | None = None,
) -> Talk:
    """Start a session with voice, which hears too where there are `ears`."""
    wire = WatchedWire(nursery)
    mouth = WatchedMouth(wire, engine or Tone(), world.pulse)
    transcript = wire.transcript = mouth.transcript = []
    hearing = None if ears is None else Hearing(ears, wire, mouth)
    session = Session(replace(world.parts, kind=VOICE), VoiceWire(wire, mouth, hearing))
    nursery.start_soon(session.run)
    await trio.testing.wait_all_tasks_blocked()
    return Talk(wire, mouth, transcript, session, hearing)
