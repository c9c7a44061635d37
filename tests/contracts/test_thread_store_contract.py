"""What every store of threads must do."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio

from agent.errors import Conflict, NotFound
from agent.memory.repeats import Repeats
from agent.ports.calls import CallApproval, CallReport, CallTransition
from agent.ports.conversation import Exchange, Scope
from agent.ports.memory import Remark, Side, StoredTurn
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.ports.threads import StoredMessage, Thread
from agent.storage import thread_forgetting, turns
from agent.storage.listing import PAGE_BYTES
from agent.storage.store import Store
from tests.stored import LATER, NOW, a_call, an_answer, an_opening, said, with_calls

RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed"}
ALL = Window(99)


async def messages(store: Store) -> list[tuple[str, str, str]]:
    """Id, role and status of thread t1's messages."""
    listed = await store.threads.messages(HOUSE, "t1", ALL)
    return [(message.id, message.role, message.status) for message in listed.entries]


async def test_a_turn_is_kept_as_it_was_said(store: Store) -> None:
    """The user's words byte for byte but for U+0000, the answer with its citations, the thread with its turn."""
    words = "\u0000 Ett tal:\r\n\t١٢ 🙂 e\u0301 "
    thread = (await store.threads.begin_turn(an_opening(content=words))).thread
    words = words.replace("\0", "\ufffd")  # which not every database can hold
    assert thread == Thread(id="t1", project=HOUSE, user="u1", created_at=NOW, updated_at=NOW, turn=1)
    asked = StoredMessage(
        id="m1", thread="t1", turn=1, role="user", content=words, status="pending", created_at=NOW
    )
    assert (await store.threads.messages(HOUSE, "t1", ALL)).entries == (asked,)
    await store.threads.record_step(said(answer=an_answer()))
    assert (await store.threads.messages(HOUSE, "t1", ALL)).entries == (
        replace(asked, status="done"),
        an_answer(),
    )
    assert await store.threads.thread(HOUSE, "t1") == replace(thread, updated_at=NOW + 1)
    assert await store.threads.message(HOUSE, "a1") == an_answer()


async def test_a_thread_has_one_turn_at_a_time(store: Store) -> None:
    """A second message is refused while the first is pending; where its turn is known to be gone, it takes over."""
    await store.threads.begin_turn(an_opening())
    with pytest.raises(Conflict, match="turn_in_progress"):
        await store.threads.begin_turn(an_opening("m2", new=False, alone=False))
    taken = await store.threads.begin_turn(an_opening("m3", new=False))
    assert taken.thread.turn == 2
    assert await messages(store) == [("m1", "user", "cancelled"), ("m3", "user", "pending")]


async def test_of_messages_at_once_one_begins(store: Store) -> None:
    """The others are refused and leave nothing."""
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said())
    begun: list[str] = []
    refused: list[str] = []

    async def begin(id: str) -> None:
        try:
            await store.threads.begin_turn(an_opening(id, new=False, alone=False))
            begun.append(id)
        except Conflict as error:
            refused.append(error.code)

    async with trio.open_nursery() as nursery:
        for number in range(2, 8):
            nursery.start_soon(begin, f"m{number}")
    assert (len(begun), refused) == (1, ["turn_in_progress"] * 5)
    assert await messages(store) == [("m1", "user", "done"), (begun[0], "user", "pending")]


async def test_what_a_turn_says_can_be_said_again(store: Store) -> None:
    """Answer, results, calls and how earlier ones went on are kept once, whatever comes twice."""
    await store.threads.begin_turn(an_opening())
    step = said(
        status=None,
        calls=(a_call("c1", runs_at="webhook", **RUN),),
        tools=(
            StoredMessage(
                id="r1",
                thread="t1",
                turn=1,
                role="tool",
                content="299",
                status="done",
                created_at=NOW,
                call="c1",
            ),
        ),
    )
    end = said(answer=an_answer(), calls=(a_call("c2"),))
    for what in (step, step, end, step, end):
        await store.threads.record_step(what)
    assert await messages(store) == [
        ("m1", "user", "done"),
        ("r1", "tool", "done"),
        ("a1", "assistant", "done"),
    ]
    assert [call.id for call in (await store.calls.calls(HOUSE, ALL)).entries] == ["c1", "c2"]


