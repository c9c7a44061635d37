"""Threads on virtual time: a desk over a database in memory, a model that decides by a script, calls that take time."""

import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import trio

from agent.actions.runner import Runner
from agent.answering.brain import GroundedBrain
from agent.answering.deciding_brain import DecidingBrain, TurnTools
from agent.ports.brain import Question
from agent.ports.calls import StoredCall
from agent.ports.conversation import Scope
from agent.ports.decide import Act, Decision, Noop
from agent.ports.hints import NO_HINTS, Hints
from agent.ports.memory import Item, ProposalOutcome
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.remember import NO_RECORDER, FinishedAnswer, Memory, MemoryAccess, Recorder, ReturnPath
from agent.ports.thread_service import ChatRequest, Reply
from agent.ports.threads import StoredMessage
from agent.ports.tools import CheckerFactory, ToolDefinition
from agent.session.context import SessionContext, refuse_tools
from agent.session.registry import Registry
from agent.session.settings import SessionSettings
from agent.settings import Settings
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.testing.breakable import BreakableExecutor, BreakableModel, DraftScript, EffectBegan
from agent.testing.fakes import Figures, FixedRetriever, ScriptedDecider
from agent.testing.network import inline
from agent.threads.desk import ThreadDesk
from agent.threads.settings import ThreadSettings
from agent.threads.thread_registry import Stores
from agent.wire.pulse import Pulse
from tests.strikes.tooling import TOOLS, Orders

ORDERS = "what about orders A-1 and A-2?"
LOOK_UP = Act("look_up", {"order": "A-1"})
REFUND = Act("refund", {"order": "A-1"})
SHIP = Act("ship", {"order": "A-1"})  # the caller's, with approval
NOTE = Act("note", {"order": "A-1"})  # the caller's, without
ANSWER = Noop()
_THEIRS = (
    ToolDefinition(
        name="ship",
        description="Sends an order.",
        parameters=TOOLS[0].parameters,
        requires_approval=True,
        risk="medium",
        runs_at="caller",
        origin="operator",
    ),
    ToolDefinition(
        name="note",
        description="Notes an order.",
        parameters=TOOLS[0].parameters,
        requires_approval=False,
        risk="low",
        runs_at="caller",
        origin="operator",
    ),
)


class Wall:
    """The world's clock, which goes with the loop's."""

    def now_ms(self) -> int:
        return 1_700_000_000_000 + round(trio.current_time() * 1000)


