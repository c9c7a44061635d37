"""Defines the answers and events of the routes for approvers of calls; pure."""

from datetime import datetime

import msgspec

from ..ports.inbox import DecisionEvent
from .views import CallView

WORDS_SHOWN = 2000  # characters of the message that led to a call


class DecisionView(msgspec.Struct, frozen=True, kw_only=True):
    """A decision about a call, from the audit.

    `user_id` is the user in whose name it was made. `approver` is the name that the deciding person gave; nothing
    proves it. `key_id` is the key that the decision came with, or `operator`. Both are null in lines that are older
    than these fields, and `approver` where no name was given. `reason` lasts as long as the call.
    """

    at: datetime
    project_id: str
    call_id: str
    event: DecisionEvent
    user_id: str
    approver: str | None
    key_id: str | None
    tool: str | None
    arguments_hash: str | None
    reason: str | None


class DecisionPage(msgspec.Struct, frozen=True):
    """Decisions, newest first."""

    items: tuple[DecisionView, ...]
    next_cursor: str | None


class InboxCall(CallView, frozen=True, kw_only=True):
    """A call as its approvers see it.

    `user_id` is the user of its thread. `words` is the user's message that led to it, null where it was forgotten;
    `words_cut` says that the message is longer. `decision` is the last one that was made about it.
    """

    user_id: str
    words: str | None
    words_cut: bool
    decision: DecisionView | None


class InboxPage(msgspec.Struct, frozen=True):
    """Open calls: those that wait for an approval, oldest deadline first, then those that are approved or run.

    `waiting` counts all that wait, up to 10,000.
    """

    items: tuple[InboxCall, ...]
    waiting: int


class InboxCalls(msgspec.Struct, frozen=True, tag="calls", tag_field="type"):
    """An event: calls that are new, or have changed; one that has ended comes once more, with its result."""

    calls: tuple[InboxCall, ...]


class InboxGone(msgspec.Struct, frozen=True, tag="gone", tag_field="type"):
    """An event: calls that are listed no more; they were deleted, or others have earlier deadlines."""

    ids: tuple[str, ...]


class InboxListed(msgspec.Struct, frozen=True, tag="listed", tag_field="type"):
    """An event: all open calls were sent. `waiting` counts those that wait, `shown` those of them that were sent."""

    waiting: int
    shown: int
