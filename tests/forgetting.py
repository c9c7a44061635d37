"""Something that lies in both files of a folder, in many places, for tests that forget it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from agent.memory.own_memory import OwnMemory
from agent.ports.calls import CallApproval, CallReport
from agent.ports.clock import Clock
from agent.ports.conversation import Scope
from agent.ports.memory import MemoryStore
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.ports.work import RunSync
from agent.storage.memories.store import open_database_memory
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store

from .rated import a_rated_answer, a_rating
from .remembered import NOW, a_draft, an_exchange
from .stored import LATER, a_call, an_answer, an_opening, said

WORD = "Quetzal"
TEXT = f"The code of the door is {WORD}"
WHOSE = Scope(HOUSE, "t1", "u1")


@asynccontextmanager
async def both_files(
    folder: Path, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[OwnMemory, MemoryStore, Store], None]:
    """Open what is remembered in a folder, and its threads, with what takes a user's decisions about both."""
    async with (
        open_database_memory(folder, run_sync, clock) as memory,
        open_store(StorageSettings(str(folder)), Path("kb"), run_sync, clock) as store,
    ):
        yield OwnMemory(memory, clock, [store.threads, store.feedback]), memory, store


async def say_everywhere(memory: MemoryStore, store: Store) -> str:
    """Remember something and say it again, in a message, a call with a result, an answer, feedback; return its id."""
    again = f"I said: {TEXT}!"
    call = a_call("c1", message="m2", turn=2, position=1, arguments={"text": TEXT})
    await store.threads.begin_turn(an_opening(content=TEXT))
    await store.threads.record_step(said(answer=an_answer()))
    await store.threads.begin_turn(an_opening("m2", new=False, content="A ticket"))
    await store.threads.record_step(said("m2", answer=an_answer("a2", turn=2), calls=(call,)))
    await store.threads.begin_turn(an_opening("m3", new=False, content=again))
    await store.threads.record_step(said("m3", answer=an_answer("a3", turn=3)))
    await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="u1", at=NOW))
    await store.calls.begin_call(HOUSE, "c1", NOW, LATER)
    result = {"success": True, "data": {"text": TEXT}}
    await store.calls.report_call(
        CallReport(project=HOUSE, call="c1", ok=True, result=result, digest="d", at=NOW)
    )
    await store.requests.begin_request("o1", "k1", "d", NOW)
    await store.requests.record_answer(
        "o1", "k1", StoredAnswer(200, f'{{"id":"c1","text":"{TEXT}"}}'.encode())
    )
    rated = a_rated_answer(scope=replace(WHOSE, thread="t9"), question="Which code?", answer=f"{TEXT}.")
    await store.feedback.put_feedback(a_rating("k1", text=f"No, {TEXT}"), rated)
    await store.feedback.put_message_feedback(a_rating("m3"), WHOSE)
    draft = a_draft(TEXT, "code of the door", message="m1")
    [[made]] = await memory.keep_exchanges([an_exchange("m1", TEXT, "Noted", draft, scope=WHOSE)], NOW)
    await memory.keep_exchanges(
        [an_exchange("m3", again, f"Right: {TEXT}", scope=replace(WHOSE, thread="t2"))], NOW
    )
    return (await memory.accept_item(WHOSE, made.item.id, NOW)).id
