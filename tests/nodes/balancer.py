"""A load balancer: each connection goes to the next of several ports of this machine, as it is."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import trio

_GONE = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)


@asynccontextmanager
async def balance(ports: Sequence[int]) -> AsyncGenerator[int, None]:
    """Listen for the time of a block; yield the port. `ports` may be filled before the first connection."""
    turns = count()

    async def pass_on(client: trio.SocketStream) -> None:
        try:
            async with (
                client,
                await trio.open_tcp_stream("127.0.0.1", ports[next(turns) % len(ports)]) as server,
                trio.open_nursery() as both,
            ):
                both.start_soon(pump, client, server, both.cancel_scope)
                both.start_soon(pump, server, client, both.cancel_scope)
        except OSError:
            return  # the node is gone

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=1024)
        nursery.start_soon(trio.serve_listeners, pass_on, listeners)
        yield int(listeners[0].socket.getsockname()[1])
        nursery.cancel_scope.cancel()


async def pump(source: trio.SocketStream, sink: trio.SocketStream, both: trio.CancelScope) -> None:
    """Pass on what comes, and its end; where a side is broken, cancel `both` directions."""
    try:
        async for piece in source:
            await sink.send_all(piece)
        await sink.send_eof()
    except _GONE:
        both.cancel()
