"""From one answer of a model to the next request, or to the outcome: how often a model is asked, and what for; pure.

Strategy: no loop and no waiting; the machine is told each answer, whole and read, and returns what to ask next. What
the calls of an answer do is known to `calls`. The conversation only grows, so that a service can keep its work on all
that was asked before.

| answer | next |
| --- | --- |
| all that came holds | ok |
| something does not hold | one request to mend all of it; exhausted when the rounds are spent |
| cut at `max_tokens` | asked again once with twice as much; truncated the second time, or in the last round |
| no call, though one is due | asked for one; exhausted when the rounds are spent |
| declined, failed | refused, provider_error; what held before is kept |
"""

from collections.abc import Iterator

from ..ports.model import Choice, Request, Usage
from . import telling
from .calls import Calls
from .conversation import Conversation
from .outcome import NO_USAGE, CallStatus, Outcome, Status
from .plan import Plan
from .written import Reply


class Rounds:
    """One request for validated calls, from its first round to its outcome. It is fed once for every request."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._calls = Calls(plan)
        self._conversation = Conversation(plan)
        self._tools = plan.tools  # what can be called now
        self._widened = False
        self._max_tokens = plan.max_tokens
        self._attempts = 0
        self._usage = NO_USAGE
        self._text = ""

    @property
    def begun(self) -> bool:
        """Whether the calls that come next mend others."""
        return self._calls.begun

    def ids(self) -> Iterator[str]:
        """Yield the ids of the calls that come next."""
        return self._calls.ids()

    def request(self) -> Request:
        """Return what the model is asked now."""
        plan = self._plan
        begun = self._calls.begun
        due = plan.choice if not begun else Choice.REQUIRED
        form = None if plan.native or begun else telling.form(plan.shapes, plan.bare)
        messages = self._conversation.messages
        return Request(
            messages,
            self._tools if plan.native else (),
            due if plan.native else Choice.AUTO,
            form,
            self._max_tokens,
            stable=len(messages),
        )

    def feed(self, reply: Reply) -> Request | Outcome:
        """Take the answer to the last request; return the next request, or what came of it all."""
        self._attempts += 1
        used = self._usage
        self._usage = Usage(used.read + reply.usage.read, used.written + reply.usage.written)
        self._text = reply.text
        if reply.failed is not None:
            return self._cut(reply, "provider_error", "truncated")
        if reply.reason in ("refusal", "filtered"):
            return self._cut(reply, "refused", "refused")
        if reply.reason == "length":
            if self._widened or self._spent:
                return self._cut(reply, "truncated", "truncated")
            self._widened = True
            self._max_tokens *= 2
            return self.request()
        return self._whole(reply)

    @property
    def _spent(self) -> bool:
        return self._attempts >= self._plan.max_attempts

    def _whole(self, reply: Reply) -> Request | Outcome:
        """Take an answer that came to its end."""
        calls = self._calls
        written, answers = calls.take(reply, self._attempts)
        failing = calls.failing
        if not failing and (calls.begun or self._plan.choice is Choice.AUTO):
            return self._end("ok")
        if not written:
            calls.notes.append("nothing was called")
        if self._spent:
            return self._end("exhausted")
        if calls.begun:
            self._tools = calls.offered(failing)
            says = telling.report(self._plan, failing, calls.notes, self._tools)
        else:
            says = telling.nudge(self._plan, self._tools)
        self._conversation.grow(reply, written, answers, says)
        return self.request()

    def _cut(self, reply: Reply, status: Status, call_status: CallStatus) -> Outcome:
        """End with an answer that is not whole: nothing of it is read, but what it called is told."""
        self._calls.keep(reply, call_status, self._attempts)
        if reply.failed is not None:
            note = f"the model failed ({reply.failed.fault}): {reply.failed.message}"
        elif status == "refused":
            note = "the model declined"
        else:
            note = "the answer was cut at its greatest length"
        self._calls.notes = [note]
        return self._end(status, reply)

    def _end(self, status: Status, reply: Reply | None = None) -> Outcome:
        failed = reply.failed if reply else None
        calls = self._calls
        errors: list[str] = []
        if status != "ok":
            errors += [
                f"{slot.id} {slot.name}: {problem}" for slot in calls.failing for problem in slot.problems
            ]
        errors += calls.notes  # also where all holds: the last answer asked for something that was not done
        return Outcome(
            status,
            tuple(slot.extracted() for slot in calls.slots.values()),
            tuple(errors),
            self._attempts,
            self._usage,
            self._text,
            failed.fault if failed else None,
            failed.retry_after if failed else None,
        )
