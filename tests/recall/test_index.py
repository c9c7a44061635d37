"""What is found, whose, and when: at once, and the same after it was written."""

from contextlib import suppress

import pytest

from agent.lang import Lang
from agent.ports.conversation import Scope
from agent.ports.recall import Reach
from agent.recall.bounds import ReachBounds
from agent.recall.columns import NONE
from agent.recall.documents import TextTerms, read_terms
from agent.recall.index import BATCH, RecallIndex
from agent.recall.query import read_query
from tests.memory.made import DAY, MINE, NOW, item
from tests.memory.recall.made import TALK, index_of, turn

OTHERS = (Scope("p", "t", "eve"), Scope("q", "t", "ana"), Scope("p", "t", ""), Scope("", "", ""))


def found(
    index: RecallIndex, text: str, scope: Scope = MINE, at: int = NOW, reach: Reach = "scope"
) -> dict[int, float]:
    """Return the rows that the arm of words finds."""
    asked = read_query(text, "en", (), at, langs=index.rows.langs)
    return dict(index.find(asked, ReachBounds(reach, scope), at).words)


@pytest.mark.parametrize("commit", [False, True])
def test_a_turn_is_found_by_its_words_and_those_around_it(commit: bool) -> None:
    """Its own count most; at once, and from the index."""
    index = index_of(*TALK, commit=commit)
    assert index.waiting_count == (0 if commit else len(TALK))
    scores = found(index, "kitten shelter")
    assert max(scores, key=lambda row: scores[row]) == 1
    assert set(scores) == {0, 1, 2, 3, 4}


def test_the_tail_scores_as_the_index_does() -> None:
    """By the same formula with the same counts."""
    waiting, written = index_of(*TALK, commit=False), index_of(*TALK)
    for text in ("kitten shelter", "hiking", "rained mountains"):
        asked = read_query(text, "en", (), NOW)
        one, other = (each.find(asked, ReachBounds("scope", MINE), NOW) for each in (waiting, written))
        assert dict(one.words) == pytest.approx(dict(other.words), rel=0.02)
        assert dict(one.grams) == pytest.approx(
            dict(other.grams), rel=0.2
        )  # tantivy counts those between words


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("scope", OTHERS)
def test_what_is_anothers_does_not_exist(scope: Scope, commit: bool) -> None:
    """Neither another user's, nor another project's, nor what nobody known said in a thread of that name."""
    index = index_of(*TALK, commit=commit)
    index.put_item(item(id="i9"))
    if commit:
        index.commit()
    reaches: tuple[Reach, ...] = ("scope", "thread", "user")
    for reach in reaches:
        assert found(index, "kitten budget", scope, reach=reach) == {}
    assert index.speakers("scope", scope) == frozenset()


@pytest.mark.parametrize("commit", [False, True])
def test_how_far_a_search_goes(commit: bool) -> None:
    """A user's other threads are his; nobody's are apart, unless an operator asks for all."""
    here, there = Scope("p", "one", "ana"), Scope("p", "two", "ana")
    index = index_of(turn(1, "kitten", scope=here), turn(2, "kitten", scope=there), commit=commit)
    assert set(found(index, "kitten", here)) == {0, 1}
    assert set(found(index, "kitten", here, reach="thread")) == {0}
    here, there = Scope("p", "one"), Scope("p", "two")
    index = index_of(turn(1, "kitten", scope=here), turn(2, "kitten", scope=there), commit=commit)
    assert set(found(index, "kitten", here)) == {0}
    assert set(found(index, "kitten", here, reach="user")) == {0, 1}


@pytest.mark.parametrize("commit", [False, True])
def test_an_item_is_found_while_it_is_valid(commit: bool) -> None:
    """From the first millisecond to before the last, and by its key."""
    index = RecallIndex()
    index.put_item(
        item(valid_from=NOW, valid_to=NOW + DAY, expires_at=NOW + 2 * DAY, key=("atlas", "kostnad"))
    )
    if commit:
        index.commit()
    when = [NOW - 1, NOW, NOW + DAY - 1, NOW + DAY]
    assert [bool(found(index, "budget", at=at)) for at in when] == [False, True, True, False]
    assert found(index, "kostnad")


def test_a_superseded_item_is_found_no_more() -> None:
    """At once, and after it was written; another one takes its place."""
    index = RecallIndex()
    index.put_item(item())
    index.commit()
    index.drop_item("i1")
    assert found(index, "budget") == {}
    index.commit()
    index.put_item(item(text="The budget of Atlas is 60 000 kr"))
    index.put_item(item(text="The budget of Atlas is 70 000 kr"))
    index.commit()
    assert [index.rows.texts[row] for row in found(index, "budget")] == ["The budget of Atlas is 70 000 kr"]
    index.drop_item("i7")  # never there
    assert index.waiting_count == 0


