"""Logging as the server sets it up, into nowhere: unconfigured it would draw every traceback for a terminal."""

from collections.abc import Iterator

import pytest

from tests.logs import logged


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Log warnings to a buffer, and leave logging as it was found."""
    with logged("warning"):
        yield
