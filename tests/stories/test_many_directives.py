"""Random readers of a few stories: stored is what was told, byte for byte, and nothing of them stays behind.

Readers direct, cancel, send the next message too early, leave, retell, write scenes of their own, undo and fork, two on
a branch at times. Each seed is another order. The long form is a proof: STORY_DIRECTIVES sets its length, STORY_SEEDS
the number of its orders.
"""

import os
import re
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import STALL_LOOK
from agent.errors import WireClosed
from agent.ports.stories import OPEN_STORIES
from agent.soak.census import Census
from agent.storage.stall_watch import StallWatch
from agent.storage.stories import FILE as STORY_FILE
from agent.stories.prompts import unpack_prompt
from tests.strikes.lab import tasks_below

from .harness import Reader, StoryServer, telling

DIRECTIVES = int(os.environ.get("STORY_DIRECTIVES", "1000"))
SEEDS = range(1, 1 + int(os.environ.get("STORY_SEEDS", "3")))
READERS, STORIES = 5, 3
_WORD = re.compile(rb"Word\w+")
PATIENCE = 60.0  # virtual seconds in which every turn has its end
NAMES = ("Mira", "the miller", "Jon", "the ferryman", "an old smith")
DEEDS = ("hides the copper key in the mill", "goes to the chapel", "opens the gate", "waits for the rain")


@dataclass
class Deed:
    """A directive, and what came of it: the deltas that its reader saw, and the end of its turn."""

    words: str
    message: str
    own: bool = False
    deltas: str = ""
    end: str = ""  # done, cancelled, refused; "" where its reader left before


@dataclass
class Account:
    """All that readers were told. `receipts`: the text of each version, as its reader saw it, and its scene."""

    deeds: list[Deed] = field(default_factory=list)
    receipts: dict[str, tuple[str, str]] = field(default_factory=dict)
    edits: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, times: int = 1) -> None:
        """Count events."""
        self.counts[what] = self.counts.get(what, 0) + times


