"""What is logged in a test, and logging left as it was found."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import structlog

from agent.log import configure


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
