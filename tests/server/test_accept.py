"""Connections that wait together are accepted together, over real sockets of the loopback."""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import trio
import trio.testing

from agent.server.accept import BatchListener


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Closes what was connected."""
    with ExitStack() as stack:
        yield stack


async def listening(at_once: int = 32) -> tuple[BatchListener, tuple[str, int]]:
    """Listen on a free port; return the listener and its address."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    return BatchListener(listener, lambda: at_once, lambda: None), listener.socket.getsockname()[:2]


def connect(clients: ExitStack, address: tuple[str, int], count: int) -> list[socket.socket]:
    """Connect, which the kernel does without the server."""
    return [clients.enter_context(socket.create_connection(address)) for _ in range(count)]


async def test_those_that_wait_are_given_without_a_turn_for_others(clients: ExitStack) -> None:
    """Up to a limit, after which others have their turn; each is given once, in order, and works."""
    listener, address = await listening(4)
    names = [each.getsockname() for each in connect(clients, address, 6)]
    given = [await listener.accept()]
    with trio.testing.assert_no_checkpoints():
        given += [await listener.accept() for _ in range(3)]
    with trio.testing.assert_checkpoints():
        given.append(await listener.accept())
    with trio.testing.assert_no_checkpoints():
        given.append(await listener.accept())
    assert [each.socket.getpeername() for each in given] == names
    for each in given:
        await each.send_all(b"x")
        await each.aclose()
    with trio.move_on_after(0) as waited:
        await listener.accept()
    assert waited.cancelled_caught
    await listener.aclose()


async def test_what_was_not_given_is_closed_with_the_listener(clients: ExitStack) -> None:
    """Its client reads the end."""
    listener, address = await listening()
    first, second = connect(clients, address, 2)
    given = await listener.accept()
    await listener.aclose()
    second.settimeout(2)
    assert second.recv(1) == b""
    await given.send_all(b"x")
    assert first.recv(1) == b"x"
    await given.aclose()
    with pytest.raises(trio.ClosedResourceError):
        await listener.accept()


async def test_running_out_of_descriptors_loses_nobody(
    clients: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was accepted before is given; the error comes with the next, for `serve_listeners` to wait on."""
    listener, address = await listening()
    connect(clients, address, 3)
    ours: Any = listener._socket

    class Full:
        """Accepts one more."""

        left = 1

        def accept(self) -> Any:
            """Accept, or have no descriptor left."""
            if not self.left:
                raise OSError(errno.EMFILE, "none left")
            self.left -= 1
            return ours.accept()

        def close(self) -> None:
            """Close."""
            ours.close()

    monkeypatch.setattr(listener, "_socket", Full())
    given = [await listener.accept() for _ in range(3)]
    for each in given:
        await each.aclose()
    await listener.aclose()


async def test_when_there_are_none_left_somebody_is_asked_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """For no other error."""
    (real,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    asked: list[int] = []
    listener = BatchListener(real, lambda: 1, lambda: asked.append(1))
    for number, count in ((errno.EMFILE, 1), (errno.ENFILE, 2), (errno.ENOBUFS, 2)):

        async def fail(number: int = number) -> trio.SocketStream:
            await trio.lowlevel.checkpoint()
            raise OSError(number, "none left")

        monkeypatch.setattr(real, "accept", fail)
        with pytest.raises(OSError, match="none left"):
            await listener.accept()
        assert len(asked) == count
    await listener.aclose()
