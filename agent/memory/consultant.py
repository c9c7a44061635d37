"""Answers a client's requests to the memory: one frame in, one frame out, also when something fails.

No request disappears without an answer. The session's scope decides which items are visible, and no frame widens it;
another user's items look as if they did not exist.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import structlog
import trio

from ..errors import BadItem, Conflict, NotFound, StorageFailed, describe_error
from ..lang import Lang
from ..ports import memory as memory_port
from ..ports.clock import Clock
from ..ports.consult import ConsultReply, ThreadListener
from ..ports.conversation import Exchange, Scope
from ..ports.feedback import Feedback, FeedbackAccess
from ..ports.pages import Window
from ..ports.recall import Excerpt, RecallQuery
from ..ports.remember import MEMORY_FILES, MemoryAccess
from ..ports.thread_history import UserThreads
from ..protocol.consult_frames import (
    FrameChange,
    FrameExcerpt,
    FrameItem,
    FrameMessage,
    ItemSource,
    MemoryChanged,
    MemoryFrame,
    MessagesFrame,
    RecallFrame,
    ReplacedItem,
    ThreadChanged,
    ThreadDeleted,
    ThreadFrame,
    ThreadsFrame,
)
from ..protocol.inbound import (
    Consult,
    MemoryDecide,
    MemoryEdit,
    MemoryForget,
    MemoryList,
    OpenThread,
    Recall,
    ThreadDelete,
    ThreadList,
    ThreadMessages,
    ThreadRename,
)
from ..protocol.outbound import Error, Outbound
from ..protocol.records import from_record
from ..protocol.thread_frames import make_message, make_thread
from ..text.language import detect_language
from .thread_follower import ThreadFollower, pair_exchange

CONSULT_TIMEOUT = 10.0  # seconds for one request to the memory
ITEMS_LISTED = 20  # in one frame of at most 100 KiB: the answers to all waiting requests fit into an outbox
SOURCES_LISTED = 8  # of one item: its first sources
THREADS_LISTED = 50  # in one frame
MESSAGES_LISTED = 20  # in one frame, as far as they fit into ...
MESSAGES_BYTES = 64 * 1024  # ... so many bytes as they are stored, and at least one
HISTORY_READ = 40  # messages of a thread that is opened: its last exchanges go before the next question

_log = structlog.get_logger("agent.memory")

_NO_THREAD = (
    "There is no such thread; send thread_list to see what there is, "
    "or open_thread without the field thread to get the id of the current thread."
)
_NO_ITEM = "There is no such item; send memory_list to see what there is."
_FAILED = "The memory cannot be read or changed now; send memory_list, then try again."
_CONFLICTS = {
    "changed": "The item, or an item that it replaces, has changed; list it again, then decide.",
    "refused": "The status of the item does not allow that; list it to see its status.",
}


class MemoryConsultant:
    """Answers requests to one server's memory (implements `agent.ports.consult.Consultant`).

    `lang`: of a text in an unknown language. `new_id`: names the log line of a fault. `follower`: tells sessions of
    changed threads; `None` where none follows. `feedback`: users' feedback on answers; `None` where none is stored.
    """

    def __init__(
        self,
        memory: MemoryAccess,
        clock: Clock,
        new_id: Callable[[], str],
        lang: Lang,
        follower: ThreadFollower | None = None,
        feedback: FeedbackAccess | None = None,
    ) -> None:
        self._memory = memory
        self._feedback = feedback
        self._follower = follower
        self._clock = clock
        self._new_id = new_id
        self._lang = lang

    async def answer(self, frame: Consult, scope: Scope, listener: ThreadListener) -> ConsultReply:
        """Return the answer to `frame` for the client of `scope`, within `CONSULT_TIMEOUT` seconds.

        A `thread_list` with `follow` has `listener` told of the changes in its user's threads from now on. The user's
        earlier exchanges are stored first, within that time; when they cannot be, a list says that it is incomplete.
        Raises nothing but `trio.Cancelled`; a change under way is then made whole or not at all.
        """
        if self._follower is not None and isinstance(frame, ThreadList) and frame.follow:
            await self._follower.follow(listener, scope)
        moved: Scope | None = None
        history: tuple[Exchange, ...] = ()
        try:
            with trio.fail_after(CONSULT_TIMEOUT):
                complete = await self._memory.backlog.wait_caught_up(scope)
                reply = await self._ANSWER[type(frame)](self, frame, scope)
                if isinstance(reply, ThreadFrame) and reply.thread != scope.thread:
                    moved = scope.in_thread(reply.thread)
                    history = await self._load_history(moved)
                    if self._follower is not None and self._follower.was_erased(moved):
                        raise NotFound("it was deleted meanwhile")
            if not complete and isinstance(reply, RecallFrame | MemoryFrame | ThreadsFrame | MessagesFrame):
                reply = reply.as_incomplete()
        except (StorageFailed, trio.TooSlowError):
            moved, reply = None, _make_error(frame, "memory_failed", _FAILED)
        except NotFound:
            moved, reply = None, _make_missing(frame)
        except Conflict as conflict:
            reply = _make_error(frame, conflict.code, _CONFLICTS[conflict.code])
        except BadItem as bad:
            reply = _make_error(frame, "bad_item", f"{bad.message[0].upper()}{bad.message[1:]}.")
        except Exception as broken:  # noqa: BLE001 - the edge of one request to the memory
            fault = self._new_id()
            _log.error("memory request broke", fault=fault, **describe_error(broken))
            reply = _make_error(
                frame, "internal", f"Something broke here; ask again, or report fault {fault}."
            )
        return ConsultReply(reply, moved, history if moved else ())

    def leave(self, listener: ThreadListener, scope: Scope) -> None:
        """Tell `listener` nothing more of the threads of the scope's user. Idempotent."""
        if self._follower is not None:
            self._follower.leave(listener, scope)

    async def run(self) -> None:
        """Find the changes of threads to tell of, until cancelled; return at once where nothing is followed."""
        await trio.lowlevel.checkpoint()
        if self._follower is not None:
            await self._follower.run()

    async def _open(self, frame: OpenThread, scope: Scope) -> Outbound:
        if frame.fresh:
            return ThreadFrame(self._new_id(), frame.id)
        thread = frame.thread or scope.thread
        if thread != scope.thread and not await self._memory.desk.is_known(scope.in_thread(thread)):
            raise NotFound("there is no such thread")
        return ThreadFrame(thread, frame.id)

    async def _load_history(self, scope: Scope) -> tuple[Exchange, ...]:
        """Return the last exchanges of a thread that is opened, oldest first; () where its messages are not stored."""
        try:
            page = await self._threads.load_messages(scope, Window(HISTORY_READ))
        except NotFound:
            return ()
        by_message: dict[str, list[FrameMessage]] = {}
        for each in page.entries:
            by_message.setdefault(each.message, []).append(make_message(each))
        return tuple(each for each in map(pair_exchange, by_message.values()) if each is not None)

    async def _recall(self, frame: Recall, scope: Scope) -> Outbound:
        search = RecallQuery(
            text=frame.query,
            lang=self._lang_of(frame.lang, frame.query),
            scope=scope,
            at=self._clock.now_ms(),
            limit=frame.limit,
        )
        result = await self._memory.recaller.recall(search)
        return RecallFrame(
            tuple(map(_make_excerpt, result.excerpts[: frame.limit])),
            result.score,
            tuple((MEMORY_FILES + old, MEMORY_FILES + new) for old, new in result.disagreements),
            frame.id,
        )

    async def _list(self, frame: MemoryList, scope: Scope) -> Outbound:
        if frame.item is not None:
            item, history = await self._memory.desk.item(scope, frame.item)
            return MemoryFrame(
                (await self._present_item(scope, item),), None, tuple(map(_make_change, history)), frame.id
            )
        statuses = () if frame.status is None else (frame.status,)
        page = await self._memory.desk.items(scope, Window(ITEMS_LISTED, frame.after), statuses)
        items = [await self._present_item(scope, each) for each in page.entries]
        return MemoryFrame(tuple(items), page.after, (), frame.id)

    async def _decide(self, frame: MemoryDecide, scope: Scope) -> Outbound:
        item = await self._memory.desk.decide_item(
            scope, frame.item, frame.decision, frame.revision, frame.replaces
        )
        replaced = frame.replaces or ([item.supersedes] if item.supersedes else [])
        accepted = frame.decision == "accept"
        return await self._report_change(scope, item, replaced if accepted else (), frame.id)

    async def _edit(self, frame: MemoryEdit, scope: Scope) -> Outbound:
        lang = self._lang_of(frame.lang, frame.text)
        item = await self._memory.desk.edit_item(scope, frame.item, frame.text, lang, frame.revision)
        return await self._report_change(scope, item, (frame.item,), frame.id)

    async def _forget(self, frame: MemoryForget, scope: Scope) -> Outbound:
        forgotten = await self._memory.desk.forget_item(scope, frame.item)
        return await self._report_change(scope, forgotten.item, (), frame.id)

    async def _list_threads(self, frame: ThreadList, scope: Scope) -> Outbound:
        page = await self._threads.list_threads(scope, Window(THREADS_LISTED, frame.after))
        return ThreadsFrame(tuple(map(make_thread, page.entries)), page.after, frame.id)

    async def _show_messages(self, frame: ThreadMessages, scope: Scope) -> Outbound:
        page = await self._threads.load_messages(
            scope.in_thread(frame.thread), Window(MESSAGES_LISTED, frame.after)
        )
        size, fits = 0, 0
        for each in reversed(page.entries):
            size += len(each.text.encode()) + len(each.details.encode())
            if fits and size > MESSAGES_BYTES:
                break
            fits += 1
        shown = page.entries[len(page.entries) - fits :]
        after = shown[0].n if fits < len(page.entries) else page.after
        rated = await self._find_feedback([each.message for each in shown if each.role == "assistant"])
        messages = tuple(make_message(each, rated.get(each.message)) for each in shown)
        return MessagesFrame(frame.thread, messages, after, frame.id)

    async def _find_feedback(self, messages: Collection[str]) -> Mapping[str, Feedback]:
        """Return the feedback on the answers to messages of the user's; {} while its store cannot be read."""
        if self._feedback is None:
            return {}
        try:
            return await self._feedback.store.find_feedback(self._feedback.project, messages)
        except StorageFailed:
            return {}

    async def _rename_thread(self, frame: ThreadRename, scope: Scope) -> Outbound:
        renamed = await self._threads.rename_thread(scope.in_thread(frame.thread), frame.title)
        await self._tell_followers()
        return ThreadChanged(make_thread(renamed), frame.id)

    async def _delete_thread(self, frame: ThreadDelete, scope: Scope) -> Outbound:
        await self._threads.delete_thread(scope.in_thread(frame.thread))
        await self._tell_followers()
        return ThreadDeleted(frame.thread, frame.id)

    async def _tell_followers(self) -> None:
        if self._follower is not None:
            await self._follower.catch_up()

    @property
    def _threads(self) -> UserThreads:
        return self._memory.threads

    async def _report_change(
        self, scope: Scope, item: memory_port.Item, replaced: Sequence[str], id: str | None
    ) -> Outbound:
        replaced_items = [
            (await self._memory.desk.item(scope, each))[0] for each in replaced if each != item.id
        ]
        changed_items = [await self._present_item(scope, each) for each in (item, *replaced_items)]
        return MemoryChanged(changed_items[0], tuple(changed_items[1:]), id)

    async def _present_item(self, scope: Scope, item: memory_port.Item) -> FrameItem:
        contradicted = (
            await self._memory.desk.conflicting_items(scope, item.id) if item.status == "proposed" else ()
        )
        return _make_item(item, contradicted, self._memory.desk.allowed_decisions(item))

    def _lang_of(self, lang: Lang | None, text: str) -> Lang:
        return lang or detect_language(text) or self._lang

    _ANSWER: ClassVar[
        dict[type[Consult], Callable[["MemoryConsultant", Any, Scope], Awaitable[Outbound]]]
    ] = {
        OpenThread: _open,
        Recall: _recall,
        MemoryList: _list,
        MemoryDecide: _decide,
        MemoryEdit: _edit,
        MemoryForget: _forget,
        ThreadList: _list_threads,
        ThreadMessages: _show_messages,
        ThreadRename: _rename_thread,
        ThreadDelete: _delete_thread,
    }


