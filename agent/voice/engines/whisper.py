"""Recognises speech with Whisper by faster-whisper, an utterance at a time; in the process of an ear.

Whisper computes half a minute of audio for each look, so it has no partial words of its own. Where pocketsphinx is
installed, the partial words are its words: good enough to tell a word from a cough. When it falls behind the audio, the
partial words end for this utterance, so that the final words do not wait for them.
"""

import time
from importlib import import_module
from importlib.util import find_spec

import numpy
from faster_whisper import WhisperModel

from ...ports.voice import SAMPLE_BYTES, SAMPLE_RATE, VoiceTranscript
from .worker import SpeechEngine

_SURE = 0.6  # least probability of each word of a transcript that is sure
_NO_SPEECH = (
    0.6  # of a segment's probability that it is no speech: such a segment with unsure words is dropped
)
_UNSURE = -1.0  # mean log probability, as in Whisper's own rule for silence
# Seconds that partial words may take: at first, and for each second of audio.
_PARTIAL_FIRST, _PARTIAL_SHARE = 0.3, 0.5


class WhisperEngine:
    """Hears one client. `partials`: an engine that hears the words so far, if any."""

    def __init__(self, folder: str, partials: SpeechEngine | None) -> None:
        self._model = WhisperModel(
            folder, device="cpu", compute_type="int8", cpu_threads=1, num_workers=1, local_files_only=True
        )
        self._partials = partials
        self._left = 0.0  # seconds that partial words may still take
        self._text = ""

    def begin(self) -> None:
        """Begin an utterance."""
        self._left, self._text = _PARTIAL_FIRST, ""
        if self._partials is not None:
            self._partials.begin()

    def add(self, pcm: bytes) -> str:
        """Return the words of the other engine so far."""
        if self._partials is not None and self._left > 0:
            begun = time.monotonic()
            self._text = self._partials.add(pcm)
            self._left += _PARTIAL_SHARE * len(pcm) / (SAMPLE_RATE * SAMPLE_BYTES) - (
                time.monotonic() - begun
            )
        return self._text

    def finish(self, pcm: bytes) -> VoiceTranscript:
        """Return the words of an utterance; sure is a transcript of which each word is probable."""
        samples = numpy.frombuffer(pcm, "<i2").astype(numpy.float32) / 32_768
        segments, _ = self._model.transcribe(
            samples,
            language=None if self._model.model.is_multilingual else "en",
            beam_size=5,
            temperature=0.0,
            condition_on_previous_text=False,
            word_timestamps=True,
        )
        heard = [
            segment
            for segment in segments
            if segment.no_speech_prob < _NO_SPEECH or segment.avg_logprob > _UNSURE
        ]
        words = [word for segment in heard for word in segment.words or ()]
        text = " ".join(segment.text.strip() for segment in heard).strip()
        return VoiceTranscript(text, bool(text) and all(word.probability >= _SURE for word in words))


def open_engine(folder: str) -> WhisperEngine:
    """Load the model in `folder`, in the format of CTranslate2."""
    partials = None
    if find_spec("pocketsphinx") is not None:
        partials = import_module(f"{__package__}.pocketsphinx").open_engine()
    return WhisperEngine(folder, partials)
