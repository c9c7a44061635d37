"""The two tools by which a model may propose to remember a fact; pure.

No executor carries them out: a proposal waits for the end of its turn, and then for its user. So they have no place to
run, no argument that could set a status, a scope or a confidence, and only types that no rule accepts.
"""

from typing import Any, Final

from ..config import ITEM_TEXT
from ..ports.tools import ToolDefinition

PREFIX: Final = "memory."
"""The first part of both names; no other tool's name begins with it."""

ADD: Final = f"{PREFIX}propose_add"
UPDATE: Final = f"{PREFIX}propose_update"
_SUBJECT: Final = 120  # characters; a key takes its first words

_TEXT: Final = {
    "type": "string",
    "minLength": 1,
    "maxLength": ITEM_TEXT,
    "description": "A sentence that can be understood alone.",
}


def _make_schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


PROPOSING: Final = (
    ToolDefinition(
        name=ADD,
        description=(
            "Proposes to remember something that the user said and that will matter later. The user is asked; "
            "until then it is not remembered."
        ),
        parameters=_make_schema(
            type={"enum": ["fact", "rule", "decision", "open_loop", "idea", "preference", "lesson"]},
            subject={
                "type": "string",
                "minLength": 1,
                "maxLength": _SUBJECT,
                "description": "What it is about, in a few words.",
            },
            text=_TEXT,
        ),
        requires_approval=True,
        origin="operator",
    ),
    ToolDefinition(
        name=UPDATE,
        description=(
            "Proposes that something remembered now says otherwise. The user is asked; until then it stays as it is."
        ),
        parameters=_make_schema(
            item={
                "type": "string",
                "minLength": 1,
                "maxLength": 40,
                "description": "Its id, as i12.",
            },
            text=_TEXT,
        ),
        requires_approval=True,
        origin="operator",
    ),
)
