"""Lets worker threads do what blocks, such that a cancel ends it.

A cancel waits for the thread (threads are never abandoned), so the thread has to ask:
`trio.from_thread.check_cancelled` raises `trio.Cancelled` there once the task that waits for the thread was cancelled,
and that then ends the task.
"""

from collections.abc import Sequence

import trio

from ..ports.embed import Encoder, Role, Vectors
from ..ports.search import Lang
from ..ports.work import RunSync


def given_up() -> bool:
    """Return False, or raise trio.Cancelled where the task that waits for this thread was cancelled.

    On a thread that trio did not start (work that is done inline) nobody can have been cancelled.
    """
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return False


class Threaded:
    """An `Embedder` made of an `Encoder`, which may also be called directly by a thread that works anyway.

    One call is one piece of work in one thread. A question is not held up by a knowledge base that is being embedded,
    as long as `run_sync` has a thread left.
    """

    def __init__(self, encoder: Encoder, run_sync: RunSync) -> None:
        self.encoder = encoder
        self._run_sync = run_sync

    @property
    def name(self) -> str:
        """Return which vectors these are."""
        return self.encoder.name

    @property
    def dimension(self) -> int:
        """Return how many numbers a row has."""
        return self.encoder.dimension

    @property
    def langs(self) -> frozenset[Lang] | None:
        """Return the languages it was made for; None is any, or not known to be less."""
        return self.encoder.langs

    async def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Return one row a text. A cancel ends the thread's work at its next look, and leaves nothing."""
        texts = tuple(texts)  # the caller may go on with its own
        return await self._run_sync(lambda: self.encoder.encode(texts, role, given_up))
