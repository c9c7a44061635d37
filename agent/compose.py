"""Settings in, opened adapters out: the only module that knows every package.

Each adapter is opened by the `open.py` of its room, all on one stack, so that whatever fails or ends on the way closes
what was opened before it, the last one first. The ledger is opened first and so closed last: it outlives whatever has
an outcome to record.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from .actions.open import opened_executor
from .answering.brain import GroundedBrain
from .answering.deciding import DecidingBrain, Tools
from .answering.explain import Explain
from .answering.filling import FillingBrain
from .errors import UsageError
from .host import Threads, WallClock, new_id
from .knowledge import Knowledge
from .llm.open import model_decider, model_drafter, model_filler, opened_decider, opened_drafter
from .mcp.open import opened_servers
from .models.open import open_language_model
from .ports.action import Executor
from .ports.brain import Brain
from .ports.clock import Clock
from .ports.decide import Decider
from .ports.draft import Drafter
from .ports.fill import Filler
from .ports.ledger import Ledger
from .ports.mcp import McpConnect
from .ports.model import LanguageModel
from .ports.observe import Observer
from .ports.tools import ReadTools, RunsAt
from .ports.work import RunSync
from .retrieval.search import KnowledgeBase
from .retrieval.watch import Watch, watching
from .settings import Settings
from .storage.open import opened_ledger
from .structured.open import open_arguments
from .tools.catalogue import offered
from .tools.definitions import Definitions
from .tools.file import read_tools
from .tools.offering import Offering

_log = structlog.get_logger("agent.app")


@dataclass(frozen=True)
class Adapters:
    """Parts that stand in for the ones the settings name; None takes those. What a test or an embedder swaps.

    knowledge: never reloaded. run_sync: the system watches the folder in a thread too, so with another way to do
    blocking work it is watched only if `watch` says how. mcp: starts the MCP servers of the tools file.
    watch_loop: runs beside the server and measures its event loop, on real time; None measures nothing.
    """

    model: Drafter | None = None
    filler: Filler | None = None
    decider: Decider | None = None
    brain: Brain | None = None
    knowledge: KnowledgeBase | None = None
    executor: Executor | None = None
    mcp: McpConnect | None = None
    ledger: Ledger | None = None
    clock: Clock | None = None
    run_sync: RunSync | None = None
    watch_loop: Callable[[Observer], Awaitable[None]] | None = None
    watch: Watch | None = None
    new_id: Callable[[], str] = new_id


@dataclass(frozen=True)
class Composed:
    """What a server is made of, opened. knowledge: None where another brain answers. read_tools: makes tools of what
    comes with a message; None where none are taken.
    """

    settings: Settings
    ledger: Ledger
    executor: Executor
    knowledge: Knowledge | None
    brain: Brain
    clock: Clock
    new_id: Callable[[], str]
    read_tools: ReadTools | None


@asynccontextmanager
async def composed(
    settings: Settings, chosen: Adapters, observer: Observer, ledger_told: Callable[[str], None]
) -> AsyncGenerator[Composed, None]:
    """Open what the settings name, but for what was chosen in its place, for the time of a block.

    The documents are not read yet. ledger_told: hears why nothing can be claimed, and "" when it can again.
    Raises UsageError when something cannot be used. On the way out, also by a cancel, everything is closed; the ledger
    takes LEDGER_CLOSE_TIMEOUT at most.
    """
    clock = chosen.clock or WallClock()
    opened = opened_tools(settings, clock)
    tools, operator = opened if opened is not None else (None, Offering())
    async with AsyncExitStack() as stack:
        ledger = chosen.ledger
        if ledger is None:
            run_sync = chosen.run_sync or Threads(1)
            ledger = await stack.enter_async_context(
                opened_ledger(settings.storage, settings.documents.kb, run_sync, clock, observer, ledger_told)
            )
        executor = chosen.executor
        if executor is None:
            by_server = None
            if tools is not None:
                by_server = await stack.enter_async_context(
                    opened_servers(operator, tools.arguments, chosen.mcp)
                )
            executor = await stack.enter_async_context(
                opened_executor(settings.actions, operator.own, by_server)
            )
        knowledge, brain = None, chosen.brain
        if brain is None:
            explain = log_why if settings.log.log_level == "debug" else None
            knowledge = documents(settings, chosen, observer)
            brain = await stack.enter_async_context(
                answering(settings, knowledge, observer, chosen.run_sync or Threads(), explain, chosen, tools)
            )
        read = tools.read if tools is not None and settings.tools.client_tools else None
        yield Composed(settings, ledger, executor, knowledge, brain, clock, chosen.new_id, read)


def opened_tools(settings: Settings, clock: Clock) -> tuple[Tools, Offering] | None:
    """Return what turns may call, and how, and the operator's part of it; None where the settings offer nothing.

    Blocks while it reads the file, of which no server is started. A tool that does not say where it runs goes where
    the operator's actions go. Raises UsageError.
    """
    file = settings.tools.tools
    if file is None and not settings.tools.client_tools:
        return None
    runs_at: RunsAt = "record" if settings.actions.action_webhook is None else "webhook"
    arguments = open_arguments()
    operator = read_tools(file, arguments, runs_at) if file is not None else Offering()
    definitions = Definitions(arguments)
    tools = Tools(
        operator,
        lambda given: offered(operator, definitions.read(given, "request", runs_at)),
        arguments,
        settings.tools.rounds,
        settings.tools.approve_from,
        settings.answers.turn_timeout,
        lambda: datetime.fromtimestamp(clock.now_ms() / 1000, UTC).astimezone().date(),
    )
    return tools, operator


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
    tools: Tools | None = None,
) -> AsyncGenerator[Brain, None]:
    """Open the brain over some documents for the time of a block.

    observer: keeps the figures of a language model. run_sync: does its blocking work. explain: is told why each answer
    is what it is. chosen: the drafter and the filler that stand in for the ones the settings name. tools: what turns
    may call; None is nothing.
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
        brain = GroundedBrain(knowledge, drafter, settings.answers, explain)
        plain: Brain = brain
        if fills and filler is not None:
            plain = FillingBrain(brain, filler, settings.answers, observer)
        if tools is None:
            yield plain
            return
        decider = chosen.decider if chosen is not None else None
        if decider is None and model is not None:
            decider = model_decider(model, settings.model.answer_tokens)
        elif decider is None:
            decider = await stack.enter_async_context(opened_decider(settings.model.model, settings.mock))
        yield DecidingBrain(plain, brain, decider, tools, observer)


def log_why(lines: Sequence[str]) -> None:
    """Log why an answer is what it is; written at debug level only."""
    for line in lines:
        _log.debug("why", text=line)
