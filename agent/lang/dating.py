"""How a language says a date by the day on which it is said: "tomorrow", "on Friday", "next week", "in three days".

Words are folded. They are read in every text, whatever its language (`agent.numbers.days`), since it may quote another.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dating:
    """Words for days that are counted from the one on which they are said.

    days: phrases, by how many days they are away. weekdays: names, and then their other forms, by how many days they
    are behind Monday; gone: of forms that name the last one by themselves. spans: "week", "weekend", "month" and
    "year" by the word. this, following, last: phrases that stand before a weekday or a span and say which one. ahead,
    behind: what stands before or behind a length of time and counts it from today on; ago: behind one that is counted
    back. each: before what comes again and again ("every Friday"). per: those of `this` that after a number say how
    often ("500 kr i veckan"); one: before what is one of its kind. on, from_now: before a weekday, and before a length
    of time, where that can only be to come ("is on Friday", "is in three days").
    """

    days: Mapping[str, int]
    weekdays: Mapping[str, int]
    gone: Mapping[str, int]
    spans: Mapping[str, str]
    this: frozenset[str]
    following: frozenset[str]
    last: frozenset[str]
    ahead: frozenset[str]
    behind: frozenset[str]
    ago: frozenset[str]
    each: frozenset[str]
    per: frozenset[str]
    one: frozenset[str]
    on: frozenset[str]
    from_now: frozenset[str]
