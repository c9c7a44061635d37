"""The state table of a suggestion, and the suggestion itself.

A suggestion belongs to the session that made it; before it is confirmed, it is stored nowhere else. Its table answers
every confirm, reject and cancel in any state of the session; only accepted steps reach the session's table.

A row reads: on a step (`_T`), in these states (`_S`), if the guard holds (`_G`), go to that state (`None` stays) and do
the deeds (`_D`). `session/actions.py` has one function for each guard and each deed.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..fsm import StateTable, TableWord, make_rows
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
    """A condition of a row; `session.actions.GUARDS` has the function for each."""

    LATE = "late"
    DRAINING = "draining"
    INCOMPLETE = "incomplete"
    EDIT_INVALID = "edit_invalid"
    NEEDS_APPROVAL = "needs_approval"
    RUNS_AT_CALLER = "runs_at_caller"
    WAS_CONFIRMED = "was_confirmed"


class SuggestionDeed(TableWord):
    """A step that a row has done after its transition; `session.actions.DEEDS` has the function for each."""

    EXPIRE_LATE_CONFIRM = "expire_late_confirm"
    REFUSE_WHILE_DRAINING = "refuse_while_draining"
    REFUSE_INCOMPLETE = "refuse_incomplete"
    ACCEPT_CONFIRM = "accept_confirm"
    SEND_IGNORED = "send_ignored"
    SEND_CANCELLED = "send_cancelled"
    SEND_EXPIRED = "send_expired"
    CLOSE_SUGGESTION = "close_suggestion"
    CANCEL_CONFIRMED = "cancel_confirmed"
    STOP_ACTION = "stop_action"
    SEND_CLOSED = "send_closed"
    RUN_GRANTED_CALL = "run_granted_call"
    REFUSE_UNAPPROVED = "refuse_unapproved"
    REFUSE_EDIT = "refuse_edit"
    HANDLE_ANSWER = "handle_answer"
    RELEASE_CALL = "release_call"
    HAND_OVER_CALL = "hand_over_call"
    DECLINE_ITEM = "decline_item"


SuggestionTable: TypeAlias = StateTable[SuggestionState, SuggestionStep, SuggestionGuard, SuggestionDeed]

_S, _T, _G, _D = SuggestionState, SuggestionStep, SuggestionGuard, SuggestionDeed

_ENDED_RUN = (_S.DONE, _S.FAILED, _S.UNKNOWN)
_CLOSED = (_S.CANCELLED, _S.REJECTED, _S.EXPIRED, _S.ANSWERED)

TABLE: SuggestionTable = StateTable(
    title="Suggestion",
    states=SuggestionState,
    triggers=SuggestionStep,
    guards=SuggestionGuard,
    deeds=SuggestionDeed,
    initial=_S.SUGGESTED,
    rows=(
        *make_rows(_T.GRANT, _S.SUGGESTED, _G.NEEDS_APPROVAL, _S.CANCELLED, _D.REFUSE_UNAPPROVED),
        *make_rows(_T.GRANT, _S.SUGGESTED, _G.RUNS_AT_CALLER, _S.CONFIRMED, _D.HAND_OVER_CALL),
        *make_rows(_T.GRANT, _S.SUGGESTED, None, _S.CONFIRMED, _D.RUN_GRANTED_CALL),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, _G.LATE, _S.EXPIRED, _D.EXPIRE_LATE_CONFIRM),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, _G.RUNS_AT_CALLER, _S.CONFIRMED, _D.RELEASE_CALL),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, _G.DRAINING, None, _D.REFUSE_WHILE_DRAINING),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, _G.EDIT_INVALID, None, _D.REFUSE_EDIT),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, _G.INCOMPLETE, None, _D.REFUSE_INCOMPLETE),
        *make_rows(_T.CONFIRM, _S.SUGGESTED, None, _S.CONFIRMED, _D.ACCEPT_CONFIRM),
        *make_rows(_T.CONFIRM, (_S.CONFIRMED, _S.CLAIMED, *_ENDED_RUN), None, None, _D.SEND_IGNORED),
        *make_rows(_T.CONFIRM, _S.CANCELLED, _G.WAS_CONFIRMED, None, _D.SEND_IGNORED),
        *make_rows(_T.CONFIRM, (_S.CANCELLED, _S.REJECTED, _S.ANSWERED), None, None, _D.SEND_CANCELLED),
        *make_rows(_T.CONFIRM, _S.EXPIRED, None, None, _D.SEND_EXPIRED),
        *make_rows(_T.REJECT, _S.SUGGESTED, None, _S.REJECTED, _D.CLOSE_SUGGESTION, _D.DECLINE_ITEM),
        *make_rows(_T.REJECT, _S.CONFIRMED, None, _S.CANCELLED, _D.CANCEL_CONFIRMED),
        *make_rows(_T.REJECT, _S.CLAIMED, None, None, _D.STOP_ACTION),
        *make_rows(_T.REJECT, _ENDED_RUN, None, None, _D.SEND_IGNORED),
        *make_rows(_T.REJECT, _CLOSED, None, None, _D.SEND_CLOSED),
        *make_rows(_T.ANSWER, _S.SUGGESTED, _G.LATE, _S.EXPIRED, _D.EXPIRE_LATE_CONFIRM),
        *make_rows(_T.ANSWER, _S.SUGGESTED, _G.DRAINING, None, _D.REFUSE_WHILE_DRAINING),
        *make_rows(_T.ANSWER, _S.SUGGESTED, None, _S.ANSWERED, _D.CLOSE_SUGGESTION, _D.HANDLE_ANSWER),
        *make_rows(_T.ANSWER, (_S.CONFIRMED, _S.CLAIMED, *_ENDED_RUN), None, None, _D.SEND_IGNORED),
        *make_rows(_T.ANSWER, _CLOSED, None, None, _D.SEND_CLOSED),
        *make_rows(_T.CANCEL, _S.SUGGESTED, None, _S.CANCELLED, _D.CLOSE_SUGGESTION),
        *make_rows(_T.CANCEL, _S.CONFIRMED, None, _S.CANCELLED, _D.CANCEL_CONFIRMED),
        *make_rows(_T.CANCEL, _S.CLAIMED, None, None, _D.STOP_ACTION),
        *make_rows(_T.EXPIRE, _S.SUGGESTED, None, _S.EXPIRED, _D.CLOSE_SUGGESTION),
        *make_rows(_T.CLAIM, _S.CONFIRMED, None, _S.CLAIMED),
        *make_rows(_T.DONE, _S.CLAIMED, None, _S.DONE),
        *make_rows(_T.FAILED, _S.CLAIMED, None, _S.FAILED),
        *make_rows(_T.CANCELLED, _S.CLAIMED, None, _S.CANCELLED),
        *make_rows(_T.UNKNOWN, _S.CLAIMED, None, _S.UNKNOWN),
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
        "edit_reason",
        "heard",
        "id",
        "incomplete_reason",
        "item",
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
        self.heard = question.follows_speech
        self.incomplete_reason: str | None = None
        self.edit_reason: str | None = None
        self.answer = ""
        self._accepts = proposal.accepts
        self._confirmed_payload: Payload = proposal.payload

    @property
    def incomplete(self) -> bool:
        """Whether the last confirm fails to fill in exactly the missing fields."""
        return self.incomplete_reason is not None

    @property
    def edit_invalid(self) -> bool:
        """Whether the last confirm has edited arguments that the tool does not accept."""
        return self.edit_reason is not None

    def read_payload(self, payload: Mapping[str, Any] | None, fills_in: bool) -> None:
        """Read the payload of a confirm; a refusal is explained by `incomplete_reason` or `edit_reason`, one sentence.

        For a tool's call the payload replaces the arguments; otherwise it fills in fields by name. `fills_in`: the
        client knows of missing fields, so that a confirm without a payload fills in nothing; otherwise such a confirm
        accepts the suggestion as shown. The payload takes effect only in `apply_payload`.
        """
        self._confirmed_payload, self.incomplete_reason, self.edit_reason = self.payload, None, None
        if self._accepts is not None:
            self._read_edit(payload)
        elif payload is not None or fills_in:
            self._read_filled(payload or {})

    def apply_payload(self) -> None:
        """Make the payload of the confirm the suggestion's own: once, since a confirmed suggestion does not change."""
        self.payload = self._confirmed_payload

    def release_data(self) -> None:
        """Drop the data that only a run needs: many closed suggestions are kept, to answer late confirms."""
        self.payload, self._confirmed_payload, self.sources, self.tools, self.answer = {}, {}, {}, (), ""
        self._accepts = self.edit_reason = None

    def _read_edit(self, payload: Mapping[str, Any] | None) -> None:
        if payload is None or self._accepts is None:
            return
        self.edit_reason = self._accepts(payload) if is_valid_payload(payload) else TOO_LARGE
        if self.edit_reason is None:
            self._confirmed_payload = payload

    def _read_filled(self, filled: Mapping[str, Any]) -> None:
        self.incomplete_reason = explain_mismatch(self.missing, filled)
        if self.incomplete_reason is None:
            payload = {**self.payload, **{name: value.strip() for name, value in filled.items()}}
            if is_valid_payload(payload):
                self._confirmed_payload = payload
            else:
                self.incomplete_reason = TOO_LARGE

    def set_conditions(self, now: float, draining: bool) -> None:
        """Set `late` and `draining`, which guards read. `now`: seconds on the loop's clock."""
        self.late = now >= self.deadline
        self.draining = draining
