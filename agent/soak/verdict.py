"""The figures of a soak, and the verdict whether every promise held. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..config import ACTION_TIMEOUT, CLOSE_TIMEOUT, DRAIN_TIMEOUT, FLUSH_TIMEOUT, RECORD_TIMEOUT
from .census import Census
from .figures import Histogram, Tally
from .memory_growth import Growth, Samples
from .scene import slower
from .steps import STEP_MAX, Steps

CANCEL_P99, CANCEL_PINGS = 0.020, 3.0  # seconds, or how many idle pings
# The share of a crowd that must be connected in the later half of a run: else it was another one.
PRESENT = 0.5
PROMISES = (*(f"S{n}" for n in range(1, 10)), "T1", "T3", *(f"M{n}" for n in range(1, 9)), "V1", "V2")
"""The invariants of `agent/guide/concepts.md` that a soak checks."""
HANDSHAKES = ("handshakes given up", "handshakes given up by a slow server")
DRAIN_MAX = DRAIN_TIMEOUT + CLOSE_TIMEOUT + FLUSH_TIMEOUT + ACTION_TIMEOUT + 2 * RECORD_TIMEOUT
DRAIN_SPARE = 2.0  # seconds, for a loop that has much to do


@dataclass(slots=True, kw_only=True)
class SoakRun:
    """The figures of one soak, filled in as it goes; those after `blind_until` come from the server's process only.

    `clients`, `callers`, `voices`: as for `run_users`. `pings`: of an idle connection, through the loop of this
    process. `resident`, `blocks`: bytes, and blocks of memory that Python holds. `sessions`: the number
    of sessions. `drain`: how many sessions and actions there were when the drain began, and the seconds that it took.
    """

    clients: int
    seconds: float
    callers: int = 0
    voices: int = 0
    tally: Tally = field(default_factory=Tally)
    pings: Histogram = field(default_factory=Histogram)
    lasted: float = 0.0
    blind_until: float = 0.0  # a census stops the loop for a moment, which is not a delay of the server
    censuses: dict[str, Census] = field(default_factory=dict)
    resident: Samples | None = None
    blocks: Samples | None = None
    sessions: Samples | None = None
    steps: Steps | None = None
    cancels: Histogram = field(default_factory=Histogram)
    kept_cancels: Histogram = field(default_factory=Histogram)
    faults: int = 0
    drain: dict[str, float] = field(default_factory=dict)
    reckoning: Mapping[str, object] | None = None
    crowd_resident: int | None = None


def summarize_run(run: SoakRun) -> dict[str, Any]:
    """Return the report of a soak; `passed` says whether every promise held, `failed` lists the reasons against it."""
    tally = run.tally
    failed = [f"{promise} broken {count} times" for promise, count in sorted(tally.broken.items())]
    report: dict[str, Any] = {
        "clients": run.clients,
        "callers": run.callers,
        "voices": run.voices,
        "seconds": round(run.lasted, 1),
        **{name: tally.counts.get(name, 0) for name in ("messages", "cancels", "confirms", "chats")},
        "handshakes_given_up": sum(tally.counts.get(name, 0) for name in HANDSHAKES),
        "counts": dict(sorted(tally.counts.items())),
        "violations": {promise: tally.broken.get(promise, 0) for promise in PROMISES},
        "examples": tally.examples,
        "cancel_at_client": tally.cancels.report(),
        "idle_ping": run.pings.report(),
    }
    if run.censuses:
        report["knowledge_behind"] = tally.behind.report()
        failed += _sessions(run, report)
        failed += _cancels(run, report)
        failed += _left_behind(run, report)
        failed += _memory(run, report)
        failed += _steps(run, report)
        failed += _drain(run, report)
        if run.faults:
            failed.append(f"{run.faults} error lines in the log")
    return report | {"failed": failed, "passed": not failed}


def _sessions(run: SoakRun, report: dict[str, Any]) -> list[str]:
    usual = report["sessions"] = run.sessions.usual() if run.sessions else None
    if usual is not None and usual < PRESENT * run.clients:
        return [f"the crowd was not there: {usual:g} of {run.clients} clients were connected"]
    return []


def _cancels(run: SoakRun, report: dict[str, Any]) -> list[str]:
    cancel = report["cancel_in_server"] = run.cancels.report()
    report["cancel_of_thread_kept"] = run.kept_cancels.report()
    ping = report["idle_ping"]["p99_ms"]
    if cancel["p99_ms"] and ping and cancel["p99_ms"] > max(CANCEL_P99 * 1000, CANCEL_PINGS * ping):
        return [f"cancel p99 is {cancel['p99_ms']} ms, of an idle ping {ping} ms"]
    return []


def _left_behind(run: SoakRun, report: dict[str, Any]) -> list[str]:
    start, end = run.censuses["start"], run.censuses["end"]
    report["tasks"] = {name: census.tasks for name, census in run.censuses.items()}
    report["objects"] = {name: census.objects.total() for name, census in run.censuses.items()}
    left = report["objects_left"] = end.find_growth(start)
    if "warm" in run.censuses:
        report["most_objects"] = dict(run.censuses["warm"].objects.most_common(12))
    if left or end.tasks != start.tasks:
        return [f"left behind: {end.tasks - start.tasks} tasks, objects {left}"]
    return []


def _memory(run: SoakRun, report: dict[str, Any]) -> list[str]:
    levels = {name: census.resident for name, census in run.censuses.items()}
    levels["crowd"] = run.crowd_resident
    report["resident_mib"] = {
        name: None if level is None else round(level / 2**20, 2) for name, level in levels.items()
    }
    blocks = run.blocks.growth() if run.blocks else None
    report["blocks_per_minute"] = None if blocks is None else round(blocks.slope)
    growth = run.resident.growth() if run.resident else None
    report["memory"] = None if growth is None else _growth(growth)
    report["resident_mib_by_sixths"] = [
        round(each / 2**20, 2) for each in (run.resident.parts() if run.resident else ())
    ]
    if growth is not None and growth.leaks:
        return [f"memory grows by {growth.slope / 2**20:.2f} MiB a minute"]
    return []


def _growth(growth: Growth) -> dict[str, object]:
    return {
        "settled_after_seconds": round(growth.settled_at),
        "seen_for_seconds": round(growth.seconds),
        "mib_per_minute": round(growth.slope / 2**20, 3),
        "mib_per_minute_without_one_step": round(growth.steadily / 2**20, 3),
        "judged": growth.is_judged,
    }


def _steps(run: SoakRun, report: dict[str, Any]) -> list[str]:
    if run.steps is None:
        return []
    (alone, task), (seconds, _) = run.steps.longest_alone, run.steps.longest
    alone_ms = {"longest_alone_ms": round(alone * 1000, 3), "longest_alone_is_of": task}
    report["steps"] = {**run.steps.took.report(), **alone_ms}
    report["garbage_collections"] = run.steps.collections.report()
    if alone > STEP_MAX:
        return [f"a step of {task} held the loop for {alone * 1000:.0f} ms of CPU"]
    if seconds > STEP_MAX * slower(run.clients + run.callers):
        return [f"a garbage collection held the loop for {seconds * 1000:.0f} ms of CPU"]
    return []


def _drain(run: SoakRun, report: dict[str, Any]) -> list[str]:
    report["drain"] = run.drain
    report["reckoning"] = run.reckoning
    if run.drain.get("seconds", 0.0) > DRAIN_MAX + DRAIN_SPARE:
        return [f"going down took {run.drain['seconds']} s"]
    return []
