"""Makes the views of threads, messages, calls and replies from the ports' records."""

from ...ports.brain import Blocked
from ...ports.calls import StoredCall
from ...ports.memory import ProposalOutcome
from ...ports.thread_service import Reply
from ...ports.threads import StoredMessage, Thread
from ...protocol.records import from_record
from ...protocol.views import (
    CallView,
    ChatAnswer,
    MemoryUpdate,
    MessageView,
    Render,
    ResponseJson,
    ThreadView,
    ToolRequest,
)


def thread(record: Thread) -> ThreadView:
    """Return the view of a thread."""
    return from_record(ThreadView, record, project_id=record.project, user_id=record.user, turns=record.turn)


def message(record: StoredMessage) -> MessageView:
    """Return the view of a message."""
    return from_record(MessageView, record, thread_id=record.thread, tool_call_id=record.call)


def call(record: StoredCall) -> CallView:
    """Return the view of a call."""
    return from_record(
        CallView,
        record,
        project_id=record.project,
        thread_id=record.thread,
        message_id=record.message,
        edited=record.arguments_hash != record.proposed_hash,
        requires_approval=record.needs_approval,
        why_approval=record.why,
    )


def reply(record: Reply) -> ChatAnswer:
    """Return the view of a turn's reply. Its `tool_call` is the last of its calls, if the turn acted."""
    calls = tuple(call(each) for each in record.calls)
    last = calls[-1] if calls and record.mode == "ACT" else None
    tool_request = (
        ToolRequest(last.tool, last.arguments, last.requires_approval, last.risk)
        if last is not None
        else None
    )
    blocked = record.blocked
    return ChatAnswer(
        thread_id=record.thread,
        message_id=record.message,
        response_json=ResponseJson(
            record.mode, record.text, tool_request, tuple(map(_update, record.remembered))
        ),
        tool_call_id=last.id if last is not None else None,
        tool_call=last,
        calls=calls,
        citations=record.citations,
        confidence=record.confidence,
        blocked=Blocked(blocked["code"], blocked["message"]) if blocked is not None else None,
        render=Render(record.text),
        without_memory=record.without_memory,
    )


def _update(proposed: ProposalOutcome) -> MemoryUpdate:
    item = proposed.item
    return MemoryUpdate(
        item.id, item.type, item.status, item.text, tuple(each.id for each in proposed.conflicts)
    )
