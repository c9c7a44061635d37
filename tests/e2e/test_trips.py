"""Counts the trips to worker threads of a turn with memory: each costs some 0.2 ms and a place in the loop."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import trio
import trio.testing

from agent.testing import network
from tests.server.api import TOKEN
from tests.server.api.whole import Whole, whole

T = TypeVar("T")
CHAT, SOCKET = 3, 2  # trips at most
SAYS = "My budget of atlas is 50 SEK."
ASKS = "What is my budget of atlas?"


class Threads:
    """Does blocking work at once, and counts it (`agent.ports.work.RunSync`)."""

    def __init__(self) -> None:
        self.trips = 0

    async def __call__(self, function: Callable[[], T], begin: Callable[[], None] = lambda: None) -> T:
        """Return `function()`."""
        self.trips += 1
        await trio.lowlevel.checkpoint()
        begin()
        return function()


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    """The threads of every server of the test."""
    counted = Threads()
    monkeypatch.setattr(network, "inline", counted)
    return counted


async def settled(server: Whole) -> None:
    """Wait until the exchange is kept, and what follows is done; no time passes, so nothing else is due."""
    await trio.testing.wait_all_tasks_blocked()


@pytest.mark.parametrize("data", ["folder", "memory"])
async def test_a_chat_goes_to_a_thread_three_times(
    tmp_path: Path, threads: Threads, data: str, mock_clock: trio.testing.MockClock
) -> None:
    """To begin, to end and to remember: in a new thread and in a known one, also where its answer cites memory."""
    async with whole(memory="on", data=str(tmp_path) if data == "folder" else data) as server:
        server.model.says = "Your budget of atlas is 50 SEK."
        told = await server.chat(SAYS)
        await server.chat(ASKS)  # the first looks of this process are behind it
        await settled(server)
        counts = []
        for thread in (None, None, told["thread_id"], told["thread_id"]):
            before = threads.trips
            fields = {} if thread is None else {"thread_id": thread}
            answer = await server.chat(ASKS, **fields)
            await settled(server)
            assert any(each["file"].startswith("memory/") for each in answer["citations"]), answer
            counts.append(threads.trips - before)
        assert max(counts) <= CHAT, counts


async def test_a_turn_over_a_socket_goes_to_a_thread_twice_at_most(
    tmp_path: Path, threads: Threads, mock_clock: trio.testing.MockClock
) -> None:
    """However long the conversation is that it belongs to."""
    async with whole(memory="on", data=str(tmp_path)) as server, server.net.connect(TOKEN) as client:
        server.model.says = "Your budget of atlas is 50 SEK."
        counts = []
        for text in (SAYS, ASKS, ASKS, ASKS, ASKS):
            before = threads.trips
            await client.ask(text)
            await client.frames_until("response")
            await settled(server)
            counts.append(threads.trips - before)
        assert max(counts[2:]) <= SOCKET, counts
