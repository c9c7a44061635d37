"""A client of the wire, as `agent chat`, `agent ask`, the demo and the tests use it.

Strategy: a thin layer over trio-websocket that speaks JSON objects and knows no more of the protocol than its
message types. Foreign errors become two of ours: `CannotConnect` before the handshake is done, `WireClosed`
after it. An exception in the body of `connect` or `connect_over` is raised as it is, not wrapped in a group.
"""

import json
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias, cast

import h11
import trio
import wsproto.utilities
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    WebSocketConnection,
    wrap_client_stream,
)

from ..config import CLOSE_TIMEOUT
from ..errors import AgentError, CannotConnect, WireClosed
from ..protocol.audio import VOICE_SUBPROTOCOL
from ..protocol.kinds import SUBPROTOCOL
from ..protocol.url import parse_server_url

DEFAULT_URL = "ws://127.0.0.1:8787/ws"
CONNECT_TIMEOUT = 10.0  # seconds for TCP, TLS and the handshake together
START = "start a server with agent serve, or say where it is with a URL such as ws://host:8787/ws"
QUEUE = 1024  # frames read ahead, so that pings are answered while the caller takes no frame

Frame: TypeAlias = dict[str, Any]
TokenAs = Literal["header", "subprotocol"]


class Client:
    """One session with a server. Made by `connect` and `over`."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection = connection
        self._asked = 0

    @property
    def subprotocol(self) -> str | None:
        """The subprotocol that the server chose."""
        return self._connection.subprotocol

    async def ask(self, text: str, id: str | None = None, lang: str | None = None) -> str:
        """Send a message and return its id, by default the next of "1", "2", ..."""
        self._asked += 1
        label = str(self._asked) if id is None else id
        await self.send({"type": "message", "id": label, "text": text} | ({"lang": lang} if lang else {}))
        return label

    async def cancel(self, id: str | None = None) -> None:
        """Cancel the message or action in progress, or only the message with that id."""
        await self.send({"type": "cancel"} | ({} if id is None else {"id": id}))

    async def confirm(self, suggestion_id: str, payload: dict[str, str] | None = None) -> None:
        """Confirm a suggested action; `payload` fills in its missing fields."""
        frame: Frame = {"type": "confirm_action", "suggestionId": suggestion_id}
        await self.send(frame | ({} if payload is None else {"payload": payload}))

    async def reject(self, suggestion_id: str) -> None:
        """Decline a suggested action."""
        await self.send({"type": "reject_action", "suggestionId": suggestion_id})

    async def feedback(self, message: str, verdict: str, text: str | None = None) -> None:
        """Say whether the answer to `message` was good: "up" or "down", with words about it."""
        frame: Frame = {"type": "feedback", "message": message, "verdict": verdict}
        await self.send(frame | ({} if text is None else {"text": text}))

    async def send(self, frame: Frame) -> None:
        """Send any JSON object as one text frame."""
        await self.send_raw(json.dumps(frame))

    async def send_raw(self, message: str | bytes) -> None:
        """Send one whole text or binary message. Cancelled, it may leave half a frame; raises `WireClosed`."""
        try:
            await self._connection.send_message(message)
        except ConnectionClosed as closed:
            raise WireClosed(_close_code(closed)) from None

    async def listen(self, on: bool, echo_cancelled: bool = False) -> None:
        """Have the audio heard that `send_raw` sends from here on, or, with `on` false, no more.

        `echo_cancelled`: the audio is without the server's own voice. Audio is PCM, 16-bit little-endian, mono, 16 kHz,
        20 to 100 ms a message.
        """
        await self.send({"type": "listen", "on": on, "echoCancelled": echo_cancelled})

    async def played(self, seq: int) -> None:
        """Say that the audio of the `speech` frame `seq` was played to its end."""
        await self.send({"type": "played", "seq": seq})

    async def next_message(self) -> Frame | bytes:
        """Return the next frame, or the next audio as bytes; raises `WireClosed`, with the server's close code."""
        try:
            message = await self._connection.get_message()
        except ConnectionClosed as closed:
            raise WireClosed(_close_code(closed)) from None
        if isinstance(message, bytes):
            return message
        frame: Frame = json.loads(message)
        return frame

    async def next_frame(self) -> Frame:
        """Return the next frame, past any audio; raises `WireClosed`, with the server's close code."""
        while isinstance(message := await self.next_message(), bytes):
            pass
        return message

    async def ping(self) -> None:
        """Wait for the answer to a ping; frames sent before that answer are here then. Raises `WireClosed`."""
        try:
            await self._connection.ping()
        except ConnectionClosed as closed:
            raise WireClosed(_close_code(closed)) from None

    async def frames_until(self, kind: str) -> list[Frame]:
        """Return the frames up to and including the next one of type `kind`; raises `WireClosed`."""
        frames = [await self.next_frame()]
        while frames[-1]["type"] != kind:
            frames.append(await self.next_frame())
        return frames

    async def close(self, code: int = 1000) -> None:
        """Close the session, and wait at most `CLOSE_TIMEOUT` seconds for the server's half of it."""
        with trio.move_on_after(CLOSE_TIMEOUT):
            await self._connection.aclose(code)


