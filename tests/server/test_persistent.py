"""One request after the other over one connection: what may follow what, for how long, and what ends it.

Whole servers over memory streams in virtual time.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.config import ACCEPTED_AT_ONCE, HEAD_TIMEOUT, WRITE_TIMEOUT
from agent.llm.script import ScriptEntry, ScriptModel
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server import limits
from agent.server.http_exchange import HttpExchange
from agent.server.limits import ACCEPTED_IN_A_FLOOD, FLOOD
from agent.server.request_head import Head, read_head
from agent.server.responses import plain_text
from agent.server.serve import REQUESTS_MOST
from agent.server.settings import IDLE_TIMEOUT
from agent.settings import Settings
from agent.testing.fakes import Figures
from agent.testing.faults import PipeEnd, pipe_to
from agent.testing.network import Network, network
from tests.examples import sample

KNOWLEDGE = KnowledgeBase.build(
    [SourceFile.of("kb/a.md", "# Plans\n\nThe Standard plan costs 299 kr a month.\n")]
)
SAID = "The Standard plan costs 299 kr a month."
MODEL = ScriptModel((ScriptEntry(match="for ever", hang=True), ScriptEntry(match="", text=SAID)))
TOKEN = "a-token-of-24-characters"
QUESTION = b'{"text":"What does the Standard plan cost?"}'
UPGRADE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


def get(path: str = "/healthz", *headers: str, method: str = "GET", host: str = "localhost") -> bytes:
    """A request without a body."""
    return "\r\n".join((f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", "")).encode()


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A request with JSON."""
    about = "Content-Type: application/json", f"Content-Length: {len(body)}"
    return get(path, *about, *headers, method="POST") + body


def ask(text: str = "What does the Standard plan cost?") -> bytes:
    """A question."""
    return post("/ask", json.dumps({"text": text}).encode())


class Client:
    """One connection. seen: all that has come."""

    def __init__(self, end: PipeEnd) -> None:
        self.end = end
        self.seen = b""

    async def send(self, *pieces: bytes) -> list[tuple[int, str]]:
        """Send pieces, each once the server waits; return status and Connection of each answer that came then."""
        for piece in pieces:
            self.end.feed(piece)
            await trio.testing.wait_all_tasks_blocked()
        return await self.told()

    async def told(self) -> list[tuple[int, str]]:
        """Return status and Connection of each answer that has come since."""
        came = b""
        await trio.testing.wait_all_tasks_blocked()
        while more := self.end.take():
            came += more
            await trio.testing.wait_all_tasks_blocked()
        self.seen += came
        return answers(came)

    async def ended(self) -> bool:
        """Whether the server has ended the connection, and nothing came before its end."""
        with trio.move_on_after(0.01):
            return await self.end.receive_some() == b""
        return False


def answers(came: bytes) -> list[tuple[int, str]]:
    """Return status and Connection of each answer in some bytes, which they must be."""
    found = []
    while came:
        head, _, rest = came.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        named = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        if first.split()[1] != "100":
            found.append((int(first.split()[1]), named["connection"]))
        came = rest[int(named.get("content-length", "0")) :]
    return found


GOOD, LAST = (200, "keep-alive"), (200, "close")


@asynccontextmanager
async def server(**settings: Any) -> AsyncGenerator[Network, None]:
    """Run a server for the time of a block."""
    chosen = Settings.of(**({"pace_ms": 0, "rate_limit": 0, "api_rate": 0, "turn_timeout": 1000} | settings))
    async with network(chosen, Adapters(knowledge=KNOWLEDGE, model=MODEL)) as net:
        yield net


def nothing_is_left(net: Network) -> None:
    edge = net.app._edge
    assert edge is not None
    cap = edge.limits
    assert (len(net.app.registry), cap.used, cap.places.used, cap.door.used) == (0, 0, 0, 0)


