"""The tables as data: what is not in them is refused."""

import gc
import weakref
from typing import Any

import pytest

from agent.actions import suggestions
from agent.actions.suggestions import Suggestion
from agent.fsm import Engine, Row, Table, matrix, mermaid
from agent.session import states
from agent.session.confirming import OWN_ENGINE
from agent.session.core import ENGINE, Core
from agent.session.states import State, Trigger

ABSENT = [(state, trigger) for state in State for trigger in Trigger if not states.TABLE.row(state, trigger)]
OWN_ABSENT = [
    (state, trigger)
    for state in suggestions.Status
    for trigger in suggestions.Step
    if not suggestions.TABLE.row(state, trigger)
]


@pytest.mark.parametrize(("state", "trigger"), ABSENT)
def test_what_is_not_in_the_table_is_refused(state: State, trigger: Trigger) -> None:
    """An absent (state, trigger) pair changes nothing and does nothing."""
    core = Core()
    core.state = state
    assert ENGINE.fire(core, trigger) is None
    assert core.state is state


@pytest.mark.parametrize(("state", "step"), OWN_ABSENT)
def test_what_is_not_in_a_suggestions_table_is_refused(
    state: suggestions.Status, step: suggestions.Step
) -> None:
    """An absent pair of a suggestion changes nothing and does nothing."""
    suggestion = Suggestion("s", "a", {}, "m", 1.0)
    suggestion.state = state
    assert OWN_ENGINE.fire(suggestion, step) is None
    assert suggestion.state is state


def test_closed_is_final() -> None:
    """Nothing leads out of `closed`."""
    assert not [row for row in states.TABLE.rows if row.source is State.CLOSED]


def test_a_table_that_names_what_is_not_there_is_refused() -> None:
    """A misspelt guard or method shows when the table is bound, not when its row is first taken."""
    row: Row[State, Trigger] = Row(Trigger.CANCEL, State.IDLE, "no_such_guard", None, ("no_such_method",))
    table: Table[State, Trigger] = Table("Odd", State, Trigger, State.IDLE, (row,))
    with pytest.raises(ValueError, match="no_such_guard, no_such_method"):
        Engine(table, Core, Core)


def test_no_model_is_held_by_the_machine() -> None:
    """An engine keeps no reference to what it has run."""
    suggestion: Any = type("Model", (Suggestion,), {})("s", "a", {}, "m", 1.0)
    gone = weakref.ref(suggestion)
    OWN_ENGINE.fire(suggestion, suggestions.Step.CONFIRM)
    del suggestion
    gc.collect()
    assert gone() is None


def test_a_guard_that_raises_changes_nothing() -> None:
    """The state is decided before it is changed."""

    class Broken(Core):
        @property
        def over_rate(self) -> bool:
            raise RuntimeError("broken")

    core = Broken()
    core.state = State.STREAMING
    with pytest.raises(RuntimeError, match="broken"):
        ENGINE.fire(core, Trigger.MESSAGE)
    assert core.state is State.STREAMING


def test_the_drawing_shows_every_row() -> None:
    """The diagram has an arrow per row, guards included, and the matrix a cell per pair."""
    drawing = mermaid(states.TABLE)
    assert drawing.count("-->") >= len(states.TABLE.rows)
    assert "streaming --> executing: streamed [confirm_waits] / finish_turn, run_next" in drawing
    table = matrix(states.TABLE)
    assert table.count("\n") == len(State) + 2
    assert "| idle | buffering | - |" in table
