"""The record of a language's words for dates by the day on which they are said: "tomorrow", "in three days".

Words are folded. They are read in every text, whatever its language (`agent.numbers.days`), since it may quote another.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dating:
    """Words for days that are counted from the day on which they are said.

    `days`: phrases, by their distance in days. `weekdays`: names, and then their other forms, by the days since Monday;
    `gone`: forms that mean the last such day by themselves. `spans`: the words for "week", "weekend", "month" and
    "year". `this`, `following`, `last`: phrases before a weekday or a span that select one. `ahead`, `behind`: words
    before or after a length of time that count it from today on; `ago`: words after one that is counted back. `each`:
    words before a repeated time ("every Friday"). `per`: those of `this` that after a number tell how often ("500 kr i
    veckan"); `one`: words before a single thing. `on`, `from_now`: words before a weekday, and before a length of time,
    where that must be in the future ("is on Friday", "is in three days").
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
