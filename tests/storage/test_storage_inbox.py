"""The approvers' view of the rows: which calls, whose words, which decisions; and what is forgotten of it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import NotFound
from agent.ports.calls import Approver, CallApproval, CallRejection
from agent.ports.inbox import DecisionFilter, InboxMark
from agent.ports.projects import HOUSE
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.forgetting import TEXT, WHOSE, WORD, both_files, say_everywhere
from tests.storage.test_storage_memories import files_with
from tests.stored import LATER, NOW, a_call, an_opening, said, with_calls

EVA = Approver("Eva", "k1")


@asynccontextmanager
async def opened() -> AsyncGenerator[Store, None]:
    """A store in memory."""
    async with open_stores(None, inline, Noon()) as database:
        yield database.store


async def test_a_call_is_read_in_its_own_project() -> None:
    """And in every one by the operator; of another project it is not there, and that one has no open calls."""
    async with opened() as store:
        await with_calls(store, a_call())
        await store.projects.create_project("p2", "P2", "", NOW)
        assert [each.call.id for each in await store.inbox.entries(None, ["c1"])] == ["c1"]
        assert [each.call.id for each in await store.inbox.entries(HOUSE, ["c1", "c9"])] == ["c1"]
        assert await store.inbox.entries("p2", ["c1"]) == ()
        assert (await store.inbox.look("p2", 9)).marks == {}
        assert await store.inbox.decision("p2", "c1") is None
        with pytest.raises(NotFound):
            await store.inbox.look("p3", 9)
        with pytest.raises(NotFound):
            await store.inbox.decisions("p3", DecisionFilter(), 9)


async def test_open_calls_come_with_the_earliest_deadline_first() -> None:
    """No more than are asked for, but all are counted; those that were approved come behind them."""
    async with opened() as store:
        calls = [a_call(f"c{number}", deadline=LATER - number) for number in range(1, 5)]
        await with_calls(store, *calls)
        await store.calls.approve_call(CallApproval(project=HOUSE, call="c4", by="u1", at=NOW, approver=EVA))
        look = await store.inbox.look(HOUSE, 2)
        assert [*look.marks.items()] == [
            ("c3", InboxMark("suggested", "h1")),
            ("c2", InboxMark("suggested", "h1")),
            ("c4", InboxMark("confirmed", "h1")),
        ]
        assert look.waiting == 3
        assert await store.inbox.look(None, 2) == look


async def test_the_words_are_the_users_last_before_the_call() -> None:
    """Also where its turn went on from a result, whose message is a tool's; of another thread there are none."""
    async with opened() as store:
        await with_calls(store, a_call())
        (entry,) = await store.inbox.entries(HOUSE, ["c1"])
        assert (entry.user, entry.words, entry.decision) == ("u1", "text of m1", None)
        await store.threads.begin_turn(an_opening("c1", new=False, role="tool", content="{}", call="c1"))
        later = a_call("c2", message="c1", turn=2)
        await store.threads.record_step(said("c1", calls=(later,)))
        (entry,) = await store.inbox.entries(HOUSE, ["c2"])
        assert entry.words == "text of m1"


async def test_a_decision_is_kept_with_its_approver_and_once() -> None:
    """Rejecting again changes nothing, and is no decision; an approval that is taken back is one."""
    async with opened() as store:
        await with_calls(store, a_call("c1"), a_call("c2"))
        no = CallRejection(project=HOUSE, call="c1", at=NOW, by="u1", approver=EVA, reason="Late.")
        for _ in range(2):
            assert (await store.calls.reject_call(no)).reason == "Late."
        yes = CallApproval(project=HOUSE, call="c2", by="u1", at=NOW + 1, approver=EVA)
        await store.calls.approve_call(yes)
        await store.calls.reject_call(
            replace(no, call="c2", at=NOW + 2, approver=Approver("Ivo", "operator"))
        )
        page = await store.inbox.decisions(HOUSE, DecisionFilter(), 9)
        assert [(each.event, each.call, each.approver, each.key) for each in page.entries] == [
            ("cancelled", "c2", "Ivo", "operator"),
            ("approved", "c2", "Eva", "k1"),
            ("rejected", "c1", "Eva", "k1"),
        ]
        assert [each.reason for each in page.entries] == ["Late.", None, "Late."]
        one = await store.inbox.decisions(None, DecisionFilter(since=NOW + 1, until=NOW + 2), 9)
        assert [each.event for each in one.entries] == ["approved"]


async def test_the_reason_of_a_rejection_is_forgotten_with_the_words_that_it_repeats(tmp_path: Path) -> None:
    """In every file; that it was rejected, and by whom, stays."""
    async with both_files(tmp_path, inline, Noon()) as (desk, memory, store):
        id = await say_everywhere(memory, store)
        await store.threads.begin_turn(an_opening("m9", new=False, content="A call"))
        await store.threads.record_step(said("m9", calls=(a_call("c9", message="m9", turn=4),)))
        reason = f"No. {TEXT}!"
        await store.calls.reject_call(
            CallRejection(project="default", call="c9", at=NOW, by="u1", approver=EVA, reason=reason)
        )
        assert (await desk.forget_item(WHOSE, id)).item.status == "forgotten"
        assert files_with(tmp_path, WORD) == []
        decision = await store.inbox.decision("default", "c9")
        assert decision is not None
        assert (decision.event, decision.approver, decision.reason) == ("rejected", "Eva", "")
