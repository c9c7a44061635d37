"""The tables as data: what is not in them is refused."""

import gc
import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from operator import attrgetter
from typing import Any, TypeAlias

import pytest
from transitions import MachineError

from agent.actions import suggestions
from agent.actions.suggestions import Suggestion
from agent.fsm import Engine, StateTable, TransitionRow, draw_matrix, draw_mermaid
from agent.ports.brain import Proposal, Question
from agent.session import core, states
from agent.session.actions import ENGINE as SUGGESTION_ENGINE
from agent.session.core import ENGINE, Core
from agent.session.message_queue import MessageQueue
from agent.session.states import (
    SessionDeed,
    SessionGuard,
    SessionRow,
    SessionState,
    SessionTable,
    SessionTrigger,
)
from tests.examples import sample

AnyEngine: TypeAlias = Engine[Any, Any, Any, Any]
ENGINES: list[AnyEngine] = [ENGINE, SUGGESTION_ENGINE]
TITLES = [each.table.title for each in ENGINES]
ABSENT = [
    (state, trigger)
    for state in SessionState
    for trigger in SessionTrigger
    if not states.TABLE.rows_of(state, trigger)
]
OWN_ABSENT = [
    (state, trigger)
    for state in suggestions.SuggestionState
    for trigger in suggestions.SuggestionStep
    if not suggestions.TABLE.rows_of(state, trigger)
]


@pytest.mark.parametrize(("state", "trigger"), sample(ABSENT, 3))
def test_what_is_not_in_the_table_is_refused(state: SessionState, trigger: SessionTrigger) -> None:
    """An absent (state, trigger) pair changes nothing and does nothing."""
    session = Core()
    session.state = state
    assert ENGINE.fire(session, trigger) is None
    assert session.state is state


@pytest.mark.parametrize(("state", "step"), sample(OWN_ABSENT, 3))
def test_what_is_not_in_a_suggestions_table_is_refused(
    state: suggestions.SuggestionState, step: suggestions.SuggestionStep
) -> None:
    """An absent pair of a suggestion changes nothing and does nothing."""
    suggestion = Suggestion("s", Proposal(action="a"), Question(id="m", text="", lang=None, at=0.0), 1.0)
    suggestion.state = state
    assert SUGGESTION_ENGINE.fire(suggestion, step) is None
    assert suggestion.state is state


def test_closed_is_final() -> None:
    """Nothing leads out of `closed`."""
    assert not [row for row in states.TABLE.rows if row.source is SessionState.CLOSED]


def session_table(row: SessionRow) -> SessionTable:
    """A table of one row."""
    return StateTable(
        title="Odd",
        states=SessionState,
        triggers=SessionTrigger,
        guards=SessionGuard,
        deeds=SessionDeed,
        initial=SessionState.IDLE,
        rows=(row,),
    )


def test_a_guard_or_a_deed_without_its_function_is_refused() -> None:
    """What a row names and nobody does shows when the engine is made, not when the row is first taken."""
    guards: dict[SessionGuard, Any] = {
        each: core.GUARDS[each] for each in SessionGuard if each is not SessionGuard.OVER_RATE
    }
    with pytest.raises(
        ValueError, match=r"Session: no function is given for: SessionGuard\.OVER_RATE; .*: -"
    ):
        Engine(states.TABLE, guards, core.DEEDS)
    deeds: dict[SessionDeed, Any] = {
        each: core.DEEDS[each]
        for each in SessionDeed
        if each not in (SessionDeed.QUEUE_ACTION, SessionDeed.STREAM_TEXT)
    }
    with pytest.raises(
        ValueError, match=r"no function is given for: SessionDeed\.QUEUE_ACTION, SessionDeed\.STREAM_TEXT; "
    ):
        Engine(states.TABLE, core.GUARDS, deeds)


def test_what_the_table_does_not_know_is_refused() -> None:
    """A guard or a deed of another table is not this one's, whether a function or a row names it."""
    odd: Any = {**core.DEEDS, suggestions.SuggestionDeed.CANCEL_CONFIRMED: print}
    with pytest.raises(ValueError, match=r"not in the table: SuggestionDeed\.CANCEL_CONFIRMED"):
        Engine(states.TABLE, core.GUARDS, odd)
    foreign: Any = suggestions.SuggestionGuard.LATE
    row: SessionRow = TransitionRow(SessionTrigger.CANCEL, SessionState.IDLE, foreign, None)
    with pytest.raises(ValueError, match=r"not in the table: SuggestionGuard\.LATE"):
        Engine(session_table(row), core.GUARDS, core.DEEDS)


def test_a_row_that_leads_nowhere_is_refused() -> None:
    """The Machine has no such state, and says so before anybody is there to go."""
    nowhere: Any = suggestions.SuggestionState.EXPIRED
    row: SessionRow = TransitionRow(SessionTrigger.CANCEL, SessionState.IDLE, None, nowhere)
    with pytest.raises(ValueError, match="EXPIRED"):
        Engine(session_table(row), core.GUARDS, core.DEEDS)


def pairs(table: Any) -> Iterator[tuple[Any, Any]]:
    """Every state with every trigger."""
    return product(table.states, table.triggers)


@pytest.mark.parametrize("engine", ENGINES, ids=TITLES)
def test_every_guard_and_every_deed_is_a_rows(engine: AnyEngine) -> None:
    """No word is left over."""
    guards: Any = engine.table.guards
    deeds: Any = engine.table.deeds
    assert {row.guard for row in engine.table.rows if row.guard} == set(guards)
    assert {deed for row in engine.table.rows for deed in row.deeds} == set(deeds)


