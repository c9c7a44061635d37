"""What is forgotten on a PostgreSQL server: gone for every reader at once, and its rows' old versions soon after."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio

from agent.host import WorkerThreads
from agent.memory.own_memory import OwnMemory
from agent.storage.database import Database
from agent.storage.memories.store import open_database_memory
from agent.storage.stories.store import open_database_stories
from agent.testing.fakes import Noon
from tests.forgetting import WHOSE, WORD, say_everywhere
from tests.servers import fresh_database, run_statement
from tests.told import ANA, a_state, begin, tell

psycopg: Any = pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres.declarations import OF_WORDS  # noqa: E402  # only with the extra
from agent.storage.postgres.place import DatabaseServer  # noqa: E402
from agent.storage.postgres.word_vacuum import WordVacuum  # noqa: E402

from .nodes import database_of, keep_up, open_node  # noqa: E402

pytestmark = pytest.mark.proof

TABLES = """SELECT schemaname || '.' || relname FROM pg_stat_user_tables
WHERE schemaname IN ('agent_ledger', 'agent_memory', 'agent_stories')"""
VACUUMED = "SELECT relname FROM pg_stat_user_tables WHERE vacuum_count > 0"
VACUUMED_BY_ANY = f"{VACUUMED} OR autovacuum_count > 0"  # ours passes over a table that the server's works on
WITH_WORDS = "SELECT count(*) FROM {} AS r WHERE r::text LIKE '%{}%' OR r::text LIKE '%{}%'"


@pytest.fixture
def url() -> Iterator[str]:
    """A database with all tables."""
    with fresh_database() as made:
        yield made


def _tables_with(url: str, word: str) -> set[str]:
    """The tables in which a query finds a word, as text or as bytes."""
    return {
        table
        for (table,) in run_statement(url, TABLES)
        if run_statement(url, WITH_WORDS.format(table, word, word.encode().hex())) != [(0,)]
    }


async def _wait_until(is_so: Callable[[], bool], *databases: Database) -> None:
    """Let databases keep up until something is so."""
    with trio.fail_after(20):
        while not is_so():
            for each in databases:
                await keep_up(each)
            await trio.sleep(0.05)


async def test_forgotten_words_are_gone_for_every_reader_and_vacuumed(url: str) -> None:
    """Whether the server would look by itself, or not for a minute yet."""
    place = DatabaseServer(url, checks_clock=False)
    async with (
        open_node(url) as store,
        open_database_memory(place, WorkerThreads(2), Noon()) as memory,
        open_database_stories(place, WorkerThreads(2), Noon()) as stories,
    ):
        id = await say_everywhere(memory, store)
        tip = await begin(stories, title=WORD)
        await tell(stories, tip, WORD, [a_state(WORD, WORD)], snapshot=WORD.encode())
        await stories.rename_branch(ANA, tip.story, tip.branch, WORD)
        await stories.delete_story(ANA, tip.story)
        assert len(_tables_with(url, WORD)) >= 6
        desk = OwnMemory(memory, Noon(), [store.threads, store.feedback])
        assert (await desk.forget_item(WHOSE, id)).item.status == "forgotten"
        assert _tables_with(url, WORD) == set()
        await _wait_until(
            lambda: OF_WORDS.issubset(name for (name,) in run_statement(url, VACUUMED_BY_ANY)),
            database_of(store),
            memory._database,
            stories._database,
        )
        assert len(run_statement(url, VACUUMED)) > len(OF_WORDS) / 2


async def test_words_that_are_forgotten_last_are_vacuumed_when_the_database_closes(url: str) -> None:
    """As by a command, which is over before it would begin."""
    async with open_node(url) as store:
        await store.feedback.delete_feedback("p1", "m1")
    assert ("feedback",) in run_statement(url, VACUUMED)


async def test_nobody_waits_for_a_vacuum(url: str) -> None:
    """A table that another connection works on is passed over."""
    async with open_node(url) as store:
        with psycopg.connect(url) as holder:
            holder.execute("LOCK TABLE agent_ledger.feedback IN SHARE UPDATE EXCLUSIVE MODE")
            await store.feedback.delete_feedback("p1", "m1")
            await _wait_until(lambda: ("messages",) in run_statement(url, VACUUMED), database_of(store))
            assert ("feedback",) not in run_statement(url, VACUUMED)


def test_a_vacuum_that_cannot_begin_is_left_to_the_server() -> None:
    """It is no trouble of the database."""

    def connect() -> None:
        raise psycopg.OperationalError("too many clients")

    vacuum = WordVacuum(connect, OF_WORDS)
    vacuum.request()
    vacuum.keep_up()
    vacuum.close()
