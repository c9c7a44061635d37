"""Prints the figures of the proofs at the end of a run."""

import pytest

from .test_inject import POINTS_STRUCK
from .test_mutants import TABLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many points were struck, and what became of the mutants."""
    if POINTS_STRUCK in config.stash:
        terminalreporter.write_line(f"{config.stash[POINTS_STRUCK]} distinct cancellation points struck")
    if TABLE in config.stash:
        terminalreporter.write_line(config.stash[TABLE])
