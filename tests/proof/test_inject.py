"""Every cancellation point of every scenario, struck in every way: no invariant is ever broken.

A run strikes a quarter of the steps: four daily runs in a row strike all. AGENT_STRIKES=all strikes all.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import cast

import pytest

from tests.share import count_runs
from tests.strikes.inject import Point, quiet, run_point, strike_all
from tests.strikes.plot import Plot
from tests.strikes.plots import plots
from tests.strikes.strikes import STRIKES

RUNS = 1 if os.environ.get("AGENT_STRIKES") == "all" else 4
POINTS = 23_000 // RUNS
POINTS_STRUCK = pytest.StashKey[int]()
AT_ONCE = 2  # processes; a run is the same in each
struck: dict[tuple[str, str], int] = {}

Struck = Future[tuple[int, list[Point]]]


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.fixture(scope="module")
def striking(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, str], Struck]]:
    """What becomes of each scenario and strike that this run is about, by their names."""
    chosen = [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_nothing_breaks_at_any_step"
    ]
    cases = [(cast(Plot, case["plot"]).name, cast(str, case["strike"])) for case in chosen]
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        yield {case: pool.submit(strike_by_name, *case, count_runs()) for case in cases}
        pool.shutdown(cancel_futures=True)


def strike_by_name(plot: str, strike: str, runs: int) -> tuple[int, list[Point]]:
    """Strike a scenario at each step whose turn it is, in a process that was started for it."""
    with quiet():
        return strike_all(plots()[plot], strike, stride=RUNS, day=runs)


@pytest.mark.proof
@pytest.mark.parametrize("strike", STRIKES)
@pytest.mark.parametrize("plot", plots().values(), ids=lambda plot: plot.name)
def test_nothing_breaks_at_any_step(plot: Plot, strike: str, striking: dict[tuple[str, str], Struck]) -> None:
    """Struck at each of its steps, the scenario keeps every invariant and leaves nothing behind."""
    points, bad = striking[plot.name, strike].result()
    struck[plot.name, strike] = points
    assert not bad, f"{len(bad)} of {points} points broke something; the first:\n{bad[0]}"


@pytest.mark.proof
def test_enough_points_were_struck(request: pytest.FixtureRequest) -> None:
    """The proof is an exhaustion: its number of distinct points is known, printed, and not small."""
    if len(struck) < len(plots()) * len(STRIKES):
        pytest.skip("only a part of the scenarios was run")
    total = sum(struck.values())
    request.config.stash[POINTS_STRUCK] = total
    assert total >= POINTS


def test_a_run_is_the_same_every_time() -> None:
    """A point can be repeated: same scenario, strike, step and seed, same transcript."""
    plot = plots()["redraft"]
    first, second = (run_point(plot, "cancel", 20) for _ in range(2))
    assert first == second
    assert first.steps > 20
    assert any("!!" in line for line in first.transcript)
