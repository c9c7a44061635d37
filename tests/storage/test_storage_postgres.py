"""A PostgreSQL server as the place of databases: races, doubts, faults and starts."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import trio

from agent.errors import Conflict, StorageFailed, UsageError
from agent.host import WallClock, WorkerThreads
from agent.ports.calls import CallApproval
from agent.ports.projects import HOUSE
from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.open import open_store
from agent.storage.rows import ClaimRequest, find_row
from agent.storage.schema import projects
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from agent.storage.transaction import FunctionRequest, Transaction
from agent.testing.fakes import Noon
from tests.servers import empty_database, fresh_database, name_database, run_statement
from tests.stored import NOW, a_call, an_opening, said, with_calls

psycopg: Any = pytest.importorskip("psycopg", reason="needs the extra agent-server[postgres]")
from psycopg.conninfo import conninfo_to_dict  # noqa: E402  # only with the extra

from agent.storage.postgres import connecting  # noqa: E402
from agent.storage.postgres.connecting import (  # noqa: E402
    Attempts,
    check_url,
    driver_of,
)
from agent.storage.postgres.declarations import OF_WORDS  # noqa: E402
from agent.storage.postgres.faults import Unusable, explain  # noqa: E402
from agent.storage.postgres.postgres_database import PostgresDatabase  # noqa: E402

from .nodes import backend_of, database_of, kill, membership_of, open_node  # noqa: E402

pytestmark = pytest.mark.proof


@pytest.fixture
def url() -> Iterator[str]:
    """A database with all tables."""
    with fresh_database() as made:
        yield made


async def test_of_many_claimers_in_two_processes_each_id_has_one_winner(url: str) -> None:
    """Whoever writes at the same time: no claim is won twice, and one is won unless a claimer was told of a failure."""
    won: dict[str, int] = {}
    failed: set[str] = set()

    async def claim(store: Store, id: str) -> None:
        try:
            wins = await store.ledger.claim(id, "send_sms", NOW)
        except StorageFailed:  # on a machine that is too busy
            failed.add(id)
        else:
            won[id] = won.get(id, 0) + wins

    async with open_node(url) as one, open_node(url) as other, trio.open_nursery() as nursery:
        for number in range(20):
            for store in (one, other, one):
                nursery.start_soon(claim, store, f"s{number}")
    assert {id for id, wins in won.items() if wins > 1} == set()
    assert {id for id, wins in won.items() if wins == 0} <= failed


async def test_a_refusal_is_the_same_under_races(url: str) -> None:
    """Of two messages that begin at once in one thread in two processes, one is told that a turn is in progress."""
    told: list[str] = []

    async def begin(store: Store, id: str) -> None:
        try:
            await store.threads.begin_turn(an_opening(id, new=False, alone=False))
        except Conflict as refused:
            told.append(refused.code)
        else:
            told.append("begun")

    async with open_node(url) as one, open_node(url) as other:
        await one.threads.begin_turn(an_opening())
        await one.threads.record_step(said())
        for number in range(10):
            told.clear()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(begin, one, f"one{number}")
                nursery.start_soon(begin, other, f"other{number}")
            assert sorted(told) == ["begun", "turn_in_progress"]
            await one.threads.cancel_turn(HOUSE, "t1", NOW)


async def test_what_a_request_has_looked_at_is_so_when_it_is_written(url: str) -> None:
    """Of two that look at the same moment, and write by what they saw, the second one looks again."""
    looked = threading.Barrier(2, timeout=10)

    def create(id: str, transaction: Transaction) -> bool:
        if transaction.connection.execute(sa.select(projects).where(projects.c.name == "Shop")).first():
            return False
        with suppress(threading.BrokenBarrierError):
            looked.wait()
        row = {"id": id, "name": "Shop", "role": "", "created_at": NOW, "revision": 0}
        transaction.connection.execute(sa.insert(projects).values(row))
        return True

    made: list[bool] = []

    async def write(store: Store, id: str) -> None:
        made.append(await database_of(store).write(partial(create, id)))

    async with open_node(url) as one, open_node(url) as other, trio.open_nursery() as nursery:
        nursery.start_soon(write, one, "p1")
        nursery.start_soon(write, other, "p2")
    assert sorted(made) == [False, True]


@contextmanager
def broken_commit(backend: PostgresDatabase, commits: bool) -> Iterator[None]:
    """Cut the connection at the next `COMMIT`, after the server has done it, or before."""
    assert backend._connection is not None
    driver: Any = driver_of(backend._connection)
    execute = driver.execute

    def cut(query: Any, *arguments: Any, **named: Any) -> Any:
        if query == "COMMIT":
            if commits:
                execute(query)
            driver.close()
            raise psycopg.OperationalError("the connection is lost")
        return execute(query, *arguments, **named)

    driver.execute = cut
    yield


@pytest.mark.parametrize("commits", [True, False])
async def test_a_claim_whose_answer_did_not_come_runs_nothing_and_ends(url: str, commits: bool) -> None:
    """Whether or not the server has it: its caller hears that it failed, and its row is cancelled, if there is one."""
    async with open_node(url) as store:
        await store.ledger.claim("s0", "send_sms", NOW)
        with broken_commit(backend_of(store), commits), pytest.raises(StorageFailed):
            await store.ledger.claim("s1", "send_sms", NOW)
        with trio.fail_after(60):
            while True:
                try:
                    assert await store.ledger.claim("s2", "send_sms", NOW)
                    break
                except StorageFailed:
                    await trio.sleep(0.1)
            while (row := await store.ledger.get_row("s1")) is not None and row.status == "claimed":  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert (None if row is None else row.status) == ("cancelled" if commits else None)
        kept = await store.ledger.get_row("s0")
        assert kept is not None
        assert kept.status == "claimed"
        await store.ledger.record_outcome("s0", "done", {"success": True}, NOW)
        kept = await store.ledger.get_row("s0")
        assert kept is not None
        assert kept.status == "done"  # though its process has another place since


WARN = """CREATE FUNCTION agent_ledger.warn() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON agent_ledger.actions DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION agent_ledger.warn()"""


async def test_a_claim_that_its_standby_may_lack_runs_nothing_and_ends(url: str) -> None:
    """The server commits and warns, as where somebody ends its wait for the standby: the claim counts as not known."""
    async with open_node(url) as store:
        run_statement(url, WARN)
        with pytest.raises(StorageFailed, match="standby"):
            await store.ledger.claim("s1", "send_sms", NOW)
        run_statement(url, "DROP TRIGGER warns ON agent_ledger.actions")
        row = None
        with trio.move_on_after(60):
            while row is None or row.status == "claimed":
                await trio.sleep(0.05)
                with suppress(StorageFailed):
                    row = await store.ledger.get_row("s1")
        assert row is not None
        assert row.status == "cancelled"


async def test_a_turn_whose_beginning_was_not_answered_does_not_block_its_thread(url: str) -> None:
    """The server has it, and its caller heard that it failed: it is cancelled, so that another process begins one."""
    async with open_node(url) as one, open_node(url) as other:
        await one.threads.begin_turn(an_opening())
        await one.threads.record_step(said())
        with broken_commit(backend_of(one), commits=True), pytest.raises(StorageFailed):
            await one.threads.begin_turn(an_opening("m2", new=False))
        with trio.move_on_after(60):
            while (await other.threads.message(HOUSE, "m2")).status != "cancelled":  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert (await other.threads.message(HOUSE, "m2")).status == "cancelled"
        await other.threads.begin_turn(an_opening("m3", new=False))


async def test_an_approval_that_was_not_answered_is_withdrawn(url: str) -> None:
    """The server has it, and its caller heard that it failed: the call is cancelled, and runs nowhere."""
    async with open_node(url) as store:
        await with_calls(store, a_call(runs_at="record"))
        approval = CallApproval(project=HOUSE, call="c1", by="u1", at=NOW)
        with broken_commit(backend_of(store), commits=True), pytest.raises(StorageFailed):
            await store.calls.approve_call(approval)
        with trio.fail_after(60):
            while True:
                with suppress(StorageFailed):
                    if (await store.calls.call(HOUSE, "c1")).status == "cancelled":
                        break
                await trio.sleep(0.05)


def slow_commit(url: str, id: str) -> None:
    """Let the server take two seconds to commit the claim of an id."""
    for statement in (
        "CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON agent_ledger.actions DEFERRABLE INITIALLY DEFERRED "
        f"FOR EACH ROW WHEN (NEW.suggestion_id = '{id}') EXECUTE FUNCTION take_long()",
    ):
        run_statement(url, statement)


def leave_at_commit(backend: PostgresDatabase) -> None:
    """Close the connection once the next `COMMIT` has been sent, before its answer."""
    assert backend._connection is not None
    driver: Any = driver_of(backend._connection)
    execute = driver.execute

    def leave(query: Any, *arguments: Any, **named: Any) -> Any:
        if query == "COMMIT":
            driver.pgconn.send_query(b"COMMIT")
            driver.close()
            raise psycopg.OperationalError("the connection is lost")
        return execute(query, *arguments, **named)

    driver.execute = leave


async def test_a_claim_that_is_committed_late_ends_too(url: str) -> None:
    """Its connection is lost while the server commits it, and the process writes again before that is done."""
    async with open_node(url) as store:
        await store.ledger.claim("s0", "send_sms", NOW)
        slow_commit(url, "s1")
        leave_at_commit(backend_of(store))
        with pytest.raises(StorageFailed):
            await store.ledger.claim("s1", "send_sms", NOW)
        assert await store.ledger.claim("s2", "send_sms", NOW)
        with trio.move_on_after(30):
            while run_statement(  # noqa: ASYNC110  # it asks the server
                url, "SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'"
            ):
                await trio.sleep(0.05)
            while (row := await store.ledger.get_row("s1")) is not None and row.status == "claimed":  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert row is None or row.status == "cancelled"


async def test_what_a_dead_process_left_is_settled(url: str) -> None:
    """Its claims are unknown, its turn is cancelled; those of a process that lives are left alone."""
    async with open_node(url) as one:
        await one.ledger.claim("s1", "send_sms", NOW)
        await one.threads.begin_turn(an_opening())
        async with open_node(url) as other:
            for store in (one, other):
                row = await store.ledger.get_row("s1")
                assert row is not None
                assert row.status == "claimed"
    async with open_node(url) as later:
        row = await later.ledger.get_row("s1")
        assert row is not None
        assert row.status == "unknown"
        assert (await later.threads.message(HOUSE, "m1")).status == "cancelled"


async def test_a_lost_connection_comes_back_by_itself(url: str) -> None:
    """Reads and writes fail once at most, with one sentence; then they go on without a restart."""
    async with open_node(url) as store:
        await store.ledger.claim("s1", "send_sms", NOW)
        run_statement(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-server'"
            " AND datname = current_database()",
        )
        with pytest.raises(StorageFailed, match=r"lost|shut down"):
            await store.ledger.get_row("s1")
        row = await store.ledger.get_row("s1")
        assert row is not None
        assert await store.ledger.claim("s2", "send_sms", NOW)


async def test_tables_that_are_gone_are_told(url: str) -> None:
    """While serving: each request fails with one sentence that says what to do."""
    async with open_node(url) as store:
        run_statement(url, "DROP SCHEMA agent_ledger CASCADE")
        with pytest.raises(StorageFailed, match="its tables are gone: restore them"):
            await store.ledger.claim("s1", "send_sms", NOW)
        with pytest.raises(StorageFailed, match="its tables are gone: restore them"):
            await store.threads.begin_turn(an_opening())


async def test_a_request_at_fault_fails_alone(url: str) -> None:
    """Two of the same key: the second one is refused by the database, and others of its batch are written."""
    async with open_node(url) as store:
        await store.projects.create_project("p1", "Shop", "", NOW)
        faults: list[str] = []

        async def create() -> None:
            try:
                await store.projects.create_project("p1", "Shop", "", NOW)
            except StorageFailed as error:
                faults.append(str(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(create)
            for number in range(3):
                nursery.start_soon(store.ledger.claim, f"s{number}", "send_sms", NOW)
        assert len(faults) == 1
        for number in range(3):
            assert await store.ledger.get_row(f"s{number}") is not None


def _claim(id: str, refused: bool = False) -> FunctionRequest[bool]:
    """A request that claims `id`, and is refused after that if `refused`."""

    def write(transaction: Transaction) -> bool:
        won = ClaimRequest(suggestion_id=id, action="send_sms", at=NOW).write(transaction)
        if refused:
            raise Conflict("closed")
        return won

    return FunctionRequest(write)


def test_a_refused_request_leaves_nothing_and_others_of_its_batch_are_written(url: str) -> None:
    """Alone in its batch, and among others. A batch without a refusal has no savepoints."""
    database = PostgresDatabase(url, Noon(), LEDGER, checks_clock=False)
    database.open()
    assert database._connection is not None
    driver: Any = driver_of(database._connection)
    ran: list[str] = []
    execute = driver.execute

    def note(query: Any, *arguments: Any, **named: Any) -> Any:
        ran.append(str(query))
        return execute(query, *arguments, **named)

    driver.execute = note
    batches = {
        ("a",): [_claim("a")],
        (): [_claim("b", refused=True)],
        ("c", "d"): [_claim("c"), _claim("d")],
        ("e", "g"): [_claim("e"), _claim("f", refused=True), _claim("g")],
    }
    for won, batch in batches.items():
        ran.clear()
        report = database.commit(batch)
        assert report.trouble == ""
        assert [*report.refused] == [
            place for place in range(len(batch)) if report.answers[place] is not True
        ]
        assert ("SAVEPOINT request" in ran) == (len(won) < len(batch) > 1)
    database.close()
    kept = run_statement(url, "SELECT suggestion_id FROM agent_ledger.actions ORDER BY number")
    assert [id for (id,) in kept] == ["a", "c", "d", "e", "g"]


def test_all_that_start_at_once_on_an_empty_database_come_up() -> None:
    """Whoever is first makes the tables, and nobody dies."""
    with empty_database() as url:
        failed: list[Exception] = []

        def start(contents: Any) -> None:
            try:
                database = PostgresDatabase(url, WallClock(), contents)
                database.open()
                database.close()
            except Exception as error:  # noqa: BLE001  # told below
                failed.append(error)

        starts = [threading.Thread(target=partial(start, each)) for each in (LEDGER, MEMORY) * 4]
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        assert failed == []


async def test_a_start_beside_another_that_writes_the_same_is_tried_again(url: str) -> None:
    """A row that the start settles is changed by another process at that moment."""
    async with open_node(url) as store:
        await store.ledger.claim("s1", "send_sms", NOW)
        kill(url, store)
    run_statement(url, "DELETE FROM agent_ledger.nodes")
    owned = LEDGER.owned
    assert owned is not None
    looks: list[list[str]] = []

    def at_work(connection: Any) -> list[str]:
        looks.append(owned.at_work(connection))
        if len(looks) == 1:
            run_statement(url, "UPDATE agent_ledger.actions SET claimed_at = claimed_at + 1")
        return looks[-1]

    contents = replace(LEDGER, owned=replace(owned, at_work=at_work))
    database = PostgresDatabase(url, Noon(), contents, checks_clock=False)
    database.open()
    [row] = database.read_each([partial(find_row, suggestion_id="s1")])
    assert (len(looks), row.status, row.claimed_at) == (2, "unknown", NOW + 1)
    database.close()


async def test_a_read_that_takes_too_long_fails_alone(url: str) -> None:
    """Its process keeps its place among the living, so that no other process settles its work."""
    async with open_node(url) as store:
        place = membership_of(store).place

        def sleep(connection: Any) -> None:
            connection.exec_driver_sql("SET LOCAL statement_timeout = '50ms'")
            connection.exec_driver_sql("SELECT pg_sleep(5)")

        with pytest.raises(StorageFailed, match="it took too long"):
            await database_of(store).read(sleep)
        assert await store.ledger.claim("s1", "send_sms", NOW)
        assert membership_of(store).place is place


def test_a_step_of_the_schema_may_take_longer_than_other_statements(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large table is changed for a minute; elsewhere an answer that does not come is given up sooner."""
    database = PostgresDatabase(url, Noon(), LEDGER, checks_clock=False)
    database.open()
    assert database._connection is not None
    driver = driver_of(database._connection)
    driver.execute("BEGIN")
    monkeypatch.setattr(driver, "statement_wait", 1.5)
    monkeypatch.setattr(connecting, "ANSWER_SPARE", 0.1)
    with driver.allow_time(5.0):
        driver.execute("SELECT pg_sleep(2)")
    with pytest.raises(psycopg.OperationalError, match="does not answer"):
        driver.execute("SELECT pg_sleep(2)")
    database.close()


