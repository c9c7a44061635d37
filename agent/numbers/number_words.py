"""Reads numbers written as words, in every language of `agent.lang`.

`classify` reads one word; `value_of` reads a run of number words by the grammar of cardinals. Some languages write
numbers and their units in one word (`tvåhundrafemtio`, `femårsgaranti`), so a word is also split into number words,
and the rest is looked up as a unit. Both are cached by word: a text repeats its words.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from agent.lang import LANGUAGES
from agent.lang.language import words

from .language_tables import MINUS, unite_words
from .units import JOINED, JOINED_MONEY, JOINED_MONEY_STEMS, PERCENT_STEMS, POINT_STEMS, unit_of
from .vocabulary import (
    ALSO_FRACTIONS,
    ALTERNATING,
    AMBIGUOUS_ONES,
    ATOMS,
    CAPITALIZED,
    CARDINALS,
    DECADES,
    FACTOR_SUFFIXES,
    FACTORS,
    FRACTION_SUFFIXES,
    FRACTIONS,
    GROUP_SUFFIXES,
    GROUPS,
    HALF_PREFIXES,
    MAGNITUDES,
    MONTHS,
    NOT_NUMBERS,
    ONES,
    ORDINAL_SUFFIXES,
    ORDINALS,
    PREFIXES,
    QUANTITIES,
    SLANG,
    SPELLINGS,
    SUFFIX_STEMS,
    VAGUE,
    WEAK_PREFIXES,
)

Sort = Literal[
    "cardinal", "article", "ordinal", "fraction", "third", "factor", "quantity", "magnitude", "month", "sign", "symbol",
    "roman", "letter", "lookalike", "vague", "opaque", "slang", "every",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """The number that one word states.

    `sort`: its reading. `atoms`: the number words in it. `unit`: a unit in the same word.
    """

    sort: Sort
    atoms: tuple[int, ...] = ()
    value: str = ""
    unit: str | None = None


@lru_cache(maxsize=65536)
def classify(word: str) -> Word | None:
    """Read the number in `word`; `None` for a plain word."""
    lower = word.lower()
    if not lower.isascii():
        if any(c.isnumeric() for c in word):
            return Word("symbol", value=word)
        lower = _strip_accents(lower)
    found = _look_up(lower, word)
    if found is not None or len(lower) < 5 or len(lower) > 120 or lower in NOT_NUMBERS:
        return found
    return _compound(lower)


_LETTERS: Final = frozenset("".join([language.writing.letters for language in LANGUAGES.values()]))


def _strip_accents(lower: str) -> str:
    """Strip accents that no language has, so that `fóurteen` is read as it looks."""
    if all(c.isascii() or c in _LETTERS for c in lower):
        return lower
    return "".join(c if c in _LETTERS else unicodedata.normalize("NFD", c)[0] for c in lower)


_PRONOUNS: Final = unite_words(lambda each: each.cardinals.pronouns)
_KNOWN: Final[dict[str, Word]] = {
    **{word: Word("opaque", value=word) for word in DECADES},
    **{word: Word("vague") for word in VAGUE},
    **{word: Word("quantity", value=value) for word, value in GROUPS.items()},
    **{word: Word("month") for word in MONTHS},
    **{word: Word("magnitude", value=str(power)) for word, power in MAGNITUDES.items()},
    **{word: Word("quantity", value=value, unit=unit) for word, (value, unit) in QUANTITIES.items()},
    **{word: Word("factor", value=str(by) if by > 0 else "0.5") for word, by in FACTORS.items()},
    **{word: Word("fraction", (below,)) for word, below in FRACTIONS.items()},
    **{word: Word("third" if word in ALSO_FRACTIONS else "ordinal", (at,)) for word, at in ORDINALS.items()},
    **{word: Word("cardinal", (value,)) for word, value in CARDINALS.items()},
    **{word: Word("article", (1,), value="" if word in _PRONOUNS else word) for word in ONES},
    **{word: Word("sign") for word in MINUS},
    **{word: Word("every") for word in ALTERNATING},
    **{word: Word("slang", value=str(10**power)) for word, power in SLANG.items()},
}
"""The readings of whole words; where two tables hold a word, the later one here decides."""


def _look_up(lower: str, word: str) -> Word | None:
    """Look a whole word up in the tables."""
    found = _KNOWN.get(lower)
    if found is not None:
        return found if lower not in CAPITALIZED or word[0].isupper() else _read_shape(word)
    return _read_shape(word)


_LOOKALIKE: Final = re.compile(r"[OolISBZQ]{2,6}|[lO]")
_REAL: Final = words("IOS OS ISO ISBO IO SSL SQL OSS Z") | unite_words(lambda each: each.cardinals.not_digits)
_ROMAN: Final = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_NOT_ROMAN: Final = words(
    "CD MC DI MD DC CC CV CL DL ML CM MM MI CI LI LV DVI DIV CLI MDI XL MCI DCI MX LC MV MDC MCC CDI"
) | unite_words(lambda each: each.cardinals.not_romans)


def _read_shape(word: str) -> Word | None:
    """Read a word by its letters: Roman numerals, and letters that only look like digits."""
    if (
        1 < len(word) <= 7
        and word[0] in "ivx"
        and word not in _NOT_ROMAN
        and word.islower()
        and _ROMAN.fullmatch(word.upper())
    ):
        return Word("letter", value=word.upper())
    if len(word) <= 15 and word.isupper() and _ROMAN.fullmatch(word):
        return Word("roman" if len(word) > 1 and word not in _NOT_ROMAN else "letter", value=word)
    if len(word) <= 6 and _LOOKALIKE.fullmatch(word) and word not in _REAL:
        return Word("lookalike", value=word)
    return None


_SPELLINGS: Final = tuple(SPELLINGS)


def _compound(lower: str) -> Word | None:
    """Read number words written together, with or without a unit or an ordinal ending after them."""
    if lower.startswith(HALF_PREFIXES):
        half = next(half for half in HALF_PREFIXES if lower.startswith(half))
        unit = unit_of(lower[len(half) :]) if len(lower) > len(half) + 1 else None
        return Word("quantity", value="0.5", unit=unit) if unit else None
    atoms: list[int] = []
    at = 0
    if lower.startswith(_SPELLINGS):
        start = next(start for start in _SPELLINGS if lower.startswith(start))
        lower = SPELLINGS[start] + lower[len(start) :]
    names: list[str] = []
    while at < len(lower):
        name = _longest(lower, at)
        if name is None:
            break
        atoms.append(ATOMS[name])
        names.append(name)
        at += len(name)
    rest = lower[at:]
    if not atoms:
        return None
    if not rest:
        return (
            Word("cardinal", tuple(atoms))
            if names[0] not in AMBIGUOUS_ONES or len(names) > 2 or atoms[1] >= 100
            else None
        )
    return _with_rest(tuple(atoms), names, rest, lower)


def _with_rest(atoms: tuple[int, ...], names: list[str], rest: str, lower: str) -> Word | None:
    if rest in FACTOR_SUFFIXES:
        return Word("factor", value=str(value_of(atoms) or "?"))
    if rest in ORDINALS or rest in ORDINAL_SUFFIXES:
        return Word("ordinal", (*atoms, ORDINALS.get(rest, 0)) if rest in ORDINALS else atoms)
    if rest in FRACTION_SUFFIXES and names[0] not in ONES:
        value = value_of(atoms)
        return Word("fraction", (value,)) if value else Word("opaque", value=lower)
    if rest in GROUP_SUFFIXES and atoms[0] > 1:
        return Word("cardinal", atoms, value="group")
    unit = unit_of(rest)
    if unit is not None and (len(rest) > 2 or rest in JOINED):
        return Word("cardinal", atoms, unit=unit)
    currency = JOINED_MONEY.get(rest) or next(
        (code for stem, code in JOINED_MONEY_STEMS.items() if rest.startswith(stem)), None
    )
    if currency is not None:
        return Word("cardinal", atoms, unit=f"${currency}")
    if names[0] in ONES and len(names) == 1:
        return None
    if rest.startswith(PERCENT_STEMS):
        return Word("cardinal", atoms, unit="%pp" if rest.startswith(POINT_STEMS) else "%")
    if rest.startswith(SUFFIX_STEMS):
        return Word("cardinal", atoms)
    strong = len(names) > 1 or names[0] not in WEAK_PREFIXES
    return Word("cardinal", atoms) if strong and len(rest) >= 3 and names[0] in PREFIXES else None


_BY_FIRST: Final[dict[str, tuple[str, ...]]] = {}
for _name in sorted(ATOMS, key=len, reverse=True):
    _BY_FIRST[_name[0]] = (*_BY_FIRST.get(_name[0], ()), _name)


def _longest(lower: str, at: int) -> str | None:
    """Return the longest number word that starts at `at`, if any."""
    for name in _BY_FIRST.get(lower[at], ()):
        if lower.startswith(name, at):
            return name
    return None


def value_of(atoms: tuple[int, ...]) -> int | None:
    """Return the value of a run of number words, or `None` when it is no cardinal ("one four nine").

    Grammar: [group scale]... group, scales falling; a group is [1-99] hundred, then 1-99; 20-90 may take 1-9.
    """
    total, group, last_scale, room, hundreds = 0, -1, 10**18, 100, False
    for atom in atoms:
        if atom >= 1000:
            if atom >= last_scale or group == 0:
                return None
            total += max(group, 1) * atom
            last_scale, group, room, hundreds = atom, -1, 100, False
        elif atom == 100:
            if hundreds or group == 0:
                return None
            group, room, hundreds = (group if group > 0 else 1) * 100, 100, True
        elif atom >= room or (atom == 0 and len(atoms) > 1):
            return None
        else:
            group = max(group, 0) + atom
            room = 10 if atom >= 20 else 1
    return total + max(group, 0)
