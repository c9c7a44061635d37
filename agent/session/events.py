"""What can happen to a session, as small facts. Time and ids come in with them: the core has no clock.

`at` is seconds on the loop's clock, `wall_ms` Unix milliseconds.
"""

from typing import TypeAlias

import msgspec

from ..ports.action import Outcome
from ..ports.brain import Proposal, Question, TurnEvent, VerifiedText
from ..ports.conversation import NO_SCOPE, Exchange, Scope
from ..ports.remember import Again
from ..ports.tools import ToolDefinition
from ..protocol.inbound import Inbound
from ..protocol.outbound import Outbound

Live: TypeAlias = tuple[str, Proposal, Question]
"""A suggestion's id, what it proposes, and the message that led to it."""


class Received(msgspec.Struct, frozen=True):
    """A client's frame, stamped on arrival. tools: those of a message, read. key: a fresh id for a message."""

    frame: Inbound
    at: float
    tools: tuple[ToolDefinition, ...] = ()
    key: str = ""


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """A frame that the wire does not allow: the error's code, its sentence, and the message id if it had one."""

    code: str
    message: str
    ref: str | None
    at: float


class Told(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` said something; `ids` are fresh suggestion ids, one per proposal."""

    turn: int
    event: TurnEvent
    ids: tuple[str, ...]
    at: float


class Acting(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` waits for a call that needs no approval; `suggestion_id` is fresh."""

    turn: int
    proposal: Proposal
    suggestion_id: str
    at: float


class Faulted(msgspec.Struct, frozen=True):
    """The Brain of turn `turn` broke. `fault` is the id of the log line, `refusal` what to say instead."""

    turn: int
    fault: str
    refusal: VerifiedText
    at: float


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """The task of turn `turn` has ended before it had said everything, and not because the session ended it."""

    turn: int
    at: float


class Spoken(msgspec.Struct, frozen=True, gc=False):
    """The stream has taken the last delta of what turn `turn` was given to say."""

    turn: int
    at: float
    wall_ms: int


class Reported(msgspec.Struct, frozen=True):
    """The runner says how an action ended."""

    outcome: Outcome
    at: float


class Expired(msgspec.Struct, frozen=True, gc=False):
    """A suggestion's time is over."""

    suggestion_id: str
    at: float


class Offered(msgspec.Struct, frozen=True):
    """An answered question gave something to suggest after its turn. `suggestion_id` is fresh."""

    question: Question
    proposal: Proposal
    suggestion_id: str
    at: float
    wall_ms: int


class Replied(msgspec.Struct, frozen=True):
    """What is remembered has answered. scope: whose the session is from here on; None changes nothing."""

    frame: Outbound
    at: float
    scope: Scope | None = None


class Erased(msgspec.Struct, frozen=True):
    """Something was forgotten. messages: what was said in them is not told any more. refs: what cites it was cited by.

    scope, again: nor is what says it again to this scope's user, in any thread, or to nobody in its thread.
    It is the only event that comes from outside a session's own conversation, and says nothing in it.
    """

    messages: frozenset[str]
    refs: frozenset[str]
    at: float
    scope: Scope = NO_SCOPE
    again: Again | None = None


class Woken(msgspec.Struct, frozen=True):
    """A conversation goes on that was left, or that went on elsewhere: what was said in it, and what can be confirmed.

    history, live: oldest first.
    """

    history: tuple[Exchange, ...]
    live: tuple[Live, ...]
    at: float


class Posed(msgspec.Struct, frozen=True):
    """A question that came in no frame; one with results goes on with what calls came to after their turn."""

    question: Question
    at: float


class Slept(msgspec.Struct, frozen=True, gc=False):
    """Nothing has happened for a while: the session may end, and what it has suggested stays as it is."""

    at: float


class Drain(msgspec.Struct, frozen=True, gc=False):
    """The server is going down; what is in progress may end."""

    at: float


class Kill(msgspec.Struct, frozen=True, gc=False):
    """End now, and tell the client with this close code."""

    code: int
    reason: str
    at: float


class Disconnected(msgspec.Struct, frozen=True, gc=False):
    """The client is gone."""

    at: float


Event: TypeAlias = (
    Received
    | Malformed
    | Told
    | Acting
    | Faulted
    | Dropped
    | Spoken
    | Reported
    | Expired
    | Offered
    | Replied
    | Erased
    | Woken
    | Posed
    | Slept
    | Drain
    | Kill
    | Disconnected
)
