"""Handlers for calls: approve, reject, begin, report. A request that comes too late is refused and changes nothing."""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec
import trio

from ...errors import Conflict, NotFound, StorageFailed
from ...ports.calls import CallReport, StoredCall
from ...protocol.agent_inbox import ResumeCall
from ...protocol.http import ApproveCall, CallsQuery, RejectCall, ToolResult
from ...protocol.payload import is_deeper_than, is_valid_payload
from ...protocol.problems import FieldError, ProblemError, missing_fields
from ...protocol.records import from_record
from ...protocol.views import ApprovedCall, CallPage, ChatAnswer, ReportReceipt, ToolList, ToolView
from ...tools.results import RESULT_DEPTH
from ..responses import Answer
from . import views
from .answers import answer_with
from .context import ApiServices, Request, record_audit
from .idempotency import REPLAYED
from .inbox import approver_of, find_entry, list_agent_inbox, naming_decision, read_answer
from .pages import answer_page, parse_window

APPROVE_WAIT = 14.0  # that the approver waits for the call that the server then runs
ANSWER_LOOKS = (0.0, 0.05, 0.2, 0.8, 0.0)  # pauses between the looks for the answer of a request in progress
RESULT_BYTES = 64 * 1024  # of a caller's report, as JSON

_ENDED = ("done", "failed", "unknown")
_encode = msgspec.json.Encoder(order="sorted").encode


