"""What every store of calls must do."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio

from agent.errors import Conflict, NotFound, StorageFailed
from agent.ports.calls import CallApproval, CallReport, CallStatus, OverdueCall
from agent.ports.ledger import LedgerRow
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.tools import RunsAt
from agent.protocol.views import CallPage
from agent.server.api import views
from agent.server.api.answers import answer_with
from agent.storage.listing import PAGE_BYTES
from agent.storage.store import Store
from tests.stored import LATER, NOW, a_call, an_opening, said, with_calls

YES = CallApproval(project=HOUSE, call="c1", by="u2", at=NOW + 5)
OK = CallReport(
    project=HOUSE, call="c1", ok=True, result={"success": True, "data": {"n": 1}}, digest="d1", at=NOW + 7
)
LEASE = NOW + 10_000
RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed"}


async def why_not(asked: Awaitable[object]) -> str:
    """Wait for a change; return the code of the conflict that it is, or ""."""
    try:
        await asked
    except Conflict as error:
        return error.code
    return ""


async def reach(store: Store, status: CallStatus, id: str = "c1", runs_at: RunsAt = "caller") -> None:
    """Take a call of thread t1, kept or not, into a status."""
    first: CallStatus = (
        "suggested" if status in ("suggested", "rejected", "answered", "expired") else "confirmed"
    )
    call = a_call(id, needs_approval=first == "suggested", status=first, runs_at=runs_at)
    await store.threads.record_step(said(None, status=None, calls=(call,)))
    if status in ("rejected", "answered", "cancelled", "expired"):
        await store.calls.close_call(HOUSE, id, status, NOW + 1)
    if status in ("claimed", "done", "failed", "unknown"):
        await store.calls.begin_call(HOUSE, id, NOW + 1, NOW + 2 if status == "unknown" else LEASE)
    if status in ("done", "failed"):
        await store.calls.report_call(replace(OK, call=id, ok=status == "done"))
    if status == "unknown":
        assert await store.calls.expire_calls(NOW + 2) == (OverdueCall(HOUSE, "t1", id, "unknown"),)
    assert (await store.calls.call(HOUSE, id)).status == status


async def test_a_call_is_kept_as_it_was_suggested(store: Store) -> None:
    """Every field comes back, and another project has no such call."""
    call = a_call(missing=("reason",), risk="high")
    await with_calls(store, call)
    assert await store.calls.call(HOUSE, "c1") == call


async def test_an_approved_call_is_begun_once_and_reported_once(store: Store) -> None:
    """Suggested, confirmed, claimed, done: each step says who and when, and the ledger has it."""
    await with_calls(store, a_call())
    confirmed = await store.calls.approve_call(YES)
    assert confirmed == a_call(status="confirmed", approved_by="u2", approved_at=NOW + 5)
    begun = await store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)
    assert begun == replace(confirmed, status="claimed", lease_until=LEASE)
    assert await store.ledger.get_row("c1") == LedgerRow(
        suggestion_id="c1", action="refund", status="claimed", claimed_at=NOW + 6, kb="/docs"
    )
    assert await why_not(store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)) == "begun"
    done, again = await store.calls.report_call(replace(OK, seen="h1"))
    assert done == replace(begun, status="done", result=OK.result, result_hash="d1", ended_at=NOW + 7)
    assert again is False
    assert await store.ledger.get_row("c1") == LedgerRow(
        suggestion_id="c1",
        action="refund",
        status="done",
        claimed_at=NOW + 6,
        ended_at=NOW + 7,
        result=dict(OK.result),
        kb="/docs",
    )


async def test_a_call_keeps_who_closed_it(store: Store) -> None:
    """Rejected, answered in words or taken back after its approval; the first stands, and nobody need be named."""
    await with_calls(store, *(a_call(f"c{n}", position=n) for n in range(1, 6)))
    await store.calls.approve_call(replace(YES, call="c2"))
    assert (await store.calls.close_call(HOUSE, "c1", "rejected", NOW + 6, "u3")).closed_by == "u3"
    assert (await store.calls.close_call(HOUSE, "c1", "rejected", NOW + 7, "u4")).closed_by == "u3"
    taken_back = await store.calls.close_call(HOUSE, "c2", "rejected", NOW + 6, "u3")
    assert (taken_back.status, taken_back.approved_by, taken_back.closed_by) == ("cancelled", "u2", "u3")
    await store.threads.begin_turn(an_opening("c3", new=False, user="u3", closes="c3"))
    await store.calls.close_call(HOUSE, "c4", "rejected", NOW + 6)
    page = await store.calls.calls(HOUSE, Window(9))
    assert [(each.status, each.closed_by) for each in page.entries] == [
        ("rejected", "u3"),
        ("cancelled", "u3"),
        ("answered", "u3"),
        ("rejected", None),
        ("suggested", None),
    ]


async def test_what_is_reported_is_a_message_of_its_thread(store: Store) -> None:
    """Once, whatever is reported again, and in the words of the report; what was declined has returned nothing."""
    await with_calls(store, a_call("c1", **RUN), a_call("c2", position=2))
    await store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)
    await store.calls.report_call(OK)
    await store.calls.report_call(OK)
    await store.calls.report_call(replace(OK, call="c2", ok=False, at=NOW + 1))
    page = await store.threads.messages(HOUSE, "t1", Window(9))
    kept = [each for each in page.entries if each.role == "tool"]
    assert [(each.call, each.turn, each.status, each.created_at) for each in kept] == [
        ("c1", 1, "done", OK.at)
    ]
    assert kept[0].content == '{"success":true,"data":{"n":1}}'
    assert (await store.threads.thread(HOUSE, "t1")).updated_at == OK.at


async def test_the_first_report_stands(store: Store) -> None:
    """The same again gets the same answer, anything else is refused, and the call says what was reported first."""
    await with_calls(store)
    await reach(store, "done")
    first = await store.calls.call(HOUSE, "c1")
    assert await store.calls.report_call(replace(OK, at=LATER)) == (first, True)
    assert await why_not(store.calls.report_call(replace(OK, digest="d2"))) == "already_reported"
    assert await store.calls.call(HOUSE, "c1") == first


async def test_an_edit_replaces_the_arguments_with_the_approval(store: Store) -> None:
    """They are what runs from then on; what was suggested is known by its hash."""
    await with_calls(store, a_call())
    edited = await store.calls.approve_call(replace(YES, arguments={"order": "A-2"}, arguments_hash="h2"))
    assert (edited.arguments, edited.arguments_hash, edited.proposed_hash) == ({"order": "A-2"}, "h2", "h1")
    again = replace(YES, arguments={"order": "A-3"}, arguments_hash="h3")
    assert await why_not(store.calls.approve_call(again)) == "closed"
    assert (await store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)).arguments == {"order": "A-2"}


async def test_who_saw_other_arguments_changes_nothing(store: Store) -> None:
    """Neither approves them, nor reports that it ran them."""
    await with_calls(store, a_call())
    assert await why_not(store.calls.approve_call(replace(YES, seen="h0"))) == "arguments_changed"
    await store.calls.approve_call(replace(YES, seen="h1"))
    await store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)
    assert await why_not(store.calls.report_call(replace(OK, seen="h0"))) == "arguments_changed"
    assert (await store.calls.call(HOUSE, "c1")).status == "claimed"


async def test_a_deadline_is_the_first_instant_that_is_late(store: Store) -> None:
    """An approval, an answer, and a caller's begin must come before it."""
    await with_calls(store, a_call(), a_call("c2"), a_call("c3", **RUN))
    assert await why_not(store.calls.approve_call(replace(YES, at=LATER))) == "expired"
    assert await why_not(store.calls.close_call(HOUSE, "c2", "answered", LATER)) == "expired"
    assert await why_not(store.calls.begin_call(HOUSE, "c3", LATER, LATER + 9)) == "expired"
    await store.calls.approve_call(replace(YES, at=LATER - 1))
    await store.calls.begin_call(HOUSE, "c3", LATER - 1, LATER + 9)


