"""The places in which databases can be kept."""

from pathlib import Path
from typing import TypeAlias

import trio

from ..ports.clock import Clock
from ..ports.hints import NO_HINTS, Hints
from ..ports.work import RunSync
from .backend import Backend, DatabasePlace
from .contents import DatabaseContents
from .sqlite.database_file import DatabaseFile

Data: TypeAlias = "Path | DatabasePlace | None"
"""Where a database is kept: in a folder, in another place, or with `None` in memory, until its object ends."""


def place_of(data: Data) -> DatabasePlace:
    """Return the place that `data` names."""
    return DataFolder(data) if data is None or isinstance(data, Path) else data


class DataFolder:
    """The folder `data`, or with `None` the memory (implements `agent.storage.backend.DatabasePlace`)."""

    is_server = False

    def __init__(self, data: Path | None) -> None:
        self._data = data
        self.reads_beside = data is not None

    def __str__(self) -> str:
        return str(self._data)

    def make_backend(self, clock: Clock, contents: DatabaseContents, beside: bool = False) -> Backend:
        """Return a database file that is not open yet."""
        return DatabaseFile(self._data, clock, contents, beside)

    def carry_hints(self, run_sync: RunSync, nursery: trio.Nursery) -> Hints:
        """Return hints that carry nothing: the processes that share a folder look by themselves."""
        return NO_HINTS