async def test_a_newer_schema_is_refused_in_one_sentence(url: str) -> None:
    """And is left as it is."""
    run_statement(url, "UPDATE agent_ledger.schema_version SET version = 99")
    with pytest.raises(
        UsageError, match=r"schema 99, made by a newer version.*run the newer version"
    ) as told:
        async with open_node(url):
            pass
    assert "\n" not in str(told.value)
    assert run_statement(url, "SELECT version FROM agent_ledger.schema_version") == [(99,)]


def test_what_is_emptied_leaves_the_tables_at_the_next_round_of_autovacuum(url: str) -> None:
    """Each table of words is set so, and is there."""
    set_so = run_statement(
        url,
        "SELECT relname FROM pg_class WHERE 'autovacuum_vacuum_threshold=1' = ANY (reloptions)"
        " AND 'autovacuum_vacuum_scale_factor=0' = ANY (reloptions)",
    )
    assert {name for (name,) in set_so} == OF_WORDS


SECRET = "s3cret-password"


def _refused(url: str) -> dict[str, tuple[str, str]]:
    """Bad URLs, by their fault, with the words of the remedy."""
    port = f"postgresql://u:{SECRET}@127.0.0.1"
    return {
        "no server": (f"{port}:1/d", "no server answers there"),
        "no host": (f"postgresql://u:{SECRET}@nowhere.invalid/d", "no such host"),
        "no port": (f"{port}:99999999/d", "cannot be read"),
        "no database": (f"{port}:1", "names no database"),
        "not there": (name_database(url, "missing"), "make it first"),
        "options": (f"{port}:1/d?options=-cx%3D1", "leave them out"),
        "other": (f"mysql://u:{SECRET}@h/d", "no URL but postgresql"),
    }


