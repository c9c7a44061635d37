"""Calls in the shapes of LangChain's Agent Inbox (https://github.com/langchain-ai/agent-inbox), and its answers; pure.

Agent Inbox lists threads of LangGraph that are interrupted. It shows the first interrupt of a thread, and its answer
names the thread only. So each call that waits is a thread of its own here, under the call's id. Its front end makes a
string of each argument that a person edits, and of some unedited ones: `read_arguments` turns these back.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..ports.inbox import InboxEntry
from .http import ApproverName, Id, TolerantStruct
from .records import make_time


class ActionRequest(msgspec.Struct, frozen=True):
    """A tool and its arguments."""

    action: str
    args: Mapping[str, Any]


class InterruptConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The answers that a call takes."""

    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


class HumanInterrupt(msgspec.Struct, frozen=True):
    """A call that waits. `description` is Markdown."""

    action_request: ActionRequest
    config: InterruptConfig
    description: str


class AgentInterrupt(msgspec.Struct, frozen=True):
    """An interrupt of a LangGraph thread. `id` is that of the call."""

    id: str
    value: HumanInterrupt


class AgentMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a call, and until when it can be approved."""

    project_id: str
    thread_id: str
    user_id: str
    risk: str
    deadline: datetime


class AgentInboxThread(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits, as an interrupted LangGraph thread. `thread_id` is the id of the call."""

    thread_id: str
    created_at: datetime
    updated_at: datetime
    status: Literal["interrupted"]
    metadata: AgentMetadata
    values: Mapping[str, Any]
    interrupts: Mapping[str, tuple[AgentInterrupt, ...]]


class AgentInboxPage(msgspec.Struct, frozen=True):
    """Calls that wait, in the order of their creation."""

    items: tuple[AgentInboxThread, ...]
    next_cursor: str | None


class HumanResponse(TolerantStruct, frozen=True):
    """An answer of Agent Inbox.

    `accept` comes with the arguments that were shown, or null. `edit` comes with other arguments, `response` with
    words, and `ignore` with null.
    """

    type: Literal["accept", "edit", "response", "ignore"]
    args: Any = None


class ResumeCommand(TolerantStruct, frozen=True):
    """The command of LangGraph that resumes an interrupted thread."""

    resume: Annotated[tuple[HumanResponse, ...], Meta(min_length=1, max_length=1)]


class ResumeCall(TolerantStruct, frozen=True, kw_only=True):
    """An answer of Agent Inbox, as it sends it to LangGraph. `approver` is the name of the person, as given."""

    command: ResumeCommand
    project_id: Id | None = None
    approver: ApproverName | None = None


def make_thread(entry: InboxEntry) -> AgentInboxThread:
    """Return the thread of a call that waits."""
    call, created = entry.call, make_time(entry.call.created_at)
    interrupt = HumanInterrupt(
        ActionRequest(call.tool, call.arguments),
        InterruptConfig(
            allow_ignore=True,
            allow_respond=True,
            allow_edit=call.parameters is not None or bool(call.missing),
            allow_accept=not call.missing,
        ),
        _describe(entry),
    )
    return AgentInboxThread(
        thread_id=call.id,
        created_at=created,
        updated_at=created,
        status="interrupted",
        metadata=AgentMetadata(
            project_id=call.project,
            thread_id=call.thread,
            user_id=entry.user,
            risk=call.risk,
            deadline=make_time(call.deadline),
        ),
        values={},
        interrupts={call.id: (AgentInterrupt(call.id, interrupt),)},
    )


def _describe(entry: InboxEntry) -> str:
    """Return the description of a call: its user, their words, the reasons for approval, the origin of arguments."""
    call = entry.call
    lines = [
        f"User: {_code(entry.user)}",
        f"Risk: {call.risk}",
        f"Until: {make_time(call.deadline).isoformat()}",
    ]
    if call.why:
        lines.append(f"Needs approval because of: {', '.join(call.why)}")
    lines += [f"{_code(pointer)} comes from: {source}" for pointer, source in call.sources.items()]
    said = (
        "" if entry.words is None else "\n\n" + "\n".join(f"    {line}" for line in entry.words.splitlines())
    )
    return "\n".join(f"- {line}" for line in lines) + said


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def read_arguments(
    sent: Mapping[str, Any], shown: Mapping[str, Any], parameters: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the arguments of an answer, with the types that they had before the front end made strings of them.

    An argument that is the text of the `shown` one is that one. Any other text is read as JSON where `parameters`, the
    schema, allow no string there.
    """
    properties = (parameters or {}).get("properties", {})
    return {name: _read_argument(value, shown, name, properties) for name, value in sent.items()}


def _read_argument(value: Any, shown: Mapping[str, Any], name: str, properties: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in shown and value == _write(shown[name]):
        return shown[name]
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind is None or kind == "string" or (isinstance(kind, list | tuple) and "string" in kind):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # the schema refuses it, and names the argument


def _write(value: Any) -> str:
    """Return a value as the front end writes it: JSON as JavaScript writes it, and a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
