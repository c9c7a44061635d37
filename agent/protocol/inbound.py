"""Defines the messages that a client may send: one Struct per row of the wire's first table."""

from typing import Annotated, Any, TypeAlias

import msgspec

from ..config import ITEM_TEXT, MAX_ID, MAX_TEXT, TOOLS_REQUEST
from ..lang import Lang
from ..ports.feedback import FEEDBACK_TEXT, Verdict
from ..ports.memory import ItemDecision, ItemStatus

RECALL_TEXT = 500  # characters of a query
RECALL_MOST, RECALL_USUAL = 50, 10  # excerpts
ITEM_REPLACES = 16  # items that one is said to replace
THREAD_TITLE = 120  # characters

_Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
_Revision: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=(1 << 53) - 1)]


class _SpokenWords(msgspec.Struct, frozen=True, kw_only=True):
    """Words that may have been spoken."""

    heard: bool = False


class Message(_SpokenWords, frozen=True, tag="message", tag_field="type"):
    """Ask. A new message cancels the one in progress.

    `tools` may be called to answer it, beside the operator's: JSON objects with `name`, `description`, `parameters`
    and, to be stricter or laxer than usual, `requires_approval` and `risk`. With `progress` the server tells the steps
    of a slow turn, in frames `progress`. `heard` says that a recogniser made the words of audio: no action runs with
    arguments from them before its user has seen and confirmed these.
    """

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    lang: Lang | None = None
    tools: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=TOOLS_REQUEST)] | None = None
    progress: bool = False


class Cancel(msgspec.Struct, frozen=True, tag="cancel", tag_field="type"):
    """Stop the work in progress; with `id`, only the message with that id or the suggestions it led to."""

    id: str | None = None


class ConfirmAction(msgspec.Struct, frozen=True, tag="confirm_action", tag_field="type", rename="camel"):
    """Run the suggested action. `payload` fills in the fields that its suggestion lists as `missing`, by their names.

    A client that offered the subprotocol gets the error `bad_message` for a confirm that leaves them out; the
    suggestion stays, and can be confirmed again. Of a tool's call (its suggestion has a `risk`) it stands in place of
    the suggested arguments; arguments that the tool does not take are the error `bad_edit`, and the suggestion stays.
    """

    suggestion_id: str
    payload: dict[str, Any] | None = None


class RejectAction(msgspec.Struct, frozen=True, tag="reject_action", tag_field="type", rename="camel"):
    """Decline the suggested action.

    `text` holds words in place of a yes. They become the next message, which has the suggestion's id.
    """

    suggestion_id: str
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)] | None = None


class OpenThread(msgspec.Struct, frozen=True, tag="open_thread", tag_field="type"):
    """Continue a thread that an earlier connection was told, with its memory; without `thread`, ask for the present
    one, or with `fresh` begin a new one.

    It takes effect for the messages that follow its answer. `id` is a label of the client's, which its answer repeats.
    """

    thread: _Label | None = None
    id: _Label | None = None
    fresh: bool = False


class Recall(msgspec.Struct, frozen=True, tag="recall", tag_field="type"):
    """Search the conversations and the memory. `limit` bounds the excerpts. `id` is as in `open_thread`."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=RECALL_TEXT)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=RECALL_MOST)] = RECALL_USUAL
    lang: Lang | None = None
    id: _Label | None = None


class MemoryList(msgspec.Struct, frozen=True, tag="memory_list", tag_field="type"):
    """List the memory items, oldest first, and the proposed ones; or one item, with its history.

    `status` selects one status; left out, all but the forgotten items are listed. `after` continues an earlier answer,
    which has the number. `id` is as in `open_thread`.
    """

    status: ItemStatus | None = None
    after: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)] = 0
    item: _Label | None = None
    id: _Label | None = None


class MemoryDecide(msgspec.Struct, frozen=True, tag="memory_decide", tag_field="type"):
    """Decide about an item.

    `revision` is that of the item as it was seen; where it has another by now, nothing is done. For an accept,
    `replaces` holds the ids of the items that were seen to be replaced by it; where those are others, nothing is done.
    `id` is as in `open_thread`.
    """

    item: _Label
    decision: ItemDecision
    revision: _Revision | None = None
    replaces: Annotated[list[_Label], msgspec.Meta(max_length=ITEM_REPLACES)] | None = None
    id: _Label | None = None


class MemoryEdit(msgspec.Struct, frozen=True, tag="memory_edit", tag_field="type"):
    """Put a corrected text in an item's place: another item, which replaces it. `revision` and `id` are as in
    `memory_decide`.
    """

    item: _Label
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=ITEM_TEXT)]
    revision: _Revision | None = None
    lang: Lang | None = None
    id: _Label | None = None


class MemoryForget(msgspec.Struct, frozen=True, tag="memory_forget", tag_field="type"):
    """Erase all texts of an item, and the messages that it comes from. `id` is as in `open_thread`."""

    item: _Label
    id: _Label | None = None


class RateAnswer(msgspec.Struct, frozen=True, tag="feedback", tag_field="type"):
    """Say whether an answer of this session was good; a later verdict on the same answer replaces the first.

    `message` is the id of the message that it answers; of two with one id, the last counts. `text` holds words about
    it. `id` is as in `open_thread`.
    """

    message: _Label
    verdict: Verdict
    text: Annotated[str, msgspec.Meta(max_length=FEEDBACK_TEXT)] | None = None
    id: _Label | None = None


class ThreadList(msgspec.Struct, frozen=True, tag="thread_list", tag_field="type"):
    """List the user's threads, the one with the latest message first; without a user, the present one.

    `after` continues an earlier answer, which has the number. With `follow`, the frames `thread_changed`,
    `thread_deleted` and `exchange` tell of changes by other connections of the user, until this one ends. `id` is as in
    `open_thread`.
    """

    after: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)] = 0
    follow: bool = False
    id: _Label | None = None


class ThreadMessages(msgspec.Struct, frozen=True, tag="thread_messages", tag_field="type"):
    """Show the latest messages of a thread, or those before an earlier answer, which has the number `after`. `id` is as
    in `open_thread`.
    """

    thread: _Label
    after: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)] = 0
    id: _Label | None = None


class ThreadRename(msgspec.Struct, frozen=True, tag="thread_rename", tag_field="type"):
    """Give a thread a title; an empty one makes it the first question again. `id` is as in `open_thread`."""

    thread: _Label
    title: Annotated[str, msgspec.Meta(max_length=THREAD_TITLE)]
    id: _Label | None = None


class ThreadDelete(msgspec.Struct, frozen=True, tag="thread_delete", tag_field="type"):
    """Erase all messages of a thread. A connection that has it open goes on in a new thread, without the turn in
    progress. `id` is as in `open_thread`.
    """

    thread: _Label
    id: _Label | None = None


Search: TypeAlias = Recall | ThreadList | ThreadMessages
"""The requests whose number a second is bounded."""
Consult: TypeAlias = (
    OpenThread
    | Recall
    | MemoryList
    | MemoryDecide
    | MemoryEdit
    | MemoryForget
    | ThreadList
    | ThreadMessages
    | ThreadRename
    | ThreadDelete
    | RateAnswer
)
"""The requests to memory, and feedback. They are answered one after the other, in their order, beside any turn."""

Inbound: TypeAlias = Message | Cancel | ConfirmAction | RejectAction | Consult
