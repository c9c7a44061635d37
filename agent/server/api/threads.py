"""Handlers for threads: chat, list, show, cancel, delete."""

from ...ports.desk import ChatRequest
from ...protocol.http import ChatMessage, ThreadsQuery
from ...protocol.views import CallPage, MessagePage, ThreadPage
from ..responses import Answer
from . import views
from .answers import DONE, told
from .pages import paged, window
from .rooms import Request, Rooms


async def chat(rooms: Rooms, request: Request) -> Answer:
    """Take a message, run its turn, and answer with the reply."""
    new: ChatMessage = request.body
    chat_request = ChatRequest(
        project=request.project,
        user=new.user_id,
        text=new.message,
        thread=new.thread_id,
        tools=new.tools,
        lang=new.lang,
        interrupt=new.interrupt,
        begin=new.begin,
    )
    return told(views.reply(await rooms.desk.chat(chat_request, request.listener)))


async def list_threads(rooms: Rooms, request: Request) -> Answer:
    """Answer with a page of a project's threads."""
    query: ThreadsQuery = request.query
    page = await rooms.threads.threads(request.project, window("threads", query), query.user_id)
    return paged("threads", page, views.thread, ThreadPage)


async def get_thread(rooms: Rooms, request: Request) -> Answer:
    """Answer with a thread."""
    return told(views.thread(await rooms.threads.thread(request.project, request.names["thread_id"])))


async def list_messages(rooms: Rooms, request: Request) -> Answer:
    """Answer with a page of a thread's messages."""
    thread = request.names["thread_id"]
    page = await rooms.threads.messages(request.project, thread, window("messages", request.query))
    return paged("messages", page, views.message, MessagePage)


async def list_thread_calls(rooms: Rooms, request: Request) -> Answer:
    """Answer with a page of a thread's calls."""
    thread = request.names["thread_id"]
    await rooms.threads.thread(request.project, thread)  # raises `NotFound` for an unknown thread
    page = await rooms.calls.calls(request.project, window("calls", request.query), None, thread)
    return paged("calls", page, views.call, CallPage)


async def delete_thread(rooms: Rooms, request: Request) -> Answer:
    """Delete a thread, once its work has ended."""
    await rooms.desk.delete_thread(request.project, request.names["thread_id"])
    return DONE


async def cancel_turn(rooms: Rooms, request: Request) -> Answer:
    """Cancel the turn in progress. Succeeds also if there is none."""
    await rooms.desk.cancel_turn(request.project, request.names["thread_id"])
    return DONE


async def cancel(rooms: Rooms, request: Request) -> Answer:
    """Cancel a thread's turn in progress, and its calls that wait."""
    await rooms.desk.cancel_thread(request.project, request.names["thread_id"])
    return DONE
