"""Calls over HTTP: who approves, who takes and who reports. Whoever comes too late hears so, and changes nothing."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from ...config import APPROVE_WAIT, RESULT_BYTES
from ...errors import Conflict, NotFound, StorageFailed
from ...ports.calls import CallReport, StoredCall
from ...protocol.http import ApproveCall, CallsQuery, RejectCall, ToolResult
from ...protocol.payload import deeper_than, fits
from ...protocol.problems import Unanswerable, Wrong, missing
from ...protocol.views import ApprovedCall, CallPage, ChatAnswer, ResultTaken
from ...tools.results import RESULT_DEPTH
from ..answers import Answer
from . import views
from .answers import told
from .once import REPLAYED
from .pages import paged, window
from .rooms import Request, Rooms, note

_ENDED = ("done", "failed", "unknown")
_encode = msgspec.json.Encoder(order="sorted").encode


async def list_calls(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a project's calls."""
    query: CallsQuery = request.query
    page = await rooms.calls.calls(request.project, window("calls", query), query.status, query.thread_id)
    return paged("calls", page, views.call, CallPage)


async def get_call(rooms: Rooms, request: Request) -> Answer:
    """Tell a call."""
    return told(views.call(await rooms.calls.call(request.project, request.names["call_id"])))


async def approve_call(rooms: Rooms, request: Request) -> Answer:
    """Do what somebody says to a suggested call, and tell how it stands then."""
    said: ApproveCall = request.body
    id = request.names["call_id"]
    _check(said, request.async_preferred)
    if said.go_on and (await rooms.calls.call(request.project, id)).runs_at == "caller":
        raise _wrong("continue", "Leave this out, and send it with your report: you run this call.")
    if said.outcome == "respond":
        assert said.text is not None
        reply = await rooms.desk.respond(request.project, id, said.user_id, said.text, request.listener)
        await note(rooms, request.project, said.user_id, "answered", id)
        return _approved(await rooms.calls.call(request.project, id), views.reply(reply))
    if said.outcome == "ignore":
        call = await rooms.desk.reject(request.project, id, said.user_id)
        await note(rooms, request.project, said.user_id, "rejected", id)
        return _approved(call)
    wait = 0.0 if request.async_preferred else APPROVE_WAIT
    call = await rooms.desk.approve(
        request.project, id, said.user_id, said.arguments, said.arguments_hash, wait
    )
    await note(rooms, request.project, said.user_id, "approved", id)
    return _approved(call, await _go_on(rooms, request, call) if said.go_on else None)


async def reject_call(rooms: Rooms, request: Request) -> Answer:
    """Decline a call."""
    said: RejectCall = request.body
    id = request.names["call_id"]
    call = await rooms.desk.reject(request.project, id, said.user_id)
    await note(rooms, request.project, said.user_id or request.by, "rejected", id)
    return told(views.call(call))


async def begin_call(rooms: Rooms, request: Request) -> Answer:
    """Hand a call over to who runs it."""
    id = request.names["call_id"]
    call = await rooms.desk.begin(request.project, id)
    await note(rooms, request.project, request.by, "begun", id)
    return told(views.call(call))


async def report_call(rooms: Rooms, request: Request) -> Answer:
    """Take how a call ended."""
    said: ToolResult = request.body
    report = CallReport(
        request.project,
        said.tool_call_id,
        said.ok,
        _result(said),
        sha256(_encode([said.ok, said.data, said.error])).hexdigest(),
        rooms.clock.now_ms(),
        said.arguments_hash,
    )
    try:
        call, known, reply = await rooms.desk.report(report, said.go_on, request.listener)
    except Conflict as conflict:
        await note(rooms, request.project, request.by, f"report_{conflict.code}", said.tool_call_id)
        raise
    await note(rooms, request.project, request.by, "reported", call.id)
    taken = ResultTaken(
        "acknowledged", call.id, views.call(call), views.reply(reply) if reply is not None else None
    )
    return told(taken, headers=REPLAYED if known else None)


async def _go_on(rooms: Rooms, request: Request, call: StoredCall) -> ChatAnswer | None:
    """Return the answer to the user from what came of a call; None where that has to wait: the approval stands."""
    if call.status not in _ENDED:
        return None
    try:
        return views.reply(await rooms.desk.go_on(call, request.listener))
    except (Conflict, NotFound, StorageFailed):
        return None


def _wrong(name: str, why: str) -> Unanswerable:
    return Unanswerable("bad_request", errors=[Wrong(f"/{name}", why)])


def _check(said: ApproveCall, async_preferred: bool) -> None:
    """Raise Unanswerable where an outcome lacks what it needs, or comes with what it does not take."""
    if said.outcome == "edit" and said.arguments is None:
        raise missing("arguments")
    if said.outcome == "respond" and said.text is None:
        raise missing("text")
    extra = [
        Wrong(f"/{name}", f"Leave this out, or send it with the outcome {outcome}.")
        for name, outcome, given in (("arguments", "edit", said.arguments), ("text", "respond", said.text))
        if given is not None and said.outcome != outcome
    ]
    if extra:
        raise Unanswerable("bad_request", errors=extra)
    if said.go_on and said.outcome not in ("accept", "edit"):
        raise _wrong("continue", "Leave this out, or send it with the outcome accept or edit.")
    if said.go_on and async_preferred:
        raise _wrong("continue", "Leave this out, or wait for the call's end, without Prefer: respond-async.")
    if said.arguments is not None and not fits(said.arguments):
        raise Unanswerable(
            "bad_edit", errors=[Wrong("/arguments", "Send arguments that are smaller, and less deep.")]
        )


def _result(said: ToolResult) -> Mapping[str, Any]:
    """Return a report in the shape of an action's result. Raises Unanswerable for one that is too much."""
    if deeper_than(RESULT_DEPTH, said.data):
        raise Unanswerable("bad_request", errors=[Wrong("/data", f"Nest it at most {RESULT_DEPTH} deep.")])
    if len(_encode(said.data)) > RESULT_BYTES:
        raise Unanswerable("too_large", f"Send data of at most {RESULT_BYTES // 1024} KB.")
    return {"success": True, "data": said.data} if said.ok else {"success": False, "error": said.error or ""}


def _approved(call: StoredCall, reply: ChatAnswer | None = None) -> Answer:
    return told(ApprovedCall(**msgspec.structs.asdict(views.call(call)), reply=reply))