async def test_a_client_that_asks_again_is_answered_again(autojump_clock: trio.testing.MockClock) -> None:
    """Whatever it asks for, each answer as over a connection of its own; it is told for how long it may wait."""
    async with server() as net:
        client = Client(net.open())
        assert await client.send(get()) == [GOOD]
        assert b"\r\nKeep-Alive: timeout=5\r\n" in client.seen
        assert await client.send(get("/")) == [GOOD]
        assert await client.send(get("/static/app.js")) == [GOOD]
        assert await client.send(ask()) == [GOOD]
        assert client.seen.count(b'"text":"') == 1
        assert await client.send(get("/projects")) == [GOOD]
        assert await client.send(post("/projects", b'{"name":"a","role_statement":"b"}')) == [
            (201, "keep-alive")
        ]
        assert await client.send(get("/v1/models")) == [GOOD]
        assert await client.send(get("/metrics", "Connection: close")) == [LAST]
        assert b'agent_connections_total{kind="http"} 1.0' in client.seen
        assert await client.ended()
        client.end.close()
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


async def test_what_a_client_holds_is_not_sent_again(autojump_clock: trio.testing.MockClock) -> None:
    """304 has no body, nor has an answer to HEAD or 204, and another request may follow each."""
    async with server() as net:
        client = Client(net.open())
        assert await client.send(get("/static/style.css")) == [GOOD]
        tag = client.seen.partition(b"etag: ")[2].partition(b"\r\n")[0].decode()
        assert await client.send(get("/static/style.css", f"If-None-Match: {tag}")) == [(304, "keep-alive")]
        client.end.feed(get("/static/style.css", method="HEAD"))
        await trio.testing.wait_all_tasks_blocked()
        assert client.end.take().endswith(b"\r\n\r\n")
        created = await client.send(post("/projects", b'{"name":"a","role_statement":"b"}'))
        assert created == [(201, "keep-alive")]
        id = json.loads(client.seen.rpartition(b"\r\n\r\n")[2])["id"]
        assert await client.send(get(f"/projects/{id}", method="DELETE")) == [(204, "keep-alive")]
        assert await client.send(get()) == [GOOD]


async def test_a_next_request_may_be_late_for_so_long(autojump_clock: trio.testing.MockClock) -> None:
    """IDLE_TIMEOUT until it begins, after which the connection ends without a word; then a head's time for its head."""
    async with server() as net:
        client = Client(net.open())
        await client.send(get())
        await trio.sleep(IDLE_TIMEOUT - 0.1)
        assert await client.send(get()) == [GOOD]
        await trio.sleep(IDLE_TIMEOUT - 0.1)
        assert await client.send(get()[:10]) == []
        await trio.sleep(HEAD_TIMEOUT - 0.1)
        assert await client.told() == []
        assert await client.send(get()[10:]) == [GOOD]
        await trio.sleep(IDLE_TIMEOUT + 0.1)
        assert await client.told() == []
        assert await client.ended()
        nothing_is_left(net)
        client = Client(net.open())
        await client.send(get())
        assert await client.send(get()[:10]) == []
        await trio.sleep(HEAD_TIMEOUT + 0.1)
        assert await client.told() == [(408, "close")]


async def test_a_connection_has_so_many_requests(autojump_clock: trio.testing.MockClock) -> None:
    """The last of them is told to be."""
    async with server() as net:
        client = Client(net.open())
        told = [await client.send(get()) for _ in range(REQUESTS_MOST)]
        assert told == [[GOOD]] * (REQUESTS_MOST - 1) + [[LAST]]
        assert await client.ended()


async def test_every_request_is_checked_for_itself(autojump_clock: trio.testing.MockClock) -> None:
    """Neither a Host, nor an Origin, nor a key that was shown is good for the next."""
    shown = f"Authorization: Bearer {TOKEN}"
    for bad, status in (
        (get("/metrics"), 401),
        (get("/projects"), 401),
        (get("/ask", method="POST"), 401),
        (get("/metrics", shown, host="evil.example"), 421),
        (get("/metrics", shown, "Origin: http://evil.example"), 403),
        (get("/metrics", shown, "Host: localhost"), 400),
    ):
        async with server(token=TOKEN) as net:
            client = Client(net.open())
            assert await client.send(get("/metrics", shown)) == [GOOD]
            assert await client.send(get("/projects", shown)) == [GOOD]
            assert await client.send(bad) == [(status, "close")]
            assert await client.ended()


