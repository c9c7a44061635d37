"""Models over HTTP against a service with every fault: what is given, what fails and how, and what nobody sees."""

import logging
import socket
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate

import httpx
import pytest
import trio

from agent.errors import ModelFailed
from agent.models.anthropic import Anthropic
from agent.models.http import HttpModel, parse_retry_after
from agent.models.openai import OpenAI
from agent.models.settings import MODEL_ANSWER_MAX, MODEL_EVENT_MAX
from agent.models.shape import ServiceProtocol
from agent.ports.model import CallDelta, Finish, LanguageModel, Piece, TextDelta, Usage
from agent.testing.models import ASKED, outcome_of
from tests.logs import capture_log
from tests.strikes.spoken import REASONS, SHAPES
from tests.strikes.upstream import (
    Reply,
    Upstream,
    after,
    changed,
    commented,
    cut_inside,
    ended,
    refused,
    reply,
    slow,
    split,
    upstream,
)

TEXT = "Det kostar ½ å 😀."
SAID: tuple[Piece, ...] = (
    TextDelta("Det kostar "),
    TextDelta("½ å 😀."),
    CallDelta(0, "a", "f", "{"),
    CallDelta(1, "a", "g", ""),
    CallDelta(0, arguments="}"),
    CallDelta(1, arguments="{}"),
    Finish("calls", Usage(3, 4)),
)
KEY = "sk-SECRET2"


@pytest.fixture(params=["openai", "anthropic"])
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def model(shape: str, url: str, transport: Callable[[], httpx.AsyncBaseTransport] | None = None) -> HttpModel:
    made: ServiceProtocol = OpenAI("m", url + "/v1", KEY) if shape == "openai" else Anthropic("m", url, KEY)
    return HttpModel(made, transport)


async def outcome(model: LanguageModel) -> tuple[list[Piece], ModelFailed | None]:
    """Return the pieces that came, and how it failed if it did; a failure holds nothing that is secret."""
    pieces, failure = await outcome_of(model)
    assert "SECRET" not in f"{failure} {failure!r}"
    assert "127.0.0.1" not in str(failure)
    error: BaseException | None = failure
    while error is not None:  # what it holds, a logger may show
        assert type(error).__module__.partition(".")[0] not in ("httpx", "httpcore", "trio")
        error = error.__cause__ or error.__context__
    return pieces, failure


def same(reply: Reply) -> Reply:
    return reply


GOOD: dict[str, Callable[[Reply], Reply]] = {
    "as it is": same,
    "slow": lambda good: slow(good, 0.002),
    "split inside characters": lambda good: split(good, 7),
    "all at once": lambda good: split(good, 1_000_000),
    "CR LF": lambda good: split(ended(good, b"\r\n"), 50),
    "CR": lambda good: ended(good, b"\r"),
    "comments": commented,
    "a mark at its start": lambda good: changed(
        good, lambda part: b"\xef\xbb\xbf" + part if part is good.steps[0] else part
    ),
    "reset after its last word": lambda good: after(good, len(good.steps), "reset"),
}


async def test_a_good_answer_is_read_however_it_comes(shape: str) -> None:
    """Slow, in any parts, with any ends of lines, comments between: the same pieces."""
    for how, change in GOOD.items():
        async with upstream(change(reply(SHAPES[shape](SAID)))) as service:
            pieces, failure = await outcome(model(shape, service.url))
            await service.until(lambda: service.open == 0)
        assert (how, failure) == (how, None)
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == TEXT, how
        calls = [piece for piece in pieces if isinstance(piece, CallDelta)]
        assert [(each.index, each.id, each.name) for each in calls if each.name] == [
            (0, "a", "f"),
            (1, "a", "g"),
        ]
        for index in (0, 1):
            assert "".join(call.arguments for call in calls if call.index == index) == "{}", how
        assert pieces[-1] == SAID[-1]
        assert [isinstance(piece, Finish) for piece in pieces].count(True) == 1


@pytest.mark.parametrize("shape_reason", [(shape, reason) for shape in REASONS for reason in REASONS[shape]])
async def test_each_reason_is_told(shape_reason: tuple[str, str]) -> None:
    """Of each service, as it can be told there."""
    shape, reason = shape_reason
    call = (CallDelta(0, "a", "f", "{}"),) if reason == "calls" else ()
    said = (TextDelta("x"), *call, Finish(reason))  # type: ignore[arg-type]
    async with upstream(reply(SHAPES[shape](said))) as service:
        pieces, _ = await outcome(model(shape, service.url))
    assert isinstance(pieces[-1], Finish)
    assert pieces[-1].reason == reason


