"""Runs tests inside a copy of the tree, until one fails: python -m tests.proof.copied_tests NODE..."""

import os
import signal
import sys
from types import FrameType

import pytest

from .in_copy import BROKEN, NOTICED, WELL, leave

# Only what the tests need is loaded: most of the time of so small a run is its start.
_OPTIONS = ("-x", "-p", "pytest_trio.plugin", "-p", "no:cacheprovider", "--rootdir=.", "--tb=short")
_SPINS = 4.0  # seconds of CPU: a test on virtual time whose event never comes does not sleep but spins


class Watch:
    """Remembers the first test that failed, and ends the process when one spins."""

    def __init__(self) -> None:
        self.failed = ""
        self._running = ""
        self._output = os.dup(sys.stdout.fileno())  # pytest takes the original away while a test runs

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Set the watchdog anew."""
        self._running = nodeid
        signal.setitimer(signal.ITIMER_PROF, _SPINS)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a failure."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def spins(self, _: int, __: FrameType | None) -> None:
        """End the process at once: an exception could land anywhere, also where it is lost."""
        os.write(self._output, f"\n{self._running} (spins)\n".encode())
        os._exit(NOTICED)


if __name__ == "__main__":
    watch = Watch()
    signal.signal(signal.SIGPROF, watch.spins)
    ended = int(pytest.main([*_OPTIONS, *sys.argv[1:]], plugins=[watch]))
    signal.setitimer(signal.ITIMER_PROF, 0)
    # Anything but passed and failed (nothing collected, an import that breaks) shows nothing.
    leave({0: WELL, 1: NOTICED}.get(ended, BROKEN), watch.failed or f"pytest ended with {ended}")
