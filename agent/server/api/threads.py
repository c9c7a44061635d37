"""Handlers for threads: chat, list, show, cancel, delete."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ...ports.thread_service import ChatRequest
from ...protocol.http import ChatMessage, ThreadsQuery
from ...protocol.problems import FieldError, ProblemError
from ...protocol.views import CallPage, MessagePage, ThreadPage
from ..responses import Answer
from . import views
from .answers import DONE, answer_with
from .context import ApiServices, Request
from .pages import answer_page, parse_window

CONTEXT_BYTES = 4 * 1024  # of a message's context, as JSON


async def chat(services: ApiServices, request: Request) -> Answer:
    """Take a message, run its turn, and answer with the reply."""
    new: ChatMessage = request.body
    chat_request = ChatRequest(
        project=request.project,
        user=new.user_id,
        text=new.message,
        thread=new.thread_id,
        tools=new.tools,
        context=_encode_context(new.context),
        lang=new.lang,
        interrupt=new.interrupt,
        begin=new.begin,
    )
    return answer_with(views.reply(await services.desk.chat(chat_request, request.listener)))


async def list_threads(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a project's threads."""
    query: ThreadsQuery = request.query
    page = await services.threads.threads(request.project, parse_window("threads", query), query.user_id)
    return answer_page("threads", page, views.thread, ThreadPage)


async def get_thread(services: ApiServices, request: Request) -> Answer:
    """Answer with a thread."""
    return answer_with(
        views.thread(await services.threads.thread(request.project, request.names["thread_id"]))
    )


async def list_messages(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a thread's messages."""
    thread = request.names["thread_id"]
    page = await services.threads.messages(request.project, thread, parse_window("messages", request.query))
    return answer_page("messages", page, views.message, MessagePage)


async def list_thread_calls(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a thread's calls."""
    thread = request.names["thread_id"]
    await services.threads.thread(request.project, thread)  # raises `NotFound` for an unknown thread
    page = await services.calls.calls(request.project, parse_window("calls", request.query), None, thread)
    return answer_page("calls", page, views.call, CallPage)


async def delete_thread(services: ApiServices, request: Request) -> Answer:
    """Delete a thread, once its work has ended."""
    await services.desk.delete_thread(request.project, request.names["thread_id"])
    return DONE


async def cancel_turn(services: ApiServices, request: Request) -> Answer:
    """Cancel the turn in progress. Succeeds also if there is none."""
    await services.desk.cancel_turn(request.project, request.names["thread_id"])
    return DONE


async def cancel(services: ApiServices, request: Request) -> Answer:
    """Cancel a thread's turn in progress, and its calls that wait."""
    await services.desk.cancel_thread(request.project, request.names["thread_id"])
    return DONE


def _encode_context(context: Mapping[str, Any] | None) -> str:
    """Return a message's context as JSON, "" for none. Raises `ProblemError` if it is too large."""
    encoded = msgspec.json.encode(context, order="sorted") if context else b""
    if len(encoded) > CONTEXT_BYTES:
        why = f"Send at most {CONTEXT_BYTES // 1024} KB of JSON."
        raise ProblemError("bad_request", errors=[FieldError("/context", why)])
    return encoded.decode()
