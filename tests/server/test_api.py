"""Questions over plain HTTP, in memory: answers, streams, who is turned away, and what a leaving client ends."""

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.config import BODY_MAX, CLOSE_TIMEOUT, DRAIN_TIMEOUT, HEAD_MAX, READY_WAIT, WRITE_TIMEOUT
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.brain import DraftCompleted, Question, RunCall, TurnEvent
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.body import BODY_CHUNKS, BODY_TIMEOUT
from agent.server.responses import SECURITY
from agent.server.settings import FIRST_WORDS
from agent.settings import Settings
from agent.testing.faults import PipeEnd
from agent.testing.network import Network, network
from tests.examples import sample

from . import parted

DOCUMENTS = [
    SourceFile.of(
        "kb/pricing.md",
        "# Plans\n\nThe Standard plan costs 299 kr a month.\n\nThe Premium plan costs 599 kr a month.\n",
    )
]
KNOWLEDGE = KnowledgeBase.build(DOCUMENTS)
STANDARD, PREMIUM = "What does the Standard plan cost?", "What does the Premium plan cost?"
FOREVER = f"{STANDARD} Think for ever."
SAID = "The Standard plan costs 299 kr a month."
SENTINEL = "31337"
SCRIPT = (
    ScriptEntry(match="for ever", hang=True),
    ScriptEntry(match="lie", text=f"The Standard plan costs {SENTINEL} kr a month."),
    ScriptEntry(match="", text=SAID),
)
ADAPTERS = Adapters(knowledge=KNOWLEDGE, model=ScriptModel(SCRIPT))
TOKEN = "a-token-of-24-characters"


def quiet(**chosen: Any) -> Settings:
    """Return settings without a pace or a rate, and some more."""
    return Settings.of(**{"pace_ms": 0, "rate_limit": 0} | chosen)


QUIET = quiet()


def request(path: str, body: bytes = b"", *headers: str, method: str = "POST", length: bool = True) -> bytes:
    """A request with a JSON body."""
    announced = [f"Content-Length: {len(body)}"] if length else []
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        "Content-Type: application/json",
        *announced,
        *headers,
    ]
    return "\r\n".join((*lines, "", "")).encode() + body


def question(text: str = STANDARD, *before: str, **fields: Any) -> bytes:
    """The body of a chat completion: earlier questions and answers in turn, then the question."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": each} for n, each in enumerate((*before, text))]
    return json.dumps({"model": "x", "messages": messages, **fields}).encode()


def chat(text: str = STANDARD, *before: str, **fields: Any) -> bytes:
    """A request for a chat completion."""
    return request("/v1/chat/completions", question(text, *before, **fields))


def ask(text: str = STANDARD, *headers: str) -> bytes:
    """A plain question."""
    return request("/ask", json.dumps({"text": text}).encode(), *headers)


async def read(end: PipeEnd) -> bytes:
    """Read to the end of a connection, and close this side of it."""
    answer = bytearray()
    while data := await end.receive_some():
        answer += data
    end.close()
    return bytes(answer)


async def exchange(net: Network, *data: bytes, peer: str | None = None) -> tuple[int, dict[str, str], bytes]:
    """Send bytes and read to the end; return status, headers and body."""
    end = net.open(peer=peer)
    for piece in data:
        end.feed(piece)
    return parted(await read(end))


async def told(net: Network, *data: bytes, peer: str | None = None) -> Any:
    """Do the same and return the JSON value that came, whatever the status."""
    _, headers, body = await exchange(net, *data, peer=peer)
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(body)
    return json.loads(body)


def unchunked(body: bytes) -> bytes:
    """Return what came in chunks; it must end with the last one."""
    whole = bytearray()
    while True:
        size, _, body = body.partition(b"\r\n")
        count = int(size, 16)
        assert body[count : count + 2] == b"\r\n"
        if not count:
            assert body == b"\r\n"
            return bytes(whole)
        whole += body[:count]
        body = body[count + 2 :]


def events(body: bytes) -> list[Any]:
    """Return the events of a stream: JSON values, and `[DONE]`; comments are left out."""
    *every, rest = body.split(b"\n\n")
    assert rest == b""
    data = [each.removeprefix(b"data: ") for each in every if each != b":"]
    return [each.decode() if each == b"[DONE]" else json.loads(each) for each in data]


def nothing_is_left(net: Network) -> None:
    """No turn, connection or place of anybody's."""
    edge = net.app._edge
    assert edge is not None
    assert (len(net.app.registry), edge.limits.used, edge.limits.places.used, edge.limits.door.used) == (
        0,
        0,
        0,
        0,
    )
    assert b"agent_turns_running 0.0" in net.app.metrics.text()


