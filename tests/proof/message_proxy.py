"""A proxy for PostgreSQL that knows where messages begin, and breaks a connection at one of them, in either direction.

The first message of a client has a length and no type; every other one has a byte for its type, then a length that
counts itself. Encryption is not understood: a URL through the proxy has `sslmode=disable` and `gssencmode=disable`.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal, TypeAlias

Break: TypeAlias = Literal["cut", "late", "silent", "killed"]
"""A way to break a connection at a message: it and its connection are dropped; it is held back for `HELD` seconds;
nothing is forwarded any more, and the connection stays open; or the server is killed, and the message is lost.
"""

HELD = 3.0  # seconds; more than any caller waits
_PIECE = 64 * 1024


class MessageProxy:
    """A proxy before the server at `port`, for a `with` block. It counts the messages of both directions in one order:
    a client sends, waits for the answers, and sends again.

    `kill` kills the server, and starts it again.
    """

    def __init__(self, port: int, kill: Callable[[], None] = lambda: None) -> None:
        self._server = ("127.0.0.1", port)
        self._kill = kill
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._count = 0
        self._break_at: tuple[int, Break] | None = None
        self._silent: set[tuple[socket.socket, socket.socket]] = set()
        self.broken = ""  # the type of the message at which a connection was broken, and its direction

    @property
    def url(self) -> str:
        """The URL of the server's database, through the proxy."""
        port = self._listener.getsockname()[1]
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable&gssencmode=disable"

    @property
    def count(self) -> int:
        """The number of messages since the last call of `break_at`, or since the start."""
        with self._lock:
            return self._count

    def break_at(self, number: int, how: Break | None) -> None:
        """Break the connection of the message of this number, from 1 and from now on, or of none."""
        with self._lock:
            self._count, self.broken = 0, ""
            self._break_at = None if how is None else (number, how)

    def __enter__(self) -> "MessageProxy":
        """Listen."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close every connection."""
        with self._lock:
            closing, self._open = [self._listener, *self._open], []
        for each in closing:
            _close(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._server)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open += [client, server]
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, target, untyped in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._forward, args=(source, target, untyped), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, from_client: bool) -> None:
        try:
            for message in _read_messages(source, from_client):
                if not self._pass(message, source, target, from_client):
                    return
                target.sendall(message)
        except OSError:
            pass
        self._end(source, target)

    def _pass(self, message: bytes, source: socket.socket, target: socket.socket, from_client: bool) -> bool:
        """Return whether to forward a message; a connection that is broken at it has been broken then."""
        pair = (source, target) if from_client else (target, source)
        with self._lock:
            if pair in self._silent:
                return False
            self._count += 1
            if self._break_at is None or self._count != self._break_at[0]:
                return True
            how, self._break_at = self._break_at[1], None
            self.broken = f"{chr(message[0])} to the {'server' if from_client else 'client'}"
            if how == "silent":
                self._silent.add(pair)
                return False
        if how == "late":
            time.sleep(HELD)
            return True
        if how == "killed":
            self._kill()
        self._end(source, target)
        return False

    def _end(self, *ends: socket.socket) -> None:
        for each in ends:
            with self._lock:
                if each in self._open:
                    self._open.remove(each)
            _close(each)


def _read_messages(source: socket.socket, untyped: bool) -> Iterator[bytes]:
    """Yield the messages of a connection, the first of them without a type where it is a client's."""
    held = bytearray()
    while piece := source.recv(_PIECE):
        held += piece
        while True:
            at = 0 if untyped else 1
            if len(held) < at + 4:
                break
            size = at + int.from_bytes(held[at : at + 4], "big")
            if len(held) < size:
                break
            message, untyped = bytes(held[:size]), False
            del held[:size]
            yield message


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it
    end.close()
