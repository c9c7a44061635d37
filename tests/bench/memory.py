"""What remembering costs: `python -m tests.bench.memory`.

So many turns of one user lie in a folder on a disk. What finds them is made of the rows again, which is how a server
starts, and searched; then exchanges are kept at a steady rate beside them; then servers are started on the folder.

keeping     what the event loop spends on an exchange (of this thread's processor time, less what waiting for the next
            one takes), and how long it is from handing it over until it is on disk. Beside it the disk alone: so many
            bytes as a commit writes are written and synced, in turns with it, so that a slow disk can be told from slow
            code.
rebuilding  seconds from nothing to an index of all rows, and the longest step that the event loop takes meanwhile.
recalling   a search, on the event loop, and with the look at what has changed before it, as a turn has it.
starting    seconds until a server's first line, and until it finds the last turn of all; what a question's answer takes
            meanwhile and after; and its memory over that of a server that remembers nothing.

The clock on the wall is at the mercy of others: exit status 1 when a figure is beyond its bound.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final

import trio
from trio.abc import Instrument
from trio.lowlevel import Task

from agent.client.client import Client, connect
from agent.heap import freeze_heap, share_heaps
from agent.host import WallClock, WorkerThreads, shorten_switch_interval
from agent.memory.exchange_keeper import ExchangeKeeper
from agent.memory.message_items import read_items
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recall.search import IndexSearch
from agent.ports.brain import Question
from agent.ports.conversation import Scope
from agent.ports.memory import ExchangeRecord, MemoryStore, StoredTurn
from agent.ports.recall import RecallQuery
from agent.ports.remember import FinishedAnswer
from agent.server.metrics import Metrics
from agent.storage.memories import FILE
from agent.storage.open import open_memory_store
from agent.storage.settings import StorageSettings
from tests.bench.load.process import between, memory, taken

from .recall import made_up
from .servers import ROOT, port_of
from .together import together
from .tools import Figure

KEPT_LOOP_MS, KEPT_DISK_MS, REBUILT_S, STEP_MS = 1.0, 10.0, 15.0, 5.0
RECALL_P50_MS, RECALL_P99_MS, STARTED_S, HELD_MIB = 1.0, 3.0, 2.0, 128.0
KB: Final = "kb"  # from the checkout, where servers are started
USER: Final = "us"
TOKEN, USERS_TOKEN = "the-operators-own", "a-users-own-token"
QUESTION: Final = "What does a return of {} parcels cost, and how long may I think about it?"
ANSWER: Final = "A return costs 59 kr, which is deducted from the refund. The period is 30 days."
_IN_ONE_WRITE: Final = 500
_COMMIT: Final = 32 * 1024  # bytes that a commit of one exchange writes to the log, roughly ...
_LOG: Final = 1000 * 4096  # ... which begins again from its start after so many
_ROUNDS: Final = 4  # in which the disk alone and keeping take turns
_PATIENCE: Final = 300.0  # seconds until all is found

Say = Callable[[str], object]


@dataclass
class Times:
    """Some times of one kind, in seconds."""

    each: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        """Return the time in milliseconds that this share (0..1) of them does not exceed."""
        return sorted(self.each)[min(len(self.each) - 1, int(len(self.each) * share))] * 1000

    def figures(
        self, name: str, p50: float | None = None, p99: float | None = None, note: str = ""
    ) -> Iterator[Figure]:
        """Yield the median and the 99th percentile. p50, p99: their bounds, None is none."""
        for label, share, bound in (("p50", 0.5, p50), ("p99", 0.99, p99)):
            yield Figure(
                f"{name}, {label}", self.at(share), float("inf") if bound is None else bound, note=note
            )


class LongestStep(Instrument):
    """The longest that one step of any task has held the event loop, in seconds of processor time, and all of them."""

    def __init__(self) -> None:
        self.longest = self.all = 0.0
        self._began = time.thread_time()

    def before_task_step(self, task: Task) -> None:
        """A task goes on."""
        self._began = time.thread_time()

    def after_task_step(self, task: Task) -> None:
        """It waits again."""
        took = time.thread_time() - self._began
        self.all += took
        self.longest = max(self.longest, took)


@contextmanager
def stepping() -> Iterator[LongestStep]:
    """Watch the steps of the event loop for the time of a block."""
    watch = LongestStep()
    trio.lowlevel.add_instrument(watch)
    try:
        yield watch
    finally:
        trio.lowlevel.remove_instrument(watch)


# --- the rows


def said(count: int, threads: int, seed: int = 1) -> Iterator[StoredTurn]:
    """Yield made-up turns of one user, in so many threads."""
    for turn in made_up(count, threads, seed):
        yield replace(turn, scope=Scope(KB, turn.scope.thread, USER))


async def lay(folder: Path, turns: Sequence[StoredTurn]) -> bool:
    """Keep turns in a folder; False where there are some."""
    clock = WallClock()
    async with open_memory_store(StorageSettings(str(folder)), WorkerThreads(2), clock) as store:
        if await store.turns(0, 1):
            return False
        for start in range(0, len(turns), _IN_ONE_WRITE):
            some = turns[start : start + _IN_ONE_WRITE]
            await store.keep_exchanges(
                [ExchangeRecord(each.scope, (each.remark,)) for each in some], clock.now_ms()
            )
    return True


def searches(turns: Sequence[StoredTurn], count: int, seed: int = 2) -> list[RecallQuery]:
    """Return questions about some of the turns: who said four of its words, and when."""
    draw = Random(seed)
    return [
        RecallQuery(
            text=asked_of(turn, draw), lang="en", scope=turn.scope, at=turn.remark.at, limit=12, tokens=1_000
        )
        for turn in draw.choices(turns, k=count)
    ]


def asked_of(turn: StoredTurn, draw: Random) -> str:
    """Return a question about a turn."""
    return f"When did {turn.remark.speaker} {' '.join(draw.sample(turn.remark.text.strip('.').split(), 4))}?"


# --- keeping


def synced(file: int, at: int) -> float:
    """Write at a place of a file what a commit writes, and return the seconds until it is on disk."""
    began = time.perf_counter()
    os.pwrite(file, b"\xaa" * _COMMIT, at)
    os.fdatasync(file)
    return time.perf_counter() - began


async def disk_alone(folder: Path, count: int, rate: float) -> Times:
    """Return how long a write and its sync take, at a rate a second."""
    times = Times()
    file = os.open(folder / "bare", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        async for number in paced(count, rate):
            times.each.append(
                await trio.to_thread.run_sync(synced, file, number * _COMMIT % (_LOG - _LOG % _COMMIT))
            )
    finally:
        os.close(file)
    return times


async def paced(count: int, rate: float) -> AsyncIterator[int]:
    """Yield numbers from 0 on, so many a second, whatever is done meanwhile."""
    began = trio.current_time()
    for number in range(count):
        await trio.sleep_until(began + number / rate)
        yield number


async def keep(keeper: ExchangeKeeper, first: int, count: int, rate: float) -> tuple[Times, float]:
    """Hand over exchanges at a rate a second; return how long each took, and the loop's seconds for each."""
    times = Times()
    answered = FinishedAnswer(ANSWER)

    async def one(number: int) -> None:
        scope = Scope(KB, "kept", USER)
        question = Question(
            id=f"q{number}", text=QUESTION.format(number), lang=None, at=trio.current_time(), scope=scope
        )
        began = time.perf_counter()
        await keeper.record_and_propose(question, answered)
        times.each.append(time.perf_counter() - began)

    spent = time.thread_time()
    async with trio.open_nursery() as nursery:
        async for number in paced(count, rate):
            nursery.start_soon(one, first + number)
    spent = time.thread_time() - spent
    bare = time.thread_time()
    async with trio.open_nursery() as nursery:
        async for _ in paced(count // 4, rate):
            nursery.start_soon(trio.lowlevel.checkpoint)
    bare = (time.thread_time() - bare) * count / (count // 4)
    return times, (spent - bare) / count


async def keeping(
    folder: Path, store: MemoryStore, recall: IndexRecaller, count: int, rate: float
) -> AsyncIterator[Figure]:
    """Measure what keeping an exchange costs, beside an index that follows."""
    keeper = ExchangeKeeper(store, WallClock(), Metrics(), read_items)
    alone, kept, loop = Times(), Times(), 0.0
    each = max(4, count // _ROUNDS)
    before = len(await _last(store))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper.run)
        nursery.start_soon(recall.keep_up)
        for round in range(_ROUNDS):
            alone.each += (await disk_alone(folder, each // 2, rate)).each
            times, spent = await keep(keeper, round * each, each, rate)
            kept.each += times.each
            loop += spent / _ROUNDS
        nursery.cancel_scope.cancel()
    assert len(await _last(store)) - before == 2 * _ROUNDS * each, "some were not kept"
    yield Figure("keeping an exchange: the event loop's processor time", loop * 1000, KEPT_LOOP_MS)
    note = f" {each * _ROUNDS} at {rate:g} a second"
    for figure in kept.figures("an exchange is on disk", None, KEPT_DISK_MS, note):
        yield figure
    for figure in alone.figures(f"the disk alone: {_COMMIT // 1024} KiB written and synced"):
        yield figure


async def _last(store: MemoryStore) -> list[StoredTurn]:
    """Return what was said in the thread that is kept to."""
    found: list[StoredTurn] = []
    after = 0
    while page := await store.turns(after, 10_000):
        found += [each for each in page if each.scope.thread == "kept"]
        after = page[-1].n
    return found


# --- rebuilding and recalling


async def rebuilding(recall: IndexRecaller, count: int) -> AsyncIterator[Figure]:
    """Measure the making of an index of all rows of a user, at the first question."""
    with stepping() as steps:
        wall, spent = time.perf_counter(), time.process_time()
        await recall.load_index(Scope(KB, "", USER))
        wall, spent = time.perf_counter() - wall, time.process_time() - spent
    note = f" {spent:.1f} s of CPU, {steps.all:.1f} of them the event loop's"
    yield Figure(f"an index of {count} rows is made again", wall, REBUILT_S, "s", note)
    yield Figure("  the event loop's longest step meanwhile", steps.longest * 1000, STEP_MS)


async def recalling(recall: IndexRecaller, turns: Sequence[StoredTurn], count: int) -> AsyncIterator[Figure]:
    """Measure searches."""
    within = IndexSearch(await recall.load_index(Scope(KB, "", USER)))
    for search in searches(turns, 100, 3):
        within.search_index(search)
    alone, whole = Times(), Times()
    spent = time.thread_time()
    for search in searches(turns, count):
        began = time.perf_counter()
        within.search_index(search)
        alone.each.append(time.perf_counter() - began)
    note = f" CPU {(time.thread_time() - spent) / count * 1000:.2f} ms"
    for figure in alone.figures("a search", RECALL_P50_MS, RECALL_P99_MS, note):
        yield figure
    for search in searches(turns, count // 4, 4):
        began = time.perf_counter()
        await recall.recall(search)
        whole.each.append(time.perf_counter() - began)
    for figure in whole.figures("  with the look at what has changed"):
        yield figure


# --- starting


@contextmanager
def served(data: str, folder: Path, remembers: str) -> Iterator[tuple[int, int, float]]:
    """Run a server for the time of a block: its port, its process, and the seconds until its first line."""
    users = folder / "users.toml"
    users.write_text(f'{USER} = "{USERS_TOKEN}"\n', encoding="utf-8")
    users.chmod(0o600)
    command = [
        *(sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", KB, "--vectors", "off"),
        *("--memory", remembers, "--data", data, "--log-level", "error", "--users", str(users)),
        *("--rate-limit", "0", "--pace-ms", "0"),
    ]
    environment = os.environ | {"AGENT_TOKEN": TOKEN}
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        port = port_of(process)
        yield port, process.pid, time.monotonic() - began
    finally:
        process.kill()
        process.communicate(timeout=60)


async def answered_in(client: Client, question: str) -> float:
    """Return the seconds from a question to its response."""
    began = time.perf_counter()
    await client.ask(question)
    await client.frames_until("response")
    return time.perf_counter() - began


async def finds(client: Client, query: str, message: str) -> bool:
    """Return whether a search finds something that was said."""
    await client.send({"type": "recall", "id": "r", "query": query, "limit": 5})
    (*_, told) = await client.frames_until("recalled")
    return any(message in each["text"] for each in told["excerpts"])


async def until_found(port: int, last: StoredTurn) -> tuple[Times, Times]:
    """Return what answers take until the last turn is found, and after that. Raises trio.TooSlowError."""
    url = f"http://127.0.0.1:{port}"
    meanwhile, after = Times(), Times()
    question = "What does a return cost?"
    async with connect(url, USERS_TOKEN) as asking, connect(url, USERS_TOKEN) as looking:
        await answered_in(asking, question)  # the documents are read
        with trio.fail_after(_PATIENCE):
            while not await finds(looking, last.remark.text[:200], last.remark.text[:40]):
                for _ in range(5):
                    meanwhile.each.append(await answered_in(asking, question))
                    await trio.sleep(0.03)
        for _ in range(max(50, len(meanwhile.each) // 2)):
            after.each.append(await answered_in(asking, question))
            await trio.sleep(0.01)
    return meanwhile, after


def starting(folder: Path, last: StoredTurn) -> Iterator[Figure]:
    """Measure servers: one that remembers nothing, and one that remembers all of the folder."""
    with served(str(folder / "off"), folder, "off") as (port, pid, _):
        trio.run(_warm, port)
        alone = memory(pid).pss / 2**20
    with served(str(folder), folder, "on") as (port, pid, line):
        began, before = time.monotonic(), taken(pid)
        meanwhile, after = trio.run(until_found, port, last)
        found = line + time.monotonic() - began
        spent = between(before, taken(pid)).cpu
        time.sleep(3)  # what was read is written into the index
        held = memory(pid).pss / 2**20 - alone
    yield Figure("a server's first line", line, STARTED_S, "s")
    yield Figure("it finds everything", found, float("inf"), "s", f" {spent:.1f} s of CPU by then")
    if meanwhile.each:
        for figure in meanwhile.figures("an answer meanwhile", note=f" longest {meanwhile.at(1):.0f} ms"):
            yield figure
    for figure in after.figures("an answer after that"):
        yield figure
    yield Figure("its memory beyond a server's that remembers nothing", held, HELD_MIB, "MiB")


async def _warm(port: int) -> None:
    async with connect(f"http://127.0.0.1:{port}", USERS_TOKEN) as client:
        for _ in range(50):
            await answered_in(client, "What does a return cost?")


# --- all of it


@asynccontextmanager
async def remembering(folder: Path) -> AsyncIterator[tuple[MemoryStore, IndexRecaller]]:
    """Open a folder as a server does, for the time of a block."""
    async with open_memory_store(StorageSettings(str(folder)), WorkerThreads(2), WallClock()) as store:
        yield store, IndexRecaller(store, WorkerThreads(1))


async def collected(some: AsyncIterator[Figure], say: Say) -> list[Figure]:
    """Print figures as they come, and return them."""
    figures: list[Figure] = []
    async for figure in some:
        say(line_of(figure))
        figures.append(figure)
    return figures


async def measured(folder: Path, told: argparse.Namespace, say: Say) -> list[Figure]:
    """Print the figures of one process."""
    figures: list[Figure] = []

    async def tell(some: AsyncIterator[Figure]) -> None:
        figures.extend(await collected(some, say))

    turns = [*said(told.turns, told.threads)]
    began = time.perf_counter()
    laid = await lay(folder, turns)
    how = f"laid in {time.perf_counter() - began:.0f} s" if laid else "as they were laid before"
    say(f"{told.turns} turns in {told.threads} threads, {how}; {_sizes(folder)}")
    freeze_heap()  # as the server does: else what is looked for is looked through by the collector
    if told.only in (None, "rebuild", "recall", "keep"):
        async with remembering(folder) as (store, recall):
            await tell(rebuilding(recall, told.turns))
            if told.only in (None, "recall"):
                await tell(recalling(recall, turns, told.searches))
            if told.only in (None, "keep"):
                await tell(keeping(folder, store, recall, told.exchanges, told.rate))
    return figures


def line_of(figure: Figure) -> str:
    """Return a figure as a line: without a verdict where it has no bound."""
    if figure.bound == float("inf"):
        return f"{figure.name:58}{figure.value:9.2f} {figure.unit:4}{figure.note}"
    return figure.line()


def _sizes(folder: Path) -> str:
    sizes = {each.name: each.stat().st_size / 2**20 for each in sorted(folder.glob(f"{FILE}*"))}
    return ", ".join(f"{name} {size:.0f} MiB" for name, size in sizes.items())


def main(arguments: Sequence[str] | None = None, say: Say = print) -> int:
    """Print the figures, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.bench.memory")
    parser.add_argument("--turns", type=int, default=100_000, help="how many lie in the folder")
    parser.add_argument("--threads", type=int, default=100, help="in how many threads")
    parser.add_argument("--exchanges", type=int, default=1_000, help="that are kept ...")
    parser.add_argument("--rate", type=float, default=50, help="... so many a second")
    parser.add_argument("--searches", type=int, default=2_000)
    parser.add_argument(
        "--data", type=Path, help="a folder of such turns, which is made where it is not there"
    )
    parser.add_argument("--only", choices=("rebuild", "recall", "keep", "start"), help="one of the parts")
    parser.add_argument(
        "--together", type=int, help="so many users say and ask all at once, and nothing else"
    )
    told = parser.parse_args(arguments)
    share_heaps()  # as the server does
    shorten_switch_interval()
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        folder = told.data or Path(name)
        folder.mkdir(exist_ok=True)
        if told.together:
            figures = trio.run(collected, together(folder, told.together), say)
        else:
            figures = trio.run(measured, folder, told, say)
        if told.only in (None, "start") and not told.together:
            (last,) = [*said(told.turns, told.threads)][-1:]
            for figure in starting(folder, last):
                say(line_of(figure))
                figures.append(figure)
    missed = [each.name for each in figures if each.missed]
    say(f"missed: {'; '.join(missed)}" if missed else "every bound holds")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
