"""The settings of memory."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Whether users are remembered.

    Args:
        memory: on remembers messages, and the facts that their user approves, and uses both in answers. off keeps
            nothing.
    """

    memory: Literal["on", "off"] = "off"
