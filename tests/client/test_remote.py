"""The client for programs: on Trio over streams in memory, on asyncio over a socket."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio.testing
from anyio.abc import ByteStream
from wsproto import WSConnection
from wsproto.connection import ConnectionType
from wsproto.events import AcceptConnection, CloseConnection, Ping, Request, TextMessage

from agent import serve
from agent.client import turn as client_turn
from agent.client.remote import Agent, connect, connect_over
from agent.client.turn import ConnectionLost, Reconnected, RequestRefused
from agent.compose.adapters import Adapters
from agent.errors import CannotConnect, UsageError
from agent.ports.pages import Window
from agent.protocol.outbound import (
    ActionClosed,
    ActionExecuted,
    ActionSuggestion,
    Response,
    Stream,
    StreamEnd,
)
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.models import FakeDrafter
from agent.testing.network import Network, network

DOCUMENTS = (SourceFile.of("kb/plans.md", "# Plans\n\nThe Standard plan costs 299 kr per month.\n"),)
PRICE = "What does the Standard plan cost?"
CALL = "call me on 070-174 06 05"


class Piped(ByteStream):
    """A Trio stream for anyio."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Receive some bytes."""
        try:
            data = await self._stream.receive_some(max_bytes)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise anyio.BrokenResourceError from None
        if not data:
            raise anyio.EndOfStream
        return bytes(data)

    async def send(self, item: bytes) -> None:
        """Send bytes."""
        try:
            await self._stream.send_all(item)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise anyio.BrokenResourceError from None

    async def send_eof(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


@asynccontextmanager
async def talking(**settings: Any) -> AsyncGenerator[tuple[Agent, Network, list[trio.abc.Stream]], None]:
    """A client of a server in memory, the server, and the client's streams so far."""
    adapters = settings.pop("adapters", None)
    made = Settings.of(**{"pace_ms": 0.0} | settings)
    streams: list[trio.abc.Stream] = []
    async with network(made, adapters, DOCUMENTS) as server:

        async def dial() -> ByteStream:
            streams.append(server.open())
            return Piped(streams[-1])

        async with connect_over(dial) as agent:
            yield agent, server, streams


async def test_a_turn_is_its_events(autojump_clock: trio.testing.MockClock) -> None:
    """Deltas, their end, the response, and the suggestions after it; then the iteration ends."""
    async with talking() as (agent, _, _):
        events = [event async for event in agent.ask(f"What does the Standard plan cost? {CALL}", lang="en")]
        kinds = [type(event) for event in events]
        assert kinds[-3:] == [StreamEnd, Response, ActionSuggestion]
        assert set(kinds[:-3]) == {Stream}
        response, suggestion = events[-2:]
        assert isinstance(response, Response)
        assert "".join(each.delta for each in events if isinstance(each, Stream)) == response.text
        assert "299 kr" in response.text
        assert response.citations[0].file == "kb/plans.md"
        assert isinstance(suggestion, ActionSuggestion)
        outcome = await agent.confirm(suggestion.suggestion_id)
        assert isinstance(outcome, ActionExecuted)
        assert outcome.result["success"]


async def test_a_suggestion_can_be_declined_once(autojump_clock: trio.testing.MockClock) -> None:
    """What is decided about no suggestion is refused with the server's sentence."""
    async with talking() as (agent, _, _):
        suggestion = [event async for event in agent.ask(CALL)][-1]
        assert isinstance(suggestion, ActionSuggestion)
        closed = await agent.reject(suggestion.suggestion_id)
        assert isinstance(closed, ActionClosed)
        assert closed.reason == "rejected"
        with pytest.raises(RequestRefused) as refused:
            await agent.reject("none")
        assert refused.value.code == "unknown_suggestion"


async def test_feedback_is_stored_when_it_returns(autojump_clock: trio.testing.MockClock) -> None:
    """Of an answer of this connection; of another it is refused, and a lost connection raises."""
    async with talking() as (agent, server, streams):
        events = [event async for event in agent.ask(PRICE)]
        assert isinstance(events[-1], Response)
        assert events[-1].id is not None
        stored = await agent.feedback(events[-1].id, "down", "Too old")
        assert (stored.message, stored.verdict, stored.text) == (events[-1].id, "down", "Too old")
        store = vars(server.app)["_api_services"].feedback
        (made,) = (await store.feedback("default", Window(9))).entries
        assert (made.question, made.verdict, made.text) == (PRICE, "down", "Too old")
        assert "299 kr" in made.answer
        with pytest.raises(RequestRefused, match="ask the question again"):
            await agent.feedback("none", "up")
        await trio.aclose_forcefully(streams[0])
        with pytest.raises(ConnectionLost):
            await agent.feedback(events[-1].id, "up")


async def test_leaving_a_turn_cancels_it(autojump_clock: trio.testing.MockClock) -> None:
    """By a break, an exception or a cancel; the connection is good for the next question."""
    slow = Adapters(model=FakeDrafter("The Standard plan costs 299 kr per month. " * 9, wait=1.0))
    async with talking(adapters=slow, verify="sentence") as (agent, _, _):
        async with agent.ask(PRICE) as turn:
            async for _event in turn:
                break
        await trio.sleep(0.5)
        assert slow.model.open == 0  # type: ignore[union-attr]
        with trio.move_on_after(3):
            async with agent.ask(PRICE) as turn:
                [event async for event in turn]
        await trio.sleep(0.5)
        assert slow.model.open == 0  # type: ignore[union-attr]
        with trio.move_on_after(5):
            async with agent.ask(PRICE) as turn:
                pass  # it was never sent
        events = [event async for event in agent.ask(PRICE)]
        assert isinstance(events[-1], Response)


async def test_a_suggestion_outlives_the_turn_that_is_left_with_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """After the response there is nothing to cancel, and a cancel would end the suggestion."""
    async with talking() as (agent, _, _):
        async with agent.ask(CALL) as turn:
            async for event in turn:
                if isinstance(event, ActionSuggestion):
                    break
        assert isinstance(event, ActionSuggestion)
        outcome = await agent.confirm(event.suggestion_id)
        assert isinstance(outcome, ActionExecuted)
        assert outcome.result.get("success")


async def test_the_next_question_and_a_cancel_end_a_turn(autojump_clock: trio.testing.MockClock) -> None:
    """Its last event says that it was cancelled."""
    slow = Adapters(model=FakeDrafter("The Standard plan costs 299 kr per month.", wait=1.0))
    async with talking(adapters=slow) as (agent, _, _), trio.open_nursery() as nursery:
        for end in (agent.cancel, partial_ask(agent)):
            ended: list[object] = []

            async def read(ended: list[object] = ended) -> None:
                ended += [event async for event in agent.ask(PRICE)]

            nursery.start_soon(read)
            await trio.sleep(1)
            await end()
            await trio.sleep(1)
            assert ended == [StreamEnd(reason="cancelled", id=ended[0].id)]  # type: ignore[attr-defined]


def partial_ask(agent: Agent) -> Callable[[], Any]:
    async def ask() -> None:
        assert [event async for event in agent.ask(PRICE)]

    return ask


async def cut_after(seconds: float, stream: trio.abc.Stream) -> None:
    await trio.sleep(seconds)
    await trio.aclose_forcefully(stream)


async def test_a_lost_connection_is_said_and_made_anew(autojump_clock: trio.testing.MockClock) -> None:
    """The turn and the decision that waited raise; the next turn begins with what was lost."""
    slow = Adapters(model=FakeDrafter("The Standard plan costs 299 kr per month.", wait=1.0))
    async with talking(adapters=slow, memory="on") as (agent, _, streams):
        suggestion = [event async for event in agent.ask(CALL)][-1]
        assert isinstance(suggestion, ActionSuggestion)
        thread = agent.thread
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cut_after, 2, streams[0])
            with pytest.raises(ConnectionLost, match="before the answer: ask again"):
                [event async for event in agent.ask(PRICE)]
        with pytest.raises(ConnectionLost, match="ask again to get a new one"):
            await agent.confirm(suggestion.suggestion_id)
        first, *_, last = [event async for event in agent.ask(PRICE)]
        assert first == Reconnected((suggestion.suggestion_id,), continues=True)
        assert isinstance(last, Response)
        assert agent.thread == thread != ""
        assert len(streams) == 2
        (first, *_) = [event async for event in agent.ask(PRICE)]
        assert not isinstance(first, Reconnected)


