"""State tables: rows of data that run on `transitions` and draw themselves as Mermaid.

A table is the whole truth about what may happen: a (state, trigger) pair without a row is refused and changes
nothing. A row names what is done about it (`does`), so that no code needs to ask which state it is in: the functions
of those names run after the state has changed, and decide nothing. Guards and deeds are members of the table's own
enumerations; for each, whoever makes the engine has one function, in a dictionary that names its method, so that a
type checker and a reader see what a row calls. Both dictionaries are checked when the engine is made.

A Machine of `transitions` owns each table and says whether it is one. What it holds is then read back into a look-up
by state and trigger, which is what runs: a trigger costs a twentieth of the Machine's own. Models are never registered
with the Machine: a registered model is held by it until it is removed, a leak per session.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from transitions import Machine, Transition

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)
G = TypeVar("G", bound=Enum)
D = TypeVar("D", bound=Enum)


class Model(Protocol[S]):
    """What a table runs for: its state is its own."""

    state: S


class Word(Enum):
    """A state, trigger, guard or deed. Each is there once, so it is hashed by what it is, at no cost."""

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Row(Generic[S, T, G, D]):
    """One transition: on `trigger` in `source`, when `guard` holds, go to `target` (None stays) and do `does`.

    Rows of one (source, trigger) pair are tried in order; the first whose guard holds is taken.
    """

    trigger: T
    source: S
    guard: G | None
    target: S | None
    does: tuple[D, ...] = ()


def rows(
    trigger: T, sources: Iterable[S], guard: G | None, target: S | None, *does: D
) -> tuple[Row[S, T, G, D], ...]:
    """Return one row per source: a pattern that draws every arrow, where a wildcard would draw none."""
    return tuple(Row(trigger, source, guard, target, does) for source in sources)


@dataclass(frozen=True)
class Table(Generic[S, T, G, D]):
    """A state table. `rows` is all there is; `title` heads its diagram."""

    title: str
    states: type[S]
    triggers: type[T]
    guards: type[G]
    deeds: type[D]
    initial: S
    rows: tuple[Row[S, T, G, D], ...]

    def without(self, row: Row[S, T, G, D]) -> "Table[S, T, G, D]":
        """Return the table less one row."""
        return replace(self, rows=tuple(each for each in self.rows if each is not row))

    def unguarded(self, row: Row[S, T, G, D]) -> "Table[S, T, G, D]":
        """Return the table with one row's guard removed."""
        return replace(
            self, rows=tuple(replace(each, guard=None) if each is row else each for each in self.rows)
        )

    def row(self, source: S, trigger: T) -> tuple[Row[S, T, G, D], ...]:
        """Return the rows of one pair, in the order they are tried; empty when the pair is refused."""
        return tuple(each for each in self.rows if each.source is source and each.trigger is trigger)


# A row as it runs: whether it is taken, where it leads, what it does, and the row itself.
_Way: TypeAlias = tuple[
    Callable[[Any], bool] | None, S | None, tuple[Callable[[Any, Any], None], ...], Row[S, T, G, D]
]


