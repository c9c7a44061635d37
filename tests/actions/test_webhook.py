"""The webhook over real HTTP, on streams in memory; and twice over a socket."""

import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpcore
import httpx
import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from agent.actions.open import open_executor
from agent.actions.settings import ActionSettings
from agent.actions.webhook import WEBHOOK_ANSWER_MAX, WebhookExecutor
from agent.config import WEBHOOK_TIMEOUT
from agent.errors import ActionFailed, ActionUnknown
from agent.ports.action import Call
from tests.logs import capture_log

CALL = Call(suggestion_id="s1", action="send_sms", payload={"phone": "070-SECRET"})
URL = "http://user:SECRET@hook.test/path"
Peer = trio.abc.Stream
Serve = Callable[[Peer], Awaitable[None]]


class MemoryStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: Peer, network: "Network") -> None:
        self._stream, self._network = stream, network

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return bytes(await self._stream.receive_some(max_bytes))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpcore.ReadError from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._network.sent += len(buffer)
        try:
            await self._stream.send_all(buffer)
        except trio.BrokenResourceError as error:
            raise httpcore.WriteError from error

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return None


class Network(httpcore.AsyncNetworkBackend):
    """Connects to `serve` in memory, `delay` seconds after it was asked; None refuses."""

    def __init__(self, nursery: trio.Nursery, serve: Serve | None, delay: float = 0.0) -> None:
        self.nursery, self.serve, self.delay = nursery, serve, delay
        self.connections: list[Peer] = []
        self.sent = 0  # bytes

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        await trio.sleep(self.delay)
        if self.serve is None:
            raise httpcore.ConnectError("refused SECRET")
        ours, theirs = memory_stream_pair()
        self.connections.append(theirs)
        self.nursery.start_soon(self.serve, theirs)
        await (
            trio.lowlevel.cancel_shielded_checkpoint()
        )  # a real one may be cancelled when it is already connected
        return MemoryStream(ours, self)


class Cut(trio.abc.Instrument):
    """Cancels a scope at the n-th step of the task that it was made in."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self._scope, self._left, self._task = scope, step, trio.lowlevel.current_task()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._left -= task is self._task
        if self._left == 0:
            self._scope.cancel()


@contextlib.contextmanager
def cancelled_at(scope: trio.CancelScope, step: int) -> Iterator[None]:
    cut = Cut(scope, step)
    trio.lowlevel.add_instrument(cut)
    try:
        yield
    finally:
        trio.lowlevel.remove_instrument(cut)


def executor_on(network: Network) -> WebhookExecutor:
    def transport() -> httpx.AsyncHTTPTransport:
        made = httpx.AsyncHTTPTransport(verify=False, trust_env=False)
        made._pool = httpcore.AsyncConnectionPool(network_backend=network, max_keepalive_connections=0)
        return made

    return WebhookExecutor(URL, transport)


async def read_request(stream: Peer) -> tuple[dict[str, str], bytes]:
    """Read one request; return its headers and body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive_some()
    head, _, body = received.partition(b"\r\n\r\n")
    request_line, *fields = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    headers[":request"] = request_line
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive_some()
    return headers, body


def answering(answer: bytes, delay: float = 0.0) -> Serve:
    async def serve(stream: Peer) -> None:
        async with stream:
            await read_request(stream)
            await trio.sleep(delay)
            if answer:
                await stream.send_all(answer)

    return serve


