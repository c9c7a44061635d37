"""State tables: rows of data that run on `transitions` and draw themselves as Mermaid.

A table is complete: a (state, trigger) pair without a row is refused and changes nothing. A row lists its deeds
(`deeds`), so that no code needs to ask for the current state: the functions of the deeds run after the state has
changed, and decide nothing. Guards and deeds are members of the table's own enumerations. The maker of an `Engine`
gives one function for each, in a dictionary that names the method, so that a type checker and a reader see the calls
of a row. Both dictionaries are checked when the engine is made.

The library `transitions` is here for the definition of a state machine, not for its speed:

- `Machine` is built from every table (`_build_machine`). It owns the states, rejects a row with an unknown state, and
  fixes the order and meaning of the transitions, so a table has exactly the meaning that `transitions` gives it.
- `Engine` reads the transitions of the `Machine` back into a look-up by state and trigger, and runs that look-up: a
  trigger costs a twentieth of the Machine's own.
- Models are never registered with the `Machine`, which would hold each model until it is removed: a leak per session.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from transitions import Machine, Transition

S = TypeVar("S", bound=Enum)
T = TypeVar("T", bound=Enum)
G = TypeVar("G", bound=Enum)
D = TypeVar("D", bound=Enum)


class Model(Protocol[S]):
    """An object that a table runs for; it keeps its own `state`."""

    state: S


class TableWord(Enum):
    """A state, trigger, guard or deed. Each member exists once, so it is hashed by identity, at no cost."""

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class TransitionRow(Generic[S, T, G, D]):
    """One transition: on `trigger` in `source`, when `guard` holds, go to `target` (`None` stays) and do `deeds`.

    Rows of one (source, trigger) pair are tried in order; the first whose guard holds is taken.
    """

    trigger: T
    source: S
    guard: G | None
    target: S | None
    deeds: tuple[D, ...] = ()


def make_rows(
    trigger: T, sources: S | Iterable[S], guard: G | None, target: S | None, *deeds: D
) -> tuple[TransitionRow[S, T, G, D], ...]:
    """Return a row for each of `sources`: a pattern that draws every arrow, where a wildcard would draw none."""
    each_source = (sources,) if isinstance(sources, Enum) else sources
    return tuple(TransitionRow(trigger, source, guard, target, deeds) for source in each_source)


@dataclass(frozen=True, kw_only=True)
class StateTable(Generic[S, T, G, D]):
    """A state table. `rows`: every transition that may happen. `title`: the heading of the diagram."""

    title: str
    states: type[S]
    triggers: type[T]
    guards: type[G]
    deeds: type[D]
    initial: S
    rows: tuple[TransitionRow[S, T, G, D], ...]

    def rows_of(self, source: S, trigger: T) -> tuple[TransitionRow[S, T, G, D], ...]:
        """Return the rows of one pair, in the order in which they are tried; empty when the pair is refused."""
        return tuple(each for each in self.rows if each.source is source and each.trigger is trigger)


# A compiled row: the guard's function, the target, the deeds' functions, and the row itself.
_CompiledRow: TypeAlias = tuple[
    Callable[[Any], bool] | None, S | None, tuple[Callable[[Any, Any], None], ...], TransitionRow[S, T, G, D]
]


class Engine(Generic[S, T, G, D]):
    """Runs one table for any number of models, each with its state in an attribute `state`.

    `guards`: for each guard, the function that tells whether the guard holds for a model. `deeds`: for each deed, the
    function to call with the doer and the trigger's subject. `machine`: the `Machine` that was built from the table.
    Raises `ValueError` when a guard or deed of the table has no function, when a function belongs to no guard or deed
    of the table, or when a row names an unknown state.
    """

    def __init__(
        self,
        table: StateTable[S, T, G, D],
        guards: Mapping[G, Callable[[Any], bool]],
        deeds: Mapping[D, Callable[[Any, Any], None]],
    ) -> None:
        _check_words(table.title, table.guards, guards, (row.guard for row in table.rows if row.guard))
        _check_words(table.title, table.deeds, deeds, (deed for row in table.rows for deed in row.deeds))
        self.table = table
        self.machine = _build_machine(table)
        self._compiled: dict[tuple[S, T], tuple[_CompiledRow[S, T, G, D], ...]] = {
            (self._state(source), trigger): tuple(
                self._compile_row(trigger, each, guards, deeds) for each in transitions
            )
            for trigger in table.triggers
            if trigger.name in self.machine.events
            for source, transitions in self.machine.events[trigger.name].transitions.items()
        }

    def _compile_row(
        self,
        trigger: T,
        transition: Transition,
        guards: Mapping[G, Callable[[Any], bool]],
        deeds: Mapping[D, Callable[[Any, Any], None]],
    ) -> _CompiledRow[S, T, G, D]:
        """Compile one transition of the Machine."""
        guard = next((self.table.guards(each.func) for each in transition.conditions), None)
        target = None if transition.dest is None else self._state(transition.dest)
        words = tuple(self.table.deeds(name) for name in transition.after)
        row = TransitionRow(trigger, self._state(transition.source), guard, target, words)
        holds = None if guard is None else guards[guard]
        return holds, target, tuple(deeds[word] for word in words), row

    def _state(self, name: str) -> S:
        """Return the Machine's state `name`. Raises `ValueError` for an unknown state."""
        state: Any = self.machine.get_state(name).value
        return cast("S", state)

    def rows_of(self, source: S, trigger: T) -> tuple[TransitionRow[S, T, G, D], ...]:
        """Return the compiled rows of one pair, in the order in which they are tried; empty when it is refused."""
        return tuple(row for _, _, _, row in self._compiled.get((source, trigger), ()))

    def fire(self, model: Model[S], trigger: T) -> TransitionRow[S, T, G, D] | None:
        """Take the row for `trigger`: set `model.state` and return the row; `None`, and no change, when refused.

        Only the guards are called; a guard that raises leaves the state as it was.
        """
        compiled = self._take_row(model, trigger)
        if compiled is None:
            return None
        _, _, _, row = compiled
        return row

    def react(self, model: Model[S], doer: object, trigger: T, subject: object = None) -> bool:
        """Take the row for `trigger`, then do its deeds: each function is called with `doer` and `subject`.

        Return whether there was such a row. A deed that raises leaves the new state in place.
        """
        compiled = self._take_row(model, trigger)
        if compiled is None:
            return False
        _, _, deeds, _ = compiled
        for deed in deeds:
            deed(doer, subject)
        return True

    def _take_row(self, model: Model[S], trigger: T) -> _CompiledRow[S, T, G, D] | None:
        for compiled in self._compiled.get((model.state, trigger), ()):
            holds, target, _, _ = compiled
            if holds is None or holds(model):
                if target is not None:
                    model.state = target
                return compiled
        return None