async def test_behind_an_answer_that_says_no_nothing_follows(autojump_clock: trio.testing.MockClock) -> None:
    """Whether or not its body was read."""
    for bad, status in (
        (get("/nothing"), 404),
        (get("/threads/none"), 404),
        (post("/chat", b"{"), 400),
        (post("/ask", b"{}"), 400),
        (get("/ws"), 426),
        (get("/calls?limit=0"), 400),
        (get("/", method="POST"), 405),
        (b"nonsense\r\n\r\n", 400),
    ):
        async with server() as net:
            client = Client(net.open())
            assert await client.send(get()) == [GOOD]
            assert await client.send(bad) == [(status, "close")]
            assert await client.ended()


HIDDEN = get("/session.mmd")
CHUNKED = "Transfer-Encoding: chunked"
JSON = "Content-Type: application/json"
CHUNKS = b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(QUESTION), QUESTION)
SMUGGLED = {
    "a request": get() + HIDDEN,
    "half a request": get() + HIDDEN[:20],
    "a byte": get() + b"x",
    "an empty line": get() + b"\r\n" + HIDDEN,
    "a body that is not read": get("/healthz", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a body that comes later": get("/healthz", f"Content-Length: {len(HIDDEN)}"),
    "chunks that are not read": get("/healthz", CHUNKED) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN),
    "two ends of a body that is not read": get("/healthz", "Content-Length: 5", CHUNKED)
    + b"0\r\n\r\n"
    + HIDDEN,
    "behind a body": ask() + HIDDEN,
    "behind chunks": get("/ask", JSON, CHUNKED, method="POST") + CHUNKS + HIDDEN,
    "behind a trailer": get("/ask", JSON, CHUNKED, method="POST")
    + CHUNKS[:-2]
    + b"Content-Length: 9\r\n\r\n"
    + HIDDEN,
    "in a body of the API": get("/projects", f"Content-Length: {len(HIDDEN)}") + HIDDEN,
    "a folded header": get("/healthz", "X: a\r\n Content-Length: 40") + HIDDEN,
    "a folded header alone": get("/healthz", "X: a\r\n Content-Length: 40"),
    "bare line feeds": get().replace(b"\r\n", b"\n"),
    "a bare line feed in a header": get("/healthz", "X: a\nContent-Length: 40"),
    "one length twice": get("/healthz", "Content-Length: 0", "Content-Length: 0"),
    "HTTP/1.0": get("/healthz", "Connection: keep-alive").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "another protocol": get("/healthz", "Connection: Upgrade", "Upgrade: h2c"),
    "a WebSocket elsewhere": get("/healthz", *UPGRADE),
    "a wish to end": get("/healthz", "Connection: Keep-Alive, Close"),
}


FRAMED = [name for name in SMUGGLED if "read" in name or "API" in name or "folded" in name or "feed" in name]


