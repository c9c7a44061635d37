"""A real session over a wire in memory, with a Brain that the test scripts and a runner with a fake executor."""

import gc
import itertools
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import trio

from agent.actions.runner import Runner
from agent.ports.action import Call
from agent.ports.brain import DraftCompleted, Proposal, Question, RunCall, TurnEvent, VerifiedPart
from agent.session.context import SessionContext
from agent.session.registry import Registry
from agent.session.session import Session
from agent.session.settings import SessionSettings
from agent.storage.memory_ledger import MemoryLedger
from agent.testing.wires import MemoryWire
from agent.wire.pulse import Pulse

from .driver import text

Emit = Callable[[TurnEvent], None]
Script = Callable[[Question, Emit], Awaitable[None]]
SETTINGS = SessionSettings(pace_ms=20, rate_limit=0)
ANSWER = "It is 299 kr. "


class ScriptedBrain:
    """Does what the test says, and knows how many of its turns run at once."""

    def __init__(self) -> None:
        self.script: Script = answer
        self.act: RunCall | None = None  # of the turn begun last
        self.alive = 0
        self.most = 0
        self.ended = 0

    async def answer(self, question: Question, emit: Emit, act: RunCall | None = None) -> None:
        self.alive += 1
        self.act = act
        self.most = max(self.most, self.alive)
        try:
            await self.script(question, emit)
        finally:
            self.act = None if self.act is act else self.act
            self.alive -= 1
            self.ended += 1


def saying(words: str, think: float = 0.0, proposals: int = 0) -> Script:
    """A script that thinks for some seconds and then says a verified text."""

    async def script(_: Question, emit: Emit) -> None:
        await trio.sleep(think)
        emit(DraftCompleted())
        emit(
            VerifiedPart(
                text=text(words),
                last=True,
                proposals=(Proposal(action="create_ticket", payload={"subject": "s"}),) * proposals,
            )
        )

    return script


answer = saying(ANSWER)


async def hang(_: Question, __: Emit) -> None:
    """A model that never answers."""
    await trio.sleep_forever()


class FakeExecutor:
    """Sleeps before and after `begin()`, and counts the effects that began."""

    def __init__(self, before: float = 0.0, after: float = 0.0) -> None:
        self.before = before
        self.after = after
        self.begun: list[str] = []
        self.told: list[dict[str, Any]] = []

    async def run(self, call: Call, begin: Callable[[], None]) -> dict[str, Any]:
        await trio.sleep(self.before)
        begin()
        self.begun.append(call.suggestion_id)
        self.told.append(dict(call.payload))
        await trio.sleep(self.after)
        return {"ran": call.action}


class Counts:
    """An Observer that keeps what it is told."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, str]] = []
        self.measured: list[tuple[str, float]] = []
        self.levels: dict[str, int] = {}

    def count(self, metric: str, label: str = "") -> None:
        self.counted.append((metric, label))

    def measure(self, metric: str, seconds: float) -> None:
        self.measured.append((metric, seconds))

    def gauge(self, metric: str, change: int) -> None:
        self.levels[metric] = self.levels.get(metric, 0) + change


class FixedClock:
    """It is always the same moment in the world."""

    def now_ms(self) -> int:
        return 1_700_000_000_000


class World:
    """What sessions share, made for one test."""

    def __init__(self, nursery: trio.Nursery, settings: SessionSettings) -> None:
        self.brain = ScriptedBrain()
        self.executor = FakeExecutor()
        self.ledger = MemoryLedger()
        self.registry = Registry(settings.confirm_time)
        self.pulse = Pulse()
        self.counts = Counts()
        self.runner = Runner(nursery, self.ledger, self.executor, FixedClock(), self.counts)
        ids = itertools.count(1)
        self.parts = SessionContext(
            settings=settings,
            brain=self.brain,
            runner=self.runner,
            registry=self.registry,
            pulse=self.pulse,
            clock=FixedClock(),
            observer=self.counts,
            new_id=lambda: f"id{next(ids)}",
        )
        self.gone: list[weakref.ref[Any]] = []
        self._nursery = nursery

    async def connect(self, greet: bool = False) -> MemoryWire:
        """Start a session; return its wire."""
        wire = MemoryWire(self._nursery)
        session = Session(self.parts, wire, greet)
        self.gone.append(weakref.ref(session))
        self._nursery.start_soon(session.run)
        await trio.testing.wait_all_tasks_blocked()
        return wire

    @property
    def states(self) -> list[str]:
        return [member.state for member in self.registry if isinstance(member, Session)]

    def nothing_is_left(self) -> None:
        """The census: no session, turn, timer or object of one remains."""
        assert len(self.registry) == 0
        assert self.registry.armed_count == 0
        assert len(self.pulse) == 0
        assert self.brain.alive == 0
        assert {name: level for name, level in self.counts.levels.items() if level} == {}
        gc.collect()
        assert [ref() for ref in self.gone if ref() is not None] == []


@asynccontextmanager
async def world(**settings: Any) -> AsyncGenerator[World, None]:
    """A world with its timers running; everything in it is cancelled at the end."""
    async with trio.open_nursery() as nursery:
        made = World(nursery, replace(SETTINGS, **settings))
        nursery.start_soon(made.registry.keep_time)
        nursery.start_soon(made.pulse.run)
        yield made
        nursery.cancel_scope.cancel()


def ask(id: str = "m", words: str = "price?") -> dict[str, Any]:
    return {"type": "message", "id": id, "text": words}
