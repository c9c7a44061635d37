"""Tests of retrieval, how they read a text, and how they hear what is warned of."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.testing import capture_logs

from agent.ports.search import Passage, Snippet
from agent.retrieval.effort import Effort
from agent.retrieval.load import Skipped, SourceFile
from agent.retrieval.read import passages_of


def sections(text: str, file: str = "kb/a.md", effort: Effort | None = None) -> tuple[Passage, ...]:
    """Return the sections of a file that can be read."""
    read = passages_of(SourceFile.of(file, text), effort)
    assert not isinstance(read, Skipped), read.reason
    return read


def statements(text: str, file: str = "kb/a.md", effort: Effort | None = None) -> list[Snippet]:
    """Return the statements of a file that can be read."""
    return [snippet for section in sections(text, file, effort) for snippet in section.snippets]


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect the events of what is warned of."""
    events: list[str] = []
    with capture_logs() as entries:
        yield events
    events += [entry["event"] for entry in entries if entry["log_level"] == "warning"]
    structlog.reset_defaults()
