"""What is forgotten lies in two files: cut off on its way through them, it is forgotten wholly when tried again."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent.errors import StorageFailed
from agent.ports.pages import Window
from agent.ports.requests import StoredAnswer
from agent.storage import turns
from agent.storage.feedback import DatabaseFeedback
from agent.storage.memories.store import DatabaseMemory
from agent.storage.sqlite.trust import FILE
from agent.storage.threads import DatabaseThreads
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.examples import sample
from tests.forgetting import TEXT, WHOSE, WORD, both_files, say_everywhere
from tests.remembered import NOW, an_exchange
from tests.storage.test_storage_memories import files_with
from tests.storage.test_storage_settle import Process
from tests.stored import an_opening


async def test_what_was_said_everywhere_is_nowhere(tmp_path: Path) -> None:
    """In no file while it is open, nor after it; what is left of a call says that it ran."""
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        assert len(files_with(tmp_path, WORD)) >= 2
        assert (await desk.forget_item(WHOSE, id)).item.status == "forgotten"
        assert files_with(tmp_path, WORD) == []
        call = await store.calls.call("default", "c1")
        assert (call.status, call.approved_by, dict(call.arguments)) == ("done", "u1", {"text": ""})
    assert files_with(tmp_path, WORD) == []


async def test_no_line_of_the_audit_names_what_is_forgotten(tmp_path: Path) -> None:
    """What was decided about it goes with it; of other items, and of calls whatever their ids are, the lines stay."""
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        stays = [("memory accept", f"{id}0"), ("approved", "c1"), ("approved", id)]
        for event, subject in (("memory accept", id), ("memory edit", id), *stays):
            await store.requests.write_audit(NOW, "default", "u1", event, subject)
        await desk.forget_item(WHOSE, id)
        stays = [("approved", "c1"), *stays]  # the first is written with the approval of its call
        assert read_audit(tmp_path) == stays
        await store.requests.write_audit(NOW, "default", "u1", "memory accept", id)
        await desk.forget_item(WHOSE, id)  # again, as where it was cut off
        assert read_audit(tmp_path) == stays


@pytest.mark.parametrize("seed", sample(range(12), 12))
async def test_no_page_keeps_a_copy_of_a_stored_answer(tmp_path: Path, seed: int) -> None:
    """Requests that run at once are answered in any order and at any length, and some fail."""
    rng = Random(seed)
    async with both_files(tmp_path, inline, Noon()) as (_, _, store):
        for first in range(0, 120, 6):
            keys = [*range(first, first + 6)]
            for key in keys:
                await store.requests.begin_request("caller", f"key {key}", "d" * 64, NOW, "default")
            for key in rng.sample(keys, len(keys)):
                body = b'{"id":"i%d","text":"%s %s"}' % (key, WORD.encode(), b"x" * rng.randrange(5_000))
                stored = None if rng.random() < 0.1 else StoredAnswer(200, body)
                await store.requests.record_answer("caller", f"key {key}", stored)
        for key in range(120):
            await store.threads.forget_turns((), f"i{key}")
        assert files_with(tmp_path, WORD) == []


def read_audit(folder: Path) -> list[tuple[str, str]]:
    """The event and the subject of each line of the audit."""
    with closing(sqlite3.connect(folder / FILE)) as opened:
        return opened.execute("SELECT event, subject FROM audit ORDER BY number").fetchall()


async def test_what_is_said_again_while_it_is_looked_for_is_nowhere_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that is kept after the last look, and before the rows are emptied."""
    forget, again = DatabaseMemory.forget_item, f"Once more: {TEXT}"
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        database = memory._database  # type: ignore[attr-defined]
        write = database.write

        async def late(work: Any) -> Any:
            monkeypatch.setattr(database, "write", write)
            await memory.keep_exchanges([an_exchange("m9", again, f"Yes: {TEXT}", scope=WHOSE)], NOW)
            return await write(work)

        async def meanwhile(self: DatabaseMemory, *given: Any) -> Any:
            monkeypatch.setattr(database, "write", late)
            return await forget(self, *given)

        monkeypatch.setattr(DatabaseMemory, "forget_item", meanwhile)
        await desk.forget_item(WHOSE, id)
        words = [turn.remark.text for turn in await memory.turns(0, 50)]
        assert len(words) > 4
        assert not any(WORD in text for text in words)


@pytest.mark.parametrize("first", [True, False])
async def test_a_message_whose_process_has_died_is_forgotten_too(tmp_path: Path, first: bool) -> None:
    """Its turn goes on no more, though nobody has opened the file since, who would have ended it."""
    dead = Process(tmp_path)
    late = partial(turns.begin_turn, an_opening("m9", thread="t9", content=f"{TEXT}."))
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        if first:
            dead.do(late)
        id = await say_everywhere(memory, store)
        if not first:
            dead.do(late)
        dead.die()
        await desk.forget_item(WHOSE, id)
        assert files_with(tmp_path, WORD) == []
        (message,) = (await store.threads.messages("default", "t9", Window(9))).entries
        assert (message.status, message.content) == ("cancelled", "")


async def test_a_message_whose_turn_goes_on_stays(tmp_path: Path) -> None:
    """Its user says it again just then."""
    other = Process(tmp_path)
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        other.do(partial(turns.begin_turn, an_opening("m9", thread="t9", content=f"{TEXT}.")))
        await desk.forget_item(WHOSE, id)
        (message,) = (await store.threads.messages("default", "t9", Window(9))).entries
        assert (message.status, message.content) == ("pending", f"{TEXT}.")
    other.file.close()


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (DatabaseThreads, "forget_repeats"),
        (DatabaseFeedback, "forget_repeats"),
        (DatabaseMemory, "forget_item"),
        (DatabaseThreads, "forget_turns"),
        (DatabaseFeedback, "forget_turns"),
    ],
)
@pytest.mark.parametrize("done", [False, pytest.param(True, marks=pytest.mark.proof)])
async def test_cut_off_on_its_way_it_is_forgotten_wholly_again(
    where: type, what: str, done: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of its steps or after it; until then the item is there whole, or is forgotten."""
    step = getattr(where, what)

    async def fails(self: Any, *given: Any) -> Any:
        if done:
            await step(self, *given)
        raise StorageFailed("the disk")

    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        with monkeypatch.context() as patched:
            patched.setattr(where, what, fails)
            with pytest.raises(StorageFailed):
                await desk.forget_item(WHOSE, id)
        left = await memory.item(WHOSE, id)
        assert (left.status, left.text) in (("accepted", TEXT), ("forgotten", ""))
        for _ in range(2):
            await desk.forget_item(WHOSE, id)
            assert files_with(tmp_path, WORD) == []
