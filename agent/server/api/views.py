"""Threads, messages, calls and replies as they are told."""

from ...ports.calls import StoredCall
from ...ports.desk import Reply
from ...ports.memory import Proposed
from ...ports.threads import StoredMessage, Thread
from ...protocol.views import (
    BlockedView,
    CallView,
    ChatAnswer,
    MemoryUpdate,
    MessageView,
    Render,
    ResponseJson,
    ThreadView,
    ToolRequest,
)


def thread(shown: Thread) -> ThreadView:
    """Return a thread."""
    return ThreadView(shown.id, shown.project, shown.user, shown.created_at, shown.updated_at, shown.turn)


def message(shown: StoredMessage) -> MessageView:
    """Return a message."""
    return MessageView(
        shown.id,
        shown.thread,
        shown.turn,
        shown.role,
        shown.content,
        shown.status,
        shown.citations,
        shown.call,
        shown.created_at,
    )


def call(shown: StoredCall) -> CallView:
    """Return a call."""
    return CallView(
        id=shown.id,
        project_id=shown.project,
        thread_id=shown.thread,
        message_id=shown.message,
        tool=shown.tool,
        arguments=shown.arguments,
        arguments_hash=shown.arguments_hash,
        proposed_hash=shown.proposed_hash,
        edited=shown.arguments_hash != shown.proposed_hash,
        runs_at=shown.runs_at,
        requires_approval=shown.needs_approval,
        why_approval=shown.why,
        risk=shown.risk,
        sources=shown.sources,
        missing=shown.missing,
        parameters=shown.parameters,
        status=shown.status,
        deadline=shown.deadline,
        approved_by=shown.approved_by,
        approved_at=shown.approved_at,
        lease_until=shown.lease_until,
        result=shown.result,
        created_at=shown.created_at,
        ended_at=shown.ended_at,
        closed_by=shown.closed_by,
    )


def reply(shown: Reply) -> ChatAnswer:
    """Return what a turn came to. What it asked for is the last of its calls, where it acted."""
    calls = tuple(call(each) for each in shown.calls)
    last = calls[-1] if calls and shown.mode == "ACT" else None
    asked = (
        ToolRequest(last.tool, last.arguments, last.requires_approval, last.risk)
        if last is not None
        else None
    )
    blocked = shown.blocked
    return ChatAnswer(
        thread_id=shown.thread,
        message_id=shown.message,
        response_json=ResponseJson(shown.mode, shown.text, asked, tuple(map(_update, shown.remembered))),
        tool_call_id=last.id if last is not None else None,
        tool_call=last,
        calls=calls,
        citations=shown.citations,
        confidence=shown.confidence,
        blocked=BlockedView(blocked["code"], blocked["message"]) if blocked is not None else None,
        render=Render(shown.text),
        without_memory=shown.without_memory,
    )


def _update(proposed: Proposed) -> MemoryUpdate:
    item = proposed.item
    return MemoryUpdate(
        item.id, item.type, item.status, item.text, tuple(each.id for each in proposed.conflicts)
    )