async def test_a_turn_that_ended_stays_as_it_ended(store: Store) -> None:
    """Cancelled, it has no answer and suggests nothing; how its calls ended is kept all the same."""
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said(status=None, calls=(a_call("c1", runs_at="webhook", **RUN),)))
    await store.ledger.claim("c1", "refund", NOW)
    await store.threads.record_step(said(status="cancelled"))
    await store.ledger.record_outcome("c1", "done", {"success": True}, NOW)
    result = StoredMessage(
        id="r1", thread="t1", turn=1, role="tool", content="299", status="done", created_at=NOW, call="c1"
    )
    move = CallTransition("c1", "done", {"success": True})
    late = said(answer=an_answer(), calls=(a_call("c2"),), tools=(result,), moves=(move,))
    for status in ("done", None):
        await store.threads.record_step(replace(late, status=status))
    assert await messages(store) == [("m1", "user", "cancelled"), ("r1", "tool", "done")]
    assert [(c.id, c.status) for c in (await store.calls.calls(HOUSE, ALL)).entries] == [("c1", "done")]
    row = await store.ledger.get_row("c1")
    assert row is not None
    assert (row.status, row.result) == ("done", {"success": True})


async def test_a_result_of_a_call_that_was_refused_is_not_kept(store: Store) -> None:
    """A process that did not know of the cancel tells that its call could not be claimed: no message says so."""
    await store.threads.begin_turn(an_opening())
    await store.threads.cancel_turn(HOUSE, "t1", NOW)
    with pytest.raises(Conflict, match="cancelled"):
        await store.calls.keep_call(a_call("c1", runs_at="webhook", **RUN))
    result = StoredMessage(
        id="r1", thread="t1", turn=1, role="tool", content="no", status="done", created_at=NOW, call="c1"
    )
    for message in ("m1", None):
        await store.threads.record_step(said(message, status=None, tools=(result,)))
    assert await messages(store) == [("m1", "user", "cancelled")]


async def test_a_turn_is_cancelled_by_whoever_asks(store: Store) -> None:
    """Its message ends, with what it has not begun; nothing of it is kept or claimed any more, and the next begins."""
    await with_calls(store, a_call("c1"), a_call("c2", runs_at="webhook"), a_call("c3"))
    for id in ("c2", "c3"):
        await store.calls.approve_call(CallApproval(project=HOUSE, call=id, by="u1", at=NOW))
    await store.threads.begin_turn(an_opening("m2", new=False))
    ours: dict[str, Any] = {"message": "m2", "turn": 2, "runs_at": "webhook", **RUN}
    for id in ("c4", "c5"):
        await store.calls.keep_call(a_call(id, **ours))
    assert await store.ledger.claim("c4", "refund", NOW)
    assert await store.threads.cancelled_messages([(HOUSE, "m2")]) == frozenset()
    for _ in range(2):
        await store.threads.cancel_turn(HOUSE, "t1", NOW + 5)
    assert not await store.ledger.claim("c5", "refund", NOW)
    with pytest.raises(Conflict, match="cancelled"):
        await store.calls.keep_call(a_call("c6", **ours))
    assert not await store.threads.record_step(said("m2", answer=an_answer("a2", turn=2, created_at=NOW + 9)))
    assert await store.threads.record_step(said("m2", status="cancelled"))
    assert await messages(store) == [
        ("m1", "user", "done"),
        ("a1", "assistant", "done"),
        ("m2", "user", "cancelled"),
    ]
    kept = (await store.calls.calls(HOUSE, ALL)).entries
    assert [(each.id, each.status, each.ended_at) for each in kept] == [
        ("c1", "suggested", None),
        ("c2", "confirmed", None),
        ("c3", "confirmed", None),
        ("c4", "claimed", None),
        ("c5", "cancelled", NOW + 5),
    ]
    asked = [(HOUSE, "m1"), (HOUSE, "m2"), ("p2", "m2"), (HOUSE, "m9")]
    assert await store.threads.cancelled_messages(asked) == {(HOUSE, "m2")}
    await store.threads.begin_turn(an_opening("m3", new=False))


