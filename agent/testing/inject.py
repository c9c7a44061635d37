"""Strikes a scenario at every one of its steps: cancellation proved by exhaustion instead of by example.

A step is a time that the event loop resumes a task of the struck connection or of an action it started. A first run
counts them; then the scenario is run once per step k, on virtual time with seeded scheduling, and struck just before
its k-th step. After each run the census is taken (census.py). A point is a distinct (scenario, strike, k) at one seed;
the same seed gives the same run in every process.

    python -m agent.testing.inject                          every scenario and strike, with the number of points
    python -m agent.testing.inject SCENARIO STRIKE K        one point again, with its transcript

In-memory streams, ledger and executor only: virtual time does not see threads.
"""

import argparse
import gc
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
import trio
import trio._core._run as trio_run
from trio.testing import MockClock

from .census import violations
from .lab import SIDE, Entry, Lab, RawClient
from .plots import CUTS, PATIENCE, STRIKES, Plot, plots

SEED = 1
SETTLE = 45.0  # virtual seconds until everything a strike started has ended: expiry, an action's deadline
WATCHDOG = 100_000  # steps of any task: a run that takes more spins


class _Striker(trio.abc.Instrument):
    """Counts the steps of the struck side and strikes before the k-th.

    An exception inside an instrument would switch it off without a word, so it is kept and raised after the run.
    """

    def __init__(self, k: int, strike: Callable[[], None]) -> None:
        self.steps = 0
        self.total = 0
        self.error: Exception | None = None
        self._k = k
        self._strike = strike
        self.counting = False

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; strike when it is the one."""
        self.total += 1
        if not self.counting or task.context.get(SIDE) != "struck":
            return
        self.steps += 1
        if self.steps == self._k or self.total == WATCHDOG:
            try:
                if self.total == WATCHDOG:
                    raise RuntimeError("the run spins")
                self._strike()
            except Exception as error:  # noqa: BLE001 - see above
                self.error = error


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

    def __str__(self) -> str:
        head = f"{self.scenario} struck by {self.strike} at step {self.k}, seed {self.seed}"
        again = f"python -m agent.testing.inject {self.scenario} {self.strike} {self.k} --seed {self.seed}"
        return "\n".join((head, *self.broken, *self.transcript, f"again: {again}"))


def run_point(plot: Plot, strike: str, k: int, seed: int = SEED) -> Point:
    """Run a scenario and strike before its k-th step (0: never); return what the census found."""
    setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - a Final, for tests of trio's own
    trio_run._r.seed(seed)
    return trio.run(_run, plot, strike, k, seed, clock=MockClock(autojump_threshold=0))


async def _run(plot: Plot, strike: str, k: int, seed: int) -> Point:
    broken: list[str] = []
    async with trio.open_nursery() as nursery:
        lab = Lab(nursery, plot.drafts, plot.before, plot.after)
        client = lab.connect(room=plot.room, reads=not plot.slow)
        innocent = lab.connect("innocent")

        def hit() -> None:
            lab.transcript.append(Entry(trio.current_time(), "!!", strike))
            STRIKES[strike](lab, client)

        striker = _Striker(k, hit)
        trio.lowlevel.add_instrument(striker)
        striker.counting = True
        with trio.move_on_after(SETTLE):
            await plot.script(lab, client)
        striker.counting = False
        await trio.sleep(SETTLE)
        broken += await _innocent(lab, innocent)
        client.end.close()
        innocent.end.close()
        await trio.sleep(PATIENCE)
        trio.lowlevel.remove_instrument(striker)
        if striker.error is not None:
            raise striker.error
        struck = [entry.what for entry in lab.transcript if entry.who == "!!"]
        broken += await violations(lab, cut=bool(struck) and strike in CUTS, slow=plot.slow)
        transcript = tuple(str(entry) for entry in lab.transcript)
        nursery.cancel_scope.cancel()
    return Point(plot.name, strike, k, seed, striker.steps, tuple(broken), transcript)


async def _innocent(lab: Lab, client: RawClient) -> list[str]:
    """I7: another client of the same server gets its answer, unless the server goes down."""
    if lab.registry.draining:
        return []
    client.send("message", id="i", text="about nothing")
    with trio.move_on_after(PATIENCE):
        await client.until("stream_end")
        return []
    return ["I7: another client got no answer"]


def steps_of(plot: Plot, seed: int = SEED) -> int:
    """Return how many steps a scenario has when nothing strikes."""
    return run_point(plot, "cancel", 0, seed).steps


def strike_all(plot: Plot, strike: str, seed: int = SEED) -> tuple[int, list[Point]]:
    """Strike a scenario at each of its steps; return how many points that were, and the ones that broke something."""
    bad = []
    steps = steps_of(plot, seed)
    for k in range(1, steps + 1):
        point = run_point(plot, strike, k, seed)
        if point.broken:
            bad.append(point)
    return steps, bad


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the log silent and the census cheap for a series of runs."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    thawed = not gc.get_freeze_count()
    gc.collect()
    gc.freeze()  # what is loaded now is not scanned again, so that the census costs microseconds
    try:
        yield
    finally:
        if thawed:
            gc.unfreeze()
        structlog.configure(**before)


def main(arguments: list[str] | None = None) -> int:
    """Strike everything, or one point again; exit status 1 when something broke."""
    parser = argparse.ArgumentParser(
        prog="python -m agent.testing.inject", description=__doc__.splitlines()[0]
    )
    parser.add_argument("scenario", nargs="?", choices=sorted(plots()))
    parser.add_argument("strike", nargs="?", choices=sorted(STRIKES))
    parser.add_argument("k", nargs="?", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args(arguments)
    with quiet():
        return _strike(chosen)


def _strike(chosen: argparse.Namespace) -> int:
    if chosen.k is not None:
        point = run_point(plots()[chosen.scenario], chosen.strike, chosen.k, chosen.seed)
        sys.stdout.write(f"{point}\n")
        return bool(point.broken)
    struck, bad = 0, 0
    for name in [chosen.scenario] if chosen.scenario else plots():
        for strike in [chosen.strike] if chosen.strike else STRIKES:
            points, broken = strike_all(plots()[name], strike, chosen.seed)
            struck += points
            bad += len(broken)
            sys.stdout.write(f"{name:40}{strike:24}{points:6} points {len(broken):6} broken\n")
            for point in broken[:1]:
                sys.stdout.write(f"{point}\n")
    sys.stdout.write(f"{struck} distinct points struck at seed {chosen.seed}, {bad} broke an invariant\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
