"""What a message leaves open is handed in with the next one, once, and a cancel drops it."""

import pytest

from agent.ports.brain import Proposal, TurnRefusal, VerifiedPart, Wish
from agent.protocol.outbound import ActionSuggestion
from agent.session.effects import BeginTurn, SendFrame

from .driver import PROPOSAL, REFUSAL, Driver, text

WISH = Wish(Proposal(action="send_sms", payload={}, missing=("phone",)), ("Text me",))


def handed(driver: Driver) -> tuple[Wish, ...] | None:
    """Return what the turn that just began was handed."""
    (begun,) = [each for each in driver.effects if isinstance(each, BeginTurn)]
    return begun.question.wishes


@pytest.fixture(
    params=[VerifiedPart(text=text(), wishes=(WISH,)), TurnRefusal(REFUSAL, wishes=(WISH,))],
    ids=["said", "refused"],
)
def left(request: pytest.FixtureRequest) -> Driver:
    """A session whose last message left a wish open."""
    driver = Driver()
    driver.verifying()
    driver.told(request.param)
    driver.spoken()
    return driver


def test_the_next_message_is_handed_it(left: Driver) -> None:
    """That one and no other, also where it is pre-empted."""
    left.message("b")
    assert handed(left) == (WISH,)
    left.message("c")
    assert handed(left) == ()


def test_a_message_that_is_answered_leaves_what_it_says(left: Driver) -> None:
    """Nothing, or a wish of its own."""
    left.streaming("b")
    left.spoken()
    left.message("c")
    assert handed(left) == ()


@pytest.mark.parametrize("id", [None, "m", "x"])
def test_a_cancel_drops_it(left: Driver, id: str | None) -> None:
    """Though nothing is in progress."""
    left.cancel(id)
    left.message("b")
    assert handed(left) == ()


def test_a_turn_that_is_cancelled_leaves_none() -> None:
    """While its answer is spoken, it is not open yet."""
    driver = Driver()
    driver.verifying()
    driver.told(VerifiedPart(text=text(), wishes=(WISH,)))
    driver.cancel()
    driver.message("b")
    assert handed(driver) == ()


@pytest.mark.parametrize("heard", [(True, False, False), (False, True, False), (True, True, False)])
def test_what_completes_a_heard_message_follows_speech(heard: tuple[bool, ...]) -> None:
    """Also where no history tells: the answer was refused, or none is kept. A wish that is done says no more."""
    driver = Driver()
    for number, each in enumerate(heard):
        driver.message(f"m{number}", heard=each)
        driver.drafted()
        driver.told(TurnRefusal(REFUSAL, wishes=(WISH,)))
        driver.spoken()
    for id, follows in (("a", True), ("b", False)):
        driver.message(id)
        (begun,) = [each for each in driver.effects if isinstance(each, BeginTurn)]
        assert begun.question.follows_speech == follows
        driver.drafted()
        driver.told(VerifiedPart(text=text(), proposals=(PROPOSAL,)))
        driver.spoken()
        (suggestion,) = [
            each.frame
            for each in driver.effects
            if isinstance(each, SendFrame) and isinstance(each.frame, ActionSuggestion)
        ]
        assert suggestion.heard == follows


def test_a_typed_message_leaves_a_wish_that_was_not_heard(left: Driver) -> None:
    """Nothing before it was heard."""
    left.message("b")
    (begun,) = [each for each in left.effects if isinstance(each, BeginTurn)]
    assert not begun.question.follows_speech


def test_a_first_message_is_handed_none_but_could_be() -> None:
    """A session can confirm actions; a plain request cannot, and is handed None."""
    driver = Driver()
    driver.message()
    assert handed(driver) == ()
