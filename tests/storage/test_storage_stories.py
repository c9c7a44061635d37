"""Stories in their file: what survives, what is in no file any more, and what is said when it cannot be kept."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.errors import StorageFailed, StoryRefused, UsageError
from agent.ports.change_mark import BEGINNING
from agent.ports.stories import Aside, BranchTip, CastMember, Chapter, Milestone, SceneDraft
from agent.ports.story_store import StoryStore
from agent.storage.open import open_story_store
from agent.storage.settings import StorageSettings
from agent.storage.sqlite.owners import LedgerOwner
from agent.storage.stories import FILE, SCHEMA
from agent.storage.stories.store import DatabaseStories, open_database_stories
from agent.storage.stories.story_contents import STORIES
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.storage.opened import file_of
from tests.storage.test_storage_memories import Words, files_with
from tests.told import ANA, a_state, begin, read, tell, tell_all


def stories_in(folder: Path | None) -> AbstractAsyncContextManager[DatabaseStories]:
    return open_database_stories(folder, inline, Noon())


async def code_of(deed: Awaitable[Any]) -> str:
    """The code with which a request is refused, "" if it is not."""
    try:
        await deed
    except StoryRefused as error:
        return error.code
    return ""


def a_draft(claim: Any, **other: Any) -> SceneDraft:
    fields: dict[str, Any] = {"kind": "text", "directive": "", "seed": 1, "snapshot": b"", "model": "mock"}
    return SceneDraft(claim=claim, **(fields | other))


async def test_what_is_told_is_there_after_a_restart(tmp_path: Path) -> None:
    """Scenes, and all that belongs to them."""
    async with stories_in(tmp_path) as first:
        tip = await tell_all(first, await begin(first), "One.", "Two.")
        exported = await first.export_story(ANA, tip.story)
    async with stories_in(tmp_path) as second:
        assert await second.export_story(ANA, tip.story) == exported
        assert await second.open_branch(ANA, tip.story, None) == tip
        assert await second.list_faults(9) == ()


async def test_two_processes_claim_one_branch(tmp_path: Path) -> None:
    """One wins; the other is busy, then moved, until it opens the branch again."""
    async with stories_in(tmp_path) as one, stories_in(tmp_path) as other:
        tip = await begin(one)
        claim = await one.claim_scene(ANA, tip, "m1")
        assert await code_of(other.claim_scene(ANA, tip, "m1")) == "busy"
        await one.store_scene(a_draft(claim), "One.", [])
        assert await code_of(other.claim_scene(ANA, tip, "m1")) == "moved"
        await tell(other, await other.open_branch(ANA, tip.story, tip.branch), "Two.")
        assert await read(one, tip.story, tip.branch) == ["One.", "Two."]
        changes = await one.scene_changes(tip.story, BEGINNING, 9)
        assert [each.text for each in changes.scenes] == ["One.", "Two."]


async def test_claims_of_many_connections_at_once(tmp_path: Path) -> None:
    """However many ask, one is given the scene."""
    async with stories_in(tmp_path) as one, stories_in(tmp_path) as other:
        tip = await begin(one)
        codes: list[str] = []

        async def claim(stories: StoryStore) -> None:
            try:
                await stories.claim_scene(ANA, tip, "m1")
            except StoryRefused as error:
                codes.append(error.code)
            else:
                codes.append("won")

        async with trio.open_nursery() as nursery:
            for number in range(12):
                nursery.start_soon(claim, (one, other)[number % 2])
        assert sorted(codes) == ["busy"] * 11 + ["won"]


async def test_a_cancelled_claim_is_free(tmp_path: Path) -> None:
    """Whoever is cancelled while it is written holds nothing afterwards."""

    async def slowly(function: Callable[[], Any]) -> Any:
        answer = function()
        await trio.sleep(0.05)
        return answer

    async with open_database_stories(tmp_path, slowly, Noon()) as stories:
        tip = await begin(stories)
        with trio.move_on_after(0.02) as scope:
            await stories.claim_scene(ANA, tip, "m1")
        assert scope.cancelled_caught
        code = "busy"
        with trio.move_on_after(20):
            while code == "busy":
                await trio.sleep(0.02)  # it is given back behind the cancel
                code = await code_of(stories.claim_scene(ANA, tip, "m2"))
        assert code == ""


async def test_the_claim_of_a_dead_process_is_free_at_once(tmp_path: Path) -> None:
    """While others have the file open, and for the process that comes next."""

    def bury(stories: DatabaseStories) -> None:
        """Give all claims to a process that has ended."""
        dead = LedgerOwner(tmp_path, "tellers")
        connection = file_of(stories._database)._connection
        assert connection is not None
        connection.exec_driver_sql("UPDATE claims SET owner = ?", (dead.id,))
        dead.leave(tidy=False)

    async with stories_in(tmp_path) as stories, stories_in(tmp_path) as other:
        tip = await begin(stories)
        await stories.claim_scene(ANA, tip, "m1")
        assert await code_of(other.claim_scene(ANA, tip, "m2")) == "busy"
        bury(stories)
        assert await code_of(other.claim_scene(ANA, tip, "m2")) == ""
        assert await code_of(stories.claim_scene(ANA, tip, "m3")) == "busy"
        bury(stories)
    async with stories_in(tmp_path) as after:
        assert await code_of(after.claim_scene(ANA, tip, "m4")) == ""
    assert [*(tmp_path / "tellers").iterdir()] != []


async def a_story_of_words(
    stories: StoryStore, words: Words, drawn: random.Random
) -> tuple[BranchTip, list[str]]:
    """A story in which each text holds a word that is nowhere else, and all of these words."""
    used: list[str] = []

    def some() -> str:
        used.append(words.word())
        return f"{used[-1]} {words.some(drawn.choice([2, 20, 400]))}"

    story, _ = await stories.create_story(ANA, some()[:150], some(), "en")
    tip = await stories.open_branch(ANA, story.id, None)
    await stories.put_member(
        ANA, tip.story, CastMember(id="", name=some(), kind="person", look=some(), voice=some())
    )
    for _ in range(drawn.randrange(2, 6)):
        chapter = Chapter(
            id="",
            branch=tip.branch,
            from_seq=0,
            title=some(),
            place=some(),
            scenario=some(),
            direction=some(),
            milestones=(Milestone(number=1, text=some()),),
        )
        made = await stories.add_chapter(ANA, tip.story, chapter)
        for _ in range(drawn.randrange(1, 4)):
            states = [a_state(words.word(), some())]
            used.append(states[0].entity)
            tip = await tell(stories, tip, some(), states, directive=some(), snapshot=some().encode())
        await stories.store_choices(tip.version, [some(), some()])
        await stories.conclude_chapter(ANA, tip.story, made.id, some())
    assert tip.scene is not None
    tip = await tell(stories, tip, some(), retold=tip.scene.scene)
    await stories.set_state(ANA, tip.story, tip.branch, a_state(some(), some(), by="hand"))
    await stories.store_aside(ANA, tip.story, Aside(question=some(), answer=some(), at=1))
    return tip, used


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(2, 8))])
async def test_the_words_of_a_deleted_story_are_in_no_file(tmp_path: Path, seed: int) -> None:
    """Of stories and branches of all lengths, in any order, among others that stay; read by their bytes."""
    words, drawn = Words(seed), random.Random(seed)
    present: list[tuple[BranchTip, list[str]]] = []
    gone: list[str] = []
    async with stories_in(tmp_path) as stories:
        for _ in range(10):
            tip, used = await a_story_of_words(stories, words, drawn)
            name, told = words.word(), words.word()
            fork = await stories.fork(ANA, tip.story, tip.branch, tip.seq - 1, name)
            renamed = words.word()
            await stories.rename_branch(ANA, tip.story, fork.id, renamed)
            await tell(
                stories,
                await stories.open_branch(ANA, tip.story, fork.id),
                f"{told} {words.some(300)}",
                [a_state(told, told)],
                directive=told,
                snapshot=told.encode(),
            )
            if drawn.random() < 0.5:
                await stories.delete_branch(ANA, tip.story, fork.id)
                gone += [name, told, renamed]
            else:
                used += [told, renamed]
            present.append((tip, used))
            if drawn.random() < 0.5:
                left, its_words = present.pop(drawn.randrange(len(present)))
                await stories.delete_story(ANA, left.story)
                gone += its_words
            assert files_with(tmp_path, *gone) == []
        for _, used in present:  # but for words that a page's end divides
            assert sum(bool(files_with(tmp_path, word)) for word in used) > 0.8 * len(used)
        assert await stories.list_faults(9) == ()
        connection = file_of(stories._database)._connection
        assert connection is not None
        rows = connection.exec_driver_sql("SELECT count(*) FROM version_words WHERE text = ''").scalar_one()
        assert rows > 0
    assert gone
    assert files_with(tmp_path, *gone) == []


async def test_what_was_cancelled_was_never_written(tmp_path: Path) -> None:
    """A directive that led to no scene is in no file, whatever became of its claim."""
    async with stories_in(tmp_path) as stories:
        tip = await begin(stories)
        claim = await stories.claim_scene(ANA, tip, "m1")
        draft = a_draft(claim, directive="zanzibar", snapshot=b"zanzibar")
        await stories.release_claim(claim)
        assert await code_of(stories.store_scene(draft, "zanzibar", [a_state("zanzibar")])) == "moved"
        assert files_with(tmp_path, "zanzibar") == []
        await stories.delete_story(ANA, tip.story)
        assert await code_of(stories.store_scene(draft, "zanzibar", [])) == "unknown_story"
        assert files_with(tmp_path, "zanzibar") == []


async def test_a_full_disk_keeps_nothing_half(tmp_path: Path) -> None:
    """A scene that finds no room is not there at all, its claim stays, and once there is room it is stored."""
    troubles: list[str] = []
    async with open_database_stories(tmp_path, inline, Noon(), troubles.append) as stories:
        tip = await tell(stories, await begin(stories), "One.")
        claim = await stories.claim_scene(ANA, tip, "m1")
        connection = file_of(stories._database)._connection
        assert connection is not None
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        draft = a_draft(claim, snapshot=os.urandom(100_000))
        with pytest.raises(StorageFailed, match=r"^the stories: database or disk is full$"):
            await stories.store_scene(draft, "Two.", [a_state()])
        assert troubles == ["database or disk is full"]
        assert await read(stories, tip.story, tip.branch) == ["One."]
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
        receipt = await stories.store_scene(draft, "Two.", [a_state()])
        assert (receipt.seq, await read(stories, tip.story, tip.branch)) == (2, ["One.", "Two."])
        assert troubles[-1] == ""


async def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    """No file and no import; a file of a newer version ends the start and stays as it is, to the byte."""
    settings = StorageSettings(data=str(tmp_path / "data"))
    async with open_story_store(settings, inline, Noon()) as stories:
        assert not (tmp_path / "data").exists()
        await begin(stories)
        assert (tmp_path / "data" / FILE).is_file()
    file = tmp_path / "data" / FILE
    with closing(sqlite3.connect(file)) as newer:
        newer.execute(f"PRAGMA user_version={SCHEMA + 1}")
    before = {path.name: path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file()}
    with pytest.raises(UsageError, match="run the newer version"):
        async with open_story_store(settings, inline, Noon()):
            raise AssertionError("it opened")
    with pytest.raises(UsageError, match="run the newer version"):
        async with stories_in(tmp_path / "data"):
            raise AssertionError("it opened")
    assert before == {
        path.name: path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file()
    }


async def test_a_place_that_cannot_be_opened_is_told_and_tried_again(tmp_path: Path) -> None:
    """Its users hear that it failed, and the next one finds it once it works."""
    troubles: list[str] = []
    settings = StorageSettings(data=str(tmp_path / "data"))
    async with open_story_store(settings, inline, Noon(), troubles.append) as stories:
        (tmp_path / "data").write_text("a file")
        with pytest.raises(StorageFailed):
            await stories.list_stories(ANA)
        assert "stories cannot be kept" in " ".join(troubles)
        (tmp_path / "data").unlink()
        assert await stories.list_stories(ANA) == ()
        assert troubles[-1] == ""
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UsageError, match="choose another place with --data DIR"):
        async with open_story_store(StorageSettings(data=str(tmp_path / "file")), inline, Noon()):
            raise AssertionError("it opened")


def test_a_server_without_stories_imports_none() -> None:
    """The start path names the store, and loads neither its tables nor the database behind it."""
    script = (
        "import sys, agent.app, agent.compose.composition\n"
        "loaded = [n for n in sys.modules if n.startswith('agent.storage.stories.')]\n"
        "print(loaded, 'sqlalchemy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


@pytest.fixture
def sql(tmp_path: Path) -> "closing[sqlite3.Connection]":
    """The file of a story with a fork: main has scenes 1 to 3 and a shelved version of 3; the fork begins after 2."""

    async def fill() -> None:
        async with stories_in(tmp_path) as stories:
            tip = await tell_all(stories, await begin(stories), "One.", "Two.", "Three.")
            assert tip.scene is not None
            tip = await tell(stories, tip, "Three!", [a_state()], retold=tip.scene.scene)
            await stories.fork(ANA, tip.story, tip.branch, 2, "other")

    trio.run(fill)
    opened = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    opened.execute("PRAGMA foreign_keys=ON")
    return closing(opened)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE versions SET status = 'active' WHERE number = 3", id="two-active"),
        pytest.param("UPDATE versions SET status = 'shelved' WHERE number = 1", id="hole"),
        pytest.param("UPDATE versions SET status = 'shelved' WHERE number = 2", id="inherited"),
        pytest.param(
            "INSERT INTO versions SELECT 9, 3, 'shelved', 'own', 0, '', 0, NULL", id="begins-shelved"
        ),
        pytest.param("INSERT INTO scenes VALUES (9, 1, 3, NULL)", id="place-twice"),
        pytest.param("INSERT INTO scenes VALUES (9, 1, 0, NULL)", id="place-zero"),
        pytest.param("INSERT INTO claims VALUES (9, 'k', 99, 'o', 'm', 1, 0, 0)", id="claim-of-nothing"),
        pytest.param("UPDATE version_words SET text = 'Else.' WHERE version = 1", id="other-words"),
        pytest.param("DELETE FROM version_words WHERE version = 1", id="no-words"),
        pytest.param("DELETE FROM branches WHERE number = 2", id="branch-row"),
        pytest.param("UPDATE branches SET name = 'else' WHERE number = 2", id="other-name"),
        pytest.param("UPDATE states SET locked = 1", id="locked-by-a-rule"),
        pytest.param("UPDATE branches SET depth = 65 WHERE number = 2", id="too-deep"),
    ],
)
def test_the_file_refuses_what_would_break_a_story(
    sql: "closing[sqlite3.Connection]", statement: str
) -> None:
    """Whatever code writes it."""
    with sql as opened, pytest.raises(sqlite3.IntegrityError):
        opened.execute(statement)


def test_a_version_follows_an_active_one(sql: "closing[sqlite3.Connection]") -> None:
    """Nothing is told over an empty place, and what stands over one does not come back."""
    with sql as opened:
        opened.execute("INSERT INTO scenes VALUES (9, 1, 5, NULL)")
        with pytest.raises(sqlite3.IntegrityError, match="follows"):
            opened.execute("INSERT INTO versions VALUES (9, 9, 'active', 'own', 0, '', 0, NULL)")
        opened.execute("UPDATE versions SET status = 'shelved' WHERE number = 4")
        opened.execute("INSERT INTO scenes VALUES (10, 1, 4, NULL)")
        with pytest.raises(sqlite3.IntegrityError, match="follows"):
            opened.execute("INSERT INTO versions VALUES (10, 10, 'active', 'own', 0, '', 0, NULL)")


async def test_faults_of_a_file_are_listed(tmp_path: Path) -> None:
    """What another program broke is found: a hole, words that are gone, a state of another scene."""
    async with stories_in(tmp_path) as stories:
        await tell_all(stories, await begin(stories), "One.", "Two.", "Three.")
        await tell(stories, await begin(stories), "Else.", [a_state()])
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as opened:
        for trigger in STORIES.triggers:
            opened.execute(f"DROP TRIGGER {trigger.name}")
        opened.execute("UPDATE versions SET status = 'shelved' WHERE number = 2")
        opened.execute("DELETE FROM version_words WHERE version = 1")
        opened.execute("UPDATE states SET seq = 7")
    async with stories_in(tmp_path) as stories:
        assert await stories.list_faults(9) == (
            "scene 3 of branch 1 follows no scene",
            "version 1 of scene 1 has no words",
            "state 1 of branch 2 belongs to another scene",
        )
