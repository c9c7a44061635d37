"""Defines the frames about memory and threads: the answers to a client's consults, and what other connections changed.

`outbound.py` has the union of all frames that the server may send.
"""

from typing import Literal, Self

import msgspec

from ..ports.brain import Blocked
from ..ports.feedback import Verdict
from ..ports.memory import ItemDecider, ItemDecision, ItemStatus, ItemType, Side, SourceKind
from ..ports.recall import ExcerptKind
from .outbound_frame import Citation, OutboundFrame


class _FramePart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The base of the parts of frames about memory."""


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
