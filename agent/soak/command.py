"""`agent soak`: a crowd of random users, the invariants checked from their side, and what they leave behind.

    start: census -> the crowd comes -> warm-up -> census -> ... -> stop: each settles and leaves -> census

The users draw from a seed, hold no more than their own connection's account, and are bounded in number and time. With
`--self` the server runs in this process, on a real loopback port: then its cancels are timed from the frame decoded
to the stream_end handed to the stream, against the PINGs of an idle connection through the same loop, and memory,
tasks and live objects are counted. Only this machine's own servers can be soaked.
"""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Annotated, Any, TextIO, cast
from urllib.parse import urlsplit

import trio
from cyclopts import Parameter

from .. import log
from ..config import is_loopback
from ..errors import UsageError, WireClosed
from ..testing.client import DEFAULT_URL
from .account import Tally
from .inside import Census, Inside, inside
from .users import HANG_UP, PATIENCE, QUESTIONS, SUBJECTS, Target, User, Visit
from .wire import Line, open_line

CLIENTS_MAX, SECONDS_MAX = 5000, 24 * 3600.0
WARM_UP = (20.0, 1 / 3)  # seconds, or the share of a run that is shorter than three times that
STEADY = 20.0  # seconds after the warm-up, without which an allocator's growth says nothing
CANCEL_P99, CANCEL_PINGS = 0.020, 3.0  # seconds, or how many idle pings
GROWTH, GROWTH_BYTES = 0.02, 2 * 1024 * 1024
PING_EVERY = 0.02
LINE_EVERY = 1.0  # seconds between two lines of figures


@dataclass(slots=True)
class Run:
    """One soak as it goes. `pings`: seconds that an idle connection waited for each PONG."""

    clients: int
    seconds: float
    tally: Tally = field(default_factory=Tally)
    pings: list[float] = field(default_factory=list)
    faults: int = 0
    blind_until: float = 0.0  # a census stops the loop for a moment, and that is nobody's delay
    censuses: dict[str, Census] = field(default_factory=dict)
    steady: tuple[int | None, int | None] = (
        None,
        None,
    )  # resident bytes after the warm-up and at the end of it
    server_cancels: Sequence[float] = ()
    lasted: float = 0.0


async def soak(
    *,
    url: Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page or socket.")] = DEFAULT_URL,
    token: Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="The server's token.")] = None,
    clients: Annotated[int, Parameter(help="How many users there are at a time.")] = 200,
    seconds: Annotated[float, Parameter(help="How long they stay.")] = 60.0,
    seed: Annotated[int, Parameter(help="Of everything that the users draw.")] = 1,
    own: Annotated[
        bool, Parameter(name="--self", negative=(), help="Soak a server of its own, from the inside.")
    ] = False,
) -> int:
    """Let random users ask, cancel, confirm, drop and come back, and check every promise; the result is JSON.

    Exit status: 0 every promise was kept, 1 one was broken, 2 a wrong setting.

    Example: agent soak --self --clients 200 --seconds 60
    """
    if not 1 <= clients <= CLIENTS_MAX or not 1 <= seconds <= SECONDS_MAX:
        raise UsageError(f"clients must be 1 to {CLIENTS_MAX} and seconds 1 to {SECONDS_MAX:g}")
    errors = _ErrorLines(sys.stderr)
    log.configure("console", "error", cast(TextIO, errors))
    run = Run(clients, seconds)
    try:
        if own:
            await soak_inside(run, seed, errors)
        else:
            await _crowd(run, seed, _target(url, token), None)
    except WireClosed:
        sys.stderr.write(f"agent: there is no session to be had at {url}\n")
        return 1
    report = summary(run)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0 if report["passed"] else 1


