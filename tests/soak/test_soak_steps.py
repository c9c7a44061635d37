"""A step that holds the loop is found, with the name of its task."""

import gc
import time

import trio

from agent.soak.steps import Steps

HELD = 0.02  # seconds of CPU
OBJECTS = 400_000  # to look at them takes longer than the rest of a step, and no longer than it must


def hold() -> None:
    """Hold the loop."""
    until = time.thread_time() + HELD
    while time.thread_time() < until:
        pass


async def holding() -> None:
    """Hold the loop in the second of three steps."""
    await trio.lowlevel.checkpoint()
    hold()
    await trio.lowlevel.checkpoint()


async def test_the_longest_step_is_named() -> None:
    """Sleeping is no step, however long."""
    steps = Steps()
    steps.start()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(holding)
        await trio.sleep(HELD)
    steps.stop()
    count = steps.took.count
    seconds, task = steps.longest
    assert seconds >= HELD
    assert task.endswith(".holding")
    assert (steps.longest_alone[0] > HELD / 2, steps.longest_alone[1]) == (True, task)
    assert count >= 4
    await trio.lowlevel.checkpoint()
    assert steps.took.count == count, "it has stopped"


async def test_what_measures_is_not_counted() -> None:
    """Not the step in which it begins, nor one that was pardoned, nor the soak's own tasks."""
    hold()
    steps = Steps()
    steps.start()
    await trio.lowlevel.checkpoint()
    hold()
    steps.pardon()
    await trio.lowlevel.checkpoint()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(holding, name="agent.soak.phases._sample")
    steps.stop()
    assert steps.longest[0] < HELD


async def test_a_garbage_collection_is_told_apart() -> None:
    """It is part of its step, since everybody waits for it, and known to be one."""
    there = [[None] for _ in range(OBJECTS)]
    steps = Steps()
    steps.start()
    await trio.lowlevel.checkpoint()
    gc.collect()
    await trio.lowlevel.checkpoint()
    steps.stop()
    assert len(there) == OBJECTS
    assert steps.collections.count >= 1
    assert steps.longest[0] >= steps.collections.longest > 10 * steps.longest_alone[0]
