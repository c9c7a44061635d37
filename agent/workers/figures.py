"""The sum of the figures of several workers, as if they were one server.

Counters, histograms and gauges add up. Counts of a dead worker stay in the sum, as far as they are known: a sum that
went down would look like a restarted server, and be counted twice. They are known from the last scrape, or from the
worker's last report, if it could make one.
"""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import generate_latest
from prometheus_client.core import Metric

from ..server.metrics import Metrics
from .messages import Family

_SINCE = ("_created", "process_start_time_seconds")  # moments, of which the first is that of all
_COUNTED = ("counter", "histogram")  # kinds that only grow
_Labels = tuple[tuple[str, str], ...]


def collect_families(metrics: Metrics) -> list[Family]:
    """Return the figures of this process."""
    return [
        Family(
            each.name,
            each.documentation,
            each.type,
            [(sample.name, dict(sample.labels), sample.value) for sample in each.samples],
        )
        for each in metrics.collect()
    ]


def add_reports(reports: Iterable[Sequence[Family]]) -> list[Family]:
    """Return the sum of some reports; a sample that is not in each counts where it is."""
    heads: dict[str, Family] = {}
    sums: dict[str, dict[tuple[str, _Labels], float]] = {}
    for report in reports:
        for family in report:
            heads.setdefault(family.name, family)
            into = sums.setdefault(family.name, {})
            for name, labels, value in family.samples:
                place = name, tuple(sorted(labels.items()))
                if place not in into:
                    into[place] = value
                elif name.endswith(_SINCE):
                    into[place] = min(into[place], value)
                else:
                    into[place] += value
    return [
        Family(name, head.text, head.kind, [(of, dict(by), value) for (of, by), value in sums[name].items()])
        for name, head in heads.items()
    ]


class FigureSums:
    """The last report of each worker, and the sum of the counts of workers that have ended."""

    def __init__(self) -> None:
        self._reports: dict[int, list[Family]] = {}
        self._ended: list[Family] = []

    def set_report(self, worker: int, report: list[Family]) -> None:
        """Take note of a worker's figures."""
        self._reports[worker] = report

    def end_worker(self, worker: int) -> None:
        """Add the counts of a worker to those of ended workers; its gauges end with it. Idempotent."""
        report = self._reports.pop(worker, [])
        self._ended = add_reports([self._ended, [each for each in report if each.kind in _COUNTED]])

    def text(self, own: Sequence[Family] = ()) -> bytes:
        """Return the sum in the Prometheus text format. `own` is the supervisor's figures, added like a worker's."""
        return generate_latest(_CollectedFigures(add_reports([own, self._ended, *self._reports.values()])))


class _CollectedFigures:
    """A stand-in for the registry of the library, which calls only `collect`."""

    def __init__(self, report: Sequence[Family]) -> None:
        self._report = report

    def collect(self) -> Iterator[Metric]:
        for family in self._report:
            metric = Metric(family.name, family.text, family.kind)
            for name, labels, value in family.samples:
                metric.add_sample(name, labels, value)
            yield metric
