"""What carries out a confirmed action."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .conversation import NO_SCOPE, Scope
from .tools import Risk

Ended = Literal["done", "failed", "cancelled", "unknown"]

Payload: TypeAlias = Mapping[str, Any]
"""What an action is told: a JSON object of at most PAYLOAD_BYTES as UTF-8, at most PAYLOAD_NESTING deep."""


@dataclass(frozen=True, slots=True)
class Call:
    """A confirmed action, as an executor gets it.

    message: the one that led to it. risk, sources: of a tool's call, as it was proposed. scope: whose it is.
    """

    suggestion_id: str
    action: str
    payload: Payload
    message: str = ""
    risk: Risk | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    scope: Scope = NO_SCOPE


class Executor(Protocol):
    """Carries out actions of any name."""

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out `call` and return what the client is shown as `data` (JSON values).

        Nothing outside the process happens before `begin()`: it is synchronous and final. A cancel before
        it stops the run without an effect; after it the run is shielded to its own deadline.
        Raises `agent.errors.ActionFailed` when there certainly was no effect, `agent.errors.ActionUnknown`
        when it began and its outcome is not known.
        """
        ...


CANCELLED: Mapping[str, Any] = {"cancelled": True}
"""The result of an action that was stopped before it had an effect."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an action ended, as the runner reports it.

    claimed: False when the ledger said that another claimer has it; then nothing was run here and `status` is None.
    result: what the client is told, in the shapes of the frame `action_executed`'s `result`.
    """

    suggestion_id: str
    claimed: bool
    status: Ended | None
    result: Mapping[str, Any]


Before: TypeAlias = Callable[[], Awaitable[None]]
"""What must have happened before an action may be claimed; where it raises, the action is never run."""


Still: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether a claimed action may still begin, as others may have decided meanwhile."""


class Runs(Protocol):
    """Runs confirmed actions."""

    def start(self, call: Call, report: Callable[[Outcome], None]) -> "Running":
        """Start a confirmed action and return its handle at once.

        report: called exactly once, synchronously, unless detached; what it raises is logged and goes no further.
        """
        ...


class Running(Protocol):
    """An action in progress, as who started it holds it: something to stop, or to let go of."""

    @property
    def begun(self) -> bool:
        """Whether `begin()` was granted, so that a stop has no effect any more."""
        ...

    def stop(self) -> None:
        """Ask it to stop: without an effect before `begin()`, ignored after it. Idempotent, never blocks."""
        ...

    def detach(self) -> None:
        """Report to nobody: the session is gone, and nothing here keeps it alive. The action itself goes on."""
        ...
