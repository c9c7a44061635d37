"""The composed server when its ledger does not answer, and what a drain owes to actions and handshakes."""

import io
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.client.client import Client
from agent.compose.adapters import Adapters
from agent.config import ACTION_TIMEOUT, RECORD_TIMEOUT
from agent.errors import WireClosed
from agent.host import WorkerThreads
from agent.log import short_hash
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.storage import places
from agent.storage.committer import LEDGER_CLOSE_TIMEOUT, LEDGER_RETRY
from agent.storage.memory_ledger import MemoryLedger
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.trust import FILE, connect_afresh
from agent.testing.network import Disk, Network, network
from tests.logs import logged

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)
LONG = "How is the special parcel packed?"
WORDY = (
    SourceFile.of(
        "kb/parcels.md",
        "# Parcels\n\nThe special parcel is packed "
        + ", ".join(f"with {colour} paper" for colour in ("red", "blue", "green", "white", "black", "brown"))
        + " and by hand, until it is ready.\n",
    ),
)
KB = (SourceFile.of("kb/pricing.md", "# Pricing\n\nThe Standard plan costs 299 kr a month.\n"),)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged."""
    with logged("warning") as stream:
        yield stream


@asynccontextmanager
async def kept_on(disk: Disk, folder: Path, **settings: Any) -> AsyncGenerator[Network, None]:
    """A server whose ledger is in a folder, on a disk that can hang."""
    chosen = Settings.of(pace_ms=0, rate_limit=0, data=str(folder), **settings)
    async with network(chosen, Adapters(run_sync=disk), KB) as net:
        yield net


async def suggested(client: Client, words: str = "call me on 070-174 06 05") -> str:
    """Ask for an action; return the id of its suggestion."""
    await client.ask(words)
    return str((await client.frames_until("action_suggestion"))[-1]["suggestionId"])


async def executed(client: Client) -> dict[str, Any]:
    """Return the next result of an action."""
    result: dict[str, Any] = (await client.frames_until("action_executed"))[-1]["result"]
    return result


async def readyz(net: Network) -> str:
    """Return what the server says of its readiness: status and words."""
    stream = net.open()
    await stream.send_all(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:8787\r\n\r\n")
    answer = b""
    while piece := await stream.receive_some():
        answer += piece
    head, _, body = answer.decode().partition("\r\n\r\n")
    return f"{head.split()[1]} {body.strip()}"


def status(folder: Path, suggestion_id: str) -> str:
    """Return what the ledger's file says of an action."""
    with closing(connect_afresh(folder / FILE, 0.0)) as file:
        query = "SELECT status FROM actions WHERE suggestion_id = ?"
        return str(file.execute(query, (suggestion_id,)).fetchone()[0])


# --- a ledger that does not answer


async def test_a_hung_ledger_keeps_nobody_waiting(autojump_clock: MockClock, tmp_path: Path) -> None:
    """A confirm is answered in RECORD_TIMEOUT, the next at once, as a cancel is, another user as if nothing were."""
    disk = Disk()
    async with kept_on(disk, tmp_path) as net, net.connect() as client, net.connect() as other:
        first = await suggested(client)
        assert await readyz(net) == "200 ready"
        disk.hang()
        began = trio.current_time()
        await client.confirm(first)
        await trio.sleep(0.5)
        await client.cancel()
        assert await executed(client) == {"cancelled": True}
        assert trio.current_time() - began == pytest.approx(0.5, abs=0.01)
        disk.work()
        await trio.sleep(RECORD_TIMEOUT)

        first = await suggested(client)
        disk.hang()
        began = trio.current_time()
        await client.confirm(first)
        result = await executed(client)
        assert trio.current_time() - began == pytest.approx(RECORD_TIMEOUT, abs=0.01)
        assert result["success"] is False
        assert "unknown" not in result
        assert "new suggestion" in result["error"]
        assert await readyz(net) == (
            "503 not ready: Actions cannot be run, because of the ledger: its disk does not answer."
        )

        second = await suggested(client)
        began = trio.current_time()
        await client.confirm(second)
        assert (await executed(client))["success"] is False
        assert trio.current_time() - began < 0.01
        await other.ask("What does the standard plan cost?")
        assert "299" in (await other.frames_until("response"))[-1]["text"]

        disk.work()
        await trio.sleep(RECORD_TIMEOUT)
        assert await readyz(net) == "200 ready"
        # whoever confirms again is not invited to; who asks again gets another suggestion, which runs
        await client.confirm(first)
        assert await executed(client) == {"ignored": True}
        await client.confirm(await suggested(client))
        assert (await executed(client))["success"] is True


