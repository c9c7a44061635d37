"""Reads rates, the unit that a number is per: `299 kr per month`, `/mån`, `om året`, `GB/day`, `three times a week`.

A rate is the set of the things that it names: "per user and month" is {user, month}. Time and known units go by their
canonical name; people and things by the written word in the singular, or by the name that the languages share for it.
The zone of a time of day is kept in the same way.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from agent.text.words import FUNCTION_WORDS

from .language_tables import AND, PER, either, merge_tables, pattern, unite_words
from .token import NO_RATE, Rate
from .units import POWER_WORDS, UNITS, unit_of

TIME_UNITS: Rate = frozenset(
    (
        "millisecond",
        "second",
        "minute",
        "hour",
        "day",
        "night",
        "week",
        "month",
        "quarter-year",
        "year",
        "workday",
    )
)
"""Units of time, which "a", "each" and "om" may stand before."""
_THINGS = merge_tables(lambda each: each.rates.things)
_EACH = merge_tables(lambda each: each.rates.adverbs)
_COMPOUND = merge_tables(lambda each: each.rates.charge_prefixes)
_CHARGE = f"(?:{either(lambda each: each.rates.charge_suffixes)})"
_PER = pattern(PER)
_EVERY_WORDS = unite_words(lambda each: each.rates.every)
_EVERY = pattern(_EVERY_WORDS)
_ZONES = r"(?:UTC|GMT|CES?T|EES?T|WES?T|[ECMP][SD]T|BST|IST|JST|AES?T|Z)"

_SQUARE = pattern(word for word, power in POWER_WORDS.items() if power == "2")
_UNIT_WORD = rf"(?:(?:{_SQUARE})\.?[ \n])?[^\W\d_]+(?:\^\d)?"
_PREPOSITIONS = pattern(PER, AND, unite_words(lambda each: each.rates.each))
_RATE_TEXT = (
    rf"(?: ?/ ?|[ \n](?:{_PREPOSITIONS})[ \n])(?P<per>(?:\d[\d ]{{0,7}} ?)?{_UNIT_WORD}|\d[\d ]{{0,7}})"
    rf"|[ \n](?:{_EVERY})[ \n](?P<span>{_UNIT_WORD})"
    rf"|[ \n](?P<each>{pattern(_EACH)})(?![^\W_])|[ \n](?P<annum>p\.a\.|per annum)"
)
_RATE_STARTS = pattern(PER, _EVERY_WORDS, unite_words(lambda each: each.rates.stop_words))
_ASIDES = pattern(unite_words(lambda each: each.rates.asides))
_WORDS_BETWEEN = rf"(?:[ \n](?!(?:{_RATE_STARTS})[ \n])(?:[^\W\d_]+|(?:{_ASIDES})\.)){{0,3}}?"
_RATE_AFTER_NUMBER = re.compile(rf"{_WORDS_BETWEEN}(?:[ \n]?\()?(?:{_RATE_TEXT})", re.I)
_NEXT_RATE = re.compile(rf",?(?:{_RATE_TEXT})", re.I)
_STARTS = "".join(sorted({word[0] for word in (*PER, *_EVERY_WORDS, *_EACH, *_COMPOUND)}))
_RATE = re.compile(
    rf"(?:(?<![^\W_])(?=[{_STARTS}])|(?=/))"  # no rate begins at most characters
    rf"(?:(?:/ ?|(?:{_PER})[ \n])(?P<per>(?:\d[\d ]{{0,7}} ?)?{_UNIT_WORD}|\d[\d ]{{0,7}})"
    rf"|(?:{_EVERY})[ \n](?P<span>{_UNIT_WORD})"
    rf"|(?P<each>{pattern(_EACH)})(?![^\W_])"
    rf"|(?P<compound>{pattern(_COMPOUND)}){_CHARGE})",
    re.I,
)
_RATE_AT_ONCE = re.compile(_RATE_TEXT, re.I)
_NAMES_UNIT = re.compile(rf"(?: ?/|[ \n](?:{_PER})[ \n])", re.I)
_REACH_OF_RATE = 40
"""Characters behind a word such as "twice" that are searched for its rate."""
_REGULARLY = re.compile(
    rf"(?<![^\W_])(?:(?P<each>{pattern(_EACH)})"
    rf"|(?:{pattern(unite_words(lambda each: each.ordinals.every))})[ \n](?P<span>[^\W\d_]+))(?![^\W_])",
    re.I,
)
_CHARGE_NAME = re.compile(
    rf"(?P<compound>{pattern(_COMPOUND)}){_CHARGE}\w*"
    rf"|(?:{either(lambda each: each.rates.charge_names)})(?![^\W_])"
    rf"(?:[ \n](?:{_PER})[ \n](?P<per>{_UNIT_WORD})(?![^\W_]))?",
    re.I,
)
_CHARGE_STEMS = sorted(unite_words(lambda each: each.rates.charge_stems))
"""Stems that the names of charges contain."""
_REACH = 16  # letters of a word before the stem of a charge that are examined
_MOST_CHARGES = 500  # of a text, that are examined
_MOST_NAMES = 4  # of one rate: "per user and month" has two
_CANONICAL_NAMES = frozenset(_THINGS.values())
_MARKS, _SPACES = frozenset(("/", "(")), frozenset((" ", "\n"))
_JOINT = re.compile(rf",?[ \n](?:{pattern(AND)})[ \n]", re.I)
_ZONE = re.compile(rf" ?({_ZONES})(?![\w+-])")


@lru_cache(maxsize=4096)
def _name_unit(word: str) -> str:
    """Return the canonical name of "per `word`"."""
    lower = " ".join(word.lower().split())
    if not lower[0].isalpha():
        return lower
    *square, word = lower.replace(".", " ").split()
    unit = unit_of(word)
    if square:
        return f"{unit or word}^2"
    if unit is not None:
        return unit
    singular = lower[:-1] if lower not in _THINGS and lower.endswith("s") and len(lower) > 3 else lower
    return _THINGS.get(singular) or singular


def _name_rate(match: re.Match[str]) -> str:
    """Return the canonical name of the rate that a match states, "" when a number cannot be per that."""
    groups = match.groupdict()
    if word := groups.get("per"):
        return "" if word.lower() in FUNCTION_WORDS else _name_unit(word)
    if word := groups.get("span"):
        unit = unit_of(word)
        return unit if unit in TIME_UNITS or (unit and word.lower() in UNITS and len(unit) > 1) else ""
    if word := groups.get("each"):
        return _EACH[word.lower()]
    return _COMPOUND[groups["compound"].lower()] if groups.get("compound") else "year"


def find_charges(s: str, before: int) -> Iterator[tuple[int, Rate]]:
    """Yield the end and the rate of each name of a charge that begins before `before`.

    Such names are "monthly fee", "årsavgiften", "price per user".
    """
    offsets: list[int] = []
    lower = s.lower()
    stems = [stem for stem in _CHARGE_STEMS if stem in lower]
    for name in (*map(str.capitalize, stems), *stems):
        at = s.find(name)
        while at >= 0 and len(offsets) < _MOST_CHARGES:
            offsets.append(at)
            at = s.find(name, at + len(name))
    for offset in sorted(offsets):
        if offset >= before:
            break
        start = offset
        while start > offset - _REACH and start and s[start - 1].isalpha():
            start -= 1
        charge = _CHARGE_NAME.match(s, start)
        if charge is None:
            continue
        name = _name_rate(charge) if charge.lastgroup else ""
        if not name:
            words = [word.lower() for word in s[max(0, start - 2 * _REACH) : start].split()[-2:]]
            name = next((_EACH[word] for word in reversed(words) if word in _EACH), "")
        if name:
            yield charge.end(), frozenset((name,))


def read_rate_after(s: str, end: int) -> Rate:
    """Return the rate that follows a number that ends at `end`, empty when none does."""
    first, second = s[end : end + 1], s[end + 1 : end + 2]
    may_follow = first in _MARKS or (first in _SPACES and (second in _MARKS or second.isalnum()))
    match = _RATE_AFTER_NUMBER.match(s, end) if may_follow else None
    names: list[str] = []
    while match is not None and len(names) < _MOST_NAMES:
        name = _name_rate(match)
        if not name or (names and match.group()[0] not in " ,/\n"):
            break
        if _JOINT.match(match.group()) is not None and (not names or name not in TIME_UNITS):
            break
        names.append(name)
        match = _NEXT_RATE.match(s, match.end())
    return frozenset(names)


def read_frequency(s: str, end: int) -> Rate:
    """Return the rate directly behind "once" or "twice" that ends at `end`, also "-daily"; empty where none is.

    What is no time needs a "per" before it: "once a user has paid" is no rate.
    """
    behind = s[end : end + _REACH_OF_RATE].replace("-", " ")
    match = _RATE_AT_ONCE.match(behind)
    name = _name_rate(match) if match is not None else ""
    return frozenset((name,)) if name in TIME_UNITS or (name and _NAMES_UNIT.match(behind)) else NO_RATE


@lru_cache(maxsize=4096)
def find_regular_times(text: str) -> Rate:
    """Return the units of time in which something is regularly, once in each: "daily", "every week"."""
    names = [_name_rate(match) for match in _REGULARLY.finditer(text)]
    return TIME_UNITS.intersection(names)


@lru_cache(maxsize=4096)
def _match_rates(text: str) -> tuple[re.Match[str], ...]:
    """Return what may be a rate in a header or a heading, which is asked for twice."""
    return tuple(_RATE.finditer(text))


@lru_cache(maxsize=4096)
def find_rates(text: str) -> Rate:
    """Return all names in the rates that a table's header or a heading states; "a/b" and "Per Svensson" state none."""
    names: set[str] = set()
    for match in _match_rates(text):
        name, word = _name_rate(match), match["per"] or ""
        is_doubtful = match.group()[0] == "/" or word[:1].isupper()
        if name and not (word and is_doubtful and unit_of(word) is None and name not in _CANONICAL_NAMES):
            names.add(name)
    return frozenset(names)


def remove_rates(text: str) -> str:
    """Remove the rates from a header or a heading: "Pris i kr per month" becomes "Pris i kr"."""
    if not _match_rates(text):
        return text
    return _RATE.sub(lambda match: " " if _name_rate(match) else match.group(), text)


def read_zone_after(s: str, end: int) -> Rate:
    """Return the zone that follows a time of day that ends at `end`, empty when none does."""
    match = _ZONE.match(s, end)
    return frozenset((match[1],)) if match is not None else NO_RATE
