"""The vectors of what was said: kept, read again, and made where they are not there."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing

from agent.errors import EmbeddingFailed, StorageFailed
from agent.memory.recall import dense
from agent.memory.recall.dense import AGAIN, AT_ONCE, KEPT, RowVectors
from agent.memory.recall.recall import IndexRecaller
from agent.ports.conversation import Scope
from agent.ports.vectors import PackedVector, VectorKind
from agent.recall.index import BATCH, RecallIndex
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.testing.fakes import Noon
from agent.testing.vectors import WordsEmbedder
from tests.logs import logged
from tests.memory.made import MINE
from tests.remembered import NOW, a_draft, accepted, an_exchange

from .made import Feed, best, inline, search, turn

LAST = VectorKind("words:64", 64)


class Shelf:
    """Keeps vectors in memory (a `VectorStore`); notes each write, and can be slow and broken."""

    def __init__(self) -> None:
        self.kept: dict[VectorKind, dict[str, PackedVector]] = {}
        self.written: list[list[str]] = []
        self.read: list[int] = []
        self.fails = False
        self.wait = 0.0

    async def vectors(self, kind: VectorKind, ids: Collection[str]) -> tuple[PackedVector, ...]:
        """Return what is kept."""
        await self._answer()
        self.read.append(len(ids))
        found = self.kept.get(kind, {})
        return tuple(found[id] for id in ids if id in found)

    async def keep_vectors(self, kind: VectorKind, packed: Sequence[PackedVector]) -> None:
        """Keep them."""
        await self._answer()
        self.written.append([each.id for each in packed])
        there = self.kept.setdefault(kind, {})
        for each in packed:
            there.setdefault(each.id, each)

    async def drop_vectors(self) -> int:
        """Nobody asks for it."""
        raise NotImplementedError

    async def _answer(self) -> None:
        await trio.sleep(self.wait)
        if self.fails:
            raise StorageFailed("the memory: database or disk is full")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def talk(first: int, last: int) -> list[Any]:
    """Turns that are told apart, each in a sitting of its own."""
    return [turn(n, f"word{n} said", sitting=n) for n in range(first, last + 1)]


def index_of(count: int) -> RecallIndex:
    """An index of so many turns."""
    index = RecallIndex()
    for each in talk(1, count):
        index.add_turn(each)
    return index


def dense_of(index: RecallIndex, embedder: WordsEmbedder, shelf: Shelf) -> RowVectors:
    return RowVectors(index.rows, embedder, inline, None, shelf)


async def nearest(found: RowVectors, text: str) -> int:
    """The row that is nearest to a text."""
    look = await found.find_nearest(text, frozenset({0}))
    own, _ = found.measure_cosines(look, lambda row: True, ())
    return max(own, key=lambda row: own[row])


async def test_what_is_kept_is_not_made_again(shelf: Shelf) -> None:
    """At the next start it is read, in pages; it finds the same. What came since is made."""
    embedder, index = WordsEmbedder(), index_of(300)
    first = dense_of(index, embedder, shelf)
    await first.catch_up()
    assert await first.save_vectors() == 0
    assert len(embedder.asked) == 300
    assert [len(ids) for ids in shelf.written] == [KEPT, KEPT, 300 - 2 * KEPT]
    embedder.asked.clear()
    shelf.written.clear()
    index.add_turn(turn(301, "word301 said", sitting=301))
    again = dense_of(index, embedder, shelf)
    await again.catch_up()
    assert (embedder.asked, again.missing_count) == (["word301 said"], 0)
    assert await again.save_vectors() == 0
    assert shelf.written == [["t301"]]
    look, other = [await each.find_nearest("word77 said", frozenset({0})) for each in (first, again)]
    assert again.measure_cosines(other, lambda row: row < 300, ()) == first.measure_cosines(
        look, lambda row: row < 300, ()
    )
    assert [await nearest(again, f"word{n}") for n in (1, 200, 301)] == [0, 199, 300]
    assert max(shelf.read) <= dense.READ


async def test_how_near_a_turn_is_with_those_beside_it_is_their_mean(shelf: Shelf) -> None:
    """Of its sitting alone; one that has no vector yet counts as one that says something else."""
    index = RecallIndex()
    for each in (turn(1, "blue moon"), turn(2, "red sun"), turn(3, "blue sun")):
        index.add_turn(each)
    found = dense_of(index, WordsEmbedder(), shelf)
    await found.catch_up()
    for each in (turn(4, "blue moon"), turn(5, "blue moon", sitting=1)):
        index.add_turn(each)
    own, around = found.measure_cosines(
        await found.find_nearest("blue moon", frozenset({0})), lambda row: row != 4, [3, 4]
    )
    assert own.keys() == around.keys() == {0, 1, 2, 3}
    assert own[0] == pytest.approx(1, abs=0.02)
    assert own[3] == 0.0
    beside = {0: (0, 1), 1: (0, 1, 2), 2: (1, 2, 3), 3: (2, 3)}
    exact = {row: sum(own[each] for each in rows) / len(rows) for row, rows in beside.items()}
    assert around == pytest.approx(exact, abs=0.06)
    assert own[2] > 0.3


async def test_no_vector_is_written_alone_while_more_come(
    shelf: Shelf, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """A turn costs no commit: those of a minute are written together, and nothing where there is none."""
    embedder = WordsEmbedder()
    feed = Feed()
    recall = IndexRecaller(feed, inline, lambda index: dense_of(index, embedder, shelf))
    nursery.start_soon(recall.keep_up)
    await recall.load_index(MINE)
    for each in talk(1, KEPT + 10):
        feed.changes.append(each)
        await recall.load_index(MINE)
        await trio.sleep(1)
    await trio.sleep(AGAIN + 1)
    assert len(shelf.written) == 3
    assert sum(map(len, shelf.written)) == KEPT + 10
    await trio.sleep(3 * AGAIN)
    assert len(shelf.written) == 3
    nursery.cancel_scope.cancel()


async def test_vectors_of_a_few_rows_are_stored_while_others_keep_talking(
    shelf: Shelf, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """A busy server has no quiet minute, and a small group never has enough rows for a write of its own."""
    embedder, quiet = WordsEmbedder(), Scope("p", "t", "quiet")
    feed = Feed(turn(1, "word1", scope=quiet))
    recall = IndexRecaller(feed, inline, lambda index: dense_of(index, embedder, shelf))
    nursery.start_soon(recall.keep_up)
    await recall.load_index(quiet)
    for each in talk(2, 2 + round(AGAIN)):
        feed.changes.append(each)
        await recall.load_index(MINE)
        await trio.sleep(1)
    assert "t1" in {id for ids in shelf.written for id in ids}
    nursery.cancel_scope.cancel()


async def test_no_text_is_embedded_of_an_index_that_was_let_go(
    shelf: Shelf, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """It hears of no change, so its words may be forgotten."""
    embedder = WordsEmbedder(delay=1.0)
    one, two, three = (Scope("p", "t", f"user{number}") for number in range(3))
    feed = Feed(turn(1, "word1", scope=one), turn(2, "word2", scope=two))
    recall = IndexRecaller(feed, inline, lambda index: dense_of(index, embedder, shelf), most=2)
    await recall.load_index(one)
    await recall.load_index(two)
    nursery.start_soon(recall.embed_rows)
    await trio.testing.wait_all_tasks_blocked(0.1)
    await recall.load_index(three)
    feed.changes.append(turn(2, "", scope=two))
    await trio.sleep(5)
    assert embedder.asked == ["word1"]


@pytest.mark.parametrize("other", [("words:1", 64), ("words:64", 128)])
async def test_another_embedder_makes_its_own(
    shelf: Shelf, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery, other: tuple[str, int]
) -> None:
    """In the background; until then words alone recall. Those of the one before stay as they were."""
    before, count = WordsEmbedder(), 3 * BATCH
    index = index_of(count)
    found = dense_of(index, before, shelf)
    await found.catch_up()
    await found.save_vectors()
    kept = dict(shelf.kept[LAST])
    after = WordsEmbedder(other[1], delay=1.0)
    after.name = other[0]
    recall = IndexRecaller(Feed(*talk(1, count)), inline, lambda index: dense_of(index, after, shelf))
    await recall.load_index(MINE)
    nursery.start_soon(recall.keep_up)
    await trio.sleep(1.5)
    asked = len(after.asked)
    assert best(await recall.recall(search("word5")))[0] == "t5"
    assert len(after.asked) == asked < count
    await trio.sleep(2 * AGAIN)
    assert len(after.asked) == count
    assert len(shelf.kept[VectorKind(*other)]) == count
    assert shelf.kept[LAST] == kept
    assert best(await recall.recall(search("word5")))[0] == "t5"
    assert after.asked[-1] == "word5"
    nursery.cancel_scope.cancel()


async def test_a_cancel_costs_what_was_not_written(
    shelf: Shelf, autojump_clock: trio.testing.MockClock
) -> None:
    """The next start goes on from what is there."""
    embedder, index = WordsEmbedder(delay=1.0), index_of(400)
    with trio.move_on_after(7.5) as scope:
        await dense_of(index, embedder, shelf).catch_up()
    assert scope.cancelled_caught
    done = sum(map(len, shelf.written))
    assert done == KEPT
    asked = len(embedder.asked)
    assert asked - done < KEPT
    again = dense_of(index, embedder, shelf)
    await again.catch_up()
    assert len(embedder.asked) - asked == 400 - done
    assert [await nearest(again, f"word{n}") for n in (1, KEPT, KEPT + 1, 400)] == [0, KEPT - 1, KEPT, 399]


async def test_a_cancelled_catching_up_goes_on_in_the_same_process(
    shelf: Shelf, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing that was made is made again."""
    embedder, index = WordsEmbedder(delay=1.0), index_of(100)
    found = dense_of(index, embedder, shelf)
    with trio.move_on_after(1.5):
        await found.catch_up()
    assert found.missing_count == 100 - AT_ONCE
    await found.catch_up()
    assert sorted(embedder.asked) == sorted({*embedder.asked})
    assert await found.save_vectors() == 0
    assert len(shelf.kept[LAST]) == 100


