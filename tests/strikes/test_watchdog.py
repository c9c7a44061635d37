"""What would never end is ended, and it is said where it was."""

import itertools
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.deadline import SECONDS
from tests.strikes.watchdog import Overdue, limited, where

ROOT = Path(__file__).resolve().parents[2]


async def spins() -> None:
    """A task that never blocks, and is not only in trio's own code, where a run is ended with debris."""
    while True:
        sum(range(1000))
        await trio.lowlevel.checkpoint()


async def loops() -> None:
    """A task without a checkpoint."""
    while True:
        pass


async def waits() -> None:
    """A task that waits, on virtual time, for what never comes."""
    await trio.sleep_forever()


async def ticks() -> None:
    """A task whose clock goes on for ever."""
    for delay in itertools.repeat(20):
        await trio.sleep(delay)


async def swallows() -> None:
    """A task that no cancel ends."""
    with trio.move_on_after(1e9, shield=True):
        await spins()


@pytest.mark.parametrize("hangs", [spins, loops, waits, ticks, swallows])
def test_what_hangs_is_ended_and_named(hangs: Callable[[], Awaitable[None]]) -> None:
    """Whatever keeps a run from its end, it ends soon after its time, and the message says what that was."""
    with pytest.raises(Overdue, match=rf"not over after 0.05 s: .*{hangs.__name__}"), limited(0.05):
        trio.run(hangs, clock=MockClock(autojump_threshold=0))


class AtTheEdge(trio.abc.Instrument):
    """Asks what runs where trio has named the next task and not entered it yet."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Ask, for the task of this test."""
        if task.name.endswith(naps.__name__):
            self.said.append(where(sys._getframe()))


async def naps() -> None:
    """A task that waits once."""
    await trio.sleep(1)


def test_a_task_at_the_edge_of_its_code_is_named_with_its_line() -> None:
    """The alarm comes there too: the line is where the task waits, not the one that started the run."""
    edge = AtTheEdge()
    trio.run(naps, clock=MockClock(autojump_threshold=0), instruments=[edge])
    line = naps.__code__.co_firstlineno
    assert [each.rpartition(":")[2] for each in edge.said] == [str(line), str(line + 2)]


def test_what_ends_in_time_is_left_alone() -> None:
    """Results and errors pass, and no timer stays behind but the one around."""
    with pytest.raises(ValueError, match="own"), limited(5):
        raise ValueError("own")
    with limited(5) as outer:
        with limited(1):
            pass
        assert 1 < signal.getitimer(signal.ITIMER_REAL)[0] <= 5
    assert not outer.bit


def test_a_bound_around_goes_on() -> None:
    """A bound that is wider does not extend the one around it."""

    def inside() -> None:
        with limited(30):
            pass
        trio.run(spins)

    with pytest.raises(Overdue, match=r"0\.02 s"), limited(0.02):
        inside()


def test_what_swallows_the_end_is_overdue_all_the_same() -> None:
    """A block that loses the exception and goes on to its end has hung."""

    def loses() -> None:
        try:
            while True:
                pass
        except Overdue:
            pass

    with pytest.raises(Overdue), limited(0.02):
        loses()


def test_this_test_has_a_deadline() -> None:
    """Every test runs under a bound in real seconds."""
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= SECONDS


HANGING = """
import trio

async def test_that_spins(autojump_clock):
    while True:
        await trio.sleep(20)

async def test_that_is_well(autojump_clock):
    await trio.sleep(20)
"""


@pytest.mark.proof
def test_a_test_that_hangs_fails_by_its_name(tmp_path: Path) -> None:
    """The run goes on with the next one, and its report has the test and the line that it hung in."""
    (tmp_path / "test_hanging.py").write_text(HANGING, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest"]
    done = subprocess.run(
        [*command, "--deadline=1", "-p", "no:cacheprovider", f"{tmp_path}/test_hanging.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Overdue: not over after 1 s" in done.stdout
    assert "test_hanging.py:6" in done.stdout
    assert "test_that_spins" in done.stdout.splitlines()[-2]
    assert "1 failed, 1 passed" in done.stdout.splitlines()[-1]
