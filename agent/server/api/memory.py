"""Handlers for a user's memory items: list, show, propose, decide, edit, forget."""

from collections.abc import Sequence
from functools import partial

from ...config import ITEM_QUOTE
from ...errors import NotFound
from ...lang import DEFAULT
from ...ports.conversation import Scope
from ...ports.memory import Candidate, Change, Item, Source
from ...ports.remember import MemoryService
from ...ports.requests import ITEM_DECIDED
from ...protocol.http import DecideItem, MemoryQuery, NewItem
from ...protocol.problems import FieldError, ProblemError, missing_fields
from ...protocol.records import from_record
from ...protocol.views import ChangeView, ItemAnswer, ItemPage, ItemView, SourceView
from ...text.language import detect_language
from ..responses import Answer
from .answers import answer_with
from .context import ApiServices, Request, record_audit
from .pages import answer_page, parse_window

PROPOSER = "http"  # the reference of an item's source where a program proposed it


async def list_items(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a user's items."""
    query: MemoryQuery = request.query
    scope = request.owner
    statuses = () if query.status is None else (query.status,)
    memory, complete = _memory(services), await services.backlog.wait_caught_up(scope)
    page = await memory.items(scope, parse_window("memory", query), statuses)
    make_view = partial(_item, memory, request.project)
    return answer_page("memory", page, make_view, partial(ItemPage, incomplete=not complete))


async def get_item(services: ApiServices, request: Request) -> Answer:
    """Answer with an item and its history."""
    memory = _memory(services)
    found = await memory.item(request.owner, request.names["item_id"])
    return _answer_item(memory, request.project, *found)


async def propose_item(services: ApiServices, request: Request) -> Answer:
    """Propose an event or a metric of a user, and answer with the item as a rule leaves it: accepted or proposed.

    The audit's line does not name the item, which may be forgotten before the line is written.
    """
    body: NewItem = request.body
    if body.expires_at is None and body.type == "metric":
        raise missing_fields("expires_at")
    ends = None if body.expires_at is None else round(body.expires_at.timestamp() * 1000)
    if ends is not None and ends <= services.clock.now_ms():
        raise ProblemError(
            "bad_item", errors=[FieldError("/expires_at", "Send a time that is still to come.")]
        )
    memory, scope = _memory(services), Scope(request.project, "", body.user_id)
    await services.projects.project(request.project)  # raises `NotFound` for an unknown project
    candidate = Candidate(
        type=body.type,
        subject=body.subject,
        text=body.text,
        lang=body.lang or detect_language(body.text) or DEFAULT,
        sources=(Source("tool", PROPOSER, quote=body.text[:ITEM_QUOTE]),),
        expires_at=ends,
        by_rule=True,
    )
    outcome = await memory.propose_item(scope, candidate)
    await record_audit(services, request.project, request.by, f"{ITEM_DECIDED}propose", "")
    found = await memory.item(scope, outcome.item.id)
    return _answer_item(memory, request.project, *found, status=201 if outcome.new else 200)


async def decide_item(services: ApiServices, request: Request) -> Answer:
    """Apply a user's decision to an item, and answer with the item as it is then; after an edit, with its successor.

    The audit's line about a forgotten item does not name the item.
    """
    body: DecideItem = request.body
    scope, id = request.owner, request.names["item_id"]
    memory = _memory(services)
    if (body.text is not None) != (body.decision == "edit"):
        raise missing_fields("text") if body.text is None else ProblemError("bad_request")
    if body.decision == "forget":
        await memory.forget_item(scope, id)
    elif body.decision == "edit":
        assert body.text is not None
        lang = body.lang or detect_language(body.text) or DEFAULT
        id = (await memory.edit_item(scope, id, body.text, lang, body.revision)).id
    else:
        await memory.decide_item(scope, id, body.decision, body.revision, body.replaces)
    event, forgets = ITEM_DECIDED + body.decision, body.decision == "forget"
    await record_audit(services, request.project, scope.user, event, "" if forgets else id)
    item, history = await memory.item(scope, id)
    if item.status == "forgotten" and not forgets:
        # Forgotten meanwhile, perhaps before the audit's line was written.
        await services.threads.forget_turns((), id)
    return _answer_item(memory, request.project, item, history)


def _memory(services: ApiServices) -> MemoryService:
    """Return the memory of `services`. Raises `NotFound` if the server has none."""
    if services.memory is None:
        raise NotFound
    return services.memory


def _answer_item(
    memory: MemoryService, project: str, item: Item, history: Sequence[Change], status: int = 200
) -> Answer:
    changes = tuple([from_record(ChangeView, change) for change in history])
    return answer_with(ItemAnswer(_item(memory, project, item), changes), status)


def _item(memory: MemoryService, project: str, item: Item) -> ItemView:
    """Return an item as its user sees it. `project`: the request's, whatever project its scope has."""
    return from_record(
        ItemView,
        item,
        project_id=project,
        user_id=item.scope.user,
        sources=tuple(map(_source, item.sources)),
        decisions=memory.allowed_decisions(item),
    )


def _source(source: Source) -> SourceView:
    lines = (source.first, source.last) if source.first else None
    return from_record(SourceView, source, lines=lines)
