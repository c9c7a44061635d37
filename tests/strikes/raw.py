"""A WebSocket client that can speak, leave and reset in the middle of any step, and the few frames that takes."""

import contextlib
import json
import struct
from collections.abc import Callable
from typing import Any

import trio

from agent.testing.faults import PipeEnd

_UPGRADE = (
    b"Host: localhost:8787\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_NORMAL = struct.pack("!H", 1000)


class RawClient:
    """A WebSocket client: sends at once, from synchronous code; reads in a task, which also answers.

    leaving: called once, with how, when the client begins to leave. answers: it answers a close frame and closes its
    side when the server has; without, it stays as long as it is let. path: of its upgrade.
    """

    def __init__(
        self,
        end: PipeEnd,
        leaving: Callable[[str], None] = lambda how: None,
        answers: bool = True,
        path: bytes = b"/ws",
    ) -> None:
        self.end = end
        self.frames: list[dict[str, Any]] = []
        self.left = False
        self._leaving = leaving
        self._answers = answers
        self._said_goodbye = False
        self._rest = b""
        self._upgraded = False
        self._grown = trio.Event()
        end.feed(b"GET %s HTTP/1.1\r\n%s" % (path, _UPGRADE))

    def send(self, kind: str, **fields: Any) -> None:
        """Send a frame; after the connection was cut it goes nowhere."""
        self.send_text(json.dumps({"type": kind, **fields}))

    def send_text(self, text: str) -> None:
        """Send any text as a frame."""
        self.end.feed(client_frame(text.encode()))

    def ping(self) -> None:
        """Send a PING."""
        self.end.feed(client_frame(b"", _PING))

    def take(self, size: int) -> None:
        """Read so many bytes at once, as far as there are some."""
        self._read(self.end.take(size))
        self._grown.set()

    def goodbye(self) -> None:
        """Send a close frame, and go on reading until the server has closed. Idempotent."""
        self._leave("says goodbye")
        self._say_goodbye()

    def eof(self) -> None:
        """Close the sending half without a word."""
        self._leave("closes its half")
        self.end.eof()

    def reset(self) -> None:
        """Reset the connection: what is under way is lost."""
        self._leave("resets")
        self.end.reset()

    def vanish(self) -> None:
        """Close both halves without a word."""
        self._leave("vanishes")
        self.end.close()

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """Wait until `count` frames of a type have come; return the last of them. The caller has a deadline."""
        while sum(frame["type"] == kind for frame in self.frames) < count:
            self._grown = trio.Event()
            await self._grown.wait()
        return [frame for frame in self.frames if frame["type"] == kind][count - 1]

    async def read_all(self) -> None:
        """Read until the connection ends, then close this side of it too."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self.end.receive_some():
                self._read(data)
                self._grown.set()
        if self._answers:
            self.end.close()

    def _leave(self, how: str) -> None:
        if not self.left:
            self.left = True
            self._leaving(how)

    def _say_goodbye(self) -> None:
        if not self._said_goodbye:
            self._said_goodbye = True
            self.end.feed(client_frame(_NORMAL, _CLOSE))

    def _read(self, data: bytes) -> None:
        self._rest += data
        if not self._upgraded:
            head, found, self._rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                self._rest = head
                return
            self._upgraded = True
        whole, self._rest = _split(self._rest)
        for frame in map(_decode, whole):
            if isinstance(frame, dict):
                self.frames.append(frame)
            elif frame == "ping":
                self.end.feed(client_frame(b"", _PONG))
            elif is_close(frame) and self._answers:
                self._say_goodbye()


def client_frame(payload: bytes, opcode: int = _TEXT) -> bytes:
    """Return a masked frame (the mask is zero: RFC 6455 lets a client choose, and the payload stays readable)."""
    size = len(payload)
    length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + struct.pack("!H", size)
    return bytes((0x80 | opcode,)) + length + b"\0\0\0\0" + payload


def decode_frames(data: bytes) -> list[Any]:
    """Return what a server's write holds: frames as objects, control frames and the upgrade's answer as words."""
    if data.startswith(b"HTTP/"):
        return [data.split(b"\r\n", 1)[0].decode()]
    return [_decode(frame) for frame in _split(data)[0]]


def whole(data: bytes) -> int:
    """Return of how many bytes the first frame is, or the upgrade's answer, that a server's write begins with."""
    if data.startswith(b"HTTP/"):
        return data.index(b"\r\n\r\n") + 4
    size, start = _size(data)
    return start + size


def is_close(frame: Any) -> bool:
    """Whether a decoded frame is a close frame."""
    return isinstance(frame, str) and frame.startswith("close")


def _split(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    frames = []
    while len(data) >= 2:
        size, start = _size(data)
        if len(data) < start + size:
            break
        frames.append((data[0], data[start : start + size]))
        data = data[start + size :]
    return frames, data


def _size(data: bytes) -> tuple[int, int]:
    """Return of how many bytes the payload of an unmasked frame is, and where it begins."""
    size = data[1]
    if size == 126:
        return int.from_bytes(data[2:4], "big"), 4
    if size == 127:
        return int.from_bytes(data[2:10], "big"), 10
    return size, 2


def _decode(frame: tuple[int, bytes]) -> Any:
    first, payload = frame
    if first == 0x81:
        return json.loads(payload)
    words = {0x88: "close", 0x89: "ping", 0x8A: "pong"}
    code = f" {int.from_bytes(payload[:2], 'big')}" if first == 0x88 else ""
    return words.get(first, f"frame {first:#x}") + code
