"""The head of a request: how it is read, refused, and what may follow it."""

import socket

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from agent.config import HEAD_MAX, HEAD_TIMEOUT
from agent.server.api.answers import answer_refusal
from agent.server.request_head import Head, Refusal, close_now, hang_up, read_head

GET = b"GET /ws HTTP/1.1\r\nHost: localhost\r\n"
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
VERSION = b"Sec-WebSocket-Version: 13\r\n"
UPGRADE = GET + b"Connection: Upgrade\r\nUpgrade: WebSocket\r\n" + KEY + VERSION


async def read(*pieces: bytes, eof: bool = False) -> Head | Refusal | None:
    """Send the pieces one by one and return what `read_head` makes of them."""
    client, server = trio.testing.memory_stream_pair()
    result: list[Head | Refusal | None] = []

    async def reading() -> None:
        result.append(await read_head(server))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reading)
        for piece in pieces:
            await client.send_all(piece)
            await trio.testing.wait_all_tasks_blocked()
        if eof:
            await client.send_eof()
    return result[0]


async def head_of(data: bytes) -> Head:
    """Read bytes that are a head that is let through."""
    head = await read(data)
    assert isinstance(head, Head)
    return head


async def status_of(data: bytes) -> int:
    """Read bytes that are refused and return the status."""
    refusal = await read(data)
    assert isinstance(refusal, Refusal)
    return refusal.status


async def test_a_head_that_comes_one_byte_at_a_time_is_read_whole() -> None:
    """The head is the same however it is cut."""
    data = b"GET /a?b=c HTTP/1.1\r\nHost: localhost\r\nX-Y: z\r\n\r\n"
    head = await read(*(data[i : i + 1] for i in range(len(data))))
    assert isinstance(head, Head)
    assert (head.method, head.target, head.path, head.version) == (b"GET", b"/a?b=c", b"/a", b"1.1")
    assert head.headers == ((b"host", b"localhost"), (b"x-y", b"z"))
    assert (head.raw, head.rest) == (data, b"")


async def test_half_a_head_and_silence_is_408_after_five_seconds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A client that stops midway is told so when its time is over, not before."""
    started = trio.current_time()
    answer = await read(b"GET / HTTP/1.1\r\nHo")
    assert isinstance(answer, Refusal)
    assert answer.status == 408
    assert trio.current_time() - started == pytest.approx(HEAD_TIMEOUT)


async def test_one_byte_per_second_does_not_extend_the_deadline(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The five seconds are for the whole head."""
    client, server = trio.testing.memory_stream_pair()
    started = trio.current_time()
    async with trio.open_nursery() as nursery:

        async def drip() -> None:
            for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":
                await client.send_all(bytes((byte,)))
                await trio.sleep(1)

        nursery.start_soon(drip)
        answer = await read_head(server)
        nursery.cancel_scope.cancel()
    assert isinstance(answer, Refusal)
    assert answer.status == 408
    assert trio.current_time() - started == pytest.approx(HEAD_TIMEOUT)


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"], ids=["endless", "whole"])
async def test_a_head_over_16_kib_is_431(end: bytes) -> None:
    """The cap holds whether or not the head ever ends."""
    assert await status_of(GET + b"X: " + b"x" * HEAD_MAX + end) == 431


async def test_a_head_of_just_under_16_kib_passes() -> None:
    """The cap is no tighter than it says."""
    frame = GET + b"X: \r\n\r\n"
    head = await head_of(GET + b"X: " + b"x" * (HEAD_MAX - len(frame)) + b"\r\n\r\n")
    assert len(head.raw) == HEAD_MAX


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET / HTTP/1.2\r\nHost: localhost\r\n\r\n", 505),
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET http://elsewhere/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"garbage\r\n\r\n", 400),
        (UPGRADE + b"Content-Length: 5\r\n\r\nhello", 400),
        (UPGRADE + b"Sec-WebSocket-Protocol: \xff\r\n\r\n", 400),
    ],
)
async def test_what_this_port_does_not_speak_is_refused(data: bytes, status: int) -> None:
    """HTTP/2, other methods, proxy requests, TLS and garbage each get their status."""
    assert await status_of(data) == status


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ((VERSION, b"Sec-WebSocket-Version: 12\r\n"), 426),
        ((VERSION, b"Sec-WebSocket-Version: 13, 8\r\n"), 426),
        ((VERSION, b""), 400),
        ((VERSION, VERSION * 2), 400),
        ((KEY, b""), 400),
        ((KEY, KEY * 2), 400),
        ((KEY, KEY + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key:\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key: AAAA\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAA=\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key: AAAAAAAAAA AAAAAAAAAAAA==\r\n"), 400),
        ((KEY, b"Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==\r\n"), 400),
        ((b"Connection: Upgrade", b"Connection: close"), 400),
        ((b"Connection: Upgrade\r\n", b""), 400),
    ],
)
async def test_a_bad_upgrade_is_refused_before_anything_else(
    change: tuple[bytes, bytes], status: int
) -> None:
    """One key of 16 bytes in base64, one version, 13, and a connection that is to be upgraded."""
    assert change[0] in UPGRADE
    refusal = await read(UPGRADE.replace(*change) + b"\r\n")
    assert isinstance(refusal, Refusal)
    assert refusal.status == status
    assert (status == 426) == (refusal.headers.get("Sec-WebSocket-Version") == "13")


