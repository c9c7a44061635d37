"""Tells the kind of an ordinal that is written as a word: an interval, a day of a month, a number, or no number at all.

From the fourth on an ordinal always counts. The small ones are also plain words ("First, open it", "a second later",
"andra kunder"), so in an answer they count only where the text around them counts a noun: behind a determiner ("the
second floor"), before a weekday or a unit of time ("third Thursday"), or where the language's grammar leaves no other
reading ("andra våningen"). In a source each counts, since an ordinal without its noun ("the first and third") may be
the number of an answer.
"""

import re

from agent.lang import LANGUAGES
from agent.text.words import FUNCTION_WORDS

from . import keys
from .date_rows import match_dates
from .dates import month_at
from .language_tables import ARTICLES, OF, PER, THE, either, merge_tables, pattern, unite_words
from .layout import STEPS
from .number_words import classify
from .rates import TIME_UNITS
from .reader import NumberReader
from .suffixes import read_suffix
from .token import Amount, NumberMatch
from .units import unit_of

SMALL = 3
"""The greatest ordinal that is also a plain word."""
EVERY = unite_words(lambda each: each.ordinals.every)
"""Words that make an interval of an ordinal behind them."""
_DETERMINERS = ARTICLES | unite_words(lambda each: each.ordinals.determiners)
_COUNTED = {
    word: re.compile(ends) for word, ends in merge_tables(lambda each: each.ordinals.counted_nouns).items()
}
_OTHERS = unite_words(lambda each: each.ordinals.other_words)
_IDIOM = re.compile(rf"(?:{either(lambda each: each.ordinals.idioms)})(?![^\W_])", re.I)
_SOURCES = re.compile(rf"(?:{either(lambda each: each.labels.sources)})", re.I)
_NOUN = re.compile(r"[ \n]([^\W\d_]{2,})")
_OF_SPAN = re.compile(
    rf"[ \n](?:(?:{pattern(OF)})[ \n](?:(?:{pattern(THE, EVERY)})[ \n])?|(?:{pattern(EVERY)})[ \n])([^\W\d_]{{2,}})"
)
"""A unit of time behind an ordinal that is a day of it: `the first of every month`, `den första varje månad`."""
_OTHER = re.compile(rf"[ \n](?:{either(lambda each: each.ordinals.alternates)})(?![^\W_])", re.I)
_STEPS = tuple(STEPS)
_WEEKDAYS = tuple(
    sorted({day for language in LANGUAGES.values() for day in language.dating.weekdays}, key=len)
)


def read_ordinal(r: NumberReader, start: int, end: int, value: int) -> tuple[NumberMatch, ...]:
    """Read the ordinal `value` that is written as words at `start` to `end`; `()` where it is no number."""
    before = r.before(start).word.lower()
    if before in EVERY and not _is_definite(r.s[start:end], _noun_at(r.s, end)):  # "det var tredje gången"
        found = read_interval(r, start, end, value)
        if found is not None:
            return (found,)
    date = month_at(r.s, start, end, value)
    if date is not None and (dates := match_dates(r, (date,))):
        return dates
    if value > SMALL or (r.source and before not in PER) or _counts_noun(r, start, end):
        return (keys.ordinal(str(value), start, end),)
    r.at = end
    return ()


def read_alternate(r: NumberReader, start: int, end: int) -> NumberMatch | None:
    """Read `every other week`, with "every" at `start` to `end`; "every other question" may be all others."""
    other = _OTHER.match(r.s, end)
    return read_interval(r, start, other.end(), 2) if other is not None else None


def read_interval(r: NumberReader, start: int, end: int, value: int) -> NumberMatch | None:
    """Read `every third week` as 3 weeks and `every third customer` as 3; `None` where nothing is counted.

    `start`, `end`: those of the ordinal. The second counts only units of time and weekdays: "every second counts".
    """
    amount = read_suffix(r.s, Amount(end, (str(value),), words=True))
    noun = _noun_at(r.s, end)
    timely = amount.unit in TIME_UNITS or noun.startswith(_WEEKDAYS)
    if value > 1 and (timely or (value > 2 and _is_plain(noun) and not _IDIOM.match(r.s, start))):
        return r.match_counted(amount, start)
    return None


def _counts_noun(r: NumberReader, start: int, end: int) -> bool:
    """Tell whether a small ordinal counts a noun."""
    s = r.s
    first, _, last = s[start:end].lower().rpartition(" ")  # en andra gång
    if _IDIOM.match(s, end - len(last)):
        return False
    noun = _noun_at(s, end)
    timely = noun.startswith(_WEEKDAYS) or (len(noun) > 2 and unit_of(noun) in TIME_UNITS)
    if timely and last not in _OTHERS:
        return True
    if not _is_plain(noun):
        day = _OF_SPAN.match(s, end)
        return day is not None and unit_of(day[1]) in TIME_UNITS
    return first != "" or r.before(start).word.lower() in _DETERMINERS or _is_definite(last, noun)


def _is_definite(ordinal: str, noun: str) -> bool:
    """Tell whether the form of `noun` alone makes a small ordinal count it."""
    grammar = _COUNTED.get(ordinal.lower())
    return grammar is not None and grammar.fullmatch(noun) is not None


def _noun_at(s: str, end: int) -> str:
    """Return the word behind an ordinal that ends at `end`, in lower case."""
    found = _NOUN.match(s, end)
    return found[1].lower() if found is not None else ""


def _is_plain(noun: str) -> bool:
    """Tell whether `noun` may be counted: no word of grammar, no number, no name of a source or of a step."""
    return (
        noun != ""
        and noun not in FUNCTION_WORDS
        and classify(noun) is None
        and not _SOURCES.fullmatch(noun)
        and not noun.startswith(_STEPS)
    )
