"""Accepts connections by the handful.

`trio.serve_listeners` accepts one connection and then lets every other task have its turn. With a few hundred busy
sessions such a round takes milliseconds, and a thousand clients that come back after a restart would wait for a
thousand rounds. So the connections that already wait in the kernel's queue are taken along with the first: not so
many that their heads could not be read before the next ones come, and few while those who came before have not said
what they want, or a flood would cost those who are connected as many milliseconds a round.

What `trio.serve_listeners` does when no file descriptor is left (a line in the log, 0.1 seconds, again) stays as it is,
but who can be spared is asked to go, or those that say nothing would keep everybody else out until they are given up.
"""

import errno
import socket
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import trio

from ..config import VISITORS
from ..errors import UsageError
from ..host import raise_file_limit
from .settings import ServerSettings

SPARE_FILES = 256  # beside connections: the ones that are leaving, the index, webhooks, the ledger
_NONE_LEFT = (errno.EMFILE, errno.ENFILE)


async def listening(settings: ServerSettings) -> list[trio.SocketListener]:
    """Return listeners on the address and port of some settings, with the process's file limit raised to match.

    Raises UsageError when they cannot be had. Cancelled, none is left open.
    """
    raise_file_limit(settings.max_connections + VISITORS + SPARE_FILES)
    try:
        return await trio.open_tcp_listeners(settings.port, host=settings.host)
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise UsageError(
            f"cannot listen on {where}: {error.strerror or error}; choose another with --host or --port"
        ) from None


Listens: TypeAlias = (
    trio.SocketListener
    | Callable[[Callable[[], int], Callable[[], None]], trio.abc.Listener[trio.SocketStream]]
)
"""Where connections come from: a socket, or what makes a listener of the two arguments of `many_at_once`."""


def many_at_once(
    listens: Listens, at_once: Callable[[], int], relieve: Callable[[], None]
) -> trio.abc.Listener[trio.SocketStream]:
    """Return a listener that gives the connections which already wait without a checkpoint between them.

    at_once: returns how many, at that moment. relieve: called when no file descriptor is left.
    """
    if isinstance(listens, trio.SocketListener):
        return ManyAtOnce(listens, at_once, relieve)
    return listens(at_once, relieve)


class ManyAtOnce(trio.abc.Listener[trio.SocketStream]):
    """What `many_at_once` makes of a socket."""

    def __init__(
        self, listener: trio.SocketListener, at_once: Callable[[], int], relieve: Callable[[], None]
    ) -> None:
        self._listener = listener
        self._at_once = at_once
        self._relieve = relieve
        self._accepted: deque[trio.SocketStream] = deque()
        self._ours = socket.socket(fileno=socket.dup(listener.socket.fileno()))
        self._ours.setblocking(False)

    async def accept(self) -> trio.SocketStream:
        """Return the next connection. A checkpoint only where none was accepted along with the last; cancelled there.

        Raises what the listener raises; those accepted before are not lost by that.
        """
        if not self._accepted:
            try:
                self._accepted.append(await self._listener.accept())
            except OSError as error:
                if error.errno in _NONE_LEFT:
                    self._relieve()
                raise
            self._take_along()
        return self._accepted.popleft()

    async def aclose(self) -> None:
        """Close the listener, and what was accepted and not given."""
        self._ours.close()
        while self._accepted:
            await trio.aclose_forcefully(self._accepted.popleft())
        await self._listener.aclose()

    def _take_along(self) -> None:
        while len(self._accepted) < self._at_once():
            try:
                accepted, _ = self._ours.accept()
            except OSError:  # there is none, or the next `accept` above finds out why not
                return
            self._accepted.append(trio.SocketStream(trio.socket.from_stdlib_socket(accepted)))
