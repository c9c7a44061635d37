"""The keys by which an answer's number is found in a source.

A key is a short string of a kind and a normalised value ("quantity 14 day"); keys that are looked up by their parts
are tuples (`Pair`, `End`). A source's number gives keys; an answer's number needs keys, as alternative groups, each of
which one snippet must give whole. So the comparison of two texts is a few set look-ups, and no key is ever taken
apart. A rate stands beside the keys: a key that was given only at other rates than the answer's does not count.
"""

import re
from itertools import product

from .token import Amount, End, Key, Kind, Needs, NumberMatch, Pair, Rate, Sort

_DEGREES = {"degree?": ("degF", "degC"), "degF": ("degree?",), "degC": ("degree?",)}
_ENDING = frozenset((Sort.QUANTITY, Sort.MONEY, Sort.PERCENT, Sort.POINTS, Sort.MILLE))
_LONG = re.compile(r"([^\W\d_]{0,4}) ?\d[\d -]*")
TIMES = "times"
"""The unit of "twice a day"."""
MANY = 7
"""Digits; longer numbers are compared digit by digit, however they are grouped."""
_VERSION = re.compile(r"(?:[vV](?=\d)|(?=\d+\.))(\d+(?:\.\d+)*)")
_POSTCODE = re.compile(r"\d{3} \d{2}")
_URL_PORT = re.compile(r":([1-9]\d{1,4})(?:[?#].*)?$")
_PORT = re.compile(r"(\d+(?:\.\d+){3}):(\d{2,5})")


def needs_of(found: NumberMatch) -> Needs:
    """Return the keys that an answer's number needs."""
    if found.amount is None:
        own = found.needs
    else:
        own = _amount_needs(found.amount) if found.low is None else _range_needs(found.low, found.amount)
    return (*own, *((key,) for key in _names(found))) if found.names else own


def gives_of(found: NumberMatch) -> tuple[Key, ...]:
    """Return the keys that a source's number gives."""
    gives = _own_gives(found)
    return (*gives, *_names(found)) if found.names else gives


def _names(found: NumberMatch) -> tuple[str, ...]:
    """Return the keys of the names that a number is a part of, and "digits" keys for codes of many digits."""
    names = [name.casefold() for name in found.names]
    return (*(f"id {name}" for name in names), *(f"digits {name}" for name in names if _CODE.fullmatch(name)))


_CODE = re.compile(rf"[a-z]{{2}}\d{{{MANY},}}")


def _own_gives(found: NumberMatch) -> tuple[Key, ...]:
    if found.amount is None:
        return found.gives
    if found.low is not None:
        return _range_gives(found.low, found.amount)
    gives = _amount_gives(found.amount)
    return gives if found.earlier is None else (*_amount_gives(found.earlier), *gives)


def exact(kind: Kind, start: int, end: int, value: str) -> NumberMatch:
    """Return a number that only the same characters support, or the same digits where it has at least `MANY`."""
    needs: list[tuple[Key, ...]] = [(f"id {value.casefold()}",)]
    line = value.replace("\n", " ") if "-" in value else value
    long = _LONG.fullmatch(line)
    more: tuple[tuple[Key, ...], ...] = ()
    if long is not None:
        digits = "".join([c for c in line if c.isalnum()]).casefold()
        if len(digits) - len(long[1]) >= MANY + ("-" not in line):  # "12 34 567" may be three numbers
            needs.append((f"digits {digits}",))
        elif _POSTCODE.fullmatch(line) and digits[0] != "0":
            needs.append((f"postcode {digits}",))
            more = ((f"n {digits}",),)
    version = _VERSION.fullmatch(value)
    if version is not None:
        needs.append((f"version {version[1]}",))
    gives: list[Key] = [key for group in needs for key in group]
    port = _PORT.fullmatch(value)
    if port is not None:
        gives += (f"id {port[1]}", f"n {port[2]}")
    return NumberMatch(kind, value, start, end, (*needs, *more), tuple(gives), (value,))


def same(
    kind: Kind, value: str, start: int, end: int, key: str, amounts: tuple[str, ...] = ()
) -> NumberMatch:
    """Return a number that only its own key supports: "factor 2", "roman XIV", a sign of numeric value."""
    name = f"{key} {value}"
    return NumberMatch(kind, value, start, end, ((name,),), (name,), amounts)


