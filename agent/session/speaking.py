"""The half of the core that is about a turn: what the Brain says, what is said of it, and how it ends.

A Brain's words are taken in the order the table allows; while a text is being spoken what comes after it waits. A dead
turn is told by its number, whoever speaks for it.
"""

from collections import deque
from dataclasses import dataclass, field

from ..ports.brain import Drafted, Proposal, Question, Redraft, Refused, TurnEvent, Verified, VerifiedText
from ..ports.conversation import Exchange
from ..protocol.outbound import Blocked, Citation, Error, Response, StreamEnd
from .confirming import Confirming, OwnEngine
from .effects import BeginTurn, Distrust, EndTurn, Speak
from .events import Dropped, Faulted, Spoken, Told
from .history import History
from .states import Trigger

_TOLD: dict[type[TurnEvent], Trigger] = {
    Drafted: Trigger.DRAFTED,
    Redraft: Trigger.REDRAFT,
    Verified: Trigger.VERIFIED,
    Refused: Trigger.REFUSED,
}


@dataclass(slots=True)
class _Turn:
    """The turn in progress. `complete`: the Brain has said its last word. `unsaid`: told while one is being said."""

    number: int
    question: Question
    said: list[VerifiedText] = field(default_factory=list)
    text: str = ""  # what was said so far, as the client has it
    proposals: list[tuple[str, Proposal]] = field(default_factory=list)
    unsaid: deque[Told] = field(default_factory=deque)
    speaking: int = 0  # texts handed out and not yet written
    complete: bool = False


class Speaking(Confirming):
    """The turn of one session that is in progress, if there is one."""

    __slots__ = ("_history", "_turn", "_turns")

    def __init__(self, own_engine: OwnEngine | None, history: History, held: bool) -> None:
        super().__init__(own_engine, held)
        self._history = history
        self._turn: _Turn | None = None
        self._turns = 0

    @property
    def asking(self) -> str | None:
        """The id of the message in progress, or None."""
        return self._turn.question.id if self._turn else None

    @property
    def will_be_live(self) -> bool:
        """A suggestion can be confirmed, or this turn is about to make one."""
        return bool(self.live) or bool(self._turn and self._turn.proposals)

    # --- what a turn's task tells

    def told(self, event: Told) -> None:
        """Take what the Brain said; it waits while a text is being said."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return  # a dead turn's last words
        if turn.speaking:
            turn.unsaid.append(event)
            return
        self._hear(turn, event)

    def _hear(self, turn: _Turn, event: Told) -> bool:
        """Take what a Brain said; False when it spoke out of order, and nothing more of it counts."""
        told = event.event
        if not self._react(_TOLD[type(told)], told):
            self._effects.append(Distrust(turn.number))
            return False
        if isinstance(told, Verified | Refused):
            turn.complete = isinstance(told, Refused) or told.last
            turn.proposals = list(zip(event.ids, told.proposals, strict=True))
        return True

    def faulted(self, event: Faulted) -> None:
        """Tell the client of a fault in its turn, and refuse the question."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return
        turn.complete = True
        turn.unsaid.clear()
        self._send(
            Error(
                code="internal",
                message=f"Something broke here; ask again, or report fault {event.fault}.",
                id=turn.question.id,
            )
        )
        self._note("errors", "internal", turn.question.id)
        self._react(Trigger.REFUSED, Refused(event.refusal))

    def dropped(self, event: Dropped) -> None:
        """Cancel a turn whose task has ended without a last word."""
        if self._turn is not None and self._turn.number == event.turn:
            self._react(Trigger.CANCEL)

    def spoken(self, event: Spoken) -> None:
        """Go on after a text that was written, with what comes next or with the end."""
        turn = self._turn
        if turn is None or turn.number != event.turn:
            return
        self._wall_ms = event.wall_ms
        turn.speaking -= 1
        if not turn.speaking:
            self._react(Trigger.STREAMED if turn.complete else Trigger.MORE)

    # --- what the rows of the session's table do about the turn

    def begin_turn(self, question: Question) -> None:
        """Start the Brain on a question, with what was said before it."""
        self._turns += 1
        question = question.after(self._history.kept)
        self._turn = _Turn(self._turns, question)
        self._effects.append(BeginTurn(self._turns, question))
        self._note("messages", message=question.id)

    def cancel_turn(self, _: object = None) -> None:
        """End the turn here and now: its scope, its deltas and its place in the session."""
        turn = self._turn
        if turn is None:
            return
        self._turn = None
        self._effects.append(EndTurn(turn.number))
        self._send(StreamEnd(reason="cancelled", id=turn.question.id))
        self._note("turns", "cancelled", turn.question.id)

    def finish_turn(self, _: object) -> None:
        """Send what follows the last delta, as one group that nothing removes."""
        turn = self._turn
        if turn is None:
            return
        self._turn = None
        last = turn.said[-1]
        message = turn.question.id
        self._send(StreamEnd(reason="done", id=message))
        self._send(response(turn.text, turn.said, message))
        self._note("turns", last.blocked.code if last.blocked else "answered", message)
        if not last.blocked:
            self._history.add(Exchange(turn.question.text, turn.text))
        for suggestion_id, proposal in () if self.draining else turn.proposals:
            self._suggest(suggestion_id, proposal, message)

    def speak(self, told: Verified | Refused) -> None:
        """Say a verified text; a refusal follows what was already said after a space."""
        turn = self._turn
        if turn is None:
            return
        text = following(turn.text, told.text)
        turn.said.append(told.text)
        turn.text += text
        turn.speaking += 1
        last = isinstance(told, Refused) or told.last
        self._effects.append(Speak(turn.number, text, last))

    def hear_more(self, _: object) -> None:
        """Take up what the Brain said meanwhile."""
        turn = self._turn
        while turn and turn is self._turn and turn.unsaid and not turn.speaking:
            if not self._hear(turn, turn.unsaid.popleft()):
                return


def following(said: str, text: VerifiedText) -> str:
    """Return what a text is as it is said after others; a refusal follows what was already said after a space."""
    return f" {text.text}" if text.blocked and said and not said[-1].isspace() else text.text


def response(text: str, said: list[VerifiedText], message: str) -> Response:
    """Return the response to a message: all that was said, its sources, and how sure the last of it is."""
    last = said[-1]
    return Response(
        text=text,
        citations=citations(said),
        id=message,
        confidence=last.confidence,
        blocked=Blocked(last.blocked.code, last.blocked.message) if last.blocked else None,
    )


def citations(said: list[VerifiedText]) -> tuple[Citation, ...]:
    """Return the sources of all that was said, each once, in the order they were first cited."""
    every = [
        Citation(each.file, each.text, (each.first, each.last), " › ".join(each.headings) or None)
        for piece in said
        for each in piece.citations
    ]
    return tuple(dict.fromkeys(every))
