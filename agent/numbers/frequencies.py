"""Reads how often something is, with its rate, and how many times as much: `twice a day`, `2x daily`, `doubled`."""

from typing import Final

from . import keys
from .rates import read_frequency
from .reader import NumberReader
from .token import NO_RATE, Amount, Kind, Needs, NumberMatch, Rate, Sort

_OF_FACTOR: Final[Rate] = frozenset(("factor",))
"""Stands in a source where a rate would: "twice as much" supports "two times as much", and no "twice a day"."""


def match_frequency(r: NumberReader, start: int, end: int, times: str) -> NumberMatch | None:
    """Return how often something is, when a rate follows at `end`; `times`: how many times."""
    rate = read_frequency(r.s, end)
    if not rate:
        return None
    amount = Amount(end, (times,), sort=Sort.QUANTITY, unit=keys.TIMES, words=True)
    found = r.match_counted(amount, start)
    found.rate = rate
    return found


def match_factor(r: NumberReader, start: int, end: int, value: str, *, is_ratio: bool = False) -> NumberMatch:
    """Return a factor; as many times support it, and it supports them where they have no rate.

    `is_ratio`: how often something is ("twice a day") does not support it, as it does "twice".
    """
    needs: Needs = ((f"factor {value}",), (f"{Sort.QUANTITY} {value} {keys.TIMES}",))
    gives = tuple([key for (key,) in needs])
    rate = _OF_FACTOR if r.source or is_ratio else NO_RATE
    return NumberMatch(Kind.FACTOR, value, start, end, needs, gives, (value,), rate=rate)