@pytest.mark.parametrize("sent", sample(SMUGGLED.values(), 3), ids=SMUGGLED)
async def test_what_comes_with_a_request_is_never_one(
    sent: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """One answer and the end, for the first request of a connection as for the next, also if more comes later."""
    async with server() as net:
        for before in range(2):
            client = Client(net.open())
            for _ in range(before):
                assert await client.send(get()) == [GOOD]
            assert await client.send(sent) == [LAST]
            assert await client.send(HIDDEN) == []
            assert b"stateDiagram" not in client.seen


@pytest.mark.parametrize("sent", [SMUGGLED[name] for name in FRAMED], ids=FRAMED)
async def test_a_body_that_is_not_read_is_no_request_however_it_comes(
    sent: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """Byte by byte, so that the answer is out before it."""
    async with server() as net:
        client = Client(net.open())
        assert await client.send(*(sent[at : at + 1] for at in range(len(sent)))) == [LAST]
        assert await client.send(HIDDEN) == []
        assert b"stateDiagram" not in client.seen


async def test_what_comes_before_an_answer_is_no_request(autojump_clock: trio.testing.MockClock) -> None:
    """The answer comes, then the end; nothing else is begun."""
    async with server(pace_ms=0) as net:
        client = Client(net.open())
        assert await client.send(ask("What does the Standard plan cost? Think for ever.")) == []
        assert await client.send(get("/session.mmd")) == []
        assert len(net.app.registry) == 1
        client.end.close()
        await trio.testing.wait_all_tasks_blocked()
        assert b"stateDiagram" not in client.seen
        nothing_is_left(net)


class Quick(PipeEnd):
    """The server's end of a connection whose client sends its next request in the moment that it has its answer."""

    client: PipeEnd
    following: list[bytes]

    def send_now(self, data: bytes) -> int:
        """Send; the client's request is there before the server has its next turn."""
        sent = super().send_now(data)
        if self.following:
            self.client.feed(self.following.pop(0))
        return sent


@pytest.mark.parametrize("asked", [get(), ask(), get("/projects")], ids=["door", "question", "api"])
async def test_a_next_request_may_come_as_soon_as_the_answer_is_out(
    asked: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """It is not taken for one that came before."""
    async with server() as net, trio.open_nursery() as nursery:
        end, theirs = pipe_to(Quick)
        theirs.client, theirs.following = end, [asked] * 3
        nursery.start_soon(net.app.serve_stream, theirs)
        assert await Client(end).send(asked) == [GOOD] * 4
        end.close()


class Cancelling(PipeEnd):
    """The server's end of a connection whose work is cancelled in the moment that its answer is out."""

    work: trio.CancelScope

    def send_now(self, data: bytes) -> int:
        """Send, and cancel the work."""
        sent = super().send_now(data)
        self.work.cancel()
        return sent


async def test_a_cancel_as_the_answer_leaves_lets_no_request_follow() -> None:
    """The client has a whole answer, which says that the connection goes on; it ends all the same."""
    end, theirs = pipe_to(Cancelling)
    end.feed(get())
    head = await read_head(theirs)
    assert isinstance(head, Head)
    exchange = HttpExchange(theirs, head, Figures(), lambda: True)
    with trio.CancelScope() as theirs.work:
        await exchange.answer(plain_text("ready\n"))
    assert theirs.work.cancelled_caught
    assert answers(end.take()) == [GOOD]
    assert not exchange.may_continue


async def test_a_body_is_asked_for_on_a_connection_that_goes_on(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each time; a body that is refused before it came ends the connection, so it is never read as a request."""
    expecting = post("/ask", QUESTION, "Expect: 100-continue")[: -len(QUESTION)]
    async with server() as net:
        client = Client(net.open())
        for _ in range(2):
            assert await client.send(expecting) == []
            assert client.seen.endswith(b"HTTP/1.1 100 Continue\r\n\r\n")
            assert await client.send(QUESTION) == [GOOD]
        chunked = get("/ask", JSON, CHUNKED, method="POST")
        assert await client.send(chunked, CHUNKS[:9], CHUNKS[9:]) == [GOOD]
        large = get("/ask", JSON, "Expect: 100-continue", "Content-Length: 10000000", method="POST")
        assert await client.send(large) == [(413, "close")]
        assert await client.send(HIDDEN) == []
        assert await client.ended()


async def test_half_a_body_that_ends_is_no_request(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing is answered from it, whatever was before."""
    async with server() as net:
        client = Client(net.open())
        assert await client.send(get()) == [GOOD]
        assert await client.send(ask()[:-5]) == []
        client.end.eof()
        assert await client.told() == []
        assert b"agent_messages_total 0.0" in net.app.metrics.text()
        client.end.close()
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


async def test_a_stream_of_events_is_the_last_answer(autojump_clock: trio.testing.MockClock) -> None:
    """Its end is the connection's."""
    body = {"messages": [{"role": "user", "content": "What does the Standard plan cost?"}], "stream": True}
    async with server() as net:
        client = Client(net.open())
        assert await client.send(get()) == [GOOD]
        client.end.feed(post("/v1/chat/completions", json.dumps(body).encode()))
        await trio.testing.wait_all_tasks_blocked()
        came = client.end.take()
        assert came.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in came
        assert await client.ended()


async def test_a_connection_may_become_a_websocket(autojump_clock: trio.testing.MockClock) -> None:
    """As proxies have it that keep connections; with a place of its own, and its token."""
    async with server(token=TOKEN) as net:
        edge = net.app._edge
        assert edge is not None
        for shown, end in (
            (f"Authorization: Bearer {TOKEN}", b""),
            ("X: y", b"\x88\x10\x11\x31not authorised"),
        ):
            client = Client(net.open())
            assert await client.send(get()) == [GOOD]
            client.end.feed(get("/ws", *UPGRADE, shown))
            await trio.testing.wait_all_tasks_blocked()
            came = client.end.take()
            assert came.startswith(b"HTTP/1.1 101 ")
            assert came.endswith(end)
            assert edge.limits.places.used == (not end)
            client.end.close()
            await trio.sleep(10)
            nothing_is_left(net)
        assert b'agent_connections_total{kind="websocket"} 2.0' in net.app.metrics.text()


async def test_a_drain_ends_those_that_wait_for_their_next_request(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """At once; who is being answered gets an answer that says that it is the last, and no other request is taken."""
    async with server() as net:
        edge = net.app._edge
        assert edge is not None
        idle, busy, half = (Client(net.open()) for _ in range(3))
        for each in (idle, busy, half):
            assert await each.send(get()) == [GOOD]
        assert await busy.send(ask()[:-1]) == []
        assert await half.send(get()[:-1]) == []
        began = trio.current_time()
        net.app.readiness.gate.drain()
        await trio.testing.wait_all_tasks_blocked()
        assert edge.limits.used == 2
        assert await idle.ended()
        assert await busy.send(ask()[-1:]) == [(503, "close")]
        assert await half.send(get()[-1:] + get()) == [LAST]
        assert trio.current_time() == began
        for each in (busy, half):
            assert await each.ended()
            each.end.close()
        await trio.testing.wait_all_tasks_blocked()
        assert edge.limits.used == 0
        late = Client(net.open())
        assert await late.send(get()) == [LAST]


@pytest.fixture
def small_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be four visitors."""
    monkeypatch.setattr(limits, "VISITORS", 4)


@pytest.mark.usefixtures("small_door")
async def test_who_waits_for_its_next_request_gives_way(autojump_clock: trio.testing.MockClock) -> None:
    """Without a word, as nothing was asked; the newcomer is served, and nobody is kept out."""
    async with server() as net:
        edge = net.app._edge
        assert edge is not None
        idle = [Client(net.open()) for _ in range(4)]
        for each in idle:
            assert await each.send(get()) == [GOOD]
        assert (edge.limits.door.used, edge.limits.places.used) == (4, 0)
        newcomer = Client(net.open())
        assert await newcomer.send(get()) == [GOOD]
        assert await idle[0].told() == []
        assert await idle[0].ended()
        assert [await each.send(get()) for each in idle[1:]] == [[GOOD]] * 3
        half = idle[1]
        assert await half.send(get()[:-1]) == []
        for _ in range(3):  # the others are pushed out first, as they have waited for longer
            newcomer = Client(net.open())
            assert await newcomer.send(get()) == [GOOD]
        assert await Client(net.open()).send(get()) == [GOOD]
        assert edge.limits.door.used == 4


async def test_who_waits_does_not_slow_down_newcomers(autojump_clock: trio.testing.MockClock) -> None:
    """Only those that have not said what they want make a flood."""
    async with server() as net:
        edge = net.app._edge
        assert edge is not None
        clients = [Client(net.open()) for _ in range(FLOOD)]
        await trio.testing.wait_all_tasks_blocked()
        assert edge.limits.batch_size() == ACCEPTED_IN_A_FLOOD
        for each in clients:
            each.end.feed(get())
        await trio.testing.wait_all_tasks_blocked()
        assert edge.limits.door.used == FLOOD
        assert edge.limits.batch_size() == ACCEPTED_AT_ONCE


async def test_who_takes_no_answer_is_left_whichever_it_is(autojump_clock: trio.testing.MockClock) -> None:
    """After WRITE_TIMEOUT, at the door and in a place, and it keeps no place meanwhile."""
    for asked in (get("/static/app.js"), ask()):
        async with server() as net:
            client = Client(net.open(room=64))
            assert await client.send(get()) == [GOOD]
            client.end.feed(asked)
            await trio.sleep(WRITE_TIMEOUT + 0.1)
            await trio.testing.wait_all_tasks_blocked()
            nothing_is_left(net)
            assert b"agent_aborts_total 1.0" in net.app.metrics.text()
