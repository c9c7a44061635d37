"""Reads the head of a request, the first step of every connection.

One port serves two protocols, and the head decides between them. h11 parses it, and the body behind it too
(`body.py`), so that one parser decides where a request ends. A head that is late, large or not HTTP/1.x is refused
here. Each request of a connection gets a parser of its own: the state of one request cannot reach the next.

Every method passes for the paths of the HTTP API, whose routes check their methods themselves; other paths take GET,
HEAD and POST.

A `Refusal` from here has the shape that the clients of its path read, as far as the path could be parsed.
"""

import re
from base64 import b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus

import h11
import trio

from ..config import CLOSE_TIMEOUT, FLUSH_TIMEOUT, HEAD_MAX, HEAD_TIMEOUT
from ..protocol import routes
from ..protocol.completion_answers import encode_error
from ..protocol.kinds import KIND_OF_PATH
from ..protocol.mcp import encode_rpc_refusal

METHODS = (b"GET", b"HEAD", b"POST")
VERSIONS = (b"1.0", b"1.1")
_READ = 4096
_ERRORS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}  # OpenAI's types
_VERSION = b"13"
# The part of a request's first line that its refusal needs.
_REQUEST_LINE = re.compile(rb"([A-Za-z]{1,16}) (/[!-~]*)")
_BODY = (b"content-length", b"transfer-encoding")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request: an HTTP `status`, a sentence with the remedy in `words`, and extra `headers`.

    `code`: a word for programs, if the status alone is ambiguous. `of`: the refused head, if this module refuses it;
    of an incomplete one only its method and target.
    """

    status: int
    words: str
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    of: "Head | None" = None

    def as_error(self) -> bytes:
        """Return the refusal in the shape of OpenAI's errors, as JSON."""
        usual = "server_error" if self.status >= 500 else "invalid_request_error"
        return encode_error(self.words, _ERRORS.get(self.status, usual), self._word)

    def as_rpc_error(self) -> bytes:
        """Return the refusal in the shape of JSON-RPC's errors, as JSON."""
        return encode_rpc_refusal(self.words, self._word)

    @property
    def _word(self) -> str:
        return self.code or HTTPStatus(self.status).phrase.lower().replace(" ", "_")


@dataclass(frozen=True, kw_only=True)
class Head:
    """A request's head. Header names are lower case; `raw` is the head as it came, `rest` the bytes behind it.

    `halves`: the paths of the halves of voice that the server serves. It has no slots, so that the results of its
    cached properties are kept.
    """

    method: bytes
    target: bytes
    version: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    raw: bytes
    rest: bytes
    halves: Collection[bytes] = ()

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
        """Whether another request may follow on the connection.

        False for HTTP/1.0, for `Connection: close`, for any `Upgrade`, and for a head that another reader may see end
        elsewhere: one with a bare line feed, a folded line, or a header that h11 has merged with another.
        """
        lines = self.raw.count(b"\n") == self.raw.count(b"\r\n") == len(self.headers) + 2
        return lines and self.version == b"1.1" and not self.asks_close and not self.values(b"upgrade")

    @cached_property
    def asks_close(self) -> bool:
        """Whether the client asks for the end of the connection, and so sends nothing more (RFC 9112, 9.6)."""
        return b"close" in _split_words(self.values(b"connection"))

    @property
    def accepts_gzip(self) -> bool:
        """Whether `Accept-Encoding` names gzip, with a weight above 0 (RFC 9110, 12.5.3)."""
        for part in b",".join(self.values(b"accept-encoding")).lower().split(b","):
            coding, _, weight = part.replace(b" ", b"").partition(b";q=")
            if coding == b"gzip":
                return not weight or weight.strip(b"0.") != b""
        return False

    @property
    def announces(self) -> bool:
        """Whether the head announces a body of at least one byte, or of unknown length."""
        lengths = self.values(b"content-length")
        return bool(self.values(b"transfer-encoding")) or any(int(each) for each in lengths)

    @cached_property
    def upgrade(self) -> bool:
        """Whether this asks for our WebSocket; any other request is plain HTTP, with another `Upgrade` too."""
        asks_websocket = b"websocket" in _split_words(self.values(b"upgrade"))
        kind = KIND_OF_PATH.get(self.path)
        is_served = kind is not None and (not kind.is_half or self.path in self.halves)
        return asks_websocket and (self.method, self.version) == (b"GET", b"1.1") and is_served

    @cached_property
    def subprotocols(self) -> tuple[str, ...]:
        """The WebSocket subprotocols that the client offers, as it spells them."""
        offered = b",".join(self.values(b"sec-websocket-protocol")).decode("latin-1")
        return tuple(name for part in offered.split(",") if (name := part.strip()))

    def values(self, name: bytes) -> tuple[bytes, ...]:
        """Return every value of the header `name` (lower case), in order."""
        return tuple([value for key, value in self.headers if key == name])


async def receive(stream: trio.abc.ReceiveStream) -> bytes:
    """Return the next bytes of a client; b"" at the end of the connection, or if it is broken."""
    try:
        return bytes(await stream.receive_some(_READ))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


