"""What is measured of a process and of instructions, how figures are judged, shown and drawn."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.load import process
from tests.bench.load.chart import Chart, draw
from tests.bench.load.counters import counted
from tests.bench.load.line import Failed
from tests.bench.load.meter import Meter
from tests.bench.load.report import COLUMNS, table
from tests.bench.targets import ONE_SERVER, TWO_WORKERS, Results, Verdict, charts, verdicts


def test_perf_is_read_and_its_refusals_are_told() -> None:
    """A count is a number; a machine without counters, and one that forbids them, say so in a line."""
    assert counted("123456,,instructions:u,100,100.00,,\n") == 123456
    with pytest.raises(Failed, match="not supported"):
        counted("<not supported>,,instructions:u,0,100.00,,\n")
    with pytest.raises(Failed, match="Access to performance") as failed:
        counted("Error:\nAccess to performance monitoring\nis limited.\n")
    assert "\n" not in str(failed.value)


def test_the_time_and_memory_of_this_process_are_read() -> None:
    """What is burnt is seen; a meter keeps the server's and its own."""
    with Meter(os.getpid()) as meter:
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
    assert meter.server is not None
    assert 0.02 < meter.server.cpu < 10
    assert meter.server.waited is None or 0 <= meter.server.waited < 60
    assert 0.02 < meter.client < 10
    assert meter.per("delta", 10)["cpu_us_per_delta"] == pytest.approx(1e5 * meter.server.cpu)
    memory = process.memory(os.getpid())
    assert 2**20 < memory.pss <= memory.rss


def test_a_process_that_is_not_there_is_told() -> None:
    """In a line, both of its time and of its memory."""
    with pytest.raises(Failed, match="no process"):
        process.taken(2**22 + 1)
    with pytest.raises(Failed, match="cannot be read"):
        process.memory(2**22 + 1)


def test_threads_that_came_count_and_those_that_went_do_not() -> None:
    """The difference of two looks is never less than nothing for what is still there."""
    before: process.Taken = {1: (2.0, 1.0), 2: (5.0, 9.0)}
    assert process.between(before, {1: (2.5, 1.5), 3: (0.25, 0.0)}) == process.Spent(0.75, 0.5)
    assert process.between(before, {1: (2.5, None)}) == process.Spent(0.5, None)


@pytest.mark.proof
def test_who_listens_and_what_is_held_is_seen() -> None:
    """A port's process, and whether its end of a connection is still there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert process.listens_on(port) == os.getpid()
        with socket.create_connection(("127.0.0.1", port)) as client:
            mine = client.getsockname()[1]
            held, _ = server.accept()
            assert process.holds(port, mine)
            held.close()
            assert not process.holds(port, mine)
    assert process.listens_on(port) is None


def results() -> Results:
    """Two rounds of a few figures, the second of a busier machine."""
    found = Results()
    for slow in (1.0, 2.0):
        found.add("flat", "50", "ours", {"cpu_us_per_delta": 3.0 * slow, "turn_p50_ms": 5})
        found.add("flat", "50", "trio-websocket", {"cpu_us_per_delta": 30.0 * slow})
        found.add("flat", "50", "node", {"cpu_us_per_delta": 2.0 * slow})
        found.add("slow", "without", "ours", {"turn_p99_ms": 10.0})
        found.add("slow", "with", "ours", {"turn_p99_ms": 10.5, "slow_lost": 0})
        found.add("idle", "1000", "ours", {"kib_per_connection": 20.0, "accepts_per_s": 50})
        found.add("idle", "10000", "ours", {"kib_per_connection": 24.0, "accepts_per_s": 50})
        found.add("idle", "10000", "trio-websocket", {"accepts_per_s": 100})
        one = {"turns_per_s": 300.0 / slow, "cpu_us_per_turn": 3000.0, "client_percent": 10.0}
        two = {"turns_per_s": 540.0 / slow, "cpu_us_per_turn": 3300.0, "client_percent": 40.0 * slow}
        found.add("workers", "100", ONE_SERVER, one)
        found.add("workers", "100", TWO_WORKERS, two)
    return found


def judged() -> Iterator[tuple[str, Verdict]]:
    for verdict in verdicts(results()):
        if verdict.value is not None:
            yield verdict.target, verdict


def test_targets_are_judged_by_the_median_of_each_rounds_ratio() -> None:
    """Met, missed, at least or at most; a drip reader that was never cut is a miss; what was not measured, neither."""
    found = dict(judged())
    assert {target: verdict.met for target, verdict in found.items()} == {
        "(a) flat out, 50 sessions: CPU a delta, times trio-websocket": True,
        "(a) flat out, 50 sessions: CPU a delta, times node": False,
        "(e) 10000 idle: KiB a connection": True,
        "(e) 10000 idle: KiB a connection, times that of 1000": False,
        "(e) 10000 accepted: accepts a second, times trio-websocket": False,
        "(f) fast sessions' turns, p99 beside slow readers, times without": True,
        "(f) slow readers that were cut": True,
        "(f) seconds until a drip reader was cut": False,
        "(g) two workers: turns a second, times one server's": True,
        "(g) two workers: CPU a turn, times one server's": False,
    }
    assert found["(g) two workers: turns a second, times one server's"].value == pytest.approx(1.8)
    assert found["(g) two workers: CPU a turn, times one server's"].value == pytest.approx(1.1)
    assert results().bottlenecks(80) == [(TWO_WORKERS, 80)], "what the client used of a core"
    assert results().bottlenecks(81) == []
    assert found["(a) flat out, 50 sessions: CPU a delta, times trio-websocket"].value == pytest.approx(0.1)
    assert results().most("ours", "cpu_us_per_delta") == 6
    assert results().most("ours", "nothing") is None
    lines = [verdict.line() for verdict in verdicts(results())]
    assert "met         (e) 10000 idle: KiB a connection: 24 (at most 25)" in lines
    assert "MISSED      (e) 10000 accepted: accepts a second, times trio-websocket: 0.5 (at least 1)" in lines
    assert "not judged  (b) 600 paced sessions: % of a core" in lines


def test_a_table_has_the_columns_that_were_measured() -> None:
    """One line a row, headings above, nothing for a figure that a row lacks."""
    shown = table("flat", [("50 ours", {"cpu_us_per_delta": 3.456}), ("50 node", {"failed": 2})])
    assert shown.splitlines() == [
        "flat     µs/delta  failed",
        "50 ours      3.46",
        "50 node                 2",
    ]
    for workload, columns in COLUMNS.items():
        names = [column.name for column in columns]
        assert len(names) == len(set(names)), workload


def test_each_measured_workload_is_drawn() -> None:
    """A group for each case and a bar for each server, none where there is no figure."""
    drawn = charts(results())
    assert [chart.unit for chart in drawn] == [
        "CPU µs a delta",
        "turn p50, ms",
        "KiB each",
        "accepts a second",
        "turn p99, ms",
        "turns a second",
        "CPU µs a turn",
    ]
    memory = drawn[2]
    assert memory == Chart(
        "Idle connections",
        "KiB each",
        ["1000", "10000"],
        {"ours": [20.0, 24.0], "trio-websocket": [None, None]},
    )


def test_a_plot_without_matplotlib_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a line, and no file is written."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(Failed, match=r"pip install -e '.\[bench\]'"):
        draw(charts(results()), tmp_path / "plot.png")
    assert list(tmp_path.iterdir()) == []
