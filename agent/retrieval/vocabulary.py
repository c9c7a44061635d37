"""The words of an index in one language: stems, how common each is, and the nearest known word to a misspelt one.

Strategy: a query word that the index knows is looked up by its stem. One that it does not know is, in this order,
a known word misspelt by one letter (two for long words), a compound of known words ("standardpaketet"), or the
beginning of longer known words ("leverans" for "leveranstid"). Neighbours at distance one are generated and looked
up, which does not depend on the size of the vocabulary. For the rest the words are kept sorted, and only so many of
those that begin alike are looked at, the nearest in the alphabet: what a word costs has a bound, whatever the index.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import tantivy

from agent.ports.search import Lang

STEMMERS: dict[Lang, str] = {"en": "english", "sv": "swedish"}

_LETTERS = "abcdefghijklmnopqrstuvwxyzåäöé"
_SPELLED = 4  # letters; a shorter word is too near to too many others
_SPELLED_TWICE = 9  # letters from which two mistakes are taken for one word
_SPELLED_MAX = 24
_CORRECTED = 6  # letters from which a word is replaced outright
_PART = 4  # letters of a part of a compound
_BEGINS = 5  # letters that two words have to begin with alike
_VARIANTS = 6
_SCANNED = 1_000  # words of the same beginning that a word may be misspelt from, ...
_COMPARED = 60  # ... the nearest of them, compared letter by letter, and ...
_BEGUN = 400  # ... those that it may be the beginning of

_ALIKE = 0.9  # how surely a word stands for another one that begins alike, when it is all they are
_SHARED = 0.6  # least share of a word's letters that two words that begin alike have in common
_COMPOUND = 0.8  # how surely a part of a compound stands for it; less when the rest is not known


def _stemmer(lang: Lang) -> Callable[[str], list[str]]:
    """Return a new function from a text of one language to the stems of its words; not for two threads at once."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    analyzer = builder.filter(tantivy.Filter.stemmer(STEMMERS[lang])).build()
    return cast(Callable[[str], list[str]], analyzer.analyze)


@dataclass(frozen=True, slots=True)
class Variant:
    """A known stem that a query word may stand for; `weight` 0..1 is how surely, `word` a form of it."""

    stem: str
    weight: float
    word: str


