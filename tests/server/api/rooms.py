"""What the API's handlers call, in memory: stores of a few dictionaries, and a desk that plays what it is told."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import trio

from agent.errors import Conflict, ModelFailed, NotFound, StorageFailed
from agent.ports.action import Payload
from agent.ports.brain import Question
from agent.ports.calls import CallReport, CallStatus, StoredCall
from agent.ports.conversation import Exchange, Scope
from agent.ports.desk import Asked, Listener, Reply
from agent.ports.draft import Section
from agent.ports.memory import StoredTurn
from agent.ports.pages import Page, Window
from agent.ports.projects import HOUSE, Document, Project, ProjectKey
from agent.ports.remember import Again
from agent.ports.requests import Answered
from agent.ports.threads import StoredMessage, Thread, Woken
from agent.retrieval.foreign import ForeignFiles
from agent.server.api.reading import Reading
from agent.server.api.rooms import Rooms
from agent.testing.isolate import InProcess
from agent.testing.network import inline

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt."""

    name: str
    tokens: int
    text: str


def part(entries: list[T], window: Window) -> Page[T]:
    """Return a part of a list whose entries are numbered from 1."""
    found = entries[window.after : window.after + window.limit]
    last = window.after + len(found)
    return Page(tuple(found), last if last < len(entries) else None)


@dataclass
class House:
    """All that is kept, and what the desk does next.

    broken: an error that every store raises. play: what a turn does before its reply; listener and message given.
    """

    broken: Exception | None = None
    projects: dict[str, Project] = field(
        default_factory=lambda: {HOUSE: Project(HOUSE, "House", "Helps.", 1)}
    )
    keys: dict[str, tuple[str, ProjectKey]] = field(default_factory=dict)
    documents: dict[str, tuple[Document, str]] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    messages: list[StoredMessage] = field(default_factory=list)
    calls: dict[str, StoredCall] = field(default_factory=dict)
    requests: dict[tuple[str, str], tuple[str, Answered | None]] = field(default_factory=dict)
    notes: list[tuple[str, str, str, str]] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)
    lookups: int = 0
    asked_of: list[str | None] = field(default_factory=list)  # the projects of requests that name a key
    play: Callable[[Asked, Listener | None], Awaitable[None]] | None = None
    mode: Any = "NOOP"
    prompts: bool = True
    hangs: bool = False

    def __post_init__(self) -> None:
        """Number what is made."""
        self._numbers = count(1)

    def new_id(self) -> str:
        """Return a name that was not there."""
        return f"id-{next(self._numbers)}"

    def rooms(self) -> Rooms:
        """Return all of it as the API takes it."""
        return Rooms(
            Desk(self),
            Projects(self),
            Threads(self),
            Calls(self),
            Requests(self),
            self.show_prompt if self.prompts else None,
            Reading(inline, ForeignFiles(InProcess()).text_of),
            self,
            self.new_id,
            lambda: f"ak_{next(self._numbers):032d}",
        )

    def now_ms(self) -> int:
        """Return a time."""
        return 1_700_000_000_000 + int(trio.current_time() * 1000)

    async def check(self, project: str) -> None:
        """Be a store: wait, break if it is to, and know the project."""
        await trio.lowlevel.checkpoint()
        if self.hangs:
            await trio.sleep_forever()
        if self.broken is not None:
            raise self.broken
        if project not in self.projects:
            raise NotFound

    async def show_prompt(self, question: Question) -> tuple[Section, ...]:
        """Return a prompt of its parts."""
        await self.check(question.scope.project)
        if question.text == "too long":
            raise ModelFailed("the prompt is too long")
        said = (Section("thread", 1, each.question) for each in question.history)
        return Section("rules", 2, "Rules."), *said, Section("message", 1, question.text)

    def add_call(
        self, id: str, project: str = HOUSE, status: CallStatus = "suggested", **more: Any
    ) -> StoredCall:
        """Keep a call."""
        call = StoredCall(
            id, project, "thread", "message", 1, 0, "refund", {"order": "4711"}, "hash", "hash", "caller", True, status,
            1, 2,
        )  # fmt: skip
        call = replace(call, **more)
        self.calls[id] = call
        self.threads.setdefault(call.thread, Thread(call.thread, project, "bo", 1, 2, 3))
        return call

    def add_thread(self, id: str, project: str = HOUSE) -> Thread:
        """Keep a thread."""
        self.threads[id] = Thread(id, project, "user", 1, 2, 3)
        return self.threads[id]


