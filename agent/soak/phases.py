"""A soak of a server of its own, phase by phase, and the instruments that run meanwhile.

The instruments live in this process beside the server, in tasks that the count of steps passes over, and keep nothing
that grows.
"""

import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from ..errors import WireClosed
from ..host import WallClock, WorkerThreads
from .census import Census
from .crowd import ARRIVALS
from .figures import Tally
from .final_checks import find_disagreements, find_miscounts, find_open, parse_figures, summarize_calls
from .local_server import SoakedServer, Surroundings, run_server
from .memory_file import (
    StoredMemory,
    count_rows,
    find_memory_faults,
    read_memory,
    read_numbers,
    summarize_memory,
)
from .memory_growth import Samples, resident_bytes
from .notes import read_notes
from .remote import KNOWLEDGE, NOTES, RemoteCrowd, remote_crowd
from .scene import Target
from .server_file import ServerFile, read_ledger_file
from .steps import Steps
from .verdict import DRAIN_MAX, SoakRun
from .wire import ClientSocket, open_socket

PING_EVERY = 0.02
LINE_EVERY = 1.0  # seconds between two lines of figures
BUSY = 5.0  # seconds from the arrival of the last user until the server is told to go down
LATE = 5000  # milliseconds in which the server must notice that a lease is over
# The number of looks, and the seconds between them: the watch of a folder may be about to look.
LOOKS, LOOK_AGAIN = 8, 0.5
BLIND = 0.5  # seconds after a census in which no durations are recorded
LEDGER_FILE = "ledger.sqlite"  # as `storage.sqlite` names it, which costs 0.2 s to import
# Bytes that a turn or an item may take in memory (`python -m tests.bench.recall`).
ROW = 128 * 2**20 // 100_000
DATA = "data"  # the default data folder


async def soak_inside(run: SoakRun, seed: int, data: Path | None, slow: float) -> None:
    """Soak a server of our own; the figures are in `run`. Cancelled, everything ends at once.

    `data`: the data folder of the server; `None` makes a folder of our own where there are users over HTTP or voices,
    else the server keeps its data in memory. `slow`: seconds that each write to it takes longer. Raises `UsageError`
    when the folder cannot be used, `AgentError` when the crowd's process breaks.
    """
    began, threads = WallClock().now_ms(), WorkerThreads(1)
    with tempfile.TemporaryDirectory(prefix="agent-soak-") as name:
        folder = Path(name)
        remembered = data or folder / DATA
        if data is None and (run.callers or run.voices):
            data = folder / DATA
        file = None if data is None else data / LEDGER_FILE
        async with remote_crowd(folder, seed, run.clients, run.callers, run.voices) as crowd:
            hook = crowd.hook
            ground = Surroundings(
                knowledge=folder / KNOWLEDGE,
                webhook=hook,
                data=data,
                slow=slow,
                remembered=remembered,
                aloud=run.voices > 0,
            )
            async with run_server(seed, run.clients, ground, run.callers) as server:
                await _warm_up(run, crowd, server)
                await _run_crowd(run, crowd, server, remembered)
                await _check_left(run, crowd, server)
                if file is not None:
                    at_rest = await threads(
                        lambda: read_ledger_file(file, began, WallClock().now_ms() - LATE)
                    )
                    for broken in find_open(at_rest):
                        run.tally.violation(*broken)
                await _drain_server(run, crowd, server)
                over = WallClock().now_ms()
            run.cancels, run.kept_cancels = server.stopwatch.cancels, server.stopwatch.kept
            await crowd.do("gone")
        run.tally.add(crowd.tally)
        run.crowd_resident = crowd.resident
        kept = None
        if file is not None:
            kept = await threads(lambda: read_ledger_file(file, began, over - LATE))
            for broken in find_miscounts(parse_figures(server.stopwatch.text()), kept.rows):
                run.tally.violation(*broken)
        memory = await threads(lambda: read_memory(remembered, began))
        await threads(lambda: compare_notes(run, folder / NOTES, kept, memory, hook is not None))


async def _warm_up(run: SoakRun, crowd: RemoteCrowd, server: SoakedServer) -> None:
    """Do everything once, and take the first census."""
    await crowd.do("first", port=server.app.port)
    await crowd.do("quiet")
    await server.idle()
    run.censuses["start"] = await Census.take_at_rest(whole=True)


async def _run_crowd(run: SoakRun, crowd: RemoteCrowd, server: SoakedServer, remembered: Path) -> None:
    """Let the crowd be there for `run.seconds`, and measure."""
    began = trio.current_time()
    run.steps = Steps()
    run.resident, run.blocks, run.sessions = (Samples(run.seconds) for _ in range(3))
    async with (
        probe_pings(Target(host="127.0.0.1", port=server.app.port), run),
        trio.open_nursery() as around,
    ):
        around.start_soon(show_figures, lambda: crowd.tally)
        around.start_soon(_sample, run, server, remembered)
        run.steps.start()
        await crowd.do("stay")
        await trio.sleep(run.seconds / 2)
        run.censuses["warm"] = _count(run, server)
        await trio.sleep_until(began + run.seconds)
        around.cancel_scope.cancel()
    await crowd.do("stop")
    run.steps.stop()
    run.lasted = trio.current_time() - began


