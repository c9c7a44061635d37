"""The turn of a session: the Brain's events, the texts that are streamed of them, and the end of the turn.

A Brain's events are taken in the order that the table allows. While a text is being streamed or a call runs, later
events wait. An event of a turn that has ended is recognised by the turn's number and ignored.
"""

from functools import partial
from typing import Any

from ..ports.action import Outcome
from ..ports.brain import (
    DraftBegun,
    DraftCompleted,
    Question,
    Redraft,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    Wish,
)
from ..ports.consult import ExchangeUpdate
from ..ports.conversation import Exchange, Scope
from ..protocol.outbound import Error, ProgressFrame, ProgressStep, StreamEnd
from ..protocol.thread_frames import encode_details
from .core_output import CoreOutput, React
from .effects import (
    BeginTurn,
    EndTurn,
    RecordExchange,
    ResumeBrain,
    StopBrain,
    StopSpeech,
    WatchState,
)
from .events import (
    BrainEvent,
    BrainFailed,
    CallRequested,
    LiveSuggestion,
    MemoryErased,
    SpeechPlayed,
    StateLasted,
    TextWritten,
    TurnDropped,
)
from .history import History
from .sent_answers import SentAnswer, SentAnswers
from .settings import LIVE_SUGGESTIONS, PROGRESS_AFTER
from .states import SessionTrigger
from .turn_in_progress import BrainOutput, TurnInProgress, describe_fault, make_answered, make_response

RECORDED_MESSAGES = 64  # of this session, which tell its exchanges from those of other sessions

_TRIGGERS: dict[type[TurnEvent], SessionTrigger] = {
    DraftBegun: SessionTrigger.DRAFT_BEGUN,
    DraftCompleted: SessionTrigger.DRAFTED,
    Redraft: SessionTrigger.REDRAFT,
    VerifiedPart: SessionTrigger.VERIFIED,
    TurnRefusal: SessionTrigger.REFUSED,
}


