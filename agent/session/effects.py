"""What the core wants done. The session performs effects in order, at once, without waiting for any."""

from typing import TypeAlias

import msgspec

from ..ports.action import Call, Outcome
from ..ports.brain import Question
from ..ports.conversation import Scope
from ..ports.remember import Answered
from ..protocol.inbound import Consult
from ..protocol.outbound import Outbound


class Send(msgspec.Struct, frozen=True):
    """Queue a frame that nothing removes."""

    frame: Outbound


class BeginTurn(msgspec.Struct, frozen=True):
    """Start the Brain on a question, under a scope of its own."""

    turn: int
    question: Question


class EndTurn(msgspec.Struct, frozen=True, gc=False):
    """Cancel the turn's scope and remove its deltas."""

    turn: int


class Distrust(msgspec.Struct, frozen=True, gc=False):
    """The Brain of this turn spoke out of order: stop it, log it, and answer with Faulted."""

    turn: int


class Speak(msgspec.Struct, frozen=True, gc=False):
    """Hand a verified text to the outbox, a delta at a time, and say when the last one is written.

    `last` says that no further text follows in this turn.
    """

    turn: int
    text: str
    last: bool


class Resume(msgspec.Struct, frozen=True):
    """Tell the Brain of this turn how its call ended."""

    turn: int
    outcome: Outcome


class RunAction(msgspec.Struct, frozen=True):
    """Give a confirmed action to the runner."""

    call: Call


class StopAction(msgspec.Struct, frozen=True, gc=False):
    """Ask the running action to stop."""


class LetGoAction(msgspec.Struct, frozen=True, gc=False):
    """Stop listening for the running action: its row is the ledger's from here on."""


class ArmExpiry(msgspec.Struct, frozen=True, gc=False):
    """Say when this suggestion's time is over."""

    suggestion_id: str


class DisarmExpiry(msgspec.Struct, frozen=True, gc=False):
    """That is no longer needed."""

    suggestion_id: str


class Keep(msgspec.Struct, frozen=True):
    """Remember a question and its answer."""

    question: Question
    answered: Answered


class Decline(msgspec.Struct, frozen=True):
    """Its user does not want this item remembered."""

    scope: Scope
    item: str


class Ask(msgspec.Struct, frozen=True):
    """Ask what is remembered, for its scope, and answer with Replied. The next one waits for that."""

    frame: Consult
    scope: Scope


class Close(msgspec.Struct, frozen=True, gc=False):
    """Write what waits, then close with this code."""

    code: int
    reason: str


class Leave(msgspec.Struct, frozen=True, gc=False):
    """The client is gone: nothing more can be told."""


class Note(msgspec.Struct, frozen=True, gc=False):
    """Count and log a fact. Every string is a fixed word or an id, never text."""

    metric: str
    label: str = ""
    message: str | None = None
    suggestion_id: str | None = None


Effect: TypeAlias = (
    Send
    | BeginTurn
    | EndTurn
    | Distrust
    | Speak
    | Resume
    | RunAction
    | StopAction
    | LetGoAction
    | ArmExpiry
    | DisarmExpiry
    | Keep
    | Decline
    | Ask
    | Close
    | Leave
    | Note
)
