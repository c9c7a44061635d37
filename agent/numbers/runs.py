"""Reads a run of number words: `two hundred and fifty`, `en och en halv`, `two-thirds`, `twenty-first`.

Between two number words that touch lies no border: the run is read whole or not at all.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import msgspec

from agent.lang.language import words

from .amounts import canonical, of_fraction, shift_value
from .language_tables import AND, ARTICLES, OF, THE, either, pattern, unite_words
from .number_words import NumberWord, cardinal_value, classify
from .suffix_rows import LEADING
from .suffixes import read_suffix
from .token import Amount, Sort
from .vocabulary import ONES

_PRONOUNS = unite_words(lambda each: each.cardinals.pronouns)
_JOINT = re.compile(
    rf"(?:[ \n]|-|\ue000)(?:((?i:{pattern(AND)})|&)[ \n-])?(?:((?i:{pattern(ARTICLES)}))[ \n-])?([^\W\d_]++)"
)
_OF = re.compile(
    rf"[ \n-](?:(?:{pattern(OF)})[ \n])?(?:(?:{pattern(ARTICLES, THE, ONES.keys() - _PRONOUNS)})[ \n])?"
)
_SHARED = re.compile(
    rf"(?![ \n-][^\W\d_])|[ \n](?:{either(lambda each: each.ordinals.fraction_followers)})(?![^\W_])"
)
"""Text after "a third" that makes it a part: no word, one of grammar, or a comparison ("larger"); not a noun."""
_OF_OFF = re.compile(rf" (?:{either(lambda each: each.ordinals.higher_fraction_followers)})(?![^\W_])")
_NUMERIC = words("cardinal article ordinal third fraction")
_PLAIN = words("article cardinal")
LONGEST = 40
"""Words of a run; a longer one is read in parts."""
_EXEMPT = unite_words(lambda each: each.units.idioms)
"""Units that state no count after an article: "ett byte" is an exchange, "en vardag" a kind of day."""
_POINTS = unite_words(lambda each: each.cardinals.decimal_points)
_POWERS = {1000: 3, 10**6: 6, 10**9: 9, 10**12: 12}


class WordRun(msgspec.Struct):
    """A run of number words. `what`: an amount, a range from `low`, an `ordinal`, unread, or exempt as no number."""

    what: Literal["amount", "range", "ordinal", "unread", "exempt"]
    end: int
    amount: Amount | None = None
    low: Amount | None = None
    ordinal: int = 0


def run_at(s: str, word: NumberWord, end: int, article: bool) -> WordRun:
    """Read the run whose first word ends at `end`. `article`: "a" stands before it."""
    found = _JOINT.match(s, end) if word.unit is None and word.sort in _PLAIN else None
    if found is not None and not found[1] and not found[2]:
        if found[3].lower() in _POINTS:
            run = _decimal(s, word, found.end())
            if run is not None:
                return run
        elif word.sort == "article" and says_nothing(found[3]):
            return WordRun("exempt", end)
    words = [word]
    ends = [end]
    ands = [False]
    while words[-1].unit is None and len(words) < LONGEST:
        found = _JOINT.match(s, ends[-1])
        follower = classify(found[3]) if found is not None else None
        if found is None or follower is None or not _goes_on(words[-1], found, follower, s):
            break
        words.append(follower)
        ends.append(found.end())
        ands.append(bool(found[1]))
    return _read_words(s, words, ends, ands, article)


@lru_cache(maxsize=16_384)
def says_nothing(word: str) -> bool:
    """Tell whether `word` after "one", "en", "ett" leaves it a plain word rather than a number."""
    return (
        word.lower() not in LEADING
        and classify(word) is None
        and read_suffix(f" {word}", Amount(0, ("1",))).end == 0
    )


def _goes_on(last: NumberWord, found: "re.Match[str]", follower: NumberWord, s: str) -> bool:
    """Tell whether `follower`, the next number word, continues the run."""
    if follower.sort not in _NUMERIC:
        return False
    if found[1] and not _may_join(last, follower, s, found.end()):
        return False
    if not found[2]:
        return True
    if follower.sort not in ("fraction", "third") and not (follower.atoms and follower.atoms[0] >= 100):
        return False
    return bool(found[1]) or last.sort == "fraction"


def _decimal(s: str, word: NumberWord, end: int) -> WordRun | None:
    """Read `fem komma fem`, `three point one four`; `end` is the end of "komma" or "point"."""
    digits = ""
    found = _JOINT.match(s, end)
    while found is not None and not found[1] and not found[2] and len(digits) < 12:
        part = classify(found[3])
        value = (
            cardinal_value(part.atoms) if part is not None and part.sort in ("cardinal", "article") else None
        )
        if part is None or value is None or (value > 9 and digits):
            break
        digits, end = digits + str(value), found.end()
        if value > 9 or part.unit is not None:
            return _amount(s, canonical(f"{cardinal_value(word.atoms)}.{digits}"), part, end)
        found = _JOINT.match(s, end)
    return (
        _amount(s, canonical(f"{cardinal_value(word.atoms)}.{digits}"), NumberWord("cardinal"), end)
        if digits
        else None
    )


def _may_join(before: NumberWord, after: NumberWord, s: str, end: int) -> bool:
    """Tell whether "and" between two number words may belong to one number."""
    if after.sort == "fraction":
        return before.sort in ("cardinal", "article")
    if after.sort in ("article", "cardinal") and before.sort in ("article", "cardinal"):
        follow = _JOINT.match(s, end)
        part = classify(follow[3]) if follow is not None and not follow[1] else None
        if part is not None and part.sort in ("fraction", "third"):
            return True
    return (
        before.sort == "cardinal"
        and before.atoms[-1] >= 100
        and after.sort in ("cardinal", "article", "ordinal", "third")
        and (bool(after.atoms) and after.atoms[0] < before.atoms[-1])
    )


def _read_words(s: str, words: list[NumberWord], ends: list[int], ands: list[bool], article: bool) -> WordRun:
    """Read the collected words as one number, or as unread."""
    last = words[-1]
    if last.sort == "fraction" or (last.sort == "third" and _is_third(s, words, ends, article)):
        return _fraction(s, words, ends, ands)
    if last.sort in ("ordinal", "third"):
        return _ordinal(s, words, ends, article)
    if any(w.sort in ("ordinal", "third") for w in words):
        return WordRun("unread", ends[-1])
    if any(w.sort == "fraction" for w in words):
        return _scaled_fraction(s, words, ends, ands)
    return _cardinal(s, words, ends)


def _ordinal(s: str, words: list[NumberWord], ends: list[int], article: bool) -> WordRun:
    """Read a run that ends in an ordinal: a place (`twenty-first`, `en andra gång`), or a part (`one fifth`)."""
    last, end = words[-1], ends[-1]
    is_part = len(words) == 1 and len(last.atoms) == 1 and article and _OF_OFF.match(s, end) is not None
    if len(words) == 2 and words[0].sort == "article":
        words = [last] if words[0].value else words  # "en" of "en andra gång" counts nothing
        is_part = len(words) == 2
    if is_part and last.atoms[0] > 3:
        return _amount(s, of_fraction(Fraction(1, last.atoms[0])), last, end)
    value = cardinal_value(tuple([a for w in words for a in w.atoms]))
    return WordRun("unread", end) if value is None else WordRun("ordinal", end, ordinal=value)


def _scaled_fraction(s: str, words: list[NumberWord], ends: list[int], ands: list[bool]) -> WordRun:
    """Read `half a million`: a fraction, then a power of a thousand as the last word."""
    at = next(at for at, word in enumerate(words) if word.sort == "fraction")
    power = _POWERS.get(words[-1].atoms[0]) if at + 2 == len(words) else None
    part = None if power is None else _part(words[: at + 1], ands)
    if power is None or part is None:
        return WordRun("unread", ends[-1])
    return _amount(s, shift_value(part, power), words[-1], ends[-1])


def _is_third(s: str, words: list[NumberWord], ends: list[int], article: bool) -> bool:
    """Tell whether "third" at the end of a run is a part ("one third"), rather than a place ("twenty-third")."""
    if len(words) == 1:
        return article and _SHARED.match(s, ends[-1]) is not None
    between = s[ends[-2] : ends[-1]].lower().split()
    return not (words[-2].atoms and words[-2].atoms[-1] >= 20 and ARTICLES.isdisjoint(between))


def _year(atoms: tuple[int, ...]) -> int | None:
    """Read a year in two halves, `nineteen ninety-nine`; `None` when the words are no such year."""
    rest = cardinal_value(atoms[1:]) if len(atoms) > 1 and 11 <= atoms[0] <= 20 else None
    return atoms[0] * 100 + rest if rest is not None and 10 <= rest < 100 else None


def _cardinal(s: str, words: list[NumberWord], ends: list[int]) -> WordRun:
    last = words[-1]
    if len(words) > 1 and words[0].sort == "article" and words[0].value and last.atoms[-1] < 100:
        after = _amount(s, "1", last, ends[-1]).amount
        if after is not None and after.sort is not Sort.BARE and len(words) == 2:  # "en tio minuters paus"
            value = cardinal_value(last.atoms)
            return (
                _amount(s, str(value), last, ends[-1]) if value is not None else WordRun("unread", ends[-1])
            )
    if len(words) == 2 and words[0].sort == "article" and last.value == "group":  # ett femtiotal
        words, ends = words[1:], ends[1:]
    value = cardinal_value(tuple([a for w in words for a in w.atoms]))
    if value is None and len(words) == 2 and s[ends[0] : ends[0] + 1] == "-":  # två-tre veckor
        low, high = cardinal_value(words[0].atoms), cardinal_value(last.atoms)
        if low is not None and high is not None and low <= high:
            run = _amount(s, str(high), last, ends[-1])
            return WordRun("range", run.end, run.amount, low=Amount(ends[0], (str(low),), words=True))
    if value is None:
        value = _year(tuple([a for w in words for a in w.atoms]))
    if value is None:
        return WordRun("unread", ends[-1])
    if len(words) == 1 and last.sort == "article":
        run = _amount(s, "1", last, ends[-1])
        known = run.amount is not None and run.amount.sort is not Sort.BARE
        if s[ends[-1] : run.end].strip().lower() in _EXEMPT:
            known = False
        return run if known else WordRun("exempt", ends[-1])
    return _amount(s, str(value), last, ends[-1])


def _amount(s: str, value: str, last: NumberWord, end: int) -> WordRun:
    """Return an amount with its unit, which may be in the last word."""
    amount = Amount(end, (value,), words=True)
    unit = last.unit
    if unit is None:
        read_suffix(s, amount)
    elif unit[0] == "$":
        amount.sort, amount.unit = Sort.MONEY, unit[1:]
    elif unit[0] == "%":
        amount.sort = Sort.POINTS if unit == "%pp" else Sort.PERCENT
    else:
        amount.sort, amount.unit = Sort.QUANTITY, unit
    return WordRun("amount", amount.end, amount)


def _part(words: list[NumberWord], ands: list[bool]) -> str | None:
    """Return the value of words that end in a fraction: `half`, `two thirds`, `en och en halv`."""
    below = words[-1].atoms[0]
    if any(w.sort not in ("cardinal", "article") for w in words[:-1]):
        return None
    split = max((i for i, joined in enumerate(ands[: len(words)]) if joined), default=0)
    whole = cardinal_value(tuple([a for w in words[:split] for a in w.atoms])) if split else 0
    upper = (
        cardinal_value(tuple([a for w in words[split:-1] for a in w.atoms])) if len(words) - 1 > split else 1
    )
    return None if whole is None or upper is None else of_fraction(whole + Fraction(upper, below))


def _fraction(s: str, words: list[NumberWord], ends: list[int], ands: list[bool]) -> WordRun:
    """Read a run that ends in a fraction, and its unit, also after "of a", "an"."""
    value = _part(words, ands)
    if value is None:
        return WordRun("unread", ends[-1])
    run = _amount(s, value, NumberWord("fraction"), ends[-1])
    if run.amount is not None and run.amount.sort is Sort.BARE and run.end == ends[-1]:
        found = _OF.match(s, ends[-1])
        if found is not None and found.end() > ends[-1] + 1:
            further = read_suffix(s, Amount(found.end() - 1, (value,), words=True))
            if further.sort is Sort.QUANTITY or further.values[0] != value:
                return WordRun("amount", further.end, further)
    return run