class RandomReader:
    """One connection after another to the branches of one story."""

    def __init__(self, server: StoryServer, story: str, random: Random, account: Account, name: str) -> None:
        self._server = server
        self._story = story
        self._random = random
        self._account = account
        self._name = name
        self._sent = 0
        self._open: dict[str, Deed] = {}  # turns without an end, by message

    async def read(self, directives: int) -> None:
        """Connect, and direct until there were so many directives."""
        while self._sent < directives:
            with suppress(WireClosed):
                async with self._connected() as reader:
                    for _ in range(self._random.randint(1, 15)):
                        if self._sent >= directives or not await self._act(reader):
                            break
            self._account.count("left", len(self._open))
            self._open = {}

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Reader, None]:
        """Open a connection; at its end it is closed by the rules, or cut."""
        async with self._server.reader() as reader:
            await self._open_branch(reader)
            yield reader
            if self._random.random() < 0.5:
                self._account.count("cut")
                raise WireClosed

    async def _open_branch(self, reader: Reader) -> None:
        branches = (await self._server.good("GET", f"/stories/{self._story}/branches"))["branches"]
        self._branch = self._random.choice(branches)["id"]
        self._scene = (await self._ask_open(reader)).get("scene")

    async def _ask_open(self, reader: Reader) -> dict[str, Any]:
        await reader.client.send(
            {"type": "open_story", "story": self._story, "branch": self._branch, "id": "open"}
        )
        while True:
            frame = await self._take(reader)
            if frame.get("id") == "open":
                return frame

    async def _take(self, reader: Reader) -> dict[str, Any]:
        """Take the next frame into the account."""
        with trio.fail_after(PATIENCE):
            frame: dict[str, Any] = await reader.client.next_frame()
        deed = self._open.get(str(frame.get("id")))
        if deed is None:
            return frame
        if frame["type"] == "stream":
            deed.deltas += frame["delta"]
        elif frame["type"] == "stream_end" and frame["reason"] == "cancelled":
            assert deed.end == ""
            deed.end = "cancelled"
            del self._open[deed.message]
            self._account.count("cancelled")
        elif frame["type"] == "response":
            assert frame["text"] == deed.deltas
            deed.end = "refused" if frame.get("blocked") else "done"
            if deed.end == "refused":
                del self._open[deed.message]
                assert frame["blocked"]["code"] in {"busy", "moved", "inherited", "bad_message"}, frame
                self._account.count(frame["blocked"]["code"])
        elif frame["type"] == "scene_stored":
            assert deed.end == "done"
            del self._open[deed.message]
            self._account.receipts[frame["version"]] = (deed.deltas, frame["scene"])
            self._account.count("stored")
            self._scene = frame["scene"]
        return frame

    async def _act(self, reader: Reader) -> bool:
        """Do something; return whether the connection is kept."""
        chance = self._random.random()
        if chance < 0.08:
            await self._change()
            self._scene = (await self._ask_open(reader)).get("scene")
        if chance < 0.12:
            await self._open_branch(reader)
        await self._direct(reader)
        if chance < 0.25:
            await trio.sleep(self._random.random() * 0.4)
            await reader.client.cancel()
            self._account.count("cancels")
        elif chance < 0.4:
            await trio.sleep(self._random.random() * 0.4)
            await self._direct(reader)
            self._account.count("pre-empts")
        elif chance < 0.5:
            await trio.sleep(self._random.random() * 0.4)
            return False
        while self._open:
            frame = await self._take(reader)
            if frame["type"] == "error" and frame["code"] == "moved":
                await self._settle(reader)
                await self._ask_open(reader)
        if self._random.random() < 0.3:
            await trio.sleep(self._random.random() * 3)  # choices may come
        return True

    async def _settle(self, reader: Reader) -> None:
        while self._open:
            await self._take(reader)

    async def _direct(self, reader: Reader) -> None:
        """Send one directive, of any kind."""
        self._sent += 1
        message = f"{self._name}-{self._sent}"
        words = f"Word{message.replace('-', 'x')} {self._random.choice(NAMES)} {self._random.choice(DEEDS)}."
        fields: dict[str, Any] = {"text": words}
        chance = self._random.random()
        if chance < 0.15 and self._scene:
            fields = {"retell": self._scene}
            words = ""
            self._account.count("retellings")
        elif chance < 0.3:
            fields["own"] = True
            self._account.count("own")
        deed = Deed(words, message, own="own" in fields)
        self._open[message] = deed
        self._account.deeds.append(deed)
        await reader.client.send({"type": "message", "id": message, **fields})

    async def _change(self) -> None:
        """Undo, redo, fork, pick or edit; what the state of the branch refuses is refused."""
        path = f"/stories/{self._story}"
        what = self._random.choice(("undo", "redo", "fork", "fork", "pick", "edit"))
        if what in ("undo", "redo"):
            await self._try("POST", f"{path}/branches/{self._branch}/{what}", {}, what)
            if self._random.random() < 0.5:
                await self._try("POST", f"{path}/branches/{self._branch}/redo", {}, "redo")
        elif what == "fork":
            page = await self._server.good("GET", f"{path}/scenes?branch={self._branch}&limit=200")
            cut = self._random.randint(0, len(page["scenes"]))
            body = {"branch": self._branch, "seq": cut, "name": f"fork {self._name} {self._sent}"}
            await self._try("POST", f"{path}/branches", body, what)
        elif self._scene:
            scene = f"{path}/scenes/{self._scene}"
            status, found = await self._server.ask("GET", scene)
            if status != 200:
                return
            if what == "pick":
                version = self._random.choice(found["versions"])["version"]
                await self._try("POST", f"{scene}/pick", {"version": version}, what)
            else:
                text = f"Corrected by {self._name} after {self._sent}."
                tip = await self._try("POST", f"{scene}/edit", {"text": text}, what)
                if tip is not None:
                    self._account.edits[tip["version"]] = text

    async def _try(self, method: str, target: str, body: Any, what: str) -> Any:
        status, value = await self._server.ask(method, target, body)
        if status >= 400:
            assert value["code"] in {"busy", "inherited", "conflict", "story_full"}, value
            self._account.count(f"{what}: {value['code']}")
            return None
        self._account.count(what)
        return value


async def check_story(server: StoryServer, story: str, account: Account) -> set[str]:
    """Check all versions of a story against what was told; return their ids."""
    scenes: set[str] = set()
    for branch in (await server.good("GET", f"/stories/{story}/branches"))["branches"]:
        page = await server.good("GET", f"/stories/{story}/scenes?branch={branch['id']}&limit=200")
        assert [each["seq"] for each in page["scenes"]] == [*range(1, len(page["scenes"]) + 1)]
        scenes |= {each["scene"] for each in page["scenes"]}
    texts = {version: text for version, (text, _) in account.receipts.items()} | account.edits
    left = [each for each in account.deeds if each.end in ("", "done")]
    seen: set[str] = set()
    for scene in scenes | {scene for _, scene in account.receipts.values()}:
        status, found = await server.ask("GET", f"/stories/{story}/scenes/{scene}")
        if status == 404:  # of another story
            continue
        for each in found["versions"]:
            seen.add(each["version"])
            told = texts.get(each["version"])
            if told is not None:
                assert each["text"] == told
            else:  # its reader had left before the receipt, and saw the beginning of it
                assert any(each["text"].startswith(deed.deltas) for deed in left), each
            account.written.append(f"{each['directive']}\n{each['text']}")
    return seen


