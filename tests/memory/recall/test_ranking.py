"""In what order, how surely, and what of it is shown."""

import pytest

from agent.memory.recall.excerpts import (
    EXCERPT,
    NumberClaim,
    cut_excerpt,
    estimate_tokens,
    find_disagreements,
    numbers_of,
    select_excerpts,
)
from agent.ports.recall import Excerpt
from agent.recall.rank import WEIGHTS, sum_arms, turn_penalty
from agent.recall.sureness import QuestionCoverage, QuestionMass, estimate_sureness, word_rarity


def test_each_arm_counts_by_its_share_of_its_best() -> None:
    """Not by ranks."""
    assert sum_arms([(1.0, {1: 10.0, 2: 5.0}), (0.2, {2: 3.0}), (0.4, {})]) == {1: 1.0, 2: 0.7}


def test_short_turns_and_short_questions_lose() -> None:
    """A long question loses nothing: it says something too."""
    off = [turn_penalty(size, 0.0, WEIGHTS) for size in (0, 5, 15, 500)]
    assert off[0] == WEIGHTS.short > off[1] > off[2] == off[3] == 0
    assert turn_penalty(20, 1.0, WEIGHTS) == WEIGHTS.asks
    assert turn_penalty(100, 1.0, WEIGHTS) == 0


def test_sureness_rises_with_what_is_held_and_falls_with_what_others_hold() -> None:
    """0..1."""
    nothing, half, all_of_it = (QuestionCoverage(each, each, each, None) for each in (0.0, 0.5, 1.0))
    assert 0 < estimate_sureness(nothing) < estimate_sureness(half) < estimate_sureness(all_of_it) < 1
    assert (
        estimate_sureness(QuestionCoverage(1, 1, 1, 1.0))
        < estimate_sureness(QuestionCoverage(1, 1, 1, None))
        < estimate_sureness(QuestionCoverage(1, 1, 1, 0.0))
    )


def test_rare_words_are_most_of_a_question() -> None:
    """Those that nothing holds count too."""
    mass = QuestionMass(
        [(1, word_rarity(100, 1)), (2, word_rarity(100, 90)), (None, word_rarity(100, 0))], 100
    )
    common, rare, both = (mass.largest_share([each]) for each in ([[2]], [[1]], [[1], [2]]))
    assert common < rare < both == mass.known < 1
    assert mass.largest_share([[[2]], [[7], [1]], [[2], [7]]]) == rare  # the best of several
    assert mass.largest_share([]) == mass.largest_share([[[]]]) == 0
    assert QuestionMass([], 0).largest_share([[[1]]]) == 0


def made(id: str, text: str = "x" * 30, at: int = 0, score: float = 1.0) -> Excerpt:
    """An excerpt."""
    return Excerpt(id=id, kind="turn", text=text, at=at, by="user", thread="t", score=score, citable=True)


def test_the_best_that_fit_are_told_oldest_first() -> None:
    """One too large is passed over."""
    ranked = [made("a", at=3), made("big", "y" * 3000, at=2), made("b", at=1), made("c", at=2)]
    assert [each.id for each in select_excerpts(ranked, 10, 25)] == ["b", "a"]
    assert [each.id for each in select_excerpts(ranked, 2, 0)] == ["big", "a"]


def test_of_a_long_text_the_part_that_holds_the_question_is_shown() -> None:
    """With as many sentences around it as have room; a short one is shown whole."""
    filler = "Alpha bravo charlie delta echo. " * 30
    shown = cut_excerpt(filler + "The code is zanzibar. " + filler, ["code", "zanzibar"])
    assert "The code is zanzibar." in shown
    assert estimate_tokens(shown) <= EXCERPT
    assert shown.startswith("Alpha")
    assert shown.endswith("echo.")
    assert cut_excerpt("The code is zanzibar.", ["code"]) == "The code is zanzibar."
    assert estimate_tokens(cut_excerpt("z" * 5000, ["code"])) == EXCERPT
    assert cut_excerpt("\n" * 5000, []).strip() == ""


def test_two_that_say_different_numbers_of_one_key_are_named() -> None:
    """An item and an item, or a turn with all of the key's words; the older first."""
    key = ("atlas", "budget")
    new = NumberClaim("i2", 2, key, frozenset(key), numbers_of("60 000 kr"))
    old = NumberClaim(
        "t1", 1, (), frozenset({*key, "is"}), numbers_of("the budget of Atlas is 50 000 kr, in 3 parts")
    )
    assert find_disagreements([new, old]) == (("t1", "i2"),)
    other = [
        NumberClaim("t3", 3, (), frozenset({"budget"}), old.numbers),  # of another thing
        NumberClaim("t4", 4, (), frozenset(key), numbers_of("60 000 kr")),  # the same
        NumberClaim("t5", 5, (), frozenset(key), numbers_of("14 days")),  # of another kind
        NumberClaim("i6", 6, ("atlas", "plan"), frozenset(key), old.numbers),
    ]
    assert find_disagreements([new, *other]) == ()
    assert find_disagreements([old, other[0]]) == ()


@pytest.mark.parametrize("text", ["", "no number here"])
def test_no_numbers_are_none(text: str) -> None:
    """And disagree with nothing."""
    assert numbers_of(text) == ()


def test_an_unknown_word_says_less_where_little_was_said() -> None:
    """A talk of ten turns has few words of any question; one of thousands has most."""
    shares = [
        QuestionMass([(1, 1.0), (None, 1.0)], documents).largest_share([[[1]]])
        for documents in (0, 10, 60, 6000)
    ]
    assert shares[0] == 1.0
    assert shares[2] == pytest.approx(2 / 3)
    assert shares == sorted(shares, reverse=True)
    assert shares[3] == pytest.approx(0.5, abs=0.01)
