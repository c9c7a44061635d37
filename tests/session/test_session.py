"""The session as a whole: mailbox, turn, writer and wire on virtual time."""

from typing import Any

import pytest
import trio
import trio.testing

from agent.config import KEEPALIVE_EVERY, WRITE_TIMEOUT
from agent.ports.brain import (
    DraftBegun,
    DraftCompleted,
    Proposal,
    Question,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from agent.ports.search import Snippet
from agent.session.events import DrainStarted
from agent.wire.outbox import OUTBOX_FRAMES

from .driver import REFUSAL, text
from .harness import ANSWER, Emit, Script, answer, ask, hang, saying, world

CANCEL = {"type": "cancel"}


def confirm(suggestion_id: str) -> dict[str, Any]:
    return {"type": "confirm_action", "suggestionId": suggestion_id}


async def settle() -> None:
    await trio.testing.wait_all_tasks_blocked(0.001)


async def test_an_answer_streams_a_word_at_a_time_in_its_pace(autojump_clock: trio.testing.MockClock) -> None:
    """Deltas joined are the response's text, 20 ms apart, and `done` and the response follow at once."""
    async with world() as w:
        wire = await w.connect()
        start = trio.current_time()
        wire.push(ask())
        response = await wire.until("response")
        assert "".join(frame["delta"] for frame in wire.sent("stream")) == response["text"] == ANSWER
        assert [frame["type"] for frame in wire.sent()] == ["stream"] * 4 + ["stream_end", "response"]
        assert [round(at - start, 6) for at, _ in wire.frames] == pytest.approx(
            [0, 0.02, 0.04, 0.06, 0.06, 0.06]
        )
        assert response["citations"] == [
            {"file": "kb/pricing.md", "snippet": "The price is 299 kr.", "lines": [3, 3], "source": 1}
        ]
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_a_stream_says_which_source_a_part_came_from(autojump_clock: trio.testing.MockClock) -> None:
    """With the last word of the part, and the numbers of the response; the words are cut as ever."""

    free = (Snippet(file="kb/returns.md", text="Returns are free.", first=3, last=3),)

    async def script(_: Question, emit: Emit) -> None:
        await trio.lowlevel.checkpoint()
        emit(DraftCompleted())
        emit(
            VerifiedPart(
                text=VerifiedText(
                    text="Hello! Returns are free.\n\n",
                    citations=free,
                    confidence="high",
                    places=(((7, 24),),),
                ),
                last=False,
            )
        )
        emit(DraftCompleted())
        emit(
            VerifiedPart(
                text=VerifiedText(
                    text="Yes: it is. Returns are free.",
                    citations=free,
                    confidence="high",
                    places=(((12, 29),),),
                ),
                last=True,
            )
        )

    async with world() as w:
        w.brain.script = script
        wire = await w.connect()
        wire.push(ask())
        response = await wire.until("response")
        streamed = [(frame["delta"], frame.get("sources")) for frame in wire.sent("stream")]
        assert [each for each in streamed if each[1]] == [("free.\n\n", [1]), ("free.", [1])]
        assert "".join(delta for delta, _ in streamed) == response["text"]
        (cited,) = response["citations"]
        assert cited["source"] == 1
        assert [response["text"][start:end] for start, end in cited["spans"]] == 2 * ["Returns are free."]
        wire.leave()
        await settle()


async def test_a_cancel_while_the_model_hangs_is_answered_at_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`stream_end cancelled` comes at virtual time + 0 s, and nothing of the turn after it."""
    async with world() as w:
        w.brain.script = hang
        wire = await w.connect()
        wire.push(ask())
        await trio.sleep(5)
        wire.push(CANCEL)
        await wire.until("stream_end")
        await settle()
        assert wire.frames == [(5.0, {"type": "stream_end", "reason": "cancelled", "id": "m"})]
        assert w.brain.alive == 0
        assert w.states == ["idle"]
        await trio.sleep(100)
        assert len(wire.frames) == 1


async def slow(_: Question, emit: Emit) -> None:
    """A search of a second, a draft of two, a verdict of one."""
    await trio.sleep(1)
    emit(DraftBegun())
    await trio.sleep(2)
    emit(DraftCompleted())
    await trio.sleep(1)
    emit(VerifiedPart(text=text("It is 299 kr.")))


async def test_a_slow_turn_tells_its_client_what_it_does(autojump_clock: trio.testing.MockClock) -> None:
    """Each state once it has lasted; a quick one is not told, and nothing follows the end."""
    async with world(pace_ms=0) as w:
        wire = await w.connect()
        w.brain.script = slow
        wire.push(ask() | {"progress": True})
        await wire.until("response")
        steps = [(round(at, 2), each["step"], each["id"]) for at, each in wire.frames if "step" in each]
        assert steps == [(0.4, "searching", "m"), (1.4, "drafting", "m"), (3.4, "checking", "m")]
        w.brain.script = saying(ANSWER, think=0.3)
        count = len(wire.sent())
        wire.push(ask("n") | {"progress": True})
        await trio.sleep(60)
        assert [each["type"] for each in wire.sent()[count:]] == ["stream"] * 4 + ["stream_end", "response"]
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_a_state_lasts_from_a_moment_that_is_no_tick(autojump_clock: trio.testing.MockClock) -> None:
    """The pulse calls a hair before it is due, and that counts: it is not called again and again."""
    async with world(pace_ms=0) as w:
        wire = await w.connect()
        w.brain.script = hang
        await trio.sleep(1e-9)
        wire.push(ask() | {"progress": True})
        await wire.until("progress")
        assert [(round(at, 6), each["step"]) for at, each in wire.frames] == [(0.4, "searching")]
        assert len(w.pulse) == 0


async def test_a_client_that_does_not_ask_is_told_no_progress(autojump_clock: trio.testing.MockClock) -> None:
    """However slow the turn: it knows no such frame."""
    async with world(pace_ms=0) as w:
        w.brain.script = slow
        wire = await w.connect()
        wire.push(ask())
        await wire.until("response")
        assert {each["type"] for each in wire.sent()} == {"stream", "stream_end", "response"}


@pytest.mark.parametrize("how", ["cancel", "message", "leave", "drain"])
async def test_nothing_is_told_of_a_turn_that_has_ended(
    autojump_clock: trio.testing.MockClock, how: str
) -> None:
    """Nor does its timer remain, and a server that goes down does not hurry it."""
    async with world(pace_ms=0) as w:
        w.brain.script = hang
        wire = await w.connect()
        wire.push(ask() | {"progress": True})
        await trio.sleep(0.2)
        if how == "cancel":
            wire.push(CANCEL)
        elif how == "message":
            wire.push(ask("n"))
        elif how == "leave":
            wire.leave()
        else:
            w.pulse.hurry()
            await trio.sleep(0.1)
        await settle()
        assert len(w.pulse) == (how == "drain")
        await trio.sleep(0.05)
        assert wire.sent("progress") == []
        if how == "drain":
            await trio.sleep(0.1)
            assert [each["step"] for each in wire.sent("progress")] == ["searching"]


@pytest.mark.parametrize("after", [0.0, 0.019, 0.02, 0.021, 0.05])
async def test_a_cancel_while_streaming_ends_the_stream(
    after: float, autojump_clock: trio.testing.MockClock
) -> None:
    """After a cancel no further delta of the turn is begun."""
    async with world() as w:
        w.brain.script = saying("one two three four five six")
        wire = await w.connect()
        wire.push(ask())
        await wire.until("stream")
        await trio.sleep(after)
        wire.push(CANCEL)
        await wire.until("stream_end")
        await trio.sleep(1)
        assert [frame["type"] for frame in wire.sent()][-1] == "stream_end"
        assert wire.sent("stream_end") == [{"type": "stream_end", "reason": "cancelled", "id": "m"}]
        assert len(wire.sent("stream")) <= 4


async def test_a_slow_reader_s_cancel_takes_back_what_waits(autojump_clock: trio.testing.MockClock) -> None:
    """Behind a socket that takes nothing, a cancel removes every delta that the writer has not begun."""
    async with world() as w:
        w.brain.script = saying(" ".join(["word"] * 40))
        wire = await w.connect()
        wire.block()
        wire.push(ask())
        await trio.sleep(5)
        assert len(wire.sent("stream")) == 1
        wire.push(CANCEL)
        await settle()
        wire.unblock()
        await settle()
        assert [frame["type"] for frame in wire.sent()] == ["stream", "stream_end"]
        assert wire.sent("stream_end")[0]["reason"] == "cancelled"


async def test_a_turn_is_not_done_until_the_stream_has_taken_its_last_word(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A cancel while the last delta is being written still cancels."""
    async with world() as w:
        w.brain.script = saying("word")
        wire = await w.connect()
        wire.block()
        wire.push(ask())
        await trio.sleep(1)
        assert len(wire.sent("stream")) == 1
        wire.push(CANCEL)
        await settle()
        wire.unblock()
        await settle()
        assert wire.sent()[1:] == [{"type": "stream_end", "reason": "cancelled", "id": "m"}]


async def test_turns_never_overlap(autojump_clock: trio.testing.MockClock) -> None:
    """The next turn's Brain waits until the old one has unwound, while its client is told at once."""

    async def slow_to_leave(question: Question, emit: Emit) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 2):
                await trio.sleep(1)

    async with world() as w:
        w.brain.script = slow_to_leave
        wire = await w.connect()
        for number in range(5):
            wire.push(ask(f"m{number}"))
            await settle()
        assert [frame["id"] for frame in wire.sent("stream_end")] == ["m0", "m1", "m2", "m3"]
        await trio.sleep(10)
        w.brain.script = saying("word")
        wire.push(ask("last"))
        response = await wire.until("response")
        assert response["id"] == "last"
        assert w.brain.most == 1


