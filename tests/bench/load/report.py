"""Figures as a table for people.

Pure. Which figures belong to a workload, and in what order, stands in COLUMNS; one that was not measured is left empty.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Column(NamedTuple):
    """A figure: its name, its heading, its digits after the point."""

    name: str
    heading: str
    digits: int


_CPU = Column("cpu_us_per_delta", "µs/delta", 2)
_KI = Column("ki_per_delta", "kI/delta", 1)
_FIRST = (Column("first_p50_ms", "first p50 ms", 1), Column("first_p99_ms", "p99", 1))
_TURN = (Column("turn_p50_ms", "turn p50 ms", 1), Column("turn_p99_ms", "p99", 1))
_LATE = (Column("late_p50_percent", "late p50 %", 2), Column("late_p99_percent", "p99", 2))
_USE = (
    Column("kept_hits_percent", "kept hits %", 0),
    Column("server_percent", "server %", 0),
    Column("waited_percent", "waited %", 0),
    Column("client_percent", "client %", 0),
    Column("failed", "failed", 0),
)

COLUMNS: Mapping[str, Sequence[Column]] = {
    "flat": (_CPU, _KI, *_FIRST, *_TURN, Column("turns_per_s", "turns/s", 1), *_USE),
    "paced": (
        _CPU,
        _KI,
        Column("cores_percent", "core %", 1),
        *_LATE,
        *_FIRST,
        *_TURN,
        *_USE,
    ),
    "turns": (
        Column("cpu_us_per_turn", "µs/turn", 0),
        Column("ki_per_turn", "kI/turn", 0),
        Column("frames_per_turn", "frames", 1),
        _CPU,
        *_LATE,
        *_FIRST,
        *_TURN,
        Column("turns_per_s", "turns/s", 1),
        *_USE,
    ),
    "workers": (
        Column("turns_per_s", "turns/s", 1),
        Column("cpu_us_per_turn", "µs/turn", 0),
        Column("ki_per_turn", "kI/turn", 0),
        Column("frames_per_turn", "frames", 1),
        *_FIRST,
        *_TURN,
        *_USE,
    ),
    "cancel": (
        Column("cancelled", "cancelled", 0),
        Column("cancel_p50_ms", "cancel p50 ms", 2),
        Column("cancel_p99_ms", "p99", 2),
        *_FIRST,
        *_USE,
    ),
    "idle": (
        Column("kib_per_connection", "KiB each (RSS)", 2),
        Column("pss_kib_per_connection", "KiB (PSS)", 2),
        Column("rss_mib", "RSS MiB", 1),
        Column("accepts_per_s", "accepts/s", 0),
        Column("cpu_us_per_accept", "µs/accept", 0),
    ),
    "slow": (
        *_FIRST,
        *_TURN,
        Column("slow_lost", "slow cut", 0),
        Column("drip_cut_s", "drip cut s", 1),
        *_USE,
    ),
}


def table(workload: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return the lines of a table, a row for each (label, figures); columns without any figure are left out."""
    columns = [column for column in COLUMNS[workload] if any(column.name in figures for _, figures in rows)]
    cells = [[workload, *(column.heading for column in columns)]]
    cells += [
        [label, *(_cell(figures.get(column.name), column.digits) for column in columns)]
        for label, figures in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        + "\n"
        for line in cells
    )


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