def http(status: str, body: bytes = b"", fields: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{fields}\r\n".encode() + body


async def run(serve: Serve | None, delay: float = 0.0) -> tuple[list[bool], Any]:
    """Run CALL against a server; return what begin saw and the data or the exception."""
    begun: list[bool] = []
    async with trio.open_nursery() as nursery:
        executor = executor_on(Network(nursery, serve, delay))
        try:
            result: Any = await executor.run(CALL, lambda: begun.append(True))
        except (ActionFailed, ActionUnknown) as error:
            result = error
        nursery.cancel_scope.cancel()
    if isinstance(result, Exception):
        assert "SECRET" not in str(result)
        assert "hook.test" not in str(result)
    return begun, result


async def test_the_request_says_what_was_confirmed(nursery: trio.Nursery) -> None:
    """One POST with the three fields, the idempotency key and the URL's credentials as basic authentication."""
    requests = []

    async def serve(stream: Peer) -> None:
        requests.append(await read_request(stream))
        await stream.send_all(http("200 OK", b'{"n": 1}'))

    executor = executor_on(Network(nursery, serve))
    assert await executor.run(CALL, lambda: None) == {"n": 1}
    ((headers, body),) = requests
    assert json.loads(body) == {
        "suggestionId": "s1",
        "action": "send_sms",
        "payload": {"phone": "070-SECRET"},
    }
    assert headers[":request"] == "POST /path HTTP/1.1"
    assert headers["idempotency-key"] == "s1"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"].startswith("Basic ")


async def test_begin_is_called_between_the_connection_and_the_first_byte(nursery: trio.Nursery) -> None:
    """When begin is called a connection stands and nothing has been sent on it."""
    seen: list[tuple[int, int]] = []
    network = Network(nursery, answering(http("204 No Content")))
    await executor_on(network).run(CALL, lambda: seen.append((len(network.connections), network.sent)))
    assert seen == [(1, 0)]
    assert network.sent > 0


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        (http("200 OK", b'{"ticket": {"id": "T-1"}}'), {"ticket": {"id": "T-1"}}),
        (http("201 Created", b'["T-1"]'), {"answer": ["T-1"]}),
        (http("202 Accepted", b"thanks"), {}),
        (http("200 OK", b"\xff\xfe"), {}),
        (http("200 OK", b"[" * 5000 + b"]" * 5000), {}),
        (http("200 OK", b"[" * 33 + b"]" * 33), {}),
        (http("200 OK", b'{"a":' * 33 + b"1" + b"}" * 33), {}),
        (http("204 No Content"), {}),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + http("200 OK", b"{}"), {}),
        (
            http("200 OK", b'"' + b"x" * (WEBHOOK_ANSWER_MAX - 2) + b'"'),
            {"answer": "x" * (WEBHOOK_ANSWER_MAX - 2)},
        ),
    ],
)
async def test_a_2xx_is_done(answer: bytes, data: dict[str, Any]) -> None:
    """A JSON object is the data, another JSON value stands under `answer`, anything else gives no data."""
    assert await run(answering(answer)) == ([True], data)


@pytest.mark.parametrize("status", ["400 Bad", "401 No", "404 Not Found", "422 No", "451 No", "499 X"])
async def test_a_4xx_is_failed(status: str) -> None:
    """A 4xx says that nothing was done."""
    begun, error = await run(answering(http(status, b"SECRET")))
    assert begun == [True]
    assert isinstance(error, ActionFailed)
    assert status[:3] in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        http("500 Broken", b"SECRET"),
        http("503 Busy"),
        http("301 Moved", fields="location: http://hook.test/other\r\n"),
        http("304 Same"),
        http("408 Late"),
        http("409 Conflict", b"SECRET"),
        http("425 Early"),
        http("429 Slow"),
        http("200 OK", b"x" * (WEBHOOK_ANSWER_MAX + 1)),
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"not http at all\r\n\r\n",
        b"",
    ],
)
async def test_begun_without_a_word_on_its_end_is_unknown(answer: bytes) -> None:
    """A 3xx, a 5xx, a 4xx of a request that may be in progress, a broken or too long answer or none: not known."""
    begun, error = await run(answering(answer))
    assert begun == [True]
    assert isinstance(error, ActionUnknown)


