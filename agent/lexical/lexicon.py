"""The words of one snapshot of some documents: which of these hold them, what they may stand for, what they tell.

Strategy: documents are numbered, and the words of each are counted once. In how many a word stands tells how rare it
is; the lists of which documents ever held it tell how much of a question whole documents hold, without a look at any.
A snapshot shares those lists, and the vocabulary, with the ones after it: a number is never given to a second
document, so that what a later one adds changes nothing for an earlier one.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence

from agent.text.words import replaced

from .alike import Alike
from .postings import NUMBERS, Holders, PackedHolders, array_of
from .stems import stems
from .vocabulary import PackedWords, Vocabulary

_SCANNED = 8  # entries of a list that are read in the time in which one is looked up in a long one


class Lexicon:
    """The words of one snapshot. Filled with `numbers` and `add`, then only read.

    live: how many documents there are. alike: what words may stand for; filled with its `learn`.
    """

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary(stems)
        self.alike = Alike(self.vocabulary)
        self.live = 0
        self._counts = array(NUMBERS)  # word -> documents
        self._holders = Holders()  # word -> the documents that ever held it

    @classmethod
    def unpacked(cls, counts: bytes, holders: PackedHolders, words: PackedWords, live: int) -> "Lexicon":
        """Return what `packed` made something of. Raises ValueError when its parts do not fit together."""
        made = cls(Vocabulary(stems, words))
        made._counts, made._holders, made.live = array_of(counts), Holders(holders), live
        if len(made._counts) != len(made.vocabulary.words):
            raise ValueError("counts do not fit their words")
        return made

    def packed(self) -> tuple[bytes, PackedHolders, PackedWords]:
        """Return what is known, but for what `alike` learned, as `unpacked` takes it."""
        return self._counts.tobytes(), self._holders.packed(), self.vocabulary.packed()

    def copy(self) -> "Lexicon":
        """Return one that can be changed, and has learned nothing; all that only grows is shared."""
        made = Lexicon(self.vocabulary)
        made._counts, made._holders, made.live = array(NUMBERS, self._counts), self._holders, self.live
        return made

    def settle(self) -> None:
        """Hold what is known as it takes the least, when most has been added. Nobody else may look meanwhile."""
        self.vocabulary.settle()
        self._holders.settle()

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of folded words; those that are not known are made known."""
        numbers = self.vocabulary.numbers(words)
        self._counts.extend([0] * (len(self.vocabulary.words) - len(self._counts)))
        return numbers

    def add(self, document: int, words: Collection[int]) -> None:
        """Add a document, of a higher number than any before it. words: that it holds, each once."""
        for word in words:
            self._counts[word] += 1
        self._holders.add(words, document)
        self.live += 1

    def forget(self, words: Iterable[int]) -> None:
        """Count a document no more. words: that it holds, each once."""
        for word in words:
            self._counts[word] -= 1
        self.live -= 1

    def rarity(self, word: int | None) -> float:
        """Return how much a word tells: the logarithm of how many documents there are to each that holds it."""
        count = self._counts[word] if word is not None and word < len(self._counts) else 0
        return math.log(1 + self.live / (1 + count))

    def telling(self, word: str, general: int = 0) -> float:
        """Return how much a folded word of a question tells: its rarity here, and what it tells in any text.

        general: how many documents the latter counts as, beside those that there are. In few documents hardly a word is
        seen twice, so that a common one looks as rare as any other. Where nothing is known of words in general, rarity
        is all.
        """
        here = self.rarity(self.vocabulary.number(word))
        anywhere = self.alike.telling(word) if general else None
        if anywhere is None:
            return here
        rarest = math.log(1 + self.live)  # that of a word which no document holds
        return (self.live * here + general * anywhere * rarest) / (self.live + general)

    def spelled_as(self, word: str) -> str:
        """Return the word that a folded word's letters are looked for as.

        Of one that no document holds it is the first one that one holds of those that the operator says it stands for.
        """
        if self._holds(self.vocabulary.number(word)):
            return word
        return next(
            (self.vocabulary.words[each] for each in self.alike.explained(word) if self._holds(each)), word
        )

    def reworded(self, text: str) -> str:
        """Return a text with the words of the documents in place of those that only the operator's synonyms explain."""
        return replaced(text, self.spelled_as)

    def _holds(self, word: int | None) -> bool:
        return word is not None and word < len(self._counts) and self._counts[word] > 0

    def surest(self, words: Mapping[int, float], among: Iterable[int]) -> dict[int, float]:
        """Return which of some living documents hold a word, anywhere in them, with how sure the first of these is.

        words: how sure each is, the surest first.
        """
        left, found = set(among), dict[int, float]()
        long = len(left) * _SCANNED
        for word, sure in words.items():
            holders = self._holders.get(word)
            if len(holders) <= long:
                here = left.intersection(holders)
            else:
                last = len(holders) - 1  # a later snapshot may be adding some
                here = {each for each in left if holders[bisect_left(holders, each, 0, last)] == each}
            if here:
                found |= dict.fromkeys(here, sure)
                left -= here
        return found
