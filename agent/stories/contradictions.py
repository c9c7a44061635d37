"""Finds statements of a branch's last scenes that do not agree; they are listed, and block nothing; pure.

Strategy: walk the window scene by scene, from the states that held at its beginning, and compare each scene with the
states before it. Earlier scenes have left their marks in those states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..lang import LANGUAGES, Lang
from ..ports.stories import EntityState, SceneText, StateField, StoryContext
from .readings import SceneReading, read_scene
from .settings import CONTRADICTIONS_MOST
from .states import choose_states, find_location, find_lock, index_context

ContradictionKind: TypeAlias = Literal["holder", "destroyed", "number", "dead", "locked"]
"""Two holders of a thing; a thing used after it was destroyed; two numbers of one thing; a dead person that acts; a
value that the reader has locked.
"""
_States: TypeAlias = dict[tuple[str, StateField], EntityState]
_ENDS: Final = {
    value
    for each in LANGUAGES.values()
    for value in (each.storytelling.words.destroyed, each.storytelling.words.dead)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two values of one entity: `earlier` from the scene `seq`, and `later` from the scene `at`."""

    kind: ContradictionKind
    entity: str
    earlier: str
    seq: int
    later: str
    at: int

    def describe(self, lang: Lang) -> str:
        """Return the contradiction as a sentence."""
        form = LANGUAGES[lang].storytelling.prompting.disagreements[self.kind]
        return form.format(
            entity=self.entity, earlier=self.earlier, seq=self.seq, later=self.later, at=self.at
        )


def find_contradictions(context: StoryContext) -> tuple[Contradiction, ...]:
    """Return the contradictions of the window's scenes, each once, the latest last; `CONTRADICTIONS_MOST` at most."""
    index, lang = index_context(context), context.story.lang
    states: _States = {(each.entity, each.field): each for each in context.window_states}
    by_hand = [each for each in context.states if each.by == "hand"]
    numbers: dict[tuple[str, str], tuple[str, int]] = {}
    found: dict[tuple[str, str, str], Contradiction] = {}
    for scene in context.window:
        reading = read_scene(scene.text, index, lang)
        for each in (*_compare_states(reading, states, scene), *_compare_numbers(reading, numbers, scene)):
            found.setdefault((each.kind, each.entity, each.later), each)
        changed = choose_states(reading, states, scene.seq, scene.branch)
        states |= {(each.entity, each.field): each for each in changed}
        states |= {(each.entity, each.field): each for each in by_hand if each.seq == scene.seq}
    return tuple(found.values())[-CONTRADICTIONS_MOST:]


def describe_contradictions(context: StoryContext) -> tuple[str, ...]:
    """Return the contradictions of the window's scenes as sentences."""
    return tuple(each.describe(context.story.lang) for each in find_contradictions(context))


def _compare_states(reading: SceneReading, states: _States, scene: SceneText) -> Iterator[Contradiction]:
    for entity in sorted(reading.used | reading.actors):
        state = states.get((entity, "condition"))
        if state is not None and state.value.casefold() in _ENDS:
            kind: ContradictionKind = "dead" if entity in reading.actors else "destroyed"
            yield Contradiction(
                kind=kind, entity=entity, earlier=state.value, seq=state.seq, later="", at=scene.seq
            )
    holders: dict[str, str] = {}
    for found in reading.states:
        lock = find_lock(found, states)
        if lock is not None and (lock.field, lock.value.casefold()) != (found.field, found.value.casefold()):
            yield Contradiction(
                kind="locked",
                entity=found.entity,
                earlier=lock.value,
                seq=lock.seq,
                later=found.value,
                at=scene.seq,
            )
        elif found.field == "holder":
            location = find_location(found.entity, states)
            earlier, seq = holders.get(found.entity, ""), scene.seq
            if not earlier and location is not None and location.field == "holder":
                earlier, seq = location.value, location.seq
            if not found.is_change and earlier and earlier != found.value:
                yield Contradiction(
                    kind="holder",
                    entity=found.entity,
                    earlier=earlier,
                    seq=seq,
                    later=found.value,
                    at=scene.seq,
                )
            holders[found.entity] = found.value


def _compare_numbers(
    reading: SceneReading, numbers: dict[tuple[str, str], tuple[str, int]], scene: SceneText
) -> Iterator[Contradiction]:
    for entity, noun, number in reading.numbers:
        earlier, seq = numbers.setdefault((entity, noun), (number, scene.seq))
        if earlier != number:
            yield Contradiction(
                kind="number",
                entity=entity,
                earlier=f"{earlier} {noun}",
                seq=seq,
                later=f"{number} {noun}",
                at=scene.seq,
            )
            numbers[entity, noun] = number, scene.seq
