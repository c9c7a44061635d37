"""The index of a user is made when it is first asked, kept up to date, and let go when there are too many."""

import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import StorageFailed, UsageError
from agent.host import WorkerThreads
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recall.scope_index import ScopeIndex, group_of
from agent.memory.recall.search import IndexSearch
from agent.memory.settings import MemorySettings
from agent.ports.change_mark import ChangeMark
from agent.ports.conversation import Scope
from agent.ports.memory import ExchangeRecord, Remark, StoredTurn
from agent.ports.recall_store import Changes
from agent.recall.index import BATCH, RecallIndex
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.testing.fakes import Noon
from tests.examples import sample
from tests.memory.made import MINE
from tests.remembered import ANA, NOW, OTHERS, accepted, an_exchange, budget

from .made import Feed, best, inline, search, turn

LARGE = 3 * BATCH + 5
STEP = 16

READS = ("load_group", "load_turns", "changes_after")


def users(count: int) -> list[Scope]:
    """Some users of one project."""
    return [Scope("p", "t", f"user{n}") for n in range(count)]


class Hanging:
    """Holds back what one kind of read has found, until `goes_on`; `hangs` is set once it holds something."""

    def __init__(self, store: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.goes_on, self.hangs, self.calls = trio.Event(), trio.Event(), 0
        real: Callable[..., Awaitable[Any]] = getattr(store, name)

        async def held_back(*given: Any) -> Any:
            self.calls += 1
            found = await real(*given)
            self.hangs.set()
            await self.goes_on.wait()
            return found

        monkeypatch.setattr(store, name, held_back)


async def said(store: DatabaseMemory, count: int) -> None:
    """Keep messages of one user, each with a word of its own."""
    remarks = [Remark(message=f"x{n}", role="user", text=f"Kitten word{n}.", at=NOW) for n in range(count)]
    await store.keep_exchanges([ExchangeRecord(ANA, (each,)) for each in remarks], NOW)


async def ids(recall: IndexRecaller, text: str = "What is the budget of atlas?") -> list[str]:
    """The ids that are found for her."""
    return best(await recall.recall(search(text, ANA, at=NOW)))


class Searches:
    """Searches of hers, each in a task of its own: what they have `found`, in the order of their ends."""

    def __init__(self, recall: IndexRecaller, nursery: trio.Nursery) -> None:
        self.found: list[list[str]] = []
        self._recall, self._nursery = recall, nursery

    def begin(self) -> None:
        """Begin another search."""
        self._nursery.start_soon(self._search)

    async def _search(self) -> None:
        self.found.append(await ids(self._recall))


@asynccontextmanager
async def held_back_search(
    recall: IndexRecaller, store: DatabaseMemory, elsewhere: DatabaseMemory, read: str
) -> AsyncGenerator[Searches, None]:
    """Begin a search that looks for changes, and hold back what one kind of `read` has found during the block."""
    await recall._follower.start()
    await elsewhere.record_gap(OTHERS[0], NOW, 1)  # so that a search looks for changes
    with pytest.MonkeyPatch.context() as patch:
        async with trio.open_nursery() as nursery:
            searches, hanging = Searches(recall, nursery), Hanging(store, read, patch)
            searches.begin()
            await hanging.hangs.wait()
            yield searches
            await trio.testing.wait_all_tasks_blocked()
            hanging.goes_on.set()


async def test_nothing_is_read_before_somebody_asks(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """Nor does what others say meanwhile take any index."""
    one, other = users(2)
    feed = Feed(turn(1, "A grey kitten.", scope=one), turn(2, "A black kitten.", scope=other))
    recall = IndexRecaller(feed, inline)
    nursery.start_soon(recall.keep_up)
    await trio.sleep(60)
    feed.changes.append(turn(3, "A red kitten.", scope=other))
    await trio.sleep(60)
    assert not recall._held
    assert best(await recall.recall(search("kitten", one))) == ["t1"]
    assert [each.group.user for each in recall._held.values()] == [one.user]
    assert sorted(best(await recall.recall(search("kitten", other)))) == ["t2", "t3"]
    nursery.cancel_scope.cancel()


async def test_who_asks_together_reads_once(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who leaves while he reads leaves it to the next."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall = IndexRecaller(store, inline, floor=0.0)
        hanging = Hanging(store, "load_group", monkeypatch)
        leaves, found = trio.CancelScope(), []

        async def ask(scope: trio.CancelScope) -> None:
            with scope:
                found.append(await ids(recall))

        nursery.start_soon(ask, leaves)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            nursery.start_soon(ask, trio.CancelScope())
        await trio.testing.wait_all_tasks_blocked()
        leaves.cancel()
        hanging.goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert (found, hanging.calls) == ([["i1"]] * 3, 2)


async def test_who_leaves_alone_leaves_nothing(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half of an index, which nobody would tell what changes."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall = IndexRecaller(store, inline, floor=0.0)
        with monkeypatch.context() as patch, trio.move_on_after(0.01):
            Hanging(store, "load_group", patch)
            await ids(recall)
        assert not recall._held
        await accepted(store, budget(50))
        assert await ids(recall) == ["i1"]


async def test_a_large_one_is_read_behind_its_users(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """In short steps, written before it is searched; who waits for it may leave, and it is read to its end."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await said(store, LARGE)
        recall, steps = IndexRecaller(store, inline, floor=0.0), [0]
        nursery.start_soon(recall.keep_up)
        leaves = trio.CancelScope()

        async def ask() -> None:
            with leaves:
                await ids(recall)

        nursery.start_soon(ask)
        while not (held := next(iter(recall._held.values()), None)) or not held.is_loaded:
            await trio.lowlevel.checkpoint()
            steps += [len(each.index.rows) for each in recall._held.values()]
            if steps[-1] > BATCH:
                leaves.cancel()
        assert leaves.cancelled_caught
        assert (
            max(after - before for before, after in pairwise(each for each in steps if each >= BATCH))
            <= 2 * STEP
        )
        assert held.index.waiting_count == 0
        last = f"word{LARGE - 1}"
        found = await recall.recall(search(last, ANA, at=NOW, limit=1))
        assert found.excerpts[0].text == f"Kitten {last}."
        nursery.cancel_scope.cancel()


async def test_who_leaves_is_served_at_the_next_question(
    tmp_path: Path,
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A turn that went on without memory leaves its reading to the tasks behind the searches."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall = IndexRecaller(store, inline, floor=0.0)
        nursery.start_soon(recall.keep_up)
        await trio.testing.wait_all_tasks_blocked()
        with monkeypatch.context() as patch, trio.move_on_after(1):
            Hanging(store, "load_group", patch)
            await ids(recall)
        await trio.testing.wait_all_tasks_blocked()
        assert [each.is_loaded for each in recall._held.values()] == [True]
        assert await ids(recall) == ["i1"]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("during", "behind", "by_another"), sample(product(READS, [False, True], [False, True]), 5)
)
async def test_what_is_forgotten_while_it_is_read_does_not_come_back(
    during: str,
    behind: bool,
    by_another: bool,
    tmp_path: Path,
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
) -> None:
    """Nor a thread that is deleted; whichever read has its words in hand then, and whoever forgets it."""
    async with (
        open_database_memory(tmp_path, inline, Noon()) as store,
        open_database_memory(tmp_path, inline, Noon()) as elsewhere,
    ):
        there = Scope(ANA.project, "another thread", ANA.user)
        await accepted(store, budget(50))
        await store.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
        await store.keep_exchanges([an_exchange("m2", "The atlas is red", "Yes.", scope=there)], NOW)
        await said(store, LARGE)
        recall, other = IndexRecaller(store, inline, floor=0.0), elsewhere if by_another else store
        if behind:
            nursery.start_soon(recall.keep_up)
            await trio.testing.wait_all_tasks_blocked()
        async with held_back_search(recall, store, elsewhere, during) as searches:
            await other.forget_item(ANA, "i1", NOW)
            await other.delete_thread(there, NOW)
            searches.begin()
        found = searches.found
        assert found[1] == []
        if not (by_another and during == "changes_after"):  # that look was taken before anybody forgot
            assert found[0] == []
        index = await recall.load_index(ANA)
        texts = [index.rows.texts[row] for row in range(len(index.rows))]
        assert not [each for each in texts if "atlas" in each]
        assert await ids(recall, "word7") != []
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("during", READS[:2])
async def test_what_comes_while_it_is_read_is_found(during: str, tmp_path: Path) -> None:
    """Once, and what it replaces no more."""
    async with (
        open_database_memory(tmp_path, inline, Noon()) as store,
        open_database_memory(tmp_path, inline, Noon()) as elsewhere,
    ):
        old = await accepted(store, budget(50))
        await said(store, LARGE)
        recall = IndexRecaller(store, inline, floor=0.0)
        async with held_back_search(recall, store, elsewhere, during) as searches:
            await elsewhere.keep_exchanges([an_exchange("m1", "My atlas costs 9 SEK", "Noted.")], NOW)
            await store.replace_item(ANA, old.id, budget(60), NOW)
            await store.keep_exchanges([an_exchange("m2", "My budget is 70 SEK", "Noted.")], NOW)
        (now,) = searches.found
        expected = ["i2", f"t{LARGE + 1}", f"t{LARGE + 3}"]
        assert sorted(each for each in now if each in (*expected, "i1")) == expected
        assert len(now) == len({*now})


async def test_the_least_recently_used_is_let_go() -> None:
    """And read anew when it is asked again, with what has become of it meanwhile."""
    one, two, three = users(3)
    feed = Feed(*[turn(n, f"Kitten {n}.", scope=scope) for n, scope in enumerate((one, two, three), 1)])
    recall = IndexRecaller(feed, inline, most=2)
    for scope in (one, two, one, three):
        await recall.recall(search("kitten", scope))
    assert [each.group.user for each in recall._held.values()] == [one.user, three.user]
    feed.changes += [turn(2, "", scope=two), turn(4, "A new kitten.", scope=two)]
    assert best(await recall.recall(search("kitten", two))) == ["t4"]
    assert [each.group.user for each in recall._held.values()] == [three.user, two.user]


async def test_one_in_use_is_not_let_go(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since nobody would tell it what is forgotten."""
    one, two = users(2)
    feed = Feed(turn(1, "A grey kitten.", scope=one), turn(2, "A black kitten.", scope=two))
    recall, found = IndexRecaller(feed, inline, most=1), []
    hanging = Hanging(feed, "changes_after", monkeypatch)
    await recall.load_index(one)
    feed.changes.append(turn(3, "A red kitten.", scope=one))

    async def look() -> None:
        found.append(best(await recall.recall(search("kitten", one))))

    nursery.start_soon(look)
    await hanging.hangs.wait()
    nursery.start_soon(recall.recall, search("kitten", two))
    await trio.testing.wait_all_tasks_blocked()
    assert {each.group.user for each in recall._held.values()} == {one.user, two.user}
    hanging.goes_on.set()
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(found[0]) == ["t1", "t3"]
    await recall.load_index(two)
    assert [each.group.user for each in recall._held.values()] == [two.user]


async def test_one_that_is_let_go_while_it_is_due_is_not_read(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller has left, and it would be told of no change."""
    one, two, three = users(3)
    feed = Feed(*[turn(n, f"Kitten {n}.", scope=scope) for n, scope in enumerate((one, two, three), 1)])
    recall = IndexRecaller(feed, inline, most=1)
    hanging = Hanging(feed, "load_group", monkeypatch)
    nursery.start_soon(recall.keep_up)
    await trio.testing.wait_all_tasks_blocked()
    for scope in (one, two, three):  # as many as are read behind the searches, and another
        with trio.move_on_after(1):
            await recall.load_index(scope)
    assert [each.group.user for each in recall._due] == [three.user]
    nursery.start_soon(recall.load_index, one)
    await trio.testing.wait_all_tasks_blocked()
    before = hanging.calls
    hanging.goes_on.set()
    await trio.sleep(1)
    assert hanging.calls == before
    assert not recall._due
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("on_disk", [False, True])
async def test_the_store_is_followed_before_the_first_read(
    on_disk: bool, tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that comes while the first group is read is in no page of it."""
    async with open_database_memory(tmp_path if on_disk else None, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall, hanging = IndexRecaller(store, inline, floor=0.0), Hanging(store, "load_group", monkeypatch)
        searches = Searches(recall, nursery)
        searches.begin()
        await hanging.hangs.wait()
        await store.forget_item(ANA, "i1", NOW)
        hanging.goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert searches.found == [[]]


async def test_rows_are_read_or_written_by_one_task_at_a_time(nursery: trio.Nursery) -> None:
    """Also by tasks that come while another task has waited for its turn; nothing is left when all have ended."""
    held, inside, most = ScopeIndex(group_of(MINE), IndexSearch(RecallIndex())), 0, 0
    goes_on = [trio.Event() for _ in range(3)]

    async def hold(until: trio.Event) -> None:
        nonlocal inside, most
        async with held._hold_rows():
            inside += 1
            most = max(most, inside)
            await until.wait()
            inside -= 1

    nursery.start_soon(hold, goes_on[0])
    await trio.testing.wait_all_tasks_blocked()
    nursery.start_soon(hold, goes_on[1])
    await trio.testing.wait_all_tasks_blocked()
    goes_on[0].set()
    await trio.testing.wait_all_tasks_blocked()
    nursery.start_soon(hold, goes_on[2])
    await trio.testing.wait_all_tasks_blocked()
    assert (inside, most) == (1, 1)
    for each in goes_on:
        each.set()
    await trio.testing.wait_all_tasks_blocked()
    assert (inside, held._lock) == (0, None)


@pytest.mark.parametrize("count", [1, LARGE])
@pytest.mark.parametrize("behind", [False, True])
async def test_a_store_that_fails_is_asked_again(
    count: int,
    behind: bool,
    tmp_path: Path,
    autojump_clock: trio.testing.MockClock,
    nursery: trio.Nursery,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the next question; this one is told."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await said(store, count)
        recall = IndexRecaller(store, inline, floor=0.0)
        if behind:
            nursery.start_soon(recall.keep_up)
            await trio.testing.wait_all_tasks_blocked()

        async def fails(*given: Any) -> Sequence[StoredTurn]:
            await trio.lowlevel.checkpoint()
            raise StorageFailed("no")

        with monkeypatch.context() as patch:
            patch.setattr(store, "load_group" if count == 1 else "load_turns", fails)
            with trio.fail_after(5), pytest.raises(StorageFailed):
                await ids(recall, "word0")
        with trio.fail_after(5):
            assert await ids(recall, "word0") != []
        nursery.cancel_scope.cancel()


async def test_a_change_that_a_look_has_is_not_taken_after_it(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look knows what became of it since: what another process has forgotten does not come back."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        recall, goes_on = IndexRecaller(store, inline, floor=0.0), trio.Event()
        assert await ids(recall) == []
        async with open_database_memory(tmp_path, inline, Noon()) as other:
            await other.record_gap(OTHERS[0], NOW, 1)
            real = store.changes_after

            async def late(after: ChangeMark, limit: int) -> Any:
                await goes_on.wait()
                return await real(after, limit)

            monkeypatch.setattr(store, "changes_after", late)
            found: list[list[str]] = []

            async def look() -> None:
                found.append(await ids(recall))

            nursery.start_soon(look)
            await trio.testing.wait_all_tasks_blocked()
            await store.keep_exchanges([an_exchange("m1", "The atlas is red", "Yes.")], NOW)
            await other.delete_thread(ANA, NOW)
        goes_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert found == [[]]
        assert await ids(recall) == []


async def test_threads_without_a_user_are_apart() -> None:
    """Each has an index of its own; an operator may search all of them at once."""
    here, there = Scope("p", "one", ""), Scope("p", "two", "")
    feed = Feed(turn(1, "A grey kitten.", scope=here), turn(2, "A black kitten.", scope=there))
    recall = IndexRecaller(feed, inline)
    assert best(await recall.recall(search("kitten", here))) == ["t1"]
    assert sorted(best(await recall.recall(search("kitten", Scope("p", "", ""), reach="user")))) == [
        "t1",
        "t2",
    ]
    feed.changes.append(turn(3, "A red kitten.", scope=there))
    assert best(await recall.recall(search("kitten", here))) == ["t1"]
    assert len((await recall.recall(search("kitten", Scope("p", "", ""), reach="user"))).excerpts) == 3


async def test_what_may_be_cited_is_asked_of_the_store_where_there_is_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index is made for that."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await accepted(store, budget(50))
        recall = IndexRecaller(store, inline)
        assert await recall.standing_ids(ANA, ["i1", "i2"], NOW) == {"i1"}
        assert not recall._held


async def test_a_change_from_before_its_first_page_is_not_taken() -> None:
    """The page may know what became of it; a later one is, once all is read."""
    feed, index = Feed(turn(1, "A grey kitten."), turn(1, ""), turn(2, "A car.")), RecallIndex()
    held = ScopeIndex(group_of(MINE), IndexSearch(index))
    held.take(Changes((turn(1, "A grey kitten."),), (), ChangeMark(1)))
    held.take(Changes((turn(3, "A red kitten."),), (), ChangeMark(4)))
    assert len(index.rows) == 0
    await held.load_first(feed)
    assert [index.rows.texts[row] for row in range(len(index.rows))] == ["A car.", "A red kitten."]
    held.take(Changes((turn(1, "A grey kitten."),), (), ChangeMark(3)))
    assert len(index.rows) == 2


def test_at_least_one_index_is_held() -> None:
    """None would be made anew for each question."""
    assert MemorySettings(memory_indexes=1).memory_indexes == 1
    with pytest.raises(UsageError, match="memory-indexes must be at least 1"):
        MemorySettings(memory_indexes=0)


_FORGETS = """
import random, sys, trio
from dataclasses import replace
from pathlib import Path
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, a_draft, accepted

async def main() -> None:
    draw, live = random.Random(1), []
    async with open_database_memory(Path(sys.argv[1]), inline, Noon()) as store:
        for number in range(60):
            user = f"user{draw.randrange(4)}"
            if live and draw.random() < 0.4:
                user, id, word = live.pop(draw.randrange(len(live)))
                await store.forget_item(replace(ANA, user=user), id, NOW)
                print("forgotten", user, word, flush=True)
            else:
                word, scope = f"kol{chr(97 + number // 26)}{chr(97 + number % 26)}en", replace(ANA, user=user)
                draft = a_draft(f"The {word} is red", word, message=word)
                item = await accepted(store, draft, scope)
                live.append((user, item.id, word))
                print("said", user, word, flush=True)
            sys.stdin.readline()

trio.run(main)
"""


@pytest.mark.proof
async def test_two_processes_over_one_folder_agree(tmp_path: Path) -> None:
    """Whatever one says or forgets the other finds or not, from the moment that it is told, whichever indexes it holds.

    It holds two of four, so that each is made, kept up to date, let go and made again.
    """
    known: dict[str, bool] = {}
    async with (
        open_database_memory(tmp_path, WorkerThreads(2), Noon()) as store,
        trio.open_nursery() as nursery,
    ):
        recall = IndexRecaller(store, WorkerThreads(2), floor=0.0, most=2)
        nursery.start_soon(recall.keep_up)
        command = [sys.executable, "-c", _FORGETS, str(tmp_path)]
        start = partial(trio.run_process, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = await nursery.start(start)
        lines = 0
        async for line in _lines(process.stdout):
            lines += 1
            what, user, word = line.split()
            known[f"{user} {word}"] = what == "said"
            for each, is_known in [*known.items()][-8:]:
                asks, asked = each.split()
                scope = replace(ANA, user=asks)
                found = await recall.recall(search(f"Is the {asked} red?", scope, at=NOW, limit=50))
                assert any(f" {asked} " in excerpt.text for excerpt in found.excerpts) == is_known
                assert len(recall._held) <= 2
            await process.stdin.send_all(b"\n")
        assert lines == 60
        for user in {each.split()[0] for each in known}:
            scope = replace(ANA, user=user)
            ours = await recall.load_index(scope)
            anew = await IndexRecaller(store, inline).load_index(scope)
            assert {*_live_ids(ours)} == {*_live_ids(anew)}
        nursery.cancel_scope.cancel()


def _live_ids(index: RecallIndex) -> list[str]:
    return [index.rows.id(row) for row in range(len(index.rows)) if index.rows.is_live(row)]


async def _lines(stream: trio.abc.ReceiveStream) -> AsyncIterator[str]:
    rest = b""
    async for some in stream:
        *whole, rest = (rest + some).split(b"\n")
        for line in whole:
            yield line.decode()
