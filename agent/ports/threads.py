"""Threads: conversations that outlive a connection, and what was said in them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .calls import Move, StoredCall
from .conversation import Exchange, Scope
from .memory import StoredTurn
from .pages import Page, Window
from .remember import Again

Role: TypeAlias = Literal["user", "assistant", "tool"]
MessageStatus: TypeAlias = Literal["pending", "done", "cancelled", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread. turn: how many turns have begun in it. Times are Unix milliseconds."""

    id: str
    project: str
    user: str
    created_at: int
    updated_at: int
    turn: int


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message. A user's is byte for byte what the user sent.

    turn: which turn of its thread it is of. citations: those of an answer, as JSON. call: the call whose result a
    tool's message is.
    """

    id: str
    thread: str
    turn: int
    role: Role
    content: str
    status: MessageStatus
    created_at: int
    citations: tuple[Mapping[str, Any], ...] = ()
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """A turn that is to begin. new: the thread is to be made. id: of its message.

    role: tool where the turn goes on after a call's result and nobody said anything; `content` is then the result's.
    alone: this process runs no turn of the thread, so that one of its own that is still pending is a leftover.
    closes: the suggested call that the message answers in place of an approval; it becomes answered, or nothing begins.
    """

    project: str
    thread: str
    user: str
    id: str
    content: str
    at: int
    new: bool = False
    role: Role = "user"
    call: str | None = None
    alone: bool = True
    closes: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that has begun. thread: its thread, as it is now. ended: as `Woken` has them."""

    thread: Thread
    ended: tuple[StoredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What one step of a turn has to say, kept whole or not at all, before anybody is told.

    message: the one whose turn it is. status: what that became, None while it goes on. answer: the assistant's message.
    calls: that were suggested, or handed over: claimed, with a lease. moves: of calls that were there before, a claim
    of which is the ledger's to note. tools: messages of results.
    """

    project: str
    thread: str
    message: str | None
    status: MessageStatus | None
    at: int
    answer: StoredMessage | None = None
    calls: tuple[StoredCall, ...] = ()
    moves: tuple[Move, ...] = ()
    tools: tuple[StoredMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class Woken:
    """What a thread needs to go on. history: oldest first.

    live: calls that can be approved, or are approved and wait for the server to run them, oldest first. ended: calls
    that somebody approved or ran, and that ended after the last turn began that was answered: no turn was told of them.
    """

    thread: Thread
    history: tuple[Exchange, ...] = ()
    live: tuple[StoredCall, ...] = field(default_factory=tuple)
    ended: tuple[StoredCall, ...] = ()


class ThreadStore(Protocol):
    """Keeps threads and their messages; the calls of a turn are kept with it.

    Every method raises `agent.errors.NotFound` for what is not there, or is another project's, which is the same, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def begin_turn(self, opening: Opening) -> Begun:
        """Keep a message as pending, in a thread that is there or, if `new`, is made.

        Raises `Conflict("turn_in_progress")` while another message of the thread is pending in a living process,
        `Conflict("thread_full")` over MESSAGES_MOST, and what `close` of a call does.
        """
        ...

    async def say(self, said: Said, late: Callable[[], None] = lambda: None) -> bool:
        """Keep what a turn says. A message or call that has ended stays as it ended. Idempotent.

        False for a turn that ended otherwise before: of that only `tools` and `moves` are kept. late: is called, once,
        when the disk does not answer; it is kept when that does.
        """
        ...

    async def cancel_turn(self, project: str, thread: str, at: int, calls: bool = False) -> tuple[str, ...]:
        """End the message that is pending as cancelled, whichever process has its turn; nothing where none is.

        What that turn was to run and nobody has claimed is cancelled with it, and no call of it is kept afterwards, so
        that nothing of it is claimed. Returns the ids of the thread's calls that need no approval and that another
        process has claimed, which may be about to begin. at: Unix milliseconds. calls: so is every call of the thread,
        suggested or approved, that nobody has claimed.
        """
        ...

    async def cancelled(self, messages: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return which of these messages, each by its project and its id, have ended as cancelled."""
        ...

    async def wake(self, project: str, thread: str, exchanges: int) -> Woken:
        """Return what a thread needs to go on, with at most so many of its last exchanges that were answered."""
        ...

    async def thread(self, project: str, id: str) -> Thread:
        """Return a thread."""
        ...

    async def message(self, project: str, id: str) -> StoredMessage:
        """Return a message."""
        ...

    async def threads(self, project: str, window: Window, user: str | None = None) -> Page[Thread]:
        """Return a project's threads, or one user's, in the order they were made."""
        ...

    async def messages(self, project: str, thread: str, window: Window) -> Page[StoredMessage]:
        """Return a thread's messages, oldest first."""
        ...

    async def forget(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Empty what was said in these turns, and the answers of requests that tell of them; out of the file too.

        What is not there is nobody's to forget. item: that is forgotten with them, and with it every line of the audit
        that says what was decided about it. Idempotent.
        """
        ...

    async def unsay(self, scope: Scope, again: Again) -> None:
        """Empty what says it again in the threads of a scope's user, or in its one thread.

        A message of the user's goes with its turn, an answer and a result by themselves. Of a call the texts go that
        say it, and one that nobody has approved is cancelled; one that is approved and not begun stays. Idempotent.
        """
        ...

    async def delete_thread(self, project: str, id: str) -> None:
        """Delete a thread with its messages and calls."""
        ...