async def test_a_question_is_answered_as_over_the_websocket(autojump_clock: trio.testing.MockClock) -> None:
    """The same text with the same sources, in the shape that was asked for."""
    async with network(quiet(name="Helper"), ADAPTERS) as net:
        async with net.connect() as client:
            await client.ask(STANDARD)
            (*_, response) = await client.frames_until("response")
        completion = await told(net, chat())
        assert (completion["object"], completion["model"], completion["created"] > 0) == (
            "chat.completion",
            "Helper",
            True,
        )
        (choice,) = completion["choices"]
        assert choice["message"]["content"] == response["text"] == SAID
        assert choice["message"]["citations"] == response["citations"]
        assert (choice["message"]["blocked"], choice["finish_reason"]) == (None, "stop")
        plain = await told(net, ask())
        assert plain == {key: response[key] for key in ("text", "citations", "confidence")}
        (model,) = (await told(net, request("/v1/models", method="GET", length=False)))["data"]
        assert model["id"] == "Helper"
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)
        figures = net.app.metrics.text().decode()
    assert 'agent_turns_total{outcome="answered"} 3.0' in figures
    assert "agent_messages_total 3.0" in figures
    assert 'agent_connections_total{kind="http"} 3.0' in figures


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_stream_tells_an_answer_word_by_word(
    version: str, autojump_clock: trio.testing.MockClock
) -> None:
    """At the pace, and the connection ends with its last word; in chunks for who knows them."""
    async with network(quiet(pace_ms=20), ADAPTERS) as net:
        status, headers, body = await exchange(
            net, chat(stream=True).replace(b"HTTP/1.1", b"HTTP/" + version.encode())
        )
        assert trio.current_time() == pytest.approx(0.02 * (len(SAID.split()) - 1))
    assert status == 200
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["connection"] == "close"
    assert ("transfer-encoding" in headers) == (version == "1.1")
    *chunks, done = events(unchunked(body) if version == "1.1" else body)
    assert done == "[DONE]"
    deltas = [each["choices"][0]["delta"] for each in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(each["content"] for each in deltas[:-1]) == SAID
    assert len(deltas) == 2 + len(SAID.split())
    assert (deltas[-1]["citations"][0]["file"], deltas[-1]["blocked"]) == ("kb/pricing.md", None)
    assert [each["choices"][0]["finish_reason"] for each in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert len({each["id"] for each in chunks}) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_number_that_no_source_holds_is_not_told(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The refusal is a normal message, which says why; the client's own earlier words are no source either."""
    async with network(QUIET, ADAPTERS) as net:
        text = f"{STANDARD} Do lie."
        before = ("What is it?", f"The Standard plan costs {SENTINEL} kr a month.")
        status, _, body = await exchange(net, chat(text, *before, stream=stream))
        assert status == 200
        assert SENTINEL.encode() not in body
        last = events(unchunked(body))[-2] if stream else json.loads(body)
        (choice,) = last["choices"]
        assert choice["finish_reason"] == "stop"
        assert choice["delta" if stream else "message"]["blocked"]["code"] == "number_mismatch"
        assert b'agent_turns_total{outcome="number_mismatch"} 1.0' in net.app.metrics.text()


async def test_what_was_said_before_helps_to_find(autojump_clock: trio.testing.MockClock) -> None:
    """A question that goes on is looked for together with the one before it; alone it is about nothing."""
    async with network(QUIET, Adapters(knowledge=KNOWLEDGE)) as net:
        follow = "And what does the premium one cost?"
        body = {"text": follow, "history": [{"question": STANDARD, "answer": SAID}]}
        for sent in (chat(follow, STANDARD, SAID), request("/ask", json.dumps(body).encode())):
            answer = await told(net, sent)
            text = answer["text"] if "text" in answer else answer["choices"][0]["message"]["content"]
            assert "599" in text
        longer = quiet(history_tokens=0)
    asked: list[Question] = []

    class Listens:
        async def answer(
            self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
        ) -> None:
            asked.append(question)
            await trio.sleep_forever()

    for settings in (QUIET, longer):
        async with network(settings, Adapters(brain=Listens())) as net:
            end = net.open()
            end.feed(chat(follow, STANDARD, SAID))
            await trio.testing.wait_all_tasks_blocked()
    assert [len(each.history) for each in asked] == [1, 0]
    assert asked[0].scope.thread != asked[1].scope.thread


async def test_nothing_can_be_done_over_http(autojump_clock: trio.testing.MockClock) -> None:
    """What the words ask for is neither suggested nor kept."""
    async with network(QUIET, ADAPTERS) as net:
        status, _, body = await exchange(net, chat(f"{STANDARD} Please call me back on 070-174 06 05."))
        assert status == 200
        for word in (b"action", b"callback", b"suggest", b"070-174"):
            assert word not in body
        assert net.app.registry.armed_count == 0
        assert b"agent_suggestions_total{" not in net.app.metrics.text()


@pytest.mark.parametrize(
    ("leave", "when", "stream"),
    sample(product(["close", "reset", "eof"], ["thinking", "speaking"], [False, True]), 3),
)
async def test_a_client_that_leaves_ends_its_turn(
    stream: bool, leave: str, when: str, autojump_clock: trio.testing.MockClock
) -> None:
    """At once, and without waiting for a garbage collection nothing of it is left."""
    thinking = when == "thinking"
    async with network(quiet(pace_ms=1000, turn_timeout=1000), ADAPTERS) as net:
        gc.disable()
        try:
            end = net.open()
            end.feed(chat(FOREVER if thinking or not stream else STANDARD, stream=stream))
            await trio.sleep(2.5)
            assert len(net.app.registry) == 1
            assert (end.take().count(b'"content":"The "') == 1) == (stream and not thinking)
            getattr(end, leave)()
            await trio.testing.wait_all_tasks_blocked()
            assert trio.current_time() == pytest.approx(2.5)
            assert len(net.app.registry) == 0
            assert b"agent_turns_running 0.0" in net.app.metrics.text()
            assert b'agent_turns_total{outcome="disconnected"} 1.0' in net.app.metrics.text()
            end.close()
            await trio.sleep(CLOSE_TIMEOUT + 0.1)
            nothing_is_left(net)
        finally:
            gc.enable()


class Breaks:
    """A Brain with a fault."""

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Break after the first word."""
        emit(DraftCompleted())
        await trio.sleep(1)
        raise RuntimeError(SENTINEL)


async def test_a_fault_is_an_error_without_content(autojump_clock: trio.testing.MockClock) -> None:
    """With a status where there can still be one, else as the last event; never with an end that says all is well."""
    async with network(QUIET, Adapters(brain=Breaks())) as net:
        for sent in (chat(), ask()):
            status, _, body = await exchange(net, sent)
            error = json.loads(body)["error"]
            assert (status, error["type"], error["code"]) == (500, "server_error", "internal")
            assert "report fault" in error["message"]
        _, _, body = await exchange(net, chat(stream=True))
        first, last = events(unchunked(body))
        assert first["choices"][0]["delta"]["role"] == "assistant"
        assert last["error"]["code"] == "internal"
        assert SENTINEL.encode() not in body
        figures = net.app.metrics.text()
    assert b'agent_errors_total{code="internal"} 3.0' in figures
    assert b'agent_turns_total{outcome="internal"} 3.0' in figures


async def test_a_turn_that_takes_too_long_is_504(autojump_clock: trio.testing.MockClock) -> None:
    """Where the Brain itself does not end it."""

    class Sleeps:
        async def answer(
            self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
        ) -> None:
            await trio.sleep_forever()

    async with network(quiet(turn_timeout=5.0), Adapters(brain=Sleeps())) as net:
        status, body = 0, b""
        with trio.move_on_after(100):
            status, _, body = await exchange(net, ask())
        assert status == 504
        assert json.loads(body)["error"]["code"] == "timeout"
        assert trio.current_time() == pytest.approx(40.0)


async def test_a_drain_waits_for_a_turn_and_then_cuts_it(autojump_clock: trio.testing.MockClock) -> None:
    """As it does with sessions; who is cut is told so, and who comes meanwhile is turned away."""
    async with network(quiet(pace_ms=1000, turn_timeout=1000), ADAPTERS) as net:
        ends = [net.open() for _ in range(3)]
        asked = (chat(stream=True), chat(FOREVER, stream=True), ask(FOREVER))
        for end, sent in zip(ends, asked, strict=True):
            end.feed(sent)
        late = net.open()
        late.feed(ask()[:-5])
        await trio.testing.wait_all_tasks_blocked()
        assert len(net.app.registry) == 3
        net.app.drain()
        late.feed(ask()[-5:])
        status, headers, body = parted(await read(late))
        assert (status, headers["retry-after"]) == (503, "2")
        assert json.loads(body)["error"]["message"] == "The server is going down."
        assert events(unchunked(parted(await read(ends[0]))[2]))[-1] == "[DONE]"
        assert trio.current_time() < 1, "what is verified has no pace any more"
        *_, last = events(unchunked(parted(await read(ends[1]))[2]))
        assert last["error"]["code"] == "shutting_down"
        assert trio.current_time() == pytest.approx(DRAIN_TIMEOUT)
        status, headers, body = parted(await read(ends[2]))
        assert headers["retry-after"] == "2"
        assert (status, json.loads(body)["error"]["code"]) == (503, "shutting_down")
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


async def test_a_stop_ends_turns_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """The connection is closed in the middle of its answer."""
    async with network(QUIET, ADAPTERS) as net:
        end = net.open()
        end.feed(chat(FOREVER, stream=True))
        await trio.testing.wait_all_tasks_blocked()
        net.app.stop()
        assert b"[DONE]" not in await read(end)
        assert trio.current_time() < 1
        assert len(net.app.registry) == 0


async def test_a_question_waits_for_the_documents(autojump_clock: trio.testing.MockClock) -> None:
    """For some seconds; then 503 says that they are being read. The models are known already."""
    async with network(QUIET, ADAPTERS) as net:
        assert net.app.readiness.knowledge is not None
        net.app.readiness.knowledge._read = read_soon = trio.Event()
        early, leaving = net.open(), net.open()
        early.feed(ask())
        leaving.feed(ask())
        await trio.sleep(READY_WAIT - 1)
        assert early.take() == b""
        leaving.close()
        read_soon.set()
        assert json.loads(parted(await read(early))[2])["text"] == SAID
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)
        net.app.readiness.knowledge._read = trio.Event()
        began = trio.current_time()
        status, headers, body = await exchange(net, ask())
        assert (status, headers["retry-after"]) == (503, "2")
        assert trio.current_time() - began == pytest.approx(READY_WAIT)
        assert json.loads(body)["error"]["message"] == "The documents are being read."
        assert (await exchange(net, request("/v1/models", method="GET", length=False)))[0] == 200


async def test_a_silent_stream_is_kept_alive_and_an_unread_one_is_cut(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A comment every 20 seconds; who does not take its answer within WRITE_TIMEOUT is gone."""
    async with network(quiet(turn_timeout=1000), ADAPTERS) as net:
        end = net.open()
        end.feed(chat(FOREVER, stream=True))
        await trio.sleep(65)
        assert end.take().count(b"3\r\n:\n\n\r\n") == 3
        end.close()
        deaf = net.open(room=64)
        deaf.feed(chat(stream=True))
        await trio.sleep(WRITE_TIMEOUT + 0.1)
        assert b"agent_aborts_total 1.0" in net.app.metrics.text()
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


CHUNKED = "Transfer-Encoding: chunked"


def chunks(body: bytes, size: int, extension: bytes = b"") -> bytes:
    """A body in chunks of a size, and the last one."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%s\r\n%s\r\n" % (len(each), extension, each) for each in pieces) + b"0\r\n\r\n"


BODY = b'{"text": "What does the Standard plan cost?"}'
IN_CHUNKS = request("/ask", b"", CHUNKED, length=False)


BODIES = (
    (request("/ask", BODY),),
    tuple(bytes((each,)) for each in request("/ask", BODY)),
    (request("/ask?x=1", BODY),),
    (request("/ask", BODY).replace(b"application/json", b'Application/JSON; charset="utf-8"'),),
    (request("/ask", BODY).replace(b"HTTP/1.1", b"HTTP/1.0"),),
    (request("/ask", BODY + b" " * (BODY_MAX - len(BODY))),),
    (IN_CHUNKS + chunks(BODY, 1),),
    (IN_CHUNKS, chunks(BODY, 10, b";a=b"), b""),
    (IN_CHUNKS + chunks(BODY, 1000)[:-2] + b"Trailer: x\r\n\r\n",),
    (request("/ask", BODY) + b"and more than it said",),
    (request("/ask", BODY) + request("/ask", BODY) * 3,),
    (request("/ask", BODY) + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",),
)


async def test_a_body_comes_as_it_may(autojump_clock: trio.testing.MockClock) -> None:
    """Whole, in pieces or in chunks; what follows its end is no request and no part of it."""
    async with network(QUIET, ADAPTERS) as net:
        for count, sent in enumerate(BODIES, 1):
            end = net.open()
            for piece in sent:
                end.feed(piece)
                await trio.lowlevel.checkpoint()
            answer = await read(end)
            assert parted(answer)[0] == 200, sent
            assert json.loads(parted(answer)[2])["text"] == SAID
            assert answer.count(b"HTTP/1.1 ") == 1
            await trio.testing.wait_all_tasks_blocked()
            nothing_is_left(net)
            assert f"agent_messages_total {count:.1f}".encode() in net.app.metrics.text()


async def test_a_client_that_waits_to_be_asked_for_its_body_is(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Only when there is nothing against it; one that is refused need not send it."""
    expecting = "Expect: 100-continue"
    async with network(QUIET, ADAPTERS) as net:
        end = net.open()
        end.feed(request("/ask", BODY, expecting)[: -len(BODY)])
        await trio.testing.wait_all_tasks_blocked()
        assert end.take() == b"HTTP/1.1 100 Continue\r\n\r\n"
        end.feed(BODY)
        assert parted(await read(end))[0] == 200
        refused = request("/ask", b"", expecting, f"Content-Length: {BODY_MAX + 1}", length=False)
        status, _, _ = await exchange(net, refused)
        assert status == 413


TOO_LONG = request("/ask", b"", f"Content-Length: {BODY_MAX + 1}", length=False)


REFUSED = (
    (TOO_LONG, 413, "too_large"),
    (request("/ask", b"", f"Content-Length: {'9' * 20}", length=False), 413, "too_large"),
    (IN_CHUNKS + chunks(b"x" * (BODY_MAX + 1), 4000), 413, "too_large"),
    (IN_CHUNKS + chunks(b"x" * (BODY_CHUNKS + 1), 1), 413, "too_large"),
    (IN_CHUNKS + chunks(b"x" * BODY_CHUNKS, 1, b";" + b"e" * 200), 413, "too_large"),
    (IN_CHUNKS + b"1;" + b"e" * 50_000, 400, "bad_request"),
    (IN_CHUNKS + b"0\r\n" + b"T: x\r\n" * 10_000, 400, "bad_request"),
    (IN_CHUNKS + b"zz\r\n", 400, "bad_request"),
    (IN_CHUNKS + b"-1\r\nx\r\n0\r\n\r\n", 400, "bad_request"),
    (IN_CHUNKS + b"1\r\nxx\r\n0\r\n\r\n", 400, "bad_request"),
    (IN_CHUNKS + b"f" * 21 + b"\r\n", 400, "bad_request"),
    (request("/ask", BODY, CHUNKED), 400, "bad_request"),
    (IN_CHUNKS.replace(b"HTTP/1.1", b"HTTP/1.0") + chunks(BODY, 10), 400, "bad_request"),
    (request("/ask", BODY).replace(b"application/json", b"text/plain"), 415, "unsupported_media_type"),
    (request("/ask", BODY).replace(b"Content-Type: application/json\r\n", b""), 415, "unsupported_media_type"),
    (request("/ask", BODY, "Content-Encoding: gzip"), 415, "unsupported_media_type"),
    (request("/ask", BODY, "Content-Type: text/plain"), 415, "unsupported_media_type"),
    (request("/ask", b"", length=False), 400, "bad_request"),
    (request("/ask", BODY, method="GET"), 405, "method_not_allowed"),
    (request("/v1/models", BODY), 405, "method_not_allowed"),
    (request("/ask", BODY, method="PUT"), 405, "method_not_allowed"),
    (request("/ask", BODY, "Content-Length: 1"), 400, "bad_request"),
    (request("/ask", BODY, "X: " + "x" * HEAD_MAX), 431, "request_header_fields_too_large"),
    (request("/ask", BODY, "Origin: http://evil.example"), 403, "forbidden"),
    (request("/ask", BODY, "Origin: null"), 403, "forbidden"),
    (request("/ask", BODY).replace(b"localhost", b"evil.example"), 421, "misdirected_request"),
    (chat(tools=[{"type": "function"}]), 400, "bad_tool"),
    (chat(tools=[{"name": "f"}], tool_choice={"type": "function", "function": {"name": "g"}}), 400, "bad_tool_choice"),
    (request("/ask", b'{"text": 1}'), 400, "bad_request"),
)  # fmt: skip


async def test_what_is_refused_says_why_as_clients_read_it(autojump_clock: trio.testing.MockClock) -> None:
    """In the shape of OpenAI's errors, at once, and no turn begins."""
    async with network(QUIET, ADAPTERS) as net:
        for sent, status, code in REFUSED:
            began = trio.current_time()
            answered, headers, body = await exchange(net, sent)
            assert (answered, headers["connection"]) == (status, "close"), sent[:200]
            error = json.loads(body)["error"]
            assert error["code"] == code, sent[:200]
            assert error["message"].endswith(".")
            assert trio.current_time() == began
            assert "access-control-allow-origin" not in headers
            await trio.testing.wait_all_tasks_blocked()
            nothing_is_left(net)
        figures = net.app.metrics.text().decode()
        for status in {status for _, status, _ in REFUSED}:
            count = sum(status == each for _, each, _ in REFUSED)
            assert f'agent_rejections_total{{status="{status}"}} {count:.1f}' in figures
        assert "agent_messages_total 0.0" in figures


@pytest.mark.parametrize("sent", [request("/ask", BODY)[:-1], IN_CHUNKS + b"1\nx\n0\n\n"])
async def test_a_slow_body_is_408_and_half_a_one_is_nobodys(
    sent: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """After BODY_TIMEOUT; a client that ends in the middle of it is gone."""
    async with network(QUIET, ADAPTERS) as net:
        end = net.open()
        end.feed(sent)
        status, _, body = parted(await read(end))
        assert (status, json.loads(body)["error"]["code"]) == (408, "too_slow")
        assert trio.current_time() == pytest.approx(BODY_TIMEOUT)
        for leave in ("eof", "reset"):
            half = net.open()
            half.feed(sent)
            await trio.testing.wait_all_tasks_blocked()
            getattr(half, leave)()
            await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)
        assert b"agent_messages_total 0.0" in net.app.metrics.text()


PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/ask",
    "/v1/models",
    "/ask?a=b",
    "/%61sk",
    "//ask",
    "/ask/",
    "/./ask",
    "/x/../ask",
    "/ASK",
    "/ask;x",
    "/ask%3F",
    "/v1/chat%2Fcompletions",
    "/v1/./models",
    "/v1//models",
    "/v1/models%00",
)


@pytest.mark.parametrize("shown", ["", "Authorization: Bearer wrong", "Authorization: Basic x"])
async def test_however_a_path_is_spelt_nothing_is_answered_without_the_token(
    shown: str, autojump_clock: trio.testing.MockClock
) -> None:
    """A POST is 401 wherever it goes; and with the token, what is not exactly the path is not there."""
    async with network(quiet(token=TOKEN), ADAPTERS) as net:
        for path in PATHS:
            ours = path.partition("?")[0] == "/ask" or path.startswith("/v1/")
            headers = (shown,) if shown else ()
            status, headed, _ = await exchange(net, request(path, BODY, *headers))
            assert (status, headed["www-authenticate"]) == (401, "Bearer"), path
            assert (headed["content-type"] == "application/json") == ours
            status, _, body = await exchange(net, request(path, method="GET", length=False))
            assert (status, b"agent" in body) == (401 if ours else 404, False), path
            await trio.sleep(10)  # or they are too many wrong tokens
        assert b"agent_messages_total 0.0" in net.app.metrics.text()
        for path in PATHS:
            ours = path.partition("?")[0] in (
                "/v1/chat/completions",
                "/v1/responses",
                "/ask",
                "/v1/models",
            )
            with_input = "embeddings" in path or "responses" in path
            usual = question() if "chat" in path else b'{"input": "x"}' if with_input else BODY
            status, _, _ = await exchange(net, request(path, usual, f"Authorization: Bearer {TOKEN}"))
            assert status == ((405 if "models" in path else 200) if ours else 404), path


async def test_other_paths_take_no_body_as_before(autojump_clock: trio.testing.MockClock) -> None:
    """It is dropped, not read as a request, and the answer is in plain words."""
    async with network(QUIET, ADAPTERS) as net:
        for path in ("/", "/ws", "/metrics", "/completions"):
            status, headers, _ = await exchange(net, request(path, request("/ask", BODY)))
            assert status in (404, 405)
            assert headers["content-type"].startswith("text/plain")
        assert b"agent_messages_total 0.0" in net.app.metrics.text()


async def test_every_error_under_v1_has_the_shape_of_openai_s(autojump_clock: trio.testing.MockClock) -> None:
    """Paths that are not there too; a model has its name, as it is or with percent escapes."""
    async with network(quiet(name="My Helper/2"), ADAPTERS) as net:
        for path in (
            "/v1",
            "/v1/",
            "/v1/completions",
            "/v1/models/",
            "/v1/models/gpt",
            "/v1/chat%2Fcompletions",
        ):
            for method in ("GET", "POST", "DELETE"):
                status, headers, body = await exchange(net, request(path, method=method))
                there = "models/" in path and method == "POST"
                assert status == (405 if there or method == "DELETE" else 404)
                assert ("allow" in headers) == (status == 405)
                error = json.loads(body)["error"]
                assert error["code"] in ("not_found", "model_not_found", "method_not_allowed")
                assert error["message"].endswith(".")
        for path in ("/v1/models/My%20Helper/2", "/v1/models/My%20Helper%2F2"):
            assert (await told(net, request(path, method="GET", length=False)))["id"] == "My Helper/2"


async def test_answers_have_the_security_headers_and_allow_no_foreign_page(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Like every other answer of the server; a HEAD has no body."""
    async with network(QUIET, ADAPTERS) as net:
        for sent in (chat(), chat(stream=True), ask(STANDARD, "Origin: http://localhost")):
            status, headers, _ = await exchange(net, sent)
            assert status == 200
            assert {name: headers[name] for name in SECURITY} == dict(SECURITY)
            assert not [name for name in headers if name.startswith("access-control")]
        status, headers, body = await exchange(net, request("/v1/models", method="HEAD", length=False))
        assert (status, body) == (200, b"")
        assert int(headers["content-length"]) > 0


async def test_an_address_may_ask_so_often(autojump_clock: trio.testing.MockClock) -> None:
    """Its questions count together with its sessions' messages; 429 says when to come back. Others are not held up."""
    async with network(quiet(address_rate=1.0), ADAPTERS) as net:
        statuses = [await exchange(net, ask(), peer="192.0.2.1") for _ in range(3)]
        assert [status for status, _, _ in statuses] == [200, 200, 429]
        assert statuses[2][1]["retry-after"] == "1"
        assert json.loads(statuses[2][2])["error"]["code"] == "rate_limited"
        assert (await exchange(net, ask(), peer="192.0.2.2"))[0] == 200
        await trio.sleep(1)
        assert (await exchange(net, ask(), peer="192.0.2.1"))[0] == 200
        assert b'agent_limited_total{limit="messages"} 1.0' in net.app.metrics.text()


async def test_a_question_takes_a_place(autojump_clock: trio.testing.MockClock) -> None:
    """When all are taken, or all of an address's, the next is told so; a place whose question is late is given away."""
    settings = quiet(max_connections=2, max_per_address=1, turn_timeout=1000)
    async with network(settings, ADAPTERS) as net:
        held = net.open(peer="192.0.2.1")
        held.feed(ask(FOREVER))
        await trio.sleep(1)
        status, headers, body = await exchange(net, ask(), peer="192.0.2.1")
        assert (status, headers["retry-after"]) == (429, "10")
        assert json.loads(body)["error"]["type"] == "rate_limit_error"
        late = net.open(peer="192.0.2.2")
        late.feed(ask()[:-1])
        await trio.sleep(FIRST_WORDS)
        assert (await exchange(net, ask(), peer="192.0.2.3"))[0] == 200
        status, headers, body = parted(await read(late))
        assert (status, "Others are waiting" in json.loads(body)["error"]["message"]) == (503, True)
        full = net.open(peer="192.0.2.4")
        full.feed(ask(FOREVER))
        await trio.sleep(1)
        assert (await exchange(net, ask(), peer="192.0.2.5"))[0] == 503
        held.close()
        full.close()
        await trio.sleep(CLOSE_TIMEOUT)
        nothing_is_left(net)


@dataclass
class Seen:
    """Which questions a Brain was asked."""

    texts: list[str]

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Note it, and never answer."""
        self.texts.append(question.text)
        await trio.sleep_forever()


async def test_nothing_that_a_client_sends_meanwhile_is_a_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It is read, so that its leaving is seen, and dropped."""
    brain = Seen([])
    async with network(QUIET, Adapters(brain=brain)) as net:
        end = net.open()
        end.feed(ask("One?"))
        await trio.sleep(1)
        for _ in range(20):
            end.feed(ask("Two?") * 50)
            await trio.testing.wait_all_tasks_blocked()
        assert brain.texts == ["One?"]
        assert len(net.app.registry) == 1
        end.close()
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)
