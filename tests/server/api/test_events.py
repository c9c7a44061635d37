"""A turn as events: each frame as it comes, the answer last, and a client that leaves or does not read."""

import json
from typing import Any

import pytest
import trio
import trio.testing

from agent.config import WRITE_TIMEOUT
from agent.errors import Conflict
from agent.ports.thread_service import ChatRequest, Listener
from agent.server.api.events import EVENTS_MOST, EVENTS_STILL_HERE, EVENTS_WAITING
from agent.server.serve import serve_stream
from agent.testing.faults import pipe

from ..test_api import unchunked
from . import asker, code_in, held_to_the_document, read, request
from .stores import House

ACCEPT = "Accept: text/event-stream"
MESSAGE = json.dumps({"user_id": "anna", "message": "Hello"}).encode()
CHAT = request("POST", "/chat", MESSAGE, ACCEPT)
DELTA = b'{"type":"stream","delta":"It "}'
END = b'{"type":"stream_end","reason":"done"}'


def events(body: bytes) -> list[tuple[str, Any]]:
    """Return the events of a stream: names and JSON values; comments as an empty name."""
    *every, rest = body.split(b"\n\n")
    assert rest == b""
    found: list[tuple[str, Any]] = []
    for each in every:
        if each == b":":
            found.append(("", None))
            continue
        name, data = each.split(b"\n")
        found.append((name.removeprefix(b"event: ").decode(), json.loads(data.removeprefix(b"data: "))))
    return found


def result_of(value: Any) -> Any:
    """Hold the last event to what the document says of the same answer as JSON."""
    body = json.dumps(value).encode()
    headers = {"connection": "close", "x-content-type-options": "nosniff", "content-type": "application/json"}
    return held_to_the_document("POST", "/chat", 200, headers | {"content-length": str(len(body))}, body)


