"""The process whose instructions `tests.bench.instructions` counts: `python -m tests.bench.counted [--voice]`.

With `--voice` the server of turns and connections has a mouth and an ear, which no client of it uses.

A whole server and its clients run in this process, over streams in memory and on virtual time: sniffer, upgrade,
session, turn and writer, without a socket, a thread or a real clock. Over sockets the number of reads, timers and
switches between threads goes by the time that a busy machine gives to each process, so figures did not repeat. Here
one client speaks at a time, trio orders its tasks by a seed, and each kind of work is done before it is counted, in
rounds, since threads that wrote an index may end in the first of them.
The client's part of a figure is some thousand instructions a turn.

Standard output has one line `NAME UNITS` before each kind of work, which waits for a line on standard input, and one
line `done` after it.
"""

import gc
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio
from trio._core import _run as trio_run
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.compose.adapters import Adapters
from agent.llm.script import ScriptEntry, ScriptModel
from agent.log import configure
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.faults import PipeEnd
from agent.testing.network import Network, network
from agent.voice.engines.script import Script
from agent.voice.engines.tone import Tone
from tests.bench.load.frames import CLOSE, frame, upgrade
from tests.bench.load.line import Line, Turn
from tests.e2e.questions import questions
from tests.server import parted
from tests.server.api import TOKEN, read, request

from .servers import PAGE, QUESTION, ROOT, flat_answer

WORDS = 200  # of a flat answer
SAME = "Tell me about Right of withdrawal."
ROUNDS, TURNS, DIFFERENT, CONNECTIONS, REMEMBERED, CHATS = 3, 5, 8, 15, 8, 6
SETTINGS = Settings.of(kb=ROOT / "kb", vectors="off", pace_ms=0, rate_limit=0, hit_cache=False)
TOLD = 40
"""Statements of one user that are remembered before any question about them: 80 rows of recall."""


def settings_with_memory(folder: Path) -> Settings:
    """Return the settings of a server that remembers in a folder."""
    asked = {"pace_ms": 0, "rate_limit": 0, "api_rate": 0, "token": TOKEN, "data": str(folder)}
    return Settings.of(kb=ROOT / "kb", vectors="off", hit_cache=False, memory="on", **asked)


def tells(number: int) -> str:
    """Return a statement to remember."""
    return f"The code of my {_ADJECTIVES[number % 8]} {_NOUNS[number // 8]} is {37 * number + 1009}."


def asks(number: int) -> str:
    """Return a question that only this statement answers."""
    return f"What is the code of my {_ADJECTIVES[number % 8]} {_NOUNS[number // 8]}?"


_ADJECTIVES = ("wooden", "purple", "rusty", "Norwegian", "folding", "antique", "broken", "tiny")
_NOUNS = ("suitcase", "kayak", "telescope", "wardrobe", "anvil")


class CountedClient:
    """One session over a stream in memory, that asks one question at a time."""

    def __init__(self, end: PipeEnd) -> None:
        self._end = end
        self._line = Line(end.feed, lambda line, turn: self._ended.append(turn))
        self._ended: list[Turn] = []

    async def shake_hands(self, token: str | None = None) -> None:
        """Upgrade to a WebSocket, and wait until its session waits for a message."""
        self._end.feed(upgrade("localhost", SETTINGS.server.port, "/ws", token))
        head = await self._end.receive_some()
        assert head.startswith(b"HTTP/1.1 101 "), head
        assert head.endswith(b"\r\n\r\n"), head
        await wait_all_tasks_blocked()

    async def ask(self, text: str) -> None:
        """Ask a question and take its whole answer."""
        self._line.ask(text, 0.0)
        before = len(self._ended)
        while len(self._ended) == before:
            self._line.received(await self._end.receive_some(), 0.0)
        assert self._ended[-1].outcome == "done", self._ended[-1]

    async def leave(self) -> None:
        """Close the session, and wait until nothing of it runs."""
        self._end.feed(frame(CLOSE, b"\x03\xe8"))
        while await self._end.receive_some():
            pass
        self._end.close()
        await wait_all_tasks_blocked()

    @property
    def deltas(self) -> int:
        """The number of words that the answers had so far."""
        return sum(turn.deltas for turn in self._ended)


