"""What a session does about calls of tools, one scenario per promise: in a turn, edited, and answered with words."""

import gc
from collections.abc import Callable
from dataclasses import replace
from weakref import ref

from agent.config import CONFIRM_SECONDS
from agent.ports.action import Payload
from agent.ports.brain import Proposal, VerifiedPart
from agent.session.effects import BeginTurn, RecordFact
from agent.session.events import CallRequested
from agent.session.settings import QUEUED_MESSAGES

from .driver import CALL, Driver, text
from .scenarios import Make, scenario

RAN = {"success": True}
STOPPED = {"cancelled": True}


def takes(payload: Payload) -> str | None:
    """A tool that knows one order more."""
    return None if payload.get("order") in ("A-1", "A-2") else "Set order to one that exists."


EDITABLE = Proposal(action="refund", payload={"order": "A-1"}, risk="high", accepts=takes)


def offered(make: Make, state: str = "awaiting_confirmation") -> Driver:
    """A tool's call (s1) waits for its user; in `state`."""
    d = make()
    d.verifying()
    d.told(VerifiedPart(text=text(), proposals=(EDITABLE,)))
    d.spoken()
    if state == "streaming":
        d.streaming("n")
    return d


@scenario
def a_call_runs_inside_its_turn(make: Make) -> None:
    d = make()
    d.message()
    assert d.act() == []
    assert (d.state, d.did(), d.ran()) == ("executing", ["RunAction"], [("s1", {"order": "A-1"})])
    assert d.reported() == [("executed", "s1", RAN)]
    assert (d.state, [each.result for each in d.resumed()]) == ("buffering", [RAN])
    d.drafted()
    d.verified()
    assert d.spoken()[0] == ("end", "m", "done")
    assert d.state == "idle"


@scenario
def a_turn_goes_on_when_its_call_was_claimed_elsewhere(make: Make) -> None:
    d = make()
    d.acting()
    d.reported(claimed=False, status=None)
    assert (d.state, len(d.resumed())) == ("buffering", 1)


@scenario
def one_call_follows_the_other(make: Make) -> None:
    d = make()
    d.acting()
    d.reported()
    d.act()
    assert (d.state, d.ran()) == ("executing", [("s2", {"order": "A-1"})])
    d.reported()
    assert d.state == "buffering"


@scenario
def what_needs_approval_never_runs_inside_a_turn(make: Make) -> None:
    d = make()
    d.message()
    assert d.act(replace(CALL, needs_approval=True)) == []
    assert (d.state, d.ran()) == ("buffering", [])
    assert [each.status for each in d.resumed()] == [None]
    assert RecordFact("errors", "unapproved", "m", "s1") in d.effects
    assert d.confirm("s1") == [("executed", "s1", STOPPED)]
    assert d.ran() == []


@scenario
def a_call_waits_until_the_sentence_before_it_was_said(make: Make) -> None:
    d = make()
    d.verifying()
    d.verified("One. ", last=False)
    assert d.act() == []
    assert (d.state, d.ran()) == ("streaming", [])
    d.spoken()
    assert (d.state, len(d.ran())) == ("executing", 1)


@scenario
def what_is_said_behind_a_call_waits_for_its_report(make: Make) -> None:
    d = make()
    d.verifying()
    d.verified("One. ", last=False)
    d.act()
    d.drafted()
    d.spoken()
    assert (d.state, d.did()) == ("executing", ["RunAction"])
    d.reported()
    assert d.state == "verifying"


@scenario
def a_call_out_of_order_is_distrusted(make: Make) -> None:
    d = make()
    d.verifying()
    d.act()
    assert (d.state, d.did()) == ("verifying", ["StopBrain"])
    assert d.faulted() == [("error", "internal", "m")]
    assert (d.state, d.ran()) == ("streaming", [])


@scenario
def a_dead_turns_call_is_not_run(make: Make) -> None:
    d = make()
    d.message()
    d.cancel()
    assert (d.act(), d.did()) == ([], [])
    d.message()
    assert d.post(CallRequested(1, CALL, "s9", d.now)) == []
    assert (d.state, d.did()) == ("buffering", [])


@scenario
def a_brain_that_breaks_while_its_call_runs_is_told_of_afterwards(make: Make) -> None:
    d = make()
    d.acting()
    assert (d.faulted(), d.state) == ([], "executing")
    assert d.reported() == [("executed", "s1", RAN), ("error", "internal", "m")]
    assert d.state == "streaming"


