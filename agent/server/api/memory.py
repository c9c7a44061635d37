"""What is remembered, over HTTP: each user's own, looked at, decided, corrected and forgotten."""

from collections.abc import Sequence
from functools import partial

from ...errors import NotFound
from ...lang import DEFAULT
from ...ports.conversation import Scope
from ...ports.memory import Change, Item, Source
from ...ports.remember import MemoryDesk
from ...ports.requests import ITEM_DECIDED
from ...protocol.http import DecideItem, MemoryQuery, OfUser
from ...protocol.problems import Unanswerable, missing
from ...protocol.views import ChangeView, ItemAnswer, ItemPage, ItemView, SourceView
from ...text.language import language
from ..answers import Answer
from .answers import told
from .pages import paged, window
from .rooms import Request, Rooms, note


async def list_items(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a user's items."""
    query: MemoryQuery = request.query
    scope = Scope(request.project, "", query.user_id)
    statuses = () if query.status is None else (query.status,)
    memory, complete = _memory(rooms), await rooms.backlog.caught_up(scope)
    page = await memory.items(scope, window("memory", query), statuses)
    return paged("memory", page, partial(_item, memory), partial(ItemPage, incomplete=not complete))


async def get_item(rooms: Rooms, request: Request) -> Answer:
    """Tell an item and its history."""
    query: OfUser = request.query
    memory = _memory(rooms)
    found = await memory.item(Scope(request.project, "", query.user_id), request.names["item_id"])
    return _tell(memory, *found)


async def decide_item(rooms: Rooms, request: Request) -> Answer:
    """Do what a user decides about an item, and tell how it stands then; of an edit, the item that took its place.

    The audit's line about a forgotten item says only that its user forgot something.
    """
    said: DecideItem = request.body
    scope, id = Scope(request.project, "", said.user_id), request.names["item_id"]
    memory = _memory(rooms)
    if (said.text is not None) != (said.decision == "edit"):
        raise missing("text") if said.text is None else Unanswerable("bad_request")
    if said.decision == "forget":
        await memory.forget(scope, id)
    elif said.decision == "edit":
        assert said.text is not None
        lang = said.lang or language(said.text) or DEFAULT
        id = (await memory.edit(scope, id, said.text, lang, said.revision)).id
    else:
        await memory.decide(scope, id, said.decision, said.revision, said.replaces)
    event, forgets = ITEM_DECIDED + said.decision, said.decision == "forget"
    await note(rooms, request.project, said.user_id, event, "" if forgets else id)
    item, history = await memory.item(scope, id)
    if item.status == "forgotten" and not forgets:  # meanwhile, and perhaps before its line was written
        await rooms.threads.forget((), id)
    return _tell(memory, item, history)


def _memory(rooms: Rooms) -> MemoryDesk:
    """Return what is remembered. Raises `NotFound` where nothing is."""
    if rooms.memory is None:
        raise NotFound
    return rooms.memory


def _tell(memory: MemoryDesk, item: Item, history: Sequence[Change]) -> Answer:
    return told(ItemAnswer(_item(memory, item), tuple(map(_change, history))))


def _item(memory: MemoryDesk, item: Item) -> ItemView:
    return ItemView(
        item.id,
        item.scope.project,
        item.scope.user,
        item.type,
        item.status,
        item.text,
        tuple(map(_source, item.sources)),
        item.valid_from,
        item.valid_to,
        item.expires_at,
        item.supersedes,
        item.superseded_by,
        item.confidence,
        item.created_at,
        item.decided_at,
        item.decided_by,
        item.revision,
        memory.may(item),
    )


def _source(source: Source) -> SourceView:
    lines = (source.first, source.last) if source.first else None
    return SourceView(source.kind, source.ref, lines, source.quote)


def _change(change: Change) -> ChangeView:
    return ChangeView(change.item, change.at, change.trigger, change.before, change.after, change.by)
