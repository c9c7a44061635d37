"""What a user forgets or deletes from elsewhere is said no more by the time that it is acknowledged."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.client.client import Client, connect_over
from agent.compose.adapters import Adapters
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import Network, network
from agent.voice.engines.tone import Tone
from tests.server.api import read, request

HOUSES = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")
TELLS = (
    "Remember that my locker code is 8642, and that the door of my locker is blue, heavy and hard to open."
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

    async def until(self, kind: str) -> Any:
        """Return the first frame of a type."""
        with trio.fail_after(60):
            while not self.of(kind):
                await self._news.wait()
        return self.of(kind)[0]


@pytest.mark.parametrize("act", [forget_over_http, forget_in_another_tab, delete_in_another_tab])
@pytest.mark.parametrize("pace_ms", [0, 100])
async def test_speech_ends_before_the_end_of_its_words_is_acknowledged(
    pace_ms: int, act: Act, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Also while the text is streamed; text goes on as it does without voice."""
    users = tmp_path / "users.toml"
    users.write_text(f'ana = "{ANA}"\n', "utf-8")
    settings = Settings.of(
        pace_ms=pace_ms, rate_limit=0, token=OPERATOR, users=users, memory="on", data="memory"
    )
    async with (
        network(settings, Adapters(synthesizer=Tone()), (HOUSES,)) as net,
        connect_over(net.open(), token=ANA, voice=True) as talker,
        connect_over(net.open(), token=ANA) as tab,
        trio.open_nursery() as nursery,
    ):
        heard = Listener(talker)
        nursery.start_soon(heard.run)
        await talker.ask(TELLS, "a")
        await heard.until("speech_end")
        await trio.sleep(1)  # until it is remembered
        await talker.send({"type": "open_thread", "id": "o"})
        thread = (await heard.until("thread"))["thread"]
        heard.came.clear()
        await talker.ask(ASKS, "b")
        await heard.until("speech")
        await trio.sleep(0.5)
        assert bool(heard.of("response")) == (pace_ms == 0)
        acknowledged = await act(net, tab, thread)
        await trio.sleep(10)
        assert [frame["reason"] for frame in heard.of("speech_end")] == ["cancelled"]
        assert max(at for at, each in heard.came if isinstance(each, bytes)) <= acknowledged
        nursery.cancel_scope.cancel()
