"""Hears the words that a file gives for audio: an ear for tests.

Strategy: the file maps the SHA-256 of an utterance's PCM to its words. An utterance goes from its first frame to the
last sample that is not zero. Frames of only zeros before its first sound do not count, but the audio with them is
looked up too. So two hashes run along, of the audio without and with those frames, each with a copy of its state at the
last sound: memory is constant however long the silence.
"""

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trio

from ...config import MAX_TEXT
from ...errors import UsageError
from ...lang import LANGUAGES, Lang
from ...ports.voice import SAMPLE_BYTES, EarUpdate, VoiceTranscript

SCRIPT_BYTES = 1024 * 1024  # of the file
_HASH_CHARACTERS = 64
_HEX = frozenset("0123456789abcdef")


class Script:
    """Hears the words of a script file, in any language (implements `agent.ports.voice.Recognizer`).

    `words`: the words of an utterance by the SHA-256 of its PCM, in lower-case hex.
    """

    langs: tuple[Lang, ...] = tuple(LANGUAGES)
    origin = "known audio, for tests"

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words

    @asynccontextmanager
    async def open_ear(self) -> AsyncGenerator["ScriptEar", None]:
        """Open an ear for one client, without a process."""
        await trio.lowlevel.checkpoint()
        yield ScriptEar(self._words)


class ScriptEar:
    """Looks up the audio of one client (implements `agent.ports.voice.Ear`). Speech is any sample that is not zero."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = words
        self._begin_utterance()

    def _begin_utterance(self) -> None:
        self._has_sound = False
        self._text = ""  # of the longest part of the utterance that the file knows
        self._whole = _SoundHash()
        self._spoken = _SoundHash()  # without the frames of only zeros before the first sound

    async def feed(self, pcm: bytes) -> EarUpdate:
        """Add a frame. The partial words are those of the longest beginning of the utterance that the file knows."""
        await trio.lowlevel.checkpoint()
        is_speech = any(pcm)
        self._has_sound = self._has_sound or is_speech
        self._whole.update(pcm)
        if self._has_sound:
            self._spoken.update(pcm)
        if is_speech:
            self._text = self._find_words() or self._text
        return EarUpdate(is_speech, self._text)

    async def finish(self) -> VoiceTranscript:
        """Return the words of the utterance, "" where the file does not know its audio."""
        await trio.lowlevel.checkpoint()
        text = self._find_words()
        self._begin_utterance()
        return VoiceTranscript(text, is_sure=bool(text))

    async def discard(self) -> None:
        """Forget the utterance."""
        await trio.lowlevel.checkpoint()
        self._begin_utterance()

    def _find_words(self) -> str:
        return self._words.get(self._spoken.digest, "") or self._words.get(self._whole.digest, "")


class _SoundHash:
    """The SHA-256 of audio up to its last sample that is not zero."""

    def __init__(self) -> None:
        self._all = hashlib.sha256()
        self._at_sound = self._all.copy()

    def update(self, pcm: bytes) -> None:
        end = len(pcm.rstrip(b"\0"))
        end += end % SAMPLE_BYTES
        if end:
            self._all.update(pcm[:end])
            self._at_sound = self._all.copy()
        self._all.update(pcm[end:])

    @property
    def digest(self) -> str:
        """The hash in hex; that of no audio where there was no sound."""
        return self._at_sound.hexdigest()


def read_script(path: Path) -> Script:
    """Read a script file: a JSON object of words by SHA-256. Blocks.

    Raises `agent.errors.UsageError`, one sentence, when the file cannot be read or holds anything else.
    """
    try:
        with path.open("rb") as file:
            content = file.read(SCRIPT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"ear script: {path} cannot be read ({error.strerror})") from None
    try:
        words = msgspec.json.decode(content, type=dict[str, str]) if len(content) <= SCRIPT_BYTES else None
    except (msgspec.DecodeError, RecursionError):
        words = None
    if words is None or not all(map(_is_entry, words.items())):
        raise UsageError(
            f"ear script: {path} must be a JSON object of at most {SCRIPT_BYTES // 1024} KiB, "
            'such as {"<SHA-256 of the audio, in lower-case hex>": "the words"}'
        )
    return Script(words)


def _is_entry(entry: tuple[str, str]) -> bool:
    digest, text = entry
    return len(digest) == _HASH_CHARACTERS and _HEX.issuperset(digest) and 0 < len(text) <= MAX_TEXT
