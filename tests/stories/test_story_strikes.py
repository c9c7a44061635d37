"""A story that is struck anywhere in telling, storing, follow-ups, opening and recall goes on within two seconds.

A run directs a story of its own in several ways. It is struck before the k-th step of the loop: by a cancel, by the
loss of the connection, by the next message, by a model that breaks, or by a store that fails for a while. Afterwards
nothing of it is half stored, no claim is left, and no word of a cancelled directive is anywhere in the story.

Every step is struck with STORY_STRIDE=1 (ten minutes in all); else every so-manieth, each way of striking at others.
"""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import ModelFailed, StorageFailed
from agent.llm.mock_storyteller import MockTeller
from agent.ports.teller import TellingPrompt
from agent.storage.database import Database
from tests.strikes.raw import RawClient

from .harness import StoryServer, telling

STRIDE = int(os.environ.get("STORY_STRIDE", "60"))
PARTS = max(1, 6 // STRIDE)  # of a run with many points: a test has its time
BROKEN = 1.5  # virtual seconds in which a store fails
GOES_ON = 2.0  # virtual seconds until the branch can be told on
GOES_ON_TEXT = "Mira goes on."
PATIENCE = 3.0  # for one frame
FOLLOWED = 30.0  # longer than all that follows a scene


@dataclass
class Faults:
    """The faults that a strike switches on. `until`: when the store works again."""

    until: float = 0.0
    breaks: bool = False

    def fail(self) -> None:
        """Raise while the store is broken."""
        if trio.current_time() < self.until:
            raise StorageFailed("struck")


class BreakableTeller(MockTeller):
    """The mock, which breaks once when it is told to."""

    faults: Faults

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Tell a scene, or break in it."""
        async with aclosing(super().tell_scene(prompt, seed)) as pieces:
            async for piece in pieces:
                await trio.lowlevel.checkpoint()
                self._break()
                yield piece

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Write, or break."""
        await trio.lowlevel.checkpoint()
        self._break()
        return await super().write(prompt, seed, max_characters)

    def _break(self) -> None:
        if self.faults.breaks:
            self.faults.breaks = False
            raise ModelFailed("struck")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """The faults of the server of a test."""
    made = Faults()
    teller = BreakableTeller(1, 0.001)
    teller.faults = made
    monkeypatch.setattr("agent.compose.stories.make_teller", lambda *_: teller)
    for name in ("read", "write"):
        real = getattr(Database, name)

        async def struck(*args: Any, _real: Callable[..., Any] = real, **other: Any) -> Any:
            made.fail()
            return await _real(*args, **other)

        monkeypatch.setattr(Database, name, struck)
    return made


STRIKES: dict[str, Callable[[RawClient, Faults], None]] = {
    "cancel": lambda client, _: client.send("cancel"),
    "reset": lambda client, _: client.reset(),
    "eof": lambda client, _: client.eof(),
    "message": lambda client, _: client.send("message", id="x", text="Xylograph waits."),
    "model": lambda _, faults: setattr(faults, "breaks", True),
    "store": lambda _, faults: setattr(faults, "until", trio.current_time() + BROKEN),
}


class Striker(trio.abc.Instrument):
    """Counts the steps of all tasks, and strikes before the k-th."""

    def __init__(self, k: int, strike: Callable[[], None]) -> None:
        self.steps = 0
        self.error: Exception | None = None
        self._k = k
        self._strike = strike

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; an error is kept, since trio would only log it."""
        self.steps += 1
        if self.steps == self._k:
            try:
                self._strike()
            except Exception as error:  # noqa: BLE001 - see above
                self.error = error


@contextmanager
def striking(k: int, strike: Callable[[], None]) -> Iterator[Striker]:
    """Strike in the block."""
    striker = Striker(k, strike)
    trio.lowlevel.add_instrument(striker)
    try:
        yield striker
    finally:
        trio.lowlevel.remove_instrument(striker)
    if striker.error is not None:
        raise striker.error


@dataclass
class Run:
    """A run of one reader. `words`: of each message, by its id."""

    client: RawClient
    words: dict[str, str] = field(default_factory=dict)

    def frames(self, kind: str) -> list[dict[str, Any]]:
        """Return the frames of a type."""
        return [each for each in self.client.frames if each["type"] == kind]

    async def hear(self, kind: str, count: int) -> dict[str, Any]:
        """Wait for a frame; after a strike it may never come."""
        with trio.move_on_after(PATIENCE):
            found: dict[str, Any] = await self.client.until(kind, count)
            return found
        return {}

    async def direct(self, id: str, text: str = "", **fields: Any) -> None:
        """Have one scene told."""
        self.words[id] = text
        receipts = len(self.frames("scene_stored"))
        self.client.send("message", id=id, text=text, **fields)
        await self.hear("scene_stored", receipts + 1)

    async def play(self, story: str) -> None:
        """Direct a story in every way."""
        self.client.send("open_story", story=story, id="o")
        await self.hear("story", 1)
        await self.direct("a", "Aardvark and Mira hide the copper key in the mill.")
        choices = (await self.hear("choices", 1)).get("choices") or [{"id": "none"}]
        await self.direct("b", choice=choices[0]["id"])
        stored = self.frames("scene_stored")
        await self.direct("c", retell=stored[-1]["scene"] if stored else "none")
        await self.direct("d", "Dirigible lands at the chapel.", own=True)
        ends = len(self.frames("response"))
        self.words["e"] = "Epitaph of the miller?"
        self.client.send("message", id="e", text=self.words["e"], aside=True)
        await self.hear("response", ends + 1)
        await self.direct("f", "Falconer looks for the copper key.")

    def deltas(self, message: str) -> str:
        """Return what a message was told."""
        return "".join(each["delta"] for each in self.frames("stream") if each["id"] == message)


async def begin_story(server: StoryServer) -> tuple[str, str]:
    """Begin a story with a place and a milestone."""
    story, branch = await server.story()
    await server.good("POST", f"/stories/{story}/cast", {"name": "the mill", "kind": "place"})
    chapter = {"branch": branch, "title": "One", "milestones": ["The key is hidden", "The bell rings"]}
    await server.good("POST", f"/stories/{story}/chapters", chapter)
    return story, branch


async def go_on(server: StoryServer, story: str, since: float) -> None:
    """Tell on, on another connection, within `GOES_ON` seconds."""
    async with server.reader() as reader:
        while True:
            assert trio.current_time() - since <= GOES_ON
            if (await reader.open(story))["type"] == "story":
                await reader.direct(GOES_ON_TEXT, own=True)
                response = await reader.until("response")
                if "blocked" not in response:
                    await reader.until("scene_stored")
                    break
                assert response["blocked"]["code"] in ("busy", "moved", "story_failed"), response
            await trio.sleep(0.05)
    assert trio.current_time() - since <= GOES_ON


async def check(server: StoryServer, story: str, branch: str, run: Run) -> None:
    """Check that all that is stored was told whole, and that each receipt holds."""
    page = await server.good("GET", f"/stories/{story}/scenes?branch={branch}&limit=200")
    assert [each["seq"] for each in page["scenes"]] == [*range(1, len(page["scenes"]) + 1)]
    stored: dict[str, dict[str, Any]] = {}
    for scene in page["scenes"]:
        for each in (await server.good("GET", f"/stories/{story}/scenes/{scene['scene']}"))["versions"]:
            stored[each["version"]] = each
    receipts = {each["version"]: run.deltas(each["id"]) for each in run.frames("scene_stored")}
    assert {version: stored[version]["text"] for version in receipts} == receipts
    whole = json.dumps(await server.good("GET", f"/stories/{story}/export?form=json"))
    for end in run.frames("stream_end"):
        words = run.words.get(end["id"], "").split()
        if end["reason"] == "cancelled" and words:
            assert words[0] not in whole
    cancelled = {end["id"] for end in run.frames("stream_end") if end["reason"] == "cancelled"}
    beginnings = [run.deltas(message) for message in {*run.words, "x"} - cancelled]
    if not run.client.left:  # else its last words may have gone nowhere
        beginnings = [each for each in beginnings if each]
    for version in stored.keys() - receipts.keys():
        text = stored[version]["text"]
        assert text == GOES_ON_TEXT or any(text.startswith(each) for each in beginnings), text


def left_behind(server: StoryServer) -> list[str]:
    """Return what the wing holds of turns and connections."""
    parts = server.net.app._edge_parts
    assert parts is not None
    wing = parts.stories
    held = {
        "claims": wing.keeper._taken,
        "work": wing.keeper._work,
        "branches": wing.brain._branches._by_thread,
        "connections": wing.brain._branches._threads,
    }
    return [name for name, each in held.items() if each]


async def strike_once(server: StoryServer, faults: Faults, name: str, k: int) -> int:
    """Strike a run before its k-th step; return its steps."""
    story, branch = await begin_story(server)
    struck: list[float] = []
    async with trio.open_nursery() as nursery:
        client = RawClient(server.net.open(), path=b"/story")
        run = Run(client)
        nursery.start_soon(client.read_all)

        def strike() -> None:
            struck.append(trio.current_time())
            STRIKES[name](client, faults)
            scope.cancel()

        with striking(k, strike) as striker:
            with trio.CancelScope() as scope:
                await run.play(story)
            if struck:  # what was under way goes on, or ends
                await go_on(server, story, max(struck[0], faults.until))
        faults.breaks = False
        await trio.sleep(FOLLOWED)
        await check(server, story, branch, run)
        client.vanish()
        await trio.sleep(FOLLOWED)
        nursery.cancel_scope.cancel()
    await server.ask("DELETE", f"/stories/{story}")  # a user has a bounded number of stories
    assert left_behind(server) == []
    return striker.steps


async def strike_all(faults: Faults, names: Collection[str], stride: int, first: int = 0) -> int:
    """Strike a run in some ways at every so-manieth step; return the number of points.

    `first`: which of `stride` steps is struck first, each way of striking at another.
    """
    points = 0
    async with telling(pace_ms=0) as server:
        await strike_once(server, faults, "cancel", 0)
        steps = await strike_once(server, faults, "cancel", 0)
        for name in names:
            apart = [*STRIKES].index(name) * stride // len(STRIKES)
            for k in range(1 + (first + apart) % stride, steps, stride):
                try:
                    await strike_once(server, faults, name, k)
                except AssertionError as error:
                    raise AssertionError(f"struck by {name} at step {k}") from error
                points += 1
    return points


async def test_a_story_goes_on_where_it_is_struck(
    faults: Faults, autojump_clock: trio.testing.MockClock
) -> None:
    """At a few steps, in every way."""
    assert await strike_all(faults, STRIKES, STRIDE * 10) >= 2 * len(STRIKES)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", STRIKES)
async def test_a_story_goes_on_wherever_it_is_struck(
    name: str, part: int, faults: Faults, autojump_clock: trio.testing.MockClock
) -> None:
    """At more of its steps (`-rP` shows how many)."""
    points = await strike_all(faults, [name], PARTS * STRIDE, part * STRIDE)
    sys.stdout.write(f"{points} points\n")
    assert points >= 20
