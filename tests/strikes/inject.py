"""Strikes a scenario at every one of its steps: cancellation proved by exhaustion instead of by example.

A step is a time that the event loop resumes a task of the struck connection or of an action it started, or the pulse
that speaks for it. A first run counts them; then the scenario is run once per step k, on virtual time with seeded
scheduling, and struck just before its k-th step, up to the last of its closing: the script's end is not the
connection's. After each run the census is taken (census.py). A point is a distinct (scenario, strike, k) at one seed;
the same seed gives the same run in every process.

    python -m tests.strikes.inject                          every scenario and strike, with the number of points
    python -m tests.strikes.inject SCENARIO STRIKE K        one point again, with its transcript

In-memory streams, ledger and executor only: virtual time does not see threads.
"""

import argparse
import gc
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
import trio
import trio._core._run as trio_run
from trio.testing import MockClock

from .census import PATIENT, overstays, violations
from .lab import INNOCENT, SIDE, STRUCK, Lab
from .plot import PATIENCE, Plot
from .plots import memories, plots
from .raw import RawClient
from .strikes import STRIKES
from .watchdog import Overdue, Watchdog, limited

SEED = 1
STEPS = 20_000  # of any task: a run that takes more spins (the longest takes 2,000)
NAMED = 1000  # of the steps after that are counted by task, to say who spins
REAL_SECONDS = 20.0  # a run takes hundredths of one
PULSE = "Pulse.run"  # says what the struck session says, and is the server's
THEIRS = ("turn broke", "action broke", "action claim late")  # faults of what the edges are there for
_logged: list[str] = []  # error lines of the run, while `quiet`


class _Striker(trio.abc.Instrument):
    """Counts the steps of the struck side and strikes before the k-th.

    An exception inside an instrument would switch it off without a word, so it is kept and raised after the run.
    """

    def __init__(self, k: int, strike: Callable[[], None], watchdog: Watchdog) -> None:
        self.steps = 0
        self.total = 0
        self.error: Exception | None = None
        self.counting = True
        self.speaking = True  # what the pulse says is said to the struck client
        self._k = k
        self._strike = strike
        self._watchdog = watchdog
        self._spinners: Counter[str] = Counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; strike when it is the one."""
        self.total += 1
        if self.total > STEPS:
            self._spins(task)
        spoken = self.speaking and task.name.endswith(PULSE)
        if not self.counting or not (spoken or task.context.get(SIDE) == STRUCK):
            return
        self.steps += 1
        if self.steps == self._k:
            try:
                self._strike()
            except Exception as error:  # noqa: BLE001 - see above
                self.error = error

    def _spins(self, task: trio.lowlevel.Task) -> None:
        self._spinners[task.name] += 1
        if self.total == STEPS + NAMED:
            names = ", ".join(f"{name} {count}" for name, count in self._spinners.most_common(3))
            self._watchdog.bite(f"over {STEPS} steps, of the last {NAMED}: {names}")


@dataclass(frozen=True, slots=True)
class Point:
    """One struck run: how many steps it had, what was broken, and what happened."""

    scenario: str
    strike: str
    k: int
    seed: int
    steps: int
    broken: tuple[str, ...]
    transcript: tuple[str, ...]
    hung: bool = False  # it did not end by itself

    def __str__(self) -> str:
        head = f"{self.scenario} struck by {self.strike} at step {self.k}, seed {self.seed}"
        again = f"python -m tests.strikes.inject {self.scenario} {self.strike} {self.k} --seed {self.seed}"
        return "\n".join((head, *self.broken, *self.transcript, f"again: {again}"))


def run_point(plot: Plot, strike: str, k: int, seed: int = SEED) -> Point:
    """Run a scenario and strike before its k-th step (0: never); return what the census found.

    A server that falls breaks S7. A run that does not end by itself is ended, and what was running is said.
    """
    setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - a Final, for tests of trio's own
    trio_run._r.seed(seed)  # trio has no other way to seed the order of its tasks
    run, hung = _Run(plot, strike), False
    _logged.clear()
    try:
        with limited(REAL_SECONDS) as watchdog:
            trio.run(run, k, watchdog, clock=MockClock(autojump_threshold=0))
    except Overdue as overdue:
        hung = True
        run.broken.append(f"the run hangs: {overdue}")
    except Exception as error:  # noqa: BLE001 - the server has fallen, and every client with it
        run.broken.append(f"S7: the server fell: {_first(error)}")
    if run.striker is not None and run.striker.error is not None:
        raise run.striker.error
    faults = [line for line in _logged if not line.startswith(THEIRS)]
    run.broken += [f"S7: the server logs a fault of its own: {line}" for line in faults]
    steps = run.striker.steps if run.striker else 0
    return Point(plot.name, strike, k, seed, steps, tuple(run.broken), run.transcript, hung)


def _first(error: BaseException) -> str:
    """Return the first error of a group, and where it was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = f", {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


