"""What all languages say together: a language without a word of some kind says nothing, and adds nothing."""

import re

from agent.numbers.language_tables import COUNTINGS, either, merge_tables, pattern, unite_words
from agent.numbers.vocabulary import CARDINALS


def test_every_language_counts() -> None:
    """The words of each stand in the tables that are read."""
    for counting in COUNTINGS.values():
        assert counting.cardinals.words.items() <= CARDINALS.items()
    assert unite_words(lambda each: each.joints.conjunctions) == {"and", "och"}
    assert merge_tables(lambda each: each.cardinals.ones) == {"one": 1, "en": 1, "ett": 1}


def test_a_kind_without_words_matches_nothing() -> None:
    """Not everything, as an empty alternative would."""
    for said in (either(lambda each: ""), pattern([])):
        assert re.search(rf"(?:{said})", "any text") is None
    assert re.fullmatch(rf"(?:{either(lambda each: each.ordinals.fraction_followers)})", "") is None


def test_the_longest_phrase_is_tried_first() -> None:
    """A phrase that begins another would end it too early; marks stand for themselves."""
    assert pattern(["up"], ["up to", "t.o.m."]) == r"t\.o\.m\.|up to|up"
