"""The events of a session, as small frozen facts. They bring time and ids along: the core has no clock.

`at` is in seconds on the loop's clock, `wall_ms` in Unix milliseconds.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ..ports.action import Outcome
from ..ports.brain import Proposal, Question, TurnEvent, VerifiedText
from ..ports.consult import ThreadUpdate
from ..ports.conversation import NO_SCOPE, Exchange, Scope
from ..ports.remember import RepeatMatcher
from ..ports.tools import ToolDefinition
from ..protocol.stories import AnyInbound, AnyOutbound

LiveSuggestion: TypeAlias = tuple[str, Proposal, Question]
"""A suggestion's id, what it proposes, and the message that led to it."""


class FrameReceived(msgspec.Struct, frozen=True):
    """A client's `frame` arrived. `tools`: the parsed tools of a message. `key`: a fresh id for a message."""

    frame: AnyInbound
    at: float
    tools: tuple[ToolDefinition, ...] = ()
    key: str = ""


class BadFrameReceived(msgspec.Struct, frozen=True, gc=False):
    """A frame broke the protocol. `code`, `message`: of the error frame. `ref`: the message id, if there was one."""

    code: str
    message: str
    ref: str | None
    at: float


class BrainEvent(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` emitted `event`; `ids` are fresh suggestion ids, one per proposal."""

    turn: int
    event: TurnEvent
    ids: tuple[str, ...]
    at: float


class CallRequested(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` waits for a call that needs no approval; `suggestion_id` is fresh."""

    turn: int
    proposal: Proposal
    suggestion_id: str
    at: float


class BrainFailed(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` broke. `fault` is the id of the log line, `refusal` the text to send instead."""

    turn: int
    fault: str
    refusal: VerifiedText
    at: float


class StateLasted(msgspec.Struct, frozen=True, gc=False):
    """The state of turn `turn` has not changed since the last `WatchState`."""

    turn: int
    at: float


class TurnDropped(msgspec.Struct, frozen=True, gc=False):
    """The task of turn `turn` ended before its last text, and not because the session ended it."""

    turn: int
    at: float


class TextWritten(msgspec.Struct, frozen=True, gc=False):
    """The stream has taken the last delta of a text of turn `turn`."""

    turn: int
    at: float
    wall_ms: int


class SpeechPlayed(msgspec.Struct, frozen=True, gc=False):
    """The client has played the first `end` characters of the answer to the message with the key `message`."""

    message: str
    end: int
    at: float


class ActionEnded(msgspec.Struct, frozen=True):
    """The runner reported the `outcome` of an action."""

    outcome: Outcome
    at: float


class SuggestionExpired(msgspec.Struct, frozen=True, gc=False):
    """The time to confirm a suggestion is over."""

    suggestion_id: str
    at: float


class SuggestionOffered(msgspec.Struct, frozen=True):
    """An answered `question` led to a `proposal` after its turn. `suggestion_id` is fresh."""

    question: Question
    proposal: Proposal
    suggestion_id: str
    at: float
    wall_ms: int


class KeeperReported(msgspec.Struct, frozen=True):
    """The recorder of the session's exchanges reported on one, in `frames` for the client."""

    frames: Sequence[AnyOutbound]
    at: float


class ConsultAnswered(msgspec.Struct, frozen=True):
    """A consult was answered with `frame`.

    `scope`: the session's scope from here on; `None` keeps it. `history`: the last exchanges of its thread, oldest
    first.
    """

    frame: AnyOutbound
    at: float
    scope: Scope | None = None
    history: tuple[Exchange, ...] = ()


class MemoryErased(msgspec.Struct, frozen=True):
    """Something was forgotten, and must leave the session's history.

    `messages`: ids of the messages to drop. `refs`: ids of forgotten items; exchanges that cite one are dropped.
    `scope`, `again`: drop texts that match `again` too, in sessions that `scope` includes: all threads of its user, or
    its thread alone where it names no user. It sends no frame.
    """

    messages: frozenset[str]
    refs: frozenset[str]
    at: float
    scope: Scope = NO_SCOPE
    again: RepeatMatcher | None = None


class ThreadErased(msgspec.Struct, frozen=True):
    """The thread of `scope` was deleted. A session that has it open goes on in the thread `fresh`."""

    scope: Scope
    fresh: str
    at: float


class ThreadNews(msgspec.Struct, frozen=True):
    """A thread was changed, by this session or another; only sessions that asked to follow get it."""

    update: ThreadUpdate
    at: float


class ConversationResumed(msgspec.Struct, frozen=True):
    """A conversation continues that was left, or that went on elsewhere.

    `history`: its earlier exchanges. `live`: the suggestions that can be confirmed. Both are oldest first.
    """

    history: tuple[Exchange, ...]
    live: tuple[LiveSuggestion, ...]
    at: float


class QuestionPosed(msgspec.Struct, frozen=True):
    """A question arrived without a frame. With results, it continues from calls that ended after their turn."""

    question: Question
    at: float


class IdleTimedOut(msgspec.Struct, frozen=True, gc=False):
    """Nothing has happened for a while: the session may end, and its suggestions stay as they are."""

    at: float


class DrainStarted(msgspec.Struct, frozen=True, gc=False):
    """The server is going down; work in progress may finish."""

    at: float


class KillRequested(msgspec.Struct, frozen=True, gc=False):
    """The session must end now; the connection is closed with `code` and `reason`."""

    code: int
    reason: str
    at: float


class ClientDisconnected(msgspec.Struct, frozen=True, gc=False):
    """The client's connection has ended."""

    at: float


Event: TypeAlias = (
    FrameReceived
    | BadFrameReceived
    | BrainEvent
    | CallRequested
    | BrainFailed
    | StateLasted
    | TurnDropped
    | TextWritten
    | SpeechPlayed
    | ActionEnded
    | SuggestionExpired
    | SuggestionOffered
    | KeeperReported
    | ConsultAnswered
    | MemoryErased
    | ThreadErased
    | ThreadNews
    | ConversationResumed
    | QuestionPosed
    | IdleTimedOut
    | DrainStarted
    | KillRequested
    | ClientDisconnected
)
