"""A thousand clients that come back at once: `python -m tests.bench.reconnect [CLIENTS [USERS]]`.

What happens behind a restart. Four processes on the loopback: the server; active users, who ask without a pause; the
crowd, which opens all its connections before it reads the first answer; and this one, which sends PINGs on a
connection that was there before. For each of three crowds in one run: the time from the crowd's first connect to each
101 (p50, p90, p99, slowest), and the PINGs of the established connection without and with the crowd, and the slowest
of them once all of the crowd have left in the same moment. The slowest p99 must be under 3 seconds: exit status 1 when
it is not.

Times depend on the machine and on who else uses it. So handshakes are measured one by one as well, and what a client
waits is also given in handshakes of that kind: a server that let each one wait for a round of all its sessions showed
more of them the more users there were.
"""

import json
import resource
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter

import trio

from agent.client.client import connect
from tests.hostile.enemy import KEY, PING, PONG, SocketEnemy, frame
from tests.hostile.process import ROOT, server_process

CLIENTS, USERS, CROWDS = 1000, 200, 3
BAR = 3.0  # seconds: the p99 of a handshake
PATIENCE = 60.0  # seconds for a crowd
APART = 0.02  # seconds between two PINGs
QUIET = 3.0  # seconds without a crowd
LEAVING = 3.0  # seconds after a crowd has left, in which PINGs are looked at
QUESTION = "What does the standard plan cost per month?"
ME = "tests.bench.reconnect"


def crowd(port: int, size: int) -> list[float]:
    """Connect all at once; return the seconds from the first connect to each 101, sorted.

    Raises on any other answer, and when PATIENCE is over.
    """
    request = (
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{KEY}\r\n"
    ).encode()
    selector = selectors.DefaultSelector()
    streams: list[socket.socket] = []
    began = perf_counter()
    for _ in range(size):
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex(("127.0.0.1", port))
        selector.register(stream, selectors.EVENT_WRITE)
        streams.append(stream)
    seconds: list[float] = []
    while len(seconds) < size:
        if perf_counter() - began > PATIENCE:
            raise TimeoutError(f"{len(seconds)} of {size} clients in {PATIENCE:g} s")
        for key, ready in selector.select(1):
            assert isinstance(key.fileobj, socket.socket)
            if ready & selectors.EVENT_WRITE:
                key.fileobj.sendall(request)
                selector.modify(key.fileobj, selectors.EVENT_READ)
                continue
            answer = key.fileobj.recv(4096)
            if not answer.startswith(b"HTTP/1.1 101 "):
                raise ConnectionError(f"turned away: {answer[:40]!r}")
            selector.unregister(key.fileobj)
            seconds.append(perf_counter() - began)
    for stream in streams:
        stream.close()
    return sorted(seconds)


async def users(url: str, count: int) -> None:
    """Ask for ever, `count` clients each with a question open all the time."""

    async def ask() -> None:
        async with connect(url) as client:
            while True:
                await client.ask(QUESTION)
                await client.frames_until("response")

    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(ask)
        sys.stdout.write("go\n")
        sys.stdout.flush()


@contextmanager
def active(url: str, count: int) -> Iterator[None]:
    """Have users in a process of their own for the time of a block."""
    command = [sys.executable, "-m", ME, "--users", url, str(count)]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        assert process.poll() is None, "the users have left"
    finally:
        process.kill()
        process.communicate()


async def pings(port: int, into: list[float]) -> None:
    """Send PINGs on a connection of its own until cancelled, and keep the seconds to each PONG."""
    stream = await SocketEnemy(port).upgraded()
    while True:
        began = perf_counter()
        await stream.send_all(frame(PING))
        while PONG not in await stream.receive_some(100):
            pass
        into.append(perf_counter() - began)
        await trio.sleep(APART)


async def one_crowd(port: int, size: int) -> tuple[list[float], list[float], float]:
    """Let a crowd come from a process of its own and leave; without one, wait a moment.

    Returns the seconds of each handshake and of each PING meanwhile, sorted, and of the slowest PING after the crowd.
    """
    answered: list[float] = []
    seconds: list[float] = []
    after: list[float] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pings, port, answered)
        if size:
            command = [sys.executable, "-m", ME, "--crowd", str(port), str(size)]
            done = await trio.run_process(command, cwd=ROOT, capture_stdout=True)
            seconds = json.loads(done.stdout)
            before = len(answered)
            await trio.sleep(LEAVING)
            answered, after = answered[:before], answered[before:]
        else:
            await trio.sleep(QUIET)
        nursery.cancel_scope.cancel()
    return seconds, sorted(answered), max(after, default=0.0)


def at(share: float, values: Sequence[float]) -> float:
    """Return a percentile of sorted values."""
    return values[min(len(values) - 1, int(share * len(values)))]


async def measure(port: int, size: int) -> bool:
    """Measure the crowds; return whether the bar is met."""
    single = median(seconds for _ in range(50) for seconds in crowd(port, 1))
    _, quiet, _ = await one_crowd(port, 0)
    say(f"one by one {1000 * single:.1f} ms a handshake")
    say(
        f"{size} at once   p50    p90    p99    max s   p99 / one by one   ping p50, p99 ms (without), slowest after"
    )
    worst = 0.0
    for number in range(CROWDS):
        seconds, during, slowest = await one_crowd(port, size)
        worst = max(worst, at(0.99, seconds))
        times = "".join(f"{at(share, seconds):7.2f}" for share in (0.5, 0.9, 0.99, 1.0))
        waits = ", ".join(
            f"{1000 * at(share, during):.0f} ({1000 * at(share, quiet):.0f})" for share in (0.5, 0.99)
        )
        say(
            f"crowd {number + 1}   {times} {at(0.99, seconds) / single:17.0f}     {waits}, {1000 * slowest:.0f}"
        )
    say(f"slowest p99 {worst:.2f} s: {'met' if worst < BAR else 'MISSED'} (under {BAR:g} s)")
    return worst < BAR


def say(line: str) -> None:
    """Print a line, and see that it is shown."""
    print(line, flush=True)  # noqa: T201


def main(size: int = CLIENTS, asking: int = USERS) -> int:
    """Measure a crowd of `size` against a server with `asking` active users."""
    say("each question is searched for: the server runs with --no-hit-cache")
    flags = ("--data", "memory", "--no-hit-cache", "--max-connections", str(2 * (size + asking)))
    with server_process(*flags) as server, active(server.url, asking):
        return 0 if trio.run(measure, server.port, size) else 1


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    if sys.argv[1:2] == ["--crowd"]:
        say(json.dumps(crowd(int(sys.argv[2]), int(sys.argv[3]))))
    elif sys.argv[1:2] == ["--users"]:
        trio.run(users, sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
