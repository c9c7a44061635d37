"""The frames that a session sends about its suggestions and actions: one method for each of them."""

from collections.abc import Mapping
from typing import Any

from ..actions.suggestions import Suggestion, SuggestionState
from ..config import MAX_ID
from ..ports.brain import Proposal
from ..protocol.outbound import ActionClosed, ActionExecuted, ActionSuggestion, Error
from .core_output import CoreOutput

EXPIRED: Mapping[str, Any] = {"expired": True}
_IGNORED: Mapping[str, Any] = {"ignored": True}
_CLOSED_AS: dict[SuggestionState, Any] = {
    SuggestionState.EXPIRED: "expired",
    SuggestionState.REJECTED: "rejected",
    SuggestionState.CANCELLED: "cancelled",
    SuggestionState.ANSWERED: "answered",
}


class SuggestionNotices:
    """Tells one client of its suggestions. `seconds`: the time in which a suggestion can be confirmed."""

    __slots__ = ("_out", "_seconds")

    def __init__(self, out: CoreOutput, seconds: float) -> None:
        self._out = out
        self._seconds = seconds

    def send_suggestion(self, suggestion: Suggestion, proposal: Proposal) -> None:
        """Send a suggestion, or a call that is handed over."""
        self._out.send_frame(
            ActionSuggestion(
                suggestion_id=suggestion.id,
                action=proposal.action,
                payload=proposal.payload,
                id=suggestion.message,
                expires_at=self._out.wall_ms + round(self._seconds * 1000),
                missing=proposal.missing,
                risk=proposal.risk,
                sources=proposal.sources,
                why=proposal.why,
                approved=proposal.handed_over,
                heard=suggestion.heard,
            )
        )

    def send_closed(self, suggestion: Suggestion) -> None:
        """Send why a suggestion can no longer be confirmed."""
        self._out.send_frame(ActionClosed(suggestion.id, _CLOSED_AS[suggestion.state]))
        self._out.record_fact("suggestions", _CLOSED_AS[suggestion.state], suggestion_id=suggestion.id)

    def send_executed(self, suggestion: Suggestion, result: Mapping[str, Any]) -> None:
        """Send the result of a confirm, or of a call inside a turn."""
        if suggestion.needs_approval:
            self._out.send_frame(ActionExecuted(suggestion.id, result))
        else:  # the client has seen no suggestion of this call
            self._out.send_frame(
                ActionExecuted(
                    suggestion.id, result, suggestion.action, suggestion.payload, suggestion.message
                )
            )

    def send_ignored(self, suggestion: Suggestion) -> None:
        """Answer a repeated confirm: the action is not run again."""
        self._out.send_frame(ActionExecuted(suggestion.id, _IGNORED))

    def refuse_unknown(self, suggestion_id: str) -> None:
        """Refuse an unknown suggestion; an id that is longer than the server's own is not repeated."""
        self._out.send_frame(
            Error(
                code="unknown_suggestion",
                message="No such suggestion was made here; use a suggestionId from an action_suggestion.",
                suggestion_id=suggestion_id if len(suggestion_id) <= MAX_ID else None,
            )
        )
        self._out.record_fact("errors", "unknown_suggestion")

    def refuse_while_draining(self, suggestion: Suggestion) -> None:
        """Refuse a confirm while the server is going down."""
        self._out.send_frame(
            Error(
                code="shutting_down",
                message="The server is going down; nothing was run. Connect again in a moment.",
                suggestion_id=suggestion.id,
            )
        )
        self._out.record_fact("errors", "shutting_down")

    def refuse_incomplete(self, suggestion: Suggestion) -> None:
        """Refuse a confirm that leaves a missing field empty; another confirm may fill it in."""
        self._ask_again("bad_message", suggestion.incomplete_reason, suggestion)

    def refuse_edit(self, suggestion: Suggestion) -> None:
        """Refuse a confirm with arguments that the tool does not accept; another confirm may follow."""
        self._ask_again("bad_edit", suggestion.edit_reason, suggestion)

    def _ask_again(self, code: Any, why: str | None, suggestion: Suggestion) -> None:
        message = f"{why} Nothing was run; confirm again."
        self._out.send_frame(Error(code=code, message=message, suggestion_id=suggestion.id))
        self._out.record_fact("errors", code, suggestion_id=suggestion.id)
