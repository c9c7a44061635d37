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
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.lang.language import Language

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
    """The signs of a text in one language, from the tables of `agent.lang`; `shift`: of its points in a sum."""

    def __init__(self, lang: Lang, shift: int) -> None:
        telling = LANGUAGES[lang].telling
        self.shift = shift
        self.letters = frozenset(LANGUAGES[lang].writing.letters)
        self._marks = frozenset(telling.marks)
        self._find_pairs = re.compile(telling.pairs).findall
        self._endings = tuple(telling.endings.split("|"))

    def spelling(self, word: str) -> int:
        """Return the points for the letter pairs, the ending and the marks of `word`."""
        points = _PAIR * len(self._find_pairs(word))
        points += _ENDING * word.endswith(self._endings)
        return points + _ENDING * (not self._marks.isdisjoint(word))


_LANGS: Final = tuple(LANGUAGES)
_SIGNS: Final = tuple([_LanguageSigns(lang, _BITS * at) for at, lang in enumerate(_LANGS)])
_LETTERS_OF_ALL: Final = frozenset().union(*[signs.letters for signs in _SIGNS])


def _list_words(words_of: Callable[[Language], Iterable[str]]) -> Mapping[str, tuple[_LanguageSigns, ...]]:
    """Return the languages that list a word, by word. `words_of`: returns the listed words of a language."""
    listing: dict[str, tuple[_LanguageSigns, ...]] = {}
    for language, signs in zip(LANGUAGES.values(), _SIGNS, strict=True):
        for word in words_of(language):
            listing[word] = (*listing.get(word, ()), signs)
    return listing


# A frequent word counts as one only where no language has it as a function word.
_LISTING: Final = {
    **_list_words(lambda language: language.telling.words),
    **_list_words(lambda language: language.writing.function_words),
}


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
    listing = _LISTING.get(word, ())
    points = sum([_WORD << signs.shift for signs in listing])
    among: Sequence[_LanguageSigns] = listing or _SIGNS
    if len(among) > 1 and not _LETTERS_OF_ALL.isdisjoint(word):
        with_own_letters = [signs for signs in among if not signs.letters.isdisjoint(word)]
        points += sum(
            [(_OWN_LETTER_IN_NAME if name else _OWN_LETTER) << signs.shift for signs in with_own_letters]
        )
        among = with_own_letters or among
    if len(among) > 1 and not name and len(word) > 2:
        points += sum([signs.spelling(word) << signs.shift for signs in among])
    return points
