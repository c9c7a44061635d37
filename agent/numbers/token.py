"""The records of the room: amounts with their units, the numbers that rows read, and the tokens made of them."""

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Kind(StrEnum):
    """The row of the number rule that read a token; `UNREAD`: none did."""

    NUMBER = "number"
    PERCENT = "percent"
    MONEY = "money"
    QUANTITY = "quantity"
    DATE = "date"
    TIME = "time"
    RANGE = "range"
    PHONE = "phone"
    IDENTIFIER = "identifier"
    ORDINAL = "ordinal"
    FACTOR = "factor"
    MAGNITUDE = "magnitude"
    ROMAN = "roman"
    SYMBOL = "symbol"
    UNREAD = "unread"


class Sort(StrEnum):
    """The dimension of an amount: bare, a percentage, money or a quantity."""

    BARE = "bare"
    PERCENT = "percent"
    POINTS = "points"
    MILLE = "mille"
    MONEY = "money"
    QUANTITY = "quantity"


class Pair(msgspec.Struct, frozen=True):
    """Two values that one source must hold as lone numbers of one unit."""

    low: str
    high: str


class End(msgspec.Struct, frozen=True):
    """A source's lone amount, which may be the low or the high end of an answer's range of that unit."""

    value: str
    sort: Sort
    unit: str
    high: bool


Key: TypeAlias = str | Pair | End
Needs: TypeAlias = tuple[tuple[Key, ...], ...]
Rate: TypeAlias = frozenset[str]
NO_RATE: Rate = frozenset()


class NumberToken(msgspec.Struct, frozen=True, kw_only=True):
    """A number as it stands in a text.

    `text`: the characters as written. `kind`: the row of the number rule that read it.
    `value`: normalised, with its unit. `start`, `end`: offsets in the text given to `tokens`.
    `needs`: of an answer's token, alternatives; each is a group of keys that one snippet must give.
    `gives`: of a source's token, the keys that it supports.
    `amounts`: the bare values it holds, to tell whether a text repeats it in any form.
    `rate`: the units it is per ("month", "user"), or the zone of a time; empty when none is stated.
    `words`: it is a count that is written in words.
    """

    text: str
    kind: Kind
    value: str
    start: int
    end: int
    needs: Needs = ()
    gives: tuple[Key, ...] = ()
    amounts: tuple[str, ...] = ()
    rate: Rate = NO_RATE
    words: bool = False


class Amount(msgspec.Struct):
    """A value with its unit, as one of the rows for amounts reads it.

    `values`: its readings as canonical decimals or fractions; more than one when a lone comma may mean either.
    `same`: a key value for the very characters, when they can be read in two ways.
    `unit`: canonical unit or currency. `end`: offset after the last character. `words`: written as words.
    `prefixed`: the currency stands before it. `shift`: the power of ten of a multiplier that is in the values.
    `written`: its digits when they may be those of a version ("2.10"). `version`: they surely are.
    `counts`: it may be a count of something, or stand for an ordinal of a source.
    """

    end: int
    values: tuple[str, ...]
    same: str | None = None
    sort: Sort = Sort.BARE
    unit: str = ""
    words: bool = False
    prefixed: bool = False
    shift: int = 0
    written: str = ""
    version: bool = False
    counts: bool = True

    def options(self) -> tuple[tuple[str, ...], ...]:
        """Return alternatives, each a group of values that must all be supported."""
        if self.same is None:
            return (self.values,)
        return (self.values, (self.same,))

    def source_values(self) -> tuple[str, ...]:
        """Return the values that this amount supports in a source."""
        if self.same is None:
            return self.values
        return (*self.values, self.same) if len(self.values) == 1 else (self.same,)


class NumberMatch(msgspec.Struct):
    """A number that a row read, at offsets of the plain text; `keys` computes the keys that it needs or gives.

    `amount`: the amount, or the high end of a range; `low`: the low end. `earlier`: in a source, the amount before a
    unit was lent to it. `needs`, `gives`: of any other number. `names`: names that it is a part of and also stands for.
    `rate`: the rate that was found before the number or in its header. `rated`: the end of the amount behind which a
    rate may stand, -1 for `end`.
    """

    kind: Kind
    value: str
    start: int
    end: int
    needs: Needs = ()
    gives: tuple[Key, ...] = ()
    amounts: tuple[str, ...] = ()
    amount: Amount | None = None
    low: Amount | None = None
    earlier: Amount | None = None
    names: tuple[str, ...] = ()
    rate: Rate = NO_RATE
    rated: int = -1


KIND: dict[Sort, Kind] = {
    Sort.BARE: Kind.NUMBER, Sort.PERCENT: Kind.PERCENT, Sort.POINTS: Kind.PERCENT, Sort.MILLE: Kind.PERCENT,
    Sort.MONEY: Kind.MONEY, Sort.QUANTITY: Kind.QUANTITY,
}  # fmt: skip
_SHOWN = {Sort.PERCENT: "%", Sort.POINTS: "pp", Sort.MILLE: "‰"}


def show(amount: Amount) -> str:
    """Return the value of an amount for people and programs: "299 SEK", "14 day", "50 %"."""
    value = "|".join(amount.values)
    unit = _SHOWN.get(amount.sort, amount.unit)
    return f"{value} {unit}" if unit else value


def clock(seconds: int) -> str:
    """Return seconds since midnight as "09:00" or "09:00:30"."""
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def match_amount(amount: Amount, start: int) -> NumberMatch:
    """Return a `NumberMatch` for one amount."""
    return NumberMatch(
        KIND[amount.sort], show(amount), start, amount.end, amounts=amount.values, amount=amount
    )
