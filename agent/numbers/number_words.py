"""Reads numbers written as words, in every language of `agent.lang`.

`classify` reads one word; `cardinal_value` reads a run of number words by the grammar of cardinals. Some languages
write a number in one word, with or without its unit (`tvåhundrafemtio`, `femårsgaranti`). So a word that no table holds
is split into number words from its start, and the letters behind them are read as an ending: a unit, a currency, an
ordinal. Readings are cached by word, since a text repeats its words.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, Literal

import msgspec

from agent.lang import LANGUAGES
from agent.lang.language import words

from .language_tables import MINUS, unite_words
from .units import (
    CURRENCY_SUFFIX_STEMS,
    CURRENCY_SUFFIXES,
    PERCENT_STEMS,
    POINT_STEMS,
    UNIT_SUFFIXES,
    unit_of,
)
from .vocabulary import (
    ALSO_FRACTIONS,
    AMBIGUOUS_ONES,
    ATOMS,
    CAPITALIZED_MONTHS,
    CARDINALS,
    CLOCK_WORDS,
    COMPOUND_PREFIXES,
    DECADES,
    EVERY_WORDS,
    FACTOR_SUFFIXES,
    FACTORS,
    FRACTION_SUFFIXES,
    FRACTIONS,
    FREQUENCIES,
    GROUP_COUNTS,
    GROUP_QUANTITIES,
    GROUP_SUFFIXES,
    HALF_PREFIXES,
    MAGNITUDES,
    MONTHS,
    NOT_NUMBERS,
    ONES,
    ORDINAL_SUFFIXES,
    ORDINALS,
    SLANG,
    SPELLINGS,
    SUFFIX_STEMS,
    VAGUE_WORDS,
    WEAK_PREFIXES,
)

WordSort = Literal[
    "cardinal", "article", "ordinal", "fraction", "third", "factor", "quantity", "magnitude", "month", "sign", "symbol",
    "roman", "letter", "lookalike", "vague", "opaque", "slang", "every", "frequency", "clock",
]  # fmt: skip


class NumberWord(msgspec.Struct, frozen=True):
    """The number that one word states.

    `sort`: the kind of number. `atoms`: the values of its number words; of an ordinal the place, of a fraction the
    divisor. `value`: the number of the other sorts, as text. `unit`: the unit in the same word; "$" and the code for a
    currency, "%" for percent, "%pp" for percentage points.
    """

    sort: WordSort
    atoms: tuple[int, ...] = ()
    value: str = ""
    unit: str | None = None


@lru_cache(maxsize=65536)
def classify(word: str) -> NumberWord | None:
    """Return the number that `word` states, or `None` for a plain word."""
    lower = word.lower()
    if not lower.isascii():
        if any(c.isnumeric() for c in word):
            return NumberWord("symbol", value=word)
        lower = _strip_foreign_accents(lower)
    found = _read_whole(lower, word)
    if found is not None or len(lower) < 5 or len(lower) > 120 or lower in NOT_NUMBERS:
        return found
    return _read_compound(lower)


_LETTERS: Final = frozenset("".join([language.writing.letters for language in LANGUAGES.values()]))


def _strip_foreign_accents(lower: str) -> str:
    """Strip the accents that no language of `agent.lang` writes, so that `fóurteen` reads as "fourteen"."""
    if all(c.isascii() or c in _LETTERS for c in lower):
        return lower
    return "".join(c if c in _LETTERS else unicodedata.normalize("NFD", c)[0] for c in lower)


_PRONOUNS: Final = unite_words(lambda each: each.cardinals.pronouns)
_WHOLE_WORDS: Final[dict[str, NumberWord]] = {
    **{word: NumberWord("opaque", value=word) for word in DECADES},
    **{word: NumberWord("vague") for word in VAGUE_WORDS},
    **{word: NumberWord("quantity", value=value) for word, value in GROUP_COUNTS.items()},
    **{word: NumberWord("month") for word in MONTHS},
    **{word: NumberWord("magnitude", value=str(power)) for word, power in MAGNITUDES.items()},
    **{
        word: NumberWord("quantity", value=value, unit=unit)
        for word, (value, unit) in GROUP_QUANTITIES.items()
    },
    **{word: NumberWord("factor", value=str(by) if by > 0 else "0.5") for word, by in FACTORS.items()},
    **{word: NumberWord("frequency", value=str(times)) for word, times in FREQUENCIES.items()},
    **{word: NumberWord("clock", value=str(hour)) for word, hour in CLOCK_WORDS.items()},
    **{word: NumberWord("fraction", (below,)) for word, below in FRACTIONS.items()},
    **{
        word: NumberWord("third" if word in ALSO_FRACTIONS else "ordinal", (at,))
        for word, at in ORDINALS.items()
    },
    **{word: NumberWord("cardinal", (value,)) for word, value in CARDINALS.items()},
    **{word: NumberWord("article", (1,), value="" if word in _PRONOUNS else word) for word in ONES},
    **{word: NumberWord("sign") for word in MINUS},
    **{word: NumberWord("every") for word in EVERY_WORDS},
    **{word: NumberWord("slang", value=str(10**power)) for word, power in SLANG.items()},
}
"""The readings of whole words; where two tables hold a word, the later one here decides."""


def _read_whole(lower: str, word: str) -> NumberWord | None:
    """Return the reading of a whole word: its entry in the tables, else its shape."""
    found = _WHOLE_WORDS.get(lower)
    if found is not None:
        return found if lower not in CAPITALIZED_MONTHS or word[0].isupper() else _read_shape(word)
    return _read_shape(word)


_LOOKALIKE: Final = re.compile(r"[OolISBZQ]{2,6}|[lO]")
_NOT_DIGITS: Final = words("IOS OS ISO ISBO IO SSL SQL OSS Z") | unite_words(
    lambda each: each.cardinals.not_digits
)
_ROMAN: Final = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_NOT_ROMAN: Final = words(
    "CD MC DI MD DC CC CV CL DL ML CM MM MI CI LI LV DVI DIV CLI MDI XL MCI DCI MX LC MV MDC MCC CDI"
) | unite_words(lambda each: each.cardinals.not_romans)


def _read_shape(word: str) -> NumberWord | None:
    """Return the reading of a Roman numeral, or of letters that only look like digits."""
    if (
        1 < len(word) <= 7
        and word[0] in "ivx"
        and word not in _NOT_ROMAN
        and word.islower()
        and _ROMAN.fullmatch(word.upper())
    ):
        return NumberWord("letter", value=word.upper())
    if len(word) <= 15 and word.isupper() and _ROMAN.fullmatch(word):
        return NumberWord("roman" if len(word) > 1 and word not in _NOT_ROMAN else "letter", value=word)
    if len(word) <= 6 and _LOOKALIKE.fullmatch(word) and word not in _NOT_DIGITS:
        return NumberWord("lookalike", value=word)
    return None


_MISSPELLINGS: Final = tuple(SPELLINGS)


def _read_compound(lower: str) -> NumberWord | None:
    """Return the reading of number words written together, or of a half unit (`halvtimme`)."""
    if lower.startswith(HALF_PREFIXES):
        prefix = next(each for each in HALF_PREFIXES if lower.startswith(each))
        unit = unit_of(lower[len(prefix) :]) if len(lower) > len(prefix) + 1 else None
        return NumberWord("quantity", value="0.5", unit=unit) if unit else None
    atoms: list[int] = []
    at = 0
    if lower.startswith(_MISSPELLINGS):
        start = next(start for start in _MISSPELLINGS if lower.startswith(start))
        lower = SPELLINGS[start] + lower[len(start) :]
    names: list[str] = []
    while at < len(lower):
        name = _find_atom(lower, at)
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
            NumberWord("cardinal", tuple(atoms))
            if names[0] not in AMBIGUOUS_ONES or len(names) > 2 or atoms[1] >= 100
            else None
        )
    return _read_ending(tuple(atoms), names, rest, lower)


def _read_ending(atoms: tuple[int, ...], names: list[str], rest: str, lower: str) -> NumberWord | None:
    """Return the reading of number words (`names`, with the values `atoms`) and the letters `rest` behind them.

    `lower`: the whole word.
    """
    if rest in FACTOR_SUFFIXES:
        return NumberWord("factor", value=str(cardinal_value(atoms) or "?"))
    if rest in ORDINALS or rest in ORDINAL_SUFFIXES:
        return NumberWord("ordinal", (*atoms, ORDINALS.get(rest, 0)) if rest in ORDINALS else atoms)
    if rest in FRACTION_SUFFIXES and names[0] not in ONES:
        value = cardinal_value(atoms)
        return NumberWord("fraction", (value,)) if value else NumberWord("opaque", value=lower)
    if rest in GROUP_SUFFIXES and atoms[0] > 1:
        return NumberWord("cardinal", atoms, value="group")
    unit = unit_of(rest)
    if unit is not None and (len(rest) > 2 or rest in UNIT_SUFFIXES):
        return NumberWord("cardinal", atoms, unit=unit)
    currency = CURRENCY_SUFFIXES.get(rest) or next(
        (code for stem, code in CURRENCY_SUFFIX_STEMS.items() if rest.startswith(stem)), None
    )
    if currency is not None:
        return NumberWord("cardinal", atoms, unit=f"${currency}")
    if names[0] in ONES and len(names) == 1:
        return None
    if rest.startswith(PERCENT_STEMS):
        return NumberWord("cardinal", atoms, unit="%pp" if rest.startswith(POINT_STEMS) else "%")
    if rest.startswith(SUFFIX_STEMS):
        return NumberWord("cardinal", atoms)
    strong = len(names) > 1 or names[0] not in WEAK_PREFIXES
    if strong and len(rest) >= 3 and names[0] in COMPOUND_PREFIXES:
        return NumberWord("cardinal", atoms)
    return None


_ATOMS_BY_LETTER: Final[dict[str, tuple[str, ...]]] = {}
for _name in sorted(ATOMS, key=len, reverse=True):
    _ATOMS_BY_LETTER[_name[0]] = (*_ATOMS_BY_LETTER.get(_name[0], ()), _name)


def _find_atom(lower: str, at: int) -> str | None:
    """Return the longest number word that starts at `at` in `lower`, or `None`."""
    names = _ATOMS_BY_LETTER.get(lower[at], ())
    if not lower.startswith(names, at):  # true of most words
        return None
    return next(name for name in names if lower.startswith(name, at))


def cardinal_value(atoms: tuple[int, ...]) -> int | None:
    """Return the value of a run of number words, or `None` if the run is no cardinal ("one four nine").

    Grammar: groups, each before its scale, with falling scales, then a last group without one. A group is
    [1-99] hundred, then 1-99; a multiple of ten from 20 on may take 1-9.
    """
    # `group`: the value of the current group, -1 before it begins. `below`: the bound of the next word in it.
    total, group, last_scale, below, hundreds = 0, -1, 10**18, 100, False
    for atom in atoms:
        if atom >= 1000:
            if atom >= last_scale or group == 0:
                return None
            total += max(group, 1) * atom
            last_scale, group, below, hundreds = atom, -1, 100, False
        elif atom == 100:
            if hundreds or group == 0:
                return None
            group, below, hundreds = (group if group > 0 else 1) * 100, 100, True
        elif atom >= below or (atom == 0 and len(atoms) > 1):
            return None
        else:
            group = max(group, 0) + atom
            below = 10 if atom >= 20 else 1
    return total + max(group, 0)
