"""Reads the body of a request that may have one.

h11 has parsed the head. The same bytes go through h11 again, followed by the bytes that the client sends, so one parser
decides where the body ends. Only a body that came whole with its head, which gives its length, is taken as it is. Bytes
behind the end are no part of the body: `feed_body` reports them, and `agent.server.http_exchange` then ends the
connection behind the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import h11
import trio

from ..config import BODY_MAX, HEAD_MAX
from .request_head import Head, Refusal

BODY_CHUNKS = 4096  # that a body may come in
BODY_TIMEOUT = 10.0

_READ = 4096
_READ_MUCH = 64 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_MALFORMED = Refusal(400, "This body is not what the request's head announces.", code="bad_request")
_TWO_LENGTHS = Refusal(400, "Send Content-Length or Transfer-Encoding, not both.", code="bad_request")
_OLD_CHUNKS = Refusal(400, "Send Content-Length: HTTP/1.0 knows no chunks.", code="bad_request")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a body: `most` bytes with the framing of its chunks, and `seconds` until it is whole."""

    most: int = BODY_MAX
    seconds: float = BODY_TIMEOUT

    @property
    def chunks(self) -> int:
        """The most chunks that a body may come in."""
        return BODY_CHUNKS * max(1, self.most // BODY_MAX)

    @property
    def too_large(self) -> Refusal:
        """The refusal of a body of more than `most` bytes."""
        return Refusal(413, f"Send a body of at most {self.most // 1024} KB.", code="too_large")

    @property
    def too_slow(self) -> Refusal:
        """The refusal of a body that takes longer than `seconds`."""
        return Refusal(408, f"Send the whole body within {self.seconds:g} seconds.", code="too_slow")


USUAL = Bounds()


def check_announced_body(head: Head, bounds: Bounds = USUAL) -> Refusal | None:
    """Return the refusal of a body that its head already shows to be unusable, or None."""
    lengths = head.values(b"content-length")
    if head.values(b"transfer-encoding"):
        if lengths:
            return _TWO_LENGTHS
        return _OLD_CHUNKS if head.version == b"1.0" else None
    return bounds.too_large if lengths and int(lengths[0]) > bounds.most else None


Ending: TypeAlias = Literal["end", "more"]
"""How a whole body ended: `end` with its last byte, `more` with further bytes behind it."""


async def feed_body(
    stream: trio.abc.Stream, head: Head, take: Callable[[bytes], None], bounds: Bounds = USUAL
) -> Refusal | Ending | None:
    """Hand the body of a request to `take`, piece by piece; return its `Ending`.

    `check_announced_body` must have passed the head. Sends `100 Continue` to a client that waits for it. Returns a
    `Refusal` for a malformed, large or slow body, and None if the client left before the end. An exception of `take`
    ends the reading. Cancelled, the bytes read so far are lost.
    """
    whole = _find_whole_body(head, bounds)
    if whole is not None:
        take(whole)
        return "end" if len(whole) == len(head.rest) else "more"
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX + _READ)
    with trio.move_on_after(bounds.seconds):
        try:
            parser.receive_data(head.raw + head.rest)
            parser.next_event()
            if parser.they_are_waiting_for_100_continue:
                await stream.send_all(_CONTINUE)
            return await _read_body(stream, parser, len(head.rest), take, bounds)
        except h11.RemoteProtocolError:
            return _MALFORMED
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return None
    return bounds.too_slow


def _find_whole_body(head: Head, bounds: Bounds) -> bytes | None:
    """Return a body that came whole with its head, or None if it must be read.

    h11 has checked `Content-Length`: it is one number in digits, and no other header says where the body ends.
    """
    lengths = head.values(b"content-length")
    if len(lengths) != 1 or head.values(b"transfer-encoding") or head.values(b"expect"):
        return None
    length = int(lengths[0])
    return head.rest[:length] if length <= min(len(head.rest), bounds.most) else None


async def _read_body(
    stream: trio.abc.ReceiveStream,
    parser: h11.Connection,
    received: int,
    take: Callable[[bytes], None],
    bounds: Bounds,
) -> Refusal | Ending | None:
    size = chunks = 0
    at_once = _READ if bounds.most <= BODY_MAX else _READ_MUCH
    while True:
        event = parser.next_event()
        if isinstance(event, h11.Data):
            size += len(event.data)
            chunks += event.chunk_end  # h11 does not report the start of a chunk whose data come later
            if size > bounds.most or chunks > bounds.chunks:
                return bounds.too_large
            take(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            return "more" if parser.trailing_data[0] else "end"
        else:
            if received > bounds.most:
                return bounds.too_large
            data = await stream.receive_some(at_once)
            if not data:
                return None
            received += len(data)
            parser.receive_data(bytes(data))


def is_json(head: Head) -> bool:
    """Return whether the `Content-Type` is JSON. No foreign page can send this type without a preflight request."""
    kinds = [value.partition(b";")[0].strip().lower() for value in head.values(b"content-type")]
    return kinds == [b"application/json"] and is_plain(head)


def is_plain(head: Head) -> bool:
    """Return whether a body has no `Content-Encoding`."""
    codings = [value.strip().lower() for value in head.values(b"content-encoding")]
    return all(each == b"identity" for each in codings)