async def test_a_store_that_fails_costs_no_more_than_to_make_them_again(
    shelf: Shelf, autojump_clock: trio.testing.MockClock
) -> None:
    """They are made and found by; that they are not kept is said once, and it is tried again after a while."""
    embedder, index = WordsEmbedder(), index_of(3 * KEPT)
    found = dense_of(index, embedder, shelf)
    shelf.fails = True
    with logged() as lines:
        await found.catch_up()
        assert (found.missing_count, await found.save_vectors()) == (0, 3 * KEPT)
        assert await nearest(found, "word7") == 6
        await trio.sleep(AGAIN + 1)
        assert await found.save_vectors() == 3 * KEPT
    assert lines.getvalue().count("\n") == 1
    assert "database or disk is full" in lines.getvalue()
    shelf.fails = False
    assert await found.save_vectors() == 3 * KEPT
    await trio.sleep(AGAIN)
    assert await found.save_vectors() == 0
    assert len(shelf.kept[LAST]) == 3 * KEPT


async def test_a_store_that_does_not_answer_is_not_waited_for(
    shelf: Shelf, autojump_clock: trio.testing.MockClock
) -> None:
    """Neither to read nor to write."""
    embedder, index = WordsEmbedder(), index_of(2 * KEPT)
    shelf.wait = 1e6
    found = dense_of(index, embedder, shelf)
    with logged() as lines, trio.fail_after(30):
        await found.catch_up()
        assert await found.save_vectors() == 2 * KEPT
    assert lines.getvalue().count("does not answer") == 1


