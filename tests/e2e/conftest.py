"""Logging as the server sets it up, into nowhere: unconfigured it would draw every traceback for a terminal."""

import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from agent import log


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Log warnings to a buffer, and leave logging as it was found."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    log.configure("json", "warning", io.StringIO())
    yield
    root.handlers, root.level = before
    structlog.reset_defaults()
