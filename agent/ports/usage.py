"""Counts the tokens of one turn: whichever part of it asks a language model, the counts meet in its `UsageMeter`.

A turn asks its model through ports that carry texts and decisions, and no counts. So the meter belongs to the context
of the turn's task, as a log's fields do. A task that is started within the turn shares it.
"""

from contextvars import ContextVar

from .model import Usage


class UsageMeter:
    """Adds up the tokens that the services of language models counted. `usage`: the sum."""

    def __init__(self) -> None:
        self.usage = Usage()

    def add(self, usage: Usage) -> None:
        """Add the counts of one request."""
        self.usage = Usage(self.usage.read + usage.read, self.usage.written + usage.written)


METER: ContextVar[UsageMeter | None] = ContextVar("meter", default=None)
"""The meter of the turn that runs; None where no turn counts."""
