"""Finds the known words that a word of a question may stand for, with a confidence for each.

Strategy: a question rarely has the very words of its answer. A word stands fully for itself and for every word with the
same stem. It stands less surely for a word that shares most of its runs of three letters (an inflection, a misspelling,
a part of a compound), and, with word vectors, for a word of nearly the same meaning. Each likeness is a number 0..1,
and the best likeness of two words counts. Words that the operator's file of synonyms lists together stand for each
other almost fully.

When no known word is likely enough, known words are guessed: words of which the word is a misspelling, else parts of
which it is a compound. Every spelling at a distance of one (a letter wrong, missing or added, or two swapped) is
generated and looked up, and so is every split of the word in two. The number of look-ups does not depend on the number
of known words. Short words are not guessed, since they are near too many other words.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from string import ascii_lowercase
from typing import Protocol

from agent.lang import LANGUAGES

from .vocabulary import Vocabulary, runs_of

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
_KEPT = 4096  # words whose likenesses, and whose general weights, are cached
_COMMON = 4000  # a run of letters that stands in more words than this is not looked up
SPELLED, SPELLED_MAX = 5, 24
"""Least and most letters of a word that may be misspelt."""
PART = 4
"""Least letters of a part of a compound."""

_LETTERS = "".join(
    dict.fromkeys((*ascii_lowercase, *"".join(each.writing.letters for each in LANGUAGES.values()), "é"))
)
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

    def learn(self, synonyms: Mapping[str, Sequence[str]], meanings: WordMeanings | None) -> None:
        """Replace the operator's `synonyms` and the word `meanings`, and clear the caches."""
        self._synonyms, self._meanings = synonyms, meanings
        self._synonyms_by_stem = dict[str, list[str]]()
        for word, others in synonyms.items():
            for stem in self.vocabulary.stem(word):
                self._synonyms_by_stem.setdefault(stem, []).extend(others)
        self._likeness_cache = OrderedDict()
        self._weight_cache = {}

    def find_like(self, word: str) -> Mapping[int, float]:
        """Return the known words that the folded `word` may stand for: number -> likeness 0..1, the surest first."""
        cached = self._likeness_cache.get(word)
        if cached is not None:
            self._likeness_cache.move_to_end(word)
            return cached
        likenesses = self._find_by_spelling(word)
        if self._meanings is not None:
            for number, cosine in self._meanings.find_near(word, MEANING):
                likenesses[number] = max(likenesses.get(number, 0.0), cosine * MEANING_SURE)
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

    def find_synonyms(self, word: str) -> Iterator[int]:
        """Yield the numbers of the known words that are synonyms of the folded `word` in the operator's list."""
        for synonym in self._listed_synonyms(word):
            for stem in self.vocabulary.stem(synonym):
                yield from self.vocabulary.by_stem.get(stem)

    def _add_guesses(self, word: str, likenesses: dict[int, float]) -> None:
        """Add to `likenesses` the known words that `word` may misspell, else those that it may be compounded from."""
        guesses = self.vocabulary.find_known(_generate_neighbours(word))
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
        """Return the words that share most of their runs of letters with `word`: number -> likeness 0..1."""
        runs, by_run = runs_of(word), self.vocabulary.by_run
        shared: Counter[int] = Counter()
        for run in runs:
            numbers = by_run.get(run)
            if len(numbers) <= _COMMON:
                shared.update(numbers)
        likenesses: dict[int, float] = {}
        size, sizes = len(runs), self.vocabulary.runs
        # Most words share one run or two; both measures ask for more than half of the runs of the shorter word.
        near = [each for each in shared.items() if 2 * each[1] > size or 2 * each[1] > sizes[each[0]]]
        for number, count in near:
            other = sizes[number]
            least = min(size, other)
            dice = 2 * count / (size + other)
            part = count / least if least >= PART_RUNS else 0.0
            sure = dice * FORM_SURE if dice > DICE else 0.0
            if part > CONTAINED:
                sure = max(sure, part * PART_SURE)
            if sure:
                likenesses[number] = sure
        return likenesses


def _generate_neighbours(word: str) -> Iterator[str]:
    """Yield every spelling of the folded `word` with one letter mistaken; nothing for a short or a very long word."""
    if not SPELLED <= len(word) <= SPELLED_MAX:
        return
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def _split_compound(word: str) -> Iterator[str]:
    """Yield the beginnings and ends that `word` may be compounded from, also without a joining s."""
    for size in range(min(len(word), SPELLED_MAX) - PART, PART - 1, -1):
        yield word[:size]
        if word[size - 1] == "s" and size > PART:
            yield word[: size - 1]
        yield word[-size:]