async def test_a_client_that_leaves_before_its_head_is_whole_gets_nothing() -> None:
    """There is nobody left to answer."""
    assert await read(b"GET / HT", eof=True) is None


async def test_a_client_that_resets_gets_nothing() -> None:
    """A broken stream is the same as a client that left."""
    client, server = trio.testing.memory_stream_pair()
    await server.aclose()
    assert await read_head(server) is None
    await client.aclose()


@pytest.mark.parametrize(
    ("data", "upgrade"),
    [
        (UPGRADE, True),
        (UPGRADE.replace(b"/ws", b"/"), True),
        (UPGRADE.replace(b"/ws", b"/ws?x"), True),
        (UPGRADE.replace(b": WebSocket", b": h2c, websocket"), True),
        (UPGRADE.replace(b"/ws", b"/other"), False),
        (UPGRADE.replace(b"1.1", b"1.0"), False),
        (UPGRADE.replace(b"GET", b"POST"), False),
        (UPGRADE.replace(b": WebSocket", b": h2c"), False),
        (GET, False),
    ],
)
async def test_only_a_websocket_upgrade_of_our_paths_is_one(data: bytes, upgrade: bool) -> None:
    """Everything else is plain HTTP."""
    assert (await head_of(data + b"\r\n")).upgrade is upgrade


async def test_what_follows_the_head_is_kept_apart() -> None:
    """Frames glued to the upgrade are neither head nor lost."""
    head = await head_of(UPGRADE + b"\r\n\x81\x80abcd")
    assert (head.raw, head.rest) == (UPGRADE + b"\r\n", b"\x81\x80abcd")


async def test_bare_line_feeds_do_not_hide_a_second_request() -> None:
    """The parser that checks and the parser that obeys see the same end of the head."""
    second = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = await head_of(b"GET / HTTP/1.1\nHost: localhost\n\n" + second)
    assert (head.target, head.rest) == (b"/", second)


