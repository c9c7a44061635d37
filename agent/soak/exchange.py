"""One request over HTTP, made by a client that may not wait for the answer.

Each has a connection of its own, which the server is asked to close behind its answer. A client that runs out of
patience lets the socket go, resets it, or ends only its sending half, after which the server has to hang up.
"""

import json
import socket
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import trio

from ..errors import WireClosed
from .wire import HANDSHAKE_TIMEOUT, RESET, HandshakeAbandoned

Going: TypeAlias = Literal["drop", "reset", "eof"]
GOINGS: tuple[Going, ...] = ("drop", "reset", "eof")
ANSWER_TIMEOUT = 60.0  # seconds in which a request must have its whole answer
HANG_UP = 8.0  # seconds in which a server that was left must hang up too
_READ = 16 * 1024


class Stayed(WireClosed):
    """The server did not hang up after this end had left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request. `patience`: seconds until this end leaves, in the way `going`; `None` waits for the answer."""

    method: str
    path: str
    body: dict[str, Any] | None = None
    patience: float | None = None
    events: bool = False
    going: Going = "drop"

    def to_bytes(self, host: str, port: int, token: str | None) -> bytes:
        """Return the request as bytes."""
        data = b"" if self.body is None else json.dumps(self.body).encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            f"Host: {f'[{host}]' if ':' in host else host}:{port}",
            "Connection: close",
            f"Accept: {'text/event-stream' if self.events else 'application/json'}",
            *([f"Authorization: Bearer {token}"] if token is not None else []),
            *(["Content-Type: application/json", f"Content-Length: {len(data)}"] if data else []),
        ]
        return "\r\n".join((*lines, "", "")).encode() + data


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """The answer to a request: a status, and JSON; of a stream of events, the JSON of the last event.

    `status` is 0 when this end did not wait for the answer.
    """

    status: int = 0
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def word(self) -> str:
        """The code of a problem, else the status."""
        return str(self.content.get("code", self.status)) if self.status >= 400 else str(self.status)


LEFT = ClientAnswer()


async def exchange(
    asked: ClientRequest, host: str, port: int, token: str | None = None, slower: float = 1.0
) -> ClientAnswer:
    """Send a request and return the answer, or `LEFT` where this end had no patience for it.

    `slower`: the factor by which every wait is longer. Cancelled, the connection is closed. Raises
    `HandshakeAbandoned` when no connection comes about in time, `WireClosed` when the server refuses the connection or
    gives no whole answer within `ANSWER_TIMEOUT`, and `Stayed` when it does not hang up on a client that has left.
    """
    stream: trio.SocketStream | None = None
    try:
        with trio.fail_after(HANDSHAKE_TIMEOUT * slower):
            stream = await trio.open_tcp_stream(host, port)
        came = bytearray()
        patience = ANSWER_TIMEOUT * slower if asked.patience is None else asked.patience
        with trio.move_on_after(patience) as waiting:
            await stream.send_all(asked.to_bytes(host, port, token))
            await _read_answer(stream, came)
        if not waiting.cancelled_caught:
            return parse_answer(bytes(came))
        if asked.patience is None:
            raise WireClosed
        await _leave(stream, asked.going, slower)
        return LEFT
    except trio.TooSlowError:
        raise HandshakeAbandoned from None
    except (OSError, trio.BrokenResourceError):
        raise WireClosed from None
    finally:
        if stream is not None:
            stream.socket.close()


async def _read_answer(stream: trio.SocketStream, came: bytearray) -> None:
    while read := await stream.receive_some(_READ):
        came += read


async def _leave(stream: trio.SocketStream, going: Going, slower: float) -> None:
    if going == "reset":
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    if going != "eof":
        return
    with trio.move_on_after(HANG_UP * slower):
        try:
            await stream.send_eof()
            await _read_answer(stream, bytearray())
        except trio.BrokenResourceError:
            pass
        return
    raise Stayed


def parse_answer(came: bytes) -> ClientAnswer:
    """Return a whole answer; of events the last one counts. Raises `WireClosed` for an incomplete answer."""
    head, _, body = came.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    status = lines[0][9:12]
    if not status.isdigit():
        raise WireClosed
    fields = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])
    }
    if fields.get(b"transfer-encoding") == b"chunked":
        body = _join_chunks(body)
    elif len(body) < int(fields.get(b"content-length", 0)):
        raise WireClosed
    if not fields.get(b"content-type", b"").startswith(b"text/event-stream"):
        return ClientAnswer(int(status), json.loads(body) if body else {})
    name, _, data = body.rstrip(b"\n").rpartition(b"event: ")[2].partition(b"\ndata: ")
    if name not in (b"result", b"problem"):
        raise WireClosed
    content = json.loads(data)
    return ClientAnswer(int(content["status"]) if name == b"problem" else int(status), content)


def _join_chunks(body: bytes) -> bytes:
    """Return the content of chunks; raises `WireClosed` without the last chunk."""
    joined = bytearray()
    while True:
        size, end, body = body.partition(b"\r\n")
        if not end:
            raise WireClosed
        if not (length := int(size, 16)):
            return bytes(joined)
        joined += body[:length]
        body = body[length + 2 :]
