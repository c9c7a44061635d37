"""What a caller over HTTP gets of a thread, and what is kept of it."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import BadEdit, Conflict, NotFound
from agent.ports.calls import CallReport
from agent.ports.decide import Act
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.threads import TurnOpening, TurnStart, TurnStep
from agent.threads.desk import ThreadDesk
from agent.threads.settings import THREAD_CALM, ThreadSettings
from agent.threads.wire import ThreadWire
from tests.examples import sample

from .lab import ANSWER, LOOK_UP, NOTE, ORDERS, REFUND, SHIP, Ear, lab

RAN = {"success": True, "data": {"ran": "refund"}}


async def test_a_message_is_answered_and_kept(autojump_clock: trio.testing.MockClock) -> None:
    """The reply is what is kept: the user's words as they were but for U+0000, then the answer and its citations."""
    async with lab() as r:
        reply = await r.chat("Vad kostar det\r\n egentligen?\x00 ")
        assert (reply.mode, reply.text) == ("NOOP", "It costs 299 kr.")
        assert reply.citations[0]["file"] == "kb/terms.md"
        asked, said = await r.messages(reply.thread)
        assert (asked.id, asked.role, asked.content, asked.status) == (
            reply.message,
            "user",
            "Vad kostar det\r\n egentligen?\ufffd ",
            "done",
        )
        assert (said.role, said.content, said.status) == ("assistant", reply.text, "done")
        assert [each["file"] for each in said.citations] == ["kb/terms.md"]


async def test_a_thread_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    """The next message knows what was said, also when the thread has slept meanwhile."""
    async with lab() as r:
        first = await r.chat("price?")
        await r.chat("and then?", first.thread)
        await trio.sleep(2 * THREAD_CALM)
        assert (len(r.desk.awake), len(r.registry)) == (0, 0)
        await r.chat("and now?", first.thread)
        history = r.decider.briefings[-1].history
        assert [each.question for each in history] == ["price?", "and then?"]
        assert (await r.stores.threads.thread(HOUSE, first.thread)).turn == 3


async def test_frames_come_as_a_socket_has_them(autojump_clock: trio.testing.MockClock) -> None:
    """Who listens is told every frame, and a response when it is kept."""
    async with lab(REFUND) as r:
        ear = Ear()
        reply = await r.chat(listener=ear)
        assert ear.kinds()[-3:] == ["stream_end", "response", "action_suggestion"]
        assert "".join(frame["delta"] for frame in ear.frames if frame["type"] == "stream") == reply.text
        assert ear.frames[-1]["why"] == ["definition", "risk"]