class _Run:
    """One run: what it has found is there also when it does not come to its end."""

    def __init__(self, plot: Plot, strike: str) -> None:
        self.broken: list[str] = []
        self.striker: _Striker | None = None
        self._lab: Lab | None = None
        self._plot = plot
        self._strike = strike

    @property
    def transcript(self) -> tuple[str, ...]:
        """What happened, a line each."""
        return tuple(str(entry) for entry in self._lab.transcript) if self._lab else ()

    async def __call__(self, k: int, watchdog: Watchdog) -> None:
        """Open the lab, let the client do what it does, strike, and take the census when all has ended.

        Every step counts until the connection and what it started have ended: its closing too.
        """
        plot = self._plot
        async with trio.open_nursery() as nursery:
            lab = self._lab = Lab(
                nursery,
                plot.drafts,
                plot.before,
                plot.after,
                plot.deaf,
                plot.claim,
                plot.decisions,
                plot.remembers,
                plot.keeps,
                plot.finds,
                plot.by_sentence,
            )
            await lab.open()
            client = lab.connect(room=plot.room, reads=not plot.slow, answers=plot.answers)
            innocent = lab.connect(INNOCENT)

            def hit() -> None:
                lab.note("!!", self._strike)
                STRIKES[self._strike](lab, client)

            striker = self.striker = _Striker(k, hit, watchdog)
            trio.lowlevel.add_instrument(striker)
            with trio.move_on_after(PATIENT):
                await plot.script(lab, client)
            await trio.sleep(PATIENT)
            striker.speaking = False
            self.broken += overstays(lab) + await _asked(lab, innocent)
            await _left(lab, client)
            striker.counting = False
            innocent.vanish()
            lab.drain()
            with trio.move_on_after(PATIENT):
                await lab.over.wait()
            await trio.sleep(PATIENCE)
            trio.lowlevel.remove_instrument(striker)
            self.broken += await violations(lab, slow=plot.slow)
            nursery.cancel_scope.cancel()


async def _asked(lab: Lab, innocent: RawClient) -> list[str]:
    """S7: another client of the same server gets its answer, unless the server goes down."""
    if lab.app.registry.draining or lab.stopped:
        return []
    innocent.send("message", id="i", text="about nothing")
    with trio.move_on_after(PATIENCE):
        await innocent.until("stream_end")
        return []
    return ["S7: another client got no answer"]


async def _left(lab: Lab, client: RawClient) -> None:
    """Let the client close by the rules; one that does not answer is gone a moment later."""
    client.goodbye()
    with trio.move_on_after(PATIENCE):
        await lab.parted.wait()
    client.vanish()
    with trio.move_on_after(PATIENCE):
        await lab.parted.wait()


def _keep(_: object, __: str, line: MutableMapping[str, Any]) -> str:
    """Keep what an error line says, as words: an error itself would keep its session alive."""
    error = line.get("exc_info")
    said = f" ({_first(error)})" if isinstance(error, BaseException) else ""
    _logged.append(f"{line['event']}{said}")
    raise structlog.DropEvent


def every() -> dict[str, Plot]:
    """Return all scenarios by their names."""
    return plots() | memories()


def steps_of(plot: Plot, seed: int = SEED) -> int:
    """Return how many steps a scenario has when nothing strikes."""
    return run_point(plot, "cancel", 0, seed).steps


def strike_all(
    plot: Plot, strike: str, seed: int = SEED, stride: int = 1, day: int = 0
) -> tuple[int, list[Point]]:
    """Strike a scenario at each of its steps; return how many points that were, and the ones that broke something.

    stride: at every so-manieth step only, each way of striking beginning at another one, and each day at the next: in
    as many days all are struck. A run that had to be ended is the last: the others would take as long.
    """
    bad = []
    first = 1 + (list(STRIKES).index(strike) * stride // len(STRIKES) + day) % stride
    points = range(first, steps_of(plot, seed) + 1, stride)
    for struck, k in enumerate(points, 1):
        point = run_point(plot, strike, k, seed)
        if point.broken:
            bad.append(point)
        if point.hung:
            return struck, bad
    return len(points), bad


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the log silent, but for the runs' own census, and the census cheap for a series of runs."""
    before = structlog.get_config()
    structlog.configure(
        processors=[_keep], wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR)
    )
    gc.collect()
    gc.freeze()  # for good: what is loaded now is not scanned again, so that the census costs microseconds
    try:
        yield
    finally:
        structlog.configure(**before)


def main(arguments: list[str] | None = None) -> int:
    """Strike everything, or one point again; exit status 1 when something broke."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.strikes.inject", description=__doc__.splitlines()[0]
    )
    parser.add_argument("scenario", nargs="?", choices=sorted(every()))
    parser.add_argument("strike", nargs="?", choices=sorted(STRIKES))
    parser.add_argument("k", nargs="?", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args(arguments)
    with quiet():
        return _strike(chosen)


def _strike(chosen: argparse.Namespace) -> int:
    if chosen.k is not None:
        point = run_point(every()[chosen.scenario], chosen.strike, chosen.k, chosen.seed)
        sys.stdout.write(f"{point}\n")
        return bool(point.broken)
    struck, bad = 0, 0
    for name in [chosen.scenario] if chosen.scenario else every():
        for strike in [chosen.strike] if chosen.strike else STRIKES:
            points, broken = strike_all(every()[name], strike, chosen.seed)
            struck += points
            bad += len(broken)
            sys.stdout.write(f"{name:40}{strike:24}{points:6} points {len(broken):6} broken\n")
            for point in broken[:1]:
                sys.stdout.write(f"{point}\n")
    sys.stdout.write(f"{struck} distinct points struck at seed {chosen.seed}, {bad} broke an invariant\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
