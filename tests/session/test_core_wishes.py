"""What a message leaves open is handed in with the next one, once, and a cancel drops it."""

import pytest

from agent.ports.brain import Proposal, TurnRefusal, VerifiedPart, Wish
from agent.session.effects import BeginTurn

from .driver import REFUSAL, Driver, text

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


def test_a_first_message_is_handed_none_but_could_be() -> None:
    """A session can confirm actions; a plain request cannot, and is handed None."""
    driver = Driver()
    driver.message()
    assert handed(driver) == ()
