"""Parses a question: the words of its subject, and the kind of thing that would answer it.

Strategy: question words say what an answer must hold ("how many": a number, "hur länge": a time, "what does it cost":
money), and a statement that holds such a thing is a likelier answer than one that does not, whatever its words. The
signs of each kind are the units, currencies and number words of `agent.numbers`, so nothing is listed twice.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.lexical.subject import subject_words
from agent.numbers.language_tables import AM, PM
from agent.numbers.number_words import classify
from agent.numbers.units import CODES, CURRENCIES, SIGNS, UNITS
from agent.numbers.vocabulary import MONTHS
from agent.text.words import fold

WORDS_MAX = 24
"""Words of a question that are searched for: the first ones; a longer question says little more."""

_READ = 2000  # characters of a question that are read

Kind = Literal["number", "money", "time"]

_ASKS: Final = {
    lang: {
        kind: re.compile(rf"\b(?:{cue})\b" + (r" (?P<unit>\w+)" if kind == "counted" else ""), re.MULTILINE)
        for kind, cue in table(language.searching.asking).items()
    }
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
_SENTENCE_END: Final = re.compile(r"[.!?:;]\s+")
_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+")
_COUNTING: Final = frozenset(
    ("cardinal", "quantity", "fraction", "factor", "symbol")
)  # sorts of number words that count something
_CLOCK: Final = re.compile(rf"\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}(?:{AM}|{PM})|\b(?:19|20)\d{{2}}\b")
_MONTH: Final = "|".join(map(re.escape, MONTHS))
_DATE: Final = re.compile(rf"\b(?:\d{{1,2}}\.?(?:st|nd|rd|th)? (?:{_MONTH})|(?:{_MONTH})\.? \d{{1,2}})\b")


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as it is searched. `words`: its subject, folded. `kind`: of thing that would answer it, or None."""

    words: tuple[str, ...]
    kind: Kind | None


def parse_question(question: str, lang: Lang) -> ParsedQuestion:
    """Return the subject words and the kind of a question; the work is bounded however long `question` is."""
    return _parse_text(question[:_READ], lang)


@lru_cache(maxsize=256)  # a turn reads its question for the search and again for the words of its answer
def _parse_text(question: str, lang: Lang) -> ParsedQuestion:
    text = fold(question)
    subject = list(dict.fromkeys(subject_words(text, lang)))
    return ParsedQuestion(tuple(subject[:WORDS_MAX]), _find_asked_kind(_SENTENCE_END.sub("\n", text), lang))


def _find_asked_kind(text: str, lang: Lang) -> Kind | None:
    """Return the kind of thing that a folded question asks for; each of its sentences is a line.

    A unit that is counted ("how many weeks") and a question for a time decide, whatever else the question names: "how
    long until I get my money back". A share of money is a number.
    """
    asks = _ASKS[lang]
    counted = asks["counted"].search(text)
    if counted is not None:
        unit = counted["unit"]
        return "time" if unit in _TIME_UNITS else "money" if unit in _CURRENCY_WORDS else "number"
    if asks["time"].search(text):
        return "time"
    if asks["number"].search(text):
        return "money" if asks["money"].search(text) and not asks["share"].search(text) else "number"
    return None


def find_kinds(statement: str) -> frozenset[Kind]:
    """Return the kinds of thing that a statement holds, as a reader would see at a glance."""
    folded = fold(statement)
    tokens = _TOKEN.findall(folded)
    first = next((at for at, token in enumerate(tokens) if has_number(token)), None)
    if first is None:  # true of most statements
        return _NOTHING
    units = {token for token in UNIT_WORDS.intersection(tokens[first:]) if not has_number(token)}
    found: set[Kind] = {"number"}
    if not units.isdisjoint(_CURRENCY_WORDS) or _SIGN.search(folded):
        found.add("money")
    if not units.isdisjoint(_TIME_UNITS) or _CLOCK.search(folded) or _DATE.search(folded):
        found.add("time")
    return frozenset(found)


@lru_cache(maxsize=50_000)
def has_number(word: str) -> bool:
    """Tell whether a folded word holds a number. A statement without such a word has no kinds (`find_kinds`)."""
    return any(map(_is_number, _TOKEN.findall(word)))


def _is_number(token: str) -> bool:
    """Tell whether a run of letters or digits is a number; an article, an ordinal and "some" are not."""
    if token[0].isdigit():
        return True
    read = classify(token) if len(token) > 2 else None
    return read is not None and read.sort in _COUNTING
