"""Counts of a process: resident bytes, tasks, and live objects by type."""

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import _lru_cache_wrapper

import trio
from trio._core._run import GLOBAL_RUN_CONTEXT

from ..heap import freeze_heap, unfreeze_heap
from .memory_growth import resident_bytes

# Packages of which objects are counted: ours and the libraries that serve a connection.
COUNTED = ("agent", "trio", "trio_websocket", "wsproto", "h11")
# Not these: the soak's own; trio's idle worker threads, which end by themselves after a while without work; and
# the types of columns, of which SQLAlchemy keeps a copy with each statement that it has compiled, a bounded number; and
# remembered texts, of which the search has rows in memory, as many as are kept.
PASSED_OVER = (
    "agent.soak",
    "trio._core._thread_cache",
    "agent.storage.schema",
    "agent.storage.dialect",
    "agent.memory.recall",
    "agent.recall",
    "agent.ports.memory",
    "agent.ports.recall_store",
    "agent.ports.change_mark",
    "agent.ports.conversation",
)

_LONG = 3600.0  # seconds until another thread may have its turn


@dataclass(frozen=True, slots=True)
class Census:
    """Resident bytes (`None` where the system does not report them), tasks, and live objects by type."""

    resident: int | None
    tasks: int
    objects: Counter[str]

    @classmethod
    def take(cls, whole: bool = False) -> "Census":
        """Collect garbage, count everything that is left, and set it aside.

        `whole`: empty the package's caches before. They are bounded, and hold other things whenever the knowledge base
        has changed.
        """
        objects: Counter[str] = Counter()
        with _hold_interpreter(), unfreeze_heap():
            if whole:
                _empty_caches()
            _prune_deadlines()
            gc.collect()
            for each in gc.get_objects():
                module = type(each).__module__
                if (
                    isinstance(module, str)
                    and module.partition(".")[0] in COUNTED
                    and not module.startswith(PASSED_OVER)
                ):
                    objects[f"{module}.{type(each).__qualname__}"] += 1
            del each
        freeze_heap()
        return cls(resident_bytes(), count_tasks(), objects)

    @classmethod
    async def take_at_rest(cls, whole: bool = False) -> "Census":
        """Take a census in a step of its own.

        The loop keeps the result of a task's last wait until the task's next step. After a sleep this is the
        `trio.Cancelled` of its deadline, which would be counted in that step and in no other.
        """
        await trio.lowlevel.checkpoint()
        return cls.take(whole)

    def find_growth(self, since: "Census") -> dict[str, int]:
        """Return the types with more objects than in `since`, and how many more."""
        more = self.objects - since.objects
        return dict(sorted(more.items()))


def count_tasks() -> int:
    """Return the number of living tasks."""
    return trio.lowlevel.current_statistics().tasks_living


@contextmanager
def _hold_interpreter() -> Iterator[None]:
    """Let no other thread run for the time of a block.

    In CPython a thread that is building a tuple breaks when the census holds that tuple meanwhile.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_LONG)
    time.sleep(2 * usual)  # a thread that already waits for its turn gets it first
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _empty_caches() -> None:
    for each in gc.get_objects():
        if isinstance(each, _lru_cache_wrapper) and each.__module__.startswith("agent."):
            each.cache_clear()


def _prune_deadlines() -> None:
    """Let trio forget the deadlines that have been lifted; otherwise it keeps up to a thousand scopes for a while."""
    GLOBAL_RUN_CONTEXT.runner.deadlines._prune()  # noqa: SLF001 - trio does so by itself, but not when asked
