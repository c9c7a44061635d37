"""Makes the views of threads, messages, calls and replies from the ports' records."""

import msgspec

from ...ports.brain import Blocked
from ...ports.calls import StoredCall
from ...ports.feedback import Feedback
from ...ports.inbox import CallDecision, InboxEntry
from ...ports.memory import ProposalOutcome
from ...ports.thread_service import Reply
from ...ports.threads import StoredMessage, Thread
from ...protocol.approvals import WORDS_SHOWN, DecisionView, InboxCall
from ...protocol.records import from_record, make_time
from ...protocol.views import (
    CallView,
    ChatAnswer,
    FeedbackView,
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


def decision(record: CallDecision) -> DecisionView:
    """Return the view of a decision about a call."""
    return from_record(
        DecisionView,
        record,
        project_id=record.project,
        call_id=record.call,
        user_id=record.user,
        approver=record.approver or None,
        key_id=record.key or None,
        tool=record.tool or None,
        arguments_hash=record.hash or None,
    )


def inbox_call(record: InboxEntry) -> InboxCall:
    """Return the view of a call for its approvers."""
    words, made = record.words, record.decision
    return InboxCall(
        **msgspec.structs.asdict(call(record.call)),
        user_id=record.user,
        words=None if words is None else words[:WORDS_SHOWN],
        words_cut=words is not None and len(words) > WORDS_SHOWN,
        decision=None if made is None else decision(made),
    )


def feedback(record: Feedback) -> FeedbackView:
    """Return the view of feedback."""
    return from_record(
        FeedbackView,
        record,
        message_id=record.message,
        project_id=record.project,
        user_id=record.user,
        thread_id=record.thread,
        created_at=make_time(record.at),
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
