"""The effects that the core asks for. `Session` performs them in order, at once, without waiting for any."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from ..lang import Lang
from ..ports.action import Call, Outcome
from ..ports.brain import Question, VerifiedText
from ..ports.conversation import Scope
from ..ports.remember import FinishedAnswer
from ..ports.wire import SpeechText
from ..protocol.inbound import RateAnswer
from ..protocol.stories import AnyConsult, AnyOutbound
from .cited_sources import SourceMark
from .sent_answers import SentAnswer


class SendFrame(msgspec.Struct, frozen=True):
    """Queue a frame that no cancel removes."""

    frame: AnyOutbound


class BeginTurn(msgspec.Struct, frozen=True):
    """Start the Brain on a question, under a scope of its own."""

    turn: int
    question: Question


class EndTurn(msgspec.Struct, frozen=True, gc=False):
    """Cancel the turn's scope and remove its deltas."""

    turn: int


class WatchState(msgspec.Struct, frozen=True, gc=False):
    """Post `StateLasted` at `due`, in place of an earlier `WatchState` of the turn, unless the turn has ended."""

    turn: int
    due: float


class StopBrain(msgspec.Struct, frozen=True, gc=False):
    """Stop a Brain that emitted an event out of order, log that, and answer with `BrainFailed`."""

    turn: int


class SpeakText(msgspec.Struct, frozen=True, kw_only=True):
    """Stream `text` to the outbox, delta by delta, and post `TextWritten` after the last one.

    `text`: that of `verified`, as it continues the texts before it. `end`: the length of the response with it. `last`
    says that no further text follows in this turn. `marks`: the sources of its parts.
    """

    turn: int
    text: str
    verified: VerifiedText
    end: int
    last: bool
    marks: tuple[SourceMark, ...] = ()

    def make_speech(self, message: str, lang: Lang, played: Callable[[int], None]) -> SpeechText:
        """Return the text as it is said aloud on a wire with voice; see `SpeechText`."""
        offset = self.end - len(self.verified.text)
        return SpeechText(
            message=message, text=self.verified, offset=offset, last=self.last, lang=lang, played=played
        )


class StopSpeech(msgspec.Struct, frozen=True, gc=False):
    """Say no more of the turn in progress, or else of the last one, on a connection with voice. The text stays."""


class ResumeBrain(msgspec.Struct, frozen=True):
    """Tell the Brain of this turn how its call ended."""

    turn: int
    outcome: Outcome


class RunAction(msgspec.Struct, frozen=True):
    """Give a confirmed action to the runner."""

    call: Call


class StopAction(msgspec.Struct, frozen=True, gc=False):
    """Ask the running action to stop."""


class DetachAction(msgspec.Struct, frozen=True, gc=False):
    """Stop listening for the running action: from here on only the ledger knows its outcome."""


class ArmExpiry(msgspec.Struct, frozen=True, gc=False):
    """Post `SuggestionExpired` when the time to confirm this suggestion is over."""

    suggestion_id: str


class DisarmExpiry(msgspec.Struct, frozen=True, gc=False):
    """Cancel the timer of `ArmExpiry`."""

    suggestion_id: str


class RecordExchange(msgspec.Struct, frozen=True):
    """Hand a question and its answer to the memory's recorder."""

    question: Question
    answered: FinishedAnswer


class DeclineItem(msgspec.Struct, frozen=True):
    """Tell the memory that the user of `scope` declined `item`."""

    scope: Scope
    item: str


class AskConsultant(msgspec.Struct, frozen=True):
    """Have the consultant answer `frame` for `scope`, and post `ConsultAnswered`. The next consult waits for that."""

    frame: AnyConsult
    scope: Scope


class StoreFeedback(msgspec.Struct, frozen=True):
    """Have the feedback of `frame` stored, and post `ConsultAnswered`.

    `answer`: None where this session has not sent it, or not lately: it may be stored in the thread of `scope`.
    """

    frame: RateAnswer
    answer: SentAnswer | None
    scope: Scope


class CloseConnection(msgspec.Struct, frozen=True, gc=False):
    """Write the frames that wait, then close the connection with `code`."""

    code: int
    reason: str


class LeaveClient(msgspec.Struct, frozen=True, gc=False):
    """Stop serving a client that is gone: nothing more can be sent."""


class RecordFact(msgspec.Struct, frozen=True, gc=False):
    """Count and log a fact. Every string is a fixed word or an id, never text."""

    metric: str
    label: str = ""
    message: str | None = None
    suggestion_id: str | None = None


Effect: TypeAlias = (
    SendFrame
    | BeginTurn
    | EndTurn
    | WatchState
    | StopBrain
    | SpeakText
    | StopSpeech
    | ResumeBrain
    | RunAction
    | StopAction
    | DetachAction
    | ArmExpiry
    | DisarmExpiry
    | RecordExchange
    | DeclineItem
    | AskConsultant
    | StoreFeedback
    | CloseConnection
    | LeaveClient
    | RecordFact
)
