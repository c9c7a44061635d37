"""What is deleted after its time, what stays however old it is, and in how small pieces."""

import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import trio
import trio.testing

from agent.errors import Conflict, NotFound, StorageFailed, UsageError
from agent.ports.calls import CallApproval, CallReport
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.storage.database import Database
from agent.storage.open import open_store
from agent.storage.places import place_of
from agent.storage.retention import (
    RETENTION_EVERY,
    RETENTION_PAUSE,
    RETENTION_ROWS,
    delete_audit,
    delete_unused,
)
from agent.storage.schema import audit, calls, idempotency, messages, threads
from agent.storage.settings import IDEMPOTENCY_SECONDS, TOMBSTONE_SECONDS, StorageSettings
from agent.storage.sqlite.trust import FILE
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.storage.transaction import Transaction
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.storage.test_storage_memories import files_with
from tests.stored import NOW, a_call, an_answer, an_opening, said, with_calls
from tests.threads.lab import Wall

DAY = 86_400.0
TOMBSTONE = round(TOMBSTONE_SECONDS * 1000)
RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed"}
OK = CallReport(project=HOUSE, call="c1", ok=True, result={"success": True}, digest="d1", at=NOW + 7)
YES = CallApproval(project=HOUSE, call="c1", by="u2", at=NOW + 5)


def opened(folder: Path | None = None, **settings: Any) -> Any:
    """Open all stores on the loop's own time, with these times of retention."""
    chosen = StorageSettings("memory" if folder is None else str(folder), **settings)
    return open_store(chosen, Path("kb"), inline, Wall())


def now() -> int:
    return Wall().now_ms()


async def talk(store: Store, thread: str, call: Any = None) -> None:
    """Have a turn in a new thread that has led to a call."""
    at = now()
    opening = an_opening(f"m-{thread}", thread=thread, at=at)
    await store.threads.begin_turn(opening)
    answer = an_answer(f"a-{thread}", thread=thread, created_at=at)
    made = () if call is None else (call,)
    await store.threads.record_step(said(opening.id, thread=thread, at=at, answer=answer, calls=made))


async def there(store: Store) -> list[str]:
    """The threads that there are."""
    return [each.id for each in (await store.threads.threads(HOUSE, Window(50))).entries]


