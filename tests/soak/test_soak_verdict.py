"""Each bar of a soak: what is under it passes, what is over it fails and says why."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.soak import verdict
from agent.soak.census import Census
from agent.soak.figures import Histogram
from agent.soak.memory_growth import Samples
from agent.soak.steps import Steps
from agent.soak.verdict import DRAIN_MAX, SoakRun, summarize_run

BACK = Census(10**8, 8, Counter(x=3))


def of(*seconds: float) -> Histogram:
    """Count some durations."""
    made = Histogram()
    for each in seconds:
        made.add(each)
    return made


def steps(alone: float, whole: float) -> Steps:
    """Return what was measured of one step."""
    made = Steps()
    made.longest, made.longest_alone = (whole, "task"), (alone, "task")
    return made


def there(sessions: float) -> Samples:
    """Return a crowd that came and stayed."""
    samples = Samples(4.0)
    for at in range(4):
        samples.add(float(at), sessions * (at > 1))
    return samples


def held(mib_per_minute: float) -> Samples:
    """Return ten minutes of samples."""
    samples = Samples(600.0)
    for at in range(600):
        samples.add(float(at), (100 + mib_per_minute * at / 60) * 2**20)
    return samples


def seen(end: Census = BACK, clients: int = 200, **more: Any) -> dict[str, Any]:
    """Return the verdict on ten minutes that were seen from the inside."""
    run = SoakRun(clients=clients, seconds=600.0, censuses={"start": BACK, "warm": BACK, "end": end}, **more)
    return summarize_run(run)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cancels": of(0.019), "pings": of(0.001)},
        {"cancels": of(0.1), "pings": of(0.05)},
        {"end": Census(10**9, 8, Counter(x=2))},
        {"resident": held(0.05)},
        {"sessions": there(100)},
        {"steps": steps(0.049, 0.049)},
        {"clients": 1000, "steps": steps(0.049, 0.2)},
        {"drain": {"seconds": DRAIN_MAX}},
    ],
)
def test_under_the_bar(more: dict[str, Any]) -> None:
    """Nothing failed."""
    report = seen(**more)
    assert (report["failed"], report["passed"]) == ([], True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cancels": of(0.0205), "pings": of(0.001)}, "cancel p99"),
        ({"end": Census(10**8, 9, Counter(x=3))}, "left behind: 1 tasks"),
        ({"end": Census(10**8, 8, Counter(x=4))}, "'x': 1"),
        ({"resident": held(0.15)}, "memory grows by 0.15 MiB a minute"),
        ({"steps": steps(0.051, 0.051)}, "a step of task held the loop for 51 ms"),
        ({"steps": steps(0.04, 0.06)}, "a garbage collection held the loop for 60 ms"),
        ({"clients": 1000, "steps": steps(0.051, 0.2)}, "a step of task held the loop for 51 ms"),
        ({"clients": 1000, "steps": steps(0.04, 0.26)}, "a garbage collection held the loop for 260 ms"),
        ({"drain": {"seconds": DRAIN_MAX + 3}}, "going down took"),
        ({"sessions": there(99)}, "99 of 200 clients were connected"),
        ({"faults": 2}, "2 error lines"),
    ],
)
def test_over_the_bar(more: dict[str, Any], words: str) -> None:
    """It fails, for that one reason."""
    report = seen(**more)
    assert not report["passed"]
    assert [words in line for line in report["failed"]] == [True]


def test_each_promise_that_is_checked_is_in_the_report() -> None:
    """Under its name in the guide."""
    here = Path(verdict.__file__)
    sources = [path.read_text("utf-8") for path in here.parent.glob("*.py") if path != here]
    assert {name for text in sources for name in re.findall(r'"([STMV]\d+)"', text)} == set(verdict.PROMISES)


def test_broken_promises_are_told_by_name() -> None:
    """Also those that are not the session's, and from the outside too."""
    run = SoakRun(clients=1, seconds=1.0)
    run.tally.violation("S8", "a torn snapshot")
    run.tally.violation("S7", "thrown out")
    run.tally.count("handshakes given up")
    report = summarize_run(run)
    assert report["failed"] == ["S7 broken 1 times", "S8 broken 1 times"]
    assert report["violations"]["S8"] == report["violations"]["S7"] == report["handshakes_given_up"] == 1
    assert report["examples"] == ["S8: a torn snapshot", "S7: thrown out"]
    assert "tasks" not in report
