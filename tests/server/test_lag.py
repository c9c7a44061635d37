"""How late the loop is, and what is said of it."""

import json
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from agent.server import lag as lagging
from agent.server.lag import LAG_QUIET, LAG_STUCK, LAG_WARN, LAG_WINDOW, LoopLag, ThreadSample, watch_loop
from agent.server.metrics import Metrics
from tests.logs import capture_log


class Clocks:
    """Stands for `time`: the clock, and the thread's CPU time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.cpu = 7.0
        ours = SimpleNamespace(perf_counter=lambda: self.now, thread_time=lambda: self.cpu)
        patch.setattr(lagging, "time", ours)


class Loop:
    """Stands for a loop that is measured; `measures` are the seconds that were reported."""

    def __init__(self, clocks: Clocks) -> None:
        self.measures: list[float] = []
        self.lag = LoopLag(self)
        self._clocks = clocks

    def measure(self, metric: str, seconds: float) -> None:
        """Take a duration (of `Observer`)."""
        assert metric == "loop_lag_seconds"
        self.measures.append(round(seconds, 6))

    def count(self, metric: str, label: str = "") -> None:
        """Take nothing else."""

    gauge: Any = count

    def waits(self, timeout: float, seconds: float | None = None) -> None:
        """Wait for I/O, as long as was meant or not."""
        self.lag.before_io_wait(timeout)
        self._clocks.now += timeout if seconds is None else seconds
        self.lag.after_io_wait(timeout)

    def runs(self, seconds: float, cpu: float = 0.0, seen: ThreadSample | None = None) -> None:
        """Run one round and wait a moment; `seen`: what the watchdog saw in it."""
        self._clocks.now += seconds
        self._clocks.cpu += cpu
        if seen is not None:
            self.lag.watchdog._last_sample = (self.lag.rounds, seen)
        self.waits(1e-6)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """Clocks that a test moves."""
    return Clocks(monkeypatch)


@pytest.fixture
def loop(clocks: Clocks) -> Loop:
    """A loop in its first round."""
    made = Loop(clocks)
    made.waits(0.01)
    return made


def test_each_window_gives_its_longest_round(loop: Loop) -> None:
    """However many rounds it had; a loop that waits gives none."""
    loop.runs(0.001)
    for seconds in (0.001, 0.03, 0.002):
        loop.runs(seconds)
    assert loop.measures == [0.001]
    loop.waits(3600)
    loop.runs(0.001)
    assert loop.measures == [0.001, 0.03]
    assert LAG_WINDOW == 0.1


def test_a_loop_that_is_woken_late_is_late(loop: Loop) -> None:
    """Not its own doing, but its clients wait all the same; a socket that wakes it early is no lag."""
    with capture_logs() as logs:
        loop.waits(0.02, 0.06)
        loop.waits(10, 1)
        loop.runs(0.001)
        assert loop.measures == [0.0, 0.04]
        assert logs == []
        loop.waits(0.02, 0.52)
    assert [(each["why"], each["seconds"], each["cpu"]) for each in logs] == [("starved", 0.5, 0.0)]


@pytest.mark.parametrize(
    ("cpu", "state", "why"),
    [
        (0.29, "R", "busy"),
        (0.16, "S", "busy"),
        (0.01, "S", "blocked"),
        (0.01, "D", "blocked"),
        (0.01, "R", "starved"),
        (0.01, "", "waited"),
    ],
)
def test_a_warning_says_what_ran_and_whether_it_had_the_cpu(
    loop: Loop, cpu: float, state: str, why: str
) -> None:
    """Computing, waiting in a call, or waiting for the CPU, as far as the system tells."""
    with capture_logs() as logs:
        loop.runs(0.3, cpu, ThreadSample("agent.turn.run", "agent/a.py:1 in f", state))
    assert logs == [
        {
            "event": "event loop was late",
            "log_level": "warning",
            "seconds": 0.3,
            "cpu": cpu,
            "why": why,
            "task": "agent.turn.run",
            "at": "agent/a.py:1 in f",
            "unsaid": 0,
        }
    ]


def test_warnings_are_few(loop: Loop) -> None:
    """One in LAG_QUIET seconds, which says how many were left unsaid; under LAG_WARN there is none."""
    with capture_logs() as logs:
        loop.runs(LAG_WARN - 0.001)
        for _ in range(3):
            loop.runs(0.2)
        loop.waits(LAG_QUIET)
        loop.runs(0.25)
    assert [(each["seconds"], each["unsaid"]) for each in logs] == [(0.2, 0), (0.25, 2)]


def test_what_was_seen_in_an_earlier_round_is_not_told_of_this_one(loop: Loop) -> None:
    """Rather nothing."""
    with capture_logs() as logs:
        loop.runs(0.001, 0, ThreadSample("agent.turn.run", "agent/a.py:1 in f", "S"))
        loop.runs(0.3)
    assert "at" not in logs[0]
    assert logs[0]["why"] == "waited"


def seen_by(lag: LoopLag, hold_up: Callable[[threading.Thread], None]) -> ThreadSample:
    """Return what is seen of this thread while it holds the loop up."""
    seen: list[ThreadSample | None] = []
    looking = threading.Thread(target=lambda: seen.append(lag.watchdog.take_sample()))
    hold_up(looking)
    assert seen[0] is not None
    return seen[0]


def hog(looking: threading.Thread) -> None:
    """Hold the loop up until somebody has looked."""
    looking.start()
    looking.join()


async def test_the_watchdog_sees_the_task_and_the_place() -> None:
    """Of a loop's thread: the task by its outermost function, the innermost call, and that it waits for a lock."""
    lag = LoopLag(Metrics())
    seen: list[ThreadSample] = []

    async def task() -> None:
        seen.append(seen_by(lag, hog))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(task)
    assert seen[0].task.endswith("test_the_watchdog_sees_the_task_and_the_place.<locals>.task")
    assert seen[0].at.startswith("threading.py:")
    assert seen[0].state in ("S", "R", "")  # R while it is just waking up


