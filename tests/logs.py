"""What is logged in a test, and logging left as it was found.

Pytest's own plugin for logging is switched off: it puts two handlers around each set-up, test and clean-up, of which a
handful of tests look at one. What a test that fails has logged stands on its standard error.
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import structlog

from agent.log import configure


class CapturedLog(logging.Handler):
    """Keeps the `records` that libraries hand to `logging` in a test."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(record)

    @property
    def text(self) -> str:
        """The records as they are printed, a line each, with their tracebacks."""
        return "".join(f"{self.format(record)}\n" for record in self.records)


@contextmanager
def capture_log(level: int = logging.WARNING) -> Iterator[CapturedLog]:
    """Capture what is logged from a level on, for the time of a block."""
    root, captured = logging.getLogger(), CapturedLog()
    before = root.level
    root.addHandler(captured)
    root.setLevel(level)
    try:
        yield captured
    finally:
        root.removeHandler(captured)
        root.setLevel(before)


@contextmanager
def logged(level: Literal["debug", "info", "warning"] = "info") -> Iterator[io.StringIO]:
    """Log as JSON lines from a level on, into a buffer, for the time of a block."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure("json", level, stream)
    try:
        yield stream
    finally:
        root.handlers, root.level = before
        structlog.reset_defaults()
