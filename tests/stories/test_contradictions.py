"""Statements that do not agree: listed once, in words of the story's language."""

import pytest

from agent.lang import LANGUAGES, Lang
from agent.ports.stories import EntityState
from agent.stories.contradictions import find_contradictions
from agent.stories.settings import CONTRADICTIONS_MOST

from .tales import context, member, scene

CAST = (
    member("Mira", "person"),
    member("Jonas", "person"),
    member("the mill", "place"),
    member("the chapel", "place"),
    member("copper key", "thing"),
)


def listed(*texts: str, states: tuple[EntityState, ...] = (), lang: Lang = "en") -> list[str]:
    scenes = [scene(seq, text) for seq, text in enumerate(texts, 1)]
    return [each.describe(lang) for each in find_contradictions(context(scenes, CAST, (), states, lang))]


AT_HOLDER = "copper key was with Mira in scene 1, and Jonas has it in scene {}."
AT_USE = "copper key was destroyed in scene 1, and is used in scene 3."
AT_DEATH = "Jonas was dead in scene 1, and acts in scene 3."
AT_NUMBER = "the mill: forty steps in scene 1, 50 steps in scene 2."
HAS = "Mira has the copper key."
MELTS = "Jonas melted the copper key."
STEPS = "The mill had forty steps."


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ((HAS, "Jonas had the copper key."), [AT_HOLDER.format(2)]),
        ((HAS + " Jonas has the copper key.",), [AT_HOLDER.format(1)]),
        ((HAS, "Jonas took the copper key."), []),
        ((HAS, "Mira gave Jonas the copper key. Jonas held the copper key."), []),
        ((HAS, "Mira hid the copper key in the mill.", "Jonas has the copper key."), []),
        ((MELTS, "Rain.", "Mira hid the copper key in the mill."), [AT_USE]),
        ((MELTS, "Mira remembered the copper key."), []),
        (("Jonas died.", "Mira thought of Jonas.", "Jonas walked to the mill."), [AT_DEATH]),
        ((STEPS, "The mill has 50 steps.", "The mill has 50 steps."), [AT_NUMBER]),
        ((STEPS, "The chapel had fifty steps.", "The mill has forty steps and two doors."), []),
    ],
)
def test_what_does_not_agree_is_listed(texts: tuple[str, ...], says: list[str]) -> None:
    """Two holders, a destroyed thing in use, the dead that act, and two numbers; a change is none."""
    assert listed(*texts) == says


def test_what_contradicts_a_lock_is_listed_once() -> None:
    """However often it is said; the locked value itself does not contradict."""
    lock = EntityState(
        entity="copper key", field="place", value="the mill", seq=0, branch="b", by="hand", locked=True
    )
    said = listed(
        "The copper key lay in the chapel.",
        "The copper key lay in the chapel.",
        "The copper key lay in the mill.",
        "Jonas took the copper key.",
        states=(lock,),
    )
    assert said == [
        "copper key: the reader has fixed the mill, and scene 1 says the chapel.",
        "copper key: the reader has fixed the mill, and scene 4 says Jonas.",
    ]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_words_of_all_languages_are_there(lang: Lang) -> None:
    """Each kind has its sentence."""
    dead = LANGUAGES[lang].storytelling.words.dead
    state = EntityState(entity="Jonas", field="condition", value=dead, seq=0, branch="b", by="hand")
    assert len(listed("Jonas walked. Jonas gick bort.", states=(state,), lang=lang)) == 1


def test_the_list_is_bounded() -> None:
    """The latest are kept."""
    texts = [f"The mill has {number} steps." for number in range(10, 29)]
    many = [" ".join(f"The mill has {number} {noun}." for noun in "abc") for number in range(10, 29)]
    assert len(listed(*texts)) == len(texts) - 1
    assert len(listed(*many)) == CONTRADICTIONS_MOST