def test_the_watchdog_sees_a_thread_without_a_loop() -> None:
    """It has a place, and no task."""
    seen = seen_by(LoopLag(Metrics()), hog)
    assert (seen.task, seen.at.split(":")[0]) == ("", "threading.py")


def test_a_loop_that_is_stuck_is_said_before_it_ends(loop: Loop) -> None:
    """Once, when it has been so for LAG_STUCK seconds; the looks before are no line."""
    watchdog = loop.lag.watchdog
    with capture_logs() as logs:
        assert watchdog._judge(1, 0.03) == pytest.approx(LAG_WARN - 0.03)
        assert watchdog.find_sample(1) is None
        assert watchdog._judge(1, 0.5) == pytest.approx(LAG_STUCK - 0.5)
        assert watchdog.find_sample(1) is not None
        assert logs == []
        for _ in range(3):
            watchdog._judge(1, 2.5)
        assert [(each["event"], each["log_level"], each["seconds"]) for each in logs] == [
            ("event loop is stuck", "error", 2.5)
        ]


def test_a_round_that_ends_while_its_state_is_read_has_been_seen(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that let no other thread in ends as soon as the watchdog waits for a file: it ran."""
    watchdog = loop.lag.watchdog
    meanwhile: list[ThreadSample | None] = []

    def state(native: int) -> str:
        meanwhile.append(watchdog.find_sample(1))
        return "S"

    monkeypatch.setattr(lagging, "_state", state)
    watchdog._judge(1, 0.5)
    (seen,) = meanwhile
    assert seen is not None
    assert (seen.at, seen.state) != ("", "S")
    assert watchdog.find_sample(1) == replace(seen, state="S")


async def test_watching_leaves_nothing_behind() -> None:
    """Cancelled, the instrument is gone and the thread ends; the figures of the rounds are there."""
    metrics = Metrics()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_loop, metrics)
        await trio.testing.wait_all_tasks_blocked()
        (watchdog,) = [each for each in threading.enumerate() if each.name == "watchdog"]
        assert watchdog.daemon
        nursery.cancel_scope.cancel()
    watchdog.join(30)
    assert not watchdog.is_alive()
    assert "agent_loop_lag_seconds_count 1.0" in metrics.text().decode()


async def test_a_measure_that_breaks_is_logged_and_ends_the_measuring() -> None:
    """Trio switches it off and says so; the server goes on, and so does its end."""

    class Broken(Metrics):
        def measure(self, metric: str, seconds: float) -> None:
            raise ZeroDivisionError

    with capture_log() as captured:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch_loop, Broken())
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert [(each.name, each.levelno) for each in captured.records] == [
        ("trio.abc.Instrument", logging.ERROR)
    ]


# --- in real time

_HOLD_UP = """
import sys, time, trio
from agent import log
from agent.server import lag
from agent.server.metrics import Metrics

lag.LAG_QUIET = 0  # a busy machine's own lines shall not keep the one back

def compute():
    until = time.thread_time() + {seconds}
    while time.thread_time() < until: pass

def compute_until_stopped():
    before = now = time.monotonic()
    while now < before + 1: before, now = now, time.monotonic()
    compute()  # for who looks at the stack of a long round

async def main():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lag.watch_loop, Metrics())
        await trio.sleep(0.5)
        print("go", flush=True)
        {what}
        await trio.sleep(0.1)
        nursery.cancel_scope.cancel()

