"""Workers without processes: what the supervisor holds of one, and what the other end says."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trio
import trio.testing

from agent.server.capacity import Place, PlacePool
from agent.server.metrics import Metrics
from agent.settings import Settings
from agent.workers.channel import Channel
from agent.workers.messages import (
    AliveProbe,
    AliveReply,
    DrainRequest,
    GiveWay,
    PlaceGranted,
    PlaceRefused,
    StartFailed,
    ToWorker,
    WorkerLeaving,
    WorkerUp,
)
from agent.workers.shared_places import SharedPlaces
from agent.workers.supervisor import Supervisor
from agent.workers.supervisor_desk import SupervisorDesk

SIGKILL = -9


class FakeConnection:
    """What stands for a client's connection."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        """Be closed here; a worker that was given it has its own."""
        self.closed = True


class FakeChild:
    """A worker that only answers (implements `agent.workers.child.Child`).

    heard: all messages but `Probe`. given: every connection that it was given. untaken: those of them that came while
    it was stopped.
    """

    def __init__(self, number: int) -> None:
        ours, self.stream = trio.testing.memory_stream_pair()
        self.number = number
        self.channel: Channel[ToWorker] = Channel(ours, ToWorker)
        self.heard: list[Any] = []
        self.given: list[Any] = []
        self.untaken: list[Any] = []
        self.takes = True
        self.going = trio.Event()
        self.going.set()
        self.killed = False
        self.status: int | None = None
        self._ended = trio.Event()

    async def run(self) -> None:
        """Hear what the supervisor says."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.channel.write)
            while (message := await self.channel.receive()) is not None:
                await self.going.wait()
                match message:
                    case AliveProbe():
                        self.channel.send(AliveReply())
                    case _:
                        self.heard.append(message)
                        if isinstance(message, DrainRequest):
                            self.channel.send(WorkerLeaving())
            nursery.cancel_scope.cancel()

    def stop(self) -> None:
        """Stand still until `going` is set, as a process does on SIGSTOP."""
        self.going = trio.Event()

    def end(self, status: int = 0) -> None:
        """End, as a process does: its end of the channel closes with it."""
        if self.status is None:
            self.status = status
            self.channel._writing.cancel()
            self.going.set()
            self._ended.set()

    async def fail(self, words: str) -> None:
        """End as one that cannot start."""
        self.channel.send(StartFailed(words))
        await self.channel.wait_written()
        self.end(2)

    def give(self, connection: socket.socket) -> bool:
        """Take a connection, or not."""
        if self.takes:
            self.given.append(connection)
            if not self.going.is_set():
                self.untaken.append(connection)
        return self.takes

    def take_back(self) -> Any:
        """Return a connection that is not taken."""
        return self.untaken.pop(0) if self.untaken else None

    async def wait(self) -> int:
        """Wait for `end`."""
        await self._ended.wait()
        assert self.status is not None
        return self.status

    def kill(self) -> None:
        """End at once."""
        self.killed = True
        self.end(SIGKILL)

    def close(self) -> None:
        """Do nothing."""


class Stage:
    """A supervisor and its workers of paper. children: all that were started, in their order."""

    def __init__(self, nursery: trio.Nursery, workers: int, first: Callable[[FakeChild], None]) -> None:
        self.children: list[FakeChild] = []
        self.refuses = False
        self.begun = trio.Event()  # all were started once
        self._workers = workers
        self._first = first
        self._nursery = nursery
        self.supervisor = Supervisor(Settings.of(port=0, workers=workers), self._spawn)

    async def _spawn(self, number: int) -> FakeChild:
        if self.refuses:
            raise OSError(11, "Resource temporarily unavailable")
        child = FakeChild(number)
        self.children.append(child)
        self._nursery.start_soon(child.run)
        self._first(child)
        if len(self.children) == self._workers:
            self.children.sort(key=lambda each: each.number)  # they are started in no order
            self.begun.set()
        return child

    def newest(self, number: int) -> FakeChild:
        """Return the worker of a number that was started last."""
        return [each for each in self.children if each.number == number][-1]


def comes_up(child: FakeChild) -> None:
    """Be up at once."""
    child.channel.send(WorkerUp())


@asynccontextmanager
async def stage(
    workers: int = 2, first: Callable[[FakeChild], None] = comes_up
) -> AsyncIterator[tuple[Stage, trio.Nursery]]:
    """Run a supervisor of fake workers for the time of a block."""
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, workers, first)
        await nursery.start(scene.supervisor.run)
        yield scene, nursery
        nursery.cancel_scope.cancel()


class Office:
    """A desk and the places of some workers, joined without a channel. said: what the desk told each, in order."""

    def __init__(self, nursery: trio.Nursery, room: PlacePool, workers: int = 2) -> None:
        self.room = room
        self.desk = SupervisorDesk(room, Metrics(), nursery)
        self.said: dict[int, list[msgspec.Struct]] = {}
        self.places: dict[int, SharedPlaces] = {}
        self.deaf: set[int] = set()  # who does not hear yet what it is told
        for number in range(1, workers + 1):
            self.join(number)

    def join(self, number: int) -> None:
        """Let a worker join."""
        self.said[number] = []

        def tell(message: msgspec.Struct) -> None:
            self.said[number].append(message)
            if number not in self.deaf:
                self.hear(number, message)

        self.places[number] = SharedPlaces(lambda message: self.desk.hear(number, message))
        self.desk.add_worker(number, tell)

    def hear(self, number: int, message: msgspec.Struct) -> None:
        """Let a worker hear what it was told."""
        if isinstance(message, PlaceGranted | PlaceRefused):
            self.places[number].take_answer(message)
        elif isinstance(message, GiveWay):
            self.places[number].drop_place(message.place)

    async def take(self, worker: int, address: str | None = None) -> Place | str:
        """Take a place in a worker."""
        return await self.places[worker].take(address, trio.current_time())
