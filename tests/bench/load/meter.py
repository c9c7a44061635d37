"""What a stretch of load took: of the server's process, and of this one, whose own use must not be the bottleneck."""

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TypeAlias

from .counters import Counter
from .line import Turn
from .process import Spent, Taken, between, taken

Measured: TypeAlias = dict[str, float]
"""Figures by their names, which say the unit: `_us`, `_ms`, `_s`, `_kib`, `_percent`; others are plain numbers."""


class Meter:
    """Measures a `with` block.

    pid: the server's process, or None where it cannot be seen. counter: counts its instructions, where that can be.
    After the block: seconds; server: what its process spent; client: this one's seconds of the processor;
    instructions. None is not measured.
    """

    def __init__(self, pid: int | None = None, counter: Counter | None = None) -> None:
        self.seconds = 0.0
        self.server: Spent | None = None
        self.client = 0.0
        self.instructions: int | None = None
        self._pid = pid
        self._counter = counter
        self._before: Taken = {}

    def __enter__(self) -> "Meter":
        if self._counter is not None:
            self._counter.start()
        if self._pid is not None:
            self._before = taken(self._pid)
        self.client = -time.process_time()
        self.seconds = -time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.seconds += time.perf_counter()
        self.client += time.process_time()
        if kind is not None:
            return
        if self._pid is not None:
            self.server = between(self._before, taken(self._pid))
        if self._counter is not None:
            self.instructions = self._counter.stop()

    def per(self, unit: str, number: int) -> Measured:
        """Return processor time and instructions for each of `number` things."""
        found: Measured = {}
        if self.server is not None and number:
            found[f"cpu_us_per_{unit}"] = 1e6 * self.server.cpu / number
        if self.instructions is not None and number:
            found[f"ki_per_{unit}"] = self.instructions / number / 1000
        return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` (0..1) of them do not pass, by nearest rank. Raises ValueError for none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    return ordered[round(share * (len(ordered) - 1))]


def spread(name: str, seconds: Sequence[float]) -> Measured:
    """Return p50 and p99 in milliseconds, of nothing nothing."""
    if not seconds:
        return {}
    return {
        f"{name}_{word}_ms": 1000 * percentile(seconds, share)
        for word, share in (("p50", 0.5), ("p99", 0.99))
    }


def of_turns(turns: Sequence[Turn], meter: Meter, pace: float | None) -> Measured:
    """Return the figures of turns that are over.

    pace: seconds between two deltas that the server was told to keep, or None. `late` is then by how much a turn's time
    after its first delta is over (deltas - 1) * pace.
    """
    done = [turn for turn in turns if turn.outcome == "done"]
    deltas = sum(turn.deltas for turn in turns)
    frames = sum(turn.frames for turn in turns)
    found: Measured = {
        "turns": len(turns),
        "failed": sum(turn.outcome not in ("done", "cancelled") for turn in turns),
        "without_memory": sum(turn.without_memory for turn in turns),
        "deltas": deltas,
        "frames_per_turn": frames / len(turns) if turns else 0.0,
        "seconds_s": meter.seconds,
        "turns_per_s": len(turns) / meter.seconds,
        "client_percent": 100 * meter.client / meter.seconds,
        **meter.per("delta", deltas),
        **meter.per("turn", len(turns)),
        **spread("first", [turn.first - turn.asked for turn in turns if turn.first is not None]),
        **spread("turn", [turn.over - turn.asked for turn in done if turn.over is not None]),
    }
    if meter.server is not None:
        found["server_percent"] = 100 * meter.server.cpu / meter.seconds
        if meter.server.waited is not None:
            found["waited_percent"] = 100 * meter.server.waited / meter.seconds
    if pace:
        late = [_late(turn, pace) for turn in done if turn.deltas > 1]
        if late:
            found |= {"late_p50_percent": percentile(late, 0.5), "late_p99_percent": percentile(late, 0.99)}
    return found


def _late(turn: Turn, pace: float) -> float:
    assert turn.first is not None
    assert turn.last is not None
    ideal = (turn.deltas - 1) * pace
    return 100 * (turn.last - turn.first - ideal) / ideal


def medians(rounds: Sequence[Mapping[str, float]]) -> Measured:
    """Return the median of each figure over the rounds that have it."""
    names = dict.fromkeys(name for each in rounds for name in each)
    return {name: median([each[name] for each in rounds if name in each]) for name in names}
