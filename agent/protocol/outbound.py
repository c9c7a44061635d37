"""Defines the messages that the server may send: one Struct per row of the wire's second table.

Those here are about turns and actions; the answers to consults are in `consult_frames.py`.

Unset optional fields are left out of the frame.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..lang import Lang
from ..ports.brain import Blocked
from .consult_frames import (
    ExchangeFrame,
    FeedbackStored,
    MemoryChanged,
    MemoryFrame,
    MessagesFrame,
    RecallFrame,
    ThreadChanged,
    ThreadDeleted,
    ThreadFrame,
    ThreadsFrame,
)
from .outbound_frame import Citation, OutboundFrame

ProgressStep: TypeAlias = Literal["searching", "drafting", "checking", "calling"]
"""What a slow turn does."""


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
