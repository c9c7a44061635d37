"""Threads as a caller over HTTP uses them: ask, approve, take, report, cancel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .action import Payload
from .brain import Question
from .calls import CallReport, StoredCall
from .memory import Proposed
from .search import Lang

Mode: TypeAlias = Literal["ACT", "ASK", "NOOP"]
TurnEnd: TypeAlias = Literal["cancelled", "busy", "rate_limited", "shutting_down", "internal"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A message to a thread. thread: None begins a new one. tools: that came with it, not read yet.

    interrupt: a turn in progress is cancelled for it. begin: calls that the caller runs and that need no approval are
    handed over as begun, with a lease.
    """

    project: str
    user: str
    text: str
    thread: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    lang: Lang | None = None
    interrupt: bool = False
    begin: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """What a turn came to, as it is kept.

    message: the id that the turn has. calls: that were made, suggested or handed over, oldest first. blocked: code and
    message of a refusal. remembered: what the user's words propose to remember, or have told to.
    without_memory: some of what is remembered could not be read for it, or it could not be kept in time.
    """

    thread: str
    message: str
    mode: Mode
    text: str
    citations: tuple[Mapping[str, Any], ...] = ()
    confidence: str | None = None
    blocked: Mapping[str, str] | None = None
    calls: tuple[StoredCall, ...] = ()
    remembered: tuple[Proposed, ...] = ()
    without_memory: bool = False


class Listener(Protocol):
    """Who is told what the client of a socket would be told, while a turn runs; never waits."""

    @property
    def room(self) -> int:
        """How many further events it takes now."""
        ...

    def hear(self, frame: bytes) -> None:
        """Take a frame of the wire, JSON; what it says is kept already."""
        ...

    def when_room(self, told: "Told") -> None:
        """Call `told` once, when there is room again."""
        ...


class Told(Protocol):
    """What is called when there is room."""

    def __call__(self) -> None:
        """Go on."""
        ...


class Desk(Protocol):
    """The threads of one server.

    Every method raises `agent.errors.NotFound` for what is not there or is another project's; `agent.errors.Conflict`
    as `CallStore` and `ThreadStore` do; `agent.errors.StorageFailed`; and, for a turn that has no reply,
    `Conflict` with its `TurnEnd`.
    """

    async def chat(self, asked: Asked, listener: Listener | None = None) -> Reply:
        """Take a message, and return the reply once it is kept.

        listener: is told each frame meanwhile. Raises `agent.errors.BadTool` for tools that cannot be used, before
        anything is kept; `Conflict("too_many_threads")` when no thread can be awake.
        Cancelled, the turn is: nothing of it begins any more, and what had begun is recorded.
        """
        ...

    async def preview(self, project: str, user: str, text: str, thread: str | None = None) -> Question:
        """Return the question of a message as its turn would be asked it; nothing is begun, and nothing kept.

        thread: that it would be a message of, whose user counts, and which is awake afterwards; None is a new one, of
        `user`.
        """
        ...

    async def approve(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
    ) -> StoredCall:
        """Approve a call, with other arguments where some are given; return it as it is after `wait` seconds at most.

        One that the server runs is run. Raises `agent.errors.BadEdit` for arguments that the tool does not take.
        Cancelled after it was approved, it runs all the same.
        """
        ...

    async def respond(
        self, project: str, call: str, user: str, text: str, listener: Listener | None = None
    ) -> Reply:
        """Answer a suggested call with words, which become the thread's next message; return the reply."""
        ...

    async def reject(self, project: str, call: str, by: str | None = None) -> StoredCall:
        """Decline a suggested call, or cancel an approved one that nobody has begun; it never begins after that.

        by: the user who decided that, where that is known.
        """
        ...

    async def begin(self, project: str, call: str) -> StoredCall:
        """Take an approved call that the caller runs: exactly one gets it, with its arguments and a lease."""
        ...

    async def report(
        self, report: CallReport, go_on: bool = False, listener: Listener | None = None
    ) -> tuple[StoredCall, bool, Reply | None]:
        """Take how a call ended; return it, whether that was known, and with `go_on` the reply of a turn about it."""
        ...

    async def go_on(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Begin a turn of the thread about how a call has ended, and return its reply."""
        ...

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel the turn in progress, in whichever process it is; once that returns, no call of it begins."""
        ...

    async def cancel(self, project: str, thread: str) -> None:
        """Cancel the turn in progress and every call that nobody has begun; none begins once that returns."""
        ...

    async def delete_thread(self, project: str, thread: str) -> None:
        """Cancel what a thread does, then delete it."""
        ...

    async def delete_project(self, project: str) -> None:
        """Cancel what its threads do, then delete a project with all that is its own."""
        ...
