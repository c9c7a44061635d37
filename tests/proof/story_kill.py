"""A process that tells a story and is killed on the way: scenes, versions, forks, undo, and a deletion.

It kills itself before the n-th statement that it has SQLite do, so that a kill falls into every gap between two: within
a transaction, before and after its commit, and before and after the log is cut off.
"""

from multiprocessing.connection import Connection
from pathlib import Path

import trio

from agent.host import WallClock, WorkerThreads
from agent.ports.story_store import StoryStore
from agent.storage.stories.store import open_database_stories
from tests.told import ANA, a_state, begin, tell_receipt

from .memory_kill import kill_before

ROUNDS = 3
SECRET = "quetzal"
"""Stands in the story that is deleted, and nowhere else."""


def text_of(number: int) -> str:
    """The text of a scene, which is whole or not there."""
    return f"scene {number} " + "å" * 3_000 + f" end {number}"


async def tell_on(stories: StoryStore, pipe: Connection) -> None:
    """Tell, retell, undo, redo, fork and delete; tell of each once it is answered."""
    tip = await begin(stories)
    pipe.send(("story", tip.story, tip.branch))
    for number in range(ROUNDS):
        for retold in (False, True):
            scene = tip.scene.scene if retold and tip.scene is not None else ""
            id = 2 * number + retold
            receipt = await tell_receipt(
                stories,
                tip,
                text_of(id),
                [a_state(value=f"value {id}")],
                retold=scene,
                snapshot=b"%d" % id * 5_000,
            )
            pipe.send(("told", receipt, id))
            tip = await stories.open_branch(ANA, tip.story, tip.branch)
        tip = await stories.undo(ANA, tip.story, tip.branch)
        pipe.send(("undone", tip.seq))
        tip = await stories.redo(ANA, tip.story, tip.branch)
        pipe.send(("redone", tip.seq))
        fork = await stories.fork(ANA, tip.story, tip.branch, number, f"fork {number}")
        pipe.send(("forked", fork))
    story, _ = await stories.create_story(ANA, SECRET, SECRET * 500, "en")
    secret = await stories.open_branch(ANA, story.id, None)
    await tell_receipt(
        stories, secret, f"{SECRET} " * 2_000, [a_state(SECRET, SECRET)], snapshot=SECRET.encode() * 999
    )
    await stories.delete_story(ANA, story.id)
    pipe.send(("deleted", story.id))


def one_life(folder: Path, statements: int, pipe: Connection) -> None:
    """Tell from the beginning; killed before so many statements, and never for 0. Tells how many there were."""

    async def life() -> int:
        async with open_database_stories(folder, WorkerThreads(2), WallClock()) as stories:
            counted = kill_before(statements)
            await tell_on(stories, pipe)
        return next(counted)

    pipe.send(("ended", trio.run(life)))


def one_claim(folder: Path, pipe: Connection) -> None:
    """Claim the next scene of a new story, say so, and never tell it."""

    async def life() -> None:
        async with open_database_stories(folder, WorkerThreads(2), WallClock()) as stories:
            tip = await begin(stories)
            await stories.claim_scene(ANA, tip, "m1")
            pipe.send(tip)
            await trio.sleep_forever()

    trio.run(life)
