"""The load client: thousands of sessions in one thread, over an epoll loop.

Strategy: a load that shares a task, a future or a stream object per connection with its peers measures itself. Here a
connection is a socket, a `Line` and a place in a dictionary; one read takes all that has come, one look at the clock
serves it. What is to happen later is a heap of (time, call). Timers are late by up to a millisecond, as epoll is; every
time is taken when it happened. Linux only, for epoll.
"""

import errno
import os
import resource
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from time import perf_counter
from typing import Self

from .frames import upgrade
from .line import Failed, Line, Turn

READ = 64 * 1024  # bytes of one read
AT_ONCE = 64  # handshakes at a time: the servers' own queues hold more
SMALL = 2304  # bytes of a slow reader's receive buffer, the least that Linux gives ...
SEGMENT = (
    536  # ... and of its segments, or the sender takes loopback's 64 KiB for granted and buffers megabytes
)
LOOK = 0.1  # seconds at most until it is seen whether a load is done, though nothing comes
HEAD_MAX = 16 * 1024  # bytes of a handshake's answer
TOO_LATE = "{} did not come within {:g} s"


@dataclass(frozen=True, slots=True)
class Target:
    """A server: where its socket is, and the token it wants."""

    host: str
    port: int
    path: str = "/ws"
    token: str | None = None


class Link:
    """One connection of a load. lost_at: when the server cut it, or None. Made by `Load`."""

    __slots__ = ("_head", "_load", "_out", "_polled", "line", "lost_at", "sock", "up")

    def __init__(
        self, load: "Load", sock: socket.socket, request: bytes, over: Callable[[Line, Turn], None]
    ) -> None:
        self.line = Line(self.send, over)
        self.lost_at: float | None = None
        self.sock = sock
        self.up = False
        self._head = b""
        self._load = load
        self._out = request
        self._polled = select.EPOLLIN | select.EPOLLOUT
        load.poll.register(sock, self._polled)

    def send(self, data: bytes) -> None:
        """Write a whole frame, now or as soon as the socket takes it; to a lost connection it goes nowhere."""
        if self.lost_at is None:
            self._out += data
            if len(self._out) == len(data):  # nothing waits before it
                self._write()

    def read_slowly(self, size: int, every: float) -> None:
        """From now on read `size` bytes each `every` seconds, and nothing else."""
        self._watch(0)
        self._load.after(every, lambda: self._read_slowly(size, every))

    def _read_slowly(self, size: int, every: float) -> None:
        if self.lost_at is None:
            self.readable(size)
            self._load.after(every, lambda: self._read_slowly(size, every))

    def event(self, events: int) -> None:
        """Do what epoll says can be done."""
        if events & (select.EPOLLHUP | select.EPOLLERR):
            error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if not self.up and error not in (0, errno.ECONNRESET):
                raise OSError(error, os.strerror(error))
            self.lose()
            return
        if events & select.EPOLLOUT:
            self._write()
        if events & select.EPOLLIN:
            self.readable(READ)

    def readable(self, size: int) -> None:
        """Read what has come, `size` bytes at most."""
        try:
            data = self.sock.recv(size)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.lose()
        elif self.up:
            self.line.received(data, self._load.clock())
        else:
            self._answered(data)

    def lose(self) -> None:
        """Let go of a connection that the other end has cut; a turn in progress is over. Idempotent."""
        if self.lost_at is None:
            self.lost_at = self._load.clock()
            self._load.forget(self)
            if not self.up:
                raise Failed("the server hung up in the handshake: is that a server of WebSockets?")
            self.line.lost(self.lost_at)

    def _answered(self, data: bytes) -> None:
        self._head += data
        head, found, rest = self._head.partition(b"\r\n\r\n")
        if not found and len(head) < HEAD_MAX and b"HTTP/".startswith(head[:5]):
            return
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if not words[0].startswith(b"HTTP/1.") or len(words) < 2:
            raise Failed("the server does not answer as HTTP does: the URL must be that of a WebSocket")
        if words[1] in (b"401", b"403"):
            raise Failed("the server refuses: give its token with --token or AGENT_TOKEN")
        if words[1] == b"429":
            raise Failed(
                "the server has refused too much from here: wait a minute, and give its token with --token"
            )
        if words[1] != b"101":
            raise Failed(
                f"the server answers {words[1].decode('latin-1')} and not with a WebSocket: "
                "look at the URL's path, and at the server's --max-connections"
            )
        self.up, self._head = True, b""
        self._load.upgraded += 1
        if rest:
            self.line.received(rest, self._load.clock())

    def _write(self) -> None:
        if self._out:
            with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                self._out = self._out[self.sock.send(self._out) :]
        wanted = select.EPOLLOUT if self._out else 0
        self._watch(self._polled & select.EPOLLIN | wanted)

    def _watch(self, events: int) -> None:
        if events != self._polled and self.lost_at is None:
            self._polled = events
            self._load.poll.modify(self.sock, events)


