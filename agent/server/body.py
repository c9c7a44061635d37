"""Reads the body of a request that may have one.

The head was read by h11 and checked; the same bytes go through h11 again, followed by what the client sends, so that
where the body ends is decided by one parser. What comes after its end is no request: it is read and dropped.
"""

import h11
import trio

from ..config import BODY_CHUNKS, BODY_MAX, BODY_TIMEOUT, HEAD_MAX
from .sniff import Head, Refusal

_READ = 4096
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TOO_LARGE = Refusal(413, f"Send a body of at most {BODY_MAX // 1024} KB.", code="too_large")
_MALFORMED = Refusal(400, "This body is not what the request's head announces.", code="bad_request")
_TWO_LENGTHS = Refusal(400, "Send Content-Length or Transfer-Encoding, not both.", code="bad_request")
_OLD_CHUNKS = Refusal(400, "Send Content-Length: HTTP/1.0 knows no chunks.", code="bad_request")
_TOO_SLOW = Refusal(408, f"Send the whole body within {BODY_TIMEOUT:g} seconds.", code="too_slow")


def announced(head: Head) -> Refusal | None:
    """Return what can be said against a body before it comes, or None."""
    lengths = head.values(b"content-length")
    if head.values(b"transfer-encoding"):
        if lengths:
            return _TWO_LENGTHS
        return _OLD_CHUNKS if head.version == b"1.0" else None
    return _TOO_LARGE if lengths and int(lengths[0]) > BODY_MAX else None


async def read_body(stream: trio.abc.Stream, head: Head) -> bytes | Refusal | None:
    """Return the body of a request that `announced` has nothing against: BODY_MAX bytes within BODY_TIMEOUT seconds.

    A client that waits to be asked for it is. Returns the refusal to answer with where it is none, and None when the
    client left before its end. Cancelled, what was read is lost.
    """
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_MAX + _READ)
    with trio.move_on_after(BODY_TIMEOUT):
        try:
            parser.receive_data(head.raw + head.rest)
            parser.next_event()
            if parser.they_are_waiting_for_100_continue:
                await stream.send_all(_CONTINUE)
            return await _read(stream, parser, len(head.rest))
        except h11.RemoteProtocolError:
            return _MALFORMED
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return None
    return _TOO_SLOW


async def _read(
    stream: trio.abc.ReceiveStream, parser: h11.Connection, received: int
) -> bytes | Refusal | None:
    body = bytearray()
    chunks = 0
    while True:
        event = parser.next_event()
        if isinstance(event, h11.Data):
            body += event.data
            chunks += event.chunk_end  # the start of one whose data come later is not told
            if len(body) > BODY_MAX or chunks > BODY_CHUNKS:
                return _TOO_LARGE
        elif isinstance(event, h11.EndOfMessage):
            return bytes(body)
        else:
            if received > BODY_MAX:
                return _TOO_LARGE
            data = await stream.receive_some(_READ)
            if not data:
                return None
            received += len(data)
            parser.receive_data(bytes(data))
