"""What a session does whose suggestions are kept elsewhere: it sleeps, wakes, and hands calls to who runs them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from agent.config import CONFIRM_SECONDS
from agent.ports.brain import Proposal, VerifiedPart
from agent.ports.conversation import Exchange
from agent.session.effects import BeginTurn

from .acting import EDITABLE, RAN
from .driver import CALL, Driver, text
from .scenarios import Make, scenario

DAY = 24 * 3600.0
THEIRS = replace(EDITABLE, runs_at="caller")
HANDED = replace(CALL, runs_at="caller")


def offered(make: Make, *proposals: Proposal) -> Driver:
    """Some calls (s1, s2 ...) of a kept session were proposed by the turn that has just been said."""
    d = make(kept=DAY)
    d.verifying()
    d.told(VerifiedPart(text=text(), proposals=proposals))
    d.spoken()
    return d


@scenario
def what_is_kept_is_not_timed_here(make: Make) -> None:
    d = offered(make, EDITABLE)
    assert (d.state, d.did()) == ("awaiting_confirmation", [])
    d.now += 10 * CONFIRM_SECONDS
    d.confirm("s1")
    assert (d.state, d.ran()) == ("executing", [("s1", {"order": "A-1"})])


@scenario
def what_is_kept_expires_when_its_keeper_says_so(make: Make) -> None:
    d = offered(make, EDITABLE)
    assert d.expire("s1") == [("closed", "s1", "expired")]
    assert d.state == "idle"


@scenario
def a_session_that_sleeps_closes_nothing(make: Make) -> None:
    d = offered(make, EDITABLE)
    assert d.sleep() == []
    assert (d.state, d.did()) == ("closed", ["CloseConnection"])


@scenario
def an_idle_session_sleeps(make: Make) -> None:
    d = make(kept=DAY)
    assert d.sleep() == []
    assert (d.state, d.did()) == ("closed", ["CloseConnection"])


@scenario
def nobody_sleeps_at_work(make: Make) -> None:
    for begin in (Driver.message, Driver.verifying, Driver.streaming, Driver.executing):
        d = make(kept=DAY)
        begin(d)
        before = d.state
        d.sleep()
        assert (d.state, d.did()) == (before, [])


@scenario
def who_wakes_goes_on_where_it_was(make: Make) -> None:
    d = make(kept=DAY)
    assert d.wake(EDITABLE, history=(Exchange("price?", "It is 299 kr."),)) == []
    assert (d.state, d.did()) == ("awaiting_confirmation", [])
    d.message("n")
    (begun,) = [each for each in d.effects if isinstance(each, BeginTurn)]
    assert begun.question.history == (Exchange("price?", "It is 299 kr."),)
    d.drafted()
    d.verified()
    d.spoken()
    d.confirm("w1", {"order": "A-2"})
    assert (d.state, d.ran()) == ("executing", [("w1", {"order": "A-2"})])
    assert d.reported() == [("executed", "w1", RAN)]
    assert d.state == "idle"


@scenario
def who_wakes_with_nothing_to_confirm_is_idle(make: Make) -> None:
    d = make(kept=DAY)
    d.wake()
    assert d.state == "idle"


@scenario
def what_was_suggested_elsewhere_is_taken_up_at_work(make: Make) -> None:
    for begin in (Driver.message, Driver.verifying, Driver.streaming, Driver.executing):
        d = make(kept=DAY)
        begin(d)
        before = d.state
        assert (d.wake(EDITABLE), d.state) == ([], before)
        assert (d.wake(EDITABLE), list(d.core.actions.live)) == ([], ["w1"])  # known by now
        d.confirm("w1")
        d.wake(EDITABLE)
        assert (list(d.core.actions.live), d.state) == ([], before)
        if begin is Driver.executing:
            d.reported()
            assert (d.state, d.ran()) == ("executing", [("w1", {"order": "A-1"})])


@scenario
def a_confirmed_call_of_the_caller_runs_nowhere_here(make: Make) -> None:
    d = offered(make, THEIRS)
    assert d.confirm("s1") == []
    assert (d.state, d.ran()) == ("idle", [])
    assert d.reject("s1") == [("error", "unknown_suggestion", "s1")]


@scenario
def a_callers_call_is_let_go_of_while_the_server_goes_down(make: Make) -> None:
    d = offered(make, THEIRS)
    d.streaming("n")
    d.drain()
    assert d.confirm("s1") == []
    assert not d.core.actions.live


@scenario
def what_else_can_be_confirmed_stays_so(make: Make) -> None:
    d = offered(make, THEIRS, EDITABLE)
    d.confirm("s1")
    assert d.state == "awaiting_confirmation"
    d.confirm("s2")
    assert d.ran() == [("s2", {"order": "A-1"})]


@scenario
def a_callers_call_that_needs_nobody_is_handed_over(make: Make) -> None:
    d = make(kept=DAY)
    d.verifying()
    d.told(VerifiedPart(text=text(), proposals=(HANDED,)))
    sent = d.spoken()
    assert [kind for kind, *_ in sent] == ["end", "response", "suggestion"]
    assert (d.state, d.ran()) == ("idle", [])
    assert d.confirm("s1") == [("error", "unknown_suggestion", "s1")]


@scenario
def a_callers_call_that_needs_approval_is_never_handed_over(make: Make) -> None:
    d = offered(make, replace(HANDED, needs_approval=True))
    assert d.state == "awaiting_confirmation"


@scenario
def what_is_kept_outlives_a_drain(make: Make) -> None:
    for begin in ("rest", "turn"):
        d = offered(make, EDITABLE)
        if begin == "turn":
            d.verifying("n")
            d.told(VerifiedPart(text=text(), proposals=(EDITABLE,)))
        sent = d.drain()
        if begin == "turn":
            sent = d.spoken()
            assert sent[-1] == ("suggestion", "s2")
        assert not [each for each in sent if each[0] == "closed"]
        assert (d.state, d.close_code) == ("closed", 1012)


@scenario
def a_turn_goes_on_with_a_result(make: Make) -> None:
    d = make(kept=DAY)
    d.go_on("c1")
    assert (d.state, d.did()) == ("buffering", ["BeginTurn"])
    d.drafted()
    d.verified()
    assert d.spoken()[0] == ("end", "c1", "done")


@scenario
def a_cancel_closes_what_is_kept_too(make: Make) -> None:
    d = offered(make, EDITABLE)
    assert d.cancel() == [("closed", "s1", "cancelled")]
    assert d.state == "idle"


@pytest.mark.parametrize("proposal", [HANDED, THEIRS])
def test_nothing_of_a_handed_over_call_is_held(proposal: Proposal) -> None:
    """A session that has handed a call over, or let go of one that was confirmed, knows it no more."""
    make: Callable[..., Driver] = partial(Driver)
    d = offered(make, proposal)
    if proposal.needs_approval:
        d.confirm("s1")
    assert d.core.actions._suggestions == {}
    assert d.core.actions.live == {}