def _build_machine(table: StateTable[Any, Any, Any, Any]) -> Machine:
    """Return `table` as a `Machine` without models. Raises `ValueError` when a row names an unknown state."""
    machine = Machine(
        model=None, states=table.states, initial=table.initial, auto_transitions=False, queued=False
    )
    for row in table.rows:
        machine.add_transition(
            row.trigger.name,
            row.source,
            row.target,
            conditions=None if row.guard is None else str(row.guard.value),
            after=[deed.value for deed in row.deeds],
        )
    return machine


def _check_words(
    title: str, words_enum: type[Enum], functions: Mapping[Any, Any], used_words: Iterable[Enum]
) -> None:
    """Raise `ValueError` unless the keys of `functions` are exactly the words of the enumeration `words_enum`.

    `used_words`: the words that rows name; a word outside the enumeration is an error, too.
    """
    words, used = set(words_enum), set(used_words)
    missing = {str(each) for each in words | used if each not in functions}
    foreign = {str(each) for each in set(functions) | used if each not in words}
    if missing or foreign:
        raise ValueError(
            f"{title}: no function is given for: {', '.join(sorted(missing)) or '-'}; "
            f"not in the table: {', '.join(sorted(foreign)) or '-'}"
        )


def draw_mermaid(table: StateTable[Any, Any, Any, Any]) -> str:
    """Return the table as a Mermaid `stateDiagram-v2`, rows in the table's own order, guards in brackets."""
    lines = ["stateDiagram-v2", f"    [*] --> {table.initial.value}"]
    for row in table.rows:
        target = row.source if row.target is None else row.target
        lines.append(f"    {row.source.value} --> {target.value}: {_label_of(row)}")
    leaving = {row.source for row in table.rows if row.target is not None and row.target is not row.source}
    reached = {row.target for row in table.rows}
    lines += [
        f"    {state.value} --> [*]" for state in table.states if state in reached and state not in leaving
    ]
    return "\n".join(lines) + "\n"


def _label_of(row: TransitionRow[Any, Any, Any, Any]) -> str:
    guard = f" [{row.guard.value}]" if row.guard else ""
    deeds = f" / {', '.join(deed.value for deed in row.deeds)}" if row.deeds else ""
    return f"{row.trigger.value}{guard}{deeds}"


def draw_matrix(table: StateTable[Any, Any, Any, Any]) -> str:
    """Return the table as a Markdown matrix, a state per row and a trigger per column; "-" is refused."""
    triggers = list(table.triggers.__members__.values())
    lines = [
        "| state | " + " | ".join(trigger.value for trigger in triggers) + " |",
        "| --- " * (len(triggers) + 1) + "|",
    ]
    lines += [
        f"| {state.value} | "
        + " | ".join(_cell_of(table.rows_of(state, trigger)) for trigger in triggers)
        + " |"
        for state in table.states
    ]
    return "\n".join(lines) + "\n"


def _cell_of(pair: Sequence[TransitionRow[Any, Any, Any, Any]]) -> str:
    return (
        "<br>".join(
            (f"[{row.guard.value}] " if row.guard else "")
            + ("stays" if row.target is None else row.target.value)
            for row in pair
        )
        or "-"
    )
