"""Entry points that open storage as the settings say.

SQLAlchemy costs 0.2 s to import, so these functions import it only when something is kept.
"""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import trio

from ..config import MEMORY, USER_DATA
from ..errors import StorageFailed, UsageError
from ..ports.archive import MemoryArchive
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.nodes import Node
from ..ports.note import ReadStore
from ..ports.observe import Observer
from ..ports.work import RunSync
from .lazy_storage import OpenDatabase, make_lazy_store, open_lazily
from .memories import FILE as MEMORY_FILE
from .memory_ledger import MemoryLedger
from .settings import StorageSettings, hide_login, is_server
from .sqlite.header import NewerVersionError, refuse_newer
from .store import Store
from .stories import FILE as STORY_FILE
from .stories import SCHEMA as STORY_SCHEMA

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ..ports.story_store import StoryStore
    from .places import Data

T = TypeVar("T")

FOLDER = "agent-server"
LEDGER_FILE = "ledger.sqlite"  # as `ledger.py` names it, which costs 0.2 s to import


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
    label = kb_label(settings, kb)
    if settings.data != MEMORY:
        place = _open_place(settings.data, settings.require_sync)
        from .stores import open_stores

        async with open_stores(place, run_sync, clock, observer, told, label, settings.retention) as database:
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
        place = _open_place(settings.data)
        from .memories.store import open_database_memory

        async with open_database_memory(place, run_sync, clock, told) as memory:
            yield memory
        return

    async def make_memory() -> AbstractAsyncContextManager[ReadStore]:
        open_database_memory = await run_sync(_load_memory)
        return open_database_memory(None, run_sync, clock, told)

    async with open_lazily(make_memory) as storage:
        yield cast("ReadStore", storage.make_proxy())


@asynccontextmanager
async def open_story_store(
    settings: StorageSettings, run_sync: RunSync, clock: Clock, told: Callable[[str], None] = lambda _: None
) -> "AsyncGenerator[StoryStore, None]":
    """Open the stories of `settings.data` at their first use within the block, and close them at its end.

    A server that never sees a story makes no file for them. `run_sync` must run two calls at a time. `told` gets the
    reason why stories cannot be opened or written, and "" when they can again. Raises `agent.errors.UsageError` for a
    file that a newer version wrote; what fails at the first use raises `agent.errors.StorageFailed` there.
    """
    place: Data = None
    if settings.data != MEMORY:
        place = _open_place(settings.data)
        if not is_server(settings.data):
            file = ledger_folder(settings.data) / STORY_FILE
            try:
                await run_sync(partial(refuse_newer, file, STORY_SCHEMA))
            except NewerVersionError as error:
                raise UsageError(str(error)) from None
            except OSError as error:
                why = f"stories cannot be kept in {file.parent}: {error.strerror}"
                raise UsageError(f"{why}; choose another place with --data DIR") from None

    @asynccontextmanager
    async def open_stories() -> "AsyncGenerator[StoryStore, None]":
        open_database_stories = await run_sync(_load_stories)
        tasks = AsyncExitStack()
        try:
            store = await tasks.enter_async_context(open_database_stories(place, run_sync, clock, told))
        except UsageError as error:
            told(str(error))
            raise StorageFailed("the stories: they cannot be opened") from None
        told("")
        try:
            yield store
        finally:
            await tasks.aclose()  # not handed the block's error, which would come out of it in a group

    async def make_stories() -> "AbstractAsyncContextManager[StoryStore]":
        await trio.lowlevel.checkpoint()
        return open_stories()

    async with open_lazily(make_stories) as storage:
        yield cast("StoryStore", storage.make_proxy())


@asynccontextmanager
async def open_archive(
    settings: StorageSettings, run_sync: RunSync, clock: Clock
) -> AsyncGenerator[tuple[ReadStore, MemoryArchive], None]:
    """Open the memory of `settings.data` for operators, who see and decide items of all users; its server may be
    running.

    Raises `agent.errors.UsageError` when there is no memory, or it cannot be used; nothing is made.
    """
    if settings.data == MEMORY:
        raise UsageError("a memory that is not in a folder ends with its server: name one with --data DIR")
    if not await is_kept(settings.data, MEMORY_FILE, run_sync, clock):
        raise UsageError(explain_missing("memory", settings.data))
    place = _open_place(settings.data)
    from .memories.archive import open_database_archive

    async with open_database_archive(place, run_sync, clock) as opened:
        yield opened


@asynccontextmanager
async def open_ledger(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
) -> AsyncGenerator[Ledger, None]:
    """Open only the ledger of `settings.data`; the arguments are those of `open_store`."""
    if settings.data == MEMORY:
        yield MemoryLedger(kb=kb_label(settings, kb))
        return
    place = _open_place(settings.data)
    from .database_ledger import open_database_ledger

    async with open_database_ledger(place, run_sync, clock, kb=kb_label(settings, kb)) as ledger:
        yield ledger


