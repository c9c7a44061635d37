"""Tells whether another process has committed to a database, without a thread and without reading the file.

SQLite counts, for each connection, the commits of all others (`PRAGMA data_version`,
https://www.sqlite.org/pragma.html#pragma_data_version); in WAL mode it looks for them in the memory that the processes
share, which takes 3 us and waits for no disk. The writing connection counts no commit of its own, but cannot be asked
while it waits for the disk. So a second connection, the watch, is asked: its number moves with every commit, also this
process's. Before each batch the writing thread asks both, first its own connection, and after it both, first the watch.
Where its own number stands, no other connection has committed, and the number of the watch is one that has been
accounted for.
"""

import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

from .trust import connect_afresh


class CommitWatch:
    """Watches the commits to an open database.

    `writer` is the only connection of this process that writes. Make it in the thread that uses `writer`.
    """

    def __init__(self, file: Path, writer: sqlite3.Connection) -> None:
        self._writer = writer
        self._watch = connect_afresh(file, 0.0, any_thread=True)
        self._lock = threading.Lock()
        self._foreign = 0
        self._writing = False
        self._own = _read_version(writer)
        self._seen = _read_version(self._watch)

    def count_commits(self) -> int | None:
        """Return a number that grows with each commit of another process, sometimes twice; `None` in the moment after a
        commit of unknown origin. For the event loop: it never waits.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            seen = _read_version(self._watch)
            if seen != self._seen:
                if self._writing:
                    return None
                self._seen = seen
                self._foreign += 1
            return self._foreign
        except sqlite3.Error:
            return None
        finally:
            self._lock.release()

    def begin_batch(self) -> None:
        """Record that the writing thread may commit from now on, and count the commits of others before."""
        with self._lock:
            self._writing = True
            with suppress(sqlite3.Error):
                # in this order, so that none is left out
                own, seen = _read_version(self._writer), _read_version(self._watch)
                self._foreign += seen != self._seen
                self._own, self._seen = own, seen

    def end_batch(self) -> None:
        """Account for the commits of the batch. Blocks for some microseconds."""
        with self._lock:
            self._writing = False
            try:
                seen, own = _read_version(self._watch), _read_version(self._writer)
            except sqlite3.Error:
                self._foreign += 1
                return
            if own != self._own:
                self._own = own
                self._foreign += 1
            self._seen = seen

    def close(self) -> None:
        """Close the watch. Blocks."""
        with self._lock, closing(self._watch):
            self._writing = True  # later calls return that it is unknown


def _read_version(connection: sqlite3.Connection) -> int:
    ((version,),) = connection.execute("PRAGMA data_version").fetchall()
    return int(version)
