"""The state table of a suggestion, and the suggestion itself.

A suggestion belongs to the session that made it; before it is confirmed, it is stored nowhere else. Its table answers
every confirm, reject and cancel in any state of the session; only accepted steps reach the session's table. The deeds
in the last column are methods of the session's core.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..fsm import StateTable, TableWord, TransitionRow, make_rows
from ..intents.fields import TOO_LARGE, explain_mismatch
from ..ports.action import Payload
from ..ports.brain import Proposal, Question
from ..protocol.payload import is_valid_payload


class SuggestionState(TableWord):
    """The states of a suggestion; the last seven are final."""

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


class SuggestionStep(TableWord):
    """The events that can happen to a suggestion."""

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


class SuggestionGuard(TableWord):
    """The conditions of a row."""

    LATE = "late"
    DRAINING = "draining"
    INCOMPLETE = "incomplete"
    EDIT_INVALID = "edit_invalid"
    NEEDS_APPROVAL = "needs_approval"
    THEIRS = "theirs"
    WAS_CONFIRMED = "was_confirmed"


class SuggestionDeed(TableWord):
    """The effects of a row."""

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


SuggestionRow: TypeAlias = TransitionRow[SuggestionState, SuggestionStep, SuggestionGuard, SuggestionDeed]
SuggestionTable: TypeAlias = StateTable[SuggestionState, SuggestionStep, SuggestionGuard, SuggestionDeed]

_ENDED_RUN = (SuggestionState.DONE, SuggestionState.FAILED, SuggestionState.UNKNOWN)
_CLOSED = (
    SuggestionState.CANCELLED,
    SuggestionState.REJECTED,
    SuggestionState.EXPIRED,
    SuggestionState.ANSWERED,
)

TABLE: SuggestionTable = StateTable(
    title="Suggestion",
    states=SuggestionState,
    triggers=SuggestionStep,
    guards=SuggestionGuard,
    deeds=SuggestionDeed,
    initial=SuggestionState.SUGGESTED,
    rows=(
        TransitionRow(
            SuggestionStep.GRANT,
            SuggestionState.SUGGESTED,
            SuggestionGuard.NEEDS_APPROVAL,
            SuggestionState.CANCELLED,
            (SuggestionDeed.REFUSE_GRANT,),
        ),
        TransitionRow(
            SuggestionStep.GRANT,
            SuggestionState.SUGGESTED,
            SuggestionGuard.THEIRS,
            SuggestionState.CONFIRMED,
            (SuggestionDeed.HAND_OVER,),
        ),
        TransitionRow(
            SuggestionStep.GRANT,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.CONFIRMED,
            (SuggestionDeed.GRANTED,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            SuggestionGuard.LATE,
            SuggestionState.EXPIRED,
            (SuggestionDeed.EXPIRED_UNSEEN,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            SuggestionGuard.THEIRS,
            SuggestionState.CONFIRMED,
            (SuggestionDeed.RELEASE,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            SuggestionGuard.DRAINING,
            None,
            (SuggestionDeed.TURN_AWAY_CONFIRM,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            SuggestionGuard.EDIT_INVALID,
            None,
            (SuggestionDeed.REFUSE_EDIT,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            SuggestionGuard.INCOMPLETE,
            None,
            (SuggestionDeed.ASK_TO_FILL_IN,),
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.CONFIRMED,
            (SuggestionDeed.CONFIRMED,),
        ),
        *make_rows(
            SuggestionStep.CONFIRM,
            (SuggestionState.CONFIRMED, SuggestionState.CLAIMED, *_ENDED_RUN),
            None,
            None,
            SuggestionDeed.ANSWER_IGNORED,
        ),
        TransitionRow(
            SuggestionStep.CONFIRM,
            SuggestionState.CANCELLED,
            SuggestionGuard.WAS_CONFIRMED,
            None,
            (SuggestionDeed.ANSWER_IGNORED,),
        ),
        *make_rows(
            SuggestionStep.CONFIRM,
            (SuggestionState.CANCELLED, SuggestionState.REJECTED, SuggestionState.ANSWERED),
            None,
            None,
            SuggestionDeed.ANSWER_CANCELLED,
        ),
        TransitionRow(
            SuggestionStep.CONFIRM, SuggestionState.EXPIRED, None, None, (SuggestionDeed.ANSWER_EXPIRED,)
        ),
        TransitionRow(
            SuggestionStep.REJECT,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.REJECTED,
            (SuggestionDeed.LAPSED, SuggestionDeed.DECLINE),
        ),
        TransitionRow(
            SuggestionStep.REJECT,
            SuggestionState.CONFIRMED,
            None,
            SuggestionState.CANCELLED,
            (SuggestionDeed.WITHDRAW,),
        ),
        TransitionRow(
            SuggestionStep.REJECT, SuggestionState.CLAIMED, None, None, (SuggestionDeed.STOP_ACTION,)
        ),
        *make_rows(SuggestionStep.REJECT, _ENDED_RUN, None, None, SuggestionDeed.ANSWER_IGNORED),
        *make_rows(SuggestionStep.REJECT, _CLOSED, None, None, SuggestionDeed.TELL_CLOSED),
        TransitionRow(
            SuggestionStep.ANSWER,
            SuggestionState.SUGGESTED,
            SuggestionGuard.LATE,
            SuggestionState.EXPIRED,
            (SuggestionDeed.EXPIRED_UNSEEN,),
        ),
        TransitionRow(
            SuggestionStep.ANSWER,
            SuggestionState.SUGGESTED,
            SuggestionGuard.DRAINING,
            None,
            (SuggestionDeed.TURN_AWAY_CONFIRM,),
        ),
        TransitionRow(
            SuggestionStep.ANSWER,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.ANSWERED,
            (SuggestionDeed.LAPSED, SuggestionDeed.TAKE_ANSWER),
        ),
        *make_rows(
            SuggestionStep.ANSWER,
            (SuggestionState.CONFIRMED, SuggestionState.CLAIMED, *_ENDED_RUN),
            None,
            None,
            SuggestionDeed.ANSWER_IGNORED,
        ),
        *make_rows(SuggestionStep.ANSWER, _CLOSED, None, None, SuggestionDeed.TELL_CLOSED),
        TransitionRow(
            SuggestionStep.CANCEL,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.CANCELLED,
            (SuggestionDeed.LAPSED,),
        ),
        TransitionRow(
            SuggestionStep.CANCEL,
            SuggestionState.CONFIRMED,
            None,
            SuggestionState.CANCELLED,
            (SuggestionDeed.WITHDRAW,),
        ),
        TransitionRow(
            SuggestionStep.CANCEL, SuggestionState.CLAIMED, None, None, (SuggestionDeed.STOP_ACTION,)
        ),
        TransitionRow(
            SuggestionStep.EXPIRE,
            SuggestionState.SUGGESTED,
            None,
            SuggestionState.EXPIRED,
            (SuggestionDeed.LAPSED,),
        ),
        TransitionRow(SuggestionStep.CLAIM, SuggestionState.CONFIRMED, None, SuggestionState.CLAIMED),
        TransitionRow(SuggestionStep.DONE, SuggestionState.CLAIMED, None, SuggestionState.DONE),
        TransitionRow(SuggestionStep.FAILED, SuggestionState.CLAIMED, None, SuggestionState.FAILED),
        TransitionRow(SuggestionStep.CANCELLED, SuggestionState.CLAIMED, None, SuggestionState.CANCELLED),
        TransitionRow(SuggestionStep.UNKNOWN, SuggestionState.CLAIMED, None, SuggestionState.UNKNOWN),
    ),
)


class Suggestion:
    """An action that waits for its user's confirmation, or runs without one if its definition allows.

    `id`: unguessable. `question`: the message that led to it. `deadline`: seconds on the loop's clock; a confirm at or
    after it is late. `payload`: the arguments of the run, once confirmed. `missing`: the fields that a confirm must
    fill in. `scope`: its owner. `answer`: the user's message in place of a yes. `runs_at`: names its executor.
    `item`: the memory item that it would make live. The table's guards read `late` and `draining`, which
    `set_conditions` sets, and `incomplete` and `edit_invalid`, which `read_payload` sets.
    """

    __slots__ = (
        "_accepts",
        "_confirmed_payload",
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
        "runs_at",
        "scope",
        "sources",
        "spoiled",
        "state",
        "tools",
        "was_confirmed",
    )

    def __init__(self, suggestion_id: str, proposal: Proposal, question: Question, deadline: float) -> None:
        self.id = suggestion_id
        self.action = proposal.action
        self.payload = proposal.payload
        self.message = question.id
        self.lang = question.lang
        self.scope = question.scope
        self.tools = question.tools
        self.deadline = deadline
        self.state = SuggestionState.SUGGESTED
        self.was_confirmed = False
        self.late = False
        self.draining = False
        self.missing = proposal.missing
        self.needs_approval = proposal.needs_approval
        self.runs_at = proposal.runs_at
        self.risk = proposal.risk
        self.sources = proposal.sources
        self.item = proposal.item
        self.lacks: str | None = None
        self.spoiled: str | None = None
        self.answer = ""
        self._accepts = proposal.accepts
        self._confirmed_payload: Payload = proposal.payload

    @property
    def incomplete(self) -> bool:
        """Whether the last confirm fails to fill in exactly the missing fields."""
        return self.lacks is not None

    @property
    def edit_invalid(self) -> bool:
        """Whether the last confirm has edited arguments that the tool does not accept."""
        return self.spoiled is not None

    def read_payload(self, payload: Mapping[str, Any] | None, fills_in: bool) -> None:
        """Read the payload of a confirm; `lacks` or `spoiled` then hold the sentence that explains a refusal.

        For a tool's call the payload replaces the arguments; otherwise it fills in fields by name. `fills_in`: the
        client knows of missing fields, so that a confirm without a payload fills in nothing; otherwise such a confirm
        accepts the suggestion as shown. The payload takes effect only in `apply_payload`.
        """
        self._confirmed_payload, self.lacks, self.spoiled = self.payload, None, None
        if self._accepts is not None:
            self._read_edit(payload)
        elif payload is not None or fills_in:
            self._read_filled(payload or {})

    def apply_payload(self) -> None:
        """Make the payload of the confirm the suggestion's own: once, since a confirmed suggestion does not change."""
        self.payload = self._confirmed_payload

    def release_data(self) -> None:
        """Drop the data that only a call that may still run needs: many suggestions are kept, to answer late
        confirms.
        """
        self.payload, self._confirmed_payload, self.sources, self.tools, self.answer = {}, {}, {}, (), ""
        self._accepts = self.spoiled = None

    def _read_edit(self, payload: Mapping[str, Any] | None) -> None:
        if payload is None or self._accepts is None:
            return
        self.spoiled = self._accepts(payload) if is_valid_payload(payload) else TOO_LARGE
        if self.spoiled is None:
            self._confirmed_payload = payload

    def _read_filled(self, filled: Mapping[str, Any]) -> None:
        self.lacks = explain_mismatch(self.missing, filled)
        if self.lacks is None:
            payload = {**self.payload, **{name: value.strip() for name, value in filled.items()}}
            if is_valid_payload(payload):
                self._confirmed_payload = payload
            else:
                self.lacks = TOO_LARGE

    def set_conditions(self, now: float, draining: bool) -> None:
        """Set the values that guards read: the time (seconds on the loop's clock), and whether the server is going
        down.
        """
        self.late = now >= self.deadline
        self.draining = draining
