"""Makes the terms by which a question is looked up in fields of stems and of 4-grams, and bounds their cost.

Strategy: stems of the question's language find the forms of a word. 4-grams know no language, and find compounds and
inflections that stemming misses.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from agent.lang import Lang

from .alike import WordLikeness
from .fields import GRAM
from .stems import stem

Term: TypeAlias = tuple[str, str]
"""The name of a field, and a term in it."""

STEM_POSTINGS: Final = 10_000
"""Entries of posting lists that a search by stems reads at most ..."""
GRAM_POSTINGS: Final = 12_000
"""... and a search by 4-grams, of which a query has many more."""

_SURELY = 0.85  # likeness from which a word, such as a synonym, is looked up beside the word of the question


def stem_terms(words: Sequence[str], lang: Lang, alike: WordLikeness, field: str) -> Iterable[Term]:
    """Return the stems of folded words in `lang`, and of the words that surely mean the same, as terms of `field`."""
    known = alike.vocabulary.words
    stood_for = [known[at] for word in words for at, sure in alike.find_like(word).items() if sure > _SURELY]
    stems = dict.fromkeys(stem(lang, word) for word in (*words, *stood_for))
    return [(field, each) for each in stems]


def gram_terms(words: Iterable[str], field: str) -> Iterable[Term]:
    """Return the 4-grams of folded words, as terms of `field`."""
    grams = dict.fromkeys(gram for word in words for gram in grams_of(word))
    return [(field, gram) for gram in grams]


@lru_cache(maxsize=200_000)
def grams_of(word: str) -> tuple[str, ...]:
    """Return the 4-grams of `word` with a space before and after it."""
    padded = f" {word} "
    return tuple([padded[at : at + GRAM] for at in range(max(1, len(padded) - GRAM + 1))])
