"""An index of one's own fields: what terms find, how much they count, and what a filter lets through."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import tantivy

from agent.lexical import searcher as module
from agent.lexical.fields import open_index, schema_of
from agent.lexical.filters import any_filter, name_filter, range_filter
from agent.lexical.queries import Term, gram_terms
from agent.lexical.searcher import RankedDocuments, Searcher

SCHEMA = schema_of(terms=["own", "near"], grams=["letters"], names=["scope"], numbers=["id", "at"])
BUDGET = 1000

TURNS = [  # number, scope, when, own words, words near
    (5, "ana", 10, "zebra sleeps", "okapi"),
    (900_000, "ana", 20, "zebra zebra", ""),
    (7, "bo", 30, "zebra eats", "zebra"),
    (8, "bo/1", 2**63, "okapi", "zebra"),
]


def write(index: tantivy.Index, turns: Sequence[tuple[int, str, int, str, str]], gone: str = "") -> None:
    """Take one scope out, and write turns."""
    writer = index.writer(15_000_000, 1)
    if gone:
        writer.delete_documents_by_term("scope", gone)
    for number, scope, at, own, near in turns:
        document = tantivy.Document()
        document.add_unsigned("id", number)
        document.add_unsigned("at", at)
        document.add_text("scope", scope)
        document.add_text("own", own)
        document.add_text("near", near)
        document.add_text("letters", f" {own} ")
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


@pytest.fixture(scope="module")
def turns() -> Searcher:
    """The turns, in memory."""
    index = open_index(SCHEMA)
    write(index, TURNS)
    return Searcher(index, "id")


def own(*words: str) -> list[Term]:
    """Return words as terms of one field."""
    return [("own", word) for word in words]


def test_documents_are_told_by_their_numbers_best_first(turns: Searcher) -> None:
    """In the field that is looked in, with what says it most first; no score is more than a full document's."""
    found = turns.find_best(own("zebra"), 9, BUDGET)
    assert list(found.scores) == [900_000, 5, 7]
    assert 0 < max(found.scores.values()) < found.most
    assert set(turns.find_best([("near", "zebra")], 9, BUDGET).scores) == {7, 8}
    assert list(turns.find_best(own("zebra"), 1, BUDGET).scores) == [900_000]


def test_parts_of_words_are_found_by_their_letters(turns: Searcher) -> None:
    """As the index cuts them."""
    assert set(turns.find_best(gram_terms(["zebras"], "letters"), 9, BUDGET).scores) == {5, 7, 900_000}
    assert set(turns.find_best(gram_terms(["sleep"], "letters"), 9, BUDGET).scores) == {5}


def test_a_term_counts_what_it_weighs(turns: Searcher) -> None:
    """One where nothing is said."""
    terms = own("sleeps", "eats")
    plain = turns.find_best(terms, 9, BUDGET)
    assert plain.scores[5] == plain.scores[7]
    weighed = turns.find_best(terms, 9, BUDGET, weights={("own", "eats"): 0.5})
    assert list(weighed.scores) == [5, 7]
    assert weighed.scores[7] == pytest.approx(0.5 * weighed.scores[5])
    assert weighed.most == pytest.approx(0.75 * plain.most)


def test_a_filter_lets_through_what_is_named_and_counts_nothing(turns: Searcher) -> None:
    """A scope is a whole name: none of another one comes through, also of one whose name begins alike."""
    every = turns.find_best(own("zebra", "okapi"), 9, BUDGET).scores
    for scopes, expected in (
        (["ana"], {5, 900_000}),
        (["bo"], {7}),
        (["bo/1", "ana"], {5, 8, 900_000}),
        ([], set()),
    ):
        found = turns.find_best(
            own("zebra", "okapi"), 9, BUDGET, must=[name_filter(SCHEMA, "scope", *scopes)]
        ).scores
        assert found == pytest.approx({number: every[number] for number in every if number in expected})


def test_a_filter_lets_through_a_range_of_numbers(turns: Searcher) -> None:
    """Its ends are in it; an open one has no end."""

    def found(first: int = 0, last: int | None = None) -> set[int]:
        filters = (
            range_filter(SCHEMA, "at", first) if last is None else range_filter(SCHEMA, "at", first, last)
        )
        return set(turns.find_best(own("zebra", "okapi"), 9, BUDGET, must=[filters]).scores)

    assert found(10, 20) == {5, 900_000}
    assert found(last=19) == {5}
    assert found(21) == {7, 8}
    assert found(11, 19) == set()


def test_every_filter_must_let_through(turns: Searcher) -> None:
    """Whether they are put together or not; what none of the terms is in stays out."""
    line = any_filter([name_filter(SCHEMA, "scope", "ana"), name_filter(SCHEMA, "scope", "bo")])
    early = range_filter(SCHEMA, "at", 0, 10)
    assert set(turns.find_best(own("zebra"), 9, BUDGET, must=[line, early]).scores) == {5}
    later = range_filter(SCHEMA, "at", 20)
    assert set(turns.find_best(own("zebra"), 9, BUDGET, must=[line, later]).scores) == {7, 900_000}
    assert set(turns.find_best(own("sleeps"), 9, BUDGET, must=[line, later]).scores) == set()


def test_the_rarest_terms_are_read_first(turns: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the budget of entries, and within the terms that a query may have; one is always read."""
    assert set(turns.find_best(own("zebra", "eats"), 9, 3).scores) == {7}
    assert set(turns.find_best(own("zebra", "eats"), 9, 4).scores) == {5, 7, 900_000}
    assert set(turns.find_best(own("zebra"), 9, 0).scores) == {5, 7, 900_000}
    monkeypatch.setattr(module, "_TERMS", 1)
    assert set(turns.find_best(own("zebra", "eats"), 9, BUDGET).scores) == {7}


def test_what_nothing_holds_finds_nothing(turns: Searcher) -> None:
    """Though it counts as missing; no term at all is nothing, and so is any in an empty index."""
    found = turns.find_best(own("gnu"), 9, BUDGET, must=[name_filter(SCHEMA, "scope", "ana")])
    assert (dict(found.scores), found.most > 0) == ({}, True)
    assert turns.find_best([], 9, BUDGET) == RankedDocuments({}, 0.0)
    assert dict(Searcher(open_index(SCHEMA), "id").find_best(own("zebra"), 9, BUDGET).scores) == {}


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_searcher_keeps_its_state_and_the_next_has_the_new_one(tmp_path: Path, on_disk: bool) -> None:
    """In memory, and in a folder, where the index is found again."""
    index = open_index(SCHEMA, tmp_path if on_disk else None)
    write(index, TURNS[:3])
    first = Searcher(index, "id")
    write(index, [(11, "ana", 40, "zebra", "")], gone="ana")
    second = Searcher(open_index(SCHEMA, tmp_path) if on_disk else index, "id")
    assert [set(each.find_best(own("zebra"), 9, BUDGET).scores) for each in (first, second)] == [
        {5, 7, 900_000}, {7, 11},
    ]  # fmt: skip