async def test_what_takes_no_model_is_not_kept(shelf: Shelf) -> None:
    """It is made faster than it is read."""
    embedder, index = WordsEmbedder(), index_of(200)
    found = RowVectors(index.rows, embedder, inline, embedder, shelf)
    await found.catch_up()
    assert (await found.save_vectors(), shelf.written, shelf.read) == (0, [], [])
    assert await nearest(found, "word7") == 6


class Served(WordsEmbedder):
    """Says how many numbers its vectors have with the first answer, as a server does."""

    def __init__(self) -> None:
        super().__init__()
        self.dimension, self.answers = 0, 64

    async def embed(self, texts: Sequence[str], role: Any = "passage") -> Any:
        """Return one row a text; of blank ones alone nothing is known."""
        if not any(text.strip() for text in texts):
            return np.zeros((len(texts), self.dimension), np.float32)
        self.dimension = self.answers
        return await super().embed(texts, role)


async def test_a_server_is_asked_once_to_know_which_are_kept(shelf: Shelf) -> None:
    """How many numbers it gives says which are its own; what is blank tells nothing."""
    index = RecallIndex()
    for each in (turn(1, " "), *talk(2, 60)):
        index.add_turn(each)
    first = dense_of(index, Served(), shelf)
    await first.catch_up()
    await first.save_vectors()
    embedder = Served()
    again = dense_of(index, embedder, shelf)
    await again.catch_up()
    assert len(embedder.asked) <= AT_ONCE
    assert await nearest(again, "word7") == 6
    embedder = Served()
    embedder.fails = EmbeddingFailed("unreachable", "no answer")
    with pytest.raises(EmbeddingFailed):
        await dense_of(index, embedder, shelf).catch_up()