@scenario
def what_a_brain_says_while_its_call_runs_waits(make: Make) -> None:
    d = make()
    d.acting()
    assert (d.refused(), d.state) == ([], "executing")
    d.reported()
    assert (d.state, d.did()[-1]) == ("streaming", "SpeakText")


@scenario
def a_cancel_ends_a_turn_that_waits_for_its_call(make: Make) -> None:
    d = make()
    d.awaiting(proposals=2)
    d.acting("n")
    d.confirm("s1")
    assert d.cancel() == [("end", "n", "cancelled"), ("executed", "s1", STOPPED)]
    assert (d.state, d.did()) == ("executing", ["EndTurn", "StopAction"])
    assert d.reported("cancelled", result=STOPPED) == [("executed", "s3", STOPPED)]
    assert (d.state, d.resumed()) == ("awaiting_confirmation", [])
    assert d.faulted() == []


@scenario
def a_cancel_ends_what_waits_behind_a_turn_that_waits(make: Make) -> None:
    d = make()
    d.executing()
    d.message("a")
    d.message("b")
    d.reported()
    d.act()
    assert d.cancel() == [("end", "a", "cancelled"), ("end", "b", "cancelled")]
    d.reported()
    assert d.state == "idle"


@scenario
def a_message_ends_a_turn_that_waits_for_its_call(make: Make) -> None:
    d = make()
    d.acting("a")
    assert d.message("b") == [("end", "a", "cancelled")]
    assert (d.state, d.did()) == ("executing", ["EndTurn", "StopAction"])
    assert d.reported() == [("executed", "s1", RAN)]
    assert (d.state, d.did(), d.resumed()) == ("buffering", ["BeginTurn"], [])


@scenario
def messages_that_end_waiting_turns_are_limited(make: Make) -> None:
    d = make(rate_limit=1.0)
    for number in range(2):
        d.acting(f"a{number}")
        d.message(f"b{number}")
        d.reported()
    d.act()
    assert d.message("c") == [("error", "rate_limited", "c")]
    assert d.state == "executing"


@scenario
def a_full_queue_does_not_hold_up_who_ends_a_waiting_turn(make: Make) -> None:
    d = make()
    d.executing()
    for number in range(QUEUED_MESSAGES):
        d.message(f"q{number}")
    d.reported()
    d.act()
    assert d.message("n") == [("end", "q0", "cancelled")]
    assert d.message("o") == [("error", "busy", "o")]


@scenario
def what_was_confirmed_waits_for_the_turn_to_end(make: Make) -> None:
    d = make()
    d.awaiting()
    d.acting("n")
    assert (d.confirm("s1"), d.ran()) == ([], [])
    d.reported()
    assert (d.state, d.ran()) == ("buffering", [])
    d.act()
    assert d.ran() == [("s3", {"order": "A-1"})]
    d.reported()
    d.drafted()
    d.verified()
    d.spoken()
    assert (d.state, d.ran()) == ("executing", [("s1", {"subject": "help"})])


@scenario
def a_turn_that_waits_for_its_call_may_end_in_a_drain(make: Make) -> None:
    d = make()
    d.acting()
    assert (d.drain(), d.state) == ([], "executing")
    d.reported()
    assert d.state == "buffering"
    assert d.act() == []
    assert (d.state, d.ran()) == ("buffering", [])
    assert [each.status for each in d.resumed()] == ["cancelled"]
    d.drafted()
    d.verified()
    assert d.spoken()[0] == ("end", "m", "done")
    assert (d.state, d.close_code) == ("closed", 1012)


@scenario
def a_kill_ends_a_turn_that_waits_for_its_call(make: Make) -> None:
    d = make()
    d.acting()
    assert d.kill() == [("end", "m", "cancelled")]
    assert (d.state, d.did()) == ("closed", ["EndTurn", "StopAction", "DetachAction", "CloseConnection"])
    d = make()
    d.awaiting()
    d.acting("n")
    d.confirm("s1")
    assert d.kill() == [("end", "n", "cancelled"), ("executed", "s1", STOPPED)]


@scenario
def who_leaves_takes_the_call_that_has_not_begun_along(make: Make) -> None:
    d = make()
    d.acting()
    d.drop()
    assert (d.state, d.did()) == ("closed", ["EndTurn", "StopAction", "DetachAction", "LeaveClient"])


