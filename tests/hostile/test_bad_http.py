"""Bad requests to a server in a process of its own: each is told what is wrong, and a client beside them unhurt.

BAD_HTTP=1 plays every way of framing on every route, what takes its time, and crowds: some five minutes.
"""

import json
import os
import re
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.config import ROLE_CHARACTERS, UPLOADS_AT_ONCE, WRITE_TIMEOUT
from agent.server.body import BODY_TIMEOUT
from agent.server.settings import WRONG_TOKENS
from agent.storage.projects import PROJECTS_MOST

from ..e2e.flow import PATIENCE, TOKEN, Caller, House, Server, caller, house, served
from ..server import parted
from ..server.api import held_to_the_document
from .bad_bodies import CATEGORY, END, FORM, MATCHING, part
from .bad_http import NOTHING, Bad, Ids, Target, cases, slow

pytestmark = pytest.mark.proof

AT_LENGTH = bool(os.environ.get("BAD_HTTP"))
at_length = pytest.mark.skipif(not AT_LENGTH, reason="takes minutes: BAD_HTTP=1")
Note = Callable[[str, object], None]
CLOSE = "Connection: close"  # sent with what is good, so that its answer is the last
BEARABLE = 5.0  # seconds for a turn of some 10 ms, on a machine that is busy with other things
FILES_MORE, BYTES_MORE = 4, 64 * 1024 * 1024  # that a server may hold when it is left alone again
SCRIPT = [
    {"match": "at length", "text": json.dumps({"mode": "ASK", "message": " ".join(["word"] * 390)})},
    {"match": "mine", "round": 0, "text": json.dumps({"mode": "ACT", "tool": "mine", "args": {"a": "A-17"}})},
]
_NEXT = re.compile(rb"(?=HTTP/1\.1 \d{3} )")
_FAULTS = re.compile(r"Traceback|request broke|connection failed|python_multipart| error ")


