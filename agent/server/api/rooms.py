"""What the handlers of the HTTP API are given: what they call, and one request each."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ...errors import NotFound, StorageFailed
from ...ports.calls import CallStore
from ...ports.clock import Clock
from ...ports.desk import Desk, Listener
from ...ports.projects import ProjectStore, PromptDebug
from ...ports.remember import NO_BACKLOG, Backlog, MemoryDesk
from ...ports.requests import RequestStore
from ...ports.threads import ThreadStore
from ..answers import Answer


@dataclass(frozen=True, slots=True)
class ReadText:
    """What a document says. mime: what it was read as. pieces: into how many it is cut."""

    text: str
    mime: str
    pieces: int


class ReadDocument(Protocol):
    """Makes text of an uploaded file."""

    async def __call__(self, filename: str, mime: str, data: bytes) -> ReadText:
        """Return its text. Raises `agent.protocol.problems.Unanswerable` for what cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the API works on.

    read: makes text of an upload. show_prompt: what a message would be answered with; None where no model is prompted.
    new_id: of a project, a key's entry, a document. new_key: a key that opens a project, at least 16 random bytes, in
    the form that `keys.KEY` has. memory: what is remembered for users; None where nothing is.
    backlog: what they said that is not kept yet.
    """

    desk: Desk
    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    requests: RequestStore
    show_prompt: PromptDebug | None
    read: ReadDocument
    clock: Clock
    new_id: Callable[[], str]
    new_key: Callable[[], str]
    memory: MemoryDesk | None = None
    backlog: Backlog = NO_BACKLOG


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that came. mime: what its part says, "" where that says nothing."""

    category: str
    filename: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was read and that its caller may make. project: whose things it is about.
    by: whose key it shows, in the audit.

    names: the parts of its path that are names. query, body: the Structs of its route; an upload as Uploaded.
    async_preferred: the caller does not wait for what the server runs. listener: hears the frames of a turn.
    """

    project: str
    by: str
    names: Mapping[str, str] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    async_preferred: bool = False
    listener: Listener | None = None

    def named(self, field: str) -> str | None:
        """Return an id that the request names, in its path, its query or its body; None where it does not."""
        given = (getattr(part, field, None) for part in (self.query, self.body))
        return self.names.get(field) or next((each for each in given if each is not None), None)


Handler: TypeAlias = Callable[[Rooms, Request], Awaitable[Answer]]
"""Does what one route is for.

Raises `agent.protocol.problems.Unanswerable` and the errors of the ports, which the router makes problems of.
"""


async def check_user(rooms: Rooms, request: Request) -> None:
    """Check that a thread or a call that a request names is of the user that it names, if it names both.

    Every route is checked so before its handler runs, so that no handler has to. Items need no look: they are found
    among their user's own. Raises `agent.errors.NotFound`, as for what never was.
    """
    user, thread = request.named("user_id"), request.named("thread_id")
    if user is None:
        return
    threads = {thread} if thread is not None else set()
    for call in {request.named("call_id"), request.named("tool_call_id")} - {None}:
        threads.add((await rooms.calls.call(request.project, str(call))).thread)
    for each in threads:
        if (await rooms.threads.thread(request.project, each)).user != user:
            raise NotFound("it is another user's")


async def note(rooms: Rooms, project: str, user: str, event: str, subject: str) -> None:
    """Write a line of the audit of what was done. It is done, so a store that cannot write it now changes nothing."""
    with suppress(StorageFailed):
        await rooms.requests.note(rooms.clock.now_ms(), project, user, event, subject)
