"""Runs confirmed actions: the call, its executor, and its outcome."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .conversation import NO_SCOPE, Scope
from .tools import Risk, RunsAt

EndStatus = Literal["done", "failed", "cancelled", "unknown"]

Payload: TypeAlias = Mapping[str, Any]
"""The arguments of an action: a JSON object of at most `PAYLOAD_BYTES` as UTF-8, at most `PAYLOAD_NESTING` deep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A confirmed action, in the form that an `Executor` receives.

    `message` is the id of the message that led to it. `risk`, `sources` and `runs_at` are those of a tool call, as it
    was proposed. `scope` is the scope of the user who confirmed it.
    """

    suggestion_id: str
    action: str
    payload: Payload
    message: str = ""
    risk: Risk | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    runs_at: RunsAt = "record"
    scope: Scope = NO_SCOPE


class Executor(Protocol):
    """Carries out actions of any name."""

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out `call` and return the `data` that the client is shown (JSON values).

        Nothing outside the process happens before `begin()`: it is synchronous and final. A cancel before it stops the
        run without an effect; after it the run is shielded to its own deadline. Raises `agent.errors.ActionFailed` when
        there certainly was no effect, `agent.errors.ActionUnknown` when the action began and its outcome is not known.
        """
        ...


CANCELLED: Mapping[str, Any] = {"cancelled": True}
"""The result of an action that was stopped before it had an effect."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an action, as the `ActionRunner` reports it.

    `claimed` is False when the ledger gave the action to another claimer; then nothing was run here and `status` is
    None. `result` is sent to the client, in the shapes of `result` in the frame `action_executed`.
    """

    suggestion_id: str
    claimed: bool
    status: EndStatus | None
    result: Mapping[str, Any]


ClaimPrecondition: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once an action may be claimed; where it raises, the action is never run."""


BeginCheck: TypeAlias = Callable[[], Awaitable[bool]]
"""Returns whether a claimed action may still begin: another process may have cancelled it meanwhile."""


class ActionRunner(Protocol):
    """Runs confirmed actions."""

    def start(self, call: Call, report: Callable[[Outcome], None]) -> "ActionHandle":
        """Start a confirmed action and return its handle at once.

        `report` is called exactly once, synchronously, unless the handle is detached; an exception of `report` is
        logged and goes no further.
        """
        ...


class ActionHandle(Protocol):
    """An action in progress, in the hands of the session that started it."""

    @property
    def has_begun(self) -> bool:
        """Whether `begin()` was granted, so that `stop` has no effect any more."""
        ...

    def stop(self) -> None:
        """Ask the action to stop: without an effect before `begin()`, ignored after it. Idempotent, never blocks."""
        ...

    def detach(self) -> None:
        """Drop the `report` callback: the session is gone, and the action keeps none of it alive. The action itself
        goes on.
        """
        ...
