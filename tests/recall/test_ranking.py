"""In what order, how surely, and what of it is shown."""

import pytest

from agent.ports.recall import Excerpt
from agent.recall.abstain import Held, Mass, rarity, sureness
from agent.recall.present import EXCERPT, Claim, chosen, disagreements, estimated, excerpt, numbers_of
from agent.recall.rank import WEIGHTS, reciprocal, summed, taken_off


def test_each_arm_counts_by_its_share_of_its_best() -> None:
    """Not by ranks."""
    assert summed([(1.0, {1: 10.0, 2: 5.0}), (0.2, {2: 3.0}), (0.4, {})]) == {1: 1.0, 2: 0.7}
    assert reciprocal([{1: 10.0, 2: 5.0}, {2: 3.0}]) == [2, 1]


def test_short_turns_and_short_questions_lose() -> None:
    """A long question loses nothing: it says something too."""
    off = [taken_off(size, 0.0, WEIGHTS) for size in (0, 5, 15, 500)]
    assert off[0] == WEIGHTS.short > off[1] > off[2] == off[3] == 0
    assert taken_off(20, 1.0, WEIGHTS) == WEIGHTS.asks
    assert taken_off(100, 1.0, WEIGHTS) == 0


def test_sureness_rises_with_what_is_held_and_falls_with_what_others_hold() -> None:
    """0..1."""
    nothing, half, all_of_it = (Held(each, each, each, None) for each in (0.0, 0.5, 1.0))
    assert 0 < sureness(nothing) < sureness(half) < sureness(all_of_it) < 1
    assert sureness(Held(1, 1, 1, 1.0)) < sureness(Held(1, 1, 1, None)) < sureness(Held(1, 1, 1, 0.0))


def test_rare_words_are_most_of_a_question() -> None:
    """Those that nothing holds count too."""
    mass = Mass([(1, rarity(100, 1)), (2, rarity(100, 90)), (None, rarity(100, 0))], 100)
    common, rare, both = (mass.most([each]) for each in ([[2]], [[1]], [[1], [2]]))
    assert common < rare < both == mass.known < 1
    assert mass.most([[[2]], [[7], [1]], [[2], [7]]]) == rare  # the best of several
    assert mass.most([]) == mass.most([[[]]]) == 0
    assert Mass([], 0).most([[[1]]]) == 0


def made(id: str, text: str = "x" * 30, at: int = 0, score: float = 1.0) -> Excerpt:
    """An excerpt."""
    return Excerpt(id, "turn", text, at, "user", "t", score, True)


def test_the_best_that_fit_are_told_oldest_first() -> None:
    """One too large is passed over."""
    ranked = [made("a", at=3), made("big", "y" * 3000, at=2), made("b", at=1), made("c", at=2)]
    assert [each.id for each in chosen(ranked, 10, 25)] == ["b", "a"]
    assert [each.id for each in chosen(ranked, 2, 0)] == ["big", "a"]


def test_of_a_long_text_the_part_that_holds_the_question_is_shown() -> None:
    """With as many sentences around it as have room; a short one is shown whole."""
    filler = "Alpha bravo charlie delta echo. " * 30
    shown = excerpt(filler + "The code is zanzibar. " + filler, ["code", "zanzibar"])
    assert "The code is zanzibar." in shown
    assert estimated(shown) <= EXCERPT
    assert shown.startswith("Alpha")
    assert shown.endswith("echo.")
    assert excerpt("The code is zanzibar.", ["code"]) == "The code is zanzibar."
    assert estimated(excerpt("z" * 5000, ["code"])) == EXCERPT
    assert excerpt("\n" * 5000, []).strip() == ""


def test_two_that_say_different_numbers_of_one_key_are_named() -> None:
    """An item and an item, or a turn with all of the key's words; the older first."""
    key = ("atlas", "budget")
    new = Claim("i2", 2, key, frozenset(key), numbers_of("60 000 kr"))
    old = Claim(
        "t1", 1, (), frozenset({*key, "is"}), numbers_of("the budget of Atlas is 50 000 kr, in 3 parts")
    )
    assert disagreements([new, old]) == (("t1", "i2"),)
    other = [
        Claim("t3", 3, (), frozenset({"budget"}), old.numbers),  # of another thing
        Claim("t4", 4, (), frozenset(key), numbers_of("60 000 kr")),  # the same
        Claim("t5", 5, (), frozenset(key), numbers_of("14 days")),  # of another kind
        Claim("i6", 6, ("atlas", "plan"), frozenset(key), old.numbers),
    ]
    assert disagreements([new, *other]) == ()
    assert disagreements([old, other[0]]) == ()


@pytest.mark.parametrize("text", ["", "no number here"])
def test_no_numbers_are_none(text: str) -> None:
    """And disagree with nothing."""
    assert numbers_of(text) == ()


def test_an_unknown_word_says_less_where_little_was_said() -> None:
    """A talk of ten turns has few words of any question; one of thousands has most."""
    shares = [Mass([(1, 1.0), (None, 1.0)], documents).most([[[1]]]) for documents in (0, 10, 60, 6000)]
    assert shares[0] == 1.0
    assert shares[2] == pytest.approx(2 / 3)
    assert shares == sorted(shares, reverse=True)
    assert shares[3] == pytest.approx(0.5, abs=0.01)
