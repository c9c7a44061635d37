"""What a client may send: one Struct per row of the wire's first table."""

from typing import Annotated, Any, TypeAlias

import msgspec

from ..config import (
    ITEM_REPLACES,
    ITEM_TEXT,
    MAX_ID,
    MAX_TEXT,
    RECALL_MOST,
    RECALL_TEXT,
    RECALL_USUAL,
    TOOLS_REQUEST,
)
from ..lang import Lang
from ..ports.memory import Decision, ItemStatus

_Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
_Revision: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=(1 << 53) - 1)]


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


class OpenThread(msgspec.Struct, frozen=True, tag="open_thread", tag_field="type"):
    """Go on in a thread that an earlier connection told, with what is remembered in it; `thread` left out, be told the
    present one.

    It takes effect for the messages that follow its answer. id: a label of the client's, which its answer has.
    """

    thread: _Label | None = None
    id: _Label | None = None


class Recall(msgspec.Struct, frozen=True, tag="recall", tag_field="type"):
    """Look for what was said, and for what is remembered. limit: excerpts at most. id: as of open_thread."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=RECALL_TEXT)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=RECALL_MOST)] = RECALL_USUAL
    lang: Lang | None = None
    id: _Label | None = None


class MemoryList(msgspec.Struct, frozen=True, tag="memory_list", tag_field="type"):
    """Be told what is remembered, oldest first, and what is proposed; or one item, with its history.

    status: only of this one; left out, all but what was forgotten. after: as an earlier answer had it, for what follows
    there. id: as of open_thread.
    """

    status: ItemStatus | None = None
    after: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)] = 0
    item: _Label | None = None
    id: _Label | None = None


class MemoryDecide(msgspec.Struct, frozen=True, tag="memory_decide", tag_field="type"):
    """Decide about an item.

    revision: that of the item as it was seen; where it has another by now, nothing is done. replaces: of an accept,
    the ids of the items that were seen to be replaced by it; where that are others, nothing is done. id: as of
    open_thread.
    """

    item: _Label
    decision: Decision
    revision: _Revision | None = None
    replaces: Annotated[list[_Label], msgspec.Meta(max_length=ITEM_REPLACES)] | None = None
    id: _Label | None = None


class MemoryEdit(msgspec.Struct, frozen=True, tag="memory_edit", tag_field="type"):
    """Put a corrected text in an item's place: another item, which replaces it. revision, id: as of memory_decide."""

    item: _Label
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=ITEM_TEXT)]
    revision: _Revision | None = None
    lang: Lang | None = None
    id: _Label | None = None


class MemoryForget(msgspec.Struct, frozen=True, tag="memory_forget", tag_field="type"):
    """Take all that an item says, and the messages that it comes from, out of what is kept. id: as of open_thread."""

    item: _Label
    id: _Label | None = None


Consult: TypeAlias = OpenThread | Recall | MemoryList | MemoryDecide | MemoryEdit | MemoryForget
"""What is asked of what is remembered. They are answered one after the other, in their order, beside any turn."""

Inbound: TypeAlias = Message | Cancel | ConfirmAction | RejectAction | Consult
