"""Decides from one answer of a model on the next request, or on the outcome: the rules of repair; pure.

Strategy: this machine has no loop and never waits. It is fed each answer, whole and parsed, and returns the next
request. `calls.py` applies the calls of an answer. The conversation only grows, so that a service can cache all earlier
requests.

| answer | next |
| --- | --- |
| all calls are valid | ok |
| a call is invalid | one request to repair all of them; exhausted when the rounds are spent |
| cut at `max_tokens` | asked again once with twice as much; truncated the second time, or in the last round |
| no call, though one is required | asked for one; exhausted when the rounds are spent |
| declined, failed | refused, provider_error; earlier valid calls are kept |
"""

from collections.abc import Iterator, Sequence

import msgspec

from ..ports.model import ModelMessage, ModelRequest, ToolCall, ToolChoice, Usage
from . import instructions
from .calls import CallSlots
from .decode import ParsedJson
from .outcome import NO_USAGE, CallStatus, Extraction, Status
from .plan import Plan
from .reply import ModelReply, WrittenCall
from .schema import NAME
from .slots import Slot


class Conversation:
    """The messages so far. They only grow, so that a service can cache those that it knows."""

    def __init__(self, plan: Plan) -> None:
        self.messages = plan.messages
        self._ids = {call.id for message in plan.messages for call in message.calls}

    def add_round(
        self, reply: ModelReply, calls: Sequence[WrittenCall], answers: Sequence[Slot | str], says: str
    ) -> None:
        """Add an answer, one line for each of its calls, and `says`, our message about all of it."""
        text = reply.text.encode("utf-8", "replace").decode() if reply.text else ""
        new_messages: list[ModelMessage] = []
        if reply.calls:
            repeated = tuple(self._repeat_call(call) for call in calls)
            new_messages.append(ModelMessage("assistant", text, repeated))
            for call, answer in zip(repeated, answers, strict=True):
                line = answer if isinstance(answer, str) else instructions.describe_slot(answer)
                new_messages.append(ModelMessage("tool", instructions.to_one_line(line), call_id=call.id))
        elif text:
            new_messages.append(ModelMessage("assistant", text))
        self.messages = (*self.messages, *new_messages, ModelMessage("user", says))

    def _repeat_call(self, call: WrittenCall) -> ToolCall:
        """Return a call as it can be repeated: under an id of its own, with a name and arguments that can be sent.

        Arguments that could not be read are repeated as an empty object: services reject anything else.
        """
        stem = call.id.encode("utf-8", "ignore").decode() or "call"
        id, number = stem, 1
        while id in self._ids:
            number += 1
            id = f"{stem}_{number}"
        self._ids.add(id)
        name = call.name if NAME.fullmatch(call.name) else "unknown"
        if not isinstance(call.parsed, ParsedJson):
            return ToolCall(id, name, "{}")
        if call.parsed.repaired:
            return ToolCall(id, name, msgspec.json.encode(call.parsed.document).decode())
        return ToolCall(id, name, call.arguments)


class Rounds:
    """One request for valid calls, from its first round to its outcome.

    `feed_reply` is called once for every request.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._calls = CallSlots(plan)
        self._conversation = Conversation(plan)
        self._tools = plan.tools  # of the present round
        self._widened = False
        self._max_tokens = plan.max_tokens
        self._attempts = 0
        self._usage = NO_USAGE
        self._text = ""

    @property
    def is_repairing(self) -> bool:
        """Whether the next calls repair others."""
        return self._calls.begun

    def next_ids(self) -> Iterator[str]:
        """Yield the ids of the next calls."""
        return self._calls.next_ids()

    def next_request(self) -> ModelRequest:
        """Return the request of this round."""
        plan = self._plan
        begun = self._calls.begun
        due = plan.choice if not begun else ToolChoice.REQUIRED
        form = None if plan.native or begun else instructions.answer_schema(plan.shapes, plan.bare)
        messages = self._conversation.messages
        return ModelRequest(
            messages=messages,
            tools=self._tools if plan.native else (),
            choice=due if plan.native else ToolChoice.AUTO,
            form=form,
            max_tokens=self._max_tokens,
            stable=len(messages),
        )

    def feed_reply(self, reply: ModelReply) -> ModelRequest | Extraction:
        """Apply the answer to the last request; return the next request, or the outcome."""
        self._attempts += 1
        used = self._usage
        self._usage = Usage(used.read + reply.usage.read, used.written + reply.usage.written)
        self._text = reply.text
        if reply.failure is not None:
            return self._end_with_cut_reply(reply, "provider_error", "truncated")
        if reply.reason in ("refusal", "filtered"):
            return self._end_with_cut_reply(reply, "refused", "refused")
        if reply.reason == "length":
            if self._widened or self._is_spent:
                return self._end_with_cut_reply(reply, "truncated", "truncated")
            self._widened = True
            self._max_tokens *= 2
            return self.next_request()
        return self._apply_whole_reply(reply)

    @property
    def _is_spent(self) -> bool:
        return self._attempts >= self._plan.max_attempts

    def _apply_whole_reply(self, reply: ModelReply) -> ModelRequest | Extraction:
        """Apply an answer that came to its end."""
        calls = self._calls
        written, answers = calls.apply_reply(reply, self._attempts)
        failing = calls.failing
        if not failing and (calls.begun or self._plan.choice is ToolChoice.AUTO):
            return self._make_outcome("ok")
        if not written:
            calls.notes.append("nothing was called")
        if self._is_spent:
            return self._make_outcome("exhausted")
        if calls.begun:
            self._tools = calls.select_tools(failing)
            says = instructions.describe_problems(self._plan, failing, calls.notes, self._tools)
        else:
            says = instructions.ask_for_call(self._plan, self._tools)
        self._conversation.add_round(reply, written, answers, says)
        return self.next_request()

    def _end_with_cut_reply(self, reply: ModelReply, status: Status, call_status: CallStatus) -> Extraction:
        """End with an answer that is not whole: its arguments are not parsed, but its calls are in the outcome."""
        self._calls.close_cut_calls(reply, call_status, self._attempts)
        if reply.failure is not None:
            note = f"the model failed ({reply.failure.fault}): {reply.failure.message}"
        elif status == "refused":
            note = "the model declined"
        else:
            note = "the answer was cut at its greatest length"
        self._calls.notes = [note]
        return self._make_outcome(status, reply)

    def _make_outcome(self, status: Status, reply: ModelReply | None = None) -> Extraction:
        failed = reply.failure if reply else None
        calls = self._calls
        errors: list[str] = []
        if status != "ok":
            errors += [
                f"{slot.id} {slot.name}: {problem}" for slot in calls.failing for problem in slot.problems
            ]
        errors += calls.notes  # also when all calls are valid: a part of the last answer was not applied
        return Extraction(
            status=status,
            calls=tuple(slot.make_result() for slot in calls.slots.values()),
            errors=tuple(errors),
            attempts=self._attempts,
            usage=self._usage,
            text=self._text,
            fault=failed.fault if failed else None,
            retry_after=failed.retry_after if failed else None,
        )
