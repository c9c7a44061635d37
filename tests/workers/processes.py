"""A server of two workers in processes of their own, and what the system tells of them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import trio

from agent.bench.process import family
from tests.e2e.plain import Plain, plain

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0


@dataclass
class Pair:
    """A server of two workers. log: where its lines go, as JSON."""

    process: "subprocess.Popen[str]"
    port: int
    log: Path

    def lines(self, event: str) -> list[dict[str, object]]:
        """Return the log lines of an event."""
        told = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
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
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return sorted(int(child) for thread in threads for child in thread.read_text().split())

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


async def connected(stack: AsyncExitStack, server: Pair) -> Plain:
    """Connect a client."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    return await stack.enter_async_context(plain(stream, host=f"127.0.0.1:{server.port}"))


async def until(holds: Callable[[], bool]) -> None:
    """Look until something holds."""
    while True:
        if holds():
            return
        await trio.sleep(0.05)


async def nobody_left(server: Pair) -> None:
    """Wait until who left before is no longer counted, by the workers and a moment later by the supervisor."""
    with trio.fail_after(PATIENCE):
        await until(lambda: not any(held(pid) for pid in server.workers()))
    await trio.sleep(0.3)


def held(pid: int) -> int:
    """Return how many connections to the port a worker holds: its TCP sockets."""
    sockets = {line.split()[9] for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]}
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        name = os.readlink(descriptor)
        count += name.startswith("socket:[") and name[8:-1] in sockets
    return count
