"""The actions of a session: what was suggested, what was confirmed, what runs.

A suggestion's own table (actions/suggestions.py) answers each confirm, reject, cancel and expiry; the methods of
its deeds are here. What it accepts goes on to the session's table.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeAlias

from ..actions.suggestions import TABLE, Deed, Guard, Status, Step, Suggestion, SuggestionTable
from ..config import CONFIRM_SECONDS, LIVE_SUGGESTIONS, SUGGESTIONS_REMEMBERED
from ..fsm import Engine
from ..ports.action import CANCELLED, Call, Outcome
from ..ports.brain import Proposal, Question
from ..ports.conversation import Scope
from ..protocol.inbound import ConfirmAction, RejectAction
from .effects import ArmExpiry, Decline, DisarmExpiry, LetGoAction, RunAction, StopAction
from .events import Acting, Expired, Live
from .out import Out, React
from .states import Trigger
from .telling import EXPIRED, Telling

SuggestionEngine: TypeAlias = Engine[Status, Step, Guard, Deed]

NOT_APPROVED: Mapping[str, Any] = {"success": False, "error": "This needs its user's approval."}
_FINAL = frozenset(Status) - {Status.SUGGESTED, Status.CONFIRMED, Status.CLAIMED}


class Actions:
    """Suggestions and actions of one session.

    engine: what runs the suggestions' table. held: the client knows what a suggestion may lack, and runs nothing before
    it has filled that in. scope: whose the words are that come in place of a yes. kept: seconds in which one can be
    confirmed, where all are kept elsewhere, which then says when one has expired, and for which none ends with the
    session; None is CONFIRM_SECONDS, and none outlives it. live: what can be confirmed, oldest first.
    """

    __slots__ = (
        "_engine",
        "_held",
        "_kept",
        "_out",
        "_react",
        "_running",
        "_suggestions",
        "_waiting",
        "live",
        "scope",
        "telling",
    )

    def __init__(
        self,
        out: Out,
        react: React,
        engine: "SuggestionEngine | None",
        held: bool,
        scope: Scope,
        kept: float | None = None,
    ) -> None:
        self._out = out
        self._react = react
        self._engine = engine or ENGINE
        self._held = held
        self.scope = scope
        self._kept = kept
        self.telling: Telling = Telling(out, CONFIRM_SECONDS if kept is None else kept)
        self.live: dict[str, Suggestion] = {}
        self._suggestions: dict[str, Suggestion] = {}  # every one still answered for, oldest first
        self._waiting: list[Suggestion] = []  # confirmed, not begun; few
        self._running: Suggestion | None = None

    # --- guards

    @property
    def any_live(self) -> bool:
        """A suggestion can be confirmed."""
        return bool(self.live)

    @property
    def confirm_waits(self) -> bool:
        """A confirmed action has not begun."""
        return bool(self._waiting)

    # --- what comes in

    def confirm(self, frame: ConfirmAction) -> None:
        """Take a user's approval, and what it fills in."""
        self._out.note("confirms")
        self._answer(frame.suggestion_id, Step.CONFIRM, frame.payload)

    def reject(self, frame: RejectAction) -> None:
        """Take a user's refusal."""
        if frame.text is None:
            self._answer(frame.suggestion_id, Step.REJECT)
        else:
            self._answer(frame.suggestion_id, Step.ANSWER, words=frame.text)

    def _answer(
        self, suggestion_id: str, step: Step, payload: Mapping[str, Any] | None = None, words: str = ""
    ) -> None:
        suggestion = self._suggestions.get(suggestion_id)
        if suggestion is None:
            self.telling.unknown(suggestion_id)
            return
        suggestion.see(self._out.now, self._out.draining)
        suggestion.hear(payload, self._held)
        suggestion.answer = words
        self._step(suggestion, step)

    def cancel_led_by(self, message: str) -> None:
        """Cancel what a message has led to."""
        for suggestion in list(self._suggestions.values()):
            if suggestion.message == message:
                self._step(suggestion, Step.CANCEL)

    def expired(self, event: Expired) -> None:
        """Take that a suggestion's time is over."""
        suggestion = self._suggestions.get(event.suggestion_id)
        if suggestion is not None:
            self._step(suggestion, Step.EXPIRE)

    def suggest(self, suggestion_id: str, proposal: Proposal, asked: Question) -> None:
        """Suggest what a message asked for, or hand it over where the caller runs it and nobody need approve it."""
        suggestion = Suggestion(suggestion_id, proposal, asked, self._deadline())
        if proposal.handed_over:
            self.telling.made(suggestion, proposal)
            self._step(suggestion, Step.GRANT)
            return
        if len(self.live) >= LIVE_SUGGESTIONS:
            self._give_up(next(iter(self.live.values())))
        self._make_live(suggestion)
        self.telling.made(suggestion, proposal)
        self._out.note("suggestions", "made", asked.id, suggestion_id)

    def restore(self, live: Sequence[Live]) -> None:
        """Take up what another session has suggested, and is not known here; its client knows of it."""
        for suggestion_id, proposal, asked in live:
            if suggestion_id in self._suggestions:
                continue
            self._make_live(Suggestion(suggestion_id, proposal, asked, self._deadline()))

    def _deadline(self) -> float:
        return inf if self._kept is not None else self._out.now + CONFIRM_SECONDS

    def _make_live(self, suggestion: Suggestion) -> None:
        self._remember(suggestion)
        self.live[suggestion.id] = suggestion
        if self._kept is None:
            self._out.add(ArmExpiry(suggestion.id))

    def grant(self, asked: Acting, question: Question) -> None:
        """Run the call that a turn waits for, before what was confirmed; one that needs approval is refused."""
        suggestion = Suggestion(asked.suggestion_id, asked.proposal, question, self._out.now)
        self._remember(suggestion)
        self._step(suggestion, Step.GRANT)

    def _remember(self, suggestion: Suggestion) -> None:
        self._suggestions[suggestion.id] = suggestion
        if len(self._suggestions) > SUGGESTIONS_REMEMBERED:
            oldest = next(each for each in self._suggestions.values() if each.state in _FINAL)
            del self._suggestions[oldest.id]

    # --- what the rows of the session's table do about actions

    def hold(self, suggestion: Suggestion) -> None:
        """Let a confirmed action wait for its turn."""
        self._waiting.append(suggestion)

    def run_next(self) -> None:
        """Hand the oldest confirmed action to the runner."""
        suggestion = self._waiting.pop(0)
        self._step(suggestion, Step.CLAIM)
        self._running = suggestion
        call = Call(
            suggestion.id,
            suggestion.action,
            suggestion.payload,
            suggestion.message,
            suggestion.risk,
            suggestion.sources,
            suggestion.scope,
        )
        self._out.add(RunAction(call))

    def report(self, outcome: Outcome) -> None:
        """Tell how the action ended."""
        suggestion, self._running = self._running, None
        if suggestion is None:
            return
        self._step(suggestion, Step(outcome.status or "unknown"))
        self.telling.executed(suggestion, outcome.result)
        suggestion.let_go()
        self._out.note("confirms_ended", outcome.status or "ignored", suggestion_id=suggestion.id)

    def stop(self) -> None:
        """Ask the running action to stop; it says itself whether it could."""
        if self._running:
            self._out.add(StopAction())

    def cancel_waiting(self) -> None:
        """Close every confirmed action that has not begun."""
        for suggestion in list(self._waiting):
            self._step(suggestion, Step.CANCEL)

    def cancel_live(self) -> None:
        """Close every suggestion that could still be confirmed."""
        for suggestion in list(self.live.values()):
            self._give_up(suggestion)

    def close_live(self) -> None:
        """Close what could still be confirmed, as the session ends; what is kept elsewhere stays as it is."""
        if self._kept is None:
            self.cancel_live()

    def let_go(self) -> None:
        """Stop listening for the action that runs."""
        if self._running:
            self._out.add(LetGoAction())

    def abandon(self) -> None:
        """Cancel what was suggested or confirmed, and let go of what runs; there is nobody to tell."""
        self.stop()
        self.let_go()
        for suggestion in [*self._waiting, *self.live.values()]:
            self._engine.fire(suggestion, Step.CANCEL)
            self._out.add(DisarmExpiry(suggestion.id))
        self._waiting.clear()
        self.live.clear()

    # --- what the rows of a suggestion's table do

    def confirmed(self, suggestion: Suggestion) -> None:
        """A confirm in time: it no longer expires, and the session's table says when it runs."""
        suggestion.was_confirmed = True
        suggestion.complete()
        self._unlive(suggestion)
        self._react(Trigger.CONFIRM, suggestion)

    def granted(self, suggestion: Suggestion) -> None:
        """A call that needs nobody's word: it runs now, whatever was confirmed meanwhile."""
        suggestion.was_confirmed = True
        self._waiting.insert(0, suggestion)
        self.run_next()

    def hand_over(self, suggestion: Suggestion) -> None:
        """A call that needs nobody's word, and that the caller runs: from here on it is not the session's."""
        suggestion.was_confirmed = True
        self._out.note("suggestions", "handed_over", suggestion.message, suggestion.id)

    def release(self, suggestion: Suggestion) -> None:
        """A confirm of a call that the caller runs: from here on it is not the session's."""
        suggestion.was_confirmed = True
        self._unlive(suggestion)
        del self._suggestions[suggestion.id]
        self._out.note("suggestions", "handed_over", suggestion.message, suggestion.id)
        self._react(Trigger.RELEASED)

    def refuse_grant(self, suggestion: Suggestion) -> None:
        """Run nothing that its user has to approve first."""
        self._out.note("errors", "unapproved", suggestion.message, suggestion.id)
        self._react(Trigger.UNCLAIMED, Outcome(suggestion.id, False, None, NOT_APPROVED))

    def take_answer(self, suggestion: Suggestion) -> None:
        """Take what its user said in place of a yes as the next message, under the suggestion's id."""
        self._react(
            Trigger.MESSAGE,
            Question(
                suggestion.id,
                suggestion.answer,
                suggestion.lang,
                self._out.now,
                self.scope,
                tools=suggestion.tools,
            ),
        )
        suggestion.let_go()

    def lapsed(self, suggestion: Suggestion) -> None:
        """A suggestion that can no longer be confirmed."""
        self._unlive(suggestion)
        self._react(Trigger.LAPSED, suggestion)
        if not suggestion.answer:  # which is still to be taken
            suggestion.let_go()

    def decline(self, suggestion: Suggestion) -> None:
        """A suggestion that its user does not want; what it would have remembered is declined with it."""
        if suggestion.item is not None:
            self._out.add(Decline(suggestion.scope, suggestion.item))

    def expired_unseen(self, suggestion: Suggestion) -> None:
        """A confirm that came too late, and before the timer said so."""
        self.lapsed(suggestion)
        self.telling.executed(suggestion, EXPIRED)
        suggestion.let_go()

    def withdraw(self, suggestion: Suggestion) -> None:
        """A confirmed action that has not begun, and now never will."""
        self._waiting.remove(suggestion)
        self.telling.executed(suggestion, CANCELLED)
        suggestion.let_go()
        self._out.note("confirms_ended", "cancelled", suggestion_id=suggestion.id)

    # --- helpers

    def _give_up(self, suggestion: Suggestion) -> None:
        # Part of a transition that is under way, so the session's table is not asked again.
        self._engine.fire(suggestion, Step.CANCEL)
        self._unlive(suggestion)
        self.telling.closed(suggestion)
        suggestion.let_go()

    def _step(self, suggestion: Suggestion, step: Step) -> None:
        self._engine.react(suggestion, self, step, suggestion)

    def _unlive(self, suggestion: Suggestion) -> None:
        del self.live[suggestion.id]
        self._out.add(DisarmExpiry(suggestion.id))


