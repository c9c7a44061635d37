"""Prints the figures of the proofs at the end of a run."""

import pytest

from .test_inject import POINTS_STRUCK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many points were struck."""
    if POINTS_STRUCK in config.stash:
        terminalreporter.write_line(f"{config.stash[POINTS_STRUCK]} distinct cancellation points struck")
