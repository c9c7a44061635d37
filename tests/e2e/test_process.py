"""The real command in a real process with a real socket: starting, asking, a port that is taken, going down."""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from agent import cli
from tests.bench.load.process import family

from ..both import Flags, both_at_length
from ..share import count_runs
from .independent import unsupported
from .plain import plain

ROOT = Path(__file__).parents[2]
KB = ROOT / "kb"
PATIENCE = 90.0  # seconds; a machine that is busy with other things is slow
ALL = (
    os.environ.get("SIGTERMS") == "all"
)  # else two each time of the moments at which a server is told to end
OF_THIS_TIME = ((0.4, 2.5), (1.2, 5.0))[count_runs() % 2]
URLS = re.compile(r"page +http://127\.0\.0\.1:(\d+)/\nsocket +ws://127\.0\.0\.1:\1/ws\n")


def environment() -> dict[str, str]:
    """Return this process's environment without settings of the agent's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_")}
    return kept | {"PYTHONPATH": str(ROOT)}


def command(*arguments: str, module: str = "agent") -> list[str]:
    """Return the command line of `agent`, or of another module, with these arguments."""
    return [sys.executable, "-m", module, *arguments]


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in a folder, without a shell."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


@contextmanager
def serve(
    folder: Path, *arguments: str, kb: Path = KB, port: int = 0, module: str = "agent"
) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Start a server, by default on a free port; yield its process and port once it has said where it is."""
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command("serve", "--port", str(port), "--kb", str(kb), *arguments, module=module),
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        silent = threading.Timer(PATIENCE, process.kill)
        silent.start()
        try:
            assert process.stdout is not None
            said = process.stdout.readline() + process.stdout.readline()
            match = URLS.fullmatch(said)
            silent.cancel()
            assert match, said + (folder / "log").read_text(encoding="utf-8")
            yield process, int(match[1])
        finally:
            silent.cancel()
            process.kill()


def end(process: "subprocess.Popen[str]") -> int:
    """Send SIGTERM and return the exit status."""
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE)