GUARDS: dict[Guard, Callable[[Suggestion], bool]] = {
    Guard.LATE: lambda suggestion: suggestion.late,
    Guard.DRAINING: lambda suggestion: suggestion.draining,
    Guard.INCOMPLETE: lambda suggestion: suggestion.incomplete,
    Guard.WAS_CONFIRMED: lambda suggestion: suggestion.was_confirmed,
    Guard.EDIT_INVALID: lambda suggestion: suggestion.edit_invalid,
    Guard.NEEDS_APPROVAL: lambda suggestion: suggestion.needs_approval,
    Guard.THEIRS: lambda suggestion: suggestion.theirs,
}
DEEDS: dict[Deed, Callable[[Actions, Suggestion], None]] = {
    Deed.EXPIRED_UNSEEN: Actions.expired_unseen,
    Deed.TURN_AWAY_CONFIRM: lambda actions, each: actions.telling.turned_away(each),
    Deed.ASK_TO_FILL_IN: lambda actions, each: actions.telling.incomplete(each),
    Deed.CONFIRMED: Actions.confirmed,
    Deed.ANSWER_IGNORED: lambda actions, each: actions.telling.executed_before(each),
    Deed.ANSWER_CANCELLED: lambda actions, each: actions.telling.executed(each, CANCELLED),
    Deed.ANSWER_EXPIRED: lambda actions, each: actions.telling.executed(each, EXPIRED),
    Deed.LAPSED: Actions.lapsed,
    Deed.WITHDRAW: Actions.withdraw,
    Deed.STOP_ACTION: lambda actions, _: actions.stop(),
    Deed.TELL_CLOSED: lambda actions, each: actions.telling.closed(each),
    Deed.GRANTED: Actions.granted,
    Deed.REFUSE_GRANT: Actions.refuse_grant,
    Deed.REFUSE_EDIT: lambda actions, each: actions.telling.bad_edit(each),
    Deed.TAKE_ANSWER: Actions.take_answer,
    Deed.RELEASE: Actions.release,
    Deed.HAND_OVER: Actions.hand_over,
    Deed.DECLINE: Actions.decline,
}


def suggestion_engine(table: SuggestionTable = TABLE) -> SuggestionEngine:
    """Return an engine that runs `table` for the suggestions of sessions; one serves them all."""
    return Engine(table, GUARDS, DEEDS)


ENGINE = suggestion_engine()
