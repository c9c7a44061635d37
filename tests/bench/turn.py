"""What a turn costs, with memory and without: `python -m tests.bench.turn`.

Each server is a process of its own, whose processor time is read from /proc, and no client's work is in it. Times are
shares of R, a piece of plain Python (`reference`) that this process does between the servers: so machines can be
compared, and a machine that others use is seen by R itself, which is printed with its spread. Questions differ, the
server keeps no hits, and every figure is the median of rounds.

socket    a turn over sockets: 50 sessions at once, and one alone; memory on and off
chat      `POST /chat` on a folder, 8 clients, new threads of one user each; memory on and off
paced     50 sessions with a question each 5 s: milliseconds until the first frame
words     600 sessions that take a word each 20 ms: processor time of a word by difference (400 words less 200) and of
          the whole, times that of Node's `ws`, where Node is installed
busy      200 sessions with 5 questions each: how many turns went without memory. Each says so in its response, else it
          is not counted here.

Exit status 1 when a figure is beyond its bound. The bounds are those of a quiet machine.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tests.e2e.questions import questions

from . import paced_words
from .load.client import Load, Target, room_for
from .load.meter import Measured, Meter
from .load.process import between, taken
from .load.workloads import Plan, talk
from .servers import ROOT, port_of, wait_until_ready
from .tools import Figure, post

SOCKET_ON, SOCKET_OFF, ALONE, CHAT_ON, CHAT_OFF = 0.075, 0.05, 0.11, 0.15, 0.10  # shares of R
FIRST_MS, WITHOUT = 30.0, 9
SESSIONS, BUSY, CLIENTS = 50, 200, 8
PARTS = ("socket", "chat", "paced", "words", "busy")
_ROUNDS = 3
_WARM = 100  # questions before anything is measured


def reference() -> list[str]:
    """Do the reference work."""
    found: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for number in range(6000):
        text = f"plan {number % 97} costs {number} kr per month"
        words = text.split()
        found[words[1]] = found.get(words[1], 0) + len(re.findall(r"[0-9]+", text))
        kinds["x"] = json.loads(json.dumps({"type": "stream", "delta": words[2]}))["delta"]
    return sorted(map(str, (*found.values(), *kinds.values())))


def best_reference(tries: int = 9) -> float:
    """Return R: the least processor time of the reference work, in seconds."""
    took = []
    for _ in range(tries):
        began = time.process_time()
        reference()
        took.append(time.process_time() - began)
    return min(took)


@contextmanager
def served(data: str, memory: str) -> Iterator[tuple[Target, int]]:
    """Run a server on `kb/` for the time of a block; give its place and its process."""
    command = [
        *(sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", str(ROOT / "kb"), "--data", data),
        *("--memory", memory, "--log-level", "error", "--rate-limit", "0", "--pace-ms", "0"),
        *("--max-connections", "1000"),
    ]
    environment = os.environ | {"AGENT_HIT_CACHE": "false", "AGENT_API_RATE": "0"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        target = Target("127.0.0.1", port_of(process))
        wait_until_ready(target)
        yield target, process.pid
    finally:
        process.kill()
        process.communicate(timeout=60)


class Asked:
    """Questions about `kb/` that differ, in an endless order."""

    def __init__(self) -> None:
        self._texts = [each.text for each in questions(ROOT / "kb", 400)]
        self._at = 0

    def next(self, count: int) -> list[str]:
        """Return the next questions."""
        start, self._at = self._at, self._at + count
        return [self._texts[number % len(self._texts)] for number in range(start, self._at)]


def run(target: Target, pid: int, plan: Plan) -> Measured:
    """Put a load on a server once."""
    with Load() as load:
        return talk(load, target, Meter(pid), plan)


def turns(data: str, memory: str, sessions: Sequence[int], each: int) -> Iterator[tuple[int, float]]:
    """Yield, for each number of sessions, the seconds of the server's processor for a turn."""
    asked = Asked()
    with served(data, memory) as (target, pid):
        run(target, pid, Plan(sessions=10, turns=_WARM // 10, questions=asked.next(_WARM)))
        for size in sessions:
            count = max(each // size, 5)
            found = [
                run(target, pid, Plan(sessions=size, turns=count, questions=asked.next(size * count)))
                for _ in range(_ROUNDS)
            ]
            yield size, median(one["cpu_us_per_turn"] for one in found) / 1e6


def socket(folder: Path, each: int) -> Iterator[Figure]:
    """Measure turns over sockets."""
    for memory, bounds in (("on", (SOCKET_ON, ALONE)), ("off", (SOCKET_OFF, float("inf")))):
        r = best_reference()
        measured = turns(str(folder / f"socket-{memory}"), memory, (SESSIONS, 1), each)
        for (size, seconds), bound in zip(measured, bounds, strict=True):
            name = f"a turn over a socket, {size} session{'s' * (size > 1)}, memory {memory}"
            yield share(name, seconds, r, bound)


def share(name: str, seconds: float, r: float, bound: float = float("inf"), note: str = "") -> Figure:
    """Return a time as a figure in shares of R. `note`: follows the times."""
    return Figure(name, seconds / r, bound, "R", f" {seconds * 1000:.2f} ms, R {r * 1000:.1f} ms{note}")


def chat(folder: Path, each: int) -> Iterator[Figure]:
    """Measure `POST /chat` on a folder."""
    for memory, bound in (("on", CHAT_ON), ("off", CHAT_OFF)):
        asked, r = Asked(), best_reference()
        with (
            served(str(folder / f"chat-{memory}"), memory) as (target, pid),
            ThreadPoolExecutor(CLIENTS) as clients,
        ):

            def say(numbered: tuple[int, str], port: int = target.port) -> None:
                number, text = numbered
                post(port, "/chat", {"user_id": f"user{number % CLIENTS}", "message": text})

            list(clients.map(say, enumerate(asked.next(_WARM))))
            found = []
            for _ in range(_ROUNDS):
                before = taken(pid)
                list(clients.map(say, enumerate(asked.next(each))))
                found.append(between(before, taken(pid)).cpu / each)
        yield share(f"POST /chat on a folder, {CLIENTS} clients, memory {memory}", median(found), r, bound)


def paced(folder: Path, seconds: float) -> Iterator[Figure]:
    """Measure the first frame of sessions that think between their questions."""
    asked, every = Asked(), 5.0
    count = max(2, round(seconds / every))
    with served(str(folder / "paced"), "on") as (target, pid):
        run(target, pid, Plan(sessions=10, turns=_WARM // 10, questions=asked.next(_WARM)))
        plan = Plan(
            sessions=SESSIONS,
            turns=count,
            questions=asked.next(SESSIONS * count),
            stagger=every,
            every=every,
        )
        found = run(target, pid, plan)
    name = f"{SESSIONS} sessions, a question each {every:g} s: first frame"
    yield Figure(f"{name}, p50", found["first_p50_ms"], float("inf"))
    yield Figure(f"{name}, p99", found["first_p99_ms"], FIRST_MS, note=_waited(found))


def busy(folder: Path, each: int = 5) -> Iterator[Figure]:
    """Count the turns of busy sessions that went without memory, and say so."""
    asked = Asked()
    with served(str(folder / "busy"), "on") as (target, pid):
        plan = Plan(sessions=BUSY, turns=each, questions=asked.next(BUSY * each))
        found = run(target, pid, plan)
    name = f"of {BUSY * each} turns of {BUSY} busy sessions, "
    yield Figure(name + "without memory, and said so", found["without_memory"], WITHOUT, "", _waited(found))
    yield Figure(name + "failed", found["failed"], 0, "")


def _waited(found: Measured) -> str:
    return f" waited for a core {found.get('waited_percent', 0.0):.0f}%"


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Print the figures, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.bench.turn")
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    parser.add_argument("--turns", type=int, default=500, help="turns of each round of sockets and chats")
    parser.add_argument("--seconds", type=float, default=30.0, help="for which the paced sessions ask")
    told = parser.parse_args(arguments)
    room_for(BUSY)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Iterator[Figure]]] = {
            "socket": lambda: socket(folder, told.turns),
            "chat": lambda: chat(folder, told.turns),
            "paced": lambda: paced(folder, told.seconds),
            "words": lambda: paced_words.figures(folder),
            "busy": lambda: busy(folder),
        }
        for part in [told.only] if told.only else PARTS:
            for figure in parts[part]():
                say(line_of(figure))
                figures.append(figure)
    missed = [each.name for each in figures if each.missed]
    say(f"missed: {'; '.join(missed)}" if missed else "every bound holds")
    return int(bool(missed))


def line_of(figure: Figure) -> str:
    """Return a figure as a line, with three places: without a verdict where it has no bound."""
    verdict = (
        ""
        if figure.bound == float("inf")
        else f"(bound {figure.bound:g}) {'MISSED' if figure.missed else 'holds'}"
    )
    return f"{figure.name:70}{figure.value:9.3f} {figure.unit:3}{verdict:22}{figure.note}"


if __name__ == "__main__":
    sys.exit(main())
