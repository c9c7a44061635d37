"""The server's ledger on a disk that hangs, is slow or is locked: a real process, a real file, real seconds."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.client.client import Client, connect
from agent.log import short_hash
from agent.storage.sqlite.trust import FILE

from ..both import Flags, both_at_length
from .mutate import ROOT

pytestmark = pytest.mark.proof

PATIENCE = 60  # seconds for what has no limit of its own
SOON = 15  # seconds for what takes up to 3; while the disk hangs, who waits for it waits for ever
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_the_disk(void) {
    const char *hangs = getenv("DISK_HANGS"), *takes = getenv("DISK_TAKES");
    if (takes) usleep(1000 * atoi(takes));
    if (hangs && access(hangs, F_OK) == 0) close(open(getenv("DISK_HELD"), O_CREAT | O_WRONLY, 0600));
    while (hangs && access(hangs, F_OK) == 0) usleep(20000);
}
int fsync(int fd) { wait_for_the_disk(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { wait_for_the_disk(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
"""


@dataclass
class Served:
    """A running server: its process, its port, its folder, and the file that makes its disk hang."""

    process: "subprocess.Popen[str]"
    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    @property
    def hangs(self) -> Path:
        return self.folder / "hangs"

    @property
    def held(self) -> Path:
        """The file that is there once a sync hangs."""
        return self.folder / "held"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def said(self) -> str:
        """Return what it has logged."""
        return (self.folder / "log").read_text(encoding="utf-8")

    def readyz(self) -> tuple[int, str]:
        """Return the status and the words of /readyz."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def statuses(self) -> Counter[str]:
        """Return how many rows of the ledger say what, as its file is now."""
        with closing(sqlite3.connect(self.data / FILE)) as file:
            return Counter(status for (status,) in file.execute("SELECT status FROM actions"))


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes every sync wait, for a while or while a file is there."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a disk that hangs is made with LD_PRELOAD, which needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    command = [compiler, "-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "shim.so"


@contextmanager
def served(folder: Path, *flags: str, **variables: str) -> Iterator[Served]:
    """A server on its own ledger for the time of a block; killed at the end, if it has not ended."""
    command = [
        sys.executable,
        "-m",
        "agent",
        "serve",
        "--port",
        "0",
        "--kb",
        str(ROOT / "kb"),
        "--pace-ms",
        "0",
        "--vectors",
        "off",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--data", str(folder / "data"), *flags],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()
            port = int(process.stdout.readline().rsplit(":", 1)[1].split("/")[0])
            yield Served(process, port, folder)
        finally:
            process.kill()
            process.communicate()


def hanging(folder: Path, shim: Path, *flags: str) -> Any:
    """A server whose disk hangs while `hangs` is there."""
    files = {"DISK_HANGS": str(folder / "hangs"), "DISK_HELD": str(folder / "held")}
    return served(folder, *flags, LD_PRELOAD=str(shim), **files)


async def suggested(client: Client) -> str:
    """Ask for an action; return the id of its suggestion."""
    await client.ask("call me on 070-174 06 05")
    return str((await client.frames_until("action_suggestion"))[-1]["suggestionId"])


async def result(client: Client) -> tuple[dict[str, Any], float]:
    """Return how an action ended, and after how many seconds."""
    began = trio.current_time()
    with trio.fail_after(PATIENCE):
        frame = (await client.frames_until("action_executed"))[-1]
    return frame["result"], trio.current_time() - began


async def until_ready(server: Served) -> None:
    """Wait until /readyz says that all is well."""
    with trio.fail_after(PATIENCE):
        while (await trio.to_thread.run_sync(server.readyz))[0] != 200:  # noqa: ASYNC110 - another process
            await trio.sleep(0.1)


async def until_claimed(server: Served) -> None:
    """Wait until the ledger's file has its one action, and says that it runs."""
    with trio.fail_after(PATIENCE):
        while server.statuses() != Counter(claimed=1):  # noqa: ASYNC110 - another process
            await trio.sleep(0.02)


async def until_held(server: Served) -> None:
    """Wait until a sync hangs."""
    with trio.fail_after(PATIENCE):
        while not server.held.exists():  # noqa: ASYNC110 - another process
            await trio.sleep(0.02)


async def ended(server: Served, within: float) -> int:
    """Return the exit status of a server that ends in time."""
    with trio.fail_after(within):
        while server.process.poll() is None:  # noqa: ASYNC110 - another process
            await trio.sleep(0.05)
    return int(server.process.returncode)


