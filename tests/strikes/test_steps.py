"""Steps that take long are found, whoever's they are, and nothing else is taken for one."""

import gc
import time
from collections.abc import Iterable
from typing import Any

import pytest
import trio
import trio.testing

from agent.host import WorkerThreads
from tests.strikes import steps as measuring
from tests.strikes.steps import STEP_CPU, Step, Steps, steps


def compute(seconds: float) -> None:
    """Use so much CPU."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def task(seconds: Iterable[float]) -> None:
    """Compute in several steps."""
    for each in seconds:
        compute(each)
        await trio.lowlevel.checkpoint()


async def test_the_longest_steps_are_kept(autojump_clock: trio.testing.MockClock) -> None:
    """With the task's name and where it waits; on virtual time, by the CPU that they really used."""
    with steps(2) as measured:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task, (0.001, 0.02, 0, 0.01), name="hog")
            await trio.sleep(3600)
    first, second = measured.longest
    assert (0.02 <= first.cpu < 0.04, 0.01 <= second.cpu < 0.02) == (True, True)
    assert first.task == "hog"
    assert first.at.startswith("_traps.py:")
    assert measured.slow() == []
    assert measured.slow(0.015) == [first]
    assert measured.count > 5
    assert "ms of CPU in a step of hog, up to " in str(first)
    assert STEP_CPU == 0.05


async def test_the_last_step_of_a_task_counts() -> None:
    """There is no place left to tell."""
    with steps() as measured:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(task, (), name="short")

            async def last() -> None:
                compute(0.01)

            nursery.start_soon(last, name="last")
    assert (measured.longest[0].task, measured.longest[0].at) == ("last", "")
    assert str(measured.longest[0]).endswith("in a step of last, its last")


async def test_a_place_of_ours_is_told_before_a_library_s() -> None:
    """As in the log: where we wait for trio, not where trio does."""
    with steps() as measured:
        await WorkerThreads()(lambda: None)
    assert [step.at for step in measured.longest if step.at.startswith("agent/host.py:")]


async def test_others_and_garbage_do_not_count() -> None:
    """A sleep and a worker thread use no CPU of the step; a collection is kept apart."""
    with steps() as measured:
        await trio.lowlevel.checkpoint()
        time.sleep(0.02)  # noqa: ASYNC251 - it is what a step must not do
        await trio.lowlevel.checkpoint()
        await trio.to_thread.run_sync(compute, 0.02)
        assert measured.slow(0.015) == []
        rings = [[] for _ in range(30_000)]  # type: ignore[var-annotated]
        for ring in rings:
            ring.append(ring)
        await trio.lowlevel.checkpoint()
        before = measured.count
        del rings, ring
        gc.collect()
        await trio.lowlevel.checkpoint()
    assert measured.count > before
    assert measured.collecting > 0.001
    assert measured.slow(measured.collecting + 0.01) == []


async def test_a_fault_of_the_measuring_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trio would switch the instrument off, and every step would be short."""

    def broken(_: Any) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(measuring, "place_of", broken)
    with pytest.raises(ZeroDivisionError), steps():
        await task((0.0, 0.0))


async def test_an_instrument_that_trio_has_switched_off_is_told() -> None:
    """Whatever the reason, since nothing was measured from then on."""
    with pytest.raises(RuntimeError, match="switched off"), steps() as measured:
        trio.lowlevel.remove_instrument(measured)


def test_steps_can_be_given_to_a_run() -> None:
    """Where the loop is one's own, as an instrument from the start."""
    measured = Steps()
    trio.run(task, (0.01,), instruments=[measured])
    assert measured.slow(0.005)[0].task.endswith("test_steps.task")
    assert measured.longest == sorted(measured.longest, reverse=True)
    assert isinstance(measured.longest[0], Step)