async def test_a_cancel_of_every_call_takes_back_what_nobody_has_begun(store: Store) -> None:
    """Suggested or approved, whoever runs it, of this thread alone; what somebody has begun or claimed goes on."""
    ours = {f"c{number}": a_call(f"c{number}") for number in range(1, 5)}
    await with_calls(
        store, *ours.values(), a_call("c5", **RUN), *(a_call(i, runs_at="webhook") for i in ("c6", "c7"))
    )
    for id in ("c2", "c3", "c6", "c7"):
        await store.calls.approve_call(CallApproval(project=HOUSE, call=id, by="u1", at=NOW))
    await store.calls.close_call(HOUSE, "c4", "rejected", NOW)
    await store.calls.begin_call(HOUSE, "c3", NOW, LATER)
    assert await store.ledger.claim("c7", "refund", NOW)
    await store.threads.begin_turn(an_opening("m9", thread="t2"))
    elsewhere = a_call("c9", thread="t2", message="m9")
    await store.threads.record_step(said("m9", thread="t2", calls=(elsewhere,)))
    assert await store.calls.may_begin(HOUSE, "c7")
    for at in (NOW + 5, NOW + 6):
        await store.threads.cancel_turn(HOUSE, "t1", at, calls=True)
    assert not await store.calls.may_begin(HOUSE, "c7")
    await store.calls.expire_calls(LATER - 1)  # a claim that was withdrawn is no lease
    assert (await store.ledger.get_row("c7")).status == "claimed"  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        await store.calls.may_begin("p2", "c7")
    kept = (await store.calls.calls(HOUSE, ALL)).entries
    assert {each.id: (each.status, each.ended_at) for each in kept} == {
        "c1": ("cancelled", NOW + 5),
        "c2": ("cancelled", NOW + 5),
        "c3": ("claimed", None),
        "c4": ("rejected", NOW),
        "c5": ("cancelled", NOW + 5),
        "c6": ("cancelled", NOW + 5),
        "c7": ("claimed", None),
        "c9": ("suggested", None),
    }
    assert not await store.ledger.claim("c6", "refund", NOW + 7)
    for id in ("c2", "c5"):
        with pytest.raises(Conflict, match="closed"):
            await store.calls.begin_call(HOUSE, id, NOW + 7, LATER)


async def test_calls_go_on_as_the_table_says(store: Store) -> None:
    """To a status that one move leads to from where the call is; anything else changes nothing."""
    await with_calls(store, a_call(), a_call("c2"), a_call("c3"), a_call("c4", runs_at="record", **RUN))
    await store.threads.record_step(said(None, status=None, calls=(a_call("c5", **RUN),)))
    await store.calls.close_call(HOUSE, "c3", "rejected", NOW)
    await store.calls.begin_call(HOUSE, "c5", NOW, NOW + 9)
    moves = (
        CallTransition("c1", "expired"),
        CallTransition("c1", "answered"),  # it has ended
        CallTransition("c2", "done", {"success": True}),  # nobody approved it
        CallTransition("c3", "cancelled"),
        CallTransition("c4", "claimed"),  # which is the ledger's to note
        CallTransition("c5", "cancelled"),  # which its caller runs
    )
    await store.threads.record_step(said(None, status=None, moves=moves))
    listed = (await store.calls.calls(HOUSE, ALL)).entries
    assert [call.status for call in listed] == ["expired", "suggested", "rejected", "confirmed", "claimed"]
    assert listed[0].ended_at == NOW + 1


async def test_a_call_that_could_not_be_claimed_never_runs(store: Store) -> None:
    """Moves are made in their order, each where it can be: it is cancelled, and no claim is won."""
    await with_calls(store, a_call("c1", runs_at="record", **RUN))
    failed = CallTransition("c1", "failed", {"success": False})
    await store.threads.record_step(
        said(
            None, status=None, moves=(failed, CallTransition("c1", "cancelled"), CallTransition("c0", "done"))
        )
    )
    assert (await store.calls.call(HOUSE, "c1")).status == "cancelled"
    assert not await store.ledger.claim("c1", "refund", NOW + 2)
    assert await store.ledger.get_row("c1") is None


async def test_a_turn_begins_with_what_came_of_the_one_before(store: Store) -> None:
    """Calls that waited for somebody and have run since, in their order; not what ran within its turn."""
    begun = await store.threads.begin_turn(an_opening())
    assert begun.ended == ()
    await store.threads.record_step(
        said(
            answer=an_answer(),
            calls=(
                a_call("c3", **RUN),
                a_call("c2", runs_at="record"),
                a_call("c1"),
                a_call("c4", runs_at="record", **RUN),
            ),
        )
    )
    await store.calls.approve_call(CallApproval(project=HOUSE, call="c2", by="u1", at=NOW))
    for id in ("c2", "c4"):
        await store.ledger.claim(id, "refund", NOW)
        await store.ledger.record_outcome(id, "done", {"success": True}, NOW)
    await store.calls.begin_call(HOUSE, "c3", NOW, NOW + 1)
    await store.calls.expire_calls(NOW + 1)
    begun = await store.threads.begin_turn(an_opening("m2", new=False))
    assert [(call.id, call.status) for call in begun.ended] == [("c2", "done"), ("c3", "unknown")]
    assert (await store.threads.load_state(HOUSE, "t1", 9)).ended == begun.ended
    await store.threads.record_step(said("m2", status="cancelled"))
    again = await store.threads.begin_turn(an_opening("m3", new=False, at=NOW + 2))
    assert again.ended == begun.ended  # nobody was told of them
    await store.threads.record_step(said("m3", answer=an_answer("a3", turn=3, created_at=NOW + 9)))
    assert (await store.threads.begin_turn(an_opening("m4", new=False))).ended == ()


