"""The words of many texts, by number, found again by their stems and by their runs of letters.

Strategy: words are folded, and numbered from 0 on in the order in which they come. A number is never taken back, so
the snapshots of what is searched can share one vocabulary: what a later one adds changes nothing for an earlier one,
which has no text with it.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from .postings import PackedPostings, Postings

RUN: Final = 3
"""Letters of a run."""


class PackedWords(msgspec.Struct, frozen=True, array_like=True):
    """What a `Vocabulary` knows, as its attributes are called. runs: an array as bytes."""

    words: list[str]
    by_stem: PackedPostings
    by_run: PackedPostings
    runs: bytes


class Vocabulary:
    """Folded words by number. For one thread at a time to add to, which others may look at meanwhile.

    stem: returns the stems by which a folded word is compared. packed: what another one knew; raises ValueError.

    words: each, by its number. by_stem, by_run: the numbers of the words that have a stem, and that hold a run of RUN
    letters. runs: how many different ones each word has.
    """

    def __init__(self, stem: Callable[[str], Sequence[str]], packed: PackedWords | None = None) -> None:
        self.words: list[str] = []
        self.stem = stem
        self.by_stem = Postings()
        self.by_run = Postings()
        self.runs = array("H")
        self._numbers: dict[str, int] = {}
        if packed is not None:
            self.words = packed.words
            self._numbers = dict(zip(self.words, range(len(self.words)), strict=True))
            self.by_stem, self.by_run = Postings(packed.by_stem), Postings(packed.by_run)
            self.runs.frombytes(packed.runs)
            if len(self._numbers) != len(self.runs):
                raise ValueError("what is known of words does not fit them")

    def settle(self) -> None:
        """Hold what is known as it takes the least, when most words have been added."""
        self.by_stem.settle()
        self.by_run.settle()

    def packed(self) -> PackedWords:
        """Return all of it as it can be kept."""
        by_stem, by_run = self.by_stem.packed(), self.by_run.packed()
        return PackedWords(list(self.words), by_stem, by_run, self.runs.tobytes())

    def add(self, word: str) -> int:
        """Return the number of a folded word, which is made known if it is not."""
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
            self.by_stem.add(self.stem(word), number)
            runs = runs_of(word)
            self.runs.append(len(runs))
            self.by_run.add(runs, number)
        return number

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of folded words, which are made known if they are not."""
        found = list(map(self._numbers.get, words))
        return [self.add(words[at]) if number is None else number for at, number in enumerate(found)]

    def number(self, word: str) -> int | None:
        """Return the number of a known word, or None."""
        return self._numbers.get(word)

    def known(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of those of some folded words that are known."""
        get = self._numbers.get
        return [number for word in words if (number := get(word)) is not None]


def runs_of(word: str) -> set[str]:
    """Return the runs of RUN letters of a word between spaces."""
    padded = f" {word} "
    return {padded[at : at + RUN] for at in range(len(padded) - RUN + 1)}
