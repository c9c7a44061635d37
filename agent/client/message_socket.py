"""The WebSocket of the client for programs: frames (`wsproto`) over a stream of `anyio`."""

import json
import ssl
from collections import deque
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import ByteStream
from wsproto import WSConnection
from wsproto.connection import ConnectionType
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from ..errors import CannotConnect
from ..protocol.kinds import SUBPROTOCOL

WRITE_TIMEOUT = 10.0  # seconds in which the server takes a message
CLOSE_TIMEOUT = 2.0
MESSAGE_MOST = 4 * 1024 * 1024  # characters of one message of the server


class MessageSocket:
    """A WebSocket over a stream. One task calls `receive`; any task may call `send`."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._writing = anyio.Lock()
        self._events: deque[Event] = deque()
        self._text = ""
        self.code: int | None = None  # of the connection's end

    async def open(self, host: str, path: str, token: str | None, visitor: str | None) -> None:
        """Do the handshake; raises `CannotConnect`."""
        headers = [] if token is None else [(b"Authorization", f"Bearer {token}".encode())]
        offered = [SUBPROTOCOL, *([] if visitor is None else [f"visitor.{visitor}"])]
        await self._write(Request(host=host, target=path, subprotocols=offered, extra_headers=headers))
        status = None
        while True:
            event = await self._next_event()
            if isinstance(event, AcceptConnection):
                return
            if isinstance(event, RejectConnection):
                status = event.status_code
            if status is not None and (
                not isinstance(event, RejectConnection | RejectData) or _is_last(event)
            ):
                raise CannotConnect(f"{host} refused the connection with HTTP status {status}", status)
            if event is None:
                raise CannotConnect(f"{host} closed the connection before the handshake was done")

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a JSON object. A cancel takes effect once it is written."""
        await self._write(Message(json.dumps(message)))

    async def ping(self, payload: str) -> None:
        """Send a ping, whose answer `receive` returns."""
        await self._write(Ping(payload.encode()))

    async def receive(self) -> str | Pong | None:
        """Return the next message or pong; `None` at the end of the connection, whose code is then `code`."""
        while True:
            event = await self._next_event()
            if event is None:
                return None
            if isinstance(event, TextMessage):
                self._text += event.data
                if len(self._text) > MESSAGE_MOST:
                    raise ProtocolError
                if event.message_finished:
                    text, self._text = self._text, ""
                    return text
            elif isinstance(event, Ping):
                await self._write(event.response())
            elif isinstance(event, Pong):
                return event
            elif isinstance(event, CloseConnection):
                self.code = event.code
                await self._write(event.response())

    async def close(self) -> None:
        """Say goodbye and close the stream, in `CLOSE_TIMEOUT` seconds at most."""
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await self._write(CloseConnection(code=1000))
            await self._stream.aclose()

    async def _next_event(self) -> Event | None:
        """Return the next event of the protocol; `None` at the end of the stream."""
        while not self._events:
            try:
                data = await self._stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                return None
            self._protocol.receive_data(data)
            self._events.extend(self._protocol.events())
        return self._events.popleft()

    async def _write(self, event: Event) -> None:
        """Write an event whole: half a frame would end the connection. A broken connection shows in `receive`."""
        async with self._writing:
            try:
                data = self._protocol.send(event)
            except ProtocolError:  # the connection is closing
                return
            with anyio.move_on_after(WRITE_TIMEOUT, shield=True) as late:
                try:
                    await self._stream.send(data)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                    return
            if late.cancelled_caught:
                await self._stream.aclose()


def _is_last(event: Event) -> bool:
    return (isinstance(event, RejectData) and event.body_finished) or not getattr(event, "has_body", True)
