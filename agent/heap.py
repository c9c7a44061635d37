"""Keeps the memory of a process small that serves for weeks: settings that are made once, and what a crowd leaves.

Heaps of threads (`share_heaps`): glibc gives each thread that allocates its own heap, up to eight heaps for each
processor, and hardly ever returns one to the system. Each index of the knowledge base is written by new threads with a
buffer of 15 MB, so a folder that is edited often would leave such a buffer in one heap after another: `agent serve`
held 107 to 132 MB at some time of 40 edits of one page, and 70 with two heaps for all threads.

Garbage collection (`freeze_heap`): a full collection visits every object that can hold a reference, and no client is
served meanwhile. It takes 50 to 100 ms of CPU for the server's own objects, before any client. None of these objects
ever becomes garbage, so they are frozen (`gc.freeze`) without a collection: one found 0 to 4 objects of 133,000. Each
client adds about 250 objects, and none of them needs a collection when the client leaves. Objects that need one (some
65 of the HTTP client for each webhook) are mostly collected in the first two generations, which are small. So full
collections are rare, and their survivors are frozen too: the next full collection visits only newer objects. When there
are many new objects, as with a crowd of clients, a full collection is made at once: a collection that waited for 50,000
objects took 54 ms. Objects that were in use then and became a cycle later, such as those of a webhook under way, wait
for a collection of everything. One is due every `WHOLE_EVERY` full collections, and waits until a crowd has left.
"""

import ctypes
import gc
import mmap
import os
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path

_ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
_USUAL = gc.get_threshold()
_YOUNG = 10_000
"""New objects at which they are collected while documents are read; Python's own number is 700."""
HEAPS = 2


def share_heaps() -> bool:
    """Let all threads share two of glibc's heaps; return `False` without glibc, or when `MALLOC_ARENA_MAX` is set.

    Must be called before the first thread is started: an existing heap stays.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, HEAPS))
    except (OSError, AttributeError, TypeError):  # no such function, or no such way to look for it
        return False


def freeze_so_far() -> None:
    """Leave all present objects out of full collections, while documents are read; takes no time.

    Without this call, collections visit all present objects again and again while documents are read. The objects that
    documents leave are not visited by collections at all (`retrieval.packed_sections`, `retrieval.base`), so many
    documents do not make a collection of everything longer. Nothing is collected here, since clients may be connected:
    a collection took 110 ms beside a crowd.
    """
    gc.freeze()


@contextmanager
def collect_rarely() -> Iterator[None]:
    """Collect young objects a fourteenth as often for the time of a block, while documents are read.

    A parser makes thousands of objects for each document, most of which live as long as their document is read, so
    collections found little and visited the same objects again: half of their processor time is saved.
    """
    young, *older = gc.get_threshold()
    gc.set_threshold(_YOUNG, *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *gc.get_threshold()[1:])


def trim_heap() -> None:
    """Return free memory to the system, with glibc; reading documents leaves some 40 MB.

    Blocks for some 10 ms; other threads go on.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def release_heap() -> None:
    """Return to the system what many clients have left behind, as far as that is possible.

    The interpreter returns a megabyte of small objects only when none of them is left, and keeps freed objects for
    reuse: some thousands of tuples, lists and the like, and the names in its cache of attributes, such as the "derive"
    that each group of exceptions looks up anew. They came from all over the crowd's memory. So both are emptied: the
    freed objects by a full collection, which visits the objects since the last one only. What is free in the other
    megabytes is held without its memory until `reuse_heap`. Blocks for some 0.6 s, with 12,000 free pools, in which
    other threads go on.
    """
    reuse_heap()
    gc.collect()
    sys._clear_type_cache()  # noqa: SLF001 - documented, and in no other place
    with suppress(OSError, AttributeError, TypeError):
        _hold_free_pools()
    trim_heap()


def reuse_heap() -> None:
    """Let the interpreter use again what `release_heap` has taken, such as for a new crowd.

    Idempotent. Takes 0.3 s where 12,000 pools are held, some 0.1 s after ten thousand clients.
    """
    while _held:
        deque(map(_free, _find_blocks(_held.pop())), maxlen=0)


_POOL = 1 << 14  # bytes of a pool, which is cut into blocks of one size: Objects/obmalloc.c of CPython
_HEADER, _BLOCK = 48, 480  # bytes of a pool's header, and of blocks that leave only the last 16 of a pool
_BLOCKS = (_POOL - _HEADER) // _BLOCK
_allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("PyObject_Malloc", ctypes.pythonapi))
_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyObject_Free", ctypes.pythonapi))
_AT_ONCE = 16  # pools between two pauses: some 0.3 ms
_PAUSE = 0.0002
"""Seconds in which other threads go on: else each wait of theirs for the interpreter would take 5 ms."""
_held = array("Q")  # addresses of the pools whose blocks are all held


def _find_blocks(pool: int) -> range:
    """Return the addresses of the blocks of the pool at the address `pool`."""
    return range(pool + _HEADER, pool + _HEADER + _BLOCKS * _BLOCK, _BLOCK)


