"""The look-up that decides whether an answer's number stands in a source, over all the numbers of that source."""

from collections.abc import Iterable

import msgspec

from .token import End, Key, NumberToken, Pair, Rate, Sort


class SourceNumbers(msgspec.Struct, frozen=True):
    """The keys that the numbers of a source give together, in the form that an answer's keys are looked up in.

    `keys`: all of them. `rated`: for keys that only numbers with a rate gave, the rates of those numbers. `lows`,
    `highs`: by value, the units with which a lone number may be that end of a range. `amounts`: bare values.
    """

    keys: frozenset[Key]
    rated: dict[Key, frozenset[Rate]]
    lows: dict[str, frozenset[tuple[Sort, str]]]
    highs: dict[str, frozenset[tuple[Sort, str]]]
    amounts: frozenset[str]

    def holds(self, token: NumberToken) -> bool:
        """Tell whether the source holds an answer's number, by type and value."""
        keys = self.keys
        return any(
            all(key in keys or (type(key) is Pair and self._has_pair(key)) for key in group)
            and (not token.rate or self.at_rate(group, token.rate))
            for group in token.needs
        )

    def repeats(self, token: NumberToken) -> bool:
        """Tell whether the source holds the value of `token` in any form, supported or not."""
        return self.holds(token) or not self.amounts.isdisjoint(token.amounts)

    def at_rate(self, group: Iterable[Key], rate: Rate) -> bool:
        """Tell whether the source gives each key at this `rate`, or without a rate."""
        for key in group:
            rates = self.rated.get(key)
            if rates is not None and not any(agree(rate, its) for its in rates):
                return False
        return True

    def _has_pair(self, pair: Pair) -> bool:
        """Tell whether two lone numbers of the source have one known unit."""
        lows, highs = self.lows.get(pair.low, frozenset()), self.highs.get(pair.high, frozenset())
        return not lows.isdisjoint(highs)


def agree(one: Rate, other: Rate) -> bool:
    """Tell whether two rates are compatible: one is a part of the other, or is empty."""
    return one <= other or other <= one


_LOANED = frozenset((Sort.QUANTITY, Sort.MONEY))


def collect_keys(found: Iterable[NumberToken]) -> SourceNumbers:
    """Collect the keys that the tokens of a source give together."""
    keys: set[Key] = set()
    amounts: set[str] = set()
    rated: dict[Key, set[Rate]] = {}
    ends: tuple[dict[str, set[tuple[Sort, str]]], dict[str, set[tuple[Sort, str]]]] = ({}, {})
    for token in found:
        amounts.update(token.amounts)
        if not token.rate:
            keys.update(token.gives)
            continue
        for key in token.gives:
            rated.setdefault(key, set()).add(token.rate)
    unrated = frozenset(keys)
    keys.update(rated)
    for key in keys:
        if type(key) is End and key.sort in _LOANED:
            ends[key.high].setdefault(key.value, set()).add((key.sort, key.unit))
    return SourceNumbers(
        frozenset(keys),
        {key: frozenset(rates) for key, rates in rated.items() if key not in unrated},
        {value: frozenset(units) for value, units in ends[0].items()},
        {value: frozenset(units) for value, units in ends[1].items()},
        frozenset(amounts),
    )