async def test_an_unused_thread_goes_with_all_that_is_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Messages, calls, and what the ledger has of them; a thread that was used since stays."""
    async with opened(keep_threads=2) as store:
        await talk(store, "old", a_call("c1", thread="old", message="m-old", created_at=now(), **RUN))
        await store.calls.begin_call(HOUSE, "c1", now(), now() + 1000)
        await store.calls.report_call(
            CallReport(project=HOUSE, call="c1", ok=True, result={"success": True}, digest="d", at=now() + 1)
        )
        await talk(store, "used")
        await trio.sleep(1.9 * DAY)
        assert await there(store) == ["old", "used"]
        await store.threads.begin_turn(an_opening("m2", thread="used", new=False, at=now()))
        await store.threads.record_step(said("m2", thread="used", at=now()))
        await trio.sleep(0.1 * DAY + 2 * RETENTION_EVERY)
        assert await there(store) == ["used"]
        assert len((await store.threads.messages(HOUSE, "used", Window(9))).entries) == 3
        for gone in (store.threads.message(HOUSE, "m-old"), store.calls.call(HOUSE, "c1")):
            with pytest.raises(NotFound):
                await gone
        assert await store.ledger.get_row("c1") is None
        with pytest.raises(NotFound):
            await store.threads.begin_turn(an_opening("m3", thread="old", new=False, at=now()))


async def test_answers_go_that_nobody_can_ask_for_again(autojump_clock: trio.testing.MockClock) -> None:
    """Without another request that names a key; what is not answered yet, and what is young, stays."""
    async with opened(keep_threads=30) as store:
        for key in ("answered", "at work"):
            await store.requests.begin_request("o1", key, "d", now(), HOUSE)
        await store.requests.record_answer("o1", "answered", StoredAnswer(200, b"{}"))
        await trio.sleep(IDEMPOTENCY_SECONDS - 1)
        assert await read(store, idempotency.c.key) == ["answered", "at work"]
        await trio.sleep(2 * RETENTION_EVERY)
        assert await read(store, idempotency.c.key) == ["at work"]


async def test_lines_of_the_audit_go_after_their_time(autojump_clock: trio.testing.MockClock) -> None:
    """The old ones only, and no thread with them."""
    async with opened(keep_audit=1) as store:
        await talk(store, "old")
        for event in ("first", "second"):
            await store.requests.write_audit(now(), HOUSE, "u1", event, "c1")
            await trio.sleep(0.5 * DAY)
        assert await read(store, audit.c.event) == ["first", "second"]
        await trio.sleep(2 * RETENTION_EVERY)
        assert await read(store, audit.c.event) == ["second"]
        await trio.sleep(DAY)
        assert await read(store, audit.c.event) == []
        assert await there(store) == ["old"]


async def test_without_a_setting_all_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    """For years."""
    async with opened() as store:
        await talk(store, "old")
        await store.requests.write_audit(now(), HOUSE, "u1", "approved", "c1")
        await trio.sleep(3000 * DAY)
        assert (await there(store), await read(store, audit.c.event)) == (["old"], ["approved"])


async def database_of(store: Store) -> Database:
    """The database of a store, opened where it is in memory."""
    kept = await vars(store.requests)["_storage"].open()
    made: Database = vars(kept.store.requests)["_database"]
    return made


async def read(store: Store, column: "sa.Column[Any]") -> list[str]:
    """A column of a table."""
    wanted = sa.select(column).order_by(column.table.c.number)
    made = await database_of(store)
    return list(await made.read(lambda connection: connection.execute(wanted).scalars().all()))


# --- what stays, asked for with one piece


@asynccontextmanager
async def kept() -> AsyncGenerator[tuple[Store, Database], None]:
    """All stores over a database in memory, and that."""
    async with open_stores(None, inline, Noon()) as made:
        yield made.store, vars(made.store.requests)["_database"]


async def delete(made: Database, unused: int, at: int, most: int = RETENTION_ROWS) -> int:
    """Delete one piece of what was not used for some milliseconds."""
    return await made.write(partial(delete_unused, unused, at, most))


async def waits(store: Store) -> None:
    await with_calls(store, a_call())


async def is_approved(store: Store) -> None:
    await with_calls(store, a_call())
    await store.calls.approve_call(YES)


async def runs(store: Store) -> None:
    await with_calls(store, a_call(**RUN))
    await store.calls.begin_call(HOUSE, "c1", NOW + 6, NOW + 10_000)


async def is_in_a_turn(store: Store) -> None:
    await store.threads.begin_turn(an_opening())


@pytest.mark.parametrize("state", [waits, is_approved, runs, is_in_a_turn])
async def test_a_thread_in_which_something_waits_or_runs_stays(
    state: Callable[[Store], Awaitable[None]],
) -> None:
    """However long ago that began."""
    async with kept() as (store, made):
        await state(store)
        assert await delete(made, 1, NOW + 9_000 * TOMBSTONE) == 0
        assert (await store.threads.thread(HOUSE, "t1")).id == "t1"


@pytest.mark.parametrize("status", ["done", "unknown", "rejected"])
async def test_a_call_stays_for_as_long_as_its_claim_must_be_known(status: str) -> None:
    """Also where threads are kept for less: until then nobody else can claim its id, and nothing runs twice."""
    async with kept() as (store, made):
        await with_calls(store, a_call(**(RUN if status != "rejected" else {})))
        ended = NOW + 7
        if status == "rejected":
            await store.calls.close_call(HOUSE, "c1", "rejected", ended)
        else:
            await store.calls.begin_call(HOUSE, "c1", NOW + 6, ended if status == "unknown" else NOW + 10_000)
        if status == "done":
            await store.calls.report_call(OK)
        elif status == "unknown":
            assert len(await store.calls.expire_calls(ended)) == 1
        assert await delete(made, 1, ended + TOMBSTONE) == 0
        assert (await store.calls.call(HOUSE, "c1")).status == status
        with pytest.raises(Conflict):
            await store.calls.begin_call(HOUSE, "c1", ended, ended + 1)
        assert not await store.ledger.claim("c1", "refund", ended)
        assert await delete(made, 1, ended + TOMBSTONE + 1) > 0
        assert await store.ledger.get_row("c1") is None


async def test_a_call_that_has_ended_of_late_keeps_its_thread() -> None:
    """As if something had been said; the time is the operator's where that is longer."""
    async with kept() as (store, made):
        await with_calls(store, a_call())
        week, ended = 7 * TOMBSTONE, NOW + 2 * TOMBSTONE
        await store.calls.close_call(HOUSE, "c1", "rejected", ended)
        assert await delete(made, week, NOW + 2 + week) == 0
        assert await delete(made, week, ended + week) == 0
        assert await delete(made, week, ended + week + 1) == 4


