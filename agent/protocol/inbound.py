"""What a client may send: one Struct per row of the wire's first table."""

from typing import Annotated, TypeAlias

import msgspec

from ..config import MAX_ID, MAX_TEXT
from ..lang import Lang


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """Ask. A new message cancels the one in progress."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    lang: Lang | None = None


class Cancel(msgspec.Struct, frozen=True, tag="cancel", tag_field="type"):
    """Stop what is in progress; with `id`, only the message with that id or the suggestions it led to."""

    id: str | None = None


class ConfirmAction(msgspec.Struct, frozen=True, tag="confirm_action", tag_field="type", rename="camel"):
    """Run the suggested action."""

    suggestion_id: str


class RejectAction(msgspec.Struct, frozen=True, tag="reject_action", tag_field="type", rename="camel"):
    """Decline the suggested action."""

    suggestion_id: str


Inbound: TypeAlias = Message | Cancel | ConfirmAction | RejectAction
