"""Merges the data of all languages: the tables and patterns of the rows are built with these functions.

For a word that two languages have in one table, the later language in the order of the codes decides; a pattern holds
the alternatives of all. A language that is added adds its words, and no code here names a language.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from agent.lang import LANGUAGES
from agent.lang.counting import Counting

Value = TypeVar("Value")

COUNTINGS: Final = {code: language.counting for code, language in LANGUAGES.items()}
"""The `Counting` of each language, by its code."""


def merge_tables(pick: Callable[[Counting], Mapping[str, Value]]) -> dict[str, Value]:
    """Merge the tables that `pick` returns of all languages."""
    return {word: value for each in COUNTINGS.values() for word, value in pick(each).items()}


def unite_words(pick: Callable[[Counting], Iterable[str]]) -> frozenset[str]:
    """Unite the words or phrases that `pick` returns of all languages."""
    return frozenset().union(*[pick(each) for each in COUNTINGS.values()])


def either(pick: Callable[[Counting], str]) -> str:
    """Join the patterns that `pick` returns of all languages; with none, the result matches nothing."""
    patterns = [pick(each) for each in COUNTINGS.values()]
    return "|".join(dict.fromkeys(filter(None, patterns))) or "(?!)"


def pattern(*phrases: Iterable[str]) -> str:
    """Return a pattern of the phrases, the longest first; with none, it matches nothing."""
    every = sorted({phrase for each in phrases for phrase in each}, key=lambda phrase: (-len(phrase), phrase))
    return "|".join([re.escape(phrase).replace(r"\ ", " ") for phrase in every]) or "(?!)"


AND: Final = unite_words(lambda each: each.joints.conjunctions)
OR: Final = unite_words(lambda each: each.joints.disjunctions)
TO: Final = unite_words(lambda each: each.joints.range_words)
OF: Final = unite_words(lambda each: each.joints.of)
THE: Final = unite_words(lambda each: each.joints.the)
BY: Final = unite_words(lambda each: each.joints.by)
MINUS: Final = unite_words(lambda each: each.cardinals.minus_words)
ARTICLES: Final = unite_words(lambda each: each.cardinals.articles)
PER: Final = unite_words(lambda each: each.rates.per)
AM: Final = either(lambda each: each.calendar.before_noon)
PM: Final = either(lambda each: each.calendar.after_noon)
TEXT_PARTS: Final = unite_words(lambda each: each.labels.text_parts)
"""The names of parts of a text, before their number."""
