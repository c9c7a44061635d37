"""The listening server: what each connection turns out to be, and that a fault stays in its own."""

import socket
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.config import CLOSE_TIMEOUT
from agent.errors import WireClosed
from agent.server.addresses import Addresses
from agent.server.admission import Admission
from agent.server.gate import Gate
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.page_routes import PageContents
from agent.server.serve import Edge, serve, serve_stream
from agent.server.settings import TURNED_AWAY_BRIEFLY, ServerSettings
from agent.server.websocket import Connection

from . import http_server, later

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
BYE = b"\x88\x82" + bytes(4) + b"\x03\xe8"


async def greet(connection: Connection) -> None:
    """Say hello and wait for the client to leave."""
    connection.put_frames(connection.make_frame(b"hello"))
    connection.flush()
    with suppress(WireClosed):
        await connection.deliver_messages(lambda message: None)


def edge(handler: Any = greet, size: int = 10, **settings: Any) -> tuple[Edge, Metrics]:
    """Build an edge and its figures."""
    metrics, gate = Metrics(), Gate()
    admission = Admission.of(ServerSettings(**settings))
    contents = PageContents(
        asyncapi=b"{}", session_diagram="", metrics=later(metrics.text), unready=later(lambda: gate.unready)
    )
    cap = ConnectionLimits(size)
    return Edge(
        admission=admission,
        handler=handler,
        http=http_server(contents, admission, cap, metrics),
        limits=cap,
        observer=metrics,
        gate=gate,
    ), metrics


async def ask(of: Edge, data: bytes) -> bytes:
    """Send bytes over a memory stream and return all that comes back."""
    client, server = trio.testing.memory_stream_pair()
    answer = bytearray()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, of, server)
        await client.send_all(data)
        while received := await client.receive_some():
            answer += received
        await client.aclose()
    assert of.limits.used == 0
    return bytes(answer)


async def test_an_upgrade_reaches_the_handler_and_a_request_the_page() -> None:
    """Both on the same port."""
    of, metrics = edge()
    assert (await ask(of, UPGRADE + b"\r\n" + BYE)).endswith(b"\x81\x05hello\x88\x02\x03\xe8")
    page = await ask(of, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert page.startswith(b"HTTP/1.1 200 ")
    text = metrics.text().decode()
    assert 'agent_connections_total{kind="websocket"} 1.0' in text
    assert 'agent_connections_total{kind="http"} 1.0' in text


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (UPGRADE.replace(b"localhost", b"evil.example") + b"\r\n", 421),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (UPGRADE + b"Origin: http://evil.example\r\n\r\n", 403),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 401),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 401),
        (b"nonsense\r\n\r\n", 400),
    ],
)
async def test_what_is_not_admitted_never_gets_further(data: bytes, status: int) -> None:
    """Nothing is upgraded or served; the answer is a sentence."""
    of, metrics = edge(token="t0ken")
    answer = await ask(of, data)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1 %d " % status) == answer.count(b"\r\n\r\n") == 1
    assert answer.endswith(b".\n")
    assert f'agent_rejections_total{{status="{status}"}} 1.0' in metrics.text().decode()


async def test_a_refused_head_request_has_no_body() -> None:
    """As HTTP asks."""
    of, _ = edge()
    answer = await ask(of, b"HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 421 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("shown", "end"),
    [
        (b"", b"\x88\x10\x11\x31not authorised"),
        (b"Sec-WebSocket-Protocol: agent.v1, bearer.wrong\r\n", b"\x88\x10\x11\x31not authorised"),
        (b"Sec-WebSocket-Protocol: agent.v1, bearer.t0ken\r\n", b"\x81\x05hello\x88\x02\x03\xe8"),
        (b"Authorization: Bearer t0ken\r\n", b"\x81\x05hello\x88\x02\x03\xe8"),
    ],
)
async def test_a_websocket_without_its_token_is_closed_with_4401(shown: bytes, end: bytes) -> None:
    """After the upgrade, so that a page can know why; the token itself never comes back."""
    of, _ = edge(token="t0ken")
    answer = await ask(of, UPGRADE + shown + b"\r\n" + BYE)
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert answer.endswith(end)
    assert b"bearer" not in answer
    assert (b"agent.v1" in answer) == (b"agent.v1" in shown)


@pytest.mark.parametrize("crowded", [False, True])
async def test_a_connection_over_the_cap_is_told_to_come_back(
    crowded: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """And one that then stays is closed, the sooner the more there are."""
    of, _ = edge(size=0)
    while crowded and of.limits.refusals.acquire():
        pass
    client, server = trio.testing.memory_stream_pair()
    await client.send_all(UPGRADE + b"\r\n")
    await serve_stream(of, server)
    answer = await client.receive_some()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 2\r\n" in answer
    assert trio.current_time() == pytest.approx(TURNED_AWAY_BRIEFLY if crowded else CLOSE_TIMEOUT)


async def test_a_client_that_leaves_at_once_is_no_fault() -> None:
    """Browsers open connections that they do not use."""
    of, metrics = edge()
    client, server = trio.testing.memory_stream_pair()
    await client.aclose()
    with capture_logs() as logs:
        await serve_stream(of, server)
    assert logs == []
    assert 'agent_connections_total{kind="left"} 1.0' in metrics.text().decode()


async def test_a_fault_is_logged_in_one_line_and_ends_its_connection_alone() -> None:
    """The innocent client beside it gets its answer, and the log has no word of a client's."""

    async def breaks(connection: Connection) -> None:
        await greet(connection)
        raise ZeroDivisionError("the client's own words")

    of, _ = edge(breaks)
    innocent, stream = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, of, stream)
        await innocent.send_all(UPGRADE + b"\r\n")
        await trio.testing.wait_all_tasks_blocked()
        client, server = trio.testing.memory_stream_pair()
        await client.send_all(UPGRADE + b"\r\n" + BYE)
        with capture_logs() as logs:
            await serve_stream(of, server)
        assert [entry["event"] for entry in logs] == ["connection failed"]
        assert (await innocent.receive_some()).startswith(b"HTTP/1.1 101 ")
        nursery.cancel_scope.cancel()
    assert of.limits.used == 0


