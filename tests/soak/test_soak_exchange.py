"""A request over HTTP: what a whole answer is, what may come, and how this end leaves."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
import trio

from agent.errors import WireClosed
from agent.soak import exchange as room
from agent.soak import user_requests
from agent.soak.exchange import LEFT, ClientAnswer, ClientRequest, Stayed, exchange, parse_answer
from agent.soak.figures import Tally
from agent.soak.scene import Scene, Target
from agent.soak.user_requests import UserRequests

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
CHUNKS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FROM = b'event: stream\ndata: {"type": "stream"}\n\n'
Serve = Callable[[trio.SocketStream], Awaitable[None]]


@pytest.mark.parametrize(
    ("came", "answer"),
    [
        (OK, ClientAnswer(200, {"a": 1})),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ClientAnswer(204, {})),
        (EVENTS + FROM + b'event: result\ndata: {"b": 2}\n\n', ClientAnswer(200, {"b": 2})),
        (
            EVENTS + FROM + b'event: problem\ndata: {"status": 409, "code": "cancelled"}\n\n',
            ClientAnswer(409, {"status": 409, "code": "cancelled"}),
        ),
        (CHUNKS + b"e\r\nevent: result\n\r\nb\r\ndata: {}\n\n\n\r\n0\r\n\r\n", ClientAnswer(200, {})),
    ],
)
def test_a_whole_answer(came: bytes, answer: ClientAnswer) -> None:
    """JSON, nothing, or events, of which the last one is the answer."""
    assert parse_answer(came) == answer


@pytest.mark.parametrize(
    "came", [b"", OK[:-1], EVENTS + FROM, CHUNKS + b"e\r\nevent: result\n\r\nb\r\ndata: {}\n\n"]
)
def test_half_an_answer_is_none(came: bytes) -> None:
    """Whatever is missing of it."""
    with pytest.raises(WireClosed):
        parse_answer(came)


async def asked_of(
    serve: Serve, request: ClientRequest, drains: bool = False, seen: trio.Event | None = None
) -> tuple[ClientAnswer, Tally]:
    """Ask a server that answers each connection so. seen: is waited for before the server goes."""
    tally = Tally()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    scene = Scene(target=Target(host="127.0.0.1", port=listeners[0].socket.getsockname()[1]), tally=tally)
    if drains:
        scene.drain.set()
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, serve, listeners)
        came = await UserRequests("caller", scene, Random(1)).ask("chat", request, "bad_edit")
        if seen is not None:
            with trio.fail_after(10):
                await seen.wait()
        nursery.cancel_scope.cancel()
    return came, tally


def answering(data: bytes) -> Serve:
    """Return a server that says the same to everybody."""

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(data)

    return serve


def problem(status: int, code: str) -> bytes:
    """Build a problem."""
    body = b'{"code": "%s"}' % code.encode()
    return b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.mark.parametrize(
    ("data", "drains", "broken"),
    [
        (OK, False, {}),
        (problem(409, "closed"), False, {}),
        (problem(400, "bad_edit"), False, {}),
        (problem(400, "bad_request"), False, {"S7": 1}),
        (problem(404, "not_found"), False, {"S7": 1}),
        (problem(500, "internal"), False, {"S7": 1}),
        (problem(503, "shutting_down"), False, {"S7": 1}),
        (problem(503, "shutting_down"), True, {}),
        (OK[:-1], False, {"S7": 1}),
        (b"", True, {}),
    ],
)
async def test_what_may_come(data: bytes, drains: bool, broken: dict[str, int]) -> None:
    """A good answer, and that somebody else was first; a fault, or nothing, only from a server that goes down."""
    assert (await asked_of(answering(data), ClientRequest(method="POST", path="/chat", body={}), drains))[
        1
    ].broken == broken


async def test_who_asks_too_often_asks_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is answered; who is in haste does not."""
    monkeypatch.setattr(user_requests, "LATER", (0.0, 0.01))
    answers = [problem(429, "rate_limited"), problem(429, "rate_limited"), OK]

    async def limits(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(answers.pop(0))

    came, tally = await asked_of(limits, ClientRequest(method="POST", path="/chat", body={}))
    assert (came.status, tally.counts) == (200, {"chat rate_limited": 2, "chat 200": 1})
    answers.append(problem(429, "rate_limited"))
    assert (await asked_of(limits, ClientRequest(method="POST", path="/chat", body={}, patience=10.0)))[
        0
    ].status == 429


@pytest.mark.parametrize("going", ["drop", "reset", "eof"])
async def test_who_has_no_patience_leaves(going: Any) -> None:
    """In each way; the server sees it, and hangs up."""
    seen = trio.Event()

    async def waits(stream: trio.SocketStream) -> None:
        async with stream:
            try:
                while await stream.receive_some():
                    pass
            except trio.BrokenResourceError:
                pass
        seen.set()

    came, tally = await asked_of(
        waits, ClientRequest(method="POST", path="/chat", body={}, patience=0.01, going=going), seen=seen
    )
    assert (came, tally.broken, tally.counts) == (LEFT, {}, {"chat left": 1})


async def test_a_server_that_stays_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must hang up on who has ended its half."""
    monkeypatch.setattr(room, "HANG_UP", 0.02)

    async def stays(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    _, tally = await asked_of(
        stays, ClientRequest(method="POST", path="/chat", body={}, patience=0.01, going="eof")
    )
    assert tally.broken == {"S6": 1}
    with pytest.raises(WireClosed):
        await exchange(ClientRequest(method="GET", path="/calls"), "127.0.0.1", 1)
    assert issubclass(Stayed, WireClosed)


def test_a_request_says_who_asks_and_what_it_takes() -> None:
    """The token, events where they are wanted, and the body's length."""
    data = ClientRequest(method="POST", path="/chat", body={"a": 1}, events=True).to_bytes(
        "::1", 80, "secret"
    )
    assert data == (
        b"POST /chat HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\nAccept: text/event-stream\r\n"
        b"Authorization: Bearer secret\r\n"
        b'Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    )