async def test_what_a_block_raises_is_raised_as_it_is(autojump_clock: trio.testing.MockClock) -> None:
    """No group is around it."""
    with pytest.raises(ZeroDivisionError):
        async with connect_over(hostile(answer_hello)):
            raise ZeroDivisionError


# --- hostile servers

WELCOME = {
    "type": "welcome",
    "session": "s",
    "protocol": 1,
    "limits": dict.fromkeys(
        ("maxFrame", "maxText", "queuedMessages", "liveSuggestions", "confirmSeconds", "rateLimit"), 1
    ),
}


def answer_hello(sent: dict[str, Any]) -> list[str]:
    return [json.dumps({"type": "response", "text": "Hello.", "citations": [], "id": sent.get("id")})]


def hostile(answer: Callable[[dict[str, Any]], list[str]]) -> Callable[[], Any]:
    """Dial a server that answers each message with texts."""

    async def run(stream: trio.abc.Stream) -> None:
        server = WSConnection(ConnectionType.SERVER)
        with trio.move_on_after(60), suppress(trio.BrokenResourceError):
            while data := bytes(await stream.receive_some()):
                server.receive_data(data)
                for event in server.events():
                    out = b""
                    if isinstance(event, Request):
                        out = server.send(AcceptConnection(subprotocol=event.subprotocols[0]))
                        out += server.send(TextMessage(json.dumps(WELCOME)))
                    elif isinstance(event, TextMessage):
                        for text in answer(json.loads(event.data)):
                            out += server.send(TextMessage(text))
                    elif isinstance(event, Ping | CloseConnection):
                        out = server.send(event.response())
                    await stream.send_all(out)

    async def dial() -> ByteStream:
        ours, theirs = trio.testing.memory_stream_pair()
        trio.lowlevel.spawn_system_task(run, theirs)
        return Piped(ours)

    return dial