def as_the_machine_has_it(engine: AnyEngine, state: Any, trigger: Any) -> list[tuple[Any, ...]]:
    """What the Machine holds for a pair, in its own words: guards, target and deeds of each transition."""
    event = engine.machine.events.get(trigger.name)
    held = event.transitions[state.name] if event is not None and state.name in event.transitions else []
    assert all(condition.target for each in held for condition in each.conditions)
    assert not any(each.prepare or each.before for each in held)
    return [([condition.func for condition in each.conditions], each.dest, each.after) for each in held]


@pytest.mark.parametrize("engine", ENGINES, ids=TITLES)
def test_what_runs_is_what_the_machine_holds(engine: AnyEngine) -> None:
    """Row by row, in the order they are tried, and what the Machine holds is the table."""
    for state, trigger in pairs(engine.table):
        rows = engine.rows_of(state, trigger)
        assert rows == engine.table.rows_of(state, trigger)
        assert as_the_machine_has_it(engine, state, trigger) == [
            (
                [row.guard.value] if row.guard else [],
                row.target.name if row.target else None,
                [deed.value for deed in row.deeds],
            )
            for row in rows
        ]


class Puppet:
    """A model and a doer: its guards hold as it is told, and it notes what it is to do. Other guards are not asked."""

    def __init__(self, state: Any, facts: Mapping[str, bool], deeds: Any) -> None:
        self.state = state
        self.facts = facts
        self.deeds = {each.value for each in deeds}
        self.did: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in self.deeds:
            return partial(self.did.append, name)
        return self.facts[name]


def do(name: str, puppet: Puppet, _: object) -> None:
    getattr(puppet, name)()


def puppeteer(table: Any) -> AnyEngine:
    """An engine of the same table that asks puppets and has them do."""
    return Engine(
        table,
        {each: attrgetter(each.value) for each in table.guards},
        {each: partial(do, each.value) for each in table.deeds},
    )


@pytest.mark.parametrize("engine", ENGINES, ids=TITLES)
def test_the_machine_takes_the_same_row(engine: AnyEngine) -> None:
    """In every state, on every trigger and whatever holds, it would go where the engine goes and do the same."""
    table, ours, taken = engine.table, puppeteer(engine.table), set()
    for state, trigger in pairs(table):
        asked = sorted({row.guard.value for row in table.rows_of(state, trigger) if row.guard})
        for holds in product((False, True), repeat=len(asked)):
            facts = dict(zip(asked, holds, strict=True))
            puppets = [Puppet(state, facts, table.deeds) for _ in range(3)]
            row = ours.fire(puppets[0], trigger)
            reacted = ours.react(puppets[1], puppets[1], trigger)
            try:
                went = engine.machine.events[trigger.name].trigger(puppets[2])
            except MachineError:  # refused
                went = False
            assert reacted is went is (row is not None)
            assert puppets[0].state is puppets[1].state is puppets[2].state
            assert puppets[1].did == puppets[2].did == [deed.value for deed in (row.deeds if row else ())]
            taken.add(row)
    assert {row for row in taken if row} == set(table.rows)


def test_a_deed_that_raises_leaves_the_state_as_the_row_has_changed_it() -> None:
    """What it left undone is not done either; a session that this happens to breaks."""

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    done: list[object] = []
    row: SessionRow = TransitionRow(
        SessionTrigger.CANCEL,
        SessionState.IDLE,
        None,
        SessionState.CLOSED,
        (SessionDeed.QUEUE_ACTION, SessionDeed.STREAM_TEXT, SessionDeed.REPORT_OUTCOME),
    )
    deeds = {
        **core.DEEDS,
        SessionDeed.QUEUE_ACTION: lambda _, about: done.append(about),
        SessionDeed.STREAM_TEXT: broken,
        SessionDeed.REPORT_OUTCOME: broken,
    }
    session = Core()
    with pytest.raises(RuntimeError, match="broken"):
        Engine(session_table(row), core.GUARDS, deeds).react(session, session, SessionTrigger.CANCEL, "it")
    assert (session.state, done) == (SessionState.CLOSED, ["it"])


def test_no_model_is_held_by_the_machine() -> None:
    """An engine keeps no reference to what it has run."""
    suggestion: Any = type("Model", (Suggestion,), {})(
        "s", Proposal(action="a"), Question(id="m", text="", lang=None, at=0.0), 1.0
    )
    gone = weakref.ref(suggestion)
    SUGGESTION_ENGINE.fire(suggestion, suggestions.SuggestionStep.CONFIRM)
    del suggestion
    gc.collect()
    assert gone() is None


def test_a_guard_that_raises_changes_nothing() -> None:
    """The state is decided before it is changed."""

    class Broken(MessageQueue):
        @property
        def is_over_rate(self) -> bool:
            raise RuntimeError("broken")

    session = Core()
    session.messages = Broken(session.out, session.react, 0.0)
    session.state = SessionState.STREAMING
    with pytest.raises(RuntimeError, match="broken"):
        ENGINE.fire(session, SessionTrigger.MESSAGE)
    assert session.state is SessionState.STREAMING


def test_the_drawing_shows_every_row() -> None:
    """The diagram has an arrow per row, guards included, and the matrix a cell per pair."""
    drawing = draw_mermaid(states.TABLE)
    assert drawing.count("-->") >= len(states.TABLE.rows)
    assert "streaming --> executing: streamed [confirm_waits] / finish_turn, run_next_action" in drawing
    table = draw_matrix(states.TABLE)
    assert table.count("\n") == len(SessionState) + 2
    assert "| idle | buffering | - |" in table
