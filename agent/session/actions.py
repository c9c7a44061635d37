"""The actions of a session: suggestions, confirmed actions that wait, and the one that runs.

A suggestion's own table (`actions/suggestions.py`) decides each confirm, reject, cancel and expiry; the methods of
its deeds are here. An accepted confirm goes on to the session's table.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeAlias

from ..actions.suggestions import (
    TABLE,
    Suggestion,
    SuggestionDeed,
    SuggestionGuard,
    SuggestionState,
    SuggestionStep,
    SuggestionTable,
)
from ..config import CONFIRM_SECONDS
from ..fsm import Engine
from ..ports.action import CANCELLED, Call, Outcome
from ..ports.brain import Proposal, Question
from ..ports.conversation import Scope
from ..protocol.inbound import ConfirmAction, RejectAction
from .core_output import CoreOutput, React
from .effects import ArmExpiry, DeclineItem, DetachAction, DisarmExpiry, RunAction, StopAction
from .events import CallRequested, LiveSuggestion, SuggestionExpired
from .settings import LIVE_SUGGESTIONS
from .states import SessionTrigger
from .suggestion_notices import EXPIRED, SuggestionNotices

SUGGESTIONS_REMEMBERED = 1024  # closed suggestions a session can still answer for

SuggestionEngine: TypeAlias = Engine[SuggestionState, SuggestionStep, SuggestionGuard, SuggestionDeed]

NOT_APPROVED: Mapping[str, Any] = {
    "success": False,
    "error": "This call needs its user's approval; suggest it first.",
}
_FINAL = frozenset(SuggestionState) - {
    SuggestionState.SUGGESTED,
    SuggestionState.CONFIRMED,
    SuggestionState.CLAIMED,
}


class SessionActions:
    """Suggestions and actions of one session.

    `engine`: runs the suggestions' table. `fills_in`: the client can fill in fields that a suggestion lacks, and no
    confirm runs before it has. `scope`: of a text that answers a suggestion in place of a yes. `stored_seconds`:
    seconds in which a suggestion can be confirmed, where suggestions are stored: then the store says when one has
    expired, and none ends with the session. `None` means `confirm_time` seconds, and none outlives the session. `live`:
    the suggestions that can be confirmed, oldest first.
    """

    __slots__ = (
        "_confirm_time",
        "_engine",
        "_fills_in",
        "_out",
        "_react",
        "_running",
        "_stored_seconds",
        "_suggestions",
        "_waiting",
        "live",
        "notices",
        "scope",
    )

    def __init__(
        self,
        out: CoreOutput,
        react: React,
        engine: "SuggestionEngine | None",
        fills_in: bool,
        scope: Scope,
        stored_seconds: float | None = None,
        confirm_time: float = CONFIRM_SECONDS,
    ) -> None:
        self._out = out
        self._react = react
        self._engine = engine or ENGINE
        self._fills_in = fills_in
        self.scope = scope
        self._stored_seconds = stored_seconds
        self._confirm_time = confirm_time
        self.notices: SuggestionNotices = SuggestionNotices(
            out, confirm_time if stored_seconds is None else stored_seconds
        )
        self.live: dict[str, Suggestion] = {}
        self._suggestions: dict[str, Suggestion] = {}  # those whose ids are still known, oldest first
        self._waiting: list[Suggestion] = []  # confirmed, not begun; few
        self._running: Suggestion | None = None

    # --- guards

    @property
    def any_live(self) -> bool:
        """Whether a suggestion can be confirmed."""
        return bool(self.live)

    @property
    def confirm_waits(self) -> bool:
        """Whether a confirmed action has not begun."""
        return bool(self._waiting)

    # --- frames, events and proposals

    def confirm(self, frame: ConfirmAction) -> None:
        """Handle a user's approval, with the fields that it fills in."""
        self._out.record_fact("confirms")
        self._answer(frame.suggestion_id, SuggestionStep.CONFIRM, frame.payload)

    def reject(self, frame: RejectAction) -> None:
        """Handle a user's refusal, or the text that answers in its place."""
        if frame.text is None:
            self._answer(frame.suggestion_id, SuggestionStep.REJECT)
        else:
            self._answer(frame.suggestion_id, SuggestionStep.ANSWER, words=frame.text)

    def _answer(
        self,
        suggestion_id: str,
        step: SuggestionStep,
        payload: Mapping[str, Any] | None = None,
        words: str = "",
    ) -> None:
        suggestion = self._suggestions.get(suggestion_id)
        if suggestion is None:
            self.notices.refuse_unknown(suggestion_id)
            return
        suggestion.set_conditions(self._out.now, self._out.draining)
        suggestion.read_payload(payload, self._fills_in)
        suggestion.answer = words
        self._fire_step(suggestion, step)

    def cancel_led_by(self, message: str) -> None:
        """Cancel the suggestions and actions that a message has led to."""
        for suggestion in list(self._suggestions.values()):
            if suggestion.message == message:
                self._fire_step(suggestion, SuggestionStep.CANCEL)

    def cancel_all(self) -> None:
        """Cancel all suggestions and actions, as `cancel_led_by` does."""
        for suggestion in list(self._suggestions.values()):
            self._fire_step(suggestion, SuggestionStep.CANCEL)

    def expire_suggestion(self, event: SuggestionExpired) -> None:
        """Expire a suggestion when its time is over."""
        suggestion = self._suggestions.get(event.suggestion_id)
        if suggestion is not None:
            self._fire_step(suggestion, SuggestionStep.EXPIRE)

    def suggest(self, suggestion_id: str, proposal: Proposal, question: Question) -> None:
        """Suggest a proposal, or hand it over when the caller runs it and no approval is needed."""
        suggestion = Suggestion(suggestion_id, proposal, question, self._deadline())
        if proposal.handed_over:
            self.notices.send_suggestion(suggestion, proposal)
            self._fire_step(suggestion, SuggestionStep.GRANT)
            return
        if len(self.live) >= LIVE_SUGGESTIONS:
            self._cancel_suggestion(next(iter(self.live.values())))
        self._make_live(suggestion)
        self.notices.send_suggestion(suggestion, proposal)
        self._out.record_fact("suggestions", "made", question.id, suggestion_id)

    def restore_live(self, live: Sequence[LiveSuggestion]) -> None:
        """Add suggestions of another session that are not known here; their client has seen them already."""
        for suggestion_id, proposal, question in live:
            if suggestion_id in self._suggestions:
                continue
            self._make_live(Suggestion(suggestion_id, proposal, question, self._deadline()))

    def _deadline(self) -> float:
        return inf if self._stored_seconds is not None else self._out.now + self._confirm_time

    def _make_live(self, suggestion: Suggestion) -> None:
        self._track(suggestion)
        self.live[suggestion.id] = suggestion
        if self._stored_seconds is None:
            self._out.add(ArmExpiry(suggestion.id))

    def grant_call(self, request: CallRequested, question: Question) -> None:
        """Run the call that a turn waits for, before confirmed actions; a call that needs approval is refused."""
        suggestion = Suggestion(request.suggestion_id, request.proposal, question, self._out.now)
        self._track(suggestion)
        self._fire_step(suggestion, SuggestionStep.GRANT)

    def _track(self, suggestion: Suggestion) -> None:
        self._suggestions[suggestion.id] = suggestion
        if len(self._suggestions) > SUGGESTIONS_REMEMBERED:
            oldest = next(each for each in self._suggestions.values() if each.state in _FINAL)
            del self._suggestions[oldest.id]

    # --- deeds of the session's table for actions

    def queue_action(self, suggestion: Suggestion) -> None:
        """Queue a confirmed action."""
        self._waiting.append(suggestion)

    def run_next_action(self) -> None:
        """Hand the oldest confirmed action to the runner."""
        suggestion = self._waiting.pop(0)
        self._fire_step(suggestion, SuggestionStep.CLAIM)
        self._running = suggestion
        call = Call(
            suggestion_id=suggestion.id,
            action=suggestion.action,
            payload=suggestion.payload,
            message=suggestion.message,
            risk=suggestion.risk,
            sources=suggestion.sources,
            runs_at=suggestion.runs_at,
            scope=suggestion.scope,
        )
        self._out.add(RunAction(call))

    def report_outcome(self, outcome: Outcome) -> None:
        """Tell the client the outcome of the action that ran."""
        suggestion, self._running = self._running, None
        if suggestion is None:
            return
        self._fire_step(suggestion, SuggestionStep(outcome.status or "unknown"))
        self.notices.send_executed(suggestion, outcome.result)
        suggestion.release_data()
        self._out.record_fact("confirms_ended", outcome.status or "ignored", suggestion_id=suggestion.id)

    def stop_action(self) -> None:
        """Ask the running action to stop; its report says whether it could."""
        if self._running:
            self._out.add(StopAction())

    def cancel_all_confirmed(self) -> None:
        """Close every confirmed action that has not begun."""
        for suggestion in list(self._waiting):
            self._fire_step(suggestion, SuggestionStep.CANCEL)

    def cancel_live_suggestions(self) -> None:
        """Close every suggestion that could still be confirmed."""
        for suggestion in list(self.live.values()):
            self._cancel_suggestion(suggestion)

    def close_live(self) -> None:
        """Close the live suggestions as the session ends; stored ones stay as they are."""
        if self._stored_seconds is None:
            self.cancel_live_suggestions()

    def detach_action(self) -> None:
        """Stop listening for the action that runs."""
        if self._running:
            self._out.add(DetachAction())

    def abandon_actions(self) -> None:
        """Cancel suggestions and waiting actions, and detach the running one, without a frame."""
        self.stop_action()
        self.detach_action()
        for suggestion in [*self._waiting, *self.live.values()]:
            self._engine.fire(suggestion, SuggestionStep.CANCEL)
            self._out.add(DisarmExpiry(suggestion.id))
        self._waiting.clear()
        self.live.clear()

    # --- deeds of a suggestion's table

    def accept_confirm(self, suggestion: Suggestion) -> None:
        """Accept a confirm in time: the suggestion no longer expires, and the session's table says when it runs."""
        suggestion.was_confirmed = True
        suggestion.apply_payload()
        self._remove_live(suggestion)
        self._react(SessionTrigger.CONFIRM, suggestion)

    def run_granted_call(self, suggestion: Suggestion) -> None:
        """Run a call that needs no approval now, before any action that was confirmed meanwhile."""
        suggestion.was_confirmed = True
        self._waiting.insert(0, suggestion)
        self.run_next_action()

    def hand_over_call(self, suggestion: Suggestion) -> None:
        """Hand a call that needs no approval to the caller to run; the session no longer tracks it."""
        suggestion.was_confirmed = True
        self._out.record_fact("suggestions", "handed_over", suggestion.message, suggestion.id)

    def release_call(self, suggestion: Suggestion) -> None:
        """Release a confirmed call to the caller to run; the session no longer tracks it."""
        suggestion.was_confirmed = True
        self._remove_live(suggestion)
        del self._suggestions[suggestion.id]
        self._out.record_fact("suggestions", "handed_over", suggestion.message, suggestion.id)
        self._react(SessionTrigger.RELEASED)

    def refuse_unapproved(self, suggestion: Suggestion) -> None:
        """Refuse to run a call that needs its user's approval first."""
        self._out.record_fact("errors", "unapproved", suggestion.message, suggestion.id)
        self._react(SessionTrigger.UNCLAIMED, Outcome(suggestion.id, False, None, NOT_APPROVED))

    def handle_answer(self, suggestion: Suggestion) -> None:
        """Handle the user's text in place of a yes as the next message, under the suggestion's id."""
        self._react(
            SessionTrigger.MESSAGE,
            Question(
                id=suggestion.id,
                text=suggestion.answer,
                lang=suggestion.lang,
                at=self._out.now,
                scope=self.scope,
                tools=suggestion.tools,
            ),
        )
        suggestion.release_data()

    def close_suggestion(self, suggestion: Suggestion) -> None:
        """Close a suggestion that can no longer be confirmed."""
        self._remove_live(suggestion)
        self._react(SessionTrigger.LAPSED, suggestion)
        if not suggestion.answer:  # `handle_answer` still needs the suggestion's fields
            suggestion.release_data()

    def decline_item(self, suggestion: Suggestion) -> None:
        """Decline the memory item that a rejected suggestion would have remembered."""
        if suggestion.item is not None:
            self._out.add(DeclineItem(suggestion.scope, suggestion.item))

    def expire_late_confirm(self, suggestion: Suggestion) -> None:
        """Expire a suggestion on a confirm that came too late, before the timer did."""
        self.close_suggestion(suggestion)
        self.notices.send_executed(suggestion, EXPIRED)
        suggestion.release_data()

    def cancel_confirmed(self, suggestion: Suggestion) -> None:
        """Cancel a confirmed action that has not begun."""
        self._waiting.remove(suggestion)
        self.notices.send_executed(suggestion, CANCELLED)
        suggestion.release_data()
        self._out.record_fact("confirms_ended", "cancelled", suggestion_id=suggestion.id)

    # --- helpers

    def _cancel_suggestion(self, suggestion: Suggestion) -> None:
        # Part of a transition that is under way, so the session's table is not asked again.
        self._engine.fire(suggestion, SuggestionStep.CANCEL)
        self._remove_live(suggestion)
        self.notices.send_closed(suggestion)
        suggestion.release_data()

    def _fire_step(self, suggestion: Suggestion, step: SuggestionStep) -> None:
        self._engine.react(suggestion, self, step, suggestion)

    def _remove_live(self, suggestion: Suggestion) -> None:
        del self.live[suggestion.id]
        self._out.add(DisarmExpiry(suggestion.id))


