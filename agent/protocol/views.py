"""Defines the answers of the HTTP API: one Struct for each; pure.

Every field is there, as null where it holds nothing. Names are snake_case; times are RFC 3339 in UTC.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from ..ports.brain import Blocked
from ..ports.calls import CallStatus
from ..ports.draft import PromptSection
from ..ports.feedback import Verdict
from ..ports.memory import ItemDecider, ItemDecision, ItemStatus, ItemType, SourceKind
from ..ports.projects import Category
from ..ports.thread_service import Mode
from ..ports.threads import MessageRole, MessageStatus
from ..ports.tools import Risk, RunsAt


class Health(msgspec.Struct, frozen=True):
    """The state of the server."""

    status: Literal["ok", "unavailable"]
    timestamp: datetime
    database: Literal["ok", "unavailable"]


class ProjectView(msgspec.Struct, frozen=True):
    """A project."""

    id: str
    name: str
    role_statement: str
    created_at: datetime


class ProjectPage(msgspec.Struct, frozen=True):
    """Projects, oldest first."""

    items: tuple[ProjectView, ...]
    next_cursor: str | None


class KeyView(msgspec.Struct, frozen=True):
    """A key of a project, without the secret itself."""

    id: str
    project_id: str
    name: str
    created_at: datetime
    revoked_at: datetime | None


class KeyPage(msgspec.Struct, frozen=True):
    """A project's keys, oldest first, revoked ones too."""

    items: tuple[KeyView, ...]
    next_cursor: str | None


class CreatedKey(msgspec.Struct, frozen=True):
    """A new key. `key` is to be sent as `X-AGENT-KEY`; it is shown once, and null when the request comes again."""

    id: str
    project_id: str
    name: str
    created_at: datetime
    key: str | None


class ReportView(msgspec.Struct, frozen=True):
    """Counts of a document: its `pages`, 0 in a format without pages; and the parts left out: the text of
    `blank_pages`, which hold none (scanned ones do not), the `cut_pages` after the most that are read, and the text in
    `pictures`.
    """

    pages: int
    blank_pages: int
    cut_pages: int
    pictures: int


class DocumentView(msgspec.Struct, frozen=True, kw_only=True):
    """A document, without its text. `chunks_count` counts the parts into which it was cut. `error` says why it is
    unreadable. `report` counts the parts that were read and left out.
    """

    id: str
    project_id: str
    category: Category
    filename: str
    mime: str
    sha256: str
    bytes: int
    chunks_count: int
    version: int
    status: Literal["indexed", "failed"]
    error: str | None
    created_at: datetime
    report: ReportView


class DocumentPage(msgspec.Struct, frozen=True):
    """A project's documents, oldest first."""

    items: tuple[DocumentView, ...]
    next_cursor: str | None


class PromptView(msgspec.Struct, frozen=True):
    """The parts of the prompt for a message, in their order; nothing was run."""

    sections: tuple[PromptSection, ...]


class ThreadView(msgspec.Struct, frozen=True, kw_only=True):
    """A thread. `turns` counts the turns that have begun in it."""

    id: str
    project_id: str
    user_id: str
    created_at: datetime
    updated_at: datetime
    turns: int


class ThreadPage(msgspec.Struct, frozen=True):
    """Threads, in the order of their creation."""

    items: tuple[ThreadView, ...]
    next_cursor: str | None


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a thread. `tool_call_id` is the call whose result a tool's message is."""

    id: str
    thread_id: str
    turn: int
    role: MessageRole
    content: str
    status: MessageStatus
    citations: tuple[Mapping[str, Any], ...]
    tool_call_id: str | None
    created_at: datetime


class MessagePage(msgspec.Struct, frozen=True):
    """Messages, oldest first."""

    items: tuple[MessageView, ...]
    next_cursor: str | None


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool.

    `status` `suggested` waits for an approval, `confirmed` has one, `claimed` was begun. `arguments_hash` is of the
    arguments that run, or would; `proposed_hash` is of the suggested ones; `edited` says whether they differ.
    `why_approval` lists the reasons for an approval. `sources` names the origin of each argument, by JSON Pointer.
    `missing` names the fields that an approval must fill in. `deadline` is the time until which it can be approved, and
    taken. `lease_until` is the time until which its caller may report. `closed_by` is the user who rejected it,
    answered it in words or took its approval back; null where no user was named. `reason` is why it was rejected.
    """

    id: str
    project_id: str
    thread_id: str
    message_id: str
    tool: str
    arguments: Mapping[str, Any]
    arguments_hash: str
    proposed_hash: str
    edited: bool
    runs_at: RunsAt
    requires_approval: bool
    why_approval: tuple[str, ...]
    risk: Risk
    sources: Mapping[str, str]
    missing: tuple[str, ...]
    parameters: Mapping[str, Any] | None
    status: CallStatus
    deadline: datetime
    approved_by: str | None
    approved_at: datetime | None
    lease_until: datetime | None
    result: Mapping[str, Any] | None
    created_at: datetime
    ended_at: datetime | None
    closed_by: str | None
    reason: str | None


class CallPage(msgspec.Struct, frozen=True):
    """Calls, in the order of their creation."""

    items: tuple[CallView, ...]
    next_cursor: str | None


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the operator. `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    requires_approval: bool
    risk: Risk
    runs_at: RunsAt


class ToolList(msgspec.Struct, frozen=True):
    """The operator's tools, in the order of their definition."""

    items: tuple[ToolView, ...]


