"""Which language a text is in, of those there are, or not told.

Strategy: each word gives points to each language. Listed words weigh most: function words, and what a language lists
as frequent. Then letters that a language has of its own (less in a capitalised word inside a sentence: names travel);
then word endings and letter pairs that a language uses and the others hardly do, which decide keyword questions without
a single function word. A sign that one language has tells for it alone; one that several have leaves it to the next
sign to tell these apart. Where the best language leads by less than a small margin, the text does not tell. The points
are round numbers set by hand and checked on labelled questions (tests/text/test_language.py); tables this small are
faster than a statistical identifier and need no model file. They are the languages' own (`agent.lang`).
"""

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from agent.lang import LANGUAGES, Lang

from .words import fold

_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_WEIGHED = 100  # words that are looked at; a longer text has told long before
_ENOUGH = 1000  # characters in which there are so many, mostly
_KEPT = 32_768  # words whose points are kept, some 0.2 KB each: more than most knowledge bases have
_known: dict[str, tuple[int, ...]] = {}
_LONGEST = 40  # letters of a word that are looked at, its last ones

_MARGIN = 5  # points
_WORD = 20
_OWN_LETTER = 16
_OWN_LETTER_IN_NAME = 4
_ENDING = 6
_PAIR = 3


class _Signs:
    """What tells a text in one language."""

    def __init__(self, lang: Lang) -> None:
        language = LANGUAGES[lang]
        self.function_words = language.writing.function_words
        self.words = language.telling.words
        self.letters = frozenset(language.writing.letters)
        self.marks = frozenset(language.telling.marks)
        self._pair = re.compile(language.telling.pairs)
        self._ending = re.compile(f"(?:{language.telling.endings})$")

    def spelling(self, word: str) -> int:
        """Return the points for the pairs and the end of a word."""
        points = _PAIR * len(self._pair.findall(word))
        points += _ENDING * (self._ending.search(word) is not None)
        return points + _ENDING * (not self.marks.isdisjoint(word))


_SIGNS: Final = {lang: _Signs(lang) for lang in LANGUAGES}
_LANGS: Final = tuple(_SIGNS)


def language(text: str) -> Lang | None:
    """Return the code of the language of `text`, or None when the text does not tell (digits, names, noise)."""
    words = _first(text)
    if not words:
        return None
    said = [each for each in map(_known.get, words) if each is not None]
    if len(said) < len(words):
        said = [_inside(word) for word in words]
    said[0] = _points(words[0][-_LONGEST:], False)
    totals = [sum(points) for points in zip(*said, strict=True)]
    best = max(totals)
    at = totals.index(best)
    lead = best - max(totals[:at] + totals[at + 1 :], default=0)
    return _LANGS[at] if lead >= _MARGIN else None


def _first(text: str) -> list[str]:
    """Return the words of a text that are weighed."""
    words = _LETTERS.findall(text[:_ENOUGH])
    if len(words) <= _WEIGHED and len(text) > _ENOUGH:  # the last one may be cut
        return [match.group() for match in islice(_LETTERS.finditer(text), _WEIGHED)]
    return words[:_WEIGHED]


def _inside(raw: str) -> tuple[int, ...]:
    """Return what a word says that does not begin its text."""
    known = _known.get(raw)
    if known is None:
        known = _points(raw[-_LONGEST:], raw[0].isupper())
        if len(raw) <= _LONGEST:
            if len(_known) >= _KEPT:
                _known.clear()
            _known[raw] = known
    return known


@lru_cache(maxsize=4096)
def _points(raw: str, name: bool) -> tuple[int, ...]:
    """Return the points that one word gives to each of _LANGS."""
    word = fold(raw)
    points = dict.fromkeys(_LANGS, 0)
    among = _listing(word) or [*_LANGS]
    for lang in _listing(word):
        points[lang] += _WORD
    if len(among) > 1:
        own = [lang for lang in among if not _SIGNS[lang].letters.isdisjoint(word)]
        for lang in own:
            points[lang] += _OWN_LETTER_IN_NAME if name else _OWN_LETTER
        among = own or among
    if len(among) > 1 and not name and len(word) > 2:
        for lang in among:
            points[lang] += _SIGNS[lang].spelling(word)
    return tuple(points.values())


def _listing(word: str) -> list[Lang]:
    """Return the languages that have a word as a function word, or if none has, as a frequent one."""
    return [lang for lang, signs in _SIGNS.items() if word in signs.function_words] or [
        lang for lang, signs in _SIGNS.items() if word in signs.words
    ]
