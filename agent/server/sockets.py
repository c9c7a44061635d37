"""Reads the state of a connection's socket; other streams have none."""

import fcntl
import socket
import termios

import trio

_INT = 4  # bytes of the number that FIONREAD returns


def is_reset(stream: trio.abc.Stream) -> bool:
    """Return whether the client has reset the connection. Its request may still be readable, but no answer arrives.

    A crowd that resets fills the queue of connections that wait to be accepted; serving these dead connections would
    keep those behind them waiting for seconds.
    """
    if not isinstance(stream, trio.SocketStream):
        return False
    return bool(stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def may_have_unread(stream: trio.abc.Stream) -> bool:
    """Return whether bytes of a client may have come that nothing has read; only of a socket can they be counted."""
    if not isinstance(stream, trio.SocketStream):
        return True
    try:
        return any(fcntl.ioctl(stream.socket.fileno(), termios.FIONREAD, bytes(_INT)))
    except OSError:
        return True


def local_address(stream: trio.abc.Stream) -> str | None:
    """Return the address of this machine that the client reached, or None if the stream has none."""
    try:
        return str(stream.socket.getsockname()[0]) if isinstance(stream, trio.SocketStream) else None
    except OSError:
        return None


def peer_address(stream: trio.abc.Stream) -> str | None:
    """Return the client's address, or None if the stream has none."""
    try:
        return str(stream.socket.getpeername()[0]) if isinstance(stream, trio.SocketStream) else None
    except OSError:
        return None
