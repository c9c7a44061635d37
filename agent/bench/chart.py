"""What is drawn: charts of bars, grouped. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart. unit: of the bars. groups: what stands below them. bars: each server's, one for a group or None."""

    title: str
    unit: str
    groups: Sequence[str]
    bars: Mapping[str, Sequence[float | None]]
