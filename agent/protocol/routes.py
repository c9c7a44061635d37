"""Lists the HTTP API as one table: the body, the answers and the access of each method of each path; pure.

The server and the OpenAPI document are both made from it, so neither can know a route that the other does not. The
server's other routes, and the search for the route of a path, are in `agent.protocol.paths`.

A path's parts in braces are names: letters, digits and `._~-`, at most `MAX_ID`; any other name does not exist, and
neither does a path in another spelling (percent escapes, an extra slash). A last part `{name:path}` takes any rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import msgspec

from ..config import MAX_ID
from . import http as h
from . import views as v

Access: TypeAlias = Literal["open", "user", "token", "project", "operator"]
"""The client that may use a route: any; one with the token or a user's own; one with the token; one with a key of the
operator or of the project in question; one with a key of the operator.
"""
Shape: TypeAlias = Literal["plain", "openai", "rpc", "problem"]
"""The form of a path's errors: words, an error in the form of OpenAI's services, an error of JSON-RPC, or
`application/problem+json`.
"""
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]

API_VERSION = "1.0.0"
PREFIXES = (
    b"/projects",
    b"/chat",
    b"/threads",
    b"/calls",
    b"/tools",
    b"/memory",
    b"/health",
    b"/openapi.json",
)
_PART = rf"[A-Za-z0-9._~-]{{1,{MAX_ID}}}"


def is_api_path(path: bytes) -> bool:
    """Return whether a path, without its query, lies under the API's prefixes, known or not."""
    return any(path == prefix or path.startswith(prefix + b"/") for prefix in PREFIXES)


@cache
def _path_pattern(path: str) -> "re.Pattern[str]":
    return re.compile("/".join(map(_part_pattern, path.split("/"))), re.DOTALL)