async def test_an_endless_answer_is_cut_off(nursery: trio.Nursery) -> None:
    """What streams without an end is read up to the limit and no further."""
    sent = 0

    async def serve(stream: Peer) -> None:
        nonlocal sent
        await read_request(stream)
        await stream.send_all(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(b" " * 1024)
                sent += 1
                await trio.sleep(0.001)

    with pytest.raises(ActionUnknown, match="answer over"):
        await executor_on(Network(nursery, serve)).run(CALL, lambda: None)
    assert sent < 100


async def test_a_compressed_answer_is_not_unpacked() -> None:
    """An answer in an encoding that was not asked for gives no data, however large it would become."""
    answer = http("200 OK", b"\x1f\x8b\x08\x00", "content-encoding: gzip\r\n")
    assert await run(answering(answer)) == ([True], {})


async def test_not_connected_is_failed() -> None:
    """A refused connection is certainly without an effect, and begin was not called."""
    begun, error = await run(None)
    assert begun == []
    assert isinstance(error, ActionFailed)


async def test_not_connected_in_time_is_failed(autojump_clock: MockClock) -> None:
    """A connection that does not come about in WEBHOOK_TIMEOUT is without an effect."""
    begun, error = await run(answering(http("200 OK")), delay=60.0)
    assert begun == []
    assert isinstance(error, ActionFailed)
    assert trio.current_time() == pytest.approx(WEBHOOK_TIMEOUT)


async def test_no_answer_in_time_is_unknown(autojump_clock: MockClock) -> None:
    """Silence after the request is unknown, WEBHOOK_TIMEOUT after the start."""
    begun, error = await run(answering(http("200 OK"), delay=60.0), delay=1.0)
    assert begun == [True]
    assert isinstance(error, ActionUnknown)
    assert trio.current_time() == pytest.approx(WEBHOOK_TIMEOUT)


async def test_a_refused_begin_sends_nothing(nursery: trio.Nursery) -> None:
    """When begin raises, the connection is closed without a byte."""
    received: list[bytes] = []

    async def serve(stream: Peer) -> None:
        received.append(bytes(await stream.receive_some()))

    def refuse() -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        await executor_on(Network(nursery, serve)).run(CALL, refuse)
    await trio.testing.wait_all_tasks_blocked()
    assert received == [b""]


async def test_a_cancel_while_connecting_leaves_nothing(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """Cancelled before the connection stands, none is made and begin is not called."""
    network = Network(nursery, answering(http("200 OK")), delay=2.0)
    with trio.move_on_after(1.0):
        await executor_on(network).run(CALL, lambda: pytest.fail("begun"))
    await trio.sleep(5.0)
    assert network.connections == []


async def test_whenever_it_is_cut_no_connection_stays(nursery: trio.Nursery) -> None:
    """At each of its steps: what was connected is closed, and the next action finds as many free as the first."""
    ended: list[bytes] = []

    async def serve(stream: Peer) -> None:
        received = bytes(await stream.receive_some())
        ended.append(received)
        if received:
            await stream.send_all(http("200 OK", b"{}"))

    network = Network(nursery, serve)
    executor = executor_on(network)
    step, whole = 0, False
    while not whole:
        step += 1
        with trio.CancelScope() as scope, cancelled_at(scope, step):
            await executor.run(CALL, lambda: None)
        whole = not scope.cancelled_caught
        await trio.testing.wait_all_tasks_blocked()
        assert len(ended) == len(network.connections), f"a connection is left open, cut at step {step}"
    assert step > 10
    assert b"" in ended, "none was cut between its connection and its request"


async def test_no_cookie_and_no_connection_is_kept(nursery: trio.Nursery) -> None:
    """Each action has a connection of its own and tells nothing of the one before."""
    cookies: list[str | None] = []

    async def serve(stream: Peer) -> None:
        headers, _ = await read_request(stream)
        cookies.append(headers.get("cookie"))
        await stream.send_all(http("200 OK", b"{}", "set-cookie: a=SECRET\r\n"))

    network = Network(nursery, serve)
    executor = executor_on(network)
    await executor.run(CALL, lambda: None)
    await executor.run(CALL, lambda: None)
    assert cookies == [None, None]
    assert len(network.connections) == 2


@pytest.mark.parametrize("status", ["301 Moved", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(nursery: trio.Nursery, status: str) -> None:
    """Whoever answers with another address is the only one that is called, and only once."""
    network = Network(nursery, answering(http(status, fields="location: http://hook.test/other\r\n")))
    begun: list[bool] = []
    with pytest.raises(ActionUnknown):
        await executor_on(network).run(CALL, lambda: begun.append(True))
    assert (len(network.connections), begun) == (1, [True])


async def test_no_proxy_and_no_password_are_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A proxy of the environment sees nothing of an action, and the hook gets no credential of a .netrc."""
    (tmp_path / "netrc").write_text("default login somebody password SECRET\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    (proxy,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    (hook,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.socket.getsockname()[1]}")
    called: list[str] = []

    def at(name: str) -> Serve:
        async def serve(stream: Peer) -> None:
            headers, _ = await read_request(stream)
            called.append(f"{name} {headers.get('authorization')}")
            await stream.send_all(http("200 OK", b"{}"))

        return serve

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, at("proxy"), [proxy])
        nursery.start_soon(trio.serve_listeners, at("hook"), [hook])
        executor = WebhookExecutor(f"http://127.0.0.1:{hook.socket.getsockname()[1]}/")
        await executor.run(CALL, lambda: None)
        nursery.cancel_scope.cancel()
    assert called == ["hook None"]


async def test_httpx_does_not_log_the_url() -> None:
    """The library's own request line, which holds the URL, is not logged."""
    with capture_log(logging.INFO) as captured:
        await run(answering(http("200 OK")))
    assert "SECRET" not in captured.text


async def test_over_a_socket_an_action_is_done() -> None:
    """Opened from the settings, it reaches a server on a real port."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    begun: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answering(http("200 OK", b'{"n": 1}')), [listener])
        async with open_executor(ActionSettings(action_webhook=f"http://127.0.0.1:{port}/")) as executor:
            assert await executor.run(CALL, lambda: begun.append(True)) == {"n": 1}
        nursery.cancel_scope.cancel()
    assert begun == [True]


async def test_over_a_socket_a_closed_port_is_failed() -> None:
    """Nobody listens: failed, and begin was not called."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    with pytest.raises(ActionFailed):
        await WebhookExecutor(f"http://127.0.0.1:{port}/").run(CALL, lambda: pytest.fail("begun"))
