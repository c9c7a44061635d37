"""`agent memory rebuild`: makes the index and the vectors of the memory again, and checks that no id is missing."""

from typing import Annotated

import trio
from cyclopts import Parameter

from ..config import USER_DATA
from ..embedding.open import open_near
from ..errors import StorageFailed, UsageError
from ..host import WallClock, WorkerThreads
from ..log import silence_log
from ..memory.recall.scope_index import index_everything
from ..memory.recall.search import VectorArm
from ..ports.archive import EVERY_SCOPE, MemoryArchive
from ..ports.memory import LIVE
from ..ports.recall_store import RecallStore
from ..ports.work import RunSync
from ..recall.index import RecallIndex
from ..storage.open import open_archive
from ..storage.settings import StorageSettings
from .memory_access import Data
from .output import OK, REFUSED, complain, write
from .paging import read_pages
from .questions import check_vectors

_NAMED = 20  # missing ids that are printed


async def rebuild(
    *,
    data: Data = USER_DATA,
    vectors: Annotated[str, Parameter(env_var="AGENT_VECTORS")] = "auto",
) -> int:
    """Rebuild the index and the vectors of the memory, and check that nothing is
    missing. Messages and items stay as they are.

    A server builds the index of a user at the user's first question. Safe to use while servers run.
    Stopped halfway, the next command or server that needs vectors makes the rest.

    Exit status: 0 all is there, 3 the index lacks something, 2 it cannot be done.

    Example: agent memory rebuild --vectors minilm

    Parameters
    ----------
    vectors
        The vectors to make and keep: `minilm` or `bert:FOLDER`. Static ones are made
        faster than they are read, and are not kept; off makes none.
    """
    check_vectors("agent memory rebuild", vectors)
    threads = WorkerThreads(2)
    try:
        with silence_log():
            async with open_archive(StorageSettings(data), WorkerThreads(1), WallClock()) as (store, archive):
                index, near = RecallIndex(), await open_near(vectors, None, threads, store)
                write(f"thrown away: {await store.drop_vectors()} vectors\n")
                missing = await _make_index(index, store, archive, threads)
                unkept = await _make_vectors(None if near is None else near(index), archive)
    except StorageFailed as error:
        raise UsageError(
            f"{error}; messages and items are unchanged: repair the disk and try again"
        ) from None
    if unkept:
        raise UsageError(f"{unkept} vectors could not be kept: repair the disk and try again")
    if missing:
        some = ", ".join(sorted(missing)[:_NAMED])
        complain(
            f"the index lacks {len(missing)} of the ids ({some}): no message or item is lost, but please report this"
        )
        return REFUSED
    return OK


async def _make_index(
    index: RecallIndex, store: RecallStore, archive: MemoryArchive, run_sync: RunSync
) -> set[str]:
    """Make the index and print its size; return the ids that it lacks."""
    expected = await _find_expected(archive)
    began = trio.current_time()
    await index_everything(index, store, run_sync)
    seconds = trio.current_time() - began
    indexed = await run_sync(lambda: set(index.indexed_ids()))
    missing = expected - indexed
    if missing:  # an item may have been forgotten meanwhile
        missing &= await _find_expected(archive)
    counts = [
        f"{sum(id[0] == letter for id in indexed)} of {sum(id[0] == letter for id in expected)} {noun}"
        for letter, noun in (("t", "messages and answers"), ("i", "live items"))
    ]
    write(f"index: {', '.join(counts)}, in {seconds:.1f} s\n")
    return missing


async def _make_vectors(near: VectorArm | None, archive: MemoryArchive) -> int:
    """Make and keep vectors, and print how many there are; return how many could not be kept."""
    began = trio.current_time()
    unkept = 0
    if near is not None:
        await near.catch_up()
        unkept = await near.save_vectors()
    seconds = trio.current_time() - began
    tally = await archive.tally()
    counts = [f"{count} of {name.partition(':')[0]}" for name, count in sorted(tally.vectors.items())]
    write(f"vectors: {', '.join(counts) or 'none'} kept, in {seconds:.1f} s\n")
    return unkept


async def _find_expected(archive: MemoryArchive) -> set[str]:
    """Return the ids that a search has to find: messages and answers that were not refused, and live items."""
    remark_ids = {
        turn.id
        async for turn in read_pages(lambda window: archive.turns(EVERY_SCOPE, window))
        if turn.remark.text and not turn.remark.blocked
    }
    return remark_ids | {
        item.id async for item in read_pages(lambda window: archive.items(EVERY_SCOPE, window, LIVE))
    }
