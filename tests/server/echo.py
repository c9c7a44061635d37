"""An echo behind the production connection path: sniffer, upgrade, our stream, writer and close handling.

A conformance suite wants every message back, text as text and binary as binary. Here an echo stands where codec and
session stand in the server; everything below them is the server's own. No flag of `agent` reaches it.

    python -m tests.server.echo [PORT]

It prints the URL it listens on (a free port of 127.0.0.1 when none is named) and runs until it is interrupted.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress

import trio

from agent.errors import WireClosed
from agent.server.admission import Admission
from agent.server.api.keys import Keys
from agent.server.http_server import HttpServer
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.serve import Edge, serve
from agent.server.settings import ServerSettings
from agent.server.websocket import Connection

CONNECTIONS = 100


async def echo(connection: Connection) -> None:
    """Send each message back as what it was until the client leaves; a handler for `serve_websocket`.

    A client that does not read overflows its outbox and is dropped, as in the server. Cancelled, it ends at once.
    """

    def answer(message: str | bytes) -> None:
        binary = isinstance(message, bytes)
        data = message if isinstance(message, bytes) else message.encode()
        connection.put_frames(connection.make_frame(data, binary=binary))
        connection.flush()

    with suppress(WireClosed):
        await connection.deliver_messages(answer)


def echo_edge(port: int) -> Edge:
    """Return an edge with the server's rules and an echo as its handler. port: the one that is listened on."""
    admission, cap, metrics = Admission.of(ServerSettings(), port), ConnectionLimits(CONNECTIONS), Metrics()
    http = HttpServer(Keys(admission, cap.wrong_tokens), cap, metrics, {}, {}, lambda: "fault")
    return Edge(admission=admission, handler=echo, http=http, limits=cap, observer=metrics)


async def serve_echo(
    listeners: Sequence[trio.SocketListener], *, task_status: trio.TaskStatus[Edge] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve the echo on `listeners` of a loopback address until cancelled; started, with its edge, when it listens."""
    edge = echo_edge(int(listeners[0].socket.getsockname()[1]))
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, listeners, edge)
        task_status.started(edge)


async def run(port: int = 0) -> None:
    """Serve the echo on a port of 127.0.0.1 (0: a free one) and print its URL; runs until cancelled."""
    listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
    sys.stdout.write(f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}/ws\n")
    sys.stdout.flush()
    await serve_echo(listeners)


if __name__ == "__main__":
    try:
        trio.run(run, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    except* KeyboardInterrupt:
        pass
