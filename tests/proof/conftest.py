"""Prints the figures of the proofs at the end of a run."""

from collections.abc import Iterator

import pytest

from .test_inject import POINTS_STRUCK
from .test_mutants import TABLE

FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Lines that are printed at the end of the run."""
    made: list[str] = []
    yield made
    request.config.stash.setdefault(FIGURES, []).extend(f"{request.node.name}: {line}" for line in made)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many points were struck, what became of the mutants, and what proofs have counted."""
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)
    if POINTS_STRUCK in config.stash:
        terminalreporter.write_line(f"{config.stash[POINTS_STRUCK]} distinct cancellation points struck")
    if TABLE in config.stash:
        terminalreporter.write_line(config.stash[TABLE])