def ordinal(value: str, start: int, end: int) -> NumberMatch:
    """Return an ordinal: ordinals and bare numbers support it; in a source it supports no decimal and no "#3"."""
    needs: Needs = ((f"o {value}",), (f"n {value}",))
    return NumberMatch(Kind.ORDINAL, value, start, end, needs, (f"o {value}",), (value,))


def phone(digits: str, start: int, end: int) -> NumberMatch:
    """Return a telephone number: all its digits in order, however grouped."""
    return same(Kind.PHONE, digits, start, end, "digits", (digits,))


def url(address: str, parts: list[str], start: int, end: int) -> NumberMatch:
    """Return a URL: it supports itself, each segment of its path supports itself, its port supports a bare number."""
    gives = [f"id {address.casefold()}", *(f"id {part.casefold()}" for part in parts)]
    gives += (f"n {part}" for part in parts if part.isdecimal() and part[0] != "0")
    port = _URL_PORT.search(address.rpartition("://")[2].partition("/")[0])
    if port is not None:
        gives.append(f"n {port[1]}")
    return NumberMatch(Kind.IDENTIFIER, address, start, end, ((gives[0],),), tuple(gives), tuple(parts))


def times(count: str, written: str, start: int, end: int) -> NumberMatch:
    """Return "x3", which is a name or a factor."""
    needs: Needs = ((f"id {written}",), (f"factor {count}",))
    return NumberMatch(Kind.FACTOR, count, start, end, needs, (needs[0][0], needs[1][0]), (count,))


def dimension(sides: tuple[str, ...], unit: str, start: int, end: int) -> NumberMatch:
    """Return a dimension, "10x20": a unit supports only itself or no unit."""
    value = "x".join(sides)
    name = f"dimension {value}"
    needs: Needs = ((f"{name} {unit}",), (f"{name} ?",)) if unit else ((name,),)
    gives = (name, f"{name} {unit or '?'}")
    return NumberMatch(Kind.IDENTIFIER, f"{value} {unit}".strip(), start, end, needs, gives, (value,))


def date(value: str, parts: tuple[str, ...], year: int, start: int, end: int) -> NumberMatch:
    """Return a date; in a source it also supports its parts with a year or a month, and its bare year."""
    gives = [f"date {part}" for part in (value, *parts)]
    if year:
        gives.append(f"n {year}")
    return NumberMatch(Kind.DATE, value, start, end, ((gives[0],),), tuple(gives), (value,))


def time(value: str, seconds: int, amount: str, start: int, end: int, zone: Rate) -> NumberMatch:
    """Return a time of day. `amount`: the number that an unsure time may be instead, else ""."""
    needs: Needs = ((f"time {seconds}",),)
    if amount:
        needs = (*needs, (f"n {amount}",))
    gives = tuple([key for group in needs for key in group])
    return NumberMatch(Kind.TIME, value, start, end, needs, gives, (str(seconds),), rate=zone)


def hours(
    value: str,
    ends: tuple[int, int],
    bare: tuple[str, str] | None,
    sure: bool,
    place: tuple[int, int],
    zone: Rate,
) -> NumberMatch:
    """Return a range of times. `ends`: in seconds. `bare`: its whole hours. `sure`: it cannot be a range of numbers."""
    name = f"range time {ends[0]} {ends[1]}"
    needs: Needs = ((name,),)
    gives = [name, f"time {ends[0]}", f"time {ends[1]}"]
    if bare is not None:
        gives.append(f"range {bare[0]} {bare[1]}")
        if not sure:
            needs = (*needs, (gives[-1],))
            gives += (f"n {bare[0]}", f"n {bare[1]}")
    amounts = bare if bare is not None and not sure else (str(ends[0]), str(ends[1]))
    return NumberMatch(Kind.RANGE, value, *place, needs, tuple(gives), amounts, rate=zone)


