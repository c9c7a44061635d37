"""The terms that a question is looked up by."""

from agent.lexical.alike import WordLikeness
from agent.lexical.queries import gram_terms, grams_of, stem_terms
from agent.lexical.stems import stem_keys
from agent.lexical.vocabulary import Vocabulary


def test_the_grams_of_a_word_span_its_borders() -> None:
    """A word of one letter has one."""
    assert grams_of("sms") == (" sms", "sms ")
    assert grams_of("a") == (" a ",)


def test_a_term_is_named_once() -> None:
    """Though several words have it, in the field that it is looked up in."""
    assert list(gram_terms(["sms", "sms", "mms"], "letters")) == [
        ("letters", gram) for gram in (" sms", "sms ", " mms", "mms ")
    ]
    alike = WordLikeness(Vocabulary(stem_keys))
    assert list(stem_terms(["prices", "price"], "en", alike, "own")) == [("own", "price")]


def test_what_surely_means_a_word_is_looked_up_too() -> None:
    """What an operator says does; what only looks like it does not."""
    vocabulary = Vocabulary(stem_keys)
    vocabulary.number_words(["fee", "pricey"])
    alike = WordLikeness(vocabulary)
    assert list(stem_terms(["price"], "en", alike, "own")) == [("own", "price")]
    alike.learn({"price": ("fee",)}, None)
    assert alike.find_like("price").keys() == {0, 1}
    assert list(stem_terms(["price"], "en", alike, "own")) == [("own", "price"), ("own", "fee")]
