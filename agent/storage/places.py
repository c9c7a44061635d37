"""The places in which databases can be kept."""

from pathlib import Path
from typing import TypeAlias

from .backend import DatabasePlace
from .sqlite.folder import DataFolder

Data: TypeAlias = "Path | DatabasePlace | None"
"""Where a database is kept: in a folder, in another place, or with `None` in memory, until its object ends."""


def place_of(data: Data) -> DatabasePlace:
    """Return the place that `data` names."""
    return DataFolder(data) if data is None or isinstance(data, Path) else data