async def test_a_turn_begins_with_what_came_late_of_any_one_before(store: Store) -> None:
    """A call of an older turn that ended after the last answered turn had begun; once that was told, no more."""
    await with_calls(store, a_call("c1", **RUN))
    await store.calls.begin_call(HOUSE, "c1", NOW, NOW + 9)
    await store.threads.begin_turn(an_opening("m2", new=False, at=NOW + 1))
    await store.threads.record_step(said("m2", answer=an_answer("a2", turn=2, created_at=NOW + 9)))
    await store.calls.report_call(
        CallReport(project=HOUSE, call="c1", ok=True, result={"success": True}, digest="d", at=NOW + 2)
    )
    begun = await store.threads.begin_turn(an_opening("m3", new=False, at=NOW + 3))
    assert [call.id for call in begun.ended] == ["c1"]
    await store.threads.record_step(said("m3", answer=an_answer("a3", turn=3, created_at=NOW + 9)))
    assert (await store.threads.begin_turn(an_opening("m4", new=False, at=NOW + 4))).ended == ()


async def test_a_call_is_handed_over_with_its_turn(store: Store) -> None:
    """One that needs no approval and that the caller runs is begun with what the turn says, ledger and all."""
    call = a_call(needs_approval=False, status="claimed", lease_until=NOW + 9)
    await with_calls(store, call)
    await store.threads.record_step(said(calls=(call,)))
    assert await store.calls.call(HOUSE, "c1") == call
    row = await store.ledger.get_row("c1")
    assert row is not None
    assert (row.status, row.kb) == ("claimed", "/docs")


async def test_words_in_place_of_an_approval_close_it_with_the_message(store: Store) -> None:
    """Both or neither: a call that is not there to be answered lets no message begin."""
    await with_calls(store, a_call(), a_call("c2"))
    answer = an_opening("m2", new=False, closes="c1")
    await store.threads.begin_turn(answer)
    assert (await store.calls.call(HOUSE, "c1")).status == "answered"
    with pytest.raises(Conflict, match=r"^closed$"):
        await store.threads.begin_turn(replace(answer, id="m3"))
    with pytest.raises(Conflict, match=r"^expired$"):
        await store.threads.begin_turn(replace(answer, id="m4", closes="c2", at=a_call().deadline))
    await store.threads.begin_turn(an_opening("m8", thread="t2"))
    await store.threads.record_step(said("m8", thread="t2"))
    for closes in ("c0", "c2"):  # none, and another thread's
        with pytest.raises(NotFound):
            await store.threads.begin_turn(an_opening("m5", thread="t2", new=False, closes=closes))
    assert [id for id, _, _ in await messages(store)] == ["m1", "a1", "m2"]
    assert (await store.calls.call(HOUSE, "c2")).status == "suggested"


async def test_a_thread_wakes_with_what_was_answered(store: Store) -> None:
    """The newest exchanges, oldest first; not what was refused, cancelled or said about a result; and live calls."""
    await with_calls(store, a_call("c1"), a_call("c2", runs_at="record"), a_call("c3"), a_call("c4", **RUN))
    for turn, status in enumerate(("done", "refused", "cancelled", "done", "failed"), start=2):
        await store.threads.begin_turn(an_opening(f"m{turn}", new=False))
        answer = an_answer(f"a{turn}", turn=turn, status=status)
        await store.threads.record_step(
            said(f"m{turn}", status=status, answer=answer if status != "cancelled" else None)
        )
    await store.threads.begin_turn(an_opening("m7", new=False, role="tool", call="c1"))
    await store.threads.record_step(said("m7", answer=an_answer("a7", turn=7)))
    await store.calls.approve_call(CallApproval(project=HOUSE, call="c2", by="u1", at=NOW))
    await store.calls.close_call(HOUSE, "c3", "cancelled", NOW)
    woken = await store.threads.load_state(HOUSE, "t1", 2)
    assert woken.thread == await store.threads.thread(HOUSE, "t1")
    assert woken.history == (
        Exchange("text of m2", "text of a2", message="m2"),
        Exchange("text of m5", "text of a5", message="m5"),
    )
    assert [call.id for call in woken.live] == ["c1", "c2"]
    first, *others = (await store.threads.load_state(HOUSE, "t1", 9)).history
    assert first == Exchange("text of m1", "text of a1", withdrawn=True, message="m1")
    assert len(others) == 2


