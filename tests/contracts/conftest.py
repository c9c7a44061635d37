"""What is kept, in memory and, among the proofs, in a file, for the suites of its stores."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.ports.memory import MemoryStore
from agent.storage.memories.store import open_sqlite_memory
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.testing.network import inline


@pytest.fixture(params=["memory", pytest.param("file", marks=pytest.mark.proof)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    """All stores over one database that is open."""
    folder = tmp_path if request.param == "file" else None
    async with open_stores(folder, inline, Noon(), kb="/docs") as kept:
        yield kept.store


@pytest.fixture(params=["memory", pytest.param("file", marks=pytest.mark.proof)])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[MemoryStore, None]:
    """What is remembered, in a database that is open."""
    folder = tmp_path if request.param == "file" else None
    async with open_sqlite_memory(folder, inline, Noon()) as opened:
        yield opened
