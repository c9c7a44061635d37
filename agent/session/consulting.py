"""What is remembered answers a client: a frame in, a frame out, whatever goes wrong on the way.

It runs in a task of its own, and its end, good or bad, is an event of the session's: what was asked never disappears
without a word. Whoever asks is the session's scope, and nothing that a frame says widens it; what is another user's is
not there.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import structlog
import trio

from ..config import CONSULT_TIMEOUT, ITEMS_LISTED, SOURCES_LISTED
from ..errors import BadItem, Conflict, NotFound, StorageFailed
from ..lang import Lang
from ..ports import memory as kept
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.pages import Window
from ..ports.recall import Excerpt as Found
from ..ports.recall import Search
from ..ports.remember import MEMORY_FILES, Consulted
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
    Change,
    Error,
    Excerpt,
    Item,
    ItemSource,
    Memory,
    MemoryChanged,
    Outbound,
    Recalled,
    Replaced,
    Thread,
)
from ..text.language import language
from .events import Replied
from .turn import where

_log = structlog.get_logger("agent.session")

_OFF = "This server remembers nothing; nothing was done."
_NO_THREAD = "There is no such thread; leave the field thread out to be told the present one."
_NO_ITEM = "There is no such item; send memory_list to see what there is."
_FAILED = "What is remembered cannot be read or changed just now; list it, then try again."
_CONFLICTS = {
    "changed": "The item, or what it replaces, is not what was seen; list it again, then decide.",
    "refused": "The item is not in a status for that; list it to see how it stands.",
}


class Consulting:
    """Answers the frames of one server's clients.

    lang: of a text whose own cannot be told. new_id: names the log line of a fault.
    """

    def __init__(self, memory: Consulted, clock: Clock, new_id: Callable[[], str], lang: Lang) -> None:
        self._memory = memory
        self._clock = clock
        self._new_id = new_id
        self._lang = lang

    async def answer(self, frame: Consult, scope: Scope) -> Replied:
        """Return what a scope's client is told, CONSULT_TIMEOUT seconds later at most.

        What he said before is waited for, within that; where it cannot be kept in time, a list says that it is
        incomplete.
        Raises nothing but Cancelled; what was being changed then is changed whole or not at all.
        """
        moved = None
        try:
            with trio.fail_after(CONSULT_TIMEOUT):
                complete = await self._memory.backlog.caught_up(scope)
                told = await self._ANSWER[type(frame)](self, frame, scope)
            if not complete and isinstance(told, Recalled | Memory):
                told = told.as_incomplete()
            if isinstance(told, Thread):
                moved = scope.in_thread(told.thread)
        except (StorageFailed, trio.TooSlowError):
            told = _error(frame, "memory_failed", _FAILED)
        except NotFound:
            told = _error(frame, "unknown_item", _NO_ITEM)
        except Conflict as conflict:
            told = _error(frame, conflict.code, _CONFLICTS[conflict.code])
        except BadItem as bad:
            told = _error(frame, "bad_item", f"{bad.message[0].upper()}{bad.message[1:]}.")
        except Exception as broken:  # noqa: BLE001 - the edge of one question to what is remembered
            fault = self._new_id()
            _log.error("question to memory broke", fault=fault, **where(broken))
            told = _error(frame, "internal", f"Something broke here; ask again, or report fault {fault}.")
        return Replied(told, trio.current_time(), moved if moved != scope else None)

    async def _open(self, frame: OpenThread, scope: Scope) -> Outbound:
        thread = frame.thread or scope.thread
        if thread != scope.thread and not await self._memory.desk.known(scope.in_thread(thread)):
            return _error(frame, "unknown_thread", _NO_THREAD)
        return Thread(thread, frame.id)

    async def _recall(self, frame: Recall, scope: Scope) -> Outbound:
        search = Search(
            frame.query, self._told(frame.lang, frame.query), scope, self._clock.now_ms(), frame.limit
        )
        found = await self._memory.recaller.recall(search)
        return Recalled(
            tuple(map(_excerpt, found.excerpts[: frame.limit])),
            found.score,
            tuple((MEMORY_FILES + old, MEMORY_FILES + new) for old, new in found.disagreements),
            frame.id,
        )

    async def _list(self, frame: MemoryList, scope: Scope) -> Outbound:
        if frame.item is not None:
            item, history = await self._memory.desk.item(scope, frame.item)
            return Memory((await self._shown(scope, item),), None, tuple(map(_change, history)), frame.id)
        statuses = () if frame.status is None else (frame.status,)
        page = await self._memory.desk.items(scope, Window(ITEMS_LISTED, frame.after), statuses)
        shown = [await self._shown(scope, each) for each in page.entries]
        return Memory(tuple(shown), page.after, (), frame.id)

    async def _decide(self, frame: MemoryDecide, scope: Scope) -> Outbound:
        item = await self._memory.desk.decide(
            scope, frame.item, frame.decision, frame.revision, frame.replaces
        )
        replaced = frame.replaces or ([item.supersedes] if item.supersedes else [])
        accepted = frame.decision == "accept"
        return await self._changed(scope, item, replaced if accepted else (), frame.id)

    async def _edit(self, frame: MemoryEdit, scope: Scope) -> Outbound:
        lang = self._told(frame.lang, frame.text)
        item = await self._memory.desk.edit(scope, frame.item, frame.text, lang, frame.revision)
        return await self._changed(scope, item, (frame.item,), frame.id)

    async def _forget(self, frame: MemoryForget, scope: Scope) -> Outbound:
        forgotten = await self._memory.desk.forget(scope, frame.item)
        return await self._changed(scope, forgotten.item, (), frame.id)

    async def _changed(
        self, scope: Scope, item: kept.Item, replaced: Sequence[str], id: str | None
    ) -> Outbound:
        others = [(await self._memory.desk.item(scope, each))[0] for each in replaced if each != item.id]
        shown = [await self._shown(scope, each) for each in (item, *others)]
        return MemoryChanged(shown[0], tuple(shown[1:]), id)

    async def _shown(self, scope: Scope, item: kept.Item) -> Item:
        contradicted = (
            await self._memory.desk.contradicted(scope, item.id) if item.status == "proposed" else ()
        )
        return _item(item, contradicted, self._memory.desk.may(item))

    def _told(self, lang: Lang | None, text: str) -> Lang:
        return lang or language(text) or self._lang

    _ANSWER: ClassVar[dict[type[Consult], Callable[["Consulting", Any, Scope], Awaitable[Outbound]]]] = {
        OpenThread: _open,
        Recall: _recall,
        MemoryList: _list,
        MemoryDecide: _decide,
        MemoryEdit: _edit,
        MemoryForget: _forget,
    }


def nothing_remembered(frame: Consult) -> Replied:
    """Return the answer of a server that remembers nothing."""
    return Replied(_error(frame, "memory_off", _OFF), trio.current_time())


def _error(frame: Consult, code: Any, message: str) -> Error:
    return Error(code, message, frame.id)


def _item(item: kept.Item, contradicted: Sequence[kept.Item], may: tuple[kept.Decision, ...]) -> Item:
    return Item(
        item.id,
        item.type,
        item.status,
        item.text,
        item.revision,
        item.created_at,
        item.valid_from,
        tuple(map(_source, item.sources[:SOURCES_LISTED])),
        item.valid_to,
        item.expires_at,
        item.supersedes,
        item.superseded_by,
        tuple(Replaced(each.id, each.text) for each in contradicted),
        item.confidence,
        item.decided_at,
        item.decided_by,
        may,
    )


def _source(source: kept.Source) -> ItemSource:
    lines = (source.first, source.last) if source.first else None
    return ItemSource(source.kind, source.ref, lines, source.quote)


def _change(change: kept.Change) -> Change:
    return Change(change.item, change.at, change.trigger, change.after, change.before, change.by)


def _excerpt(found: Found) -> Excerpt:
    return Excerpt(
        MEMORY_FILES + found.id,
        found.kind,
        found.text,
        found.at,
        found.score,
        found.citable,
        found.by,
        found.thread,
    )
