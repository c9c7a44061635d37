"""What callers of a thread hear while the disk hangs, and that nothing of it begins when it works again."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from agent.config import RECORD_TIMEOUT
from agent.errors import Conflict, StorageFailed
from agent.ports.calls import CallReport
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.storage.committer import LEDGER_RETRY
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.testing.network import Disk
from agent.threads.settings import ThreadSettings
from agent.threads.thread_registry import SWEEP_EVERY

from ..examples import sample
from .lab import ANSWER, LOOK_UP, NOTE, REFUND, SHIP, Lab, Wall, lab


@asynccontextmanager
async def on_a_disk(*decisions: object, **how: object) -> AsyncGenerator[tuple[Lab, Disk], None]:
    """A desk over a store whose disk can hang."""
    disk = Disk()
    async with (
        open_store(StorageSettings(), Path("kb"), disk, Wall()) as stores,
        lab(*decisions, stores=stores, **how) as made,  # type: ignore[arg-type]
    ):
        yield made, disk


OPERATIONS: dict[str, Callable[[Lab, str, str, str], Awaitable[object]]] = {
    "chat": lambda r, thread, *_: r.chat("price?", thread),
    "chat anew": lambda r, *_: r.chat("price?"),
    "interrupt": lambda r, thread, *_: r.chat("price?", thread, interrupt=True),
    "approve": lambda r, _, call, __: r.desk.approve_call(HOUSE, call, "bo", wait=14.0),
    "respond": lambda r, _, call, __: r.desk.answer_call(HOUSE, call, "bo", "no, the price"),
    "reject": lambda r, _, call, __: r.desk.reject_call(HOUSE, call),
    "begin": lambda r, _, __, theirs: r.desk.begin_call(HOUSE, theirs),
    "report": lambda r, _, __, theirs: r.desk.report_call(
        CallReport(project=HOUSE, call=theirs, ok=False, result={}, digest="d", at=0)
    ),
    "cancel turn": lambda r, thread, *_: r.desk.cancel_turn(HOUSE, thread),
    "cancel": lambda r, thread, *_: r.desk.cancel_thread(HOUSE, thread),
    "delete": lambda r, thread, *_: r.desk.delete_thread(HOUSE, thread),
}


@pytest.mark.parametrize("calm", [0.0, pytest.param(5.0, marks=pytest.mark.proof)])
@pytest.mark.parametrize("operation", sample(sorted(OPERATIONS), 4))
async def test_who_begins_or_decides_is_told(
    autojump_clock: trio.testing.MockClock, operation: str, calm: float
) -> None:
    """In RECORD_TIMEOUT, awake or asleep; when the disk works again nothing of it runs, and the thread can be used."""
    settings = ThreadSettings(calm_time=2)
    async with on_a_disk(REFUND, NOTE, ANSWER, settings=settings) as (r, disk), trio.open_nursery() as others:
        reply = await r.chat()
        theirs = (await r.chat("and?", reply.thread, begin=False)).calls[0].id
        await trio.sleep(calm)
        call, calls = reply.calls[0].id, len(r.decider.briefings)
        disk.hang()
        for _ in range(8):  # whoever else waits is in nobody's way
            others.start_soon(told, OPERATIONS["chat anew"](r, reply.thread, call, theirs))
        began = trio.current_time()
        with pytest.raises(StorageFailed):
            await OPERATIONS[operation](r, reply.thread, call, theirs)
        assert trio.current_time() - began < RECORD_TIMEOUT + 0.5
        await trio.sleep(60)
        disk.work()
        await trio.sleep(max(2 * LEDGER_RETRY, 2 * SWEEP_EVERY))
        assert (r.effects, len(r.decider.briefings)) == ([], calls)
        if operation != "delete":
            assert (await r.chat("price?", reply.thread)).mode == "NOOP"


async def told(asked: Awaitable[object]) -> None:
    """Wait for what the disk does not do."""
    with pytest.raises(StorageFailed):
        await asked


async def test_an_approval_that_was_not_told_is_none(autojump_clock: trio.testing.MockClock) -> None:
    """Written when the disk works again, it is taken back: the caller cannot begin the call."""
    async with on_a_disk(SHIP) as (r, disk):
        (call,) = (await r.chat()).calls
        approve = r.stores.calls.approve_call

        async def hang_and_approve(approval: object) -> object:
            disk.hang()
            return await approve(approval)

        r.stores.calls.approve_call = hang_and_approve
        with pytest.raises(StorageFailed):
            await r.desk.approve_call(HOUSE, call.id, "bo")
        disk.work()
        await trio.sleep(2 * LEDGER_RETRY)
        assert (await r.call(call.id)).status == "cancelled"
        with pytest.raises(Conflict):
            await r.desk.begin_call(HOUSE, call.id)


@pytest.mark.parametrize("decision", [REFUND, LOOK_UP, ANSWER])
async def test_a_turn_whose_end_cannot_be_kept_is_told_so(
    autojump_clock: trio.testing.MockClock, decision: object
) -> None:
    """The disk hangs while the turn goes on; when it works again nothing that it led to can begin."""
    async with on_a_disk(1.0, decision, ANSWER) as (r, disk), trio.open_nursery() as nursery:
        nursery.start_soon(told, r.chat("what about order A-1?"))
        await trio.sleep(0.5)
        disk.hang()
        await trio.sleep(3 * RECORD_TIMEOUT)
        assert not nursery.child_tasks
        disk.work()
        await trio.sleep(5)
        assert r.effects == []
        calls = (await r.stores.calls.calls(HOUSE, Window(9))).entries
        assert [call.status for call in calls] in ([], ["cancelled"])
        (thread,) = (await r.stores.threads.threads(HOUSE, Window(9))).entries
        assert (await r.chat("price?", thread.id)).mode == "NOOP"


async def test_an_approval_stands_though_the_disk_hangs_after_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What is told then is how it stood."""
    async with on_a_disk(REFUND, after=1.0) as (r, disk), trio.open_nursery() as nursery:
        (call,) = (await r.chat()).calls
        seen: list[str] = []

        async def approve() -> None:
            seen.append((await r.desk.approve_call(HOUSE, call.id, "bo", wait=5.0)).status)

        nursery.start_soon(approve)
        await trio.sleep(0.5)
        disk.hang()
        await trio.sleep(5 + 2 * RECORD_TIMEOUT)
        assert (seen, len(r.effects)) == (["confirmed"], 1)
        disk.work()
        await trio.sleep(2 * LEDGER_RETRY)
        assert (await r.call(call.id)).status == "done"