@pytest.mark.parametrize("twice", [False, True])
async def test_a_hung_ledger_does_not_keep_the_server_alive(
    autojump_clock: MockClock,
    tmp_path: Path,
    log: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
    twice: bool,
) -> None:
    """Drained, or ended at once, it is gone in seconds and has said what was open; the next start tells the truth."""
    opened: list[DatabaseFile] = []

    def open_file(*given: Any) -> DatabaseFile:
        opened.append(DatabaseFile(*given))
        return opened[-1]

    monkeypatch.setattr(places, "DatabaseFile", open_file)
    disk = Disk()
    async with trio.open_nursery() as nursery:
        async with kept_on(disk, tmp_path, action_delay_ms=(0.0, 1000.0)) as net:
            async with net.connect() as client:
                await client.next_frame()
                sid = await suggested(client)
                await client.confirm(sid)
                await trio.sleep(0.5)
                disk.hang()  # claimed and begun; its outcome cannot be recorded
            began = trio.current_time()
            net.app.drain()
            if twice:
                await trio.sleep(0.1)
                net.app.stop()
            assert net.app.runner is not None
            await net.app.runner.wait_idle()
        assert trio.current_time() - began < 0.5 + 2 * RECORD_TIMEOUT + LEDGER_CLOSE_TIMEOUT
        assert not nursery.child_tasks
    said = log.getvalue()
    assert ('"ended at once"' in said) is twice
    assert '"ledger left open, because its disk does not answer", "unrecorded": 1' in said
    assert f'"outcome not recorded", "suggestionId": "{short_hash(sid)}"' in said
    assert status(tmp_path, sid) == "claimed"
    opened[0].close()  # as the end of its process does
    async with kept_on(Disk(), tmp_path):
        assert status(tmp_path, sid) == "unknown"


