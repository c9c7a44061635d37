"""The embedder without a model, which other tests rely on."""

import numpy as np
import pytest
import trio
from trio.testing import MockClock

from agent.errors import EmbeddingFailed
from agent.testing.vectors import WordsEmbedder


async def test_shared_words_bring_texts_near() -> None:
    """The more of them the nearer; none, and they have nothing to do with each other."""
    one, same, half, other = await WordsEmbedder(1024).embed(
        ["monthly price", "Price MONTHLY", "price list", "opening hours"]
    )
    assert one @ same == pytest.approx(1.0)
    assert one @ half == pytest.approx(0.5, abs=0.1)
    assert one @ other == pytest.approx(0.0, abs=0.1)


async def test_it_can_be_slow_and_broken_and_tells_what_it_was_asked(autojump_clock: MockClock) -> None:
    """Each from the next call on."""
    made = WordsEmbedder(delay=2.0)
    await made.embed(["a", "b"])
    made.fails = EmbeddingFailed("busy", "later")
    with pytest.raises(EmbeddingFailed):
        await made.embed(["c"])
    made.fails = None
    assert np.any(await made.embed(["d"]))
    assert made.asked == ["a", "b", "c", "d"]
    assert trio.current_time() == pytest.approx(6.0)