async def test_each_bad_url_is_one_sentence_without_the_password(url: str) -> None:
    """It says what to do."""
    for fault, (bad, words) in _refused(url).items():
        with pytest.raises(UsageError, match=words) as told:
            async with open_store(StorageSettings(bad), Path(), WorkerThreads(1), WallClock()):
                pass
        assert SECRET not in str(told.value), fault
        assert "\n" not in str(told.value), fault


async def test_a_url_may_name_several_servers_of_which_one_takes_writes(url: str) -> None:
    """As where a standby takes over: the first that is there and takes writes is used."""
    parts = conninfo_to_dict(url)
    host, port = quote(str(parts.get("host", "")), safe=""), parts.get("port", 5432)
    several = f"postgresql://postgres@/{parts['dbname']}?host=127.0.0.1,{host}&port=1,{port}"
    async with open_node(f"{several}&target_session_attrs=read-write") as store:
        assert await store.ledger.claim("s1", "send_sms", NOW)
    check_url("postgresql://u@127.0.0.1:5432,127.0.0.1:5433/d?target_session_attrs=read-write")


async def test_a_user_without_rights_is_told_which_to_grant() -> None:
    """At the start."""
    with empty_database() as url:
        name = url.partition("?")[0].rpartition("/")[2]
        run_statement(url, f"CREATE ROLE r_{name} LOGIN PASSWORD '{SECRET}'")
        try:
            theirs = url.replace("postgresql://postgres:", f"postgresql://r_{name}:{SECRET}", 1)
            if theirs == url:
                pytest.skip("the server's URL has another form")
            with pytest.raises(UsageError, match="GRANT CREATE ON DATABASE") as told:
                async with open_node(theirs):
                    pass
            assert SECRET not in str(told.value)
        finally:
            run_statement(url, f"DROP ROLE r_{name}")