def after_the_restart(folder: Path) -> list[str]:
    """Return what `agent actions` says of the rows, oldest first."""
    command = [sys.executable, "-m", "agent", "actions", "--json", "--data", str(folder / "data")]
    told = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout
    return [json.loads(line)["status"] for line in reversed(told.splitlines())]


@both_at_length
async def test_a_disk_that_hangs_keeps_nobody_waiting(tmp_path: Path, shim: Path, workers: Flags) -> None:
    """A confirm is answered in 3 s, a cancel at once, others as ever; when it works again the ledger has the truth."""
    with hanging(tmp_path, shim, *workers) as server:
        async with connect(server.url) as client, connect(server.url) as other:
            first = await suggested(client)
            server.hangs.touch()
            await client.confirm(first)
            await until_held(server)
            await client.cancel()
            told, seconds = await result(client)
            assert (told, seconds < SOON) == ({"cancelled": True}, True)
            second = await suggested(client)
            await client.confirm(second)
            told, seconds = await result(client)
            assert (told["success"], "unknown" in told, seconds < SOON) == (False, False, True)
            with trio.fail_after(SOON):
                await other.ask("What does the standard plan cost?")
                await other.frames_until("response")
            status, words = await trio.to_thread.run_sync(server.readyz)
            assert (status, "its disk does not answer" in words) == (503, True)
            server.hangs.unlink()
            await until_ready(server)
            await client.confirm(await suggested(client))
            told, _ = await result(client)
            assert told["success"] is True
        server.process.send_signal(signal.SIGTERM)
        assert await ended(server, PATIENCE) == 0
        assert server.statuses() in (Counter(cancelled=1, done=1), Counter(cancelled=2, done=1))


def post(server: Served, path: str, **body: Any) -> tuple[int, dict[str, Any], float]:
    """Ask over HTTP; return the status, what was told, and after how many seconds."""
    began = time.monotonic()
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read() or b"{}"), time.monotonic() - began
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), time.monotonic() - began


@both_at_length
async def test_who_begins_or_decides_over_http_is_told(tmp_path: Path, shim: Path, workers: Flags) -> None:
    """While the disk hangs: 503 in 3 s; when it works again nothing of it begins."""
    parameters = {"order_id": {"type": "string", "required": True}}
    tool = {"name": "refund_order", "parameters": parameters}
    with hanging(tmp_path, shim, *workers) as server:
        await until_ready(server)

        def ask() -> tuple[int, dict[str, Any], float]:
            return post(server, "/chat", user_id="anna", message="refund order A-17", tools=[tool])

        calls = [(await trio.to_thread.run_sync(ask))[1]["tool_call_id"] for _ in range(2)]
        approve = [
            partial(post, server, f"/calls/{call}/approve", user_id="anna", outcome="accept")
            for call in calls
        ]
        begin = [partial(post, server, f"/calls/{call}/begin") for call in calls]
        assert (await trio.to_thread.run_sync(approve[1]))[0] == 200
        server.hangs.touch()
        told: list[tuple[int, dict[str, Any], float]] = []

        async def asked(work: Callable[[], tuple[int, dict[str, Any], float]]) -> None:
            told.append(await trio.to_thread.run_sync(work))

        async with trio.open_nursery() as nursery:
            for work in (ask, approve[0], begin[1], partial(post, server, f"/calls/{calls[0]}/reject")):
                nursery.start_soon(asked, work)
        assert {(status, said["code"]) for status, said, _ in told} == {(503, "storage")}
        assert max(seconds for _, _, seconds in told) < SOON
        server.hangs.unlink()
        await until_ready(server)
        await trio.sleep(1)
        assert (await trio.to_thread.run_sync(begin[0]))[0] == 409
        assert (await trio.to_thread.run_sync(ask))[0] == 200


@both_at_length
@pytest.mark.parametrize("signals", [1, 2])
async def test_a_disk_that_hangs_does_not_keep_the_process(
    tmp_path: Path, shim: Path, signals: int, workers: Flags
) -> None:
    """With an action begun and one being claimed, one SIGTERM or two end it, and it says what was open."""
    with hanging(tmp_path, shim, "--action-delay-ms", "0,2000", *workers) as server:
        async with connect(server.url) as client, connect(server.url) as other:
            begun, late = await suggested(client), await suggested(other)
            await client.confirm(begun)
            await until_claimed(server)
            server.hangs.touch()
            await other.confirm(late)
            await until_held(server)
            for _ in range(signals):
                server.process.send_signal(signal.SIGTERM)
                await trio.sleep(0.5)  # two signals at once would be one
            assert await ended(server, PATIENCE) == 0
        said = server.said()
        assert "ledger left open, because its disk does not answer unrecorded=1" in said
        assert f"outcome not recorded suggestionId={short_hash(begun)}" in said
        assert "blocking call left behind function=DatabaseFile.commit" in said
        assert ("ended at once" in said) is (signals == 2)
    server.hangs.unlink()
    if not workers:
        # the second was written and not synced, so after this end it may be there, and after another it may not
        assert after_the_restart(tmp_path) == ["unknown", "unknown"]
    else:
        # A worker that ends while it syncs has told nobody of its row, so the other may write over it: the second is
        # gone, or what it was. Of the first the end may be there, written and not synced, where there was one.
        first, *second = after_the_restart(tmp_path)
        assert first in (("unknown", "done") if signals == 1 else ("unknown",))
        assert second in ([], ["unknown"])


