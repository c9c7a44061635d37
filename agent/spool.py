"""Lines on their way to a file descriptor that may not take them, such as a pipe that nobody reads.

Strategy: `put` only appends to a bounded queue; one daemon thread writes. What does not fit is dropped and counted,
and goes on being dropped until half of the queue is free again: then one notice stands where the lines are missing.
Nobody waits for the thread longer than `close` is told to, and the interpreter's end does not wait for it at all: it
writes the descriptor itself, since a thread inside `sys.stderr` would hold a lock that this end needs.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable

from .config import LOG_BYTES, LOG_LINES


def descriptor_of(stream: object) -> int | None:
    """Return the file descriptor behind a stream; None where there is none (a buffer in memory, a closed file)."""
    try:
        return int(stream.fileno())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None


class Spool:
    """A bounded queue of lines before a file descriptor, and the thread that writes them, in order.

    descriptor: where to. notice: makes the line that says how many are missing. dropped: called once for each line
    that is lost, by any thread; it must not raise. lines, size: how many lines and bytes may wait.

    A forked child begins with an empty queue: what waits is its parent's to write.
    """

    def __init__(
        self,
        descriptor: int,
        notice: Callable[[int], bytes],
        dropped: Callable[[], None] = lambda: None,
        lines: int = LOG_LINES,
        size: int = LOG_BYTES,
    ) -> None:
        self._descriptor = descriptor
        self._notice = notice
        self._count = dropped
        self._lines = lines
        self._size = size
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._state = threading.Condition()  # reentrant: a collection of garbage inside it may log
        self._queue: deque[tuple[bytes, int]] = deque()  # a line; of a notice, how many are missing there
        self._waiting = 0  # bytes
        self._missing = 0  # lines dropped since the last notice
        self._full = False
        self._failing = False  # the last write failed
        self._writing = False
        self._written = 0  # entries
        self._gave_up_at = -1  # what `_written` was when a `close` last waited in vain
        self._closing = False
        self._torn = False  # the last write failed within a line
        self._thread: threading.Thread | None = None

    def put(self, line: bytes) -> bool:
        """Queue a line, which brings its own line break; return whether it is going to be written. Never blocks."""
        if os.getpid() != self._pid:
            self._begin()
        with self._state:
            taken = self._has_room(len(line))
            if taken:
                if self._missing:
                    self._append_notice()
                self._append(line, 0)
            else:
                self._full = True
                self._missing += 1
            self._wake()
        if not taken:
            self._count()
        return taken

    def close(self, seconds: float) -> bool:
        """Wait until everything is written, `seconds` at most; return whether it is.

        The thread ends once nothing waits; a later `put` starts another. Who has waited in vain does not wait again
        unless something was written since.
        """
        if os.getpid() != self._pid:
            self._begin()
        with self._state:
            self._closing = True
            self._wake()
            if self._gave_up_at == self._written:
                seconds = 0
            written = self._state.wait_for(lambda: not self._at_work(), seconds)
            self._gave_up_at = -1 if written else self._written
        return written

    def _append(self, line: bytes, missing: int) -> None:
        self._queue.append((line, missing))
        self._waiting += len(line)

    def _append_notice(self) -> None:
        self._append(self._notice(self._missing), self._missing)
        self._missing = 0

    def _has_room(self, more: int) -> bool:
        if self._full:
            self._full = len(self._queue) > self._lines // 2 or self._waiting > self._size // 2
        return not self._full and len(self._queue) < self._lines and self._waiting + more <= self._size

    def _at_work(self) -> bool:
        return bool(self._queue or self._writing or self._owes_a_notice())

    def _owes_a_notice(self) -> bool:
        # After a write that failed a notice would fail too, again and again: it waits for the next line.
        return self._missing > 0 and not self._failing

    def _wake(self) -> None:
        """See that a thread writes: the first, or another where one has died."""
        if self._thread is not None and self._thread.is_alive():
            self._state.notify_all()
        elif self._queue or self._owes_a_notice():
            thread = threading.Thread(target=self._run, name="log", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads can be had now: the next line tries again
                return
            self._thread = thread

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            line, missing = entry
            written = False
            try:
                written = self._write(line)
            finally:  # also when this thread dies of it
                self._settle(written, missing)

    def _next(self) -> tuple[bytes, int] | None:
        """Return what is to be written next, as soon as there is something; None when that was all, for good."""
        with self._state:
            while not self._queue:
                if self._owes_a_notice():
                    self._append_notice()
                elif self._closing:
                    self._closing = False
                    self._thread = None
                    return None
                else:
                    self._state.wait()
            entry = self._queue.popleft()
            self._waiting -= len(entry[0])
            self._writing = True
            return entry

    def _settle(self, written: bool, missing: int) -> None:
        with self._state:
            self._writing = False
            self._failing = not written
            self._written += 1
            if not written:
                self._missing += missing or 1
            self._state.notify_all()
        if not written and not missing:
            self._count()

    def _write(self, data: bytes) -> bool:
        """Write all of it, however long that takes; return whether that worked."""
        rest = memoryview(b"\n" + data if self._torn else data)
        whole = len(rest)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # somebody who shares the descriptor has made it non-blocking
                ready = select.poll()
                ready.register(self._descriptor, select.POLLOUT)
                ready.poll()
            except OSError:  # the reader has gone, the disk is full
                self._torn = self._torn if len(rest) == whole else True
                return False
        self._torn = False
        return True