async def test_a_server_that_takes_no_writes_is_told() -> None:
    """As a standby, or a database that is read only."""
    with empty_database() as url:
        name = url.partition("?")[0].rpartition("/")[2]
        run_statement(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        only_primary = f"{url}{'&' if '?' in url else '?'}target_session_attrs=read-write"
        for each in (url, only_primary):
            with pytest.raises(UsageError, match=r"takes no writes.*name the primary"):
                async with open_node(each):
                    pass


def test_a_clock_that_is_far_off_refuses_to_start(url: str) -> None:
    """Times are compared between processes, so all must agree."""
    database = PostgresDatabase(url, Noon(), LEDGER)
    with pytest.raises(Exception, match="the clocks of this machine and of the server differ by"):
        database.open()


def test_an_unknown_error_is_named_without_its_values() -> None:
    """A statement's values may hold anything."""
    assert explain(psycopg.errors.UniqueViolation(f"Key (name)=({SECRET})")) == (
        "the server refuses a statement (23505): look at its log"
    )


def test_a_certificate_that_is_not_accepted_is_named() -> None:
    """Not a database or a user that is missing, though libpq says that a file does not exist."""
    words = 'connection failed: root certificate file "/nowhere" does not exist'
    assert "check sslmode and sslrootcert" in explain(psycopg.OperationalError(words))


async def test_a_batch_that_always_meets_another_is_run_one_by_one(url: str) -> None:
    """A call is kept by two processes at once again and again: each keeps its own, and nobody waits for ever."""
    async with open_node(url) as one, open_node(url) as other:
        await one.threads.begin_turn(an_opening())
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(one.calls.keep_call, a_call(f"c{2 * number}"))
                nursery.start_soon(other.calls.keep_call, a_call(f"c{2 * number + 1}"))
        for number in range(40):
            assert (await one.calls.call(HOUSE, f"c{number}")).status == "suggested"


def test_of_many_threads_that_lost_a_server_one_tries_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others hear at once what it has found, until the pause is over."""
    monkeypatch.setattr("agent.storage.postgres.connecting.PAUSE", (600, 600))
    attempts, reasons, tries = Attempts(), [], 0

    def connect() -> None:
        nonlocal tries
        tries += 1
        time.sleep(0.1)
        raise psycopg.OperationalError("connection failed: Connection refused")

    def ask() -> None:
        try:
            attempts.connect_again(connect)
        except (Unusable, psycopg.OperationalError) as error:
            reasons.append(explain(error))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tries, len(reasons), len(set(reasons))) == (1, 20, 1)
    assert "no server answers there" in reasons[0]
