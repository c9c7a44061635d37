"""Runs tests inside a copy of the tree, until one fails: python -m tests.proof.copied_tests OPTION... NODE...

How it failed is told too: only an assertion says that a promise was broken. A test that had to be ended, or that fell
over something else, has noticed that something is wrong and not what.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.strikes.watchdog import Overdue

from .in_copy import BROKEN, CRASHED, NOTICED, OVERDUE, WELL, leave

# Only what the tests need is loaded: most of the time of so small a run is its start.
_OPTIONS = ("-x", "-p", "pytest_trio.plugin", "-p", "no:cacheprovider", "--rootdir=.", "--tb=short")
_EXAMPLES = "--examples=all"  # a property that draws few may not meet the one that a mutation fails


class Watch:
    """Remembers the first test that failed, and how."""

    def __init__(self) -> None:
        self.failed = ""
        self.status = NOTICED

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object], report: object
    ) -> None:
        """Take note of a failure."""
        if self.failed or call.excinfo is None:
            return
        self.status = how(call.excinfo.value)
        said = "" if self.status == NOTICED else f" ({_name(call.excinfo.value)})"
        self.failed = f"{node.nodeid}{said}"


def how(error: BaseException) -> int:
    """Return what an error shows: OVERDUE, or NOTICED when an assertion is among it, or CRASHED."""
    errors = tuple(_leaves(error))
    if any(isinstance(each, Overdue) for each in errors):
        return OVERDUE
    asserted = any(isinstance(each, AssertionError | pytest.fail.Exception) for each in errors)
    return NOTICED if asserted else CRASHED


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _name(error: BaseException) -> str:
    return f"{type(next(_leaves(error))).__name__}: {next(_leaves(error))}".splitlines()[0]


if __name__ == "__main__":
    watch = Watch()
    ended = int(pytest.main([*_OPTIONS, _EXAMPLES, *sys.argv[1:]], plugins=[watch]))
    # Anything but passed and failed (nothing collected, an import that breaks) shows nothing.
    status = {0: WELL, 1: watch.status if watch.failed else BROKEN}.get(ended, BROKEN)
    leave(status, watch.failed or f"pytest ended with {ended}")