class Projects:
    """Implements ProjectStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def create_project(self, id: str, name: str, role: str, at: int) -> Project:
        """Keep a project."""
        await self._house.check(HOUSE)
        if name == "one too many":
            raise Conflict("too_many_projects")
        self._house.projects[id] = Project(id, name, role, at)
        return self._house.projects[id]

    async def project(self, id: str) -> Project:
        """Return it."""
        await self._house.check(id)
        return self._house.projects[id]

    async def projects(self, window: Window) -> Page[Project]:
        """Return a page."""
        await self._house.check(HOUSE)
        return part([*self._house.projects.values()], window)

    async def change_project(self, id: str, name: str | None, role: str | None) -> Project:
        """Change it."""
        old = await self.project(id)
        new = replace(old, name=old.name if name is None else name, role=old.role if role is None else role)
        self._house.projects[id] = new
        return new

    async def delete_project(self, id: str) -> None:
        """Not called: the desk does."""
        raise AssertionError

    async def add_key(self, project: str, id: str, digest: str, name: str, at: int) -> ProjectKey:
        """Keep a key."""
        await self._house.check(project)
        key = ProjectKey(id, project, name, at)
        self._house.keys[id] = (digest, key)
        return key

    async def keys(self, project: str, window: Window) -> Page[ProjectKey]:
        """Return a page."""
        await self._house.check(project)
        return part([key for _, key in self._house.keys.values() if key.project == project], window)

    async def revoke_key(self, project: str, id: str, at: int) -> None:
        """Revoke it."""
        await self._house.check(project)
        if id not in self._house.keys or self._house.keys[id][1].project != project:
            raise NotFound
        digest, key = self._house.keys[id]
        self._house.keys[id] = digest, replace(key, revoked_at=at)

    async def project_of_key(self, digest: str) -> str | None:
        """Look a key up."""
        self._house.lookups += 1
        await self._house.check(HOUSE)
        found = (key for kept, key in self._house.keys.values() if kept == digest and key.revoked_at is None)
        return next((key.project for key in found), None)

    async def put_document(self, document: Document, text: str) -> Document:
        """Keep a document in place of another."""
        await self._house.check(document.project)
        if text.startswith("too many"):
            raise Conflict("rules_too_long")
        same = ("project", "category", "filename")
        for old, _ in self._house.documents.values():
            if all(getattr(old, name) == getattr(document, name) for name in same):
                if old.sha256 != document.sha256:
                    document = replace(document, id=old.id, version=old.version + 1)
                    self._house.documents[old.id] = document, text
                    return document
                return old
        self._house.documents[document.id] = document, text
        return document

    async def document(self, project: str, id: str) -> Document:
        """Return it."""
        await self._house.check(project)
        if id not in self._house.documents or self._house.documents[id][0].project != project:
            raise NotFound
        return self._house.documents[id][0]

    async def documents(self, project: str, window: Window) -> Page[Document]:
        """Return a page."""
        await self._house.check(project)
        return part([each for each, _ in self._house.documents.values() if each.project == project], window)

    async def delete_document(self, project: str, id: str) -> None:
        """Delete it."""
        await self.document(project, id)
        del self._house.documents[id]

    async def texts(self, project: str) -> Any:
        """Not called."""
        raise AssertionError


class Threads:
    """Implements what the API uses of ThreadStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def forget(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Not called."""
        raise AssertionError

    async def unsay(self, scope: Scope, again: Again) -> None:
        """Not called."""
        raise AssertionError

    async def thread(self, project: str, id: str) -> Thread:
        """Return it."""
        await self._house.check(project)
        if id not in self._house.threads or self._house.threads[id].project != project:
            raise NotFound
        return self._house.threads[id]

    async def threads(self, project: str, window: Window, user: str | None = None) -> Page[Thread]:
        """Return a page."""
        await self._house.check(project)
        found = [each for each in self._house.threads.values() if each.project == project]
        return part([each for each in found if user in (None, each.user)], window)

    async def messages(self, project: str, thread: str, window: Window) -> Page[StoredMessage]:
        """Return a page."""
        await self.thread(project, thread)
        return part([each for each in self._house.messages if each.thread == thread], window)

    async def wake(self, project: str, thread: str, exchanges: int) -> Woken:
        """Return what was said in it."""
        return Woken(await self.thread(project, thread), (Exchange("Before?", "Yes."),))

    async def _not_called(self, *_: Any) -> Any:
        raise AssertionError

    begin_turn = say = cancel_turn = cancelled = message = delete_thread = _not_called


class Calls:
    """Implements what the API uses of CallStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def call(self, project: str, id: str) -> StoredCall:
        """Return it."""
        await self._house.check(project)
        if id not in self._house.calls or self._house.calls[id].project != project:
            raise NotFound
        return self._house.calls[id]

    async def calls(
        self, project: str, window: Window, status: CallStatus | None = None, thread: str | None = None
    ) -> Page[StoredCall]:
        """Return a page."""
        await self._house.check(project)
        found = [each for each in self._house.calls.values() if each.project == project]
        found = [each for each in found if status in (None, each.status) and thread in (None, each.thread)]
        return part(found, window)

    async def _not_called(self, *_: Any) -> Any:
        raise AssertionError

    keep_call = approve = close = begin = report = due = _not_called


class Requests:
    """Implements RequestStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def first(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> Answered | None:
        """Note a request."""
        self._house.asked_of.append(project)
        await self._house.check(HOUSE)
        found = self._house.requests.get((owner, key))
        if found is None:
            self._house.requests[owner, key] = digest, None
            return None
        if found[0] != digest:
            raise Conflict("key_reused")
        if found[1] is None:
            raise Conflict("in_progress")
        return found[1]

    async def answered(self, owner: str, key: str, answer: Answered | None) -> None:
        """Note its answer."""
        await trio.lowlevel.checkpoint()
        if answer is None:
            del self._house.requests[owner, key]
        else:
            self._house.requests[owner, key] = self._house.requests[owner, key][0], answer

    async def note(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Note what was done."""
        await trio.lowlevel.checkpoint()
        if isinstance(self._house.broken, StorageFailed):
            raise self._house.broken
        self._house.notes.append((project, user, event, subject))


class Desk:
    """Implements Desk: plays what the house says, and notes what it was asked."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def chat(self, asked: Asked, listener: Listener | None = None) -> Reply:
        """Take a message."""
        await self._house.check(asked.project)
        self._house.done.append(asked)
        thread = asked.thread or "thread"
        if asked.thread is not None and (
            asked.thread not in self._house.threads
            or self._house.threads[asked.thread].project != asked.project
        ):
            raise NotFound
        try:
            if self._house.play is not None:
                await self._house.play(asked, listener)
        except trio.Cancelled:
            self._house.done.append("cancelled")
            raise
        calls = tuple(each for each in self._house.calls.values() if each.project == asked.project)
        return Reply(
            thread,
            "message",
            self._house.mode,
            "It is so.",
            ({"file": "a.md", "snippet": "so"},),
            "high",
            None,
            calls,
        )

    async def preview(self, project: str, user: str, text: str, thread: str | None = None) -> Question:
        """Return a question after what was said in its thread."""
        await self._house.check(project)
        question = Question("", text, None, trio.current_time(), Scope(project, thread or "", user))
        if thread is None:
            return question
        woken = await Threads(self._house).wake(project, thread, 9)
        return question.after(woken.history)

    async def _call(self, project: str, call: str) -> StoredCall:
        return await Calls(self._house).call(project, call)

    def _set(self, call: StoredCall, **fields: Any) -> StoredCall:
        self._house.calls[call.id] = replace(call, **fields)
        return self._house.calls[call.id]

    async def approve(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
    ) -> StoredCall:
        """Approve a call."""
        found = await self._call(project, call)
        self._house.done.append((by, arguments, seen, wait))
        if found.status != "suggested":
            raise Conflict("closed")
        if seen not in (None, found.arguments_hash):
            raise Conflict("arguments_changed")
        new: Mapping[str, Any] = (
            {"arguments": arguments, "arguments_hash": "edited"} if arguments is not None else {}
        )
        status = "confirmed" if found.runs_at == "caller" else "done"
        return self._set(found, status=status, approved_by=by, approved_at=5, **new)

    async def go_on(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Go on from a call."""
        return await self.chat(Asked(call.project, "user", f"go on from {call.id}"), listener)

    async def respond(
        self, project: str, call: str, user: str, text: str, listener: Listener | None = None
    ) -> Reply:
        """Answer a call."""
        self._set(await self._call(project, call), status="answered")
        return await self.chat(Asked(project, user, text), listener)

    async def reject(self, project: str, call: str, by: str | None = None) -> StoredCall:
        """Decline a call."""
        return self._set(await self._call(project, call), status="rejected", closed_by=by)

    async def begin(self, project: str, call: str) -> StoredCall:
        """Take a call."""
        found = await self._call(project, call)
        if found.status != "confirmed":
            raise Conflict("begun" if found.status == "claimed" else "not_approved")
        return self._set(found, status="claimed", lease_until=9)

    async def report(
        self, report: CallReport, go_on: bool = False, listener: Listener | None = None
    ) -> tuple[StoredCall, bool, Reply | None]:
        """Take a report."""
        found = await self._call(report.project, report.call)
        known = self._house.reports.get(report.call)
        if known is not None and known != report.digest:
            raise Conflict("already_reported")
        if known is None and found.status != "claimed":
            raise Conflict("not_approved")
        self._house.reports[report.call] = report.digest
        found = self._set(found, status="done" if report.ok else "failed", result=report.result, ended_at=6)
        reply = await self.chat(Asked(report.project, "user", "go on"), listener) if go_on else None
        return found, known is not None, reply

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel a turn."""
        await Threads(self._house).thread(project, thread)
        self._house.done.append(("cancel_turn", thread))

    async def cancel(self, project: str, thread: str) -> None:
        """Cancel all."""
        await Threads(self._house).thread(project, thread)
        self._house.done.append(("cancel", thread))

    async def delete_thread(self, project: str, thread: str) -> None:
        """Delete a thread."""
        await Threads(self._house).thread(project, thread)
        del self._house.threads[thread]

    async def delete_project(self, project: str) -> None:
        """Delete a project."""
        await self._house.check(project)
        if project == HOUSE:
            raise Conflict("kept")
        del self._house.projects[project]