async def test_what_is_due_is_ended_once(store: Store) -> None:
    """Not approved, approved and not taken: expired; taken and not reported: unknown, in the ledger too."""
    waits_for_us = a_call("c4", runs_at="webhook", **RUN)
    await with_calls(store, a_call(), a_call("c2", **RUN), a_call("c3", **RUN), waits_for_us)
    await store.calls.begin_call(HOUSE, "c3", NOW + 1, LEASE)
    assert await store.calls.expire_calls(LEASE - 1) == ()
    assert await store.calls.expire_calls(LEASE) == (OverdueCall(HOUSE, "t1", "c3", "unknown"),)
    assert set(await store.calls.expire_calls(LATER)) == {
        OverdueCall(HOUSE, "t1", id, "expired") for id in ("c1", "c2")
    }
    assert await store.calls.expire_calls(LATER + 1) == ()
    lost = await store.calls.call(HOUSE, "c3")
    assert lost.result is not None
    assert (lost.result["unknown"], lost.ended_at) == (True, LEASE)
    row = await store.ledger.get_row("c3")
    assert row is not None
    assert (row.status, row.result) == ("unknown", lost.result)
    late = replace(OK, call="c3", at=LATER)
    assert await why_not(store.calls.report_call(late)) == "lease_over"
    assert (await store.calls.call(HOUSE, "c4")).status == "confirmed"


