"""State tables: rows of data that run on `transitions` and draw themselves as Mermaid.

A table is the whole truth about what may happen: a (state, trigger) pair without a row is refused and changes
nothing. A row names what is done about it (`does`), so that no code needs to ask which state it is in: the model's
methods of those names run after the state has changed, and decide nothing. Guards are names of boolean attributes of
the model; both kinds of name are checked when a model class is bound, not when a row is first taken.

One Machine serves every model of a table. Models are never registered with it: a registered model is held by the
machine until it is removed, a leak per session.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from transitions import EventData, Machine

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)


@dataclass(frozen=True, slots=True)
class Row(Generic[S, T]):
    """One transition: on `trigger` in `source`, when `guard` holds, go to `target` (None stays) and do `does`.

    Rows of one (source, trigger) pair are tried in order; the first whose guard holds is taken.
    """

    trigger: T
    source: S
    guard: str | None
    target: S | None
    does: tuple[str, ...] = ()


def rows(
    trigger: T, sources: Iterable[S], guard: str | None, target: S | None, *does: str
) -> tuple[Row[S, T], ...]:
    """Return one row per source: a pattern that draws every arrow, where a wildcard would draw none."""
    return tuple(Row(trigger, source, guard, target, does) for source in sources)


@dataclass(frozen=True)
class Table(Generic[S, T]):
    """A state table. `rows` is all there is; `title` heads its diagram."""

    title: str
    states: type[S]
    triggers: type[T]
    initial: S
    rows: tuple[Row[S, T], ...]

    def without(self, row: Row[S, T]) -> "Table[S, T]":
        """Return the table less one row."""
        return replace(self, rows=tuple(each for each in self.rows if each is not row))

    def unguarded(self, row: Row[S, T]) -> "Table[S, T]":
        """Return the table with one row's guard removed."""
        return replace(
            self, rows=tuple(replace(each, guard=None) if each is row else each for each in self.rows)
        )

    def row(self, source: S, trigger: T) -> tuple[Row[S, T], ...]:
        """Return the rows of one pair, in the order they are tried; empty when the pair is refused."""
        return tuple(each for each in self.rows if each.source is source and each.trigger is trigger)


class Engine(Generic[S, T]):
    """Runs one table for any number of models, which keep their state in an attribute `state`.

    model: the class of the models, which has the guards. doer: the class that has the methods the rows name.
    Raises ValueError when one lacks a name.
    """

    def __init__(self, table: Table[S, T], model: type, doer: type) -> None:
        missing = {row.guard for row in table.rows if row.guard and not hasattr(model, row.guard)}
        missing |= {name for row in table.rows for name in row.does if not hasattr(doer, name)}
        if missing:
            raise ValueError(
                f"{table.title}: the table names what is not there: {', '.join(sorted(missing))}"
            )
        self.table = table
        self._machine = Machine(
            model=None,
            states=table.states,
            initial=table.initial,
            auto_transitions=False,
            queued=False,
            send_event=True,
            after_state_change=_note,
        )
        self._rows: dict[Any, Row[S, T]] = {}
        self._pairs = {(row.source, row.trigger) for row in table.rows}
        for row in table.rows:
            self._machine.add_transition(row.trigger.name, row.source, row.target, conditions=row.guard)
            event = self._machine.events[row.trigger.name]
            self._rows[event.transitions[row.source.name][-1]] = row
        self._events = {
            trigger: self._machine.events[trigger.name]
            for trigger in table.triggers
            if trigger.name in self._machine.events
        }

    def fire(self, model: Any, trigger: T) -> Row[S, T] | None:
        """Take the row for `trigger`: set `model.state` and return the row; None, and no change, when refused.

        Nothing of the model is called but its guards; a guard that raises leaves the state as it was.
        """
        if (model.state, trigger) not in self._pairs:
            return None
        taken: list[Any] = []
        self._events[trigger].trigger(model, taken=taken)
        return self._rows[taken[0]] if taken else None

    def react(self, model: Any, doer: object, trigger: T, subject: object = None) -> bool:
        """Take the row for `trigger`, then do what it says: each of the doer's methods is called with `subject`.

        Returns whether there was such a row.
        """
        row = self.fire(model, trigger)
        if row is None:
            return False
        for name in row.does:
            method: Callable[[object], None] = getattr(doer, name)
            method(subject)
        return True


def _note(event: EventData) -> None:
    event.kwargs["taken"].append(event.transition)


def mermaid(table: Table[Any, Any]) -> str:
    """Return the table as a Mermaid `stateDiagram-v2`, rows in the table's own order, guards in brackets."""
    lines = ["stateDiagram-v2", f"    [*] --> {table.initial.value}"]
    for row in table.rows:
        target = row.source if row.target is None else row.target
        lines.append(f"    {row.source.value} --> {target.value}: {_label(row)}")
    leaving = {row.source for row in table.rows if row.target is not None and row.target is not row.source}
    reached = {row.target for row in table.rows}
    lines += [
        f"    {state.value} --> [*]" for state in table.states if state in reached and state not in leaving
    ]
    return "\n".join(lines) + "\n"


def _label(row: Row[Any, Any]) -> str:
    guard = f" [{row.guard}]" if row.guard else ""
    does = f" / {', '.join(row.does)}" if row.does else ""
    return f"{row.trigger.value}{guard}{does}"


def matrix(table: Table[Any, Any]) -> str:
    """Return the table as a Markdown matrix, a state per row and a trigger per column; "-" is refused."""
    triggers = list(table.triggers.__members__.values())
    lines = [
        "| state | " + " | ".join(trigger.value for trigger in triggers) + " |",
        "| --- " * (len(triggers) + 1) + "|",
    ]
    lines += [
        f"| {state.value} | " + " | ".join(_cell(table.row(state, trigger)) for trigger in triggers) + " |"
        for state in table.states
    ]
    return "\n".join(lines) + "\n"


def _cell(pair: Sequence[Row[Any, Any]]) -> str:
    return (
        "<br>".join(
            (f"[{row.guard}] " if row.guard else "") + ("stays" if row.target is None else row.target.value)
            for row in pair
        )
        or "-"
    )