async def soak_inside(run: Run, seed: int, errors: "_ErrorLines | None" = None) -> None:
    """Soak a server of our own; everything found is in `run`.

    errors: where the log goes; each line of it is a fault. Cancelled, everything ends at once.
    """
    async with inside(seed, run.clients, run.tally) as server:
        target = Target("127.0.0.1", server.app.port)
        await _first_of_all(target, run.tally)
        await server.idle()
        run.censuses["start"] = Census.take()
        await _crowd(run, seed, target, server)
        if not await server.idle():
            run.tally.violation("I6", "something of the clients that have left is still there")
        run.censuses["end"] = Census.take()
        run.server_cancels = server.stopwatch.cancels
    run.faults = errors.count if errors else 0


async def _first_of_all(target: Target, tally: Tally) -> None:
    """Ask each question and do a bit of everything, so that what is made once is there before anything is counted."""

    async def visit(number: int, question: str) -> None:
        line = await open_line(target.host, target.port, target.token)
        try:
            async with trio.open_nursery() as nursery:
                first = Visit(f"first {number}", line, tally, Random(number))
                nursery.start_soon(first.read)
                await first.hear(question)
                if number < len(SUBJECTS):
                    await first.do_everything()
                await first.settle()
                await first.leave("close")
        finally:
            line.drop()

    async with trio.open_nursery() as nursery:
        for number, question in enumerate(QUESTIONS):
            nursery.start_soon(visit, number, question)


async def _crowd(run: Run, seed: int, target: Target, server: Inside | None) -> None:
    """Bring the users in, let them be, count in between, and see them out. Raises WireClosed without a server."""
    probe = await open_line(target.host, target.port, target.token)
    stop = trio.Event()
    began = trio.current_time()
    warm_up = min(WARM_UP[0], run.seconds * WARM_UP[1])
    async with trio.open_nursery() as around:
        around.start_soon(_probe, probe, run)
        around.start_soon(_show, run, began)
        with trio.move_on_after(run.seconds + 2 * PATIENCE + HANG_UP) as overall:
            async with trio.open_nursery() as users:
                for number in range(1, run.clients + 1):
                    users.start_soon(User(number, seed, target, run.tally, stop).run)
                await trio.sleep(warm_up)
                if server is not None:
                    run.censuses["warm"] = _count(run, server)
                await trio.sleep_until(began + run.seconds)
                if server is not None:
                    last = _count(run, server)
                    run.steady = (run.censuses["warm"].resident, last.resident)
                stop.set()
        if overall.cancelled_caught:
            run.tally.violation("I6", "users could not leave")
        around.cancel_scope.cancel()
    run.lasted = trio.current_time() - began


def _count(run: Run, server: Inside) -> Census:
    counted = Census.take()
    run.blind_until = server.stopwatch.blind_until = trio.current_time() + 0.5
    return counted


async def _probe(line: Line, run: Run) -> None:
    """Time the PINGs of a connection on which nothing else happens."""
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(line.next_frame)
            while True:
                seconds = await line.ping()
                if trio.current_time() > run.blind_until:
                    run.pings.append(seconds)
                await trio.sleep(PING_EVERY)
    except* WireClosed:
        run.tally.violation("I7", "an idle connection was closed")
    finally:
        line.drop()


async def _show(run: Run, began: float) -> None:
    """Write one line of figures as it goes: in place on a terminal, else one every ten seconds."""
    interactive = sys.stderr.isatty()
    while True:
        await trio.sleep(LINE_EVERY if interactive else 10 * LINE_EVERY)
        counts = run.tally.counts
        figures = ", ".join(f"{counts.get(name, 0)} {name}" for name in ("messages", "cancels", "confirms"))
        slowest = percentiles(run.tally.cancel_seconds)["p99_ms"]
        text = (
            f"{trio.current_time() - began:4.0f} s  {figures}, "
            f"{sum(run.tally.broken.values())} violations, cancel p99 {slowest} ms at the client"
        )
        sys.stderr.write(f"\r\x1b[K{text}" if interactive else f"{text}\n")
        sys.stderr.flush()


