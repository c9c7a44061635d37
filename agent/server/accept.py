"""Accepts connections by the handful.

`trio.serve_listeners` accepts one connection and then lets every other task have its turn. With a few hundred busy
sessions such a round takes milliseconds, and a thousand clients that come back after a restart would wait for a
thousand rounds. So `BatchListener` accepts the connections that already wait in the kernel's queue along with the
first: not so many that their heads could not be read before the next ones come, and few while earlier connections have
not sent their request, or a flood would cost the connected clients as many milliseconds a round.

When no file descriptor is left, `trio.serve_listeners` logs a line and tries again after 0.1 seconds. That stays as it
is, but `relieve` is called too: silent connections would otherwise keep all others out until their timeout.
"""

import errno
import socket
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import trio

from ..errors import UsageError
from ..host import raise_file_limit
from .settings import VISITORS, ServerSettings

SPARE_FILES = 256  # beside connections: the ones that are leaving, the index, webhooks, the ledger
_NONE_LEFT = (errno.EMFILE, errno.ENFILE)


async def open_listeners(settings: ServerSettings) -> list[trio.SocketListener]:
    """Return listeners on the `host` and `port` of `settings`, and raise the process's file limit to match.

    Raises `UsageError` if the address cannot be listened on. Cancelled, no listener is left open.
    """
    raise_file_limit(settings.max_connections + VISITORS + SPARE_FILES)
    try:
        return await trio.open_tcp_listeners(settings.port, host=settings.host)
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise UsageError(
            f"cannot listen on {where}: {error.strerror or error}; choose another with --host or --port"
        ) from None


ListenerSource: TypeAlias = (
    trio.SocketListener
    | Callable[[Callable[[], int], Callable[[], None]], trio.abc.Listener[trio.SocketStream]]
)
"""A source of connections: a socket, or a function that makes a listener from `batch_size` and `relieve`."""


def make_listener(
    source: ListenerSource, batch_size: Callable[[], int], relieve: Callable[[], None]
) -> trio.abc.Listener[trio.SocketStream]:
    """Return a listener that yields waiting connections without a checkpoint between them.

    `batch_size` returns how many it may yield in a row at that moment. `relieve` is called when no file descriptor is
    left.
    """
    if isinstance(source, trio.SocketListener):
        return BatchListener(source, batch_size, relieve)
    return source(batch_size, relieve)


class BatchListener(trio.abc.Listener[trio.SocketStream]):
    """A listener that accepts up to `batch_size()` connections of a socket in one turn of the loop."""

    def __init__(
        self, listener: trio.SocketListener, batch_size: Callable[[], int], relieve: Callable[[], None]
    ) -> None:
        self._listener = listener
        self._batch_size = batch_size
        self._relieve = relieve
        self._accepted: deque[trio.SocketStream] = deque()
        self._socket = socket.socket(fileno=socket.dup(listener.socket.fileno()))
        self._socket.setblocking(False)

    async def accept(self) -> trio.SocketStream:
        """Return the next connection.

        This is a checkpoint, and can be cancelled, only if no accepted connection waits here. An exception of the
        listener is passed on; connections that were accepted before are not lost.
        """
        if not self._accepted:
            try:
                self._accepted.append(await self._listener.accept())
            except OSError as error:
                if error.errno in _NONE_LEFT:
                    self._relieve()
                raise
            self._accept_waiting()
        return self._accepted.popleft()

    async def aclose(self) -> None:
        """Close the listener, and the connections that `accept` has not returned yet."""
        self._socket.close()
        while self._accepted:
            await trio.aclose_forcefully(self._accepted.popleft())
        await self._listener.aclose()

    def _accept_waiting(self) -> None:
        while len(self._accepted) < self._batch_size():
            try:
                connection, _ = self._socket.accept()
            except OSError:  # none waits, or the next `accept` reports the error
                return
            self._accepted.append(trio.SocketStream(trio.socket.from_stdlib_socket(connection)))
