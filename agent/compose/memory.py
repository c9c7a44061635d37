"""What remembers, made of its parts: the store, the search over it, and what asks users and tells turns."""

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
from ..llm.open import model_noter
from ..memory.asking import REMEMBER
from ..memory.desk import OwnMemory
from ..memory.executor import RememberExecutor
from ..memory.hearing import hear
from ..memory.keeper import Keeper
from ..memory.noting import Noting
from ..memory.recollection import Recollection
from ..models.open import open_memory_model
from ..models.settings import ModelSettings
from ..ports.action import Executor
from ..ports.clock import Clock
from ..ports.memory import MemoryStore
from ..ports.note import Noter
from ..ports.observe import Observer
from ..ports.remember import Consulted, Transcript
from ..ports.work import RunSync
from ..recall.index import Index
from ..recall.recall import Near, Recall
from ..storage.open import opened_memory
from ..storage.settings import StorageSettings

_log = structlog.get_logger("agent.memory")


@dataclass(frozen=True, slots=True)
class Remembering:
    """A memory that is open.

    keeper: is handed what is said. noting: has a model read it; None where none does. recollection: tells turns what is
    remembered. executors: of the actions that it suggests, by name. open_vectors: loads the vectors that it recalls
    with, if any; meanwhile it recalls by words.
    """

    store: MemoryStore
    recall: Recall
    keeper: Keeper
    noting: Noting | None
    recollection: Recollection
    executors: dict[str, Executor]
    open_vectors: Callable[[], Awaitable[Callable[[Index], Near] | None]]
    clock: Clock

    def consulted(self, transcripts: Sequence[Transcript]) -> Consulted:
        """Return what clients ask over their sockets. transcripts: hold what was said, too."""
        return Consulted(self.desk(transcripts), self.recall, self.keeper)

    def desk(self, transcripts: Sequence[Transcript]) -> OwnMemory:
        """Return what takes what users decide. transcripts: hold what was said, too."""
        return OwnMemory(self.store, self.clock, transcripts)

    async def run(self) -> None:
        """Keep what comes, and what finds it up to date, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.keeper.run)
            if self.noting is not None:
                nursery.start_soon(self.noting.run)
            nursery.start_soon(self.recall.keep_up)
            near = await self.open_vectors()
            if near is not None:
                nursery.start_soon(self.recall.embed_with, near)


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does blocking work.

    storing: the database's, a read beside a write. indexing: writes the search's index, embeds what was said, and what
    is asked, each at its own time.
    """

    storing: RunSync
    indexing: RunSync


@asynccontextmanager
async def opened_remembering(
    settings: StorageSettings,
    vectors: VectorSettings,
    workers: Workers,
    clock: Clock,
    observer: Observer,
    told: Callable[[str], None] = lambda _: None,
    transcript: Transcript | None = None,
    noter: Noter | None = None,
) -> AsyncGenerator[Remembering, None]:
    """Open what is remembered for the time of a block.

    vectors: those that are named are recalled with too; auto, which is for documents, is not: what it adds to words is
    small (`python -m tests.bench.recall`), and each turn would pay for it. told: hears why nothing can be kept, and ""
    when it can again. transcript: keeps what was said, too. noter: reads what users say besides the rules; None leaves
    it to these.
    Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    async with opened_memory(settings, workers.storing, clock, told) as store:
        recall = Recall(store, workers.indexing)
        noting = None if noter is None else Noting(noter, store, store, clock, observer)
        keeper = Keeper(store, clock, observer, hear, transcript, noting)
        yield Remembering(
            store,
            recall,
            keeper,
            noting,
            Recollection(store, recall, clock, keeper),
            {REMEMBER: RememberExecutor(store, clock)},
            partial(_vectors, vectors, workers.indexing, store if settings.data != MEMORY else None),
            clock,
        )


@asynccontextmanager
async def opened_noter(
    settings: ModelSettings, observer: Observer, run_sync: RunSync
) -> AsyncGenerator[Noter | None, None]:
    """Open what reads what users say besides the rules, for the time of a block; None where the settings name no model.

    observer: keeps the model's figures. run_sync: does its blocking work. Raises `agent.errors.UsageError` when the
    model cannot be used.
    """
    async with open_memory_model(settings, observer, run_sync) as model:
        yield None if model is None else model_noter(model, run_sync)


async def _vectors(
    settings: VectorSettings, run_sync: RunSync, kept: MemoryStore | None
) -> Callable[[Index], Near] | None:
    if settings.vectors == "auto":
        return None
    try:
        return await open_near(settings.vectors, settings.vectors_url, run_sync, kept)
    except UsageError as error:  # which is told where documents are opened
        _log.warning("no vectors to recall with, words alone recall", why=str(error))
        return None
