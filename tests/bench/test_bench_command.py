"""`python -m tests.bench.load`: wrong settings, servers that are not there, and what is printed of one that is."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.load import __main__ as command
from tests.bench.load.client import Load, Target
from tests.bench.load.meter import Measured, Meter
from tests.bench.load.searches import Searches
from tests.bench.load.workloads import Plan

Capture = pytest.CaptureFixture[str]
FOUND = {
    "turns": 100.0,
    "failed": 0.0,
    "first_p50_ms": 1.23456,
    "frames_per_turn": 37.0,
    "client_percent": 5.0,
}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--sessions", "0"], "sessions must be 1 to 20000"),
        (["--turns", "0"], "turns must be 1 to"),
        (["--stagger", "-1"], "stagger must not be negative"),
        (["--pace-ms", "-1"], "pace-ms must not be negative"),
        (["--seconds", "0"], "seconds must be more than 0"),
        (["--seconds", "nan"], "must be finite"),
        (["--url", "wss://127.0.0.1:1/ws"], "ws://127.0.0.1:8787/ws"),
        (["--url", "ws://127.0.0.1:99999/ws"], "ws://127.0.0.1:8787/ws"),
        (["--url", "ws://example.com/ws"], "only a server on this machine"),
        (["--token", "två ord"], "printable ASCII"),
        (["--workload", "flood"], "flood"),
        ([" "], "a question must not be empty"),
    ],
)
def test_a_wrong_setting_is_one_line(flags: list[str], said: str, capsys: Capture) -> None:
    """On standard error, with exit status 2, before anything is connected."""
    assert command.main([*flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_nobody_there_is_one_line(capsys: Capture) -> None:
    """With what to do, and exit status 1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert command.main(["--url", f"ws://127.0.0.1:{port}/ws", "--pid", "1"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"cannot connect to 127.0.0.1:{port}" in err
    assert "agent serve" in err


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Target, Plan]]:
    """What a load was told, in place of putting it on a server."""
    told: list[tuple[Target, Plan]] = []

    def talk(load: Load, target: Target, meter: Meter, plan: Plan) -> Measured:
        told.append((target, plan))
        return FOUND

    def only(port: int) -> int | None:
        return None

    looks = [Searches(0, 0), Searches(3, 1)]
    monkeypatch.setattr("tests.bench.load.searches.searches", lambda target: looks.pop(0))
    monkeypatch.setattr(command, "talk", talk)
    monkeypatch.setattr(command, "listens_on", only)
    return told


def test_flags_make_the_load(given: list[tuple[Target, Plan]], capsys: Capture) -> None:
    """URL, token, sessions, turns, questions, stagger and pace arrive as they were given; without a path it is /ws."""
    flags = ["--sessions", "7", "--turns", "3", "--stagger", "2", "--pace-ms", "20", "--seconds", "9"]
    assert command.main(["--url", "localhost:81", "--token", "secret", *flags, "first?", "second?"]) == 0
    assert given == [
        (Target("127.0.0.1", 81, "/ws", "secret"), Plan(7, 3, ("first?", "second?"), 2.0, 0.0, 0.02, 9.0))
    ]
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("turns ")
    assert out.splitlines()[1].startswith("7 sessions")
    assert "--pid" in err  # nobody is seen to listen


def test_figures_are_json_where_that_is_asked_for(given: list[tuple[Target, Plan]], capsys: Capture) -> None:
    """Every figure by its name, and what share of the questions found their hits kept."""
    assert command.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == FOUND | {"first_p50_ms": 1.2346, "kept_hits_percent": 75}


@pytest.mark.usefixtures("given")
def test_a_plot_is_drawn_where_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    """A chart for each figure of the table."""
    drawn: dict[Path, Any] = {}
    draw: Callable[[Any, Path], None] = lambda charts, path: drawn.update({path: charts})  # noqa: E731
    monkeypatch.setattr(command, "draw", draw)
    assert command.main(["--plot", str(tmp_path / "plot.png")]) == 0
    assert [chart.unit for chart in drawn[tmp_path / "plot.png"]] == [
        "frames",
        "first p50 ms",
        "kept hits %",
        "client %",
        "failed",
    ]
