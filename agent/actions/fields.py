"""What an action needs to be told, and whether what a client fills in for it will do.

Strategy: one table of required fields. The words of a message fill what they can; what they lack is named in the
suggestion, and a confirm fills it in. A second table says what a language model may fill in, where one does. A value is
judged by its field's own form; a field without one takes any words.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..config import FILLED_CHARACTERS, PAYLOAD_BYTES
from .phones import is_phone

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule_callback": ("phone",),
    "send_sms": ("phone", "text"),
    "create_ticket": ("subject",),
}
"""The fields without which an action is not carried out, by its name on the wire."""

OF_THE_USER: Final = frozenset(("phone", "name", "when"))
"""Fields that hold the user's own words only; what the others hold is worded, of the user's numbers and cited ones."""


def _text(description: str) -> Mapping[str, Any]:
    return {"type": ["string", "null"], "description": description, "maxLength": FILLED_CHARACTERS}


_PHONE = _text("the phone number as the user wrote it")
_WRITTEN: Final[Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]]] = {
    "schedule_callback": (
        "Has somebody call the user back.",
        {
            "phone": _PHONE,
            "name": _text("the user's name as the user wrote it"),
            "when": _text("when to call, in the user's own words"),
        },
    ),
    "send_sms": (
        "Sends a text message.",
        {"phone": _PHONE, "text": _text("the message to send, and nothing else")},
    ),
    "create_ticket": (
        "Opens a ticket.",
        {
            "subject": _text("what it is about, in a few words"),
            "body": _text("what happened or is wanted"),
            "priority": {"enum": ["low", "normal", "high", None]},
        },
    ),
}


def written(action: str) -> tuple[str, Mapping[str, Any]]:
    """Return what an action does, and the JSON Schema of what a model may fill in; it may leave out any of it."""
    description, fields = _WRITTEN[action]
    return description, {"type": "object", "properties": fields, "additionalProperties": False}


TOO_LARGE: Final = f"Shorten what payload fills in: with the rest of it, it may have {PAYLOAD_BYTES} bytes."


def lacking(missing: tuple[str, ...], given: Mapping[str, Any]) -> str | None:
    """Return in a sentence what a client must do so that `given` is exactly what is missing; None when it is.

    missing: names of fields. given: what the client filled in, by the names of fields. The sentence repeats nothing
    that the client sent.
    """
    if not given.keys() <= set(missing):
        return f"Leave out of payload what is not missing; fill in {_named(missing)}."
    for name in missing:
        value = given.get(name, "")
        if not isinstance(value, str):
            return f"Write {name} in payload as a string."
        if not value.strip():
            return f"Add to payload what is missing: {_named(missing)}."
        if len(value) > FILLED_CHARACTERS:
            return f"Shorten {name} in payload to at most {FILLED_CHARACTERS} characters."
        if name == "phone" and not is_phone(value):
            return "Write phone in payload as a phone number: 7 to 15 digits, with spaces or hyphens between."
    return None


def _named(missing: tuple[str, ...]) -> str:
    return " and ".join(missing) if missing else "nothing, and confirm without payload"
