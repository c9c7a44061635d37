"""Drives a Core by hand: events in, frames and effects out as short tuples."""

from collections.abc import Mapping
from typing import Any

from agent.config import CONFIRM_SECONDS
from agent.ports.action import Outcome
from agent.ports.brain import (
    Blocked,
    DraftBegun,
    DraftCompleted,
    Proposal,
    Question,
    Redraft,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from agent.ports.conversation import Exchange, Scope
from agent.ports.search import Snippet
from agent.protocol import consult_frames, inbound, outbound
from agent.protocol.stories import AnyOutbound
from agent.session.actions import SuggestionEngine
from agent.session.core import Core, SessionEngine
from agent.session.effects import (
    AskConsultant,
    CloseConnection,
    DeclineItem,
    Effect,
    RecordExchange,
    RecordFact,
    ResumeBrain,
    RunAction,
    SendFrame,
    WatchState,
)
from agent.session.events import (
    ActionEnded,
    BadFrameReceived,
    BrainEvent,
    BrainFailed,
    CallRequested,
    ClientDisconnected,
    ConsultAnswered,
    ConversationResumed,
    DrainStarted,
    Event,
    FrameReceived,
    IdleTimedOut,
    KillRequested,
    QuestionPosed,
    StateLasted,
    SuggestionExpired,
    SuggestionOffered,
    TextWritten,
    TurnDropped,
)

SNIPPET = Snippet(file="kb/pricing.md", text="The price is 299 kr.", first=3, last=3)
PROPOSAL = Proposal(action="create_ticket", payload={"subject": "help"})
CALL = Proposal(action="look_up", payload={"order": "A-1"}, needs_approval=False, risk="low")
TO_REMEMBER = Proposal(action="remember", payload={"item": "i1", "text": "The budget is 50k."}, item="i1")
LACKING = Proposal(action="send_sms", payload={"text": "hello"}, missing=("phone",))


def text(words: str = "It is 299 kr.", blocked: Blocked | None = None) -> VerifiedText:
    """A verified text; tests may make one, the package's own modules may not."""
    return VerifiedText(text=words, citations=(SNIPPET,), confidence="high", blocked=blocked)


REFUSAL = text("I cannot verify that", Blocked("number_mismatch", "Verification failed: Number mismatch"))


def short(frame: AnyOutbound) -> tuple[Any, ...]:
    """A frame as a tuple that a test can read."""
    match frame:
        case outbound.StreamEnd():
            return ("end", frame.id, frame.reason)
        case outbound.ProgressFrame():
            return ("progress", frame.id, frame.step)
        case outbound.Response():
            return ("response", frame.id, frame.text)
        case outbound.ActionSuggestion():
            return ("suggestion", frame.suggestion_id)
        case outbound.ActionExecuted():
            return ("executed", frame.suggestion_id, dict(frame.result))
        case outbound.ActionClosed():
            return ("closed", frame.suggestion_id, frame.reason)
        case outbound.Error():
            return ("error", frame.code, frame.id or frame.suggestion_id)
        case consult_frames.ThreadFrame():
            return ("thread", frame.thread)
        case consult_frames.RecallFrame() | consult_frames.MemoryFrame() | consult_frames.MemoryChanged():
            return (type(frame).__struct_config__.tag, frame.id)
    raise AssertionError(f"the core sends no {type(frame).__name__}")


class Driver:
    """A core, its clock, and what it said."""

    def __init__(
        self,
        engine: SessionEngine | None = None,
        suggestion_engine: SuggestionEngine | None = None,
        rate_limit: float = 0.0,
        held: bool = True,
        kept: float | None = None,
    ) -> None:
        self.core = Core(
            rate_limit,
            1000 if kept else 0,
            engine=engine,
            suggestion_engine=suggestion_engine,
            fills_in=held,
            stored_seconds=kept,
        )
        self.now = 100.0
        self.turn = 0  # the number of the last turn begun
        self.effects: list[Effect] = []  # of the last event
        self.made = 0

    @property
    def state(self) -> str:
        return self.core.state.value

    def post(self, event: Event) -> list[tuple[Any, ...]]:
        """Handle an event; return the frames it sent."""
        self.effects = self.core.handle(event)
        for effect in self.effects:
            if type(effect).__name__ == "BeginTurn":
                self.turn = effect.turn  # type: ignore[union-attr]
        return [short(effect.frame) for effect in self.effects if isinstance(effect, SendFrame)]

    def did(self) -> list[str]:
        """The names of the last event's effects, less frames and notes, and what is to be remembered."""
        return [
            type(each).__name__
            for each in self.effects
            if not isinstance(each, SendFrame | RecordFact | RecordExchange)
        ]

    def declined(self) -> list[str]:
        """The items that the last event said its user does not want."""
        return [each.item for each in self.effects if isinstance(each, DeclineItem)]

    @property
    def close_code(self) -> int | None:
        codes = [each.code for each in self.effects if isinstance(each, CloseConnection)]
        return codes[0] if codes else None

    def frame(self, frame: inbound.Inbound) -> list[tuple[Any, ...]]:
        return self.post(FrameReceived(frame, self.now))

    def message(
        self, id: str = "m", words: str = "price?", progress: bool = False, heard: bool = False
    ) -> list[tuple[Any, ...]]:
        return self.frame(inbound.Message(id, words, progress=progress, heard=heard))

    def cancel(self, id: str | None = None) -> list[tuple[Any, ...]]:
        return self.frame(inbound.Cancel(id))

    def confirm(self, suggestion_id: str, payload: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self.frame(inbound.ConfirmAction(suggestion_id, payload))

    def ran(self) -> list[tuple[str, dict[str, Any]]]:
        """What the last event gave to the runner: ids and payloads."""
        return [
            (each.call.suggestion_id, dict(each.call.payload))
            for each in self.effects
            if isinstance(each, RunAction)
        ]

    def reject(self, suggestion_id: str, words: str | None = None) -> list[tuple[Any, ...]]:
        return self.frame(inbound.RejectAction(suggestion_id, words))

    def late(self, suggestion_id: str, words: str) -> list[tuple[Any, ...]]:
        """Say words in place of a yes when its time is over."""
        self.now += CONFIRM_SECONDS
        return self.reject(suggestion_id, words)

    def act(self, proposal: Proposal = CALL) -> list[tuple[Any, ...]]:
        """The Brain of the turn waits for a call."""
        self.made += 1
        return self.post(CallRequested(self.turn, proposal, f"s{self.made}", self.now))

    def resumed(self) -> list[Outcome]:
        """How the call ended, as the last event told the Brain."""
        return [each.outcome for each in self.effects if isinstance(each, ResumeBrain)]

    def garbage(self) -> list[tuple[Any, ...]]:
        return self.post(BadFrameReceived("bad_json", "Send JSON.", None, self.now))

    def told(
        self,
        event: DraftBegun | DraftCompleted | Redraft | VerifiedPart | TurnRefusal,
        turn: int | None = None,
    ) -> list[tuple[Any, ...]]:
        proposals = event.proposals if isinstance(event, VerifiedPart | TurnRefusal) else ()
        ids = tuple(f"s{self.made + number}" for number in range(1, len(proposals) + 1))
        self.made += len(proposals)
        return self.post(BrainEvent(turn or self.turn, event, ids, self.now))

    def begun(self) -> list[tuple[Any, ...]]:
        return self.told(DraftBegun())

    def watched(self) -> float | None:
        """In how many seconds it is noticed that the state lasts, where the last event began that."""
        due = [each.due - self.now for each in self.effects if isinstance(each, WatchState)]
        return due[-1] if due else None

    def lasts(self, turn: int | None = None) -> list[tuple[Any, ...]]:
        """The state of the turn has not changed for a while."""
        return self.post(StateLasted(turn or self.turn, self.now))

    def drafted(self) -> list[tuple[Any, ...]]:
        return self.told(DraftCompleted())

    def verified(
        self, words: str = "It is 299 kr.", last: bool = True, proposals: int = 0
    ) -> list[tuple[Any, ...]]:
        return self.told(VerifiedPart(text=text(words), last=last, proposals=(PROPOSAL,) * proposals))

    def refused(self, proposals: int = 0) -> list[tuple[Any, ...]]:
        return self.told(TurnRefusal(REFUSAL, (PROPOSAL,) * proposals))

    def faulted(self) -> list[tuple[Any, ...]]:
        return self.post(BrainFailed(self.turn, "f1", REFUSAL, self.now))

    def dropped(self, turn: int | None = None) -> list[tuple[Any, ...]]:
        return self.post(TurnDropped(turn or self.turn, self.now))

    def spoken(self, turn: int | None = None) -> list[tuple[Any, ...]]:
        return self.post(TextWritten(turn or self.turn, self.now, 1_700_000_000_000))

    def reported(
        self, status: Any = "done", claimed: bool = True, result: Mapping[str, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        return self.post(ActionEnded(Outcome("?", claimed, status, result or {"success": True}), self.now))

    def expire(self, suggestion_id: str) -> list[tuple[Any, ...]]:
        return self.post(SuggestionExpired(suggestion_id, self.now))

    def offered(self, message: str = "m", proposal: Proposal = TO_REMEMBER) -> list[tuple[Any, ...]]:
        """What a message said gives something to suggest, after its answer."""
        self.made += 1
        asked = Question(id=message, text="My budget is 50k.", lang=None, at=self.now)
        return self.post(SuggestionOffered(asked, proposal, f"s{self.made}", self.now, 1_700_000_000_000))

    def consult(self, id: str = "q", frame: inbound.Consult | None = None) -> list[tuple[Any, ...]]:
        """The client asks what is remembered."""
        return self.frame(frame or inbound.MemoryList(id=id))

    def asks(self) -> list[tuple[str | None, Scope]]:
        """The labels of what the last event had asked, and for whom."""
        return [(each.frame.id, each.scope) for each in self.effects if isinstance(each, AskConsultant)]

    def replied(
        self, id: str = "q", frame: outbound.Outbound | None = None, scope: Scope | None = None
    ) -> Any:
        """What is remembered answers."""
        return self.post(ConsultAnswered(frame or consult_frames.MemoryFrame((), id=id), self.now, scope))

    def replied_to(self, scope: Scope) -> None:
        """The client opens another thread."""
        self.consult(frame=inbound.OpenThread(scope.thread))
        self.replied(frame=consult_frames.ThreadFrame(scope.thread), scope=scope)

    def kept(self) -> list[tuple[str, str, bool]]:
        """The exchanges that the last event had remembered: message, answer, and whether it is a refusal."""
        return [
            (each.question.id, each.answered.text, each.answered.blocked)
            for each in self.effects
            if isinstance(each, RecordExchange)
        ]

    def wake(self, *live: Proposal, history: tuple[Exchange, ...] = ()) -> list[tuple[Any, ...]]:
        """A conversation goes on, in which these (w1, w2 ...) can be confirmed."""
        asked = Question(id="before", text="do it", lang=None, at=self.now)
        known = tuple((f"w{number}", proposal, asked) for number, proposal in enumerate(live, 1))
        return self.post(ConversationResumed(history, known, self.now))

    def sleep(self) -> list[tuple[Any, ...]]:
        return self.post(IdleTimedOut(self.now))

    def go_on(self, id: str) -> list[tuple[Any, ...]]:
        """A turn is asked for that nobody says anything for."""
        return self.post(QuestionPosed(Question(id=id, text="price?", lang=None, at=self.now), self.now))

    def drain(self) -> list[tuple[Any, ...]]:
        return self.post(DrainStarted(self.now))

    def kill(self, code: int = 1012) -> list[tuple[Any, ...]]:
        return self.post(KillRequested(code, "bye", self.now))

    def drop(self) -> list[tuple[Any, ...]]:
        return self.post(ClientDisconnected(self.now))

    # --- shortcuts into a state

    def lacking(self, proposal: Proposal = LACKING) -> None:
        """A suggestion waits that lacks a field, unless the proposal says otherwise."""
        self.verifying()
        self.told(VerifiedPart(text=text(), proposals=(proposal,)))
        self.spoken()

    def verifying(self, id: str = "m") -> None:
        self.message(id)
        self.drafted()

    def streaming(self, id: str = "m", proposals: int = 0) -> None:
        self.verifying(id)
        self.verified(proposals=proposals)

    def awaiting(self, id: str = "m", proposals: int = 1) -> None:
        self.streaming(id, proposals)
        self.spoken()

    def executing(self) -> None:
        self.awaiting()
        self.confirm("s1")

    def acting(self, id: str = "m") -> str:
        """A turn waits for a call, whose id is returned."""
        self.message(id)
        self.act()
        assert self.state == "executing"
        return f"s{self.made}"
