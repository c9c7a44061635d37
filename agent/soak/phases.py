"""A soak of a server of its own, phase by phase, and what is watched meanwhile.

What watches lives in this process beside the server, in tasks that the count of steps passes over, and keeps nothing
that grows.
"""

import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from ..actions.open import can_post
from ..errors import WireClosed
from ..host import Threads, WallClock
from .census import Census
from .crowd import ARRIVALS
from .figures import Tally
from .inside import Ground, Inside, inside
from .kept import Kept, kept_since
from .memory import Samples, resident
from .notes import read
from .reckoning import counted_otherwise, disagreements, figures_of, left_open, totals
from .remembered import Memory, figures, misremembered, remembered_since, rows_in, words
from .remote import KNOWLEDGE, NOTES, RemoteCrowd, remote_crowd
from .scene import Target
from .steps import Steps
from .verdict import DRAIN_MAX, Run
from .wire import Line, open_line

PING_EVERY = 0.02
LINE_EVERY = 1.0  # seconds between two lines of figures
BUSY = 5.0  # seconds from the arrival of the last user until the server is told to go down
LATE = 5000  # milliseconds in which a lease that is over must have been seen to be
LOOKS, LOOK_AGAIN = (
    8,
    0.5,
)  # how often, and every how many seconds: the watch of a folder may be about to look
BLIND = 0.5  # seconds after a census that time nothing
LEDGER_FILE = "ledger.sqlite"  # as `storage.sqlite` names it, which costs 0.2 s to import
ROW = (
    128 * 2**20 // 100_000
)  # bytes that a turn or an item may take in memory (`python -m tests.bench.recall`)
DATA = "data"  # what a server keeps that is told no other folder


async def soak_inside(run: Run, seed: int, data: Path | None, slow: float) -> None:
    """Soak a server of our own; everything found is in `run`. Cancelled, everything ends at once.

    data: the folder in which it keeps what it keeps; None is one of our own where there are users over HTTP, else it
    remembers in memory. slow: seconds that each write of it takes longer.
    Raises UsageError when the folder cannot be used, AgentError when the crowd's process breaks.
    """
    began, threads = WallClock().now_ms(), Threads(1)
    with tempfile.TemporaryDirectory(prefix="agent-soak-") as name:
        folder = Path(name)
        remembered = data or folder / DATA
        if data is None and run.callers:
            data = folder / DATA
        file = None if data is None else data / LEDGER_FILE
        async with remote_crowd(folder, seed, run.clients, run.callers) as crowd:
            hook = crowd.hook if can_post() else None
            ground = Ground(folder / KNOWLEDGE, hook, data, slow, remembered)
            async with inside(seed, run.clients, ground, run.callers) as server:
                await _first(run, crowd, server)
                await _crowded(run, crowd, server, remembered)
                await _all_left(run, crowd, server)
                if file is not None:
                    at_rest = await threads(lambda: kept_since(file, began, WallClock().now_ms() - LATE))
                    for broken in left_open(at_rest):
                        run.tally.violation(*broken)
                await _drained(run, crowd, server)
                over = WallClock().now_ms()
            run.cancels, run.kept_cancels = server.stopwatch.cancels, server.stopwatch.kept
            await crowd.do("gone")
        run.tally.add(crowd.tally)
        run.crowd_resident = crowd.resident
        kept = None
        if file is not None:
            kept = await threads(lambda: kept_since(file, began, over - LATE))
            for broken in counted_otherwise(figures_of(server.stopwatch.text()), kept.rows):
                run.tally.violation(*broken)
        memory = await threads(lambda: remembered_since(remembered, began))
        await threads(lambda: _reckon(run, folder / NOTES, kept, memory, hook is not None))


async def _first(run: Run, crowd: RemoteCrowd, server: Inside) -> None:
    """Do everything once, and count what is there then."""
    await crowd.do("first", port=server.app.port)
    await crowd.do("quiet")
    await server.idle()
    run.censuses["start"] = await Census.take_at_rest(whole=True)


