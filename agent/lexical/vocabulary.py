"""Numbers the words of many texts, and finds them by their stems and by their runs of letters.

Strategy: words are folded, and numbered from 0 on in the order in which they come. A number is never taken back, so
the snapshots of an index can share one `Vocabulary`: a word that a later snapshot adds changes nothing for an earlier
one, which has no text that holds it.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import filterfalse
from typing import Final

import msgspec

from .postings import PackedPostings, Postings

RUN: Final = 3
"""Letters of a run, such as `abc` of `abcde`."""


class PackedWords(msgspec.Struct, frozen=True, array_like=True):
    """The state of a `Vocabulary`; the fields are named as its attributes. `runs`: an array as bytes."""

    words: list[str]
    by_stem: PackedPostings
    by_run: PackedPostings
    runs: bytes


class Vocabulary:
    """Folded words by number. One thread may add words while others read.

    `stem`: returns the stems by which a folded word is compared. `packed`: the state to begin with; raises ValueError
    when its parts do not fit together. `stem_all`: returns the stems of several words, where that takes less than
    calls of `stem`.

    `words`: each word, by its number. `by_stem`, `by_run`: the numbers of the words with a stem, and of those that
    hold a run of `RUN` letters. `runs`: how many different runs each word has.
    """

    def __init__(
        self,
        stem: Callable[[str], Sequence[str]],
        packed: PackedWords | None = None,
        stem_all: Callable[[Sequence[str]], Iterable[Sequence[str]]] | None = None,
    ) -> None:
        self.words: list[str] = []
        self.stem = stem
        self._stem_all = stem_all or partial(map, stem)
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

    def compact(self) -> None:
        """Store the lists in their smallest form, after most words were added."""
        self.by_stem.compact()
        self.by_run.compact()

    def pack(self) -> PackedWords:
        """Return the state of the vocabulary."""
        by_stem, by_run = self.by_stem.pack(), self.by_run.pack()
        return PackedWords(list(self.words), by_stem, by_run, self.runs.tobytes())

    def add_word(self, word: str) -> int:
        """Return the number of a folded word, which is added if it is unknown."""
        return self.number_words((word,))[0]

    def number_words(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of folded words; unknown words are added."""
        new = list(filterfalse(self._numbers.__contains__, words))
        for word, stems in zip(new, self._stem_all(new), strict=True):
            if word in self._numbers:  # it stands in `words` twice
                continue
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
            self.by_stem.add(stems, number)
            runs = runs_of(word)
            self.runs.append(len(runs))
            self.by_run.add(runs, number)
        return list(map(self._numbers.__getitem__, words))

    def number_of(self, word: str) -> int | None:
        """Return the number of a known word, or None."""
        return self._numbers.get(word)


def runs_of(word: str) -> set[str]:
    """Return the runs of `RUN` letters of `word` with a space before and after it."""
    padded = f" {word} "
    return {padded[at : at + RUN] for at in range(len(padded) - RUN + 1)}
