"""A server whose PostgreSQL is away for a while: it says so, answers what it can, and goes on by itself afterwards."""

import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from agent import cli
from agent.storage.server_watch import AWAY_AFTER
from tests.clusters import Cluster, running_cluster
from tests.servers import fresh_database, run_statement

from .test_process import end, serve

pytestmark = pytest.mark.proof

SECRET = "s3cret-password"
ASKED = "What does the Standard plan cost per month?"
PATIENCE = 60.0  # seconds, on a machine that is busy with other things
LATE = "1.0"  # seconds: 0.05 are promised where nothing else runs; a wait for the database takes longer
_LAG = re.compile(r'agent_loop_lag_seconds_bucket\{le="([^"]+)"\} ([\d.e+]+)')


def fetch(port: int, path: str, body: object = None) -> tuple[int, str]:
    """Return the status and the text of an answer to a GET, or to a POST of `body`."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def wait_until(ask: Callable[[], tuple[int, str]], status: int, text: str = "") -> str:
    """Ask until an answer has the status and begins with the text; return its whole text."""
    give_up = time.monotonic() + PATIENCE
    while (found := ask())[0] != status or not found[1].startswith(text):
        assert time.monotonic() < give_up, found
        time.sleep(0.1)
    return found[1]


def processes_of(cluster: Cluster) -> list[int]:
    """Return the server's processes, which are all in its group of processes or below."""
    assert cluster._process is not None
    first = cluster._process.pid
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


@contextmanager
def ended(cluster: Cluster) -> Iterator[None]:
    """End the server for a block."""
    cluster.kill()
    yield
    cluster.start()


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Stop every process of the server for a block: its connections stay open, and nothing answers."""
    stopped = processes_of(cluster)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in reversed(stopped):
        os.kill(pid, signal.SIGCONT)


def count_lags(port: int) -> float:
    """Return in how many tenths of a second the event loop was late by more than `LATE` seconds."""
    counts = dict(_LAG.findall(fetch(port, "/metrics")[1]))
    return float(counts["+Inf"]) - float(counts[LATE])


@pytest.mark.parametrize("away", [ended, frozen])
def test_a_server_goes_on_while_its_database_is_away_and_afterwards(
    tmp_path: Path,
    away: Callable[[Cluster], AbstractContextManager[None]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not ready from the fifth second on; questions over a socket are answered; nothing has to be started again.

    The event loop never waits for the database, and no text has its password. Tables that are gone are told at last.
    """
    with running_cluster() as cluster:
        data = cluster.url.replace("postgres@", f"postgres:{SECRET}@")
        with serve(tmp_path, "--pace-ms", "0", "--vectors", "off", "--data", data) as (process, port):
            ready = partial(fetch, port, "/readyz")
            chat = partial(fetch, port, "/chat", {"user_id": "ann", "message": ASKED})
            wait_until(ready, 200, "ready\n")
            assert chat()[0] == 200
            late_before = count_lags(port)
            with away(cluster):
                began = time.monotonic()
                told = wait_until(ready, 503)
                assert time.monotonic() - began > AWAY_AFTER - 1.5
                assert cli.main(["ask", ASKED, "--url", f"ws://127.0.0.1:{port}/ws"]) == 0
                assert "299" in capsys.readouterr().out
                status, refusal = chat()
                assert status == 503, refusal
                metrics = fetch(port, "/metrics")[1]
            wait_until(ready, 200, "ready\n")
            wait_until(chat, 200)
            assert count_lags(port) == late_before
            run_statement(cluster.url, "DROP SCHEMA agent_ledger CASCADE")
            assert "its tables are gone: restore them from a backup" in wait_until(ready, 503)
            assert chat()[0] == 503
            assert end(process) == 0
    assert told.startswith("not ready: Actions cannot be run, because of the ledger: ")
    assert told.count("\n") == 1
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log
    for text in (told, refusal, metrics, log):
        assert SECRET not in text


def test_servers_that_share_a_database_tell_that_their_documents_differ(tmp_path: Path) -> None:
    """All stay ready; where they are alike again, nothing is said any more. Their folders are in different places."""
    folders = [tmp_path / name / "handbook" for name in ("one", "two")]
    for folder, price in zip(folders, (25, 35), strict=True):
        folder.mkdir(parents=True)
        (folder / "cards.md").write_text(f"# Cards\n\nA lost card costs {price} EUR.\n")
    with fresh_database() as data, ExitStack() as servers:
        asked = []
        for folder in folders:
            started = serve(folder.parent, "--vectors", "off", "--data", data, kb=folder)
            _, port = servers.enter_context(started)
            asked.append(partial(fetch, port, "/readyz"))
        for ready in asked:
            told = wait_until(ready, 200, "ready, but: ")
            assert "different documents named handbook" in told
        (folders[1] / "cards.md").write_bytes((folders[0] / "cards.md").read_bytes())
        for ready in asked:
            wait_until(ready, 200, "ready\n")
