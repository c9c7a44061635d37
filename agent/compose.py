"""Settings in, opened adapters out: the only module that knows every package.

Each adapter is opened by the `open.py` of its room, all on one stack, so that whatever fails or ends on the way closes
what was opened before it, the last one first. The ledger is opened first and so closed last: it outlives whatever has
an outcome to record.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import structlog

from .actions.open import opened_executor
from .answering.brain import GroundedBrain
from .answering.deciding import DecidingBrain, Tools
from .answering.explain import Explain
from .answering.filling import FillingBrain
from .answering.projects import ProjectsBrain, Prompts
from .answering.settings import AnswerSettings
from .config import INDEXES_AT_ONCE
from .errors import UsageError
from .host import Threads, WallClock, new_id
from .knowledge import Knowledge
from .llm.open import (
    model_decider,
    model_drafter,
    model_filler,
    opened_decider,
    opened_drafter,
    shown_decision,
    shown_draft,
)
from .mcp.open import opened_servers
from .models.open import open_language_model
from .ports.action import Executor
from .ports.brain import Brain
from .ports.clock import Clock
from .ports.decide import Decider
from .ports.draft import NO_CHARTER, Drafter
from .ports.fill import Filler
from .ports.ledger import Ledger
from .ports.mcp import McpConnect
from .ports.model import LanguageModel
from .ports.note import Noter
from .ports.observe import Observer
from .ports.projects import Holdings, ProjectLibrary, ProjectStore, PromptDebug
from .ports.remember import Memory
from .ports.tools import Arguments, ReadTools, RunsAt
from .ports.work import RunSync
from .remembering import Remembering, Workers, opened_noter, opened_remembering
from .retrieval.library import ProjectIndexes
from .retrieval.search import KnowledgeBase
from .retrieval.watch import Watch, watching
from .settings import Settings
from .storage.open import opened_store
from .storage.store import Store
from .structured.open import ArgumentsLater, can_check, open_arguments
from .tools.catalogue import offered
from .tools.definitions import Definitions
from .tools.file import read_tools
from .tools.offering import Offering

_log = structlog.get_logger("agent.app")


@dataclass(frozen=True)
class Adapters:
    """Parts that stand in for the ones the settings name; None takes those. What a test or an embedder swaps.

    knowledge: never reloaded. run_sync: the system watches the folder in a thread too, so with another way to do
    blocking work it is watched only if `watch` says how. remember_sync: does it for what is remembered, two pieces at a
    time. store: all that is kept, its ledger too. ledger: with
    one alone nothing but actions is kept, so that there is nothing over HTTP that needs more. mcp: starts the MCP
    servers of the tools file.
    watch_loop: runs beside the server and measures its event loop, on real time; None measures nothing.
    """

    model: Drafter | None = None
    filler: Filler | None = None
    decider: Decider | None = None
    noter: Noter | None = None
    brain: Brain | None = None
    knowledge: KnowledgeBase | None = None
    executor: Executor | None = None
    mcp: McpConnect | None = None
    ledger: Ledger | None = None
    store: Store | None = None
    clock: Clock | None = None
    run_sync: RunSync | None = None
    remember_sync: RunSync | None = None
    watch_loop: Callable[[Observer], Awaitable[None]] | None = None
    watch: Watch | None = None
    new_id: Callable[[], str] = new_id


@dataclass(frozen=True)
class Composed:
    """What a server is made of, opened.

    knowledge, prompts: None where another brain answers. read_tools: makes tools of what comes with a message; None
    where none are taken. store: None where only a ledger is kept. threads: answers what comes over HTTP. tools: what
    may be called. prompts: shows what a model would be asked. remembering: None where users are not remembered.
    """

    settings: Settings
    ledger: Ledger
    executor: Executor
    knowledge: Knowledge | None
    brain: Brain
    clock: Clock
    new_id: Callable[[], str]
    read_tools: ReadTools | None
    store: Store | None
    threads: Brain
    tools: "Toolbox"
    prompts: PromptDebug | None = None
    remembering: Remembering | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers, opened.

    brain: over a socket, from the operator's documents. threads: over HTTP, each question from its project's. prompts:
    shows what a model would be asked there, and asks none.
    """

    brain: Brain
    threads: Brain
    prompts: PromptDebug


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept that answers draw on.

    projects: whose documents questions of other projects are answered from; None where there is none but the
    operator's own. memory: what users want remembered; None remembers nothing.
    """

    projects: ProjectStore | None = None
    memory: Memory | None = None


NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What may be called.

    operator: the operator's tools. arguments: checks arguments; None where no tool can be called. sockets: what turns
    over a socket may call; None is nothing. threads: what turns over HTTP may, whose own tools their callers run.
    """

    operator: Offering
    arguments: Arguments | None = None
    sockets: Tools | None = None
    threads: Tools | None = None


