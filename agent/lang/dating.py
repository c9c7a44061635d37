"""The record of a language's words for dates by the day on which they are said: "tomorrow", "in three days".

Words are folded. They are read in texts of any language (`agent.numbers.days`), since it may quote another.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dating:
    """Words for days that are counted from the day on which they are said."""

    days: Mapping[str, int]  # phrases, by their distance in days
    weekdays: Mapping[str, int]  # names, and then their other forms, by the days since Monday
    gone: Mapping[str, int]  # forms that mean the last such day by themselves
    spans: Mapping[str, str]  # the words for "week", "weekend", "month" and "year"
    # Phrases before a weekday or a span that select one.
    this: frozenset[str]
    following: frozenset[str]
    last: frozenset[str]
    # Words before or behind a length of time that count it from today on ...
    ahead: frozenset[str]
    behind: frozenset[str]
    ago: frozenset[str]  # ... and words behind one that is counted back
    each: frozenset[str]  # words before a repeated time ("every Friday")
    per: frozenset[str]  # those of `this` that behind a number tell how often ("500 kr i veckan")
    one: frozenset[str]  # words before a single thing
    # Words before a weekday, and before a length of time, where that must be in the future ("is on Friday").
    on: frozenset[str]
    from_now: frozenset[str]
