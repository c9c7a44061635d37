"""How a process that serves for weeks holds its memory: three settings, each of them made once.

glibc gives each thread that allocates a heap of its own, up to eight for each processor, and hardly ever gives one
back. Each index of the knowledge base is written by new threads with a buffer of 15 MB, so a folder that is edited
often would leave such a buffer in one heap after another: `agent serve` held 107 to 132 MB at some time of 40 edits of
one page, and 70 with two heaps for all threads.

A full garbage collection visits everything that can hold a reference, and nobody is served meanwhile: 40 to 50 ms of
CPU for what the server consists of alone, before any client. None of that ever becomes garbage, so it is set aside.
Each client adds about 250 objects, and leaves none that needs a collection when it goes; what does (some 65 objects of
the HTTP client for each webhook) is mostly gone in the first two generations, which are small. So full ones are made
rarely, and what they leave is set aside too: the next one looks only at what has come since. When much has come, as
with a crowd of clients, it is made at once: one that waited for 50,000 objects took 54 ms. What was in use then and has
become a cycle later, a webhook under way, waits for a look at everything, every WHOLE_EVERYth time.
"""

import ctypes
import gc
import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

_ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
_USUAL = gc.get_threshold()
HEAPS = 2


def share_heaps() -> bool:
    """Let all threads share two of glibc's heaps; False where it is not glibc, or MALLOC_ARENA_MAX says how many.

    To be called before the first thread is started: a heap that is there stays.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, HEAPS))
    except (OSError, AttributeError, TypeError):  # no such function, or no such way to look for it
        return False


def set_aside_so_far() -> None:
    """Leave what is there now out of full collections, while much more is being made that stays; takes no time.

    Without it they look at all of it again and again while documents are read. What stays of these is nothing that a
    collection looks at (`retrieval.kept`, `retrieval.base`): so a look at everything holds the event loop for no longer
    because there are many. Nothing is collected here, whoever is connected by now: that took 110 ms beside a crowd.
    """
    gc.freeze()


def give_back() -> None:
    """Give memory that is free back to the system, where it is glibc; what reading documents leaves is some 40 MB.

    Blocks for some 10 ms; other threads go on.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


FULL_EVERY = 100
"""Collections of the second generation before a full one; Python's own is 10."""

MANY = 15_000
"""Objects that have outlived the second generation, of which a full collection is made at once: 10 to 15 ms of CPU."""

WHOLE_EVERY = 1000
"""Full collections of which one looks at what was set aside, too: about once in 100 minutes of 200 busy clients."""


def set_aside() -> None:
    """Leave everything that is there now out of the garbage collections to come; once, before the first client.

    It makes a full collection, which takes the longer the more clients there are. What is replaced later is freed all
    the same, unless it is part of a cycle. From now on full ones are rare, and leave what they found out of the next.
    """
    _full_every(FULL_EVERY)
    gc.collect()
    gc.freeze()
    if _age not in gc.callbacks:
        gc.callbacks.append(_age)


def collect_as_usual() -> None:
    """Let garbage collections be made as before `set_aside`, once the server has ended. Idempotent.

    What was set aside stays so.
    """
    if _age in gc.callbacks:
        gc.callbacks.remove(_age)
        gc.set_threshold(*_USUAL)


@contextmanager
def all_in_view() -> Iterator[None]:
    """Let garbage collections, and who counts objects, see everything for the time of a block."""
    aging = _age in gc.callbacks
    if aging:
        gc.callbacks.remove(_age)
    gc.unfreeze()
    try:
        yield
    finally:
        gc.freeze()
        if aging:
            gc.callbacks.append(_age)


_full = itertools.count(1)  # full collections


def _age(phase: str, info: Mapping[str, int]) -> None:
    """Set aside what a full collection has left (one of `gc.callbacks`); called in whatever thread it falls."""
    if info["generation"] == 2:
        if phase == "stop":
            gc.freeze()
            _full_every(FULL_EVERY)
        elif next(_full) % WHOLE_EVERY == 0:
            gc.unfreeze()
    elif info["generation"] == 1 and phase == "stop" and _outlived() > MANY:
        _full_every(0)


def _outlived() -> int:
    """Return how many objects have outlived the second generation.

    They are all held for that, in calls from C to C, so that no other thread has its turn meanwhile: what one let go of
    then would end here, in whichever thread this is, and the end of a statement waits for its database, disk and all.
    """
    return next(map(len, map(gc.get_objects, (2,))))


def _full_every(collections: int) -> None:
    """Let each collection of the second generation after so many be a full one."""
    gc.set_threshold(*gc.get_threshold()[:2], collections)
