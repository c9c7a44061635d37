"""A WebSocket client that knows the wire's core tables and nothing of the product: wsproto over any trio stream.

A task reads all the time and keeps each frame with the time it came, so that a test can say what came after what, and
that nothing came. It answers pings and the close handshake unless told not to.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
import wsproto
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)

Frame = dict[str, Any]
PATIENCE = 120.0  # seconds of virtual time; nothing on the wire takes longer


class Plain:
    """One connection. `frames` is everything that came, with its time; `raw` the same as bytes on the stream."""

    def __init__(self, stream: trio.abc.Stream, pongs: bool = True) -> None:
        self.frames: list[tuple[float, Frame]] = []
        self.raw = bytearray()
        self.closed: int | None = None  # the close code, 1006 when the stream just ended
        self.accepted: AcceptConnection | None = None
        self.rejected: int | None = None  # the HTTP status of a refused upgrade
        self._stream = stream
        self._pongs = pongs
        self._ws = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        self._text = ""
        self._news = trio.Event()
        self._sending = trio.Lock()
        self._taken = 0

    async def run(self, host: str, path: str, subprotocols: Sequence[str]) -> None:
        """Shake hands, then read until the connection ends."""
        await self._put(Request(host=host, target=path, subprotocols=list(subprotocols)))
        try:
            while self.closed is None:
                data = bytes(await self._stream.receive_some())
                self.raw += data
                self._ws.receive_data(data or None)
                for event in self._ws.events():
                    await self._take(event)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.closed = 1006 if self.closed is None else self.closed
        self._tell()

    async def send(self, **frame: Any) -> None:
        """Send one JSON object."""
        await self.send_text(json.dumps(frame))

    async def send_text(self, text: str) -> None:
        """Send one text message."""
        await self._put(TextMessage(text))

    async def send_binary(self, data: bytes) -> None:
        """Send one binary message."""
        await self._put(BytesMessage(data))

    async def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send_all(data)

    async def ask(self, text: str, id: str = "m", **more: Any) -> None:
        """Send a message."""
        await self.send(type="message", id=id, text=text, **more)

    async def next(self) -> Frame:
        """Return the next frame that was not yet taken."""
        with trio.fail_after(PATIENCE):
            while self._taken >= len(self.frames):
                assert self.closed is None, f"closed with {self.closed}, frames: {self.kinds()}"
                await self._news.wait()
        self._taken += 1
        return self.frames[self._taken - 1][1]

    async def until(self, kind: str) -> list[Frame]:
        """Return the frames not yet taken, up to and including the next of type `kind`."""
        taken = [await self.next()]
        while taken[-1]["type"] != kind:
            taken.append(await self.next())
        return taken

    async def until_answered(self) -> None:
        """Wait until the upgrade was accepted or refused."""
        with trio.fail_after(PATIENCE):
            while self.accepted is None and self.closed is None:
                await self._news.wait()

    async def until_closed(self) -> int:
        """Return the close code."""
        with trio.fail_after(PATIENCE):
            while self.closed is None:
                await self._news.wait()
        return self.closed

    async def silence(self, seconds: float = 60.0) -> None:
        """Check that every frame was taken, and that no other comes for a time."""
        await trio.sleep(seconds)
        assert [frame for _, frame in self.frames[self._taken :]] == []

    def kinds(self) -> list[str]:
        """Return the type of each frame that came."""
        return [frame["type"] for _, frame in self.frames]

    async def _put(self, event: wsproto.events.Event) -> None:
        async with self._sending:  # a pong is sent by another task
            await self._stream.send_all(self._ws.send(event))

    async def _take(self, event: wsproto.events.Event) -> None:
        if isinstance(event, AcceptConnection):
            self.accepted = event
        elif isinstance(event, RejectConnection):
            self.rejected, self.closed = event.status_code, 1006
        elif isinstance(event, TextMessage):
            self._text += event.data
            if event.message_finished:
                self.frames.append((trio.current_time(), json.loads(self._text)))
                self._text = ""
        elif isinstance(event, Message):
            raise AssertionError("the wire has text frames only")
        elif isinstance(event, Ping) and self._pongs:
            await self._put(event.response())
        elif isinstance(event, CloseConnection):
            self.closed = int(event.code)
            if self._ws.state is wsproto.connection.ConnectionState.REMOTE_CLOSING:
                await self._put(event.response())
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()


@asynccontextmanager
async def plain(
    stream: trio.abc.Stream,
    subprotocols: Sequence[str] = (),
    host: str = "127.0.0.1:8787",
    path: str = "/ws",
    pongs: bool = True,
) -> AsyncGenerator[Plain, None]:
    """Connect over a stream for the time of a block; the stream is dropped at its end."""
    client = Plain(stream, pongs)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.run, host, path, subprotocols)
            await client.until_answered()
            yield client
            nursery.cancel_scope.cancel()
    finally:
        await trio.aclose_forcefully(stream)
