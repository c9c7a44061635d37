"""The settings of memory. Above them, the limits that modules of this room share."""

from dataclasses import dataclass
from typing import Literal

from ..errors import UsageError

MEMORY_WRITE = 15.0  # that the store may take for anything
MEMORY_ASKED = 2  # items that one message asks its user about; the others are listed

MEMORY_INDEXES = 500
"""Groups of scopes whose indexes are held at a time.

An index takes 30 KiB for one exchange of two sentences of the guide, 500 KiB for 50 different ones.
"""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Whether users are remembered.

    Args:
        memory: on remembers messages, and the facts that their user approves, and uses both in answers. off keeps
            nothing.
        memory_indexes: Users (or threads without one) whose messages are indexed at a time. The next question of a user
            beyond them waits some 15 ms for 50 exchanges.
    """

    memory: Literal["on", "off"] = "off"
    memory_indexes: int = MEMORY_INDEXES

    def __post_init__(self) -> None:
        """Raise `UsageError` for a setting that does not make sense."""
        if self.memory_indexes < 1:
            raise UsageError("memory-indexes must be at least 1")
