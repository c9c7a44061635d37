"""The answer of a server that this one has asked, read no further than it may be long.

Strategy: the bytes are counted as they come and not as they are announced, so that a server which announces nothing, or
something else, fills no memory. httpx is installed only with what asks other servers, so those alone import this.
"""

import httpx


async def body_within(response: httpx.Response, most: int) -> bytes | None:
    """Return the body of an answer as it came over the wire, or None when it is longer than `most` bytes.

    An answer that is too long is closed, not read to its end. Raises httpx.HTTPError when it breaks off before; on
    cancel the caller's `stream` closes the connection.
    """
    body = bytearray()
    try:
        async for piece in response.aiter_raw():
            # Closing makes the next read fail, which unwinds httpx's nested generators; leaving the loop would
            # leave them to the garbage collector.
            body += piece
            if len(body) > most:
                await response.aclose()
    except httpx.HTTPError:
        if len(body) <= most:
            raise
    return bytes(body) if len(body) <= most else None
