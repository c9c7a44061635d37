"""The half of the core that is about actions: what was suggested, what was confirmed, what runs.

A suggestion's own table (actions/suggestions.py) answers each confirm, reject, cancel and expiry; the methods of
its deeds are here. What it accepts goes on to the session's table.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..actions import suggestions as own
from ..actions.suggestions import Deed, Guard, OwnTable, Status, Step, Suggestion
from ..config import CONFIRM_SECONDS, LIVE_SUGGESTIONS, MAX_ID, SUGGESTIONS_REMEMBERED
from ..fsm import Engine
from ..ports.action import Call, Outcome
from ..ports.brain import Proposal
from ..protocol.outbound import ActionClosed, ActionExecuted, ActionSuggestion, Error, Outbound
from .effects import ArmExpiry, DisarmExpiry, Effect, LetGoAction, Note, RunAction, Send, StopAction
from .states import Trigger

OwnEngine: TypeAlias = Engine[Status, Step, Guard, Deed]

_CLOSED_AS: dict[Status, Any] = {
    Status.EXPIRED: "expired",
    Status.REJECTED: "rejected",
    Status.CANCELLED: "cancelled",
}
_FINAL = frozenset(Status) - {Status.SUGGESTED, Status.CONFIRMED, Status.CLAIMED}


class Confirming:
    """Suggestions and actions of one session, and the effects that both halves of the core append to.

    held: the client knows what a suggestion may lack, and runs nothing before it has filled that in.
    """

    __slots__ = (
        "_effects",
        "_held",
        "_now",
        "_own",
        "_running",
        "_suggestions",
        "_waiting",
        "_wall_ms",
        "draining",
        "live",
    )

    def __init__(self, own_engine: OwnEngine | None, held: bool) -> None:
        self.draining = False
        self._held = held
        self.live: dict[str, Suggestion] = {}  # oldest first
        self._own = own_engine or OWN_ENGINE
        self._suggestions: dict[str, Suggestion] = {}  # every one still answered for, oldest first
        self._waiting: deque[Suggestion] = deque()  # confirmed, not begun
        self._running: Suggestion | None = None
        self._effects: list[Effect] = []
        self._now = 0.0
        self._wall_ms = 0

    def _react(self, trigger: Trigger, subject: object = None) -> bool:
        """Ask the session's table. The other half of the core has it."""
        raise NotImplementedError

    # --- guards

    @property
    def any_live(self) -> bool:
        """A suggestion can be confirmed."""
        return bool(self.live)

    @property
    def none_live(self) -> bool:
        """No suggestion can be confirmed."""
        return not self.live

    @property
    def confirm_waits(self) -> bool:
        """A confirmed action has not begun."""
        return bool(self._waiting)

    # --- what comes in

    def _about(self, suggestion_id: str, step: Step, filled: Mapping[str, Any] | None = None) -> None:
        suggestion = self._suggestions.get(suggestion_id)
        if suggestion is None:
            self._send(
                Error(
                    code="unknown_suggestion",
                    message="No such suggestion was made here; use a suggestionId from an action_suggestion.",
                    suggestion_id=suggestion_id if len(suggestion_id) <= MAX_ID else None,
                )
            )
            self._note("errors", "unknown_suggestion")
            return
        suggestion.see(self._now, self.draining)
        suggestion.hear(filled, self._held)
        self._step(suggestion, step)

    def _cancel_led_by(self, message: str) -> None:
        for suggestion in list(self._suggestions.values()):
            if suggestion.message == message:
                self._step(suggestion, Step.CANCEL)

    def _expire(self, suggestion_id: str) -> None:
        suggestion = self._suggestions.get(suggestion_id)
        if suggestion is not None:
            self._step(suggestion, Step.EXPIRE)

    def _suggest(self, suggestion_id: str, proposal: Proposal, message: str) -> None:
        suggestion = Suggestion(
            suggestion_id,
            proposal.action,
            proposal.payload,
            message,
            self._now + CONFIRM_SECONDS,
            proposal.missing,
        )
        if len(self.live) >= LIVE_SUGGESTIONS:
            self._give_up(next(iter(self.live.values())))
        self._suggestions[suggestion_id] = suggestion
        self.live[suggestion_id] = suggestion
        self._effects.append(ArmExpiry(suggestion_id))
        self._send(
            ActionSuggestion(
                suggestion_id=suggestion_id,
                action=proposal.action,
                payload=proposal.payload,
                id=message,
                expires_at=self._wall_ms + round(CONFIRM_SECONDS * 1000),
                missing=proposal.missing,
            )
        )
        self._note("suggestions", "made", message, suggestion_id)
        if len(self._suggestions) > SUGGESTIONS_REMEMBERED:
            self._forget()

    def _forget(self) -> None:
        oldest = next(each for each in self._suggestions.values() if each.state in _FINAL)
        del self._suggestions[oldest.id]

    # --- what the rows of the session's table do about actions

    def hold(self, suggestion: Suggestion) -> None:
        """Let a confirmed action wait for its turn."""
        self._waiting.append(suggestion)

    def run_next(self, _: object) -> None:
        """Hand the oldest confirmed action to the runner."""
        suggestion = self._waiting.popleft()
        self._step(suggestion, Step.CLAIM)
        self._running = suggestion
        self._effects.append(RunAction(Call(suggestion.id, suggestion.action, suggestion.payload)))

    def report(self, outcome: Outcome) -> None:
        """Tell how the action ended."""
        suggestion, self._running = self._running, None
        if suggestion is None:
            return
        self._step(suggestion, Step(outcome.status or "unknown"))
        self._executed(suggestion, outcome.result)
        self._note("confirms_ended", outcome.status or "ignored", suggestion_id=suggestion.id)

    def stop_action(self, _: object = None) -> None:
        """Ask the running action to stop; it says itself whether it could."""
        if self._running:
            self._effects.append(StopAction())

    def cancel_waiting(self, _: object = None) -> None:
        """Close every confirmed action that has not begun."""
        for suggestion in list(self._waiting):
            self._step(suggestion, Step.CANCEL)

    def cancel_live(self, _: object = None) -> None:
        """Close every suggestion that could still be confirmed."""
        for suggestion in list(self.live.values()):
            self._give_up(suggestion)

    # --- what the rows of a suggestion's table do

    def confirmed(self, suggestion: Suggestion) -> None:
        """A confirm in time: it no longer expires, and the session's table says when it runs."""
        suggestion.was_confirmed = True
        suggestion.complete()
        self._unlive(suggestion)
        self._react(Trigger.CONFIRM, suggestion)

    def lapsed(self, suggestion: Suggestion) -> None:
        """A suggestion that can no longer be confirmed."""
        self._unlive(suggestion)
        self._react(Trigger.LAPSED, suggestion)

    def expired_unseen(self, suggestion: Suggestion) -> None:
        """A confirm that came too late, and before the timer said so."""
        self.lapsed(suggestion)
        self.answer_expired(suggestion)

    def withdraw(self, suggestion: Suggestion) -> None:
        """A confirmed action that has not begun, and now never will."""
        self._waiting.remove(suggestion)
        self._executed(suggestion, {"cancelled": True})
        self._note("confirms_ended", "cancelled", suggestion_id=suggestion.id)

    def tell_closed(self, suggestion: Suggestion) -> None:
        """Say why a suggestion can no longer be confirmed."""
        self._send(ActionClosed(suggestion.id, _CLOSED_AS[suggestion.state]))
        self._note("suggestions", _CLOSED_AS[suggestion.state], suggestion_id=suggestion.id)

    def answer_ignored(self, suggestion: Suggestion) -> None:
        """It was confirmed before."""
        self._executed(suggestion, {"ignored": True})

    def answer_cancelled(self, suggestion: Suggestion) -> None:
        """It was closed, unconfirmed."""
        self._executed(suggestion, {"cancelled": True})

    def answer_expired(self, suggestion: Suggestion) -> None:
        """Its time was over."""
        self._executed(suggestion, {"expired": True})

    def turn_away_confirm(self, suggestion: Suggestion) -> None:
        """Refuse a confirm: the server is going down."""
        self._send(
            Error(
                code="shutting_down",
                message="The server is going down; nothing was run. Connect again in a moment.",
                suggestion_id=suggestion.id,
            )
        )
        self._note("errors", "shutting_down")

    def ask_to_fill_in(self, suggestion: Suggestion) -> None:
        """Refuse a confirm that does not fill in what is missing; another one may."""
        self._send(
            Error(
                code="bad_message",
                message=f"{suggestion.lacks} Nothing was run; confirm again.",
                suggestion_id=suggestion.id,
            )
        )
        self._note("errors", "bad_message", suggestion_id=suggestion.id)

    # --- helpers

    def _drop_actions(self) -> None:
        """Cancel what was suggested or confirmed, and let go of what runs; there is nobody to tell."""
        self.stop_action()
        self._let_go()
        for suggestion in [*self._waiting, *self.live.values()]:
            self._own.fire(suggestion, Step.CANCEL)
            self._effects.append(DisarmExpiry(suggestion.id))
        self._waiting.clear()
        self.live.clear()

    def _give_up(self, suggestion: Suggestion) -> None:
        # Part of a transition that is under way, so the session's table is not asked again.
        self._own.fire(suggestion, Step.CANCEL)
        self._unlive(suggestion)
        self.tell_closed(suggestion)

    def _let_go(self) -> None:
        if self._running:
            self._effects.append(LetGoAction())

    def _step(self, suggestion: Suggestion, step: Step) -> None:
        self._own.react(suggestion, self, step, suggestion)

    def _unlive(self, suggestion: Suggestion) -> None:
        del self.live[suggestion.id]
        self._effects.append(DisarmExpiry(suggestion.id))

    def _executed(self, suggestion: Suggestion, result: Any) -> None:
        self._send(ActionExecuted(suggestion.id, result))

    def _send(self, frame: Outbound) -> None:
        self._effects.append(Send(frame))

    def _note(
        self, metric: str, label: str = "", message: str | None = None, suggestion_id: str | None = None
    ) -> None:
        self._effects.append(Note(metric, label, message, suggestion_id))


