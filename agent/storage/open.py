"""Names what is kept where the settings say. SQLAlchemy costs 0.2 s to import: only who keeps something pays for it."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, cast

import trio

from ..config import MEMORY, USER_DATA
from ..errors import UsageError
from ..ports.archive import MemoryArchive
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.memory import MemoryStore
from ..ports.note import ReadStore
from ..ports.observe import Observer
from ..ports.work import RunSync
from .later import Kept, Later, stand_ins
from .memory import MemoryLedger
from .settings import StorageSettings
from .store import Store

FOLDER = "agent-server"

T = TypeVar("T")


@asynccontextmanager
async def opened_store(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Store, None]:
    """Open all that is kept in `settings.data` for the time of a block, settle what dead processes left, close it.

    In memory nothing but the ledger is made before it is asked for. kb: folder of the knowledge base whose actions they
    are. run_sync: does the database's blocking work; nothing of it runs on the event loop. clock: stamps lost rows.
    observer: keeps the level `actions_unrecorded`. told: hears why nothing can be claimed, and "" when it can again.
    Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    label = kb_label(kb)
    if settings.data != MEMORY:
        folder = _locked_folder(settings.data)
        from .stores import kept_in

        async with kept_in(folder, run_sync, clock, observer, told, label, settings.retention) as kept:
            yield kept.store
        return

    async def in_memory() -> AbstractAsyncContextManager[Kept]:
        kept_in = await run_sync(_load)
        return kept_in(None, run_sync, clock, observer, kb=label, retention=settings.retention)

    async with _later(in_memory) as later:
        yield stand_ins(later, MemoryLedger(kb=label))


@asynccontextmanager
async def opened_memory(
    settings: StorageSettings, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[ReadStore, None]:
    """Open what is remembered in `settings.data` for the time of a block, and close it.

    In memory nothing is made before it is asked for. told: hears why nothing can be kept, and "" when it can again.
    Raises `agent.errors.UsageError` when the folder cannot be used, or was written by a newer version.
    """
    if settings.data != MEMORY:
        from .memories.store import memory_in

        async with memory_in(ledger_folder(settings.data), run_sync, clock, told) as memory:
            yield memory
        return

    async def in_memory() -> AbstractAsyncContextManager[ReadStore]:
        memory_in = await run_sync(_load_memory)
        return memory_in(None, run_sync, clock, told)

    async with _later(in_memory) as later:
        yield cast("ReadStore", later.stand_in())


@asynccontextmanager
async def opened_archive(
    settings: StorageSettings, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[MemoryStore, MemoryArchive], None]:
    """Open what is remembered in `settings.data`, also beside its server, for who may see and decide all of it.

    Raises `agent.errors.UsageError` when there is nothing, or it cannot be used; nothing is made.
    """
    if settings.data == MEMORY:
        raise UsageError("a memory that is not in a folder ends with its server: name one with --data DIR")
    from .memories.archive import archive_in

    async with archive_in(ledger_folder(settings.data), run_sync, clock) as opened:
        yield opened


@asynccontextmanager
async def _later(
    make: Callable[[], Awaitable[AbstractAsyncContextManager[T]]],
) -> AsyncGenerator[Later[T], None]:
    """Open something when it is first asked for, in a block; it is closed at its end."""

    async def life(over: trio.Event, task_status: "trio.TaskStatus[T]") -> None:
        async with await make() as kept:
            task_status.started(kept)
            await over.wait()

    tasks = AsyncExitStack()
    later = Later(await tasks.enter_async_context(trio.open_nursery()), life)
    try:
        yield later
    finally:
        later.close()
        await tasks.aclose()  # not handed the block's error, which would come out of it in a group


@asynccontextmanager
async def opened_ledger(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Ledger, None]:
    """Open nothing but the ledger of `settings.data`, as `opened_store` does all that is kept."""
    if settings.data == MEMORY:
        yield MemoryLedger(kb=kb_label(kb))
        return
    folder = _locked_folder(settings.data)
    from .sqlite import ledger_in

    async with ledger_in(folder, run_sync, clock, observer, told, kb_label(kb)) as ledger:
        yield ledger


def _load() -> "Callable[..., AbstractAsyncContextManager[Kept]]":
    from .stores import kept_in

    return kept_in


def _load_memory() -> "Callable[..., AbstractAsyncContextManager[ReadStore]]":
    from .memories.store import memory_in

    return memory_in


def _locked_folder(data: str) -> Path:
    """Return a folder in which owners can have locks."""
    if find_spec("fcntl") is None:
        raise UsageError(
            "actions cannot be kept in a folder on this system (no POSIX locks): use --data memory"
        )
    return ledger_folder(data)


def kb_label(kb: Path) -> str:
    """Return how a ledger that several servers share calls one's knowledge base."""
    return os.path.realpath(kb)


def ledger_folder(data: str) -> Path:
    """Return a folder as written in agent.toml or the environment, where no shell has read the `~`."""
    return user_data_folder() if data == USER_DATA else Path(data).expanduser()


def user_data_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return where this user's programs keep their data, and this one its own (XDG base directories, or macOS's).

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
