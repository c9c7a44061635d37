"""Tests of the server, and how they speak plain HTTP with it over memory streams."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
import trio.testing

from agent.ports.observe import Observer
from agent.server.admission import Admission
from agent.server.api.keys import Keys
from agent.server.gate import Gate
from agent.server.http_server import HttpServer
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.page_routes import PageContents, make_page_handlers
from agent.server.serve import Edge, serve_stream
from agent.server.settings import ServerSettings

T = TypeVar("T")


def later(answer: Callable[[], T]) -> Callable[[], Awaitable[T]]:
    """Return what answers so when it is waited for."""

    async def telling() -> T:
        return answer()

    return telling


def http_server(
    contents: PageContents, admission: Admission, cap: ConnectionLimits, metrics: Observer
) -> HttpServer:
    """Return what serves a page and nothing else."""
    keys = Keys(admission, cap.wrong_tokens)
    return HttpServer(keys, cap, metrics, make_page_handlers(contents), {}, lambda: "fault")


def page(contents: PageContents, admission: Admission | None = None, metrics: Metrics | None = None) -> Edge:
    """Return an edge with a page and nothing else behind it."""
    rules = admission or Admission.of(ServerSettings())
    cap, figures = ConnectionLimits(5), metrics or Metrics()
    return Edge(
        admission=rules,
        handler=nobody,
        http=http_server(contents, rules, cap, figures),
        limits=cap,
        observer=figures,
        gate=Gate(),
    )


async def nobody(_: object) -> None:
    """Take no session."""
    raise AssertionError("this was no upgrade")


async def exchange(edge: Edge, request: bytes) -> bytes:
    """Send a request, and whatever follows it on its connection; return all that comes back."""
    client, stream = trio.testing.memory_stream_pair()
    answer = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, edge, stream)
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
