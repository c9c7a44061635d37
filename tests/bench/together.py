"""Whether many users at once are answered with what they said: `python -m tests.bench.memory --together 200`.

So many users say REMEMBER and ask QUESTION five times, one after the other, all of them at once: over sockets, and then
over HTTP. An answer has what was said, or says that it was made without memory, or lacks it in silence. A server is a
process of its own, with its memory on a disk. Fewer than 1 in 100 may be without, and none in silence.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import httpx
import trio

from agent.client.client import connect
from tests.bench.load.client import Target

from .servers import ROOT, port_of, wait_until_ready
from .tools import Figure

TOKEN: Final = "the-operators-own"
REMEMBER: Final = "Remember that my budget is 40123 kr"
QUESTION: Final = "what is my budget?"
SAYS: Final = "40123"
ASKED: Final = 5  # times by each user
_PATIENCE: Final = 600.0  # seconds for all of it
_WITHOUT: Final = 0.01  # share of the answers

Outcome: TypeAlias = Literal["with", "told", "silent"]


def outcome_of(text: str, without_memory: bool) -> Outcome:
    """Return what an answer to QUESTION is."""
    if SAYS in "".join(text.split()):
        return "with"
    return "told" if without_memory else "silent"


def figures_of(way: str, counted: Counter[Outcome], seconds: float) -> Iterator[Figure]:
    """Yield how many answers were without what was said. way: sockets or HTTP."""
    every = max(1, counted.total())
    note = f" of {counted.total()} in {seconds:.0f} s"
    yield Figure(f"over {way}: answers with it", counted["with"], float("inf"), "", note)
    bound = max(0.0, every * _WITHOUT - 1e-9)
    yield Figure(f"over {way}: without it", counted["told"] + counted["silent"], bound, "", note)
    yield Figure(f"over {way}: without it, and silent", counted["silent"], 0, "", note)


@contextmanager
def serving(folder: Path, users: int) -> Iterator[str]:
    """Run a server that knows so many users for the time of a block: where it is."""
    names = folder / "users.toml"
    names.write_text("".join(f'u{n} = "{_token(n)}"\n' for n in range(users)), encoding="utf-8")
    names.chmod(0o600)
    command = [
        *(sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", "kb", "--vectors", "off"),
        *("--memory", "on", "--data", str(folder / "data"), "--log-level", "error", "--users", str(names)),
        *("--rate-limit", "0", "--address-rate", "0", "--api-rate", "0", "--pace-ms", "0"),
        *("--max-connections", str(2 * users + 16)),
    ]
    environment = os.environ | {"AGENT_TOKEN": TOKEN}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        port = port_of(process)
        wait_until_ready(Target(host="127.0.0.1", port=port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate(timeout=60)


async def over_sockets(url: str, users: int) -> Counter[Outcome]:
    """Have so many users ask over a socket each; return what they were answered."""
    counted: Counter[Outcome] = Counter()

    async def one(number: int) -> None:
        async with connect(url, _token(number)) as client:
            await client.ask(REMEMBER)
            await client.frames_until("response")
            for _ in range(ASKED):
                await client.ask(QUESTION)
                (*_, told) = await client.frames_until("response")
                counted[outcome_of(told["text"], told.get("withoutMemory", False))] += 1

    await _all_at_once(one, users)
    return counted


async def over_http(url: str, users: int) -> Counter[Outcome]:
    """Have so many users ask over HTTP, each in a thread; return what they were answered."""
    counted: Counter[Outcome] = Counter()
    async with _client(url, users) as client:

        async def one(number: int) -> None:
            first = await _chat(client, {"user_id": f"h{number}", "message": REMEMBER})
            for _ in range(ASKED):
                said = {"user_id": f"h{number}", "message": QUESTION, "thread_id": first["thread_id"]}
                told = await _chat(client, said)
                counted[outcome_of(told["render"]["text_to_send_to_user"], told["without_memory"])] += 1

        await _all_at_once(one, users)
    return counted


async def together(folder: Path, users: int) -> AsyncIterator[Figure]:
    """Measure both ways, each on a server of its own."""
    for way, ask in (("sockets", over_sockets), ("HTTP", over_http)):
        (folder / way).mkdir()
        with serving(folder / way, users) as url:
            began = trio.current_time()
            with trio.fail_after(_PATIENCE):
                counted = await ask(url, users)
            for figure in figures_of(way, counted, trio.current_time() - began):
                yield figure


async def _all_at_once(one: Any, users: int) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(users):
            nursery.start_soon(one, number)


@asynccontextmanager
async def _client(url: str, users: int) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=users, max_keepalive_connections=users)
    headers = {"X-AGENT-KEY": TOKEN, "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=120.0, headers=headers) as client:
        yield client


async def _chat(client: httpx.AsyncClient, said: dict[str, str]) -> dict[str, Any]:
    answered = await client.post("/chat", content=json.dumps(said))
    answered.raise_for_status()
    found: dict[str, Any] = answered.json()
    return found


def _token(number: int) -> str:
    return f"the-token-of-user-number-{number}"