@pytest.mark.parametrize("written", [False, True])
def test_what_is_forgotten_is_found_by_nothing(written: bool) -> None:
    """Nor are its neighbours by its words; it can be said again."""
    index = index_of(*TALK, commit=written)
    assert set(found(index, "kitten")) == {0, 1, 2, 3, 4}
    assert index.forget_turn(2) == 1
    assert found(index, "kitten") == {}
    assert index.forget_turn(2) == index.forget_turn(77) == -1
    index.commit()
    assert found(index, "kitten") == {}
    assert set(found(index, "mountains")) == {0, 2, 3, 4}
    assert "kitten" not in "".join(index.rows.texts[row] for row in range(len(index.rows)))


def test_a_turn_changes_what_those_before_it_are_found_by() -> None:
    """Once written, and again when the next comes; none is there twice."""
    index = index_of(*TALK[:2])
    assert found(index, "rained") == {}
    index.add_turn(turn(3, "It rained.", "Ann"))
    assert set(found(index, "rained")) == {0, 1, 2}
    index.commit()
    assert set(found(index, "rained")) == {0, 1, 2}
    assert index.counts(ReachBounds("scope", MINE)).documents == 3


def test_what_comes_while_the_index_is_written_waits() -> None:
    """It is not taken for written."""
    index = index_of(*TALK[:2], commit=False)
    batch = index.make_batch()
    index.add_turn(TALK[2])
    index.put_item(item())
    written = index.write_batch(batch)
    index.drop_item("i1")
    index.install_batch(batch, written)
    assert index.waiting_count
    assert set(found(index, "hiking")) == {0, 1, 2}
    assert found(index, "budget") == {}
    index.commit()
    assert index.waiting_count == 0
    assert set(found(index, "hiking")) == {0, 1, 2}


def test_what_is_read_in_bulk_is_found_when_it_is_written() -> None:
    """Those before it meanwhile as they were, unless something beside them is forgotten; what is new at once."""
    index = index_of(*TALK[:2])
    index.add_turn(TALK[2], later=True)
    assert index.waiting_count == 3
    assert set(found(index, "kitten")) == {0, 1}
    assert found(index, "hiking") == {}
    index.add_turn(turn(9, "A hat.", sitting=7))
    assert set(found(index, "hat")) == {3}
    assert index.forget_turn(2) == 1
    assert found(index, "kitten") == {}
    index.commit()
    assert (index.waiting_count, found(index, "kitten")) == (0, {})
    assert set(found(index, "hiking")) == {0, 2}


def test_what_waits_in_the_tail_is_seen_there_as_it_is_read_on() -> None:
    """Also by what comes after it in bulk."""
    index = index_of(TALK[0], commit=False)
    index.add_turn(TALK[1], later=True)
    assert set(found(index, "kitten")) == {0}
    index.commit()
    assert set(found(index, "kitten")) == {0, 1}


def test_the_sentences_of_a_row_go_with_it() -> None:
    """Whether it is forgotten or its item is no more."""
    index = index_of(turn(1, "One hat. Two hats."), turn(2, "Three hats."))
    index.put_item(item())
    assert [len(index.rows.sentences(row)) for row in (0, 1, 2)] == [2, 1, 1]
    index.forget_turn(1)
    index.drop_item("i1")
    assert [len(index.rows.sentences(row)) for row in (0, 1, 2)] == [0, 1, 0]


def test_a_turn_is_beside_another_once_all_of_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since those before it are written in a thread, which looks at what is beside them, while it is added."""
    index = index_of(turn(1, "One hat."), commit=False)
    beside: list[int] = []

    def read_while_it_is_written(text: str, lang: Lang) -> TextTerms:
        with suppress(IndexError):
            index.write_batch(index.make_batch())
            beside.append(index.rows.neighbours(0)[1])
        return read_terms(text, lang)

    monkeypatch.setattr("agent.recall.rows.read_terms", read_while_it_is_written)
    index.add_turn(turn(2, "Another hat."))
    assert beside == [NONE]
    assert index.rows.neighbours(0) == (NONE, 1)


def test_words_count_by_what_is_in_the_scope() -> None:
    """As if nobody else had said anything."""
    alone = index_of(*TALK)
    noise = [turn(100 + n, "hiking kitten kitten", scope=OTHERS[0]) for n in range(30)]
    among = index_of(*TALK, *noise)
    counts = among.counts(ReachBounds("scope", MINE))
    assert (counts.documents, counts.frequency("kitten"), counts.frequency("nothing")) == (5, 5, 0)
    assert counts.weight("rain") < 1  # rare among all, common here
    one, other = (found(each, "hiking mountains") for each in (alone, among))
    ratio = {round(other[row] / one[row], 1) for row in one}
    assert len(ratio) == 1  # the same order, whatever the average length


def test_a_long_message_is_found_by_the_part_that_says_it() -> None:
    """In the index as in the tail."""
    filler = "Alpha bravo charlie delta echo foxtrot golf hotel india juliett. " * 12
    for commit in (False, True):
        index = index_of(turn(1, filler + "The safe opens with zanzibar."), turn(2, "Zulu."), commit=commit)
        assert max(found(index, "zanzibar"), key=found(index, "zanzibar").__getitem__) == 0
        assert index.rows.parts(0)
    assert BATCH >= 2
