"""Detects the language of a text, or that the text does not show one.

Strategy: each word gives points to each language by three kinds of sign. Listed words weigh most: function words, and
the words that a language lists as frequent. Next come letters that only one language has (with fewer points in a
capitalised word inside a sentence, since names travel). Last come word endings and letter pairs that one language uses
and the others hardly use, which decide keyword questions without any function word. A sign that only one language has
counts for that language alone; a sign that several languages share leaves the decision to the next kind of sign. When
the best language leads by less than `_MARGIN` points, the text does not show its language.

The points are round numbers set by hand and checked on labelled questions (`tests/text/test_language.py`). Tables
this small are faster than a statistical identifier and need no model file. The tables themselves are part of each
language (`agent.lang`).
"""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES, Lang

from .words import fold

_LETTERS = re.compile(r"[^\W\d_]++(?:'[^\W\d_]++)*+")
_WEIGHED = 100  # words that are weighed; a longer text has shown its language long before
_ENOUGH = 1000  # characters that mostly hold that many words
_CACHE_SIZE = 32_768  # words whose points are kept, some 0.2 KB each: more than most knowledge bases have
_BITS = 16  # of the points of one language; `_WEIGHED` words give fewer
_HIGHEST = (1 << _BITS) - 1
_LONGEST = 40  # letters of a word that are read: its last ones

_MARGIN = 5  # points
_WORD = 20
_OWN_LETTER = 16
_OWN_LETTER_IN_NAME = 4
_ENDING = 6
_PAIR = 3


class _LanguageSigns:
    """The signs of a text in one language, from the tables of `agent.lang`."""

    def __init__(self, lang: Lang) -> None:
        language = LANGUAGES[lang]
        self.function_words = language.writing.function_words
        self.words = language.telling.words
        self.letters = frozenset(language.writing.letters)
        self.marks = frozenset(language.telling.marks)
        self._pair = re.compile(language.telling.pairs)
        self._ending = re.compile(f"(?:{language.telling.endings})$")

    def spelling(self, word: str) -> int:
        """Return the points for the letter pairs, the ending and the marks of `word`."""
        points = _PAIR * len(self._pair.findall(word))
        points += _ENDING * (self._ending.search(word) is not None)
        return points + _ENDING * (not self.marks.isdisjoint(word))


_SIGNS: Final = {lang: _LanguageSigns(lang) for lang in LANGUAGES}
_LANGS: Final = tuple(_SIGNS)


def detect_language(text: str) -> Lang | None:
    """Return the code of the language of `text`, or None when `text` does not show one (digits, names, noise)."""
    words = _words_to_weigh(text)
    if not words:
        return None
    first = _points(words[0][-_LONGEST:], False)
    total = sum(map(_points_of.__getitem__, words[1:]), first)
    totals = [total >> _BITS * at & _HIGHEST for at in range(len(_LANGS))]
    best = max(totals)
    at = totals.index(best)
    lead = best - max(totals[:at] + totals[at + 1 :], default=0)
    return _LANGS[at] if lead >= _MARGIN else None


def _words_to_weigh(text: str) -> list[str]:
    """Return the first words of `text`, at most `_WEIGHED`."""
    words = _LETTERS.findall(text[:_ENOUGH])
    if len(words) <= _WEIGHED and len(text) > _ENOUGH:  # the last one may be cut
        return [match.group() for match in islice(_LETTERS.finditer(text), _WEIGHED)]
    return words[:_WEIGHED]


class _WordPoints(dict[str, int]):
    """The points of words that do not begin their text, computed when they are looked up; short words are cached."""

    def __missing__(self, raw: str) -> int:
        points = _points(raw[-_LONGEST:], raw[0].isupper())
        if len(raw) <= _LONGEST:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[raw] = points
        return points


_points_of: Final = _WordPoints()


@lru_cache(maxsize=4096)
def _points(raw: str, name: bool) -> int:
    """Return the points that the word `raw` gives to each of `_LANGS`, as one number that can be added up.

    The points of the first language are its lowest `_BITS` bits, those of the second one the next bits, and so on.
    `name`: it is capitalised within a sentence.
    """
    word = fold(raw)
    points = dict.fromkeys(_LANGS, 0)
    among = _languages_listing(word) or [*_LANGS]
    for lang in _languages_listing(word):
        points[lang] += _WORD
    if len(among) > 1:
        with_own_letters = [lang for lang in among if not _SIGNS[lang].letters.isdisjoint(word)]
        for lang in with_own_letters:
            points[lang] += _OWN_LETTER_IN_NAME if name else _OWN_LETTER
        among = with_own_letters or among
    if len(among) > 1 and not name and len(word) > 2:
        for lang in among:
            points[lang] += _SIGNS[lang].spelling(word)
    return sum([points[lang] << _BITS * at for at, lang in enumerate(_LANGS)])


def _languages_listing(word: str) -> list[Lang]:
    """Return the languages that list `word` as a function word, else those that list it as a frequent word."""
    return [lang for lang, signs in _SIGNS.items() if word in signs.function_words] or [
        lang for lang, signs in _SIGNS.items() if word in signs.words
    ]
