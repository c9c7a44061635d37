"""The shipped knowledge base, read once, with vectors and without, and blocking work done at once."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from agent.embedding.open import open_meaning
from agent.ports.work import RunSync
from agent.retrieval import cache
from agent.retrieval.folder import FolderReader
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.search import KnowledgeBase

T = TypeVar("T")
hash_of_the_code = functools.cache(cache.code_digest)


@pytest.fixture(autouse=True)
def _hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each cache take the hash of the package's code that another has made: it reads a hundred files."""
    monkeypatch.setattr(cache, "code_digest", hash_of_the_code)


@pytest.fixture(scope="session")
def folder() -> Path:
    """The folder of the shipped knowledge base."""
    return Path(__file__).parents[2] / "kb"


@pytest.fixture(scope="session")
def kb(folder: Path) -> KnowledgeBase:
    """The shipped knowledge base, by words alone."""
    return read(folder)


@pytest.fixture(scope="session")
def static() -> KnowledgeEmbedder:
    """The vectors that are used where nothing is set."""
    meaning = trio.run(open_meaning, "static", None, at_once)
    assert meaning is not None
    return meaning


@pytest.fixture(scope="session")
def kb_with_vectors(folder: Path, static: KnowledgeEmbedder) -> KnowledgeBase:
    """The shipped knowledge base, by words and meaning."""
    return read(folder, static)


@pytest.fixture
def inline() -> RunSync:
    """Blocking work without a thread: virtual time does not see threads."""
    return at_once


async def at_once(function: Callable[[], T]) -> T:
    """Do blocking work here and now."""
    return function()


def read(folder: Path, meaning: KnowledgeEmbedder | None = None) -> KnowledgeBase:
    """Read a folder as a server does."""
    update = FolderReader(folder, meaning=meaning).update()
    assert update is not None
    return update.knowledge
