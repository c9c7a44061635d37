"""Stores threads, the conversations that outlive a connection, and their messages."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .calls import UNNAMED, Approver, CallTransition, StoredCall
from .conversation import Exchange, Scope
from .memory import StoredTurn
from .pages import Page, Window
from .remember import RepeatMatcher

MessageRole: TypeAlias = Literal["user", "assistant", "tool"]
MessageStatus: TypeAlias = Literal["pending", "done", "cancelled", "refused", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread. `turn` counts the turns that have begun in it. Times are Unix milliseconds."""

    id: str
    project: str
    user: str
    created_at: int
    updated_at: int
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message. A user's `content` is byte for byte as it was sent.

    `turn` is the number of its turn in the thread. `citations` are those of an answer, as JSON; `confidence` is its
    confidence, and `blocked` the code of a refusal. `call` is the call whose result a tool's message is.
    """

    id: str
    thread: str
    turn: int
    role: MessageRole
    content: str
    status: MessageStatus
    created_at: int
    citations: tuple[Mapping[str, Any], ...] = ()
    call: str | None = None
    confidence: str | None = None
    blocked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOpening:
    """A turn that is to begin. `new` says that the thread is to be created. `id` is of its message.

    `role` is `tool` where the turn goes on after a call's result and no user message came; `content` is then the
    result's. `alone` says that this process runs no turn of the thread, so that a pending turn of its own is a
    leftover. `closes` is the suggested call that the message answers in place of an approval; it becomes answered, or
    nothing begins. `approver` answers it.
    """

    project: str
    thread: str
    user: str
    id: str
    content: str
    at: int
    new: bool = False
    role: MessageRole = "user"
    call: str | None = None
    alone: bool = True
    closes: str | None = None
    approver: Approver = UNNAMED


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn that has begun. `thread` is its thread, as it is now. `ended` is as in `ThreadState`."""

    thread: Thread
    ended: tuple[StoredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnCancellation:
    """The result of cancelling in the rows. `ended` says that a turn was pending. `claimed` are calls of the thread
    that another process has claimed, and that may be about to begin.
    """

    ended: bool
    claimed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStep:
    """One step of a turn, stored whole or not at all, before any client is told.

    `message` is the message that began the turn. `status` is its new status, None while the turn goes on. `answer` is
    the assistant's message. `calls` were suggested, or handed over: claimed, with a lease. `moves` are transitions of
    earlier calls; a claim among them is recorded by the ledger. `tools` are messages of results.
    """

    project: str
    thread: str
    message: str | None
    status: MessageStatus | None
    at: int
    answer: StoredMessage | None = None
    calls: tuple[StoredCall, ...] = ()
    moves: tuple[CallTransition, ...] = ()
    tools: tuple[StoredMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadState:
    """The state from which a thread goes on. `history` is oldest first.

    `live` are calls that can be approved, or are approved and wait for the server to run them, oldest first. `ended`
    are approved or run calls that ended after the beginning of the last answered turn: no turn was told of them.
    """

    thread: Thread
    history: tuple[Exchange, ...] = ()
    live: tuple[StoredCall, ...] = field(default_factory=tuple)
    ended: tuple[StoredCall, ...] = ()


class ThreadStore(Protocol):
    """Stores threads and their messages; the calls of a turn are stored with it.

    Every method raises `agent.errors.NotFound` for an unknown id, and equally for another project's, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def begin_turn(self, opening: TurnOpening) -> TurnStart:
        """Store a message as pending, in an existing thread or, with `new`, in a new one.

        Raises `Conflict("turn_in_progress")` while another message of the thread is pending in a living process,
        `Conflict("thread_full")` over `MESSAGES_MOST`, and the conflicts of `CallStore.close_call`.
        """
        ...

    async def record_step(self, step: TurnStep, late: Callable[[], None] = lambda: None) -> bool:
        """Store a step of a turn. A message or call that has ended stays as it ended. Idempotent.

        Return False for a turn that ended otherwise before: of that step only `tools` and `moves` are stored. `late` is
        called, once, when the disk does not answer; the step is stored when it does.
        """
        ...

    async def cancel_turn(self, project: str, thread: str, at: int, calls: bool = False) -> TurnCancellation:
        """End the pending message as cancelled, in any process; do nothing where none is pending.

        The unclaimed calls that the turn was to run are cancelled with it, and no call of it is stored afterwards, so
        that none of its calls is claimed. The returned calls are those that need no approval. `at` is in Unix
        milliseconds. `calls` cancels every unclaimed call of the thread, suggested or approved, and withdraws the
        claims of the others (see `CallStore.may_begin`); the returned calls are then approved ones too.
        """
        ...

    async def cancelled_messages(self, messages: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return the subset of these messages, each given by project and id, that ended as cancelled."""
        ...

    async def load_state(self, project: str, thread: str, exchanges: int) -> ThreadState:
        """Return the state of a thread, with at most `exchanges` of its last answered exchanges."""
        ...

    async def thread(self, project: str, id: str) -> Thread:
        """Return the thread `id`."""
        ...

    async def message(self, project: str, id: str) -> StoredMessage:
        """Return the message `id`."""
        ...

    async def threads(self, project: str, window: Window, user: str | None = None) -> Page[Thread]:
        """Return a project's threads, or one user's, in the order of their creation."""
        ...

    async def messages(self, project: str, thread: str, window: Window) -> Page[StoredMessage]:
        """Return a thread's messages, oldest first."""
        ...

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        """Empty these turns, and the answers of requests that tell of them; out of the file too.

        Turns that are not stored are skipped. `item` is forgotten with them, and with it every line of the audit about
        a decision on it. Idempotent.
        """
        ...

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        """Empty the texts that `repeats` matches in the threads of a scope's user, or in its one thread.

        A message of the user goes with its turn, an answer and a result by themselves. A call loses its matching texts,
        and is cancelled unless it was approved; one that is approved and not begun stays. Idempotent.
        """
        ...

    async def delete_thread(self, project: str, id: str) -> tuple[str, ...]:
        """Delete a thread with its messages and calls.

        Return the ids of the calls that another process has claimed, which may be about to begin.
        """
        ...
