"""The words of one snapshot of some documents, the documents that hold each word, and the weight of each word.

Strategy: documents are numbered, and each document counts a word once. The number of documents that hold a word gives
the rarity of the word. The list of all documents that ever held a word (`Holders`) tells how much of a question a
document covers, without reading the document. A snapshot shares these lists and the `Vocabulary` with the snapshots
after it: a document number is never given twice, so a document that a later snapshot adds changes nothing for an
earlier one. `alike` finds the words that may stand for a word.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from agent.text.words import replace_words

from .alike import WordLikeness
from .postings import NUMBERS, Holders, PackedHolders, array_of
from .stems import stem_keys, stem_keys_of
from .vocabulary import PackedWords, Vocabulary

_SET_MAX = 256  # documents that hold a word up to which the set of them is kept, in at most 30 KiB ...
_SETS_KEPT = 512  # ... for so many words


class Lexicon:
    """The words of one snapshot. Filled with `number_words` and `add_document`, then only read.

    `live`: the number of documents in the snapshot. `likeness`: finds the words that may stand for a word, after its
    `learn` was called.
    """

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary(stem_keys, stem_all=stem_keys_of)
        self.likeness = WordLikeness(self.vocabulary)
        self.live = 0
        self._counts = array(NUMBERS)  # word -> documents
        self._holders = Holders()  # word -> the documents that ever held it
        self._holder_sets: dict[int, frozenset[int]] = {}  # of words of the latest questions

    @classmethod
    def unpack(cls, counts: bytes, holders: PackedHolders, words: PackedWords, live: int) -> "Lexicon":
        """Return the lexicon that `pack` wrote. Raises ValueError when its parts do not fit together."""
        lexicon = cls(Vocabulary(stem_keys, words, stem_keys_of))
        lexicon._counts, lexicon._holders, lexicon.live = array_of(counts), Holders(holders), live
        if len(lexicon._counts) != len(lexicon.vocabulary.words):
            raise ValueError("counts do not fit their words")
        return lexicon

    def pack(self) -> tuple[bytes, PackedHolders, PackedWords]:
        """Return the state of the lexicon for `unpack`, without the synonyms and meanings that `likeness` learned."""
        return self._counts.tobytes(), self._holders.pack(), self.vocabulary.pack()

    def copy(self) -> "Lexicon":
        """Return a copy that can be changed, without synonyms and meanings; structures that only grow are shared."""
        lexicon = Lexicon(self.vocabulary)
        lexicon._counts, lexicon._holders, lexicon.live = (
            array(NUMBERS, self._counts),
            self._holders,
            self.live,
        )
        return lexicon

    def compact(self) -> None:
        """Store the words and lists in their smallest form, after most documents were added.

        No other thread may read the lexicon meanwhile.
        """
        self.vocabulary.compact()
        self._holders.compact()

    def number_words(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of folded words; unknown words are added."""
        numbers = self.vocabulary.number_words(words)
        self._counts.extend([0] * (len(self.vocabulary.words) - len(self._counts)))
        return numbers

    def add_document(self, document: int, words: Collection[int]) -> None:
        """Add `document`, a number higher than all before. `words`: the numbers of the document's words, each once."""
        counts = self._counts
        for word in words:
            counts[word] += 1
        self._holders.add(words, document)
        self._holder_sets.clear()
        self.live += 1

    def remove_document(self, words: Iterable[int]) -> None:
        """Stop counting a document. `words`: the numbers of its words, each once."""
        for word in words:
            self._counts[word] -= 1
        self.live -= 1

    def rarity(self, word: int | None) -> float:
        """Return log(1 + documents / (1 + documents that hold `word`)), the weight of `word` in these documents."""
        count = self._counts[word] if word is not None and word < len(self._counts) else 0
        return math.log(1 + self.live / (1 + count))

    def word_weight(self, word: str, general: int = 0) -> float:
        """Return the weight of a folded word of a question: a mean of its rarity here and its weight in any text.

        `general`: the number of documents that the weight in any text counts as, beside the `live` documents. In few
        documents hardly a word is seen twice, so a common word looks as rare as any other. Without `WordMeanings` the
        weight is the rarity alone.
        """
        here = self.rarity(self.vocabulary.number_of(word))
        anywhere = self.likeness.general_weight(word) if general else None
        if anywhere is None:
            return here
        rarest = math.log(1 + self.live)  # of a word that no document holds
        return (self.live * here + general * anywhere * rarest) / (self.live + general)

    def spelled_as(self, word: str) -> str:
        """Return the spelling under which the folded `word` is searched.

        That is `word` itself if a document holds it, else the first of its synonyms in the operator's list that a
        document holds.
        """
        if self._is_held(self.vocabulary.number_of(word)):
            return word
        return next(
            (
                self.vocabulary.words[each]
                for each in self.likeness.find_synonyms(word)
                if self._is_held(each)
            ),
            word,
        )

    def reword_text(self, text: str) -> str:
        """Return `text` with each word that no document holds replaced by a synonym that a document holds, if any."""
        return replace_words(text, self.spelled_as) if self.likeness.has_synonyms else text

    def _is_held(self, word: int | None) -> bool:
        return word is not None and word < len(self._counts) and self._counts[word] > 0

    def find_surest(self, words: Mapping[int, float], among: Iterable[int]) -> dict[int, float]:
        """Return the documents of `among` that hold a word of `words`, with the confidence of the surest such word.

        `words`: word number -> confidence, the surest first. `among`: living documents.
        """
        remaining, sure_by_document = set(among), dict[int, float]()
        sets = self._holder_sets
        for word, sure in words.items():
            holders = sets.get(word)
            holding = self._find_holding(word, remaining) if holders is None else holders & remaining
            if holding:
                sure_by_document.update(dict.fromkeys(holding, sure))
                remaining -= holding
                if not remaining:
                    break
        return sure_by_document

    def _find_holding(self, word: int, among: set[int]) -> Set[int]:
        """Return the documents of `among` that hold a word; keep the set of those that hold it, if they are few."""
        if word >= len(self._counts) or not self._counts[word]:
            return frozenset()
        holders = self._holders.get(word)
        if len(holders) > _SET_MAX:
            last = len(holders) - 1  # a later snapshot may append to the list meanwhile
            return {each for each in among if holders[bisect_left(holders, each, 0, last)] == each}
        if len(self._holder_sets) >= _SETS_KEPT:
            self._holder_sets.clear()
        found = self._holder_sets[word] = frozenset(holders)
        return found & among
