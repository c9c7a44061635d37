"""What a turn is found by."""

from dataclasses import replace
from itertools import pairwise

import pytest

from agent.recall.columns import NONE
from agent.recall.documents import (
    AROUND,
    LEAST,
    LONG,
    MOST,
    PART,
    part_terms,
    reach_of,
    read_terms,
    window_terms,
)
from agent.recall.rows import RecallRows
from tests.memory.made import MINE
from tests.memory.recall.made import TALK, turn


def test_a_text_is_read_into_what_it_says() -> None:
    """Stems of content words, how much of it asks, whether it says when something was."""
    said = read_terms("I went hiking yesterday. Did you?", "en")
    assert said.stems == ("went", "hike", "yesterday")
    assert (said.size, said.asks, said.timed, said.parts) == (6, 0.5, True, ())


@pytest.mark.parametrize(
    ("text", "lang", "timed"),
    [
        ("We met in June.", "en", True),
        ("It was in 2019.", "en", True),
        ("Two weeks ago, I think.", "en", True),
        ("I may go.", "en", False),
        ("She has 2019 stamps? No, 20191.", "en", True),
        ("I bought 20 apples.", "en", False),
        ("Vi sågs i förrgår.", "sv", True),
        ("Vi köpte äpplen.", "sv", False),
    ],
)
def test_it_is_told_what_says_when(text: str, lang: str, timed: bool) -> None:
    """Days, months, years and lengths of time, in every language; not the verb that a month's name is."""
    assert read_terms(text, lang).timed is timed


def test_a_window_is_about_as_long_whatever_its_own_words() -> None:
    """The fewer neighbours, the more own words; own ones twice."""
    assert [reach_of(own) for own in (0, 15, 35, 1000)] == [MOST, AROUND - 15, LEAST, LEAST]
    assert window_terms(["a"], ["b"], ["c"], ["d"]) == ["a", "a", "b", "c", "d"]


def test_a_long_message_has_parts_of_whole_sentences() -> None:
    """Each begins with a sentence and has at least PART words, but the last; a short one has none."""
    sentence = "Alpha bravo charlie delta echo foxtrot golf. "
    said = read_terms(sentence * 12, "en")
    assert said.size > LONG
    assert said.parts[0] == 0
    assert all(later - at >= PART and at % 7 == 0 for at, later in pairwise(said.parts))
    assert len(list(part_terms(said.stems, said.parts, ()))) == len(said.parts)
    assert read_terms(sentence * 3, "en").parts == ()


def test_neighbours_are_of_the_same_sitting_and_thread() -> None:
    """Whatever was said between them elsewhere."""
    rows = RecallRows()
    for each in (
        turn(1, "apples"),
        turn(2, "elsewhere", scope=replace(MINE, thread="other")),
        turn(3, "pears"),
        turn(4, "plums", sitting=1),
    ):
        rows.add_turn(each)
    before, after = rows.neighbour_words(2)
    assert ([rows.stems[word] for word in before], list(after)) == (["appl"], [])
    assert rows.neighbours(2) == (0, NONE)
    assert rows.affected_turns(2) == [0]


def test_a_turn_is_taken_in_once_and_a_refused_answer_never() -> None:
    """By its number."""
    rows = RecallRows()
    assert rows.add_turn(TALK[0]) == 0
    assert rows.add_turn(TALK[0]) == -1
    refused = turn(9, "no", "assistant")
    assert rows.add_turn(replace(refused, remark=replace(refused.remark, blocked=True))) == -1
