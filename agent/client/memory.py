"""What is remembered, on a terminal: the frames of `/memory` and its like, and what is shown of their answers.

An item is accepted in place of what was listed as contradicted by it; where that was not listed, in place of nothing,
and the server says so where there is something.
"""

from collections.abc import Sequence
from typing import Final, get_args

from ..ports.memory import Decision
from ..ports.remember import MEMORY_FILES
from ..text.terminal import printable_line
from .client import Frame

TYPED: Final[dict[Decision, str]] = {each: f"/{each}" for each in get_args(Decision)} | {"reject": "/decline"}
"""How each decision is typed: `/reject` is of suggested actions."""
_DECIDED = {command: decision for decision, command in TYPED.items()}
COMMANDS = ("/memory", *_DECIDED, "/edit", "/forget")
REMEMBER = "remember"
_USAGE = {
    "/memory": "type /memory, or /memory N to go on",
    "/edit": "type /edit, the id of an item, which /memory lists, and what it should say",
}
_DIGITS = 15  # of where a list goes on


class Memory:
    """What one chat has asked, and has listed."""

    def __init__(self) -> None:
        self._asked = 0
        self._replaces: dict[str, list[str]] = {}  # by each proposed item that was listed

    def frame(self, command: str, typed: str) -> Frame | None:
        """Return what a command asks of the server, under a label of its own; None where it is not typed so."""
        made: Frame | None = None
        if command == "/memory" and (not typed or (typed.isdecimal() and len(typed) <= _DIGITS)):
            made = {"type": "memory_list", "after": int(typed or "0")}
        elif command == "/forget" and typed:
            made = {"type": "memory_forget", "item": typed}
        elif command == "/edit":
            id, _, text = typed.partition(" ")
            if text.strip():
                made = {"type": "memory_edit", "item": id, "text": text.strip()}
        elif command in _DECIDED and typed:
            made = {"type": "memory_decide", "item": typed, "decision": _DECIDED[command]}
            if command == TYPED["accept"]:
                made["replaces"] = self._replaces.get(typed, [])
        if made is None:
            return None
        self._asked += 1
        return made | {"id": f"memory-{self._asked}"}

    def lines(self, frame: Frame) -> list[str]:
        """Return what is shown of an answer."""
        if frame["type"] == "memory_changed":
            item = frame["item"]
            changed = [f"= {_stands(item)}"]
            return changed + [f"  in place of {_stands(each)}" for each in frame.get("replaced", ())]
        shown: list[str] = []
        for item in frame["items"]:
            shown.append(_stands(item))
            self._replaces[item["id"]] = [each["item"] for each in item.get("replaces", ())]
            shown += _instead_of(item.get("replaces", ()))
            shown += _takes(item)
        if "after" in frame:
            shown.append(f"(/memory {frame['after']} lists what follows)")
        if frame.get("incomplete"):
            shown.append("(what you said last is not kept yet, and may be missing here)")
        return shown or ["(nothing is remembered)"]


def usage(command: str) -> str:
    """Return how a command is typed."""
    return _USAGE.get(command, f"type {command} and the id of an item, which /memory lists")


def is_remembered(citation: Frame) -> bool:
    """Whether a citation is of something remembered, which stands in no file."""
    return str(citation["file"]).startswith(MEMORY_FILES)


def to_remember(payload: Frame) -> list[str]:
    """Return what a suggestion to remember something is about: its text, and what that would replace."""
    return [f"remember: {printable_line(str(payload['text']))}", *_instead_of(payload.get("replaces", ()))]


def _instead_of(replaces: Sequence[Frame]) -> list[str]:
    return [f"  in place of: {printable_line(str(each['text']))}" for each in replaces]


def _takes(item: Frame) -> list[str]:
    """Return what may be decided about an item as it stands, as it is typed."""
    offered = [TYPED[each] for each in item.get("decisions", ()) if each in TYPED]
    return [f"  {' or '.join(offered)}"] if offered else []


def _stands(item: Frame) -> str:
    named = f"{printable_line(item['id'])} ({printable_line(item['status'])})"
    return f"{named} {printable_line(item['text'])}".rstrip()