FAULTS: dict[str, tuple[str, Callable[[Reply], Reply]]] = {
    "ends before its last word": ("cut", lambda good: after(good, len(good.steps) - 1, "whole")),
    "empty": ("cut", lambda good: reply([])),
    "only comments": ("cut", lambda good: reply([b": hello\n\n"])),
    "cut inside an event": ("cut", cut_inside),
    "cut inside an event, cleanly": ("cut", lambda good: cut_inside(good, "whole")),
    "cut between events": ("cut", lambda good: after(good, 2, "cut")),
    "reset": ("cut", lambda good: after(good, 2, "reset")),
    "garbage": ("protocol", lambda good: reply([b"data: {SECRET\n\n"])),
    "not UTF-8": ("protocol", lambda good: reply([b"data: \xff\n\n"])),
    "a page": (
        "protocol",
        lambda good: Reply((b"<html>SECRET",), headers={"content-type": "text/html"}),
    ),
    "no stream": (
        "protocol",
        lambda good: Reply((b"{}",), headers={"content-type": "application/json"}),
    ),
    "a broken chunk": (
        "cut",
        lambda good: Reply(
            head=b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\nzz\r\n"
        ),
    ),
    "no HTTP": ("connect", lambda good: Reply(head=b"SECRET\r\n\r\n")),
    "nothing": ("connect", lambda good: Reply(head=b"")),
    "half a head": ("connect", lambda good: Reply(head=b"HTTP/1.1 200 OK\r\ncont")),
    "a head without end": ("connect", lambda good: Reply(head=b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000)),
    "an event too large": (
        "protocol",
        lambda good: reply([b"data: ", *[b"x" * 65_536] * (MODEL_EVENT_MAX // 65_536 + 1)]),
    ),
    "401": ("auth", lambda good: refused(401)),
    "403": ("auth", lambda good: refused(403)),
    "400": ("request", lambda good: refused(400)),
    "400 length": (
        "length",
        lambda good: refused(400, body=b'{"error": "exceed_context_size_error SECRET"}'),
    ),
    "500 length": (
        "server",
        lambda good: refused(500, body=b'{"error": "exceed_context_size_error SECRET"}'),
    ),
    "404": ("request", lambda good: refused(404)),
    "408": ("connect", lambda good: refused(408)),
    "429": ("rate", lambda good: refused(429, "7")),
    "500": ("server", lambda good: refused(500)),
    "529": ("server", lambda good: refused(529)),
    "redirected": (
        "request",
        lambda good: Reply(status=302, headers={"location": "http://127.0.0.1:1/SECRET"}),
    ),
}


async def test_each_fault_is_told_by_its_kind(shape: str) -> None:
    """In words of our own; no library's error comes through, and nothing is held afterwards."""
    for fault, (kind, faulty) in FAULTS.items():
        async with upstream(faulty(reply(SHAPES[shape](SAID)))) as service:
            pieces, failure = await outcome(model(shape, service.url))
            await service.until(lambda: service.open == 0)
        assert failure is not None, fault
        assert (fault, failure.kind) == (fault, kind)
        assert failure.retry_after == (7.0 if fault == "429" else None)
        assert not any(isinstance(piece, Finish) for piece in pieces), fault


async def test_a_service_that_is_not_there_is_told(shape: str) -> None:
    """Nobody listens, no such name, a name that is none."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for url in (f"http://127.0.0.1:{taken.getsockname()[1]}", "http://a..b", f"http://{'x' * 70}.test"):
            _, failure = await outcome(model(shape, url))
            assert failure is not None
            assert failure.kind in ("connect", "request")


async def test_one_that_has_no_tls_where_it_should_is_told(shape: str) -> None:
    """Its certificate cannot be looked at, so nothing is said to it."""
    heard = bytearray()

    async def plain(stream: trio.SocketStream) -> None:
        heard.extend(await stream.receive_some())
        await stream.send_all(b"HTTP/1.0 400 No\r\n\r\n")

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, plain, [listener])
        _, failure = await outcome(model(shape, f"https://127.0.0.1:{listener.socket.getsockname()[1]}"))
        nursery.cancel_scope.cancel()
    assert failure is not None
    assert failure.kind == "connect"
    assert KEY.encode() not in heard


async def test_a_handshake_that_is_cancelled_lets_go(shape: str) -> None:
    """The service waits for the end of a head, and we for its certificate."""
    async with upstream(reply([])) as service:
        with trio.move_on_after(0.03) as scope:
            await outcome(model(shape, service.url.replace("http:", "https:")))
        assert scope.cancelled_caught
        with trio.fail_after(5):
            await service.until(lambda: service.open == 0)


async def test_an_answer_without_end_is_cut_off(shape: str) -> None:
    """It is read up to its bound, and closed; small events are no way around it."""
    read = 0

    class Endless(httpx.AsyncByteStream):
        closed = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal read
            while not self.closed:
                read += 1 << 20
                yield (b": " + b"x" * 1021 + b"\n") * 1024
            raise httpx.ReadError("closed")

        async def aclose(self) -> None:
            self.closed = True

    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, stream=Endless()))
    _, failure = await outcome(model(shape, "http://h.test", lambda: transport))
    assert failure is not None
    assert failure.kind == "protocol"
    assert MODEL_ANSWER_MAX < read <= MODEL_ANSWER_MAX + (2 << 20)


async def test_one_request_says_all(shape: str) -> None:
    """Its path, its key where the service wants it, the body, and nothing of the environment's."""
    async with upstream(reply(SHAPES[shape](SAID))) as service:
        await outcome(model(shape, service.url))
        (asked,) = service.requests
    if shape == "openai":
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["authorization"] == f"Bearer {KEY}"
    else:
        assert asked.path == "/v1/messages"
        assert asked.headers["x-api-key"] == KEY
        assert asked.headers["anthropic-version"]
        assert "authorization" not in asked.headers
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.body["model"] == "m"
    assert asked.body["stream"] is True


async def test_no_connection_is_used_twice(shape: str) -> None:
    """A kept one may be dead; three requests are three connections, and none stands afterwards."""
    async with upstream(reply(SHAPES[shape](SAID))) as service:
        made = model(shape, service.url)
        for _ in range(3):
            _, failure = await outcome(made)
            assert failure is None
            await service.until(lambda: service.open == 0)
        assert len(service.requests) == 3


async def test_nothing_secret_is_logged(shape: str) -> None:
    """Neither the key nor what is asked and answered, at any level of any logger."""
    with capture_log(logging.DEBUG) as captured:
        for answer in (reply(SHAPES[shape](SAID)), refused(401), Reply(head=b"SECRET\r\n\r\n")):
            async with upstream(answer) as service:
                made = model(shape, service.url)
                await outcome(made)
    assert "SECRET" not in captured.text + repr(made) + repr(vars(made))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        (None, None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Wed, 99 Abc", None),
        (formatdate(1_000_060, usegmt=True), 60.0),
        (formatdate(999_000, usegmt=True), 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    """And what is neither asks for nothing."""
    assert parse_retry_after(value, 1_000_000) == seconds


@pytest.mark.proof
@pytest.mark.parametrize("parts", [None, 0, 3])
async def test_a_cancel_reaches_the_service_within_a_tenth_of_a_second(shape: str, parts: int | None) -> None:
    """Of real time: before the head of its answer, before the first piece, and in the middle."""
    took = []
    good = reply(SHAPES[shape](SAID))
    stalled = Reply((3600.0,), head=b"") if parts is None else after(good, parts, "hang")
    for _ in range(20):
        async with upstream(stalled) as service:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outcome, model(shape, service.url))
                await service.until(lambda: bool(service.requests))
                await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
                cancelled = trio.current_time()
            took.append(await _closed_since(service, cancelled))
    assert min(took) < 0.1, took


@pytest.mark.proof
async def test_closing_reaches_the_service_within_a_tenth_of_a_second(shape: str) -> None:
    """Of real time, in the middle of an answer."""
    took = []
    for _ in range(10):
        async with upstream(after(reply(SHAPES[shape](SAID)), 4, "hang")) as service:
            stream = model(shape, service.url).stream(ASKED)
            await anext(stream)
            closed = trio.current_time()
            await stream.aclose()
            took.append(await _closed_since(service, closed))
    assert min(took) < 0.1, took  # a busy machine holds up most of them


async def _closed_since(service: Upstream, began: float) -> float:
    """Return after how many seconds the service was left, and its client went on."""
    went_on = trio.current_time()
    with trio.fail_after(30):
        await service.until(lambda: bool(service.closed))
    return max(went_on, service.closed[0]) - began
