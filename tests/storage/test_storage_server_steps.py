"""The numbered steps of a schema, each written once: in a file and on a server they do the same, and keep all rows."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from agent.errors import UsageError
from agent.ports.projects import HOUSE
from agent.storage.backend import Backend
from agent.storage.contents import DatabaseContents
from agent.storage.ledger import LEDGER
from agent.storage.migrations import add_column, change_words
from agent.storage.places import place_of
from agent.storage.schema import MESSAGE_ROLES, messages
from agent.storage.stores import open_stores
from agent.storage.transaction import FunctionRequest, Transaction
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.servers import fresh_database, place_for, run_statement
from tests.stored import NOW, a_call, an_answer, an_opening, said

pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from agent.storage.postgres.postgres_database import PostgresDatabase  # only with the extra

from .nodes import open_node

pytestmark = pytest.mark.proof

COLUMNS = """SELECT table_name, column_name, data_type, is_nullable, column_default
FROM information_schema.columns WHERE table_schema = 'agent_ledger' ORDER BY 1, 2"""
CHECKS = """SELECT conrelid::regclass::text, replace(pg_get_constraintdef(oid), ' NOT VALID', '') FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'agent_ledger'::regnamespace ORDER BY 1, 2"""
ADDED: Final[Mapping[str, tuple[str, ...]]] = {
    "actions": ("project", "user", "thread", "attempt"),
    "audit": ("approver", "key_id", "tool", "arguments_hash"),
    "calls": ("closed_by", "reason"),
    "documents": ("report",),
    "idempotency": ("project_id",),
    "messages": ("confidence", "blocked"),
}
"""The columns that the steps from schema 2 to today's add."""


def _take_step(connection: sa.Connection) -> None:
    """A step as the next one may be: a column, and a word for a column that has a set of them."""
    add_column(connection, "messages", "read_at INTEGER DEFAULT 0 NOT NULL")
    change_words(connection, "messages", "role", (*MESSAGE_ROLES, "system"))
    change_words(connection, "of_no_such_table", "role", MESSAGE_ROLES)


NEXT = replace(LEDGER, steps={**LEDGER.steps, LEDGER.version + 1: _take_step})


@contextmanager
def _opened(place: Any, contents: DatabaseContents) -> Iterator[Backend]:
    backend = place_of(place).make_backend(Noon(), contents)
    backend.open()
    try:
        yield backend
    finally:
        backend.close()


def _write(backend: Backend, work: Callable[[Transaction], object]) -> str:
    """Write, and return the fault: "" when all is well."""
    report = backend.commit([FunctionRequest(work)])
    return report.trouble or report.faults.get(0, "")


def _change_role(role: str) -> Callable[[Transaction], object]:
    changed = sa.update(messages).where(messages.c.id == "m1").values(role=role)
    return lambda transaction: transaction.connection.execute(changed)


@pytest.mark.parametrize("kind", ["file", "postgres"])
async def test_a_step_is_written_once_for_all_databases(kind: str, tmp_path: Path) -> None:
    """With all rows, and it may be taken twice; a word that is in no set is refused as before."""
    with place_for(kind, tmp_path) as place:
        async with open_stores(place, inline, Noon(), kb="/docs") as opened:
            await opened.store.threads.begin_turn(an_opening())
            await opened.store.threads.record_step(said(answer=an_answer(), calls=(a_call(),)))
        with _opened(place, LEDGER) as backend:
            [before] = backend.read_each([_read_messages])
            assert _write(backend, _change_role("system")) != ""
        with _opened(place, NEXT) as backend:
            [after] = backend.read_each([_read_messages])
            assert after == [{**row, "read_at": 0} for row in before]
            assert len(after) == 2
            for number in (2**40, 2**62):
                assert _write(backend, partial(_note_read, number)) == ""
            assert _write(backend, _change_role("nobody")) != ""
            assert _write(backend, _change_role("system")) == ""
        twice = replace(NEXT, steps={**NEXT.steps, NEXT.version + 1: _take_step})
        with _opened(place, twice) as backend:
            assert _write(backend, _change_role("user")) == ""
            assert _write(backend, _change_role("nobody")) != ""


def _note_read(at: int, transaction: Transaction) -> None:
    transaction.connection.execute(sa.text(f"UPDATE messages SET read_at = {at}"))


