"""The shipped client speaks the wire, and its failures are ours: no library error, no group, no wait without end."""

import errno
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, wrap_server_stream

from agent.client.client import START, Client, connect, connect_over
from agent.errors import CannotConnect, UsageError, WireClosed

Handler = Callable[[WebSocketConnection], Awaitable[None]]


class Server:
    """A WebSocket server for one memory stream; it notes the request and each message."""

    def __init__(self, handler: Handler | None = None) -> None:
        self.handler = handler
        self.request: WebSocketRequest | None = None
        self.heard: list[Any] = []

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Accept, run the handler, then note messages until the client leaves."""
        async with trio.open_nursery() as nursery:
            self.request = await wrap_server_stream(nursery, stream)
            connection = await self.request.accept(subprotocol="agent.v1")
            if self.handler:
                await self.handler(connection)
            try:
                while True:
                    message = await connection.get_message()
                    self.heard.append(json.loads(message) if isinstance(message, str) else message)
            except ConnectionClosed:
                nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncGenerator[Client, None]:
        """Serve one memory stream and yield the client at its other end."""
        near, far = trio.testing.memory_stream_pair()
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.serve, far)
                async with connect_over(near, **options) as client:
                    yield client


async def refused(answer: bytes | None) -> CannotConnect:
    """Return the error of a client whose peer answers its handshake with `answer` and hangs up."""
    near, far = trio.testing.memory_stream_pair()

    async def peer() -> None:
        await far.receive_some()
        if answer is not None:
            await far.send_all(answer)
            await far.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer)
        error = None
        try:
            async with connect_over(near, host="agent.test"):
                raise AssertionError("there is no session")
        except CannotConnect as caught:
            error = caught
        assert error is not None
        return error


async def test_client_sends_the_messages_of_the_wire(autojump_clock: trio.testing.MockClock) -> None:
    """Each method is one frame; ids count up where none is given; optional fields are left out."""
    server = Server()
    async with server.client() as client:
        assert await client.ask("hi") == "1"
        assert await client.ask("hej", id="x", lang="sv") == "x"
        await client.cancel()
        await client.cancel("x")
        await client.confirm("s")
        await client.reject("s")
        await client.send_raw(b"\0")
        assert await client.ask("more") == "3"
    assert server.heard == [
        {"type": "message", "id": "1", "text": "hi"},
        {"type": "message", "id": "x", "text": "hej", "lang": "sv"},
        {"type": "cancel"},
        {"type": "cancel", "id": "x"},
        {"type": "confirm_action", "suggestionId": "s"},
        {"type": "reject_action", "suggestionId": "s"},
        b"\0",
        {"type": "message", "id": "3", "text": "more"},
    ]


async def test_frames_until_ends_with_the_first_of_its_type(autojump_clock: trio.testing.MockClock) -> None:
    """What comes after the frame is left for the next call."""

    async def handler(connection: WebSocketConnection) -> None:
        for kind in ("stream", "stream_end", "response", "error"):
            await connection.send_message(json.dumps({"type": kind}))

    async with Server(handler).client() as client:
        assert [frame["type"] for frame in await client.frames_until("stream_end")] == [
            "stream",
            "stream_end",
        ]
        assert await client.next_frame() == {"type": "response"}


async def test_a_frame_in_the_same_read_as_the_upgrade_is_not_lost(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may send its welcome together with the answer to the handshake."""
    near, far = trio.testing.memory_stream_pair()
    held = bytearray()

    async def together(data: bytes) -> None:
        held.extend(data)
        if b"welcome" in held:
            await send_all(bytes(held))
            held.clear()

    async def handler(connection: WebSocketConnection) -> None:
        await connection.send_message('{"type":"welcome"}')
        monkeypatch.setattr(far, "send_all", send_all)

    send_all = far.send_all
    monkeypatch.setattr(far, "send_all", together)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server(handler).serve, far)
        async with connect_over(near) as client:
            assert await client.next_frame() == {"type": "welcome"}


@pytest.mark.parametrize(
    ("options", "subprotocols", "authorization"),
    [
        ({}, ("agent.v1",), None),
        ({"token": "t0k"}, ("agent.v1",), b"Bearer t0k"),
        ({"token": "t0k", "token_as": "subprotocol"}, ("agent.v1", "bearer.t0k"), None),
        ({"token": "t0k", "visitor": "s3c"}, ("agent.v1", "visitor.s3c"), b"Bearer t0k"),
    ],
)
async def test_client_offers_subprotocol_and_token(
    options: dict[str, Any],
    subprotocols: tuple[str, ...],
    authorization: bytes | None,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """agent.v1 is always offered; a token is a header, or a second subprotocol as in browsers."""
    server = Server()
    async with server.client(host="agent.test:1", path="/ws", **options) as client:
        assert client.subprotocol == "agent.v1"
        assert server.request is not None
        assert server.request.proposed_subprotocols == subprotocols
        assert dict(server.request.headers).get(b"authorization") == authorization
        assert server.request.path == "/ws"


async def test_the_servers_close_code_is_told(autojump_clock: trio.testing.MockClock) -> None:
    """Frames that came before the close are still read; then reading and writing raise its code."""

    async def handler(connection: WebSocketConnection) -> None:
        await connection.send_message('{"type":"error"}')
        await connection.aclose(4401, "no")

    async with Server(handler).client() as client:
        await trio.testing.wait_all_tasks_blocked()
        assert await client.next_frame() == {"type": "error"}
        with pytest.raises(WireClosed) as read:
            await client.next_frame()
        with pytest.raises(WireClosed) as written:
            await client.ask("hi")
    assert (read.value.code, written.value.code) == (4401, 4401)


async def test_a_dropped_connection_is_1006(autojump_clock: trio.testing.MockClock) -> None:
    """No close frame came."""
    near, far = trio.testing.memory_stream_pair()

    async def handler(connection: WebSocketConnection) -> None:
        await trio.aclose_forcefully(far)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server(handler).serve, far)
        async with connect_over(near) as client:
            with pytest.raises(WireClosed) as closed:
                await client.next_frame()
    assert closed.value.code == 1006


