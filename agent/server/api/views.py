"""Makes the views of threads, messages, calls and replies from the ports' records."""

from ...ports.brain import Blocked
from ...ports.calls import StoredCall
from ...ports.desk import Reply
from ...ports.memory import ProposalOutcome
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


def thread(shown: Thread) -> ThreadView:
    """Return the view of a thread."""
    return from_record(ThreadView, shown, project_id=shown.project, user_id=shown.user, turns=shown.turn)


def message(shown: StoredMessage) -> MessageView:
    """Return the view of a message."""
    return from_record(MessageView, shown, thread_id=shown.thread, tool_call_id=shown.call)


def call(shown: StoredCall) -> CallView:
    """Return the view of a call."""
    return from_record(
        CallView,
        shown,
        project_id=shown.project,
        thread_id=shown.thread,
        message_id=shown.message,
        edited=shown.arguments_hash != shown.proposed_hash,
        requires_approval=shown.needs_approval,
        why_approval=shown.why,
    )


def reply(shown: Reply) -> ChatAnswer:
    """Return the view of a turn's reply. Its `tool_call` is the last of its calls, if the turn acted."""
    calls = tuple(call(each) for each in shown.calls)
    last = calls[-1] if calls and shown.mode == "ACT" else None
    tool_request = (
        ToolRequest(last.tool, last.arguments, last.requires_approval, last.risk)
        if last is not None
        else None
    )
    blocked = shown.blocked
    return ChatAnswer(
        thread_id=shown.thread,
        message_id=shown.message,
        response_json=ResponseJson(
            shown.mode, shown.text, tool_request, tuple(map(_update, shown.remembered))
        ),
        tool_call_id=last.id if last is not None else None,
        tool_call=last,
        calls=calls,
        citations=shown.citations,
        confidence=shown.confidence,
        blocked=Blocked(blocked["code"], blocked["message"]) if blocked is not None else None,
        render=Render(shown.text),
        without_memory=shown.without_memory,
    )


def _update(proposed: ProposalOutcome) -> MemoryUpdate:
    item = proposed.item
    return MemoryUpdate(
        item.id, item.type, item.status, item.text, tuple(each.id for each in proposed.conflicts)
    )
