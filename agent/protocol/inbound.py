"""What a client may send: one Struct per row of the wire's first table."""

from typing import Annotated, Any, TypeAlias

import msgspec

from ..config import MAX_ID, MAX_TEXT, TOOLS_REQUEST
from ..lang import Lang


class Message(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """Ask. A new message cancels the one in progress.

    tools: what may be called to answer it, beside the operator's: JSON objects with `name`, `description`,
    `parameters` and, where that is to be stricter or laxer than usual, `requires_approval` and `risk`.
    """

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    lang: Lang | None = None
    tools: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=TOOLS_REQUEST)] | None = None


class Cancel(msgspec.Struct, frozen=True, tag="cancel", tag_field="type"):
    """Stop what is in progress; with `id`, only the message with that id or the suggestions it led to."""

    id: str | None = None


class ConfirmAction(msgspec.Struct, frozen=True, tag="confirm_action", tag_field="type", rename="camel"):
    """Run the suggested action. `payload` fills in what its suggestion says is `missing`, by the names of fields.

    A client that offered the subprotocol gets the error `bad_message` for a confirm that does not; the suggestion
    stays, and can be confirmed again. Of a tool's call (its suggestion has a `risk`) it stands in place of the
    arguments that were suggested; what the tool does not take is the error `bad_edit`, and the suggestion stays.
    """

    suggestion_id: str
    payload: dict[str, Any] | None = None


class RejectAction(msgspec.Struct, frozen=True, tag="reject_action", tag_field="type", rename="camel"):
    """Decline the suggested action.

    text: words in place of a yes. They become the next message, which has the suggestion's id.
    """

    suggestion_id: str
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)] | None = None


Inbound: TypeAlias = Message | Cancel | ConfirmAction | RejectAction