async def test_a_thread_has_its_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With MESSAGES_MOST messages it takes no further one, and its call stays as it is."""
    monkeypatch.setattr(turns, "MESSAGES_MOST", 2)
    await with_calls(store, a_call())
    with pytest.raises(Conflict, match="thread_full"):
        await store.threads.begin_turn(an_opening("m2", new=False, closes="c1"))
    assert (await store.calls.call(HOUSE, "c1")).status == "suggested"


async def test_pages_are_the_same_while_rows_are_added(store: Store) -> None:
    """Threads in the order they were made, whichever was written to last; each once."""
    for number in range(1, 5):
        await store.threads.begin_turn(an_opening(f"m{number}", thread=f"t{number}", user=f"u{number % 2}"))
    seen, after = list[str](), 0
    for round in range(9):
        page = await store.threads.threads(HOUSE, Window(2, after))
        seen += [thread.id for thread in page.entries]
        await store.threads.record_step(said("m1", thread="t1"))
        if round == 0:
            await store.threads.begin_turn(an_opening("m5", thread="t5"))
        if page.after is None:
            break
        after = page.after
    assert seen == ["t1", "t2", "t3", "t4", "t5"]
    assert [t.id for t in (await store.threads.threads(HOUSE, ALL, "u0")).entries] == ["t2", "t4"]
    said_in = await store.threads.messages(HOUSE, "t5", Window(1))
    assert ([message.id for message in said_in.entries], said_in.after) == (["m5"], None)


async def test_a_page_of_long_messages_ends_early(store: Store) -> None:
    """By their bytes and not their characters."""
    long = "å" * (PAGE_BYTES // 8)
    for number in range(1, 6):
        await store.threads.begin_turn(an_opening(f"m{number}", new=number == 1, content=long))
        await store.threads.record_step(said(f"m{number}"))
    first = await store.threads.messages(HOUSE, "t1", Window(50))
    assert [each.id for each in first.entries] == ["m1", "m2", "m3"]
    then = await store.threads.messages(HOUSE, "t1", Window(50, first.after or 0))
    assert ([each.id for each in then.entries], then.after) == (["m4", "m5"], None)


async def test_a_deleted_thread_is_gone_with_all_that_is_its_own(store: Store) -> None:
    """Nothing of it is read again; what was confirmed never runs, and what was claimed keeps its row."""
    await with_calls(store, a_call(), a_call("c2", runs_at="record", **RUN), a_call("c3", **RUN))
    await store.calls.begin_call(HOUSE, "c3", NOW, NOW + 9)
    await store.threads.delete_thread(HOUSE, "t1")
    assert not await store.ledger.claim("c2", "refund", NOW)
    assert {row.suggestion_id: row.status for row in await store.ledger.rows()} == {
        "c2": "cancelled",
        "c3": "claimed",
    }
    with pytest.raises(NotFound):
        await store.threads.thread(HOUSE, "t1")
    assert (await store.calls.calls(HOUSE, ALL)).entries == ()
    again = await store.threads.begin_turn(an_opening())
    assert again.thread.turn == 1
    assert len(await messages(store)) == 1


async def test_another_projects_thread_is_not_there(store: Store) -> None:
    """Every method says the same as of a thread that never was; the same id in two projects is two threads."""
    await with_calls(store, a_call())
    await store.projects.create_project("p2", "other", "", NOW)
    before = await messages(store)
    for project, id in (("p2", "t1"), (HOUSE, "t0"), ("p0", "t1")):
        words = an_opening("m2", project=project, thread=id, new=False, closes="c1")
        closing = said(
            None, project=project, thread=id, status=None, moves=(CallTransition("c1", "cancelled"),)
        )
        asked: tuple[Callable[[], Awaitable[object]], ...] = (
            partial(store.threads.begin_turn, an_opening("m2", project=project, thread=id, new=False)),
            partial(store.threads.begin_turn, words),
            partial(store.threads.record_step, said(project=project, thread=id)),
            partial(store.threads.record_step, closing),
            partial(store.threads.load_state, project, id, 9),
            partial(store.threads.thread, project, id),
            partial(store.threads.messages, project, id, ALL),
            partial(store.threads.delete_thread, project, id),
            partial(store.threads.cancel_turn, project, id, NOW),
        )
        for one in asked:
            with pytest.raises(NotFound, match=r"^there is no such thing$"):
                await one()
    elsewhere: tuple[Callable[[], Awaitable[object]], ...] = (
        partial(store.threads.begin_turn, an_opening("m2", project="p0")),
        partial(store.threads.threads, "p0", ALL),
    )
    for one in elsewhere:
        with pytest.raises(NotFound):
            await one()
    await store.threads.begin_turn(an_opening(project="p2", content="other"))
    with pytest.raises(NotFound):
        await store.threads.record_step(said("m9"))
    await store.threads.record_step(said("m1", project="p2", moves=(CallTransition("c1", "expired"),)))
    with pytest.raises(NotFound):
        await store.threads.message("p2", "a1")
    assert (await store.calls.call(HOUSE, "c1")).status == "suggested"
    assert await messages(store) == before
    assert (await store.threads.threads("p2", ALL)).entries[0].turn == 1
    assert (await store.calls.call(HOUSE, "c1")).status == "suggested"


def a_turn(message: str, role: Side, thread: str = "t1", project: str = HOUSE) -> StoredTurn:
    """One side of an exchange that was forgotten."""
    return StoredTurn(7, Scope(project, thread, "u1"), Remark(message=message, role=role, text="", at=NOW))


async def test_what_is_forgotten_leaves_its_rows_without_words(store: Store) -> None:
    """A user's message goes with all of its turn, an answer alone; what has no words is told nobody."""
    for number in (1, 2, 3, 4):
        await store.threads.begin_turn(an_opening(f"m{number}", new=number == 1))
        answer = an_answer(f"a{number}", turn=number)
        tools = [replace(answer, id=f"r{number}", role="tool", call="c1", citations=())][: number < 3]
        step = said(f"m{number}", answer=answer, calls=(a_call("c1"),), tools=tuple(tools))
        await store.threads.record_step(step)
    await store.threads.begin_turn(an_opening("m5", new=False))
    others = [a_turn("m3", "user", thread="t2"), a_turn("m3", "user", project="p9"), a_turn("m9", "user")]
    for _ in range(2):
        await store.threads.forget_turns([a_turn("m1", "user"), a_turn("m2", "assistant"), *others])
        await store.threads.forget_turns([])
        listed = (await store.threads.messages(HOUSE, "t1", ALL)).entries
        assert [each.id for each in listed if not each.content] == ["m1", "a1", "r1", "a2"]
        assert [len(each.citations) for each in listed] == [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]
        assert listed[-1].status == "pending"
    history = (await store.threads.load_state(HOUSE, "t1", 9)).history
    assert [each.message for each in history] == ["m3", "m4"]