class Engine(Generic[S, T, G, D]):
    """Runs one table for any number of models, which keep their state in an attribute `state`.

    guards: what tells of a model whether a guard holds. deeds: what does each deed, given a doer and what the
    trigger is about. machine: the table's owner. Raises ValueError when a guard, a deed or a state of the table is not
    there, or one is there that the table does not know.
    """

    def __init__(
        self,
        table: Table[S, T, G, D],
        guards: Mapping[G, Callable[[Any], bool]],
        deeds: Mapping[D, Callable[[Any, Any], None]],
    ) -> None:
        _check(table.title, table.guards, guards, (row.guard for row in table.rows if row.guard))
        _check(table.title, table.deeds, deeds, (deed for row in table.rows for deed in row.does))
        self.table = table
        self.machine = Machine(
            model=None, states=table.states, initial=table.initial, auto_transitions=False, queued=False
        )
        for row in table.rows:
            self.machine.add_transition(
                row.trigger.name,
                row.source,
                row.target,
                conditions=None if row.guard is None else str(row.guard.value),
                after=[deed.value for deed in row.does],
            )
        self._ways: dict[tuple[S, T], tuple[_Way[S, T, G, D], ...]] = {
            (self._state(source), trigger): tuple(
                self._way(trigger, each, guards, deeds) for each in transitions
            )
            for trigger in table.triggers
            if trigger.name in self.machine.events
            for source, transitions in self.machine.events[trigger.name].transitions.items()
        }

    def _way(
        self,
        trigger: T,
        transition: Transition,
        guards: Mapping[G, Callable[[Any], bool]],
        deeds: Mapping[D, Callable[[Any, Any], None]],
    ) -> _Way[S, T, G, D]:
        """Read one transition of the Machine back."""
        guard = next((self.table.guards(each.func) for each in transition.conditions), None)
        target = None if transition.dest is None else self._state(transition.dest)
        does = tuple(self.table.deeds(name) for name in transition.after)
        row = Row(trigger, self._state(transition.source), guard, target, does)
        holds = None if guard is None else guards[guard]
        return holds, target, tuple(deeds[deed] for deed in does), row

    def _state(self, name: str) -> S:
        """Return the Machine's state of this name; raises ValueError where it has none."""
        state: Any = self.machine.get_state(name).value
        return cast("S", state)

    def rows(self, source: S, trigger: T) -> tuple[Row[S, T, G, D], ...]:
        """Return the rows of one pair as they run, in the order they are tried; empty when the pair is refused."""
        return tuple(row for _, _, _, row in self._ways.get((source, trigger), ()))

    def fire(self, model: Model[S], trigger: T) -> Row[S, T, G, D] | None:
        """Take the row for `trigger`: set `model.state` and return the row; None, and no change, when refused.

        Nothing of the model is called but its guards; a guard that raises leaves the state as it was.
        """
        way = self._take(model, trigger)
        return None if way is None else way[3]

    def react(self, model: Model[S], doer: object, trigger: T, subject: object = None) -> bool:
        """Take the row for `trigger`, then do what it says: each deed is done by the doer about `subject`.

        Returns whether there was such a row. A deed that raises leaves the state as the row has changed it.
        """
        way = self._take(model, trigger)
        if way is None:
            return False
        for do in way[2]:
            do(doer, subject)
        return True

    def _take(self, model: Model[S], trigger: T) -> _Way[S, T, G, D] | None:
        for way in self._ways.get((model.state, trigger), ()):
            if way[0] is None or way[0](model):
                if way[1] is not None:
                    model.state = way[1]
                return way
        return None


def _check(title: str, known: type[Enum], given: Mapping[Any, Any], named: Iterable[Enum]) -> None:
    """Raise ValueError unless `given` has every word of `known` and that a row names, and no other."""
    words, asked = set(known), set(named)
    missing = {str(each) for each in words | asked if each not in given}
    foreign = {str(each) for each in set(given) | asked if each not in words}
    if missing or foreign:
        raise ValueError(
            f"{title}: nothing is there for: {', '.join(sorted(missing)) or '-'}; "
            f"not of the table: {', '.join(sorted(foreign)) or '-'}"
        )


def mermaid(table: Table[Any, Any, Any, Any]) -> str:
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


def _label(row: Row[Any, Any, Any, Any]) -> str:
    guard = f" [{row.guard.value}]" if row.guard else ""
    does = f" / {', '.join(deed.value for deed in row.does)}" if row.does else ""
    return f"{row.trigger.value}{guard}{does}"


def matrix(table: Table[Any, Any, Any, Any]) -> str:
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


def _cell(pair: Sequence[Row[Any, Any, Any, Any]]) -> str:
    return (
        "<br>".join(
            (f"[{row.guard.value}] " if row.guard else "")
            + ("stays" if row.target is None else row.target.value)
            for row in pair
        )
        or "-"
    )
