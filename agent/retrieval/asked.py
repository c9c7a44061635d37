"""What a question asks: its subject, in words, and what kind of thing would answer it.

Strategy: question words say what an answer must hold ("how many": a number, "hur länge": a time, "what does it cost":
money), and a statement that holds such a thing is a likelier answer than one that does not, whatever its words. The
signs of each kind are the units, currencies and number words of the number rule, so nothing is listed twice.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.lexical.subject import subject_words
from agent.numbers.number_words import classify
from agent.numbers.spoken import AM, PM
from agent.numbers.units import CODES, CURRENCIES, SIGNS, UNITS
from agent.text.words import fold

WORDS_MAX = 24
"""Words of a question that are looked for: the first ones; a longer question says little more."""

_READ = 2000  # characters of a question that are read

Kind = Literal["number", "money", "time"]

_ASKS: Final = {
    lang: {kind: re.compile(rf"\b(?:{cue})\b") for kind, cue in table(language.searching.asking).items()}
    for lang, language in LANGUAGES.items()
}

_TIME_UNITS: Final = {
    word
    for word, unit in UNITS.items()
    if len(word) > 1
    and unit
    in ("second", "minute", "hour", "day", "night", "week", "month", "quarter-year", "year", "workday")
}
_CURRENCY_WORDS: Final = {*CURRENCIES, *(code.lower() for code in CODES)} - _TIME_UNITS
UNIT_WORDS: Final = _TIME_UNITS | _CURRENCY_WORDS
"""Folded words that count time or money, of every language."""
_NOTHING: Final[frozenset[Kind]] = frozenset()
_SIGN: Final = re.compile("[" + re.escape("".join(SIGNS)) + "]")
_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+")
_COUNTING: Final = frozenset(
    ("cardinal", "quantity", "fraction", "factor", "symbol")
)  # sorts of number words
_CLOCK: Final = re.compile(rf"\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}(?:{AM}|{PM})|\b(?:19|20)\d{{2}}\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read. words: folded, those that carry its subject. kind: of thing that would answer it, or None."""

    words: tuple[str, ...]
    kind: Kind | None


def asked(question: str, lang: Lang) -> Asked:
    """Read a question; the work is bounded whatever its length."""
    text = fold(question[:_READ])
    subject = list(dict.fromkeys(subject_words(text, lang)))
    kind: Kind | None = None
    asks = _ASKS[lang]
    if asks["number"].search(text):
        kind = "number"
        if asks["money"].search(text):
            kind = "money"
        elif asks["time"].search(text):
            kind = "time"
    return Asked(tuple(subject[:WORDS_MAX]), kind)


def holds(said: str) -> frozenset[Kind]:
    """Return which kinds of thing a statement holds, as a reader would see at a glance."""
    folded = fold(said)
    tokens = _TOKEN.findall(folded)
    if not any(map(_counts, tokens)):  # as most statements
        return _NOTHING
    first = next(at for at, token in enumerate(tokens) if _counts(token))
    units = {token for token in UNIT_WORDS.intersection(tokens[first:]) if not _counts(token)}
    found: set[Kind] = {"number"}
    if not units.isdisjoint(_CURRENCY_WORDS) or _SIGN.search(folded):
        found.add("money")
    if not units.isdisjoint(_TIME_UNITS) or _CLOCK.search(folded):
        found.add("time")
    return frozenset(found)


def may_count(word: str) -> bool:
    """Return whether a folded word has a number in it. A statement of which no word has one `holds` nothing."""
    return any(map(_counts, _TOKEN.findall(word)))


@lru_cache(maxsize=50_000)
def _counts(token: str) -> bool:
    """Return whether a run of letters or digits is a number; an article, a place in a row and "some" are none."""
    if token[0].isdigit():
        return True
    read = classify(token) if len(token) > 2 else None
    return read is not None and read.sort in _COUNTING
