"""Threads over HTTP: what is said in them, what was, and how they are ended."""

from ...ports.desk import Asked
from ...protocol.http import ChatMessage, ThreadsQuery
from ...protocol.views import CallPage, MessagePage, ThreadPage
from ..answers import Answer
from . import views
from .answers import DONE, told
from .pages import paged, window
from .rooms import Request, Rooms


async def chat(rooms: Rooms, request: Request) -> Answer:
    """Take a message, and tell what it came to."""
    new: ChatMessage = request.body
    asked = Asked(
        request.project,
        new.user_id,
        new.message,
        new.thread_id,
        new.tools,
        new.lang,
        new.interrupt,
        new.begin,
    )
    return told(views.reply(await rooms.desk.chat(asked, request.listener)))


async def list_threads(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a project's threads."""
    query: ThreadsQuery = request.query
    page = await rooms.threads.threads(request.project, window("threads", query), query.user_id)
    return paged("threads", page, views.thread, ThreadPage)


async def get_thread(rooms: Rooms, request: Request) -> Answer:
    """Tell a thread."""
    return told(views.thread(await rooms.threads.thread(request.project, request.names["thread_id"])))


async def list_messages(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a thread's messages."""
    thread = request.names["thread_id"]
    page = await rooms.threads.messages(request.project, thread, window("messages", request.query))
    return paged("messages", page, views.message, MessagePage)


async def list_thread_calls(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a thread's calls."""
    thread = request.names["thread_id"]
    await rooms.threads.thread(request.project, thread)  # or there is no such thread
    page = await rooms.calls.calls(request.project, window("calls", request.query), None, thread)
    return paged("calls", page, views.call, CallPage)


async def delete_thread(rooms: Rooms, request: Request) -> Answer:
    """Delete a thread, once it does nothing any more."""
    await rooms.desk.delete_thread(request.project, request.names["thread_id"])
    return DONE


async def cancel_turn(rooms: Rooms, request: Request) -> Answer:
    """Cancel the turn in progress; done too where there is none."""
    await rooms.desk.cancel_turn(request.project, request.names["thread_id"])
    return DONE


async def cancel(rooms: Rooms, request: Request) -> Answer:
    """Cancel the turn in progress and the calls that wait."""
    await rooms.desk.cancel(request.project, request.names["thread_id"])
    return DONE
