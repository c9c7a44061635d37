"""Figures take the same room whatever is counted, and are right to 2 %."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.soak.figures import EXAMPLES_MAX, NAMES_MAX, WIDER, Histogram, Tally


def histogram(seconds: list[float]) -> Histogram:
    """Count some durations."""
    made = Histogram()
    for each in seconds:
        made.add(each)
    return made


@given(st.lists(st.floats(2e-6, 5000.0), min_size=1), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_a_percentile_is_the_nearest_rank_to_a_fiftieth(seconds: list[float], share: float) -> None:
    """Never below it, and at most a bucket above."""
    exact = sorted(seconds)[round(share * (len(seconds) - 1))]
    told = histogram(seconds).percentile(share)
    assert told is not None
    assert exact <= told * 1.000001
    assert told <= exact * WIDER * 1.000001


def test_the_report_is_in_milliseconds() -> None:
    """The maximum is exact; of nothing there is nothing to say."""
    report = histogram([n / 1000 for n in range(101)]).report()
    assert (report["count"], report["max_ms"]) == (101, 100.0)
    assert report["p50_ms"] == pytest.approx(50, rel=0.02)
    assert report["p99_ms"] == pytest.approx(99, rel=0.02)
    assert Histogram().report() == {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}


def test_what_is_outside_of_the_buckets_is_counted() -> None:
    """Nothing at all, less than can be told apart, and longer than anything lasts."""
    assert histogram([0.0, 1e-9, 1e9]).report()["count"] == 3
    assert histogram([0.0]).percentile(1.0) == 0.0
    assert histogram([1e9]).percentile(0.5) is not None


def test_counting_takes_no_room() -> None:
    """A hundred thousand durations take what none took."""
    made = Histogram()
    before = sys.getsizeof(made._buckets)
    for n in range(100_000):
        made.add(n / 1000)
    assert sys.getsizeof(made._buckets) == before
    assert made.count == 100_000


def test_a_tally_is_bounded() -> None:
    """A server that makes up words, or breaks everything, fills no memory."""
    tally = Tally()
    for n in range(10 * NAMES_MAX):
        tally.count(f"strange {n} frames")
        tally.violation("S1", "late" * 1000)
    assert len(tally.counts) == NAMES_MAX + 1
    assert sum(tally.counts.values()) == 10 * NAMES_MAX
    assert tally.broken == {"S1": 10 * NAMES_MAX}
    assert len(tally.examples) == EXAMPLES_MAX
    assert max(map(len, tally.examples)) < 320


def test_a_tally_goes_through_a_pipe_and_is_added() -> None:
    """What another process has counted is what is told."""
    there, here = Tally(), Tally()
    for tally in (there, here):
        tally.count("messages")
        tally.violation("S7", "thrown out")
    there.cancels.add(0.25)
    there.behind.add(1.0)
    here.add(Tally.load(json.loads(json.dumps(there.dump()))))
    assert here.counts == {"messages": 2}
    assert here.broken == {"S7": 2}
    assert here.examples == ["S7: thrown out"] * 2
    assert here.cancels.report() == there.cancels.report()
    assert here.behind.report()["count"] == 1
