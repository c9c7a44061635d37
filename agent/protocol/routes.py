"""The HTTP API as one table: what each method of each path does, takes and answers, and who may; pure.

The server and the OpenAPI document are both made from it, so neither can know a route that the other does not. The
server's other routes, and the search for the route of a path, are in `agent.protocol.paths`.

A path's parts in braces are names of ours: letters, digits and `._~-`, at most MAX_ID; anything else is no such thing,
as is a path that is spelt otherwise (percent escapes, a slash more). A last part `{name:path}` takes any rest.
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

Who: TypeAlias = Literal["open", "user", "token", "project", "operator"]
"""Everybody; who shows the token or a user's own; the token; a key of the operator's or of the project in question; a
key of the operator's."""
Shape: TypeAlias = Literal["plain", "openai", "problem"]
"""How a path's clients read an error: words, an error as OpenAI's services send it, or `application/problem+json`."""
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]

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


def serves(path: bytes) -> bool:
    """Return whether a path, without its query, is one of the API's, there or not."""
    return any(path == prefix or path.startswith(prefix + b"/") for prefix in PREFIXES)


@cache
def _pattern(path: str) -> "re.Pattern[str]":
    return re.compile("/".join(map(_part, path.split("/"))), re.DOTALL)


def _part(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    name, _, rest = part[1:-1].partition(":")
    return f"(?P<{name}>{'.*' if rest else _PART})"


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    name: of its handler, and its operation. answers: the Struct of each good status, None for an empty body. problems:
    codes beyond those that any request can have. turn: it may take as long as a turn does, and ends with its client.
    events: it can be had as events. bare: its body may be left out. shape: of its errors. takes: whether it has a body
    though no Struct says what is in it.
    """

    name: str
    method: Method
    path: str
    summary: str
    who: Who
    answers: Mapping[int, type[msgspec.Struct] | None]
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = h.NoQuery
    problems: tuple[str, ...] = ()
    turn: bool = False
    events: bool = False
    bare: bool = False
    shape: Shape = "problem"
    takes: bool = False

    @property
    def pattern(self) -> "re.Pattern[str]":
        """What matches its path, with a group for each name in it."""
        return _pattern(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """The parts of the path that are names, in order."""
        return tuple(self.pattern.groupindex)

    @property
    def has_body(self) -> bool:
        """Whether a body is read."""
        return self.takes or self.body is not None

    @property
    def uploads(self) -> bool:
        """Whether its body is a file and not JSON."""
        return self.body is h.Upload


_CALL = ("closed", "expired")
_TURN = ("turn_in_progress", "thread_full", "busy", "cancelled", "bad_tool", "too_many_threads")
_DOCS = ("bad_upload", "upload_too_large", "text_too_long", "project_full", "rules_too_long", "unreadable")

ROUTES: tuple[Route, ...] = (
    Route("health", "GET", "/health", "How the server is", "open", {200: v.Health, 503: v.Health}),
    Route("openapi", "GET", "/openapi.json", "This document", "open", {200: None}),
    Route(
        "create_project",
        "POST",
        "/projects",
        "Make a project",
        "operator",
        {201: v.ProjectView},
        h.NewProject,
        problems=("too_many_projects",),
    ),
    Route(
        "list_projects",
        "GET",
        "/projects",
        "Projects, a page at a time",
        "operator",
        {200: v.ProjectPage},
        query=h.Paged,
    ),
    Route("get_project", "GET", "/projects/{project_id}", "A project", "project", {200: v.ProjectView}),
    Route(
        "change_project",
        "PUT",
        "/projects/{project_id}",
        "Change a project's name or role",
        "project",
        {200: v.ProjectView},
        h.ChangedProject,
    ),
    Route(
        "delete_project",
        "DELETE",
        "/projects/{project_id}",
        "Delete a project with all that is its own",
        "operator",
        {204: None},
        problems=("kept",),
    ),
    Route(
        "create_key",
        "POST",
        "/projects/{project_id}/keys",
        "Make a key that opens this project only; it is told once",
        "operator",
        {201: v.KeyMade},
        h.NewKey,
    ),
    Route(
        "list_keys",
        "GET",
        "/projects/{project_id}/keys",
        "A project's keys, without themselves",
        "operator",
        {200: v.KeyPage},
        query=h.Paged,
    ),
    Route(
        "revoke_key",
        "DELETE",
        "/projects/{project_id}/keys/{key_id}",
        "Let a key open nothing any more",
        "operator",
        {204: None},
    ),
    Route(
        "put_document",
        "POST",
        "/projects/{project_id}/docs",
        "Upload a document, in place of the one of the same category and filename",
        "project",
        {201: v.DocumentView, 200: v.DocumentView},
        h.Upload,
        problems=(*_DOCS, "too_many_uploads"),
    ),
    Route(
        "list_documents",
        "GET",
        "/projects/{project_id}/docs",
        "A project's documents, a page at a time",
        "project",
        {200: v.DocumentPage},
        query=h.Paged,
    ),
    Route(
        "get_document",
        "GET",
        "/projects/{project_id}/docs/{document_id}",
        "A document, without its text",
        "project",
        {200: v.DocumentView},
    ),
    Route(
        "delete_document",
        "DELETE",
        "/projects/{project_id}/docs/{document_id}",
        "Delete a document",
        "project",
        {204: None},
    ),
    Route(
        "prompt_debug",
        "GET",
        "/projects/{project_id}/prompt-debug",
        "The prompt that a message would be answered with; nothing is run",
        "project",
        {200: v.PromptView},
        query=h.PromptQuery,
        problems=("prompt_too_long",),
    ),
    Route(
        "chat",
        "POST",
        "/chat",
        "Say something in a thread, and have what it comes to: an action, a question or an answer",
        "project",
        {200: v.ChatAnswer},
        h.ChatMessage,
        problems=_TURN,
        turn=True,
        events=True,
    ),
    Route(
        "list_threads",
        "GET",
        "/threads",
        "A project's threads, a page at a time",
        "project",
        {200: v.ThreadPage},
        query=h.ThreadsQuery,
    ),
    Route(
        "get_thread",
        "GET",
        "/threads/{thread_id}",
        "A thread",
        "project",
        {200: v.ThreadView},
        query=h.OfProject,
    ),
    Route(
        "list_messages",
        "GET",
        "/threads/{thread_id}/messages",
        "A thread's messages, a page at a time",
        "project",
        {200: v.MessagePage},
        query=h.PagedOfProject,
    ),
    Route(
        "list_thread_calls",
        "GET",
        "/threads/{thread_id}/calls",
        "A thread's calls, a page at a time",
        "project",
        {200: v.CallPage},
        query=h.PagedOfProject,
    ),
    Route(
        "delete_thread",
        "DELETE",
        "/threads/{thread_id}",
        "Cancel what a thread does, and delete it",
        "project",
        {204: None},
        query=h.OfProject,
    ),
    Route(
        "cancel_turn",
        "DELETE",
        "/threads/{thread_id}/turn",
        "Cancel the turn in progress, if there is one",
        "project",
        {204: None},
        query=h.OfProject,
    ),
    Route(
        "cancel",
        "POST",
        "/threads/{thread_id}/cancel",
        "Cancel the turn in progress and every call that nobody has begun",
        "project",
        {204: None},
        h.RefersToProject,
        bare=True,
    ),
    Route(
        "list_calls",
        "GET",
        "/calls",
        "A project's calls, a page at a time",
        "project",
        {200: v.CallPage},
        query=h.CallsQuery,
    ),
    Route("get_call", "GET", "/calls/{call_id}", "A call", "project", {200: v.CallView}, query=h.OfProject),
    Route(
        "approve_call",
        "POST",
        "/calls/{call_id}/approve",
        "Approve a call, edit it, answer it with words, or decline it",
        "project",
        {200: v.ApprovedCall},
        h.ApproveCall,
        problems=(*_CALL, *_TURN, "arguments_changed", "bad_edit"),
        turn=True,
        events=True,
    ),
    Route(
        "reject_call",
        "POST",
        "/calls/{call_id}/reject",
        "Decline a call, or cancel an approved one that nobody has begun",
        "project",
        {200: v.CallView},
        h.RejectCall,
        problems=(*_CALL, "begun"),
        bare=True,
    ),
    Route(
        "begin_call",
        "POST",
        "/calls/{call_id}/begin",
        "Take an approved call that the caller runs: exactly one gets it",
        "project",
        {200: v.CallView},
        h.RefersToProject,
        problems=(*_CALL, "not_approved", "begun"),
        bare=True,
    ),
    Route(
        "list_items",
        "GET",
        "/memory",
        "What is remembered for a user, or is proposed to be, a page at a time",
        "project",
        {200: v.ItemPage},
        query=h.MemoryQuery,
    ),
    Route(
        "get_item",
        "GET",
        "/memory/{item_id}",
        "An item with its sources and its history",
        "project",
        {200: v.ItemAnswer},
        query=h.OfUser,
    ),
    Route(
        "decide_item",
        "POST",
        "/memory/{item_id}",
        "Accept, decline, correct, end or forget an item, by its user's word",
        "project",
        {200: v.ItemAnswer},
        h.DecideItem,
        problems=("changed", "refused", "bad_item"),
    ),
    Route(
        "report_call",
        "POST",
        "/tools/result",
        "Report how a begun call ended",
        "project",
        {200: v.ResultTaken},
        h.ToolResult,
        problems=(
            *_CALL,
            *_TURN,
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
