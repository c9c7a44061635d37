"""Measures the rounds of the event loop, and logs the code that holds a long one up.

A round is the time from one look at sockets and timers to the next. Strategy: the instrument `LoopLag` notes when each
round begins and ends. That misses nothing, and costs nothing while the loop waits (a task that woke ten times a second
to see how late it is took 0.3 % of a CPU, and would miss every second stall of 100 ms). Only another thread can see the
code that runs in a long round: `Watchdog` looks at the loop's stack when a round is `LAG_WARN` old. While the loop is
idle the watchdog sleeps without a timeout, and the next round wakes it.

Log lines name code, and never a client's words. All times are real: on virtual time none of this runs.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FrameType

import structlog
import trio

from ..log import place_of
from ..ports.observe import Observer

LAG_WARN = 0.1  # a round of the loop that takes longer is a line in the log ...
LAG_STUCK = 2.0  # ... one that takes so long is logged before it ends ...
LAG_QUIET = 5.0  # ... and then there is no further line for a while
LAG_WINDOW = 0.1  # of each the histogram gets the longest round

_log = structlog.get_logger("agent.loop")
_LOOP = "unrolled_run"  # trio's function that is the loop; the functions it calls are tasks
_CPU_READ = 0.001  # seconds between two readings of the thread's CPU time, which is a system call


async def watch_loop(observer: Observer) -> None:
    """Measure the running loop as `loop_lag_seconds`, and log its late rounds, until cancelled.

    Each `LAG_WINDOW` seconds in which the loop ran give one measure, their longest round.
    """
    lag = LoopLag(observer)
    lag.watchdog.start()
    trio.lowlevel.add_instrument(lag)
    try:
        await trio.sleep_forever()
    finally:
        lag.watchdog.stop()
        with suppress(KeyError):  # trio removes and logs an instrument that raises
            trio.lowlevel.remove_instrument(lag)


@dataclass(frozen=True, slots=True)
class ThreadSample:
    """A look at a thread: its `task`, its place in the code, and its `state` as `/proc/PID/stat` has it, or ""."""

    task: str
    at: str
    state: str


class LoopLag(trio.abc.Instrument):
    """Measures the rounds of the loop that it is added to. Create it in that loop's thread.

    `began`: the start of the present round (`time.perf_counter`), 0.0 while the loop waits. `cpu`: the CPU seconds that
    the thread had used by then, give or take `_CPU_READ`. `rounds`: the number of rounds so far.
    """

    def __init__(self, observer: Observer) -> None:
        self.began = 0.0
        self.cpu = 0.0
        self.rounds = 0
        self.watchdog = Watchdog(self, threading.get_ident(), threading.get_native_id())
        self._observer = observer
        self._cpu_read = 0.0
        self._due = float("inf")  # until when the loop meant to wait
        self._longest = 0.0
        self._window_ends = 0.0
        self._quiet_until = 0.0
        self._suppressed = 0

    def before_io_wait(self, timeout: float) -> None:
        """End a round: measure it, and log it if it took `LAG_WARN` seconds or more."""
        now = time.perf_counter()
        if self.began:
            took = now - self.began
            self.began = 0.0
            if took > self._longest:
                self._longest = took
            if now >= self._window_ends:
                self._measure(now)
            if took >= LAG_WARN:
                self._warn(now, took, time.thread_time() - self.cpu, self.watchdog.find_sample(self.rounds))
        self._due = now + timeout

    def after_io_wait(self, timeout: float) -> None:
        """Begin a round. A round that begins after the end of the loop's `timeout` is late, too."""
        now = time.perf_counter()
        late = now - self._due
        if late > self._longest:
            self._longest = late
            if late >= LAG_WARN:
                self._warn(now, late, 0.0, ThreadSample("", "", "R"))
        if now - self._cpu_read > _CPU_READ:
            self.cpu = time.thread_time()
            self._cpu_read = now
        self.rounds += 1
        self.began = now
        if self.watchdog.sleeping:
            self.watchdog.wake()

    def _measure(self, now: float) -> None:
        self._observer.measure("loop_lag_seconds", self._longest)
        self._longest = 0.0
        self._window_ends = now + LAG_WINDOW

    def _warn(self, now: float, seconds: float, cpu: float, sample: ThreadSample | None) -> None:
        if now < self._quiet_until:
            self._suppressed += 1
            return
        self._quiet_until = now + LAG_QUIET
        _log.warning("event loop was late", **_fields(seconds, cpu, sample), unsaid=self._suppressed)
        self._suppressed = 0


