"""Finds the states that a scene sets: the places of things and persons, the holders of things, and their ends; pure.

The rules read the scene (`agent.stories.readings`), and this module compares with the states that hold. Of a thing in
two places, or in a place and with a person, the last statement counts. A value that holds already is not set again. A
locked value is never written over, and neither is the place of a thing whose holder is locked, or the reverse.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from ..lang import Lang
from ..ports.stories import CastMember, EntityState, StateField, StoryContext
from .entities import EntityIndex, index_entities
from .readings import FoundState, SceneReading, read_scene

StatesByField: TypeAlias = Mapping[tuple[str, StateField], EntityState]
"""The states that hold, by entity and field."""

_OTHERS: Final[Mapping[StateField, StateField]] = {"place": "holder", "holder": "place"}
"""The fields that say together where a thing is: the later of the two counts."""


def find_scene_states(context: StoryContext, text: str, seq: int) -> tuple[EntityState, ...]:
    """Return the states that the `text` of the scene `seq`, the next or the last one of a branch, sets.

    Those that another version of the scene set do not hold before it: the version gives way to this one.
    """
    return find_states(
        text,
        context.cast,
        tuple(each for each in context.states if each.seq < seq or each.by == "hand"),
        context.story.lang,
        places=list_places(context),
        seq=seq,
        branch=context.branch.id,
    )


def find_states(
    text: str,
    cast: Iterable[CastMember],
    current: Sequence[EntityState],
    lang: Lang,
    *,
    places: Iterable[str] = (),
    seq: int = 0,
    branch: str = "",
) -> tuple[EntityState, ...]:
    """Return the states that the scene `seq` of `branch` sets, in the order of its statements.

    `current`: the latest states before it. `places`: names of places beside those of `cast`.
    """
    index = index_entities(cast, current, places, lang)
    before = {(each.entity, each.field): each for each in current}
    return choose_states(read_scene(text, index, lang), before, seq, branch)


def choose_states(
    reading: SceneReading, before: StatesByField, seq: int, branch: str
) -> tuple[EntityState, ...]:
    """Return the states that a scene sets by its `reading`, where `before` holds."""
    found: dict[tuple[str, bool], FoundState] = {}
    for each in reading.states:
        key = each.entity, each.field in _OTHERS
        found.pop(key, None)
        found[key] = each
    return tuple(
        EntityState(entity=each.entity, field=each.field, value=each.value, seq=seq, branch=branch, by="rule")
        for each in found.values()
        if find_lock(each, before) is None and not _holds(each, before)
    )


def list_places(context: StoryContext) -> tuple[str, ...]:
    """Return the places of the chapters of a branch."""
    return tuple(dict.fromkeys(each.place for each in context.chapters if each.place))


def index_context(context: StoryContext) -> EntityIndex:
    """Return the index of all names of a branch."""
    return index_entities(context.cast, context.states, list_places(context), context.story.lang)


def find_lock(found: FoundState, before: StatesByField) -> EntityState | None:
    """Return the locked state that forbids to set a found value, where `before` holds; None for none."""
    fields = (found.field, _OTHERS[found.field]) if found.field in _OTHERS else (found.field,)
    states = (before.get((found.entity, each)) for each in fields)
    return next((each for each in states if each is not None and each.locked), None)


def find_location(entity: str, before: StatesByField) -> EntityState | None:
    """Return the state that says where a thing is: the later one of its place and its holder."""
    states = [before[entity, each] for each in _OTHERS if (entity, each) in before]
    return max(states, key=lambda each: each.seq, default=None)


def _holds(found: FoundState, before: StatesByField) -> bool:
    """Tell whether a found value is the one that holds."""
    state = (
        find_location(found.entity, before)
        if found.field in _OTHERS
        else before.get((found.entity, found.field))
    )
    return state is not None and (state.field, state.value.casefold()) == (
        found.field,
        found.value.casefold(),
    )