def _make_error(frame: Consult, code: Any, message: str) -> Error:
    return Error(code, message, frame.id)


def _make_missing(frame: Consult) -> Error:
    """Return the answer about an item or a thread that does not exist, or is another user's."""
    if isinstance(frame, OpenThread | ThreadMessages | ThreadRename | ThreadDelete):
        return _make_error(frame, "unknown_thread", _NO_THREAD)
    return _make_error(frame, "unknown_item", _NO_ITEM)


def _make_item(
    item: memory_port.Item,
    conflicts: Sequence[memory_port.Item],
    decisions: tuple[memory_port.ItemDecision, ...],
) -> FrameItem:
    return from_record(
        FrameItem,
        item,
        sources=tuple(map(_make_source, item.sources[:SOURCES_LISTED])),
        replaces=tuple(ReplacedItem(each.id, each.text) for each in conflicts),
        decisions=decisions,
    )


def _make_source(source: memory_port.Source) -> ItemSource:
    return from_record(ItemSource, source, lines=(source.first, source.last) if source.first else None)


def _make_change(change: memory_port.Change) -> FrameChange:
    return from_record(FrameChange, change)


def _make_excerpt(excerpt: Excerpt) -> FrameExcerpt:
    return from_record(FrameExcerpt, excerpt, source=MEMORY_FILES + excerpt.id)
