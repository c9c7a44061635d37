"""Defines the requests of the HTTP API: one Struct for each body and query; pure.

Names are snake_case. A decision of a user (`ApproveCall`, `DecideItem`) and a query refuse an unknown field: a misspelt
`arguments` of an approval would otherwise approve other arguments. Other bodies ignore unknown fields, and take an
optional field that is `""` or null as absent, since callers fill templates. A field that an object has twice is refused
everywhere: readers take either. A request names the project by `project_id`; without it, it means the key's project, or
the house's own. Where a request names a `user_id` too, another user's thread, call or item does not exist for it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ..config import ITEM_TEXT, MAX_ID, MAX_TEXT, PAGE_MOST, PAGE_USUAL, ROLE_CHARACTERS, TOOLS_REQUEST
from ..lang import Lang
from ..ports.calls import CallStatus
from ..ports.feedback import FEEDBACK_TEXT, Verdict
from ..ports.inbox import DecisionEvent
from ..ports.memory import ItemStatus
from ..ports.projects import Category
from .inbound import ITEM_REPLACES

NAME_CHARACTERS = 200  # of the name of a project or a key
SUBJECT_CHARACTERS = 120  # of a memory item; a key takes its first words
APPROVER_CHARACTERS = 80  # of the name of an approver
REASON_CHARACTERS = 500  # of a rejection
DESCRIPTION_CHARACTERS = 2000  # of a caller's reason for a failed call

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
OwnerId: TypeAlias = Id | UnsetType
"""The id of the user on a route with the access `owner`; with a user's own token it may be left out."""
Hash: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS)]
RoleStatement: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ROLE_CHARACTERS)]
MessageText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
ItemText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ITEM_TEXT)]
Subject: TypeAlias = Annotated[str, Meta(min_length=1, max_length=SUBJECT_CHARACTERS)]
Description: TypeAlias = Annotated[str, Meta(max_length=DESCRIPTION_CHARACTERS)]
ApproverName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=APPROVER_CHARACTERS)]
Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=REASON_CHARACTERS)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=PAGE_MOST)]
Tools: TypeAlias = Annotated[tuple[Mapping[str, Any], ...], Meta(max_length=TOOLS_REQUEST)]
RowNumber: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]
FeedbackText: TypeAlias = Annotated[str, Meta(max_length=FEEDBACK_TEXT)]
ApprovalOutcome: TypeAlias = Literal["accept", "edit", "respond", "ignore"]


class _StrictStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of queries, uploads and decisions: unknown fields are refused."""


class TolerantStruct(msgspec.Struct, frozen=True):
    """The base of other bodies: unknown fields are ignored, and empty optional ones are absent."""


# --- queries


class NoQuery(_StrictStruct, frozen=True):
    """No parameters."""


class ProjectQuery(_StrictStruct, frozen=True):
    """Names a project."""

    project_id: Id | None = None


class PageQuery(_StrictStruct, frozen=True):
    """Selects a part of a list. `cursor` is the `next_cursor` of the part before it."""

    limit: Limit = PAGE_USUAL
    cursor: Id | None = None


class ProjectPageQuery(PageQuery, frozen=True):
    """Selects a part of a project's list."""

    project_id: Id | None = None


class ProjectThreadsQuery(PageQuery, frozen=True):
    """Selects threads of the path's project: all, or one user's."""

    user_id: Id | None = None


class ThreadsQuery(ProjectPageQuery, frozen=True):
    """Selects threads: all, or one user's."""

    user_id: Id | None = None


class CallsQuery(ProjectPageQuery, frozen=True):
    """Selects calls: all, those in one status, those of one thread.

    `as=agent-inbox` selects those that wait, in the shapes of LangChain's Agent Inbox.
    """

    status: CallStatus | None = None
    thread_id: Id | None = None
    form: Literal["agent-inbox"] | None = msgspec.field(name="as", default=None)


class ExportQuery(ProjectQuery, frozen=True, kw_only=True):
    """Selects decisions about calls. `since` is included and `until` is not, both RFC 3339 with an offset.

    `cursor` is the `next_cursor` of the page, or the `X-Next-Cursor` of the file, before this one.
    """

    tool: Name | None = None
    user_id: Id | None = None
    approver: ApproverName | None = None
    event: DecisionEvent | None = None
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    cursor: Id | None = None


class DecisionsQuery(ExportQuery, frozen=True, kw_only=True):
    """Selects a part of the list of decisions about calls."""

    limit: Limit = PAGE_USUAL


class UserQuery(ProjectQuery, frozen=True, kw_only=True):
    """Names a user of a project. `user_id` may be left out with a user's own token."""

    user_id: OwnerId = UNSET


class MemoryQuery(ProjectPageQuery, frozen=True, kw_only=True):
    """Selects a user's items: all but the forgotten ones, or those of one status. `user_id` may be left out with a
    user's own token.
    """

    user_id: OwnerId = UNSET
    status: ItemStatus | None = None


class FeedbackQuery(ProjectPageQuery, frozen=True):
    """Selects feedback: all, or that with one verdict; only that with a greater `number` than `after`."""

    verdict: Verdict | None = None
    after: RowNumber | None = None


class FeedbackExport(_StrictStruct, frozen=True):
    """Selects feedback for an export. `after` is the `number` of the last line of the part before it."""

    project_id: Id | None = None
    verdict: Verdict | None = None
    after: RowNumber | None = None
    limit: Limit = PAGE_MOST


