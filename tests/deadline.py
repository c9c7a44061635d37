"""Every test has a deadline in real seconds: one that hangs fails, by its name, and the run goes on.

A test on virtual time whose event never comes does not sleep but spins, and no deadline on its own clock ends it.
"""

from collections.abc import Generator

import pytest

from tests.strikes.watchdog import limited

SECONDS = 60.0  # for each of set-up, test and clean-up; the slowest test takes four
PROOF_SECONDS = 1200.0
_DEADLINE = pytest.StashKey[float]()


def add_option(parser: pytest.Parser) -> None:
    """Let a run choose another deadline."""
    parser.addoption("--deadline", type=float, default=SECONDS, help="seconds that a test may take")


def _limited(item: pytest.Item) -> Generator[None, None, None]:
    with limited(_choose_deadline(item)):
        return (yield)


def _choose_deadline(item: pytest.Item) -> float:
    """Return the deadline of a test, which is the same for its set-up, itself and its clean-up."""
    if _DEADLINE not in item.stash:
        proof = any(item.get_closest_marker(name) is not None for name in ("proof", "real", "bench"))
        item.stash[_DEADLINE] = PROOF_SECONDS if proof else item.config.getoption("--deadline")
    return item.stash[_DEADLINE]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Bound the fixtures of a test."""
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Bound a test."""
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Bound its clean-up."""
    return (yield from _limited(item))