log.configure("json", "info")
trio.run(main)
"""


def late(said: str, where: str) -> dict[str, Any]:
    """Return the line about a place."""
    lines: list[dict[str, Any]] = [json.loads(each) for each in said.splitlines()]
    (line,) = [
        each for each in lines if each["event"] == "event loop was late" and where in each.get("at", "")
    ]
    assert line["task"] == "__main__.main"
    return line


@pytest.mark.proof
@pytest.mark.parametrize(
    ("what", "where", "used"),
    [
        ("compute()", " in compute", 0.6),
        ("sum(range(1 << 26))", " in main", 0.5),  # one call that never lets another thread in
    ],
)
def test_a_computation_that_holds_a_loop_up_is_named(what: str, where: str, used: float) -> None:
    """With the CPU that it used; on a machine whose CPU others have, it was both long and starved."""
    code = _HOLD_UP.replace("{what}", what).replace("{seconds}", "0.6")
    said = subprocess.run([sys.executable, "-c", code], stderr=-1, text=True, timeout=60, check=True).stderr
    line = late(said, where)
    assert line["cpu"] >= used
    share = line["cpu"] / line["seconds"]  # both are rounded
    assert line["why"] in ("busy", "starved")
    assert {"busy": share > 0.45, "starved": share < 0.55}[line["why"]]


@pytest.mark.proof
def test_a_call_that_waits_is_named() -> None:
    """It has used no CPU, and would not have run with more of it."""
    code = _HOLD_UP.replace("{what}", "time.sleep(0.6)")
    said = subprocess.run([sys.executable, "-c", code], stderr=-1, text=True, timeout=60, check=True).stderr
    line = late(said, " in main")
    assert (line["why"], line["cpu"] < 0.1, line["seconds"] >= 0.6) == ("blocked", True, True)


@pytest.mark.proof
def test_a_process_that_does_not_get_the_cpu_says_so() -> None:
    """One that is stopped in the middle of a round has not used it."""
    code = _HOLD_UP.replace("{what}", "compute_until_stopped()").replace("{seconds}", "0.3")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)  # more than it has computed by then
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    line = late(said, " in compute")
    assert (line["why"], line["seconds"] >= 1) == ("starved", True)


@pytest.mark.proof
def test_watching_costs_next_to_nothing() -> None:
    """Less than 0.2 % of a CPU of a loop that waits, beside one that is not watched."""
    code = _HOLD_UP.replace(
        "{what}",
        "began = time.process_time(); await trio.sleep(10); print((time.process_time() - began) / 10)",
    )
    said = subprocess.run([sys.executable, "-c", code], stdout=-1, text=True, timeout=60, check=True).stdout
    assert float(said.split()[1]) < 0.002  # some 0.0005; on a busy machine each instruction takes longer
