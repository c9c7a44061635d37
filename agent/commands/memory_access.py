"""Opens a memory for one command of `agent memory`, and turns its failures into `UsageError`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..errors import BadItem, NotFound, StorageFailed, UsageError
from ..host import WallClock, WorkerThreads
from ..log import silence_log
from ..memory.own_memory import OwnMemory
from ..ports.archive import MemoryArchive
from ..ports.memory import MemoryStore
from ..ports.remember import Transcript
from ..storage.open import LEDGER_FILE, is_kept, open_archive, open_store
from ..storage.settings import StorageSettings

Data = Annotated[
    str,
    Parameter(
        env_var="AGENT_DATA",
        help="Folder that the server keeps, user for your data folder, or its postgresql:// URL.",
    ),
]


@dataclass(frozen=True, slots=True)
class OpenedMemory:
    """An opened memory. `desk`: carries out decisions."""

    store: MemoryStore
    archive: MemoryArchive
    desk: OwnMemory


@asynccontextmanager
async def open_for_command(data: str, id: str = "") -> AsyncIterator[OpenedMemory]:
    """Open a memory for the time of a block. `id`: the item that the block is about, for the error message.

    Raises `UsageError` with the remedy when the block fails for a reason that its operator can change.
    """
    clock = WallClock()
    try:
        with silence_log():
            async with open_archive(StorageSettings(data), WorkerThreads(1), clock) as (store, archive):
                yield OpenedMemory(store, archive, OwnMemory(store, clock))
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
async def open_threads(data: str) -> AsyncIterator[tuple[Transcript, ...]]:
    """Open the threads and feedback that a server keeps beside its memory for a block; give `()` without any."""
    threads, clock = WorkerThreads(1), WallClock()
    if not await is_kept(data, LEDGER_FILE, threads, clock):
        yield ()
        return
    with silence_log():
        async with open_store(StorageSettings(data), Path(), threads, clock) as store:
            yield (store.threads, store.feedback)
