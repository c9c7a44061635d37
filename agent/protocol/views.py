"""What is answered over the HTTP API: one Struct for each answer; pure.

Every field is there, as null where it holds nothing. Names are snake_case; times are Unix milliseconds.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ..ports.calls import CallStatus
from ..ports.desk import Mode
from ..ports.memory import Decider, Decision, ItemStatus, ItemType, SourceKind
from ..ports.projects import Category
from ..ports.threads import MessageStatus, Role
from ..ports.tools import Risk, RunsAt


class Health(msgspec.Struct, frozen=True):
    """How the server is."""

    status: Literal["ok", "unavailable"]
    timestamp: int
    database: Literal["ok", "unavailable"]


class ProjectView(msgspec.Struct, frozen=True):
    """A project."""

    id: str
    name: str
    role_statement: str
    created_at: int


class ProjectPage(msgspec.Struct, frozen=True):
    """Projects, oldest first."""

    items: tuple[ProjectView, ...]
    next_cursor: str | None


class KeyView(msgspec.Struct, frozen=True):
    """A key of a project, without the key itself."""

    id: str
    project_id: str
    name: str
    created_at: int
    revoked_at: int | None


class KeyPage(msgspec.Struct, frozen=True):
    """A project's keys, oldest first, revoked ones too."""

    items: tuple[KeyView, ...]
    next_cursor: str | None


class KeyMade(msgspec.Struct, frozen=True):
    """A key that was made. key: to be sent as X-AGENT-KEY; told once, and null when the request comes again."""

    id: str
    project_id: str
    name: str
    created_at: int
    key: str | None


class DocumentView(msgspec.Struct, frozen=True):
    """A document, without its text. chunks_count: into how many it was cut. error: why it could not be read."""

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
    created_at: int


class DocumentPage(msgspec.Struct, frozen=True):
    """A project's documents, oldest first."""

    items: tuple[DocumentView, ...]
    next_cursor: str | None


class PromptSectionView(msgspec.Struct, frozen=True):
    """A part of a prompt. tokens: an estimate."""

    name: str
    tokens: int
    text: str


class PromptView(msgspec.Struct, frozen=True):
    """The parts of the prompt that a message would be answered with, in their order; nothing was run."""

    sections: tuple[PromptSectionView, ...]


class ThreadView(msgspec.Struct, frozen=True):
    """A thread. turns: how many have begun in it."""

    id: str
    project_id: str
    user_id: str
    created_at: int
    updated_at: int
    turns: int


class ThreadPage(msgspec.Struct, frozen=True):
    """Threads, in the order they were made."""

    items: tuple[ThreadView, ...]
    next_cursor: str | None


class MessageView(msgspec.Struct, frozen=True):
    """A message of a thread. tool_call_id: the call whose result a tool's message is."""

    id: str
    thread_id: str
    turn: int
    role: Role
    content: str
    status: MessageStatus
    citations: tuple[Mapping[str, Any], ...]
    tool_call_id: str | None
    created_at: int


class MessagePage(msgspec.Struct, frozen=True):
    """Messages, oldest first."""

    items: tuple[MessageView, ...]
    next_cursor: str | None


class CallView(msgspec.Struct, frozen=True):
    """A call of a tool.

    status: suggested waits for an approval, confirmed has one, claimed was begun. arguments_hash: of the arguments that
    run, or would; proposed_hash: of those that were suggested; edited: whether they differ. why_approval: what asked
    for one. sources: where each argument comes from, by JSON Pointer. missing: what an approval must fill in.
    deadline: until when it can be approved, and taken. lease_until: until when its caller may report. closed_by: the
    user who rejected it, answered it in words or took its approval back; null where no user was named.
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
    deadline: int
    approved_by: str | None
    approved_at: int | None
    lease_until: int | None
    result: Mapping[str, Any] | None
    created_at: int
    ended_at: int | None
    closed_by: str | None


class CallPage(msgspec.Struct, frozen=True):
    """Calls, in the order they were made."""

    items: tuple[CallView, ...]
    next_cursor: str | None


class ToolRequest(msgspec.Struct, frozen=True):
    """The call that a turn came to, in short."""

    name: str
    args: Mapping[str, Any]
    requires_approval: bool
    risk: Risk


class SourceView(msgspec.Struct, frozen=True):
    """Where an item comes from. lines: the first and the last of a document's; null elsewhere."""

    kind: SourceKind
    ref: str
    lines: tuple[int, int] | None
    quote: str


class ItemView(msgspec.Struct, frozen=True):
    """Something that is, was or may be remembered. Of a forgotten one the text and the sources are empty.

    decisions: what may be decided about it as it stands, beside forget, and edit while it is proposed or remembered.
    """

    id: str
    project_id: str
    user_id: str
    type: ItemType
    status: ItemStatus
    text: str
    sources: tuple[SourceView, ...]
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    supersedes: str | None
    superseded_by: str | None
    confidence: float
    created_at: int
    decided_at: int | None
    decided_by: Decider | None
    revision: int
    decisions: tuple[Decision, ...]


class ItemPage(msgspec.Struct, frozen=True):
    """Items, and where the list goes on. incomplete: what the user said last could not be kept yet."""

    items: tuple[ItemView, ...]
    next_cursor: str | None
    incomplete: bool


class ChangeView(msgspec.Struct, frozen=True):
    """What happened to an item. by: who decided it; null where its time did."""

    item: str
    at: int
    trigger: str
    before: ItemStatus | None
    after: ItemStatus
    by: Decider | None


class ItemAnswer(msgspec.Struct, frozen=True):
    """An item, and what happened to it and to those that it replaced, oldest first."""

    item: ItemView
    history: tuple[ChangeView, ...]


class MemoryUpdate(msgspec.Struct, frozen=True):
    """What a message's words propose to remember; `accepted` where they say so themselves. replaces: items that it
    contradicts, and that it closes once it is accepted."""

    id: str
    type: ItemType
    status: ItemStatus
    text: str
    replaces: tuple[str, ...]


class ResponseJson(msgspec.Struct, frozen=True):
    """What a turn decided: to act, to ask, or to answer (NOOP)."""

    mode: Mode
    message: str
    tool_request: ToolRequest | None
    memory_updates: tuple[MemoryUpdate, ...]


class Render(msgspec.Struct, frozen=True):
    """What is to be shown to the user, and nothing else."""

    text_to_send_to_user: str


class BlockedView(msgspec.Struct, frozen=True):
    """Why an answer was refused."""

    code: str
    message: str


class ChatAnswer(msgspec.Struct, frozen=True):
    """What a turn came to. tool_call: the last of `calls`, where the turn acted.

    without_memory: some of what is remembered could not be read, so that what the answer does not say may be known all
    the same; or what the message has to remember could not be kept in time.
    """

    thread_id: str
    message_id: str
    response_json: ResponseJson
    tool_call_id: str | None
    tool_call: CallView | None
    calls: tuple[CallView, ...]
    citations: tuple[Mapping[str, Any], ...]
    confidence: str | None
    blocked: BlockedView | None
    render: Render
    without_memory: bool


class ApprovedCall(CallView, frozen=True):
    """A call after somebody's word. reply: what a `respond` was answered, or what `continue` came to.

    It is null where the call has not ended in time, or no turn could begin: the approval stands.
    """

    reply: ChatAnswer | None = None


class ResultTaken(msgspec.Struct, frozen=True):
    """That a report was taken. reply: the answer to the user, where one was asked for."""

    status: Literal["acknowledged"]
    tool_call_id: str
    call: CallView
    reply: ChatAnswer | None
