"""What the numbers of a source give together: the look-up that decides whether an answer's number stands there."""

from collections.abc import Iterable
from dataclasses import dataclass

from .token import End, Key, Pair, Rate, Sort, Token


@dataclass(frozen=True, slots=True)
class Given:
    """What the numbers of a source give together, in the form that an answer's are looked up in.

    keys: what they give. rated: of the keys that a number with a rate gave, the rates of all numbers that gave them.
    lows, highs: by value, the units with which it may be that end of a range. amounts: bare values.
    """

    keys: frozenset[Key]
    rated: dict[Key, frozenset[Rate]]
    lows: dict[str, frozenset[tuple[Sort, str]]]
    highs: dict[str, frozenset[tuple[Sort, str]]]
    amounts: frozenset[str]

    def holds(self, token: Token) -> bool:
        """Tell whether an answer's number stands here, by type and value."""
        keys = self.keys
        return any(
            all(key in keys or (type(key) is Pair and self._paired(key)) for key in group)
            and (not token.rate or self.at_rate(group, token.rate))
            for group in token.needs
        )

    def repeats(self, token: Token) -> bool:
        """Tell whether a token's value stands here in any form, supported or not."""
        return self.holds(token) or not self.amounts.isdisjoint(token.amounts)

    def at_rate(self, group: Iterable[Key], rate: Rate) -> bool:
        """Tell whether each key was given at this rate, or without one."""
        for key in group:
            rates = self.rated.get(key)
            if rates is not None and not any(agree(rate, its) for its in rates):
                return False
        return True

    def _paired(self, pair: Pair) -> bool:
        """Tell whether two lone numbers carry one known unit."""
        lows, highs = self.lows.get(pair.low, frozenset()), self.highs.get(pair.high, frozenset())
        return not lows.isdisjoint(highs)


def agree(one: Rate, other: Rate) -> bool:
    """Tell whether two rates do not differ: one says no more than the other, or nothing."""
    return one <= other or other <= one


_LOANED = frozenset((Sort.QUANTITY, Sort.MONEY))


def given(found: Iterable[Token]) -> Given:
    """Return what the tokens of a source give together."""
    keys: set[Key] = set()
    amounts: set[str] = set()
    rated: dict[Key, set[Rate]] = {}
    unrated: set[Key] = set()
    ends: tuple[dict[str, set[tuple[Sort, str]]], dict[str, set[tuple[Sort, str]]]] = ({}, {})
    for token in found:
        amounts.update(token.amounts)
        keys.update(token.gives)
        if not token.rate:
            unrated.update(token.gives)
            continue
        for key in token.gives:
            rated.setdefault(key, set()).add(token.rate)
    for key in keys:
        if type(key) is End and key.sort in _LOANED:
            ends[key.high].setdefault(key.value, set()).add((key.sort, key.unit))
    return Given(
        frozenset(keys),
        {key: frozenset(rates) for key, rates in rated.items() if key not in unrated},
        {value: frozenset(units) for value, units in ends[0].items()},
        {value: frozenset(units) for value, units in ends[1].items()},
        frozenset(amounts),
    )
