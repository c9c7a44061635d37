"""What a conversation over HTTP costs: `python -m tests.bench.tools`.

The server is a process of its own with its store on a disk; what it takes is read from /proc, and no client's work is
in it. Two of the figures are of this process's own work: the gate and the reading of tools. Each figure is the best of
several tries, since others may have the processor meanwhile; a try's work is never left out.

What was searched for is kept by the server, as it is in use (`cache of hits: on`); with `--cache off` each question is
searched for again. Users are not remembered (`memory: off`), but with `--memory on`. Exit status 1 when a figure is
beyond its bound.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from agent.host import WallClock, WorkerThreads
from agent.ports.calls import StoredCall
from agent.ports.projects import HOUSE
from agent.ports.threads import StoredMessage, TurnOpening, TurnStep
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from agent.structured.open import open_arguments
from agent.threads.hashes import digest
from agent.threads.thread_registry import SWEEP_EVERY
from agent.tools.definitions import DefinitionReader
from tests.bench.load.client import Target
from tests.bench.load.process import between, memory, taken
from tests.threads.lab import lab

from . import decisions
from .servers import ROOT, port_of, wait_until_ready

CHAT_MS, GATE_MS, KNOWN_MS, NEW_MS, WAKE_MS = 5.0, 1.0, 0.3, 5.0, 10.0
MEMORY_MIB, RESTART_S = 30.0, 3.0
SLEEPING, SAID, TOOLS = 5000, 200, 64
QUESTION = "What does a return cost?"
HOUR = 3_600_000
_AT_ONCE = 64  # turns that are kept at the same time, so that they share a write to the disk


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, its bound and what it says."""

    name: str
    value: float
    bound: float
    unit: str = "ms"
    note: str = ""

    @property
    def missed(self) -> bool:
        """Whether it is beyond its bound."""
        return self.value > self.bound

    def line(self) -> str:
        """Return it as a line of the table."""
        verdict = "MISSED" if self.missed else "holds"
        return f"{self.name:58}{self.value:9.2f} {self.unit:4}(bound {self.bound:g}) {verdict:7}{self.note}"


class Refused(Exception):
    """The server answered with an error."""


