"""The settings of memory. Above them, the limits that modules of this room share."""

from dataclasses import dataclass
from typing import Literal

MEMORY_WRITE = 15.0  # that the store may take for anything
MEMORY_ASKED = 2  # items that one message asks its user about; the others are listed


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Whether users are remembered.

    Args:
        memory: on remembers messages, and the facts that their user approves, and uses both in answers. off keeps
            nothing.
    """

    memory: Literal["on", "off"] = "off"