class SessionTurns:
    """The turns of one session, of which at most one is in progress.

    `history`: the exchanges for the next question. `answers`: gets the answers that were sent to their end.
    """

    __slots__ = (
        "_answered",
        "_answers",
        "_begun",
        "_history",
        "_out",
        "_react",
        "_recorded",
        "_turn",
        "_wishes",
    )

    def __init__(self, out: CoreOutput, react: React, history: History, answers: SentAnswers) -> None:
        self._out = out
        self._react = react
        self._history = history
        self._answers = answers
        self._turn: TurnInProgress | None = None
        self._begun = 0
        self._answered: tuple[str, ...] = ()  # messages whose answers may still lead to a suggestion
        self._recorded: tuple[str, ...] = ()  # the keys of the last messages that were answered here
        self._wishes: tuple[Wish, ...] = ()  # open until the next message begins, or a cancel

    @property
    def current_message(self) -> str | None:
        """The id of the message in progress, or `None`."""
        return self._turn.question.id if self._turn else None

    @property
    def current_scope(self) -> Scope | None:
        """The scope of the message in progress, or `None`."""
        return self._turn.question.scope if self._turn else None

    @property
    def _spoken_answer(self) -> SentAnswer | None:
        """The answer that may be said still, None while a turn is in progress: its beginning has ended that speech."""
        return None if self._turn else self._answers.last

    @property
    def is_offering(self) -> bool:
        """Whether the turn in progress is about to make a suggestion."""
        return self._turn is not None and not all(each.handed_over for _, each, _ in self._turn.offers)

    @property
    def waits_for_call(self) -> bool:
        """Whether the turn in progress waits for a call."""
        return self._turn is not None and self._turn.pending_call is not None

    @property
    def is_drafting(self) -> bool:
        """Whether the evidence of the turn in progress is found, and a model is asked."""
        return self._turn is not None and self._turn.drafting

    # --- events of a turn's task

    def take_event(self, event: BrainEvent | CallRequested) -> None:
        """Take an event of the Brain; it waits while a text is being streamed or a call runs."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return  # the event of a turn that has ended
        if turn.unwritten_texts or turn.pending_call:
            turn.pending_events.append(event)
            return
        self._handle_event(turn, event)

    def _handle_event(self, turn: TurnInProgress, event: BrainOutput) -> bool:
        """Handle an event of the Brain; return `False` when it came out of order, and no later event counts."""
        if isinstance(event, BrainFailed):
            self._refuse_turn(turn, event)
            return False
        if isinstance(event, CallRequested):
            turn.pending_call = event
            if self._react(SessionTrigger.ACT, event):
                self._watch_state(turn)
                return True
            turn.pending_call = None
            self._out.add(StopBrain(turn.number))
            return False
        turn_event = event.event
        if not self._react(_TRIGGERS[type(turn_event)], turn_event):
            self._out.add(StopBrain(turn.number))
            return False
        if turn is not self._turn:  # it rests on what was forgotten, and has ended
            return False
        if isinstance(turn_event, TurnRefusal) and turn_event.is_error:
            self._send_error(turn, turn_event)
        if isinstance(turn_event, VerifiedPart | TurnRefusal):
            turn.complete = isinstance(turn_event, TurnRefusal) or turn_event.last
            if turn_event.proposals:
                turn.offers = tuple(
                    (suggestion_id, proposal, turn.question)
                    for suggestion_id, proposal in zip(event.ids, turn_event.proposals, strict=True)
                )
            turn.wishes = turn_event.wishes
            turn.keeps = turn_event.keeps if turn.complete else None
            turn.asks = isinstance(turn_event, VerifiedPart) and turn_event.asks
        else:
            self._watch_state(turn)
        return True

    def _send_error(self, turn: TurnInProgress, refusal: TurnRefusal) -> None:
        blocked = refusal.text.blocked
        if blocked is not None:
            code: Any = blocked.code
            self._out.send_frame(Error(code=code, message=blocked.message, id=turn.question.id))
            self._out.record_fact("errors", blocked.code, turn.question.id)

    def _watch_state(self, turn: TurnInProgress) -> None:
        """Have it noticed when the state of `turn` lasts, for a client that asks to be told."""
        if turn.question.progress:
            self._out.add(WatchState(turn.number, self._out.now + PROGRESS_AFTER))

    def tell_lasting(self, event: StateLasted) -> None:
        """Tell the client of the turn in progress, if any, which state the turn has been in for a while."""
        if self._turn is not None and self._turn.number == event.turn:
            self._react(SessionTrigger.LASTED)

    def fail_turn(self, event: BrainFailed) -> None:
        """Tell the client of a fault in its turn, and refuse the question."""
        turn = self._turn
        if turn is None or turn.number != event.turn or turn.complete:
            return
        turn.pending_events.clear()
        if turn.pending_call:
            turn.pending_events.append(event)
            return
        self._refuse_turn(turn, event)

    def _refuse_turn(self, turn: TurnInProgress, event: BrainFailed) -> None:
        turn.complete = True
        self._out.send_frame(describe_fault(event, turn.question.id))
        self._out.record_fact("errors", "internal", turn.question.id)
        self._react(SessionTrigger.REFUSED, TurnRefusal(event.refusal))

    def cancel_dropped(self, event: TurnDropped) -> None:
        """Cancel a turn when its task has ended without a last event."""
        if self._turn is not None and self._turn.number == event.turn:
            self._react(SessionTrigger.CANCEL)

    def finish_text(self, event: TextWritten) -> None:
        """Continue after a text was written, with the next event or with the end of the turn."""
        turn = self._turn
        if turn is None or turn.number != event.turn:
            return
        self._out.wall_ms = event.wall_ms
        turn.unwritten_texts -= 1
        if not turn.unwritten_texts:
            self._react(SessionTrigger.STREAMED if turn.complete else SessionTrigger.MORE)

    def note_played(self, event: SpeechPlayed) -> None:
        """Note how far an answer was played."""
        self._history.note_played(event.message, event.end)

    def restore_history(self, history: tuple[Exchange, ...]) -> None:
        """Add the exchanges from before this session began, oldest first."""
        for exchange in history:
            self._history.add(exchange)

    def was_answered(self, message: str) -> bool:
        """Tell whether `message` was answered lately and no later cancel took back its proposals."""
        return message in self._answered

    def disown_message(self, message: str | None) -> None:
        """Accept no proposal any more from an answered message; `None` means all of them."""
        self._answered = tuple(each for each in self._answered if message is not None and each != message)

    def clear_history(self) -> None:
        """Start an empty history: another thread is open. A turn in progress still belongs to the previous thread."""
        self._history = self._history.make_empty()
        self._wishes = ()

    def follow_exchange(self, update: ExchangeUpdate) -> None:
        """Tell the client of an exchange of another session in this thread, and add it to the history.

        An exchange of this session is told of only once it is forgotten.
        """
        message, exchange = update.message, update.exchange
        if message in self._recorded and not update.is_forgotten:
            return
        last = self._spoken_answer
        if update.is_forgotten and last is not None and last.key_or_message == message:
            self._out.add(StopSpeech())
        self._out.send_frame(update.frame)
        if exchange is not None and all(each.message != message for each in self._history.exchanges):
            self._history.add(exchange)

    def erase_memory(self, event: MemoryErased, scope: Scope) -> None:
        """Drop forgotten exchanges, and end an answer that rests on them. `scope`: of this session."""
        repeats = event.again if event.scope.includes(scope) else None
        turn, last = self._turn, self._spoken_answer
        any_dropped = self._history.forget_messages(event.messages, event.refs, repeats)
        self._answers.forget(event)
        if turn is not None:
            turn.erased = (*turn.erased, event)
        is_erased = turn.is_erased_by((event,)) if turn else last is not None and last.is_forgotten
        if any_dropped or is_erased:
            self._wishes = ()  # a wish may hold the words of a forgotten exchange
        if is_erased:
            self._out.add(StopSpeech())
        if turn is not None and turn.rests_on_forgotten((event,)):
            self._react(SessionTrigger.FORGOTTEN)

    def silence_thread(self, scope: Scope) -> None:
        """Say no more of the last answer, if it belongs to the deleted thread of `scope`."""
        last = self._spoken_answer
        if last is not None and last.scope == scope:
            self._out.add(StopSpeech())

    def forget_wishes(self) -> None:
        """Drop the open wishes and withdraw the last exchange's request: a cancel takes these back too."""
        self._wishes = ()
        self._history.withdraw_last()

    def complete_question(self, question: Question) -> Question:
        """Return `question` with the history before it and the wishes that are still open."""
        return question.with_history(self._history.exchanges, self._wishes)

    # --- deeds of the session's table for the turn

    def begin_turn(self, question: Question) -> None:
        """Start the Brain on a question with its history."""
        self._begun += 1
        question = self.complete_question(question)
        self._wishes = ()
        self._turn = TurnInProgress(number=self._begun, question=question, history=self._history)
        self._out.add(BeginTurn(self._begun, question))
        self._watch_state(self._turn)
        self._out.record_fact("messages", message=question.id)

    def note_draft(self) -> None:
        """Note that the evidence is found, and a model is asked."""
        if self._turn is not None:
            self._turn.drafting = True

    def tell_step(self, step: ProgressStep) -> None:
        """Tell the client the current step of its turn, unless it knows."""
        turn = self._turn
        if turn is not None and turn.step_told != step:
            turn.step_told = step
            self._out.send_frame(ProgressFrame(step, turn.question.id))

    def cancel_turn(self) -> None:
        """End the turn at once: its cancel scope, its deltas and its place in the session."""
        turn = self._turn
        if turn is None:
            return
        self._turn = None
        self._out.add(EndTurn(turn.number))
        self._out.send_frame(StreamEnd(reason="cancelled", id=turn.question.id))
        self._out.record_fact("turns", "cancelled", turn.question.id)

    def finish_turn(self) -> tuple[LiveSuggestion, ...]:
        """Send the frames that follow the last delta, and return the suggestions to make after them."""
        turn = self._turn
        if turn is None:
            return ()
        self._turn = None
        last = turn.texts[-1]
        message = turn.question.id
        self._out.send_frame(StreamEnd(reason="done", id=message))
        response = make_response(turn.text, turn.texts, turn.sources, message, turn.asks)
        self._out.send_frame(response)
        if any(each.unread for each in turn.texts):
            self._out.record_fact("memory_unread", message=message)
        self._out.record_fact("turns", last.blocked.code if last.blocked else "answered", message)
        answered = make_answered(turn.text, turn.texts, turn.keeps, partial(encode_details, response))
        self._out.add(RecordExchange(turn.question, answered))
        self._answered = (*self._answered, message)[-LIVE_SUGGESTIONS:]
        is_erased = turn.is_erased_by(turn.erased)
        if not is_erased:
            self._answers.add(SentAnswer.of(turn.question, response, answered.cites))
        self._recorded = (*self._recorded, turn.question.key_or_id)[-RECORDED_MESSAGES:]
        if not last.blocked and not is_erased:
            exchange = Exchange(
                turn.question.text,
                turn.text,
                message=turn.question.key_or_id,
                cites=answered.cites,
            )
            turn.history.add(exchange)
        if turn.history is self._history and not is_erased:
            self._wishes = turn.open_wishes
        return turn.offers

    def stream_text(self, part: VerifiedPart | TurnRefusal) -> None:
        """Stream a verified text, unless it rests on what was forgotten since; a refusal follows after a space."""
        turn = self._turn
        if turn is None:
            return
        speak = turn.add_text(part.text, isinstance(part, TurnRefusal) or part.last)
        if turn.is_erased_by(turn.erased):
            self._out.add(StopSpeech())
        if turn.rests_on_forgotten(turn.erased):
            self._react(SessionTrigger.FORGOTTEN)
        else:
            self._out.add(speak)

    def find_pending_call(self) -> tuple[CallRequested, Question] | None:
        """Return the call that the turn in progress waits for, and its question."""
        turn = self._turn
        return None if turn is None or turn.pending_call is None else (turn.pending_call, turn.question)

    def end_call(self, outcome: Outcome) -> None:
        """Give the Brain the outcome of the call that the turn has waited for."""
        turn = self._turn
        if turn is None or turn.pending_call is None:
            return
        turn.pending_call = None
        self._out.add(ResumeBrain(turn.number, outcome))
        self.handle_waiting_events()

    def handle_waiting_events(self) -> None:
        """Handle the Brain's events that arrived while a text was streamed or a call ran."""
        turn = self._turn
        if turn is not None:
            self._watch_state(turn)
        while (
            turn
            and turn is self._turn
            and turn.pending_events
            and not turn.unwritten_texts
            and not turn.pending_call
        ):
            if not self._handle_event(turn, turn.pending_events.popleft()):
                return

    def abandon_turn(self) -> None:
        """End the turn without a frame: the client is gone."""
        if self._turn is not None:
            self._out.add(EndTurn(self._turn.number))
            self._out.record_fact("turns", "disconnected", self._turn.question.id)
            self._turn = None
