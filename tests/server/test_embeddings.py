"""Vectors of texts over HTTP, in memory: `POST /v1/embeddings`."""

import base64
import json
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import MAX_TEXT
from agent.errors import EmbeddingFailed
from agent.protocol.embeddings import EMBEDDED_AT_ONCE
from agent.testing.network import Network, network
from agent.testing.vectors import WordsEmbedder
from tests.examples import sample

from .test_api import ADAPTERS, QUIET, SENTINEL, TOKEN, exchange, nothing_is_left, quiet, request, told


def embed(*texts: Any, **fields: Any) -> bytes:
    """Return a request for the vectors of some texts."""
    return request("/v1/embeddings", json.dumps({"input": texts, "model": "x"} | fields).encode())


def give(net: Network, embedder: WordsEmbedder) -> WordsEmbedder:
    """Let a server make vectors with `embedder`."""
    assert net.app.readiness.knowledge is not None
    net.app.readiness.knowledge._meaning = Meaning(embedder)  # type: ignore[assignment]
    return embedder


class Meaning:
    """Has an embedder, as the vectors of a knowledge base do."""

    def __init__(self, embedder: WordsEmbedder) -> None:
        self.embedder = embedder


def floats(text: str) -> Sequence[float]:
    """Return the numbers of a vector in base64."""
    return array("f", base64.b64decode(text))


async def test_each_text_gets_a_vector(autojump_clock: trio.testing.MockClock) -> None:
    """In the order of the texts, as numbers or in base64; a text may stand alone."""
    async with network(QUIET, ADAPTERS) as net:
        embedder = give(net, WordsEmbedder(8))
        rows = (await embedder.embed(["a card", "a loan"])).tolist()
        whole = await told(net, embed("a card", "a loan"))
        assert (whole["object"], whole["model"], "usage" in whole) == ("list", embedder.name, False)
        assert [each["embedding"] for each in whole["data"]] == rows
        assert [each["index"] for each in whole["data"]] == [0, 1]
        (alone,) = (await told(net, embed(input="a card", dimensions=8)))["data"]
        assert alone["embedding"] == rows[0]
        (coded,) = (await told(net, embed("a card", encoding_format="base64")))["data"]
        assert floats(coded["embedding"]) == pytest.approx(rows[0])
        assert b"agent_messages_total 0.0" in net.app.metrics.text()
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


async def test_without_vectors_the_error_says_so(autojump_clock: trio.testing.MockClock) -> None:
    """In the form of OpenAI's errors, with the setting to change; so does a model that fails."""
    async with network(QUIET, ADAPTERS) as net:
        status, _, body = await exchange(net, embed("a card"))
        error = json.loads(body)["error"]
        assert (status, error["code"]) == (404, "vectors_off")
        assert "--vectors static" in error["message"]
        give(net, WordsEmbedder()).fails = EmbeddingFailed("unreachable", SENTINEL)
        status, _, body = await exchange(net, embed("a card"))
        assert (status, json.loads(body)["error"]["code"], SENTINEL.encode() in body) == (
            502,
            "vectors_failed",
            False,
        )


@pytest.mark.parametrize(
    ("fields", "code"),
    sample(
        [
            ({"input": []}, "bad_input"),
            ({"input": ""}, "bad_input"),
            ({"input": ["a", ""]}, "bad_input"),
            ({"input": ["a"] * (EMBEDDED_AT_ONCE + 1)}, "bad_input"),
            ({"input": ["a", "x" * (MAX_TEXT + 1)]}, "too_long"),
            ({"input": [[1, 2]]}, "bad_request"),
            ({"input": [1, 2]}, "bad_request"),
            ({"input": None}, "bad_request"),
            ({"encoding_format": SENTINEL}, "bad_request"),
            ({"dimensions": 3}, "bad_dimensions"),
            ({"dimensions": "3"}, "bad_request"),
        ],
        3,
    ),
)
async def test_input_that_cannot_be_embedded_is_refused(
    fields: Any, code: str, autojump_clock: trio.testing.MockClock
) -> None:
    """With a sentence that never repeats a value."""
    async with network(QUIET, ADAPTERS) as net:
        give(net, WordsEmbedder(8))
        status, _, body = await exchange(net, embed("a", **fields))
        error = json.loads(body)["error"]
        assert (status, error["code"], SENTINEL in error["message"]) == (400, code, False)
        assert error["message"].endswith(".")


async def test_the_texts_of_one_request_are_embedded_at_a_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The next request waits, and a client that leaves makes way; one that takes too long is told so."""
    async with network(quiet(turn_timeout=10), ADAPTERS) as net:
        embedder = give(net, WordsEmbedder(8, delay=3.0))
        first, left = net.open(), net.open()
        for end in (first, left):
            end.feed(embed("a card"))
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1.0)
        first.close()
        await trio.sleep(1.0)
        left.close()
        await told(net, embed("a loan"))
        assert trio.current_time() == pytest.approx(5.0)
        assert embedder.asked == ["a loan"]
        embedder.delay = 1e6
        status, _, body = await exchange(net, embed("a card"))
        assert (status, json.loads(body)["error"]["code"]) == (504, "timeout")
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


async def test_vectors_need_the_token_and_count_as_messages(autojump_clock: trio.testing.MockClock) -> None:
    """As every other request under `/v1` does."""
    async with network(quiet(token=TOKEN, address_rate=1.0), ADAPTERS) as net:
        embedder = give(net, WordsEmbedder())
        assert (await exchange(net, embed("a card")))[0] == 401
        assert embedder.asked == []
        shown = embed("a card").replace(b"\r\n", f"\r\nAuthorization: Bearer {TOKEN}\r\n".encode(), 1)
        statuses = [(await exchange(net, shown))[0] for _ in range(20)]
        assert (statuses[0], statuses[-1]) == (200, 429)