async def _check_left(run: SoakRun, crowd: RemoteCrowd, server: SoakedServer) -> None:
    """Check that nothing of the crowd is left."""
    await crowd.do("quiet")
    if not await server.idle():
        run.tally.violation("S6", "something of the clients that have left is still there")
    for _ in range(LOOKS):
        run.censuses["end"] = await Census.take_at_rest(whole=True)
        if not run.censuses["end"].find_growth(run.censuses["start"]):
            return
        await trio.sleep(LOOK_AGAIN)


async def _drain_server(run: SoakRun, crowd: RemoteCrowd, server: SoakedServer) -> None:
    """Let the crowd come again, and drain the server in the midst of it."""
    await crowd.do("stay")
    await trio.sleep(run.clients / ARRIVALS + BUSY)
    await crowd.do("drain")
    registry, runner, began = server.app.registry, server.app.runner, trio.current_time()
    assert runner is not None
    run.drain = {"sessions": len(registry), "actions": runner.running_count}
    server.app.drain()
    with trio.move_on_after(2 * DRAIN_MAX):
        await server.over.wait()
    run.drain["seconds"] = round(trio.current_time() - began, 2)


def compare_notes(
    run: SoakRun, notes: Path, kept: ServerFile | None, memory: StoredMemory, seen: bool
) -> None:
    """Compare the notes with what the servers have stored. Blocks. `seen`: whether effects were noted at all."""
    with open(notes, encoding="ascii") as lines:
        actions = read_notes(lines)
    with open(notes, encoding="ascii") as lines:
        said = read_numbers(lines)
    for broken in find_disagreements(actions, kept, seen):
        run.tally.violation(*broken)
    for broken in find_memory_faults(memory, said, kept.rows if kept is not None else {}):
        run.tally.violation(*broken)
    run.reckoning = {**summarize_calls(actions, kept), "remembered": summarize_memory(memory, said)}


def _count(run: SoakRun, server: SoakedServer) -> Census:
    if run.steps is not None:
        run.steps.pardon()
    counted = Census.take()
    run.blind_until = server.stopwatch.blind_until = trio.current_time() + BLIND
    return counted


async def _sample(run: SoakRun, server: SoakedServer, remembered: Path) -> None:
    """Take samples of this process's memory, and of the number of sessions, at even times.

    The search's allowance of `ROW` bytes for each remembered row is subtracted, since those rows stay for good.
    """
    assert run.resident is not None
    assert run.blocks is not None
    assert run.sessions is not None
    at, threads = trio.current_time(), WorkerThreads(1)
    while True:
        rows = await threads(lambda: count_rows(remembered))
        run.resident.add(at, float((resident_bytes() or 0) - ROW * rows))
        run.blocks.add(at, float(sys.getallocatedblocks()))
        awake = 0 if server.app.desk is None else len(server.app.desk.awake)
        run.sessions.add(at, float(len(server.app.registry) - awake))
        at += run.resident.every
        await trio.sleep_until(at)


@asynccontextmanager
async def probe_pings(target: Target, run: SoakRun) -> AsyncGenerator[None, None]:
    """Time the PINGs of an otherwise idle connection for the time of a block. Raises `WireClosed` without a server."""
    line = await open_socket(target.host, target.port, target.token)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_probe, line, run)
        yield
        nursery.cancel_scope.cancel()


async def _probe(line: ClientSocket, run: SoakRun) -> None:
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line.next_frame)
            while True:
                seconds = await line.ping()
                if trio.current_time() > run.blind_until:
                    run.pings.add(seconds)
                await trio.sleep(PING_EVERY)
    except* WireClosed:
        run.tally.violation("S7", "an idle connection was closed")
    finally:
        line.drop()


async def show_figures(tally: Callable[[], Tally]) -> None:
    """Write one line of figures now and then: each second in place on a terminal, else every ten seconds."""
    interactive, began = sys.stderr.isatty(), trio.current_time()
    while True:
        await trio.sleep(LINE_EVERY if interactive else 10 * LINE_EVERY)
        present = tally()
        figures = ", ".join(
            f"{present.counts.get(name, 0)} {name}" for name in ("messages", "cancels", "confirms", "chats")
        )
        slowest = present.cancels.report()["p99_ms"]
        text = (
            f"{trio.current_time() - began:4.0f} s  {figures}, "
            f"{sum(present.broken.values())} violations, cancel p99 {slowest} ms at the client"
        )
        sys.stderr.write(f"\r\x1b[K{text}" if interactive else f"{text}\n")
        sys.stderr.flush()