class PromptQuery(_StrictStruct, frozen=True):
    """Selects the message for which a prompt is shown. `user_id` is its author, where it begins a thread."""

    message: MessageText
    thread_id: Id | None = None
    user_id: Id | None = None


# --- bodies


class _RoleFields(TolerantStruct, frozen=True, kw_only=True):
    """The model's role in every prompt, as `role_statement`, or as `roleStatement`, which older callers send."""

    role_statement: RoleStatement | None = None
    older: RoleStatement | None = msgspec.field(name="roleStatement", default=None)

    @property
    def role(self) -> str | None:
        """The role statement, from either of its names."""
        return self.role_statement if self.role_statement is not None else self.older


class NewProject(_RoleFields, frozen=True, kw_only=True):
    """A project to be created. `role_statement` is the model's role in every prompt; `roleStatement` is read as
    well.
    """

    name: Name


class ProjectChange(_RoleFields, frozen=True, kw_only=True):
    """A change of a project; a field that is left out stays."""

    name: Name | None = None


class NewKey(TolerantStruct, frozen=True):
    """A key to be created. `name` is the operator's label for it."""

    name: Name


class Upload(_StrictStruct, frozen=True):
    """A document, as multipart/form-data: its bytes as `file`, with a filename, and its category."""

    file: bytes
    category: Category


class ChatMessage(TolerantStruct, frozen=True, kw_only=True):
    """A message to a thread; without `thread_id` to a new one.

    `user_id` is the owner of the thread. `tools` may be called for it. `context` is the caller's description of the
    message, such as its channel: part of the prompt, where it supports no number and no argument of a call. `interrupt`
    cancels a turn in progress for it. `begin` hands over calls that need no approval and that the caller runs as begun,
    with a lease.
    """

    user_id: Id
    message: MessageText
    project_id: Id | None = None
    thread_id: Id | None = None
    tools: Tools = ()
    context: Mapping[str, Any] | None = None
    lang: Lang | None = None
    interrupt: bool = False
    begin: bool = True


class ApproveCall(_StrictStruct, frozen=True, kw_only=True):
    """A user's answer to a suggested call.

    `user_id` is the owner of its thread. `accept` runs it. `edit` runs it with these `arguments`. `respond` does not
    run it; `text` is the thread's next message instead. `ignore` does not run it. `arguments_hash` is of the arguments
    that were seen; others are not approved. `continue` answers the user from the result, where the server runs the
    call. `approver` is the name of the person who decides for the user, as that person gave it; the audit keeps it.
    """

    user_id: Id
    outcome: ApprovalOutcome = "accept"
    project_id: Id | None = None
    arguments: Mapping[str, Any] | None = None
    text: MessageText | None = None
    arguments_hash: Hash | None = None
    go_on: bool = msgspec.field(name="continue", default=False)
    approver: ApproverName | None = None


class RejectCall(TolerantStruct, frozen=True):
    """A call that is declined, or an approval that is taken back. `user_id` is the user who does so, and owns the
    thread.

    `approver` is the name of the person who decides for the user, as that person gave it. `reason` is shown with the
    call. With `waiting`, a call that was approved meanwhile is refused, and stays approved.
    """

    user_id: Id | None = None
    project_id: Id | None = None
    approver: ApproverName | None = None
    reason: Reason | None = None
    waiting: bool = False


class NewItem(TolerantStruct, frozen=True, kw_only=True):
    """An event or a metric of a user that a program knows of.

    `subject` is its topic, in words: of one subject, an item with another number contradicts the first. `expires_at` is
    RFC 3339 with its offset; a metric needs it, and an event ends after a week without it.
    """

    user_id: Id
    type: Literal["event", "metric"]
    subject: Subject
    text: ItemText
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    project_id: Id | None = None
    lang: Lang | None = None


class DecideItem(_StrictStruct, frozen=True, kw_only=True):
    """A user's decision about an item.

    `edit` comes with the corrected `text`; `accept` may name the items that it `replaces`, as its user was told.
    `revision` is the one that the user saw; another one is not decided. `user_id` may be left out with a user's own
    token.
    """

    user_id: OwnerId = UNSET
    decision: Literal["accept", "reject", "start", "done", "block", "unblock", "reopen", "edit", "forget"]
    project_id: Id | None = None
    text: ItemText | None = None
    lang: Lang | None = None
    revision: int | None = None
    replaces: Annotated[tuple[Id, ...], Meta(max_length=ITEM_REPLACES)] | None = None


class NewFeedback(_StrictStruct, frozen=True, kw_only=True):
    """A user's verdict on an answer of a thread; a later one on the same answer replaces the first.

    `user_id` is the owner of the thread. `message_id` is of the answer, or of the message that it answers. `text` holds
    words about it.
    """

    user_id: Id
    thread_id: Id
    message_id: Id
    verdict: Verdict
    text: FeedbackText | None = None
    project_id: Id | None = None


class ProjectReference(TolerantStruct, frozen=True):
    """Names a project."""

    project_id: Id | None = None


class ToolResult(TolerantStruct, frozen=True, kw_only=True):
    """The outcome of a call that its caller ran. `data` is the result. `error` is the reason of a failure. `user_id` is
    the owner of its thread. `continue` answers the user now.

    `arguments_hash` is of the arguments that were run; a report on other arguments is refused.
    """

    tool_call_id: Id
    ok: bool
    user_id: Id | None = None
    project_id: Id | None = None
    data: Any = None
    error: Description | None = None
    arguments_hash: Hash | None = None
    go_on: bool = msgspec.field(name="continue", default=False)
