"""The one task that writes to a client's socket: whole frames, in the outbox's order, never in a turn's scope.

A cancelled write leaves half a frame on the wire and corrupts everything after it, so nothing else may write, and
this task is cancelled only when the connection is given up.
"""

import trio

from ..config import WRITE_TIMEOUT
from ..errors import WireClosed
from ..ports.wire import Wire
from .outbox import Outbox


async def write_all(outbox: Outbox, wire: Wire) -> None:
    """Write what the outbox holds until it is closed and empty.

    Raises `agent.errors.WireClosed` when the client is gone, also when a write stalls for WRITE_TIMEOUT seconds
    (the connection is then aborted). Cancelled, half a frame may have been written: the connection must be dropped.
    """
    while (chunk := await outbox.take()) is not None:
        with trio.move_on_after(WRITE_TIMEOUT) as stall:
            await wire.send(chunk.data)
        if stall.cancelled_caught:
            wire.abort()
            raise WireClosed
        if chunk.written is not None:
            chunk.written()
