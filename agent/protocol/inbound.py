"""What a client may send: one Struct per row of the wire's first table."""

from typing import Annotated, Any, TypeAlias

import msgspec

from ..config import FILLED_CHARACTERS, MAX_ID, MAX_TEXT
from ..lang import Lang


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """Ask. A new message cancels the one in progress."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    lang: Lang | None = None


class Cancel(msgspec.Struct, frozen=True, tag="cancel", tag_field="type"):
    """Stop what is in progress; with `id`, only the message with that id or the suggestions it led to."""

    id: str | None = None


_FILLED = {"additionalProperties": {"type": "string", "minLength": 1, "maxLength": FILLED_CHARACTERS}}


class ConfirmAction(msgspec.Struct, frozen=True, tag="confirm_action", tag_field="type", rename="camel"):
    """Run the suggested action. `payload` fills in what its suggestion says is `missing`, by the names of fields.

    A client that offered the subprotocol gets the error `bad_message` for a confirm that does not; the suggestion
    stays, and can be confirmed again.
    """

    suggestion_id: str
    payload: Annotated[dict[str, Any], msgspec.Meta(extra_json_schema=_FILLED)] | None = None


class RejectAction(msgspec.Struct, frozen=True, tag="reject_action", tag_field="type", rename="camel"):
    """Decline the suggested action."""

    suggestion_id: str


Inbound: TypeAlias = Message | Cancel | ConfirmAction | RejectAction