async def _crowded(run: Run, crowd: RemoteCrowd, server: Inside, remembered: Path) -> None:
    """Let the crowd be there, and watch."""
    began = trio.current_time()
    run.steps = Steps()
    run.resident, run.blocks, run.sessions = (Samples(run.seconds) for _ in range(3))
    async with probing(Target("127.0.0.1", server.app.port), run), trio.open_nursery() as around:
        around.start_soon(showing, lambda: crowd.tally)
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


async def _all_left(run: Run, crowd: RemoteCrowd, server: Inside) -> None:
    """See that nothing of the crowd is left."""
    await crowd.do("quiet")
    if not await server.idle():
        run.tally.violation("I6", "something of the clients that have left is still there")
    for _ in range(LOOKS):
        run.censuses["end"] = await Census.take_at_rest(whole=True)
        if not run.censuses["end"].left(run.censuses["start"]):
            return
        await trio.sleep(LOOK_AGAIN)


async def _drained(run: Run, crowd: RemoteCrowd, server: Inside) -> None:
    """Let the crowd come again, and tell the server to go down in the midst of it."""
    await crowd.do("stay")
    await trio.sleep(run.clients / ARRIVALS + BUSY)
    await crowd.do("drain")
    registry, runner, began = server.app.registry, server.app.runner, trio.current_time()
    assert runner is not None
    run.drain = {"sessions": len(registry), "actions": runner.running}
    server.app.drain()
    with trio.move_on_after(2 * DRAIN_MAX):
        await server.over.wait()
    run.drain["seconds"] = round(trio.current_time() - began, 2)


def _reckon(run: Run, notes: Path, kept: Kept | None, memory: Memory, seen: bool) -> None:
    """Compare what was told, what took effect and what is kept. It blocks. seen: whether effects were noted at all."""
    with open(notes, encoding="ascii") as lines:
        actions = read(lines)
    with open(notes, encoding="ascii") as lines:
        said = words(lines)
    for broken in disagreements(actions, kept, seen):
        run.tally.violation(*broken)
    for broken in misremembered(memory, said, kept.rows if kept is not None else {}):
        run.tally.violation(*broken)
    run.reckoning = {**totals(actions, kept), "remembered": figures(memory, said)}


def _count(run: Run, server: Inside) -> Census:
    if run.steps is not None:
        run.steps.pardon()
    counted = Census.take()
    run.blind_until = server.stopwatch.blind_until = trio.current_time() + BLIND
    return counted


async def _sample(run: Run, server: Inside, remembered: Path) -> None:
    """Take samples of the memory that this process holds, and of the crowd's size, at even times.

    What the search may take for each row that is remembered is not counted: those are kept for good.
    """
    assert run.resident is not None
    assert run.blocks is not None
    assert run.sessions is not None
    at, threads = trio.current_time(), Threads(1)
    while True:
        rows = await threads(lambda: rows_in(remembered))
        run.resident.add(at, float((resident() or 0) - ROW * rows))
        run.blocks.add(at, float(sys.getallocatedblocks()))
        awake = 0 if server.app.desk is None else len(server.app.desk.awake)
        run.sessions.add(at, float(len(server.app.registry) - awake))
        at += run.resident.every
        await trio.sleep_until(at)


@asynccontextmanager
async def probing(target: Target, run: Run) -> AsyncGenerator[None, None]:
    """Time the PINGs of a connection on which nothing else happens, for a block. Raises WireClosed without a server."""
    line = await open_line(target.host, target.port, target.token)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_probe, line, run)
        yield
        nursery.cancel_scope.cancel()


async def _probe(line: Line, run: Run) -> None:
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line.next_frame)
            while True:
                seconds = await line.ping()
                if trio.current_time() > run.blind_until:
                    run.pings.add(seconds)
                await trio.sleep(PING_EVERY)
    except* WireClosed:
        run.tally.violation("I7", "an idle connection was closed")
    finally:
        line.drop()


async def showing(tally: Callable[[], Tally]) -> None:
    """Write one line of figures as it goes: in place on a terminal, else one every ten seconds."""
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
