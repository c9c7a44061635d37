"""The knowledge base as its folder is now: a snapshot that another one takes the place of when files change.

Strategy: a snapshot is never changed. When the folder may have changed, a worker thread looks at it and builds the
next snapshot (`folder`); then one assignment on the event loop makes it the present one. A turn takes the present
snapshot when it begins and keeps it. What is left out has one line in the log; when nothing usable is left, or the
folder is gone, the last snapshot stays. What could not be read this time is tried again, soon at first, until it is
read or is gone. A model of sentences embeds what is new in many short looks, so that a change is not kept waiting.

A reader that is cancelled is given up: its thread ends at its next look (`effort`), what it had read so far is lost,
and the next reader begins from what was known before it.
"""

from pathlib import Path

import structlog
import trio

from agent.config import EMBED_BREAK, READ_AGAIN_FIRST, READ_AGAIN_MOST
from agent.errors import UsageError
from agent.ports.work import RunSync

from .cache import Cache
from .effort import Effort
from .folder import Folder, Progress, Update
from .foreign import ForeignFiles
from .meaning import Meaning
from .memory import ReadBefore
from .search import KnowledgeBase
from .summary import Summary
from .thread import in_thread
from .watch import Touched, Watch

_log = structlog.get_logger("agent.retrieval")


class LiveKnowledge:
    """The present snapshot of a folder, and the tasks that keep it so.

    now: the snapshot that a turn takes when it begins. It is swapped between two steps of the event loop.
    """

    def __init__(self, folder: Path, run_sync: RunSync, first: KnowledgeBase, reader: Folder) -> None:
        self.now = first
        self._folder = folder
        self._run_sync = run_sync
        self._reader = reader
        self._told: str | None = None  # why the folder cannot be read, while that is so
        self._one_reader = trio.Lock()
        self._unread = trio.Event()  # something is to be read again
        if reader.again:
            self._unread.set()

    @classmethod
    async def open(
        cls,
        folder: Path,
        run_sync: RunSync,
        meaning: Meaning | None = None,
        cache: Cache | None = None,
        progress: Progress | None = None,
        foreign: ForeignFiles | None = None,
    ) -> "LiveKnowledge":
        """Read and index the documents below `folder`, off the event loop.

        meaning: makes vectors. cache: holds what was read the last time. progress: is told, in the reader's thread,
        how far the first reading is. foreign: see `Folder`.
        Raises `agent.errors.UsageError`, one line that names the folder, when there is no document in it.
        Cancelled, the reader is given up (see `thread`).
        """
        reader = Folder(folder, meaning, ReadBefore(cache, meaning), foreign)

        def first(effort: Effort) -> tuple[Update | None, Summary]:
            return reader.update((), effort, progress), reader.summary()

        update, summary = await in_thread(run_sync, first)
        assert update is not None, "there was nothing before"
        _log.info("knowledge base", what="; ".join(summary.lines()))
        return cls(folder, run_sync, update.knowledge, reader)

    async def keep(self, watch: Watch) -> None:
        """Keep `now` up to date until cancelled; a reader that is at work is then given up (see `thread`)."""
        async with watch(self._folder) as batches, trio.open_nursery() as nursery:
            nursery.start_soon(self._read_again)
            async for touched in batches:
                await self._look(touched)
            nursery.cancel_scope.cancel()

    async def _keep_read(self) -> None:
        """Give what was read first to the cache."""
        async with self._one_reader:
            await self._give()

    async def _give(self) -> None:
        """Give what is not kept yet to the cache. Cancelled, nothing of it is there (see `thread`)."""
        reader = self._reader
        if not reader.has_cache:
            return
        try:
            await in_thread(self._run_sync, reader.keep)
        except trio.Cancelled:
            self._reader = reader.anew()
            raise

    async def _read_again(self) -> None:
        """Give what was read to the cache; then look again at what could not be, later and later, until it can be."""
        await self._keep_read()
        while True:
            await self._unread.wait()
            wait = READ_AGAIN_FIRST
            while self._unread.is_set():
                await trio.sleep(EMBED_BREAK if self._reader.unfinished else wait)
                wait = min(2 * wait, READ_AGAIN_MOST)
                await self._look(())

    async def _look(self, touched: Touched) -> None:
        """Look at the folder, and take over what changed. Whatever is wrong there, the last snapshot stays."""
        async with self._one_reader:
            reader = self._reader
            try:
                update = await in_thread(self._run_sync, lambda effort: reader.update(touched, effort))
            except trio.Cancelled:
                self._reader = reader.anew()  # its thread may still be at work, and what that does is lost
                raise
            except UsageError as error:
                if self._is_new(error):
                    _log.warning("knowledge base is not there, the last one stays", why=str(error))
                return
            except (OSError, ValueError, RecursionError, MemoryError) as error:  # the system's, and tantivy's
                if self._is_new(error):
                    _log.error("knowledge base cannot be read, the last one stays", exc_info=error)
                self._unread.set()
                return
            self._told = None
            if not reader.again:
                self._unread = trio.Event()
            elif not self._unread.is_set():
                self._unread.set()
            if update is not None:
                self._take(update)
            await self._give()

    def _take(self, update: Update) -> None:
        """Let another snapshot be the present one, and say what it lacks."""
        self.now = update.knowledge
        for skipped in update.left_out:
            event = "file left out of the knowledge base"
            if skipped.passing:
                event = "file cannot be read now, it is tried again"
            _log.warning(event, file=skipped.file, why=skipped.reason)
        _log.info("knowledge base reloaded", files=update.changed, snippets=self.now.snippets)

    def _is_new(self, error: Exception) -> bool:
        """Tell whether the folder can be read no more for another reason than the last time."""
        last, self._told = self._told, str(error)
        return last != self._told
