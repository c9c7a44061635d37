"""Settings in, opened adapters out: this and its parts (`brains`, `remembering`, `toolbox`) alone know all rooms.

Each adapter is opened by the `open.py` of its room, all on one stack, so that whatever fails or ends on the way closes
what was opened before it, the last one first. The ledger is opened first and so closed last: it outlives whatever has
an outcome to record.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from ..actions.open import opened_executor
from ..errors import UsageError
from ..host import Threads, WallClock
from ..mcp.open import opened_servers
from ..ports.action import Executor
from ..ports.brain import Brain
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.observe import Observer
from ..ports.projects import PromptDebug
from ..ports.tools import ReadTools
from ..retrieval.foreign import ForeignFiles, foreign_files
from ..retrieval.watch import watching
from ..settings import Settings
from ..storage.open import opened_store
from ..storage.store import Store
from .adapters import Adapters
from .answering import Kept, answering, log_why
from .knowledge import Knowledge
from .memory import Remembering, Workers, opened_noter, opened_remembering
from .tools import Toolbox, opened_tools


@dataclass(frozen=True)
class Composed:
    """What a server is made of, opened.

    knowledge, prompts: None where another brain answers. read_tools: makes tools of what comes with a message; None
    where none are taken. store: None where only a ledger is kept. threads: answers what comes over HTTP. tools: what
    may be called. foreign: reads what is uploaded. prompts: shows what a model would be asked. remembering: None where
    users are not remembered.
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
    tools: Toolbox
    foreign: ForeignFiles
    prompts: PromptDebug | None = None
    remembering: Remembering | None = None


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
        foreign = stack.enter_context(foreign_files(chosen.isolate))
        knowledge, brain, threads, prompts = None, chosen.brain, chosen.brain, None
        if brain is None or threads is None:
            explain = log_why if settings.log.log_level == "debug" else None
            knowledge = documents(settings, chosen, foreign, observer)
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
                        foreign.sections_of_text,
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
            foreign,
            prompts,
            remembering,
        )


def documents(
    settings: Settings, chosen: Adapters, foreign: ForeignFiles, observer: Observer | None = None
) -> Knowledge:
    """Return the documents, not read yet. Raises UsageError for what can be told before they are.

    foreign: reads those that are not to be read in this process. observer: counts searches.
    """
    # The system watches the folder in a thread of its own.
    watch = chosen.watch or (None if chosen.run_sync else watching)
    knowledge = Knowledge(settings, chosen.knowledge, chosen.run_sync or Threads(), watch, observer, foreign)
    knowledge.check()
    return knowledge
