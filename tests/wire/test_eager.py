"""Writing to a socket without waiting: what it takes, and what it never does."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest
import trio

from agent.errors import WireClosed
from agent.testing.faults import pipe
from agent.wire.outbox import find_eager_write


@pytest.fixture
def room() -> Iterator[ExitStack]:
    """What is closed after a test, however it ends."""
    with ExitStack() as stack:
        yield stack


def pair(room: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection, of which the first does not block."""
    ours, theirs = map(room.enter_context, socket.socketpair())
    ours.setblocking(False)
    theirs.settimeout(1)
    return ours, theirs


def writer(stream: trio.abc.SendStream) -> Callable[[bytes], int]:
    """What writes to a stream at once."""
    write = find_eager_write(stream)
    assert write is not None
    return partial(write, stream)


async def test_a_socket_takes_what_fits_and_then_nothing(room: ExitStack) -> None:
    """It never blocks, and loses nothing of what it said it took."""
    ours, theirs = pair(room)
    write, taken = writer(trio.SocketStream(trio.socket.from_stdlib_socket(ours))), 0
    while step := write(bytes(1 << 16)):
        taken += step
    received = 0
    while received < taken:
        received += len(theirs.recv(1 << 16))
    assert received == taken > 0


async def test_a_client_that_is_gone_is_noticed(room: ExitStack) -> None:
    """Its socket's fault is our own kind."""
    ours, theirs = pair(room)
    write = writer(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
    theirs.close()
    with pytest.raises(WireClosed):
        write(b"x")


async def test_a_closed_socket_is_not_written_to_by_its_number(room: ExitStack) -> None:
    """The kernel gives the number to the next connection, which must not read what was meant for this one."""
    (ours, _), (other, reader) = pair(room), pair(room)
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    write, number = writer(stream), ours.fileno()
    stream.socket.close()
    room.callback(os.close, os.dup2(other.fileno(), number))
    with pytest.raises(WireClosed):
        write(b"secret")

    reader.setblocking(False)
    with pytest.raises(BlockingIOError):
        reader.recv(1)


@pytest.mark.parametrize("closed_here", [False, True])
async def test_a_pipe_in_memory_is_written_to_the_same_way(closed_here: bool) -> None:
    """What it has no room for it does not take; closed at either end it says so."""
    ours, theirs = pipe(room=3)
    write = writer(ours)
    assert (write(b"abcd"), write(b"d"), theirs.take()) == (3, 0, b"abc")
    (ours if closed_here else theirs).close()
    with pytest.raises(WireClosed):
        write(b"d")