async def test_a_text_is_said_word_by_word_to_who_listens_and_as_one_to_nobody(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody hears costs one delta, not one for each word; the reply is the same."""
    put: list[bytes] = []
    put_delta = ThreadWire.put_delta

    def note(wire: ThreadWire, turn: int, data: bytes, written: Any = None) -> bool:
        put.append(data)
        return put_delta(wire, turn, data, written)

    monkeypatch.setattr(ThreadWire, "put_delta", note)
    async with lab() as r:
        ear = Ear()
        heard = await r.chat(listener=ear)
        assert [frame["delta"] for frame in ear.frames if frame["type"] == "stream"] == [
            "It ",
            "costs ",
            "299 ",
            "kr.",
        ]
        assert len(put) == 4
        unheard = await r.chat()
        assert (len(put), unheard.text) == (5, heard.text)


async def test_a_call_runs_in_its_turn_when_nobody_need_approve_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is kept before it is claimed, runs once, and its result is a message of the tool."""
    async with lab(LOOK_UP, ANSWER, before=0.1, after=0.1) as r:
        reply = await r.chat()
        (call,) = reply.calls
        assert (call.tool, call.status, call.needs_approval, call.result) == (
            "look_up",
            "done",
            False,
            {"success": True, "data": {"ran": "look_up"}},
        )
        assert r.began() == [(call.id, {"order": "A-1"})]
        assert (call.risk, call.sources) == ("low", {"/order": "user"})
        assert [each.role for each in await r.messages(reply.thread)] == ["user", "tool", "assistant"]
        assert (await r.stores.ledger.get_row(call.id)).status == "done"


async def test_what_needs_approval_waits_for_it_and_runs_once(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing begins before it; then the server runs what was approved, whatever slept meanwhile."""
    async with lab(REFUND, after=0.5) as r:
        reply = await r.chat()
        (call,) = reply.calls
        assert (reply.mode, call.status, call.risk, call.why) == (
            "ACT",
            "suggested",
            "high",
            ("definition", "risk"),
        )
        await trio.sleep(600)
        assert r.began() == []
        ended = await r.desk.approve_call(HOUSE, call.id, "bo", seen=call.arguments_hash, wait=5.0)
        assert (ended.status, ended.result, ended.approved_by) == ("done", RAN, "bo")
        assert r.began() == [(call.id, {"order": "A-1"})]
        with pytest.raises(Conflict):
            await r.desk.approve_call(HOUSE, call.id, "bo")
        assert len(r.effects) == 1


async def test_a_turn_goes_on_from_what_the_server_ran(autojump_clock: trio.testing.MockClock) -> None:
    """With the call's result and the words that led to it; the thread has the result once, as its tool's."""
    async with lab(REFUND, ANSWER) as r:
        first = await r.chat()
        (call,) = first.calls
        ended = await r.desk.approve_call(HOUSE, call.id, "bo", wait=5.0)
        reply = await r.desk.continue_turn(ended)
        assert (reply.thread, reply.mode, reply.text) == (first.thread, "NOOP", "It costs 299 kr.")
        briefing = r.decider.briefings[-1]
        assert [(each.call_id, each.ok) for each in briefing.results] == [(call.id, True)]
        assert briefing.question == ORDERS
        said = [(each.role, each.turn, each.status) for each in await r.messages(first.thread)]
        assert said == [
            ("user", 1, "done"),
            ("assistant", 1, "done"),
            ("tool", 2, "done"),
            ("assistant", 2, "done"),
        ]
        assert len(r.effects) == 1


async def test_an_edit_is_checked_then_frozen_and_run(autojump_clock: trio.testing.MockClock) -> None:
    """Other arguments run when the tool takes them; what was proposed is kept beside."""
    async with lab(REFUND) as r:
        (call,) = (await r.chat()).calls
        with pytest.raises(BadEdit):
            await r.desk.approve_call(HOUSE, call.id, "bo", {"order": "B-1"})
        with pytest.raises(Conflict, match="arguments_changed"):
            await r.desk.approve_call(HOUSE, call.id, "bo", seen="0" * 64)
        ended = await r.desk.approve_call(HOUSE, call.id, "bo", {"order": "A-2"}, wait=5.0)
        assert r.began() == [(call.id, {"order": "A-2"})]
        assert (ended.status, ended.proposed_hash) == ("done", call.proposed_hash)
        assert ended.arguments_hash != call.proposed_hash


async def test_words_in_place_of_a_yes_are_the_next_message(autojump_clock: trio.testing.MockClock) -> None:
    """The call is answered and never runs; the words are kept as the user's."""
    async with lab(REFUND, ANSWER) as r:
        first = await r.chat()
        (call,) = first.calls
        reply = await r.desk.answer_call(HOUSE, call.id, "anna", "no, tell me the price")
        assert (reply.thread, reply.text) == (first.thread, "It costs 299 kr.")
        answered = await r.call(call.id)
        assert (answered.status, answered.closed_by) == ("answered", "anna")
        said = [(each.role, each.content) for each in await r.messages(first.thread)]
        assert said[2] == ("user", "no, tell me the price")
        with pytest.raises(Conflict):
            await r.desk.approve_call(HOUSE, call.id, "bo")
        assert r.began() == []


async def test_words_that_their_session_does_not_take_are_cancelled(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session whose call is cancelled while the words for it are being kept leaves nobody waiting."""
    async with lab(REFUND, ANSWER) as r:
        reply = await r.chat()
        begin_turn = r.stores.threads.begin_turn

        async def begin(opening: TurnOpening) -> TurnStart:
            begun: TurnStart = await begin_turn(opening)
            awake = r.desk.awake.get(HOUSE, reply.thread)
            assert awake is not None
            awake.cancel()
            return begun

        monkeypatch.setattr(r.stores.threads, "begin_turn", begin)
        with trio.move_on_after(10) as waiting, pytest.raises(Conflict, match="cancelled"):
            await r.desk.answer_call(HOUSE, reply.calls[0].id, "anna", "no, what is the price?")
        assert not waiting.cancelled_caught
        assert [each.status for each in await r.messages(reply.thread)] == ["done", "done", "cancelled"]
        assert (await r.chat("price?", reply.thread)).text == "It costs 299 kr."


async def test_what_is_rejected_or_expires_never_runs(autojump_clock: trio.testing.MockClock) -> None:
    """Asleep or awake."""
    async with lab(REFUND, settings=ThreadSettings(approval_time=100)) as r:
        (one,) = (await r.chat()).calls
        rejected = await r.desk.reject_call(HOUSE, one.id, "bo")
        assert (rejected.status, rejected.closed_by) == ("rejected", "bo")
        (two,) = (await r.chat()).calls
        await trio.sleep(102)
        assert (await r.call(two.id)).status == "expired"
        for call in (one, two):
            with pytest.raises(Conflict):
                await r.desk.approve_call(HOUSE, call.id, "bo")
        assert r.began() == []


async def test_the_caller_takes_an_approved_call_and_reports_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Approved, begun by one, reported once; the same again is known, another report is refused."""
    async with lab(SHIP, ANSWER) as r:
        reply = await r.chat()
        (call,) = reply.calls
        with pytest.raises(Conflict, match="not_approved"):
            await r.desk.begin_call(HOUSE, call.id)
        assert (await r.desk.approve_call(HOUSE, call.id, "bo", wait=5.0)).status == "confirmed"
        begun = await r.desk.begin_call(HOUSE, call.id)
        assert (begun.status, begun.arguments) == ("claimed", {"order": "A-1"})
        with pytest.raises(Conflict, match="begun"):
            await r.desk.begin_call(HOUSE, call.id)
        report = CallReport(
            project=HOUSE,
            call=call.id,
            ok=True,
            result={"success": True, "data": {"parcel": "P-7"}},
            digest="d1",
            at=0,
        )
        ended, known, said = await r.desk.report_call(report, go_on=True)
        assert (ended.status, known) == ("done", False)
        assert said is not None
        (result,) = r.decider.briefings[-1].results
        assert (result.call_id, result.ok, result.lines) == (call.id, True, ("parcel: P-7",))
        assert (await r.desk.report_call(report))[1] is True
        other = CallReport(project=HOUSE, call=call.id, ok=True, result={"success": True}, digest="d2", at=0)
        with pytest.raises(Conflict, match="already_reported"):
            await r.desk.report_call(other)
        assert r.began() == []
        messages = await r.messages(reply.thread)
        assert [each.role for each in messages] == ["user", "assistant", "tool", "assistant"]
        assert messages[2].content == '{"success":true,"data":{"parcel":"P-7"}}'


async def test_a_report_that_comes_again_is_answered_once(autojump_clock: trio.testing.MockClock) -> None:
    """Its caller heard nothing of the first one: no second turn begins, and what was said stands."""
    async with lab(SHIP, ANSWER, ANSWER) as r:
        reply = await r.chat()
        (call,) = reply.calls
        await r.desk.approve_call(HOUSE, call.id, "bo")
        await r.desk.begin_call(HOUSE, call.id)
        report = CallReport(
            project=HOUSE,
            call=call.id,
            ok=True,
            result={"success": True, "data": {"parcel": "P-7"}},
            digest="d1",
            at=0,
        )
        await r.desk.report_call(report, go_on=True)
        before = [(each.id, each.role) for each in await r.messages(reply.thread)], len(r.decider.briefings)
        for _ in range(2):
            ended, known, said = await r.desk.report_call(report, go_on=True)
            assert (ended.status, known, said) == ("done", True, None)
        after = [(each.id, each.role) for each in await r.messages(reply.thread)], len(r.decider.briefings)
        assert after == before


async def test_a_report_is_taken_while_another_turn_is_in_progress(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It was stored: a refusal would tell its caller that it was not, though nothing can be reported any more."""
    async with lab(SHIP, ANSWER, ANSWER, think=1.0) as r, trio.open_nursery() as nursery:
        reply = await r.chat()
        (call,) = reply.calls
        await r.desk.approve_call(HOUSE, call.id, "bo")
        await r.desk.begin_call(HOUSE, call.id)
        report = CallReport(project=HOUSE, call=call.id, ok=True, result={"success": True}, digest="d1", at=0)
        nursery.start_soon(r.chat, "And the next?", reply.thread)
        await trio.sleep(0.3)
        ended, known, said = await r.desk.report_call(report, go_on=True)
        assert (ended.status, known, said) == ("done", False, None)
        assert (await r.stores.calls.call(HOUSE, call.id)).status == "done"


WAITING: list[tuple[Act, float]] = [(SHIP, 0.0), (NOTE, 0.0), (SHIP, 2 * THREAD_CALM)]
TAKEN_BACK: dict[str, Callable[[ThreadDesk, str, str], Awaitable[object]]] = {
    "reject": lambda desk, _, call: desk.reject_call(HOUSE, call),
    "cancel": lambda desk, thread, _: desk.cancel_thread(HOUSE, thread),
    "delete": lambda desk, thread, _: desk.delete_thread(HOUSE, thread),
}


@pytest.mark.parametrize(
    ("how", "act", "calm"),
    sample([(how, *each) for how in sorted(TAKEN_BACK) for each in WAITING], 4),
)
async def test_what_its_caller_has_not_begun_is_taken_back(
    autojump_clock: trio.testing.MockClock, how: str, act: Act, calm: float
) -> None:
    """Approved or handed over, awake or asleep: once that was answered nobody takes it, and the thread goes on."""
    async with lab(act, ANSWER) as r:
        reply = await r.chat(begin=False)
        (call,) = reply.calls
        if act is SHIP:
            await r.desk.approve_call(HOUSE, call.id, "bo")
        await trio.sleep(calm)
        assert (await r.call(call.id)).status == "confirmed"
        await TAKEN_BACK[how](r.desk, reply.thread, call.id)
        with pytest.raises(NotFound if how == "delete" else Conflict):
            await r.desk.begin_call(HOUSE, call.id)
        if how != "delete":
            assert (await r.call(call.id)).status == "cancelled"
            assert (await r.chat("price?", reply.thread)).mode == "NOOP"


@pytest.mark.parametrize("how", ["reject", "cancel"])
async def test_what_its_caller_has_begun_is_not_taken_back(
    autojump_clock: trio.testing.MockClock, how: str
) -> None:
    """It may have happened: a reject says so, a cancel leaves it, and its report is taken."""
    async with lab(SHIP) as r:
        reply = await r.chat()
        (call,) = reply.calls
        await r.desk.approve_call(HOUSE, call.id, "bo")
        await r.desk.begin_call(HOUSE, call.id)
        with pytest.raises(Conflict, match="begun") if how == "reject" else nullcontext():
            await TAKEN_BACK[how](r.desk, reply.thread, call.id)
        ended, _, _ = await r.desk.report_call(
            CallReport(project=HOUSE, call=call.id, ok=True, result={"success": True}, digest="d", at=0)
        )
        assert ended.status == "done"


async def test_who_hears_a_turn_hears_nothing_of_what_is_taken_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its thread's session has let go of it."""
    async with lab(SHIP, ANSWER, think=5.0) as r, trio.open_nursery() as nursery:
        reply = await r.chat()
        await r.desk.approve_call(HOUSE, reply.calls[0].id, "bo")
        ear = Ear()
        nursery.start_soon(partial(r.chat, "price?", reply.thread, listener=ear))
        await trio.sleep(1)
        await r.desk.reject_call(HOUSE, reply.calls[0].id)
        await trio.sleep(10)
        assert set(ear.kinds()) == {"stream", "stream_end", "response"}


async def test_what_is_taken_back_before_it_is_handed_over_is_not_begun(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The reply has the call as it is then."""
    async with lab(NOTE) as r:
        begin = r.desk.begin_call

        async def late(project: str, call: str) -> Any:
            await r.desk.reject_call(project, call)
            return await begin(project, call)

        r.desk.begin_call = late  # type: ignore[method-assign]
        (call,) = (await r.chat()).calls
        assert call.status == "cancelled"


async def test_the_next_message_knows_what_was_reported(autojump_clock: trio.testing.MockClock) -> None:
    """Also without being told to go on, and after a sleep."""
    async with lab(SHIP, ANSWER) as r:
        reply = await r.chat()
        (call,) = reply.calls
        await r.desk.approve_call(HOUSE, call.id, "bo")
        await r.desk.begin_call(HOUSE, call.id)
        await r.desk.report_call(
            CallReport(
                project=HOUSE, call=call.id, ok=True, result={"success": True, "data": 7}, digest="d", at=0
            )
        )
        kept = (await r.messages(reply.thread))[-1]
        assert (kept.role, kept.call, kept.content) == ("tool", call.id, '{"success":true,"data":7}')
        await trio.sleep(2 * THREAD_CALM)
        await r.chat("and?", reply.thread)
        assert [each.call_id for each in r.decider.briefings[-1].results] == [call.id]


async def test_a_call_that_needs_nobody_is_handed_to_its_caller(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """With the reply, as begun, with a lease; who reports nothing leaves it unknown."""
    async with lab(NOTE) as r:
        reply = await r.chat()
        (call,) = reply.calls
        assert (reply.mode, call.status, call.needs_approval) == ("ACT", "claimed", False)
        assert call.lease_until is not None
        reply = await r.chat(begin=False)
        assert reply.calls[0].status == "confirmed"
        await trio.sleep(700)
        assert (await r.call(call.id)).status == "unknown"
        with pytest.raises(Conflict, match="lease_over"):
            await r.desk.report_call(
                CallReport(project=HOUSE, call=call.id, ok=True, result={"success": True}, digest="d", at=0)
            )


async def test_who_leaves_cancels_the_turn(autojump_clock: trio.testing.MockClock) -> None:
    """While it decides, before its call begins, and while that runs: nothing begins afterwards, and it is kept."""
    for wait, ran in ((0.05, 0), (0.25, 0), (0.45, 1)):
        async with lab(0.1, LOOK_UP, 0.1, LOOK_UP, ANSWER, before=0.2, after=0.2) as r:
            with trio.move_on_after(wait):
                await r.chat()
            await trio.sleep(5)
            assert len(r.effects) == ran
            page = await r.stores.threads.threads(HOUSE, window())
            (asked, *_) = await r.messages(page.entries[0].id)
            assert asked.status == "cancelled"
            calls = (await r.stores.calls.calls(HOUSE, window())).entries
            assert [each.status for each in calls] in ([], ["cancelled"], ["done"])
            again = await r.chat("price?", page.entries[0].id)
            assert again.thread == page.entries[0].id


async def test_one_turn_at_a_time_unless_it_is_interrupted(autojump_clock: trio.testing.MockClock) -> None:
    """A busy thread refuses; `interrupt` cancels what is in progress."""
    async with lab(think=1.0) as r, trio.open_nursery() as nursery:
        thread = (await r.chat()).thread
        ends: list[str] = []

        async def ask() -> None:
            try:
                await r.chat("one?", thread)
            except Conflict as why:
                ends.append(why.code)

        nursery.start_soon(ask)
        await trio.sleep(0.3)
        with pytest.raises(Conflict, match="turn_in_progress"):
            await r.chat("two?", thread)
        assert (await r.chat("three?", thread, interrupt=True)).mode == "NOOP"
        assert ends == ["cancelled"]


async def test_a_turn_that_is_cancelled_as_its_end_is_stored_takes_its_suggestion_along(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The reply may show the call as suggested: it is closed a moment later, and cannot be approved."""
    async with lab(REFUND) as r:
        record = r.stores.threads.record_step

        async def record_slowly(step: TurnStep, *late: object) -> object:
            nursery.start_soon(r.desk.cancel_turn, HOUSE, step.thread)
            await trio.sleep(1.0)
            return await record(step, *late)

        async with trio.open_nursery() as nursery:
            r.stores.threads.record_step = record_slowly
            (call,) = (await r.chat()).calls
            r.stores.threads.record_step = record
            assert call.status == "suggested"
        with pytest.raises(Conflict, match="closed"):
            await r.desk.approve_call(HOUSE, call.id, "bo")
        assert (await r.call(call.id)).status == "cancelled"


async def test_a_turn_is_cancelled_by_whoever_asks_for_that(autojump_clock: trio.testing.MockClock) -> None:
    """`cancel_turn` ends the turn, `cancel` what waits for approval too."""
    async with lab(REFUND, think=1.0) as r, trio.open_nursery() as nursery:
        reply = await r.chat()
        (call,) = reply.calls
        await r.desk.cancel_turn(HOUSE, reply.thread)
        assert (await r.call(call.id)).status == "suggested"
        await trio.sleep(2 * THREAD_CALM)
        await r.desk.cancel_thread(HOUSE, reply.thread)
        assert (await r.call(call.id)).status == "cancelled"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("act", ["cancel_turn", "cancel_thread"])
async def test_a_turn_that_is_being_begun_is_taken_back(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """Its message is kept, and its session knows nothing of it yet: once that was answered nothing of it is heard."""
    async with lab() as r, trio.open_nursery() as nursery:
        thread = (await r.chat("price?")).thread
        begin_turn = r.stores.threads.begin_turn
        ear = Ear()

        async def begin(opening: TurnOpening) -> TurnStart:
            begun: TurnStart = await begin_turn(opening)
            await trio.sleep(0.1)
            return begun

        async def ask() -> None:
            with pytest.raises((Conflict, NotFound)):
                await r.chat("and then?", thread, listener=ear)

        monkeypatch.setattr(r.stores.threads, "begin_turn", begin)
        nursery.start_soon(ask)
        await trio.sleep(0.05)
        await getattr(r.desk, act)(HOUSE, thread)
        heard = [*ear.frames]
        await trio.sleep(5)
        assert ear.frames == heard
        assert "response" not in ear.kinds()


async def test_nothing_is_there_for_another_project(autojump_clock: trio.testing.MockClock) -> None:
    """Threads and calls of one project do not exist for another one."""
    async with lab(SHIP) as r:
        await r.stores.projects.create_project("other", "Other", "You help.", 0)
        reply = await r.chat()
        (call,) = reply.calls
        report = CallReport(
            project="other", call=call.id, ok=True, result={"success": True}, digest="d", at=0
        )
        for attempt in (
            lambda: r.desk.approve_call("other", call.id, "eve"),
            lambda: r.desk.reject_call("other", call.id),
            lambda: r.desk.begin_call("other", call.id),
            lambda: r.desk.answer_call("other", call.id, "eve", "hello"),
            lambda: r.desk.report_call(report),
            lambda: r.desk.cancel_thread("other", reply.thread),
            lambda: r.desk.cancel_turn("other", reply.thread),
            lambda: r.desk.delete_thread("other", reply.thread),
        ):
            with pytest.raises(NotFound):
                await attempt()
        assert (await r.call(call.id)).status == "suggested"
        await r.chat(ORDERS, reply.thread)


async def test_a_deleted_thread_is_gone(autojump_clock: trio.testing.MockClock) -> None:
    """With what was in progress."""
    async with lab(think=5.0) as r, trio.open_nursery() as nursery:
        ends: list[str] = []

        async def ask() -> None:
            try:
                await r.chat()
            except (Conflict, NotFound) as why:
                ends.append(type(why).__name__)

        nursery.start_soon(ask)
        await trio.sleep(1)
        (thread,) = (await r.stores.threads.threads(HOUSE, window())).entries
        await r.desk.delete_thread(HOUSE, thread.id)
        with pytest.raises(NotFound):
            await r.messages(thread.id)
        await trio.sleep(1)
        assert ends == ["NotFound"]
        assert len(r.registry) == 0


def window() -> Window:
    return Window(100)