class ToolRequest(msgspec.Struct, frozen=True):
    """The call that a turn led to, in short."""

    name: str
    args: Mapping[str, Any]
    requires_approval: bool
    risk: Risk


class SourceView(msgspec.Struct, frozen=True):
    """The origin of an item. `lines` holds the first and the last line of a document; null elsewhere."""

    kind: SourceKind
    ref: str
    lines: tuple[int, int] | None
    quote: str


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory item: proposed, live or closed. Text and sources of a forgotten item are empty.

    `decisions` are allowed in its status, beside `forget`, and `edit` while it is proposed or live.
    """

    id: str
    project_id: str
    user_id: str
    type: ItemType
    status: ItemStatus
    text: str
    sources: tuple[SourceView, ...]
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    supersedes: str | None
    superseded_by: str | None
    confidence: float
    created_at: datetime
    decided_at: datetime | None
    decided_by: ItemDecider | None
    revision: int
    decisions: tuple[ItemDecision, ...]


class ItemPage(msgspec.Struct, frozen=True):
    """Items, and the cursor of the rest. `incomplete` says that the user's latest exchanges could not be stored yet."""

    items: tuple[ItemView, ...]
    next_cursor: str | None
    incomplete: bool


class ChangeView(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an item's status. `by` is null for a change at a due time."""

    item: str
    at: datetime
    trigger: str
    before: ItemStatus | None
    after: ItemStatus
    by: ItemDecider | None


class ItemAnswer(msgspec.Struct, frozen=True):
    """An item, and the changes of it and of those that it replaced, oldest first."""

    item: ItemView
    history: tuple[ChangeView, ...]


class MemoryUpdate(msgspec.Struct, frozen=True):
    """A memory item that a message's words propose; `accepted` where they order it. `replaces` lists the items that it
    contradicts, and that it closes once it is accepted.
    """

    id: str
    type: ItemType
    status: ItemStatus
    text: str
    replaces: tuple[str, ...]


class ResponseJson(msgspec.Struct, frozen=True):
    """The decision of a turn: to act, to ask, or to answer (`NOOP`)."""

    mode: Mode
    message: str
    tool_request: ToolRequest | None
    memory_updates: tuple[MemoryUpdate, ...]


class Render(msgspec.Struct, frozen=True):
    """The text to show to the user, and nothing else."""

    text_to_send_to_user: str


class ChatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a turn. `tool_call` is the last of `calls`, where the turn acted.

    `without_memory` says that part of the memory could not be read, so that facts missing from the answer may be known
    all the same; or that the message's own memory items could not be stored in time.
    """

    thread_id: str
    message_id: str
    response_json: ResponseJson
    tool_call_id: str | None
    tool_call: CallView | None
    calls: tuple[CallView, ...]
    citations: tuple[Mapping[str, Any], ...]
    confidence: str | None
    blocked: Blocked | None
    render: Render
    without_memory: bool


class FeedbackReceipt(msgspec.Struct, frozen=True):
    """The receipt of stored feedback. `message_id` is the message that the rated answer belongs to."""

    number: int
    message_id: str
    thread_id: str
    verdict: Verdict


class FeedbackView(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback on an answer, with the answer's question and evidence.

    `number` grows with each verdict, also with one that replaces another. `text` holds the user's words. `confidence`
    is null for a text that answers no question, `blocked` for an answer that was not refused; it is the refusal's code.
    """

    number: int
    message_id: str
    project_id: str
    user_id: str
    thread_id: str
    verdict: Verdict
    text: str
    question: str
    answer: str
    citations: tuple[Mapping[str, Any], ...]
    model: str
    confidence: str | None
    blocked: str | None
    created_at: datetime


class FeedbackPage(msgspec.Struct, frozen=True):
    """Feedback, in the order in which it was given."""

    items: tuple[FeedbackView, ...]
    next_cursor: str | None


class ApprovedCall(CallView, frozen=True):
    """A call after its approval or another answer. `reply` answers a `respond`, or comes from `continue`.

    It is null where the call has not ended in time, or no turn could begin: the approval stands.
    """

    reply: ChatAnswer | None = None


class ReportReceipt(msgspec.Struct, frozen=True):
    """The receipt of a report. `reply` is the answer to the user, where one was requested."""

    status: Literal["acknowledged"]
    tool_call_id: str
    call: CallView
    reply: ChatAnswer | None
