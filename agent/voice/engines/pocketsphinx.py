"""Recognises English speech with pocketsphinx while it is spoken; in the process of an ear.

Its model comes with its package. It is never sure: it hears words in any sound.
"""

from pocketsphinx import Decoder

from ...ports.voice import SAMPLE_RATE, VoiceTranscript


class PocketsphinxEngine:
    """Hears one client."""

    def __init__(self) -> None:
        self._decoder = Decoder(samprate=SAMPLE_RATE, loglevel="FATAL")
        self._is_begun = False

    def begin(self) -> None:
        """Begin an utterance."""
        self._end()
        self._decoder.start_utt()
        self._is_begun = True

    def add(self, pcm: bytes) -> str:
        """Return the words so far."""
        self._decoder.process_raw(pcm, False, False)
        return self._find_words()

    def finish(self, pcm: bytes) -> VoiceTranscript:
        """Return the words of the utterance, all of which was added."""
        self._end()
        return VoiceTranscript(self._find_words())

    def _end(self) -> None:
        if self._is_begun:
            self._decoder.end_utt()
        self._is_begun = False

    def _find_words(self) -> str:
        hypothesis = self._decoder.hyp()
        return str(hypothesis.hypstr) if hypothesis is not None else ""


def open_engine() -> PocketsphinxEngine:
    """Load the model of the package into a `PocketsphinxEngine`."""
    return PocketsphinxEngine()