class Load:
    """The connections of one load, and what is to happen to them. Used as a context manager; it then closes them.

    clock: seconds, as `time.perf_counter`.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.poll = select.epoll()
        self.upgraded = 0
        self._links: dict[int, Link] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for link in list(self._links.values()):
            self.forget(link)
        self.poll.close()

    def open(
        self,
        target: Target,
        size: int,
        over: Callable[[Line, Turn], None],
        *,
        slow: bool = False,
        seconds: float = 60.0,
    ) -> list[Link]:
        """Connect `size` sessions, AT_ONCE at a time, and return them once all have shaken hands.

        slow: with the smallest buffers there are. Raises Failed when the server does not let them all in.
        """
        request = upgrade(target.host, target.port, target.path, target.token)
        wanted = self.upgraded + size
        links: list[Link] = []

        def let_in() -> bool:
            inside = self.upgraded - (wanted - size)
            at_once = AT_ONCE if inside else 1  # where one is turned away, the others need not come
            while len(links) < size and len(links) - inside < at_once:
                sock = self._connecting(target, slow)
                links.append(Link(self, sock, request, over))
                self._links[sock.fileno()] = links[-1]
            return self.upgraded == wanted

        try:
            self.run(let_in, seconds, "the handshakes")
        except OSError as error:
            raise Failed(
                f"cannot connect to {target.host}:{target.port} ({error.strerror or error}): "
                "start a server with agent serve, or say where it is with --url"
            ) from None
        return links

    def _connecting(self, target: Target, slow: bool) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if ":" in target.host else socket.AF_INET)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if slow:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
            error = sock.connect_ex((target.host, target.port))
            if error not in (0, errno.EINPROGRESS):
                raise OSError(error, os.strerror(error))
        except BaseException:
            sock.close()
            raise
        return sock

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` in so many seconds, while the load runs."""
        heappush(self._later, (self.clock() + seconds, next(self._order), do))

    def run(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        """Run until `done`. Raises Failed, with `what`, when that takes more than `seconds`."""
        until = self.clock() + seconds
        links, later, clock = self._links, self._later, self.clock
        while not done():
            now = clock()
            if now > until:
                raise Failed(TOO_LATE.format(what, seconds))
            while later and later[0][0] <= now:
                heappop(later)[2]()
            wait = min(now + LOOK, later[0][0] if later else until) - now
            for descriptor, events in self.poll.poll(max(wait, 0), 1024):
                link = links.get(descriptor)
                if link is None:
                    continue
                if events == select.EPOLLIN and link.up:
                    link.readable(READ)
                else:
                    link.event(events)

    def forget(self, link: Link) -> None:
        """Close a connection."""
        if self._links.pop(link.sock.fileno(), None) is not None:
            self.poll.unregister(link.sock)
        link.sock.close()


def room_for(connections: int) -> None:
    """Let this process, and those it starts, have so many connections. Raises Failed when the system does not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 256
    if soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Failed(f"{connections} connections need {wanted} file descriptors: ulimit -Hn allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