async def test_a_brain_that_emits_a_plain_string_is_a_fault(autojump_clock: trio.testing.MockClock) -> None:
    """Only verified text and small payloads can be sent: anything else is told as `internal` and refused."""

    async def liar(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text="It is 31337 kr."))  # type: ignore[arg-type]

    async def laden(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(
            VerifiedPart(
                text=text("Sure. "),
                proposals=(Proposal(action="create_ticket", payload={"subject": "31337" * 4000}),),
            )
        )

    async def chatty(_: Question, emit: Emit) -> None:
        emit("It is 31337 kr.")  # type: ignore[arg-type]

    for script in (liar, laden, chatty):
        async with world() as w:
            w.brain.script = script
            wire = await w.connect()
            wire.push({**ask(), "lang": "sv"})
            await trio.sleep(10)
            assert [frame["code"] for frame in wire.sent("error")] == ["internal"]
            assert [(frame["blocked"]["code"], frame["text"]) for frame in wire.sent("response")] == [
                ("model_failed", "Jag kan inte svara just nu. Försök igen.")
            ]
            assert "31337" not in str(wire.frames)


@pytest.mark.parametrize("when", ["before", "verifying", "never answers", "in a group", "while cancelled"])
async def test_a_broken_brain_is_refused_and_the_session_goes_on(
    when: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A bug of one turn ends that turn: `internal`, then model_failed, then the next question is answered."""

    async def broken(_: Question, emit: Emit) -> None:
        if when == "verifying":
            emit(DraftCompleted())
        if when == "in a group":
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fail)
                nursery.start_soon(fail)
        if when == "while cancelled":
            try:
                await trio.sleep_forever()
            finally:
                await fail()
        if when != "never answers":
            raise ValueError("31337")

    async def fail() -> None:
        raise ValueError("31337")

    async with world() as w:
        w.brain.script = broken
        wire = await w.connect()
        wire.push(ask())
        if when == "while cancelled":
            await settle()
            wire.push(CANCEL)
            await wire.until("stream_end")
        else:
            assert (await wire.until("response"))["blocked"]["code"] == "model_failed"
            assert [frame["code"] for frame in wire.sent("error")] == ["internal"]
        w.brain.script = saying("word")
        wire.push(ask("n"))
        await trio.sleep(1)
        assert wire.sent("response")[-1]["id"] == "n"
        assert "31337" not in str(wire.frames)


async def test_a_brain_that_speaks_out_of_order_is_stopped_and_refused(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A text that was never drafted is not said; the question is refused there and then, and the session goes on."""

    async def hasty(_: Question, emit: Emit) -> None:
        emit(VerifiedPart(text=text("never said"), last=True))
        await trio.sleep_forever()

    async with world() as w:
        w.brain.script = hasty
        wire = await w.connect()
        wire.push(ask("a"))
        response = await wire.until("response")
        await settle()
        assert response["blocked"]["code"] == "model_failed"
        assert [frame["code"] for frame in wire.sent("error")] == ["internal"]
        assert "never said" not in str(wire.frames)
        assert w.brain.alive == 0
        w.brain.script = answer
        wire.push(ask("b"))
        assert (await wire.until("response", 2))["id"] == "b"


async def test_a_sentence_can_be_released_before_the_next(autojump_clock: trio.testing.MockClock) -> None:
    """A Brain may release its text in parts; they join to the response, and a refusal is appended."""

    async def in_parts(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("One. "), last=False))
        await trio.sleep(1)
        emit(DraftCompleted())
        emit(VerifiedPart(text=text(""), last=False))
        emit(TurnRefusal(REFUSAL))

    async with world() as w:
        w.brain.script = in_parts
        wire = await w.connect()
        wire.push(ask())
        response = await wire.until("response")
        assert response["text"] == "One. " + REFUSAL.text
        assert "".join(frame["delta"] for frame in wire.sent("stream")) == response["text"]


async def test_a_text_begins_in_the_step_that_verified_it_and_keeps_its_own_pace(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Also one that comes after a pause, which is not made up for."""
    begun: list[int] = []

    async def pausing(_: Question, emit: Emit) -> None:
        for number in range(2):
            await trio.sleep(1)
            emit(DraftCompleted())
            emit(VerifiedPart(text=text("one two three "), last=number == 1))
            begun.append(len(wire.sent("stream")))

    async with world() as w:
        w.brain.script = pausing
        wire = await w.connect()
        start = trio.current_time()
        wire.push(ask())
        await wire.until("response")
        assert begun == [1, 4]
        said = [at - start for at, frame in wire.frames if frame["type"] == "stream"]
        assert said == pytest.approx([1, 1.02, 1.04, 2, 2.02, 2.04])
        first = [seconds for metric, seconds in w.counts.measured if metric == "first_delta_seconds"]
        assert first == pytest.approx([1])


async def test_an_action_runs_once_however_often_it_is_confirmed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Duplicate confirms are ignored, also long after; the effect begins once."""
    async with world(confirm_time=30.0) as w:
        w.brain.script = saying("word", proposals=1)
        w.executor.after = 1.0
        wire = await w.connect()
        wire.push(ask())
        suggestion = await wire.until("action_suggestion")
        assert suggestion["expiresAt"] == 1_700_000_000_000 + 30_000
        sid = suggestion["suggestionId"]
        for _ in range(3):
            wire.push(confirm(sid))
        await trio.sleep(31)
        wire.push(confirm(sid))
        await trio.sleep(1)
        results = [frame["result"] for frame in wire.sent("action_executed")]
        assert results == [
            {"ignored": True},
            {"ignored": True},
            {"success": True, "data": {"ran": "create_ticket"}},
            {"ignored": True},
        ]
        assert w.executor.begun == [sid]


async def test_what_a_suggestion_lacks_is_filled_in_by_its_confirm(
    autojump_clock: trio.testing.MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client that knows the subprotocol runs nothing before; no log line holds what it fills in."""
    lacking = Proposal(action="send_sms", payload={"text": "hello"}, missing=("phone",))

    async def script(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("Sure. "), proposals=(lacking,)))

    async with world() as w:
        w.brain.script = script
        wire = await w.connect(greet=True)
        wire.push(ask())
        suggestion = await wire.until("action_suggestion")
        assert (suggestion["payload"], suggestion["missing"]) == ({"text": "hello"}, ["phone"])
        sid = suggestion["suggestionId"]
        for wrong in (confirm(sid), confirm(sid) | {"payload": {"phone": "31337"}}):
            wire.push(wrong)
        error = await wire.until("error", 2)
        assert (error["code"], error["suggestionId"]) == ("bad_message", sid)
        assert "31337" not in error["message"]
        assert w.executor.told == []
        wire.push(confirm(sid) | {"payload": {"phone": "070-313 37 31"}})
        await wire.until("action_executed")
        assert w.executor.told == [{"text": "hello", "phone": "070-313 37 31"}]
        assert w.counts.counted.count(("errors", "bad_message")) == 2
    logged = capsys.readouterr()
    assert "31337" not in logged.out + logged.err
    assert "313 37" not in logged.out + logged.err


async def test_a_client_of_the_core_confirms_what_it_was_shown(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It knows a suggestion's id and no more; what is missing it is told all the same."""
    async with world() as w:

        async def script(_: Question, emit: Emit) -> None:
            emit(DraftCompleted())
            emit(
                VerifiedPart(
                    text=text("Sure. "),
                    proposals=(Proposal(action="schedule_callback", payload={}, missing=("phone",)),),
                )
            )

        w.brain.script = script
        wire = await w.connect()
        wire.push(ask())
        suggestion = await wire.until("action_suggestion")
        assert suggestion["missing"] == ["phone"]
        wire.push(confirm(suggestion["suggestionId"]))
        await wire.until("action_executed")
        assert w.executor.told == [{}]


@pytest.mark.parametrize("seconds", [30.0, 5.0])
async def test_a_suggestion_expires_after_its_time(
    seconds: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Of the setting; it is told when its time is over, and a confirm after that runs nothing."""
    async with world(confirm_time=seconds) as w:
        w.brain.script = saying("word", proposals=1)
        wire = await w.connect()
        wire.push(ask())
        suggestion = await wire.until("action_suggestion")
        sid = suggestion["suggestionId"]
        assert suggestion["expiresAt"] == 1_700_000_000_000 + seconds * 1000
        closed = await wire.until("action_closed")
        assert closed == {"type": "action_closed", "suggestionId": sid, "reason": "expired"}
        assert trio.current_time() == seconds
        wire.push(confirm(sid))
        assert (await wire.until("action_executed"))["result"] == {"expired": True}
        assert w.executor.begun == []
        assert w.states == ["idle"]


async def test_a_cancel_before_the_effect_stops_the_action(autojump_clock: trio.testing.MockClock) -> None:
    """Before `begin()` a cancel is final; after it the real result is told."""
    async with world() as w:
        w.brain.script = saying("word", proposals=2)
        w.executor.before = w.executor.after = 1.0
        wire = await w.connect()
        wire.push(ask())
        await wire.until("action_suggestion", 2)
        first, second = [frame["suggestionId"] for frame in wire.sent("action_suggestion")]
        wire.push(confirm(first))
        await trio.sleep(0.5)
        assert w.states == ["executing"]
        wire.push(CANCEL)
        assert (await wire.until("action_executed"))["result"] == {"cancelled": True}
        wire.push(confirm(second))
        await trio.sleep(1.5)
        wire.push(CANCEL)
        assert (await wire.until("action_executed", 2))["result"]["success"] is True
        assert w.executor.begun == [second]


async def test_another_session_s_suggestion_is_unknown(autojump_clock: trio.testing.MockClock) -> None:
    """Only the session that got a suggestion can confirm it."""
    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        mine, theirs = await w.connect(), await w.connect()
        mine.push(ask())
        sid = (await mine.until("action_suggestion"))["suggestionId"]
        theirs.push(confirm(sid))
        error = await theirs.until("error")
        assert (error["code"], error["suggestionId"]) == ("unknown_suggestion", sid)
        assert w.executor.begun == []


@pytest.mark.parametrize("state", ["idle", "buffering", "streaming", "awaiting", "executing", "blocked"])
async def test_a_client_that_leaves_leaves_nothing_behind(
    state: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Whatever the session was doing, no task, timer, suggestion, registry entry or object of it remains."""
    async with world() as w:
        w.executor.after = 1.0
        wire = await w.connect()
        if state == "buffering":
            w.brain.script = hang
        elif state == "streaming":
            w.brain.script = saying(" ".join(["word"] * 100))
        else:
            w.brain.script = saying("word", proposals=1)
        if state == "blocked":
            wire.block()
        if state != "idle":
            wire.push(ask())
        if state in ("awaiting", "executing"):
            sid = (await wire.until("action_suggestion"))["suggestionId"]
        if state == "executing":
            wire.push(confirm(sid))
        await trio.sleep(0.1)
        wire.leave()
        await trio.sleep(1.01)  # FLUSH_TIMEOUT, for the socket that takes nothing
        await w.runner.wait_idle()
        w.nothing_is_left()
        if state == "executing":
            row = await w.ledger.get_row(sid)
            assert row is not None
            assert row.status == "done"


async def test_a_stalled_write_drops_the_connection(autojump_clock: trio.testing.MockClock) -> None:
    """A client that reads nothing for ten seconds is dropped; nothing is retried."""
    async with world() as w:
        wire = await w.connect()
        wire.block()
        wire.push(ask())
        await trio.sleep(WRITE_TIMEOUT + 0.01)
        assert wire.aborted
        await trio.sleep(2)
        w.nothing_is_left()


async def test_an_outbox_that_overflows_drops_the_connection(autojump_clock: trio.testing.MockClock) -> None:
    """A client that makes the server talk and does not listen is told to go, behind what was begun."""
    async with world() as w:
        wire = await w.connect()
        wire.block()
        for number in range(OUTBOX_FRAMES + 1):
            wire.push(confirm(f"none{number}"))
            await trio.sleep(0.01)
        assert len(w.registry) == 1
        wire.push(confirm("one too many"))
        await settle()
        assert len(w.registry) == 0
        assert len(wire.outbox) == 2
        wire.unblock()
        await settle()
        assert (len(wire.sent()), wire.raw) == (1, [b"CLOSE 1008"])
        w.nothing_is_left()


async def test_keepalive_pings_and_gives_up(autojump_clock: trio.testing.MockClock) -> None:
    """A client that answers nothing for twenty seconds after a ping is closed with 1011."""
    async with world() as w:
        wire = await w.connect()
        await trio.sleep(KEEPALIVE_EVERY + 0.01)
        assert wire.raw == [b"PING"]
        wire.push(CANCEL)
        await trio.sleep(KEEPALIVE_EVERY)
        assert wire.raw == [b"PING"] * 2
        await trio.sleep(KEEPALIVE_EVERY)
        assert wire.raw[-1] == b"CLOSE 1011"
        assert len(w.registry) == 0


async def test_a_session_that_comes_while_draining_is_told(autojump_clock: trio.testing.MockClock) -> None:
    """A connection that was still in its handshake when the drain began closes with 1012."""
    async with world() as w:
        w.registry.draining = True
        wire = await w.connect()
        await trio.sleep(0.1)
        assert wire.raw == [b"CLOSE 1012"]


async def test_a_drain_lets_the_answer_finish(autojump_clock: trio.testing.MockClock) -> None:
    """A busy session ends its turn, is offered nothing, and closes."""
    async with world() as w:
        w.brain.script = saying("one two three", think=1.0, proposals=1)
        wire = await w.connect()
        wire.push(ask())
        await trio.sleep(0.5)
        w.registry.post_all(DrainStarted(trio.current_time()))
        await trio.sleep(2)
        assert [frame["type"] for frame in wire.sent()] == ["stream"] * 3 + ["stream_end", "response"]
        assert wire.raw == [b"CLOSE 1012"]


async def test_a_fault_in_the_session_itself_closes_it_alone(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`internal`, then 1011; the other sessions of the server do not notice."""
    async with world() as w:
        w.brain.script = saying("word", proposals=1)
        wire, other = await w.connect(), await w.connect()
        wire.push(ask("x"))
        sid = (await wire.until("action_suggestion"))["suggestionId"]

        def broken(*_: object) -> Any:
            raise ValueError("31337")

        monkeypatch.setattr(w.runner, "start", broken)
        wire.push(confirm(sid))
        assert (await wire.until("error"))["code"] == "internal"
        await trio.sleep(0.1)
        assert wire.raw == [b"CLOSE 1011"]
        other.push(ask("y"))
        assert (await other.until("response"))["id"] == "y"
        assert "31337" not in str(wire.frames)


async def test_welcome_is_only_for_those_who_asked(autojump_clock: trio.testing.MockClock) -> None:
    """The first frame to a client of the subprotocol names the session and its limits."""
    async with world() as w:
        wire, core_only = await w.connect(greet=True), await w.connect()
        await settle()
        welcome = wire.sent()[0]
        assert (welcome["type"], welcome["protocol"]) == ("welcome", 1)
        assert welcome["limits"]["maxText"] == 8000
        assert core_only.sent() == []


async def test_bad_frames_are_answered_and_the_third_closes(autojump_clock: trio.testing.MockClock) -> None:
    """Each is told what is wrong; the third in ten seconds closes with 1008."""
    async with world() as w:
        wire = await w.connect()
        for frame in ("{", b"binary", '{"type":"nonsense"}'):
            wire.push(frame)
        await wire.until("error", 3)
        await trio.sleep(0.1)
        assert [frame["code"] for frame in wire.sent("error")] == ["bad_json", "bad_message", "bad_message"]
        assert wire.raw == [b"CLOSE 1008"]


async def test_pace_off_still_lets_a_cancel_in(autojump_clock: trio.testing.MockClock) -> None:
    """With no pace at most eight deltas wait, so a blocked socket holds the turn back."""
    async with world(pace_ms=0) as w:
        w.brain.script = saying(" ".join(["word"] * 1000))
        wire = await w.connect()
        wire.block()
        wire.push(ask())
        await settle()
        # eight, and what is left of the one that was begun
        assert (wire.outbox.room, len(wire.outbox)) == (0, 9)
        wire.push(CANCEL)
        await settle()
        wire.unblock()
        await settle()
        assert [frame["type"] for frame in wire.sent()] == ["stream", "stream_end"]


async def test_without_a_pace_an_answer_takes_no_time(autojump_clock: trio.testing.MockClock) -> None:
    """Also one that begins between two ticks, and is longer than what is said at once."""
    async with world(pace_ms=0) as w:
        w.brain.script = saying(" ".join(["word"] * 100), think=0.0012)
        wire = await w.connect()
        begun = trio.current_time()
        wire.push(ask())
        await wire.until("response")
        assert trio.current_time() == pytest.approx(begun + 0.0012)
        assert len(wire.sent("stream")) == 100


async def test_what_a_client_held_up_is_not_made_up_for(autojump_clock: trio.testing.MockClock) -> None:
    """Once it reads again it gets what waited at once, and each further word in its pace."""
    async with world() as w:
        w.brain.script = saying("word " * 20)
        wire = await w.connect()
        wire.block()
        wire.push(ask())
        await trio.sleep(5)
        wire.unblock()
        await wire.until("response")
        said = [round(at - 5, 6) for at, frame in wire.frames if frame["type"] == "stream"]
        paced = [0.02 * number for number in range(11)]
        assert said == pytest.approx([-5] + [0] * 8 + paced, abs=0.006)


async def test_a_turn_that_its_wire_has_refused_says_nothing_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The wire takes nothing any more and the session has not heard of it; then its Brain breaks."""

    async def breaking(question: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(VerifiedPart(text=text("one two three "), last=False))
        await trio.sleep(0.05)
        raise ZeroDivisionError

    async with world() as w:
        w.brain.script = breaking
        wire = await w.connect()
        wire.push(ask())
        await trio.sleep(0.03)
        wire.outbox.close()
        await trio.sleep(0.1)
        assert (len(w.pulse), w.states) == (0, ["streaming"])
        wire.leave()
        await settle()
        w.nothing_is_left()


async def test_a_fault_where_a_blocked_socket_takes_more_breaks_its_session_alone(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as any other, though it is the wire that asks for more then."""
    async with world(pace_ms=0) as w:
        w.brain.script = saying("word " * 20)
        wire, other = await w.connect(), await w.connect()
        wire.block()
        wire.push(ask())
        await settle()
        assert wire.outbox.room == 0

        def broken(_: object) -> bytes:
            raise ValueError("31337")

        with monkeypatch.context() as patched:
            patched.setattr("agent.session.turn.encode", broken)
            wire.unblock()
            await settle()
        assert (wire.sent()[-1]["code"], wire.raw) == ("internal", [b"CLOSE 1011"])
        other.push(ask("y"))
        assert (await other.until("response"))["id"] == "y"
        other.leave()
        await settle()
        w.nothing_is_left()


async def test_a_brain_that_lingers_does_not_hold_up_the_next_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A Brain that has answered and does not return is cancelled when the next message comes."""

    async def lingering(question: Question, emit: Emit) -> None:
        await saying("word")(question, emit)
        await trio.sleep_forever()

    async with world() as w:
        w.brain.script = lingering
        wire = await w.connect()
        wire.push(ask("a"))
        await wire.until("response")
        wire.push(ask("b"))
        await trio.sleep(60)
        assert [frame["id"] for frame in wire.sent("response")] == ["a", "b"]


async def test_a_question_comes_with_what_was_said_before(autojump_clock: trio.testing.MockClock) -> None:
    """What ended `done` and was not refused, as it was said."""
    asked: list[Question] = []

    async def refusing(_: Question, emit: Emit) -> None:
        emit(DraftCompleted())
        emit(TurnRefusal(REFUSAL))

    scripts: dict[str, Script] = {
        "answered": saying("It is 299 kr. ", proposals=1),
        "refused": refusing,
        "cancelled": saying("It takes 14 days. ", think=5),
        "then": saying("Yes. "),
    }

    async def script(question: Question, emit: Emit) -> None:
        asked.append(question)
        await scripts[question.text](question, emit)

    async with world(history_tokens=500) as w:
        w.brain.script = script
        wire = await w.connect()
        for text_ in ("answered", "refused"):
            wire.push(ask(text_, text_))
            await trio.sleep(2)
        wire.push(ask("cancelled", "cancelled"))
        await trio.sleep(1)
        wire.push({"type": "cancel"})
        await trio.sleep(1)
        wire.push(ask("then", "then"))
        await trio.sleep(2)
        wire.push(ask("answered", "answered"))
        await trio.sleep(2)
    before = [[(each.question, each.answer) for each in question.history] for question in asked]
    first = [("answered", "It is 299 kr. ")]
    assert before == [[], first, first, first, [*first, ("then", "Yes. ")]]
    assert len({question.scope for question in asked}) == 1
    assert asked[0].scope.thread


async def test_no_history_is_kept_where_none_is_wanted(autojump_clock: trio.testing.MockClock) -> None:
    """0 tokens is off."""
    asked: list[Question] = []

    async def script(question: Question, emit: Emit) -> None:
        asked.append(question)
        await answer(question, emit)

    async with world(history_tokens=0) as w:
        w.brain.script = script
        wire = await w.connect()
        for _ in range(2):
            wire.push(ask())
            await trio.sleep(2)
    assert [question.history for question in asked] == [(), ()]


async def test_a_cancelled_server_leaves_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Cancelling everything at once, as a second SIGTERM does, ends sessions without waiting."""
    async with world() as w:
        w.brain.script = hang
        wire = await w.connect()
        wire.push(ask())
        await settle()
        start = trio.current_time()
    assert trio.current_time() == start
    w.nothing_is_left()


def test_turn_events_are_what_a_brain_may_emit() -> None:
    """The port names every event; the session knows them all."""
    assert set(TurnEvent.__args__) >= {DraftCompleted, VerifiedPart, TurnRefusal}
