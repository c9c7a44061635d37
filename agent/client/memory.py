"""Memory commands on a terminal: the frames of `/memory`, `/accept` and the others, and the text for their answers.

An item is accepted in place of the items that the list showed as contradicted by it. An item that was not listed is
accepted in place of none, and the server refuses this when there is a conflict.
"""

from collections.abc import Sequence
from typing import Final, get_args

from ..ports.memory import ItemDecision
from ..ports.remember import MEMORY_FILES
from ..text.terminal import printable_line
from .client import Frame

DECISION_COMMANDS: Final[dict[ItemDecision, str]] = {each: f"/{each}" for each in get_args(ItemDecision)} | {
    "reject": "/decline"
}
"""The command of each decision; `/reject` is taken by suggested actions."""
_DECIDED = {command: decision for decision, command in DECISION_COMMANDS.items()}
COMMANDS = ("/memory", *_DECIDED, "/edit", "/forget")
REMEMBER = "remember"
_USAGE = {
    "/memory": "type /memory, or /memory N to go on",
    "/edit": "type /edit, the id of an item, which /memory lists, and what it should say",
}
_DIGITS = 15  # most digits of the number from which a list continues


class MemoryCommands:
    """The memory commands of one chat, and the items that it has listed."""

    def __init__(self) -> None:
        self._frame_count = 0
        self._replaces: dict[str, list[str]] = {}  # by each proposed item that was listed

    def make_frame(self, command: str, typed: str) -> Frame | None:
        """Return the frame for a command, with a new id; `None` when the command is typed wrongly."""
        frame: Frame | None = None
        if command == "/memory" and (not typed or (typed.isdecimal() and len(typed) <= _DIGITS)):
            frame = {"type": "memory_list", "after": int(typed or "0")}
        elif command == "/forget" and typed:
            frame = {"type": "memory_forget", "item": typed}
        elif command == "/edit":
            id, _, text = typed.partition(" ")
            if text.strip():
                frame = {"type": "memory_edit", "item": id, "text": text.strip()}
        elif command in _DECIDED and typed:
            frame = {"type": "memory_decide", "item": typed, "decision": _DECIDED[command]}
            if command == DECISION_COMMANDS["accept"]:
                frame["replaces"] = self._replaces.get(typed, [])
        if frame is None:
            return None
        self._frame_count += 1
        return frame | {"id": f"memory-{self._frame_count}"}

    def describe_answer(self, frame: Frame) -> list[str]:
        """Return the lines for an answer of the server."""
        if frame["type"] == "memory_changed":
            item = frame["item"]
            changed = [f"= {_describe_item(item)}"]
            return changed + [f"  in place of {_describe_item(each)}" for each in frame.get("replaced", ())]
        lines: list[str] = []
        for item in frame["items"]:
            lines.append(_describe_item(item))
            self._replaces[item["id"]] = [each["item"] for each in item.get("replaces", ())]
            lines += _describe_replaced(item.get("replaces", ()))
            lines += _describe_decisions(item)
        if "after" in frame:
            lines.append(f"(/memory {frame['after']} lists the next items)")
        if frame.get("incomplete"):
            lines.append("(your last messages are not kept yet and may be missing: ask again in a moment)")
        return lines or ["(nothing is remembered)"]


def describe_usage(command: str) -> str:
    """Return the usage of a command."""
    return _USAGE.get(command, f"type {command} and the id of an item, which /memory lists")


def is_remembered(citation: Frame) -> bool:
    """Tell whether a citation is of a memory item, which stands in no file."""
    return str(citation["file"]).startswith(MEMORY_FILES)


def describe_proposal(payload: Frame) -> list[str]:
    """Return the lines for a suggestion to remember an item: its text, and the items that it would replace."""
    return [
        f"remember: {printable_line(str(payload['text']))}",
        *_describe_replaced(payload.get("replaces", ())),
    ]


def _describe_replaced(replaces: Sequence[Frame]) -> list[str]:
    return [f"  in place of: {printable_line(str(each['text']))}" for each in replaces]


def _describe_decisions(item: Frame) -> list[str]:
    """Return the line with the commands for the decisions that an item allows now."""
    offered = [DECISION_COMMANDS[each] for each in item.get("decisions", ()) if each in DECISION_COMMANDS]
    return [f"  {' or '.join(offered)}"] if offered else []


def _describe_item(item: Frame) -> str:
    id_and_status = f"{printable_line(item['id'])} ({printable_line(item['status'])})"
    return f"{id_and_status} {printable_line(item['text'])}".rstrip()