def _load_stores() -> "Callable[..., AbstractAsyncContextManager[OpenDatabase]]":
    from .stores import open_stores

    return open_stores


def _load_memory() -> "Callable[..., AbstractAsyncContextManager[ReadStore]]":
    from .memories.store import open_database_memory

    return open_database_memory


def _load_stories() -> "Callable[..., AbstractAsyncContextManager[StoryStore]]":
    from .stories.store import open_database_stories

    return open_database_stories


def _open_place(data: str, needs_sync: bool = False) -> "Data":
    """Return the place of databases that `data` names, which is not memory.

    `needs_sync`: whether a server must have a synchronous standby. Raises `UsageError` for a folder on a system without
    the POSIX locks that owners need, for a server without the extra, and for a URL that cannot be read.
    """
    if is_server(data):
        if find_spec("psycopg") is None:
            raise UsageError("PostgreSQL needs an extra: pip install 'agent-server[postgres]'")
        try:
            from .postgres.place import DatabaseServer
        except ImportError:
            raise UsageError("psycopg finds no libpq: pip install 'agent-server[postgres]'") from None
        return DatabaseServer(data, needs_sync=needs_sync)
    if find_spec("fcntl") is None:
        raise UsageError(
            "actions cannot be kept in a folder on this system (no POSIX locks): use --data memory"
        )
    return ledger_folder(data)


def kb_label(settings: StorageSettings, kb: Path) -> str:
    """Return the name of a knowledge base in a ledger that several servers share."""
    return settings.name_documents(kb) or os.path.realpath(kb)


async def is_kept(data: str, file: str, run_sync: RunSync, clock: Clock) -> bool:
    """Return whether a database is there: in a folder its `file`, on a server its tables.

    Raises `UsageError` with the remedy for a server that cannot be asked.
    """
    if not is_server(data):
        return (ledger_folder(data) / file).is_file()
    found: bool = await run_sync(partial(_read_server, data, clock, partial(_has_tables, Path(file).stem)))
    return found


def explain_missing(what: str, data: str) -> str:
    """Return the sentence for an operator who names a place that does not have `what`."""
    if is_server(data):
        return (
            f"there is no {what} in {data_label(data)}: name the database that a server keeps, its --data URL"
        )
    return f"there is no {what} in {ledger_folder(data)}: name the folder that a server keeps, its --data DIR"


async def list_nodes(data: str, run_sync: RunSync, clock: Clock) -> tuple[Node, ...]:
    """Return the servers that share the database of `data`; none for a folder. Raises as `is_kept` does."""
    if not is_server(data):
        return ()
    from .nodes import load_nodes

    found: tuple[Node, ...] = await run_sync(partial(_read_server, data, clock, load_nodes))
    return found


def check_server(settings: StorageSettings, clock: Clock) -> str:
    """Connect to a database server; return its risks with the remedy, "" for none. Blocks.

    Raises `UsageError` with the remedy where a server that is started with `settings` would end.
    """
    from .postgres.standbys import read_standbys

    standbys = _read_server(settings.data, clock, read_standbys)
    if settings.require_sync and standbys.missing:
        raise UsageError(f"{data_label(settings.data)}: {standbys.missing}")
    return standbys.danger


def _read_server(data: str, clock: Clock, read: "Callable[[Connection], T]") -> T:
    """Return what `read` finds on a database server, and change nothing there. Blocks."""
    place = _open_place(data)
    from .ledger import LEDGER
    from .places import place_of

    backend = place_of(place).make_backend(clock, LEDGER, beside=True)
    try:
        backend.open()
        [found] = backend.read_each([read])
    except backend.faults as error:
        found = error
    finally:
        backend.close()
    if isinstance(found, Exception):
        raise UsageError(f"{data_label(data)}: {found}")
    answer: T = found
    return answer


def _has_tables(name: str, connection: "Connection") -> bool:
    found = connection.exec_driver_sql(f"SELECT to_regclass('agent_{name}.schema_version') IS NOT NULL")
    return bool(found.scalar_one())


def data_label(data: str) -> str:
    """Return `data` as the log and errors name it: of a server neither user nor password."""
    if not is_server(data):
        return data if data in (MEMORY, USER_DATA) else str(ledger_folder(data))
    return hide_login(data)


def cache_folder(data: str) -> Path:
    """Return the folder for this machine's caches: the data folder, or the user's beside a server."""
    return user_data_folder() if is_server(data) else ledger_folder(data)


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