@asynccontextmanager
async def composed(
    settings: Settings,
    chosen: Adapters,
    observer: Observer,
    ledger_told: Callable[[str], None],
    memory_told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Composed, None]:
    """Open what the settings name, but for what was chosen in its place, for the time of a block.

    The documents are not read yet. ledger_told: hears why nothing can be claimed, and "" when it can again.
    memory_told: the same of what is remembered.
    Raises UsageError when something cannot be used. On the way out, also by a cancel, everything is closed; the ledger
    takes LEDGER_CLOSE_TIMEOUT at most.
    """
    clock = chosen.clock or WallClock()
    tools = opened_tools(settings, clock)
    async with AsyncExitStack() as stack:
        ledger, store = chosen.ledger, chosen.store
        if ledger is None:
            if store is None:
                run_sync = chosen.run_sync or Threads(1)
                store = await stack.enter_async_context(
                    opened_store(
                        settings.storage, settings.documents.kb, run_sync, clock, observer, ledger_told
                    )
                )
            ledger = store.ledger
        remembering = None
        if settings.memory.memory == "off" and settings.model.memory_model is not None:
            raise UsageError("memory-model is for a memory: leave it away, or memory at on")
        if settings.memory.memory == "on":
            noter = chosen.noter
            if noter is None:
                noter = await stack.enter_async_context(
                    opened_noter(settings.model, observer, chosen.run_sync or Threads(1))
                )
            remembering = await stack.enter_async_context(
                opened_remembering(
                    settings.storage,
                    settings.vectors,
                    Workers(
                        chosen.remember_sync or chosen.run_sync or Threads(2), chosen.run_sync or Threads(3)
                    ),
                    clock,
                    observer,
                    memory_told,
                    store.threads if store is not None else None,
                    noter,
                )
            )
        executor = chosen.executor
        if executor is None:
            by_server = None
            if tools.arguments is not None:
                by_server = await stack.enter_async_context(
                    opened_servers(tools.operator, tools.arguments, chosen.mcp)
                )
            executor = await stack.enter_async_context(
                opened_executor(
                    settings.actions,
                    tools.operator.own,
                    by_server,
                    remembering.executors if remembering is not None else None,
                )
            )
        knowledge, brain, threads, prompts = None, chosen.brain, chosen.brain, None
        if brain is None or threads is None:
            explain = log_why if settings.log.log_level == "debug" else None
            knowledge = documents(settings, chosen, observer)
            opened = await stack.enter_async_context(
                answering(
                    settings,
                    knowledge,
                    observer,
                    chosen.run_sync or Threads(),
                    explain,
                    chosen,
                    tools,
                    Kept(
                        store.projects if store is not None else None,
                        remembering.recollection if remembering is not None else None,
                    ),
                )
            )
            brain, threads, prompts = opened.brain, opened.threads, opened.prompts
        read = tools.sockets.read if tools.sockets is not None and settings.tools.client_tools else None
        yield Composed(
            settings,
            ledger,
            executor,
            knowledge,
            brain,
            clock,
            chosen.new_id,
            read,
            store,
            threads,
            tools,
            prompts,
            remembering,
        )


def opened_tools(settings: Settings, clock: Clock) -> Toolbox:
    """Return what turns may call, and how. Blocks while it reads the operator's file, of which no server is started.

    A tool that does not say where it runs goes where the operator's actions go, one of a message over HTTP to its
    caller. Raises UsageError; jsonschema-rs is missed only where the settings offer tools.
    """
    file = settings.tools.tools
    wanted = file is not None or settings.tools.client_tools
    if not wanted and not can_check():
        return Toolbox(Offering())
    runs_at: RunsAt = "record" if settings.actions.action_webhook is None else "webhook"
    arguments = open_arguments() if wanted else ArgumentsLater()
    operator = read_tools(file, arguments, runs_at) if file is not None else Offering()
    definitions = Definitions(arguments)
    threads = Tools(
        operator,
        lambda given: offered(operator, definitions.read(given, "request", "caller")),
        arguments,
        settings.tools.rounds,
        settings.tools.approve_from,
        settings.answers.turn_timeout,
        lambda: datetime.fromtimestamp(clock.now_ms() / 1000, UTC).astimezone().date(),
    )
    sockets = replace(
        threads,
        operator=operator.here,
        read=lambda given: offered(operator, definitions.read(given, "request", runs_at)),
    )
    return Toolbox(operator, arguments, sockets if wanted else None, threads)


