"""Changes on a PostgreSQL server are read as soon as they are committed, whichever transactions still run beside."""

import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from agent.host import WorkerThreads
from agent.memory.recall.recall import IndexRecaller
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.storage.followed_rows import FollowedRows
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.memories.schema import feed
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.storage.stories.store import open_database_stories
from agent.stories.recalling import StoryRecall
from agent.testing.fakes import Noon
from tests.memory.recall.made import inline, search
from tests.remembered import ANA, NOW, accepted, an_exchange, budget
from tests.servers import fresh_database
from tests.told import begin, tell

psycopg: Any = pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")

from agent.storage.postgres.place import DatabaseServer  # noqa: E402  # only with the extra
from agent.storage.postgres.postgres_database import PostgresDatabase  # noqa: E402

pytestmark = pytest.mark.proof

FED = FollowedRows(feed, sa.select(feed.c.number, feed.c.turn))


@pytest.fixture
def url() -> Iterator[str]:
    """A database with all tables."""
    with fresh_database() as made:
        yield made


@contextmanager
def older_transaction(url: str) -> Iterator[None]:
    """A transaction that began before those of the block and ends after them, as that of any program may."""
    with psycopg.connect(url) as opened:
        opened.execute("SELECT pg_current_xact_id()")
        yield
        opened.rollback()


@asynccontextmanager
async def open_memory(url: str) -> AsyncGenerator[DatabaseMemory, None]:
    """The memory of a node."""
    async with open_database_memory(
        DatabaseServer(url, checks_clock=False), WorkerThreads(2), Noon()
    ) as made:
        yield made


class Follower:
    """Reads the rows of `feed` from the beginning, in pages of `limit`; `found` has the turns in the order they came.

    `by_number` has those that a follower finds by their numbers.
    """

    def __init__(self, url: str, limit: int) -> None:
        self.found: list[int] = []
        self.by_number: set[int] = set()
        self.open = 0  # transactions that had not ended, in all marks
        self._mark, self._number, self._limit = BEGINNING, 0, limit
        self._database = PostgresDatabase(url, Noon(), MEMORY, beside=True, checks_clock=False)
        self._database.open()

    def read_page(self) -> bool:
        """Read the next page; return whether there may be more."""

        def read(connection: sa.Connection) -> bool:
            after = sa.select(feed.c.number, feed.c.turn).where(feed.c.number > self._number)
            for number, turn in connection.execute(after):
                self._number = max(self._number, number)
                self.by_number.add(turn)
            rows, self._mark, more = FED.read(connection, self._mark, self._limit)
            self.found += [turn for _, turn, _ in rows]
            return more

        [more] = self._database.read_each([read])
        assert isinstance(more, bool), more
        self.open += len(self._mark.open)
        return more

    def read_all(self) -> None:
        """Read all that is committed now."""
        while self.read_page():
            pass

    def close(self) -> None:
        """Close its connection."""
        self._database.close()


@pytest.fixture
def follow(url: str) -> Iterator[Callable[[int], Follower]]:
    """Makes followers by their limits."""
    made: list[Follower] = []

    def make(limit: int) -> Follower:
        made.append(Follower(url, limit))
        return made[-1]

    yield make
    for each in made:
        each.close()


def _insert_late(url: str, count: int, seed: int) -> None:
    """Insert rows of `feed` in transactions that stay open for a different while each."""
    with psycopg.connect(url, options="-c search_path=agent_memory") as made:
        for number in range(count):
            made.execute("INSERT INTO feed (turn) VALUES (%s)", (seed * 1000 + number,))
            time.sleep(0.001 * ((number * 7 + seed * 3) % 5))
            made.commit()


