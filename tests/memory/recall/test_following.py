"""An index hears of its process's own writes, and reads those of others only where there may be any."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any, TypeVar

import pytest
import trio
import trio.testing

from agent.errors import StorageFailed
from agent.memory.recall.change_follower import PAGE
from agent.memory.recall.recall import IndexRecaller
from agent.ports.change_mark import ChangeMark
from agent.ports.memory import ExchangeRecord, Remark
from agent.ports.recall_store import Changes
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.testing.fakes import Noon
from tests.remembered import ANA, NOW, OTHERS, accepted, an_exchange, budget, proposed

from .made import inline, search

T = TypeVar("T")


class Threads:
    """Does blocking work at once, and counts it (`agent.ports.work.RunSync`)."""

    def __init__(self) -> None:
        self.trips = 0

    async def __call__(self, function: Callable[[], T]) -> T:
        """Return `function()`."""
        self.trips += 1
        await trio.lowlevel.checkpoint()
        return function()


def recaller(store: DatabaseMemory) -> IndexRecaller:
    """What recalls, however unsure it is."""
    return IndexRecaller(store, inline, floor=0.0)


async def found(recall: IndexRecaller) -> list[str]:
    """The ids of her items and messages that are found, in order."""
    excerpts = (await recall.recall(search("What is the budget of atlas?", ANA, at=NOW))).excerpts
    return sorted(each.id for each in excerpts if each.citable)


@pytest.mark.parametrize("on_disk", [False, True])
async def test_own_writes_are_heard_and_not_read(tmp_path: Path, on_disk: bool) -> None:
    """Each is found, or found no more, by the next search, which asks the store nothing."""
    threads = Threads()
    async with open_database_memory(tmp_path if on_disk else None, threads, Noon()) as store:
        recall = recaller(store)
        assert await found(recall) == []
        await store.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
        item = await accepted(store, budget(50))
        before = threads.trips
        assert await found(recall) == ["i1", "t1"]
        assert await recall.standing_ids(ANA, ["i1", "t1", "t2", "t9", "x"], NOW) == {"i1", "t1"}
        await store.replace_item(ANA, item.id, budget(60), NOW)
        after = threads.trips
        assert await found(recall) == ["i2", "t1"]
        assert await recall.standing_ids(ANA, ["i1", "i2", "t1"], NOW) == {"i2"}
        await store.forget_item(ANA, "i2", NOW)
        forgetting = threads.trips - after
        assert "i2" not in await found(recall)
        assert threads.trips == after + forgetting > before


async def test_what_stands_is_as_the_store_has_it(tmp_path: Path) -> None:
    """Whatever becomes of an item: rejected, reopened, replaced, forgotten."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = recaller(store)
        ids = [*(f"t{n}" for n in range(1, 9)), *(f"i{n}" for n in range(1, 6))]

        async def agree() -> None:
            assert await recall.standing_ids(ANA, ids, NOW) == await store.citable_ids(ids, NOW)

        for number in range(4):
            message = f"m{number}"
            said = an_exchange(
                message, f"The budget is {number}", "Yes.", budget(50 + number, message=message)
            )
            await store.keep_exchanges([said], NOW)
            await agree()
        await store.accept_item(ANA, "i1", NOW)
        await agree()
        await store.decide_item(ANA, "i2", "reject", NOW)
        await agree()
        await store.decide_item(ANA, "i2", "reopen", NOW)
        await agree()
        await store.accept_item(ANA, "i2", NOW)
        await agree()
        await store.forget_item(ANA, "i2", NOW)
        await agree()
        anew = recaller(store)
        await anew.load_index(ANA)
        assert await anew.standing_ids(ANA, ids, NOW) == await store.citable_ids(ids, NOW)