class Ear:
    """Hears what a socket's client would."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self.room = 64

    def take_frame(self, frame: bytes) -> None:
        self.frames.append(msgspec.json.decode(frame))

    def call_when_room(self, told: Any) -> None:
        raise AssertionError("there is room")

    def kinds(self) -> list[str]:
        return [frame["type"] for frame in self.frames]


class Notebook:
    """Remembers what it is told, and proposes to keep each message."""

    def __init__(self) -> None:
        self.kept_: list[tuple[str, str, bool]] = []
        self.scopes: list[Scope] = []
        self.offers = 0

    def record_exchange(self, question: Question, answered: FinishedAnswer, return_path: ReturnPath) -> None:
        self.offers += 1

    def decline_item(self, scope: Scope, item: str) -> None:
        raise AssertionError("nothing was suggested")

    async def record_and_propose(
        self, question: Question, answered: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...]:
        self.scopes.append(question.scope)
        self.kept_.append((question.text, answered.text, answered.blocked))
        return (ProposalOutcome(item_of(question.text), True, (item_of("It was 199 kr."),)),)


def item_of(text: str) -> Item:
    """A proposed item that says this."""
    return Item(
        id=f"i{len(text)}",
        type="fact",
        status="proposed",
        key=("price",),
        slot="money SEK",
        text=text,
        numbers=(),
        scope=Scope(HOUSE, "", "anna"),
        valid_from=0,
        valid_to=None,
        expires_at=None,
        supersedes=None,
        superseded_by=None,
        confidence=1.0,
        sources=(),
        created_at=0,
        decided_at=None,
        decided_by=None,
        revision=1,
    )


@dataclass
class Lab:
    """A desk, and what it is made of."""

    desk: ThreadDesk
    stores: Any
    executor: BreakableExecutor
    decider: ScriptedDecider
    model: BreakableModel
    registry: Registry
    runner: Runner
    effects: list[EffectBegan] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # when each began
    remembers: Any = None  # what takes users' decisions about what is remembered

    async def chat(self, text: str = ORDERS, thread: str | None = None, **more: Any) -> Reply:
        listener = more.pop("listener", None)
        return await self.desk.chat(
            ChatRequest(project=HOUSE, user="anna", text=text, thread=thread, **more), listener
        )

    async def call(self, id: str) -> StoredCall:
        return await self.stores.calls.call(HOUSE, id)  # type: ignore[no-any-return]

    async def messages(self, thread: str) -> tuple[StoredMessage, ...]:
        page = await self.stores.threads.messages(HOUSE, thread, Window(200))
        return page.entries  # type: ignore[no-any-return]

    def began(self) -> list[tuple[str, dict[str, Any]]]:
        """The effects that began: of which call, with which arguments."""
        return [(each.suggestion_id, dict(each.payload)) for each in self.effects]


@asynccontextmanager
async def lab(
    *decisions: Decision | Exception | float,
    before: float = 0.0,
    after: float = 0.0,
    think: float = 0.1,
    settings: ThreadSettings | None = None,
    stores: Any = None,
    drafts: Sequence[DraftScript] = (),
    name: str = "id",
    recorder: Recorder = NO_RECORDER,
    memory: Memory | None = None,
    consulted: Callable[[Registry], MemoryAccess] | None = None,
    arguments: CheckerFactory | None = None,
    hints: Hints = NO_HINTS,
) -> AsyncGenerator[Lab, None]:
    """Run a desk for the time of a block.

    stores: another one's. name: what its ids begin with. memory: with it what is proposed can be made sound.
    consulted: makes what is asked of what is remembered. hints: of its process.
    """
    checks = arguments or Orders()
    ids = itertools.count(1)
    figures, registry, pulse, clock = Figures(), Registry(), Pulse(), Wall()
    effects: list[EffectBegan] = []
    times: list[float] = []

    def note(what: Any) -> None:
        if isinstance(what, EffectBegan):
            effects.append(what)
            times.append(trio.current_time())

    executor = BreakableExecutor(before, after, note=note)
    model = BreakableModel(drafts or (DraftScript("It costs 299 kr.", think),))
    decider = ScriptedDecider(*(decisions or (ANSWER,)))
    tools = TurnTools(
        operator=(*TOOLS, *_THEIRS),
        read_message_tools=refuse_tools,
        arguments=checks,
        rounds=4,
        approve_from="high",
        timeout=30.0,
        today=lambda: date(2023, 11, 14),
    )
    grounded = GroundedBrain(FixedRetriever(), model, Settings.of().answers, memory=memory)
    brain = DecidingBrain(grounded, grounded, decider, tools, figures)
    async with opened_memory(stores, clock) as opened, trio.open_nursery() as nursery:
        runner = Runner(nursery, opened.ledger, executor, clock, figures)
        parts = SessionContext(
            settings=SessionSettings(pace_ms=0, rate_limit=0),
            brain=brain,
            runner=runner,
            registry=registry,
            pulse=pulse,
            clock=clock,
            observer=figures,
            new_id=lambda: f"{name}{next(ids)}",
            recorder=recorder,
            memory=consulted(registry) if consulted is not None else None,
        )
        kept = Stores(opened.projects, opened.threads, opened.calls, hints=hints)
        desk = ThreadDesk(
            kept, parts, runner, settings or ThreadSettings(), tools.operator, refuse_tools, checks
        )
        nursery.start_soon(registry.keep_time)
        nursery.start_soon(pulse.run)
        await nursery.start(desk.run)
        yield Lab(desk, opened, executor, decider, model, registry, runner, effects, times, desk_of(parts))
        nursery.cancel_scope.cancel()


def desk_of(parts: SessionContext) -> Any:
    """Return what takes users' decisions, None where nothing is remembered."""
    return parts.memory.desk if parts.memory is not None else None


@asynccontextmanager
async def opened_memory(stores: Any, clock: Wall) -> AsyncGenerator[Any, None]:
    if stores is not None:
        yield stores
        return
    async with open_store(StorageSettings(), Path("kb"), inline, clock) as made:
        yield made