GUARDS: dict[SuggestionGuard, Callable[[Suggestion], bool]] = {
    SuggestionGuard.LATE: lambda suggestion: suggestion.late,
    SuggestionGuard.DRAINING: lambda suggestion: suggestion.draining,
    SuggestionGuard.INCOMPLETE: lambda suggestion: suggestion.incomplete,
    SuggestionGuard.WAS_CONFIRMED: lambda suggestion: suggestion.was_confirmed,
    SuggestionGuard.EDIT_INVALID: lambda suggestion: suggestion.edit_invalid,
    SuggestionGuard.NEEDS_APPROVAL: lambda suggestion: suggestion.needs_approval,
    SuggestionGuard.RUNS_AT_CALLER: lambda suggestion: suggestion.runs_at == "caller",
}
DEEDS: dict[SuggestionDeed, Callable[[SessionActions, Suggestion], None]] = {
    SuggestionDeed.EXPIRE_LATE_CONFIRM: SessionActions.expire_late_confirm,
    SuggestionDeed.REFUSE_WHILE_DRAINING: lambda actions, each: actions.notices.refuse_while_draining(each),
    SuggestionDeed.REFUSE_INCOMPLETE: lambda actions, each: actions.notices.refuse_incomplete(each),
    SuggestionDeed.ACCEPT_CONFIRM: SessionActions.accept_confirm,
    SuggestionDeed.SEND_IGNORED: lambda actions, each: actions.notices.send_ignored(each),
    SuggestionDeed.SEND_CANCELLED: lambda actions, each: actions.notices.send_executed(each, CANCELLED),
    SuggestionDeed.SEND_EXPIRED: lambda actions, each: actions.notices.send_executed(each, EXPIRED),
    SuggestionDeed.CLOSE_SUGGESTION: SessionActions.close_suggestion,
    SuggestionDeed.CANCEL_CONFIRMED: SessionActions.cancel_confirmed,
    SuggestionDeed.STOP_ACTION: lambda actions, _: actions.stop_action(),
    SuggestionDeed.SEND_CLOSED: lambda actions, each: actions.notices.send_closed(each),
    SuggestionDeed.RUN_GRANTED_CALL: SessionActions.run_granted_call,
    SuggestionDeed.REFUSE_UNAPPROVED: SessionActions.refuse_unapproved,
    SuggestionDeed.REFUSE_EDIT: lambda actions, each: actions.notices.refuse_edit(each),
    SuggestionDeed.HANDLE_ANSWER: SessionActions.handle_answer,
    SuggestionDeed.RELEASE_CALL: SessionActions.release_call,
    SuggestionDeed.HAND_OVER_CALL: SessionActions.hand_over_call,
    SuggestionDeed.DECLINE_ITEM: SessionActions.decline_item,
}


def make_suggestion_engine(table: SuggestionTable = TABLE) -> SuggestionEngine:
    """Return an engine that runs `table` for suggestions; one engine serves all sessions."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = make_suggestion_engine()