async def held(server: StoryServer, empty: list[tuple[str, str]]) -> Census:
    """Take the census when the server holds the indexes of empty stories only, and its databases rest."""
    for story, branch in empty:
        await server.good("GET", f"/stories/{story}/recall?branch={branch}&query=key")
    await trio.sleep(PATIENCE)
    with trio.fail_after(PATIENCE):
        while True:
            if not has_database_timer():
                return await Census.take_at_rest(whole=True)
            await trio.sleep(STALL_LOOK / 5)


def has_database_timer() -> bool:
    """Whether a database is at work, or was a moment ago, such as for the sweep of threads, which is due each second.

    The watch on its thread has a timer then, until its next look.
    """
    root = trio.lowlevel.current_root_task()
    tasks = tasks_below(root) if root else ()
    return any(
        frame.f_code is StallWatch._look.__code__ for task in tasks for frame, _ in task.iter_await_frames()
    )


async def let_live(
    server: StoryServer, story: str, seed: float, account: Account, name: str, directives: int
) -> None:
    """Let one reader live."""
    await RandomReader(server, story, Random(seed), account, name).read(directives)


async def let_all_live(
    server: StoryServer, stories: list[tuple[str, str]], random: Random, account: Account, directives: int
) -> None:
    """Let the readers live at the same time, and wait for what follows their scenes."""
    async with trio.open_nursery() as nursery:
        for number in range(READERS):
            story = stories[number % STORIES][0]
            share = directives // READERS
            nursery.start_soon(let_live, server, story, random.random(), account, f"r{number}", share)
    await trio.sleep(PATIENCE)


def words_never_told(account: Account) -> list[str]:
    """Return a word of each directive that led to no scene, which stands in no other."""
    ends = ("cancelled", "refused")
    return [each.words.split()[0] for each in account.deeds if each.end in ends and each.words]


def find_words(folder: Path, words: list[str]) -> list[str]:
    """Return the words that some file of a server that has ended holds, prompts unpacked."""
    held = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    with closing(sqlite3.connect(folder / STORY_FILE)) as file:
        held += [
            unpack_prompt(packed).fresh.encode() for (packed,) in file.execute("SELECT packed FROM snapshots")
        ]
    assert len(held) > 10
    found = {each for content in held for each in _WORD.findall(content)}
    return [word for word in words if word.encode() in found]


async def live(seed: int, directives: int, folder: Path | None = None) -> Account:
    """Let random readers live; check what is stored. With a `folder` for the data, also what is left."""
    account = Account()
    async with telling(pace_ms=2, mock_delay_ms=3, data=str(folder or "memory")) as server:
        empty = [await server.story(f"Empty {number}") for number in range(OPEN_STORIES)]
        stories = [await server.story(f"Story {number}") for number in range(STORIES)]
        await let_live(server, (await server.story("Warm"))[0], seed, Account(), "warm", 25)
        before = await held(server, empty) if folder else None
        await let_all_live(server, stories, Random(seed), account, directives)
        seen = set()
        for story, _ in stories:
            seen |= await check_story(server, story, account)
        assert {*account.receipts, *account.edits} <= seen
        written = "\n".join(account.written).split()
        assert [word for word in words_never_told(account) if word in written] == []
        if before is not None:
            after = await held(server, empty)
            assert after.find_growth(before) == {}
            assert after.tasks == before.tasks
    if folder is not None:
        assert find_words(folder, words_never_told(account)) == []
        told = [each.words.split()[0] for each in account.deeds if each.end == "done" and each.words]
        assert find_words(folder, told)
    return account


async def test_readers_are_told_what_is_stored(autojump_clock: trio.testing.MockClock) -> None:
    """A short life of five readers: each stored version is what was told."""
    account = await live(1, 30)
    assert account.counts["stored"] >= 7, account.counts


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_thousand_directives(
    seed: int, autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """The long form, on files; each way of going on happens, and the census is empty."""
    account = await live(seed, DIRECTIVES, tmp_path)
    ways = {
        "stored",
        "cancelled",
        "pre-empts",
        "cut",
        "left",
        "retellings",
        "own",
        "undo",
        "redo",
        "fork",
        "busy",
    }
    assert ways - account.counts.keys() == set()
