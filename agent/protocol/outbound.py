"""Defines the messages that the server may send: one Struct per row of the wire's second table.

Unset optional fields are left out of the frame.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias

import msgspec

from ..lang import Lang
from ..ports.brain import Blocked
from ..ports.feedback import Verdict
from ..ports.memory import ItemDecider, ItemDecision, ItemStatus, ItemType, Side, SourceKind
from ..ports.recall import ExcerptKind

ProgressStep: TypeAlias = Literal["searching", "drafting", "checking", "calling"]
"""What a slow turn does."""


class OutboundFrame(msgspec.Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True):
    """The base of all frames: camelCase names on the wire, a `type` tag, defaults left out."""


class _FramePart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The base of the parts of frames about memory."""


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A source: 1 to 3 lines as they stand in `file`, or a part of a long one; a table's row after its header.

    `lines` holds the first and the last line, for a row its own. `heading` joins the headings above it, outermost
    first, with "›". `source` numbers the sections that a response cites, from 1, in the order in which its text uses
    them; citations of one section share a number. `spans` holds the parts of the text that it was cited for: the
    position of the first character and the one after the last, counted in Unicode code points (as Python does;
    JavaScript counts UTF-16 units). `when` and `by` belong to a citation from memory (`memory/ID`): its day
    (2026-05-03), and its speaker.
    """

    file: str
    snippet: str
    lines: tuple[int, int] | None = None
    heading: str | None = None
    source: int | None = None
    spans: tuple[tuple[int, int], ...] = ()
    when: str | None = None
    by: str | None = None


class Stream(OutboundFrame, frozen=True, tag="stream"):
    """The next piece of a verified text.

    `sources` numbers the sources of the part of the text that ends with this piece, before its white space, as the
    response's citations do.
    """

    delta: str
    id: str | None = None
    sources: tuple[int, ...] = ()


class ProgressFrame(OutboundFrame, frozen=True, tag="progress"):
    """A turn has done one thing for a while: only for a message with `progress`, and not in a quick turn.

    `step` is `searching` for evidence, `drafting` (a model is asked), `checking` a draft against its sources, or
    `calling` a tool. It holds until the next one, a `stream` or the `stream_end` of the message.
    """

    step: ProgressStep
    id: str | None = None


class StreamEnd(OutboundFrame, frozen=True, tag="stream_end"):
    """No further delta of this message follows."""

    reason: Literal["done", "cancelled"]
    id: str | None = None


class Response(OutboundFrame, frozen=True, tag="response", kw_only=True):
    """The whole text (exactly its joined deltas) and its sources.

    `confidence` is left out of a text that answers no question: a greeting, a note, a request to confirm. `asks` says
    that it asks the user for missing arguments of a tool call. `withoutMemory` says that part of the memory could not
    be read, or stored, so that facts missing from the answer may be known all the same. `fiction` says that the text is
    a story's, which nothing vouches for and which cites nothing.
    """

    text: str
    citations: tuple[Citation, ...]
    id: str | None = None
    confidence: Literal["low", "med", "high"] | None = None
    blocked: Blocked | None = None
    asks: bool = False
    without_memory: bool = False
    fiction: bool = False


class ActionSuggestion(OutboundFrame, frozen=True, tag="action_suggestion", kw_only=True):
    """An action that can be confirmed until `expiresAt` (Unix milliseconds).

    `missing` names the fields that it needs and `payload` lacks; a confirm fills them in. `risk` of a tool's call is
    `low`, `medium` or `high`. `sources` names the origin of each of its arguments, by JSON Pointer into `payload`. A
    confirm of a tool's call may have another `payload`, which is run in place of this one. `why` lists the reasons for
    its approval: the tool's `definition`, the `model`, the `risk`, or `provenance` (an identifier in it was not written
    by the user). `approved` marks, over HTTP, a call that needs no approval and that the caller runs. `heard` marks a
    payload from words that a recogniser made of audio: show it, so that its user can check each number of it.
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
    heard: bool = False


class ActionExecuted(OutboundFrame, frozen=True, tag="action_executed"):
    """The outcome of a confirm.

    `result` is `success` with `data`, or false with `error`, and `unknown` where it began and its outcome is not known;
    or else `cancelled`, `ignored` (confirmed before) or `expired`, which is true. `action`, `payload` and `id` belong
    to a tool's call that needed no confirm; `id` is the message that it was made for.
    """

    suggestion_id: str
    result: Mapping[str, Any]
    action: str | None = None
    payload: Mapping[str, Any] | None = None
    id: str | None = None