def _amount_needs(amount: Amount) -> Needs:
    """Return the keys that an answer's lone amount needs."""
    sort, unit = amount.sort, amount.unit
    if amount.version:
        return ((f"version {amount.written}",),)
    needs: list[tuple[Key, ...]] = []
    for values in amount.options():
        if sort is Sort.BARE:
            needs.append(tuple([f"n {v}" for v in values]))
            if values[0].isdigit():
                if amount.counts:
                    needs.append((f"o {values[0]}",))
                if len(values[0]) >= MANY:
                    needs.append((f"digits {values[0]}",))
                elif len(values[0]) == 5:
                    needs.append((f"postcode {values[0]}",))
        elif sort is Sort.QUANTITY:
            for name in (unit, *_DEGREES.get(unit, ())):
                needs.append(tuple([f"quantity {v} {name}" for v in values]))
            needs.append(tuple([f"any {v}" for v in values]))
            if unit == "pound":
                needs.append(tuple([f"money {v} GBP" for v in values]))
        elif sort is Sort.MONEY:
            needs.append(tuple([f"money {v} {unit}" for v in values]))
        else:
            needs.append(tuple([f"{sort} {v}" for v in values]))
    if amount.written:
        needs.append((f"version {amount.written}",))
    return tuple(needs)


def _amount_gives(amount: Amount, lone: bool = True) -> tuple[Key, ...]:
    """Return the keys that a source's amount gives. `lone`: it is no end of a range, so it may be one in an answer."""
    sort, unit = amount.sort, amount.unit
    gives: list[Key] = []
    if amount.written:
        gives.append(f"version {amount.written}")
        if amount.version and amount.written != amount.values[0]:
            return tuple(gives)
    for v in amount.source_values():
        if sort is Sort.BARE:
            gives.append(f"n {v}")
            if amount.counts:
                gives.append(f"any {v}")
            if len(v) >= MANY and v.isdigit():
                gives.append(f"digits {v}")
            elif len(v) == 5 and v.isdigit():
                gives.append(f"postcode {v}")
        elif sort is Sort.QUANTITY or sort is Sort.MONEY:
            gives += (f"{sort} {v} {unit}", f"n {v}")
        else:
            gives.append(f"{sort} {v}")
        if lone and sort in _ENDING:
            gives += (End(v, sort, unit, False), End(v, sort, unit, True))
        if sort in SIZED and v[0] != "=":
            gives.append(f"magnitude {magnitude(v)}")
    return tuple(gives)


SIZED = frozenset((Sort.BARE, Sort.QUANTITY, Sort.MONEY))


def magnitude(value: str) -> int:
    """Return the power of ten of a canonical value; -1 for a fraction below one or a negative value."""
    whole = value.partition(".")[0]
    return len(whole) - 1 if whole.isdigit() and whole != "0" else -1


def _range_needs(low: Amount, high: Amount) -> Needs:
    """Return the keys that an answer's range needs: the same range, or two lone numbers of one unit in one snippet."""
    sort, unit = high.sort, high.unit
    needs: list[tuple[Key, ...]] = []
    for lows, highs in product(low.options(), high.options()):
        ends = tuple(product(lows, highs))
        if sort is Sort.BARE:
            needs.append(tuple([f"range {a} {b}" for a, b in ends]))
            needs.append(tuple([Pair(a, b) for a, b in ends]))
            continue
        units = (unit, *_DEGREES.get(unit, ())) if sort is Sort.QUANTITY else (unit,)
        needs += [tuple([f"range {sort} {name} {a} {b}" for a, b in ends]) for name in units]
        if sort is Sort.QUANTITY:
            needs.append(tuple([f"range any {a} {b}" for a, b in ends]))
        for name in units:
            both = [End(v, sort, name, False) for v in lows] + [End(v, sort, name, True) for v in highs]
            needs.append(tuple(both))
    return tuple(needs)


def _range_gives(low: Amount, high: Amount) -> tuple[Key, ...]:
    """Return the keys that a source's range gives: those of the range and of either end."""
    sort, unit = high.sort, high.unit
    gives: list[Key] = []
    for a, b in product(low.source_values(), high.source_values()):
        if sort is Sort.BARE:
            gives += (f"range {a} {b}", f"range any {a} {b}")
        else:
            gives.append(f"range {sort} {unit} {a} {b}")
            if sort in SIZED:
                gives.append(f"range {a} {b}")
    return (*gives, *_amount_gives(low, lone=False), *_amount_gives(high, lone=False))
