"""The session against an independent model of it: random clients, Brains and runners, step by step.

The machine drives the sans-IO core and the reference with the same events and compares every frame, the state, and
what was begun, stopped, spoken and run. A failure prints the shrunk run as a transcript.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent.config import CONFIRM_SECONDS
from agent.ports.action import EndStatus, Outcome, Payload
from agent.ports.brain import (
    Blocked,
    Confidence,
    DraftBegun,
    DraftCompleted,
    Proposal,
    Question,
    Redraft,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    VerifiedText,
)
from agent.ports.conversation import Scope
from agent.ports.search import Snippet
from agent.protocol import consult_frames, inbound
from agent.protocol.codec import encode
from agent.session.core import Core
from agent.session.effects import (
    ArmExpiry,
    AskConsultant,
    BeginTurn,
    CloseConnection,
    DeclineItem,
    DetachAction,
    DisarmExpiry,
    Effect,
    EndTurn,
    RecordExchange,
    ResumeBrain,
    RunAction,
    SendFrame,
    SpeakText,
    StopAction,
    StopBrain,
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
    DrainStarted,
    Event,
    FrameReceived,
    KillRequested,
    StateLasted,
    SuggestionExpired,
    TextWritten,
)
from agent.session.events import SuggestionOffered as OfferedLater

from ..examples import examples
from .reference import ORDERS, Did, Frame, Heard, Offered, Reference, Wanted, Words

SNIPPETS = tuple(Snippet(file=f"kb/f{n}.md", text=f"Line {n}.", first=n, last=n + n % 3) for n in range(1, 5))
MESSAGES = ("a", "b", "c")
KINDS = {
    DraftBegun: "begun",
    DraftCompleted: "drafted",
    Redraft: "redraft",
    VerifiedPart: "verified",
    TurnRefusal: "refused",
}
FOREIGN = ("another-session's", "")
WALL = 1_700_000_000_000
RESULTS: dict[EndStatus, Frame] = {
    "done": {"success": True, "data": {"n": 1}},
    "failed": {"success": False, "error": "no"},
    "cancelled": {"cancelled": True},
    "unknown": {"success": False, "unknown": True, "error": "?"},
}
FILLS = ("nothing", "an empty payload", "no phone", "too much", "an edit", "an edit", "a bad edit")
ANSWERS = ({"ignored": True}, {"expired": True}, {"cancelled": True})  # to a confirm that came too late


def takes(payload: Payload) -> str | None:
    """A tool that knows two orders."""
    return None if any(payload == {"order": each} for each in ORDERS) else "Set order to one that exists."


REFUND = Proposal(
    action="refund", payload={"order": "A-1"}, risk="high", sources={"/order": "user"}, accepts=takes
)
LOOK_UP = Proposal(
    action="look_up", payload={"order": "A-1"}, needs_approval=False, risk="low", accepts=takes
)


def wire(frame: Any) -> Frame:
    """A frame as the client reads it, less the words of an error, which must be there."""
    shown: Frame = msgspec.json.decode(encode(frame))
    if shown["type"] == "error":
        assert shown.pop("message")
    return shown


def on_wire(text: VerifiedText) -> Words:
    """A verified text as the reference knows it."""
    cited = tuple(
        {"file": each.file, "snippet": each.text, "lines": [each.first, each.last]} for each in text.citations
    )
    blocked = {"code": text.blocked.code, "message": text.blocked.message} if text.blocked else None
    return Words(text.text, cited, text.confidence, blocked)


class SessionMachine(RuleBasedStateMachine):
    """One session, its client, its Brain, its runner, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.now = 100.0
        self.turn = 0  # the number of the turn begun last
        self.made = 0
        self.issued: list[str] = []  # suggestion ids, as the client saw them
        self.deadlines: dict[str, float] = {}
        self.armed: set[str] = set()
        self.accepted: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        self.endings: dict[str, list[Any]] = {}
        self.asked = False  # the running action was asked to stop
        self.elsewhere: list[str] = []  # actions whose end this client is not told
        self.answered_with: set[str] = set()  # suggestions for which words were taken
        self.dropped = False
        self.due: tuple[int, float] | None = None  # when it is noticed that a turn's state lasts
        self.agreed = False  # whether the last step went as predicted

    @initialize(
        rate=st.sampled_from((0.0, 0.0, 2.0)),
        offers=st.lists(st.integers(0, 5), max_size=2),
        confirms=st.integers(0, 3),
        queued=st.integers(0, 9),
        greeted=st.booleans(),
        progress=st.booleans(),
    )
    def connect(
        self, rate: float, offers: list[int], confirms: int, queued: int, greeted: bool, progress: bool
    ) -> None:
        """Begin with a session that has been used: suggestions live, one running, some waiting, messages queued."""
        self.rate = rate
        self.core = Core(rate, fills_in=greeted)
        self.model = Reference(rate, greeted, progress)
        self.agreed = True
        for number in offers:
            self.answered("a", number)
        for _ in range(min(confirms, len(self.model.live))):
            self.confirm(0, "what is missing")
        for number in range(queued if self.model.running else 0):
            self.message(MESSAGES[number % 3])

    # --- the client

    @rule(id=st.sampled_from(MESSAGES))
    def message(self, id: str) -> None:
        did = self.frame(
            inbound.Message(id, "price?", progress=self.model.progress),
            f"message {id}",
            lambda: self.model.message(id, self.now),
        )
        if not any(frame["type"] == "error" for frame in did.frames) and self.model.state != "closed":
            self.accepted[id] += 1

    @rule(id=st.sampled_from((None, *MESSAGES, "what is asked")))
    @precondition(lambda self: self.model.state != "idle" or len(self.lines) % 4 == 0)
    def cancel(self, id: str | None) -> None:
        if id == "what is asked":
            id = self.model.turn.message if self.model.turn is not None else None
        self.frame(inbound.Cancel(id), f"cancel {id or ''}", lambda: self.model.cancel(id))

    @rule(
        pick=st.sampled_from((0, 0, 0, 1, 1, *range(2, 12))),
        fill=st.sampled_from(("what is missing",) * 4 + FILLS),
    )
    @precondition(lambda self: self.issued or len(self.lines) % 4 == 0)
    def confirm(self, pick: int, fill: str) -> None:
        id = self.suggestion(pick)
        lacks = id in self.model.offers and self.model.offers[id].missing
        filled = {
            "what is missing": {"phone": f"070-123 45 {len(self.lines) % 90 + 10}"} if lacks else None,
            "nothing": None,
            "an empty payload": {},
            "no phone": {"phone": "123"},
            "too much": {"phone": "070-123 45 67", "n": "0"},
            "an edit": {"order": "A-2"},
            "a bad edit": {"order": "B-1"},
        }[fill]
        self.frame(
            inbound.ConfirmAction(id, filled),
            f"confirm {id} {filled}",
            lambda: self.model.confirm(id, self.now, filled),
        )

    @rule(pick=st.integers(0, 11))
    @precondition(lambda self: self.issued)
    def reject(self, pick: int) -> None:
        id = self.suggestion(pick)
        self.frame(inbound.RejectAction(id), f"reject {id}", lambda: self.model.reject(id))

    @rule(pick=st.sampled_from((0, 0, 0, *range(1, 12))))
    @precondition(lambda self: self.issued)
    def answer(self, pick: int) -> None:
        """Words in place of a yes; where they are taken, they are a message."""
        id = self.suggestion(pick)
        frame = inbound.RejectAction(id, "the other one")
        did = self.frame(frame, f"answer {id}", lambda: self.model.answer(id, self.now))
        taken = {"type": "action_closed", "suggestionId": id, "reason": "answered"} in did.frames
        if taken and id not in self.answered_with and not any(each["type"] == "error" for each in did.frames):
            self.accepted[id] += 1
        self.answered_with |= {id} if taken else set()

    @rule(
        code=st.sampled_from(("bad_json", "bad_message")),
        id=st.sampled_from((None, "a")),
        often=st.integers(0, 3),
    )
    def garbage(self, code: str, id: str | None, often: int) -> None:
        if often:
            return
        event = BadFrameReceived(code, "Send JSON.", id, self.now)
        self.step(event, f"garbage {code} {id or ''}", lambda: self.model.bad(code, id, self.now))

    # --- what is remembered

    @rule(many=st.sampled_from((1, 1, 1, 4, 12)), recall=st.booleans(), often=st.integers(0, 2))
    def consult(self, many: int, recall: bool, often: int) -> None:
        """A client asks what is remembered, whatever else goes on."""
        if often:
            return
        for _ in range(many):
            self.made += 1
            id = f"q{self.made}"
            frame: inbound.Consult = inbound.Recall("price?", id=id) if recall else inbound.MemoryList(id=id)
            self.frame(frame, f"consult {id}", lambda id=id: self.model.consult(id, recall, self.now))  # type: ignore[misc]

    @rule(moves=st.booleans())
    @precondition(lambda self: self.model.consults)
    def replied(self, moves: bool) -> None:
        """The oldest is answered; the session may be another thread's from then on."""
        id = self.model.consults[0]
        frame = consult_frames.ThreadFrame("elsewhere", id)
        scope = Scope("p", "elsewhere") if moves else None
        self.step(
            ConsultAnswered(frame, self.now, scope), f"reply {id}", lambda: self.model.replied(wire(frame))
        )

    # --- the Brain

    @rule(id=st.sampled_from(MESSAGES), offers=st.integers(0, 3), until=st.sampled_from((3, 3, 3, 2, 1)))
    def answered(self, id: str, offers: int, until: int = 3) -> None:
        """A whole turn, or most of one, without an interruption."""
        if self.model.turn is None:
            self.message(id)
        for _ in range(until):
            turn = self.model.turn
            if turn is not None and turn.waits:
                self.report("done", True)
            elif turn is not None and turn.complete:
                self.spoken()
            elif turn is not None:
                self.tell("next", "drafted", True, offers, {0}, "high")

    @rule(
        kind=st.sampled_from(("next", "next", "next", "next", "next", "redraft", "refused", "any")),
        other=st.sampled_from(("begun", "begun", "drafted", "redraft", "verified", "refused")),
        last=st.sampled_from((True, True, False)),
        offers=st.sampled_from((0, 1, 1, 2, 5)),
        cites=st.sets(st.integers(0, 3), max_size=2),
        confidence=st.sampled_from(("low", "med", "high")),
    )
    @precondition(lambda self: self.model.turn is not None)
    def tell(
        self, kind: str, other: str, last: bool, offers: int, cites: set[int], confidence: Confidence
    ) -> None:
        turn = self.model.turn
        assert turn is not None
        if kind == "any":
            kind = other
        elif turn.complete:
            return  # it has said its last word
        elif kind == "next" or (kind == "redraft" and self.model.state != "verifying"):
            ahead = turn.held[-1].kind if turn.held else self.model.state
            kind = "verified" if ahead in ("verifying", "drafted") else "drafted"
        self.told(self.turn, self.event(kind, last, offers, cites, confidence))

    @rule(
        needs_approval=st.sampled_from((False, False, False, False, True)),
        then=st.sampled_from(("nothing", "nothing", "a message", "a message", "its report")),
    )
    @precondition(lambda self: self.model.turn is not None and not self.model.turn.complete)
    def act(self, needs_approval: bool, then: str) -> None:
        """The Brain wants a call made inside its turn; it may at once be preempted, or have its report."""
        self.made += 1
        id = f"s{self.made}"
        call = replace(LOOK_UP, payload={"order": "A-1", "n": self.made}, needs_approval=needs_approval)
        heard = Heard("act", wants=Wanted(id, call.action, dict(call.payload), needs_approval))
        label = f"act {id}{' (needs approval)' if needs_approval else ''}"
        self.step(CallRequested(self.turn, call, id, self.now), label, lambda: self.model.heard(heard))
        if self.model.running == id and then == "a message":
            self.message("b")
        elif self.model.running == id and then == "its report":
            self.report("done", True)

    @rule(kind=st.sampled_from(("drafted", "verified", "spoken", "fault", "act")), often=st.integers(0, 3))
    @precondition(lambda self: self.turn > 1 or (self.turn and self.model.turn is None))
    def a_dead_turn_speaks(self, kind: str, often: int) -> None:
        if often:
            return
        dead = self.turn - 1 if self.model.turn is not None else self.turn
        event: Event
        if kind == "spoken":
            event = TextWritten(dead, self.now, WALL)
        elif kind == "fault":
            event = BrainFailed(dead, "f", self.refusal("model_failed"), self.now)
        elif kind == "act":
            event = CallRequested(dead, LOOK_UP, "dead", self.now)
        else:
            event = BrainEvent(dead, self.event(kind, True, 1, {0}, "low"), ("dead",), self.now)
        self.step(event, f"turn {dead}, ended: {kind}", lambda: None)

    @rule(often=st.integers(0, 3))
    @precondition(lambda self: self.model.turn is not None)
    def fault(self, often: int) -> None:
        if not often:
            self.break_turn()

    @rule()
    @precondition(lambda self: self.due is not None)
    def lasts(self) -> None:
        """The state has lasted, of the turn in progress or of one that has ended since."""
        assert self.due is not None
        (turn, due), self.due = self.due, None
        self.now = max(self.now, due)
        predict = self.model.lasted if turn == self.turn else lambda: None
        self.step(StateLasted(turn, self.now), f"turn {turn} lasts", predict)

    @rule()
    @precondition(lambda self: self.model.turn is not None and self.model.turn.unspoken)
    def spoken(self) -> None:
        stamp = WALL + int(self.now * 1000)
        did = self.step(
            TextWritten(self.turn, self.now, stamp), "spoken", lambda: self.model.spoken(self.now, stamp)
        )
        for frame in did.frames:
            if frame["type"] == "action_suggestion":
                self.issued.append(frame["suggestionId"])
                self.deadlines[frame["suggestionId"]] = self.now + CONFIRM_SECONDS

    @rule(id=st.sampled_from(MESSAGES), often=st.integers(0, 2))
    def offered_later(self, id: str, often: int) -> None:
        """What was answered gives something to remember, or what was not."""
        if often:
            return
        self.made += 1
        suggestion, stamp = f"s{self.made}", WALL + int(self.now * 1000)
        item = f"i{self.made}"
        proposal = Proposal(action="remember", payload={"item": item}, item=item)
        offered = Offered(suggestion, "remember", {"item": item}, item=item)
        did = self.step(
            OfferedLater(
                Question(id=id, text="", lang=None, at=self.now), proposal, suggestion, self.now, stamp
            ),
            f"offered {suggestion} of {id}",
            lambda: self.model.offered(id, offered, self.now, stamp),
        )
        if any(frame["type"] == "action_suggestion" for frame in did.frames):
            self.issued.append(suggestion)
            self.deadlines[suggestion] = self.now + CONFIRM_SECONDS

    # --- the runner, time and the server

    @rule(status=st.sampled_from(tuple(RESULTS)), claimed=st.sampled_from((True, True, True, False)))
    @precondition(lambda self: self.model.running is not None)
    def report(self, status: EndStatus, claimed: bool) -> None:
        id = self.model.running
        assert id is not None
        result = RESULTS[status] if claimed else {"ignored": True}
        if not claimed:
            self.elsewhere.append(id)
        outcome = Outcome(id, claimed, status if claimed else None, result)
        self.step(
            ActionEnded(outcome, self.now),
            f"report {id} {status if claimed else 'unclaimed'}",
            lambda: self.model.reported(claimed, status, result),
        )

    @rule(
        seconds=st.sampled_from((0.5, 1.0, 9.5, 10.0, CONFIRM_SECONDS - 0.5, CONFIRM_SECONDS)),
        tell=st.booleans(),
    )
    def wait(self, seconds: float, tell: bool) -> None:
        """Time passes; the timer may be late, and may speak of what has been closed since."""
        self.now += seconds
        self.lines.append(f"          {seconds} s pass")
        for id, deadline in self.deadlines.items():
            if tell and deadline <= self.now < deadline + 60:
                expire = partial(self.model.expired, id)
                self.step(SuggestionExpired(id, self.now), f"expire {id}", expire)

    @rule(early=st.sampled_from((0.0, 0.5)), words=st.booleans())
    @precondition(lambda self: self.model.live)
    def confirm_at_the_deadline(self, early: float, words: bool) -> None:
        """A confirm, or words in its place, in the last moment, or in the first one after it."""
        id = self.model.live[0]
        self.now = max(self.now, self.deadlines[id] - early)
        if words:
            self.answer(self.model.live[::-1].index(id))
            return
        self.frame(inbound.ConfirmAction(id), f"confirm {id}", lambda: self.model.confirm(id, self.now))

    @rule(how=st.sampled_from(("drain", "drain", "kill", "drop", *("nothing",) * 30)))
    def go_down(self, how: str) -> None:
        if how == "drain":
            self.step(DrainStarted(self.now), "drain", self.model.drain)
        elif how == "kill":
            self.step(KillRequested(1012, "bye", self.now), "kill", lambda: self.model.kill(1012))
        elif how == "drop":
            self.dropped = self.dropped or self.model.state != "closed"
            self.step(ClientDisconnected(self.now), "drop", self.model.disconnected)

    # --- what must always hold

    @invariant()
    def only_the_live_are_armed(self) -> None:
        """S6: a timer waits for each live suggestion and for nothing else."""
        if hasattr(self, "model"):
            assert self.armed == set(self.model.live), self.transcript(
                "the timers are not the live suggestions'"
            )

    def teardown(self) -> None:
        """S1 and S5, counted from the frames alone."""
        if not self.agreed:
            return
        if self.model.state != "closed":
            self.step(KillRequested(1012, "bye", self.now), "kill", lambda: self.model.kill(1012))
        if self.dropped:
            return
        assert self.finished == self.accepted, self.transcript("S1: not one stream_end per accepted message")
        for id in self.issued:
            told = self.endings.get(id, [])
            assert len(told) == (0 if id in self.elsewhere else 1), self.transcript(
                f"S5: {id} ended {len(told)} times"
            )

    # --- machinery

    def suggestion(self, pick: int) -> str:
        """One of the live ids, or of the others issued last, or of another session."""
        known = self.model.live[::-1]
        known += [id for id in reversed(self.issued[-10:]) if id not in known]
        return known[pick] if pick < len(known) else FOREIGN[pick % 2]

    def refusal(self, code: str) -> VerifiedText:
        return VerifiedText(text="I can't. ", citations=(), confidence="low", blocked=Blocked(code, "No."))

    def event(self, kind: str, last: bool, offers: int, cites: set[int], confidence: Confidence) -> TurnEvent:
        self.made += 1
        proposals = tuple(
            (
                REFUND,
                Proposal(action="send_sms", payload={"n": str(self.made)}, missing=("phone",)),
                Proposal(action="send_sms", payload={"n": str(self.made)}),
            )[(self.made + each) % 3]
            for each in range(offers)
        )
        cited = tuple(SNIPPETS[each] for each in sorted(cites))
        words = VerifiedText(text=f"Sentence {self.made}. ", citations=cited, confidence=confidence)
        refused = VerifiedText(
            text=f"Not {self.made}.",
            citations=cited,
            confidence="low",
            blocked=Blocked("number_mismatch", "No."),
        )
        events: dict[str, TurnEvent] = {
            "begun": DraftBegun(),
            "drafted": DraftCompleted(),
            "redraft": Redraft(),
            "verified": VerifiedPart(text=words, last=last, proposals=proposals if last else ()),
            "refused": TurnRefusal(refused, proposals),
        }
        return events[kind]

    def told(self, turn: int, event: TurnEvent) -> None:
        kind = KINDS[type(event)]
        heard = Heard(kind)
        ids: tuple[str, ...] = ()
        if isinstance(event, VerifiedPart | TurnRefusal):
            ids = tuple(f"s{self.made}.{n}" for n in range(len(event.proposals)))
            offers = tuple(
                Offered(
                    id,
                    each.action,
                    dict(each.payload),
                    each.missing,
                    (("risk", each.risk), ("sources", dict(each.sources))) if each.risk else (),
                )
                for id, each in zip(ids, event.proposals, strict=True)
            )
            heard = Heard(kind, on_wire(event.text), isinstance(event, TurnRefusal) or event.last, offers)
        label = f"{kind}{'' if heard.last else ' (more follows)'} {' '.join(ids)}"
        self.step(BrainEvent(turn, event, ids, self.now), label, lambda: self.model.heard(heard))

    def frame(self, frame: inbound.Inbound, label: str, predict: Callable[[], None]) -> Did:
        return self.step(FrameReceived(frame, self.now), label, predict)

    def step(self, event: Event, label: str, predict: Callable[[], None]) -> Did:
        """Give both the event; they must agree on everything."""
        if self.model.state == "closed":
            return Did()  # the session has left: its core is told nothing more
        running = self.model.running
        self.agreed = False
        predict()
        expected = self.model.take()
        effects = self.core.handle(event)
        actual = self.read(effects)
        self.lines.append(f"{self.now:8.1f}  {label}  -> {self.core.state.value}")
        self.lines += [f"{'':12}{frame}" for frame in actual.frames]
        if actual.let_go:
            self.elsewhere.append(str(running))
        assert actual.frames == expected.frames, self.transcript(f"expected frames {expected.frames}")
        assert self.core.state.value == self.model.state, self.transcript(
            f"expected state {self.model.state}"
        )
        assert actual == expected, self.transcript(f"expected {expected}\nfound    {actual}")
        self.count(actual.frames)
        self.agreed = True
        if actual.distrusted:
            self.break_turn()  # the turn's task answers at once
        return actual

    def break_turn(self) -> None:
        text = self.refusal("model_failed")
        self.step(
            BrainFailed(self.turn, "f", text, self.now), "fault", lambda: self.model.faulted(on_wire(text))
        )

    def read(self, effects: list[Effect]) -> Did:
        """What the core decided, in the reference's words."""
        did = Did()
        for effect in effects:
            match effect:
                case SendFrame(frame):
                    did.frames.append(wire(frame))
                case BeginTurn(turn, question):
                    self.turn = turn
                    did.begun.append(question.id)
                case EndTurn():
                    did.ended += 1
                case WatchState(turn, due):
                    assert due > self.now
                    self.due = turn, due
                    did.watched = True
                case SpeakText(text=text, last=last):
                    did.spoke.append((text, last))
                case RunAction(call):
                    did.ran.append((call.suggestion_id, dict(call.payload)))
                    self.asked = False
                case StopAction():  # asking twice changes nothing
                    did.stopped = not self.asked
                    self.asked = True
                case ResumeBrain(_, outcome):
                    did.resumed.append(outcome.status)
                case DetachAction():
                    did.let_go = True
                case StopBrain():
                    did.distrusted = True
                case ArmExpiry(id):
                    self.armed.add(id)
                case DisarmExpiry(id):
                    self.armed.discard(id)
                case RecordExchange(question, answered):
                    did.kept.append((question.id, answered.blocked))
                case AskConsultant(frame):
                    did.asked.append(str(frame.id))
                case DeclineItem(_, item):
                    did.declined.append(item)
                case CloseConnection(code):
                    did.close = code
        return did

    def count(self, frames: list[Frame]) -> None:
        for frame, following in zip(frames, [*frames[1:], Frame()], strict=False):
            if "action" in frame and frame["suggestionId"] not in self.issued:  # a call inside a turn
                self.issued.append(frame["suggestionId"])
            if frame["type"] == "stream_end":
                self.finished[frame["id"]] += 1
                answered = following.get("type") == "response" and following["id"] == frame["id"]
                assert answered is (frame["reason"] == "done"), self.transcript(
                    "S1: an end without its response"
                )
            if frame["type"] in ("action_closed", "action_executed") and frame.get("result") != ANSWERS[0]:
                result = frame.get("result", {})
                ending = "cancelled" if "cancelled" in result else frame.get("reason", result)
                known = self.endings.setdefault(frame["suggestionId"], [])
                if not known or (ending != known[0] and result not in ANSWERS):
                    known.append(ending)

    def transcript(self, why: str) -> str:
        """The run so far, for a failure to print."""
        return "\n".join([f"rate {self.rate}", *self.lines, why])


def test_the_session_is_what_its_model_says() -> None:
    """Whatever client, Brain, runner and clock do, frames and state are the reference's."""
    run_state_machine_as_test(
        SessionMachine,
        settings=settings(
            max_examples=examples(120),
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.proof
def test_the_session_is_what_its_model_says_at_length() -> None:
    """The same with many more and longer runs, other ones each time."""
    run_state_machine_as_test(
        SessionMachine,
        settings=settings(
            max_examples=int(os.environ.get("SESSION_RUNS", "300")),
            stateful_step_count=60,
            deadline=None,
            database=None,
            derandomize="CI" in os.environ,
        ),
    )
