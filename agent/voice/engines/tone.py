"""Beeps once a word: `Tone` is a mouth for tests, and makes the same bytes each time."""

import math
from array import array
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing

import trio

from ...errors import VoiceFailed
from ...lang import LANGUAGES, Lang
from ...ports.voice import SAMPLE_RATE

BEEP_SECONDS, GAP_SECONDS = 0.12, 0.06  # of sine and of silence, for each word
_HERTZ = 440
_PEAK = 12_000  # of 32,767


class Tone:
    """Beeps once for each word, in any language (implements `agent.ports.voice.Synthesizer`)."""

    langs: tuple[Lang, ...] = tuple(LANGUAGES)
    origin = "beeps, for tests"

    def __init__(self) -> None:
        samples = array("h", bytes(2 * round((BEEP_SECONDS + GAP_SECONDS) * SAMPLE_RATE)))
        for index in range(round(BEEP_SECONDS * SAMPLE_RATE)):
            samples[index] = round(_PEAK * math.sin(2 * math.pi * _HERTZ * (index + 0.5) / SAMPLE_RATE))
        self._beep = samples.tobytes()

    def synthesize(self, words: str, lang: Lang) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open the beeps of `words`, a piece for each word. Iterating raises `VoiceFailed` where there are none."""
        return aclosing(self._make_beeps(len(words.split())))

    async def _make_beeps(self, count: int) -> AsyncGenerator[bytes, None]:
        if not count:
            raise VoiceFailed("there are no words to speak")
        for _ in range(count):
            await trio.lowlevel.checkpoint()
            yield self._beep