async def test_an_answer_to_a_request_that_told_of_it_is_forgotten_too(store: Store) -> None:
    """By the id of a message, or of the item; its key stays taken, so that nothing is done twice."""
    bodies = {"of m1": b'{"message_id":"m1"}', "of i1": b'{"id":"i1"}', "of m11": b'["m11", "i11"]'}
    for key, body in bodies.items():
        await store.requests.begin_request("o1", key, "d", NOW)
        await store.requests.record_answer("o1", key, StoredAnswer(200, body))
    await store.requests.begin_request("o1", "begun", "d", NOW)
    await store.threads.forget_turns([a_turn("m1", "user")], "i1")
    for key in ("of m1", "of i1"):
        with pytest.raises(Conflict, match="key_reused"):
            await store.requests.begin_request("o1", key, "d", NOW)
    assert await store.requests.begin_request("o1", "of m11", "d", NOW) == StoredAnswer(200, bodies["of m11"])
    with pytest.raises(Conflict, match="in_progress"):
        await store.requests.begin_request("o1", "begun", "d", NOW)


AGAIN = Repeats(["The code is Quetzal"])
SAYS = "I wrote that the code is quetzal."
U1 = Scope(HOUSE, "", "u1")


async def unsaid(store: Store, scope: Scope = U1) -> dict[str, str]:
    """What is left of each message of thread t1."""
    await store.threads.forget_repeats(scope, AGAIN)
    return {each.id: each.content for each in (await store.threads.messages(HOUSE, "t1", ALL)).entries}