def post(port: int, path: str, body: Any) -> Any:
    """Send one request on a connection of its own, and return what the answer holds. Raises Refused for an error."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(head.encode() + data)
        came = b"".join(iter(lambda: line.recv(1 << 16), b""))
    start, _, answer = came.partition(b"\r\n\r\n")
    if not start.startswith(b"HTTP/1.1 2"):
        raise Refused(f"{path}: {start.splitlines()[0].decode()} {answer[:200].decode()}")
    return json.loads(answer)


@contextmanager
def served(data: Path, cache: bool = True, memory: str = "off") -> Iterator[tuple[int, int, float]]:
    """Run a server on a folder for the time of a block: its port, its process, and the seconds until it was ready."""
    command = [
        *(
            sys.executable,
            "-m",
            "agent",
            "serve",
            "--port",
            "0",
            "--kb",
            str(ROOT / "kb"),
            "--vectors",
            "off",
        ),
        *(
            "--memory",
            memory,
            "--log-level",
            "error",
            "--data",
            str(data),
            "--rate-limit",
            "0",
            "--pace-ms",
            "0",
        ),
    ]
    environment = os.environ | {"AGENT_HIT_CACHE": str(cache).lower()}
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        port = port_of(process)
        wait_until_ready(Target(host="127.0.0.1", port=port))
        yield port, process.pid, time.monotonic() - began
    finally:
        process.kill()
        process.communicate(timeout=60)


def chat(folder: Path, cache: bool, memory: str, each: int = 100, rounds: int = 5) -> Iterator[Figure]:
    """Measure one request to /chat: in a thread of its own, and in one that goes on."""
    with served(folder / "chat", cache, memory) as (port, pid, _):
        ask: dict[str, Any] = {"user_id": "u", "message": QUESTION}
        went_on = ask | {"thread_id": post(port, "/chat", ask)["thread_id"]}
        note = f" cache of hits: {'on' if cache else 'off'}, memory: {memory}"
        for name, body in (("a new thread", ask), ("a thread that goes on", went_on)):
            for _ in range(30):  # it finds its feet
                post(port, "/chat", body)
            best = float("inf")
            for _ in range(rounds):
                before = taken(pid)
                for _ in range(each):
                    post(port, "/chat", body)
                best = min(best, between(before, taken(pid)).cpu / each * 1000)
            yield Figure(f"POST /chat, {name}: server's processor time", best, CHAT_MS, note=note)


def reading(rounds: int = 50) -> Iterator[Figure]:
    """Measure how 64 tools are read: for the first time, and again."""

    def tools(number: int) -> list[dict[str, Any]]:
        fields = {
            "order": {"type": "string", "required": True, "description": "The order's number."},
            "amount": {"type": "number", "minimum": 0, "description": "How much."},
            "reason": {"type": "string", "enum": ["late", "broken", f"other {number}"]},
        }
        return [
            {"name": f"tool_{at}", "description": f"Does thing {at} of {number}.", "parameters": fields}
            for at in range(TOOLS)
        ]

    read = DefinitionReader(open_arguments()).read_list
    new = best([partial(read, tools(number), "request") for number in range(rounds)])
    known = tools(0)
    read(known, "request")
    yield Figure(f"{TOOLS} tools, new", new, NEW_MS)
    yield Figure(f"{TOOLS} tools, known", best([lambda: read(known, "request")] * rounds), KNOWN_MS)


def best(works: Sequence[Callable[[], object]]) -> float:
    """Return the least processor time that one of these took, in milliseconds."""
    least = float("inf")
    for work in works:
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least * 1000


async def talk(store: Store, thread: str, turns: int) -> None:
    """Keep a thread of so many turns, each of a message and its answer."""
    for number in range(turns):
        now, id = WallClock().now_ms(), f"{thread}.{number}"
        opening = TurnOpening(
            project=HOUSE,
            thread=thread,
            user="anna",
            id=id,
            content=f"{QUESTION} ({number})",
            at=now,
            new=not number,
        )
        begun = await store.threads.begin_turn(opening)
        text = "A return costs 59 kr, which is deducted from the refund; the period is 30 days. " * 4
        answer = StoredMessage(
            id=f"{id} answer",
            thread=thread,
            turn=begun.thread.turn,
            role="assistant",
            content=text,
            status="done",
            created_at=now,
        )
        await store.threads.record_step(
            TurnStep(project=HOUSE, thread=thread, message=id, status="done", at=now, answer=answer)
        )


async def wait_for_somebody(store: Store, thread: str) -> None:
    """Keep a thread of one turn, with a call that waits for its approval."""
    now, arguments = WallClock().now_ms(), {"subject": f"The parcel of {thread} is broken"}
    begun = await store.threads.begin_turn(
        TurnOpening(
            project=HOUSE, thread=thread, user="anna", id=f"{thread}.m", content=QUESTION, at=now, new=True
        )
    )
    call = StoredCall(
        id=f"{thread}.c",
        project=HOUSE,
        thread=thread,
        message=f"{thread}.m",
        turn=begun.thread.turn,
        position=0,
        tool="create_ticket",
        arguments=arguments,
        arguments_hash=digest(arguments),
        proposed_hash=digest(arguments),
        runs_at="record",
        needs_approval=True,
        status="suggested",
        created_at=now,
        deadline=now + 24 * HOUR,
    )
    answer = StoredMessage(
        id=f"{thread}.a",
        thread=thread,
        turn=begun.thread.turn,
        role="assistant",
        content="Shall I?",
        status="done",
        created_at=now,
    )
    await store.threads.record_step(
        TurnStep(
            project=HOUSE,
            thread=thread,
            message=f"{thread}.m",
            status="done",
            at=now,
            answer=answer,
            calls=(call,),
        )
    )


async def waking(folder: Path, tries: int = 30) -> Figure:
    """Measure how long a thread of 200 messages takes to wake, its store on the disk: by the clock on the wall."""
    store = open_store(StorageSettings(data=str(folder / "wake")), ROOT / "kb", WorkerThreads(1), WallClock())
    async with store as kept:
        await talk(kept, "long", SAID // 2)
        took = []
        async with lab(stores=kept) as place:
            for _ in range(tries):
                began = time.perf_counter()
                awake = await place.desk.awake.wake(HOUSE, "long")
                took.append(time.perf_counter() - began)
                awake.sleep()
                await awake.over.wait()
    return Figure(f"a thread of {SAID} messages wakes", min(took) * 1000, WAKE_MS)


async def sleeping(folder: Path, many: int) -> None:
    """Keep so many threads, each of which has a call that waits."""
    store = open_store(StorageSettings(data=str(folder)), ROOT / "kb", WorkerThreads(1), WallClock())
    room = trio.CapacityLimiter(_AT_ONCE)

    async def keep(kept: Store, number: int) -> None:
        async with room:
            await wait_for_somebody(kept, f"t{number}")

    async with store as kept, trio.open_nursery() as nursery:
        for number in range(many):
            nursery.start_soon(keep, kept, number)


def standing(folder: Path, many: int = SLEEPING) -> Iterator[Figure]:
    """Measure a server's memory and start with many sleeping threads, beside one that has none."""

    def settled(data: Path, many: int) -> tuple[float, float]:
        with served(data) as (port, pid, seconds):
            time.sleep(2 * SWEEP_EVERY)  # it has looked at what is due
            for number in range(0, many, max(many // 20, 1)):  # and they are there: some are approved
                ended = post(port, f"/calls/t{number}.c/approve", {"user_id": "anna", "outcome": "accept"})
                assert ended["status"] == "done", ended
            if not many:
                post(port, "/chat", {"user_id": "u", "message": QUESTION})
            return memory(pid).pss / 2**20, seconds

    alone, _ = settled(folder / "empty", 0)
    trio.run(sleeping, folder / "full", many)
    full, seconds = settled(folder / "full", many)
    named = f"{many} sleeping threads with a waiting call"
    yield Figure(f"{named}: memory beyond the start", full - alone, MEMORY_MIB, "MiB")
    yield Figure(f"{named}: a restart is ready", seconds, RESTART_S, "s")


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Print the figures, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.bench.tools")
    parser.add_argument("--cache", choices=("on", "off"), default="on", help="whether the server keeps hits")
    parser.add_argument("--memory", choices=("on", "off"), default="off", help="whether users are remembered")
    parser.add_argument("--only", choices=("chat", "gate", "tools", "wake", "sleep"), help="one of the parts")
    told = parser.parse_args(arguments)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Iterator[Figure]]] = {
            "chat": lambda: chat(folder, told.cache == "on", told.memory),
            "gate": lambda: iter(
                [Figure("the gate: 10 arguments, 20 KB of sources", decisions.cost(), GATE_MS)]
            ),
            "tools": reading,
            "wake": lambda: iter([trio.run(waking, folder)]),
            "sleep": lambda: standing(folder),
        }
        for part, measure in parts.items():
            if told.only in (None, part):
                for figure in measure():
                    say(figure.line())
                    figures.append(figure)
    missed = [each.name for each in figures if each.missed]
    say(f"missed: {'; '.join(missed)}" if missed else "every bound holds")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