class Watchdog:
    """A thread that looks at the thread of a loop.

    `sleeping`: it sleeps until `wake` is called, because the loop has been idle for a while.
    """

    def __init__(self, lag: LoopLag, ident: int, native: int) -> None:
        self._lag = lag
        self._ident = ident
        self._native = native
        self.sleeping = False
        self._ended = False
        self._woken = threading.Event()
        self._last_sample: tuple[int, ThreadSample | None] = (0, None)
        self._stuck = 0
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the watchdog's thread."""
        self._thread.start()

    def stop(self) -> None:
        """Tell the thread to end, without waiting for it."""
        self._ended = True
        self._woken.set()

    def wake(self) -> None:
        """End `sleeping`: the loop runs again."""
        self.sleeping = False
        self._woken.set()

    def find_sample(self, number: int) -> ThreadSample | None:
        """Return the look that was taken in the round `number`, or None."""
        at, seen = self._last_sample
        return seen if at == number else None

    def take_sample(self) -> ThreadSample | None:
        """Look at the loop's thread now; return None if it has ended."""
        seen = self._sample_stack()
        return seen and replace(seen, state=_state(self._native))

    def _sample_stack(self) -> ThreadSample | None:
        """Look without a call that lets other threads go on; assume the state `R`."""
        frame = sys._current_frames().get(self._ident)  # noqa: SLF001 - documented; no other call shows a thread's stack
        if frame is None:
            return None
        task = ""
        calls: list[tuple[CodeType, int | None]] = []
        for each in _walk_frames(frame):
            if each.f_code.co_name == _LOOP:
                break
            task = f"{each.f_globals.get('__name__', '')}.{each.f_code.co_qualname}"
            calls.insert(0, (each.f_code, each.f_lineno))
        else:
            task = ""  # no loop runs there
        return ThreadSample(task, place_of(calls), "R")

    def _watch(self) -> None:
        last = -1
        while not self._ended:
            began, rounds = self._lag.began, self._lag.rounds
            if began:
                self._woken.wait(self._judge(rounds, time.perf_counter() - began))
            elif rounds != last:
                self._woken.wait(LAG_WARN)
            else:  # no round began since the last look
                self.sleeping = True
                if self._lag.rounds == rounds and not self._ended:
                    self._woken.wait()
                self.sleeping = False
            last = rounds
            self._woken.clear()

    def _judge(self, number: int, age: float) -> float:
        """Look at the round `number` if its `age` calls for it; return the seconds until the next look is due."""
        if age < LAG_WARN:
            return LAG_WARN - age
        if self._last_sample[0] != number and (seen := self._sample_stack()) is not None:
            # First: reading the state lets a thread that runs go on and end its round.
            self._last_sample = (number, seen)
            self._last_sample = (number, replace(seen, state=_state(self._native)))
        if age < LAG_STUCK:
            return LAG_STUCK - age
        if self._stuck != number:
            self._stuck = number
            _log.error("event loop is stuck", **_fields(age, self._cpu() - self._lag.cpu, self.take_sample()))
        return LAG_STUCK

    def _cpu(self) -> float:
        """Return the CPU seconds of the loop's thread; 0.0 on systems that do not tell."""
        if not hasattr(time, "pthread_getcpuclockid"):
            return 0.0
        return time.clock_gettime(time.pthread_getcpuclockid(self._ident))


def _fields(seconds: float, cpu: float, sample: ThreadSample | None) -> dict[str, object]:
    """Return the fields of a round's log line.

    `why` is `busy` (the thread computed), `blocked` (it waited in a call, for a file, a lock or another thread),
    `starved` (it could run and did not: other processes had the CPU), or `waited` if the system does not tell which of
    the last two.
    """
    state = sample.state if sample is not None else ""
    why = "busy" if cpu >= seconds / 2 else {"": "waited", "R": "starved"}.get(state, "blocked")
    fields: dict[str, object] = {"seconds": round(seconds, 3), "cpu": round(cpu, 3), "why": why}
    return fields | ({"task": sample.task, "at": sample.at} if sample is not None and sample.at else {})


def _walk_frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _state(native: int) -> str:
    """Return `R` for a thread that runs or could, `S` or `D` for a waiting one, "" if the system does not tell."""
    try:
        return (
            Path(f"/proc/self/task/{native}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        )
    except (OSError, ValueError, IndexError):
        return ""