@pytest.mark.parametrize(
    ("texts", "code"),
    [(["{"], 1002), (["x" * 1_000_000] * 5, 1002), ([json.dumps(WELCOME) + "x"], 1002)],
    ids=["no json", "large", "half json"],
)
async def test_a_server_that_breaks_the_protocol_is_left(
    texts: list[str], code: int, autojump_clock: trio.testing.MockClock
) -> None:
    """With a close code of the client's own, and nothing hangs."""
    joined = texts if len(texts) == 1 else ["".join(texts)]
    async with connect_over(hostile(lambda _: joined)) as agent:
        with pytest.raises(ConnectionLost) as lost:
            [event async for event in agent.ask(PRICE)]
        assert lost.value.code == code


async def test_what_it_does_not_know_is_ignored(autojump_clock: trio.testing.MockClock) -> None:
    """Messages of a later server, of no turn of this client, and fields that have another type."""
    odd = [
        '{"type": "telepathy"}',
        "[]",
        '{"type": "stream", "delta": 7}',
        '{"type": "stream", "delta": "x"}',
    ]
    async with connect_over(hostile(lambda sent: [*odd, *answer_hello(sent)])) as agent:
        (only,) = [event async for event in agent.ask(PRICE)]
    assert isinstance(only, Response)
    assert only.text == "Hello."


