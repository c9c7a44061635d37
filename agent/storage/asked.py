"""What callers ask of a database, until it is answered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import trio

from ..errors import AgentError
from .file import Request
from .transaction import Reading

Late: TypeAlias = Callable[[], None]
"""Is called when the disk does not answer, in place of telling a caller, who waits on."""


def wait_on() -> None:
    """Wait for what takes long, or for which nobody waits (a `Late`)."""


@dataclass(eq=False, slots=True)
class Asked:
    """Something that was asked for, until it is answered. error: a fault; refused: what it raises of its own.

    undo: what undoes it, once it is given up.
    """

    what: Reading | Request
    undo: Request | None = None
    answered: trio.Event = field(default_factory=trio.Event)
    left: bool = False  # whoever asked waits no more ...
    given_up: bool = False  # ... because the disk does not answer
    answer: Any = None
    error: str = ""
    refused: AgentError | None = None