@both_at_length
async def test_three_hundred_confirms_at_once_on_a_slow_disk(
    tmp_path: Path, shim: Path, workers: Flags
) -> None:
    """With 10 ms more for each sync all of them run, all are told so, and all are recorded."""
    told: Counter[bool] = Counter()
    slowest = 0.0
    with served(tmp_path, *workers, LD_PRELOAD=str(shim), DISK_TAKES="10") as server:

        async def user(ready: trio.Event, everyone: trio.Event) -> None:
            nonlocal slowest
            async with connect(server.url) as client:
                sid = await suggested(client)
                ready.set()
                await everyone.wait()
                await client.confirm(sid)
                answer, seconds = await result(client)
                told[answer["success"]] += 1
                slowest = max(slowest, seconds)

        async with trio.open_nursery() as nursery:
            everyone, ready = trio.Event(), [trio.Event() for _ in range(300)]
            for each in ready:
                nursery.start_soon(user, each, everyone)
            for each in ready:
                await each.wait()
            everyone.set()
        assert told == Counter({True: 300})
        assert server.statuses() == Counter(done=300)
        sys.stdout.write(f"300 confirms at once, 10 ms a sync: the last was answered after {slowest:.2f} s\n")


@both_at_length
async def test_an_outcome_outlives_a_lock(tmp_path: Path, workers: Flags) -> None:
    """Another program locks the database for 3 s while an action runs: the client is told, then the row has it."""
    with served(tmp_path, "--action-delay-ms", "0,1500", *workers) as server:
        async with connect(server.url) as client:
            await client.confirm(await suggested(client))
            await until_claimed(server)
            with closing(sqlite3.connect(server.data / FILE, isolation_level=None, timeout=5)) as other:
                other.execute("BEGIN IMMEDIATE")
                told, seconds = await result(client)
                assert told["success"] is True
                await trio.sleep(max(0, 3 - seconds))
                assert server.statuses() == Counter(claimed=1)
                other.execute("COMMIT")
            with trio.fail_after(PATIENCE):
                while server.statuses() != Counter(done=1):  # noqa: ASYNC110 - another process
                    await trio.sleep(0.1)


@both_at_length
async def test_a_folder_deleted_under_the_server(tmp_path: Path, workers: Flags) -> None:
    """The next action is not run, /readyz says why, and SIGTERM ends it as ever."""
    with served(tmp_path, *workers) as server:
        async with connect(server.url) as client:
            await client.confirm(await suggested(client))
            assert (await result(client))[0]["success"] is True
            shutil.rmtree(server.data)
            await client.confirm(await suggested(client))
            assert (await result(client))[0]["success"] is False
            status, words = await trio.to_thread.run_sync(server.readyz)
            assert (status, "restart the server" in words) == (503, True)
        server.process.send_signal(signal.SIGTERM)
        assert await ended(server, PATIENCE) == 0
        assert not (server.data / FILE).exists()  # a worker that was still reading may keep its index there


def test_a_thread_that_never_returns_does_not_keep_a_process(tmp_path: Path) -> None:
    """A FIFO that nobody writes to blocks its reader for ever; the caller is away, and so is the process."""
    os.mkfifo(tmp_path / "fifo")
    life = (
        "import sys, trio\n"
        "from agent.host import WorkerThreads\n"
        "async def main():\n"
        "    with trio.move_on_after(0.2) as scope:\n"
        "        await WorkerThreads()(lambda: open(sys.argv[1]).read())\n"
        "    print(scope.cancelled_caught)\n"
        "trio.run(main)\n"
    )
    command = [sys.executable, "-c", life, str(tmp_path / "fifo")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert ended.stdout.endswith("True\n")
    assert "blocking call left behind" in ended.stdout
