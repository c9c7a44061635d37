"""What a user forgets or deletes from elsewhere is said no more by the time that it is acknowledged."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.client.client import Client, connect_over
from agent.compose.adapters import Adapters
from agent.memory.thread_follower import FOLLOW_EVERY
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import Network, network
from agent.voice.engines.tone import Tone
from tests.server.api import read, request

HOUSES = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")
TELLS = (
    "Remember that my locker code is 8642, and that its door is blue, heavy, and hard to open for a child, "
    "or with one hand."
)
ASKS = "What is my locker code?"
ANA, OPERATOR = "the-token-of-ana-long-enough", "the-token-of-an-operator-long"
Act = Callable[[Network, Client, str], Awaitable[float]]


async def forget_over_http(net: Network, _: Client, __: str) -> float:
    """Forget the item; return the time of the answer."""
    end = net.open()
    forget = b'{"user_id": "ana", "decision": "forget"}'
    end.feed(request("POST", "/memory/i1", forget, f"Authorization: Bearer {ANA}"))
    answer = await read(end)
    assert b'"forgotten"' in answer, answer
    return trio.current_time()


async def forget_in_another_tab(_: Network, tab: Client, __: str) -> float:
    """Forget the item over a socket."""
    await tab.send({"type": "memory_forget", "id": "f", "item": "i1"})
    await tab.frames_until("memory_changed")
    return trio.current_time()


async def delete_in_another_tab(_: Network, tab: Client, thread: str) -> float:
    """Delete the thread over a socket."""
    await tab.send({"type": "thread_delete", "id": "d", "thread": thread})
    await tab.frames_until("thread_deleted")
    return trio.current_time()


class Listener:
    """Keeps what comes to a client, with its time."""

    def __init__(self, client: Client) -> None:
        self.came: list[tuple[float, Any]] = []
        self._client = client
        self._news = trio.Event()

    async def run(self) -> None:
        while True:
            message = await self._client.next_message()
            self.came.append((trio.current_time(), message))
            self._news.set()
            self._news = trio.Event()

    def of(self, kind: str) -> list[Any]:
        """Return the frames of a type."""
        return [each for _, each in self.came if not isinstance(each, bytes) and each["type"] == kind]

    def time_of_last(self, kind: str) -> float:
        """Return the time of the last frame of a type."""
        return max(at for at, each in self.came if not isinstance(each, bytes) and each["type"] == kind)

    @property
    def audio_ended(self) -> float:
        """The time of the last audio."""
        return max(at for at, each in self.came if isinstance(each, bytes))

    async def until(self, kind: str) -> Any:
        """Return the first frame of a type."""
        with trio.fail_after(60):
            while not self.of(kind):
                await self._news.wait()
        return self.of(kind)[0]


@asynccontextmanager
async def serving(folder: Path, pace_ms: int = 0) -> AsyncGenerator[Network]:
    """A server that remembers and speaks; a second one over the folder is as another worker."""
    users = folder / "users.toml"
    users.write_text(f'ana = "{ANA}"\n', "utf-8")
    settings = Settings.of(
        pace_ms=pace_ms, rate_limit=0, token=OPERATOR, users=users, memory="on", data=str(folder / "data")
    )
    async with network(settings, Adapters(synthesizer=Tone()), (HOUSES,)) as net:
        yield net


@asynccontextmanager
async def telling(net: Network) -> AsyncGenerator[tuple[Listener, str]]:
    """A client that hears an answer about an item, and its thread."""
    async with connect_over(net.open(), token=ANA, voice=True) as client, trio.open_nursery() as nursery:
        heard = Listener(client)
        nursery.start_soon(heard.run)
        await client.send({"type": "thread_list", "id": "l", "follow": True})
        await client.ask(TELLS, "a")
        await heard.until("speech_end")
        await trio.sleep(1)  # until it is remembered
        await client.send({"type": "open_thread", "id": "o"})
        thread = (await heard.until("thread"))["thread"]
        heard.came.clear()
        await client.ask(ASKS, "b")
        await heard.until("speech")
        await trio.sleep(0.5)
        yield heard, thread
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("act", [forget_over_http, forget_in_another_tab, delete_in_another_tab])
@pytest.mark.parametrize("pace_ms", [0, 100])
async def test_speech_ends_before_the_end_of_its_words_is_acknowledged(
    pace_ms: int, act: Act, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """And so does the text, where it is streamed still."""
    async with (
        serving(tmp_path, pace_ms) as net,
        connect_over(net.open(), token=ANA) as tab,
        telling(net) as (heard, thread),
    ):
        assert bool(heard.of("response")) == (pace_ms == 0)
        acknowledged = await act(net, tab, thread)
        await trio.sleep(10)
        assert [frame["reason"] for frame in heard.of("speech_end")] == ["cancelled"]
        assert heard.audio_ended <= acknowledged
        assert heard.time_of_last("stream") <= acknowledged
        assert [frame["reason"] for frame in heard.of("stream_end")] == ["cancelled" if pace_ms else "done"]
        assert bool(heard.of("response")) == (pace_ms == 0)


@pytest.mark.parametrize("act", [forget_in_another_tab, delete_in_another_tab])
async def test_speech_ends_soon_after_another_worker_takes_its_words(
    act: Act, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Where the client follows its threads."""
    async with (
        serving(tmp_path) as here,
        serving(tmp_path) as there,
        connect_over(there.open(), token=ANA) as tab,
        telling(here) as (heard, thread),
    ):
        acknowledged = await act(there, tab, thread)
        await trio.sleep(10)
        assert [frame["reason"] for frame in heard.of("speech_end")] == ["cancelled"]
        assert heard.audio_ended <= acknowledged + 2 * FOLLOW_EVERY
