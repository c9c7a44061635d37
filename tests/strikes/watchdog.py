"""Ends what would never end: a bound in real seconds on whatever runs in the main thread.

A task that never blocks, a loop without a checkpoint, a `MockClock` whose next deadline is never: under virtual time
each of these is a run that hangs for real, and nothing inside it can end it. A timer's signal can. It comes again and
again, and does the least that helps: it raises `Overdue` where code of ours runs in a task; where trio itself runs, or
nothing, it has the whole run cancelled, which leaves no debris; what that does not end (a shield) it ends by raising
anyway. What comes out is one `Overdue` that says where it was, whatever it became on its way.

Main thread only, because Python runs signal handlers there; nests, and the bound around goes on.
"""

import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import trio

AGAIN = 0.05  # seconds between two attempts to end it
_GENTLE = 20  # attempts, after which it is ended whatever runs
_DEPTH = 4  # frames that are named, innermost last
_LIBRARIES = ("site-packages", "<", f"{sys.base_prefix}/lib")


class Overdue(BaseException):
    """The time is over; the message says what was running. No `except Exception` on the way stops it."""


class Watchdog:
    """What `limited` hands out: whether the time is over, and a way to say that it is."""

    def __init__(self, seconds: float) -> None:
        self.bit = False
        self.off = False  # the block has ended
        self._attempts = 0
        self._why = f"not over after {seconds:g} s"
        self._where = ""

    def bite(self, why: str) -> None:
        """End it in the next frame that can be ended: callable from anywhere, an instrument too."""
        self._why = why
        signal.setitimer(signal.ITIMER_REAL, 1e-3, AGAIN)

    def alarm(self, _: int, frame: FrameType | None) -> None:
        """Make an attempt to end it; the first one finds out what runs."""
        if self.off:
            return
        self._attempts += 1
        if not self.bit:
            self.bit = True
            self._where = where(frame)
            with suppress(RuntimeError):  # no event loop runs
                trio.lowlevel.current_trio_token().run_sync_soon(_cancel_all)
        if self._attempts > _GENTLE or not trio.lowlevel.in_trio_run() or not _in_trios_own():
            raise Overdue(str(self))

    def __str__(self) -> str:
        return f"{self._why}: {self._where}"


@contextmanager
def limited(seconds: float) -> Iterator[Watchdog]:
    """Bound a block to some real seconds. Raises Overdue when they are over, however deep the block is.

    A bound around it goes on, less the time that was spent in here.
    """
    watchdog, began = Watchdog(seconds), time.monotonic()
    handler = signal.signal(signal.SIGALRM, watchdog.alarm)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield watchdog
        watchdog.off = True
    except BaseException:
        watchdog.off = True
        if watchdog.bit:
            raise Overdue(str(watchdog)) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            spent = time.monotonic() - began
            signal.setitimer(signal.ITIMER_REAL, max(1e-3, left - spent), again)
    if watchdog.bit:
        raise Overdue(str(watchdog))  # what was raised was lost on its way, and the block went on to its end


def _in_trios_own() -> bool:
    """Whether trio is where an exception would break it: in its loop, or in code that it keeps interrupts from."""
    return not trio.lowlevel.in_trio_task() or trio.lowlevel.currently_ki_protected()


def _cancel_all() -> None:
    root = trio.lowlevel.current_root_task()
    for nursery in root.child_nurseries if root else ():
        nursery.cancel_scope.cancel()


def where(frame: FrameType | None) -> str:
    """Say what runs: the task and its innermost frames, less those of libraries; between tasks, where each waits."""
    if trio.lowlevel.in_trio_run() and not trio.lowlevel.in_trio_task():
        return f"no task runs; {', '.join(_waiting(trio.lowlevel.current_root_task())) or 'there is none'}"
    task = f"in {trio.lowlevel.current_task().name}: " if trio.lowlevel.in_trio_task() else ""
    if task and not trio.lowlevel.current_task().coro.cr_running:
        # trio makes a task the current one a little before it enters its code, and a little longer than it is in it
        return task + (_line(trio.lowlevel.current_task()) or "it has not begun")
    stack = [each for each in traceback.extract_stack(frame) if _ours(each.filename)]
    return task + " > ".join(
        f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in stack[-_DEPTH:]
    )


def _waiting(task: trio.lowlevel.Task | None) -> Iterator[str]:
    """Yield each task below this one, with the innermost line of ours in which it waits."""
    for nursery in task.child_nurseries if task else ():
        for child in sorted(nursery.child_tasks, key=lambda each: each.name):
            if line := _line(child):
                yield f"{child.name} waits at {line}"
            yield from _waiting(child)


def _line(task: trio.lowlevel.Task) -> str | None:
    """Return the innermost line of ours that a task waits in; nothing where there is none."""
    lines = [(frame.f_code.co_filename, line) for frame, line in task.iter_await_frames()]
    ours = [f"{Path(name).name}:{line}" for name, line in lines if _ours(name)]
    return ours[-1] if ours else None


def _ours(filename: str) -> bool:
    return not any(part in filename for part in _LIBRARIES)
