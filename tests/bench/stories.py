"""What the store of stories costs: `python -m tests.bench.stories`.

A story of so many scenes, with its states, lies in a folder on a disk, as many branches deep as a story may be. All
times are processor time of the one thread that does the work, so that other processes count for nothing; the figures of
a fork are ratios to a commit of one bare row by the same code, taken in turns with it.

context     all that a prompt needs, read as of one moment, on the branch that is 64 deep
opening     the tip of that branch with its choices
telling     a scene with its snapshot and states, its claim before it
forking     a fork of that branch at a random inherited scene, over a bare commit of one row
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa

from agent.ports.stories import BRANCH_DEPTH, CastMember, SceneClaim, SceneDraft
from agent.storage.prepared import PreparedStatement
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.stories import branching, cast, claims, reading, telling
from agent.storage.stories.schema import STORIES, moves
from agent.storage.transaction import FunctionRequest, Transaction
from agent.testing.fakes import Noon
from tests.told import ANA, a_state

SCENES, ROUNDS = 1_000, 200
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
    scenes: int = parser.parse_args().scenes
    with tempfile.TemporaryDirectory() as folder:
        measure(StoryFile(Path(folder)), scenes)


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
