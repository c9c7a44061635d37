"""A leak is a slope that stays once a process has settled; settling, noise and one arena are none."""

import math
from collections.abc import Callable
from random import Random

import pytest

from agent.soak.memory_growth import (
    JUDGED_AFTER,
    SAMPLES_MAX,
    SLOPE_MAX,
    Growth,
    Samples,
    measure_growth,
    median_slope,
    resident_bytes,
)

MIB = 2.0**20


def seen(level: Callable[[float], float], seconds: int = 600, noise: float = 0.3) -> Growth:
    """Return how a process grew that held `level` MiB at each second, and a little more or less."""
    rng = Random(1)
    times = [float(at) for at in range(seconds)]
    found = measure_growth(times, [(level(at) + rng.gauss(0, noise)) * MIB for at in times])
    assert found is not None
    return found


def warming(at: float) -> float:
    """A process that takes 40 MiB in its first minute, and keeps them."""
    return 120 - 40 * math.exp(-at / 20)


@pytest.mark.parametrize(
    "level",
    [
        lambda at: 100.0,
        warming,
        lambda at: warming(at) + 5 * (at // 4 % 5 == 0),  # saw teeth
        lambda at: warming(at) + (at > 450),  # one arena, late
        lambda at: 150 - 40 * (at > 30),  # a peak at first
        lambda at: 120 - at / 60,  # it shrinks
    ],
)
def test_what_has_settled_does_not_leak(level: Callable[[float], float]) -> None:
    """Whatever it took to get there."""
    found = seen(level)
    assert found.is_judged
    assert not found.leaks, found


@pytest.mark.parametrize("per_minute", [0.2, 0.5, 5.0])
@pytest.mark.parametrize("base", [lambda at: 100.0, warming, lambda at: 150 - 40 * (at > 30)])
def test_a_leak_is_found(per_minute: float, base: Callable[[float], float]) -> None:
    """Slow ones and fast ones, under a warm-up and after a peak; its size is told."""
    found = seen(lambda at: base(at) + per_minute * at / 60)
    assert found.leaks, found
    assert found.slope / MIB == pytest.approx(per_minute, rel=0.3, abs=0.05)


def test_a_leak_in_steps_is_found() -> None:
    """Memory comes by the arena: 1 MiB every four minutes of twenty."""
    assert seen(lambda at: warming(at) + at // 240, 1200).leaks


def test_a_short_run_is_not_judged() -> None:
    """It is told all the same."""
    found = seen(lambda at: 100 + at / 60, 60)
    assert not found.is_judged
    assert not found.leaks
    assert found.slope > SLOPE_MAX
    assert measure_growth([0.0] * 11, [1.0] * 11) is None
    assert measure_growth([float(at) for at in range(12)], [1.0] * 12) is not None


def test_it_is_judged_from_where_it_has_settled() -> None:
    """Which is when it first comes near what it stays at, and half the run at the latest."""
    assert seen(warming).settled_at == pytest.approx(80, abs=15)
    assert seen(lambda at: 100 + at).settled_at == pytest.approx(300, abs=2)
    assert seen(lambda at: warming(at) + 20 * (20 < at < 22)).settled_at > 50, (
        "one sample near it is not settled"
    )
    assert seen(warming, int(2 * JUDGED_AFTER) + 2).is_judged


def test_the_slope_is_the_median_of_all_pairs() -> None:
    """A line is its own slope, also when a quarter of its points are anywhere."""
    times = [float(at) for at in range(100)]
    assert median_slope(times, [3 * at for at in times]) == pytest.approx(3)
    assert median_slope(times, [1000 if at % 4 == 0 else 3 * at for at in times]) == pytest.approx(3, rel=0.1)
    many = [float(at) for at in range(1000)]
    assert median_slope(many, [3 * at for at in many]) == pytest.approx(3)


def test_samples_take_their_room_at_once() -> None:
    """A day of them is as many as ten minutes', further apart; more are dropped."""
    samples = Samples(24 * 3600.0)
    assert samples.every == 24 * 3600 / SAMPLES_MAX
    assert Samples(60.0).every == 1.0
    assert samples.growth() is None
    for at in range(SAMPLES_MAX + 50):
        samples.add(at * samples.every, 100 * MIB)
    assert samples._count == len(samples._times) == SAMPLES_MAX + 1
    found = samples.growth()
    assert found is not None
    assert (found.slope, found.seconds) == (0.0, 24 * 3600.0)
    assert samples.parts() == [100 * MIB] * 6
    assert samples.usual() == 100 * MIB
    few = Samples(3.0)
    assert (few.parts(), few.usual()) == ([], None)
    for at in range(8):
        few.add(float(at), float(at))
    assert few.parts() == [0.5, 2.5, 4.5, 6.5]
    assert few.usual() == 5.5


def test_this_process_has_a_size() -> None:
    """Where the system tells it."""
    size = resident_bytes()
    assert size is None or 10 * MIB < size < 10_000 * MIB