async def test_a_turn_that_is_not_read_ends_with_an_error(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is kept without limit, and no gap is passed over; the next turn is whole."""
    monkeypatch.setattr(client_turn, "WAITING_MOST", 10)
    deltas = [json.dumps({"type": "stream", "delta": str(at), "id": "1"}) for at in range(25)]
    async with connect_over(hostile(lambda sent: deltas + answer_hello(sent))) as agent:
        with pytest.raises(ConnectionLost, match="not read"):  # all of it comes before the reader goes on
            await anext(agent.ask(PRICE))
        (only,) = [event async for event in agent.ask(PRICE)]
        assert isinstance(only, Response)


async def test_a_server_that_is_silent_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """Within the time for a connection; so is one that closes, or that is none."""

    async def dial() -> ByteStream:
        ours, theirs = trio.testing.memory_stream_pair()
        kept.append(theirs)
        return Piped(ours)

    async def dial_closed() -> ByteStream:
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.aclose()
        return Piped(ours)

    async def dial_other() -> ByteStream:
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(b"SSH-2.0-OpenSSH\r\n\r\n")
        return Piped(ours)

    kept: list[trio.abc.Stream] = []
    for each, says in ((dial, "no answer in 10 s"), (dial_closed, "closed"), (dial_other, "cannot connect")):
        with pytest.raises(CannotConnect, match=says):
            async with connect_over(each):
                pytest.fail("it connected")


async def test_a_wrong_token_is_said(autojump_clock: trio.testing.MockClock) -> None:
    """In words."""
    async with network(Settings.of(token="a-token-of-some-length"), None, DOCUMENTS) as server:

        async def dial() -> ByteStream:
            return Piped(server.open())

        with pytest.raises(CannotConnect, match="not authorised"):
            async with connect_over(dial, token="another"):
                pytest.fail("it connected")


async def test_a_visitors_secret_is_offered(autojump_clock: trio.testing.MockClock) -> None:
    """Its thread can be opened again by a connection with the same secret, and by no other."""
    async with network(Settings.of(memory="on", data="memory"), None, DOCUMENTS) as server:

        async def dial() -> ByteStream:
            return Piped(server.open())

        async with connect_over(dial, visitor="a" * 30) as agent:
            async for _ in agent.ask("What does the Basic plan cost?"):
                pass
            thread = agent.thread
        for visitor, continues in (("a" * 30, True), ("b" * 30, False), (None, False)):
            async with connect_over(dial, visitor=visitor) as agent:
                agent.thread = thread
                await agent.close()
                await trio.testing.wait_all_tasks_blocked()
                events = [event async for event in agent.ask("What does it cost?")]
                assert isinstance(events[0], Reconnected)
                assert events[0].continues is continues


@pytest.mark.parametrize("url", ["ftp://host", "http://[", "http://host:99999", "http://"])
async def test_a_url_must_be_one(url: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError, match=r"must look like http://127\.0\.0\.1:8787"):
        async with connect(url):
            pytest.fail("it connected")


# --- on asyncio


def test_it_runs_on_asyncio_too(tmp_path: Path) -> None:
    """Over a socket: a question, a decision, leaving a turn, and a server that is away."""
    (tmp_path / "plans.md").write_text("# Plans\n\nThe Standard plan costs 299 kr per month.\n")
    found: list[str] = []
    up, down = threading.Event(), threading.Event()

    async def run() -> None:
        async with serve(kb=tmp_path, port=0, vectors="off") as server:
            found.append(server.url)
            up.set()
            await trio.to_thread.run_sync(down.wait)

    async def talk() -> None:
        async with connect(found[0]) as agent:
            async with agent.ask("What does the Standard plan cost?") as turn:
                async for _event in turn:
                    break
            events = [event async for event in agent.ask(f"What does the Standard plan cost? {CALL}")]
            *_, response, suggestion = events
            assert isinstance(response, Response)
            assert "299 kr" in response.text
            assert isinstance(suggestion, ActionSuggestion)
            assert isinstance(await agent.confirm(suggestion.suggestion_id), ActionExecuted)

    server = threading.Thread(target=trio.run, args=(run,))
    server.start()
    try:
        assert up.wait(20)
        asyncio.run(talk())
    finally:
        down.set()
        server.join(20)
    with pytest.raises(CannotConnect, match="cannot connect"):
        asyncio.run(talk())
