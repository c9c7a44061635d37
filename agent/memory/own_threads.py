"""Lists, shows, renames and deletes a user's own threads (implements `agent.ports.thread_history.UserThreads`).

An answer whose citations are not stored (an earlier version kept none) is shown only if it holds no number: its
evidence cannot be shown with it.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..numbers.number_tokens import tokens as numbers_in
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.pages import Page, Window
from ..ports.remember import Transcript
from ..ports.thread_history import ThreadHistory, ThreadMessage, ThreadSummary
from .thread_titles import tidy_title


class OwnThreads:
    """A user's own threads.

    `transcripts`: the places that also hold the words of messages.
    """

    def __init__(self, store: ThreadHistory, clock: Clock, transcripts: Sequence[Transcript] = ()) -> None:
        self._store = store
        self._clock = clock
        self._transcripts = transcripts

    async def list_threads(self, scope: Scope, window: Window) -> Page[ThreadSummary]:
        """Return a page of the user's threads, the one with the latest message first."""
        return await self._store.list_threads(scope, window)

    async def load_messages(self, scope: Scope, window: Window) -> Page[ThreadMessage]:
        """Return the latest messages of the scope's thread before a number, in their order."""
        page = await self._store.load_messages(scope, window)
        return Page(tuple(map(withhold_uncited, page.entries)), page.after)

    async def find_exchange(self, scope: Scope, message: str) -> tuple[ThreadMessage, ThreadMessage]:
        """Return a message of the scope's thread and the answer to it."""
        question, answer = await self._store.find_exchange(scope, message)
        return question, withhold_uncited(answer)

    async def rename_thread(self, scope: Scope, title: str) -> ThreadSummary:
        """Give the scope's thread a title, as one line; an empty one makes it the first question again."""
        return await self._store.rename_thread(scope, tidy_title(title), self._clock.now_ms())

    async def delete_thread(self, scope: Scope) -> None:
        """Erase the scope's thread from the store, then from the transcripts.

        After a cancel or a failure half way, a second call completes the work.
        """
        erased = await self._store.delete_thread(scope, self._clock.now_ms())
        for transcript in self._transcripts:
            await transcript.forget_turns(erased)


def withhold_uncited(message: ThreadMessage) -> ThreadMessage:
    """Return a message as it may be shown: without the text of an answer whose numbers no stored citation holds."""
    if (
        message.role == "user"
        or message.details
        or message.blocked
        or not numbers_in(message.text, source=True)
    ):
        return message
    return replace(message, text="", unsourced=True)