class ActionClosed(OutboundFrame, frozen=True, tag="action_closed"):
    """The suggestion can no longer be confirmed."""

    suggestion_id: str
    reason: Literal["expired", "cancelled", "rejected", "answered"]


class Error(OutboundFrame, frozen=True, tag="error"):
    """A request was not done; `message` says how to mend it."""

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
        "unknown_answer",
        "feedback_off",
        "feedback_failed",
        "unknown_story",
        "no_story",
        "stale_choice",
        "moved",
        "inherited",
        "story_full",
        "story_failed",
        "voice_failed",
    ]
    message: str
    id: str | None = None
    suggestion_id: str | None = None


class Limits(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The bounds a client can plan for: bytes, characters, counts and seconds."""

    max_frame: int
    max_text: int
    queued_messages: int
    live_suggestions: int
    confirm_seconds: float
    rate_limit: float


class VoiceAbilities(msgspec.Struct, frozen=True, kw_only=True):
    """The languages in which a connection `speaks` and `hears`; none where the server cannot."""

    speaks: tuple[Lang, ...] = ()
    hears: tuple[Lang, ...] = ()


class _VoiceFrame(OutboundFrame, frozen=True, kw_only=True):
    """A frame that may tell of voice."""

    voice: VoiceAbilities | None = None


class Welcome(_VoiceFrame, frozen=True, tag="welcome"):
    """First frame, only to a client that offered the subprotocol `agent.v1`, or `agent.voice.v1` where the server has
    voice. `memory` says that this server has memory, `feedback` that it stores feedback. `voice` says what a connection
    of `agent.voice.v1` can do.
    """

    session: str
    protocol: int
    limits: Limits
    memory: bool = False
    feedback: bool = False


class ThreadFrame(OutboundFrame, frozen=True, tag="thread"):
    """The thread of the messages from here on. Anyone with its id can open it again; keep it secret."""

    thread: str
    id: str | None = None


class FrameExcerpt(_FramePart, frozen=True, kw_only=True):
    """A turn, or a part of a long one, or an item. `at` is in Unix milliseconds, as every time about memory.

    `source` is the `file` of its citations. `by` is its speaker, `user`, `assistant` or a name; left out of an item.
    `score` is 0..1. `citable` says that an answer may take its numbers from it.
    """

    source: str
    kind: ExcerptKind
    text: str
    at: int
    score: float
    citable: bool = False
    by: str = ""
    thread: str = ""


class _PartialFrame(OutboundFrame, frozen=True):
    """A frame whose field `incomplete` says that the user's latest exchanges could not be stored yet."""

    def as_incomplete(self) -> Self:
        """Return the frame as made without the user's latest exchanges."""
        return msgspec.structs.replace(self, incomplete=True)


class RecallFrame(_PartialFrame, frozen=True, tag="recalled"):
    """The excerpts of a search, oldest first. `score`, 0..1, is the certainty that anything fits.

    `disagreements` are pairs of sources that state different numbers of one thing, the older first. `incomplete` says
    that the user's latest exchanges could not be stored yet.
    """

    excerpts: tuple[FrameExcerpt, ...]
    score: float
    disagreements: tuple[tuple[str, str], ...] = ()
    id: str | None = None
    incomplete: bool = False


class ItemSource(_FramePart, frozen=True):
    """The origin of an item: a message by its id, lines of a document, or a call. `quote` holds the words there."""

    kind: SourceKind
    ref: str
    lines: tuple[int, int] | None = None
    quote: str = ""


class ReplacedItem(_FramePart, frozen=True):
    """An item that another is to replace."""

    item: str
    text: str


class FrameItem(_FramePart, frozen=True, kw_only=True):
    """A memory item: proposed, live or closed. The text of a forgotten item is empty.

    `decisions` are those that `memory_decide` allows in its status; beside them it can be forgotten, and corrected
    while it is proposed or live. `replaces` lists, for a proposed item, the items that it contradicts, and closes once
    it is accepted. `revision` counts the changes of its status.
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
    replaces: tuple[ReplacedItem, ...] = ()
    confidence: float = 1.0
    decided_at: int | None = None
    decided_by: ItemDecider | None = None
    decisions: tuple[ItemDecision, ...] = ()


class FrameChange(_FramePart, frozen=True, kw_only=True):
    """A change of an item. `by` is the party that decided it; left out where its time did."""

    item: str
    at: int
    trigger: str
    after: ItemStatus
    before: ItemStatus | None = None
    by: ItemDecider | None = None


class MemoryFrame(_PartialFrame, frozen=True, tag="memory"):
    """Items, oldest first. `after` is the number with which to ask for the next ones; left out where none follow.

    `history` holds, for one item that was asked for, its changes and those of the items that it replaced, oldest first.
    `incomplete` says that the user's latest exchanges could not be stored yet.
    """

    items: tuple[FrameItem, ...]
    after: int | None = None
    history: tuple[FrameChange, ...] = ()
    id: str | None = None
    incomplete: bool = False


class MemoryChanged(OutboundFrame, frozen=True, tag="memory_changed"):
    """An item as it is now; after an edit the new one. `replaced` holds the items that it replaces, as they are now."""

    item: FrameItem
    replaced: tuple[FrameItem, ...] = ()
    id: str | None = None


class FeedbackStored(OutboundFrame, frozen=True, tag="feedback_stored"):
    """The feedback on the answer to `message` is stored, with these words."""

    message: str
    verdict: Verdict
    text: str = ""
    id: str | None = None


class FrameThread(_FramePart, frozen=True, kw_only=True):
    """A thread. `title` is the one that its user gave it, or its first question, shortened.

    `at` is the time of its last message, `count` the number of its messages, left out where all were forgotten.
    """

    thread: str
    title: str = ""
    at: int = 0
    count: int = 0


class ThreadsFrame(_PartialFrame, frozen=True, tag="threads"):
    """Threads, the one with the latest message first. `after` is the number with which to ask for the next ones; left
    out where none follow.

    `incomplete` says that the user's latest exchanges could not be stored yet.
    """

    threads: tuple[FrameThread, ...]
    after: int | None = None
    id: str | None = None
    incomplete: bool = False


class AnswerDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What an answer is shown with beside its text, as in `response`."""

    citations: tuple[Citation, ...] = ()
    confidence: Literal["low", "med", "high"] | None = None
    blocked: Blocked | None = None
    asks: bool = False
    without_memory: bool = False


class FrameRating(_FramePart, frozen=True):
    """The feedback that the answer has, with its user's words."""

    verdict: Verdict
    text: str = ""


class FrameMessage(AnswerDetails, frozen=True, kw_only=True):
    """A message of a user, or an answer with its citations and details.

    `message` is the same of a message and its answer. `by` is a speaker's name; left out of the user and the agent.
    `unsourced` says that the citations of an answer with numbers were not stored, so that its text is withheld. The
    text of a message that was forgotten since it was told is empty. `feedback` is in the answer to `thread_messages`.
    """

    message: str
    role: Side
    text: str
    at: int
    by: str = ""
    unsourced: bool = False
    feedback: FrameRating | None = None


class MessagesFrame(_PartialFrame, frozen=True, tag="messages"):
    """Messages of a thread, oldest first. `after` is the number with which to ask for the ones before them; left out
    where there are none.

    `incomplete` says that the user's latest exchanges could not be stored yet.
    """

    thread: str
    messages: tuple[FrameMessage, ...]
    after: int | None = None
    id: str | None = None
    incomplete: bool = False


class ThreadChanged(OutboundFrame, frozen=True, tag="thread_changed"):
    """A thread as it is now: renamed, with another message, or new. Without an `id` another connection changed it, or
    a message of this one.
    """

    thread: FrameThread
    id: str | None = None


class ThreadDeleted(OutboundFrame, frozen=True, tag="thread_deleted"):
    """The thread is gone. A connection that had it open is in a new thread, which `open_thread` tells."""

    thread: str
    id: str | None = None


class ExchangeFrame(OutboundFrame, frozen=True, tag="exchange"):
    """What another connection of the user was told in the thread that this one has open."""

    thread: str
    messages: tuple[FrameMessage, ...]


Outbound: TypeAlias = (
    Stream
    | ProgressFrame
    | StreamEnd
    | Response
    | ActionSuggestion
    | ActionExecuted
    | ActionClosed
    | Error
    | Welcome
    | ThreadFrame
    | RecallFrame
    | MemoryFrame
    | MemoryChanged
    | FeedbackStored
    | ThreadsFrame
    | MessagesFrame
    | ThreadChanged
    | ThreadDeleted
    | ExchangeFrame
)