async def test_a_lease_ends_also_where_its_call_was_deleted(store: Store) -> None:
    """The ledger keeps the row, and says at last that nobody knows how it ended."""
    await with_calls(store)
    await reach(store, "claimed")
    await store.threads.delete_thread(HOUSE, "t1")
    assert await store.calls.expire_calls(LEASE) == ()
    row = await store.ledger.get_row("c1")
    assert row is not None
    assert (row.status, row.ended_at) == ("unknown", LEASE)


async def test_a_report_after_the_lease_is_late_before_anybody_looks(store: Store) -> None:
    """At its last instant it is over."""
    await with_calls(store)
    await reach(store, "claimed")
    assert await why_not(store.calls.report_call(replace(OK, at=LEASE))) == "lease_over"
    await store.calls.report_call(replace(OK, at=LEASE - 1))


ENDED: dict[CallStatus, str] = {
    "done": "closed",
    "failed": "closed",
    "unknown": "closed",
    "cancelled": "closed",
    "rejected": "closed",
    "answered": "closed",
    "expired": "expired",
}
CODES: dict[str, dict[CallStatus, str]] = {
    "approve": {"suggested": "", "confirmed": "closed", "claimed": "begun", **ENDED},
    "edit": {"suggested": "", "confirmed": "closed", "claimed": "begun", **ENDED},
    "reject": {
        "suggested": "",
        "confirmed": "",
        "claimed": "begun",
        **ENDED,
        "rejected": "",
        "cancelled": "",
    },
    "answer": {"suggested": "", "confirmed": "closed", "claimed": "begun", **ENDED, "answered": ""},
    "cancel": {"suggested": "", "confirmed": "", "claimed": "begun", **ENDED, "cancelled": ""},
    "begin": {"suggested": "not_approved", "confirmed": "", "claimed": "begun", **ENDED},
    "report done": {
        **ENDED,
        "suggested": "not_approved",
        "confirmed": "",
        "claimed": "",
        "done": "already_reported",
        "failed": "already_reported",
        "unknown": "lease_over",
    },
    "report failed": {
        **ENDED,
        "suggested": "",
        "confirmed": "",
        "claimed": "",
        "done": "already_reported",
        "failed": "already_reported",
        "unknown": "lease_over",
    },
}
OPERATIONS: dict[str, Callable[[Store, str], Awaitable[object]]] = {
    "approve": lambda store, id: store.calls.approve_call(replace(YES, call=id)),
    "edit": lambda store, id: store.calls.approve_call(
        replace(YES, call=id, arguments={}, arguments_hash="h2")
    ),
    "reject": lambda store, id: store.calls.close_call(HOUSE, id, "rejected", NOW + 8),
    "answer": lambda store, id: store.calls.close_call(HOUSE, id, "answered", NOW + 8),
    "cancel": lambda store, id: store.calls.close_call(HOUSE, id, "cancelled", NOW + 8),
    "begin": lambda store, id: store.calls.begin_call(HOUSE, id, NOW + 8, LEASE),
    "report done": lambda store, id: store.calls.report_call(replace(OK, call=id, digest="d9", at=NOW + 8)),
    "report failed": lambda store, id: store.calls.report_call(
        replace(OK, call=id, ok=False, digest="d9", at=NOW + 8)
    ),
}


async def test_what_can_be_done_in_each_status(store: Store) -> None:
    """Every operation in every status: it is done, or says why not and changes nothing."""
    await with_calls(store)
    pairs = [(status, operation) for status in CODES["begin"] for operation in OPERATIONS]
    for number, (status, operation) in enumerate(pairs):
        id = f"c{number}"
        await reach(store, status, id)
        before = await store.calls.call(HOUSE, id)
        code = CODES[operation][status]
        assert (status, operation, await why_not(OPERATIONS[operation](store, id))) == (
            status,
            operation,
            code,
        )
        if code:
            assert await store.calls.call(HOUSE, id) == before


