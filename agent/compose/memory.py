"""Opens the memory of users: the store of items, the recall over it, and the tasks that keep both up to date.

`open_memory` opens the memory model first and the store second, so the store closes first. The tasks of the memory are
in neither block: the caller runs `UserMemory.run` in a nursery that it cancels before it leaves the block.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog
import trio

from ..config import MEMORY
from ..embedding.open import open_near
from ..embedding.settings import VectorSettings
from ..errors import UsageError
from ..host import WorkerThreads
from ..llm.open import make_model_noter
from ..memory.exchange_keeper import ExchangeKeeper
from ..memory.executor import RememberExecutor
from ..memory.item_suggestions import REMEMBER
from ..memory.message_items import read_items
from ..memory.note_taker import NoteTaker
from ..memory.own_memory import OwnMemory
from ..memory.own_threads import OwnThreads
from ..memory.recall.recall import IndexRecaller
from ..memory.recall.search import VectorArm
from ..memory.recollection import Recollection
from ..models.open import open_memory_model
from ..ports.action import Executor
from ..ports.clock import Clock
from ..ports.memory import MemoryStore
from ..ports.note import Noter, ReadStore
from ..ports.observe import Observer
from ..ports.remember import MemoryAccess, Transcript
from ..ports.work import RunSync
from ..recall.index import RecallIndex
from ..settings import Settings
from ..storage.open import open_memory_store
from .adapters import Adapters

_log = structlog.get_logger("agent.memory")


@dataclass(frozen=True, kw_only=True, slots=True)
class UserMemory:
    """The opened memory of users.

    `keeper`: takes each exchange of a session. `noting`: has the memory model read messages; `None` without such a
    model. `recollection`: selects the items for a turn. `executors`: carry out the actions that the memory suggests,
    by action name. `open_vectors`: loads the vectors of recall, or returns `None`; until it has returned, recall
    searches words only.
    """

    store: ReadStore
    recall: IndexRecaller
    keeper: ExchangeKeeper
    noting: NoteTaker | None
    recollection: Recollection
    executors: dict[str, Executor]
    open_vectors: Callable[[], Awaitable[Callable[[RecallIndex], VectorArm] | None]]
    clock: Clock

    def make_consulted(self, transcripts: Sequence[Transcript]) -> MemoryAccess:
        """Return the part that answers a client's questions about the memory.

        `transcripts`: also hold the users' messages, so `forget` reaches them too.
        """
        threads = OwnThreads(self.store, self.clock, transcripts)
        return MemoryAccess(self.make_desk(transcripts), self.recall, self.keeper, threads)

    def make_desk(self, transcripts: Sequence[Transcript]) -> OwnMemory:
        """Return the part that carries out users' decisions about items. `transcripts`: as in `make_consulted`."""
        return OwnMemory(self.store, self.clock, transcripts)

    async def run(self) -> None:
        """Keep exchanges, and keep the index of recall up to date, until cancelled.

        Call `keeper.wait_settled` before the cancel: exchanges that still wait then are lost, and the log counts them.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.keeper.run)
            if self.noting is not None:
                nursery.start_soon(self.noting.run)
            nursery.start_soon(self.recall.keep_up)
            near = await self.open_vectors()
            if near is not None:
                nursery.start_soon(self.recall.embed_with, near)


@asynccontextmanager
async def open_memory(
    *,
    settings: Settings,
    adapters: Adapters,
    clock: Clock,
    observer: Observer,
    transcript: Transcript | None,
    on_trouble: Callable[[str], None],
) -> AsyncGenerator[UserMemory | None, None]:
    """Open the memory of users for the time of a block; give `None` where the settings switch it off.

    `transcript`: holds the messages of threads; the keeper removes late answers from it that cite a forgotten item.
    `on_trouble`: called with the reason when nothing can be kept, and with "" when the memory works again. Raises
    `agent.errors.UsageError` when the data folder or the memory model cannot be used, and when a memory model is named
    for a memory that is off. On exit, also when cancelled, the store closes and then the memory model.
    """
    if settings.memory.memory == "off":
        if settings.model.memory_model is not None:
            raise UsageError("memory-model is for a memory: leave it away, or memory at on")
        yield None
        return
    storing = adapters.remember_sync or adapters.run_sync or WorkerThreads(2)
    indexing = adapters.run_sync or WorkerThreads(3)
    async with (
        _open_noter(settings=settings, adapters=adapters, observer=observer) as noter,
        open_memory_store(settings.storage, storing, clock, on_trouble) as store,
    ):
        recall = IndexRecaller(store, indexing, most=settings.memory.memory_indexes)
        noting = None if noter is None else NoteTaker(noter, store, store, clock, observer)
        keeper = ExchangeKeeper(store, clock, observer, read_items, transcript, noting)
        vector_store = store if settings.storage.data != MEMORY else None
        yield UserMemory(
            store=store,
            recall=recall,
            keeper=keeper,
            noting=noting,
            recollection=Recollection(store, recall, clock, keeper),
            executors={REMEMBER: RememberExecutor(store, clock)},
            open_vectors=partial(_open_vectors, settings.vectors, indexing, vector_store),
            clock=clock,
        )


@asynccontextmanager
async def _open_noter(
    *, settings: Settings, adapters: Adapters, observer: Observer
) -> AsyncGenerator[Noter | None, None]:
    """Open the reader of messages that goes beyond the rules; give `None` where the settings name no memory model."""
    if adapters.noter is not None:
        yield adapters.noter
        return
    run_sync = adapters.run_sync or WorkerThreads(1)
    async with open_memory_model(settings.model, observer, run_sync) as model:
        yield None if model is None else make_model_noter(model, run_sync)


async def _open_vectors(
    settings: VectorSettings, run_sync: RunSync, vector_store: MemoryStore | None
) -> Callable[[RecallIndex], VectorArm] | None:
    """Load the vectors that recall uses beside words, or return `None` where it uses words only.

    `vectors auto` is for documents: for recall, vectors add little to words (`python -m tests.bench.recall`), and each
    turn would pay for them. `vector_store`: keeps vectors for the next start.
    """
    if settings.vectors == "auto":
        return None
    try:
        return await open_near(settings.vectors, settings.vectors_url, run_sync, vector_store)
    except UsageError as error:  # the documents report it to the operator
        _log.warning("no vectors to recall with, words alone recall", why=str(error))
        return None
