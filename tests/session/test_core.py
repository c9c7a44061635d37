"""The core's promises, and that each row and each guard of both tables is needed for one of them."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import pytest

from agent.actions import suggestions
from agent.fsm import TransitionRow
from agent.session import states
from agent.session.actions import SUGGESTIONS_REMEMBERED, make_suggestion_engine
from agent.session.core import make_engine
from agent.session.states import SessionRow

from ..broken_tables import without_guard, without_row
from ..examples import sample
from . import acting, kept  # noqa: F401 - their scenarios
from .driver import Driver
from .scenarios import SCENARIOS, Make, into


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_session_keeps_its_table(scenario: Callable[[Make], None]) -> None:
    """What the state table promises is what the core does."""
    scenario(Driver)


_likeliest = [
    *SCENARIOS
]  # those that failed last come first: what is beside a row is needed by much the same ones


def some_scenario_fails(make: Make) -> bool:
    for scenario in _likeliest:
        try:
            scenario(make)
        except Exception:  # noqa: BLE001 - a broken table may break anything
            _likeliest.remove(scenario)
            _likeliest.insert(0, scenario)
            return True
    return False


def named(row: TransitionRow[Any, Any, Any, Any]) -> str:
    return f"{row.trigger.name}-{row.source.name}-{row.guard.value if row.guard else None}"


@pytest.mark.parametrize("row", sample(states.TABLE.rows, 12), ids=named)
def test_every_row_of_the_session_is_needed(row: SessionRow) -> None:
    """Without any one row a promise is broken."""
    assert some_scenario_fails(partial(Driver, make_engine(without_row(states.TABLE, row))))


@pytest.mark.parametrize("row", sample((row for row in states.TABLE.rows if row.guard), 6), ids=named)
def test_every_guard_of_the_session_is_needed(row: SessionRow) -> None:
    """Without any one guard a promise is broken."""
    assert some_scenario_fails(partial(Driver, make_engine(without_guard(states.TABLE, row))))


@pytest.mark.parametrize("row", sample(suggestions.TABLE.rows, 12), ids=named)
def test_every_row_of_a_suggestion_is_needed(row: TransitionRow[Any, Any, Any, Any]) -> None:
    """Without any one row of a suggestion's table a promise is broken."""
    broken = make_suggestion_engine(without_row(suggestions.TABLE, row))
    assert some_scenario_fails(lambda **more: Driver(suggestion_engine=broken, **more))


@pytest.mark.parametrize("row", [row for row in suggestions.TABLE.rows if row.guard], ids=named)
def test_every_guard_of_a_suggestion_is_needed(row: TransitionRow[Any, Any, Any, Any]) -> None:
    """Without any one guard of a suggestion's table a promise is broken."""
    broken = make_suggestion_engine(without_guard(suggestions.TABLE, row))
    assert some_scenario_fails(lambda **more: Driver(suggestion_engine=broken, **more))


def test_suggestions_are_forgotten_in_the_end() -> None:
    """A session answers for its last closed suggestions, not for every one it ever made."""
    driver = Driver()
    for _ in range(SUGGESTIONS_REMEMBERED + 5):
        driver.awaiting()
        driver.cancel()
        driver.now += 1
    assert driver.confirm("s1") == [("error", "unknown_suggestion", "s1")]
    assert driver.confirm(f"s{SUGGESTIONS_REMEMBERED}")[0][0] == "executed"


def test_a_huge_suggestion_id_is_not_echoed() -> None:
    """What no server ever issued is not repeated at length."""
    assert Driver().confirm("x" * 60_000) == [("error", "unknown_suggestion", None)]


@pytest.mark.parametrize("state", ["idle", "streaming", "executing"])
def test_a_core_that_nobody_holds_is_gone_at_once(state: str) -> None:
    """Its parts do not hold what holds them, so that no session waits for the collector."""
    driver = Driver()
    into(driver, state)
    gone = ref(driver.core)
    gc.disable()
    try:
        del driver
        assert gone() is None
    finally:
        gc.enable()
