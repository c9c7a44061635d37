"""A thread's wire: what is said is kept before it is told, in order, and together what belongs together."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio
import trio.testing

from agent.errors import AgentError, StorageFailed, WireClosed
from agent.protocol.codec import encode
from agent.protocol.outbound import ActionSuggestion, Outbound, Response, Stream, StreamEnd
from agent.threads.wire import ThreadWire

END = StreamEnd(reason="done", id="m")
SAID = Response(text="It is 299 kr.", citations=(), id="m")
OFFER = ActionSuggestion(suggestion_id="s1", action="refund", payload={"order": "A-1"})


class Ear:
    """Hears frames; takes as many deltas as it is told."""

    def __init__(self, room: int = 8) -> None:
        self.heard: list[str] = []
        self.room = room
        self.waits: Callable[[], None] | None = None

    def take_frame(self, frame: bytes) -> None:
        self.heard.append(msgspec.json.decode(frame)["type"])

    def call_when_room(self, told: Callable[[], None]) -> None:
        self.waits = told


class Rig:
    """A wire, and what was kept of it, group by group."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.kept: list[list[str]] = []
        self.slow = trio.Event()
        self.slow.set()
        self.fails = False
        self.failed = 0
        self.ear = Ear()
        self.wire = ThreadWire(self._keep, self._failed, nursery)
        self.wire.listener = self.ear

    async def _keep(self, frames: Sequence[Outbound]) -> None:
        await self.slow.wait()
        if self.fails:
            raise StorageFailed
        self.kept.append([type(frame).__name__ for frame in frames])

    def _failed(self, why: AgentError) -> None:
        assert isinstance(why, StorageFailed)
        self.failed += 1

    def put(self, *frames: Outbound) -> None:
        for frame in frames:
            self.wire.put_frames(self.wire.make_frame(encode(frame)))
        self.wire.flush()


@asynccontextmanager
async def rig() -> AsyncGenerator[Rig, None]:
    async with trio.open_nursery() as nursery:
        made = Rig(nursery)
        nursery.start_soon(made.wire.run)
        await trio.testing.wait_all_tasks_blocked()
        yield made
        nursery.cancel_scope.cancel()


async def test_what_one_step_says_is_kept_together_and_then_told() -> None:
    """Nothing of an answer is told while it is being kept, and its suggestion is kept with it."""
    async with rig() as r:
        r.slow = trio.Event()
        r.put(END, SAID, OFFER)
        await trio.testing.wait_all_tasks_blocked()
        assert (r.kept, r.ear.heard, r.wire.is_quiet) == ([], [], False)
        r.slow.set()
        await r.wire.wait_until_stored()
        assert r.kept == [["StreamEnd", "Response", "ActionSuggestion"]]
        assert r.ear.heard == ["stream_end", "response", "action_suggestion"]


async def test_deltas_are_told_at_once_but_never_before_what_was_said_earlier() -> None:
    """A delta waits for nothing but a frame before it."""
    async with rig() as r:
        r.wire.open_turn(1)
        assert r.wire.put_delta(1, encode(Stream("It ", "m")))
        r.wire.flush()
        assert r.ear.heard == ["stream"]
        r.slow = trio.Event()
        r.put(OFFER)
        await trio.testing.wait_all_tasks_blocked()
        r.wire.put_delta(1, encode(Stream("is", "m")))
        r.wire.flush()
        assert r.ear.heard == ["stream"]
        r.slow.set()
        await r.wire.wait_until_stored()
        assert r.ear.heard == ["stream", "action_suggestion", "stream"]


async def test_a_purge_takes_back_what_was_not_told() -> None:
    """Deltas of a turn that was ended are told to nobody, and none is taken any more."""
    async with rig() as r:
        r.wire.open_turn(1)
        r.slow = trio.Event()
        r.put(OFFER)
        await trio.testing.wait_all_tasks_blocked()
        r.wire.put_delta(1, encode(Stream("It ", "m")))
        r.wire.purge_deltas()
        assert not r.wire.put_delta(1, encode(Stream("is", "m")))
        r.put(StreamEnd(reason="cancelled", id="m"))
        r.slow.set()
        await r.wire.wait_until_stored()
        assert r.ear.heard == ["action_suggestion", "stream_end"]


async def test_written_is_told_when_somebody_was_told_or_nobody_listens() -> None:
    """With nobody to tell, what was said counts as said at once."""
    async with rig() as r:
        told: list[int] = []
        r.wire.listener = None
        r.wire.open_turn(1)
        r.wire.put_delta(1, b"{}", lambda: told.append(1))
        assert told == []
        r.wire.flush()
        assert told == [1]


async def test_a_reader_that_is_behind_keeps_the_turn_waiting() -> None:
    """There is as much room as the listener has; what waits for it goes on unless its turn was purged."""
    async with rig() as r:
        r.ear.room = 1
        r.wire.open_turn(1)
        assert r.wire.room == 1
        went: list[int] = []
        r.wire.call_when_room(lambda: went.append(1))
        assert r.ear.waits is not None
        r.ear.waits()
        assert went == [1]
        r.wire.call_when_room(lambda: went.append(2))
        r.wire.purge_deltas()
        r.ear.waits()
        assert went == [1]


async def test_what_waits_for_room_is_told_what_takes_it() -> None:
    """A listener that takes one at a time hears of the one that waits before it is asked for more room."""
    async with rig() as r:
        r.ear.room = 1
        r.wire.open_turn(1)
        r.wire.put_delta(1, encode(Stream("It ", "m")))
        assert r.wire.room == 0
        r.wire.call_when_room(lambda: None)
        assert (r.ear.heard, r.wire.room) == (["stream"], 1)


async def test_what_cannot_be_kept_is_told_to_nobody() -> None:
    """The thread is told once, its session's wire ends, and nothing more passes."""
    async with rig() as r:
        r.fails = True
        r.put(END, SAID)
        with pytest.raises(WireClosed):
            await r.wire.deliver_messages(lambda _: None)
        r.put(OFFER)
        await trio.testing.wait_all_tasks_blocked()
        assert (r.failed, r.kept, r.ear.heard, r.wire.is_quiet) == (1, [], [], True)


async def test_who_takes_one_piece_at_a_time_is_told_each() -> None:
    """A turn that finds no more room has not told what it just put, and waits for room that only this makes."""
    async with rig() as r:
        r.ear.room = 1
        r.wire.open_turn(1)
        delta = r.wire.make_frame(encode(Stream("It ", "m")))
        more: list[int] = []
        assert (r.wire.put_delta(1, delta), r.wire.room) == (True, 0)
        r.wire.call_when_room(lambda: more.append(1))
        assert r.ear.heard == ["stream"]
        assert r.ear.waits is not None
        r.ear.waits()
        assert more == [1]


async def test_room_is_asked_for_once_what_waits_was_told() -> None:
    """While something is being kept, what waits behind it takes up the room: to ask again and again would not help."""
    async with rig() as r:
        r.ear.room = 1
        r.slow = trio.Event()
        r.put(OFFER)
        await trio.testing.wait_all_tasks_blocked()
        r.wire.open_turn(1)
        assert r.wire.put_delta(1, r.wire.make_frame(encode(Stream("It ", "m"))))
        r.wire.call_when_room(lambda: None)
        assert (r.ear.heard, r.ear.waits) == ([], None)
        r.slow.set()
        await trio.testing.wait_all_tasks_blocked()
        assert r.ear.heard == ["action_suggestion", "stream"]
        assert r.ear.waits is not None