@pytest.mark.proof
def test_a_server_from_its_start_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says where it is, answers `agent ask` and a socket, and on SIGTERM it drains and exits 0.

    One process for all of this, since each costs its imports.
    """
    start = time.monotonic()
    with serve(tmp_path, "--pace-ms", "0") as (process, port):
        assert time.monotonic() - start < 30, "2 s are promised; a loaded machine gets more here"
        url = f"ws://127.0.0.1:{port}/ws"
        assert cli.main(["ask", "What does the Standard plan cost per month?", "--url", url]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "299" in out
        assert "Sources:\n  [1] kb/pricing.md:" in out
        assert cli.main(["ask", "what is the capital of Mongolia", "--url", url]) == 3
        assert "I couldn't find any references to this in the knowledge base" in capsys.readouterr().out
        trio.run(_ask_and_see_it_drain, process, port)
        assert process.wait(PATIENCE) == 0
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert "Standard plan" not in log
    assert cli.main(["ask", "anybody there?", "--url", url]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert_one_line(err, "cannot connect")


SLOW_TO_EXIT = """
import atexit, time
from agent.__main__ import main
atexit.register(lambda: (print("goes down", flush=True), time.sleep(1)))
main()
"""


@pytest.mark.proof
def test_a_signal_while_the_interpreter_goes_down_changes_nothing(tmp_path: Path) -> None:
    """A server that has drained exits with 0 also when it is told to end once more meanwhile."""
    program = [sys.executable, "-c", SLOW_TO_EXIT, "serve", "--port", "0", "--kb", str(KB)]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            program, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        silent = threading.Timer(PATIENCE, process.kill)
        silent.start()
        for line in process.stdout:
            if line.startswith("socket") or line == "goes down\n":
                process.send_signal(signal.SIGTERM)
        silent.cancel()
        assert process.wait(PATIENCE) == 0


@pytest.mark.proof
def test_commands_beside_a_server_are_processes_of_their_own(tmp_path: Path) -> None:
    """`agent ask` prints an answer and nothing else; a second server on the same port says so in one line."""
    with serve(tmp_path, "--pace-ms", "0") as (_, port):
        url = f"ws://127.0.0.1:{port}/ws"
        answered = run(tmp_path, "ask", "What does the Standard plan cost per month?", "--url", url)
        assert (answered.returncode, answered.stderr) == (0, "")
        assert "299" in answered.stdout
        busy = run(tmp_path, "serve", "--port", str(port), "--kb", str(KB), "--vectors", "off")
        assert (busy.returncode, busy.stdout) == (2, "")
        assert_one_line(busy.stderr, "cannot listen on 127.0.0.1")


async def _ask_and_see_it_drain(process: "subprocess.Popen[str]", port: int) -> None:
    """Get the page and an answer; SIGTERM then closes the socket with 1012."""
    host = f"127.0.0.1:{port}"
    with trio.fail_after(PATIENCE):
        page = await trio.open_tcp_stream("127.0.0.1", port)
        await page.send_all(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert (await page.receive_some()).startswith(b"HTTP/1.1 200")
        await page.aclose()
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with plain(stream, host=host) as client:
            await client.ask("What does the Standard plan cost per month?")
            frames = await client.until("response")
            deltas = [frame["delta"] for frame in frames if frame["type"] == "stream"]
            response = frames[-1]
            assert "".join(deltas) == response["text"]
            assert "299" in response["text"]
            assert unsupported(response["text"], [each["snippet"] for each in response["citations"]]) == []
            process.send_signal(signal.SIGTERM)
            assert await client.until_closed() == 1012


def measure_cpu(server: int) -> float:
    """Return the seconds of CPU of a server's processes until now, and of those that it has waited for."""
    fields = (Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in family(server))
    return sum(sum(map(int, each[11:15])) for each in fields) / os.sysconf("SC_CLK_TCK")


def measure_ended() -> float:
    """Return the seconds of CPU of all processes that have ended below this one."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def assert_one_line(text: str, holds: str) -> None:
    """Check that a complaint is one line, holds some words and no traceback."""
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert holds in text


@pytest.mark.proof
@both_at_length
@pytest.mark.parametrize("wait", [0.4, 0.8, 1.2, 1.8, 2.5, 3.5, 5.0, 8.0] if ALL else OF_THIS_TIME)
@pytest.mark.parametrize("reloading", [False, True])
def test_sigterm_ends_a_server_that_reads_a_large_table(
    tmp_path: Path, wait: float, reloading: bool, workers: Flags
) -> None:
    """At any moment of the start or of a reload: within a second, for which a busy machine is given thirty.

    So its CPU tells: to read the table takes over two seconds.
    """
    ended = measure_ended()
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "terms.md").write_text("# Terms\n\nThe notice period is 14 days.\n")
    rows = "".join(f"| A{number} | {number} kr |\n" for number in range(45_000))
    table = f"# Prices\n\n| article | price |\n| --- | --- |\n{rows}"
    if reloading:
        with serve(tmp_path, *workers, kb=kb) as (process, _):
            (kb / "prices.md").write_text(table)
            time.sleep(wait)
            began, so_far = time.perf_counter(), measure_cpu(process.pid)
            assert end(process) == 0
            took = time.perf_counter() - began
    else:
        (kb / "prices.md").write_text(table)
        with subprocess.Popen(
            command("serve", "--port", "0", "--kb", str(kb), *workers),
            env=environment(),
            stdout=subprocess.DEVNULL,
        ) as process:
            time.sleep(wait + 0.5)  # the interpreter and its imports
            began, so_far = time.perf_counter(), measure_cpu(process.pid)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
            took = time.perf_counter() - began
    assert took < 30
    assert measure_ended() - ended - so_far < 1.5
