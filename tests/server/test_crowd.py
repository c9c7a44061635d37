"""Nobody is crowded out: who takes up room without a word, without a token or without end gives way, or gets no more.

Whole servers over memory streams in virtual time; each limit with what its client is told, and who is not concerned.
"""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.config import CLOSE_TIMEOUT, HEAD_TIMEOUT, WRITE_TIMEOUT
from agent.llm.script import ScriptEntry, ScriptModel
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server import limits
from agent.server.client_limits import GIVE_WAY, IDLE
from agent.server.limits import COME_BACK, LEAVE_AT_ONCE
from agent.server.settings import FIRST_WORDS, TURNED_AWAY_BRIEFLY, WRONG_TOKENS
from agent.settings import Settings
from agent.testing.faults import PipeEnd
from agent.testing.network import Network, network

HERE, THERE, PROXY = "192.0.2.1", "192.0.2.2", "10.0.0.1"
TOKEN = "a-token-of-length"
KNOWLEDGE = KnowledgeBase.build([SourceFile.of("kb/a.md", "The plan costs 299 kr.\n")])
ANSWERS = ScriptModel((ScriptEntry(match="", text="The plan costs 299 kr."),))
UPGRADE = (
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
GET = "GET {} HTTP/1.1\r\nHost: localhost\r\n"
BEARER = "Authorization: Bearer {}\r\n"


def frame(text: str, first: int = 0x81) -> bytes:
    """Return a client's frame, its mask zero."""
    return bytes((first, 0x80 | len(text))) + bytes(4) + text.encode()


ASK = frame('{"type":"message","id":"q","text":"plan?"}')
CANCEL = frame('{"type":"cancel"}')
PING = frame("", 0x89)


class Peer:
    """A client's end: sends bytes at once, and shows all that has come back."""

    def __init__(self, end: PipeEnd) -> None:
        self.end = end
        self._seen = b""

    async def told(self) -> bytes:
        """Let the server go on until it waits, and return everything it has said so far."""
        await trio.testing.wait_all_tasks_blocked()
        self._seen += self.end.take()
        return self._seen

    async def status(self) -> int:
        """Return the status of the answer, 0 while there is none."""
        told = await self.told()
        return int(told.split()[1]) if told else 0

    async def closed(self) -> tuple[int, str]:
        """Return the code and the reason of the close frame, (0, "") without one."""
        found = re.search(
            rb"\x88([\x02-\x7d])(..)(.*)", (await self.told()).partition(b"\r\n\r\n")[2], re.DOTALL
        )
        return (int.from_bytes(found[2], "big"), found[3].decode()) if found else (0, "")


class Crowd:
    """A server and those who come to it."""

    def __init__(self, server: Network) -> None:
        self.server = server
        self.cap = server.app._edge.limits  # type: ignore[union-attr]

    def come(self, data: str | bytes = b"", peer: str | None = None, room: int = 1 << 30) -> Peer:
        """Connect from an address, and send something."""
        client = Peer(self.server.open(room, peer))
        client.end.feed(data.encode() if isinstance(data, str) else data)
        return client

    async def websocket(self, peer: str | None = None, *frames: bytes, headers: str = "") -> Peer:
        """Connect a WebSocket."""
        client = self.come(f"{UPGRADE}{headers}\r\n".encode() + b"".join(frames), peer)
        await client.told()
        return client

    def figure(self, name: str, label: str = "") -> int:
        """Return a counter's value; 0 when it has none."""
        found = re.search(
            rf'^agent_{name}_total{{\w+="{label}"}} (\d+)',
            self.server.app.metrics.text().decode(),
            re.MULTILINE,
        )
        return int(found[1]) if found else 0


@asynccontextmanager
async def crowd(**settings: Any) -> AsyncGenerator[Crowd, None]:
    """Run a server for the time of a block."""
    chosen = Settings.of(**({"pace_ms": 0} | settings))
    async with network(chosen, Adapters(knowledge=KNOWLEDGE, model=ANSWERS)) as server:
        yield Crowd(server)


@pytest.fixture
def small_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be four visitors, two of one address that is not this machine."""
    monkeypatch.setattr(limits, "VISITORS", 4)
    monkeypatch.setattr(limits, "VISITORS_PER_ADDRESS", 2)


# --- at the door


@pytest.mark.usefixtures("small_door")
@pytest.mark.parametrize("first", [b"", b"GET / HT"], ids=["silent", "half a head"])
async def test_the_oldest_head_gives_way_to_a_newcomer(
    first: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """At once, told why, and the newcomer is served, also from the same address."""
    async with crowd() as here:
        hogs = []
        for _ in range(4):
            hogs.append(here.come(first))
            assert await hogs[-1].status() == 0
        client = await here.websocket(None, ASK)
        assert b"response" in await client.told()
        assert [await hog.status() for hog in hogs] == [503, 0, 0, 0]
        assert b"Retry-After" in await hogs[0].told()
        assert (await here.come(f"{GET.format('/healthz')}\r\n").told()).endswith(b"ok\n")
        assert trio.current_time() < 1
        assert here.figure("limited", "visitors") == here.figure("rejections", "503") == 1
        await trio.sleep(HEAD_TIMEOUT)
        assert [await hog.status() for hog in hogs] == [503, 408, 408, 408]


@pytest.mark.usefixtures("small_door")
async def test_an_address_at_the_door_pushes_out_its_own(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever was there before from elsewhere stays."""
    async with crowd() as here:
        other = here.come(b"GET", THERE)
        await trio.testing.wait_all_tasks_blocked()
        hogs = []
        for _ in range(20):
            hogs.append(here.come(b"", HERE))
            await trio.testing.wait_all_tasks_blocked()
        assert [await hog.status() for hog in hogs] == [503] * 18 + [0, 0]
        assert await other.status() == 0
        assert here.cap.door.used == 3


@pytest.mark.usefixtures("small_door")
async def test_a_proxys_connections_are_not_one_addresss(autojump_clock: trio.testing.MockClock) -> None:
    """All of its clients come from there."""
    async with crowd(trust_proxy=(PROXY,)) as here:
        waiting = [here.come(b"", PROXY) for _ in range(4)]
        assert [await each.status() for each in waiting] == [0] * 4


@pytest.mark.usefixtures("small_door")
async def test_an_answer_that_was_begun_is_never_followed_by_a_refusal(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Who reads its page too slowly may be pushed out, but gets nothing put in the middle of it."""
    async with crowd() as here:
        slow = [here.come(f"{GET.format('/static/app.js')}\r\n", room=64) for _ in range(4)]
        await trio.testing.wait_all_tasks_blocked()
        client = await here.websocket(None, ASK)
        assert b"response" in await client.told()
        assert here.figure("limited", "visitors") == 1
        for _ in range(20):  # it reads on, so that there is room for what would follow
            assert all([(await each.told()).count(b"HTTP/1.1") == 1 for each in slow])
        await trio.sleep(WRITE_TIMEOUT + 5)
        assert [(await each.told()).count(b"HTTP/1.1") for each in slow] == [1] * 4
        assert here.cap.used == 1


async def test_a_drain_does_not_wait_for_the_silent(autojump_clock: trio.testing.MockClock) -> None:
    """What is at the door is counted as connected until it has gone, and no longer."""
    async with crowd() as here:
        hogs = [here.come(b"") for _ in range(3)]
        await trio.testing.wait_all_tasks_blocked()
        assert here.cap.used == here.cap.door.used == 3
        for hog in hogs:
            hog.end.close()
        await trio.testing.wait_all_tasks_blocked()
        assert here.cap.used == here.cap.door.used == 0


# --- the token


async def test_who_has_no_token_takes_no_place(autojump_clock: trio.testing.MockClock) -> None:
    """Not in its handshake, nor while it is told, nor after; so it keeps nobody out."""
    async with crowd(token=TOKEN, max_connections=1) as here:
        strangers = [await here.websocket() for _ in range(5)]
        assert [await each.closed() for each in strangers] == [(4401, "not authorised")] * 5
        assert (here.cap.used, here.cap.places.used) == (5, 0)
        client = await here.websocket(None, ASK, headers=BEARER.format(TOKEN))
        assert b"response" in await client.told()
        assert here.cap.places.used == 1
        await trio.sleep(2 * CLOSE_TIMEOUT + 1)
        assert here.cap.used == 1


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (UPGRADE + BEARER.format("wrong"), 101),
        (UPGRADE + "Sec-WebSocket-Protocol: agent.v1, bearer.wrong\r\n", 101),
        (GET.format("/metrics") + BEARER.format("wrong"), 401),
        (GET.format("/metrics").replace("GET", "POST") + BEARER.format("wrong"), 401),
        (GET.format("/healthz") + BEARER.format("wrong"), 200),
    ],
)
async def test_wrong_tokens_of_one_address_are_soon_cut_short(
    attempt: str, told: int, autojump_clock: trio.testing.MockClock
) -> None:
    """429 without an upgrade; in vain for nobody else, nor for who shows the right one, nor for who shows none."""
    async with crowd(token=TOKEN, max_connections=50) as here:
        answers = [await here.come(f"{attempt}\r\n", HERE).status() for _ in range(WRONG_TOKENS + 3)]
        assert answers == [told] * WRONG_TOKENS + [429] * 3
        assert here.figure("limited", "tokens") == here.figure("rejections", "429") == 3
        assert await here.come(f"{attempt}\r\n", THERE).status() == told
        assert await here.come(f"{UPGRADE}\r\n", HERE).closed() == (4401, "not authorised")
        client = await here.websocket(HERE, ASK, headers=BEARER.format(TOKEN))
        assert b"response" in await client.told()
        await trio.sleep(60 / WRONG_TOKENS)
        assert await here.come(f"{attempt}\r\n", HERE).status() == told
        assert await here.come(f"{attempt}\r\n", HERE).status() == 429


# --- places


@pytest.mark.parametrize("peer", [None, HERE])
async def test_who_never_spoke_gives_way_when_all_places_are_taken(
    peer: str | None, autojump_clock: trio.testing.MockClock
) -> None:
    """The oldest first, told to come back and when; who has spoken stays, and when all have, the newcomer waits."""
    async with crowd(max_connections=3, max_per_address=0) as here:
        speaker = await here.websocket(peer, ASK)
        silent = [await here.websocket(peer, PING, CANCEL, frame('{"type":"mess"}')) for _ in range(2)]
        assert (
            await (await here.websocket(peer, ASK)).status() == 503
        )  # their first message may be on its way
        await trio.sleep(FIRST_WORDS)
        first = await here.websocket(peer, ASK)
        code, reason = await silent[0].closed()
        assert code == 1013
        assert re.fullmatch(r"others are waiting .*; come back in [1-5] s", reason)
        assert (await silent[1].closed())[0] == 0
        second = await here.websocket(peer, ASK)
        assert (await silent[1].closed())[0] == 1013
        for client in (speaker, first, second):
            assert b"response" in await client.told()
        third = await here.websocket(peer, ASK)
        assert await third.status() == 503
        assert here.figure("limited", "silent") == here.figure("rejections", "1013") == 2
        assert here.figure("limited", "connections") == 2
        await trio.sleep(2 * CLOSE_TIMEOUT + 1)
        assert here.cap.used == here.cap.places.used == 3
        assert here.server.app._edge.limits.refusals.used == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("busy", [False, True])
async def test_those_that_give_way_take_no_room_for_long(
    busy: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """One that does not answer the close frame is waited for, the less the more there are."""
    async with crowd(max_connections=1) as here:
        while busy and here.server.app._edge.limits.refusals.acquire():  # type: ignore[union-attr]
            pass
        silent = await here.websocket()
        await trio.sleep(FIRST_WORDS)
        started = trio.current_time()
        await here.websocket(None, ASK)
        assert (await silent.closed())[0] == 1013
        while here.cap.used > 1:  # noqa: ASYNC110 - there is no event for it
            await trio.sleep(0.05)
        lingered = trio.current_time() - started
        assert lingered == pytest.approx(TURNED_AWAY_BRIEFLY if busy else CLOSE_TIMEOUT, abs=0.06)


async def test_an_address_has_at_most_its_share_of_the_places(autojump_clock: trio.testing.MockClock) -> None:
    """429 says which limit it was; others get in."""
    async with crowd(max_connections=4) as here:
        for _ in range(2):
            await here.websocket(HERE, ASK)
        refused = await here.websocket(HERE, ASK)
        assert await refused.status() == 429
        assert b"--max-per-address" in await refused.told()
        assert here.figure("limited", "address") == 1
        assert b"response" in await (await here.websocket(THERE, ASK)).told()
        assert b"response" in await (await here.websocket(None, ASK)).told()


async def test_the_clients_of_a_proxy_each_have_their_own_share(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """By what the proxy says of them; what it says and nobody can read is refused."""
    async with crowd(max_connections=10, max_per_address=1, trust_proxy=(PROXY,)) as here:
        statuses = [
            await (await here.websocket(peer, ASK, headers=f"X-Forwarded-For: {said}\r\n")).status()
            for peer, said in (
                (PROXY, HERE),
                (PROXY, f"{THERE}, {HERE}"),
                (PROXY, f"{HERE}, {THERE}"),
                (PROXY, "unknown"),
                (HERE, "198.51.100.9"),
                ("198.51.100.7", THERE),
            )
        ]
        assert statuses == [101, 429, 101, 400, 429, 101]


# --- the idle


async def test_a_websocket_that_never_speaks_is_closed_in_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Neither pings nor cancels nor frames that are no message are speech; one message is, once and for all."""
    async with crowd(idle_timeout=50.0) as here:
        speaker = await here.websocket(None)
        idle = await here.websocket(None, PING, CANCEL)
        for second in range(49):
            await trio.sleep(1)
            for client in (idle, speaker):
                client.end.feed(PING)
            if second == 30:
                speaker.end.feed(ASK)
                idle.end.feed(frame('{"type":"confirm_action","suggestionId":"x"}'))
        assert await idle.closed() == (0, "")
        await trio.sleep(1.01)
        assert await idle.closed() == (4408, "no message in 50 s")
        assert here.figure("limited", "idle") == here.figure("rejections", "4408") == 1
        for _ in range(20):
            await trio.sleep(10)
            speaker.end.feed(PING)
        assert await speaker.closed() == (0, "")
        assert here.cap.used == here.cap.places.used == 1


async def test_idleness_can_be_allowed(autojump_clock: trio.testing.MockClock) -> None:
    """With 0 nobody is closed for it."""
    async with crowd(idle_timeout=0.0) as here:
        idle = await here.websocket(None)
        for _ in range(500):
            await trio.sleep(10)
            idle.end.feed(PING)
        assert await idle.closed() == (0, "")


# --- messages


@pytest.mark.parametrize(
    "asked",
    ['{"type":"message","id":"q%d","text":"plan?"}', r'{"type":"mess\u0061ge","id":"q%d","text":"?"}'],
)
async def test_the_messages_of_one_address_have_a_rate(
    asked: str, autojump_clock: trio.testing.MockClock
) -> None:
    """All its sessions together; told `rate_limited` with the message's id, as a session's own limit is."""
    async with crowd(address_rate=2.0, rate_limit=0.0) as here:
        clients = [await here.websocket(HERE) for _ in range(2)]
        for number in range(3):
            for client in clients:
                client.end.feed(frame(asked % number))
                await trio.testing.wait_all_tasks_blocked()
        told = [await client.told() for client in clients]
        assert [each.count(b'"type":"response"') for each in told] == [2, 2]
        assert [each.count(b'"rate_limited"') for each in told] == [1, 1]
        assert all(b'"id":"q2"' in each for each in told)
        assert here.figure("limited", "messages") == here.figure("errors", "rate_limited") == 2
        other = await here.websocket(THERE, ASK)
        assert b"response" in await other.told()
        await trio.sleep(0.5)
        clients[0].end.feed(ASK)
        assert (await clients[0].told()).count(b'"type":"response"') == 3


async def test_only_messages_are_refused_for_the_rate(autojump_clock: trio.testing.MockClock) -> None:
    """A cancel, a confirm and what is no message go on to the session, also when they speak of messages."""
    async with crowd(address_rate=1.0, rate_limit=0.0) as here:
        client = await here.websocket(HERE, ASK, ASK, ASK)
        assert (await client.told()).count(b'"rate_limited"') == 1
        for said in (
            '{"type":"cancel","id":"message"}',
            '{"type":"confirm_action","suggestionId":"message"}',
            '{"type":"message"',
            '{"type":"messages"}',
        ):
            client.end.feed(frame(said))
        told = await client.told()
        assert told.count(b'"rate_limited"') == 1
        assert told.count(b'"unknown_suggestion"') == 1
        assert told.count(b'"bad_json"') == told.count(b'"bad_message"') == 1


async def test_a_flood_over_the_rate_is_closed(autojump_clock: trio.testing.MockClock) -> None:
    """After 200 refusals at once; its place is free."""
    async with crowd(address_rate=1.0, rate_limit=0.0) as here:
        client = await here.websocket(HERE, *[ASK] * 150)
        assert (await client.closed())[0] == 0
        client.end.feed(ASK * 53)
        assert await client.closed() == (1008, "too many messages per second")
        assert (await client.told()).count(b'"rate_limited"') <= 201
        await trio.sleep(2 * CLOSE_TIMEOUT + 1)
        assert here.cap.used == 0


# --- the way out


class Exits(trio.abc.Instrument):
    """Counts the tasks that end in each pass of the event loop."""

    def __init__(self) -> None:
        self.by_pass = [0]

    def after_io_wait(self, timeout: float) -> None:
        self.by_pass.append(0)

    def task_exited(self, task: trio.lowlevel.Task) -> None:
        self.by_pass[-1] += 1


@pytest.mark.parametrize("leave", [PipeEnd.eof, PipeEnd.reset], ids=["close", "reset"])
async def test_a_crowd_that_leaves_holds_nobody_up(leave: Callable[[PipeEnd], None]) -> None:
    """A hundred leave in the same moment: their connections end a few at a time, and each of them ends."""
    async with crowd() as here:
        clients = [await here.websocket() for _ in range(100)]
        exits = Exits()
        trio.lowlevel.add_instrument(exits)
        for client in clients:
            leave(client.end)
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.remove_instrument(exits)
        assert here.cap.used == 0
        assert sum(exits.by_pass) >= 100
        assert max(exits.by_pass) <= 2 * LEAVE_AT_ONCE


async def test_a_server_that_stops_waits_for_nobody_who_leaves() -> None:
    """A cancel ends those that wait for their turn to leave as well."""
    async with crowd() as here:
        clients = [await here.websocket() for _ in range(50)]
        for client in clients:
            client.end.eof()
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        assert here.cap.used > 2 * LEAVE_AT_ONCE
        exits = Exits()
        trio.lowlevel.add_instrument(exits)
    trio.lowlevel.remove_instrument(exits)
    assert here.cap.used == 0
    assert max(exits.by_pass) > 2 * LEAVE_AT_ONCE


# --- the way back


async def test_a_server_that_goes_down_spreads_its_clients(autojump_clock: trio.testing.MockClock) -> None:
    """Each second of the way back gets as many of them."""
    async with crowd() as here:
        clients = [await here.websocket() for _ in range(3 * COME_BACK)]
        here.server.app.drain()
        closed = [await client.closed() for client in clients]
        assert {code for code, _ in closed} == {1012}
        seconds = sorted(int(reason.removeprefix("going down; come back in ")[:-2]) for _, reason in closed)
        assert seconds == sorted(list(range(1, COME_BACK + 1)) * 3)


async def test_an_office_behind_one_address_comes_all_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """A hundred people of one address reconnect in the same moment: the usual limits let all of them in."""
    async with crowd() as here:
        clients = [here.come(f"{UPGRADE}\r\n".encode() + ASK, HERE) for _ in range(100)]
        assert {await client.status() for client in clients} == {101}
        assert {(await client.told()).count(b'"type":"response"') for client in clients} == {1}


async def test_the_page_understands_how_it_is_sent_away(autojump_clock: trio.testing.MockClock) -> None:
    """It comes back when the reason says, and where nothing was asked not before its person types."""
    script = files("agent").joinpath("client", "js", "agent.js").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"const COME_BACK = /(.+)/;", script)
    async with crowd() as here:
        client = await here.websocket()
        here.server.app.drain()
        found = re.search(pattern, (await client.closed())[1])
        assert found is not None
        assert 1 <= int(found[1]) <= COME_BACK
    (codes,) = re.findall(r"const UNSPOKEN = \[(.+?)\]", script)
    assert [int(code) for code in codes.split(",")] == [IDLE, GIVE_WAY]