@asynccontextmanager
async def visit(net: Network, token: str | None = None) -> AsyncGenerator[CountedClient, None]:
    """Connect a client for the time of a block."""
    client = CountedClient(net.open())
    await client.shake_hands(token)
    yield client
    await client.leave()


async def count(name: str, units: int, work: Callable[[], Awaitable[object]]) -> None:
    """Have the instructions of `work` counted, which does so many `units`."""
    gc.collect()
    gc.freeze()
    sys.stdout.write(f"{name} {units}\n")
    sys.stdout.flush()
    sys.stdin.readline()
    await work()
    sys.stdout.write("done\n")
    sys.stdout.flush()


async def ask_all(client: CountedClient, asked: Sequence[str]) -> None:
    """Ask these questions, one after the other."""
    for text in asked:
        await client.ask(text)


async def chat_all(net: Network, texts: Sequence[str]) -> None:
    """Say these to `POST /chat`, each over a connection of its own in a new thread of one user."""
    for text in texts:
        end = net.open()
        body = json.dumps({"user_id": "anna", "message": text}).encode()
        end.feed(request("POST", "/chat", body, key=TOKEN))
        status, _, answer = parted(await read(end))
        assert status == 200, answer
        await wait_all_tasks_blocked()


async def connect_all(net: Network) -> None:
    """Connect `CONNECTIONS` clients, one after the other, and let each go."""
    for _ in range(CONNECTIONS):
        async with visit(net):
            pass


async def main(folder: Path) -> None:
    """Do each kind of work once, and then in rounds to be counted."""
    asked = [each.text for each in questions(ROOT / "kb", 400)]
    before, others = asked[::20], asked[10::16]
    adapters = Adapters(model=ScriptModel((ScriptEntry(match="", text=flat_answer(WORDS)),)))
    words = (SourceFile.of("kb/words.md", PAGE),)
    voice = Adapters(synthesizer=Tone(), recognizer=Script({})) if "--voice" in sys.argv else None
    async with (
        network(SETTINGS, adapters, words) as flat,
        network(SETTINGS, voice) as net,
        network(settings_with_memory(folder)) as keeping,
        visit(flat) as listener,
        visit(net) as client,
        visit(keeping, TOKEN) as speaker,
    ):
        await listener.ask(QUESTION)
        assert listener.deltas == WORDS
        await ask_all(client, [*before, SAME])
        await connect_all(net)
        said = [tells(number) for number in range(TOLD)]
        await ask_all(speaker, [*said, *map(asks, range(TURNS))])
        await chat_all(keeping, [*said, *map(asks, range(TURNS))])
        for number in range(ROUNDS):
            new = others[number * DIFFERENT : (number + 1) * DIFFERENT]
            await count("delta", TURNS * WORDS, partial(ask_all, listener, [QUESTION] * TURNS))
            await count("turn", TURNS, partial(ask_all, client, [SAME] * TURNS))
            await count("different", DIFFERENT, partial(ask_all, client, new))
            numbers = range(TURNS + number * REMEMBERED, TURNS + (number + 1) * REMEMBERED)
            about = [asks(each) for each in numbers]
            await count("remembered", REMEMBERED, partial(ask_all, speaker, about))
            await count("chat", CHATS, partial(chat_all, keeping, about[:CHATS]))
            await count("connection", CONNECTIONS, partial(connect_all, net))


def run() -> None:
    """Do all of it, with trio's tasks in an order that repeats."""
    configure("console", "error")
    setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - a Final, for tests of trio's own
    trio_run._r.seed(0)  # trio has no other way to seed the order of its tasks
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        trio.run(main, Path(name), clock=MockClock())


if __name__ == "__main__":
    run()
