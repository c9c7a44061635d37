"""Tests of the server, and how they speak plain HTTP with it over memory streams."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
import trio.testing

from agent.server.hypercorn_edge import HttpServer
from agent.server.sniff import Head, read_head

T = TypeVar("T")


def later(answer: Callable[[], T]) -> Callable[[], Awaitable[T]]:
    """Return what answers so when it is waited for."""

    async def telling() -> T:
        return answer()

    return telling


async def exchange(server: HttpServer, request: bytes) -> bytes:
    """Send a request, and whatever follows it on its connection; return all that comes back."""
    client, stream = trio.testing.memory_stream_pair()
    answer = bytearray()
    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            head = await read_head(stream)
            assert isinstance(head, Head)
            await server.serve(stream, head)

        nursery.start_soon(serve)
        await client.send_all(request)
        while data := await client.receive_some():
            answer += data
        await client.aclose()
    return bytes(answer)


def parted(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers by their names in lower case, and body of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    named = dict(line.split(": ", 1) for line in rest)
    return int(first.split()[1]), {name.lower(): value for name, value in named.items()}, body