async def test_what_is_forgotten_while_it_is_embedded_is_not_kept(
    shelf: Shelf, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """Nor what is forgotten before it is written, or while it is read; its vector is zeros."""
    embedder, index = WordsEmbedder(delay=1.0), index_of(3)
    found = dense_of(index, embedder, shelf)
    nursery.start_soon(found.catch_up)
    await trio.testing.wait_all_tasks_blocked()
    found.drop_vector(index.forget_turn(1))
    await trio.sleep(2)
    found.drop_vector(index.forget_turn(2))
    await found.save_vectors()
    assert shelf.written == [["t3"]]
    shelf.wait = 1.0
    again = dense_of(index, WordsEmbedder(), shelf)
    nursery.start_soon(again.catch_up)
    await trio.testing.wait_all_tasks_blocked()
    row = index.forget_turn(3)
    for each in (found, again):
        each.drop_vector(row)
    await trio.sleep(2)
    for each in (found, again):
        look = await each.find_nearest("word3 said", frozenset({0}))
        assert each.measure_cosines(look, lambda row: True, range(3))[0] in ({}, {0: 0.0, 1: 0.0, 2: 0.0})


# --- with a memory, as a server has it


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncGenerator[DatabaseMemory, None]:
    async with open_database_memory(tmp_path, inline, Noon()) as opened:
        yield opened


def recall_of(memory: DatabaseMemory, embedder: WordsEmbedder) -> IndexRecaller:
    return IndexRecaller(memory, inline, lambda index: RowVectors(index.rows, embedder, inline, None, memory))


async def test_an_item_is_embedded_once_whatever_becomes_of_it(memory: DatabaseMemory) -> None:
    """Its words never change; of what is closed nothing is found, and what takes its place has its own."""
    embedder = WordsEmbedder()
    await memory.keep_exchanges([an_exchange("m1", "blue door", "noted", scope=MINE)], NOW)
    item = await accepted(memory, a_draft("The door is blue", "door"), MINE)
    recall = recall_of(memory, embedder)
    await recall.load_index(MINE)
    await recall.embed_rows()
    assert await recall.save_vectors() == 0
    assert sorted(embedder.asked) == ["The door is blue", "blue door", "noted"]
    new = await memory.replace_item(MINE, item.id, a_draft("The door is red", "door"), NOW)
    await recall.load_index(MINE)
    await recall.embed_rows()
    await recall.save_vectors()
    assert embedder.asked[3:] == ["The door is red"]
    kept = await memory.vectors(LAST, [item.id, new.id])
    assert sorted(each.id for each in kept) == [item.id, new.id]
    again = recall_of(memory, embedder)
    await again.load_index(MINE)
    await again.embed_rows()
    assert len(embedder.asked) == 4
    assert new.id in best(await again.recall(search("red door", at=NOW)))
    assert item.id not in best(await again.recall(search("red door", at=NOW)))


@pytest.mark.parametrize("how", ["forgotten", "superseded", "superseded later"])
async def test_what_becomes_of_an_item_while_it_is_embedded_or_later(
    memory: DatabaseMemory, autojump_clock: trio.testing.MockClock, nursery: trio.Nursery, how: str
) -> None:
    """No vector of what is forgotten is kept, nor held; whoever learns of it last."""
    embedder = WordsEmbedder(delay=1.0)
    item = await accepted(memory, a_draft("The door is blue", "door"), MINE)
    recall = recall_of(memory, embedder)
    await recall.load_index(MINE)
    nursery.start_soon(recall.embed_rows)
    await trio.sleep(3 if how == "superseded later" else 0)
    await trio.testing.wait_all_tasks_blocked()
    if how == "forgotten":
        await memory.forget_item(MINE, item.id, NOW)  # and this index has not heard of it
        await trio.sleep(2)
        await recall.save_vectors()
    else:
        await memory.replace_item(MINE, item.id, a_draft("The door is red", "door"), NOW)
        await recall.load_index(MINE)
        await trio.sleep(3)
        await recall.save_vectors()
        made = ["i2"] if how == "superseded" else []  # where all was embedded before, nothing more is
        assert [each.id for each in await memory.vectors(LAST, ["i1", "i2"])] == made
    assert await memory.vectors(LAST, [item.id]) == ()
    await recall.load_index(MINE)
    assert item.id not in best(await recall.recall(search("blue door", at=NOW)))
    near: Any = next(iter(recall._held.values())).search.near
    own, _ = near.measure_cosines(await near.find_nearest("blue door", frozenset({0})), lambda row: True, [0])
    assert own.get(0, 0.0) == 0.0


_EMBEDS = """
import sys, trio
from pathlib import Path
from agent.memory.recall.dense import RowVectors
from agent.memory.recall.recall import IndexRecaller
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from agent.testing.vectors import WordsEmbedder
from tests.memory.made import MINE

async def main():
    async with open_database_memory(Path(sys.argv[1]), inline, Noon()) as memory:
        keep = memory.keep_vectors
        async def told(kind, packed):
            await keep(kind, packed)
            print(len(packed), flush=True)
        memory.keep_vectors = told
        embedder = WordsEmbedder(delay=0.02)
        recall = IndexRecaller(memory, inline, lambda index: RowVectors(index.rows, embedder, inline, None, memory))
        await recall.load_index(MINE)
        await recall.embed_rows()

trio.run(main)
"""


def killed(folder: Path) -> int:
    """Embed in a process of its own, which is killed; return how many vectors it said that it had kept."""
    with subprocess.Popen([sys.executable, "-c", _EMBEDS, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        return sum([*told, *map(int, process.stdout)])


@pytest.mark.proof
async def test_what_was_kept_before_a_kill_is_not_made_again(memory: DatabaseMemory, tmp_path: Path) -> None:
    """A process of its own, killed while it embeds; the next one makes the rest, and no more."""
    count = 20 * KEPT
    await memory.keep_exchanges([an_exchange(f"m{n}", f"word{n}", "", scope=MINE) for n in range(count)], NOW)
    told = killed(tmp_path)
    ids = [f"t{n}" for n in range(1, 2 * count + 1)]
    done = len(await memory.vectors(LAST, ids))
    assert 2 * KEPT <= told <= done <= told + KEPT < count
    embedder = WordsEmbedder()
    recall = recall_of(memory, embedder)
    await recall.load_index(MINE)
    await recall.embed_rows()
    assert await recall.save_vectors() == 0
    assert len(embedder.asked) == count - done
    assert len(await memory.vectors(LAST, ids)) == count
