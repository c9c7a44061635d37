"""What stories cost: `python -m tests.bench.stories`; with `--only store` or `--only cancel` a part of it.

A story of so many scenes, with its states, lies in a folder on a disk, as many branches deep as a story may be. All
times are processor time of the one thread that does the work, so that other processes count for nothing; the figures of
a fork are ratios to a commit of one bare row by the same code, taken in turns with it.

context     all that a prompt needs, read as of one moment, on the branch that is 64 deep
opening     the tip of that branch with its choices
telling     a scene with its snapshot and states, its claim before it
forking     a fork of that branch at a random inherited scene, over a bare commit of one row
importing   an import of 5,000 scenes: the transaction, which holds up other writes

The last figures are of a server in a process of its own, which paces what it says: the time from a cancel, at a random
moment of a scene, to its `stream_end`, beside that of an answer in a conversation. Each has the same clients, and they
take turns, so that a busy moment of the machine meets both.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import httpx
import sqlalchemy as sa
import trio

from agent.client.client import Client, connect
from agent.errors import WireClosed
from agent.ports.stories import BRANCH_DEPTH, CastMember, SceneClaim, SceneDraft
from agent.storage.prepared import PreparedStatement
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.stories import branching, cast, claims, moving, reading, telling
from agent.storage.stories.schema import moves
from agent.storage.stories.story_contents import STORIES
from agent.storage.transaction import FunctionRequest, Transaction
from agent.stories.exchange import read_story
from agent.testing.fakes import Noon
from tests.hostile.process import server_process
from tests.told import ANA, a_state

SCENES, ROUNDS = 1_000, 200
CLIENTS, CANCELS = 20, 1_000
WITHIN = 0.6  # seconds in which a cancel comes: less than what either says takes
PACED = ("--pace-ms", "20", "--mock-delay-ms", "20", "--rate-limit", "0", "--api-rate", "0", "--kb", "kb")
QUESTION = "Tell me about Right of withdrawal."  # an answer of 37 frames
DIRECTIVE = "Mira goes to the harbour and waits for the keeper."
PATIENCE = 60.0
WORDS = (
    "the lamp stood by the window and nobody in the harbour had seen the keeper since the storm began " * 8
).strip()


class StoryFile:
    """A file of stories that one thread uses directly."""

    def __init__(self, folder: Path) -> None:
        self.file = DatabaseFile(folder, Noon(), STORIES)
        self.file.open()
        self._claims = 0

    def write(self, work: Callable[[Transaction], Any]) -> Any:
        """Write in a transaction of its own and return the answer."""
        report = self.file.commit([FunctionRequest(work)])
        if report.trouble or report.refused or report.faults:
            raise RuntimeError(report)
        return report.answers[0]

    def tell(self, story: str, branch: str, seq: int) -> None:
        """Tell a scene with two states and a snapshot of the usual size."""
        self._claims += 1
        tip = self.file.read(partial(reading.open_branch, ANA, story, branch))
        wanted = SceneClaim(id=f"{self._claims}", scope=ANA, story=story, branch=branch, seq=0)
        claim = self.write(lambda transaction: claims.claim_scene(wanted, tip, "m1", 1, transaction))
        draft = SceneDraft(
            claim=claim, kind="text", directive="Go on.", seed=1, snapshot=b"x" * 12_000, model="mock"
        )
        found = [
            a_state(f"thing {seq % 300}", f"place {seq}"),
            a_state(f"thing {seq % 7}", f"holder {seq}", "holder"),
        ]
        self.write(lambda transaction: telling.store_scene(draft, f"{seq} {WORDS}", found, 1, transaction))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=SCENES)
    parser.add_argument("--cancels", type=int, default=CANCELS)
    parser.add_argument("--only", choices=("store", "cancel"))
    chosen = parser.parse_args()
    if chosen.only != "cancel":
        with tempfile.TemporaryDirectory() as folder:
            measure(StoryFile(Path(folder)), chosen.scenes)
    if chosen.only != "store":
        with tempfile.TemporaryDirectory() as folder, server_process("--data", folder, *PACED) as server:
            trio.run(measure_cancels, server.port, chosen.cancels)


def measure(stories: StoryFile, scenes: int) -> None:
    """Fill a file and print the figures."""
    story, first = stories.write(partial(_create, scenes))
    branch, depth, drawn = first.id, 0, Random(1)
    for number in range(30):
        member = CastMember(id="", name=f"Person {number}", kind="person", look="tall")
        stories.write(partial(cast.put_member, ANA, story.id, member))
    for seq in range(1, scenes + 1):
        if seq % (scenes // BRANCH_DEPTH) == 0 and depth < BRANCH_DEPTH:
            branch, depth = _fork(stories, story.id, branch, seq - 1, f"branch {seq}"), depth + 1
        stories.tell(story.id, branch, seq)
    _say(f"{scenes} scenes, {depth} forks deep")
    for name, work in (("context", reading.load_context), ("opening", reading.open_branch)):
        look = partial(stories.file.read, partial(work, ANA, story.id, branch))
        _print(name, [_time(look) for _ in range(ROUNDS)])
    told = range(scenes + 1, scenes + 51)
    _print("telling", [_time(partial(stories.tell, story.id, branch, seq)) for seq in told])
    forked, bare = [], []
    for number in range(ROUNDS):
        bare.append(_time(partial(stories.write, partial(_bare, number))))
        at = drawn.randrange(1, scenes * 9 // 10)
        forked.append(_time(partial(_fork, stories, story.id, branch, at, f"fork {number}")))
    _print("bare commit", bare)
    _print("forking", forked)
    ratio = sorted(forked)[ROUNDS // 2] / sorted(bare)[ROUNDS // 2]
    _say(f"a fork takes {ratio:.2f} times a bare commit, by processor time")
    document = read_story(make_document(5 * SCENES))
    took = _time(partial(stories.write, partial(moving.import_story, ANA, document, 1)))
    _say(f"importing {5 * SCENES} scenes takes {took:.2f} s")


def make_document(scenes: int) -> dict[str, Any]:
    """Return an import of one branch."""
    told = [{"branch": "main", "seq": seq, "text": f"{seq} {WORDS}"} for seq in range(1, scenes + 1)]
    return {"format": "agent-story/1", "title": "A long one", "foundation": "A harbour.", "scenes": told}


async def measure_cancels(port: int, cancels: int) -> None:
    """Print how long a cancel takes on both kinds of connections."""
    waits: dict[str, list[float]] = {"/ws": [], "/story": []}
    drawn = Random(1)
    async with AsyncExitStack() as stack:
        clients = {
            path: [await stack.enter_async_context(_connect(port, path)) for _ in range(CLIENTS)]
            for path in waits
        }
        kept: dict[str, list[float]] = {"/ws": [], "/story": []}  # the first round only warms up
        while min(map(len, waits.values())) < cancels:
            for path, each in clients.items():
                async with trio.open_nursery() as nursery:
                    for client in each:
                        nursery.start_soon(_cancel_once, client, path, drawn.uniform(0, WITHIN), kept[path])
            kept = waits
    if min(map(len, waits.values())) < cancels:
        raise RuntimeError("a connection was lost")
    for path, name in (("/ws", "conversation"), ("/story", "story")):
        _print(name, waits[path])


@asynccontextmanager
async def _connect(port: int, path: str) -> AsyncGenerator[Client, None]:
    """Connect a client, on `/story` with a story of its own; how its connection ends is passed over."""
    with suppress(WireClosed):
        async with connect(f"ws://127.0.0.1:{port}{path}") as client:
            await client.frames_until("welcome")
            if path == "/story":
                async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                    made = await http.post("/stories", json={"title": "T", "foundation": WORDS, "lang": "en"})
                await client.send({"type": "open_story", "story": made.json()["id"]})
                await client.frames_until("story")
            yield client


async def _cancel_once(client: Client, path: str, after: float, waits: list[float]) -> None:
    """Send a message and cancel it; a turn that was over before counts for nothing."""
    id = await client.ask(DIRECTIVE if path == "/story" else QUESTION)
    await trio.sleep(after)
    began = time.perf_counter()
    await client.cancel(id)
    with trio.fail_after(PATIENCE):
        while (frame := await client.next_frame())["type"] != "stream_end" or frame["id"] != id:
            pass
    if frame["reason"] == "cancelled":
        waits.append(time.perf_counter() - began)


def _create(scenes: int, transaction: Transaction) -> Any:
    return branching.create_story(ANA, f"A story of {scenes}", WORDS, "en", 1, transaction)


def _fork(stories: StoryFile, story: str, branch: str, seq: int, name: str) -> str:
    made = stories.write(partial(branching.fork, ANA, story, branch, seq, name, 1))
    return str(made.id)


_BARE = PreparedStatement(sa.insert(moves), "a", "b")


def _bare(nth: int, transaction: Transaction) -> None:
    _BARE.rows(transaction.connection, a=f"a{nth}", b="b")


def _time(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _print(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    p50, p99 = ordered[len(ordered) // 2] * 1000, ordered[len(ordered) * 99 // 100] * 1000
    _say(f"{name:12} p50 {p50:6.2f} ms   p99 {p99:6.2f} ms")


if __name__ == "__main__":
    main()