def _hold_free_pools() -> None:
    """Allocate every free pool, and return its memory to the system except for the page with its header.

    A few long-lived objects keep most of the megabytes that a crowd has used, each a few hundred bytes of one. Blocks
    are allocated until one is in no piece that was mapped before, so that no free pool is left. A pool is taken if all
    its blocks, at the places that they have in a pool, are those of this function: with another allocator, or one for
    debugging, none is. What the pages of such a pool held is of no use to the interpreter.
    """
    page = mmap.PAGESIZE
    if page >= _POOL:
        return
    drop = ctypes.CDLL(None).madvise
    drop.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    mapped = _read_mapped()
    blocks, rest = array("Q"), array("Q")
    may_be_more = True
    while may_be_more:
        with suppress(TypeError):  # None, where there is no memory
            blocks.extend(map(_allocate, repeat(_BLOCK, _AT_ONCE * _BLOCKS)))
        may_be_more = any(start <= block < end for block in blocks[-1:] for start, end in mapped)
        at = 0
        while len(blocks) - at >= _BLOCKS:
            pool = blocks[at] // _POOL * _POOL
            if sorted(blocks[at : at + _BLOCKS]) == [*_find_blocks(pool)]:
                drop(pool + page, _POOL - page, mmap.MADV_DONTNEED)
                _held.append(pool)
                at += _BLOCKS
            else:  # of a pool in use
                rest.append(blocks[at])
                at += 1
        del blocks[:at]
        time.sleep(_PAUSE)
    for each in (*rest, *blocks):
        _free(each)


def _read_mapped() -> list[tuple[int, int]]:
    """Return the first address and the end of each piece of memory that the process may write to."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    pieces = [each.split(maxsplit=2)[0].split("-") for each in lines if " rw" in each]
    return [(int(start, 16), int(end, 16)) for start, end in pieces]


FULL_EVERY = 100
"""Collections of the second generation before a full one; Python's own is 10."""

MANY = 15_000
"""Survivors of the second generation at which a full collection is made at once: 10 to 15 ms of CPU."""

WHOLE_EVERY = 1000
"""Full collections after which one visits frozen objects too: about 100 minutes of 200 busy clients."""

WHOLE_MOST = 200_000
"""Frozen objects up to which all of them are visited: a collection of more takes 0.1 s, so it waits until clients left.

A server has 150,000 without clients, and some 80 more for each client."""

WHOLE_LATEST = 10 * WHOLE_EVERY
"""Full collections after which frozen objects are visited however many there are, so that none is kept for ever."""

_WHOLE_TRIES = 100  # full collections between two looks whether there are few enough objects


def freeze_heap() -> None:
    """Leave all present objects out of later garbage collections; takes no time, however many clients there are.

    A frozen object that is replaced later is freed all the same, unless it is part of a cycle. From now on full
    collections are rare, and freeze their survivors.
    """
    _set_full_every(FULL_EVERY)
    gc.freeze()
    if _after_collection not in gc.callbacks:
        gc.callbacks.append(_after_collection)


def restore_collection() -> None:
    """Restore the collections from before `freeze_heap`, once the server has ended. Idempotent.

    Frozen objects stay frozen.
    """
    if _after_collection in gc.callbacks:
        gc.callbacks.remove(_after_collection)
        gc.set_threshold(*_USUAL)


@contextmanager
def unfreeze_heap() -> Iterator[None]:
    """Show all objects to garbage collections and to code that counts objects, for the time of a block."""
    aging = _after_collection in gc.callbacks
    if aging:
        gc.callbacks.remove(_after_collection)
    gc.unfreeze()
    try:
        yield
    finally:
        gc.freeze()
        if aging:
            gc.callbacks.append(_after_collection)


class _WholeCollections:
    """Counts full collections, and picks those that visit frozen objects too. `since`: collections since the last."""

    def __init__(self) -> None:
        self.since = 0

    def count_one(self) -> bool:
        """Count a full collection that begins; return whether it visits frozen objects too."""
        self.since += 1
        if self.since < WHOLE_EVERY or self.since % _WHOLE_TRIES:
            return False
        if self.since < WHOLE_LATEST and gc.get_freeze_count() > WHOLE_MOST:
            return False
        self.since = 0
        return True


_whole = _WholeCollections()


def _after_collection(phase: str, info: Mapping[str, int]) -> None:
    """Freeze the survivors of a full collection (one of `gc.callbacks`); called in the thread that collects."""
    if info["generation"] == 2:
        if phase == "stop":
            gc.freeze()
            _set_full_every(FULL_EVERY)
        elif _whole.count_one():
            gc.unfreeze()
    elif info["generation"] == 1 and phase == "stop" and _count_old_objects() > MANY:
        _set_full_every(0)


def _count_old_objects() -> int:
    """Return the number of objects that have outlived the second generation.

    All of them are held meanwhile, so this is one chain of calls from C to C, in which no other thread gets a turn: an
    object that another thread dropped then would be finalised here, in this thread, and the finaliser of a SQL
    statement waits for its database and the disk.
    """
    return next(map(len, map(gc.get_objects, (2,))))


def _set_full_every(collections: int) -> None:
    """Let each collection of the second generation after so many be a full one."""
    gc.set_threshold(*gc.get_threshold()[:2], collections)
