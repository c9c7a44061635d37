"""Fill a folder's first database: python projects.py FOLDER, with the package and tests/ of a commit."""

import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import trio

from agent.ports.calls import CallApproval, CallReport, CallStatus
from agent.ports.conversation import Scope
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.ports.threads import MessageStatus, StoredMessage
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.rated import a_rated_answer, a_rating
from tests.stored import NOW, a_call, a_document, an_answer, an_opening, said

LEASE = NOW + 10_000
DIGEST = sha256(b"a key").hexdigest()


async def fill(folder: Path) -> None:
    """Keep a row of every kind and status; some are at work when the process ends."""
    async with open_stores(folder, inline, Noon(), kb="/docs") as kept:
        store = kept.store
        await _keep_projects(store)
        await _keep_calls(store)
        for status in ("cancelled", "refused", "failed"):
            await _keep_turn(store, status)
        await _keep_actions(store)
        await store.requests.write_audit(NOW, HOUSE, "u1", "approved", "c-done")
        await store.requests.begin_request("u1", "answered", "d1", NOW)
        await store.requests.record_answer("u1", "answered", StoredAnswer(200, b'{"id":"m1"}'))
        await store.requests.begin_request("u1", "at work", "d2", NOW)
        await store.feedback.put_message_feedback(a_rating("m1"), Scope(HOUSE, "t1", "u1"))
        await store.feedback.put_feedback(a_rating("k1", verdict="up"), a_rated_answer())
        await _keep_work(store)


async def _keep_projects(store: Store) -> None:
    await store.projects.create_project("p2", "Shop", "You help customers.", NOW)
    await store.projects.put_document(a_document("d1", project="p2"), "Basic costs 49 kr.")
    await store.projects.put_document(a_document("d2", project="p2", category="RULES"), "Be brief.")
    await store.projects.put_document(a_document("d3", project="p2", category="STATE"), "Closed today.")
    await store.projects.add_key("p2", "k1", DIGEST, "shop", NOW)
    await store.projects.add_key("p2", "k2", sha256(b"another").hexdigest(), "old", NOW)
    await store.projects.revoke_key("p2", "k2", NOW + 1)


async def _keep_calls(store: Store) -> None:
    """Keep thread t1 with a call in each status that its caller runs, and what one of them has found."""
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said(answer=an_answer()))
    statuses: tuple[CallStatus, ...] = (
        *("suggested", "confirmed", "claimed", "done", "failed", "unknown"),
        *("cancelled", "rejected", "expired", "answered"),
    )
    for position, status in enumerate(statuses):
        call = a_call(f"c-{status}", position=position)
        await store.threads.record_step(said(None, status=None, calls=(call,)))
        if status in ("confirmed", "claimed", "done", "failed", "unknown", "cancelled"):
            await store.calls.approve_call(CallApproval(project=HOUSE, call=call.id, by="u2", at=NOW + 2))
        if status in ("cancelled", "rejected", "expired", "answered"):
            await store.calls.close_call(HOUSE, call.id, status, NOW + 3)
        if status in ("claimed", "done", "failed", "unknown"):
            await store.calls.begin_call(HOUSE, call.id, NOW + 3, NOW + 4 if status == "unknown" else LEASE)
        if status in ("done", "failed"):
            outcome = {"success": status == "done", "data": {"status": "refunded"}}
            report = CallReport(
                project=HOUSE, call=call.id, ok=status == "done", result=outcome, digest="d1", at=NOW + 4
            )
            await store.calls.report_call(report)
    assert [due.call for due in await store.calls.expire_calls(NOW + 5)] == ["c-unknown"]
    result = StoredMessage(
        id="r1",
        thread="t1",
        turn=1,
        role="tool",
        content="refunded",
        status="done",
        created_at=NOW + 5,
        citations=(),
        call="c-done",
    )
    await store.threads.record_step(said(None, status=None, tools=(result,)))


async def _keep_turn(store: Store, status: MessageStatus) -> None:
    await store.threads.begin_turn(an_opening(f"m-{status}", thread=f"t-{status}"))
    await store.threads.record_step(said(f"m-{status}", thread=f"t-{status}", status=status))


async def _keep_actions(store: Store) -> None:
    """Keep what was done over a socket, which is no call."""
    for status in ("done", "failed", "cancelled", "unknown"):
        assert await store.ledger.claim(f"s-{status}", "call", NOW)
        await store.ledger.record_outcome(f"s-{status}", status, {"success": status == "done"}, NOW + 1)


async def _keep_work(store: Store) -> None:
    """Begin what nobody will end: a turn, a call that is about to run, one that runs, and an action of a socket."""
    await store.threads.begin_turn(an_opening("m-work", thread="t-work"))
    ready = a_call("c-ready", thread="t-work", message="m-work", runs_at="webhook", position=1)
    for call in (ready, replace(ready, id="c-running", position=2)):
        await store.calls.keep_call(replace(call, needs_approval=False, status="confirmed"))
    assert await store.ledger.claim("c-running", "refund", NOW)
    assert await store.ledger.claim("s-running", "call", NOW)


if __name__ == "__main__":
    trio.run(fill, Path(sys.argv[1]))