async def test_a_thread_stays_until_its_time_is_over() -> None:
    """Not a millisecond less."""
    async with kept() as (store, made):
        await with_calls(store)
        used = (await store.threads.thread(HOUSE, "t1")).updated_at
        assert await delete(made, 5 * TOMBSTONE, used + 5 * TOMBSTONE) == 0
        assert await delete(made, 5 * TOMBSTONE, used + 5 * TOMBSTONE + 1) == 3


# --- pieces

OLD_MESSAGE = {
    "project_id": HOUSE,
    "turn": 1,
    "role": "user",
    "content": "Quetzal",
    "citations": [],
    "status": "done",
    "created_at": 1,
}
OLD_CALL = {
    "project_id": HOUSE,
    "message_id": "m",
    "turn": 1,
    "tool": "refund",
    "arguments": {},
    "arguments_hash": "h1",
    "proposed_hash": "h1",
    "runs_at": "caller",
    "needs_approval": 1,
    "status": "suggested",
    "created_at": 1,
    "deadline": 2,
    "risk": "low",
    "sources": {},
    "why": [],
    "missing": [],
}


def fill(count: int, transaction: Transaction) -> None:
    """Make threads of 40 messages and 10 closed calls each, and as many lines of the audit."""
    connection = transaction.connection
    for thread in range(count):
        of = {"thread_id": f"t{thread}"}
        row = {"id": f"t{thread}", "user_id": "u", "created_at": 1, "updated_at": 1, "turn": 1}
        connection.execute(sa.insert(threads).values(project_id=HOUSE, **row))
        said = [{**OLD_MESSAGE, **of, "id": f"m{thread}-{n}"} for n in range(40)]
        connection.execute(sa.insert(messages), said)
        made = [{**OLD_CALL, **of, "id": f"c{thread}-{n}", "position": n} for n in range(10)]
        connection.execute(sa.insert(calls), made)
    connection.execute(sa.update(calls).values(status="expired", ended_at=1))
    line = {"at": 1, "project_id": HOUSE, "user_id": "u", "event": "approved", "subject": "c1"}
    connection.execute(sa.insert(audit), [line] * (50 * count))


def counted(connection: sa.Connection) -> dict[str, int]:
    """How many rows each table has."""
    tables = (threads, messages, calls, audit)
    return {
        table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in tables
    }