def documents(settings: Settings, chosen: Adapters, observer: Observer | None = None) -> Knowledge:
    """Return the documents, not read yet. Raises UsageError for what can be told before they are.

    observer: counts searches.
    """
    # The system watches the folder in a thread of its own.
    watch = chosen.watch or (None if chosen.run_sync else watching)
    knowledge = Knowledge(settings, chosen.knowledge, chosen.run_sync or Threads(), watch, observer)
    knowledge.check()
    return knowledge


@asynccontextmanager
async def answering(
    settings: Settings,
    knowledge: Knowledge,
    observer: Observer,
    run_sync: RunSync,
    explain: Explain | None = None,
    chosen: Adapters | None = None,
    tools: Toolbox | None = None,
    kept: Kept = NOTHING_KEPT,
) -> AsyncGenerator[Answering, None]:
    """Open what answers from some documents, and from those of projects, for the time of a block.

    observer: keeps the figures of a language model. run_sync: does its blocking work. explain: is told why each answer
    is what it is. chosen: the drafter and the filler that stand in for the ones the settings name. tools: what turns
    may call; None is nothing. kept: what is kept that answers draw on.
    Raises UsageError when that cannot be used.
    """
    drafter, filler = (chosen.model, chosen.filler) if chosen is not None else (None, None)
    fills = settings.actions.payloads == "model"
    async with AsyncExitStack() as stack:
        model: LanguageModel | None = None
        if not settings.model.drafts_alone and (drafter is None or (fills and filler is None)):
            model = await stack.enter_async_context(open_language_model(settings.model, observer, run_sync))
        if fills and filler is None:
            if model is None:
                raise UsageError(
                    f"payloads model needs a language model, and {settings.model.model.partition(':')[0]} is none: "
                    "choose one with model openai:NAME or anthropic:NAME, or leave payloads at words"
                )
            filler = model_filler(model, run_sync)
        if drafter is None and model is not None:
            drafter = model_drafter(model, settings.model.answer_tokens, settings.answers.answer)
        elif drafter is None:
            drafter = await stack.enter_async_context(
                opened_drafter(settings.model.model, settings.mock, knowledge.texts)
            )
        decides = tools is not None and tools.threads is not None
        decider = chosen.decider if chosen is not None else None
        if decides and decider is None and model is not None:
            decider = model_decider(model, settings.model.answer_tokens)
        elif decides and decider is None:
            decider = await stack.enter_async_context(opened_decider(settings.model.model, settings.mock))
        ways = _Ways(
            settings.answers, drafter, filler if fills else None, decider, observer, explain, kept.memory
        )
        building = (chosen.run_sync if chosen is not None else None) or Threads(INDEXES_AT_ONCE)
        indexes = None
        if kept.projects is not None:
            indexes = ProjectIndexes(kept.projects, building, meaning=knowledge.another_meaning)
        yield _answering(ways, tools or Toolbox(Offering()), knowledge, indexes)


@dataclass(frozen=True, slots=True)
class _Ways:
    """What every brain of a server shares, whatever documents it is over."""

    settings: AnswerSettings
    drafter: Drafter
    filler: Filler | None
    decider: Decider | None
    observer: Observer
    explain: Explain | None
    memory: Memory | None

    def grounded(self, held: Holdings, explain: Explain | None = None) -> GroundedBrain:
        """Return what finds evidence and drafts from it."""
        return GroundedBrain(held.documents, self.drafter, self.settings, explain, held.charter, self.memory)

    def brain(self, tools: Tools | None, held: Holdings) -> Brain:
        """Return what answers, with payloads and tools where there are some."""
        grounded = self.grounded(held, self.explain)
        plain: Brain = grounded
        if self.filler is not None:
            plain = FillingBrain(grounded, self.filler, self.settings, self.observer)
        if tools is None or self.decider is None:
            return plain
        return DecidingBrain(plain, grounded, self.decider, tools, self.observer)


def _answering(
    ways: _Ways, tools: Toolbox, knowledge: Knowledge, indexes: ProjectLibrary | None
) -> Answering:
    """Return what answers from the operator's documents, and from those of projects where there are any."""
    house = Holdings(knowledge, NO_CHARTER)
    over = partial(ways.brain, tools.threads)
    return Answering(
        ways.brain(tools.sockets, house),
        ProjectsBrain(over(house), indexes, over),
        Prompts(ways.grounded(house), indexes, ways.grounded, tools.operator, shown_draft, shown_decision),
    )


def log_why(lines: Sequence[str]) -> None:
    """Log why an answer is what it is; written at debug level only."""
    for line in lines:
        _log.debug("why", text=line)
