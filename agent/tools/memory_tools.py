"""The two tools by which a model may propose to remember a fact; pure.

No executor carries them out: a proposal waits for the end of its turn, and then for its user. So they have no place to
run, and no argument that could set a status, a scope or a confidence. A rule accepts an event or a metric only in the
user's own words (`agent.intents.statements`).
"""

import re
from datetime import date, datetime, time, timedelta
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


_END: Final = {
    "type": "string",
    "maxLength": 40,
    "description": (
        "The last day or the time for which it holds, where the user names it: 2026-05-31 or "
        "2026-05-31T14:00:00+02:00. Without it an event ends after a week and a metric after a day."
    ),
}
_WRITTEN_END: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<time>T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?"
)


def read_end(text: str) -> int:
    """Return the time that an `expires_at` names, Unix milliseconds: of a day its end, where the server stands.

    Raises `ValueError` for a text that is neither a day nor a time of RFC 3339.
    """
    written = _WRITTEN_END.fullmatch(text)
    if written is None:
        raise ValueError("neither a day nor a time with its offset")
    try:
        if written["time"]:
            end = datetime.fromisoformat(text)
        else:
            end = datetime.combine(date.fromisoformat(text) + timedelta(days=1), time()).astimezone()
        return round(end.timestamp() * 1000)
    except OverflowError as error:
        raise ValueError("beyond the calendar") from error


def _make_schema(optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


PROPOSING: Final = (
    ToolDefinition(
        name=ADD,
        description=(
            "Proposes to remember something that the user said and that will matter later. The user is asked; "
            "until then it is not remembered. An event or a metric in a sentence of the user's message, word for "
            "word, is remembered at once, until it ends."
        ),
        parameters=_make_schema(
            ("expires_at",),
            type={
                "enum": [
                    "fact",
                    "rule",
                    "decision",
                    "open_loop",
                    "idea",
                    "event",
                    "metric",
                    "preference",
                    "lesson",
                ]
            },
            subject={
                "type": "string",
                "minLength": 1,
                "maxLength": _SUBJECT,
                "description": "What it is about, in a few words.",
            },
            text=_TEXT,
            expires_at=_END,
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
