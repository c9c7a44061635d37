"""Compares the meanings of words by their vectors. Imported only where there is an embedder, since it needs numpy."""

from collections.abc import Sequence

import numpy as np

from agent.ports.embed import WordVectors

NEAREST = 50
"""Most words that count as near a word; a word without meaning is near thousands."""


class VocabularyMeanings:
    """The vectors of the words of a vocabulary (implements `agent.lexical.alike.WordMeanings`).

    `known`: the words of the vocabulary, by number.
    """

    def __init__(self, vectors: WordVectors, known: Sequence[str]) -> None:
        self._vectors = vectors
        self._known = vectors.hold_words(known)

    def weight_of(self, word: str) -> float:
        """Return how much `word` tells in any text, 0..1."""
        return self._vectors.weigh_word(word)

    def find_near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return (number, cosine) of the at most `NEAREST` known words whose cosine with `word` is at least `least`."""
        cosines = self._known.cosines(self._vectors.embed_words([word])[0])
        at = np.flatnonzero(cosines >= least)
        if len(at) > NEAREST:
            at = at[np.argpartition(-cosines[at], NEAREST)[:NEAREST]]
        return list(zip(at.tolist(), cosines[at].tolist(), strict=True))