def _target(url: str, token: str | None) -> Target:
    split = urlsplit(url if "://" in url else f"ws://{url}")
    try:
        port = split.port or 80
    except ValueError:
        port = 0
    if not split.hostname or not port or split.scheme not in ("ws", "http"):
        raise UsageError("the URL must look like ws://127.0.0.1:8787/ws")
    if not is_loopback(split.hostname):
        raise UsageError("only a server on this machine can be soaked")
    return Target(split.hostname, port, token)


# --- the verdict


def percentiles(seconds: Sequence[float]) -> dict[str, float | None]:
    """Return p50, p99 and the maximum in milliseconds, and how many there were; None of nothing."""
    ordered = sorted(seconds)
    if not ordered:
        return {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}
    last = len(ordered) - 1
    p50, p99 = ordered[round(0.5 * last)], ordered[round(0.99 * last)]
    return {
        "count": len(ordered),
        "p50_ms": round(p50 * 1000, 3),
        "p99_ms": round(p99 * 1000, 3),
        "max_ms": round(ordered[-1] * 1000, 3),
    }


def summary(run: Run) -> dict[str, Any]:
    """Return everything that is known of a soak, and whether every promise was kept (`passed`, and `failed` says)."""
    tally = run.tally
    failed = [f"{invariant} broken {count} times" for invariant, count in sorted(tally.broken.items())]
    report: dict[str, Any] = {
        "clients": run.clients,
        "seconds": round(run.lasted, 1),
        **{name: tally.counts.get(name, 0) for name in ("messages", "cancels", "confirms")},
        "counts": dict(sorted(tally.counts.items())),
        "violations": {f"I{n}": tally.broken.get(f"I{n}", 0) for n in range(1, 8)},
        "examples": tally.examples,
        "cancel_at_client": percentiles(tally.cancel_seconds),
        "idle_ping": percentiles(run.pings),
    }
    if run.censuses:
        failed += _judge_inside(run, report)
    return report | {"failed": failed, "passed": not failed}


def _judge_inside(run: Run, report: dict[str, Any]) -> list[str]:
    """Add what was seen from the inside; return what did not hold."""
    failed = []
    cancel = report["cancel_in_server"] = percentiles(run.server_cancels)
    ping = report["idle_ping"]["p99_ms"]
    if cancel["p99_ms"] and ping and cancel["p99_ms"] > max(CANCEL_P99 * 1000, CANCEL_PINGS * ping):
        failed.append(f"cancel p99 is {cancel['p99_ms']} ms, of an idle ping {ping} ms")
    start, end = run.censuses["start"], run.censuses["end"]
    report["tasks"] = {name: census.tasks for name, census in run.censuses.items()}
    report["objects"] = {name: census.objects.total() for name, census in run.censuses.items()}
    left = report["objects_left"] = end.changed(start)
    if left or end.tasks != start.tasks:
        failed.append(f"left behind: {end.tasks - start.tasks} tasks, objects {left}")
    report["most_objects"] = dict(run.censuses["warm"].objects.most_common(12))
    report["resident_mib"] = {
        name: round(census.resident / 2**20, 2) if census.resident else None
        for name, census in run.censuses.items()
    }
    before, after = run.steady
    if before and after:
        grown = report["grown_bytes"] = after - before
        judged = report["growth_judged"] = run.seconds * (1 - WARM_UP[1]) >= STEADY
        if judged and grown >= max(GROWTH * before, GROWTH_BYTES):
            failed.append(f"memory has grown by {grown} bytes since the warm-up")
    if run.faults:
        failed.append(f"{run.faults} error lines in the log")
    return failed


class _ErrorLines(io.TextIOBase):
    """Passes log lines on and counts them."""

    def __init__(self, stream: TextIO) -> None:
        self.count = 0
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a line."""
        self.count += text.endswith("\n")
        self._stream.write(text)
        return len(text)
