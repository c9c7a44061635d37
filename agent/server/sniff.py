"""Reads the head of a request, before anything else has a say.

One port serves two protocols, so someone has to look first. The head is parsed by h11, which also reads the body
behind it (`body`), so that where it ends is said by one parser. A head that is late, large or not HTTP/1.x is answered
here with a few bytes. Each request of a connection gets a parser of its own: nothing of one is left to the next.

Every method passes for the paths of the HTTP API, which says itself what each of them takes; for the others those that
change nothing do, and POST.

Who is refused here is told so as the clients of its path read it, as far as the path could be read.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import h11
import trio

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, HEAD_MAX, HEAD_TIMEOUT
from ..protocol import routes
from ..protocol.completions import error

METHODS = (b"GET", b"HEAD", b"POST")
VERSIONS = (b"1.0", b"1.1")
SOCKET_PATHS = (b"/", b"/ws")
_READ = 4096
_ERRORS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}  # OpenAI's types
_VERSION = b"13"
_ASKED = re.compile(
    rb"([A-Za-z]{1,16}) (/[!-~]*)"
)  # as much of a request's first line as is needed to answer it
_BODY = (b"content-length", b"transfer-encoding")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served: an HTTP status, a sentence that says what to do, extra headers.

    code: a word for programs, where the status alone does not say it. of: what it answers, where no whole head came
    that could be read: its method and its target, or what of that has come.
    """

    status: int
    words: str
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    of: "Head | None" = None

    def as_error(self) -> bytes:
        """Return it in the shape of OpenAI's errors, as JSON."""
        code = self.code or HTTPStatus(self.status).phrase.lower().replace(" ", "_")
        usual = "server_error" if self.status >= 500 else "invalid_request_error"
        return error(self.words, _ERRORS.get(self.status, usual), code)


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head. Header names are lower case; `raw` is the head as it came, `rest` what followed it."""

    method: bytes
    target: bytes
    version: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    raw: bytes
    rest: bytes

    @property
    def path(self) -> bytes:
        """The target without its query."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """The part of the target behind its first question mark."""
        return self.target.partition(b"?")[2]

    @property
    def persists(self) -> bool:
        """Whether another request may follow on its connection.

        A head that asks for anything else, or whose lines another reader may cut or join otherwise, is the last one.
        """
        lines = self.raw.count(b"\n") == self.raw.count(b"\r\n") == len(self.headers) + 2
        words = _words(self.values(b"connection"))
        return lines and self.version == b"1.1" and b"close" not in words and not self.values(b"upgrade")

    @property
    def announces(self) -> bool:
        """Whether a body follows."""
        lengths = self.values(b"content-length")
        return bool(self.values(b"transfer-encoding")) or any(int(each) for each in lengths)

    @property
    def upgrade(self) -> bool:
        """Whether this asks for our WebSocket; anything else is plain HTTP, whatever it would like to become."""
        wanted = b"websocket" in _words(self.values(b"upgrade"))
        return wanted and (self.method, self.version) == (b"GET", b"1.1") and self.path in SOCKET_PATHS

    @property
    def subprotocols(self) -> tuple[str, ...]:
        """The WebSocket subprotocols that the client offers, as it spells them."""
        offered = b",".join(self.values(b"sec-websocket-protocol")).decode("latin-1")
        return tuple(name for part in offered.split(",") if (name := part.strip()))

    def values(self, name: bytes) -> tuple[bytes, ...]:
        """Return every value of the header `name` (lower case), in order."""
        return tuple(value for key, value in self.headers if key == name)


async def receive(stream: trio.abc.ReceiveStream) -> bytes:
    """Return what a client sends next, nothing when it has left."""
    try:
        return bytes(await stream.receive_some(_READ))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


async def read_head(stream: trio.abc.ReceiveStream, begun: bytes = b"") -> Head | Refusal | None:
    """Read one request head within HEAD_TIMEOUT seconds and HEAD_MAX bytes. begun: what has come of it already.

    Returns the head, or the refusal to answer with, or None when the client left before its head was whole.
    Cancelled, what was read is lost.
    """
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX)
    received = bytearray()
    with trio.move_on_after(HEAD_TIMEOUT):
        while True:
            data, begun = begun or await receive(stream), b""
            if not data:
                return None
            received += data
            try:
                parser.receive_data(data)
                event = parser.next_event()
            except h11.RemoteProtocolError as error:
                return replace(_malformed(error.error_status_hint), of=_asked(received))
            if isinstance(event, h11.Request):
                return _admissible(event, bytes(received), bytes(parser.trailing_data[0]))
    return Refusal(408, f"Send the whole request head within {HEAD_TIMEOUT:g} seconds.", of=_asked(received))


async def hang_up(stream: trio.abc.Stream, last: bytes = b"", linger: float = CLOSE_TIMEOUT) -> None:
    """Write `last`, say that nothing follows, give the client a moment to read it, and close.

    Takes at most FLUSH_TIMEOUT + `linger` seconds and raises nothing but Cancelled; the stream is closed
    however it ends. Closing at once would reset a connection that still has unread bytes, and the client would
    then never see why.
    """
    try:
        with trio.move_on_after(FLUSH_TIMEOUT) as writing:
            if last:
                await stream.send_all(last)
            if isinstance(stream, trio.abc.HalfCloseableStream):
                await stream.send_eof()
        if not writing.cancelled_caught:
            with trio.move_on_after(linger):
                while await stream.receive_some(_READ):
                    pass
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    finally:
        await close_now(stream)


async def close_now(stream: trio.abc.Stream) -> None:
    """Close a connection without a word; a socket without the two rounds of the loop that trio takes for it."""
    if isinstance(stream, trio.SocketStream):
        stream.socket.close()
    else:
        await trio.aclose_forcefully(stream)


def _asked(received: bytes | bytearray) -> Head | None:
    """Return what a head asks for that is no whole one, only to be answered; None where its first line says nothing."""
    found = _ASKED.match(received)
    return None if found is None else Head(found[1], found[2], VERSIONS[-1], (), b"", b"")


def _admissible(request: h11.Request, received: bytes, rest: bytes) -> Head | Refusal:
    """Turn a parsed request into a Head, or into the refusal of what this port does not speak."""
    raw = received[: len(received) - len(rest)]
    headers = tuple((bytes(name), bytes(value)) for name, value in request.headers)
    head = Head(bytes(request.method), bytes(request.target), bytes(request.http_version), headers, raw, rest)
    refusal = _unspoken(head)
    return head if refusal is None else replace(refusal, of=head)


def _unspoken(head: Head) -> Refusal | None:
    """Return what of a head this port does not speak, or None."""
    if len(head.raw) > HEAD_MAX:
        return _malformed(431)
    if head.version not in VERSIONS:
        return Refusal(505, "This port speaks HTTP/1.1.")
    if head.method not in METHODS and not routes.serves(head.path):
        return Refusal(405, "This port answers GET, HEAD and POST.", {"Allow": "GET, HEAD, POST"})
    if not head.target.startswith(b"/"):
        return Refusal(400, "Send a path that begins with a slash.")
    return _bad_upgrade(head) if head.upgrade else None


def _bad_upgrade(head: Head) -> Refusal | None:
    """Return what is wrong with a WebSocket upgrade (RFC 6455, sections 4.1 and 4.2.1), or None."""
    versions, keys = head.values(b"sec-websocket-version"), head.values(b"sec-websocket-key")
    if not all(name not in _BODY and _plain(name, value) for name, value in head.headers):
        return Refusal(400, "Send a WebSocket upgrade without a body, in ASCII.")
    if b"upgrade" not in _words(head.values(b"connection")):
        return Refusal(400, "Send Connection: Upgrade with a WebSocket upgrade.")
    if len(versions) != 1:
        return Refusal(400, "Send Sec-WebSocket-Version once: 13.")
    if versions[0] != _VERSION:
        return Refusal(426, "This port speaks version 13 of WebSocket.", {"Sec-WebSocket-Version": "13"})
    if len(keys) != 1 or not _is_key(keys[0]):
        return Refusal(400, "Send Sec-WebSocket-Key once: 16 bytes in base64.")
    return None


def _plain(name: bytes, value: bytes) -> bool:
    """Whether a header that an upgrade is made of holds no byte that belongs in none."""
    return value.isascii() or not name.startswith((b"sec-websocket", b"connection", b"upgrade"))


def _is_key(value: bytes) -> bool:
    try:
        return len(b64decode(value, validate=True)) == 16
    except ValueError:
        return False


def _malformed(status: int) -> Refusal:
    if status == 431:
        return Refusal(431, f"Send a request head of at most {HEAD_MAX} bytes.")
    return Refusal(400, "This is not an HTTP/1.1 request.")


def _words(values: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(word.strip().lower() for value in values for word in value.split(b","))
