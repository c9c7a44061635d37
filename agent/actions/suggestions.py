"""A suggestion's own state table, and the suggestion itself.

A suggestion belongs to the session that made it; until it is confirmed nothing of it is stored anywhere else. Its
table answers every confirm, reject and cancel in whatever state the session is; only what it accepts reaches the
session's table. What the last column says is done by the session's core, which has the method for each deed.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..fsm import Row, Table, Word, rows
from ..ports.action import Payload
from ..ports.brain import Proposal, Question
from ..protocol.payload import fits
from .fields import TOO_LARGE, lacking


class Status(Word):
    """How far a suggestion has come; the last seven are final."""

    SUGGESTED = "suggested"
    CONFIRMED = "confirmed"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"
    ANSWERED = "answered"


class Step(Word):
    """What can happen to a suggestion."""

    GRANT = "grant"
    CONFIRM = "confirm"
    REJECT = "reject"
    ANSWER = "answer"
    CANCEL = "cancel"
    EXPIRE = "expire"
    CLAIM = "claim"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Guard(Word):
    """What a row can ask for."""

    LATE = "late"
    DRAINING = "draining"
    INCOMPLETE = "incomplete"
    EDIT_INVALID = "edit_invalid"
    NEEDS_APPROVAL = "needs_approval"
    THEIRS = "theirs"
    WAS_CONFIRMED = "was_confirmed"


class Deed(Word):
    """What a row can do."""

    EXPIRED_UNSEEN = "expired_unseen"
    TURN_AWAY_CONFIRM = "turn_away_confirm"
    ASK_TO_FILL_IN = "ask_to_fill_in"
    CONFIRMED = "confirmed"
    ANSWER_IGNORED = "answer_ignored"
    ANSWER_CANCELLED = "answer_cancelled"
    ANSWER_EXPIRED = "answer_expired"
    LAPSED = "lapsed"
    WITHDRAW = "withdraw"
    STOP_ACTION = "stop_action"
    TELL_CLOSED = "tell_closed"
    GRANTED = "granted"
    REFUSE_GRANT = "refuse_grant"
    REFUSE_EDIT = "refuse_edit"
    TAKE_ANSWER = "take_answer"
    RELEASE = "release"
    HAND_OVER = "hand_over"
    DECLINE = "decline"


SuggestionRow: TypeAlias = Row[Status, Step, Guard, Deed]
SuggestionTable: TypeAlias = Table[Status, Step, Guard, Deed]

_ENDED_RUN = (Status.DONE, Status.FAILED, Status.UNKNOWN)
_CLOSED = (Status.CANCELLED, Status.REJECTED, Status.EXPIRED, Status.ANSWERED)

TABLE: SuggestionTable = Table(
    title="Suggestion",
    states=Status,
    triggers=Step,
    guards=Guard,
    deeds=Deed,
    initial=Status.SUGGESTED,
    rows=(
        Row(Step.GRANT, Status.SUGGESTED, Guard.NEEDS_APPROVAL, Status.CANCELLED, (Deed.REFUSE_GRANT,)),
        Row(Step.GRANT, Status.SUGGESTED, Guard.THEIRS, Status.CONFIRMED, (Deed.HAND_OVER,)),
        Row(Step.GRANT, Status.SUGGESTED, None, Status.CONFIRMED, (Deed.GRANTED,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.LATE, Status.EXPIRED, (Deed.EXPIRED_UNSEEN,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.THEIRS, Status.CONFIRMED, (Deed.RELEASE,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.DRAINING, None, (Deed.TURN_AWAY_CONFIRM,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.EDIT_INVALID, None, (Deed.REFUSE_EDIT,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.INCOMPLETE, None, (Deed.ASK_TO_FILL_IN,)),
        Row(Step.CONFIRM, Status.SUGGESTED, None, Status.CONFIRMED, (Deed.CONFIRMED,)),
        *rows(Step.CONFIRM, (Status.CONFIRMED, Status.CLAIMED, *_ENDED_RUN), None, None, Deed.ANSWER_IGNORED),
        Row(Step.CONFIRM, Status.CANCELLED, Guard.WAS_CONFIRMED, None, (Deed.ANSWER_IGNORED,)),
        *rows(
            Step.CONFIRM,
            (Status.CANCELLED, Status.REJECTED, Status.ANSWERED),
            None,
            None,
            Deed.ANSWER_CANCELLED,
        ),
        Row(Step.CONFIRM, Status.EXPIRED, None, None, (Deed.ANSWER_EXPIRED,)),
        Row(Step.REJECT, Status.SUGGESTED, None, Status.REJECTED, (Deed.LAPSED, Deed.DECLINE)),
        Row(Step.REJECT, Status.CONFIRMED, None, Status.CANCELLED, (Deed.WITHDRAW,)),
        Row(Step.REJECT, Status.CLAIMED, None, None, (Deed.STOP_ACTION,)),
        *rows(Step.REJECT, _ENDED_RUN, None, None, Deed.ANSWER_IGNORED),
        *rows(Step.REJECT, _CLOSED, None, None, Deed.TELL_CLOSED),
        Row(Step.ANSWER, Status.SUGGESTED, Guard.LATE, Status.EXPIRED, (Deed.EXPIRED_UNSEEN,)),
        Row(Step.ANSWER, Status.SUGGESTED, Guard.DRAINING, None, (Deed.TURN_AWAY_CONFIRM,)),
        Row(Step.ANSWER, Status.SUGGESTED, None, Status.ANSWERED, (Deed.LAPSED, Deed.TAKE_ANSWER)),
        *rows(Step.ANSWER, (Status.CONFIRMED, Status.CLAIMED, *_ENDED_RUN), None, None, Deed.ANSWER_IGNORED),
        *rows(Step.ANSWER, _CLOSED, None, None, Deed.TELL_CLOSED),
        Row(Step.CANCEL, Status.SUGGESTED, None, Status.CANCELLED, (Deed.LAPSED,)),
        Row(Step.CANCEL, Status.CONFIRMED, None, Status.CANCELLED, (Deed.WITHDRAW,)),
        Row(Step.CANCEL, Status.CLAIMED, None, None, (Deed.STOP_ACTION,)),
        Row(Step.EXPIRE, Status.SUGGESTED, None, Status.EXPIRED, (Deed.LAPSED,)),
        Row(Step.CLAIM, Status.CONFIRMED, None, Status.CLAIMED),
        Row(Step.DONE, Status.CLAIMED, None, Status.DONE),
        Row(Step.FAILED, Status.CLAIMED, None, Status.FAILED),
        Row(Step.CANCELLED, Status.CLAIMED, None, Status.CANCELLED),
        Row(Step.UNKNOWN, Status.CLAIMED, None, Status.UNKNOWN),
    ),
)


class Suggestion:
    """An action that waits for its user's word, or runs by its definition's.

    id: unguessable. asked: the message that led to it. deadline: seconds on the loop's clock; a confirm that arrives
    at or after it is late. payload: what runs, once it is confirmed; `missing` are the fields that a confirm must fill
    in. scope: whose it is. answer: what its user said in place of a yes. theirs: the caller runs it, not the server.
    item: what it would have remembered. `late` and `draining` are what its table's guards see: set by `see`;
    `incomplete` and `edit_invalid` are set by `hear`.
    """

    __slots__ = (
        "_accepts",
        "_heard",
        "action",
        "answer",
        "deadline",
        "draining",
        "id",
        "item",
        "lacks",
        "lang",
        "late",
        "message",
        "missing",
        "needs_approval",
        "payload",
        "risk",
        "scope",
        "sources",
        "spoiled",
        "state",
        "theirs",
        "tools",
        "was_confirmed",
    )

    def __init__(self, suggestion_id: str, proposal: Proposal, asked: Question, deadline: float) -> None:
        self.id = suggestion_id
        self.action = proposal.action
        self.payload = proposal.payload
        self.message = asked.id
        self.lang = asked.lang
        self.scope = asked.scope
        self.tools = asked.tools
        self.deadline = deadline
        self.state = Status.SUGGESTED
        self.was_confirmed = False
        self.late = False
        self.draining = False
        self.missing = proposal.missing
        self.needs_approval = proposal.needs_approval
        self.theirs = proposal.runs_at == "caller"
        self.risk = proposal.risk
        self.sources = proposal.sources
        self.item = proposal.item
        self.lacks: str | None = None
        self.spoiled: str | None = None
        self.answer = ""
        self._accepts = proposal.accepts
        self._heard: Payload = proposal.payload

    @property
    def incomplete(self) -> bool:
        """Whether the confirm that was heard last does not fill in what is missing, or not only that."""
        return self.lacks is not None

    @property
    def edit_invalid(self) -> bool:
        """Whether the confirm that was heard last has other arguments, which the tool does not take."""
        return self.spoiled is not None

    def hear(self, payload: Mapping[str, Any] | None, held: bool) -> None:
        """Take in the payload of a confirm; `lacks` or `spoiled` say then what it should do in place of that.

        Of a tool's call it stands in place of the arguments; else it fills in fields by their names. held: without
        one it fills in nothing; else it comes from a client that knows nothing of missing fields, and confirms what it
        was shown. Nothing of it counts before `complete`.
        """
        self._heard, self.lacks, self.spoiled = self.payload, None, None
        if self._accepts is not None:
            self._hear_edit(payload)
        elif payload is not None or held:
            self._hear_filled(payload or {})

    def complete(self) -> None:
        """Make the payload what was heard with the confirm: once, for what is confirmed does not change."""
        self.payload = self._heard

    def let_go(self) -> None:
        """Let go of what only a call that may still run needs: many are remembered, to be answered for."""
        self.payload, self._heard, self.sources, self.tools, self.answer = {}, {}, {}, (), ""
        self._accepts = self.spoiled = None

    def _hear_edit(self, payload: Mapping[str, Any] | None) -> None:
        if payload is None or self._accepts is None:
            return
        self.spoiled = self._accepts(payload) if fits(payload) else TOO_LARGE
        if self.spoiled is None:
            self._heard = payload

    def _hear_filled(self, filled: Mapping[str, Any]) -> None:
        self.lacks = lacking(self.missing, filled)
        if self.lacks is None:
            heard = {**self.payload, **{name: value.strip() for name, value in filled.items()}}
            if fits(heard):
                self._heard = heard
            else:
                self.lacks = TOO_LARGE

    def see(self, now: float, draining: bool) -> None:
        """Tell the guards the time (seconds on the loop's clock) and whether the server is going down."""
        self.late = now >= self.deadline
        self.draining = draining