def _read_messages(connection: sa.Connection) -> list[dict[str, Any]]:
    found = connection.execute(sa.text("SELECT * FROM messages ORDER BY number"))
    return [dict(row) for row in found.mappings()]


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_a_column_without_a_set_of_words_is_told(kind: str, tmp_path: Path) -> None:
    """A step that names the wrong one fails, and is not passed over."""
    wrong = replace(
        LEDGER,
        steps={**LEDGER.steps, LEDGER.version + 1: lambda each: change_words(each, "messages", "id", ("a",))},
    )
    with place_for(kind, tmp_path) as place:
        with _opened(place, LEDGER):
            pass
        backend = place_of(place).make_backend(Noon(), wrong)
        with pytest.raises(LookupError):
            backend.open()
        with _opened(place, LEDGER):  # it is at the schema before that step
            pass


def _make_earlier(url: str, before: int) -> None:
    """Make the ledger of a server one of schema `before`, as far as the steps of today go."""
    for table, columns in ADDED.items():
        dropped = ", ".join(f'DROP COLUMN "{each}"' for each in columns)
        run_statement(url, f"ALTER TABLE agent_ledger.{table} {dropped}")
    run_statement(url, "DROP TABLE agent_ledger.feedback, agent_ledger.nodes CASCADE")
    run_statement(url, "ALTER TABLE agent_ledger.calls DROP CONSTRAINT calls_runs_at_check")
    run_statement(
        url,
        "ALTER TABLE agent_ledger.calls ADD CONSTRAINT calls_runs_at_check"
        " CHECK (runs_at IN ('record', 'webhook', 'mcp', 'caller'))",
    )
    run_statement(url, f"UPDATE agent_ledger.schema_version SET version = {before}, made_of = 'another'")


async def test_a_servers_database_of_an_earlier_schema_is_brought_to_todays() -> None:
    """By the released steps, with its rows: its tables are those of a database that is new."""
    with fresh_database() as url:
        columns, checks = run_statement(url, COLUMNS), run_statement(url, CHECKS)
        async with open_node(url) as store:
            await store.threads.begin_turn(an_opening())
            await store.threads.record_step(said(answer=an_answer(), calls=(a_call(),)))
        _make_earlier(url, 2)
        assert run_statement(url, COLUMNS) != columns
        async with open_node(url) as store:
            assert (await store.threads.message(HOUSE, "m1")).content == "text of m1"
            assert (await store.calls.call(HOUSE, "c1")).status == "suggested"
            await store.threads.begin_turn(an_opening("m2", new=False))
            call = a_call("c2", message="m2", turn=2, runs_at="function")
            await store.threads.record_step(said("m2", answer=an_answer("a2", turn=2), calls=(call,)))
        assert run_statement(url, COLUMNS) == columns
        assert run_statement(url, CHECKS) == checks


async def test_a_server_of_the_earlier_version_runs_on_beside_the_next_one() -> None:
    """As when servers are restarted one after the other; but none of that version starts any more."""
    with fresh_database() as url:
        async with open_node(url) as earlier:
            await earlier.threads.begin_turn(an_opening())
            newer = PostgresDatabase(url, Noon(), NEXT, checks_clock=False)
            newer.open()
            assert _write(newer, _change_role("system")) == ""
            await earlier.threads.record_step(said(answer=an_answer()))
            assert await earlier.ledger.claim("s1", "send_sms", NOW)
            with pytest.raises(UsageError, match="run the newer version"):
                async with open_node(url):
                    pass
            newer.close()
            await earlier.ledger.record_outcome("s1", "done", {"success": True}, NOW)
            row = await earlier.ledger.get_row("s1")
            assert row is not None
            assert row.status == "done"


def test_all_that_start_at_once_on_an_earlier_schema_come_up() -> None:
    """Whoever is first takes the steps, and nobody takes them twice or dies."""
    with fresh_database() as url:
        failed: list[Exception] = []

        def start() -> None:
            try:
                database = PostgresDatabase(url, Noon(), NEXT, checks_clock=False)
                database.open()
                database.close()
            except Exception as error:  # noqa: BLE001  # told below
                failed.append(error)

        starts = [threading.Thread(target=start) for _ in range(6)]
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        assert failed == []
        assert run_statement(url, "SELECT version FROM agent_ledger.schema_version") == [(NEXT.version,)]