async def read_head(
    stream: trio.abc.ReceiveStream, begun: bytes = b"", halves: Collection[bytes] = ()
) -> Head | Refusal | None:
    """Read one request head within `HEAD_TIMEOUT` seconds and `HEAD_MAX` bytes.

    `begun`: its first bytes, if they were read before. `halves`: as in `Head`. Returns the `Head`, the `Refusal` to
    answer with, or None if the client left before its head was whole. Cancelled, the bytes read so far are lost.
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
                return replace(_malformed_refusal(error.error_status_hint), of=_parse_request_line(received))
            if isinstance(event, h11.Request):
                return _admit_head(event, bytes(received), bytes(parser.trailing_data[0]), halves)
    return Refusal(
        408, f"Send the whole request head within {HEAD_TIMEOUT:g} seconds.", of=_parse_request_line(received)
    )


async def hang_up(stream: trio.abc.Stream, last: bytes = b"", linger: float = CLOSE_TIMEOUT) -> None:
    """Write `last`, send the end of the stream, give the client `linger` seconds to read it, and close.

    Takes at most `FLUSH_TIMEOUT` + `linger` seconds and raises only `Cancelled`; the stream is closed in every case.
    Closing at once would reset a connection that still has unread bytes, and the client would then never see `last`.
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
    """Close a stream at once; a socket without the two rounds of the loop that trio takes for it."""
    if isinstance(stream, trio.SocketStream):
        stream.socket.close()
    else:
        await trio.aclose_forcefully(stream)


def _parse_request_line(received: bytes | bytearray) -> Head | None:
    """Parse the first line of an unusable head, to answer it in the shape of its path; None if it has no target."""
    match = _REQUEST_LINE.match(received)
    if match is None:
        return None
    return Head(method=match[1], target=match[2], version=VERSIONS[-1], headers=(), raw=b"", rest=b"")


def _admit_head(
    request: h11.Request, received: bytes, rest: bytes, halves: Collection[bytes]
) -> Head | Refusal:
    """Return a parsed request as a `Head`, or the `Refusal` of a request that this port does not serve."""
    raw = received[: len(received) - len(rest)]
    headers = tuple((bytes(name), bytes(value)) for name, value in request.headers)
    head = Head(
        method=bytes(request.method),
        target=bytes(request.target),
        version=bytes(request.http_version),
        headers=headers,
        raw=raw,
        rest=rest,
        halves=halves,
    )
    refusal = _refuse_head(head)
    return head if refusal is None else replace(refusal, of=head)


def _refuse_head(head: Head) -> Refusal | None:
    """Return the refusal of a head that is too large, or whose version, method or target is not served; or None."""
    if len(head.raw) > HEAD_MAX:
        return _malformed_refusal(431)
    if head.version not in VERSIONS:
        return Refusal(505, "This port speaks HTTP/1.1.")
    if head.method not in METHODS and not routes.is_api_path(head.path):
        return Refusal(405, "This port answers GET, HEAD and POST.", {"Allow": "GET, HEAD, POST"})
    if not head.target.startswith(b"/"):
        return Refusal(400, "Send a path that begins with a slash.")
    return _refuse_upgrade(head) if head.upgrade else None


def _refuse_upgrade(head: Head) -> Refusal | None:
    """Return the refusal of a wrong WebSocket upgrade (RFC 6455, sections 4.1 and 4.2.1), or None."""
    versions, keys = head.values(b"sec-websocket-version"), head.values(b"sec-websocket-key")
    if not all(name not in _BODY and _is_plain_header(name, value) for name, value in head.headers):
        return Refusal(400, "Send a WebSocket upgrade without a body, in ASCII.")
    if b"upgrade" not in _split_words(head.values(b"connection")):
        return Refusal(400, "Send Connection: Upgrade with a WebSocket upgrade.")
    if len(versions) != 1:
        return Refusal(400, "Send Sec-WebSocket-Version once: 13.")
    if versions[0] != _VERSION:
        return Refusal(426, "This port speaks version 13 of WebSocket.", {"Sec-WebSocket-Version": "13"})
    if len(keys) != 1 or not _is_key(keys[0]):
        return Refusal(400, "Send Sec-WebSocket-Key once: 16 bytes in base64.")
    return None


def _is_plain_header(name: bytes, value: bytes) -> bool:
    """Return whether a header is ASCII, or no part of an upgrade."""
    return value.isascii() or not name.startswith((b"sec-websocket", b"connection", b"upgrade"))


def _is_key(value: bytes) -> bool:
    try:
        return len(b64decode(value, validate=True)) == 16
    except ValueError:
        return False


def _malformed_refusal(status: int) -> Refusal:
    if status == 431:
        return Refusal(431, f"Send a request head of at most {HEAD_MAX} bytes.")
    return Refusal(400, "This is not an HTTP/1.1 request.")


def _split_words(values: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(word.strip().lower() for value in values for word in value.split(b","))
