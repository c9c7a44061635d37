"""Vectors from an OpenAI-compatible server: what is asked, what is believed, and what nobody gets to see."""

import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import numpy as np
import pytest
import trio
from trio.testing import MockClock

from agent.embedding.rows import EMBED_TEXT_MAX
from agent.embedding.served import SERVED_ANSWER_MAX, SERVED_BATCH, SERVED_TIMEOUT, ServedEmbedder
from agent.errors import EmbeddingFailed
from tests.logs import capture_log

URL = "https://user:SECRET1@vectors.test/v1"
KEY = "sk-SECRET2"


def row(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def answer(texts: Sequence[str], **more: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": at, "embedding": row(text)} for at, text in enumerate(texts)]
    return {"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 3}} | more


class Server:
    """Answers as `reply` says, and keeps what was asked."""

    def __init__(self, reply: Callable[[list[str]], httpx.Response] | None = None) -> None:
        self.requests: list[tuple[httpx.Request, dict[str, Any]]] = []
        self._reply = reply or (lambda texts: httpx.Response(200, json=answer(texts)))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.requests.append((request, body))
        made = self._reply(body["input"])
        # As from the network: a body that is still to be read.
        return httpx.Response(made.status_code, headers=made.headers, stream=httpx.ByteStream(made.content))


def embedder(server: Server, url: str = URL) -> ServedEmbedder:
    return ServedEmbedder(url, "some model", KEY, lambda: httpx.MockTransport(server))


async def failure(reply: Callable[[list[str]], httpx.Response]) -> EmbeddingFailed:
    with pytest.raises(EmbeddingFailed) as failed:
        await embedder(Server(reply)).embed(["a text SECRET3"])
    assert "SECRET" not in f"{failed.value!r} {failed.value}"
    assert "vectors.test" not in str(failed.value)
    return failed.value


async def test_one_request_says_model_and_texts() -> None:
    """OpenAI's call, with the key as a bearer token, and rows in the order of the texts, 1 long."""
    server = Server(lambda texts: httpx.Response(200, json=answer(texts, data=answer(texts)["data"][::-1])))
    vectors = await embedder(server, "http://vectors.test/v1/").embed(["four", "x"])
    ((request, body),) = server.requests
    assert str(request.url) == "http://vectors.test/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert body == {"model": "some model", "input": ["four", "x"], "encoding_format": "float"}
    assert np.allclose(vectors, np.array([[4, 1, 0], [1, 1, 0]]) / np.sqrt([[17], [2]]))
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("url", ["http://h.test/v1", "http://h.test/v1/", "http://h.test/v1/embeddings"])
async def test_the_address_may_be_the_base_or_the_whole(url: str) -> None:
    """Both are what servers' manuals show; it is the same server and the same name."""
    server = Server()
    made = embedder(server, url)
    await made.embed(["x"])
    assert server.requests[0][0].url.path == "/v1/embeddings"
    assert made.name == embedder(server, "http://h.test/v1").name


async def test_texts_are_asked_in_batches_without_blank_ones() -> None:
    """No request holds more than a batch; a blank text is not sent, and its row is all zeros."""
    server = Server()
    texts = [str(number) * (number % 7) for number in range(2 * SERVED_BATCH + 20)]
    vectors = await embedder(server).embed(texts)
    asked = [body["input"] for _, body in server.requests]
    assert [text for batch in asked for text in batch] == [text for text in texts if text]
    assert max(map(len, asked)) == SERVED_BATCH
    assert len(asked) == 3
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(vector * np.hypot(len(text), 1), row(text) if text else 0)


async def test_nothing_is_asked_where_there_is_no_text() -> None:
    """Then the dimension is not known either."""
    server = Server()
    made = embedder(server)
    assert (await made.embed([])).shape == (0, 0)
    assert (await made.embed(["", " \n"])).shape == (2, 0)
    assert server.requests == []
    await made.embed(["x"])
    assert (await made.embed([" "])).shape == (1, 3)
    assert made.dimension == 3


async def test_a_text_is_sent_up_to_its_bound() -> None:
    """And as UTF-8, whatever it holds."""
    server = Server()
    await embedder(server).embed(["x" * (EMBED_TEXT_MAX + 1), "half \ud800 smörgås"])
    sent = server.requests[0][1]["input"]
    assert len(sent[0]) == EMBED_TEXT_MAX
    assert sent[1] == "half ? smörgås"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "busy"),
        (500, "busy"),
        (503, "busy"),
        (400, "refused"),
        (401, "refused"),
        (404, "refused"),
        (302, "refused"),
    ],
)
async def test_another_status_is_told_by_its_kind(status: int, kind: str) -> None:
    """Busy may be tried again, refused not; a redirect is not followed, and the body is not repeated."""
    headers = {"location": "http://elsewhere.test/"} if status == 302 else {}
    failed = await failure(lambda texts: httpx.Response(status, headers=headers, text=f"SECRET {texts}"))
    assert failed.kind == kind
    assert str(status) in str(failed)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        "<html>SECRET</html>",
        b"\xff",
        "[" * 100_000,
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [1.0, None]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
    ],
)
async def test_an_answer_that_is_not_one_vector_a_text_is_refused(body: Any) -> None:
    """Whatever its form: nothing of it is used."""
    content = json.dumps(body) if isinstance(body, dict) else body
    assert (await failure(lambda texts: httpx.Response(200, content=content))).kind == "bad_answer"