@pytest.mark.parametrize(
    ("about", "follows"),
    [
        (b"", True),
        (b"Connection: keep-alive\r\n", True),
        (b"Connection: close\r\n", False),
        (b"Connection: keep-alive, CLOSE\r\n", False),
        (b"Connection: keep-alive\r\nConnection: close\r\n", False),
        (b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n", False),
        (b"X: a\n", False),
        (b"X: a\r\n b\r\n", False),
        (b"X: a\r\n\tb\r\n", False),
        (b"Content-Length: 0\r\nContent-Length: 0\r\n", False),
    ],
)
async def test_what_another_request_may_follow(about: bytes, follows: bool) -> None:
    """No other protocol, no wish to end, no line that another reader cuts or joins otherwise; and HTTP/1.1."""
    head = await head_of(b"GET /x?y HTTP/1.1\r\nHost: localhost\r\n" + about + b"\r\n")
    assert head.persists is follows
    old = await head_of(b"GET / HTTP/1.0\r\nHost: localhost\r\n" + about + b"\r\n")
    assert not old.persists


@pytest.mark.parametrize(
    ("about", "announced"),
    [
        (b"", False),
        (b"Content-Length: 0\r\n", False),
        (b"Content-Length: 3\r\n", True),
        (b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n", True),
        (b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", True),
    ],
)
async def test_a_body_is_announced_by_its_length_or_its_chunks(about: bytes, announced: bool) -> None:
    """What follows the head is its rest, whatever it is."""
    head = await head_of(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + about + b"\r\nabc")
    assert (head.announces, head.rest) == (announced, b"abc")


async def test_subprotocols_are_split_over_commas_and_headers() -> None:
    """The client's offers, in its order."""
    head = await head_of(
        UPGRADE + b"Sec-WebSocket-Protocol: agent.v1, bearer.x\r\nSec-WebSocket-Protocol: z\r\n\r\n"
    )
    assert head.subprotocols == ("agent.v1", "bearer.x", "z")


def test_a_refusal_is_a_whole_http_response() -> None:
    """A client's HTTP library can read it."""
    text = answer_refusal(Refusal(503, "Later.", {"Retry-After": "2"}), "plain").render().decode()
    assert text.startswith("HTTP/1.1 503 Service Unavailable\r\n")
    assert "\r\nContent-Length: 7\r\n" in text
    assert "\r\nRetry-After: 2\r\n" in text
    assert text.endswith("\r\nConnection: close\r\n\r\nLater.\n")
    assert answer_refusal(Refusal(400, "No."), "plain").render(body=False).endswith(b"close\r\n\r\n")


FRAGMENTS = st.sampled_from(
    [
        b"GET / HTTP/1.1\r\n",
        b"POST /ws HTTP/1.1\r\n",
        b"GET /a HTTP/1.0\n",
        b"PRI * HTTP/2.0\r\n",
        b"Host: localhost\r\n",
        b"Host:\r\n",
        b"Connection: keep-alive, Upgrade\r\n",
        b"Upgrade: websocket\r\n",
        b"uPGRADE: h2c\r\n",
        b"HTTP2-Settings: AAMAAABk\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 05, 6\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Expect: 100-continue\r\n",
        b"X: a\r\n\tfolded\r\n",
        b"X : a\r\n",
        b": a\r\n",
        b"X: \xff\x00\r\n",
        b"\r\n",
        b"\n",
        b"\r",
    ]
)
REQUESTS = st.one_of(
    st.binary(max_size=300),
    st.lists(FRAGMENTS, max_size=12).map(b"".join),
    st.lists(FRAGMENTS, max_size=8).map(
        lambda parts: b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(parts) + b"\r\n\r\n"
    ),
)


@given(REQUESTS)
def test_whatever_comes_is_refused_or_becomes_one_plain_request(data: bytes) -> None:
    """Nothing makes the reader raise; and behind what another may follow, every reader sees it begin there."""

    async def main() -> Head | Refusal | None:
        return await read(data, eof=True)

    head = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    if not isinstance(head, Head):
        assert head is None or 400 <= head.status < 600
        return
    assert data.startswith(head.raw + head.rest)
    if head.persists:
        names = tuple(name for name, _ in head.headers)
        assert as_strict_readers_do(head.raw) == (head.method, head.target, names)


def as_strict_readers_do(raw: bytes) -> tuple[bytes, bytes, tuple[bytes, ...]]:
    """Read a head whose lines end in CR LF, and only there; return its method, its target and its headers' names."""
    assert raw.endswith(b"\r\n\r\n")
    first, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert not any(end in line for line in lines for end in (b"\r", b"\n"))
    method, target, version = first.split(b" ")
    assert version == b"HTTP/1.1"
    return method, target, tuple(line.partition(b":")[0].lower() for line in lines)


async def test_hanging_up_lets_a_client_that_still_sends_read_the_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The answer comes whole, the end follows, and a client that never leaves is left after three seconds."""
    client, server = trio.testing.memory_stream_pair()
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hang_up, server, b"bye")
        assert await client.receive_some() == b"bye"
        assert await client.receive_some() == b""
        await client.send_all(b"still talking")
    assert trio.current_time() - started <= 3
    with pytest.raises(trio.BrokenResourceError):
        await client.send_all(b"anyone?")


async def test_a_socket_is_closed_without_a_round_of_the_loop() -> None:
    """Whoever waits for it is told; to close it again does nothing. Another stream is closed as forcefully."""
    ours, theirs = socket.socketpair()
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    with theirs:
        async with trio.open_nursery() as nursery:

            async def wait() -> None:
                with pytest.raises(trio.ClosedResourceError):
                    await stream.receive_some()

            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            with trio.testing.assert_no_checkpoints():
                await close_now(stream)
        await close_now(stream)
        assert theirs.recv(1) == b""
    client, server = trio.testing.memory_stream_pair()
    await close_now(server)
    assert await client.receive_some() == b""


async def test_hanging_up_on_a_client_that_has_left_raises_nothing() -> None:
    """There is nobody to tell."""
    client, server = trio.testing.memory_stream_pair()
    await client.aclose()
    await hang_up(server, b"bye")
