"""Finds the known words that a word of a question may stand for, with a confidence for each.

Strategy: a question rarely has the very words of its answer. A word stands fully for itself and for every word with the
same stem. It stands less surely for a word that shares most of its runs of three letters (an inflection, a misspelling,
a part of a compound), and, with word vectors, for a word of nearly the same meaning. Each likeness is a number 0..1,
and the best likeness of two words counts. Words that the operator's file of synonyms lists together stand for each
other almost fully.

When no known word is likely enough, known words are guessed: words of which the word is a misspelling (a letter wrong,
missing or added, or two swapped), else parts of which it is a compound. One mistake leaves the first half or the last
half of a word as it is, so the words that hold the rarest run of either half are the only ones that are compared; no
other table of spellings is needed. Every split of a word in two is looked up. Short words are not guessed, since they
are near too many other words.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from string import ascii_lowercase
from typing import Protocol

from agent.lang import LANGUAGES

from .vocabulary import RUN, Vocabulary, runs_of

DICE = 0.55
"""Least share of the runs of both words that two alike words have in common (Dice coefficient) ..."""
CONTAINED = 0.75
"""... or least share of the runs of the shorter word, which then may be a part of the other."""
PART_RUNS = 5  # runs of the shorter word from which being a part of another one tells anything
PART_SURE, FORM_SURE, SYNONYM = 0.8, 0.95, 0.9
MEANING = 0.4
"""Least cosine of two word vectors that counts as likeness."""
MEANING_SURE = 0.9
SURE = 0.85
"""Best likeness of a word from which no guesses are added, and ..."""
GUESSED = 0.8
"""... the likeness of a guessed word."""
_KEPT = 4096  # words whose likenesses, general weights and synonyms are cached
# Two words that are alike by `DICE` share more than this part of the runs of each.
_LEAST_OF_OTHER = DICE / (2 - DICE)
_LEAST_OF_PART = int(CONTAINED * PART_RUNS) + 1  # runs that a word shares with its part
_COMMON = 4000  # a run of letters that stands in more words than this is not looked up
SPELLED, SPELLED_MAX = 5, 24
"""Least and most letters of a word that may be misspelt; from 5 letters on, both halves of a word have a run."""
PART = 4
"""Least letters of a part of a compound."""

_LETTERS = frozenset((*ascii_lowercase, *"".join(each.writing.letters for each in LANGUAGES.values()), "é"))
"""The letters of all languages, and the é of loan words."""


class WordMeanings(Protocol):
    """Compares the meanings of words, and weighs a word in any text."""

    def find_near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return (number, cosine) of the known words whose cosine with `word` is at least `least`."""
        ...

    def weight_of(self, word: str) -> float:
        """Return the weight of `word` in any text, 0..1."""
        ...


