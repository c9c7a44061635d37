"""One branch and two workers in processes of their own: who tells, who waits, and what a kill leaves.

STORY_KILLS=60 kills a worker at sixty frames of its telling.
"""

import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.client.client import connect_over, open_stream
from agent.errors import CannotConnect, WireClosed
from tests.share import count_runs
from tests.stories.harness import FOUNDATION, Reader
from tests.workers.processes import Pair, pair

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("STORY_KILLS", "3"))
WORKERS = 2
KILLS_OF_SERVER = 10  # the sixth death in a row of a worker that has just been started ends the server
FRAMES = 60  # of a reader that tells, far from the first to its seventh scene
PATIENCE = 60.0  # seconds for what takes one
GOES_ON = 2.0  # seconds from a kill until the branch is told on
_STEP = max(1, FRAMES // KILLS)
_FRAMES = [3 + at * FRAMES // KILLS + count_runs() % _STEP for at in range(KILLS)]  # each time others
POINTS = [_FRAMES[at : at + KILLS_OF_SERVER] for at in range(0, KILLS, KILLS_OF_SERVER)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Pair]:
    """A server of two workers that tells slowly."""
    flags = ("--mock-delay-ms", "10", "--pace-ms", "5", "--rate-limit", "0", "--api-rate", "0")
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "mills.md").write_text("# Mills\n\nA mill grinds corn.\n")
    with pair(tmp_path, *flags, kb=kb) as running:
        running.ready()
        yield running


def call(server: Pair, target: str, body: dict[str, Any] | None = None) -> Any:
    """Call the HTTP API, of whichever worker; return the value."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{target}", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


@asynccontextmanager
async def connected(server: Pair) -> AsyncGenerator[tuple[Reader, int], None]:
    """Connect a reader; it comes with the process id of its worker."""
    stream, host, path = await open_stream(f"ws://127.0.0.1:{server.port}/story")
    assert isinstance(stream, trio.SocketStream)
    port = stream.socket.getsockname()[1]
    async with connect_over(stream, host, path) as client:
        reader = Reader(client, [])
        await reader.until("welcome")
        yield reader, server.holders()[port]


@asynccontextmanager
async def connected_to_both(server: Pair) -> AsyncGenerator[dict[int, Reader], None]:
    """Connect a reader to each worker; they come by the process ids of these. The caller sets the deadline."""
    readers: dict[int, Reader] = {}
    async with AsyncExitStack() as stack:
        while len(readers) < WORKERS:
            with suppress(CannotConnect, WireClosed, KeyError):  # a worker may be starting again
                reader, worker = await stack.enter_async_context(connected(server))
                readers[worker] = reader
            await trio.sleep(0.1)  # it stays connected, so that the next one goes to the other worker
        yield readers


def begin(server: Pair) -> tuple[str, str]:
    """Begin a story; return its id and that of its branch."""
    made = call(server, "/stories", {"title": "The mill", "foundation": FOUNDATION, "lang": "en"})
    return made["id"], made["branch"]


def texts(server: Pair, story: str, branch: str) -> dict[str, str]:
    """Return the stored texts by their versions, oldest first."""
    page = call(server, f"/stories/{story}/scenes?branch={branch}&limit=200")
    assert [each["seq"] for each in page["scenes"]] == [*range(1, len(page["scenes"]) + 1)]
    return {each["version"]: each["text"] for each in page["scenes"]}


async def test_of_two_workers_one_tells(server: Pair) -> None:
    """The other is busy, then moved, until it opens the branch again."""
    story, branch = begin(server)
    with trio.fail_after(PATIENCE):
        async with connected_to_both(server) as readers:
            one, other = readers.values()
            await one.open(story)
            await other.open(story)
            await one.direct("Mira opens the gate.")
            await one.until("stream")
            assert await other.refused("Mira shuts the gate.") == "busy"
            await one.until("scene_stored")
            assert await other.refused("Mira shuts the gate.") == "moved"
            assert (await other.open(story))["seq"] == 1
            told, _ = await other.tell("Mira shuts the gate.")
    assert list(texts(server, story, branch).values()) == [one.deltas("m1"), told]


async def tell_until_killed(one: Reader, worker: int, frames: int) -> None:
    """Tell scenes, and kill the worker once so many frames have come."""
    while True:
        await one.direct(f"Mira opens gate {one.sent}.")
        while True:
            one.told.append(await one.client.next_frame())
            if len(one.told) == frames:
                os.kill(worker, signal.SIGKILL)
                return
            if one.told[-1]["type"] == "scene_stored":
                break


async def begin_scene(reader: Reader, story: str) -> str:
    """Open a story and direct a scene, again while a process that is killed has not ended; return its message."""
    while True:
        assert (await reader.open(story))["type"] == "story"
        message = await reader.direct("Mira goes on.", own=True)
        while True:
            frame = await reader.client.next_frame()
            reader.told.append(frame)
            if frame["type"] == "stream":
                return message
            if frame["type"] == "response":
                assert frame["blocked"]["code"] == "busy"
                break
        await trio.sleep(0.02)


async def kill_once(server: Pair, frames: int, worker: int | None) -> tuple[int, float]:
    """Kill `worker`, or some worker, at a frame; return the one that is left, and the seconds that the kill cost.

    These are the seconds until the next scene streams, less those that the scene after it takes: a machine that is busy
    with other things is slow with both. Each receipt holds, each scene is whole, and the dead worker's claim is free.
    """
    story, branch = begin(server)
    with trio.fail_after(PATIENCE):
        async with connected_to_both(server) as readers:
            worker = worker if worker in readers else min(readers)
            one = readers.pop(worker)
            ((left, other),) = readers.items()
            await one.open(story)
            await tell_until_killed(one, worker, frames)
            killed = trio.current_time()
            message = await begin_scene(other, story)
            took = trio.current_time() - killed
            stored = await other.until("scene_stored")
            again = trio.current_time()
            await begin_scene(other, story)
            took -= trio.current_time() - again
            await other.until("scene_stored")
            with suppress(WireClosed):  # what was on its way
                while True:
                    one.told.append(await one.client.next_frame())
    found = texts(server, story, branch)
    receipts = {each["version"]: each["id"] for each in one.told if each["type"] == "scene_stored"}
    assert {version: one.deltas(message) for version, message in receipts.items()}.items() <= found.items()
    rest = [each for each in [*found][:-2] if each not in receipts]
    assert len(rest) <= 1
    assert all(found[version].startswith(one.deltas(f"m{one.sent}")) for version in rest)
    assert found[stored["version"]] == other.deltas(message) == "Mira goes on."
    assert stored["seq"] == len(found) - 1
    return left, took


@pytest.mark.parametrize("points", POINTS, ids=lambda each: f"frame {each[0]} to {each[-1]}")
async def test_kills_leave_whole_scenes(points: list[int], server: Pair) -> None:
    """At each point; the branch goes on within `GOES_ON` seconds (see `-rP`). Workers are killed in turns."""
    left, waits = None, []
    for frames in points:
        left, took = await kill_once(server, frames, left)
        waits.append(round(took, 3))
    sys.stdout.write(f"seconds until the branch goes on: {waits}\n")
    assert max(waits) <= GOES_ON
