"""A suggestion's own state table, and the suggestion itself.

A suggestion belongs to the session that made it; until it is confirmed nothing of it is stored anywhere else. Its
table answers every confirm, reject and cancel in whatever state the session is; only what it accepts reaches the
session's table. What the last column says is done by the session's core, which has the method for each deed.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..fsm import Row, Table, Word, rows
from ..ports.action import Payload
from ..protocol.payload import fits
from .fields import TOO_LARGE, lacking


class Status(Word):
    """How far a suggestion has come; the last six are final."""

    SUGGESTED = "suggested"
    CONFIRMED = "confirmed"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Step(Word):
    """What can happen to a suggestion."""

    CONFIRM = "confirm"
    REJECT = "reject"
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


SuggestionRow: TypeAlias = Row[Status, Step, Guard, Deed]
SuggestionTable: TypeAlias = Table[Status, Step, Guard, Deed]

_ENDED_RUN = (Status.DONE, Status.FAILED, Status.UNKNOWN)

TABLE: SuggestionTable = Table(
    title="Suggestion",
    states=Status,
    triggers=Step,
    guards=Guard,
    deeds=Deed,
    initial=Status.SUGGESTED,
    rows=(
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.LATE, Status.EXPIRED, (Deed.EXPIRED_UNSEEN,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.DRAINING, None, (Deed.TURN_AWAY_CONFIRM,)),
        Row(Step.CONFIRM, Status.SUGGESTED, Guard.INCOMPLETE, None, (Deed.ASK_TO_FILL_IN,)),
        Row(Step.CONFIRM, Status.SUGGESTED, None, Status.CONFIRMED, (Deed.CONFIRMED,)),
        *rows(Step.CONFIRM, (Status.CONFIRMED, Status.CLAIMED, *_ENDED_RUN), None, None, Deed.ANSWER_IGNORED),
        Row(Step.CONFIRM, Status.CANCELLED, Guard.WAS_CONFIRMED, None, (Deed.ANSWER_IGNORED,)),
        *rows(Step.CONFIRM, (Status.CANCELLED, Status.REJECTED), None, None, Deed.ANSWER_CANCELLED),
        Row(Step.CONFIRM, Status.EXPIRED, None, None, (Deed.ANSWER_EXPIRED,)),
        Row(Step.REJECT, Status.SUGGESTED, None, Status.REJECTED, (Deed.LAPSED,)),
        Row(Step.REJECT, Status.CONFIRMED, None, Status.CANCELLED, (Deed.WITHDRAW,)),
        Row(Step.REJECT, Status.CLAIMED, None, None, (Deed.STOP_ACTION,)),
        *rows(Step.REJECT, _ENDED_RUN, None, None, Deed.ANSWER_IGNORED),
        *rows(Step.REJECT, (Status.CANCELLED, Status.REJECTED, Status.EXPIRED), None, None, Deed.TELL_CLOSED),
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
    """An action that waits for its user's word.

    id: unguessable. message: the id of the message that led to it. deadline: seconds on the loop's clock; a confirm
    that arrives at or after it is late. missing: the fields that a confirm must fill in. `late` and `draining` are
    what its table's guards see: set by `see`; `incomplete` is set by `hear`.
    """

    __slots__ = (
        "_filled",
        "action",
        "deadline",
        "draining",
        "id",
        "lacks",
        "late",
        "message",
        "missing",
        "payload",
        "state",
        "was_confirmed",
    )

    def __init__(
        self,
        suggestion_id: str,
        action: str,
        payload: Payload,
        message: str,
        deadline: float,
        missing: tuple[str, ...] = (),
    ) -> None:
        self.id = suggestion_id
        self.action = action
        self.payload = payload
        self.message = message
        self.deadline = deadline
        self.state = Status.SUGGESTED
        self.was_confirmed = False
        self.late = False
        self.draining = False
        self.missing = missing
        self.lacks: str | None = None
        self._filled: Mapping[str, Any] = {}

    @property
    def incomplete(self) -> bool:
        """Whether the confirm that was heard last does not fill in what is missing, or not only that."""
        return self.lacks is not None

    def hear(self, filled: Mapping[str, Any] | None, held: bool) -> None:
        """Take in what a confirm fills in; `lacks` says then what it should do in place of that, or is None.

        filled: by the names of fields, None when the confirm has no payload. held: without one it fills in nothing;
        else it comes from a client that knows nothing of missing fields, and confirms what it was shown.
        Nothing of it counts before `complete`.
        """
        self._filled, self.lacks = {}, None
        if filled is None and not held:
            return
        self.lacks = lacking(self.missing, filled or {})
        if self.lacks is None:
            self._filled = {name: value.strip() for name, value in (filled or {}).items()}
            if not fits({**self.payload, **self._filled}):
                self.lacks = TOO_LARGE

    def complete(self) -> None:
        """Make what the confirm has filled in part of the payload: once, for what is confirmed does not change."""
        self.payload = {**self.payload, **self._filled}

    def see(self, now: float, draining: bool) -> None:
        """Tell the guards the time (seconds on the loop's clock) and whether the server is going down."""
        self.late = now >= self.deadline
        self.draining = draining
