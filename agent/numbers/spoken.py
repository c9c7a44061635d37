"""What all languages say together, of one kind: the tables and patterns of the rows are built with these.

A word that two languages have in one table is what the later of them says, in the order of their codes; a pattern holds
the alternatives of all. So a language that is added adds its words, and nothing here names one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from agent.lang import LANGUAGES
from agent.lang.counting import Counting

Value = TypeVar("Value")

COUNTINGS: Final = {code: language.counting for code, language in LANGUAGES.items()}
"""How each language counts, by its code."""


def merged(pick: Callable[[Counting], Mapping[str, Value]]) -> dict[str, Value]:
    """Return one table of all languages'."""
    return {word: value for each in COUNTINGS.values() for word, value in pick(each).items()}


def united(pick: Callable[[Counting], Iterable[str]]) -> frozenset[str]:
    """Return the words or phrases of all languages."""
    return frozenset().union(*[pick(each) for each in COUNTINGS.values()])


def either(pick: Callable[[Counting], str]) -> str:
    """Return one pattern of all languages'; it matches nothing when none has one."""
    patterns = [pick(each) for each in COUNTINGS.values()]
    return "|".join(dict.fromkeys(filter(None, patterns))) or "(?!)"


def pattern(*phrases: Iterable[str]) -> str:
    """Return the pattern of some phrases, the longest first; it matches nothing when there is none."""
    every = sorted({phrase for each in phrases for phrase in each}, key=lambda phrase: (-len(phrase), phrase))
    return "|".join([re.escape(phrase).replace(r"\ ", " ") for phrase in every]) or "(?!)"


AND: Final = united(lambda each: each.joints.both)
OR: Final = united(lambda each: each.joints.either)
TO: Final = united(lambda each: each.joints.to)
OF: Final = united(lambda each: each.joints.of)
THE: Final = united(lambda each: each.joints.the)
BY: Final = united(lambda each: each.joints.by)
MINUS: Final = united(lambda each: each.cardinals.minus)
ARTICLES: Final = united(lambda each: each.cardinals.articles)
PER: Final = united(lambda each: each.rates.per)
AM: Final = either(lambda each: each.calendar.before_noon)
PM: Final = either(lambda each: each.calendar.after_noon)
PARTS: Final = united(lambda each: each.labels.parts)
"""What parts of a text are called, before their number."""