async def test_no_piece_has_more_rows_than_it_may() -> None:
    """Of long threads, of many and of the audit; in the end all of them are gone."""
    async with Database(place_of(None), inline, Noon()) as made:
        await made.write(partial(fill, 3))
        left = sum((await made.read(counted)).values())
        pieces: tuple[Any, ...] = (
            partial(delete_unused, 1, NOW, 17),
            partial(delete_audit, 1, NOW, 17),
        )
        for piece in pieces:
            deleted = 17
            while deleted == 17:
                deleted = await made.write(piece)
                now_left = sum((await made.read(counted)).values())
                assert left - now_left == deleted <= 17
                left = now_left
        assert await made.read(counted) == {"threads": 0, "messages": 0, "calls": 0, "audit": 0}


async def test_of_a_thread_that_is_used_meanwhile_what_was_said_last_is_left() -> None:
    """A piece looks anew: the oldest messages were gone, and the thread goes on."""
    async with kept() as (store, made):
        await made.write(partial(fill, 1))
        assert await delete(made, 1, NOW, 25) == 25  # its calls, and 15 of its messages
        await store.threads.begin_turn(an_opening("m9", thread="t0", new=False))
        assert await delete(made, 1, NOW + 2 * TOMBSTONE, 25) == 0
        page = await store.threads.messages(HOUSE, "t0", Window(99))
        assert [each.id for each in page.entries] == [*(f"m0-{n}" for n in range(15, 40)), "m9"]


async def test_others_write_between_two_pieces(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of rows take as many transactions, with a pause after each."""
    sizes: list[tuple[float, int]] = []

    async def noted(self: Database, work: Any, *given: Any, **named: Any) -> Any:
        answer = await write(self, work, *given, **named)
        if isinstance(answer, int):
            sizes.append((trio.current_time(), answer))
        return answer

    write = Database.write
    monkeypatch.setattr(Database, "write", noted)
    async with opened(keep_threads=1, keep_audit=1) as store:
        made = await database_of(store)
        await trio.sleep(1)
        await made.write(partial(fill, 40))
        sizes.clear()
        await trio.sleep(RETENTION_EVERY + 10)
        full = [size for _, size in sizes if size]
        assert (sum(full), max(full)) == (40 * 101, RETENTION_ROWS)
        times = [at for at, size in sizes if size == RETENTION_ROWS]
        assert min(b - a for a, b in pairwise(times)) >= RETENTION_PAUSE


# --- the files, and what goes wrong


async def test_what_is_deleted_is_in_no_file(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Neither in the database nor in its log, while it is open."""

    async with opened(tmp_path) as store:
        await vars(store.threads)["_database"].write(partial(fill, 3))
    assert files_with(tmp_path, "Quetzal")
    async with opened(tmp_path, keep_threads=1):
        await trio.sleep(2 * RETENTION_EVERY)
        assert files_with(tmp_path, "Quetzal") == []
    with closing(sqlite3.connect(tmp_path / FILE)) as after:
        assert after.execute("SELECT count(*) FROM threads").fetchone() == (0,)
        assert after.execute("SELECT count(*) FROM audit").fetchone() == (150,)


async def test_a_disk_that_fails_is_asked_again(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next look; nothing else notices."""
    fails = True
    write = Database.write

    async def failing(self: Database, work: Any, *given: Any, **named: Any) -> Any:
        if fails and getattr(work, "func", None) is delete_unused:
            raise StorageFailed("the disk")
        return await write(self, work, *given, **named)

    monkeypatch.setattr(Database, "write", failing)
    async with opened(keep_threads=1) as store:
        await talk(store, "old")
        await trio.sleep(2 * DAY)
        assert await there(store) == ["old"]
        fails = False
        await trio.sleep(2 * RETENTION_EVERY)
        assert await there(store) == []


@pytest.mark.parametrize("days", [-1.0, 0.5, 36_501.0, float("nan")])
def test_a_time_that_cannot_be_kept_is_refused(days: float) -> None:
    """Less than a day would end what its caller may still ask for."""
    with pytest.raises(UsageError):
        StorageSettings(keep_threads=days)
    with pytest.raises(UsageError):
        StorageSettings(keep_audit=days)
    assert StorageSettings(keep_threads=1.5, keep_audit=36_500)
