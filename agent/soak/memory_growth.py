"""Judges whether a process leaks, by the slope of its resident bytes once it has settled.

Pure but for `resident`. The size of a process grows at first and for good reasons: caches fill, threads and their
arenas come, the busiest moment so far sets a new high. So no single difference says anything. The samples are even in
time. The process has settled where they first stay near the level of the run's second half, and at half the run at the
latest. From there on the slope is the median of the slopes between all pairs (Theil 1950, Sen 1968), which up to 29 %
of outliers do not move. One step up, such as the allocator's next arena, is not a leak wherever it falls: the growth
without the largest and the least change between two sixths of the settled part must be too much as well. A run too
short to tell is not judged.
"""

import os
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median

SAMPLES_MAX = 600
SAMPLE_EVERY = 1.0  # seconds, or as many as make SAMPLES_MAX of a run
SLOPE_MAX = 0.1 * 2**20  # bytes a minute
NEAR = 0.5 * 2**20  # bytes, or ...
NEAR_SHARE = 0.005  # ... this share of the level
# Seconds that a settled part must last: in less, one arena of 1 MiB is a slope of its own.
JUDGED_AFTER = 240.0
PARTS = 6
FEWEST = 2 * PARTS  # samples: one for each part of the later half
PAIRS_OF = 200  # points at most of which all pairs are taken; more are thinned by their medians


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a process in bytes a minute.

    `settled_at`, `seconds`: when it had settled, and for how long it was seen from then on. `steadily`: the growth
    between the medians of that time's sixths, without the largest and the least of the five steps.
    """

    settled_at: float
    seconds: float
    slope: float
    steadily: float

    @property
    def is_judged(self) -> bool:
        """Whether the process was seen for long enough to judge."""
        return self.seconds >= JUDGED_AFTER

    @property
    def leaks(self) -> bool:
        """Whether the process has grown for too long and too much."""
        return self.is_judged and min(self.slope, self.steadily) >= SLOPE_MAX


class Samples:
    """Levels over time, in memory that is allocated at once. `every`: seconds between two samples."""

    def __init__(self, seconds: float) -> None:
        self.every = max(SAMPLE_EVERY, seconds / SAMPLES_MAX)
        room = bytes(8 * (SAMPLES_MAX + 1))
        self._times, self._levels, self._count = array("d", room), array("d", room), 0

    def add(self, at: float, level: float) -> None:
        """Keep one sample, in the order of time; a sample after the last place is dropped."""
        if self._count < len(self._times):
            self._times[self._count], self._levels[self._count] = at, level
            self._count += 1

    def parts(self) -> list[float]:
        """Return the medians of `PARTS` equal parts of the time, or as many as there are samples."""
        width = max(1, -(-self._count // PARTS))
        return [
            median(self._levels[at : min(at + width, self._count)]) for at in range(0, self._count, width)
        ]

    def usual(self) -> float | None:
        """Return the median level of the later half, or `None` without samples."""
        return median(self._levels[self._count // 2 : self._count]) if self._count else None

    def growth(self) -> Growth | None:
        """Return the growth of the level, or `None` for fewer than `FEWEST` samples."""
        return measure_growth(self._times[: self._count], self._levels[: self._count])


def measure_growth(times: Sequence[float], levels: Sequence[float]) -> Growth | None:
    """Return the growth of a level over time (seconds) once it had settled; `None` for fewer than `FEWEST` samples."""
    if len(times) < FEWEST:
        return None
    half, window = len(times) // 2, len(times) // FEWEST
    level = median(levels[half:])
    near = max(NEAR, NEAR_SHARE * level)
    settled = next(
        (
            at and at + window // 2  # its middle, unless it was there from the start
            for at in range(half - window)
            if abs(median(levels[at : at + window]) - level) <= near
        ),
        half,
    )
    times, levels, began = times[settled:], levels[settled:], times[0]
    return Growth(
        settled_at=times[0] - began,
        seconds=times[-1] - times[0],
        slope=60 * median_slope(times, levels),
        steadily=60 * steady_slope(times, levels),
    )


def median_slope(times: Sequence[float], levels: Sequence[float]) -> float:
    """Return the median slope, per second, between all pairs of at least two points in the order of time."""
    width = -(-len(times) // PAIRS_OF)
    points = [
        (median(times[at : at + width]), median(levels[at : at + width]))
        for at in range(0, len(times), width)
    ]
    return median((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2))


def steady_slope(times: Sequence[float], levels: Sequence[float]) -> float:
    """Return the growth per second, between the medians of `PARTS` equal parts, without the largest and least step."""
    width = len(levels) // PARTS
    medians = [median(levels[at * width : (at + 1) * width]) for at in range(PARTS)]
    steps = sorted(after - before for before, after in pairwise(medians))[1:-1]
    return sum(steps) / (len(steps) * (times[-1] - times[0]) / PARTS)


def resident_bytes() -> int | None:
    """Return this process's resident bytes, or `None` where `/proc` does not report them."""
    if not sys.platform.startswith("linux"):
        return None
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
