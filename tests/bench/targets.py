"""What the streaming benchmark must show, and what it draws: pure, from the figures of one run.

A ratio is taken in each round, between two servers that were measured one after the other, and its median is judged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.bench.load.chart import Chart
from tests.bench.load.meter import Measured, medians

ONE_SERVER, TWO_WORKERS = "one server", "two workers"


@dataclass(slots=True)
class Results:
    """The figures of each round, by workload, case and server."""

    _rounds: dict[tuple[str, str, str], list[Measured]] = field(default_factory=dict)

    def add(self, workload: str, case: str, server: str, found: Measured) -> None:
        """Keep one round."""
        self._rounds.setdefault((workload, case, server), []).append(found)

    def value(self, workload: str, case: str, server: str, name: str) -> float | None:
        """Return the median of a figure, or None where it was not measured."""
        return medians(self._rounds.get((workload, case, server), [])).get(name)

    def ratio(self, workload: str, case: str, name: str, ours: str, other: str) -> float | None:
        """Return the median ratio of a figure between two servers."""
        return self._ratio(name, (workload, case, ours), (workload, case, other))

    def change(self, workload: str, name: str, case: str, other: str, server: str = "ours") -> float | None:
        """Return the median ratio of a server's figure between two cases."""
        return self._ratio(name, (workload, case, server), (workload, other, server))

    def _ratio(self, name: str, over: tuple[str, str, str], under: tuple[str, str, str]) -> float | None:
        pairs = zip(self._rounds.get(over, []), self._rounds.get(under, []), strict=False)
        ratios = [one[name] / two[name] for one, two in pairs if name in one and two.get(name)]
        return median(ratios) if ratios else None

    def most(self, server: str, name: str) -> float | None:
        """Return the largest of a server's figures of this name, over all cases and rounds."""
        found = (
            each.get(name) for key, rounds in self._rounds.items() if key[2] == server for each in rounds
        )
        return max((value for value in found if value is not None), default=None)

    def bottlenecks(self, percent: float) -> list[tuple[str, float]]:
        """Return the servers against which the client used `percent` of a core or more, and how much at most."""
        used = (
            (name, self.most(name, "client_percent"))
            for name in dict.fromkeys(key[2] for key in self._rounds)
        )
        return [(name, most) for name, most in used if most is not None and most >= percent]

    def rows(self) -> dict[str, list[tuple[str, Measured]]]:
        """Return each workload's medians, labelled with case and server."""
        found: dict[str, list[tuple[str, Measured]]] = {}
        for (workload, case, server), rounds in self._rounds.items():
            found.setdefault(workload, []).append((f"{case} {server}", medians(rounds)))
        return found

    def dump(self) -> dict[str, list[Measured]]:
        """Return all of it as JSON values."""
        return {" ".join(key): rounds for key, rounds in self._rounds.items()}

    def cases(self, workload: str) -> list[str]:
        """Return the cases of a workload, in order."""
        return list(dict.fromkeys(case for kind, case, _ in self._rounds if kind == workload))

    def servers(self, workload: str) -> list[str]:
        """Return the servers of a workload, in order."""
        return list(dict.fromkeys(server for kind, _, server in self._rounds if kind == workload))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target. bound: what may not be passed, upwards or (`least`) downwards. value: what was found, or None."""

    target: str
    bound: float
    value: float | None
    least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether it is met; None when it was not measured."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.least else self.value <= self.bound

    def line(self) -> str:
        """Return it as one line."""
        if self.value is None:
            return f"not judged  {self.target}"
        word = "met" if self.met else "MISSED"
        bound = "at least" if self.least else "at most"
        return f"{word:10}  {self.target}: {self.value:.3g} ({bound} {self.bound:.3g})"

    def dump(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {"target": self.target, "bound": self.bound, "value": self.value, "met": self.met}


def verdicts(results: Results) -> list[Verdict]:
    """Judge every target."""
    return [
        *_flat(results),
        *_paced(results),
        *_turns(results),
        *_cancels(results),
        *_idle(results),
        *_slow(results),
        *_workers(results),
    ]


def _flat(results: Results) -> Sequence[Verdict]:
    bounds = {"trio-websocket": 1 / 7, "node+yield": 0.9, "node": 1.3, "picows+yield": 1.0}
    return [
        Verdict(
            f"(a) flat out, {size} sessions: CPU a delta, times {other}",
            bound,
            results.ratio("flat", size, "cpu_us_per_delta", "ours", other),
        )
        for size in ("50", "500")
        for other, bound in bounds.items()
    ]


def _paced(results: Results) -> Sequence[Verdict]:
    return [
        Verdict(
            "(b) 600 paced sessions: % of a core", 40, results.value("paced", "600", "ours", "cores_percent")
        ),
        Verdict(
            "(b) 600 paced sessions: % that a turn is late after its first word, p99",
            1,
            results.value("paced", "600", "ours", "late_p99_percent"),
        ),
        Verdict(
            "(b) 600 paced sessions: CPU a delta, times node",
            1.1,
            results.ratio("paced", "600", "cpu_us_per_delta", "ours", "node"),
        ),
    ]


def _turns(results: Results) -> Sequence[Verdict]:
    return [
        Verdict(
            f"(c) turns on kb/, {case}: CPU a turn, times before",
            0.5,
            results.ratio("turns", case, "cpu_us_per_turn", "ours", "before"),
        )
        for case in ("50 same", "50 different")
    ] + [
        Verdict(
            "(c) alone: first frame p50, ms", 1, results.value("turns", "1 alone", "ours", "first_p50_ms")
        )
    ]


def _cancels(results: Results) -> Sequence[Verdict]:
    return [
        Verdict(
            f"(d) {size} sessions cancel: ms to stream_end, p99",
            bound,
            results.value("cancel", size, "ours", "cancel_p99_ms"),
        )
        for size, bound in (("50", 5.0), ("500", 40.0))
    ]


def _idle(results: Results) -> Sequence[Verdict]:
    sizes = results.cases("idle")
    most, least = (sizes[-1], sizes[0]) if sizes else ("10000", "1000")
    return [
        Verdict(
            f"(e) {most} idle: KiB a connection",
            25,
            results.value("idle", most, "ours", "kib_per_connection"),
        ),
        Verdict(
            f"(e) {most} idle: KiB a connection, times that of {least}",
            1.1,
            results.change("idle", "kib_per_connection", most, least) if most != least else None,
        ),
        Verdict(
            f"(e) {most} accepted: accepts a second, times trio-websocket",
            1.0,
            results.ratio("idle", most, "accepts_per_s", "ours", "trio-websocket"),
            least=True,
        ),
    ]


def _slow(results: Results) -> Sequence[Verdict]:
    return [
        Verdict(
            "(f) fast sessions' turns, p99 beside slow readers, times without",
            1.1,
            results.change("slow", "turn_p99_ms", "with", "without"),
        ),
        Verdict("(f) slow readers that were cut", 0, results.value("slow", "with", "ours", "slow_lost")),
        Verdict("(f) seconds until a drip reader was cut", 30, _cut(results)),
    ]


def _cut(results: Results) -> float | None:
    """Return the seconds until the drip reader was cut, infinite when it was measured and never was."""
    if results.value("slow", "with", "ours", "slow_lost") is None:
        return None
    seconds = results.value("slow", "with", "ours", "drip_cut_s")
    return float("inf") if seconds is None else seconds


def _workers(results: Results) -> Sequence[Verdict]:
    return [
        Verdict(
            "(g) two workers: turns a second, times one server's",
            1.7,
            results.ratio("workers", "100", "turns_per_s", TWO_WORKERS, ONE_SERVER),
            least=True,
        ),
        Verdict(
            "(g) two workers: CPU a turn, times one server's",
            1.05,
            results.ratio("workers", "100", "cpu_us_per_turn", TWO_WORKERS, ONE_SERVER),
        ),
    ]


_CHARTS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "flat": [
        ("Flat out, by sessions", "CPU µs a delta", "cpu_us_per_delta"),
        ("Flat out, by sessions", "turn p50, ms", "turn_p50_ms"),
    ],
    "paced": [
        ("A word every 20 ms, by sessions", "% of a core", "cores_percent"),
        ("A word every 20 ms, by sessions", "% late, p99", "late_p99_percent"),
    ],
    "turns": [("Whole turns on kb/", "CPU µs a turn", "cpu_us_per_turn")],
    "cancel": [("Cancel to stream_end, by sessions", "p99, ms", "cancel_p99_ms")],
    "idle": [
        ("Idle connections", "KiB each", "kib_per_connection"),
        ("Idle connections", "accepts a second", "accepts_per_s"),
    ],
    "slow": [("Beside slow readers", "turn p99, ms", "turn_p99_ms")],
    "workers": [
        ("Two workers", "turns a second", "turns_per_s"),
        ("Two workers", "CPU µs a turn", "cpu_us_per_turn"),
    ],
}


def charts(results: Results) -> list[Chart]:
    """Return what is drawn of a run: a chart for each figure of each workload that was measured."""

    def bars(workload: str, name: str) -> Callable[[str], list[float | None]]:
        return lambda server: [
            results.value(workload, case, server, name) for case in results.cases(workload)
        ]

    return [
        Chart(
            title, unit, cases, {server: bars(workload, name)(server) for server in results.servers(workload)}
        )
        for workload, drawn in _CHARTS.items()
        if (cases := results.cases(workload))
        for title, unit, name in drawn
    ]
