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
from .units import POWERS, UNITS, unit_of

SPANS: Rate = frozenset(
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
_COMPOUND = merge_tables(lambda each: each.rates.compounds)
_CHARGE = f"(?:{either(lambda each: each.rates.charges)})"
_PER = pattern(PER)
_EVERY = pattern(unite_words(lambda each: each.rates.every))
_ZONES = r"(?:UTC|GMT|CES?T|EES?T|WES?T|[ECMP][SD]T|BST|IST|JST|AES?T|Z)"

_SQUARE = pattern(word for word, power in POWERS.items() if power == "2")
_WORD = rf"(?:(?:{_SQUARE})\.?[ \n])?[^\W\d_]+(?:\^\d)?"
_BEFORE = pattern(PER, AND, unite_words(lambda each: each.rates.each))
_SAID = (
    rf"(?: ?/ ?|[ \n](?:{_BEFORE})[ \n])(?P<per>(?:\d[\d ]{{0,7}} ?)?{_WORD}|\d[\d ]{{0,7}})"
    rf"|[ \n](?:{_EVERY})[ \n](?P<span>{_WORD})"
    rf"|[ \n](?P<each>{pattern(_EACH)})(?![^\W_])|[ \n](?P<annum>p\.a\.|per annum)"
)
_STOPS = pattern(PER, unite_words(lambda each: each.rates.every), unite_words(lambda each: each.rates.stops))
_ASIDES = pattern(unite_words(lambda each: each.rates.asides))
_BETWEEN = rf"(?:[ \n](?!(?:{_STOPS})[ \n])(?:[^\W\d_]+|(?:{_ASIDES})\.)){{0,3}}?"
_AFTER = re.compile(rf"{_BETWEEN}(?:[ \n]?\()?(?:{_SAID})", re.I)
_MORE = re.compile(rf",?(?:{_SAID})", re.I)
RATE = re.compile(
    rf"(?:/ ?|(?<![^\W_])(?:{_PER})[ \n])(?P<per>(?:\d[\d ]{{0,7}} ?)?{_WORD}|\d[\d ]{{0,7}})"
    rf"|(?<![^\W_])(?:{_EVERY})[ \n](?P<span>{_WORD})"
    rf"|(?<![^\W_])(?P<each>{pattern(_EACH)})(?![^\W_])"
    rf"|(?<![^\W_])(?P<compound>{pattern(_COMPOUND)}){_CHARGE}",
    re.I,
)
_CHARGED = re.compile(
    rf"(?P<compound>{pattern(_COMPOUND)}){_CHARGE}\w*"
    rf"|(?:{either(lambda each: each.rates.named)})(?![^\W_])(?:[ \n](?:{_PER})[ \n](?P<per>{_WORD})(?![^\W_]))?",
    re.I,
)
_NAMED = sorted(
    name for stem in unite_words(lambda each: each.rates.stems) for name in (stem, stem.capitalize())
)
"""Stems that the names of charges contain."""
_REACH = 16
"""Letters of a word before the name of a charge that are examined."""
_HITS = 500
"""Names of charges of a text that are examined."""
_NAMES = frozenset(_THINGS.values())
_GRAMMAR = FUNCTION_WORDS
_STARTS = frozenset((" ", "/", "\n", "("))
_JOINED = re.compile(rf",?[ \n](?:{pattern(AND)})[ \n]", re.I)
_ZONE = re.compile(rf" ?({_ZONES})(?![\w+-])")


@lru_cache(maxsize=4096)
def _per(word: str) -> str:
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
    found = _THINGS.get(lower)
    if found is None and lower.endswith("s") and len(lower) > 3:
        lower = lower[:-1]
        found = _THINGS.get(lower)
    return found or lower


def _of(match: re.Match[str]) -> str:
    """Return the canonical name that a match states, "" when a number cannot be per that."""
    names = match.groupdict()
    if names.get("per"):
        return "" if names["per"].lower() in _GRAMMAR else _per(names["per"])
    if names.get("span"):
        unit = unit_of(names["span"])
        return unit if unit in SPANS or (unit and names["span"].lower() in UNITS and len(unit) > 1) else ""
    if names.get("each"):
        return _EACH[names["each"].lower()]
    return _COMPOUND[names["compound"].lower()] if names.get("compound") else "year"


def charges(s: str) -> Iterator[tuple[int, Rate]]:
    """Yield the end and the rate of each name of a charge ("monthly fee", "årsavgiften", "price per user")."""
    hits: list[int] = []
    for name in _NAMED:
        at = s.find(name)
        while at >= 0 and len(hits) < _HITS:
            hits.append(at)
            at = s.find(name, at + len(name))
    for hit in sorted(hits):
        start = hit
        while start > hit - _REACH and start and s[start - 1].isalpha():
            start -= 1
        found = _CHARGED.match(s, start)
        if found is None:
            continue
        name = _of(found) if found.lastgroup else ""
        if not name:
            before = [word.lower() for word in s[max(0, start - 2 * _REACH) : start].split()[-2:]]
            name = next((_EACH[word] for word in reversed(before) if word in _EACH), "")
        if name:
            yield found.end(), frozenset((name,))


def rate_after(s: str, end: int) -> Rate:
    """Return the rate that follows a number that ends at `end`, empty when none does."""
    found = _AFTER.match(s, end) if s[end : end + 1] in _STARTS else None
    if found is None:
        return NO_RATE
    named: list[str] = []
    while found is not None and len(named) < 4:
        name = _of(found)
        if not name or (named and found.group()[0] not in " ,/\n"):
            break
        joined = _JOINED.match(found.group())
        if joined is not None and (not named or name not in SPANS):
            break
        named.append(name)
        found = _MORE.match(s, found.end())
    return frozenset(named)


def rates_in(text: str) -> Rate:
    """Return all names in the rates that a table's header or a heading states; "a/b" and "Per Svensson" state none."""
    named: set[str] = set()
    for found in RATE.finditer(text):
        name, word = _of(found), found["per"] or ""
        doubtful = found.group()[0] == "/" or word[:1].isupper()
        if name and not (word and doubtful and unit_of(word) is None and name not in _NAMES):
            named.add(name)
    return frozenset(named)


def without_rates(text: str) -> str:
    """Remove the rates from a header or a heading: "Pris i kr per month" becomes "Pris i kr"."""
    return RATE.sub(lambda found: " " if _of(found) else found.group(), text)


def zone_after(s: str, end: int) -> Rate:
    """Return the zone that follows a time of day that ends at `end`, empty when none does."""
    found = _ZONE.match(s, end)
    return frozenset((found[1],)) if found is not None else NO_RATE
