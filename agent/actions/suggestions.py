"""A suggestion's own state table, and the suggestion itself.

A suggestion belongs to the session that made it; until it is confirmed nothing of it is stored anywhere else. Its
table answers every confirm, reject and cancel in whatever state the session is; only what it accepts reaches the
session's table. The names in the last column are methods of the session's core.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from ..fsm import Row, Table, rows
from ..ports.action import Payload
from ..protocol.payload import fits
from .fields import TOO_LARGE, lacking


class Status(Enum):
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


class Step(Enum):
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


_ENDED_RUN = (Status.DONE, Status.FAILED, Status.UNKNOWN)

TABLE: Table[Status, Step] = Table(
    title="Suggestion",
    states=Status,
    triggers=Step,
    initial=Status.SUGGESTED,
    rows=(
        Row(Step.CONFIRM, Status.SUGGESTED, "late", Status.EXPIRED, ("expired_unseen",)),
        Row(Step.CONFIRM, Status.SUGGESTED, "draining", None, ("turn_away_confirm",)),
        Row(Step.CONFIRM, Status.SUGGESTED, "incomplete", None, ("ask_to_fill_in",)),
        Row(Step.CONFIRM, Status.SUGGESTED, None, Status.CONFIRMED, ("confirmed",)),
        *rows(Step.CONFIRM, (Status.CONFIRMED, Status.CLAIMED, *_ENDED_RUN), None, None, "answer_ignored"),
        Row(Step.CONFIRM, Status.CANCELLED, "was_confirmed", None, ("answer_ignored",)),
        *rows(Step.CONFIRM, (Status.CANCELLED, Status.REJECTED), None, None, "answer_cancelled"),
        Row(Step.CONFIRM, Status.EXPIRED, None, None, ("answer_expired",)),
        Row(Step.REJECT, Status.SUGGESTED, None, Status.REJECTED, ("lapsed",)),
        Row(Step.REJECT, Status.CONFIRMED, None, Status.CANCELLED, ("withdraw",)),
        Row(Step.REJECT, Status.CLAIMED, None, None, ("stop_action",)),
        *rows(Step.REJECT, _ENDED_RUN, None, None, "answer_ignored"),
        *rows(Step.REJECT, (Status.CANCELLED, Status.REJECTED, Status.EXPIRED), None, None, "tell_closed"),
        Row(Step.CANCEL, Status.SUGGESTED, None, Status.CANCELLED, ("lapsed",)),
        Row(Step.CANCEL, Status.CONFIRMED, None, Status.CANCELLED, ("withdraw",)),
        Row(Step.CANCEL, Status.CLAIMED, None, None, ("stop_action",)),
        Row(Step.EXPIRE, Status.SUGGESTED, None, Status.EXPIRED, ("lapsed",)),
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
