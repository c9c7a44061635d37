"""Imports structlog without rich, for a process of our own.

structlog imports rich to paint tracebacks for a terminal, which the log does not show, and pygments with it: 40 ms of
CPU and 3 MB of each server and worker. `cyclopts` finds rich when it prints a help. A program that has imported
structlog before keeps its own, and so does one that runs a server by `agent.serve`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hide_module(name: str) -> Iterator[None]:
    """Let imports of the module `name` fail in a block, as if it were not installed; a loaded module stays."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # as the language reference says
    try:
        yield
    finally:
        del sys.modules[name]


with hide_module("rich"):
    import structlog as structlog