@pytest.mark.parametrize("runs_at", ["caller", "webhook"])
async def test_an_approval_is_taken_back_until_somebody_has_begun(store: Store, runs_at: RunsAt) -> None:
    """A reject of an approved call cancels it, and again says the same; nobody takes or claims it after that."""
    await with_calls(store, a_call(runs_at=runs_at))
    await store.calls.approve_call(YES)
    for at in (NOW + 6, NOW + 7):
        back = await store.calls.close_call(HOUSE, "c1", "rejected", at)
        assert (back.status, back.approved_by, back.ended_at) == ("cancelled", "u2", NOW + 6)
    assert await why_not(store.calls.begin_call(HOUSE, "c1", NOW + 7, LEASE)) == "closed"
    assert not await store.ledger.claim("c1", "refund", NOW + 7)
    assert await why_not(store.calls.approve_call(YES)) == "closed"


async def test_what_was_cancelled_before_anybody_approved_it_is_not_rejected(store: Store) -> None:
    """It stays as it ended, and who is late hears so."""
    await with_calls(store, a_call())
    await store.calls.close_call(HOUSE, "c1", "cancelled", NOW + 1)
    assert await why_not(store.calls.close_call(HOUSE, "c1", "rejected", NOW + 2)) == "closed"


async def test_a_report_that_nothing_was_done_declines_a_call_that_waits(store: Store) -> None:
    """Not approved yet it is rejected, approved it is withdrawn, and the same again gets the same answer."""
    await with_calls(store, a_call(), a_call("c2", **RUN))
    for id, status in (("c1", "rejected"), ("c2", "cancelled")):
        no = replace(OK, call=id, ok=False)
        declined, again = await store.calls.report_call(no)
        assert (declined.status, declined.result, again) == (status, None, False)
        assert await store.calls.report_call(no) == (declined, True)
        assert await why_not(store.calls.report_call(replace(no, digest="d2"))) == "already_reported"
        assert await store.ledger.get_row(id) is None


async def test_a_report_begins_a_call_that_needs_no_approval(store: Store) -> None:
    """Once, in the ledger too; not where it was approved, where its time is over, or where other arguments ran."""
    await with_calls(store, a_call(**RUN), a_call("c2"), a_call("c3", **RUN), a_call("c4", **RUN))
    await store.calls.approve_call(replace(YES, call="c2"))
    done, again = await store.calls.report_call(OK)
    assert (done.status, done.result, again) == ("done", OK.result, False)
    assert await store.ledger.get_row("c1") == LedgerRow(
        suggestion_id="c1",
        action="refund",
        status="done",
        claimed_at=OK.at,
        ended_at=OK.at,
        result=dict(OK.result),
        kb="/docs",
    )
    assert await store.calls.report_call(OK) == (done, True)
    assert await why_not(store.calls.begin_call(HOUSE, "c1", NOW + 8, LEASE)) == "closed"
    for refused, code in (
        (replace(OK, call="c2"), "not_begun"),
        (replace(OK, call="c3", at=LATER), "expired"),
        (replace(OK, call="c4", seen="h0"), "arguments_changed"),
    ):
        assert await why_not(store.calls.report_call(refused)) == code
        assert (await store.calls.call(HOUSE, refused.call)).status == "confirmed"
        assert await store.ledger.get_row(refused.call) is None


async def test_what_the_server_runs_is_not_the_callers(store: Store) -> None:
    """It can neither be begun nor reported, whatever it has come to."""
    await with_calls(store, a_call(runs_at="webhook", **RUN))
    for _ in ("confirmed", "claimed"):
        assert await why_not(store.calls.begin_call(HOUSE, "c1", NOW + 6, LEASE)) in ("closed", "begun")
        assert await why_not(store.calls.report_call(OK)) == "closed"
        assert await why_not(store.calls.report_call(replace(OK, ok=False))) == "closed"
        await store.ledger.claim("c1", "refund", NOW + 6)
    assert (await store.calls.call(HOUSE, "c1")).status == "claimed"