async def test_what_says_again_what_is_forgotten_loses_its_words(store: Store) -> None:
    """A user's message with its turn, also a cancelled one; an answer and a result by themselves; what is cited."""
    await store.threads.begin_turn(an_opening(content=SAYS))
    await store.threads.record_step(said(answer=an_answer()))
    await store.threads.begin_turn(an_opening("m2", new=False, content=SAYS))
    await store.threads.cancel_turn(HOUSE, "t1", NOW)
    await store.threads.begin_turn(an_opening("m3", new=False))
    result = '{"a":["the code is\\nQuetzal"]}'
    tools = (replace(an_answer(), id="r3", role="tool", turn=3, call="c1", content=result),)
    answer = an_answer("a3", turn=3, content="Your code is Quetzal? No: a code is Quetzal.")
    calls = (a_call("c1", message="m3", turn=3),)
    await store.threads.record_step(said("m3", answer=answer, calls=calls, tools=tools))
    await store.threads.begin_turn(an_opening("m4", new=False))
    cited = ({"file": "tool/c1", "snippet": SAYS}, {"file": "a.md", "snippet": "Prices"})
    await store.threads.record_step(said("m4", answer=an_answer("a4", turn=4, citations=cited)))
    await store.threads.begin_turn(an_opening("m5", new=False, content=SAYS))
    for _ in range(2):
        left = await unsaid(store)
        assert [id for id, content in left.items() if not content] == ["m1", "a1", "m2", "a3", "r3"]
        citing = await store.threads.message(HOUSE, "a4")
        assert [each["snippet"] for each in citing.citations] == ["", "Prices"]
    assert left["m5"] == SAYS  # its turn goes on


@pytest.mark.parametrize(
    "scope",
    [Scope(HOUSE, "t1", "u2"), Scope("p2", "t1", "u1"), Scope(HOUSE, "t1", ""), Scope(HOUSE, "t2", "")],
)
async def test_what_others_say_again_is_theirs(store: Store, scope: Scope) -> None:
    """Another user's, another project's, or of a thread that is nobody's."""
    await store.threads.begin_turn(an_opening(content=SAYS))
    await store.threads.record_step(said(answer=an_answer()))
    assert (await unsaid(store, scope))["m1"] == SAYS


async def test_of_nobody_one_thread_is_looked_through(store: Store) -> None:
    """His name says of no other that it is his."""
    for thread in ("t1", "t2"):
        opening = replace(an_opening(f"m{thread}", content=SAYS, user=""), thread=thread)
        await store.threads.begin_turn(opening)
        await store.threads.record_step(replace(said(f"m{thread}"), thread=thread))
    await store.threads.forget_repeats(Scope(HOUSE, "t2", ""), AGAIN)
    assert (await store.threads.message(HOUSE, "mt1")).content == SAYS
    assert (await store.threads.message(HOUSE, "mt2")).content == ""


