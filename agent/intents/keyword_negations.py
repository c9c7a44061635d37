"""Decides whether a text denies a keyword ("do not call me", "no ticket"), in any language.

A keyword is denied by a word of its own clause only:

- a negator (`not`, `never`, `inte` ...) before it, with at most `NEGATOR_REACH` words between;
- an excluder (`no`, `without`, `ingen` ...) before it, with nothing but `FILLERS` between;
- a late negator (`inte`, `aldrig`, `never` ...) after it, with nothing but `FOLLOWERS` between.
"""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from .clauses import WORDS_READ, clause_before, words_after
from .mood_words import (
    ASKING,
    EXCLUDERS,
    FILLERS,
    FOLLOWERS,
    LATE_NEGATORS,
    NEGATORS,
    NEW_START,
    REACHING,
)

NEGATOR_REACH: Final = 4
"""Words between a negator and the keyword: "I do not want you to call me" has three."""


def is_negated(text: str, start: int, end: int, is_thing: bool) -> bool:
    """Return whether the user says that the keyword at `text[start:end]` is not wanted.

    `is_thing`: the keyword names something to be had ("ticket") rather than something to do ("call me").
    """
    if _is_negated_before(clause_before(text, start), is_thing):
        return True
    return _is_negated_after(words_after(text, end))


def _is_negated_before(nearest_first: Iterator[str], is_thing: bool) -> bool:
    """Return whether a negator or an excluder stands before the keyword, near enough to deny it."""
    only_fillers = True
    for distance, word in enumerate(islice(nearest_first, WORDS_READ)):
        if word in EXCLUDERS and only_fillers:
            return is_thing or word not in NEW_START  # "utan": "without" before a thing, "but" before a verb
        if word in NEGATORS and distance <= NEGATOR_REACH:
            return next(nearest_first, "") not in ASKING  # "why not"
        is_filler = word in FILLERS and only_fillers
        if word in NEW_START and not is_filler:
            return False
        only_fillers = is_filler
        if distance >= NEGATOR_REACH and not only_fillers:
            return False
    return False


def _is_negated_after(words: Iterator[str]) -> bool:
    """Return whether a late negator follows that does not deny one of two numbers ("not on A but on B")."""
    near = list(islice(words, 2 * WORDS_READ))
    for at, word in enumerate(near[:WORDS_READ]):
        if word in LATE_NEGATORS:
            return not any(first in NEW_START and second in REACHING for first, second in pairwise(near[at:]))
        if word not in FOLLOWERS:
            return False
    return False