async def test_the_ledgers_claim_and_outcome_are_the_calls(store: Store) -> None:
    """A confirmed call becomes claimed with the ledger's row, and ends with it; the result comes back as it was."""
    await store.threads.begin_turn(an_opening())
    call = a_call(runs_at="webhook", **RUN)
    await store.calls.keep_call(call)
    await store.calls.keep_call(replace(call, tool="other"))  # again changes nothing
    assert await store.calls.call(HOUSE, "c1") == call
    assert await store.ledger.claim("c1", "refund", NOW + 2)
    assert not await store.ledger.claim("c1", "refund", NOW + 2)
    assert await store.calls.call(HOUSE, "c1") == replace(call, status="claimed")
    await store.ledger.record_outcome("c1", "done", {"success": True, "data": {"å": [1.5]}}, NOW + 3)
    await store.ledger.record_outcome("c1", "failed", {"success": False}, NOW + 4)
    ended = await store.calls.call(HOUSE, "c1")
    assert (ended.status, ended.result, ended.ended_at) == (
        "done",
        {"success": True, "data": {"å": [1.5]}},
        NOW + 3,
    )


async def test_only_a_confirmed_call_of_ours_is_claimed(store: Store) -> None:
    """In every other status, and where its caller runs it, the claim is lost alone, and leaves no row."""
    await store.threads.begin_turn(an_opening())
    won: dict[str, bool] = {}
    failed: list[str] = []

    async def claim(id: str) -> None:
        try:
            won[id] = await store.ledger.claim(id, "refund", NOW + 9)
        except StorageFailed:
            failed.append(id)

    closed: tuple[CallStatus, ...] = ("suggested", "rejected", "answered", "cancelled", "expired")
    for number, status in enumerate(closed):
        await reach(store, status, f"c{number}", "record")
    await reach(store, "confirmed", "c8")
    await store.calls.keep_call(a_call("c9", runs_at="record", **RUN))
    ids = [*(f"c{number}" for number in range(len(closed))), "c8", "c9", "of a socket"]
    async with trio.open_nursery() as nursery:  # in one transaction, where they can be
        for id in ids:
            nursery.start_soon(claim, id)
    assert failed == []
    assert {id for id, first in won.items() if first} == {"c9", "of a socket"}
    assert {row.suggestion_id for row in await store.ledger.rows()} == {"c9", "of a socket"}


async def test_a_claim_that_was_stopped_ends_the_call_as_cancelled(store: Store) -> None:
    """A run that was stopped before its effect has no result."""
    await with_calls(store, a_call(runs_at="record", **RUN))
    await store.ledger.claim("c1", "refund", NOW)
    await store.ledger.record_outcome("c1", "cancelled", {"cancelled": True}, NOW + 1)
    call = await store.calls.call(HOUSE, "c1")
    assert (call.status, call.result, call.ended_at) == ("cancelled", None, NOW + 1)


async def test_of_many_who_race_one_wins(store: Store) -> None:
    """Approvals, edits, rejections, answers at once: one is made, the call is that one's."""
    await with_calls(store, *(a_call(f"c{number}") for number in range(1, 6)))
    for number in range(1, 6):
        id, codes = f"c{number}", list[str]()

        async def race(operation: str, id: str = id, codes: list[str] = codes) -> None:
            codes.append(await why_not(OPERATIONS[operation](store, id)))

        async with trio.open_nursery() as nursery:
            for operation in ("approve", "edit", "reject", "answer", "cancel"):
                nursery.start_soon(race, operation)
        approved = (await store.calls.call(HOUSE, id)).approved_by is not None
        allowed = 3 if approved else 1  # which a reject and a cancel may both take back after it
        assert 1 <= codes.count("") <= allowed


async def test_a_page_is_the_same_while_calls_are_added(store: Store) -> None:
    """In the order they were made, narrowed by status and thread, each once."""
    await with_calls(store, *(a_call(f"c{number}") for number in range(1, 6)))
    await store.calls.approve_call(replace(YES, call="c2"))
    await store.threads.begin_turn(an_opening("m2", new=False))
    seen, window = [], Window(2)
    for round in range(9):
        listed = await store.calls.calls(HOUSE, window)
        seen += [call.id for call in listed.entries]
        if round < 2:
            await store.calls.keep_call(a_call(f"c1{round}", message="m2", **RUN))
        if listed.after is None:
            break
        window = Window(2, listed.after)
    assert seen == ["c1", "c2", "c3", "c4", "c5", "c10", "c11"]
    waiting = await store.calls.calls(HOUSE, Window(9), "suggested", "t1")
    assert [call.id for call in waiting.entries] == ["c1", "c3", "c4", "c5"]
    assert (await store.calls.calls(HOUSE, Window(3), "suggested")).after is not None


