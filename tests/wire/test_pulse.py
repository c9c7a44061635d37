"""The pulse: absolute moments, one pass at a time, and a fault that is one voice's own."""

from collections.abc import Callable
from itertools import pairwise

import trio
import trio.testing

from agent.wire.pulse import PULSE_TICK, VOICES_A_PASS, Pulse


class Said:
    """A voice that says what it is told to, and keeps when."""

    def __init__(self, step: Callable[[float], float | None]) -> None:
        self.at: list[float] = []
        self.broken: list[Exception] = []
        self._step = step

    def step(self, now: float) -> float | None:
        self.at.append(round(now, 9))
        return self._step(now)

    def fail(self, error: Exception) -> None:
        self.broken.append(error)


def never(_: float) -> None:
    return None


async def test_a_voice_is_called_in_the_first_tick_that_is_not_before_its_moment(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A moment between two ticks waits for the later one."""
    pulse = Pulse()
    voices = {due: Said(never) for due in (0.02, 0.021, 0.0249999, 0.025, 7.0)}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        for due, voice in voices.items():
            pulse.add(voice, due)
        await trio.sleep(10)
        assert [voice.at for voice in voices.values()] == [[0.02], [0.025], [0.025], [0.025], [7.0]]
        assert len(pulse) == 0
        nursery.cancel_scope.cancel()


async def test_moments_do_not_drift(autojump_clock: trio.testing.MockClock) -> None:
    """A thousand words 7 ms apart end when they should, each at most a tick late."""
    pulse, pace, start = Pulse(), 0.007, 0.0
    voice: Said

    def step(now: float) -> float | None:
        return start + len(voice.at) * pace if len(voice.at) < 1000 else None

    voice = Said(step)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(voice, start)
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    late = [at - number * pace for number, at in enumerate(voice.at)]
    assert len(late) == 1000
    assert -1e-6 < min(late) <= max(late) < PULSE_TICK + 1e-6


async def test_voices_can_be_hurried(autojump_clock: trio.testing.MockClock) -> None:
    """Each that waits is called once in the next pass, and keeps its moments from then on."""
    pulse, late, later = Pulse(), Said(lambda now: now + 3 if now < 5 else None), Said(never)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(late, 40.0)
        pulse.add(later, 50.0)
        await trio.sleep(4)
        pulse.hurry()
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert (late.at, later.at) == ([4.0, 7.0], [4.0])


async def test_an_earlier_voice_wakes_the_pulse(autojump_clock: trio.testing.MockClock) -> None:
    """Also one that comes while nobody speaks at all."""
    pulse, late, early = Pulse(), Said(never), Said(never)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        await trio.sleep(1)
        pulse.add(late, 5)
        await trio.sleep(1)
        pulse.add(early, 3)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert (early.at, late.at) == ([3], [5])


async def test_between_two_passes_everybody_has_a_turn(autojump_clock: trio.testing.MockClock) -> None:
    """A voice that always has more to say stops neither the others nor other tasks."""
    pulse = Pulse()
    greedy, other = Said(lambda now: now), Said(lambda now: now)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(greedy, 0)
        pulse.add(other, 0)
        for _ in range(100):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert len(greedy.at) > 20
    assert abs(len(greedy.at) - len(other.at)) <= 1


async def test_a_pass_is_bounded_and_nobody_is_left_out(autojump_clock: trio.testing.MockClock) -> None:
    """However many always have more to say: other tasks have their turn in between, and so has who comes later."""
    pulse, passes = Pulse(), 30
    greedy = [Said(lambda now: 0.0) for _ in range(3 * VOICES_A_PASS)]
    late = Said(never)
    await trio.sleep(1)
    async with trio.open_nursery() as nursery:
        for voice in greedy:
            pulse.add(voice, 0)
        nursery.start_soon(pulse.run)
        called = [0]
        for number in range(passes):
            if number == passes // 2:
                pulse.add(late, 1)
            await trio.lowlevel.checkpoint()
            called.append(sum(len(voice.at) for voice in greedy))
        nursery.cancel_scope.cancel()
    assert max(after - before for before, after in pairwise(called)) <= 2 * VOICES_A_PASS  # trio draws lots
    assert called[-1] > passes // 2 * VOICES_A_PASS
    assert max(len(voice.at) for voice in greedy) - min(len(voice.at) for voice in greedy) <= 1
    assert late.at == [1]


async def test_a_voice_that_is_added_again_has_one_moment(mock_clock: trio.testing.MockClock) -> None:
    """The later word counts, and the pulse sleeps until then."""
    pulse, voice, steps = Pulse(), Said(never), 0

    class Steps(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            nonlocal steps
            steps += "Pulse" in task.name

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(voice, 1)
        pulse.add(voice, 3)
        trio.lowlevel.add_instrument(Steps())
        for _ in range(3):
            mock_clock.jump(1)
            for _ in range(20):
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert (voice.at, len(pulse)) == ([3], 0)
    assert steps < 10


async def test_a_fault_is_one_voices_own(autojump_clock: trio.testing.MockClock) -> None:
    """It is told, and never called again; the others go on in the same tick."""
    pulse = Pulse()

    def fault(_: float) -> float:
        raise ZeroDivisionError

    broken, well = Said(fault), Said(lambda now: now + 1 if now < 3 else None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(broken, 1)
        pulse.add(well, 1)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert (broken.at, [type(error) for error in broken.broken]) == ([1], [ZeroDivisionError])
    assert (well.at, well.broken) == ([1, 2, 3], [])


async def test_a_voice_can_be_discarded_by_one_that_is_called_before_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is not called in that tick either, and may come back later."""
    pulse, victim = Pulse(), Said(never)

    def silence(now: float) -> None:
        pulse.discard(victim)
        pulse.add(victim, now + 1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        pulse.add(Said(silence), 1)
        pulse.add(victim, 1)
        await trio.sleep(1.5)
        assert (victim.at, len(pulse)) == ([], 1)
        pulse.discard(victim)
        pulse.discard(victim)
        await trio.sleep(5)
        assert (victim.at, len(pulse)) == ([], 0)
        nursery.cancel_scope.cancel()


async def test_the_only_voice_of_a_later_tick_can_be_discarded_in_the_same_pass(
    mock_clock: trio.testing.MockClock,
) -> None:
    """Both are late, so one pass calls them: the one that was discarded stays silent, and the pulse goes on."""
    pulse, victim, later = Pulse(), Said(never), Said(never)
    pulse.add(Said(lambda _: pulse.discard(victim)), 1)
    pulse.add(victim, 2)
    pulse.add(later, 3)
    mock_clock.jump(4)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pulse.run)
        await trio.testing.wait_all_tasks_blocked()
        assert (victim.at, later.at, len(pulse)) == ([], [4], 0)
        nursery.cancel_scope.cancel()


async def test_a_voice_that_is_late_and_due_again_waits_for_the_next_pass(
    mock_clock: trio.testing.MockClock,
) -> None:
    """Also when somebody else is due in the tick that it goes to: other tasks have their turn before."""
    pulse = Pulse()
    steps: list[list[str]] = [[]]

    class Steps(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            steps.append([])

    def late(now: float) -> float | None:
        steps[-1].append("late")
        return now if len(voice.at) == 1 else None

    voice = Said(late)
    pulse.add(voice, 1)
    pulse.add(Said(lambda _: steps[-1].append("other")), 4)
    mock_clock.jump(4)
    async with trio.open_nursery() as nursery:
        trio.lowlevel.add_instrument(Steps())
        nursery.start_soon(pulse.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [step for step in steps if step] == [["late", "other"], ["late"]]
