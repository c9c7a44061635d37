"""Files that were made to end a server, uploaded and in its folder: it lives, stays small, and answers others."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..both import Flags, both, both_at_length
from ..test_sandbox import is_gone
from .attacked import PAGE, Innocent, attacked, readers, resident, servers, upload, wait_held
from .files import HOSTILE, a_form_that_draws_itself
from .process import ROOT

pytestmark = pytest.mark.proof

MORE = 160 * 1024 * 1024  # bytes that a server may grow by: an upload as it comes, and pages as they are held
PATIENT = 5.0  # seconds for 99 of 100 answers, on a machine that is busy with other things
SENT = [name for name in HOSTILE if name.endswith((".pdf", ".docx", ".md"))]


@both
def test_a_server_outlives_what_is_uploaded(tmp_path: Path, workers: Flags) -> None:
    """Each is kept or refused with 422, and sent again the same without a wait; a good one comes through beside it."""
    with attacked(tmp_path / "kb", *workers) as server:
        before = {pid: resident(pid) for pid in servers(server.pid)}
        with Innocent(server.port).asking() as innocent:
            for name in SENT:
                data = HOSTILE[name]()
                status, told = upload(server.port, name, data)
                assert status in (200, 201, 422), f"{name}: {status} {told}"
                assert upload(server.port, "good.md", b"A zebra has stripes.")[0] in (200, 201)
        assert innocent.wrong == []
        assert innocent.percentile(0.99) < PATIENT
        for pid, held in before.items():
            assert resident(pid) - held < MORE


def test_a_file_that_ended_a_reader_is_refused_at_once_the_next_time(tmp_path: Path) -> None:
    """By its content, until that changes."""
    with attacked(tmp_path / "kb") as server:
        data = a_form_that_draws_itself()
        assert upload(server.port, "a.pdf", data)[0] == 422
        assert readers(server.pid) == []
        status, told = upload(server.port, "b.pdf", data)
        assert (status, "within its limits" in told) == (422, True)
        assert readers(server.pid) == []
        assert upload(server.port, "c.pdf", data + b"\n")[0] == 422


@both_at_length
def test_a_server_outlives_what_is_in_its_folder(tmp_path: Path, workers: Flags) -> None:
    """There when it starts or put there later: it is read, or left out with its reason, and the others are served."""
    folder = tmp_path / "kb"
    folder.mkdir()
    for number, (name, make) in enumerate(HOSTILE.items()):
        if number % 2 and not name.startswith("long"):
            (folder / name).write_bytes(make())
    with attacked(folder, *workers) as server:
        before = {pid: resident(pid) for pid in servers(server.pid)}
        with Innocent(server.port).asking() as innocent:
            for number, (name, make) in enumerate(HOSTILE.items()):
                if not number % 2 and not name.startswith("long"):
                    (folder / name).write_bytes(make())
            (folder / "zebra.md").write_text("A zebra has stripes.")
            wait_held(server.port, "kb/zebra.md", "stripes")
        assert innocent.wrong == []
        assert innocent.percentile(0.99) < PATIENT
        for pid, held in before.items():
            assert resident(pid) - held < MORE


def test_why_a_file_is_left_out_is_logged(tmp_path: Path) -> None:
    """With its name; a start on the same folder says it again, and serves."""
    (tmp_path / "a.md").write_text("A zebra has stripes.")
    (tmp_path / "form.pdf").write_bytes(a_form_that_draws_itself())
    checked = subprocess.run(
        [sys.executable, "-m", "agent", "kb", "check", "--kb", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "unreadable: kb/form.pdf: could not be read within its limits" in checked.stdout
    assert re.search(r"left out: 1 file: could not be read within its limits", checked.stdout)


@both
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_reader_outlives_its_server(
    tmp_path: Path, number: signal.Signals, workers: Flags
) -> None:
    """Idle, or at work on a file that takes long."""
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "plans.md").write_text(PAGE)
    (folder / "grid.rst").write_bytes(HOSTILE["long-grid.rst"]())
    quiet = ("--port", "0", "--vectors", "off", "--log-level", "error")
    where = ("--kb", str(folder), "--data", str(tmp_path / "data"))
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", "serve", *quiet, *where, *workers],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + 60
        found: list[int] = []
        while not found and time.monotonic() < until:
            found = readers(process.pid)
            time.sleep(0.05)
        assert found, "no reader was started"
        process.send_signal(number)
        process.wait(60)
    finally:
        process.kill()
        process.communicate()
    assert all(is_gone(pid) for pid in found)


def test_a_reader_holds_nothing_of_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket, no file and no secret; and none is started for Markdown."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-the-server")
    with attacked(tmp_path / "kb") as server:
        assert readers(server.pid) == []
        assert upload(server.port, "good.md", b"A zebra has stripes.")[0] in (200, 201)
        (reader,) = readers(server.pid)
        links = {os.readlink(each) for each in Path(f"/proc/{reader}/fd").iterdir()}
        assert {link.partition(":")[0] for link in links} == {"pipe", "/dev/null"}
        for told in ("environ", "cmdline"):
            assert b"sk-a-secret" not in Path(f"/proc/{reader}/{told}").read_bytes()
