"""A memory that `agent memory` works on, opened for one command, and what is said where it cannot be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..errors import BadItem, NotFound, StorageFailed, UsageError
from ..host import Threads, WallClock
from ..log import silent
from ..memory.desk import OwnMemory
from ..ports.archive import MemoryArchive
from ..ports.memory import MemoryStore
from ..ports.remember import Transcript
from ..storage.open import ledger_folder, opened_archive, opened_store
from ..storage.settings import StorageSettings
from ..storage.trust import FILE as LEDGER_FILE

Data = Annotated[
    str, Parameter(env_var="AGENT_DATA", help="Folder that the server keeps, or user for your data folder.")
]


@dataclass(frozen=True, slots=True)
class Opened:
    """A memory that is open. desk: takes decisions."""

    store: MemoryStore
    archive: MemoryArchive
    desk: OwnMemory


@asynccontextmanager
async def opened_memory(data: str, id: str = "") -> AsyncIterator[Opened]:
    """Open a memory for the time of a block. Raises UsageError for what the block cannot do. id: the item it is of."""
    clock = WallClock()
    try:
        with silent():
            async with opened_archive(StorageSettings(data), Threads(1), clock) as (store, archive):
                yield Opened(store, archive, OwnMemory(store, clock))
    except NotFound:
        raise UsageError(f"there is no item {id}: agent memory list shows those that there are") from None
    except BadItem as error:
        raise UsageError(f"nothing was done: {error.message}") from None
    except StorageFailed as error:
        raise UsageError(
            f"{error}; nothing is half done: put that right and try again"
            + (f", agent memory show {id} says how it stands" if id else "")
        ) from None


@asynccontextmanager
async def opened_threads(data: str) -> AsyncIterator[tuple[Transcript, ...]]:
    """Open the threads that a server keeps beside its memory, for the time of a block; none where it keeps none."""
    if not (ledger_folder(data) / LEDGER_FILE).is_file():
        yield ()
        return
    with silent():
        async with opened_store(StorageSettings(data), Path(), Threads(1), WallClock()) as store:
            yield (store.threads,)
