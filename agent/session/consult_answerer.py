"""Answers a client's requests to the memory: one frame in, one frame out, also when something fails.

Each request runs in a task of its own, and its end, good or bad, is an event of the session: no request disappears
without an answer. The session's scope decides which items are visible, and no frame widens it; another user's items
look as if they did not exist.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import structlog
import trio

from ..errors import BadItem, Conflict, NotFound, StorageFailed
from ..lang import Lang
from ..ports import memory as memory_port
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.pages import Window
from ..ports.recall import Excerpt as Excerpt
from ..ports.recall import RecallQuery
from ..ports.remember import MEMORY_FILES, MemoryAccess
from ..protocol.inbound import (
    Consult,
    MemoryDecide,
    MemoryEdit,
    MemoryForget,
    MemoryList,
    OpenThread,
    Recall,
)
from ..protocol.outbound import (
    Error,
    FrameChange,
    FrameExcerpt,
    FrameItem,
    ItemSource,
    MemoryChanged,
    MemoryFrame,
    Outbound,
    RecallFrame,
    ReplacedItem,
    ThreadFrame,
)
from ..protocol.records import from_record
from ..text.language import detect_language
from .events import ConsultAnswered
from .turn import describe_error

CONSULT_TIMEOUT = 10.0  # seconds for one request to the memory
ITEMS_LISTED = 20  # in one frame of at most 100 KiB: the answers to all waiting requests fit into an outbox
SOURCES_LISTED = 8  # of one item: its first sources

_log = structlog.get_logger("agent.session")

_OFF = "This server has no memory, and nothing was done; ask its operator to start it with a memory."
_NO_THREAD = "There is no such thread; leave the field thread out to get the id of the current thread."
_NO_ITEM = "There is no such item; send memory_list to see what there is."
_FAILED = "The memory cannot be read or changed now; send memory_list, then try again."
_CONFLICTS = {
    "changed": "The item, or an item that it replaces, has changed; list it again, then decide.",
    "refused": "The status of the item does not allow that; list it to see its status.",
}


class ConsultAnswerer:
    """Answers requests to one server's memory.

    `lang`: of a text in an unknown language. `new_id`: names the log line of a fault.
    """

    def __init__(self, memory: MemoryAccess, clock: Clock, new_id: Callable[[], str], lang: Lang) -> None:
        self._memory = memory
        self._clock = clock
        self._new_id = new_id
        self._lang = lang

    async def answer(self, frame: Consult, scope: Scope) -> ConsultAnswered:
        """Return the answer to `frame` for the client of `scope`, within `CONSULT_TIMEOUT` seconds.

        The user's earlier exchanges are stored first, within that time; when they cannot be, a list says that it is
        incomplete.
        Raises nothing but `trio.Cancelled`; a change under way is then made whole or not at all.
        """
        moved = None
        try:
            with trio.fail_after(CONSULT_TIMEOUT):
                complete = await self._memory.backlog.wait_caught_up(scope)
                reply = await self._ANSWER[type(frame)](self, frame, scope)
            if not complete and isinstance(reply, RecallFrame | MemoryFrame):
                reply = reply.as_incomplete()
            if isinstance(reply, ThreadFrame):
                moved = scope.in_thread(reply.thread)
        except (StorageFailed, trio.TooSlowError):
            reply = _make_error(frame, "memory_failed", _FAILED)
        except NotFound:
            reply = _make_error(frame, "unknown_item", _NO_ITEM)
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
        return ConsultAnswered(reply, trio.current_time(), moved if moved != scope else None)

    async def _open(self, frame: OpenThread, scope: Scope) -> Outbound:
        thread = frame.thread or scope.thread
        if thread != scope.thread and not await self._memory.desk.is_known(scope.in_thread(thread)):
            return _make_error(frame, "unknown_thread", _NO_THREAD)
        return ThreadFrame(thread, frame.id)

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

    _ANSWER: ClassVar[dict[type[Consult], Callable[["ConsultAnswerer", Any, Scope], Awaitable[Outbound]]]] = {
        OpenThread: _open,
        Recall: _recall,
        MemoryList: _list,
        MemoryDecide: _decide,
        MemoryEdit: _edit,
        MemoryForget: _forget,
    }


def refuse_consult(frame: Consult) -> ConsultAnswered:
    """Return the answer of a server without a memory."""
    return ConsultAnswered(_make_error(frame, "memory_off", _OFF), trio.current_time())


def _make_error(frame: Consult, code: Any, message: str) -> Error:
    return Error(code, message, frame.id)


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
