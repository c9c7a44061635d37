"""Recognises English speech with Moonshine while it is spoken; in the process of an ear. It is never sure."""

from array import array
from pathlib import Path

from moonshine_voice.moonshine_api import ModelArch
from moonshine_voice.transcriber import Stream, Transcriber

from ...ports.voice import SAMPLE_RATE, VoiceTranscript

_UPDATE_SECONDS = 0.3  # of audio between two looks for words
_TINY_BYTES = (
    20 * 1024 * 1024
)  # of the encoder: that of the tiny model has 13 MB, that of the base model more


class MoonshineEngine:
    """Hears one client."""

    def __init__(self, folder: str) -> None:
        is_tiny = (Path(folder) / "encoder_model.ort").stat().st_size < _TINY_BYTES
        self._model = Transcriber(folder, ModelArch.TINY if is_tiny else ModelArch.BASE)
        self._stream: Stream | None = None
        self._waiting = bytearray()  # audio since the last look
        self._text = ""

    def begin(self) -> None:
        """Begin an utterance."""
        if self._stream is not None:
            self._stream.close()
        self._stream = None
        self._waiting.clear()
        self._text = ""

    def add(self, pcm: bytes) -> str:
        """Return the words so far."""
        self._waiting += pcm
        if len(self._waiting) >= _UPDATE_SECONDS * SAMPLE_RATE * 2:
            if self._stream is None:
                self._stream = self._model.create_stream(update_interval=1e9)
                self._stream.start()
            self._stream.add_audio(_read_samples(bytes(self._waiting)), SAMPLE_RATE)
            self._waiting.clear()
            self._text = _join_lines(self._stream.update_transcription())
        return self._text

    def finish(self, pcm: bytes) -> VoiceTranscript:
        """Return the words of an utterance, heard again as a whole."""
        return VoiceTranscript(
            _join_lines(self._model.transcribe_without_streaming(_read_samples(pcm), SAMPLE_RATE))
        )


def _read_samples(pcm: bytes) -> list[float]:
    return [sample / 32_768 for sample in array("h", pcm)]


def _join_lines(transcript: object) -> str:
    return " ".join(line.text.strip() for line in transcript.lines).strip()  # type: ignore[attr-defined]


def open_engine(folder: str) -> MoonshineEngine:
    """Load the model in `folder` into a `MoonshineEngine`."""
    return MoonshineEngine(folder)
