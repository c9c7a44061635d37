"""Entry points that open storage as the settings say.

SQLAlchemy costs 0.2 s to import, so these functions import it only when something is kept.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ..config import MEMORY, USER_DATA
from ..errors import UsageError
from ..ports.archive import MemoryArchive
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.memory import MemoryStore
from ..ports.note import ReadStore
from ..ports.observe import Observer
from ..ports.work import RunSync
from .lazy_storage import OpenDatabase, make_lazy_store, open_lazily
from .memory_ledger import MemoryLedger
from .settings import StorageSettings
from .store import Store

FOLDER = "agent-server"


@asynccontextmanager
async def open_store(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Store, None]:
    """Open the stores of `settings.data` for the block, settle the rows of dead processes, and close them at the end.

    In memory only the ledger is made before its first use. `kb` is the folder of the knowledge base. `run_sync` does
    the blocking work of the database; none of it runs on the event loop. `clock` stamps lost rows. `observer` gets the
    gauge `actions_unrecorded`. `told` gets the reason why nothing can be claimed, and "" when claims work again. Raises
    `agent.errors.UsageError` when the folder cannot be used.
    """
    label = kb_label(kb)
    if settings.data != MEMORY:
        folder = _locked_folder(settings.data)
        from .stores import open_stores

        async with open_stores(
            folder, run_sync, clock, observer, told, label, settings.retention
        ) as database:
            yield database.store
        return

    async def make_database() -> AbstractAsyncContextManager[OpenDatabase]:
        open_stores = await run_sync(_load_stores)
        return open_stores(None, run_sync, clock, observer, kb=label, retention=settings.retention)

    async with open_lazily(make_database) as storage:
        yield make_lazy_store(storage, MemoryLedger(kb=label))


@asynccontextmanager
async def open_memory_store(
    settings: StorageSettings, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[ReadStore, None]:
    """Open the memory of `settings.data` for the block, and close it at the end.

    In memory nothing is made before its first use. `told` gets the reason why nothing can be kept, and "" when writes
    work again. Raises `agent.errors.UsageError` when the folder cannot be used, or a newer version wrote it.
    """
    if settings.data != MEMORY:
        from .memories.store import open_sqlite_memory

        async with open_sqlite_memory(ledger_folder(settings.data), run_sync, clock, told) as memory:
            yield memory
        return

    async def make_memory() -> AbstractAsyncContextManager[ReadStore]:
        open_sqlite_memory = await run_sync(_load_memory)
        return open_sqlite_memory(None, run_sync, clock, told)

    async with open_lazily(make_memory) as storage:
        yield cast("ReadStore", storage.make_proxy())


@asynccontextmanager
async def open_archive(
    settings: StorageSettings, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[MemoryStore, MemoryArchive], None]:
    """Open the memory of `settings.data` for operators, who see and decide items of all users; its server may be
    running.

    Raises `agent.errors.UsageError` when there is no memory, or it cannot be used; nothing is made.
    """
    if settings.data == MEMORY:
        raise UsageError("a memory that is not in a folder ends with its server: name one with --data DIR")
    from .memories.archive import open_sqlite_archive

    async with open_sqlite_archive(ledger_folder(settings.data), run_sync, clock) as opened:
        yield opened


@asynccontextmanager
async def open_ledger(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Ledger, None]:
    """Open only the ledger of `settings.data`; the arguments are those of `open_store`."""
    if settings.data == MEMORY:
        yield MemoryLedger(kb=kb_label(kb))
        return
    folder = _locked_folder(settings.data)
    from .sqlite import open_sqlite_ledger

    async with open_sqlite_ledger(folder, run_sync, clock, observer, told, kb_label(kb)) as ledger:
        yield ledger


def _load_stores() -> "Callable[..., AbstractAsyncContextManager[OpenDatabase]]":
    from .stores import open_stores

    return open_stores


def _load_memory() -> "Callable[..., AbstractAsyncContextManager[ReadStore]]":
    from .memories.store import open_sqlite_memory

    return open_sqlite_memory


def _locked_folder(data: str) -> Path:
    """Return the data folder; raises `UsageError` on a system without the POSIX locks that owners need."""
    if find_spec("fcntl") is None:
        raise UsageError(
            "actions cannot be kept in a folder on this system (no POSIX locks): use --data memory"
        )
    return ledger_folder(data)


def kb_label(kb: Path) -> str:
    """Return the name of a knowledge base in a ledger that several servers share."""
    return os.path.realpath(kb)


def ledger_folder(data: str) -> Path:
    """Return the data folder of `--data`, of `agent.toml` or of the environment, where no shell has expanded `~`."""
    return user_data_folder() if data == USER_DATA else Path(data).expanduser()


def user_data_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return this program's folder among the user's data (XDG base directories, or the ones of macOS).

    Raises `agent.errors.UsageError` when the user has no home folder.
    """
    try:
        home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    except RuntimeError:
        raise UsageError("there is no home folder to keep actions in: choose one with --data DIR") from None
    if platform == "darwin":
        return home / "Library" / "Application Support" / FOLDER
    chosen = Path(environment.get("XDG_DATA_HOME", ""))
    return (chosen if chosen.is_absolute() else home / ".local" / "share") / FOLDER