async def list_calls(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a project's calls."""
    query: CallsQuery = request.query
    if query.form is not None:
        return await list_agent_inbox(services, request)
    page = await services.calls.calls(
        request.project, parse_window("calls", query), query.status, query.thread_id
    )
    return answer_page("calls", page, views.call, CallPage)


async def list_pending_calls(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of the calls of a project that wait for an approval."""
    page = await services.calls.calls(request.project, parse_window("calls", request.query), "suggested")
    return answer_page("calls", page, views.call, CallPage)


async def list_tools(services: ApiServices, request: Request) -> Answer:
    """Answer with the operator's tools."""
    await services.projects.project(request.project)  # raises `NotFound` for an unknown project
    return answer_with(ToolList(tuple([from_record(ToolView, tool) for tool in services.tools])))


async def get_call(services: ApiServices, request: Request) -> Answer:
    """Answer with a call."""
    return answer_with(views.call(await services.calls.call(request.project, request.names["call_id"])))


async def approve_call(services: ApiServices, request: Request) -> Answer:
    """Apply a user's outcome to a suggested call, and answer with the call as it is then."""
    body: ApproveCall = request.body
    _check(body, request.async_preferred)
    return await _decide(services, request, body)


async def resume_call(services: ApiServices, request: Request) -> Answer:
    """Apply an answer of Agent Inbox to a suggested call, and answer with the call as it is then."""
    body: ResumeCall = request.body
    approval = read_answer(body, await find_entry(services, request.project, request.names["call_id"]))
    _check(approval, request.async_preferred)
    return await _decide(services, request, approval, waiting=True)


async def _decide(
    services: ApiServices, request: Request, body: ApproveCall, waiting: bool = False
) -> Answer:
    """Apply an outcome; with `waiting`, a call that was approved meanwhile is not cancelled."""
    id, project, approver = request.names["call_id"], request.project, approver_of(request, body.approver)
    if body.go_on and (await services.calls.call(project, id)).runs_at == "caller":
        raise _field_problem("continue", "Leave this out, and send it with your report: you run this call.")
    async with naming_decision(services, project, id):
        if body.outcome == "respond":
            assert body.text is not None
            reply = await services.desk.answer_call(
                project, id, body.user_id, body.text, request.listener, approver
            )
            return _answer_approval(await services.calls.call(project, id), views.reply(reply))
        if body.outcome == "ignore":
            call = await services.desk.reject_call(project, id, body.user_id, approver, waiting=waiting)
            return _answer_approval(call)
        wait = 0.0 if request.async_preferred else APPROVE_WAIT
        call = await services.desk.approve_call(
            project, id, body.user_id, body.arguments, body.arguments_hash, wait, approver
        )
    return _answer_approval(call, await _continue_turn(services, request, call) if body.go_on else None)


async def answer_repeat(
    services: ApiServices, request: Request, answer: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Return the answer of an approval with an `Idempotency-Key`; where an earlier request with the key is in progress,
    in any process, that one's answer once the call has ended, within some `APPROVE_WAIT` seconds.

    Raises `Conflict("in_progress")` when it has no answer then.
    """
    waited = False
    for pause in ANSWER_LOOKS:
        try:
            return await answer()
        except Conflict as conflict:
            if conflict.code != "in_progress":
                raise
        if not waited:
            await services.desk.wait_for_end(request.project, request.names["call_id"], APPROVE_WAIT)
        waited = True
        await trio.sleep(pause)
    raise Conflict("in_progress")


async def reject_call(services: ApiServices, request: Request) -> Answer:
    """Decline a call."""
    body: RejectCall = request.body
    id, approver = request.names["call_id"], approver_of(request, body.approver)
    async with naming_decision(services, request.project, id):
        call = await services.desk.reject_call(
            request.project, id, body.user_id, approver, body.reason, body.waiting
        )
    return answer_with(views.call(call))


async def begin_call(services: ApiServices, request: Request) -> Answer:
    """Hand a call over to the caller that runs it."""
    id = request.names["call_id"]
    call = await services.desk.begin_call(request.project, id)
    await record_audit(services, request.project, request.by, "begun", id)
    return answer_with(views.call(call))


async def report_call(services: ApiServices, request: Request) -> Answer:
    """Record the report of a call's end. A report that is known already is answered as replayed."""
    body: ToolResult = request.body
    report = CallReport(
        project=request.project,
        call=body.tool_call_id,
        ok=body.ok,
        result=_result(body),
        digest=sha256(_encode([body.ok, body.data, body.error])).hexdigest(),
        at=services.clock.now_ms(),
        seen=body.arguments_hash,
    )
    try:
        call, known, reply = await services.desk.report_call(report, body.go_on, request.listener)
    except Conflict as conflict:
        await record_audit(
            services, request.project, request.by, f"report_{conflict.code}", body.tool_call_id
        )
        raise
    await record_audit(services, request.project, request.by, "reported", call.id)
    receipt = ReportReceipt(
        "acknowledged", call.id, views.call(call), views.reply(reply) if reply is not None else None
    )
    return answer_with(receipt, headers=REPLAYED if known else None)


async def _continue_turn(services: ApiServices, request: Request, call: StoredCall) -> ChatAnswer | None:
    """Return the answer to the user from a call's result, or None if it has to wait. The approval stands either way."""
    if call.status not in _ENDED:
        return None
    try:
        return views.reply(await services.desk.continue_turn(call, request.listener))
    except (Conflict, NotFound, StorageFailed):
        return None


def _field_problem(name: str, why: str) -> ProblemError:
    return ProblemError("bad_request", errors=[FieldError(f"/{name}", why)])


def _check(body: ApproveCall, async_preferred: bool) -> None:
    """Raise `ProblemError` if an outcome lacks a field that it needs, or comes with one that it does not take."""
    if body.outcome == "edit" and body.arguments is None:
        raise missing_fields("arguments")
    if body.outcome == "respond" and body.text is None:
        raise missing_fields("text")
    extra = [
        FieldError(f"/{name}", f"Leave this out, or send it with the outcome {outcome}.")
        for name, outcome, given in (("arguments", "edit", body.arguments), ("text", "respond", body.text))
        if given is not None and body.outcome != outcome
    ]
    if extra:
        raise ProblemError("bad_request", errors=extra)
    if body.go_on and body.outcome not in ("accept", "edit"):
        raise _field_problem("continue", "Leave this out, or send it with the outcome accept or edit.")
    if body.go_on and async_preferred:
        raise _field_problem(
            "continue", "Leave this out, or wait for the call's end, without Prefer: respond-async."
        )
    if body.arguments is not None and not is_valid_payload(body.arguments):
        raise ProblemError(
            "bad_edit", errors=[FieldError("/arguments", "Send arguments that are smaller, and less deep.")]
        )


def _result(body: ToolResult) -> Mapping[str, Any]:
    """Return a report in the shape of an action's result. Raises `ProblemError` if its data are too deep or large."""
    if is_deeper_than(RESULT_DEPTH, body.data):
        raise ProblemError(
            "bad_request", errors=[FieldError("/data", f"Nest it at most {RESULT_DEPTH} deep.")]
        )
    if len(_encode(body.data)) > RESULT_BYTES:
        raise ProblemError("too_large", f"Send data of at most {RESULT_BYTES // 1024} KB.")
    return {"success": True, "data": body.data} if body.ok else {"success": False, "error": body.error or ""}


def _answer_approval(call: StoredCall, reply: ChatAnswer | None = None) -> Answer:
    return answer_with(ApprovedCall(**msgspec.structs.asdict(views.call(call)), reply=reply))