@scenario
def a_confirm_of_a_call_may_change_its_arguments(make: Make) -> None:
    d = offered(make)
    assert d.confirm("s1", {"order": "B-1"}) == [("error", "bad_edit", "s1")]
    assert (d.state, d.ran()) == ("awaiting_confirmation", [])
    assert d.confirm("s1", {"order": "A-2"}) == []
    assert d.ran() == [("s1", {"order": "A-2"})]
    assert d.confirm("s1", {"order": "A-1"}) == [("executed", "s1", {"ignored": True})]


@scenario
def a_bad_edit_leaves_nothing_behind(make: Make) -> None:
    d = offered(make)
    d.confirm("s1", {"order": "B-1"})
    d.confirm("s1")
    assert d.ran() == [("s1", {"order": "A-1"})]


@scenario
def what_was_confirmed_is_not_changed_by_a_later_edit(make: Make) -> None:
    d = offered(make, "streaming")
    d.confirm("s1")
    assert d.confirm("s1", {"order": "A-2"}) == [("executed", "s1", {"ignored": True})]
    d.spoken()
    assert d.ran() == [("s1", {"order": "A-1"})]


@scenario
def an_edit_that_is_no_payload_is_refused(make: Make) -> None:
    d = offered(make)
    assert d.confirm("s1", {"order": "A-2", "more": "x" * 20_000}) == [("error", "bad_edit", "s1")]


@scenario
def words_in_place_of_a_yes_are_the_next_message(make: Make) -> None:
    d = offered(make)
    assert d.reject("s1", "the other order") == [("closed", "s1", "answered")]
    begun = [each.question for each in d.effects if isinstance(each, BeginTurn)]
    assert (d.state, [(each.id, each.text) for each in begun]) == ("buffering", [("s1", "the other order")])
    assert d.confirm("s1") == [("executed", "s1", STOPPED)]
    assert d.reject("s1") == [("closed", "s1", "answered")]
    assert d.reject("s1", "again") == [("closed", "s1", "answered")]
    assert d.state == "buffering"


@scenario
def words_for_a_call_that_was_decided_are_no_message(make: Make) -> None:
    for state in ("confirmed", "claimed", "done", "failed", "unknown"):
        d = offered(make, "streaming" if state == "confirmed" else "awaiting_confirmation")
        d.confirm("s1")
        if state not in ("confirmed", "claimed"):
            d.reported(state)
        before = d.state
        assert d.reject("s1", "no") == [("executed", "s1", {"ignored": True})]
        assert d.state == before
    closing: dict[str, Callable[[Driver], object]] = {
        "rejected": lambda d: d.reject("s1"),
        "cancelled": Driver.cancel,
        "expired": lambda d: d.expire("s1"),
    }
    for close, how in closing.items():
        d = offered(make)
        how(d)
        assert d.reject("s1", "no") == [("closed", "s1", close)]
        assert d.state == "idle"


@scenario
def words_that_come_too_late_are_no_message(make: Make) -> None:
    d = offered(make)
    d.now += CONFIRM_SECONDS
    assert d.reject("s1", "no") == [("closed", "s1", "expired"), ("executed", "s1", {"expired": True})]
    assert d.state == "idle"
    d = offered(make, "streaming")
    d.drain()
    assert d.reject("s1", "no") == [("error", "shutting_down", "s1")]


@scenario
def what_has_ended_holds_nothing_of_a_call(make: Make) -> None:
    endings: tuple[Callable[[Driver], object], ...] = (
        lambda d: (d.confirm("s1"), d.reported()),
        lambda d: d.reject("s1"),
        lambda d: d.reject("s1", "the other order"),
        lambda d: d.expire("s1"),
        lambda d: d.late("s1", "the other order"),
        lambda d: (d.message("n"), d.confirm("s1"), d.cancel()),
        Driver.cancel,
    )
    for end in endings:
        d = make()
        d.verifying()
        held = {"order": "A-1", "note": _Held("x" * 10)}
        gone = ref(held["note"])
        d.told(VerifiedPart(text=text(), proposals=(replace(EDITABLE, payload=held),)))
        d.spoken()
        del held
        end(d)
        d.effects = []
        d.confirm("s1")
        d.effects = []
        gc.collect()
        assert gone() is None


class _Held(str):
    """A text that can be referred to weakly."""

    __slots__ = ("__weakref__",)
