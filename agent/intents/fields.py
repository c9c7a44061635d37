"""Names the fields that an action needs, and judges the values that a client fills in for them.

Strategy: one table of required fields. The words of a message fill the fields that they can; the suggestion names the
missing ones, and a confirm fills them in. A second table lists the fields that a language model may fill in, where one
does. A value is judged by its field's own form; a field without one takes any words.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..config import PAYLOAD_BYTES
from .phone_numbers import is_phone_number

FILLED_CHARACTERS = 2000  # of one field that a confirm fills in

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule_callback": ("phone",),
    "send_sms": ("phone", "text"),
    "create_ticket": ("subject",),
}
"""The fields without which an action is not carried out, by its name on the wire."""

OF_THE_USER: Final = frozenset(("phone", "name", "when"))
"""Fields that hold the user's own words only; the others are worded, with numbers of the user's and cited ones."""


def _text_field(description: str) -> Mapping[str, Any]:
    return {"type": ["string", "null"], "description": description, "maxLength": FILLED_CHARACTERS}


_PHONE = _text_field("the phone number as the user wrote it")
_WRITTEN: Final[Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]]] = {
    "schedule_callback": (
        "Has somebody call the user back.",
        {
            "phone": _PHONE,
            "name": _text_field("the user's name as the user wrote it"),
            "when": _text_field("when to call, in the user's own words"),
        },
    ),
    "send_sms": (
        "Sends a text message.",
        {"phone": _PHONE, "text": _text_field("the message to send, and nothing else")},
    ),
    "create_ticket": (
        "Opens a ticket.",
        {
            "subject": _text_field("what it is about, in a few words"),
            "body": _text_field("what happened or is wanted"),
            "priority": {"enum": ["low", "normal", "high", None]},
        },
    ),
}


def describe_action(action: str) -> tuple[str, Mapping[str, Any]]:
    """Return an action's description, and the JSON Schema of the fields that a model may fill in or leave out."""
    description, fields = _WRITTEN[action]
    return description, {"type": "object", "properties": fields, "additionalProperties": False}


TOO_LARGE: Final = f"Shorten what payload fills in: with the rest of it, it may have {PAYLOAD_BYTES} bytes."


def explain_mismatch(missing: tuple[str, ...], given: Mapping[str, Any]) -> str | None:
    """Return the sentence that tells a client how to make `given` exactly the missing fields; None when it is.

    `missing`: names of fields. `given`: the values that the client filled in, by field. The sentence repeats nothing
    that the client sent.
    """
    if not given.keys() <= set(missing):
        return f"Leave out of payload what is not missing; fill in {_join_names(missing)}."
    for name in missing:
        value = given.get(name, "")
        if not isinstance(value, str):
            return f"Write {name} in payload as a string."
        if not value.strip():
            return f"Add to payload what is missing: {_join_names(missing)}."
        if len(value) > FILLED_CHARACTERS:
            return f"Shorten {name} in payload to at most {FILLED_CHARACTERS} characters."
        if name == "phone" and not is_phone_number(value):
            return (
                "Write phone in payload as a phone number of 7 to 15 digits; "
                "begin one from abroad with + and its country code."
            )
    return None


def _join_names(missing: tuple[str, ...]) -> str:
    return " and ".join(missing) if missing else "nothing, and confirm without payload"
