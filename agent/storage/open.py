"""Names the ledger that the settings ask for. SQLAlchemy costs 0.2 s to import: only who keeps a file pays for it."""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from ..config import MEMORY, USER_DATA
from ..errors import UsageError
from ..ports.clock import Clock
from ..ports.ledger import Ledger
from ..ports.observe import Observer
from ..ports.work import RunSync
from .memory import MemoryLedger
from .settings import StorageSettings

FOLDER = "agent-server"


@asynccontextmanager
async def opened_ledger(
    settings: StorageSettings,
    kb: Path,
    run_sync: RunSync,
    clock: Clock,
    observer: Observer | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncGenerator[Ledger, None]:
    """Open the ledger of `settings.data` for the time of a block, settle what dead processes left in it, close it.

    kb: folder of the knowledge base whose actions they are. run_sync: does the database's blocking work; nothing of it
    runs on the event loop. clock: stamps lost rows. observer: keeps the level `actions_unrecorded`. told: hears why
    nothing can be claimed, and "" when it can again.
    Raises `agent.errors.UsageError` when the folder cannot be used.
    """
    if settings.data == MEMORY:
        yield MemoryLedger(kb=kb_label(kb))
        return
    if find_spec("fcntl") is None:
        raise UsageError(
            "actions cannot be kept in a folder on this system (no POSIX locks): use --data memory"
        )
    from .sqlite import SqliteLedger

    folder = ledger_folder(settings.data)
    async with SqliteLedger(folder, run_sync, clock, observer, told, kb_label(kb)) as ledger:
        yield ledger


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