GUARDS: dict[Guard, Callable[[Suggestion], bool]] = {
    Guard.LATE: lambda suggestion: suggestion.late,
    Guard.DRAINING: lambda suggestion: suggestion.draining,
    Guard.INCOMPLETE: lambda suggestion: suggestion.incomplete,
    Guard.WAS_CONFIRMED: lambda suggestion: suggestion.was_confirmed,
}
DEEDS: dict[Deed, Callable[[Confirming, Suggestion], None]] = {
    Deed.EXPIRED_UNSEEN: Confirming.expired_unseen,
    Deed.TURN_AWAY_CONFIRM: Confirming.turn_away_confirm,
    Deed.ASK_TO_FILL_IN: Confirming.ask_to_fill_in,
    Deed.CONFIRMED: Confirming.confirmed,
    Deed.ANSWER_IGNORED: Confirming.answer_ignored,
    Deed.ANSWER_CANCELLED: Confirming.answer_cancelled,
    Deed.ANSWER_EXPIRED: Confirming.answer_expired,
    Deed.LAPSED: Confirming.lapsed,
    Deed.WITHDRAW: Confirming.withdraw,
    Deed.STOP_ACTION: Confirming.stop_action,
    Deed.TELL_CLOSED: Confirming.tell_closed,
}


def own_engine(table: OwnTable = own.TABLE) -> OwnEngine:
    """Return an engine that runs `table` for the suggestions of sessions; one serves them all."""
    return Engine(table, GUARDS, DEEDS)


OWN_ENGINE = own_engine()
