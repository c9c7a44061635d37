"""What every embedder must do, whatever it is made of. A new one joins by a line in EMBEDDERS."""

import json
from importlib.util import find_spec
from pathlib import Path

import httpx
import numpy as np
import pytest
import trio
from trio.testing import MockClock

from agent.embedding.bert import Bert
from agent.embedding.rows import EMBED_TEXT_MAX
from agent.embedding.served import ServedEmbedder
from agent.embedding.static import Static
from agent.embedding.threaded import Threaded
from agent.embedding.weights import Folder
from agent.ports.embed import Embedder
from agent.testing.network import inline
from agent.testing.vectors import WordsEmbedder
from tests.embedding.small import Small

TEXTS = ["a price is one of the two months", "", "we pay it", "refund for the months", " \n", "x " * 400]


def _static(folder: Path) -> Embedder:
    spec = find_spec("agent_wordllama")
    assert spec is not None
    return Threaded(Static(Folder(Path(next(iter(spec.submodule_search_locations or ()))))), inline)


def _bert(folder: Path) -> Embedder:
    return Threaded(Bert(Folder(Small().save(folder)), "bert"), inline)


def _served(folder: Path) -> Embedder:
    words = WordsEmbedder(16)

    async def answer(request: httpx.Request) -> httpx.Response:
        rows = await words.embed(json.loads(request.content)["input"])
        data = [{"index": at, "embedding": (3 * row).tolist()} for at, row in enumerate(rows)]
        return httpx.Response(200, stream=httpx.ByteStream(json.dumps({"data": data}).encode()))

    return ServedEmbedder("http://vectors.test/v1", "m", transport=lambda: httpx.MockTransport(answer))


def _fake(folder: Path) -> Embedder:
    return WordsEmbedder()


EMBEDDERS = {"static": _static, "bert": _bert, "served": _served, "fake": _fake}


@pytest.fixture(params=sorted(EMBEDDERS), scope="module")
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return EMBEDDERS[request.param](tmp_path_factory.mktemp("model"))


async def test_there_is_one_row_a_text(embedder: Embedder) -> None:
    """Of float32 and as wide as it says; 1 long, or all zeros for a text in which there is nothing."""
    rows = await embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.dimension)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1, 0, 1], atol=1e-5)
    assert (await embedder.embed([])).shape == (0, embedder.dimension)


async def test_a_row_depends_on_its_text_alone(embedder: Embedder) -> None:
    """Alone, beside others, in another order or asked again: the same but for rounding."""
    together = await embedder.embed(TEXTS)
    alone = [(await embedder.embed([text]))[0] for text in TEXTS]
    backwards = await embedder.embed(TEXTS[::-1])
    assert np.abs(together - np.array(alone)).max() < 1e-5
    assert np.abs(together - backwards[::-1]).max() < 1e-5


async def test_any_text_has_a_row(embedder: Embedder) -> None:
    """Endless ones, halves of characters, nulls, and what looks like a command."""
    texts = [
        "price " * EMBED_TEXT_MAX,
        "p" * 3 * EMBED_TEXT_MAX,
        "a\ud800b",
        "\0",
        "[SEP] <s> </s>",
        "😀",
        "\u200b",
    ]
    rows = await embedder.embed(texts)
    assert np.isfinite(rows).all()
    assert rows.shape == (len(texts), embedder.dimension)


async def test_texts_of_the_same_words_are_near(embedder: Embedder) -> None:
    """A text is nearest to itself, and every role is one that can be asked for."""
    rows = await embedder.embed(["a price", "we pay it for two months", "refund"], "passage")
    asked = await embedder.embed(["we pay it for two months"], "question")
    assert int(np.argmax(rows @ asked[0])) == 1


async def test_it_says_what_it_is(embedder: Embedder) -> None:
    """A name without white space, a dimension once it was asked, and languages or none."""
    await embedder.embed(["x"])
    assert embedder.name
    assert not any(letter.isspace() for letter in embedder.name)
    assert embedder.dimension > 0
    assert embedder.langs is None or embedder.langs <= {"en", "sv"}


async def test_cancelled_it_does_nothing(embedder: Embedder, autojump_clock: MockClock) -> None:
    """A cancel that came before wins, and the next call is as good as ever."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await embedder.embed(TEXTS)
    assert scope.cancelled_caught
    assert (await embedder.embed(["x"])).shape == (1, embedder.dimension)
