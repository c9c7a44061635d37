"""Charts of bars, grouped, and the drawing of them: with matplotlib, which is imported only for a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, nan
from pathlib import Path

from .line import Failed


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart. unit: of the bars. groups: what stands below them. bars: each server's, one for a group or None."""

    title: str
    unit: str
    groups: Sequence[str]
    bars: Mapping[str, Sequence[float | None]]


def draw(charts: Sequence[Chart], path: Path) -> None:
    """Draw the charts into a PNG file. Raises Failed without matplotlib, or when the file cannot be written."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see above
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise Failed("--plot needs more: pip install -e '.[bench]'") from None
    lines = max(1, ceil(len(charts) / 2))
    figure = Figure(figsize=(14, 4.5 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    for number, chart in enumerate(charts):
        axes = figure.add_subplot(lines, 2, number + 1)
        width = 0.8 / max(1, len(chart.bars))
        for place, (name, values) in enumerate(chart.bars.items()):
            at = [group + (place - (len(chart.bars) - 1) / 2) * width for group in range(len(chart.groups))]
            axes.bar(at, [nan if value is None else value for value in values], width, label=name)
        axes.set_title(chart.title)
        axes.set_ylabel(chart.unit)
        axes.set_xticks(range(len(chart.groups)), list(chart.groups))
        axes.legend(fontsize="small")
    try:
        figure.savefig(path, format="png", dpi=110)
    except OSError as error:
        raise Failed(f"{path} cannot be written ({error.strerror})") from None
