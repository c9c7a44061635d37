"""What the API's handlers call, in memory: stores of a few dictionaries, and a desk that plays what it is told."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import trio

from agent.errors import Conflict, ModelFailed, NotFound, StorageFailed
from agent.ports.action import Payload
from agent.ports.brain import Question
from agent.ports.calls import UNNAMED, Approver, CallReport, CallStatus, StoredCall
from agent.ports.conversation import Exchange, Scope
from agent.ports.draft import PromptSection
from agent.ports.feedback import Feedback, Rating, Verdict
from agent.ports.inbox import (
    CallDecision,
    DecisionEvent,
    DecisionFilter,
    InboxEntry,
    InboxLook,
    InboxMark,
)
from agent.ports.memory import StoredTurn
from agent.ports.pages import Page, Window
from agent.ports.projects import HOUSE, Project, ProjectKey, StoredDocument
from agent.ports.remember import RepeatMatcher
from agent.ports.requests import StoredAnswer
from agent.ports.thread_service import ChatRequest, Listener, Reply
from agent.ports.threads import StoredMessage, Thread, ThreadState
from agent.ports.tools import ToolDefinition
from agent.retrieval.foreign import ForeignFiles
from agent.server.api.context import ApiServices
from agent.server.api.inbox_watch import InboxWatch
from agent.server.api.upload_reader import UploadReader
from agent.testing.fake_feedback import FakeFeedback
from agent.testing.network import InProcess, inline

T = TypeVar("T")


def part(entries: list[T], window: Window) -> Page[T]:
    """Return a part of a list whose entries are numbered from 1."""
    found = entries[window.after : window.after + window.limit]
    last = window.after + len(found)
    return Page(tuple(found), last if last < len(entries) else None)


class HouseFeedback(FakeFeedback):
    """Feedback of the house's projects."""

    check: Callable[[str], Awaitable[None]]

    async def put_message_feedback(self, rating: Rating, scope: Scope) -> Feedback:
        """Keep a rating."""
        await self.check(scope.project)
        return await super().put_message_feedback(rating, scope)

    async def feedback(self, project: str, window: Window, verdict: Verdict | None = None) -> Page[Feedback]:
        """Return a part of a project's."""
        await self.check(project)
        return await super().feedback(project, window, verdict)


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
    documents: dict[str, tuple[StoredDocument, str]] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    messages: list[StoredMessage] = field(default_factory=list)
    calls: dict[str, StoredCall] = field(default_factory=dict)
    requests: dict[tuple[str, str], tuple[str, StoredAnswer | None]] = field(default_factory=dict)
    notes: list[tuple[str, str, str, str]] = field(default_factory=list)
    decisions: list[CallDecision] = field(default_factory=list)
    done: list[Any] = field(default_factory=list)
    reports: dict[str, str] = field(default_factory=dict)
    feedback: "HouseFeedback" = field(default_factory=lambda: HouseFeedback())
    lookups: int = 0
    asked_of: list[str | None] = field(default_factory=list)  # the projects of requests that name a key
    play: Callable[[ChatRequest, Listener | None], Awaitable[None]] | None = None
    mode: Any = "NOOP"
    prompts: bool = True
    hangs: bool = False
    going_down: bool = False
    tools: Sequence[ToolDefinition] = ()

    def __post_init__(self) -> None:
        """Number what is made."""
        self.feedback.check = self.check
        self._numbers = count(1)

    def new_id(self) -> str:
        """Return a name that was not there."""
        return f"id-{next(self._numbers)}"

    def rooms(self) -> ApiServices:
        """Return all of it as the API takes it."""
        return ApiServices(
            desk=Desk(self),
            projects=Projects(self),
            threads=Threads(self),
            calls=Calls(self),
            requests=Requests(self),
            feedback=self.feedback,
            inbox=InboxWatch(Inbox(self), lambda: self.going_down),
            show_prompt=self.show_prompt if self.prompts else None,
            read=UploadReader(inline, ForeignFiles(InProcess()).text_of),
            clock=self,
            new_id=self.new_id,
            new_key=lambda: f"ak_{next(self._numbers):032d}",
            tools=self.tools,
            model="mock",
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

    async def show_prompt(self, question: Question) -> tuple[PromptSection, ...]:
        """Return a prompt of its parts."""
        await self.check(question.scope.project)
        if question.text == "too long":
            raise ModelFailed("the prompt is too long")
        said = (PromptSection("thread", 1, each.question) for each in question.history)
        return PromptSection("rules", 2, "Rules."), *said, PromptSection("message", 1, question.text)

    def add_call(
        self, id: str, project: str = HOUSE, status: CallStatus = "suggested", **more: Any
    ) -> StoredCall:
        """Keep a call."""
        call = StoredCall(
            id=id,
            project=project,
            thread="thread",
            message="message",
            turn=1,
            position=0,
            tool="refund",
            arguments={"order": "4711"},
            arguments_hash="hash",
            proposed_hash="hash",
            runs_at="caller",
            needs_approval=True,
            status=status,
            created_at=1,
            deadline=2,
        )
        call = replace(call, **more)
        self.calls[id] = call
        self.threads.setdefault(
            call.thread,
            Thread(id=call.thread, project=project, user="bo", created_at=1, updated_at=2, turn=3),
        )
        return call

    def decide(self, call: StoredCall, event: DecisionEvent, by: str | None, approver: Approver) -> None:
        """Note a decision."""
        user = by or approver.key
        self.notes.append((call.project, user, event, call.id))
        self.decisions.append(
            CallDecision(
                at=self.now_ms(),
                project=call.project,
                call=call.id,
                event=event,
                user=user,
                approver=approver.name,
                key=approver.key,
                tool=call.tool,
                hash=call.arguments_hash,
            )
        )

    def add_thread(self, id: str, project: str = HOUSE) -> Thread:
        """Keep a thread."""
        self.threads[id] = Thread(id=id, project=project, user="user", created_at=1, updated_at=2, turn=3)
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

    async def delete_project(self, id: str) -> tuple[str, ...]:
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

    async def find_key(self, digest: str) -> ProjectKey | None:
        """Look a key up."""
        self._house.lookups += 1
        await self._house.check(HOUSE)
        found = (key for kept, key in self._house.keys.values() if kept == digest and key.revoked_at is None)
        return next(found, None)

    async def put_document(self, document: StoredDocument, text: str) -> StoredDocument:
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

    async def document(self, project: str, id: str) -> StoredDocument:
        """Return it."""
        await self._house.check(project)
        if id not in self._house.documents or self._house.documents[id][0].project != project:
            raise NotFound
        return self._house.documents[id][0]

    async def documents(self, project: str, window: Window) -> Page[StoredDocument]:
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

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Not called."""
        raise AssertionError

    async def forget_repeats(self, scope: Scope, again: RepeatMatcher) -> None:
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

    async def load_state(self, project: str, thread: str, exchanges: int) -> ThreadState:
        """Return what was said in it."""
        return ThreadState(await self.thread(project, thread), (Exchange("Before?", "Yes."),))

    async def _not_called(self, *_: Any) -> Any:
        raise AssertionError

    begin_turn = record_step = cancel_turn = cancelled_messages = message = delete_thread = _not_called


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

    may_begin = keep_call = approve_call = close_call = reject_call = begin_call = report_call = (
        expire_calls
    ) = _not_called


class Inbox:
    """Implements InboxStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def look(self, project: str | None, most: int) -> InboxLook:
        """Return the open calls."""
        await self._house.check(HOUSE if project is None else project)
        calls = [each for each in self._house.calls.values() if project in (None, each.project)]
        waiting = sorted(
            (each for each in calls if each.status == "suggested"), key=lambda call: (call.deadline, call.id)
        )
        others = [each for each in calls if each.status in ("confirmed", "claimed")]
        shown = (*waiting[:most], *others[:most])
        return InboxLook(
            {each.id: InboxMark(each.status, each.arguments_hash) for each in shown}, len(waiting)
        )

    async def entries(self, project: str | None, ids: Collection[str]) -> tuple[InboxEntry, ...]:
        """Return these calls."""
        await self._house.check(HOUSE if project is None else project)
        return tuple(
            [
                InboxEntry(
                    call=call,
                    user=self._house.threads[call.thread].user,
                    words=next(
                        (each.content for each in self._house.messages if each.id == call.message), None
                    ),
                    decision=await self.decision(call.project, call.id),
                )
                for call in (self._house.calls[id] for id in ids if id in self._house.calls)
                if project in (None, call.project)
            ]
        )

    async def decision(self, project: str, call: str) -> CallDecision | None:
        """Return the last decision."""
        found = [each for each in self._house.decisions if (each.project, each.call) == (project, call)]
        return found[-1] if found else None

    async def decisions(
        self, project: str | None, wanted: DecisionFilter, limit: int, before: int = 0
    ) -> Page[CallDecision]:
        """Return decisions, newest first."""
        await self._house.check(HOUSE if project is None else project)
        found = [each for each in self._house.decisions if project in (None, each.project)]
        found = [each for each in found if wanted.approver in (None, each.approver)]
        end = before - 1 if before else len(found)
        start = max(0, end - limit)
        return Page(tuple(found[start:end][::-1]), start + 1 if start else None)

    async def is_live_key(self, project: str, key: str) -> bool:
        """Return whether it opens the project."""
        await self._house.check(project)
        found = self._house.keys.get(key)
        return found is not None and found[1].project == project and found[1].revoked_at is None


class Requests:
    """Implements RequestStore."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def begin_request(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> StoredAnswer | None:
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

    async def record_answer(self, owner: str, key: str, answer: StoredAnswer | None) -> None:
        """Note its answer."""
        await trio.lowlevel.checkpoint()
        if answer is None:
            del self._house.requests[owner, key]
        else:
            self._house.requests[owner, key] = self._house.requests[owner, key][0], answer

    async def write_audit(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Note what was done."""
        await trio.lowlevel.checkpoint()
        if isinstance(self._house.broken, StorageFailed):
            raise self._house.broken
        self._house.notes.append((project, user, event, subject))


class Desk:
    """Implements Desk: plays what the house says, and notes what it was asked."""

    def __init__(self, house: House) -> None:
        self._house = house

    def find_user(self, project: str, thread: str) -> str | None:
        """No thread is awake."""
        return None

    async def chat(self, asked: ChatRequest, listener: Listener | None = None) -> Reply:
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
            thread=thread,
            message="message",
            mode=self._house.mode,
            text="It is so.",
            citations=({"file": "a.md", "snippet": "so"},),
            confidence="high",
            blocked=None,
            calls=calls,
        )

    async def preview_question(
        self, project: str, user: str, text: str, thread: str | None = None
    ) -> Question:
        """Return a question after what was said in its thread."""
        await self._house.check(project)
        question = Question(
            id="", text=text, lang=None, at=trio.current_time(), scope=Scope(project, thread or "", user)
        )
        if thread is None:
            return question
        woken = await Threads(self._house).load_state(project, thread, 9)
        return question.with_history(woken.history)

    async def _call(self, project: str, call: str) -> StoredCall:
        return await Calls(self._house).call(project, call)

    def _set(self, call: StoredCall, **fields: Any) -> StoredCall:
        self._house.calls[call.id] = replace(call, **fields)
        return self._house.calls[call.id]

    async def approve_call(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
        approver: Approver = UNNAMED,
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
        self._house.decide(found, "approved" if arguments is None else "edited", by, approver)
        return self._set(found, status=status, approved_by=by, approved_at=5, **new)

    async def wait_for_end(self, project: str, call: str, wait: float) -> StoredCall:
        """Wait for a call."""
        with trio.move_on_after(wait):
            while (await self._call(project, call)).status not in ("done", "failed"):  # noqa: ASYNC110
                await trio.sleep(0.1)
        return await self._call(project, call)

    async def continue_turn(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Go on from a call."""
        return await self.chat(
            ChatRequest(project=call.project, user="user", text=f"go on from {call.id}"), listener
        )

    async def answer_call(
        self,
        project: str,
        call: str,
        user: str,
        text: str,
        listener: Listener | None = None,
        approver: Approver = UNNAMED,
    ) -> Reply:
        """Answer a call."""
        found = self._set(await self._call(project, call), status="answered")
        self._house.decide(found, "answered", user, approver)
        return await self.chat(ChatRequest(project=project, user=user, text=text), listener)

    async def reject_call(
        self,
        project: str,
        call: str,
        by: str | None = None,
        approver: Approver = UNNAMED,
        reason: str | None = None,
        waiting: bool = False,
    ) -> StoredCall:
        """Decline a call."""
        found = await self._call(project, call)
        if waiting and found.status != "suggested":
            raise Conflict("closed")
        self._house.decide(found, "rejected", by, approver)
        return self._set(found, status="rejected", closed_by=by, reason=reason)

    async def begin_call(self, project: str, call: str) -> StoredCall:
        """Take a call."""
        found = await self._call(project, call)
        if found.status != "confirmed":
            raise Conflict("begun" if found.status == "claimed" else "not_approved")
        return self._set(found, status="claimed", lease_until=9)

    async def report_call(
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
        reply = (
            await self.chat(ChatRequest(project=report.project, user="user", text="go on"), listener)
            if go_on
            else None
        )
        return found, known is not None, reply

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel a turn."""
        await Threads(self._house).thread(project, thread)
        self._house.done.append(("cancel_turn", thread))

    async def cancel_thread(self, project: str, thread: str) -> None:
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
