"""The knowledge base as its folder is now: a snapshot that is replaced by another one when files change.

Strategy: a snapshot is never changed. When the folder may have changed, a worker thread looks at it and builds the
next snapshot (`folder`); then one assignment on the event loop makes it the present one. A turn takes the present
snapshot when it begins and keeps it. Each file that is left out has one line in the log; when nothing usable remains,
or the folder is gone, the last snapshot stays. A file that could not be read this time is tried again, soon at first,
until it is read or is gone. A model of sentences embeds new sections in many short updates, so that a change does not
wait long for its turn.

A reader that is cancelled is given up: its thread ends at its next check (`effort`), what it had read so far is lost,
and the next reader begins from the state before it.
"""

from pathlib import Path

import structlog
import trio

from agent.errors import UsageError
from agent.ports.work import RunSync

from .cache import Cache
from .effort import Effort
from .folder import FolderReader, Progress, Update
from .folder_cache import FolderCache
from .foreign import ForeignFiles
from .meaning import KnowledgeEmbedder
from .reading_thread import run_in_thread
from .summary import ReadingSummary
from .watch import TouchedPaths, Watch

READ_AGAIN_FIRST = 0.25  # until an unreadable file is tried again, twice as long each time ...
READ_AGAIN_MOST = 30.0  # ... up to this
EMBED_BREAK = 0.05  # seconds between two looks that embed sections

_log = structlog.get_logger("agent.retrieval")


class LiveKnowledge:
    """The present snapshot of a folder, and the tasks that keep it up to date.

    `now`: the snapshot that a turn takes when it begins. It is replaced between two steps of the event loop. `digest`:
    of its content, see `folder.Update`.
    """

    def __init__(self, folder: Path, run_sync: RunSync, first: Update, reader: FolderReader) -> None:
        self.now = first.knowledge
        self.digest = first.digest
        self._folder = folder
        self._run_sync = run_sync
        self._reader = reader
        self._last_error: str | None = None  # why the folder cannot be read, while it cannot
        self._one_reader = trio.Lock()
        self._unread = trio.Event()  # set while something must be read again
        if reader.needs_retry:
            self._unread.set()

    @classmethod
    async def open(
        cls,
        folder: Path,
        run_sync: RunSync,
        meaning: KnowledgeEmbedder | None = None,
        cache: Cache | None = None,
        progress: Progress | None = None,
        foreign: ForeignFiles | None = None,
    ) -> "LiveKnowledge":
        """Read and index the documents below `folder`, off the event loop.

        `meaning`: makes vectors. `cache`: holds what the last start read. `progress`: called in the reader's thread
        with the progress of the first reading. `foreign`: see `FolderReader`.
        Raises `agent.errors.UsageError`, one line that names the folder, when there is no document in it. A cancel
        gives up the reader (see `thread`).
        """
        reader = FolderReader(folder, meaning, FolderCache(cache, meaning), foreign)

        def first(effort: Effort) -> tuple[Update | None, ReadingSummary]:
            return reader.update((), effort, progress), reader.summarize()

        update, summary = await run_in_thread(run_sync, first)
        assert update is not None, "there was nothing before"
        _log.info("knowledge base", what="; ".join(summary.to_lines()))
        return cls(folder, run_sync, update, reader)

    async def keep_current(self, watch: Watch) -> None:
        """Keep `now` up to date until cancelled; a running reader is then given up (see `thread`)."""
        async with watch(self._folder) as batches, trio.open_nursery() as nursery:
            nursery.start_soon(self._retry_reading)
            async for touched in batches:
                await self._update_snapshot(touched)
            nursery.cancel_scope.cancel()

    async def embed_all(self) -> None:
        """Embed the sections that have no vectors yet, and write all to the cache; a part of it after each update.

        Cancelled, the next start goes on where this one ended.
        """
        while self._reader.has_more_to_embed:
            await self._update_snapshot(())
        await self._write_first()

    async def _write_first(self) -> None:
        """Write the first reading to the cache."""
        async with self._one_reader:
            await self._write_cache()

    async def _write_cache(self) -> None:
        """Write the entries that the cache lacks. On cancel, none of them is written (see `thread`)."""
        reader = self._reader
        if not reader.has_cache:
            return
        try:
            await run_in_thread(self._run_sync, reader.write_cache)
        except trio.Cancelled:
            self._reader = reader.restart()
            raise

    async def _retry_reading(self) -> None:
        """Write the first reading to the cache; then retry unreadable files, at growing intervals."""
        await self._write_first()
        while True:
            await self._unread.wait()
            wait = READ_AGAIN_FIRST
            while self._unread.is_set():
                await trio.sleep(EMBED_BREAK if self._reader.has_more_to_embed else wait)
                wait = min(2 * wait, READ_AGAIN_MOST)
                await self._update_snapshot(())

    async def _update_snapshot(self, touched: TouchedPaths) -> None:
        """Look at the folder and publish the changes. The last snapshot stays, in spite of any error of the folder."""
        async with self._one_reader:
            reader = self._reader
            try:
                update = await run_in_thread(self._run_sync, lambda effort: reader.update(touched, effort))
            except trio.Cancelled:
                # The old thread may still be at work; its results are discarded.
                self._reader = reader.restart()
                raise
            except UsageError as error:
                if self._is_new(error):
                    _log.warning("knowledge base is gone, the last snapshot stays", why=str(error))
                return
            except (
                OSError,
                ValueError,
                RecursionError,
                MemoryError,
            ) as error:  # errors of the system and of tantivy
                if self._is_new(error):
                    _log.error("knowledge base cannot be read, the last snapshot stays", exc_info=error)
                self._unread.set()
                return
            self._last_error = None
            if not reader.needs_retry:
                self._unread = trio.Event()
            elif not self._unread.is_set():
                self._unread.set()
            if update is not None:
                self._publish(update)
            await self._write_cache()

    def _publish(self, update: Update) -> None:
        """Make the snapshot of `update` the present one, and log the files that it lacks."""
        self.now, self.digest = update.knowledge, update.digest
        for skipped in update.left_out:
            event = "file left out of the knowledge base"
            if skipped.passing:
                event = "file cannot be read now, will try again"
            _log.warning(event, file=skipped.file, why=skipped.reason)
        _log.info("knowledge base reloaded", files=update.changed, snippets=self.now.statement_count)

    def _is_new(self, error: Exception) -> bool:
        """Tell whether the folder cannot be read for another reason than the last time."""
        last, self._last_error = self._last_error, str(error)
        return last != self._last_error
