"""Queues lines for a file descriptor that may block, such as a pipe without a reader.

Strategy: `put` only appends to a bounded queue, and one daemon thread writes. Lines that do not fit are dropped and
counted, until half of the queue is free again: then one notice stands in place of the missing lines. `close` waits for
the thread for a limited time, and the end of the interpreter does not wait at all. The thread writes to the descriptor
itself and not to `sys.stderr`: a thread inside `sys.stderr` would hold a lock that the interpreter needs to end.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable

LOG_LINES = 4096  # waiting to be written
LOG_BYTES = 1024 * 1024


def descriptor_of(stream: object) -> int | None:
    """Return the file descriptor of a stream; `None` without one (a buffer in memory, a closed file)."""
    try:
        return int(stream.fileno())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None


class Spool:
    """A bounded queue of lines for a file descriptor, and the thread that writes them, in order.

    `descriptor`: the destination. `notice`: makes the line for a number of missing lines. `on_dropped`: called once for
    each lost line, by any thread; it must not raise. `lines`, `size`: most lines and bytes that may wait.

    A forked child begins with an empty queue: waiting lines are left to its parent.
    """

    def __init__(
        self,
        descriptor: int,
        notice: Callable[[int], bytes],
        on_dropped: Callable[[], None] = lambda: None,
        lines: int = LOG_LINES,
        size: int = LOG_BYTES,
    ) -> None:
        self._descriptor = descriptor
        self._notice = notice
        self._on_dropped = on_dropped
        self._lines = lines
        self._size = size
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._state = threading.Condition()  # reentrant: a collection of garbage inside it may log
        # Each is a line and 0, or a notice and the number of missing lines.
        self._queue: deque[tuple[bytes, int]] = deque()
        self._bytes_waiting = 0
        self._lines_missing = 0  # since the last notice
        self._full = False
        self._failing = False  # the last write failed
        self._writing = False
        self._entries_written = 0
        self._written_at_timeout = -1  # `_entries_written` when a `close` last waited in vain
        self._closing = False
        self._is_cut_line = False  # the last write failed within a line
        self._thread: threading.Thread | None = None

    def put(self, line: bytes) -> bool:
        """Queue a line, with its line break; return whether there was room for it. Never blocks."""
        if os.getpid() != self._pid:
            self._reset()
        with self._state:
            has_room = self._has_room(len(line))
            if has_room:
                if self._lines_missing:
                    self._append_notice()
                self._append(line, 0)
            else:
                self._full = True
                self._lines_missing += 1
            self._wake_thread()
        if not has_room:
            self._on_dropped()
        return has_room

    def close(self, seconds: float) -> bool:
        """Wait until every line is written, `seconds` at most; return whether all are.

        The thread ends when the queue is empty; a later `put` starts another. After a wait in vain, a second call does
        not wait again unless a line was written since.
        """
        if os.getpid() != self._pid:
            self._reset()
        with self._state:
            self._closing = True
            self._wake_thread()
            if self._written_at_timeout == self._entries_written:
                seconds = 0
            is_done = self._state.wait_for(lambda: not self._at_work(), seconds)
            self._written_at_timeout = -1 if is_done else self._entries_written
        return is_done

    def _append(self, line: bytes, missing: int) -> None:
        self._queue.append((line, missing))
        self._bytes_waiting += len(line)

    def _append_notice(self) -> None:
        self._append(self._notice(self._lines_missing), self._lines_missing)
        self._lines_missing = 0

    def _has_room(self, more: int) -> bool:
        if self._full:
            self._full = len(self._queue) > self._lines // 2 or self._bytes_waiting > self._size // 2
        return not self._full and len(self._queue) < self._lines and self._bytes_waiting + more <= self._size

    def _at_work(self) -> bool:
        return bool(self._queue or self._writing or self._owes_a_notice())

    def _owes_a_notice(self) -> bool:
        # After a failed write a notice would fail too, again and again, so the notice waits for the next line.
        return self._lines_missing > 0 and not self._failing

    def _wake_thread(self) -> None:
        """Wake the writing thread, or start one when there is none or it has died."""
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
        while (entry := self._next_entry()) is not None:
            line, missing = entry
            written = False
            try:
                written = self._write_all(line)
            finally:  # also when this thread dies of it
                self._settle_entry(written, missing)

    def _next_entry(self) -> tuple[bytes, int] | None:
        """Return the next entry to write, as soon as there is one; `None` when the queue is empty and closing."""
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
            self._bytes_waiting -= len(entry[0])
            self._writing = True
            return entry

    def _settle_entry(self, written: bool, missing: int) -> None:
        with self._state:
            self._writing = False
            self._failing = not written
            self._entries_written += 1
            if not written:
                self._lines_missing += missing or 1
            self._state.notify_all()
        if not written and not missing:
            self._on_dropped()

    def _write_all(self, data: bytes) -> bool:
        """Write all of `data`, without a time limit; return whether that worked."""
        rest = memoryview(b"\n" + data if self._is_cut_line else data)
        whole = len(rest)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # another process that shares the descriptor has made it non-blocking
                ready = select.poll()
                ready.register(self._descriptor, select.POLLOUT)
                ready.poll()
            except OSError:  # the reader has gone, the disk is full
                self._is_cut_line = self._is_cut_line if len(rest) == whole else True
                return False
        self._is_cut_line = False
        return True
