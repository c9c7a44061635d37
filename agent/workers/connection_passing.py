"""Connections on their way from the supervisor to a worker: each is one byte with a file descriptor (`SCM_RIGHTS`).

The socket's buffer bounds how many are under way; a worker that takes no more is passed over. The supervisor keeps the
worker's end of the socket open, too, so that it can take back connections that a worker does not take. Each connection
is received once, by the process that is first.
"""

import socket
import struct
from collections.abc import Callable

import trio

_ONE = b"c"
_FILE = struct.Struct("i")
_CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


def give_connection(to: socket.socket, connection: socket.socket) -> bool:
    """Give a connection to a worker; return `False` if it takes none now. The caller closes its own copy.

    `to` is a socket that does not block.
    """
    try:
        socket.send_fds(to, [_ONE], [connection.fileno()])
    except OSError:  # too many are under way, or the worker is dead, which is found out elsewhere
        return False
    return True


def take_connection_back(source: socket.socket) -> socket.socket | None:
    """Return the next connection that a worker was given and has not taken, or `None`.

    `source` is the worker's end of the socket, which does not block.
    """
    try:
        while True:
            data, file = _receive(source)
            if file is not None:
                return socket.socket(fileno=file)
            if not data:
                return None
    except OSError:  # none, or no file descriptor is left for it
        return None


def _receive(source: socket.socket) -> tuple[bytes, int | None]:
    """Receive one byte and its descriptor, if there is one. `socket.recv_fds` ignores its flags."""
    data, rights, _, _ = source.recvmsg(len(_ONE), socket.CMSG_SPACE(_FILE.size), _CLOSED_ON_EXEC)
    return data, _FILE.unpack_from(rights[0][2])[0] if rights else None


class PassedConnections(trio.abc.Listener[trio.SocketStream]):
    """The connections that a worker is given, as a listener; some in a row come without a checkpoint between them.

    `source` is a socket that does not block. `at_once` returns how many may come in a row at that moment. When no file
    descriptor is left for a connection, `lost` is called for it, and then `relieve`.
    """

    def __init__(
        self,
        source: socket.socket,
        lost: Callable[[], None],
        at_once: Callable[[], int],
        relieve: Callable[[], None],
    ) -> None:
        self._source = source
        self._lost = lost
        self._at_once = at_once
        self._relieve = relieve
        self._in_a_row = 0

    async def accept(self) -> trio.SocketStream:
        """Return the next connection; wait for ever once the supervisor is gone."""
        if self._in_a_row >= self._at_once():
            self._in_a_row = 0
            await trio.lowlevel.checkpoint()
        while True:
            try:
                data, file = _receive(self._source)
            except BlockingIOError:
                self._in_a_row = 0
                await trio.lowlevel.wait_readable(self._source)
                continue
            except ConnectionResetError:
                data, file = b"", None
            if not data:
                await trio.sleep_forever()
            if file is not None:
                self._in_a_row += 1
                connection = socket.socket(fileno=file)
                return trio.SocketStream(trio.socket.from_stdlib_socket(connection))
            self._lost()
            self._relieve()
            await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close the socket; the clients of connections that were not taken read the end."""
        self._source.close()
        await trio.lowlevel.checkpoint()