class WordLikeness:
    """The likeness of words to the words of `vocabulary`, by their numbers.

    Two instances may share one `Vocabulary`: a word that one snapshot adds is then known to the other, which changes
    nothing for a snapshot without a text that holds it. Each instance has its own synonyms, meanings and caches.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._meanings: WordMeanings | None = None
        self._synonyms: Mapping[str, Sequence[str]] = {}
        self._synonyms_by_stem: dict[str, list[str]] = {}
        self._likeness_cache: OrderedDict[str, Mapping[int, float]] = OrderedDict()
        self._weight_cache: dict[str, float] = {}
        self._synonym_cache: dict[str, Sequence[int]] = {}

    def learn(self, synonyms: Mapping[str, Sequence[str]], meanings: WordMeanings | None) -> None:
        """Replace the operator's `synonyms` and the word `meanings`, and clear the caches."""
        self._synonyms, self._meanings = synonyms, meanings
        self._synonyms_by_stem = dict[str, list[str]]()
        for word, others in synonyms.items():
            for stem in self.vocabulary.stem(word):
                self._synonyms_by_stem.setdefault(stem, []).extend(others)
        self._likeness_cache = OrderedDict()
        self._weight_cache = {}
        self._synonym_cache = {}

    def find_like(self, word: str) -> Mapping[int, float]:
        """Return the known words that the folded `word` may stand for: number -> likeness 0..1, the surest first."""
        cached = self._likeness_cache.get(word)
        if cached is not None:
            self._likeness_cache.move_to_end(word)
            return cached
        likenesses = self._find_by_spelling(word)
        if self._meanings is not None:
            for number, cosine in self._meanings.find_near(word, MEANING):
                sure = cosine * MEANING_SURE
                if sure > likenesses.get(number, 0.0):
                    likenesses[number] = sure
        for number in self.find_synonyms(word):
            likenesses[number] = max(likenesses.get(number, 0.0), SYNONYM)
        for stem in self.vocabulary.stem(word):
            for number in self.vocabulary.by_stem.get(stem):
                likenesses[number] = 1.0
        own_number = self.vocabulary.number_of(word)
        if own_number is not None:
            likenesses[own_number] = 1.0
        if max(likenesses.values(), default=0.0) < SURE:
            self._add_guesses(word, likenesses)
        likenesses = self._likeness_cache[word] = dict(
            sorted(likenesses.items(), key=itemgetter(1), reverse=True)
        )
        if len(self._likeness_cache) > _KEPT:
            self._likeness_cache.popitem(last=False)
        return likenesses

    def general_weight(self, word: str) -> float | None:
        """Return the weight of the folded `word` in any text, 0..1; `None` without `WordMeanings`."""
        if self._meanings is None:
            return None
        weight = self._weight_cache.get(word)
        if weight is None:
            if len(self._weight_cache) >= _KEPT:
                self._weight_cache = {}
            weight = self._weight_cache[word] = self._meanings.weight_of(word)
        return weight

    @property
    def has_synonyms(self) -> bool:
        """Whether there is any word in the operator's list."""
        return bool(self._synonyms)

    def find_synonyms(self, word: str) -> Sequence[int]:
        """Return the numbers of the known words that are synonyms of the folded `word` in the operator's list."""
        if not self._synonyms:
            return ()
        found = self._synonym_cache.get(word)
        if found is None:
            if len(self._synonym_cache) >= _KEPT:
                self._synonym_cache = {}
            stems = [stem for each in self._listed_synonyms(word) for stem in self.vocabulary.stem(each)]
            found = tuple([number for stem in stems for number in self.vocabulary.by_stem.get(stem)])
            self._synonym_cache[word] = found
        return found

    def _add_guesses(self, word: str, likenesses: dict[int, float]) -> None:
        """Add to `likenesses` the known words that `word` may misspell, else those that it may be compounded from."""
        guesses = self._find_misspelt(word)
        if not guesses:
            stems = {stem for part in _split_compound(word) for stem in self.vocabulary.stem(part)}
            guesses = [number for stem in stems for number in self.vocabulary.by_stem.get(stem)]
        for number in guesses:
            likenesses[number] = max(likenesses.get(number, 0.0), GUESSED)

    def _listed_synonyms(self, word: str) -> Sequence[str]:
        """Return the operator's synonyms of `word`, or of a word with the same stem."""
        return self._synonyms.get(word) or next(
            (
                synonyms
                for stem in self.vocabulary.stem(word)
                if (synonyms := self._synonyms_by_stem.get(stem))
            ),
            (),
        )

    def _find_by_spelling(self, word: str) -> dict[int, float]:
        """Return the words that share most of their runs of letters with `word`: number -> likeness 0..1.

        An alike word shares at least `least` runs, so it stands in at least one of the shortest lists of words with a
        run; the longest lists only count the words that these hold.
        """
        runs, by_run = runs_of(word), self.vocabulary.by_run
        size, sizes = len(runs), self.vocabulary.runs
        least = min(int(size * _LEAST_OF_OTHER) + 1, _LEAST_OF_PART)
        lists = [numbers for numbers in map(by_run.get, runs) if 0 < len(numbers) <= _COMMON]
        lists.sort(key=len)
        first = max(0, len(lists) - least + 1)
        shared = Counter(chain.from_iterable(lists[:first]))
        for numbers in lists[first:]:
            for number in shared.keys() & numbers:
                shared[number] += 1
        likenesses: dict[int, float] = {}
        for number, count in [each for each in shared.items() if each[1] >= least]:
            other = sizes[number]
            dice = 2 * count / (size + other)
            sure = dice * FORM_SURE if dice > DICE else 0.0
            shorter = size if size < other else other
            if shorter >= PART_RUNS and count / shorter > CONTAINED:
                sure = max(sure, count / shorter * PART_SURE)
            if sure:
                likenesses[number] = sure
        return likenesses

    def _find_misspelt(self, word: str) -> list[int]:
        """Return the known words that the folded `word` is with one mistake; [] for a short or a very long word."""
        if not SPELLED <= len(word) <= SPELLED_MAX:
            return []
        words, half, size = self.vocabulary.words, len(word) // 2, len(word)
        head, tail = word[:half], word[half + 1 :]
        found = [
            number
            for number in self._rarest_run(f" {head}")
            if words[number].startswith(head) and -2 < len(words[number]) - size < 2
        ]
        found += [
            number
            for number in self._rarest_run(f"{tail} ")
            if words[number].endswith(tail) and -2 < len(words[number]) - size < 2
        ]
        return [number for number in found if _is_one_mistake(word, words[number])]

    def _rarest_run(self, part: str) -> Sequence[int]:
        """Return the words that hold the rarest run of `part`, which has at least one."""
        by_run = self.vocabulary.by_run
        return min([by_run.get(part[at : at + RUN]) for at in range(len(part) - RUN + 1)], key=len)


def _is_one_mistake(word: str, other: str) -> bool:
    """Tell whether `other` is `word` with one letter wrong, missing or added, or two letters swapped."""
    pairs = enumerate(zip(word, other, strict=False))
    at = next((at for at, (one, another) in pairs if one != another), min(len(word), len(other)))
    rest, others = word[at:], other[at:]
    if len(rest) > len(others):
        return rest[1:] == others
    if len(rest) < len(others):
        return rest == others[1:] and others[0] in _LETTERS
    if rest[1:] == others[1:]:
        return others[:1] in _LETTERS
    return rest[:2] == others[1::-1] and rest[2:] == others[2:]


def _split_compound(word: str) -> Iterator[str]:
    """Yield the beginnings and ends that `word` may be compounded from, also without a joining s."""
    for size in range(min(len(word), SPELLED_MAX) - PART, PART - 1, -1):
        yield word[:size]
        if word[size - 1] == "s" and size > PART:
            yield word[: size - 1]
        yield word[-size:]
