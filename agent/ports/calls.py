"""Stores tool calls: the suggestion, its approval, the claim by an executor, and the outcome."""

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
ClosingStatus: TypeAlias = Literal["rejected", "cancelled", "expired", "answered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A call as it is stored. Times are Unix milliseconds.

    `message` is the id of the message that led to it; `turn` and `position` are its place in the thread.
    `arguments_hash` is of the arguments that run, or would; `proposed_hash` is of the suggested ones. `parameters` is
    the JSON Schema of the tool's arguments, None for an action that belongs to no tool. `missing` names fields that an
    approval must fill in. `why` lists the reasons that asked for approval. `deadline` is the time until which the call
    can be approved and, where the caller runs it, taken. `lease_until` is the time until which the caller may report.
    `closed_by` is the user who rejected it, answered it in words or took its approval back, where that user is known.
    `reason` is why it was rejected, in the approver's words.
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
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Approver:
    """The person and the key behind a decision, for the audit.

    `name` is as that person gave it, and proves nothing; "" for a program. `key` is the id of the project's key that
    the decision came with, or `operator`.
    """

    name: str = ""
    key: str = ""


UNNAMED = Approver()
"""An approver of which nothing is known."""


@dataclass(frozen=True, slots=True)
class CallTransition:
    """The next status of a turn's call, from any status from which the suggestion's table leads there."""

    call: str
    status: CallStatus
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApproval:
    """A user's approval of a call.

    `arguments` replace the suggested ones, with their hash; None leaves them. `seen` is the hash of the approved
    arguments, where the approver names it; a call with another hash is refused. `by` is the user in whose name
    `approver` decides.
    """

    project: str
    call: str
    by: str
    at: int
    arguments: Payload | None = None
    arguments_hash: str | None = None
    seen: str | None = None
    approver: Approver = UNNAMED


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRejection:
    """A user's rejection of a call.

    `by` is the user in whose name `approver` decides, where that user is known. With `waiting`, only a call that still
    waits is rejected; without it, an approval is taken back.
    """

    project: str
    call: str
    at: int
    by: str | None = None
    approver: Approver = UNNAMED
    reason: str | None = None
    waiting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """A caller's report of the end of a call.

    `result` has the shape of an action's result; `digest` is of the request body. `seen` is the hash of the arguments
    that were run, where the caller names it; a call with another hash is refused.
    """

    project: str
    call: str
    ok: bool
    result: Mapping[str, Any]
    digest: str
    at: int
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class OverdueCall:
    """A call after its time: its deadline (`expired`) or its lease (`unknown`)."""

    project: str
    thread: str
    call: str
    status: CallStatus


class CallStore(Protocol):
    """Stores calls. Each change is one compare-and-set: of several racing changes exactly one is made.

    A decision of a user is written into the audit in the same step.

    Every method raises `agent.errors.NotFound` for an unknown call, and equally for another project's;
    `agent.errors.Conflict` where the call has gone on meanwhile, with a code: `closed`, `expired`, `not_approved`,
    `begun`, `not_begun`, `arguments_changed`, `already_reported`, `lease_over`; and `agent.errors.StorageFailed` when
    the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def call(self, project: str, id: str) -> StoredCall:
        """Return the call `id`."""
        ...

    async def may_begin(self, project: str, id: str) -> bool:
        """Return whether a call that the server claimed may still begin: its thread was not cancelled since."""
        ...

    async def calls(
        self, project: str, window: Window, status: CallStatus | None = None, thread: str | None = None
    ) -> Page[StoredCall]:
        """Return a project's calls in the order of their creation, filtered by `status` and `thread` where given."""
        ...

    async def keep_call(self, call: StoredCall) -> None:
        """Store a call that runs within its turn, as confirmed, before it can be claimed. Idempotent.

        Raises `Conflict("cancelled")` where that turn has ended: none of its calls begins any more.
        """
        ...

    async def approve_call(self, approval: CallApproval) -> StoredCall:
        """Confirm a suggested call in time, with its arguments frozen; return it."""
        ...

    async def close_call(
        self, project: str, id: str, status: ClosingStatus, at: int, by: str | None = None
    ) -> StoredCall:
        """Close a suggested call, or cancel an unclaimed one; a call that was already closed so is returned as it is.

        `rejected` cancels a call that was approved. `by` is the user who decided that, where that user is known.
        """
        ...

    async def reject_call(self, rejection: CallRejection) -> StoredCall:
        """Reject a suggested call, or cancel an approved one that is not claimed, as `close_call` does."""
        ...

    async def begin_call(self, project: str, id: str, at: int, lease_until: int) -> StoredCall:
        """Claim a confirmed call that the caller runs, in the ledger too; exactly one claimer wins."""
        ...

    async def report_call(self, report: CallReport) -> tuple[StoredCall, bool]:
        """Record the outcome of a begun call; return the call, and whether the same outcome was reported before.

        The result becomes a message of the thread in the same step, under the call's id, until a turn continues from
        it. A report with `ok` true begins a confirmed call that needs no approval, unless it has begun. A report
        with `ok` false rejects a call that still waits, or cancels it where it was approved. A call that an executor of
        this process or of another one has run is not the caller's to report: `closed`.
        """
        ...

    async def expire_calls(self, at: int) -> tuple[OverdueCall, ...]:
        """Expire calls not approved or taken by `at`, set unreported ones to `unknown`, and return all that were
        changed.
        """
        ...
