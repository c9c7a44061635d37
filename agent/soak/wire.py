"""A user's end of one real connection, made to be cheap by the hundred and to leave in every way there is.

trio-websocket's client costs as much per frame as the server; a soak shares a processor with the server it soaks, so
this end builds and cuts its frames itself. It reads unfragmented frames, answers pings, and knows no more.
"""

import json
import socket
import struct
from typing import Any, Literal, TypeAlias

import trio

from ..config import WRITE_TIMEOUT
from ..errors import WireClosed

Frame: TypeAlias = dict[str, Any]
Leaving: TypeAlias = Literal["close", "eof", "drop", "reset"]
LEAVINGS: tuple[Leaving, ...] = ("close", "eof", "drop", "reset")
HANDSHAKE_TIMEOUT = 10.0
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x81, 0x82, 0x88, 0x89, 0x8A
_MASKED = 0x80
_READ = 16 * 1024
AUDIO: Frame = {"type": "audio"}  # stands for a binary frame
RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 seconds


class HandshakeAbandoned(WireClosed):
    """This end ran out of patience for a handshake; the server's answer is not known."""


class ClientSocket:
    """One connection. One task calls `next_frame`; any task may send.

    `left`: how this end has left, or `None`. `code`: the server's close code, once it has sent one.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self.left: Leaving | None = None
        self.code: int | None = None
        self.over = trio.Event()
        self._stream = stream
        self._data = bytearray()
        self._sending = trio.Lock()
        self._pong = trio.Event()

    async def send(self, kind: str, **fields: object) -> None:
        """Send one JSON object; raises `WireClosed` when either end has ended the connection."""
        await self._write(_TEXT, json.dumps({"type": kind, **fields}).encode())

    async def send_audio(self, pcm: bytes) -> None:
        """Send one binary frame; raises as `send`."""
        await self._write(_BINARY, pcm)

    async def ping(self) -> float:
        """Send a PING and return the seconds until its PONG; `next_frame` must be running. Raises `WireClosed`."""
        self._pong = trio.Event()
        before = trio.current_time()
        await self._write(_PING, b"")
        if not self.over.is_set():
            await self._pong.wait()
        if self.over.is_set():
            raise WireClosed
        return trio.current_time() - before

    async def next_frame(self) -> Frame | None:
        """Return the next JSON object, `AUDIO`, or `None` when the connection has ended. Cancelled, nothing is lost."""
        while True:
            found = self._cut()
            if found is None:
                if not await self._more():
                    self.over.set()
                    self._pong.set()
                    return None
                continue
            first, payload = found
            if first == _TEXT:
                frame: Frame = json.loads(payload)
                return frame
            if first == _BINARY:
                return AUDIO
            if first == _PING:
                await self._answer(_PONG, payload)
            elif first == _PONG:
                self._pong.set()
            elif first == _CLOSE:
                self.code = int.from_bytes(payload[:2], "big") if payload else 1005
                if self.left is None:
                    await self._answer(_CLOSE, payload[:2])

    async def leave(self, how: Leaving) -> None:
        """Leave: with a close frame, with the end of the stream, or by closing the socket, with or without a reset.

        After the first two the server is still read, by `next_frame`, until it hangs up too.
        """
        self.left = how
        if how == "close":
            await self._answer(_CLOSE, struct.pack("!H", 1000))
        elif how == "eof":
            try:
                async with self._sending:  # the reader may be answering
                    await self._stream.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.drop()
        else:
            if how == "reset":
                self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.drop()

    def drop(self) -> None:
        """Close the socket now, without a close frame. Idempotent."""
        self._stream.socket.close()

    async def _answer(self, first: int, payload: bytes) -> None:
        try:
            await self._write(first, payload)
        except WireClosed:
            return  # the reader finds out

    async def _write(self, first: int, payload: bytes) -> None:
        """Write one whole frame, also when cancelled: half a frame would be the client's fault, not the server's."""
        size = len(payload)
        length = bytes((_MASKED | size,)) if size < 126 else b"\xfe" + struct.pack("!H", size)
        frame = bytes((first,)) + length + bytes(4) + payload  # the mask is zero
        try:
            with trio.move_on_after(WRITE_TIMEOUT, shield=True):
                async with self._sending:
                    await self._stream.send_all(frame)
                return
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        raise WireClosed

    async def _more(self) -> bool:
        try:
            data = await self._stream.receive_some(_READ)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return False
        self._data += data
        return bool(data)

    def _cut(self) -> tuple[int, bytes] | None:
        """Cut one whole frame off the received bytes; return its first byte and its payload, or `None`."""
        data, start = self._data, 2
        if len(data) < start:
            return None
        size = data[1]
        if size == 126:
            size, start = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(data[2:10], "big"), 10
        if len(data) < start + size:
            return None
        first, payload = data[0], bytes(data[start : start + size])
        del data[: start + size]
        return first, payload

    async def upgrade(self, host: str, headers: str) -> None:
        """Shake hands. Raises `WireClosed`, with the status for a code, when the server answers anything but 101."""
        await self._stream.send_all(
            (
                f"GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
            ).encode()
        )
        while (end := self._data.find(b"\r\n\r\n")) < 0:
            if not await self._more():
                raise WireClosed
        if not self._data.startswith(b"HTTP/1.1 101 "):
            status = bytes(self._data[9:12])
            raise WireClosed(int(status) if status.isdigit() else 1006)
        del self._data[: end + 4]


async def open_socket(
    host: str, port: int, token: str | None = None, offers: str = "", patience: float = HANDSHAKE_TIMEOUT
) -> ClientSocket:
    """Connect and shake hands. Cancelled, nothing stays open.

    `offers`: a subprotocol, with which `welcome` comes first. Raises `HandshakeAbandoned` when the handshake takes more
    than `patience` seconds, and `WireClosed` when the server refuses it.
    """
    headers = f"Sec-WebSocket-Protocol: {offers}\r\n" if offers else ""
    headers += f"Authorization: Bearer {token}\r\n" if token is not None else ""
    line: ClientSocket | None = None
    whole = False
    try:
        with trio.fail_after(patience):
            line = ClientSocket(await trio.open_tcp_stream(host, port))
            await line.upgrade(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", headers)
        whole = True
        return line
    except trio.TooSlowError:
        raise HandshakeAbandoned from None
    except (OSError, trio.BrokenResourceError):
        raise WireClosed from None
    finally:
        if line is not None and not whole:
            line.drop()
