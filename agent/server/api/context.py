"""The parameters of the HTTP API's handlers: the services that they call (`ApiServices`), and one `Request`."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET

from ...errors import NotFound, StorageFailed
from ...ports.calls import CallStore
from ...ports.clock import Clock
from ...ports.conversation import NO_SCOPE, Scope
from ...ports.feedback import FeedbackStore
from ...ports.inbox import InboxStore
from ...ports.projects import ProjectStore, PromptDebug, ReadingReport
from ...ports.remember import NO_BACKLOG, Backlog, MemoryService
from ...ports.requests import RequestStore
from ...ports.story_service import StoryService
from ...ports.thread_service import Listener, ThreadService
from ...ports.threads import ThreadStore
from ...ports.tools import ToolDefinition
from ..responses import Answer


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a document.

    `mime`: the type that it was read as. `pieces`: the number that it is cut into. `report`: counts the rest.
    """

    text: str
    mime: str
    pieces: int
    report: ReadingReport


class TextExtractor(Protocol):
    """Extracts the text of an uploaded file."""

    async def __call__(self, filename: str, mime: str, data: bytes) -> ExtractedText:
        """Return its text. Raises `agent.protocol.problems.ProblemError` if the file cannot be read."""
        ...


class LiveInbox(Protocol):
    """Tells approvers of open calls. `store` reads these, and the decisions about them."""

    @property
    def store(self) -> InboxStore:
        """The calls and decisions."""
        ...

    async def run(self, project: str | None, key: str, listener: Listener) -> None:
        """Tell `listener` of a project's open calls, or of all for None, until cancelled.

        Raises `agent.protocol.problems.ProblemError` with the reason that nothing more is told.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices:
    """The services and stores that the API works on.

    `read` extracts the text of an upload. `show_prompt` returns the prompt for a message; None if no model is prompted.
    `new_id` returns the id of a project, a key's entry or a document. `new_key` returns a key of at least 16 random
    bytes, in the form of `keys.KEY`. `tools`: the operator's present tools. `memory`: the users' memory; None if the
    server has none. `backlog`: the users' messages that the memory has not read yet. `model`: names the model that
    answers. `note_change`: called with a project after its documents were changed. `own_project`: the project in which
    users with tokens of their own have their things, as on the WebSocket. `stories`: None if the server tells none.
    """

    desk: ThreadService
    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    requests: RequestStore
    feedback: FeedbackStore
    inbox: LiveInbox
    show_prompt: PromptDebug | None
    read: TextExtractor
    clock: Clock
    new_id: Callable[[], str]
    new_key: Callable[[], str]
    tools: Iterable[ToolDefinition] = ()
    memory: MemoryService | None = None
    backlog: Backlog = NO_BACKLOG
    model: str = ""
    note_change: Callable[[str], None] = lambda _: None
    own_project: str = ""
    stories: StoryService | None = None


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file. `mime`: the type that its part names, or ""."""

    category: str
    filename: str
    mime: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request that was read, and that its caller may make.

    `project`: the project that it works on. `by`: the name of its caller in the audit. `names`: the values of its
    path's named parts. `query`, `body`: the `Struct`s of its route; an upload is an `UploadedFile`. `async_preferred`:
    whether the caller does not wait for calls that the server runs. `listener` gets the frames of a turn, or the events
    of a live list. `key`: the id of the key that it came with, or `operator`. `owner`: the scope of the user whose
    things it is about, on a route with the access `owner`.
    """

    project: str
    by: str
    names: Mapping[str, str] = field(default_factory=dict)
    query: Any = None
    body: Any = None
    async_preferred: bool = False
    listener: Listener | None = None
    key: str = ""
    owner: Scope = NO_SCOPE

    def find_id(self, field: str) -> str | None:
        """Return the id in `field` of the request's path, query or body, or None."""
        given = (getattr(part, field, None) for part in (self.query, self.body))
        return self.names.get(field) or next((each for each in given if each not in (None, UNSET)), None)


Handler: TypeAlias = Callable[[ApiServices, Request], Awaitable[Answer]]
"""Does the work of one route.

Raises `agent.protocol.problems.ProblemError` and the errors of the ports, which the router turns into problems.
"""


async def check_user(services: ApiServices, request: Request) -> None:
    """Check that the thread or call that a request names belongs to the user that it names, if it names both.

    Runs before the handler of every route, so that no handler has to check. Items need no check: they are looked up
    among their user's own. Raises `agent.errors.NotFound`, as for a thread that never existed.
    """
    user = request.owner.user or request.find_id("user_id")
    thread = request.find_id("thread_id")
    if user is None:
        return
    threads = {thread} if thread is not None else set()
    for call in {request.find_id("call_id"), request.find_id("tool_call_id")} - {None}:
        threads.add((await services.calls.call(request.project, str(call))).thread)
    for each in threads:
        owner = services.desk.find_user(request.project, each)
        if owner is None:
            owner = (await services.threads.thread(request.project, each)).user
        if owner != user:
            raise NotFound("it is another user's")


async def record_audit(services: ApiServices, project: str, user: str, event: str, subject: str) -> None:
    """Write a line of the audit about finished work. The work stands, so a `StorageFailed` here is dropped."""
    with suppress(StorageFailed):
        await services.requests.write_audit(services.clock.now_ms(), project, user, event, subject)