@dataclass
class Innocent:
    """Chats all the time, in one thread for a while and then in another. took: seconds of each turn."""

    client: Caller
    took: list[float] = field(default_factory=list)

    async def chat(self) -> None:
        """Chat; any answer but a good one is raised."""
        thread: dict[str, str] = {}
        while True:
            began = trio.current_time()
            told = await self.client.chat("Where is my order?", **thread)
            self.took.append(trio.current_time() - began)
            assert told["response_json"]["message"] == "Which order is it?"
            thread = {"thread_id": told["thread_id"]} if len(self.took) % 20 else {}
            await trio.sleep(0.02)

    async def turns(self, count: int) -> None:
        """Wait until it had so many more."""
        wanted = len(self.took) + count
        with trio.fail_after(PATIENCE):
            while len(self.took) < wanted:  # noqa: ASYNC110 - nobody is told
                await trio.sleep(0.01)

    def unhurt(self) -> dict[str, float]:
        """Check that nobody kept it, and return how long its turns took; then begin anew."""
        took = sorted(self.took)
        self.took.clear()
        assert took, "it had no turn"
        assert took[-1] < BEARABLE
        return {"turns": len(took), "usual": round(took[len(took) // 2], 3), "most": round(took[-1], 3)}


@dataclass
class Scene:
    """A server with an innocent client beside it. ids: of what there is."""

    at: House
    server: Server
    client: Caller
    innocent: Innocent
    ids: Ids

    def files(self) -> int:
        """How many files and sockets it has open."""
        return len([*Path(f"/proc/{self.server.process.pid}/fd").iterdir()])

    def resident(self) -> int:
        """How many bytes it holds."""
        held = Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1]
        return int(held) * os.sysconf("SC_PAGE_SIZE")

    async def play(self, bad: Bad, patience: float = PATIENCE) -> str:
        """Send what is to be sent; return what was answered, held to the document."""
        answer = await exchange(self.server.port, bad.send, patience)
        return ", ".join(map(bad_told(bad), _NEXT.split(answer)[1:] or [b""]))


def bad_told(bad: Bad) -> Callable[[bytes], str]:
    """Return what tells an answer to a request in words."""

    def told(answer: bytes) -> str:
        if not answer or answer.startswith(b"HTTP/1.1 100 "):
            return "100" if answer else NOTHING
        status, headers, body = parted(answer)
        assert headers["connection"] == "close"
        kind = headers["content-type"]
        if kind == "application/problem+json":
            method = b"".join(each for each in bad.send if isinstance(each, bytes)).split()[0].decode()
            value = held_to_the_document(method, bad.path, status, headers, body)
            return f"{status} {value['code']}"
        if kind == "application/json":
            error = json.loads(body).get("error") or {"code": "good"}
            return f"{status} {error.get('data', error)['code']}"
        return f"{status} plain"

    return told


async def exchange(port: int, send: Sequence[Any], patience: float = PATIENCE) -> bytes:
    """Send pieces on a connection of their own; return all that comes until the server has closed it."""
    answer = bytearray()
    asked = trio.Event()
    with trio.fail_after(patience):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream, trio.open_nursery() as nursery:
            nursery.start_soon(_send, stream, send, asked)
            with suppress(trio.BrokenResourceError):
                async for data in stream:
                    answer += data
                    asked.set()
            nursery.cancel_scope.cancel()
    return bytes(answer)


async def _send(stream: trio.SocketStream, send: Sequence[Any], asked: trio.Event) -> None:
    with suppress(trio.BrokenResourceError, OSError):
        for piece in send:
            if piece == "end":
                await stream.send_eof()
            elif piece == "asked":
                await asked.wait()
            elif isinstance(piece, bytes):
                await stream.send_all(piece)
            else:
                await trio.sleep(piece)


@asynccontextmanager
async def scene(folder: Path) -> AsyncGenerator[Scene, None]:
    """A server for the time of a block, after which it holds nothing more than before and has nothing in its log."""
    with house(folder) as at:
        script = folder / "script.json"
        script.write_text(json.dumps([*SCRIPT, *json.loads(script.read_text())]))
        with served(at, "--pace-ms", "0") as server:
            async with caller(server) as client, trio.open_nursery() as nursery:
                made = await _begun(at, server, client)
                nursery.start_soon(made.innocent.chat)
                await made.innocent.turns(5)
                files, resident = made.files(), made.resident()
                yield made
                with trio.fail_after(PATIENCE):
                    while made.files() > files + FILES_MORE:  # noqa: ASYNC110 - nobody is told
                        await trio.sleep(0.05)
                await made.innocent.turns(5)
                assert made.resident() < resident + BYTES_MORE
                figures = await client.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
                assert 'agent_rejections_total{status="500"}' not in figures.text
                nursery.cancel_scope.cancel()
            assert server.process.poll() is None
        assert _FAULTS.findall((folder / "log").read_text()) == []


async def _begun(at: House, server: Server, client: Caller) -> Scene:
    """Make what is there to be asked for."""
    project = (await client.post("/projects", {"name": "p", "role_statement": "r"}))["id"]
    waits = (await client.chat("refund order A-17"))["tool_call_id"]
    begun = (await client.chat("ship order A-17"))["tool_call_id"]
    await client.approve(begun)
    await client.post(f"/calls/{begun}/begin", {})
    mine = {"name": "mine", "input_schema": MATCHING}
    matches = (await client.chat("mine A-17", tools=[mine]))["tool_call_id"]
    return Scene(at, server, client, Innocent(client), Ids(project, waits, begun, matches))


async def all_of(scene: Scene, table: Sequence[Bad], at_once: int = UPLOADS_AT_ONCE - 1) -> list[str]:
    """Play a table, some at a time; return what was answered otherwise than it says."""
    wrong: list[str] = []
    left = iter(table)

    async def some() -> None:
        for bad in left:
            told = await scene.play(bad)
            if told != bad.told:
                wrong.append(f"{bad.name}: {told}, not {bad.told}")

    async with trio.open_nursery() as nursery:
        for _ in range(at_once):
            nursery.start_soon(some)
    return wrong


async def nothing_was_done(scene: Scene) -> None:
    """Check that of all that was asked for nothing is there."""
    client = scene.client
    assert {each["name"] for each in (await client.get("/projects"))["items"]} == {"default", "p"}
    assert (await client.get(f"/projects/{scene.ids.project}/docs"))["items"] == []
    assert (await client.get(f"/projects/{scene.ids.project}/keys"))["items"] == []
    stands = {each["id"]: each["status"] for each in (await client.get("/calls"))["items"]}
    ids = scene.ids
    assert stands == {ids.waits: "suggested", ids.begun: "claimed", ids.matches: "suggested"}
    users = {each["user_id"] for each in (await client.get("/threads?limit=200"))["items"]}
    assert users == {"anna"}
    assert scene.at.hook.effects == []


async def test_every_bad_request_is_told_what_is_wrong_and_hurts_nobody(
    tmp_path: Path, record_property: Note
) -> None:
    """Each has its own answer, nothing of it was done, and nothing of it is left."""
    async with scene(tmp_path) as here:
        table = cases(here.ids, AT_LENGTH)
        assert await all_of(here, table) == []
        await nothing_was_done(here)
        record_property("cases", len(table))
        record_property("innocent", here.innocent.unhurt())
        many, began = 2000 if AT_LENGTH else 60, trio.current_time()
        told = Counter([await here.play(_guess(number)) for number in range(many)])
        assert told.keys() == {"401 unauthorized", "429 rate_limited"}
        assert told["401 unauthorized"] <= WRONG_TOKENS * (1 + (trio.current_time() - began) / 60) + 1
        record_property("beside wrong keys", here.innocent.unhurt())


def _guess(number: int) -> Bad:
    """Return a request with a key that might be one."""
    good = Target("GET", "/calls", b"").head()
    return Bad("", "", "GET", "/calls", (good.replace(TOKEN.encode(), b"ak_%043d" % number),))


@at_length
async def test_nothing_of_it_is_left_however_often_it_is_played(
    tmp_path: Path, record_property: Note
) -> None:
    """The table ten times over."""
    async with scene(tmp_path) as here:
        large_or_guessed = re.compile("MB|two keys")  # of guesses there may be so many in a minute
        table = [each for each in cases(here.ids) if not large_or_guessed.search(each.name)]
        held = []
        for _ in range(10):
            assert await all_of(here, table) == []
            held.append(here.resident() // 1024**2)
        record_property("MB", held)
        record_property("innocent", here.innocent.unhurt())
        assert held[-1] - held[1] < 8


@at_length
async def test_who_is_slow_is_told_so_in_time(tmp_path: Path, record_property: Note) -> None:
    """Slow heads, slow bodies and none, all at once."""
    async with scene(tmp_path) as here:
        table = slow(here.ids)
        assert await all_of(here, table, at_once=len(table)) == []
        await nothing_was_done(here)
        record_property("cases", len(table))
        record_property("innocent", here.innocent.unhurt())


@at_length
async def test_crowds_that_say_little_keep_nobody_out(tmp_path: Path, record_property: Note) -> None:
    """Seven hundred that say nothing, then three hundred whose bodies do not come whole."""
    async with scene(tmp_path) as here:
        half = Target("POST", "/chat", b'{"user_id":"u","message":"hello"}')
        for name, count, said in (("silent", 700, b""), ("half", 300, half.whole(half.body)[:-1])):
            streams = []
            for _ in range(count):
                streams.append(await trio.open_tcp_stream("127.0.0.1", here.server.port))
                await streams[-1].send_all(said)
            await trio.sleep(BODY_TIMEOUT + 3)
            for stream in streams:
                await trio.aclose_forcefully(stream)
            record_property(name, here.innocent.unhurt())


@at_length
async def test_readers_that_stop_are_left_and_their_turns_end(tmp_path: Path, record_property: Note) -> None:
    """Fifty that ask for events and read none, with pieces and a tool's call behind them."""
    async with scene(tmp_path) as here:
        streams = []
        for kind in ("at length", "ship") * 25:
            raw = trio.socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            await raw.connect(("127.0.0.1", here.server.port))
            body = json.dumps({"user_id": "anna", "message": f"{kind} order A-17"}).encode()
            streams.append(trio.SocketStream(raw))
            await streams[-1].send_all(Target("POST", "/chat", body).whole(body, "Accept: text/event-stream"))
        await trio.sleep(WRITE_TIMEOUT + 3)
        for stream in streams:
            await trio.aclose_forcefully(stream)
        calls = (await here.client.get("/calls?limit=200"))["items"]
        ends: Counter[str] = Counter()
        for thread in (await here.client.get("/threads?limit=200"))["items"]:
            said = (await here.client.get(f"/threads/{thread['id']}/messages?limit=200"))["items"]
            ends.update(each["status"] for each in said if "at length" in each["content"])
        record_property("calls", dict(Counter(each["status"] for each in calls)))
        record_property("turns", dict(ends))
        record_property("innocent", here.innocent.unhurt())
        assert ends == {"cancelled": 25}


@at_length
async def test_documents_that_are_hard_to_read_keep_nobody_waiting(
    tmp_path: Path, record_property: Note
) -> None:
    """Six at a time, each of which takes seconds of CPU: they are read, or told to come again."""
    async with scene(tmp_path) as here:
        told: Counter[str] = Counter()

        async def put(number: int, text: bytes) -> None:
            form = CATEGORY + part("file", text, b"%d.md" % number) + END
            on = Target("POST", f"/projects/{here.ids.project}/docs", form, FORM)
            told[await here.play(on.bad("", "", on.whole(form, CLOSE)), 2 * PATIENCE)] += 1

        for text in (b"*a_ " * 200_000, b"[a](<b" * 100_000, b"1 kr " * 200_000):
            async with trio.open_nursery() as nursery:
                for number in range(6):
                    nursery.start_soon(put, number, text)
        record_property("told", dict(told))
        record_property("innocent", here.innocent.unhurt())
        assert told.keys() <= {"201 good", "200 good", "503 too_many_uploads", "422 unreadable"}


@at_length
async def test_ten_thousand_projects_are_listed_and_there_after_a_restart(
    tmp_path: Path, record_property: Note
) -> None:
    """As many as may be, each with the longest role; the next are refused, and who chats does not feel them."""
    async with scene(tmp_path) as here:
        record_property("seconds to make, and to list", await _made(here))
        record_property("innocent", here.innocent.unhurt())
        project, at = here.ids.project, here.at
    began = trio.current_time()
    with served(at) as server:
        async with caller(server) as client:
            record_property("seconds to start again", round(trio.current_time() - began, 1))
            assert len((await client.get("/projects?limit=200"))["items"]) == 200
            assert (await client.chat("hello", project_id=project))["render"]


async def _made(here: Scene) -> tuple[float, float]:
    told: Counter[str] = Counter()
    left = iter(range(PROJECTS_MOST + 20))

    async def make() -> None:
        for number in left:
            body = json.dumps({"name": f"p{number}", "role_statement": "r" * ROLE_CHARACTERS}).encode()
            on = Target("POST", "/projects", body)
            told[await here.play(on.bad("", "", on.whole(body, CLOSE)))] += 1

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(make)
    assert told == {"201 good": PROJECTS_MOST - 2, "409 too_many_projects": 22}
    listing = trio.current_time()
    seen: set[str] = set()
    cursor = ""
    while len(seen) < PROJECTS_MOST:
        page = await here.client.get(f"/projects?limit=200{cursor}")
        seen |= {each["id"] for each in page["items"]}
        cursor = f"&cursor={page['next_cursor']}"
    assert page["next_cursor"] is None
    return round(listing - began, 1), round(trio.current_time() - listing, 1)
