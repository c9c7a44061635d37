"""Handlers for approvers of calls: open calls (live in `inbox_watch.py`), decisions and their exports, Agent Inbox."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

import msgspec

from ...errors import Conflict, NotFound, StorageFailed
from ...ports.calls import Approver
from ...ports.inbox import DecisionFilter, InboxEntry
from ...ports.pages import Page
from ...protocol.agent_inbox import AgentInboxPage, HumanResponse, ResumeCall, make_thread, read_arguments
from ...protocol.approvals import (
    DecisionPage,
    DecisionView,
    InboxPage,
)
from ...protocol.http import ApproveCall, CallsQuery, DecisionsQuery, ExportQuery
from ...protocol.problems import FieldError, ProblemError
from ..responses import Answer
from ..service import OPERATOR
from . import views
from .answers import answer_with
from .context import ApiServices, Request
from .decision_files import CSV_HEAD, KINDS, write_csv, write_jsonl
from .inbox_watch import ENTRIES_AT_ONCE, INBOX_MOST
from .pages import answer_page, make_cursor, parse_window

EXPORT_MOST = 10_000  # decisions in one file
_EXPORT_PAGE = 500


@asynccontextmanager
async def naming_decision(services: ApiServices, project: str, call: str) -> AsyncIterator[None]:
    """Add the decision that stands to a refusal of the block: the call was decided before."""
    try:
        yield
    except Conflict as conflict:
        decision = None
        if conflict.code in ("closed", "begun", "expired"):
            with suppress(StorageFailed):
                decision = await services.inbox.store.decision(project, call)
        if decision is None:
            raise
        raise ProblemError(conflict.code, decision=views.decision(decision)) from None


async def list_waiting_calls(services: ApiServices, request: Request) -> Answer:
    """Answer with the open calls, or tell them and their changes for as long as the client stays."""
    project = _seen_project(request)
    if request.listener is not None:
        await services.inbox.run(project, request.key, request.listener)
    store = services.inbox.store
    look = await store.look(project, INBOX_MOST)
    ids = [*look.marks][:INBOX_MOST]
    entries: list[InboxEntry] = []
    for start in range(0, len(ids), ENTRIES_AT_ONCE):
        entries += await store.entries(project, ids[start : start + ENTRIES_AT_ONCE])
    return answer_with(InboxPage(tuple(map(views.inbox_call, entries)), look.waiting))


async def list_agent_inbox(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of the calls that wait, in the shapes of Agent Inbox."""
    query: CallsQuery = request.query
    window = parse_window("calls", query)
    page = await services.calls.calls(request.project, window, query.status or "suggested", query.thread_id)
    ids = [call.id for call in page.entries if call.status == "suggested"]
    entries = await services.inbox.store.entries(request.project, ids)
    return answer_page("calls", Page(tuple(entries), page.after), make_thread, AgentInboxPage)


async def list_decisions(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of the decisions about calls."""
    query: DecisionsQuery = request.query
    window = parse_window("decisions", query)
    page = await services.inbox.store.decisions(
        _seen_project(request), _filter(query), window.limit, window.after
    )
    return answer_page("decisions", page, views.decision, DecisionPage)


async def export_decisions_csv(services: ApiServices, request: Request) -> Answer:
    """Answer with decisions as CSV."""
    return await _export(services, request, "csv", CSV_HEAD, write_csv)


async def export_decisions_jsonl(services: ApiServices, request: Request) -> Answer:
    """Answer with decisions, a JSON object a line."""
    return await _export(services, request, "jsonl", b"", write_jsonl)


async def _export(
    services: ApiServices,
    request: Request,
    suffix: str,
    head: bytes,
    write: Callable[[Sequence[DecisionView]], bytes],
) -> Answer:
    query: ExportQuery = request.query
    project, wanted = _seen_project(request), _filter(query)
    after: int | None = parse_window("decisions", DecisionsQuery(cursor=query.cursor)).after
    parts = [head]
    for _ in range(EXPORT_MOST // _EXPORT_PAGE):
        page = await services.inbox.store.decisions(project, wanted, _EXPORT_PAGE, after or 0)
        parts.append(write([views.decision(each) for each in page.entries]))
        after = page.after
        if after is None:
            break
    headers = {"Content-Disposition": f'attachment; filename="decisions.{suffix}"'}
    if after is not None:
        headers["X-Next-Cursor"] = make_cursor("decisions", after)
    return Answer(status=200, content=b"".join(parts), headers=headers, kind=KINDS[suffix])


async def find_entry(services: ApiServices, project: str, call: str) -> InboxEntry:
    """Return a call as its approvers see it. Raises `NotFound`."""
    for entry in await services.inbox.store.entries(project, (call,)):
        return entry
    raise NotFound("there is no such call")


def read_answer(body: ResumeCall, entry: InboxEntry) -> ApproveCall:
    """Return an answer of Agent Inbox as an approval of its call.

    Raises `ProblemError` for an answer without the arguments or words that it needs, or whose accepted arguments are
    not those of the call.
    """
    (answer,) = body.command.resume
    call, user = entry.call, entry.user
    if answer.type == "ignore":
        return ApproveCall(user_id=user, outcome="ignore", approver=body.approver)
    if answer.type == "response":
        if not isinstance(answer.args, str) or not answer.args:
            raise _bad_answer("Send the words as a text.")
        try:
            return msgspec.convert(
                {"user_id": user, "outcome": "respond", "text": answer.args, "approver": body.approver},
                ApproveCall,
            )
        except msgspec.ValidationError:
            raise _bad_answer("Send fewer words.") from None
    if answer.type == "accept" and answer.args is None:
        return ApproveCall(user_id=user, approver=body.approver)
    arguments = read_arguments(_find_arguments(answer, call.tool), call.arguments, call.parameters)
    if answer.type == "edit":
        return ApproveCall(user_id=user, outcome="edit", arguments=arguments, approver=body.approver)
    if arguments != call.arguments:
        raise ProblemError("arguments_changed")
    return ApproveCall(user_id=user, arguments_hash=call.arguments_hash, approver=body.approver)


def _find_arguments(answer: HumanResponse, tool: str) -> dict[str, Any]:
    request = answer.args
    if not isinstance(request, dict) or not isinstance(request.get("args"), dict):
        raise _bad_answer("Send an action and its args.")
    if request.get("action") != tool:
        raise _bad_answer("Send the action of this call.")
    arguments: dict[str, Any] = request["args"]
    return arguments


def _bad_answer(why: str) -> ProblemError:
    return ProblemError("bad_request", errors=[FieldError("/command/resume/0/args", why)])


def approver_of(request: Request, name: str | None) -> Approver:
    """Return the approver of a request, with the name that it gives."""
    return Approver(name or "", request.key)


def _seen_project(request: Request) -> str | None:
    """Return the project that a list is of; None for all, where the operator names none."""
    return None if request.key == OPERATOR and request.query.project_id is None else request.project


def _filter(query: ExportQuery) -> DecisionFilter:
    return DecisionFilter(
        tool=query.tool,
        user=query.user_id,
        approver=query.approver,
        event=query.event,
        since=_milliseconds(query.since),
        until=_milliseconds(query.until),
    )


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
