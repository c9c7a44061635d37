"""What an attacker has: bytes, over whatever stream leads to the server, and a way to read what comes back.

The same attacks run over memory streams in virtual time (the tests) and over sockets (the benchmark).
"""

import json
import re
import socket
import struct
from abc import ABC, abstractmethod

import trio

from agent.testing.faults import PipeEnd
from agent.testing.network import Network

RESET = struct.pack("ii", 1, 0)
TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8A
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
_CONTROL = {CLOSE: "close", PING: "ping", PONG: "pong"}


class Enemy(ABC):
    """An attacker's way to one server. `host` is its Host header; `secret` a suggestion id of somebody else's."""

    host = "127.0.0.1:8787"
    secret = ""

    @abstractmethod
    async def open(self, room: int | None = None) -> trio.abc.HalfCloseableStream:
        """Connect. `room`: about how many bytes may wait for this end before the server's writes are held back."""

    @abstractmethod
    async def reset(self, stream: trio.abc.HalfCloseableStream) -> None:
        """Break a connection off."""

    def get(
        self, path: str = "/ws", headers: str = "", host: str | None = None, method: str = "GET"
    ) -> bytes:
        """Return a plain request."""
        return f"{method} {path} HTTP/1.1\r\nHost: {host or self.host}\r\n{headers}\r\n".encode()

    def upgrade(self, headers: str = "", host: str | None = None, path: str = "/ws") -> bytes:
        """Return an upgrade."""
        return self.get(path, f"Upgrade: websocket\r\nConnection: Upgrade\r\n{KEY}{headers}", host)

    async def upgraded(self, room: int | None = None) -> trio.abc.HalfCloseableStream:
        """Return a connection that has become a WebSocket."""
        stream = await self.open(room)
        await stream.send_all(self.upgrade())
        answer = bytearray()
        while not answer.endswith(b"\r\n\r\n"):
            answer += await stream.receive_some(1)
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        return stream

    async def converse(self, *data: bytes, every: float = 0.0, then: str = "") -> list[str]:
        """Send bytes, some seconds apart; read to the end; return what came, in words.

        then: `eof` says that nothing follows.
        """
        stream = await self.open()
        answer = bytearray()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_send, stream, data, every, then)
            try:
                while received := await stream.receive_some():
                    answer += received
            except trio.BrokenResourceError:
                answer += b"RESET"
            nursery.cancel_scope.cancel()
        await trio.aclose_forcefully(stream)
        return words(bytes(answer))

    async def say(self, *frames: bytes, every: float = 0.0, then: str = "", headers: str = "") -> list[str]:
        """Do the same after an upgrade, and return what follows the 101."""
        upgrade = self.upgrade(headers)
        said = await self.converse(upgrade + b"".join(frames[:1]), *frames[1:], every=every, then=then)
        assert said[:1] == ["101"], said
        return said[1:]


class MemoryEnemy(Enemy):
    """An attacker over memory streams, from the IP address `peer` (None: this machine)."""

    def __init__(self, network: Network, peer: str | None = None) -> None:
        self._network = network
        self._peer = peer

    async def open(self, room: int | None = None) -> PipeEnd:
        """Connect."""
        await trio.lowlevel.checkpoint()
        return self._network.open(1 << 30 if room is None else room, self._peer)

    async def reset(self, stream: trio.abc.HalfCloseableStream) -> None:
        """Break a connection off."""
        assert isinstance(stream, PipeEnd)
        stream.reset()
        await trio.lowlevel.checkpoint()


class SocketEnemy(Enemy):
    """An attacker over loopback sockets."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.host = f"127.0.0.1:{port}"

    async def open(self, room: int | None = None) -> trio.SocketStream:
        """Connect; a small `room` is a small receive buffer, beyond which the kernel holds the server's bytes."""
        ours = trio.socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if room is not None:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        await ours.connect(("127.0.0.1", self._port))
        return trio.SocketStream(ours)

    async def reset(self, stream: trio.abc.HalfCloseableStream) -> None:
        """Break a connection off."""
        assert isinstance(stream, trio.SocketStream)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await trio.aclose_forcefully(stream)


def frame(first: int, payload: bytes = b"") -> bytes:
    """Return a client's frame; its mask is zero."""
    size = len(payload)
    if size < 126:
        return bytes((first, 0x80 | size)) + bytes(4) + payload
    if size < 65536:
        return struct.pack("!BBH", first, 0xFE, size) + bytes(4) + payload
    return struct.pack("!BBQ", first, 0xFF, size) + bytes(4) + payload


def text(content: str | bytes) -> bytes:
    """Return a text frame."""
    return frame(TEXT, content if isinstance(content, bytes) else content.encode())


def message(kind: str = "message", **fields: object) -> bytes:
    """Return a JSON object as a text frame."""
    return text(json.dumps({"type": kind, **fields}))


def words(answer: bytes) -> list[str]:
    """Return what a server said: `400`, then of a WebSocket `error busy`, `close 1008`, and so on."""
    head, found, rest = answer.partition(b"\r\n\r\n")
    if not found:
        return ["reset"] if answer.endswith(b"RESET") else [f"{answer!r}"] if answer else []
    status = head.split(b" ", 2)[1].decode()
    if status != "101":
        return [status, *(["second answer"] if re.search(rb"HTTP/1\.\d \d", rest) else [])]
    said = [status]
    while len(rest) >= 2 and not rest.startswith(b"RESET"):
        size, start = rest[1], 2
        if size == 126:
            size, start = int.from_bytes(rest[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(rest[2:10], "big"), 10
        said.append(_word(rest[0], rest[start : start + size]))
        rest = rest[start + size :]
    return said + ["reset"] * (rest == b"RESET")


def _word(first: int, payload: bytes) -> str:
    if first == CLOSE:
        return f"close {int.from_bytes(payload[:2], 'big')}"
    if first != TEXT:
        return _CONTROL[first]
    said = json.loads(payload)
    detail = said.get("code") or said.get("reason") or (said.get("blocked") or {}).get("code")
    return f"{said['type']} {detail}" if detail else str(said["type"])


async def _send(
    stream: trio.abc.HalfCloseableStream, data: tuple[bytes, ...], every: float, then: str
) -> None:
    try:
        for piece in data:
            await stream.send_all(piece)
            if every:
                await trio.sleep(every)
        if then == "eof":
            await stream.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return  # it was thrown out; what it was told is read