async def test_a_page_of_large_calls_ends_early(store: Store) -> None:
    """It has no more bytes than a page may, told as they are; each call comes once, a larger one by itself."""
    large = {"note": "x" * (PAGE_BYTES // 8)}
    calls = [a_call(f"c{number}", arguments=large) for number in range(1, 11)]
    alone = a_call("c11", arguments={"note": "x" * PAGE_BYTES})
    await with_calls(store, *calls, alone, a_call("c12"))
    sizes, seen, after = list[int](), list[str](), 0
    while True:
        page = await store.calls.calls(HOUSE, Window(50, after))
        sizes.append(len(answer_with(CallPage(tuple(map(views.call, page.entries)), "cursor")).content))
        seen += [call.id for call in page.entries]
        if page.after is None:
            break
        after = page.after
    assert seen == [f"c{number}" for number in range(1, 13)]
    assert [size > PAGE_BYTES for size in sizes] == [False, False, True, False]
    assert sizes[0] > PAGE_BYTES * 3 // 4


async def test_another_projects_call_is_not_there(store: Store) -> None:
    """Every method says the same as of a call that never was, and changes nothing."""
    await store.projects.create_project("p2", "other", "", NOW)
    await with_calls(store, a_call())
    for project, id in (("p2", "c1"), (HOUSE, "c0"), ("p0", "c1")):
        asked: tuple[Callable[[], Awaitable[object]], ...] = (
            partial(store.calls.call, project, id),
            partial(store.calls.approve_call, replace(YES, project=project, call=id)),
            partial(store.calls.close_call, project, id, "cancelled", NOW),
            partial(store.calls.begin_call, project, id, NOW, LEASE),
            partial(store.calls.report_call, replace(OK, project=project, call=id)),
            partial(store.calls.report_call, replace(OK, project=project, call=id, ok=False)),
        )
        for one in asked:
            with pytest.raises(NotFound, match=r"^there is no such thing$"):
                await one()
    elsewhere: tuple[Callable[[], Awaitable[object]], ...] = (
        partial(store.calls.keep_call, a_call("c7", project="p2", **RUN)),
        partial(store.calls.keep_call, a_call("c7", thread="t2", **RUN)),
        partial(store.calls.calls, "p0", Window(9)),
        partial(store.calls.calls, "p2", Window(9), thread="t1"),
    )
    for one in elsewhere:
        with pytest.raises(NotFound):
            await one()
    assert (await store.calls.calls("p2", Window(9))).entries == ()
    assert await store.calls.call(HOUSE, "c1") == a_call()


async def test_an_id_of_another_projects_call_is_not_taken(store: Store) -> None:
    """Neither in a turn of its own thread nor with it."""
    await with_calls(store, a_call())
    await store.projects.create_project("p2", "other", "", NOW)
    await store.threads.begin_turn(an_opening(project="p2"))
    with pytest.raises(NotFound):
        await store.calls.keep_call(a_call(project="p2"))
    with pytest.raises(NotFound):
        await store.threads.record_step(said(project="p2", calls=(a_call(project="p2"),)))
    assert (await store.threads.messages("p2", "t1", Window(9))).entries[0].status == "pending"


async def test_what_cannot_be_kept_fails_alone(store: Store) -> None:
    """Arguments that are no JSON are that call's fault; another one is kept in the same breath."""
    await store.threads.begin_turn(an_opening())
    failed: dict[str, str] = {}

    async def keep(id: str, argument: object) -> None:
        try:
            await store.calls.keep_call(a_call(id, arguments={"a": argument}, **RUN))
        except StorageFailed as error:
            failed[id] = str(error)

    async with trio.open_nursery() as nursery:
        for id, argument in (("c1", 1), ("c2", {31337}), ("c3", float("nan")), ("c4", "å")):
            nursery.start_soon(keep, id, argument)
    assert sorted(failed) == ["c2", "c3"]
    assert "31337" not in failed["c2"]
    assert {call.id for call in (await store.calls.calls(HOUSE, Window(9))).entries} == {"c1", "c4"}
