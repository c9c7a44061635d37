"""What was said between us and a model, as its service wants to have it repeated; pure."""

from collections.abc import Sequence

import msgspec

from ..ports.model import Message, ToolCall
from . import telling
from .decode import Read
from .plan import Plan
from .schema import NAME
from .slots import Slot
from .written import Reply, Written


class Conversation:
    """The messages so far; they only grow, so that a service can keep its work on those that it knows."""

    def __init__(self, plan: Plan) -> None:
        self.messages = plan.messages
        self._ids = {call.id for message in plan.messages for call in message.calls}

    def grow(self, reply: Reply, calls: Sequence[Written], answers: Sequence[Slot | str], says: str) -> None:
        """Add an answer, a line to each of its calls, and what we say to all of it."""
        text = reply.text.encode("utf-8", "replace").decode() if reply.text else ""
        grown: list[Message] = []
        if reply.calls:
            told = tuple(self._echo(call) for call in calls)
            grown.append(Message("assistant", text, told))
            for call, answer in zip(told, answers, strict=True):
                line = answer if isinstance(answer, str) else telling.settled(answer)
                grown.append(Message("tool", telling.line(line), call_id=call.id))
        elif text:
            grown.append(Message("assistant", text))
        self.messages = (*self.messages, *grown, Message("user", says))

    def _echo(self, call: Written) -> ToolCall:
        """Return a call as it can be repeated: under an id of its own, with a name and arguments that can be sent.

        What could not be read is repeated as an empty object: services answer anything else with an error.
        """
        stem = call.id.encode("utf-8", "ignore").decode() or "call"
        id, number = stem, 1
        while id in self._ids:
            number += 1
            id = f"{stem}_{number}"
        self._ids.add(id)
        name = call.name if NAME.fullmatch(call.name) else "unknown"
        if not isinstance(call.read, Read):
            return ToolCall(id, name, "{}")
        if call.read.repaired:
            return ToolCall(id, name, msgspec.json.encode(call.read.document).decode())
        return ToolCall(id, name, call.arguments)
