"""What the rules find in scenes: places, holders and ends, and what moves nothing."""

import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.lang import Lang
from agent.ports.stories import CastMember, EntityState, StateField
from agent.stories.states import find_location, find_scene_states, find_states

from .tales import context, member, scene

DATA = Path(__file__).parents[1] / "data" / "tales"
CAST: dict[Lang, tuple[CastMember, ...]] = {
    "en": (
        member("Mira", "person"),
        member("Jonas", "person"),
        member("Old Tom", "person"),
        member("the chapel", "place"),
        member("the old mill", "place"),
        member("harbour", "place"),
        member("copper key", "thing"),
        member("blue lantern", "thing"),
    ),
    "sv": (
        member("Mira", "person"),
        member("Jonas", "person"),
        member("kapellet", "place"),
        member("kvarnen", "place"),
        member("hamnen", "place"),
        member("kopparnyckeln", "thing"),
        member("den blå lyktan", "thing"),
    ),
}
SIGNS: dict[StateField, str] = {"place": "at", "holder": "with", "condition": "is"}


def found(text: str, lang: Lang, current: Sequence[EntityState] = ()) -> set[str]:
    return {
        f"{each.entity} {SIGNS[each.field]} {each.value}"
        for each in find_states(text, CAST[lang], current, lang)
    }


CASES = tomllib.loads((DATA / "sentences.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("lang", "text", "states"),
    [(lang, text, states) for lang, cases in CASES.items() for text, states in cases.items()],
)
def test_a_sentence_sets_its_states(lang: Lang, text: str, states: list[str]) -> None:
    """And no other; most of those that name a thing and a place set none."""
    assert found(text, lang) == set(states)


@pytest.mark.parametrize("name", ["english", "swedish"])
@pytest.mark.parametrize(("is_cast", "share"), [(True, 0.95), (False, 0.9)])
def test_a_moved_thing_is_at_its_newer_place(name: str, is_cast: bool, share: float) -> None:
    """In words that the rules do not list, whatever else is said of the thing; less often where it has no name yet."""
    words = tomllib.loads((DATA / f"moved_{name}.toml").read_text(encoding="utf-8"))
    rng = random.Random(1)
    right = [is_moved_right(words, rng, is_cast) for _ in range(200)]
    assert sum(right) >= share * len(right)


def is_moved_right(words: dict[str, Any], rng: random.Random, is_cast: bool) -> bool:
    """Tell whether a thing, hidden, named by others, moved, and named again, is at last where it was moved to."""
    thing = rng.choice(words["things"])
    here, there, elsewhere = rng.sample(words["places"], 3)
    cast = [member(each, "person") for each in words["persons"]]
    cast += [member(each, "place") for each in words["places"]]
    cast += [member(each, "thing") for each in words["things"]] if is_cast else []
    hides = words["hides"]
    told = [(hides, there, here)]
    told += [(each, here, elsewhere) for each in rng.sample(words["mentions"], 2)]
    told += [(rng.choice(words["moves"]), here, there)]
    told += [(each, there, elsewhere) for each in rng.sample(words["mentions"], 3)]
    states: dict[tuple[str, StateField], EntityState] = {}
    for seq, (sentence, source, target) in enumerate(told, 1):
        one, other = rng.sample(words["persons"], 2)
        slots = {
            "from": rng.choice(words["phrases"]).format(source),
            "to": rng.choice(words["phrases"]).format(target),
        }
        text = sentence.format(p=one, q=other, thing=words["thing"].format(thing), **slots)
        text = text[:1].upper() + text[1:]
        for each in find_states(text, cast, tuple(states.values()), words["lang"], seq=seq):
            states[each.entity, each.field] = each
    names = (thing, thing.removeprefix(words["article"]))
    places = [find_location(name, states) for name in names]
    return there in [each.value for each in places if each is not None]


def test_what_holds_is_not_set_again() -> None:
    """Unless something else was true in between."""
    key = {"entity": "copper key", "branch": "b", "by": "rule"}
    at = EntityState(field="place", value="harbour", seq=1, **key)  # type: ignore[arg-type]
    taken = EntityState(field="holder", value="Mira", seq=2, **key)  # type: ignore[arg-type]
    text = "The copper key lay in the harbour."
    assert found(text, "en", [at]) == set()
    assert found(text, "en", [at, taken]) == {"copper key at harbour"}


@pytest.mark.parametrize("field", ["place", "holder"])
def test_a_locked_value_is_never_written_over(field: StateField) -> None:
    """Nor is the thing put elsewhere by its other field."""
    lock = EntityState(entity="copper key", field=field, value="x", seq=1, branch="b", by="hand", locked=True)
    assert found("Mira hid the copper key in the chapel.", "en", [lock]) == set()
    assert found("Mira took the copper key.", "en", [lock]) == set()
    assert found("Mira melted the copper key.", "en", [lock]) == {"copper key is destroyed"}


def test_the_last_statement_of_a_scene_counts() -> None:
    """Of one thing there is one place or one holder."""
    text = (
        "Mira took the copper key. She walked to the mill and hid it under a stone. Jonas found the key and gave it "
        "to Old Tom."
    )
    assert found(text, "en") == {"Mira at the old mill", "copper key with Old Tom"}


def test_a_scene_sets_the_states_of_its_branch() -> None:
    """With its place in the branch, and with the places of chapters."""
    told = context([scene(1, "It rained.")], CAST["en"])
    (state,) = find_scene_states(told, "Mira hid the copper key in the chapel.", 2)
    assert (state.seq, state.branch, state.by, state.locked, state.version) == (2, "b", "rule", False, "")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "— " * 4000, "the " * 8000, '"' * 8000, "key in the mill, " * 2000, "😀" * 8000]
)
def test_any_text_is_read(text: str) -> None:
    """Within its time."""
    assert found(text, "en") <= {"copper key at the old mill"}
