"""Keeps the threads of users, as they were told: to list, show, rename and delete them, and to follow their changes.

A thread belongs to its scope's project and user. Where the user is not known ("") only the scope's own thread is
listed. To every other scope a thread does not exist. A thread without words, such as a deleted one, is no thread.

Times are Unix milliseconds.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ..errors import NotFound
from .change_mark import BEGINNING, ChangeMark
from .conversation import Scope
from .memory import Side, StoredTurn
from .pages import Page, Window

ThreadOwner: TypeAlias = tuple[str, str]
"""A project and a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """A thread in a list. `n` is the number of its last message, `at` the time of it, `count` the number of messages.

    `title` is the one that its user gave it, or else the first question, shortened.
    """

    n: int
    scope: Scope
    title: str
    at: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadMessage:
    """A message of a thread, or an answer. `n` grows with each stored message.

    `message` is the id of the message that it is or answers. `speaker` is a name, or "" for the scope's user and the
    agent. `details` is what an answer was shown with, as JSON. `unsourced` says of an answer with numbers that its
    citations are not stored: its text is withheld then. The text of a forgotten message is "".
    """

    n: int
    message: str
    role: Side
    text: str
    at: int
    speaker: str = ""
    blocked: bool = False
    details: str = ""
    unsourced: bool = False


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """A place in the changes of all threads: after some changes of words, and after some renamings and deletions."""

    words: ChangeMark = BEGINNING
    names: ChangeMark = BEGINNING


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """A thread that has changed. `messages` are new, or were forgotten.

    `summary` is None where no message is left: all were forgotten, or the thread `is_deleted`.
    """

    scope: Scope
    summary: ThreadSummary | None
    messages: tuple[ThreadMessage, ...] = ()
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class ThreadChanges:
    """The changed threads of some users, each once, and all deleted threads. `upto` is the mark of the next call.

    `more` says that there may be more changes.
    """

    threads: tuple[ThreadChange, ...]
    upto: ThreadMark
    more: bool = False


class ThreadHistory(Protocol):
    """Stores threads. Methods raise `agent.errors.NotFound` for a thread that the scope has not, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def list_threads(self, scope: Scope, window: Window) -> Page[ThreadSummary]:
        """Return the threads of a scope's user, the one with the latest message first.

        `window.after` is the `after` of the page before, 0 for the first page.
        """
        ...

    async def load_messages(self, scope: Scope, window: Window) -> Page[ThreadMessage]:
        """Return the latest messages of the scope's thread before the number `window.after`, in their order.

        `window.after` 0 is the end of the thread. `after` of the page is the number of its first message where earlier
        ones are left.
        """
        ...

    async def find_exchange(self, scope: Scope, message: str) -> tuple[ThreadMessage, ThreadMessage]:
        """Return a message of the scope's thread and the answer to it.

        Raises `NotFound` also where there is no answer, and where either was forgotten.
        """
        ...

    async def rename_thread(self, scope: Scope, title: str, at: int) -> ThreadSummary:
        """Give the scope's thread a title; an empty one makes it the first question again."""
        ...

    async def delete_thread(self, scope: Scope, at: int) -> tuple[StoredTurn, ...]:
        """Erase every text of the scope's thread from the store, also from its files; return the emptied turns.

        With it go the answers in other threads that cite its messages, quotes of it among the sources of items, and
        items that it alone has proposed and that are not accepted. No later exchange of the thread is stored. Deleting
        it again tries again to erase. Raises `StorageFailed` also where the files may still hold its texts.
        """
        ...

    async def find_mark(self) -> ThreadMark:
        """Return the mark of the latest change."""
        ...

    async def thread_changes_after(
        self, mark: ThreadMark, owners: Collection[ThreadOwner], limit: int
    ) -> ThreadChanges:
        """Return the threads of these owners that have changed after `mark`, and the deleted threads of all users.

        `limit` bounds the changes that are looked at.
        """
        ...


class UserThreads(Protocol):
    """A user's own threads. Every method raises as `ThreadHistory` does."""

    async def list_threads(self, scope: Scope, window: Window) -> Page[ThreadSummary]:
        """Return a page of the user's threads, as `ThreadHistory` does."""
        ...

    async def load_messages(self, scope: Scope, window: Window) -> Page[ThreadMessage]:
        """Return a page of a thread's messages, as `ThreadHistory` does, with no number that is not cited."""
        ...

    async def find_exchange(self, scope: Scope, message: str) -> tuple[ThreadMessage, ThreadMessage]:
        """Return a message and the answer to it, as `ThreadHistory` does, with no number that is not cited."""
        ...

    async def rename_thread(self, scope: Scope, title: str) -> ThreadSummary:
        """Give a thread a title."""
        ...

    async def delete_thread(self, scope: Scope) -> None:
        """Erase a thread from everything that is stored."""
        ...


class NoThreads:
    """A user without threads (implements `UserThreads`)."""

    async def list_threads(self, scope: Scope, window: Window) -> Page[ThreadSummary]:
        """Return an empty page."""
        return Page(())

    async def load_messages(self, scope: Scope, window: Window) -> Page[ThreadMessage]:
        """Raise `NotFound`."""
        raise NotFound("no threads are stored")

    async def find_exchange(self, scope: Scope, message: str) -> tuple[ThreadMessage, ThreadMessage]:
        """Raise `NotFound`."""
        raise NotFound("no threads are stored")

    async def rename_thread(self, scope: Scope, title: str) -> ThreadSummary:
        """Raise `NotFound`."""
        raise NotFound("no threads are stored")

    async def delete_thread(self, scope: Scope) -> None:
        """Raise `NotFound`."""
        raise NotFound("no threads are stored")


NO_THREADS = NoThreads()