async def test_what_says_it_again_is_found_however_much_was_said(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some messages are looked through at a time; what comes between two looks and the word is found too."""
    monkeypatch.setattr(thread_forgetting, "_LOOKED_AT", 3)
    for number in range(1, 8):
        content = SAYS if number in (1, 4, 7) else "Prices?"
        await store.threads.begin_turn(an_opening(f"m{number}", new=number == 1, content=content))
        await store.threads.record_step(said(f"m{number}", answer=an_answer(f"a{number}", turn=number)))
    assert [id for id, content in (await unsaid(store)).items() if not content] == [
        *("m1", "a1", "m4", "a4", "m7", "a7")
    ]


TEXTS: dict[str, Any] = {"order": "A-1", "note": SAYS, "to": ["Ana", {"why": SAYS}]}
EMPTIED: dict[str, Any] = {"order": "A-1", "note": "", "to": ["Ana", {"why": ""}]}


async def test_a_call_loses_the_texts_that_say_it_and_nothing_else(store: Store) -> None:
    """Who approved it, when, its hash and how it ended stay; one that waits is cancelled, an approved one waits on."""
    names = ("c1", "c2", "c3", "c4", "c5")
    await with_calls(store, *(a_call(id, arguments=TEXTS) for id in names), a_call("c6"))
    await store.calls.close_call(HOUSE, "c2", "rejected", NOW)
    for id in ("c3", "c4", "c5"):
        await store.calls.approve_call(CallApproval(project=HOUSE, call=id, by="bo", at=NOW))
    for id in ("c4", "c5"):
        await store.calls.begin_call(HOUSE, id, NOW, LATER)
    reported = CallReport(
        project=HOUSE,
        call="c5",
        ok=True,
        result={"success": True, "data": {"said": [SAYS]}},
        digest="d",
        at=NOW,
    )
    await store.calls.report_call(reported)
    before = {id: await store.calls.call(HOUSE, id) for id in (*names, "c6")}
    for _ in range(2):
        await unsaid(store)
        after = {id: await store.calls.call(HOUSE, id) for id in before}
        assert after == before | {
            "c1": replace(before["c1"], status="cancelled", ended_at=after["c1"].ended_at, arguments=EMPTIED),
            "c2": replace(before["c2"], arguments=EMPTIED),
            "c4": replace(before["c4"], arguments=EMPTIED),
            "c5": replace(before["c5"], arguments=EMPTIED, result={"success": True, "data": {"said": [""]}}),
        }
    assert (await store.calls.report_call(reported))[1]
    with pytest.raises(Conflict, match="closed"):
        await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="bo", at=NOW))
    assert (await store.calls.begin_call(HOUSE, "c3", NOW, LATER)).arguments == TEXTS


async def test_what_the_ledger_has_of_an_action_loses_its_words(store: Store) -> None:
    """Also where no call is kept of it, as of a socket's; of this user alone, and not of who was not known."""
    whose = {"a": Scope(HOUSE, "t9", "u1"), "b": Scope(HOUSE, "t1", "u2"), "c": Scope("p2", "t1", "u1")}
    result = {"success": True, "data": {"payload": {"subject": SAYS}, "recorded": True}}
    await store.threads.begin_turn(an_opening())
    for id, scope in whose.items():
        await store.ledger.claim(id, "create_ticket", NOW, scope)
        await store.ledger.record_outcome(id, "done", result, NOW)
    await store.ledger.claim("d", "create_ticket", NOW)
    await store.ledger.record_outcome("d", "done", result, NOW)
    for _ in range(2):
        await unsaid(store)
        rows = {row.suggestion_id: row for row in await store.ledger.rows()}
        left = {"success": True, "data": {"payload": {"subject": ""}, "recorded": True}}
        assert {id: row.result for id, row in rows.items()} == dict.fromkeys("abcd", result) | {"a": left}
        assert (rows["a"].status, rows["a"].ended_at) == ("done", NOW)
    assert not await store.ledger.claim("a", "create_ticket", NOW, whose["a"])


async def test_what_was_found_may_have_gone_on_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that was approved since keeps its words, and what was deleted needs none taken."""
    await with_calls(store, a_call("c1", arguments=TEXTS))
    found = thread_forgetting.RepeatingRows(frozenset([98]), frozenset([1, 99]), frozenset(["gone"]), 99)
    await store.calls.approve_call(CallApproval(project=HOUSE, call="c1", by="bo", at=NOW))
    monkeypatch.setattr(thread_forgetting, "find_repeats", lambda *_: (found, False))
    await unsaid(store)
    assert (await store.calls.call(HOUSE, "c1")).arguments == TEXTS


async def test_an_answer_to_a_request_that_told_of_its_call_is_forgotten_too(store: Store) -> None:
    """By the id of the call, as by those of its messages."""
    await with_calls(store, a_call("c1", arguments=TEXTS), a_call("c2"))
    for id in ("c1", "c2"):
        await store.requests.begin_request("o1", id, "d", NOW)
        await store.requests.record_answer("o1", id, StoredAnswer(200, f'{{"id":"{id}"}}'.encode()))
    await unsaid(store)
    with pytest.raises(Conflict, match="key_reused"):
        await store.requests.begin_request("o1", "c1", "d", NOW)
    assert await store.requests.begin_request("o1", "c2", "d", NOW) == StoredAnswer(200, b'{"id":"c2"}')


async def test_of_a_message_that_is_forgotten_what_never_ran_is_emptied(store: Store) -> None:
    """Whatever its arguments say; what waits or ran keeps them."""
    await with_calls(store, a_call("c1"), a_call("c2"), a_call("c3"))
    await store.calls.close_call(HOUSE, "c1", "rejected", NOW)
    await store.calls.approve_call(CallApproval(project=HOUSE, call="c2", by="bo", at=NOW))
    await store.calls.begin_call(HOUSE, "c2", NOW, LATER)
    await store.threads.forget_turns([a_turn("m1", "assistant")])
    assert (await store.calls.call(HOUSE, "c1")).arguments
    await store.threads.forget_turns([a_turn("m1", "user")])
    assert [bool((await store.calls.call(HOUSE, id)).arguments) for id in ("c1", "c2", "c3")] == [
        *(False, True, True)
    ]


async def test_what_a_thread_wakes_with_begins_at_a_batch(store: Store) -> None:
    """Where not all of it is asked for: so that a model reads the same beginning after each of ten turns."""
    for number in range(1, 26):
        await store.threads.begin_turn(an_opening(f"m{number}", new=number == 1))
        await store.threads.record_step(said(f"m{number}", answer=an_answer(f"a{number}", turn=number)))
        if number < 12:
            continue
        firsts = [(await store.threads.load_state(HOUSE, "t1", most)).history[0].message for most in (12, 5)]
        first = {12: 1, 22: 11}.get(number, 11 if number < 23 else 21)
        assert firsts == [f"m{first}", f"m{number - 4}"], number
