"""The requests that callers have put to a `Database` and that are not answered yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import trio

from ..errors import AgentError
from .backend import WriteRequest
from .transaction import ReadRequest

Late: TypeAlias = Callable[[], None]
"""Called when the disk does not answer, in place of raising `StorageFailed`; the caller then waits on."""


def wait_on() -> None:
    """Let the caller wait on in silence, for work that takes long or that no task waits for (a `Late`)."""


@dataclass(eq=False, slots=True, kw_only=True)
class PendingRequest:
    """A request that waits for its answer.

    `error` is a fault of the file or the request; `refused` is an error that the request raises itself. `undo` reverses
    the request when it was written after its caller had given up. `followed` says that the
    answer is a `FollowedAnswer`.
    """

    what: ReadRequest | WriteRequest
    undo: WriteRequest | None = None
    followed: bool = False
    answered: trio.Event = field(default_factory=trio.Event)
    left: bool = False  # the caller waits no more ...
    given_up: bool = False  # ... because the disk does not answer
    answer: Any = None
    error: str = ""
    refused: AgentError | None = None