async def test_a_look_is_taken_where_another_process_may_have_written(tmp_path: Path) -> None:
    """Another connection to the file is one; a search that comes after its write finds it, and reads once."""
    threads = Threads()
    async with open_database_memory(tmp_path, threads, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        async with open_database_memory(tmp_path, inline, Noon()) as other:
            await found(recall)
            await other.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
            before = threads.trips
            assert await found(recall) == ["t1"]
            assert await found(recall) == ["t1"]
            assert threads.trips == before + 1
            await store.keep_exchanges([an_exchange("m2", "The atlas has 9 pages", "Noted.")], NOW)
            await other.keep_exchanges([an_exchange("m3", "My budget of atlas is 60 SEK", "Noted.")], NOW)
            assert await found(recall) == ["t1", "t3", "t5"]


_PROCESS = """
import sys, trio
from pathlib import Path
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, accepted, budget

async def main() -> None:
    for line in sys.stdin:
        async with open_database_memory(Path(sys.argv[1]), inline, Noon()) as store:
            await accepted(store, budget(50)) if line == "tell\\n" else await store.forget_item(ANA, "i1", NOW)
        print("done", flush=True)

trio.run(main)
"""


@contextmanager
def other_process(folder: Path) -> Iterator[Callable[[str], str]]:
    """Start a process that writes to the memory in `folder`; yield a function that has it do so, and its reply."""
    command = [sys.executable, "-c", _PROCESS, str(folder)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:

        def order(word: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{word}\n")
            process.stdin.flush()
            return process.stdout.readline()

        yield order


@pytest.mark.proof
async def test_a_process_is_heard_of_through_the_file(tmp_path: Path) -> None:
    """What it remembers is found, and what it forgets is not."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        with other_process(tmp_path) as order:
            for word, finds in (("tell", ["i1"]), ("forget", [])):
                assert order(word) == "done\n"
                assert await found(recall) == finds


async def test_a_look_of_an_earlier_state_undoes_nothing(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is forgotten while a look is read stays forgotten, also where the look still has its words."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        async with open_database_memory(tmp_path, inline, Noon()) as other:
            await accepted(other, budget(50))
        real, goes_on = store.changes_after, trio.Event()

        async def slow(after: ChangeMark, limit: int) -> Changes:
            changes = await real(after, limit)
            await goes_on.wait()
            return changes

        monkeypatch.setattr(store, "changes_after", slow)
        results: list[list[str]] = []

        async def look() -> None:
            results.append(await found(recall))

        nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        await store.forget_item(ANA, "i1", NOW)
        nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert results == [[], []]
        assert await found(recall) == []


async def test_who_searches_waits_for_what_is_heard(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody else has written, while a look goes on that was taken in doubt."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall = recaller(store)
        assert await found(recall) == ["i1"]
        real, goes_on = store.changes_after, trio.Event()

        async def slow(after: ChangeMark, limit: int) -> Changes:
            changes = await real(after, limit)
            await goes_on.wait()
            return changes

        monkeypatch.setattr(store, "changes_after", slow)
        with monkeypatch.context() as patch:
            patch.setattr(store, "count_unheard_writes", lambda: None)
            nursery.start_soon(found, recall)
            await trio.testing.wait_all_tasks_blocked()
        await store.forget_item(ANA, "i1", NOW)
        results: list[list[str]] = []

        async def look() -> None:
            results.append(await found(recall))

        nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert results == [[]]


async def test_a_caller_that_leaves_does_not_keep_its_write_from_the_index(tmp_path: Path) -> None:
    """It was written whole, so it is found."""
    hanging, started = trio.Event(), trio.Event()

    async def hangs(function: Callable[[], Any]) -> Any:
        result = function()
        if started.is_set():
            await hanging.wait()
        return result

    async with open_database_memory(tmp_path, hangs, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        started.set()
        with trio.move_on_after(0.05):
            await store.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
        started = trio.Event()
        hanging.set()
        await trio.testing.wait_all_tasks_blocked()
        assert await found(recall) == ["t1"]


async def test_a_write_that_ends_in_an_error_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be on disk all the same."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall = recaller(store)
        assert await found(recall) == ["i1"]
        with monkeypatch.context() as patch:
            patch.setattr("agent.storage.sqlite.database_file._EMPTY_LOG", "SELECT * FROM nowhere")
            with pytest.raises(StorageFailed):
                await store.forget_item(ANA, "i1", NOW)
        assert await found(recall) == []


async def test_many_changes_of_another_process_are_all_taken_in(tmp_path: Path) -> None:
    """However many pages they fill, while this process writes too."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        async with open_database_memory(tmp_path, inline, Noon()) as other:
            many = [
                ExchangeRecord(
                    ANA, (Remark(message=f"x{n}", role="user", text=f"Kitten {n}.", at=NOW, sitting=n),)
                )
                for n in range(3 * PAGE)
            ]
            await other.keep_exchanges(many, NOW)
        await store.keep_exchanges([an_exchange("m1", "A black kitten.", "Oh.")], NOW)
        await found(recall)
        assert len((await recall.load_index(ANA)).rows) == 3 * PAGE + 2


async def test_other_users_are_not_found(tmp_path: Path) -> None:
    """What is heard goes to its own scope."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = recaller(store)
        await found(recall)
        for scope in OTHERS:
            await proposed(store, budget(50), scope)
            await store.keep_exchanges(
                [an_exchange("m1", "The budget of atlas is 1 SEK", "Ok", scope=scope)], NOW
            )
        assert await found(recall) == []
