"""What is kept, in memory and, among the proofs, in a file and on a server, for the suites of its stores."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.ports.note import ReadStore
from agent.ports.story_store import StoryStore
from agent.storage.memories.store import open_database_memory
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.storage.stories.store import open_database_stories
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.servers import place_for

KINDS = ["memory", *(pytest.param(kind, marks=pytest.mark.proof) for kind in ("file", "postgres"))]


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    """All stores over one database that is open."""
    with place_for(request.param, tmp_path) as place:
        async with open_stores(place, inline, Noon(), kb="/docs") as kept:
            yield kept.store


@pytest.fixture(params=KINDS)
async def stories(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[StoryStore, None]:
    """Interactive stories, in a database that is open."""
    with place_for(request.param, tmp_path) as place:
        async with open_database_stories(place, inline, Noon()) as opened:
            yield opened


@pytest.fixture(params=KINDS)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[ReadStore, None]:
    """What is remembered, in a database that is open."""
    with place_for(request.param, tmp_path) as place:
        async with open_database_memory(place, inline, Noon()) as opened:
            yield opened
