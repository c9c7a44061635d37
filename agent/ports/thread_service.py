"""Serves threads to callers over HTTP: chat, approve, begin, report, cancel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .action import Payload
from .brain import Question
from .calls import UNNAMED, Approver, CallReport, StoredCall
from .memory import ProposalOutcome
from .search import Lang

Mode: TypeAlias = Literal["ACT", "ASK", "NOOP"]
TurnEnd: TypeAlias = Literal["cancelled", "busy", "rate_limited", "shutting_down", "internal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A message to a thread.

    `thread` None begins a new one. `tools` came with the message, not read yet. `context` is JSON of the caller's about
    the message, "" for none. `interrupt` cancels a turn in progress for it. `begin` hands over calls that the caller
    runs and that need no approval as begun, with a lease.
    """

    project: str
    user: str
    text: str
    thread: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    context: str = ""
    lang: Lang | None = None
    interrupt: bool = False
    begin: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The outcome of a turn, as it is stored.

    `message` is the id of the turn. `calls` were made, suggested or handed over, oldest first. `blocked` holds the code
    and message of a refusal. `remembered` holds the memory items that the user's words propose or order.
    `without_memory` says that part of the memory could not be read for the reply, or that the exchange could not be
    stored in time.
    """

    thread: str
    message: str
    mode: Mode
    text: str
    citations: tuple[Mapping[str, Any], ...] = ()
    confidence: str | None = None
    blocked: Mapping[str, str] | None = None
    calls: tuple[StoredCall, ...] = ()
    remembered: tuple[ProposalOutcome, ...] = ()
    without_memory: bool = False


class Listener(Protocol):
    """Receives, while a turn runs, the frames that the client of a socket would get; never waits."""

    @property
    def room(self) -> int:
        """The number of further events that it takes now."""
        ...

    def take_frame(self, frame: bytes) -> None:
        """Take a frame of the wire, as JSON; its content is already stored."""
        ...

    def call_when_room(self, callback: "RoomCallback") -> None:
        """Call `callback` once, when there is room again."""
        ...


class RoomCallback(Protocol):
    """Called once when a `Listener` has room again."""

    def __call__(self) -> None:
        """Continue sending."""
        ...


class ThreadService(Protocol):
    """The threads of one server.

    Every method raises `agent.errors.NotFound` for an unknown id, and equally for another project's;
    `agent.errors.Conflict` as `CallStore` and `ThreadStore` do; `agent.errors.StorageFailed`; and, for a turn that has
    no reply, `Conflict` with its `TurnEnd`.
    """

    async def chat(self, request: ChatRequest, listener: Listener | None = None) -> Reply:
        """Take a message, and return the reply once it is stored.

        `listener` receives each frame meanwhile. Raises `agent.errors.BadTool` for unusable tools, before anything is
        stored; `Conflict("too_many_threads")` when no further thread can be awake. Cancelled, the turn is cancelled
        too: none of its calls begins any more, and a call that had begun is recorded.
        """
        ...

    def find_user(self, project: str, thread: str) -> str | None:
        """Return the user of a thread that is awake in this process, else None. It reads nothing."""
        ...

    async def preview_question(
        self, project: str, user: str, text: str, thread: str | None = None
    ) -> Question:
        """Return the question that a turn for this message would get; nothing is begun, and nothing stored.

        `thread` would get the message; its own user counts, and it is awake afterwards. None means a new thread of
        `user`.
        """
        ...

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
        """Approve a call, with other `arguments` where given; return it as it is after at most `wait` seconds.

        A call that the server runs is run. Raises `agent.errors.BadEdit` for arguments that the tool does not take.
        Cancelled after the approval, the call runs all the same.
        """
        ...

    async def wait_for_end(self, project: str, call: str, wait: float) -> StoredCall:
        """Return a call once it has ended, in any process, or as it is after `wait` seconds."""
        ...

    async def answer_call(
        self,
        project: str,
        call: str,
        user: str,
        text: str,
        listener: Listener | None = None,
        approver: Approver = UNNAMED,
    ) -> Reply:
        """Answer a suggested call with words, which become the thread's next message; return the reply."""
        ...

    async def reject_call(
        self,
        project: str,
        call: str,
        by: str | None = None,
        approver: Approver = UNNAMED,
        reason: str | None = None,
        waiting: bool = False,
    ) -> StoredCall:
        """Decline a suggested call, or cancel an approved one that has not begun; it never begins after that.

        `by` is the user who decided that, where that user is known. With `waiting`, a call that was approved meanwhile
        is refused, as `Conflict("closed")`.
        """
        ...

    async def begin_call(self, project: str, call: str) -> StoredCall:
        """Take an approved call that the caller runs: exactly one taker gets it, with its arguments and a lease."""
        ...

    async def report_call(
        self, report: CallReport, go_on: bool = False, listener: Listener | None = None
    ) -> tuple[StoredCall, bool, Reply | None]:
        """Record the outcome of a call. Return the call, whether the report was a repeat, and the reply of a turn about
        it.

        The reply is made only with `go_on`, and only if a turn can begin now: the outcome is recorded either way.
        """
        ...

    async def continue_turn(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Begin a turn of the thread about the outcome of `call`, and return its reply."""
        ...

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel the turn in progress, in any process; once this returns, none of its calls begins."""
        ...

    async def cancel_thread(self, project: str, thread: str) -> None:
        """Cancel the turn in progress and every call that has not begun; none begins once this returns."""
        ...

    async def delete_thread(self, project: str, thread: str) -> None:
        """Cancel the work of a thread, then delete it."""
        ...

    async def delete_project(self, project: str) -> None:
        """Cancel the work of a project's threads, then delete the project with all of its data."""
        ...
