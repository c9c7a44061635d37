"""The inside of an ear's process, which detects and recognises the speech of one client.

Its outside is `process_ear.py`. It is run as a module, `worker ENGINE [FOLDER]`, and answers one request of
`ear_requests.py` after another. It ends with its owner: at the end of its input, and, while it computes, when the
reader of its output has left.
"""

import importlib
import os
import resource
import select
import sys
from threading import Thread
from typing import Protocol

import msgspec

from ...ports.voice import EarUpdate, VoiceTranscript
from .detector import SpeechDetector
from .ear_requests import FEED, FINISH, FRAME_MOST, READY, REQUEST_HEAD

_SPARE = 1024 * 1024 * 1024  # bytes of address space over those of the loaded model


class SpeechEngine(Protocol):
    """A recogniser of one client, as its module's `open_engine` makes it. Its methods block."""

    def begin(self) -> None:
        """Begin an utterance; the one before is forgotten."""
        ...

    def add(self, pcm: bytes) -> str:
        """Add audio of the utterance, and return the words so far, "" where none are known yet."""
        ...

    def finish(self, pcm: bytes) -> VoiceTranscript:
        """Return the words of the whole utterance `pcm`."""
        ...


class SpeechWorker:
    """Answers the requests of one ear."""

    def __init__(self, engine: SpeechEngine) -> None:
        self._engine = engine
        self._detector = SpeechDetector()
        self._partial = ""
        engine.begin()

    def answer(self, kind: int, pcm: bytes) -> bytes:
        """Return the answer to a request, a line."""
        if kind == FEED:
            detected = self._detector.feed(pcm)
            if detected.joined:
                self._partial = self._engine.add(detected.joined)
            return _make_line(EarUpdate(detected.is_speech, self._partial))
        transcript = VoiceTranscript("")
        utterance = self._detector.utterance if kind == FINISH else b""
        if utterance:
            transcript = self._engine.finish(utterance)
        self._detector.begin_utterance()
        self._engine.begin()
        self._partial = ""
        return _make_line(transcript)


def _make_line(value: msgspec.Struct) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _read_exactly(length: int) -> bytes:
    """Return `length` bytes of standard input; b"" when it has ended."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(0, length - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _write(out: int, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(out, view) :]


def _end_with_reader(out: int) -> None:
    """End this process when the reader of `out` has left; waits for that."""
    poll = select.poll()
    poll.register(out, 0)
    poll.poll()
    os._exit(1)


def _limit() -> None:
    """Let this process write no file, leave no core, and grow no further than an utterance needs."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with open("/proc/self/statm", "rb") as statm:
        most = int(statm.read().split()[0]) * resource.getpagesize() + _SPARE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(name: str, *folder: str) -> None:
    """Answer the requests of standard input with the engine of module `name`. `folder`: that of its model, if any."""
    out = os.dup(1)
    os.dup2(2, 1)  # a library's prints are no answers
    Thread(target=_end_with_reader, args=(out,), daemon=True).start()
    module = importlib.import_module(f"{__package__}.{name}")
    worker = SpeechWorker(module.open_engine(*folder))
    if sys.platform == "linux":
        _limit()
    _write(out, READY + b"\n")
    while head := _read_exactly(REQUEST_HEAD.size):
        kind, length = REQUEST_HEAD.unpack(head)
        if length > FRAME_MOST:
            break
        _write(out, worker.answer(kind, _read_exactly(length)))


if __name__ == "__main__":
    main(*sys.argv[1:])