async def saying(_: ChatRequest, listener: Listener | None) -> None:
    """Say two pieces a second apart, and the end."""
    assert listener is not None
    for frame in (DELTA, DELTA, END):
        listener.take_frame(frame)
        await trio.sleep(1)


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_frames_are_told_as_they_come_and_the_answer_last(
    version: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    """The connection ends with it at once; in chunks for who knows them."""
    ask = asker(House(play=saying))
    ours, theirs = pipe(1 << 30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(CHAT.replace(b"HTTP/1.1", b"HTTP/" + version))
        await trio.sleep(0.5)
        assert ours.take().endswith(
            b"event: stream\ndata: " + DELTA + b"\n\n" + b"\r\n" * (version == b"1.1")
        )
        rest = await read(ours)
        assert trio.current_time() == pytest.approx(3)
    body = unchunked(rest) if version == b"1.1" else rest
    told = events(body)
    assert [name for name, _ in told] == ["stream", "stream_end", "result"]
    assert result_of(told[-1][1])["render"]["text_to_send_to_user"] == "It is so."
    ask.left()


async def test_what_fails_before_it_begins_is_told_with_its_status(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As to who did not ask for events; after it has begun, as the last event."""

    async def busy(_: ChatRequest, listener: Listener | None) -> None:
        raise Conflict("turn_in_progress")

    ask = asker(House(play=busy))
    status, headers, value = await ask.ask("POST", "/chat", MESSAGE, ACCEPT)
    assert (status, code_in(value), headers["retry-after"]) == (409, "turn_in_progress", "1")

    async def cancelled(_: ChatRequest, listener: Listener | None) -> None:
        assert listener is not None
        listener.take_frame(DELTA)
        await trio.sleep(1)
        raise Conflict("cancelled")

    ask.house.play = cancelled
    status, headers, body = await ask.raw(CHAT)
    (_, (name, problem)) = events(unchunked(body))
    assert (status, name, problem["code"]) == (200, "problem", "cancelled")
    assert headers["content-type"] == "text/event-stream; charset=utf-8"


async def thinking(_: ChatRequest, listener: Listener | None) -> None:
    """Think for a long time."""
    await trio.sleep(100)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/event-stream", "text/event-stream; charset=utf-8"),
        ("Text/Event-Stream;q=0.9, application/json", "text/event-stream; charset=utf-8"),
        ("application/json, text/event-stream", "application/json"),
        ("*/*", "application/json"),
    ],
)
async def test_events_are_told_to_who_asks_for_them(accept: str, kind: str) -> None:
    """Of both, in the form that is named first."""
    _, headers, _ = await asker().raw(request("POST", "/chat", MESSAGE, f"Accept: {accept}"))
    assert headers["content-type"] == kind


async def test_silence_is_filled_with_comments(autojump_clock: trio.testing.MockClock) -> None:
    """So that nobody in between gives up."""

    async def silent(_: ChatRequest, listener: Listener | None) -> None:
        await trio.sleep(2.5 * EVENTS_STILL_HERE)

    ask = asker(House(play=silent))
    _, _, body = await ask.raw(CHAT)
    assert [name for name, _ in events(unchunked(body))] == ["", "", "result"]


@pytest.mark.parametrize("headers", [(), (ACCEPT,)])
async def test_a_client_that_leaves_ends_its_turn_at_once(
    headers: tuple[str, ...], autojump_clock: trio.testing.MockClock
) -> None:
    """Whether it wanted events or not; nothing of it is left."""
    ask = asker(House(play=thinking))
    ours, theirs = pipe(1 << 30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(request("POST", "/chat", MESSAGE, *headers))
        await trio.sleep(5)
        assert ask.house.done[-1] != "cancelled"
        ours.close()
        await trio.testing.wait_all_tasks_blocked()
        assert ask.house.done[-1] == "cancelled"
    assert trio.current_time() < 10
    ask.left()


async def test_the_pieces_of_a_text_are_asked_for_at_the_pace(autojump_clock: trio.testing.MockClock) -> None:
    """One at a time, so that one that was not said can be taken back; a pause is not made up for."""
    heard: list[float] = []

    async def saying(_: ChatRequest, listener: Listener | None) -> None:
        assert listener is not None
        for n in range(6):
            while not listener.room:
                told = trio.Event()
                listener.call_when_room(told.set)
                assert not told.is_set()
                await told.wait()
            heard.append(trio.current_time())
            listener.take_frame(DELTA)
            if n == 2:
                await trio.sleep(1)

    ask = asker(House(play=saying), pace=0.02)
    await ask.raw(CHAT)
    assert heard == pytest.approx([0, 0.02, 0.04, 1.04, 1.06, 1.08])


async def test_a_reader_that_is_behind_is_waited_for_and_then_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """There is room for so many; whoever takes nothing at all for a while ends its turn."""
    rooms: list[int] = []

    async def flood(_: ChatRequest, listener: Listener | None) -> None:
        assert listener is not None
        while listener.room:
            rooms.append(listener.room)
            listener.take_frame(DELTA)
        told = trio.Event()
        listener.call_when_room(told.set)
        await told.wait()

    ask = asker(House(play=flood))
    ours, theirs = pipe(1024)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(CHAT)
        await trio.sleep(WRITE_TIMEOUT + 1)
        assert ask.house.done[-1] == "cancelled"
    assert rooms == [*range(EVENTS_WAITING, 0, -1)]
    assert trio.current_time() == pytest.approx(WRITE_TIMEOUT + 1)
    ask.left()


async def test_nobody_can_be_behind_without_end(autojump_clock: trio.testing.MockClock) -> None:
    """What comes whether there is room or not is bounded too."""

    async def flood(_: ChatRequest, listener: Listener | None) -> None:
        assert listener is not None
        for _n in range(2 * EVENTS_MOST):
            listener.take_frame(END)
        await trio.sleep_forever()

    ask = asker(House(play=flood))
    ours, theirs = pipe(1 << 30)
    ours.feed(CHAT)
    await serve_stream(ask.edge, theirs)
    assert ask.house.done[-1] == "cancelled"
    assert "agent_aborts_total 1.0" in ask.metrics.text().decode()
    ask.left()


async def test_an_answer_that_comes_again_is_the_last_event_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Of events the answer is kept, not the frames."""
    ask = asker(House(play=saying))
    key = "Idempotency-Key: once"
    one = await ask.raw(request("POST", "/chat", MESSAGE, ACCEPT, key))
    two = await ask.raw(request("POST", "/chat", MESSAGE, ACCEPT, key))
    assert "idempotent-replayed" not in one[1]
    assert two[1]["idempotent-replayed"] == "true"
    (again,) = events(unchunked(two[2]))
    assert events(unchunked(one[2]))[-1] == again
    status, _, value = await ask.ask("POST", "/chat", MESSAGE, key)
    assert (status, value) == (200, again[1])
    assert len(ask.house.done) == 1
