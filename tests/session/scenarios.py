"""What a session does, one scenario per promise of the state table. Each fails when its row or guard is gone."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.config import BAD_FRAMES, CONFIRM_SECONDS, PAYLOAD_BYTES
from agent.intents.fields import FILLED_CHARACTERS
from agent.ports.brain import Proposal, Redraft, VerifiedPart, VerifiedText
from agent.ports.conversation import NO_SCOPE, Scope
from agent.ports.search import Snippet
from agent.protocol.consult_frames import ThreadFrame
from agent.protocol.inbound import OpenThread, Recall
from agent.session.consult_queue import CONSULTS_WAITING, RECALLS_PER_SECOND
from agent.session.effects import BeginTurn, DeclineItem, RecordExchange, RecordFact, RunAction
from agent.session.events import MemoryErased
from agent.session.settings import LIVE_SUGGESTIONS, PROGRESS_AFTER, QUEUED_MESSAGES

from .driver import REFUSAL, Driver, text

FROM_MEMORY = VerifiedText(
    text="Blue.",
    citations=(Snippet(file="memory/i1", text="It is blue.", first=1, last=1),),
    confidence="high",
)
Make = Callable[..., Driver]
SCENARIOS: list[Callable[[Make], None]] = []
TURN = ("buffering", "verifying", "streaming")
BUSY = (*TURN, "executing")


def scenario(function: Callable[[Make], None]) -> Callable[[Make], None]:
    SCENARIOS.append(function)
    return function


def into(driver: Driver, state: str) -> Driver:
    """Bring a fresh session into a state, the same way each time."""
    ways: dict[str, Callable[[], object]] = {
        "idle": lambda: None,
        "buffering": driver.message,
        "verifying": driver.verifying,
        "streaming": driver.streaming,
        "awaiting_confirmation": driver.awaiting,
        "executing": driver.executing,
    }
    ways[state]()
    assert driver.state == state
    return driver


def over(driver: Driver, how: str) -> None:
    """End what there is, a turn or the suggestion s1, in one of the ways that are no answer."""
    ways: dict[str, Callable[[], object]] = {
        "cancel": driver.cancel,
        "message": lambda: driver.message("n"),
        "expire": lambda: driver.expire("s1"),
        "words": lambda: driver.reject("s1", "the other one"),
        "drop": driver.drop,
        "kill": driver.kill,
    }
    ways[how]()


def begun_in(driver: Driver) -> list[BeginTurn]:
    """The turns that the last event began; there is one."""
    begun = [each for each in driver.effects if isinstance(each, BeginTurn)]
    assert len(begun) == 1
    return begun


def with_live(driver: Driver, state: str) -> Driver:
    """The same with a suggestion alive (s1 for a turn, s2 beside a running s1)."""
    if state == "executing":
        driver.awaiting(proposals=2)
        driver.confirm("s1")
        return driver
    driver.awaiting()
    return into(driver, state)


def with_waiting(driver: Driver, state: str) -> Driver:
    """The same with a confirmed action that has not begun."""
    with_live(driver, state)
    driver.confirm("s2" if state == "executing" else "s1")
    assert driver.state == state
    return driver


@scenario
def an_answer_is_streamed_ended_and_responded_to(make: Make) -> None:
    d = make()
    assert d.message("a") == []
    assert d.did() == ["BeginTurn"]
    d.drafted()
    assert d.state == "verifying"
    d.verified("It is 299 kr.")
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])
    assert d.spoken() == [("end", "a", "done"), ("response", "a", "It is 299 kr.")]
    assert d.state == "idle"


@scenario
def a_slow_turn_tells_what_it_does_once_a_state_lasts(make: Make) -> None:
    d = make()
    d.message(progress=True)
    assert d.watched() == pytest.approx(PROGRESS_AFTER)
    assert d.lasts() == [("progress", "m", "searching")]
    assert d.lasts() == []  # it knows
    d.begun()
    assert d.state == "buffering"
    assert d.watched() == pytest.approx(PROGRESS_AFTER)
    assert d.lasts() == [("progress", "m", "drafting")]
    d.drafted()
    assert d.watched() is not None
    assert d.lasts() == [("progress", "m", "checking")]
    d.told(Redraft())
    assert d.watched() is not None
    assert d.lasts() == [("progress", "m", "drafting")]
    d.act()
    assert d.watched() is not None
    assert d.lasts() == [("progress", "m", "calling")]
    d.reported()
    assert (d.state, d.watched() is not None) == ("buffering", True)
    assert d.lasts() == [("progress", "m", "drafting")]
    d.drafted()
    d.verified(last=False)
    assert (d.watched(), d.lasts()) == (None, [])  # its words say it
    d.spoken()
    assert d.watched() is not None
    assert d.lasts() == [("progress", "m", "drafting")]  # after its words, again
    d.drafted()
    d.verified()
    assert d.lasts() == []


@scenario
def nobody_is_told_of_progress_who_does_not_ask(make: Make) -> None:
    d = make()
    for event in (d.message, d.begun, d.drafted, d.verified):
        event()
        assert d.watched() is None


@scenario
def what_lasted_was_another_turn_or_no_turn(make: Make) -> None:
    d = make()
    d.message("a", progress=True)
    d.message("b", progress=True)
    assert d.lasts(turn=1) == []
    d.cancel()
    assert d.lasts() == []
    d = make()
    d.executing()
    assert d.lasts() == []
    d = into(make(), "verifying")
    d.begun()
    assert d.did() == ["StopBrain"]  # a draft does not begin while one is checked


@scenario
def a_question_after_suggestions_keeps_them_alive(make: Make) -> None:
    d = make()
    d.awaiting("a")
    d.message("b")
    assert d.state == "buffering"
    d.drafted()
    d.verified()
    assert d.spoken()[0] == ("end", "b", "done")
    assert d.state == "awaiting_confirmation"


@scenario
def a_new_message_ends_the_turn_in_progress(make: Make) -> None:
    for state in TURN:
        d = into(make(), state)
        old = d.turn
        assert d.message("n") == [("end", "m", "cancelled")]
        assert (d.state, d.did()) == ("buffering", ["EndTurn", "BeginTurn"])
        assert d.spoken(old) == []
        assert d.state == "buffering"


@scenario
def messages_are_limited_when_they_preempt_or_queue(make: Make) -> None:
    for state in BUSY:
        d = into(make(rate_limit=1.0), state)
        d.message("b")
        if state != "executing":
            into_again(d, state)
        d.message("c")
        if state != "executing":
            into_again(d, state)
        assert d.message("d") == [("error", "rate_limited", "d")]
        assert d.state == state
        d.now += 1.0
        assert ("error", "rate_limited", "e") not in d.message("e")


def into_again(d: Driver, state: str) -> None:
    if state != "buffering":
        d.drafted()
    if state == "streaming":
        d.verified()
    assert d.state == state


@scenario
def asking_again_after_the_answer_is_never_limited(make: Make) -> None:
    d = make(rate_limit=1.0)
    for number in range(9):
        d.streaming(str(number))
        assert d.spoken()[0] == ("end", str(number), "done")


@scenario
def messages_wait_while_an_action_runs(make: Make) -> None:
    d = into(make(), "executing")
    for number in range(QUEUED_MESSAGES):
        assert d.message(f"q{number}") == []
    assert d.state == "executing"
    assert d.message("q9") == [("error", "busy", "q9")]
    assert d.reported() == [("executed", "s1", {"success": True})]
    assert (d.state, d.did()) == ("buffering", ["BeginTurn"])
    for number in range(QUEUED_MESSAGES):
        d.drafted()
        d.verified()
        assert d.spoken()[0] == ("end", f"q{number}", "done")
    assert d.state == "idle"


@scenario
def a_message_that_waits_is_taken_when_the_one_before_it_is_cancelled(make: Make) -> None:
    for state in TURN:
        for live in (False, True):
            d = into(make(), "executing") if not live else with_live(make(), "executing")
            d.message("a")
            d.message("b")
            d.reported()
            assert d.state == "buffering"
            into_again(d, state)
            assert d.cancel() == [("end", "a", "cancelled")]
            assert (d.state, d.did()) == ("buffering", ["EndTurn", "BeginTurn"])
            d.drafted()
            d.verified()
            assert d.spoken()[0] == ("end", "b", "done")
            assert d.state == ("awaiting_confirmation" if live else "idle")


@scenario
def a_message_that_waits_is_taken_whatever_the_action_left(make: Make) -> None:
    for claimed in (True, False):
        for live in (False, True):
            d = with_live(make(), "executing") if live else into(make(), "executing")
            d.message("a")
            d.reported(claimed=claimed)
            assert d.state == "buffering"
            assert d.cancel() == [("end", "a", "cancelled")]
            assert d.state == ("awaiting_confirmation" if live else "idle")


@scenario
def messages_that_wait_are_answered_one_after_the_other(make: Make) -> None:
    for live in (False, True):
        d = with_live(make(), "executing") if live else into(make(), "executing")
        d.message("a")
        d.message("b")
        d.reported()
        d.drafted()
        d.verified()
        assert d.spoken()[0] == ("end", "a", "done")
        assert d.state == "buffering"


@scenario
def a_redraft_goes_back_to_buffering(make: Make) -> None:
    d = into(make(), "verifying")
    d.told(Redraft())
    assert d.state == "buffering"
    d.drafted()
    assert d.state == "verifying"


@scenario
def a_refusal_is_streamed_like_an_answer(make: Make) -> None:
    for state in ("buffering", "verifying"):
        d = into(make(), state)
        d.refused()
        assert (d.state, d.did()) == ("streaming", ["SpeakText"])
        assert d.spoken() == [("end", "m", "done"), ("response", "m", REFUSAL.text)]
        assert d.state == "idle"


@scenario
def a_fault_in_the_middle_of_an_answer_is_told_and_refused(make: Make) -> None:
    d = into(make(), "verifying")
    d.verified("One. ", last=False)
    assert d.faulted() == [("error", "internal", "m")]
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])
    assert d.spoken() == []
    assert d.spoken() == [("end", "m", "done"), ("response", "m", "One. " + REFUSAL.text)]


@scenario
def sentences_follow_each_other(make: Make) -> None:
    d = into(make(), "verifying")
    d.verified("One. ", last=False)
    assert d.spoken() == []
    assert d.state == "buffering"
    d.drafted()
    d.verified("Two.")
    assert d.spoken() == [("end", "m", "done"), ("response", "m", "One. Two.")]


@scenario
def what_the_brain_says_while_a_sentence_is_spoken_waits(make: Make) -> None:
    d = into(make(), "verifying")
    d.verified("One.", last=False)
    d.drafted()
    d.refused()
    assert (d.state, d.did()) == ("streaming", [])
    assert d.spoken() == []
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])
    assert d.spoken() == [("end", "m", "done"), ("response", "m", "One. " + REFUSAL.text)]


@scenario
def suggestions_follow_the_response_and_can_be_confirmed(make: Make) -> None:
    d = into(make(), "verifying")
    d.verified(proposals=2)
    assert [frame[0] for frame in d.spoken()] == ["end", "response", "suggestion", "suggestion"]
    assert (d.state, d.did()) == ("awaiting_confirmation", ["ArmExpiry", "ArmExpiry"])
    assert d.confirm("s1") == []
    assert (d.state, d.did()) == ("executing", ["DisarmExpiry", "RunAction"])
    assert d.reported() == [("executed", "s1", {"success": True})]
    assert d.state == "awaiting_confirmation"


@scenario
def cancel_in_a_turn_ends_it_and_what_was_confirmed(make: Make) -> None:
    for state in TURN:
        d = into(make(), state)
        assert d.cancel() == [("end", "m", "cancelled")]
        assert (d.state, d.did()) == ("idle", ["EndTurn"])
        d = with_live(make(), state)
        assert d.cancel() == [("end", "m", "cancelled")]
        assert d.state == "awaiting_confirmation"
        d = with_waiting(make(), state)
        assert d.cancel() == [("end", "m", "cancelled"), ("executed", "s1", {"cancelled": True})]
        assert d.state == "idle"
        assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]


def forget(d: Driver, *refs: str, messages: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """The user forgets items of memory, or messages."""
    return d.post(MemoryErased(frozenset(messages), frozenset(refs), d.now))


@scenario
def what_rests_on_what_is_forgotten_ends_there_and_nothing_else(make: Make) -> None:
    for state in TURN:
        d = into(make(), state)
        assert (forget(d, "i1", messages=("x",)), d.state) == ([], state)
        assert forget(d, messages=("m",)) == [("end", "m", "cancelled")]
        assert (d.state, "EndTurn" in d.did()) == ("idle", True)
        d = with_live(make(), state)
        assert forget(d, messages=("m",)) == [("end", "m", "cancelled")]
        assert d.state == "awaiting_confirmation"
        d = with_waiting(make(), state)
        assert forget(d, messages=("m",)) == [("end", "m", "cancelled")]
        assert (d.state, d.did()[-1]) == ("executing", "RunAction")
        d = into(make(), state)
        d.drain()
        assert forget(d, messages=("m",))[0] == ("end", "m", "cancelled")
        assert d.state == "closed"


@scenario
def an_answer_from_memory_ends_when_its_item_is_forgotten(make: Make) -> None:
    d = make()
    d.message("m")
    d.drafted()
    d.told(VerifiedPart(text=FROM_MEMORY, last=False))
    assert forget(d, "i2") == []
    assert forget(d, "i1", "i2") == [("end", "m", "cancelled")]
    d = make()
    d.message("m")
    d.drafted()
    assert forget(d, "i1") == []  # nothing of it is said yet
    assert d.told(VerifiedPart(text=FROM_MEMORY)) == [("end", "m", "cancelled")]
    assert "SpeakText" not in d.did()


@scenario
def cancel_of_suggestions_closes_them(make: Make) -> None:
    d = make()
    d.awaiting(proposals=2)
    assert d.cancel() == [("closed", "s1", "cancelled"), ("closed", "s2", "cancelled")]
    assert (d.state, d.did()) == ("idle", ["DisarmExpiry", "DisarmExpiry"])
    assert d.confirm("s1") == [("executed", "s1", {"cancelled": True})]


@scenario
def cancel_while_executing_asks_the_action_to_stop(make: Make) -> None:
    d = make()
    d.awaiting(proposals=3)
    d.confirm("s1")
    d.confirm("s2")
    d.message("q")
    assert d.cancel() == [("executed", "s2", {"cancelled": True}), ("end", "q", "cancelled")]
    assert (d.state, d.did()) == ("executing", ["StopAction"])
    assert d.reported("cancelled", result={"cancelled": True}) == [("executed", "s1", {"cancelled": True})]
    assert d.state == "awaiting_confirmation"


@scenario
def cancel_in_idle_sends_nothing(make: Make) -> None:
    d = make()
    assert d.cancel() == []
    assert (d.state, d.did()) == ("idle", [])
    assert d.effects == [RecordFact("cancels", "nothing")]


@scenario
def cancel_by_id_stops_only_what_it_names(make: Make) -> None:
    d = into(make(), "executing")
    d.message("q1")
    d.message("q2")
    assert d.cancel("q1") == [("end", "q1", "cancelled")]
    assert d.cancel("nothing") == []
    assert d.cancel("m") == []
    assert d.did() == ["StopAction"]
    d.message("q2")
    d.reported()
    assert d.cancel("q1") == []
    assert d.cancel("q2") == [("end", "q2", "cancelled")] * 2
    assert d.state == "idle"


@scenario
def cancel_by_id_closes_the_suggestions_it_led_to(make: Make) -> None:
    for state in BUSY:
        d = with_live(make(), state)
        if state == "executing":
            assert d.cancel("m") == [("closed", "s2", "cancelled")]
            assert d.did()[0] == "StopAction"
        else:
            d = make()
            d.awaiting("first")
            into(d, state)
            assert d.cancel("first") == [("closed", "s1", "cancelled")]
        assert d.state == state
    d = make()
    d.awaiting("a")
    d.awaiting("b")
    assert d.cancel("a") == [("closed", "s1", "cancelled")]
    assert d.state == "awaiting_confirmation"
    assert d.cancel("b") == [("closed", "s2", "cancelled")]
    assert d.state == "idle"


@scenario
def a_confirm_waits_for_what_is_in_progress(make: Make) -> None:
    for state in TURN:
        d = with_waiting(make(), state)
        assert d.did() == ["DisarmExpiry"]
        assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
        into_from(d, state)
        assert d.spoken()[0] == ("end", "m", "done")
        assert (d.state, d.did()) == ("executing", ["RunAction"])


def into_from(d: Driver, state: str) -> None:
    if state == "buffering":
        d.drafted()
    if state != "streaming":
        d.verified()


@scenario
def confirms_run_oldest_first_and_before_messages(make: Make) -> None:
    for claimed in (True, False):
        d = make()
        d.awaiting(proposals=3)
        d.confirm("s1")
        d.confirm("s3")
        d.confirm("s2")
        d.message("q")
        assert d.reported(claimed=claimed)[0][:2] == ("executed", "s1")
        assert (d.state, d.did()) == ("executing", ["RunAction"])
        assert d.reported()[0][:2] == ("executed", "s3")
        assert d.reported()[0][:2] == ("executed", "s2")
        assert (d.state, d.did()) == ("buffering", ["BeginTurn"])


@scenario
def a_preemption_does_not_drop_a_confirm_that_waits(make: Make) -> None:
    d = with_waiting(make(), "streaming")
    d.message("n")
    d.drafted()
    d.verified()
    d.spoken()
    assert (d.state, d.did()) == ("executing", ["RunAction"])


@scenario
def an_action_ends_where_the_suggestions_say(make: Make) -> None:
    for claimed in (True, False):
        d = into(make(), "executing")
        d.reported(claimed=claimed, status="done" if claimed else None)
        assert d.state == "idle"
        assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
        d = with_live(make(), "executing")
        d.reported(claimed=claimed)
        assert d.state == "awaiting_confirmation"


@scenario
def a_finished_action_is_never_run_again(make: Make) -> None:
    for status in ("done", "failed", "unknown", "cancelled"):
        d = into(make(), "executing")
        assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
        d.reported(status)
        d.now += CONFIRM_SECONDS + 1
        assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
        assert d.did() == []
        again = (
            ("closed", "s1", "cancelled") if status == "cancelled" else ("executed", "s1", {"ignored": True})
        )
        assert d.reject("s1") == [again]


@scenario
def nothing_runs_with_a_field_missing(make: Make) -> None:
    for wrong in (
        None,
        {},
        {"phone": ""},
        {"phone": " "},
        {"phone": 701234567},
        {"phone": None},
        {"phone": "soon"},
        {"phone": "12345678901234567890"},
        {"phone": "070-123 45 67 and more"},
        {"phone": "070-123 45 67", "text": "bye"},
        {"phone": "070-123 45 67", "other": "x"},
        {"text": "bye"},
    ):
        d = make()
        d.lacking()
        assert d.confirm("s1", wrong) == [("error", "bad_message", "s1")]
        assert (d.state, d.did()) == ("awaiting_confirmation", [])
        assert d.confirm("s1", {"phone": " 070-123 45 67"}) == []
        assert d.ran() == [("s1", {"text": "hello", "phone": "070-123 45 67"})]
        assert d.confirm("s1", {"phone": "070-765 43 21"}) == [("executed", "s1", {"ignored": True})]
        assert (d.state, d.did()) == ("executing", [])


@scenario
def what_was_filled_in_does_not_change(make: Make) -> None:
    d = make()
    d.lacking()
    d.message("n")
    assert d.confirm("s1", {"phone": "070-123 45 67"}) == []
    assert d.confirm("s1", {"phone": "070-765 43 21"}) == [("executed", "s1", {"ignored": True})]
    assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
    assert d.reject("nothing") == [("error", "unknown_suggestion", "nothing")]
    d.drafted()
    d.verified()
    d.spoken()
    assert d.ran() == [("s1", {"text": "hello", "phone": "070-123 45 67"})]


@scenario
def a_suggestion_that_lacks_something_ends_like_any_other(make: Make) -> None:
    d = make()
    d.lacking()
    d.now += CONFIRM_SECONDS
    assert d.confirm("s1") == [("closed", "s1", "expired"), ("executed", "s1", {"expired": True})]
    d = make()
    d.lacking()
    d.message("n")
    d.drain()
    assert d.confirm("s1") == [("error", "shutting_down", "s1")]
    d = make()
    d.lacking()
    assert d.reject("s1") == [("closed", "s1", "rejected")]
    assert d.confirm("s1", {"phone": "070-123 45 67"}) == [("executed", "s1", {"cancelled": True})]


@scenario
def many_confirms_that_lack_something_close_nothing(make: Make) -> None:
    d = make()
    d.lacking()
    for _ in range(2 * BAD_FRAMES):
        assert d.confirm("s1") == [("error", "bad_message", "s1")]
    assert d.state == "awaiting_confirmation"


@scenario
def a_confirm_fills_in_only_what_is_missing(make: Make) -> None:
    d = into(make(), "awaiting_confirmation")
    assert d.confirm("s1", {"subject": "another"}) == [("error", "bad_message", "s1")]
    assert d.state == "awaiting_confirmation"
    assert d.confirm("s1", {}) == []
    assert d.ran() == [("s1", {"subject": "help"})]


@scenario
def what_is_filled_in_fits_with_the_rest(make: Make) -> None:
    d = make()
    d.lacking(Proposal(action="send_sms", payload={"text": "x" * (PAYLOAD_BYTES - 40)}, missing=("phone",)))
    assert d.confirm("s1", {"phone": "+4670 123 45 67"}) == []
    d = make()
    d.lacking(Proposal(action="send_sms", payload={"text": "x" * (PAYLOAD_BYTES - 30)}, missing=("phone",)))
    assert d.confirm("s1", {"phone": "+4670 123 45 67"}) == [("error", "bad_message", "s1")]
    d = make()
    d.lacking(Proposal(action="create_ticket", payload={}, missing=("subject",)))
    assert d.confirm("s1", {"subject": "x" * (FILLED_CHARACTERS + 1)}) == [("error", "bad_message", "s1")]
    assert d.confirm("s1", {"subject": "x" * FILLED_CHARACTERS}) == []


@scenario
def a_client_that_knows_only_the_core_confirms_what_it_was_shown(make: Make) -> None:
    d = make(held=False)
    d.lacking()
    assert d.confirm("s1", {"phone": "soon"}) == [("error", "bad_message", "s1")]
    assert d.confirm("s1") == []
    assert d.ran() == [("s1", {"text": "hello"})]
    d = make(held=False)
    d.lacking()
    assert d.confirm("s1", {"phone": "070-123 45 67"}) == []
    assert d.ran() == [("s1", {"text": "hello", "phone": "070-123 45 67"})]


@scenario
def a_suggestion_expires(make: Make) -> None:
    d = make()
    d.awaiting(proposals=2)
    assert d.expire("s1") == [("closed", "s1", "expired")]
    assert d.state == "awaiting_confirmation"
    assert d.expire("s2") == [("closed", "s2", "expired")]
    assert (d.state, d.did()) == ("idle", ["DisarmExpiry"])
    assert d.expire("s2") == []
    assert d.confirm("s2") == [("executed", "s2", {"expired": True})]
    assert d.reject("s2") == [("closed", "s2", "expired")]


@scenario
def a_suggestion_expires_in_every_state(make: Make) -> None:
    for state in BUSY:
        d = with_live(make(), state)
        sid = "s2" if state == "executing" else "s1"
        assert d.expire(sid) == [("closed", sid, "expired")]
        assert d.state == state


@scenario
def a_confirm_counts_by_its_arrival(make: Make) -> None:
    d = make()
    d.awaiting(proposals=2)
    d.now += CONFIRM_SECONDS - 0.001
    assert d.confirm("s1") == []
    d.now += 0.001
    assert d.confirm("s2") == [("closed", "s2", "expired"), ("executed", "s2", {"expired": True})]
    assert d.expire("s2") == []
    assert d.expire("s1") == []
    assert d.state == "executing"


@scenario
def a_suggestion_can_be_rejected(make: Make) -> None:
    d = make()
    d.awaiting()
    assert d.reject("s1") == [("closed", "s1", "rejected")]
    assert (d.state, d.did()) == ("idle", ["DisarmExpiry"])
    assert d.confirm("s1") == [("executed", "s1", {"cancelled": True})]
    assert d.reject("s1") == [("closed", "s1", "rejected")]


@scenario
def a_confirmed_action_can_be_rejected_before_it_begins(make: Make) -> None:
    d = with_waiting(make(), "streaming")
    assert d.reject("s1") == [("executed", "s1", {"cancelled": True})]
    assert d.confirm("s1") == [("executed", "s1", {"ignored": True})]
    assert d.reject("s1") == [("closed", "s1", "cancelled")]
    d.spoken()
    assert d.state == "idle"
    d = into(make(), "executing")
    assert d.reject("s1") == []
    assert d.did() == ["StopAction"]


@scenario
def a_closed_suggestion_says_so_again_when_rejected(make: Make) -> None:
    d = make()
    d.awaiting()
    d.cancel()
    assert d.reject("s1") == [("closed", "s1", "cancelled")]
    assert d.confirm("s1") == [("executed", "s1", {"cancelled": True})]


@scenario
def the_oldest_suggestion_gives_way(make: Make) -> None:
    d = make()
    d.awaiting("a", proposals=LIVE_SUGGESTIONS)
    d.streaming("b", proposals=1)
    assert ("closed", "s1", "cancelled") in d.spoken()
    assert d.confirm("s1") == [("executed", "s1", {"cancelled": True})]
    assert d.confirm("s9") == []


@scenario
def an_unknown_suggestion_is_an_error_in_every_state(make: Make) -> None:
    for state in ("idle", *BUSY, "awaiting_confirmation"):
        d = into(make(), state)
        assert d.confirm("nobody's") == [("error", "unknown_suggestion", "nobody's")]
        assert d.state == state


@scenario
def drain_closes_what_rests(make: Make) -> None:
    d = make()
    d.drain()
    assert (d.state, d.close_code) == ("closed", 1012)
    d = into(make(), "awaiting_confirmation")
    assert d.drain() == [("closed", "s1", "cancelled")]
    assert (d.state, d.close_code) == ("closed", 1012)


@scenario
def drain_lets_a_turn_end_and_takes_nothing_new(make: Make) -> None:
    for state in TURN:
        d = with_live(make(), state)
        assert d.drain() == []
        assert (d.state, d.did()) == (state, [])
        assert d.message("n") == [("error", "shutting_down", "n")]
        assert d.confirm("s1") == [("error", "shutting_down", "s1")]
        assert d.state == state
        into_from_proposing(d, state)
        assert [frame[0] for frame in d.spoken()] == ["end", "response", "closed"]
        assert (d.state, d.close_code) == ("closed", 1012)
        d = into(make(), state)
        d.drain()
        assert d.cancel() == [("end", "m", "cancelled")]
        assert (d.state, d.close_code) == ("closed", 1012)


def into_from_proposing(d: Driver, state: str) -> None:
    if state == "buffering":
        d.drafted()
    if state != "streaming":
        d.verified(proposals=1)


@scenario
def drain_lets_an_action_end(make: Make) -> None:
    for claimed in (True, False):
        d = with_live(make(), "executing")
        d.message("q")
        assert d.drain() == []
        assert d.state == "executing"
        assert d.message("n") == [("error", "shutting_down", "n")]
        frames = d.reported(claimed=claimed)
        assert frames == [
            ("executed", "s1", {"success": True}),
            ("end", "q", "cancelled"),
            ("closed", "s2", "cancelled"),
        ]
        assert (d.state, d.close_code) == ("closed", 1012)


@scenario
def drain_runs_what_was_confirmed_before(make: Make) -> None:
    d = with_waiting(make(), "streaming")
    d.drain()
    d.spoken()
    assert (d.state, d.did()) == ("executing", ["RunAction"])
    d.reported()
    assert d.state == "closed"


@scenario
def a_lost_client_leaves_nothing(make: Make) -> None:
    for state, did in {
        "idle": ["LeaveClient"],
        "buffering": ["EndTurn", "LeaveClient"],
        "verifying": ["EndTurn", "LeaveClient"],
        "streaming": ["EndTurn", "LeaveClient"],
        "awaiting_confirmation": ["DisarmExpiry", "LeaveClient"],
        "executing": ["StopAction", "DetachAction", "LeaveClient"],
    }.items():
        d = into(make(), state)
        assert d.drop() == []
        assert (d.state, d.did()) == ("closed", did)
        assert not d.core.actions.live
        assert not d.core.actions.confirm_waits
        assert d.drop() == []
        assert d.did() == []


@scenario
def a_lost_client_takes_its_confirms_along(make: Make) -> None:
    d = with_waiting(make(), "executing")
    d.message("q")
    assert d.drop() == []
    assert not d.core.actions.confirm_waits
    assert d.did() == ["StopAction", "DetachAction", "DisarmExpiry", "LeaveClient"]


@scenario
def a_kill_tells_what_it_ends(make: Make) -> None:
    for state in ("idle", *TURN, "awaiting_confirmation", "executing"):
        d = into(make(), state)
        frames = d.kill()
        assert (d.state, d.close_code) == ("closed", 1012)
        assert frames == {
            "awaiting_confirmation": [("closed", "s1", "cancelled")],
            "idle": [],
            "executing": [],
        }.get(state, [("end", "m", "cancelled")])
        assert "StopAction" not in d.did()  # a running action gets its deadline
        assert ("DetachAction" in d.did()) == (state == "executing")
    for state in BUSY:
        d = with_waiting(make(), state)
        assert d.kill()[-1][2] == {"cancelled": True}


@scenario
def bad_frames_are_told_and_the_third_closes(make: Make) -> None:
    d = make()
    assert d.garbage() == [("error", "bad_json", None)]
    d.now += 9
    d.garbage()
    d.now += 2
    d.garbage()
    assert d.state == "idle"
    d.now += 1
    d.garbage()
    assert (d.state, d.close_code) == ("closed", 1008)


@scenario
def too_many_frames_close(make: Make) -> None:
    for push in (Driver.cancel, Driver.garbage):
        d = make()
        d.now = 1000.0
        for _ in range(200):
            d.cancel()
        assert d.state == "idle"
        push(d)
        assert (d.state, d.close_code) == ("closed", 1008)


@scenario
def a_brain_out_of_order_is_not_heard(make: Make) -> None:
    d = into(make(), "buffering")
    d.verified()
    assert (d.state, d.did()) == ("buffering", ["StopBrain"])
    assert d.faulted() == [("error", "internal", "m")]
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])
    assert d.drafted() == []
    assert d.faulted() == []
    assert d.spoken() == [("end", "m", "done"), ("response", "m", REFUSAL.text)]


@scenario
def a_brain_out_of_order_is_not_heard_later_either(make: Make) -> None:
    d = into(make(), "verifying")
    d.verified(last=False)
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])
    for _ in range(2):
        d.told(Redraft())
        d.drafted()
        d.verified()
    assert d.spoken() == []
    assert (d.state, d.did()) == ("buffering", ["StopBrain"])
    assert d.faulted() == [("error", "internal", "m")]
    assert (d.state, d.did()) == ("streaming", ["SpeakText"])


@scenario
def a_dead_turn_is_not_heard(make: Make) -> None:
    d = into(make(), "verifying")
    old = d.turn
    d.cancel()
    assert d.told(VerifiedPart(text=text()), old) == []
    assert (d.state, d.did()) == ("idle", [])
    assert d.spoken(old) == []
    assert (d.state, d.did()) == ("idle", [])


@scenario
def a_turn_whose_task_was_lost_ends_as_cancelled(make: Make) -> None:
    for state in TURN:
        d = into(make(), state)
        assert d.dropped() == [("end", "m", "cancelled")]
        assert d.state == "idle"
        assert d.dropped() == []


@scenario
def what_was_answered_is_kept_once_and_nothing_else(make: Make) -> None:
    d = make()
    d.message()
    for step in (d.drafted, lambda: d.verified("It is 299 kr.", last=False), d.spoken, d.drafted):
        step()
        assert d.kept() == []
    d.verified(" It is new.")
    assert d.kept() == []
    assert d.spoken()[-1][0] == "response"
    assert d.kept() == [("m", "It is 299 kr. It is new.", False)]
    d.message("n")
    d.refused()
    d.spoken()
    assert d.kept() == [("n", REFUSAL.text, True)]
    for state in TURN:
        for end in ("cancel", "message", "drop", "kill"):
            d = into(make(), state)
            over(d, end)
            assert d.kept() == []


@scenario
def an_answer_can_suggest_something_later(make: Make) -> None:
    for state in ("idle", "awaiting_confirmation", *BUSY):
        d = make()
        d.streaming("q")
        d.spoken()
        into(d, state)
        assert d.offered("q") == [("suggestion", f"s{d.made}")]
        assert d.state == ("awaiting_confirmation" if state == "idle" else state)
        assert d.did() == ["ArmExpiry"]
    d = make()
    d.awaiting(proposals=LIVE_SUGGESTIONS)
    assert d.offered()[0] == ("closed", "s1", "cancelled")


@scenario
def nothing_is_suggested_later_of_what_was_cancelled(make: Make) -> None:
    for id, taken in ((None, True), ("m", True), ("other", False)):
        d = make()
        d.streaming()
        d.spoken()
        d.cancel(id)
        assert bool(d.offered()) is not taken
        assert d.state == ("idle" if taken else "awaiting_confirmation")
    for state in TURN:
        d = into(make(), state)
        assert d.offered() == []  # it has not been answered
        d.cancel()
        assert (d.offered(), d.state) == ([], "idle")


@scenario
def nothing_is_suggested_later_while_going_down(make: Make) -> None:
    for state in BUSY:
        d = make()
        d.streaming("q")
        d.spoken()
        into(d, state)
        d.drain()
        assert (d.offered("q"), d.did(), d.state) == ([], [], state)


@scenario
def what_is_not_to_be_remembered_is_declined_once(make: Make) -> None:
    d = make()
    d.streaming()
    d.spoken()
    d.offered()
    assert d.reject("s1") == [("closed", "s1", "rejected")]
    assert d.declined() == ["i1"]
    assert d.reject("s1") == [("closed", "s1", "rejected")]
    assert d.declined() == []
    for otherwise in ("cancel", "expire", "drop", "kill", "words"):
        d = make()
        d.streaming()
        d.spoken()
        d.offered()
        over(d, otherwise)
        assert d.declined() == []
    d = make()
    d.awaiting()
    d.reject("s1")
    assert d.declined() == []  # there is nothing that it would have remembered


@scenario
def what_is_remembered_answers_in_every_state_and_changes_none(make: Make) -> None:
    for state in ("idle", "awaiting_confirmation", *BUSY):
        d = into(make(), state)
        assert d.consult("a") == []
        assert (d.state, d.did(), d.asks()) == (state, ["AskConsultant"], [("a", NO_SCOPE)])
        assert d.consult("b") == []
        assert (d.state, d.did()) == (state, [])  # it waits
        assert d.replied("a") == [("memory", "a")]
        assert (d.state, d.asks()) == (state, [("b", NO_SCOPE)])
        assert d.replied("b") == [("memory", "b")]
        assert (d.state, d.did()) == (state, [])


@scenario
def too_much_that_is_asked_of_what_is_remembered_is_refused(make: Make) -> None:
    d = make()
    for number in range(1 + CONSULTS_WAITING):
        assert d.consult(f"q{number}") == []
    assert d.consult("more") == [("error", "busy", "more")]
    d.replied("q0")
    assert d.consult("more") == []
    d = make()
    for number in range(int(RECALLS_PER_SECOND)):
        d.consult(frame=Recall("price?", id=f"r{number}"))
        d.replied(f"r{number}")
    assert d.consult(frame=Recall("price?", id="late")) == [("error", "rate_limited", "late")]
    assert d.consult("a list is another matter") == []
    d.now += 2 / RECALLS_PER_SECOND
    assert d.consult(frame=Recall("price?", id="again")) == []


@scenario
def nothing_is_asked_of_what_is_remembered_while_going_down(make: Make) -> None:
    d = into(make(), "buffering")
    d.consult("before")
    d.drain()
    assert d.consult("after") == [("error", "shutting_down", "after")]
    assert d.replied("before") == [("memory", "before")]


@scenario
def a_cancel_does_not_reach_what_is_asked_of_what_is_remembered(make: Make) -> None:
    d = into(make(), "buffering")
    d.consult()
    d.cancel()
    assert d.replied() == [("memory", "q")]


@scenario
def another_thread_counts_for_what_comes_after_it(make: Make) -> None:
    there = Scope("p", "t2", "ana")
    d = make(kept=30.0)  # so that it has a history
    d.streaming("told before")
    d.spoken()
    d.message("in progress")
    d.consult("one", OpenThread("t2", "one"))
    d.consult("two")
    assert d.replied(frame=ThreadFrame("t2", "one"), scope=there) == [("thread", "t2")]
    assert d.asks() == [("two", there)]
    d.drafted()
    d.verified("It is 14 days.")
    d.spoken()
    kept = next(each for each in d.effects if isinstance(each, RecordExchange))
    assert (kept.question.scope, len(kept.question.history)) == (NO_SCOPE, 1)
    d.message("after")
    (begun,) = begun_in(d)
    assert (begun.question.scope, begun.question.history) == (there, ())
    d.drafted()
    d.verified()
    d.spoken()
    d.message("the next one")
    (begun,) = begun_in(d)
    assert [each.question for each in begun.question.history] == ["price?"]


@scenario
def what_waits_is_of_the_thread_that_was_opened_and_what_was_suggested_is_not(make: Make) -> None:
    there = Scope("p", "t2", "ana")
    d = make()
    d.awaiting(proposals=2)
    d.confirm("s1")
    d.message("waits")
    d.replied_to(there)
    d.reported()
    (begun,) = begun_in(d)
    assert begun.question.scope == there
    d.cancel("waits")
    d.confirm("s2")
    assert [each.call.scope for each in d.effects if isinstance(each, RunAction)] == [NO_SCOPE]
    d.reported()
    d.streaming()
    d.spoken()
    d.offered()
    d.reject(f"s{d.made}")
    assert [each.scope for each in d.effects if isinstance(each, DeclineItem)] == [NO_SCOPE]


@scenario
def words_in_place_of_a_yes_are_of_the_thread_that_is_open(make: Make) -> None:
    there = Scope("p", "t2", "ana")
    d = make()
    d.awaiting()
    d.replied_to(there)
    d.reject("s1", "the other one")
    (begun,) = begun_in(d)
    assert begun.question.scope == there
