"""What an attack costs the others: `python -m tests.bench.hostile [NAME ...]`.

For each attack (all of tests/hostile, and three that fill the server up) three processes: the server, with the pace
off; the attacker, who repeats the attack without a pause from before the first measured question until after the last;
and this one, an innocent client that was connected before. It asks 20 questions without the attack and 20 during it,
and its median time to the first frame may rise by at most 50 ms; when the attacker is gone a new client must be
connected and answered within a second. Exit status 1 when a bar is missed. Needs a quiet machine to mean anything.
The last column is the server's own measure: the longest round of its event loop under the attack, as `/metrics` tells
it, so rounded up to a bound of the histogram.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import trio

from agent.client.client import Client, connect
from agent.errors import CannotConnect
from tests.hostile.attacks import ASK, ATTACKS, Run, crowd
from tests.hostile.enemy import SocketEnemy
from tests.hostile.process import ROOT, server_process

ASKS = 20
APART = 0.1  # seconds between two questions
RAISED, NEW_CLIENT = 0.050, 1.0  # seconds: the bars
FILES = 64  # file descriptors of the server that runs out of them
CROWD = "2,000 connections against 1,000"
SILENT = "2,000 silent WebSockets against 1,000"
DESCRIPTORS = "no file descriptors left"
QUESTION = "What does the standard plan cost per month?"
SCRIPT = [
    {"match": "for ever", "hang": True},
    {"match": "long story", "text": "Once upon a time there was a plan that everybody liked. " * 400},
    {"match": "standard plan", "text": "The Standard plan costs 299 kr per month."},
    {"match": "", "text": "Customer service answers on weekdays."},
]
RUNS: dict[str, Run] = {
    **{name: attack.run for name, attack in ATTACKS.items()},
    CROWD: partial(crowd, size=2000, say=ASK),
    SILENT: partial(crowd, size=2000),
    DESCRIPTORS: partial(crowd, size=2 * FILES),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds: the medians of the innocent client, its slowest first frame, how long a new client took, and what the
    longest round of the event loop took at most.
    """

    name: str
    before: float
    during: float
    slowest: float
    new_client: float
    lag: float

    @property
    def met(self) -> bool:
        """Whether both bars are met."""
        return self.during - self.before <= RAISED and self.new_client <= NEW_CLIENT

    def __str__(self) -> str:
        values = (
            self.before,
            self.during,
            self.during - self.before,
            self.slowest,
            self.new_client,
            self.lag,
        )
        cells = " ".join(f"{1000 * value:9.1f}" for value in values)
        return f"{self.name:36} {cells}  {'met' if self.met else 'MISSED'}"


async def first_frame(client: Client) -> float:
    """Ask, and return the seconds to the first frame; the answer is read to its end."""
    asked = trio.current_time()
    await client.ask(QUESTION)
    await client.frames_until("stream")
    first = trio.current_time() - asked
    response = (await client.frames_until("response"))[-1]
    assert "299" in response["text"], response
    return first


async def ask_all(client: Client) -> list[float]:
    """Ask all questions."""
    seconds = []
    for _ in range(ASKS):
        seconds.append(await first_frame(client))
        await trio.sleep(APART)
    return seconds


@contextmanager
def attacker(name: str, port: int) -> Iterator[None]:
    """Attack from a process of its own for the time of a block."""
    command = [sys.executable, "-m", "tests.bench.hostile", "--attack", name, str(port)]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        yield
        assert process.poll() is None, "the attack ended"
    finally:
        process.kill()
        process.communicate()


async def attack(name: str, port: int) -> None:
    """Repeat an attack for ever."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    enemy = SocketEnemy(port)
    sys.stdout.write("go\n")
    sys.stdout.flush()
    while True:
        try:
            await RUNS[name](enemy)
        except (OSError, trio.BrokenResourceError, AssertionError):
            await trio.sleep(0.01)  # it was thrown out, or not let in; again
        await trio.lowlevel.checkpoint()


async def get_in(url: str) -> float:
    """Return the seconds until a new client has its first frame; one that is turned away tries again."""
    began = trio.current_time()
    while trio.current_time() - began < 10 * NEW_CLIENT:
        try:
            async with connect(url) as client:
                await first_frame(client)
                return trio.current_time() - began
        except CannotConnect:
            await trio.sleep(0.02)
    return trio.current_time() - began


async def measure(name: str, port: int) -> Figures:
    """Measure one attack on the server at a port."""
    url = f"ws://127.0.0.1:{port}/ws"
    async with connect(url) as client:
        await first_frame(client)
        before = await ask_all(client)
        rounds = await lag_buckets(port)
        with attacker(name, port):
            during = await ask_all(client)
        new_client = await get_in(url)
        lag = worst(rounds, await lag_buckets(port))
    return Figures(name, median(before), median(during), max(during), new_client, lag)


async def lag_buckets(port: int) -> dict[float, float]:
    """Return how many rounds of the server's loop took at most how many seconds, as its /metrics tells."""
    enemy = SocketEnemy(port)
    async with await enemy.open() as stream:
        await stream.send_all(enemy.get("/metrics"))
        answer = bytearray()
        while received := await stream.receive_some():
            answer += received
    found = re.findall(rb'^agent_loop_lag_seconds_bucket\{le="(.+)"\} (.+)$', answer, re.MULTILINE)
    return {float(bound): float(count) for bound, count in found}


def worst(before: Mapping[float, float], after: Mapping[float, float]) -> float:
    """Return the least bound that no round between two scrapes went over."""
    since = {bound: count - before.get(bound, 0.0) for bound, count in after.items()}
    return min(bound for bound, count in since.items() if count == max(since.values()))


def main(names: Sequence[str]) -> int:
    """Measure the attacks of these names, or all; print a table."""
    print("each question is searched for: the server runs with --no-hit-cache")  # noqa: T201
    print(f"{'milliseconds':36}    before    during    raised   slowest new client loop lag <=")  # noqa: T201
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps(SCRIPT))
        for name in names or RUNS:
            files = FILES if name == DESCRIPTORS else None
            flags = ("--pace-ms", "0", "--no-hit-cache", "--model", f"script:{script}")
            with server_process(*flags, files=files) as server:
                figures = trio.run(measure, name, server.port)
            print(figures, flush=True)  # noqa: T201
            missed += not figures.met
    print(f"{missed} missed")  # noqa: T201
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        trio.run(attack, sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:]))
