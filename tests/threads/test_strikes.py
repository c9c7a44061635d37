"""A thread's scenarios, struck in every way: what was kept is what was told, and nothing runs unasked or twice.

Every eighth step is struck, by each way of striking another one; AGENT_STRIKES=all strikes each of them, and
`python -m tests.threads.strikes` the scenario in which a thread sleeps as well, which has a step in each second of it.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import pytest

from agent.ports.brain import Question
from agent.ports.remember import Answered, Offer
from agent.threads.desk import ThreadDesk
from agent.threads.recorder import ThreadRecorder

from .strikes import PLOTS, STRIKES, quiet, strike_all

EVERY, POINTS = (1, 3_200) if os.environ.get("AGENT_STRIKES") == "all" else (8, 370)
AT_ONCE = 2  # processes
CASES = [case for case in product(PLOTS, STRIKES) if case[0] != "sleep_and_wake"]
struck: dict[tuple[str, str], int] = {}

Struck = Future[tuple[int, list[tuple[int, list[str]]]]]


@pytest.fixture(scope="module")
def striking() -> Iterator[dict[tuple[str, str], Struck]]:
    """What becomes of each scenario and strike, by their names."""
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn"), initializer=quiet) as pool:
        yield {case: pool.submit(strike_all, *case, EVERY) for case in CASES}
        pool.shutdown(cancel_futures=True)


@pytest.mark.proof
@pytest.mark.parametrize(("plot", "strike"), CASES)
def test_no_thread_breaks_at_any_step(
    plot: str, strike: str, striking: dict[tuple[str, str], Struck]
) -> None:
    """What the scenario kept agrees with what was told and what took effect, and nothing of it is left."""
    points, bad = striking[plot, strike].result()
    struck[plot, strike] = points
    assert not bad, f"{len(bad)} of {points} points broke something; the first: {bad[0]}"


@pytest.mark.proof
def test_enough_points_were_struck() -> None:
    """Their number is known, and not small."""
    if len(struck) < len(CASES):
        pytest.skip("only a part of the scenarios was run")
    assert sum(struck.values()) >= POINTS


@pytest.mark.proof
def test_what_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desk that lets go of a message whose turn did not begin leaves it pending, and the strikes show it."""
    monkeypatch.setattr(ThreadDesk, "_give_up", lambda desk, opening: None)
    _, bad = strike_all("question", "leave", 3)
    assert any("is still pending" in why for _, broken in bad for why in broken)


@pytest.mark.proof
def test_what_is_remembered_of_a_cancelled_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that hands over what is said before its end is kept remembers what was cancelled."""

    def keep(self: ThreadRecorder, question: Question, answered: Answered, offer: Offer) -> None:
        self._recorder.keep(question, answered, lambda question, proposal: None)

    monkeypatch.setattr(ThreadRecorder, "keep", keep)
    monkeypatch.setattr(ThreadRecorder, "ended", nothing)
    _, bad = strike_all("told_and_asked", "cancel_turn", 6)
    assert any("is cancelled, and remembered" in why for _, broken in bad for why in broken)


async def nothing(*_: object) -> tuple[()]:
    """Remember nothing more."""
    return ()
