"""The shipped knowledge base, built once, and blocking work done at once."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from agent.ports.work import RunSync
from agent.retrieval.load import load
from agent.retrieval.search import KnowledgeBase

T = TypeVar("T")


@pytest.fixture(scope="session")
def folder() -> Path:
    """The folder of the shipped knowledge base."""
    return Path(__file__).parents[2] / "kb"


@pytest.fixture(scope="session")
def kb(folder: Path) -> KnowledgeBase:
    """The shipped knowledge base."""
    return KnowledgeBase.build(load(folder).documents)


@pytest.fixture
def inline() -> RunSync:
    """Blocking work without a thread: virtual time does not see threads."""

    async def run(function: Callable[[], T]) -> T:
        return function()

    return run
