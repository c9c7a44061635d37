"""How often a message over HTTP goes to the disk: each trip to a thread waits for its place in the loop twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.settings import Settings
from agent.storage.backend import BatchReport, WriteRequest
from agent.storage.sqlite.database_file import DatabaseFile
from agent.testing.network import network
from tests.server import parted
from tests.server.api import TOKEN, read, request

T = TypeVar("T")


class Trips:
    """Does blocking work at once, and counts it (`agent.ports.work.RunSync`)."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`."""
        self.count += 1
        await trio.lowlevel.checkpoint()
        return function()


@pytest.mark.parametrize(("memory", "most"), [("on", 3), ("off", 2)])
async def test_a_chat_takes_few_trips_and_commits(
    autojump_clock: trio.testing.MockClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: str,
    most: int,
) -> None:
    """One to begin the turn, one to store its end, one to remember it; a known thread takes no more than a new one."""
    trips, commits = Trips(), list[int]()
    commit = DatabaseFile.commit

    def count_commit(file: DatabaseFile, requests: list[WriteRequest]) -> BatchReport:
        commits.append(len(requests))
        return commit(file, requests)

    monkeypatch.setattr(DatabaseFile, "commit", count_commit)
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "prices.md").write_text("# Prices\n\nThe Basic plan costs 199 kr a month.\n")
    settings = Settings.of(
        kb=tmp_path / "kb", data=str(tmp_path / "data"), memory=memory, vectors="off", token=TOKEN, pace_ms=0
    )
    async with network(settings, Adapters(run_sync=trips)) as net:

        async def chat(**more: str) -> str:
            body = json.dumps({"user_id": "anna", "message": "What does Basic cost?"} | more).encode()
            end = net.open()
            end.feed(request("POST", "/chat", body, key=TOKEN))
            status, _, answer = parted(await read(end))
            assert status == 200, answer
            return str(json.loads(answer)["thread_id"])

        thread = await chat()
        for more in ({}, {"thread_id": thread}):
            await trio.testing.wait_all_tasks_blocked()
            before = trips.count, len(commits)
            await chat(**more)
            assert (trips.count - before[0], len(commits) - before[1]) == (most, most)