async def test_an_aborted_connection_is_counted() -> None:
    """Operators see clients that do not read."""

    async def aborts(connection: Connection) -> None:
        connection.abort()
        await trio.lowlevel.checkpoint()

    of, metrics = edge(aborts)
    assert await ask(of, UPGRADE + b"\r\n") == b""
    assert "agent_aborts_total 1.0" in metrics.text().decode()


async def test_draining_stops_accepting_and_lets_connections_finish() -> None:
    """Over real sockets: ready, then not; the listener closes, the session goes on, and serve returns at its end."""
    of, _ = edge()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = listeners[0].socket.getsockname()
    seen: list[str] = [of.gate.unready]
    delays: list[int] = []

    async def handler(connection: Connection) -> None:
        raw: Any = connection._raw
        delays.append(raw.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await greet(connection)

    of = replace(of, admission=Admission.of(ServerSettings(), address[1]), handler=handler)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve, listeners, of))
            seen.append(of.gate.unready)
            async with await trio.open_tcp_stream(*address) as client:
                await client.send_all(UPGRADE + b"\r\n")
                received = bytearray()
                while not received.endswith(b"hello"):
                    received += await client.receive_some()
                of.gate.drain()
                await trio.testing.wait_all_tasks_blocked()
                seen.append(of.gate.unready)
                with pytest.raises(OSError, match="connect"):
                    await trio.open_tcp_stream(*address)
                await client.send_all(BYE)
                assert await client.receive_some() == b"\x88\x02\x03\xe8"
                assert await client.receive_some() == b""
    assert seen == ["The server is starting.", "", "The server is going down."]
    assert all(delays)


async def test_a_reset_connection_is_no_fault() -> None:
    """A client that vanishes right after the accept raises nothing, and the next one is served."""
    of, _ = edge()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = listeners[0].socket.getsockname()
    of = replace(of, admission=Admission.of(ServerSettings(), address[1]))
    with capture_logs() as logs, trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve, listeners, of))
            for data in (b"", b"GET / HT", UPGRADE + b"\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                stream = await trio.open_tcp_stream(*address)
                await stream.send_all(data)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                await stream.aclose()
            async with await trio.open_tcp_stream(*address) as client:
                host = b"Host: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % address[1]
                await client.send_all(b"GET /healthz HTTP/1.1\r\n" + host)
                answer = bytearray()
                while data := bytes(await client.receive_some()):
                    answer += data
            assert answer.endswith(b"ok\n")
            nursery.cancel_scope.cancel()
    assert logs == []


@pytest.mark.parametrize("behind", [b"", b"GET /healthz HTTP/1.1\r\n\r\n"])
async def test_a_client_that_sends_nothing_more_is_not_waited_for(behind: bytes) -> None:
    """After `Connection: close` the server closes at once, but not where unread bytes would reset the connection."""
    of, _ = edge()
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = listeners[0].socket.getsockname()
    of = replace(of, admission=Admission.of(ServerSettings(), address[1]))
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve, listeners, of))
            async with await trio.open_tcp_stream(*address) as client:
                host = b"Host: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % address[1]
                await client.send_all(b"GET /healthz HTTP/1.1\r\n" + host + behind)
                answer = bytearray()
                while data := bytes(await client.receive_some()):
                    answer += data
                assert answer.endswith(b"ok\n")
                await trio.sleep(0.1)
                assert of.limits.used == (1 if behind else 0)
            nursery.cancel_scope.cancel()


async def test_a_crowd_is_accepted_in_few_turns() -> None:
    """A busy loop gives the listener a turn now and then; each time it takes all that wait."""
    of, _ = edge(size=40)
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = listeners[0].socket.getsockname()
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve, listeners, of))
        clients = [socket.create_connection(address) for _ in range(40)]
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert of.limits.used == 40
        nursery.cancel_scope.cancel()
    for client in clients:
        client.close()


async def test_a_socket_counts_for_its_peer_or_for_whom_a_proxy_names() -> None:
    """Over real sockets: this machine has no limit of its own, and as a trusted proxy it speaks for others."""
    of, metrics = edge(size=10)
    settings = ServerSettings(max_connections=10, max_per_address=2, trust_proxy=("127.0.0.1",))
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = listeners[0].socket.getsockname()
    proxied = replace(
        of,
        admission=Admission.of(ServerSettings(), address[1]),
        limits=ConnectionLimits.of(settings, 20.0),
        addresses=Addresses.of(settings),
    )
    told = []
    async with AsyncExitStack() as clients, trio.open_nursery() as nursery:
        await nursery.start(partial(serve, listeners, proxied))
        for said in (b"192.0.2.1", b"192.0.2.1", b"192.0.2.1", b"192.0.2.2", b"", b"", b"", b"nowhere"):
            stream = await clients.enter_async_context(await trio.open_tcp_stream(*address))
            forwarded = b"X-Forwarded-For: " + said + b"\r\n" if said else b""
            await stream.send_all(UPGRADE + forwarded + b"\r\n")
            told.append(int((await stream.receive_some(32)).split()[1]))
        nursery.cancel_scope.cancel()
    assert told == [101, 101, 429, 101, 101, 101, 101, 400]
    assert 'agent_limited_total{limit="address"} 1.0' in metrics.text().decode()