def _part_pattern(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    name, _, rest = part[1:-1].partition(":")
    return f"(?P<{name}>{'.*' if rest else _PART})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path.

    `name` is of its handler, and its operation. `answers` maps each good status to its Struct, None for an empty body
    or one that no Struct describes; those of a page are all of its statuses. `access` is, unless given, a key of the
    project or the operator. `problems` are codes beyond those of every request. `turn` says that it may take as long as
    a turn does, and ends with its client. `events` says that the answer can be had as events. `body_optional` says that
    its body may be left out. `shape` is of its errors, `kind` the media type of its answers.
    """

    name: str
    method: Method
    path: str
    summary: str
    access: Access = "project"
    answers: Mapping[int, type[msgspec.Struct] | None]
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = h.NoQuery
    problems: tuple[str, ...] = ()
    turn: bool = False
    events: bool = False
    body_optional: bool = False
    shape: Shape = "problem"
    kind: str = "application/json"

    @property
    def pattern(self) -> "re.Pattern[str]":
        """The pattern of its path, with a group for each name in it."""
        return _path_pattern(self.path)

    @property
    def template(self) -> str:
        """The path as the OpenAPI document writes it."""
        return self.path.replace(":path}", "}")

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of the path that are names, in order."""
        return tuple(self.pattern.groupindex)

    @property
    def has_body(self) -> bool:
        """Whether a body is read."""
        return self.body is not None

    @property
    def uploads(self) -> bool:
        """Whether its body is a file and not JSON."""
        return self.body is h.Upload


_CALL = ("closed", "expired")
_TURN = ("turn_in_progress", "thread_full", "busy", "cancelled", "bad_tool", "too_many_threads")
_DOCS = ("bad_upload", "upload_too_large", "text_too_long", "project_full", "rules_too_long", "unreadable")

ROUTES: tuple[Route, ...] = (
    Route(
        name="health",
        method="GET",
        path="/health",
        summary="The state of the server",
        access="open",
        answers={200: v.Health, 503: v.Health},
    ),
    Route(
        name="openapi",
        method="GET",
        path="/openapi.json",
        summary="This document",
        access="open",
        answers={200: None},
    ),
    Route(
        name="create_project",
        method="POST",
        path="/projects",
        summary="Create a project",
        access="operator",
        answers={201: v.ProjectView},
        body=h.NewProject,
        problems=("too_many_projects",),
    ),
    Route(
        name="list_projects",
        method="GET",
        path="/projects",
        summary="Projects, a page at a time",
        access="operator",
        answers={200: v.ProjectPage},
        query=h.PageQuery,
    ),
    Route(
        name="get_project",
        method="GET",
        path="/projects/{project_id}",
        summary="A project",
        answers={200: v.ProjectView},
    ),
    Route(
        name="change_project",
        method="PUT",
        path="/projects/{project_id}",
        summary="Change a project's name or role",
        answers={200: v.ProjectView},
        body=h.ProjectChange,
    ),
    Route(
        name="delete_project",
        method="DELETE",
        path="/projects/{project_id}",
        summary="Delete a project with all of its data",
        access="operator",
        answers={204: None},
        problems=("kept",),
    ),
    Route(
        name="create_key",
        method="POST",
        path="/projects/{project_id}/keys",
        summary="Create a key that opens this project only; it is shown once",
        access="operator",
        answers={201: v.CreatedKey},
        body=h.NewKey,
    ),
    Route(
        name="list_keys",
        method="GET",
        path="/projects/{project_id}/keys",
        summary="A project's keys, without their secrets",
        access="operator",
        answers={200: v.KeyPage},
        query=h.PageQuery,
    ),
    Route(
        name="revoke_key",
        method="DELETE",
        path="/projects/{project_id}/keys/{key_id}",
        summary="Revoke a key",
        access="operator",
        answers={204: None},
    ),
    Route(
        name="put_document",
        method="POST",
        path="/projects/{project_id}/docs",
        summary="Upload a document, in place of the one of the same category and filename",
        answers={201: v.DocumentView, 200: v.DocumentView},
        body=h.Upload,
        problems=(*_DOCS, "too_many_uploads"),
    ),
    Route(
        name="list_documents",
        method="GET",
        path="/projects/{project_id}/docs",
        summary="A project's documents, a page at a time",
        answers={200: v.DocumentPage},
        query=h.PageQuery,
    ),
    Route(
        name="get_document",
        method="GET",
        path="/projects/{project_id}/docs/{document_id}",
        summary="A document, without its text",
        answers={200: v.DocumentView},
    ),
    Route(
        name="delete_document",
        method="DELETE",
        path="/projects/{project_id}/docs/{document_id}",
        summary="Delete a document",
        answers={204: None},
    ),
    Route(
        name="prompt_debug",
        method="GET",
        path="/projects/{project_id}/prompt-debug",
        summary="The prompt for answering a message; nothing is run",
        answers={200: v.PromptView},
        query=h.PromptQuery,
        problems=("prompt_too_long",),
    ),
    Route(
        name="chat",
        method="POST",
        path="/chat",
        summary="Send a message to a thread; the reply is an action, a question or an answer",
        answers={200: v.ChatAnswer},
        body=h.ChatMessage,
        problems=_TURN,
        turn=True,
        events=True,
    ),
    Route(
        name="list_threads",
        method="GET",
        path="/threads",
        summary="A project's threads, a page at a time",
        answers={200: v.ThreadPage},
        query=h.ThreadsQuery,
    ),
    Route(
        name="list_project_threads",
        method="GET",
        path="/projects/{project_id}/threads",
        summary="A project's threads, a page at a time, as /threads lists them",
        answers={200: v.ThreadPage},
        query=h.ProjectThreadsQuery,
    ),
    Route(
        name="get_thread",
        method="GET",
        path="/threads/{thread_id}",
        summary="A thread",
        answers={200: v.ThreadView},
        query=h.ProjectQuery,
    ),
    Route(
        name="list_messages",
        method="GET",
        path="/threads/{thread_id}/messages",
        summary="A thread's messages, a page at a time",
        answers={200: v.MessagePage},
        query=h.ProjectPageQuery,
    ),
    Route(
        name="list_thread_calls",
        method="GET",
        path="/threads/{thread_id}/calls",
        summary="A thread's calls, a page at a time",
        answers={200: v.CallPage},
        query=h.ProjectPageQuery,
    ),
    Route(
        name="delete_thread",
        method="DELETE",
        path="/threads/{thread_id}",
        summary="Cancel the work of a thread, and delete it",
        answers={204: None},
        query=h.ProjectQuery,
    ),
    Route(
        name="cancel_turn",
        method="DELETE",
        path="/threads/{thread_id}/turn",
        summary="Cancel the turn in progress, if there is one",
        answers={204: None},
        query=h.ProjectQuery,
    ),
    Route(
        name="cancel",
        method="POST",
        path="/threads/{thread_id}/cancel",
        summary="Cancel the turn in progress and every call that has not begun",
        answers={204: None},
        body=h.ProjectReference,
        body_optional=True,
    ),
    Route(
        name="list_calls",
        method="GET",
        path="/calls",
        summary="A project's calls, a page at a time",
        answers={200: v.CallPage},
        query=h.CallsQuery,
    ),
    Route(
        name="list_pending_calls",
        method="GET",
        path="/projects/{project_id}/tools/pending",
        summary="A project's calls that wait for an approval, a page at a time",
        answers={200: v.CallPage},
        query=h.PageQuery,
    ),
    Route(
        name="list_tools",
        method="GET",
        path="/tools",
        summary="The operator's tools, which every message may call",
        answers={200: v.ToolList},
        query=h.ProjectQuery,
    ),
    Route(
        name="get_call",
        method="GET",
        path="/calls/{call_id}",
        summary="A call",
        answers={200: v.CallView},
        query=h.ProjectQuery,
    ),
    Route(
        name="approve_call",
        method="POST",
        path="/calls/{call_id}/approve",
        summary="Approve a call, edit it, answer it with words, or decline it",
        answers={200: v.ApprovedCall},
        body=h.ApproveCall,
        problems=(*_CALL, *_TURN, "arguments_changed", "bad_edit"),
        turn=True,
        events=True,
    ),
    Route(
        name="reject_call",
        method="POST",
        path="/calls/{call_id}/reject",
        summary="Decline a call, or cancel an approved one that has not begun",
        answers={200: v.CallView},
        body=h.RejectCall,
        problems=(*_CALL, "begun"),
        body_optional=True,
    ),
    Route(
        name="begin_call",
        method="POST",
        path="/calls/{call_id}/begin",
        summary="Take an approved call that the caller runs: exactly one gets it",
        answers={200: v.CallView},
        body=h.ProjectReference,
        problems=(*_CALL, "not_approved", "begun"),
        body_optional=True,
    ),
    Route(
        name="list_items",
        method="GET",
        path="/memory",
        summary="A user's memory items, proposed ones too, a page at a time",
        answers={200: v.ItemPage},
        query=h.MemoryQuery,
    ),
    Route(
        name="propose_item",
        method="POST",
        path="/memory",
        summary="Propose an event or a metric; accepted at once, unless it contradicts another item",
        answers={201: v.ItemAnswer, 200: v.ItemAnswer},
        body=h.NewItem,
        problems=("bad_item",),
    ),
    Route(
        name="get_item",
        method="GET",
        path="/memory/{item_id}",
        summary="An item with its sources and its history",
        answers={200: v.ItemAnswer},
        query=h.UserQuery,
    ),
    Route(
        name="decide_item",
        method="POST",
        path="/memory/{item_id}",
        summary="Accept, decline, correct, end or forget an item for its user",
        answers={200: v.ItemAnswer},
        body=h.DecideItem,
        problems=("changed", "refused", "bad_item"),
    ),
    Route(
        name="report_call",
        method="POST",
        path="/tools/result",
        summary="Report the outcome of a begun call",
        answers={200: v.ReportReceipt},
        body=h.ToolResult,
        problems=(
            *_CALL,
            "not_approved",
            "not_begun",
            "arguments_changed",
            "already_reported",
            "lease_over",
        ),
        turn=True,
        events=True,
    ),
)
