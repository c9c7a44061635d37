"""Vectors of words: which are near, and how much each tells."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from agent.embedding.rows import WordRows
from agent.lexical.meanings import VocabularyMeanings
from agent.ports.embed import HeldWords, Vectors

EAST, NORTH, WEST, NOWHERE = (np.array(each, np.float32) for each in ((1, 0), (0, 1), (-1, 0), (0, 0)))
NORTH_EAST = (EAST + NORTH) / np.float32(2**0.5)


class Compass:
    """Vectors of a few words (implements `agent.ports.embed.WordVectors`)."""

    name, dimension, langs = "compass", 2, None

    def embed_words(self, words: Sequence[str], given_up: Callable[[], bool] = lambda: False) -> Vectors:
        """Return one row a word."""
        known = {"east": EAST, "right": NORTH_EAST, "north": NORTH, "west": WEST}
        return np.stack([known.get(word, NOWHERE) for word in words])

    def weigh_word(self, word: str) -> float:
        """Return that it tells the more the longer it is."""
        return len(word) / 10

    def pack_words(self, words: Sequence[str]) -> bytes:
        """Keep nothing."""
        return b""

    def adopt_words(self, words: Sequence[str], content: bytes) -> None:
        """Take nothing over."""

    def hold_words(self, words: Sequence[str]) -> HeldWords:
        """Return them as they are."""
        return WordRows(self.embed_words(words))


def test_words_are_near_from_a_cosine_on() -> None:
    """By their numbers; an unknown word is near none."""
    words = VocabularyMeanings(Compass(), ["west", "east", "north", "right", "unheard"])
    assert dict(words.find_near("east", 0.5)) == pytest.approx({1: 1.0, 3: 0.5**0.5})
    assert dict(words.find_near("east", 0.8)) == pytest.approx({1: 1.0})
    assert list(words.find_near("qwerty", 0.1)) == []
    assert list(VocabularyMeanings(Compass(), ["east"]).find_near("west", -1)) == [(0, -1.0)]


def test_a_word_tells_what_its_vector_says() -> None:
    """Whether it is known or not."""
    words = VocabularyMeanings(Compass(), ["east"])
    assert [words.weight_of(word) for word in ("east", "by")] == [0.4, 0.2]
