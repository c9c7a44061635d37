"""Writing what a stream takes at once, without waiting and without a task.

A socket's kernel takes nearly every frame at once. To ask it costs a system call; a task that waits for the answer
costs ten times that, and a deadline of its own as much again.
"""

import os
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import trio

from ..errors import WireClosed


@runtime_checkable
class Eager(Protocol):
    """A stream that can take bytes at once; a socket in memory is one."""

    def send_now(self, data: bytes) -> int:
        """Take as many of the bytes as fit, and return how many; raises `trio.BrokenResourceError`."""
        ...


Write = Callable[[bytes], int]


def eager_write(stream: trio.abc.SendStream) -> Write | None:
    """Return what writes to a stream at once and tells how many bytes it took; None where only waiting writes.

    It raises `agent.errors.WireClosed` when nobody will read any more, or the stream was closed here.
    """
    if isinstance(stream, trio.SocketStream):
        socket = stream.socket

        def write(data: bytes) -> int:
            try:
                return os.write(socket.fileno(), data)  # asked for each time: a closed socket has none
            except (BlockingIOError, InterruptedError):
                return 0
            except OSError:
                raise WireClosed from None

        return write
    if isinstance(stream, Eager):
        send_now = stream.send_now

        def write_eagerly(data: bytes) -> int:
            try:
                return send_now(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise WireClosed from None

        return write_eagerly
    return None
