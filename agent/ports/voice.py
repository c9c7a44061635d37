"""Speaks and hears: the interfaces of the engines behind a connection with voice, and the values that cross them.

Audio is PCM throughout: 16-bit little-endian, mono, `SAMPLE_RATE` samples a second.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from ..lang import Lang

SAMPLE_RATE = 16_000
SAMPLE_BYTES = 2
CHUNK_SECONDS = 0.04  # of audio in a binary frame of the server
CHUNK_BYTES = int(SAMPLE_RATE * CHUNK_SECONDS) * SAMPLE_BYTES


class Synthesizer(Protocol):
    """An engine that turns words into audio (the setting `mouth`)."""

    @property
    def langs(self) -> tuple[Lang, ...]:
        """The languages that the engine speaks."""
        ...

    def synthesize(self, words: str, lang: Lang) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open the audio of `words`, which hold no digit and no symbol, as pieces of any size, as they are made.

        Leaving the block, also by a cancel, ends the engine's processes within a bounded time. Iterating raises
        `agent.errors.VoiceFailed` where the engine is missing, hangs, dies, or makes no audio or far too much.
        """
        ...


class EarUpdate(msgspec.Struct, frozen=True, gc=False):
    """The state of an utterance after a frame. `is_speech`: whether the frame holds speech. `partial`: the words so
    far, "" where none are known yet.
    """

    is_speech: bool
    partial: str = ""


class VoiceTranscript(msgspec.Struct, frozen=True, gc=False):
    """The words of an utterance. `is_sure`: whether the engine is sure of each."""

    text: str
    is_sure: bool = False


class Ear(Protocol):
    """A recogniser that hears one client. Its methods are called one after the other, by one task.

    Each raises `agent.errors.VoiceFailed` where the engine hangs, dies or answers nonsense. Cancelled, the ear must be
    closed.
    """

    async def feed(self, pcm: bytes) -> EarUpdate:
        """Add a frame of audio to the utterance."""
        ...

    async def finish(self) -> VoiceTranscript:
        """Return the words of the utterance since the last `finish` or `discard`, and begin the next one."""
        ...

    async def discard(self) -> None:
        """Forget the utterance, and begin the next one."""
        ...


class Recognizer(Protocol):
    """An engine that turns audio into words (the setting `ear`)."""

    @property
    def langs(self) -> tuple[Lang, ...]:
        """The languages that the engine hears."""
        ...

    def open_ear(self) -> AbstractAsyncContextManager[Ear]:
        """Open an ear for one client, in a process of its own where the engine computes.

        Leaving the block ends its processes within a bounded time. Raises `agent.errors.VoiceFailed`.
        """
        ...