async def test_an_action_is_told_done_although_its_outcome_waits(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    """The client gets the real result in RECORD_TIMEOUT; the row has it once the disk answers; the level says so."""
    disk = Disk()
    async with kept_on(disk, tmp_path, action_delay_ms=(0.0, 1000.0)) as net, net.connect() as client:
        sid = await suggested(client)
        await client.confirm(sid)
        await trio.sleep(0.5)
        disk.hang()
        assert (await executed(client))["success"] is True
        assert trio.current_time() <= 1.0 + RECORD_TIMEOUT + 0.01
        assert b"agent_actions_unrecorded 1.0" in net.app.metrics.text()
        disk.work()
        await trio.sleep(2 * LEDGER_RETRY)
        assert b"agent_actions_unrecorded 0.0" in net.app.metrics.text()
        assert status(tmp_path, sid) == "done"


async def test_a_folder_that_is_gone_is_said(
    autojump_clock: MockClock, tmp_path: Path, log: io.StringIO
) -> None:
    """Nothing runs, one line says why, and the server is ready again when the folder is back."""
    folder, away = tmp_path / "data", tmp_path / "away"
    async with kept_on(Disk(), folder) as net, net.connect() as client:
        await client.confirm(await suggested(client))
        assert (await executed(client))["success"] is True
        folder.rename(away)
        await client.confirm(await suggested(client))
        assert (await executed(client))["success"] is False
        assert (await readyz(net)).startswith(
            "503 not ready: Actions cannot be run, because of the ledger: its files"
        )
        assert log.getvalue().count("ledger does not work") == 1
        away.rename(folder)
        await trio.sleep(2 * LEDGER_RETRY)
        assert await readyz(net) == "200 ready"
        await client.confirm(await suggested(client))
        assert (await executed(client))["success"] is True


# --- what a drain owes


async def test_a_drain_waits_for_an_action_whose_client_is_gone(autojump_clock: MockClock) -> None:
    """Begun, its client gone, the server going down: it has its time, and its outcome is recorded."""
    ledger = MemoryLedger()
    settings = Settings.of(pace_ms=0, rate_limit=0, action_delay_ms=(0.0, 7000.0))
    async with network(settings, Adapters(ledger=ledger), KB) as net:
        async with net.connect() as client:
            await client.confirm(await suggested(client))
            await trio.sleep(0.5)
        net.app.drain()
        await trio.sleep(7)
    (row,) = await ledger.rows()
    assert (row.status, row.ended_at is not None) == ("done", True)


async def test_a_drain_gives_an_action_its_time_to_begin_and_its_time_to_end(
    autojump_clock: MockClock, log: io.StringIO
) -> None:
    """Two actions of one session, each almost as slow as it may be: both have ended before the server does."""
    ledger = MemoryLedger()
    slow = 1000 * (ACTION_TIMEOUT - 0.1)
    settings = Settings.of(pace_ms=0, rate_limit=0, action_delay_ms=(slow, slow))
    async with network(settings, Adapters(ledger=ledger), KB) as net, net.connect() as client:
        await client.ask("call me on 070-174 06 05 and open a ticket")
        for _ in range(2):
            suggestion = (await client.frames_until("action_suggestion"))[-1]
            await client.confirm(suggestion["suggestionId"])
        await wait_all_tasks_blocked()
        net.app.drain()
        with pytest.raises(WireClosed):
            await client.frames_until("nothing")
        await trio.sleep(4 * ACTION_TIMEOUT)
    assert [row.status for row in await ledger.rows()] == ["done", "done"]
    assert '"sessions cut short", "sessions": 1' in log.getvalue()


def requested(path: str, body: dict[str, Any], *headers: str) -> bytes:
    """Return a request with a JSON body."""
    data = json.dumps(body).encode()
    about = ("Host: localhost", "Content-Type: application/json", f"Content-Length: {len(data)}")
    return "\r\n".join((f"POST {path} HTTP/1.1", *about, *headers, "", "")).encode() + data


SLOW = Settings.of(pace_ms=500, rate_limit=0, data="memory")  # LONG is answered in 13 s


async def test_a_drain_says_what_is_verified_without_a_pace(autojump_clock: MockClock) -> None:
    """The rest of an answer is said at once, and then the connection is closed."""
    async with network(SLOW, documents=WORDY) as net, net.connect() as client:
        await client.ask(LONG)
        await client.frames_until("stream")
        await trio.sleep(2.4)
        net.app.drain()
        (*_, response) = await client.frames_until("response")
        assert response["text"].endswith("until it is ready.")
        assert trio.current_time() < 2.5


async def test_a_drain_ends_a_chat_without_a_pace(autojump_clock: MockClock) -> None:
    """Its events come as soon as the one that waits is due."""
    async with network(SLOW, documents=WORDY) as net:
        stream = net.open()
        stream.feed(requested("/chat", {"user_id": "anna", "message": LONG}, "Accept: text/event-stream"))
        answer = b""
        while answer.count(b"data:") < 6:
            piece = await stream.receive_some()
            assert piece
            answer += piece
        began = trio.current_time()
        net.app.drain()
        while piece := await stream.receive_some():
            answer += piece
        assert b"ready" in answer
        assert trio.current_time() - began <= 0.5


async def test_a_connection_in_its_handshake_is_told_that_the_server_goes_down(
    autojump_clock: MockClock,
) -> None:
    """The drain began after its first bytes and before its last: it is let in, and closed with 1012 at once."""
    async with network(Settings.of(pace_ms=0), documents=KB) as net:
        ours = net.open()
        await ours.send_all(UPGRADE)
        async with net.connect() as busy:
            await busy.next_frame()
            await suggested(busy)
            await wait_all_tasks_blocked()
            net.app.drain()
            await ours.send_all(b"\r\n")
            await wait_all_tasks_blocked()
            answer = await ours.receive_some()
            assert answer.startswith(b"HTTP/1.1 101 ")
            while b"\x88" not in answer:
                answer += await ours.receive_some()
            close = answer.partition(b"\x88")[2]
            assert int.from_bytes(close[1:3], "big") == 1012
            assert trio.current_time() < 1


# --- threads


async def test_a_blocking_call_is_left_behind_when_it_is_cancelled(log: io.StringIO) -> None:
    """Its caller is away at once, it goes on and keeps its place, and the log names it."""
    threads, go_on, ended = WorkerThreads(1), threading.Event(), threading.Event()

    def block_for_long() -> None:
        go_on.wait(5)
        ended.set()

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads, block_for_long)
            await wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
        assert not ended.is_set()
        assert "block_for_long" in log.getvalue()
        with trio.CancelScope() as scope:
            scope.cancel()
            await threads(lambda: pytest.fail("two at a time"))
        go_on.set()
        assert await threads(ended.is_set)
    assert log.getvalue().count("blocking call left behind") == 1
