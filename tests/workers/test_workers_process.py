"""Two workers in real processes behind one port: what holds of one server holds of the pair."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
import trio

from .processes import (
    PATIENCE,
    ROOT,
    Pair,
    agrees,
    by_worker,
    connected,
    given,
    nobody_left,
    pair,
    runs,
    until,
)

pytestmark = pytest.mark.proof
QUESTION = "What does the Standard plan cost per month?"


def test_a_pair_from_its_start_to_its_end(tmp_path: Path) -> None:
    """Balanced, summed, one dies and comes back, the ledger is one, the drain answers what is in progress; exit 0."""
    with pair(tmp_path, "--pace-ms", "5") as server:
        server.ready()
        assert len(server.workers()) == 2
        trio.run(_balanced_and_summed, server)
        trio.run(_one_dies, server)
        trio.run(_acts_once, server)
        workers = server.workers()
        trio.run(_drains, server)
        assert server.process.wait(PATIENCE) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert {line["worker"] for line in server.lines("worker ended")} == {1, 2}
    assert {line["worker"] for line in server.lines("turn ended")} == {1, 2}
    assert "Traceback" not in server.log.read_text()
    assert "event loop is stuck" not in server.log.read_text()


async def _balanced_and_summed(server: Pair) -> None:
    await nobody_left(server)
    await given(server, 10, lambda to: sorted(to.values()) == [5, 5])
    async with AsyncExitStack() as stack:
        clients = [client for of in (await by_worker(stack, server, 5)).values() for client in of]
        await agrees(server, "agent_sessions", 10)
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(client.ask, QUESTION)
        for client in clients:
            with trio.fail_after(PATIENCE):
                assert "299" in (await client.until("response"))[-1]["text"]
        for _ in range(4):  # whichever worker is hit
            await agrees(server, "agent_messages_total", 10)
            await agrees(server, "agent_first_delta_seconds_count", 10)
            await agrees(server, 'agent_turns_total{outcome="answered"}', 10)


async def _one_dies(server: Pair) -> None:
    """SIGKILL ends its connections and no others; the sum does not fall; a new one serves."""
    async with AsyncExitStack() as stack:
        (victim, lost), (other, kept) = (await by_worker(stack, server, 3)).items()
        os.kill(victim, signal.SIGKILL)
        assert [await client.until_closed() for client in lost] == [1006] * 3
        for client in kept:
            await client.ask(QUESTION)
        for client in kept:
            assert "299" in (await client.until("response"))[-1]["text"]
        await until(lambda: len(server.workers()) == 2 and len(server.lines("knowledge base")) == 3)
        await trio.to_thread.run_sync(server.ready)
        (new,) = set(server.workers()) - {other}
        assert new != victim
        await given(server, 3, lambda to: to == {new: 3})  # the fewest are there
        newcomer = await connected(stack, server)
        await newcomer.ask(QUESTION)
        assert "299" in (await newcomer.until("response"))[-1]["text"]
        await agrees(server, "agent_worker_deaths_total", 1)
        await agrees(server, "agent_messages_total", 14)


async def _acts_once(server: Pair) -> None:
    """A confirmed action runs once, whoever else confirms its id: another session, of another worker."""
    async with AsyncExitStack() as stack:
        (one,), (two,) = (await by_worker(stack, server, 1)).values()
        await one.ask("Please call me back at 070-123 45 67")
        suggestion = (await one.until("action_suggestion"))[-1]["suggestionId"]
        for client in (one, two, one, two):
            await client.send(type="confirm_action", suggestionId=suggestion)
        results = [(await one.until("action_executed"))[-1]["result"] for _ in range(2)]
        assert {"ignored": True} in results
        assert sum(result.get("success") is True for result in results) == 1
        for _ in range(2):
            assert (await two.until("error"))[-1]["code"] == "unknown_suggestion"
        with closing(sqlite3.connect(server.log.parent / "data" / "ledger.sqlite")) as ledger:
            assert ledger.execute("SELECT status FROM actions").fetchall() == [("done",)]


async def _drains(server: Pair) -> None:
    async with AsyncExitStack() as stack:
        busy, idle, also = [await connected(stack, server) for _ in range(3)]
        for client in (busy, also):
            await client.ask(QUESTION)
            await client.until("stream")
        server.process.send_signal(signal.SIGTERM)
        for client in (busy, also):
            assert "299" in (await client.until("response"))[-1]["text"]
        assert [await client.until_closed() for client in (busy, idle, also)] == [1012] * 3


def test_the_caps_are_those_of_the_pair_and_a_second_sigterm_ends_it_now(tmp_path: Path) -> None:
    """Never a connection more than the cap, never a message more than the rate, in both workers together."""
    limits = ("--max-connections", "5", "--address-rate", "2", "--pace-ms", "1000")
    with pair(tmp_path, *limits) as server:
        server.ready()
        trio.run(_capped, server)
        assert server.process.wait(PATIENCE) == 0
    assert server.lines("ended at once")


async def _capped(server: Pair) -> None:
    await nobody_left(server)
    async with AsyncExitStack() as stack:
        clients = [await connected(stack, server) for _ in range(5)]
        assert min(server.held()) > 0, "it is the cap of both"
        began = trio.current_time()
        for client in clients:  # the rate lets four pass, and who was answered by a session does not give way
            await client.ask(QUESTION)
        await until(lambda: all(client.frames for client in clients))
        most = 4 + 2 * (trio.current_time() - began)
        errors = [
            frame["code"] for client in clients for _, frame in client.frames if frame["type"] == "error"
        ]
        assert set(errors) <= {"rate_limited"}
        assert len(clients) - len(errors) <= most
        refused = []
        for _ in range(3):
            refused.append(await connected(stack, server))
            await refused[-1].until_answered()
        assert sum(client.closed is None for client in [*clients, *refused]) <= 5
        await agrees(server, "agent_sessions", 5)
        server.process.send_signal(signal.SIGTERM)
        await until(lambda: not server.accepts())  # two signals at once would be one
        assert server.process.poll() is None, "four are in the middle of an answer"
        server.process.send_signal(signal.SIGTERM)
        await until(lambda: server.process.poll() is not None)  # while the clients are there


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    """Nobody is left behind."""
    with pair(tmp_path) as server:
        left = server.workers()
        server.process.kill()
        deadline = time.monotonic() + PATIENCE
        while any(map(runs, left)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert server.lines("supervisor is gone")


def test_a_worker_that_cannot_start_ends_the_command_with_one_line(tmp_path: Path) -> None:
    """As it would without workers."""
    (tmp_path / "data").write_text("no folder")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "agent",
            "serve",
            "--workers",
            "2",
            "--port",
            "0",
            "--kb",
            str(ROOT / "kb"),
            "--data",
            "data",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    complaints = [line for line in ended.stderr.splitlines() if line.startswith("agent:")]
    assert len(complaints) == 1
    assert "actions cannot be kept" in complaints[0]