async def test_what_the_body_raises_comes_out_bare(autojump_clock: trio.testing.MockClock) -> None:
    """The client's own nursery wraps nothing, and the connection is closed."""
    near, far = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server().serve, far)
        with pytest.raises(KeyError, match="mine"):
            async with connect_over(near):
                raise KeyError("mine")


async def test_cancel_ends_the_client_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """A cancelled client drops the stream and says nothing more."""
    async with trio.open_nursery() as nursery:
        near, far = trio.testing.memory_stream_pair()
        nursery.start_soon(Server().serve, far)
        start = trio.current_time()
        with trio.move_on_after(5) as scope:
            async with connect_over(near) as client:
                await client.next_frame()
        assert scope.cancelled_caught
        assert trio.current_time() - start == pytest.approx(5)


async def test_a_server_that_does_not_close_is_left_after_a_moment(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Closing waits for the other half, but not for ever."""

    async def handler(connection: WebSocketConnection) -> None:
        await trio.sleep(3600)

    near, far = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:

        async def deaf() -> None:
            async with trio.open_nursery() as inner:
                request = await wrap_server_stream(inner, far)
                await request.accept()
                inner.cancel_scope.cancel()

        nursery.start_soon(deaf)
        start = trio.current_time()
        async with connect_over(near):
            pass
        assert trio.current_time() - start <= 2


@pytest.mark.parametrize(
    ("answer", "words", "status"),
    [
        (
            b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno",
            "refused the connection with HTTP status 503",
            503,
        ),
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "refused the connection with HTTP status 403", 403),
        (b"SSH-2.0-server\r\n\r\n", "does not speak WebSocket", None),
        (b"", "before the handshake was done", None),
        (None, "before the handshake was done", None),
    ],
    ids=["busy", "forbidden", "other protocol", "hangs up", "silent"],
)
async def test_a_refused_handshake_is_one_line(
    answer: bytes | None, words: str, status: int | None, autojump_clock: trio.testing.MockClock
) -> None:
    """Whatever the other end is, the client says so in words, with the HTTP status where there is one."""
    start = trio.current_time()
    error = await refused(answer)
    assert str(error).startswith("agent.test ")
    assert words in str(error)
    assert error.status == status
    assert trio.current_time() - start == (pytest.approx(10) if answer is None else 0)


async def test_a_peer_that_breaks_the_protocol_ends_the_session(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """An error inside the library's reader reaches the caller as a closed wire."""
    near, far = trio.testing.memory_stream_pair()

    async def handler(connection: WebSocketConnection) -> None:
        await far.send_all(b"\xff\xff\xff\xff")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server(handler).serve, far)
        with pytest.raises(WireClosed):
            async with connect_over(near) as client:
                await client.next_frame()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ws://127.0.0.1:8787/ws", ("127.0.0.1", 8787, "127.0.0.1:8787", "/ws")),
        ("http://localhost:9/", ("localhost", 9, "localhost:9", "/ws")),
        ("localhost:9", ("localhost", 9, "localhost:9", "/ws")),
        ("ws://agent.test", ("agent.test", 80, "agent.test:80", "/ws")),
        ("ws://[::1]:9/other", ("::1", 9, "[::1]:9", "/other")),
    ],
)
async def test_url_names_host_port_and_path(
    url: str,
    expected: tuple[str, int, str, str],
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A page's URL will do as well as the socket's."""
    near, far = trio.testing.memory_stream_pair()
    dialled = []
    sent: list[bytes] = []
    send_all = near.send_all

    async def noting(data: bytes) -> None:
        sent.append(data if not sent else b"")
        await send_all(data)

    async def dial(host: str, port: int) -> trio.abc.Stream:
        dialled.append((host, port))
        return near

    monkeypatch.setattr(near, "send_all", noting)
    monkeypatch.setattr(trio, "open_tcp_stream", dial)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Server().serve, far)
        async with connect(url):
            pass
    request, headers = b"".join(sent).decode().split("\r\n", 1)
    host = next(line[6:] for line in headers.splitlines() if line.lower().startswith("host: "))
    assert (*dialled[0], host, request.split(" ")[1]) == expected


@pytest.mark.parametrize("url", ["ftp://x", "ws://", "ws://x:99999", "ws://x:y"])
async def test_url_that_is_none_is_a_usage_error(url: str) -> None:
    """The message shows what a URL looks like."""
    with pytest.raises(UsageError, match=r"ws://127\.0\.0\.1:8787/ws"):
        async with connect(url):
            raise AssertionError("there is no session")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ECONNREFUSED, "Error connecting to (..)"), "Connection refused"),
        (OSError("Name unknown"), "Name unknown"),
        (None, "no answer in 10 s"),
    ],
)
async def test_no_connection_is_one_line(
    error: OSError | None, words: str, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """The URL, the system's reason and what to do, and nothing else."""

    async def dial(host: str, port: int) -> trio.abc.Stream:
        if error is None:
            await trio.sleep_forever()
            raise AssertionError("unreachable")
        raise OSError("all attempts failed") from ExceptionGroup("", [ExceptionGroup("", [error])])

    monkeypatch.setattr(trio, "open_tcp_stream", dial)
    with pytest.raises(CannotConnect) as caught:
        async with connect("ws://agent.test:1"):
            raise AssertionError("there is no session")
    assert str(caught.value) == f"cannot connect to ws://agent.test:1: {words}; {START}"
    assert "agent serve" in START
