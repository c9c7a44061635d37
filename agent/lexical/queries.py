"""The terms that a question is looked up by, in fields of stems and of 4-grams, and what reading their lists may cost.

Strategy: stems of its language find the forms of a word, and 4-grams, which know no language, find compounds and
inflections that stemming misses.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from agent.lang import Lang

from .alike import Alike
from .fields import GRAM
from .stems import stem

Term: TypeAlias = tuple[str, str]
"""A field, and a term in it."""

STEM_POSTINGS: Final = 10_000
"""Entries of posting lists that a search of stems reads ..."""
GRAM_POSTINGS: Final = 12_000
"""... and one of 4-grams, of which a query has many more."""

_SURELY = 0.85  # how surely a word must be stood for by another, such as a synonym, to be looked up by it too


def stem_terms(said: Sequence[str], lang: Lang, alike: Alike, field: str) -> Iterable[Term]:
    """Return the stems of folded words in one language, and of what surely means them, as terms of a field."""
    known = alike.vocabulary.words
    stood_for = [known[at] for word in said for at, sure in alike.like(word).items() if sure > _SURELY]
    stems = dict.fromkeys(stem(lang, word) for word in (*said, *stood_for))
    return [(field, each) for each in stems]


def gram_terms(said: Iterable[str], field: str) -> Iterable[Term]:
    """Return the 4-grams of folded words, as terms of a field."""
    grams = dict.fromkeys(gram for word in said for gram in grams_of(word))
    return [(field, gram) for gram in grams]


@lru_cache(maxsize=200_000)
def grams_of(word: str) -> tuple[str, ...]:
    """Return the 4-grams of a word between spaces."""
    padded = f" {word} "
    return tuple([padded[at : at + GRAM] for at in range(max(1, len(padded) - GRAM + 1))])
