"""Speaks with a program: words on its standard input, audio from its standard output.

Strategy: each synthesis is a process of its own, in a group of its own that is killed when its audio is no longer
wanted: an engine has nothing to clean up, so it gets no time for it. Words never stand on a command line, which every
user of the machine can read. The program may print anything: the head of its audio is checked, its amount is bounded by
the words, and each piece has a deadline, which runs only while a piece is waited for. Audio that nobody takes stays in
the pipe, and stops the program there.
"""

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from importlib import metadata

import trio

from ...config import PROCESS_LEAVE_TIMEOUT
from ...errors import VoiceFailed
from ...lang import Lang
from ...ports.voice import SAMPLE_BYTES, SAMPLE_RATE
from ...process import run_in_group
from .pcm import WAV_HEAD, Resampler, is_wav_head, make_filters

SPEECH_FIRST = 12.0  # seconds until the first audio: a model is loaded, and its first sentence computed
SPEECH_NEXT = 4.0  # seconds between two pieces, while one is waited for
# Most seconds of audio, for the words and for each of their characters: engines take some 0.06 a character.
SPEECH_MOST, SPEECH_PER_CHARACTER = 2.0, 0.25
WORDS_BYTES = 32 * 1024  # less than the buffer of a pipe: words are written without waiting for the program

_PIECE = 4096  # bytes that are read at a time: some 90 ms of audio, which take 2 ms to resample
# The variables of our environment that engines may need to start.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")


def make_child_command(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of ours in a new interpreter, in the environment of `make_environment`."""
    return (sys.executable, "-P", "-S", "-m", module, *arguments)


def make_environment() -> dict[str, str]:
    """Return the variables of an engine's process: none of our keys, and our module search path for modules of ours."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return {**{name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}, "PYTHONPATH": path}


def name_package(distribution: str) -> str:
    """Return name and version of an installed package; the name alone where its version is not recorded. Blocks."""
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return distribution


class SpeechProgram:
    """Speaks with one program (implements `agent.ports.voice.Synthesizer`).

    `name`: for messages. `commands`: the command of each language. `rate`: samples a second that it makes, 16-bit mono.
    `has_head`: whether it begins with the head of a WAV stream, which is checked, or at once with samples. `origin`:
    the program or the package, for an operator.
    """

    def __init__(
        self,
        name: str,
        commands: Mapping[Lang, Sequence[str]],
        rate: int,
        *,
        has_head: bool = True,
        origin: str = "",
    ) -> None:
        self.origin = origin
        self._name = name
        self._commands = commands
        self._rate = rate
        self._has_head = has_head
        if rate != SAMPLE_RATE:
            make_filters(rate)  # now, at the start of the server: it takes some CPU

    @property
    def langs(self) -> tuple[Lang, ...]:
        """The languages that the program speaks."""
        return tuple(self._commands)

    def synthesize(self, words: str, lang: Lang) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open the audio of `words`; the program is started by the first iteration.

        Leaving the block, also by a cancel, kills the program's group, within `PROCESS_LEAVE_TIMEOUT` seconds.
        Iterating raises `agent.errors.VoiceFailed`.
        """
        return aclosing(self._make_pieces(words, lang))

    async def _make_pieces(self, words: str, lang: Lang) -> AsyncGenerator[bytes, None]:
        text = " ".join(words.split())
        line = f"{text}\n".encode()
        if not text or len(line) > WORDS_BYTES:
            raise VoiceFailed(
                "there are no words to speak" if not text else "there are too many words to speak"
            )
        if lang not in self._commands:
            raise VoiceFailed(f"{self._name} does not speak this language")
        left = int((SPEECH_MOST + SPEECH_PER_CHARACTER * len(text)) * self._rate) * SAMPLE_BYTES
        resampler = Resampler(self._rate)
        has_sound = False
        try:
            async with run_in_group(self._commands[lang], os.sep, make_environment(), grace=0) as process:
                await self._begin(process, line)
                seconds = SPEECH_FIRST
                while piece := await self._receive(process, _PIECE, seconds):
                    seconds = SPEECH_NEXT
                    left -= len(piece)
                    if left < 0:
                        raise VoiceFailed(f"{self._name} makes far too much audio")
                    has_sound = has_sound or any(piece)
                    if audio := resampler.convert(piece):
                        yield audio
                await self._check_end(process)
                if not has_sound:
                    raise VoiceFailed(f"{self._name} makes no audio")
                yield resampler.end()
        except OSError as error:
            raise VoiceFailed(f"{self._name} cannot be started ({error.strerror})") from None

    async def _begin(self, process: trio.Process, line: bytes) -> None:
        """Give the program its words, and take the head of its audio."""
        assert process.stdin is not None
        try:
            with trio.fail_after(SPEECH_NEXT):
                await process.stdin.send_all(line)
                await process.stdin.aclose()
        except (trio.BrokenResourceError, trio.TooSlowError):
            raise VoiceFailed(f"{self._name} takes no words") from None
        head = b""
        while self._has_head and len(head) < WAV_HEAD.size:
            piece = await self._receive(process, WAV_HEAD.size - len(head), SPEECH_FIRST)
            if not piece:
                raise VoiceFailed(f"{self._name} makes no audio")
            head += piece
        if self._has_head and not is_wav_head(head, self._rate):
            raise VoiceFailed(f"{self._name} prints something else than its audio")

    async def _receive(self, process: trio.Process, most: int, seconds: float) -> bytes:
        """Return the next bytes of the program, b"" at their end."""
        assert process.stdout is not None
        with trio.move_on_after(seconds):
            return bytes(await process.stdout.receive_some(most))
        raise VoiceFailed(f"{self._name} takes too long")

    async def _check_end(self, process: trio.Process) -> None:
        """Raise `VoiceFailed` unless `process` ends with the status 0."""
        with trio.move_on_after(PROCESS_LEAVE_TIMEOUT):
            await process.wait()
        if process.returncode != 0:
            raise VoiceFailed(f"{self._name} has broken off")