def test_rows_are_followed_by_transaction_since_numbers_come_late(
    url: str, follow: Callable[[int], Follower]
) -> None:
    """A follower by number loses rows of transactions that commit late; by marks it has each once."""
    follower = follow(50)
    writers = [threading.Thread(target=_insert_late, args=(url, 100, seed)) for seed in range(1, 7)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        follower.read_page()
    follower.read_all()
    assert sorted(follower.found) == sorted(1000 * seed + n for seed in range(1, 7) for n in range(100))
    assert len(follower.by_number) < 600  # so it is worth the trouble


@pytest.mark.parametrize("seed", range(8))
def test_all_that_is_committed_is_read_once_however_transactions_overlap(
    url: str, follow: Callable[[int], Follower], seed: int
) -> None:
    """Also where a page ends amid transactions that had not ended at the mark before; no transaction is split."""
    draw, turn, committed = Random(seed), 0, set[int]()
    follower = follow(draw.choice((1, 2, 3, 50)))
    writers = [psycopg.connect(url, options="-c search_path=agent_memory") for _ in range(6)]
    pending: dict[Any, list[int]] = {each: [] for each in writers}
    whole: list[list[int]] = []
    for _ in range(300):
        writer = draw.choice(writers)
        step = draw.choices(("insert", "commit", "rollback", "read"), (5, 2, 1, 2))[0]
        if step == "insert":
            turn += 1
            writer.execute("INSERT INTO feed (turn) VALUES (%s)", (turn,))
            pending[writer].append(turn)
        elif step == "read":
            if draw.random() < 0.5:
                follower.read_page()
            else:
                follower.read_all()
                assert set(follower.found) == committed
        else:
            getattr(writer, step)()
            if step == "commit" and pending[writer]:
                committed.update(pending[writer])
                whole.append(pending[writer])
            pending[writer] = []
        assert len(follower.found) == len(set(follower.found))
    follower.read_all()
    assert set(follower.found) == committed
    assert follower.open > 0
    places = {turn: at for at, turn in enumerate(follower.found)}
    assert all([places[n] - places[one[0]] for n in one] == [*range(len(one))] for one in whole)
    for each in writers:
        each.close()


async def test_a_page_of_changes_never_splits_a_transaction(url: str) -> None:
    """More rows than were asked for are told together, and that there may be more."""
    async with open_memory(url) as memory:
        scope = Scope("p", "t", "u")
        await memory.keep_exchanges(
            [an_exchange(f"m{n}", "hello", "yes", scope=scope) for n in range(4)], NOW
        )
        first = await memory.changes_after(BEGINNING, 3)
        assert (len(first.turns), first.more) == (8, True)
        rest = await memory.changes_after(first.upto, 3)
        assert (rest.turns, rest.upto, rest.more) == ((), first.upto, False)


async def test_recall_shows_nothing_that_another_node_has_forgotten_beside_an_older_transaction(
    url: str,
) -> None:
    """A search that begins after the forgetting was answered neither finds nor cites it; what is new is found."""
    async with open_memory(url) as one, open_memory(url) as other:
        await one.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
        await accepted(one, budget(50))
        recall = IndexRecaller(one, inline, floor=0.0)

        async def find() -> list[str]:
            found = await recall.recall(search("What is the budget of atlas?", ANA, at=NOW))
            said = (each.id for each in found.excerpts if each.kind == "turn" and each.citable)
            return sorted([*said, *(each.id for each in found.items or ())])

        assert await find() == ["i1", "t1"]
        with older_transaction(url):
            await other.forget_item(ANA, "i1", NOW)
            assert await recall.standing_ids(ANA, ["i1", "t1"], NOW) == frozenset()
            assert await find() == []
            await other.keep_exchanges([an_exchange("m2", "My budget of atlas is 60 SEK", "Noted.")], NOW)
            assert await find() == ["t3"]
        assert await find() == ["t3"]


async def test_threads_are_told_of_beside_an_older_transaction(url: str) -> None:
    """Other tabs of a user show its answers, and that a thread was deleted, whichever transaction has not ended."""
    owners = [(ANA.project, ANA.user)]
    async with open_memory(url) as one, open_memory(url) as other:
        mark = await one.find_mark()
        with older_transaction(url):
            await other.keep_exchanges([an_exchange("m1", "My budget of atlas is 50 SEK", "Noted.")], NOW)
            answered = await one.thread_changes_after(mark, owners, 9)
            assert [len(each.messages) for each in answered.threads] == [2]
            await other.delete_thread(ANA, NOW)
            deleted = await one.thread_changes_after(answered.upto, owners, 9)
            assert [each.is_deleted for each in deleted.threads] == [True]
        assert (await one.thread_changes_after(deleted.upto, owners, 9)).threads == ()


async def test_a_scene_is_recalled_as_it_was_retold_beside_an_older_transaction(url: str) -> None:
    """Its version before is not found any more, whichever node told it."""
    place = DatabaseServer(url, checks_clock=False)
    async with (
        open_database_stories(place, WorkerThreads(2), Noon()) as one,
        open_database_stories(place, WorkerThreads(2), Noon()) as other,
    ):
        tip = await tell(one, await begin(one), "The key lies in a blue box.")
        assert tip.scene is not None
        recall = StoryRecall(one, inline)

        async def find() -> list[str]:
            context = await one.load_context(ANA, tip.story, tip.branch)
            return [each.text for each in await recall.recall(context, "key box", 9)]

        assert await find() == ["The key lies in a blue box."]
        with older_transaction(url):
            await tell(other, tip, "The key lies in a red box.", retold=tip.scene.scene)
            assert await find() == ["The key lies in a red box."]
