"""The messages between us and a model, in a form that services accept when they are repeated; pure."""

from collections.abc import Sequence

import msgspec

from ..ports.model import ModelMessage, ToolCall
from . import instructions
from .decode import ParsedJson
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
        if not isinstance(call.read, ParsedJson):
            return ToolCall(id, name, "{}")
        if call.read.repaired:
            return ToolCall(id, name, msgspec.json.encode(call.read.document).decode())
        return ToolCall(id, name, call.arguments)
