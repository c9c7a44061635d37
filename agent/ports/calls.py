"""Calls of tools that are kept: what was suggested, who approved it, who ran it, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .action import Payload
from .pages import Page, Window
from .tools import Risk, RunsAt

CallStatus: TypeAlias = Literal[
    "suggested",
    "confirmed",
    "claimed",
    "done",
    "failed",
    "unknown",
    "cancelled",
    "rejected",
    "expired",
    "answered",
]
Closed: TypeAlias = Literal["rejected", "cancelled", "expired", "answered"]


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call as it is kept. Times are Unix milliseconds.

    message: the one that led to it; turn, position: where in its thread. arguments_hash: of the arguments that run, or
    would; proposed_hash: of those that were suggested. parameters: JSON Schema of the tool's arguments, None for an
    action that is no tool's. missing: fields that an approval must fill in. why: what asked for approval. deadline:
    until when it can be approved and, where the caller runs it, taken. lease_until: until when the caller may report.
    closed_by: the user who rejected it, answered it in words or took its approval back, where that user is known.
    """

    id: str
    project: str
    thread: str
    message: str
    turn: int
    position: int
    tool: str
    arguments: Payload
    arguments_hash: str
    proposed_hash: str
    runs_at: RunsAt
    needs_approval: bool
    status: CallStatus
    created_at: int
    deadline: int
    risk: Risk = "medium"
    sources: Mapping[str, str] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    parameters: Mapping[str, Any] | None = None
    approved_by: str | None = None
    approved_at: int | None = None
    lease_until: int | None = None
    result: Mapping[str, Any] | None = None
    result_hash: str | None = None
    ended_at: int | None = None
    closed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """How a call of a turn went on: to this status, from any from which the suggestion's table leads there."""

    call: str
    status: CallStatus
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ApprovalGiven:
    """Somebody's yes. arguments: in place of those that were suggested, with their hash; None leaves them.

    seen: the hash of the arguments that were approved, where the approver says which; another one is refused.
    """

    project: str
    call: str
    by: str
    at: int
    arguments: Payload | None = None
    arguments_hash: str | None = None
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class CallReport:
    """How the caller says that a call ended. result: in the shape of an action's result; digest: of what was sent.

    seen: the hash of the arguments that it ran, where it says that; another one is refused.
    """

    project: str
    call: str
    ok: bool
    result: Mapping[str, Any]
    digest: str
    at: int
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A call whose time is over: its deadline (expired) or its lease (unknown)."""

    project: str
    thread: str
    call: str
    status: CallStatus


class CallStore(Protocol):
    """Keeps calls. Each change is one compare-and-set: exactly one of those who race makes it.

    Every method raises `agent.errors.NotFound` for a call that is not there, or is another project's, which is the
    same; `agent.errors.Conflict` where the call has gone on meanwhile, with a code: `closed`, `expired`,
    `not_approved`, `begun`, `not_begun`, `arguments_changed`, `already_reported`, `lease_over`; and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def call(self, project: str, id: str) -> StoredCall:
        """Return a call."""
        ...

    async def calls(
        self, project: str, window: Window, status: CallStatus | None = None, thread: str | None = None
    ) -> Page[StoredCall]:
        """Return a project's calls in the order they were made; of one status, of one thread."""
        ...

    async def keep_call(self, call: StoredCall) -> None:
        """Keep a call that runs within its turn, confirmed, before anybody claims it. Idempotent.

        Raises `Conflict("cancelled")` where that turn has ended: nothing of it begins any more.
        """
        ...

    async def approve(self, approval: ApprovalGiven) -> StoredCall:
        """Confirm a suggested call in time, with its arguments frozen; return it."""
        ...

    async def close(
        self, project: str, id: str, status: Closed, at: int, by: str | None = None
    ) -> StoredCall:
        """Close a suggested call, or cancel one that nobody has claimed; one closed so already is returned as it is.

        `rejected` cancels a call that was approved. by: the user who decided that, where that is known.
        """
        ...

    async def begin(self, project: str, id: str, at: int, lease_until: int) -> StoredCall:
        """Claim a confirmed call that the caller runs, in the ledger too; exactly one wins."""
        ...

    async def report(self, report: CallReport) -> tuple[StoredCall, bool]:
        """Record how a begun call ended; return it, and whether the same was reported before.

        What it returned becomes a message of its thread in the same step, under the call's id, until a turn goes on
        from it. `ok` false for a call that still waits rejects it, or cancels it where it was approved. One that has
        run with this process's or another's executor is not the caller's to report: `closed`.
        """
        ...

    async def due(self, at: int) -> tuple[Due, ...]:
        """Expire what was not approved or not taken in time, call unknown what was not reported in time; say which."""
        ...