class Vocabulary:
    """The words and stems of one language. Filled with `add` and `remove`, then only read."""

    def __init__(self, lang: Lang, ordinary: frozenset[str] = frozenset()) -> None:
        """Start empty; `ordinary` words are real ones, never taken for another one misspelt."""
        self.lang = lang
        self._ordinary = ordinary
        self._analyze = _stemmer(lang)
        self._stems: dict[str, str] = {}  # word -> stem, of the words added
        self._df: Counter[str] = Counter()  # stem -> number of snippets
        self._sorted: list[
            str
        ] = []  # the words that another one is compared with; never changed, but replaced
        self._learnt: list[str] = []  # those that were met since it was sorted
        self._documents = 0

    def add(self, words: Iterable[str]) -> list[str]:
        """Take in the folded words of one snippet and return their stems, in order."""
        stems = [self._stems.get(word) or self._learn(word) for word in words]
        self._df.update(set(stems))
        self._documents += 1
        return stems

    def remove(self, snippets: Iterable[Iterable[str]]) -> None:
        """Take out snippets, each given by the stems that `add` returned for it; a stem in none is forgotten.

        What is forgotten of a word that had other forms is its stem only when the last of them has gone.
        """
        touched: set[str] = set()
        for stems in snippets:
            found = set(stems)
            self._df.subtract(found)
            self._documents -= 1
            touched |= found
        gone = {stem for stem in touched if self._df[stem] <= 0}
        if not gone:
            return
        for stem in gone:
            del self._df[stem]
        self.settle()
        for word in [word for word, stem in self._stems.items() if stem in gone]:
            del self._stems[word]
        self._sorted = [word for word in self._sorted if word in self._stems]

    def copy(self) -> "Vocabulary":
        """Return another one with the same words; the two can be used by two threads."""
        other = Vocabulary(self.lang, self._ordinary)
        other._stems = dict(self._stems)
        other._df = Counter(self._df)
        self.settle()
        other._sorted = self._sorted
        other._documents = self._documents
        return other

    def settle(self) -> None:
        """Sort in what was added, so that the first look-up has not to."""
        if self._learnt:
            self._sorted = sorted(self._sorted + self._learnt)
            self._learnt = []

    def _learn(self, word: str) -> str:
        """Note a word that was not met before."""
        stem = self._stems[word] = self.stem(word)
        if len(word) >= _SPELLED and not word[0].isdigit():
            self._learnt.append(word)
        return stem

    def stem(self, word: str) -> str:
        """Return the stem of a folded word, known or not."""
        return self._stems.get(word) or (self._analyze(word.removesuffix("'s")) or [word])[0]

    def knows(self, word: str) -> bool:
        """Return whether the word, or another form of it, stands in the index."""
        return self.stem(word) in self._df

    def rarity(self, stem: str) -> float:
        """Return 0..1: how much a stem tells; 1 for one that stands in a single snippet or in none."""
        if self._documents < 2:
            return 1.0
        return max(0.0, 1 - math.log(max(1, self._df[stem])) / math.log(self._documents + 1))

    def variants(self, word: str) -> tuple[Variant, ...]:
        """Return the known stems that a folded word may stand for, the surest first; none when there is none."""
        stem = self.stem(word)
        ordinary = word in self._ordinary or stem in self._ordinary
        # A stem of two or three letters may be that of quite another word ("månen", "månader").
        if stem in self._df and (len(stem) >= _SPELLED or word in self._stems or not ordinary):
            return (Variant(stem, 1.0, word),)
        if not self._df or ordinary or any(mark.isdigit() for mark in word):
            return ()
        spelled = self._misspelt(word)
        found = [Variant(self._stems[near], _misspelt_sure(word), near) for near in spelled]
        found = found or self._compound(word) or self._alike(word)
        best: dict[str, Variant] = {}
        for variant in found:
            best.setdefault(variant.stem, variant)
        return tuple(best.values())[:_VARIANTS]

    def correct(self, word: str) -> str:
        """Return the known word that a misspelt one most likely stands for, else the word itself.

        A short word is left as it is: the search then weighs how unsure it is.
        """
        if len(word) < _CORRECTED or self.knows(word) or any(mark.isdigit() for mark in word):
            return word
        return next(iter(self._misspelt(word)), word)

    def _misspelt(self, word: str) -> list[str]:
        """Return known words at the smallest distance, the most common first."""
        if (
            not _SPELLED <= len(word) <= _SPELLED_MAX
            or word in self._ordinary
            or self.stem(word) in self._ordinary
        ):
            return []
        near = {edit for edit in _edits(word) if edit in self._stems and len(edit) >= _SPELLED}
        if not near and len(word) >= _SPELLED_TWICE:
            near = {other for other in self._near(word) if _distance_two(word, other)}
        return sorted(near, key=lambda other: (-self._df[self._stems[other]], other))[:3]

    def _near(self, word: str) -> list[str]:
        """Return the known words with the same two first letters, about the same length, and few other letters."""
        letters = set(word)
        found = [
            (others, other)
            for other in self._begin(word[:2], word, _SCANNED)
            if -2 <= len(other) - len(word) <= 2
            and len(other) >= _SPELLED_TWICE - 1
            # A replacement adds one letter and takes one away.
            and (others := len(letters.symmetric_difference(other))) <= 4
        ]
        found.sort()
        return [other for _, other in found[:_COMPARED]]

    def _begin(self, start: str, word: str, limit: int) -> list[str]:
        """Return at most `limit` of the words that begin with `start`, those around `word` in the alphabet."""
        self.settle()
        first, last = bisect_left(self._sorted, start), bisect_left(self._sorted, start + "\U0010ffff")
        if last - first > limit:
            at = bisect_left(self._sorted, word, first, last)
            first = min(max(first, at - limit // 2), last - limit)
            last = first + limit
        return self._sorted[first:last]

    def _compound(self, word: str) -> list[Variant]:
        """Return the known parts that a compound begins and ends with, the surer the more of it they make up."""
        heads = [(cut, self._part(word[:cut])) for cut in range(len(word) - 1, _PART - 1, -1)]
        tails = [(cut, self._part(word[cut:])) for cut in range(1, len(word) - _PART + 1)]
        head = next(((cut, part) for cut, part in heads if part), None)
        tail = next(((cut, part) for cut, part in tails if part), None)
        if head and tail and head[0] >= tail[0] - 1:  # nothing but a joining letter between them
            return [Variant(self.stem(part), _COMPOUND, part) for _, part in (head, tail)]
        found = [(head[0] / len(word), head[1])] if head else []
        found += [(1 - tail[0] / len(word), tail[1])] if tail else []
        return [Variant(self.stem(part), _COMPOUND * share, part) for share, part in found]

    def _part(self, part: str) -> str:
        """Return the part of a compound in a known form, or "" when it is not known."""
        for form in (part, part.removesuffix("s")):
            if len(form) >= _PART and self.stem(form) in self._df:
                return form
        return ""

    def _alike(self, word: str) -> list[Variant]:
        """Return known words that begin as the word does: another inflection, or a compound it begins."""
        stem = self.stem(word)
        least = max(_BEGINS, math.ceil(_SHARED * len(word)))
        if len(stem) >= _BEGINS:
            least = min(least, len(stem))
        found = []
        for other in self._begin(word[:least], word, _BEGUN) if len(word) >= least else ():
            shared = _shared_start(word, other)
            found.append((shared / max(len(word), min(len(other), len(word) + 4)), other))
        found.sort(key=lambda entry: (-entry[0], entry[1]))
        return [Variant(self._stems[other], _ALIKE * share, other) for share, other in found[:_VARIANTS]]


def _misspelt_sure(word: str) -> float:
    """Return how surely an unknown word is a known one misspelt: a short one is often just another word."""
    return min(0.9, 0.4 + 0.06 * len(word))


def _shared_start(one: str, other: str) -> int:
    """Return how many letters two words begin with alike."""
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return at
    return min(len(one), len(other))


def _edits(word: str) -> set[str]:
    """Return every string one insertion, deletion, replacement or swap of neighbours away (Damerau).

    The first letter stays: it is rarely mistyped, and words that rhyme are mostly different words.
    """
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    edits = {left + right[1:] for left, right in cuts if right}
    edits.update(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1)
    edits.update(left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS)
    edits.update(left + letter + right for left, right in cuts for letter in _LETTERS)
    edits.discard(word)
    return edits


def _distance_two(one: str, other: str) -> bool:
    """Return whether at most two insertions, deletions or replacements lie between two words."""
    if len(one) > len(other):
        one, other = other, one
    row = list(range(len(one) + 1))
    for at, letter in enumerate(other, 1):
        before, row[0] = row[0], at
        for index, mine in enumerate(one, 1):
            cost = min(row[index] + 1, row[index - 1] + 1, before + (mine != letter))
            before, row[index] = row[index], cost
        if min(row) > 2:
            return False
    return row[-1] <= 2
