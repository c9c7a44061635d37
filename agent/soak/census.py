"""What a process holds, counted: resident bytes, tasks, and live objects by type."""

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

from ..heap import all_in_view, set_aside
from .memory import resident

# Whose objects are counted: ours and those of the libraries that serve a connection.
COUNTED = ("agent", "trio", "trio_websocket", "wsproto", "h11")
# Not these: the soak's own; trio's idle worker threads, which end by themselves when nobody needs one for a while; and
# the types of columns, of which SQLAlchemy keeps a copy with each statement that it has compiled, a bounded number; and
# what is remembered, of which the search has rows in memory, as many as are kept.
PASSED_OVER = (
    "agent.soak",
    "trio._core._thread_cache",
    "agent.storage.schema",
    "agent.recall",
    "agent.ports.memory",
    "agent.ports.conversation",
)

_LONG = 3600.0  # seconds until another thread may have its turn


@dataclass(frozen=True, slots=True)
class Census:
    """Resident bytes (None where the system does not tell), tasks, and live objects by type."""

    resident: int | None
    tasks: int
    objects: Counter[str]

    @classmethod
    def take(cls, whole: bool = False) -> "Census":
        """Collect garbage, count everything that is left, and set it aside.

        whole: empty the package's caches before, since they are bounded, and hold other things whenever the knowledge
        base has changed.
        """
        objects: Counter[str] = Counter()
        with _alone(), all_in_view():
            if whole:
                _forget()
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
        set_aside()
        return cls(resident(), tasks(), objects)

    @classmethod
    async def take_at_rest(cls, whole: bool = False) -> "Census":
        """Do so in a step of its own.

        The loop holds what ended the last wait of a task until the task's next step; of a sleep that is the
        `trio.Cancelled` of its deadline, which would be counted in the step after a sleep and in no other.
        """
        await trio.lowlevel.checkpoint()
        return cls.take(whole)

    def left(self, since: "Census") -> dict[str, int]:
        """Return the types with more objects than before, and how many more."""
        more = self.objects - since.objects
        return dict(sorted(more.items()))


def tasks() -> int:
    """Return how many tasks live."""
    return trio.lowlevel.current_statistics().tasks_living


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other thread run: one that is making a tuple breaks where somebody holds that meanwhile (in CPython)."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_LONG)
    time.sleep(2 * usual)  # who waits for its turn already has it first
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def _forget() -> None:
    for each in gc.get_objects():
        if isinstance(each, _lru_cache_wrapper) and each.__module__.startswith("agent."):
            each.cache_clear()


def _prune_deadlines() -> None:
    """Let trio forget the deadlines that have been lifted; else it keeps up to a thousand scopes for a while."""
    GLOBAL_RUN_CONTEXT.runner.deadlines._prune()  # noqa: SLF001 - trio does so by itself, but not when asked
