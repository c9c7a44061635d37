"""Writing what a stream takes at once, without waiting and without a task.

A socket's kernel takes nearly every frame at once. To ask it costs a system call; a task that waits for the answer
costs ten times that, and a deadline of its own as much again.
"""

import os
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import trio

from ..errors import WireClosed


@runtime_checkable
class Eager(Protocol):
    """A stream that can take bytes at once; a socket in memory is one."""

    def send_now(self, data: bytes) -> int:
        """Take as many of the bytes as fit, and return how many; raises `trio.BrokenResourceError`."""
        ...


Write: TypeAlias = Callable[[Any, bytes], int]


def eager_write(stream: trio.abc.SendStream) -> Write | None:
    """Return what writes to a stream (given it and bytes) at once, and returns how many it took; None where only
    waiting writes.

    It raises `agent.errors.WireClosed` when nobody will read any more, or the stream was closed here.
    """
    if isinstance(stream, trio.SocketStream):
        return _to_socket
    return _to_eager if isinstance(stream, Eager) else None


def _to_socket(stream: trio.SocketStream, data: bytes) -> int:
    try:
        return os.write(stream.socket.fileno(), data)  # asked for each time: a closed socket has none
    except (BlockingIOError, InterruptedError):
        return 0
    except OSError:
        raise WireClosed from None


def _to_eager(stream: Eager, data: bytes) -> int:
    try:
        return stream.send_now(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        raise WireClosed from None
