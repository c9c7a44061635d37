"""Figures of a soak that take the same room after a minute as after a day, so that counting does not look like a leak.

Pure. Durations are kept in buckets that grow by a fiftieth, so a percentile is right to 2 %; the maximum is exact.
A crowd in another process hands its figures over as JSON.
"""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LEAST = 1e-6  # seconds: the first bucket's upper bound
WIDER = 1.02  # each bucket's upper bound by the one before
BUCKETS = 1 + math.ceil(math.log(1e4 / LEAST) / math.log(WIDER))  # up to hours
NAMES_MAX = 200  # different counts; further names are counted together
EXAMPLES_MAX = 5  # of each promise


class Histogram:
    """How many durations, in seconds, fell into each bucket, and the longest of all."""

    def __init__(self) -> None:
        self.count = 0
        self.longest = 0.0
        self._buckets = array("Q", bytes(8 * BUCKETS))

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.count += 1
        self.longest = max(self.longest, seconds)
        at = math.ceil(math.log(seconds / LEAST) / math.log(WIDER)) if seconds > LEAST else 0
        self._buckets[min(at, BUCKETS - 1)] += 1

    def percentile(self, share: float) -> float | None:
        """Return the duration, to 2 %, that a `share` (0..1) of all durations does not pass, by nearest rank.

        Returns `None` when nothing was counted.
        """
        if not self.count:
            return None
        rank, seen = round(share * (self.count - 1)), 0
        for at, count in enumerate(self._buckets):
            seen += count
            if seen > rank:
                return min(LEAST * WIDER**at, self.longest)
        raise AssertionError("the buckets hold fewer than were counted")

    def report(self) -> dict[str, float | None]:
        """Return the count, and p50, p99 and the maximum in milliseconds; `None` for each when nothing was counted."""
        figures = (self.percentile(0.5), self.percentile(0.99), self.longest if self.count else None)
        p50, p99, longest = (None if each is None else round(each * 1000, 3) for each in figures)
        return {"count": self.count, "p50_ms": p50, "p99_ms": p99, "max_ms": longest}

    def dump(self) -> dict[str, Any]:
        """Return the histogram as JSON values, for `load`."""
        counts = {str(at): count for at, count in enumerate(self._buckets) if count}
        return {"longest": self.longest, "buckets": counts}

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "Histogram":
        """Return the histogram of `dump`."""
        loaded = cls()
        loaded.longest = float(dumped["longest"])
        for at, count in dumped["buckets"].items():
            loaded._buckets[int(at)] = count
        loaded.count = sum(loaded._buckets)
        return loaded


@dataclass(slots=True)
class Tally:
    """The figures of a whole crowd, shared by its accounts.

    `cancels`: seconds from sending a cancel to its `stream_end`. `behind`: seconds for which an answer's snapshot had
    been out of date when the question was asked.
    """

    counts: dict[str, int] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    cancels: Histogram = field(default_factory=Histogram)
    behind: Histogram = field(default_factory=Histogram)

    def count(self, name: str) -> None:
        """Add one to the count of this name."""
        if name not in self.counts and len(self.counts) >= NAMES_MAX:
            name = "more"
        self.counts[name] = self.counts.get(name, 0) + 1

    def violation(self, promise: str, text: str) -> None:
        """Note a broken promise. `text`: how it was broken.

        `examples` keeps the first `EXAMPLES_MAX` texts of each promise.
        """
        self.broken[promise] = self.broken.get(promise, 0) + 1
        if self.broken[promise] <= EXAMPLES_MAX:
            self.examples.append(f"{promise}: {text[:300]}")

    def add(self, other: "Tally") -> None:
        """Take over the counts and violations of another tally; its durations replace these, if it has any."""
        for mine, more in ((self.counts, other.counts), (self.broken, other.broken)):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count
        self.examples += other.examples
        if other.cancels.count or other.behind.count:
            self.cancels, self.behind = other.cancels, other.behind

    def dump(self) -> dict[str, Any]:
        """Return the tally as JSON values, for `load`."""
        return {
            "counts": self.counts,
            "broken": self.broken,
            "examples": self.examples,
            "cancels": self.cancels.dump(),
            "behind": self.behind.dump(),
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "Tally":
        """Return the tally of `dump`."""
        return cls(
            dict(dumped["counts"]),
            dict(dumped["broken"]),
            list(dumped["examples"]),
            Histogram.load(dumped["cancels"]),
            Histogram.load(dumped["behind"]),
        )
