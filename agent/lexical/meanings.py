"""How near the meanings of words are, by their vectors. Imported only where there is an embedder: numpy."""

from collections.abc import Sequence

import numpy as np

from agent.ports.embed import WordVectors

NEAREST = 50
"""Words that are near a word at most; one that means nothing is near thousands."""


class Words:
    """The vectors of the words that a vocabulary has (implements `agent.lexical.alike.WordMeanings`).

    known: these words, by number.
    """

    def __init__(self, vectors: WordVectors, known: Sequence[str]) -> None:
        self._vectors = vectors
        self._known = vectors.held(known)

    def telling(self, word: str) -> float:
        """Return how much a word tells in any text, 0..1."""
        return self._vectors.telling(word)

    def near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return the numbers of the NEAREST known words whose cosine with `word` is at least `least`, with it."""
        cosines = self._known.cosines(self._vectors.words([word])[0])
        at = np.flatnonzero(cosines >= least)
        if len(at) > NEAREST:
            at = at[np.argpartition(-cosines[at], NEAREST)[:NEAREST]]
        return list(zip(at.tolist(), cosines[at].tolist(), strict=True))