@asynccontextmanager
async def connect(
    url: str = DEFAULT_URL,
    token: str | None = None,
    token_as: TokenAs = "header",
    visitor: str | None = None,
    voice: bool = False,
) -> AsyncGenerator[Client, None]:
    """Open a session at `url` (ws, wss, http or https; the path defaults to /ws) and close it afterwards.

    `token`: sent as a Bearer header, or as browsers must as a second subprotocol. `visitor`: the secret of a client
    without a user's token, sent as a further subprotocol. `voice`: offer to send and to take audio. Raises
    `CannotConnect`, and `agent.errors.UsageError` for an invalid URL.
    """
    stream, host, path = await open_stream(url)
    async with connect_over(stream, host, path, token, token_as, visitor, voice) as client:
        yield client


async def open_stream(url: str) -> tuple[trio.abc.Stream, str, str]:
    """Connect to the server of `url`; return the stream, the value of the Host header, and the path of the WebSocket.

    Raises as `connect` does.
    """
    host, port, secure, path = parse_server_url(url, DEFAULT_URL)
    try:
        with trio.fail_after(CONNECT_TIMEOUT):
            stream: trio.abc.Stream = await trio.open_tcp_stream(host, port)
            if secure:
                stream = trio.SSLStream(stream, ssl.create_default_context(), server_hostname=host)
    except trio.TooSlowError:
        raise CannotConnect(f"cannot connect to {url}: no answer in {CONNECT_TIMEOUT:g} s; {START}") from None
    except OSError as error:
        raise CannotConnect(f"cannot connect to {url}: {_reason_of(error)}; {START}") from None
    name = f"[{host}]" if ":" in host else host
    return stream, f"{name}:{port}", path


@asynccontextmanager
async def connect_over(
    stream: trio.abc.Stream,
    host: str = "127.0.0.1:8787",
    path: str = "/ws",
    token: str | None = None,
    token_as: TokenAs = "header",
    visitor: str | None = None,
    voice: bool = False,
) -> AsyncGenerator[Client, None]:
    """Open a session over a connected stream, with `host` as its Host header, and close both afterwards.

    Raises `CannotConnect`. On cancel the stream is dropped without a closing handshake.
    """
    offered = [VOICE_SUBPROTOCOL, SUBPROTOCOL] if voice else [SUBPROTOCOL]
    headers = []
    if token is not None and token_as == "subprotocol":
        offered.append(f"bearer.{token}")
    elif token is not None:
        headers.append((b"Authorization", f"Bearer {token}".encode()))
    if visitor is not None:
        offered.append(f"visitor.{visitor}")
    raised: BaseException | None = None
    opened = False
    try:
        async with trio.open_nursery() as nursery:
            try:
                client = Client(await _handshake(nursery, stream, host, path, offered, headers))
                opened = True
                yield client
                await client.close()
            except BaseException as error:
                raised = error
                raise
            finally:
                nursery.cancel_scope.cancel()
                await trio.aclose_forcefully(stream)
    except BaseExceptionGroup as group:
        foreign = [each for each in _flatten_group(group) if each is not raised]
        if foreign:
            raised = _map_error(foreign[0], host, opened)
            if raised is None or len(foreign) > 1:
                raise
    if raised is not None:
        try:
            raise raised
        finally:
            raised = None  # its traceback holds this frame


def _map_error(error: BaseException, host: str, opened: bool) -> AgentError | None:
    """Return our error for one of the library's reader task, `None` for an error that the peer did not cause."""
    if isinstance(error, ConnectionRejected):
        status = error.status_code
        return CannotConnect(f"{host} refused the connection with HTTP status {status}", status)
    if isinstance(error, h11.ProtocolError | wsproto.utilities.ProtocolError):
        return WireClosed(1002) if opened else CannotConnect(f"{host} does not speak WebSocket")
    return None


async def _handshake(
    nursery: trio.Nursery,
    stream: trio.abc.Stream,
    host: str,
    path: str,
    subprotocols: list[str],
    headers: list[tuple[bytes, bytes]],
) -> WebSocketConnection:
    with trio.move_on_after(CONNECT_TIMEOUT) as waiting:
        return await wrap_client_stream(
            nursery,
            cast(trio.SocketStream, WatchedStream(stream, waiting.cancel)),  # any stream will do
            host,
            path,
            subprotocols=subprotocols,
            extra_headers=headers,
            message_queue_size=QUEUE,
        )
    raise CannotConnect(f"{host} closed the connection, or did not answer, before the handshake was done")


class WatchedStream(trio.abc.Stream):
    """A stream that calls `ended` at its end, where the library's handshake would wait on."""

    def __init__(self, stream: trio.abc.Stream, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        try:
            data = await self._stream.receive_some(max_bytes)
        except trio.BrokenResourceError:
            self._ended()
            raise
        if not data:
            self._ended()
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _close_code(closed: ConnectionClosed) -> int:
    return closed.reason.code if closed.reason is not None else 1006


def _reason_of(error: OSError) -> str:
    """Return the system's words for a failed connection, without the address that trio's text repeats."""
    cause = error.__cause__ if error.__cause__ is not None else error
    leaves = _flatten_group(cause) if isinstance(cause, BaseExceptionGroup) else [cause]
    first = leaves[0]
    if isinstance(first, OSError) and first.errno is not None and first.errno > 0:
        return os.strerror(first.errno)
    return getattr(first, "strerror", None) or str(first)  # a name that does not resolve has no errno


def _flatten_group(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for each in group.exceptions:
        found += _flatten_group(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found
