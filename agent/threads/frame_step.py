"""What the frames of one step of a session mean for the rows of its thread. Nothing is stored here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..ports.calls import CallStatus, CallTransition, StoredCall
from ..ports.threads import MessageStatus, StoredMessage, TurnStep
from ..protocol.outbound import (
    ActionClosed,
    ActionExecuted,
    ActionSuggestion,
    Error,
    Outbound,
    Response,
    StreamEnd,
)
from .turn_rows import CurrentTurn, TurnRows

_REFUSALS = frozenset(("busy", "rate_limited", "shutting_down", "bad_message", "bad_edit"))
_CLOSED: frozenset[CallStatus] = frozenset(("cancelled", "expired"))


@dataclass(slots=True, kw_only=True)
class FrameStep:
    """The rows that the frames of one step add and move.

    `rows` makes them. `turn` is the turn in progress, and `number` the number of the last turn. `at`: Unix
    milliseconds. `message` is the id of the message that the step ends, and `status` its end.
    """

    rows: TurnRows
    turn: CurrentTurn | None
    number: int
    at: int
    message: str | None = None
    status: MessageStatus | None = None
    response: Response | None = None
    error: str | None = None  # the code of the refusal that ends the message
    answer: StoredMessage | None = None
    calls: list[StoredCall] = field(default_factory=list)  # new calls
    moves: list[CallTransition] = field(default_factory=list)
    results: list[StoredMessage] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)  # calls that end, or whose confirm is answered

    @property
    def has_content(self) -> bool:
        """Whether there is anything to store."""
        return bool(self.message or self.calls or self.moves or self.results)

    def add_frame(self, frame: Outbound) -> None:
        """Add the meaning of the next frame; most frames have none."""
        if isinstance(frame, StreamEnd) and frame.reason == "cancelled":
            self._end_message(frame.id, "cancelled")
        elif isinstance(frame, Response):
            self._add_response(frame)
        elif isinstance(frame, ActionSuggestion):
            self._add_suggestion(frame)
        elif isinstance(frame, ActionExecuted):
            self._add_execution(frame)
        elif isinstance(frame, ActionClosed):
            self._move_call(frame.suggestion_id, frame.reason)
            if frame.reason != "answered":
                self._end_answer(frame.suggestion_id)
        elif isinstance(frame, Error) and frame.code in _REFUSALS:
            self._add_refusal(frame)

    def make_turn_step(self) -> TurnStep:
        """Return the step as it is stored."""
        return TurnStep(
            project=self.rows.project,
            thread=self.rows.thread,
            message=self.message,
            status=self.status,
            at=self.at,
            answer=self.answer,
            calls=tuple(self.calls),
            moves=tuple(self.moves),
            tools=tuple(self.results),
        )

    def _add_response(self, response: Response) -> None:
        self._end_message(response.id, "refused" if response.blocked else "done")
        self.response = response
        if self.turn is not None:
            self.answer = self.rows.make_answer(self.turn, response, self.at)

    def _add_suggestion(self, frame: ActionSuggestion) -> None:
        turn = self.turn
        if turn is None:
            return
        call = self.rows.make_call(turn, frame.suggestion_id, frame.action, frame.payload, self.at)
        call = replace(
            call,
            risk=frame.risk or call.risk,
            sources=frame.sources,
            why=frame.why,
            missing=frame.missing,
            deadline=frame.expires_at or call.deadline,
        )
        if frame.approved:
            call = approve_by_definition(call, self.at)
        turn.suggested = True
        turn.calls.append(call.id)
        self.calls.append(call)

    def _add_execution(self, frame: ActionExecuted) -> None:
        status = _read_status(frame.result)
        if status is None:
            self.settled.append(frame.suggestion_id)
            return
        self._move_call(frame.suggestion_id, status, None if status in _CLOSED else dict(frame.result))
        if status == "failed":  # a call that could not be claimed has not run
            self._move_call(frame.suggestion_id, "cancelled")
        if status not in _CLOSED:
            self.results.append(self.rows.make_result(self.number, frame, self.at))

    def _add_refusal(self, frame: Error) -> None:
        refused = frame.id or frame.suggestion_id
        if frame.suggestion_id is not None:
            self._move_call(frame.suggestion_id, "cancelled")  # it was approved, and will never run
        if self.turn is not None and refused == self.turn.message:
            self._end_message(refused, "failed")
            self.error = frame.code

    def _end_answer(self, call: str) -> None:
        """End the turn of an answer to a suggestion which the session had dropped in the meantime."""
        if self.turn is not None and call == self.turn.message:
            self._end_message(call, "cancelled")

    def _end_message(self, message: str | None, status: MessageStatus) -> None:
        self.message, self.status = message, status

    def _move_call(self, call: str, status: CallStatus, result: Mapping[str, Any] | None = None) -> None:
        self.moves.append(CallTransition(call, status, result))
        self.settled.append(call)


def approve_by_definition(call: StoredCall, at: int) -> StoredCall:
    """Return `call` as one that its tool's definition approves, `at` Unix milliseconds."""
    return replace(call, status="confirmed", needs_approval=False, approved_by="definition", approved_at=at)


def _read_status(result: Mapping[str, Any]) -> CallStatus | None:
    """Return the end of a call that a result means, or `None` if it means none (the call was confirmed before)."""
    if result.get("cancelled"):
        return "cancelled"
    if result.get("expired"):
        return "expired"
    if result.get("ignored"):
        return None
    if result.get("success"):
        return "done"
    return "unknown" if result.get("unknown") else "failed"