@pytest.mark.filterwarnings("error")
async def test_an_answer_without_end_is_cut_off() -> None:
    """It is read up to the bound, then closed."""
    read = 0

    class Endless(httpx.AsyncByteStream):
        closed = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal read
            while not self.closed:
                read += 1 << 20
                yield bytes(1 << 20)
            raise httpx.ReadError("closed")

        async def aclose(self) -> None:
            self.closed = True

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    made = ServedEmbedder(URL, "m", KEY, lambda: transport)
    with pytest.raises(EmbeddingFailed) as failed:
        await made.embed(["x"])
    assert failed.value.kind == "bad_answer"
    assert SERVED_ANSWER_MAX < read <= SERVED_ANSWER_MAX + (1 << 20)


@pytest.mark.parametrize("numbers", [[1e300, -1e300], [3e38, -3e38], [1e-300, -1e-300], [5, -5]])
async def test_numbers_of_any_size_are_a_direction(numbers: list[float]) -> None:
    """However long a server's vectors are, the row is 1 long."""
    reply = {"data": [{"index": 0, "embedding": numbers}]}
    rows = await embedder(Server(lambda texts: httpx.Response(200, json=reply))).embed(["x"])
    assert np.allclose(rows, np.array([[1, -1]]) / np.sqrt(2))


async def test_a_model_that_changes_its_dimension_is_refused() -> None:
    """Rows that were kept would not fit the new ones."""
    sizes = iter((3, 3, 4))

    def reply(texts: list[str]) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0] * next(sizes)}]})

    made = embedder(Server(reply))
    await made.embed(["x"])
    await made.embed(["x"])
    with pytest.raises(EmbeddingFailed, match="3 numbers a text and now 4") as failed:
        await made.embed(["x"])
    assert failed.value.kind == "bad_answer"
    assert made.dimension == 3


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError])
async def test_a_server_that_is_not_reached_is_told_without_its_address(error: type[httpx.HTTPError]) -> None:
    """The library's error, whose text may hold anything, is named by its type alone."""

    def reply(texts: list[str]) -> httpx.Response:
        raise error("SECRET vectors.test")

    failed = await failure(reply)
    assert failed.kind == "unreachable"
    assert error.__name__ in str(failed)


class Waiting(httpx.AsyncBaseTransport):
    """Answers after a time, and tells how many requests are open."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.open = seconds, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.open += 1
        try:
            await trio.sleep(self.seconds)
        finally:
            self.open -= 1
        return httpx.Response(200, json=answer(["x"]))


async def test_a_silent_server_is_given_a_time(autojump_clock: MockClock) -> None:
    """Then the request is closed and the text has no vector."""
    transport = Waiting(SERVED_TIMEOUT + 1)
    with pytest.raises(EmbeddingFailed) as failed:
        await ServedEmbedder(URL, "m", KEY, lambda: transport).embed(["x"])
    assert failed.value.kind == "timeout"
    assert trio.current_time() == pytest.approx(SERVED_TIMEOUT)
    assert transport.open == 0


async def test_a_cancel_ends_the_request_at_once(autojump_clock: MockClock) -> None:
    """Nothing waits for the server any more."""
    transport = Waiting(5.0)
    with trio.move_on_after(1.0) as scope:
        await ServedEmbedder(URL, "m", KEY, lambda: transport).embed(["x"])
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(1.0)
    assert transport.open == 0


async def test_nothing_secret_is_logged_or_shown() -> None:
    """Neither the key, nor the address' password, nor a text, at any level of any logger."""
    with capture_log(logging.DEBUG) as captured:
        made = embedder(Server())
        await made.embed(["a text SECRET3"])
    assert "SECRET" not in captured.text
    assert "SECRET" not in f"{made!r} {made.name}"
    assert " " not in made.name


@pytest.mark.proof
async def test_over_a_socket_a_cancel_closes_the_connection(nursery: trio.Nursery) -> None:
    """A real server sees the end of the connection within a second of the cancel, and then serves the next one."""
    ended = trio.Event()
    bodies: list[bytes] = []

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received or not received.endswith(b"}"):
                received += await stream.receive_some()
            bodies.append(received)
            if len(bodies) == 1:
                assert await stream.receive_some() == b""
                ended.set()
                return
            body = json.dumps(answer(["x"])).encode()
            await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    nursery.start_soon(trio.serve_listeners, serve, listeners)
    made = ServedEmbedder(f"http://127.0.0.1:{port}/v1", "m", KEY)
    with trio.move_on_after(0.3) as scope:
        await made.embed(["x"])
    assert scope.cancelled_caught
    with trio.fail_after(30):
        await ended.wait()
    assert np.allclose(await made.embed(["x"]), np.array([[1, 1, 0]]) / np.sqrt(2))
    nursery.cancel_scope.cancel()


@pytest.mark.proof
async def test_over_a_socket_nobody_listens_on_it_is_unreachable() -> None:
    """A refused connection is told as such."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EmbeddingFailed) as failed:
            await ServedEmbedder(url, "m", KEY).embed(["x"])
    assert failed.value.kind == "unreachable"
