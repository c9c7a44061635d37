"""Statements of a story that branches: which of them a search finds, in the index and in the tail."""

import pytest

from agent.recall.bounds import LINEAGES, SEQ_MAX, Lineage, LineageBounds
from agent.recall.index import RecallIndex
from agent.recall.query import read_query
from agent.recall.rank import WEIGHTS, NameFinder, rank_rows
from agent.recall.rows import Statement

TRUNK, LEFT, RIGHT = 1, 2, 3


def statement(text: str, place: int = TRUNK, seq: int = 1) -> Statement:
    return Statement(text, f"{place}.{seq}", place, seq, "en")


def story(*statements: Statement, commit: bool) -> RecallIndex:
    """Return the index of statements of scenes, one each."""
    index = RecallIndex(LINEAGES)
    for each in statements:
        index.add_statements([each])
    if commit:
        index.commit()
    return index


def found(index: RecallIndex, text: str, *lineage: tuple[int, int]) -> set[str]:
    """Return the sources of the rows that any arm finds."""
    asked = read_query(text, "en", (), 0, langs=index.rows.langs, known=index.rows.stem_number)
    scores = index.find(asked, LineageBounds(lineage))
    return {index.rows.messages[row] for row in (*scores.words, *scores.grams)}


BRANCHED = (
    statement("The key lay under the hearth.", TRUNK, 1),
    statement("The key was gone.", TRUNK, 5),
    statement("The key hung in the mill.", LEFT, 3),
    statement("The key sank into the well.", RIGHT, 3),
)


@pytest.mark.parametrize("commit", [False, True])
def test_a_search_finds_its_lineage_only(commit: bool) -> None:
    """Neither a sibling's scenes, nor those that the parent was told after the cut."""
    index = story(*BRANCHED, commit=commit)
    assert found(index, "key", (LEFT, SEQ_MAX), (TRUNK, 2)) == {"1.1", "2.3"}
    assert found(index, "key", (RIGHT, 3), (TRUNK, 1)) == {"1.1", "3.3"}
    assert found(index, "key", (RIGHT, 2), (TRUNK, 5)) == {"1.1", "1.5"}
    assert found(index, "key", (TRUNK, 0)) == found(index, "key") == set()
    whole = tuple((place, SEQ_MAX) for place in (TRUNK, LEFT, RIGHT))
    assert found(index, "key", *whole) == {"1.1", "1.5", "2.3", "3.3"}


@pytest.mark.parametrize("commit", [False, True])
def test_an_end_of_a_lineage_may_be_any_number(commit: bool) -> None:
    """One beyond all seqs ends with its own branch, and one below 0 lets nothing in."""
    index = story(*BRANCHED, commit=commit)
    assert found(index, "key", (TRUNK, SEQ_MAX << 2 | 3)) == {"1.1", "1.5"}
    assert found(index, "key", (TRUNK, -1), (LEFT, 3)) == {"2.3"}


@pytest.mark.parametrize("commit", [False, True])
def test_words_count_by_their_lineage(commit: bool) -> None:
    """A word that is common among other branches is as rare as it is in this one, in number and in rank."""
    others = [statement("The lantern burned, lantern by lantern.", RIGHT, seq) for seq in range(1, 40)]
    own = (statement("A lantern stood by the door."), statement("The door was shut.", seq=2))
    alone, among = story(*own, commit=commit), story(*own, *others, commit=commit)
    bounds = LineageBounds(((TRUNK, SEQ_MAX),))
    for index in (alone, among):
        assert index.count_documents(bounds) == 2
        assert (index.count_holding("lantern", bounds), index.count_holding("door", bounds)) == (1, 2)
    asked = read_query("lantern door", "en", (), 0)
    one, other = (each.find(asked, bounds).words for each in (alone, among))
    assert sorted(one, key=one.__getitem__) == sorted(other, key=other.__getitem__) == [1, 0]


@pytest.mark.parametrize("commit", [False, True])
def test_statements_of_one_text_are_neighbours(commit: bool) -> None:
    """A statement is found by the words beside it, and by none of another text."""
    index = RecallIndex(LINEAGES)
    first = index.add_statements([statement("Mira took the key."), statement("She hid it in the mill.")])
    second = index.add_statements([statement("Rain fell on the roof.", seq=2)])
    if commit:
        index.commit()
    asked = read_query("key", "en", (), 0)
    assert set(index.find(asked, LineageBounds(((TRUNK, SEQ_MAX),))).words) == set(first)
    assert index.rows.neighbours(first[0]) == (-1, first[1])
    assert index.rows.neighbours(second[0]) == (-1, -1)


@pytest.mark.parametrize("commit", [False, True])
def test_removed_statements_are_found_no_more(commit: bool) -> None:
    """At once and once it is written, and their words are in no text; others take their place."""
    index = RecallIndex(LINEAGES)
    rows = index.add_statements([statement("Mira took the key."), statement("She hid it in the mill.")])
    if commit:
        index.commit()
    index.remove_statements(rows)
    again = index.add_statements([statement("Mira lost the key.")])
    for _ in range(2):
        asked = read_query("key mill", "en", (), 0)
        assert set(index.find(asked, LineageBounds(((TRUNK, SEQ_MAX),))).words) == set(again)
        index.commit()
    assert [index.rows.texts[row] for row in rows] == ["", ""]


def test_a_row_can_be_given_more_weight() -> None:
    """Such as one that has a name of several words, whole; without that the ranking is as it was."""
    texts = ("The key is in the old mill.", "The key is old.", "The mill is old.", "The key is in the yard.")
    index = story(*[statement(text, seq=seq) for seq, text in enumerate(texts, 1)], commit=False)
    rows, asked = index.rows, read_query("key mill", "en", (), 0)
    scores = index.find(asked, LineageBounds(((TRUNK, SEQ_MAX),))).words
    number = {stem: at for at, stem in enumerate(rows.stems)}
    names = NameFinder([(number["old"], number["mill"]), (number["yard"],)])
    plain = {row: score for score, row in rank_rows(rows, scores, asked, WEIGHTS)}
    ranked = rank_rows(rows, scores, asked, WEIGHTS, lambda row: 0.5 * names.has_name(rows.words(row)))
    assert {row: round(score - plain[row], 6) for score, row in ranked} == {0: 0.5, 1: 0.0, 2: 0.0, 3: 0.5}


def test_a_lineage_of_many_branches() -> None:
    """Of 64 branches, each cut at its third scene, what is found is in the lineage and all of it is found."""
    branches = range(1, 65)
    index = story(
        *[
            statement(f"The lamp number {place} {seq} burned.", place, seq)
            for place in branches
            for seq in range(1, 6)
        ],
        commit=True,
    )
    lineage: Lineage = tuple((place, 3) for place in branches)
    bounds = LineageBounds(lineage)
    assert index.count_documents(bounds) == index.count_holding("lamp", bounds) == 3 * len(branches)
    asked = read_query("lamp", "en", (), 0)
    assert all(index.rows.seq[row] <= 3 for row in index.find(asked, bounds).words)
