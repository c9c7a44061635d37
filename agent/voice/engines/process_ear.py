"""Hears with an engine in a process of its own for each client (`worker.py` is its inside).

Strategy: a recogniser is C code that cannot be interrupted, so it runs where it can be killed: in a process group of
its own, which starts when a client begins to listen. Each request has a deadline, and each answer a longest length. A
failure breaks the ear, and nothing else.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import msgspec
import trio

from ...errors import VoiceFailed
from ...lang import Lang
from ...ports.voice import EarUpdate, VoiceTranscript
from ...process import run_in_group
from .ear_requests import ANSWER_MOST, DISCARD, FEED, FINISH, READY, REQUEST_HEAD
from .program import make_child_command, make_environment

EAR_START = 20.0  # seconds until a place is free and the model is loaded; usually 2
EAR_FEED = 8.0  # seconds for a frame; usually some milliseconds
EAR_FINISH = 30.0  # seconds for the words of an utterance; half a minute takes some 4 on a quiet machine

_Answer = TypeVar("_Answer", EarUpdate, VoiceTranscript)


class ProcessRecognizer:
    """Hears each client with a process (implements `agent.ports.voice.Recognizer`).

    `name`: of the engine's module. `arguments`: those of its `open_engine`. `langs`: the languages that it hears.
    `streams`: most ears that are open at once. `origin`: the package, for an operator.
    """

    def __init__(
        self, name: str, arguments: tuple[str, ...], langs: tuple[Lang, ...], streams: int, origin: str = ""
    ) -> None:
        self.langs = langs
        self.origin = origin
        self._name = name
        self._command = make_child_command("agent.voice.engines.worker", name, *arguments)
        self._places = trio.Semaphore(streams)

    @asynccontextmanager
    async def open_ear(self) -> AsyncGenerator["ProcessEar", None]:
        """Open an ear for one client: its process is started, and ready within `EAR_START` seconds.

        Leaving the block, also by a cancel, kills the process's group. Raises `agent.errors.VoiceFailed` where the
        process cannot be started, or where `streams` ears are open all that time.
        """
        async with AsyncExitStack() as stack:
            try:
                with trio.fail_after(EAR_START):
                    await stack.enter_async_context(self._places)
                    environment = {**make_environment(), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
                    run = run_in_group(self._command, os.sep, environment, grace=0)
                    ear = ProcessEar(self._name, await stack.enter_async_context(run))
                    await ear.wait_ready()
            except trio.TooSlowError:
                raise VoiceFailed(f"{self._name} does not start in time") from None
            except OSError as error:
                raise VoiceFailed(f"{self._name} cannot be started ({error.strerror})") from None
            yield ear


class ProcessEar:
    """Hears one client (implements `agent.ports.voice.Ear`). Once a method has failed, all do."""

    def __init__(self, name: str, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._name = name
        self._input, self._output = process.stdin, process.stdout
        self._is_broken = False

    async def wait_ready(self) -> None:
        """Wait until the process can take requests, without a deadline."""
        if await self._receive_line() != READY:
            raise VoiceFailed(f"{self._name} does not start")

    async def feed(self, pcm: bytes) -> EarUpdate:
        """Add a frame of audio, within `EAR_FEED` seconds."""
        return await self._ask(FEED, pcm, EarUpdate, EAR_FEED)

    async def finish(self) -> VoiceTranscript:
        """Return the `VoiceTranscript` of the utterance, within `EAR_FINISH` seconds."""
        return await self._ask(FINISH, b"", VoiceTranscript, EAR_FINISH)

    async def discard(self) -> None:
        """Forget the utterance, within `EAR_FEED` seconds."""
        await self._ask(DISCARD, b"", VoiceTranscript, EAR_FEED)

    async def _ask(self, kind: int, pcm: bytes, answer: type[_Answer], seconds: float) -> _Answer:
        if self._is_broken:
            raise VoiceFailed(f"{self._name} has failed before")
        self._is_broken = True
        try:
            with trio.fail_after(seconds):
                await self._input.send_all(REQUEST_HEAD.pack(kind, len(pcm)) + pcm)
                value = msgspec.json.decode(await self._receive_line(), type=answer)
        except trio.TooSlowError:
            raise VoiceFailed(f"{self._name} takes too long") from None
        except (trio.BrokenResourceError, msgspec.DecodeError, RecursionError):
            raise VoiceFailed(f"{self._name} does not answer as it should") from None
        self._is_broken = False
        return value

    async def _receive_line(self) -> bytes:
        """Return the next line without its end; a process without a request writes none, so nothing follows it."""
        line = bytearray()
        while not line.endswith(b"\n"):
            piece = await self._output.receive_some(ANSWER_MOST)
            line += piece
            if not piece or len(line) > ANSWER_MOST:
                raise VoiceFailed(
                    f"{self._name} has ended" if not piece else f"{self._name} answers too much"
                )
        return bytes(line[:-1])
