"""What the server may send: one Struct per row of the wire's second table.

Unset optional fields are left out of the frame.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..ports.memory import Decider, Decision, ItemStatus, ItemType, SourceKind
from ..ports.recall import ExcerptKind


class _Frame(msgspec.Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True):
    """Common to all: camelCase names on the wire, a `type` tag, defaults left out."""


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Common to what stands in the frames about what is remembered."""


class Citation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source: 1 to 3 lines as they stand in `file`, or a part of a long one; a table's row after its header.

    lines: the first and the last, of a row its own. heading: those above it, outermost first, with "›" between. when,
    by: of what is remembered (`memory/ID`), the day that it is of (2026-05-03), and who said it.
    """

    file: str
    snippet: str
    lines: tuple[int, int] | None = None
    heading: str | None = None
    when: str | None = None
    by: str | None = None


class Blocked(msgspec.Struct, frozen=True):
    """Why an answer was refused."""

    code: str
    message: str


class Stream(_Frame, frozen=True, tag="stream"):
    """The next piece of a verified text."""

    delta: str
    id: str | None = None


class StreamEnd(_Frame, frozen=True, tag="stream_end"):
    """No further delta of this message follows."""

    reason: Literal["done", "cancelled"]
    id: str | None = None


class Response(_Frame, frozen=True, tag="response"):
    """The whole text (exactly its joined deltas) and its sources.

    asks: it asks the user for what a tool's call lacks. withoutMemory: some of what is remembered could not be read, or
    kept, so that what the answer does not say may be known all the same.
    """

    text: str
    citations: tuple[Citation, ...]
    id: str | None = None
    confidence: Literal["low", "med", "high"] | None = None
    blocked: Blocked | None = None
    asks: bool = False
    without_memory: bool = False


class ActionSuggestion(_Frame, frozen=True, tag="action_suggestion"):
    """An action that can be confirmed until `expiresAt` (Unix milliseconds).

    missing: the fields that it needs and `payload` has not; a confirm fills them in.
    risk: of a tool's call: `low`, `medium` or `high`. sources: where each of its arguments comes from, by JSON Pointer
    into `payload`. A confirm of a tool's call may have another `payload`, which is run in place of this one.
    why: what asked for its approval: the tool's `definition`, the `model`, the `risk`, or `provenance` (who wrote an
    identifier in it is not the user). approved: over HTTP, of a call that needs nobody's word and that the caller runs.
    """

    suggestion_id: str
    action: str
    payload: Mapping[str, Any]
    id: str | None = None
    expires_at: int | None = None
    missing: tuple[str, ...] = ()
    risk: Literal["low", "medium", "high"] | None = None
    sources: Mapping[str, str] = {}
    why: tuple[str, ...] = ()
    approved: bool = False


class ActionExecuted(_Frame, frozen=True, tag="action_executed"):
    """How a confirm ended.

    result: `success` with `data`, or false with `error`, and `unknown` where it began and nobody knows how it ended;
    or else `cancelled`, `ignored` (confirmed before) or `expired`, which is true.
    action, payload, id: of a tool's call that needed no confirm, and the message that it was made for.
    """

    suggestion_id: str
    result: Mapping[str, Any]
    action: str | None = None
    payload: Mapping[str, Any] | None = None
    id: str | None = None


class ActionClosed(_Frame, frozen=True, tag="action_closed"):
    """The suggestion can no longer be confirmed."""

    suggestion_id: str
    reason: Literal["expired", "cancelled", "rejected", "answered"]


class Error(_Frame, frozen=True, tag="error"):
    """Something was not done; `message` says what to do."""

    code: Literal[
        "bad_json",
        "bad_message",
        "unknown_suggestion",
        "busy",
        "rate_limited",
        "shutting_down",
        "internal",
        "bad_tool",
        "bad_edit",
        "unknown_thread",
        "unknown_item",
        "changed",
        "refused",
        "bad_item",
        "memory_off",
        "memory_failed",
    ]
    message: str
    id: str | None = None
    suggestion_id: str | None = None


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """The bounds a client can plan for: bytes, characters, counts and seconds."""

    max_frame: int
    max_text: int
    queued_messages: int
    live_suggestions: int
    confirm_seconds: float
    rate_limit: float


class Welcome(_Frame, frozen=True, tag="welcome"):
    """First frame, only to a client that offered the subprotocol `agent.v1`. memory: this server remembers."""

    session: str
    protocol: int
    limits: Limits
    memory: bool = False


class Thread(_Frame, frozen=True, tag="thread"):
    """The thread that the messages from here on are of. Who knows its id can open it again; tell it to nobody."""

    thread: str
    id: str | None = None


class Excerpt(_Part, frozen=True):
    """A turn, or a part of a long one, or an item. at: Unix milliseconds, as every time of what is remembered.

    source: what a citation of it has as its `file`. by: who said it, `user`, `assistant` or a name; left out of an
    item. score: 0..1. citable: an answer may take its numbers from it.
    """

    source: str
    kind: ExcerptKind
    text: str
    at: int
    score: float
    citable: bool = False
    by: str = ""
    thread: str = ""


class Recalled(_Frame, frozen=True, tag="recalled"):
    """What was found, oldest first. score: 0..1, how surely anything fits.

    disagreements: pairs of sources that say different numbers of one thing, the older first. incomplete: what the user
    said last could not be kept yet.
    """

    excerpts: tuple[Excerpt, ...]
    score: float
    disagreements: tuple[tuple[str, str], ...] = ()
    id: str | None = None
    incomplete: bool = False

    def as_incomplete(self) -> "Recalled":
        """Return it as told without what its user said last."""
        return msgspec.structs.replace(self, incomplete=True)


class ItemSource(_Part, frozen=True):
    """Where an item comes from: a message by its id, lines of a document, or a call. quote: what it says there."""

    kind: SourceKind
    ref: str
    lines: tuple[int, int] | None = None
    quote: str = ""


class Replaced(_Part, frozen=True):
    """An item that another is to replace."""

    item: str
    text: str


class Item(_Part, frozen=True):
    """Something that is, was or may be remembered. Of a forgotten one the text is empty.

    decisions: what memory_decide may say of it as it stands; beside that it can be forgotten, and corrected while it is
    proposed or remembered. replaces: of a proposed one, what it contradicts, and closes once it is accepted. revision:
    counts the changes of its status.
    """

    id: str
    type: ItemType
    status: ItemStatus
    text: str
    revision: int
    created_at: int
    valid_from: int
    sources: tuple[ItemSource, ...] = ()
    valid_to: int | None = None
    expires_at: int | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    replaces: tuple[Replaced, ...] = ()
    confidence: float = 1.0
    decided_at: int | None = None
    decided_by: Decider | None = None
    decisions: tuple[Decision, ...] = ()


class Change(_Part, frozen=True):
    """What happened to an item. by: who decided it; left out where its time did."""

    item: str
    at: int
    trigger: str
    after: ItemStatus
    before: ItemStatus | None = None
    by: Decider | None = None


class Memory(_Frame, frozen=True, tag="memory"):
    """Items, oldest first. after: what to ask with for those that follow; left out where none do.

    history: of one item that was asked for, what happened to it and to those that it replaced, oldest first.
    incomplete: what the user said last could not be kept yet.
    """

    items: tuple[Item, ...]
    after: int | None = None
    history: tuple[Change, ...] = ()
    id: str | None = None
    incomplete: bool = False

    def as_incomplete(self) -> "Memory":
        """Return it as told without what its user said last."""
        return msgspec.structs.replace(self, incomplete=True)


class MemoryChanged(_Frame, frozen=True, tag="memory_changed"):
    """An item as it is now; of an edit the new one. replaced: those in whose place it stands, as they are now."""

    item: Item
    replaced: tuple[Item, ...] = ()
    id: str | None = None


Outbound: TypeAlias = (
    Stream
    | StreamEnd
    | Response
    | ActionSuggestion
    | ActionExecuted
    | ActionClosed
    | Error
    | Welcome
    | Thread
    | Recalled
    | Memory
    | MemoryChanged
)
