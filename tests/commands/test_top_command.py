"""`agent top`: the load of a server from two samples of its metrics, and what becomes of a terminal."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent import cli
from agent.client.source_view import CannotOpen
from agent.commands.top import MetricsSample, describe_load, read_sample
from agent.server.metrics import Metrics
from tests.e2e.test_process import serve


def sampled(metrics: Metrics, at: float) -> MetricsSample:
    return read_sample(metrics.text(), at)


def test_two_samples_make_rates() -> None:
    """Of turns and cancels by their outcomes, and the times of the new ones alone."""
    metrics = Metrics()
    metrics.count("turns", "answered")
    metrics.measure("first_delta_seconds", 30.0)
    before = sampled(metrics, 10.0)
    metrics.gauge("sessions", 3)
    for _ in range(9):
        metrics.count("turns", "answered")
        metrics.measure("first_delta_seconds", 0.04)
    metrics.count("turns", "no_sources")
    metrics.gauge("model_open", 1)
    lines = dict(line.split(maxsplit=1) for line in describe_load(before, sampled(metrics, 15.0)))
    assert lines["sessions"] == "3, 0 turns running"
    assert lines["turns"].startswith("2.0/s  (answered 1.8, no_sources 0.2)  within 50 ms for 50%")
    assert lines["cancels"] == "0.0/s"
    assert lines["model"] == "0.0/s  it rests after failures"
    assert int(lines["memory"].removesuffix(" MiB")) > 10
    assert describe_load(before, before)


def test_a_server_that_has_started_again_has_no_negative_rates() -> None:
    """Its counters begin at zero."""
    old, new = Metrics(), Metrics()
    for _ in range(5):
        old.count("turns", "answered")
    new.count("turns", "answered")
    assert "1.0/s  (answered 1.0)" in "\n".join(describe_load(sampled(old, 0.0), sampled(new, 1.0)))


@pytest.mark.parametrize("body", [b"{}", b"\xff\xfe", b"x{ 1"])
def test_what_is_no_metrics_is_said(body: bytes) -> None:
    """In one line."""
    with pytest.raises(CannotOpen, match="no metrics"):
        read_sample(body, 0.0)


def test_no_server_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--once`; without it, it looks again."""
    assert cli.main(["top", "http://127.0.0.1:9", "--once"]) == 1
    assert capsys.readouterr().err.startswith("agent: cannot connect to http://127.0.0.1:9")
    assert cli.main(["top", "--every", "0"]) == 2
    assert "every must be" in capsys.readouterr().err


@pytest.mark.proof
def test_a_terminal_is_put_back_after_ctrl_c(tmp_path: Path) -> None:
    """The figures are shown over the whole of it, and then what stood there before."""
    with serve(tmp_path) as (_, port):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "agent", "top", f"http://127.0.0.1:{port}", "--every", "0.2"]
        shown = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm"}
        )
        os.close(theirs)
        told, end = b"", time.monotonic() + 30
        while b"sessions" not in told:
            assert time.monotonic() < end
            told += os.read(ours, 4096)
        shown.send_signal(signal.SIGINT)
        while shown.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        told += os.read(ours, 65536)
        os.close(ours)
    assert shown.returncode == 0
    assert told.startswith(b"\x1b[?1049h")
    assert told.rstrip().endswith(b"\x1b[?25h\x1b[?1049l")
