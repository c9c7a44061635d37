"""Typed tokens and the keys by which an answer's token is found in a source.

A key is a short string of a kind and a normalised value ("q 14 day"). A source's token gives keys; an answer's
token needs them, as alternatives each of which is a group that one snippet must give whole. So the whole
comparison of two texts is a few set look-ups.
"""

from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

Kind = Literal[
    "number", "percent", "money", "quantity", "date", "time", "range", "phone", "identifier", "ordinal", "factor",
    "magnitude", "roman", "symbol", "unread",
]  # fmt: skip
Key: TypeAlias = str
Needs: TypeAlias = tuple[tuple[Key, ...], ...]


class Token(NamedTuple):
    """A number as it stands in a text.

    text: the characters as written. kind: the row of the number rule that read it ("unread": none did).
    value: normalised, with its unit. start, end: offsets in the text given to `tokens`.
    needs: of an answer's token, alternatives; each is a group of keys that one snippet must give.
    gives: of a source's token, the keys that it supports.
    amounts: the bare values it holds, to tell whether a text repeats it in any form.
    """

    text: str
    kind: Kind
    value: str
    start: int
    end: int
    needs: Needs = ()
    gives: tuple[Key, ...] = ()
    amounts: tuple[str, ...] = ()


@dataclass(slots=True)
class Amount:
    """A value with its unit, as one of the rows for amounts reads it.

    values: its readings as canonical decimals or fractions; more than one when a lone comma may mean either.
    same: a key value for the very characters, when they can be read in two ways.
    sort: n bare, % percent, p percentage points, ‰ per mille, m money, q quantity, t time, x factor, i identifier.
    unit: canonical unit or currency. end: offset after the last character. words: written as words.
    prefixed: the currency stands before it. shift: the power of ten of a multiplier that is in the values.
    """

    end: int
    values: tuple[str, ...]
    same: str | None = None
    sort: str = "n"
    unit: str = ""
    words: bool = False
    prefixed: bool = False
    shift: int = 0

    def options(self) -> tuple[tuple[str, ...], ...]:
        """Return alternatives of values that must all hold."""
        if self.same is None:
            return (self.values,)
        return (self.values, (self.same,))

    def given(self) -> tuple[str, ...]:
        """Return the values that this amount, in a source, stands for."""
        if self.same is None:
            return self.values
        return (*self.values, self.same) if len(self.values) == 1 else (self.same,)


KIND: dict[str, Kind] = {
    "n": "number", "%": "percent", "p": "percent", "‰": "percent", "m": "money", "q": "quantity", "t": "time",
    "x": "factor",
}  # fmt: skip
_DEGREES = {"degree?": ("degF", "degC"), "degF": ("degree?",), "degC": ("degree?",)}


def show(amount: Amount) -> str:
    """Return an amount's value for people and programs: "299 SEK", "14 day", "50 %"."""
    value = "|".join(amount.values)
    if amount.sort == "t":
        return clock(value)
    unit = {"%": "%", "p": "pp", "‰": "‰"}.get(amount.sort, amount.unit)
    return f"{value} {unit}" if unit else value


def clock(seconds: str) -> str:
    """Return seconds since midnight as "09:00" or "09:00:30"."""
    whole = int(seconds)
    text = f"{whole // 3600:02}:{whole // 60 % 60:02}"
    return f"{text}:{whole % 60:02}" if whole % 60 else text


def amount_needs(amount: Amount) -> Needs:
    """Return what an answer's lone amount needs of a snippet."""
    sort, unit = amount.sort, amount.unit
    needs: list[tuple[str, ...]] = []
    for values in amount.options():
        if sort == "n":
            needs.append(tuple([f"n {v}" for v in values]))
            if len(values[0]) > 6 and values[0].isdigit():
                needs.append((f"ph {values[0]}",))
        elif sort == "q":
            needs.append(tuple([f"q {v} {unit}" for v in values]))
            needs.append(tuple([f"b {v}" for v in values]))
            if unit == "pound":
                needs.append(tuple([f"m {v} GBP" for v in values]))
            if unit in _DEGREES:
                needs += [tuple([f"q {v} {other}" for v in values]) for other in _DEGREES[unit]]
        elif sort == "m":
            needs.append(tuple([f"m {v} {unit}" for v in values]))
        else:
            needs.append(tuple([f"{sort} {v}" for v in values]))
    return tuple(needs)


def amount_gives(amount: Amount, low: bool = True, high: bool = True) -> tuple[Key, ...]:
    """Return what a source's amount gives; `low`, `high`: which end of an answer's range it may support."""
    sort, unit = amount.sort, amount.unit
    gives: list[str] = []
    for v in amount.given():
        if sort == "n":
            gives += (f"n {v}", f"b {v}")
        elif sort in "qm":
            gives += (f"{sort} {v} {unit}", f"n {v}")
        else:
            gives.append(f"{sort} {v}")
        if sort in "qm%p‰" and low:
            gives.append(f"low {sort} {v} {unit}")
        if sort in "qm%p‰" and high:
            gives.append(f"high {sort} {v} {unit}")
        if sort in "nqm" and v[0] != "=":
            gives.append(f"mag {magnitude(v)}")
    return tuple(gives)


def magnitude(value: str) -> int:
    """Return the power of ten of a canonical value; -1 for a fraction below one or a negative value."""
    whole = value.partition(".")[0]
    return len(whole) - 1 if whole.isdigit() and whole != "0" else -1


def range_needs(low: Amount, high: Amount) -> Needs:
    """Return what an answer's range needs: the same range, or both ends with one known unit in one snippet."""
    sort, unit = high.sort, high.unit
    needs: list[tuple[str, ...]] = []
    for lows, highs in product(low.options(), high.options()):
        ends = tuple(product(lows, highs))
        if sort == "n":
            needs.append(tuple([f"r n {a} {b}" for a, b in ends]))
            needs.append(tuple([f"pair {a} {b}" for a, b in ends]))
            continue
        needs.append(tuple([f"r {sort}{unit} {a} {b}" for a, b in ends]))
        if sort == "q":
            needs.append(tuple([f"r b {a} {b}" for a, b in ends]))
        units = (unit, *_DEGREES.get(unit, ())) if sort == "q" else (unit,)
        if sort in "qm%p‰":
            for name in units:
                needs.append(
                    (*[f"low {sort} {v} {name}" for v in lows], *[f"high {sort} {v} {name}" for v in highs])
                )
        for name in units[1:]:
            needs.append(tuple([f"r q{name} {a} {b}" for a, b in ends]))
    return tuple(needs)


def range_gives(low: Amount, high: Amount) -> tuple[Key, ...]:
    """Return what a source's range gives: itself and either end."""
    sort, unit = high.sort, high.unit
    gives: list[str] = []
    for a, b in product(low.given(), high.given()):
        if sort == "n":
            gives += (f"r n {a} {b}", f"r b {a} {b}")
        else:
            gives.append(f"r {sort}{unit} {a} {b}")
            if sort in "qm":
                gives.append(f"r n {a} {b}")
    return (*gives, *amount_gives(low, high=False), *amount_gives(high, low=False))
