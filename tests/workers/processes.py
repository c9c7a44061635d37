"""A server of two workers in processes of their own, and what the system tells of them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import trio

from tests.bench.load.process import family
from tests.e2e.plain import Plain, plain

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # for what takes a second or two; a machine that is busy with other things is slow


@dataclass
class Pair:
    """A server of two workers. log: where its lines go, as JSON."""

    process: "subprocess.Popen[str]"
    port: int
    log: Path

    def lines(self, event: str) -> list[dict[str, object]]:
        """Return the log lines of an event.

        One that is being written, or that a kill cut off, is no line; neither is what Python says on its own.
        """
        told = []
        for line in self.log.read_text().splitlines():
            with suppress(ValueError):
                told.append(json.loads(line))
        return [line for line in told if line["event"] == event]

    def get(self, path: str, patience: float = PATIENCE) -> tuple[int, str]:
        """Return status and body of a plain request. Raises TimeoutError after `patience` seconds."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=patience) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def figure(self, name: str) -> float:
        """Return a figure of /metrics; 0 for one that is not there yet."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else 0.0

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        return family(self.process.pid)[1:]

    def holders(self) -> dict[int, int]:
        """Return which worker holds each connection to the port, by the port at the client's end."""
        ends = {}
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            here, there = (int(end.rpartition(":")[2], 16) for end in fields[1:3])
            if here == self.port:
                ends[f"socket:[{fields[9]}]"] = there
        return {ends[name]: pid for pid in self.workers() for name in _open_files(pid) if name in ends}

    def held(self) -> list[int]:
        """Return how many connections to the port each worker holds, in the order of their process ids."""
        each = Counter(self.holders().values())
        return [each[pid] for pid in self.workers()]

    def accepts(self) -> bool:
        """Return whether the port still takes connections."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), PATIENCE):
                return True
        except ConnectionRefusedError:
            return False

    def ready(self) -> None:
        """Wait until it is."""
        deadline = time.monotonic() + PATIENCE
        while self.get("/readyz")[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@contextmanager
def pair(folder: Path, *flags: str, kb: Path = ROOT / "kb") -> Iterator[Pair]:
    """Run a server of two workers for the time of a block."""
    common = ("--port", "0", "--kb", str(kb), "--vectors", "off", "--log-format", "json")
    log = folder / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "agent", "serve", "--workers", "2", "--data", "data", *common, *flags],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("AGENT_")}
            | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield Pair(process, _port(process.stdout, log), log)
        finally:
            _, *workers = family(process.pid)
            process.kill()
            for each in workers:  # one that stands still ends in no other way
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)


def _port(out: IO[str], log: Path) -> int:
    said = out.readline() + out.readline()
    found = re.fullmatch(r"page +http://127\.0\.0\.1:(\d+)/\nsocket +ws://127\.0\.0\.1:\1/ws\n", said)
    assert found, said + log.read_text()
    return int(found[1])


def _open_files(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            yield os.readlink(descriptor)


def runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended may stay in the list for as long as nobody asks for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def connected(stack: AsyncExitStack, server: Pair) -> Plain:
    """Connect a client."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    return await stack.enter_async_context(plain(stream, host=f"127.0.0.1:{server.port}"))


async def by_worker(stack: AsyncExitStack, server: Pair, each: int) -> dict[int, list[Plain]]:
    """Connect clients until each worker has `each`; return them by its process id.

    The supervisor hears that a client has left, and that a worker is ready, a moment after who looks from outside can
    see it. Until then a worker may be given more than its share; those are dropped.
    """
    await nobody_left(server)
    found: dict[int, list[Plain]] = {pid: [] for pid in server.workers()}
    assert len(found) == 2
    too_many: list[Plain] = []
    deadline = trio.current_time() + PATIENCE
    while any(len(clients) < each for clients in found.values()):
        assert trio.current_time() < deadline, found
        client = await connected(stack, server)
        clients = found[(await _holders(server, [client]))[0]]
        (clients if len(clients) < each else too_many).append(client)
    for client in too_many:
        await trio.aclose_forcefully(client._stream)
    return found


async def given(server: Pair, count: int, share: Callable[[Counter[int]], bool]) -> None:
    """Let so many clients come, and leave, until the workers are given them like this: how many, by process id.

    Not at the first time, when the supervisor has not yet heard of all who left before.
    """
    deadline = trio.current_time() + PATIENCE
    while True:
        async with AsyncExitStack() as stack:
            clients = [await connected(stack, server) for _ in range(count)]
            shares = Counter(await _holders(server, clients))
        if share(shares):
            return
        assert trio.current_time() < deadline, shares
        await trio.sleep(0.05)


async def _holders(server: Pair, clients: list[Plain]) -> list[int]:
    """Return which worker holds each client's connection."""
    ports = [cast(trio.SocketStream, client._stream).socket.getsockname()[1] for client in clients]
    with trio.fail_after(PATIENCE):
        while True:
            holders = server.holders()
            if holders.keys() >= set(ports):
                return [holders[port] for port in ports]
            await trio.sleep(0.01)  # the system's list, read while it changes, may have gaps


async def until(holds: Callable[[], bool]) -> None:
    """Look until something holds, for a while."""
    with trio.fail_after(PATIENCE):
        while True:
            if holds():
                return
            await trio.sleep(0.05)


async def agrees(server: Pair, name: str, value: float) -> None:
    """Look until a figure is what it should be; a worker that is late with its own is not waited for."""
    deadline = time.monotonic() + PATIENCE
    while (told := server.figure(name)) != value:
        assert time.monotonic() < deadline, f"{name} is {told}"
        await trio.sleep(0.05)


async def nobody_left(server: Pair) -> None:
    """Wait until no worker holds a connection; that they are gone, the supervisor hears a moment later."""
    await until(lambda: not server.holders())
