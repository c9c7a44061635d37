"""What a session tells of its suggestions and actions: one method for each thing that there is to say."""

from collections.abc import Mapping
from typing import Any

from ..actions.suggestions import Status, Suggestion
from ..config import MAX_ID
from ..ports.brain import Proposal
from ..protocol.outbound import ActionClosed, ActionExecuted, ActionSuggestion, Error
from .out import Out

EXPIRED: Mapping[str, Any] = {"expired": True}
_IGNORED: Mapping[str, Any] = {"ignored": True}
_CLOSED_AS: dict[Status, Any] = {
    Status.EXPIRED: "expired",
    Status.REJECTED: "rejected",
    Status.CANCELLED: "cancelled",
    Status.ANSWERED: "answered",
}


class Telling:
    """Tells one client of its suggestions. seconds: in which one can be confirmed."""

    __slots__ = ("_out", "_seconds")

    def __init__(self, out: Out, seconds: float) -> None:
        self._out = out
        self._seconds = seconds

    def made(self, suggestion: Suggestion, proposal: Proposal) -> None:
        """Something is suggested, or handed over."""
        self._out.send(
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
            )
        )

    def closed(self, suggestion: Suggestion) -> None:
        """It can no longer be confirmed, and why."""
        self._out.send(ActionClosed(suggestion.id, _CLOSED_AS[suggestion.state]))
        self._out.note("suggestions", _CLOSED_AS[suggestion.state], suggestion_id=suggestion.id)

    def executed(self, suggestion: Suggestion, result: Mapping[str, Any]) -> None:
        """How a confirm, or a call in a turn, has ended."""
        if suggestion.needs_approval:
            self._out.send(ActionExecuted(suggestion.id, result))
        else:  # its client has not heard of it yet
            self._out.send(
                ActionExecuted(
                    suggestion.id, result, suggestion.action, suggestion.payload, suggestion.message
                )
            )

    def executed_before(self, suggestion: Suggestion) -> None:
        """It was confirmed before, and is not run again."""
        self._out.send(ActionExecuted(suggestion.id, _IGNORED))

    def unknown(self, suggestion_id: str) -> None:
        """There is no such suggestion; an id that no server makes is not repeated."""
        self._out.send(
            Error(
                code="unknown_suggestion",
                message="No such suggestion was made here; use a suggestionId from an action_suggestion.",
                suggestion_id=suggestion_id if len(suggestion_id) <= MAX_ID else None,
            )
        )
        self._out.note("errors", "unknown_suggestion")

    def turned_away(self, suggestion: Suggestion) -> None:
        """A confirm is refused: the server is going down."""
        self._out.send(
            Error(
                code="shutting_down",
                message="The server is going down; nothing was run. Connect again in a moment.",
                suggestion_id=suggestion.id,
            )
        )
        self._out.note("errors", "shutting_down")

    def incomplete(self, suggestion: Suggestion) -> None:
        """A confirm does not fill in what is missing; another one may."""
        self._again("bad_message", suggestion.lacks, suggestion)

    def bad_edit(self, suggestion: Suggestion) -> None:
        """A confirm has arguments that the tool does not take; another one may come."""
        self._again("bad_edit", suggestion.spoiled, suggestion)

    def _again(self, code: Any, why: str | None, suggestion: Suggestion) -> None:
        message = f"{why} Nothing was run; confirm again."
        self._out.send(Error(code=code, message=message, suggestion_id=suggestion.id))
        self._out.note("errors", code, suggestion_id=suggestion.id)
