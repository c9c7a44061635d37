"""Finds the lengths, prices and shares in a text, each as one term: "14 days" is not "14 months".

Strategy: reading all numbers of a text takes longer than the rest of its indexing, so only possible numbers with a unit
are read: digits beside a unit, a currency or its sign, and a number word before one. The results are cached, since many
turns name the same amounts.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from agent.numbers.number_tokens import tokens
from agent.numbers.token import Kind
from agent.numbers.units import SIGNS, currency_of, unit_of
from agent.numbers.vocabulary import CARDINALS, ONES

_TYPED: Final = frozenset({Kind.QUANTITY, Kind.MONEY, Kind.PERCENT})
_SPELT: Final = frozenset(CARDINALS) - frozenset(ONES)
_SIGNS: Final = frozenset(each for each in SIGNS if len(each) == 1)
_DIGITS: Final = re.compile(
    rf"\d[\d.,]*(?:[ \u00a0\u202f]\d{{3}}(?!\d))*(?:[\s-]?([^\W\d_]+|[%{re.escape(''.join(_SIGNS))}]))?"
)


def find_amounts(text: str, words: Sequence[str]) -> list[str]:
    """Return the terms of the amounts in `text` ("14_day", "299_SEK"). `words`: its folded words, without "_"."""
    amounts: list[str] = []
    for match in _DIGITS.finditer(text):
        before, unit = text[max(0, match.start() - 2) : match.start()].rstrip()[-1:], match[1]
        if before in _SIGNS or (unit is not None and _is_unit(unit)):
            amounts += _terms(before + match.group() if before in _SIGNS else match.group())
    if not _SPELT.isdisjoint(words):
        for amount in _spelt(words):
            amounts += _terms(amount)
    return amounts


def _is_unit(word: str) -> bool:
    if len(word) == 1 and not word.isalpha():
        return True
    return unit_of(word) is not None or currency_of(word) is not None


def _spelt(words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words[:-1]):
        if word in _SPELT and _is_unit(words[at + 1]):
            yield f"{word} {words[at + 1]}"


@lru_cache(maxsize=4096)
def _terms(text: str) -> tuple[str, ...]:
    """Return the terms of a short text around an amount; both values for digits with two readings."""
    terms: list[str] = []
    for token in tokens(text, rates=False):
        value, _, unit = token.value.partition(" ")
        if token.kind in _TYPED and unit:
            terms += [f"{each}_{unit.replace(' ', '_')}" for each in value.split("|")]
    return tuple(terms)
