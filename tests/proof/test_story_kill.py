"""What SIGKILL leaves of a story. STORY_KILLS=60 kills at sixty points of its telling."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.errors import StoryRefused
from agent.host import WallClock, WorkerThreads
from agent.ports.story_store import StoryStore
from agent.storage.stories.store import open_database_stories
from tests.told import ANA, tell

from . import story_kill
from .story_kill import SECRET, text_of
from .test_ledger_kill import PATIENCE, SIGKILL, process, told
from .test_memory_kill import told_all

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("STORY_KILLS", "6"))
GOES_ON = 2.0  # CPU seconds of this process, far more than it takes


async def look(folder: Path, said: list[Any]) -> None:
    """Check a story after a kill, and go on with it."""
    async with open_database_stories(folder, WorkerThreads(2), WallClock()) as stories:
        assert await stories.list_faults(9) == ()
        found = [each for each in said if each[0] == "story"]
        if not found:
            return
        _, story, branch = found[0]
        receipts = {each[1].version: each for each in said if each[0] == "told"}
        versions = [
            version
            for scene in {each[1].scene for each in receipts.values()}
            for version in await stories.list_versions(ANA, story, scene)
        ]
        texts = {each.version: each.text for each in versions}
        for version, (_, _, number) in receipts.items():  # each receipt holds, and its scene is whole
            assert texts[version] == text_of(number)
            assert await stories.snapshot(ANA, story, version) == b"%d" % number * 5_000
        assert set(texts.values()) <= {text_of(number) for number in range(20)}
        forks = [each[1].id for each in said if each[0] == "forked"]
        assert {each.id for each in await stories.list_branches(ANA, story)} >= {branch, *forks}
        await go_on(stories, story, branch)
        with_secret = [each for each in await stories.list_stories(ANA) if each.title == SECRET]
        for each in with_secret:  # killed before its deletion was answered
            await stories.delete_story(ANA, each.id)


async def go_on(stories: StoryStore, story: str, branch: str) -> None:
    """Tell the next scene: the claim of the process that was killed holds nothing up."""
    tip = await stories.open_branch(ANA, story, branch)
    scenes = await stories.list_scenes(ANA, story, branch, 0, 100)
    assert [each.seq for each in scenes] == [*range(1, tip.seq + 1)]
    [*_, state] = await stories.list_states(ANA, story, branch) or [None]
    assert (state is None) == (tip.scene is None)
    if state is not None and tip.scene is not None:
        assert tip.scene.text == text_of(int(state.value.removeprefix("value ")))
    began = time.process_time()
    try:
        after = await tell(stories, tip, "It goes on.")
    except StoryRefused as error:
        raise AssertionError(error.code) from error
    assert time.process_time() - began < GOES_ON
    assert after.seq == tip.seq + 1


def test_killed_before_any_statement(tmp_path: Path) -> None:
    """Each receipt holds, each scene is whole, no claim is left, and what was deleted is in no file."""
    with process(story_kill.one_life, tmp_path / "whole", 0) as (_, pipe):
        statements = int(told_all(pipe)[-1][1])
    points = [1 + at * (statements - 1) // (KILLS - 1) for at in range(KILLS)]
    ends = set()
    for point in points:
        folder = tmp_path / str(point)
        with process(story_kill.one_life, folder, point) as (killed, pipe):
            said = told_all(pipe)
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
        trio.run(look, folder, said)
        held = [
            path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
        ]
        assert held == [], point
        ends.add(len(said))
    assert len(ends) > min(KILLS, 12) // 2


async def test_the_claim_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    """For a process that has the file open all the while; before the kill it is busy."""
    async with open_database_stories(tmp_path, WorkerThreads(2), WallClock()) as stories:
        with process(story_kill.one_claim, tmp_path) as (killed, pipe):
            tip = told(pipe)
            with pytest.raises(StoryRefused) as refused:
                await stories.claim_scene(ANA, tip, "m2")
            assert refused.value.code == "busy"
            killed.kill()
            killed.join(PATIENCE)
        assert (await tell(stories, tip, "It goes on.")).seq == 1
