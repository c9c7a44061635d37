"""The turn of a session: what the Brain says, what is said of it, and how it ends.

A Brain's words are taken in the order the table allows; while a text is being spoken what comes after it waits. A dead
turn is told by its number, whoever speaks for it.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from ..config import LIVE_SUGGESTIONS
from ..ports.action import Outcome
from ..ports.brain import (
    Drafted,
    Question,
    Redraft,
    Refused,
    TurnEvent,
    Verified,
    VerifiedText,
    Wish,
)
from ..ports.conversation import Exchange, Scope
from ..ports.memory import Draft
from ..ports.remember import MEMORY_FILES, Answered
from ..protocol.outbound import Blocked, Citation, Error, Response, StreamEnd
from .effects import BeginTurn, Distrust, EndTurn, Keep, Resume, Speak
from .events import Acting, Dropped, Erased, Faulted, Live, Spoken, Told
from .history import History
from .out import Out, React
from .states import Trigger

Said: TypeAlias = Told | Acting | Faulted  # what waits while something is being said or done

_TOLD: dict[type[TurnEvent], Trigger] = {
    Drafted: Trigger.DRAFTED,
    Redraft: Trigger.REDRAFT,
    Verified: Trigger.VERIFIED,
    Refused: Trigger.REFUSED,
}


@dataclass(slots=True)
class _Turn:
    """The turn in progress. `complete`: the Brain has said its last word. `unsaid`: told while one is being said.

    asks: that word is a question for what a tool's call lacks.

    acting: the call that it waits for. While there is one, too, what the Brain says or breaks with is `unsaid`.
    """

    number: int
    question: Question
    history: History  # of the thread that it is of
    said: list[VerifiedText] = field(default_factory=list)
    text: str = ""  # what was said so far, as the client has it
    offers: tuple[Live, ...] = ()
    unsaid: deque[Said] = field(default_factory=deque)
    acting: Acting | None = None
    speaking: int = 0  # texts handed out and not yet written
    complete: bool = False
    asks: bool = False
    wishes: tuple[Wish, ...] = ()  # that it leaves open
    remembers: tuple[Draft, ...] = ()  # what a model proposes
    forgotten: frozenset[str] = frozenset()  # meanwhile


class Turns:
    """The turns of one session, of which at most one is in progress. history: what the next question is given."""

    __slots__ = ("_answered", "_begun", "_history", "_out", "_react", "_turn", "_wishes")

    def __init__(self, out: Out, react: React, history: History) -> None:
        self._out = out
        self._react = react
        self._history = history
        self._turn: _Turn | None = None
        self._begun = 0
        self._answered: tuple[str, ...] = ()  # messages whose answers may still lead to something
        self._wishes: tuple[Wish, ...] = ()  # open until the next message begins, or a cancel

    @property
    def asking(self) -> str | None:
        """The id of the message in progress, or None."""
        return self._turn.question.id if self._turn else None

    @property
    def offering(self) -> bool:
        """The turn in progress is about to make a suggestion."""
        return self._turn is not None and not all(each.handed_over for _, each, _ in self._turn.offers)

    @property
    def waits(self) -> bool:
        """The turn in progress waits for a call."""
        return self._turn is not None and self._turn.acting is not None

    # --- what a turn's task tells

    def told(self, event: Told | Acting) -> None:
        """Take what the Brain said or wants done; it waits while a text is being said, or a call runs."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return  # a dead turn's last words
        if turn.speaking or turn.acting:
            turn.unsaid.append(event)
            return
        self._hear(turn, event)

    def _hear(self, turn: _Turn, event: Said) -> bool:
        """Take what a Brain said; False when it spoke out of order, and nothing more of it counts."""
        if isinstance(event, Faulted):
            self._give_up(turn, event)
            return False
        if isinstance(event, Acting):
            turn.acting = event
            if self._react(Trigger.ACT, event):
                return True
            turn.acting = None
            self._out.add(Distrust(turn.number))
            return False
        told = event.event
        if not self._react(_TOLD[type(told)], told):
            self._out.add(Distrust(turn.number))
            return False
        if isinstance(told, Verified | Refused):
            turn.complete = isinstance(told, Refused) or told.last
            if told.proposals:
                turn.offers = tuple(
                    (suggestion_id, proposal, turn.question)
                    for suggestion_id, proposal in zip(event.ids, told.proposals, strict=True)
                )
            turn.wishes = told.wishes
            turn.remembers = told.remembers
            turn.asks = isinstance(told, Verified) and told.asks
        return True

    def faulted(self, event: Faulted) -> None:
        """Tell the client of a fault in its turn, and refuse the question."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return
        turn.unsaid.clear()
        if turn.acting:
            turn.unsaid.append(event)
            return
        self._give_up(turn, event)

    def _give_up(self, turn: _Turn, event: Faulted) -> None:
        turn.complete = True
        self._out.send(
            Error(
                code="internal",
                message=f"Something broke here; ask again, or report fault {event.fault}.",
                id=turn.question.id,
            )
        )
        self._out.note("errors", "internal", turn.question.id)
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
        self._out.wall_ms = event.wall_ms
        turn.speaking -= 1
        if not turn.speaking:
            self._react(Trigger.STREAMED if turn.complete else Trigger.MORE)

    def remember(self, history: tuple[Exchange, ...]) -> None:
        """Take up what was said before this session began, oldest first."""
        for exchange in history:
            self._history.add(exchange)

    def answered(self, message: str) -> bool:
        """Whether a message was answered of late, and no cancel has come since that takes back what it leads to."""
        return message in self._answered

    def disown(self, message: str | None) -> None:
        """Let nothing come any more of a message that was answered; None is all of them."""
        self._answered = tuple(each for each in self._answered if message is not None and each != message)

    def turn_over(self) -> None:
        """Begin with nothing said: another thread is open. A turn in progress still belongs to the one before."""
        self._history = self._history.empty()
        self._wishes = ()

    def erase(self, event: Erased, scope: Scope) -> None:
        """Tell nothing any more of what was forgotten, nor of an answer in progress that cites it. scope: of here."""
        again = event.again if event.scope.includes(scope) else None
        if self._history.forget(event.messages, event.refs, again):
            self._wishes = ()  # which may hold the same words
        if self._turn is not None:
            self._turn.forgotten |= event.refs

    def forget_wishes(self) -> None:
        """Leave nothing open for the next message, and nothing asked: a cancel takes that back too."""
        self._wishes = ()
        self._history.withdraw()

    def complete(self, question: Question) -> Question:
        """Return a question as it is asked now: after what was said before it, with what that left open."""
        return question.after(self._history.kept, self._wishes)

    # --- what the rows of the session's table do about the turn

    def begin(self, question: Question) -> None:
        """Start the Brain on a question, with what was said before it."""
        self._begun += 1
        question = self.complete(question)
        self._wishes = ()
        self._turn = _Turn(self._begun, question, self._history)
        self._out.add(BeginTurn(self._begun, question))
        self._out.note("messages", message=question.id)

    def cancel(self) -> None:
        """End the turn here and now: its scope, its deltas and its place in the session."""
        turn = self._turn
        if turn is None:
            return
        self._turn = None
        self._out.add(EndTurn(turn.number))
        self._out.send(StreamEnd(reason="cancelled", id=turn.question.id))
        self._out.note("turns", "cancelled", turn.question.id)

    def finish(self) -> tuple[Live, ...]:
        """Send what follows the last delta, and return what is to be suggested after it."""
        turn = self._turn
        if turn is None:
            return ()
        self._turn = None
        last = turn.said[-1]
        message = turn.question.id
        self._out.send(StreamEnd(reason="done", id=message))
        self._out.send(response(turn.text, turn.said, message, turn.asks))
        if any(each.unread for each in turn.said):
            self._out.note("memory_unread", message=message)
        self._out.note("turns", last.blocked.code if last.blocked else "answered", message)
        kept = answered(turn.text, turn.said, turn.remembers)
        self._out.add(Keep(turn.question, kept))
        self._answered = (*self._answered, message)[-LIVE_SUGGESTIONS:]
        if not last.blocked and turn.forgotten.isdisjoint(kept.cites):
            said = Exchange(turn.question.text, turn.text, message=turn.question.known_as, cites=kept.cites)
            turn.history.add(said)
        if turn.history is self._history:
            self._wishes = turn.wishes
        return turn.offers

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
        self._out.add(Speak(turn.number, text, last))

    def grants(self) -> tuple[Acting, Question] | None:
        """Return the call that the turn in progress waits for, and the message that led to it."""
        turn = self._turn
        return None if turn is None or turn.acting is None else (turn.acting, turn.question)

    def resume(self, outcome: Outcome) -> None:
        """Go on after the call that the turn has waited for."""
        turn = self._turn
        if turn is None or turn.acting is None:
            return
        turn.acting = None
        self._out.add(Resume(turn.number, outcome))
        self.hear_more()

    def hear_more(self) -> None:
        """Take up what the Brain said meanwhile."""
        turn = self._turn
        while turn and turn is self._turn and turn.unsaid and not turn.speaking and not turn.acting:
            if not self._hear(turn, turn.unsaid.popleft()):
                return

    def abandon(self) -> None:
        """End the turn; there is nobody to tell."""
        if self._turn is not None:
            self._out.add(EndTurn(self._turn.number))
            self._out.note("turns", "disconnected", self._turn.question.id)
            self._turn = None


def following(said: str, text: VerifiedText) -> str:
    """Return what a text is as it is said after others; a refusal follows what was already said after a space."""
    return f" {text.text}" if text.blocked and said and not said[-1].isspace() else text.text


def response(text: str, said: list[VerifiedText], message: str, asks: bool = False) -> Response:
    """Return the response to a message: all that was said, its sources, and how sure the last of it is.

    What was said without some of what is remembered is not sure.

    asks: it is a question to the user, for what a tool's call lacks.
    """
    last, unread = said[-1], any(each.unread for each in said)
    return Response(
        text=text,
        citations=citations(said),
        id=message,
        confidence="low" if unread else last.confidence,
        blocked=Blocked(last.blocked.code, last.blocked.message) if last.blocked else None,
        asks=asks,
        without_memory=unread,
    )


def answered(text: str, said: list[VerifiedText], drafts: tuple[Draft, ...] = ()) -> Answered:
    """Return all that was said as it is remembered. drafts: what a model proposes to remember."""
    files = [each.file for piece in said for each in piece.citations if each.file.startswith(MEMORY_FILES)]
    cites = tuple(each.removeprefix(MEMORY_FILES) for each in dict.fromkeys(files))
    return Answered(text, said[-1].blocked is not None, cites, drafts)


def citations(said: list[VerifiedText]) -> tuple[Citation, ...]:
    """Return the sources of all that was said, each once, in the order they were first cited."""
    every = [
        Citation(
            each.file,
            each.text,
            (each.first, each.last),
            " › ".join(each.headings) or None,
            each.when or None,
            each.by or None,
        )
        for piece in said
        for each in piece.citations
    ]
    return tuple(dict.fromkeys(every))
