"""Shows the calls that wait for an approval, and the decisions about calls, to approvers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .calls import CallStatus, StoredCall
from .pages import Page

DecisionEvent: TypeAlias = Literal["approved", "edited", "rejected", "answered", "cancelled"]
"""A decision about a call. `edited` approves other arguments; `cancelled` takes an approval back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDecision:
    """A line of the audit about a call. Times are Unix milliseconds.

    `approver` is the name that the person gave who decided, "" where none was given; it proves nothing. `key` is the id
    of the key that the decision came with, or `operator`; "" in lines older than these fields. `user` is the user in
    whose name it was made. `hash` is that of the arguments. `reason` lasts as long as the call.
    """

    at: int
    project: str
    call: str
    event: DecisionEvent
    user: str
    approver: str = ""
    key: str = ""
    tool: str = ""
    hash: str = ""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEntry:
    """A call as its approvers see it.

    `user` is the user of its thread. `words` is the user's message that led to it, None where it was forgotten.
    `decision` is the last one that was made about it.
    """

    call: StoredCall
    user: str
    words: str | None
    decision: CallDecision | None = None


@dataclass(frozen=True, slots=True)
class InboxMark:
    """The state of an open call. Two equal marks are of a call that has not changed."""

    status: CallStatus
    hash: str


@dataclass(frozen=True, slots=True)
class InboxLook:
    """The open calls at one moment: those that wait, oldest deadline first, then those that are approved or run.

    `marks` is by the ids of calls. `waiting` counts the calls that wait, also those beyond the ones that were asked
    for; it is at most `WAITING_COUNTED`.
    """

    marks: Mapping[str, InboxMark]
    waiting: int


WAITING_COUNTED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """Selects decisions: those of one tool, user, approver or kind, or of a time `since` (included) to `until`."""

    tool: str | None = None
    user: str | None = None
    approver: str | None = None
    event: DecisionEvent | None = None
    since: int | None = None
    until: int | None = None


class InboxStore(Protocol):
    """Reads calls and decisions for their approvers.

    `project` None means every project; only the operator sees that. Every method raises `agent.errors.NotFound` for an
    unknown project, and `agent.errors.StorageFailed` when the store cannot be used.
    """

    async def look(self, project: str | None, most: int) -> InboxLook:
        """Return the state of the open calls: at most `most` that wait, and as many of the others."""
        ...

    async def entries(self, project: str | None, ids: Collection[str]) -> tuple[InboxEntry, ...]:
        """Return these calls in the order of their ids; those that do not exist are left out."""
        ...

    async def decision(self, project: str, call: str) -> CallDecision | None:
        """Return the last decision about a call."""
        ...

    async def decisions(
        self, project: str | None, wanted: DecisionFilter, limit: int, before: int = 0
    ) -> Page[CallDecision]:
        """Return decisions, newest first; `before` is the `after` of the page before this one."""
        ...

    async def is_live_key(self, project: str, key: str) -> bool:
        """Return whether a key of a project opens it: neither the key nor the project has gone."""
        ...
