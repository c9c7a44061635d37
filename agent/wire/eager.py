"""Writes as much as a stream takes at once, without waiting and without a task.

A socket's kernel takes nearly every frame at once. The attempt costs one system call; a task that waits for the socket
costs ten times that, and a deadline of its own as much again.
"""

import os
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import trio

from ..errors import WireClosed


@runtime_checkable
class EagerStream(Protocol):
    """A stream that can take bytes at once; a socket in memory is one."""

    def send_now(self, data: bytes) -> int:
        """Take as many bytes of `data` as fit, and return how many; raises `trio.BrokenResourceError`."""
        ...


EagerWrite: TypeAlias = Callable[[Any, bytes], int]


def find_eager_write(stream: trio.abc.SendStream) -> EagerWrite | None:
    """Return the function that writes bytes to `stream` at once and returns how many it took.

    Return `None` for a stream that can only be written to by waiting. The function raises `agent.errors.WireClosed`
    when the other end is gone, or when the stream was closed here.
    """
    if isinstance(stream, trio.SocketStream):
        return _write_to_socket
    return _write_to_stream if isinstance(stream, EagerStream) else None


def _write_to_socket(stream: trio.SocketStream, data: bytes) -> int:
    try:
        return os.write(stream.socket.fileno(), data)  # asked for each time: a closed socket has none
    except (BlockingIOError, InterruptedError):
        return 0
    except OSError:
        raise WireClosed from None


def _write_to_stream(stream: EagerStream, data: bytes) -> int:
    try:
        return stream.send_now(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        raise WireClosed from None
