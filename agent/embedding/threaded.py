"""Runs an encoder in worker threads such that a cancel ends its work.

A cancel waits for the thread (threads are never abandoned), so the thread has to ask:
`trio.from_thread.check_cancelled` raises `trio.Cancelled` in it once the task that waits for the thread is cancelled,
and that then ends the task.
"""

from collections.abc import Sequence

import trio

from ..ports.embed import Encoder, TextRole, Vectors
from ..ports.search import Lang
from ..ports.work import RunSync


def given_up() -> bool:
    """Return False, or raise `trio.Cancelled` where the task that waits for this thread was cancelled.

    On a thread that trio did not start (for work that is done inline) no task can have been cancelled.
    """
    try:
        trio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return False


class Threaded:
    """An `Embedder` made of an `Encoder`. A worker thread may also call its `encoder` directly.

    One call is one piece of work in one thread. A question is not held up by a knowledge base that is being embedded,
    as long as `run_sync` has a thread left.
    """

    def __init__(self, encoder: Encoder, run_sync: RunSync) -> None:
        self.encoder = encoder
        self._run_sync = run_sync

    @property
    def name(self) -> str:
        """The name of the vectors' model."""
        return self.encoder.name

    @property
    def dimension(self) -> int:
        """The numbers in a row."""
        return self.encoder.dimension

    @property
    def langs(self) -> frozenset[Lang] | None:
        """The languages the model was made for; `None` is any, or not known to be fewer."""
        return self.encoder.langs

    async def embed(self, texts: Sequence[str], role: TextRole = "passage") -> Vectors:
        """Return one row for each text. A cancel ends the thread's work at its next check; no result is left behind."""
        texts = tuple(texts)  # the caller may go on with its own
        return await self._run_sync(lambda: self.encoder.encode(texts, role, given_up))
