"""What a session must say and where it must be, written from the wire's tables and the design's state table alone.

It knows nothing of `agent.session`: plain branches where the session has tables, one method per thing that can happen,
wire frames as dicts. A test feeds both the same events and compares frames, state and what was started or stopped.
Times are seconds on the loop's clock.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

Frame = dict[str, Any]

LIVE = 8
QUEUE = 8
CONFIRM_SECONDS = 120
BAD_FRAMES, BAD_WINDOW = 3, 10.0
CONSULTS = 1 + 8  # asked of what is remembered: one is answered, the others wait
RECALLS = 10  # a second, and at once
ORDERS = ("A-1", "A-2")  # that the tool knows
CLOSED = ("cancelled", "rejected", "expired", "answered")


@dataclass(frozen=True)
class Offered:
    """What a Brain proposes. shown: what the wire says of a tool's call; empty for an action of the user's words."""

    id: str
    action: str
    payload: Frame
    missing: tuple[str, ...] = ()
    shown: tuple[tuple[str, Any], ...] = ()
    item: str | None = None  # to be remembered


@dataclass(frozen=True)
class Wanted:
    """A call that a Brain wants made inside its turn."""

    id: str
    action: str
    payload: Frame
    needs_approval: bool


@dataclass(frozen=True)
class Words:
    """A verified text as the wire shows it; `blocked` when it is a refusal."""

    text: str
    citations: tuple[Frame, ...]
    confidence: str | None
    blocked: Frame | None = None


@dataclass(frozen=True)
class Heard:
    """One thing a Brain said: begun, drafted, redraft, verified or refused; or that it wants a call, or broke."""

    kind: str
    words: Words | None = None
    last: bool = True
    offers: tuple[Offered, ...] = ()
    wants: Wanted | None = None


@dataclass
class Turn:
    """The turn in progress."""

    message: str
    said: list[Words] = field(default_factory=list)
    unspoken: int = 0  # texts given to be spoken that the stream has not taken yet
    held: deque[Heard] = field(
        default_factory=deque
    )  # what came while a text was being spoken, or a call ran
    waits: bool = False  # for its call
    complete: bool = False  # the last text was given
    drafting: bool = False  # a model is asked
    told: str = ""  # the step that the client was told last
    offers: tuple[Offered, ...] = ()


@dataclass
class Offer:
    """A suggestion, or a call inside a turn. `state`: live, waiting, running, or how it ended.

    tool: it is a tool's call, whose arguments a confirm may change. inside: the action of a call inside a turn.
    """

    message: str
    deadline: float
    payload: Frame
    missing: tuple[str, ...] = ()
    state: str = "live"
    confirmed: bool = False
    tool: bool = False
    inside: str | None = None
    item: str | None = None


@dataclass
class Did:
    """What one event led to."""

    frames: list[Frame] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)  # messages whose turn was begun
    ended: int = 0  # turns cut off
    spoke: list[tuple[str, bool]] = field(
        default_factory=list
    )  # texts given to be spoken, and whether the last
    ran: list[tuple[str, Frame]] = field(default_factory=list)  # suggestions and payloads that were run
    resumed: list[str | None] = field(
        default_factory=list
    )  # how the calls ended that the turn has waited for
    stopped: bool = False  # the running action was asked to stop
    let_go: bool = False  # nobody listens for the running action any more
    distrusted: bool = False  # the Brain was found to speak out of order
    kept: list[tuple[str, bool]] = field(default_factory=list)  # messages to remember, and whether refused
    declined: list[str] = field(default_factory=list)  # items that are not to be remembered
    asked: list[str] = field(default_factory=list)  # what was asked of what is remembered
    watched: bool = False  # it is noticed when the state lasts
    close: int | None = None  # the close code, when the session closed


class Reference:
    """One session. rate: messages per second that may pre-empt or queue (burst twice that), 0 for any number.

    greeted: its client offered the subprotocol, and so knows what a suggestion may lack. progress: its messages ask to
    be told what a slow turn does.
    """

    def __init__(self, rate: float = 0.0, greeted: bool = True, progress: bool = False) -> None:
        self.greeted = greeted
        self.progress = progress
        self.state = "idle"
        self.turn: Turn | None = None
        self.offers: dict[str, Offer] = {}
        self.waiting: deque[str] = deque()
        self.running: str | None = None
        self.queue: deque[str] = deque()
        self.answered: deque[str] = deque(maxlen=LIVE)  # and not taken back
        self.draining = False
        self._asked = False  # the running action was asked to stop
        self._rate = rate
        self._tokens = 2 * rate
        self._tokens_at = 0.0
        self.consults: deque[str] = deque()
        self._recalls = float(RECALLS)
        self._recalls_at = 0.0
        self._bad: deque[float] = deque()
        self._did = Did()

    def take(self) -> Did:
        """Return what happened since the last call."""
        did, self._did = self._did, Did()
        return did

    @property
    def live(self) -> list[str]:
        """The suggestions that can be confirmed, oldest first."""
        return [id for id, offer in self.offers.items() if offer.state == "live"]

    # --- the client

    def message(self, id: str, now: float) -> None:
        """A question: answered at once, or after what it interrupts, or after the running action."""
        if self.state == "closed":
            return
        if self.draining:
            self._send("error", code="shutting_down", id=id)
        elif self.state in ("idle", "awaiting_confirmation"):
            self._begin(id)
        elif not self._token(now):
            self._send("error", code="rate_limited", id=id)
        elif self.state == "executing" and self.turn is not None:
            self._cut_turn()  # it waits for its call
            self._stop()
            self.queue.append(id)
        elif self.state == "executing":
            if len(self.queue) == QUEUE:
                self._tokens += 1 if self._rate else 0  # only what pre-empts or queues is counted
                self._send("error", code="busy", id=id)
            else:
                self.queue.append(id)
        else:
            self._cut_turn()
            self._begin(id)

    def cancel(self, id: str | None) -> None:
        """Stop: with an id only that message, in progress or queued, or else the suggestions it led to."""
        if self.state == "closed":
            return
        kept = [each for each in self.answered if id is not None and each != id]
        self.answered = deque(kept, LIVE)
        if self.turn is not None and id in (None, self.turn.message):
            same = [each for each in self.queue if each == id]  # ids are labels: every message of that name
            for each in same:
                self.queue.remove(each)
            self._cut_turn()
            if self.running is not None:  # its call
                self._stop()
                self._cancel_waiting()
                self._end_queue()
            else:
                self._cancel_waiting()  # they run when what is in progress ends other than by cancel
                self._settle()
            for each in same:
                self._send("stream_end", reason="cancelled", id=each)
        elif id is not None:
            self._cancel_one(id)
        elif self.state == "awaiting_confirmation":
            self._close_live()
            self.state = "idle"
        elif self.state == "executing":
            self._stop()
            self._cancel_waiting()
            self._end_queue()

    def confirm(self, id: str, now: float, filled: Frame | None = None) -> None:
        """Run a suggestion, at once or when its turn comes; say why not where it cannot be run."""
        if self.state == "closed":
            return
        offer = self.offers.get(id)
        if offer is None:
            self._send("error", code="unknown_suggestion", suggestionId=id)
        elif offer.state == "live":
            if now >= offer.deadline:
                self._lapse(id, "expired")
                self._executed(id, {"expired": True})
                self._after_lapse()
            elif self.draining:
                self._send("error", code="shutting_down", suggestionId=id)
            elif offer.tool and filled is not None and filled not in [{"order": each} for each in ORDERS]:
                self._send("error", code="bad_edit", suggestionId=id)
            elif not offer.tool and not self._fills_in(offer, filled):
                self._send("error", code="bad_message", suggestionId=id)
            else:
                offer.payload = (filled or offer.payload) if offer.tool else offer.payload | (filled or {})
                offer.state, offer.confirmed = "waiting", True
                self.waiting.append(id)
                if self.state == "awaiting_confirmation":
                    self._settle()
        elif offer.confirmed:
            self._ignored(id)
        else:
            self._executed(id, {"expired" if offer.state == "expired" else "cancelled": True})

    def _fills_in(self, offer: Offer, filled: Frame | None) -> bool:
        if filled is None and not self.greeted:
            return True
        if set(filled or {}) != set(offer.missing):
            return False
        return not filled or 7 <= sum(each.isdigit() for each in filled["phone"]) <= 15

    def reject(self, id: str) -> None:
        """Decline a suggestion, however far it has come."""
        if self.state == "closed":
            return
        offer = self.offers.get(id)
        if offer is None:
            self._send("error", code="unknown_suggestion", suggestionId=id)
        elif offer.state == "live":
            self._lapse(id, "rejected")
            if offer.item is not None:
                self._did.declined.append(offer.item)
            self._after_lapse()
        elif offer.state == "waiting":
            self._cancel_waiting(id)
        elif offer.state == "running":
            self._stop()
        elif offer.state in CLOSED:
            self._send("action_closed", suggestionId=id, reason=offer.state)
        else:
            self._ignored(id)

    def answer(self, id: str, now: float) -> None:
        """Words in place of a yes: the suggestion is over, and they are the next message, by its id."""
        if self.state == "closed":
            return
        offer = self.offers.get(id)
        if offer is None:
            self._send("error", code="unknown_suggestion", suggestionId=id)
        elif offer.state == "live":
            if now >= offer.deadline:
                self._lapse(id, "expired")
                self._executed(id, {"expired": True})
                self._after_lapse()
            elif self.draining:
                self._send("error", code="shutting_down", suggestionId=id)
            else:
                self._lapse(id, "answered")
                self._after_lapse()
                self.message(id, now)
        elif offer.state in CLOSED:
            self._send("action_closed", suggestionId=id, reason=offer.state)
        else:
            self._ignored(id)

    def bad(self, code: str, id: str | None, now: float) -> None:
        """A frame that the wire does not allow; the third in ten seconds closes with 1008."""
        if self.state == "closed":
            return
        self._send("error", code=code, **({"id": id} if id is not None else {}))
        self._bad.append(now)
        while self._bad[0] <= now - BAD_WINDOW:
            self._bad.popleft()
        if len(self._bad) >= BAD_FRAMES:
            self.kill(1008)

    def consult(self, id: str, recall: bool, now: float) -> None:
        """Something is asked of what is remembered, which no state has to do with."""
        if self.state == "closed":
            return
        if self.draining:
            self._send("error", code="shutting_down", id=id)
        elif len(self.consults) == CONSULTS:
            self._send("error", code="busy", id=id)
        elif recall and not self._recall(now):
            self._send("error", code="rate_limited", id=id)
        else:
            self.consults.append(id)
            if len(self.consults) == 1:
                self._did.asked.append(id)

    def replied(self, frame: Frame) -> None:
        """What is remembered has answered the oldest that was asked."""
        if self.state == "closed":
            return
        self.consults.popleft()
        self._did.frames.append(frame)
        if self.consults:
            self._did.asked.append(self.consults[0])

    def _recall(self, now: float) -> bool:
        self._recalls = min(RECALLS, self._recalls + (now - self._recalls_at) * RECALLS)
        self._recalls_at = now
        if self._recalls < 1:
            return False
        self._recalls -= 1
        return True

    # --- the Brain

    def heard(self, event: Heard) -> None:
        """The Brain of the turn in progress said something; it waits while a text is being spoken, or a call runs."""
        turn = self.turn
        if turn is None or turn.complete:
            return  # after its last word nothing of a turn counts
        if self.state == "streaming" or turn.waits:
            turn.held.append(event)
        else:
            self._hear(turn, event)

    def faulted(self, words: Words) -> None:
        """The Brain of the turn in progress broke: say so, and refuse after what was already said, and done."""
        if self.turn is None or self.turn.complete:
            return
        self.turn.held.clear()
        if self.turn.waits:
            self.turn.held.append(Heard("fault", words))
        else:
            self._hear(self.turn, Heard("fault", words))

    def lasted(self) -> None:
        """The state has not changed for a while: the client is told what its turn does, once."""
        turn = self.turn
        if turn is None:
            return
        steps = {"buffering": "drafting" if turn.drafting else "searching", "verifying": "checking"}
        step = steps.get(self.state, "calling" if turn.waits else turn.told)
        if step != turn.told:
            turn.told = step
            self._send("progress", step=step, id=turn.message)

    def spoken(self, now: float, wall_ms: int) -> None:
        """The stream has taken the last word of a text."""
        turn = self.turn
        if turn is None:
            return
        turn.unspoken -= 1
        if turn.unspoken:
            return
        if not turn.complete:
            self.state = "buffering"
            self._watch(turn)
            self._take_up(turn)
            return
        self._answer(turn)
        self.turn = None
        self._did.kept.append((turn.message, turn.said[-1].blocked is not None))
        self.answered.append(turn.message)
        if not self.draining:
            for offered in turn.offers:
                if len(self.live) == LIVE:
                    self._lapse(self.live[0], "cancelled")
                self._offer(offered, turn.message, now, wall_ms)
        self._settle()

    def offered(self, message: str, offered: Offered, now: float, wall_ms: int) -> None:
        """An answered message gave something to suggest after its turn."""
        if self.state == "closed" or self.draining or message not in self.answered:
            return
        if len(self.live) == LIVE:
            self._lapse(self.live[0], "cancelled")
        self._offer(offered, message, now, wall_ms)
        if self.state == "idle":
            self.state = "awaiting_confirmation"

    # --- actions, time, the server

    def reported(self, claimed: bool, status: str, result: Frame) -> None:
        """The runner said how the running action ended, or that another claimer has it."""
        if self.state == "closed" or self.running is None:
            return
        id, self.running = self.running, None
        self.offers[id].state = status if claimed else "elsewhere"
        self._executed(id, result)
        if self.turn is None:
            self._settle()
        else:
            self._resume(self.turn, status if claimed else None)

    def expired(self, id: str) -> None:
        """A suggestion's time is over."""
        if self.state != "closed" and id in self.offers and self.offers[id].state == "live":
            self._lapse(id, "expired")
            self._after_lapse()

    def drain(self) -> None:
        """The server goes down: what is in progress may end."""
        if self.state == "closed":
            return
        self.draining = True
        if self.state in ("idle", "awaiting_confirmation"):
            self._shut(1012)

    def kill(self, code: int) -> None:
        """End now, and tell the client what ends with it."""
        if self.state == "closed":
            return
        if self.turn is not None and self.turn.waits:
            self._stop()  # no call of a turn begins after its end
        self._shut(code)

    def disconnected(self) -> None:
        """The client is gone: nothing can be told."""
        if self.state == "closed":
            return
        if self.running is not None:
            self._stop()  # what has not begun does not begin for nobody
        self._shut(1000)
        self._did.frames.clear()
        self._did.close = None

    # --- what they are made of

    def _send(self, type: str, **fields: Any) -> None:
        self._did.frames.append({"type": type, **fields})

    def _executed(self, id: str, result: Frame) -> None:
        call = self.offers[id]
        about = {"action": call.inside, "payload": call.payload, "id": call.message} if call.inside else {}
        self._send("action_executed", suggestionId=id, result=result, **about)

    def _ignored(self, id: str) -> None:
        """What a call was is said with its end, once."""
        self._send("action_executed", suggestionId=id, result={"ignored": True})

    def _begin(self, id: str) -> None:
        self.turn = Turn(id)
        self.state = "buffering"
        self._did.begun.append(id)
        self._watch(self.turn)

    def _watch(self, turn: Turn) -> None:
        """Words in place of a yes, which have a suggestion's id, do not ask for it."""
        self._did.watched = self._did.watched or (self.progress and not turn.message.startswith("s"))

    def _cut_turn(self) -> None:
        assert self.turn is not None
        self._send("stream_end", reason="cancelled", id=self.turn.message)
        self._did.ended += 1
        self.turn = None

    def _cancel_one(self, id: str) -> None:
        if id in self.queue:
            self._end_queue(id)
            return
        for suggestion, offer in self.offers.items():
            if offer.message == id:
                if offer.state == "live":
                    self._lapse(suggestion, "cancelled")
                    self._after_lapse()
                elif offer.state == "waiting":
                    self._cancel_waiting(suggestion)
                elif offer.state == "running":
                    self._stop()

    def _cancel_waiting(self, id: str | None = None) -> None:
        for each in [each for each in self.waiting if id in (None, each)]:
            self.waiting.remove(each)
            self.offers[each].state = "cancelled"
            self._executed(each, {"cancelled": True})

    def _stop(self) -> None:
        """Ask the running action to stop: once, and without effect when it has begun."""
        self._did.stopped = not self._asked
        self._asked = True

    def _end_queue(self, id: str | None = None) -> None:
        for each in [each for each in self.queue if id in (None, each)]:
            self.queue.remove(each)
            self._send("stream_end", reason="cancelled", id=each)

    def _close_live(self) -> None:
        for id in self.live:
            self._lapse(id, "cancelled")

    def _lapse(self, id: str, how: str) -> None:
        self.offers[id].state = how
        self._send("action_closed", suggestionId=id, reason=how)

    def _after_lapse(self) -> None:
        if self.state == "awaiting_confirmation" and not self.live:
            self.state = "idle"

    def _hear(self, turn: Turn, event: Heard) -> None:
        """Take what the Brain said, when no text that must be spoken first is in the way."""
        match self.state, event.kind:
            case "buffering", "begun":
                turn.drafting = True
                self._watch(turn)
            case "buffering", "drafted":
                self.state = "verifying"
                self._watch(turn)
            case "verifying", "redraft":
                self.state = "buffering"
                self._watch(turn)
            case ("verifying", "verified") | (_, "refused"):
                assert event.words is not None
                turn.said.append(event.words)
                turn.told = ""
                turn.unspoken += 1
                turn.complete = event.last
                turn.offers = event.offers if event.last else ()
                self._did.spoke.append((event.words.text, event.last))
                self.state = "streaming"
            case _, "fault":
                self._send("error", code="internal", id=turn.message)
                self._hear(turn, Heard("refused", event.words))
            case "buffering", "act":
                assert event.wants is not None
                self._act(turn, event.wants)
            case _:
                self._did.distrusted = True

    def _act(self, turn: Turn, wants: Wanted) -> None:
        """Make a call now, whatever was confirmed; nothing while going down, nor what its user has to approve."""
        if self.draining:
            self._resume(turn, "cancelled")
        elif wants.needs_approval:
            self.offers[wants.id] = Offer(turn.message, 0.0, wants.payload, state="cancelled")
            self._resume(turn, None)
        else:
            self.offers[wants.id] = Offer(
                turn.message, 0.0, wants.payload, state="running", confirmed=True, inside=wants.action
            )
            turn.waits = True
            self.state = "executing"
            self._watch(turn)
            self.running, self._asked = wants.id, False
            self._did.ran.append((wants.id, wants.payload))

    def _resume(self, turn: Turn, status: str | None) -> None:
        """Let the turn go on after its call."""
        turn.waits = False
        self.state = "buffering"
        self._did.resumed.append(status)
        self._watch(turn)
        self._take_up(turn)

    def _take_up(self, turn: Turn) -> None:
        """Hear what came meanwhile, until something must be spoken or done first."""
        while (
            turn.held
            and self.state not in ("streaming", "executing")
            and not (turn.complete or self._did.distrusted)
        ):
            self._hear(turn, turn.held.popleft())

    def _answer(self, turn: Turn) -> None:
        final = turn.said[-1]
        citations: list[Frame] = []
        for words in turn.said:
            citations += [each for each in words.citations if each not in citations]
        response: Frame = {
            "text": "".join(words.text for words in turn.said),
            "citations": [each | {"source": place} for place, each in enumerate(citations, 1)],
            "id": turn.message,
            "confidence": final.confidence,
        }
        if final.blocked is not None:
            response["blocked"] = final.blocked
        self._send("stream_end", reason="done", id=turn.message)
        self._send("response", **response)

    def _offer(self, offered: Offered, message: str, now: float, wall_ms: int) -> None:
        self.offers[offered.id] = Offer(
            message,
            now + CONFIRM_SECONDS,
            offered.payload,
            offered.missing,
            tool=bool(offered.shown),
            item=offered.item,
        )
        self._send(
            "action_suggestion",
            suggestionId=offered.id,
            action=offered.action,
            payload=offered.payload,
            id=message,
            expiresAt=wall_ms + CONFIRM_SECONDS * 1000,
            **({"missing": list(offered.missing)} if offered.missing else {}),
            **dict(offered.shown),
        )

    def _settle(self) -> None:
        """A turn or an action has ended: a waiting confirm first, then the queue."""
        if self.waiting:
            id = self.waiting.popleft()
            self.offers[id].state = "running"
            self.running, self._asked = id, False
            self.state = "executing"
            self._did.ran.append((id, self.offers[id].payload))
        elif self.draining:
            self._shut(1012)
        elif self.queue:
            self._begin(self.queue.popleft())
        else:
            self.state = "awaiting_confirmation" if self.live else "idle"

    def _shut(self, code: int) -> None:
        if self.turn is not None:
            self._cut_turn()
        self._cancel_waiting()
        self._end_queue()
        self._close_live()
        if self.running is not None:
            self._did.let_go = True  # the runner's from here on, with its own deadline
        self.running = None
        self.state = "closed"
        self._did.close = code

    def _token(self, now: float) -> bool:
        if not self._rate:
            return True
        self._tokens = min(2 * self._rate, self._tokens + (now - self._tokens_at) * self._rate)
        self._tokens_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
