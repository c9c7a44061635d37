"""The settings of what is remembered."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Whether users are remembered.

    Args:
        memory: on keeps what is said and what its user approves, and answers with it in mind; off keeps nothing.
    """

    memory: Literal["on", "off"] = "off"
