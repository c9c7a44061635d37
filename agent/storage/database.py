"""One database, shared by many callers of a process and by several processes, across restarts.

The database has one connection, and using it blocks: a disk may take a millisecond to sync, or a minute. So only one
task uses the connection, the committer (`committer.py`). Callers queue their requests and wait for an answer. The
committer takes all requests that wait, has them written in one transaction (`backend.py`) through the injected
`run_sync`, and answers each. Requests that wait at the same time have no order: a caller that needs one waits for the
first answer before it asks again.

| a caller leaves (a deadline, a cancel) | the request |
| --- | --- |
| a write or a read, before its batch began | is withdrawn: nothing happened |
| a claim, while its batch is written | if it turns out won, the row is recorded cancelled: the call never ran |
| another write, while its batch is written | is written whole, or not at all |
| a record, at any time | stays, and is written |

A caller that gives up on a disk that does not answer (`DiskWatch`) leaves too, with an error. If its request has an
`undo` and turns out to be written, the `undo` is written after it, so nothing of the request begins later; the same
holds for a commit whose answer does not come.

So no caller waits longer than its own deadline, and the thread that holds the connection is never abandoned before the
database closes. A write is answered when its commit is on disk and the files can still be trusted, not before.

An outcome is kept until it is written. When the file does not work (locked, full, gone, damaged, hanging), writes fail
and outcomes are tried again every `LEDGER_RETRY` seconds. The callback `told` gets the reason, and "" when the file
works again. With `LEDGER_UNRECORDED` outcomes kept, no further claim is accepted. Closing tries once more for a short
time, then logs the outcomes that are still unrecorded: their rows stay claimed, and the next process that opens the
file marks them unknown (`settle.py`).
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import trio

from ..errors import StorageFailed, UsageError
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .backend import DatabasePlace, WriteRequest, reason
from .committer import CLOSED, Committer
from .contents import DatabaseContents
from .ledger import LEDGER
from .pending_requests import Late, PendingRequest
from .rows import ClaimRequest, OutcomeRequest
from .transaction import Follow, FunctionRequest, Read, ReadRequest, Write

T = TypeVar("T")

LEDGER_WAITING = 10_000  # claims and readers that wait for the ledger's file
LEDGER_UNRECORDED = 10_000  # outcomes that wait for it; with so many nothing more is claimed


class Database:
    """The database in `place`.

    Open it with `async with`, in the task that closes it. Every method raises `agent.errors.StorageFailed` when the
    database cannot do its work.

    `run_sync` does the blocking work. `clock` is this machine's. `observer` gets the gauge `actions_unrecorded`.
    `report_trouble` gets the reason why nothing can be claimed, and "" when claims work again; it never blocks.
    `contents` describes the file; only a ledger has claims and outcomes. `beside` says that another `Database` of this
    process has the file open. `impatient` refuses reads for as long as the disk stalls.
    """

    def __init__(
        self,
        place: DatabasePlace,
        run_sync: RunSync,
        clock: Clock,
        observer: Observer | None = None,
        report_trouble: Callable[[str], None] = lambda _: None,
        contents: DatabaseContents = LEDGER,
        beside: bool = False,
        impatient: bool = False,
    ) -> None:
        self._impatient = impatient
        self._place = place
        self._contents = contents
        self._committer = Committer(
            place, run_sync, clock, observer, report_trouble, contents, beside, impatient
        )
        self._tasks = AsyncExitStack()

    async def __aenter__(self) -> "Database":
        """Open the file and settle the rows of dead processes; raises `UsageError` when the folder cannot be used."""
        try:
            await self._committer.open()
        except self._committer.backend.faults as error:
            why = self._contents.unusable.format(data=self._place, why=reason(error))
            raise UsageError(why if self._place.is_server else f"{why}; {self._contents.instead}") from None
        nursery = await self._tasks.enter_async_context(trio.open_nursery())
        nursery.start_soon(self._committer.run)
        nursery.start_soon(self._committer.stall.run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the kept outcomes, close the file and log the outcomes that could not be written, within
        `LEDGER_CLOSE_TIMEOUT`.

        A thread that does not come back is left to the end of the process.
        """
        self._committer.begin_closing()
        try:
            await self._tasks.aclose()  # not handed the block's error, which would come out of it in a group
        finally:
            self._committer.end()

    @property
    def clock(self) -> Clock:
        """The time of all processes that share the database: they compare stamps of this clock."""
        return self._committer.backend.clock

    @property
    def has_nodes(self) -> bool:
        """Whether processes that share the database have rows in the table `nodes`."""
        return self._committer.backend.has_nodes

    def announce_documents(self, digest: str) -> None:
        """Show the other processes the digest of the documents served here. Never waits."""
        self._committer.announce_documents(digest)

    @property
    def is_stalled(self) -> bool:
        """Whether the database's thread makes no progress."""
        return self._committer.stall.stalled

    @property
    def is_failing(self) -> bool:
        """Whether the last write failed, and is not yet known to work again."""
        return self._committer.is_failing

    def count_unheard_writes(self) -> int | None:
        """Return a number that grows whenever there may be a write of which `follow_writes` does not tell, or `None`
        while that is unknown.

        Another process may have written, or a write of this process failed and may be on disk all the same. It never
        waits, and takes some 5 us.
        """
        return self._committer.count_unheard_writes()

    @property
    def unheard_before(self) -> int | None:
        """The number of `count_unheard_writes` before the batch that is told or written."""
        return self._committer.unheard_before

    async def read(self, work: Read[T], late: Late | None = None) -> T:
        """Return the result of `work` on one state of the database; `work` writes nothing.

        An `AgentError` of `work` is raised. A cancel takes effect at once. For `late` see `write`.
        """
        if self.is_stalled and self._impatient:
            raise self._make_error(self._committer.silence)
        answer: T = await self._ask(PendingRequest(what=ReadRequest(work)), late)
        return answer

    def follow_writes(self, follow: Follow, hear: Callable[[Any], None]) -> None:
        """Run each `write` from now on with `follow`, and call `hear` with the result once it is on disk, in the order
        of the writes, before the caller is answered and whether or not the caller has left. `hear` never raises.

        Where commits have no order of their own, nothing is told, and `count_unheard_writes` stays unknown.
        """
        self._committer.follow_writes(follow, hear)

    async def write(self, work: Write[T], undo: Write[object] | None = None, late: Late | None = None) -> T:
        """Return the result of `work` once its changes are on disk.

        When `work` raises an `AgentError`, that is raised and nothing is written. A cancel takes effect at once; the
        request is then written whole or not at all. `undo` reverses a request that was written, or may be, though its
        caller had given up or heard that it failed. `late` is called once when the disk does not answer, and the caller
        waits on; without `late` that raises `StorageFailed`.
        """
        what: FunctionRequest[Any] = FunctionRequest(work)
        follow = self._committer.follow
        if follow is not None:
            what = FunctionRequest(partial(follow, work))
        request = PendingRequest(what=what, undo=undo and FunctionRequest(undo), followed=follow is not None)
        answer: T = await self._ask(request, late)
        return answer

    async def write_eventually(self, work: Write[object]) -> None:
        """Write `work` as an outcome is written: as soon as the file works, whether or not a caller still waits."""
        await self._keep_until_written(FunctionRequest(work))

    async def claim(self, claim: ClaimRequest) -> bool:
        """Write a claim; return `True` for exactly one claim of an id, in any process.

        Cancelled, nothing is claimed, or the row is recorded cancelled if it turns out to have been written.
        """
        if len(self._committer.unrecorded) >= LEDGER_UNRECORDED:
            raise self._make_error("too many outcomes wait to be recorded")
        return bool(await self._ask(PendingRequest(what=claim), None))

    async def record(self, record: OutcomeRequest) -> None:
        """Write an outcome.

        Returns when the outcome is on disk or, while the file does not work, as soon as it is kept for later.
        Cancelled, it is kept too. Rows that ended more than `TOMBSTONE_SECONDS` earlier are forgotten.
        """
        await self._keep_until_written(record)

    # --- callers

    async def _keep_until_written(self, work: WriteRequest) -> None:
        if len(self._committer.unrecorded) >= 2 * LEDGER_UNRECORDED:  # claims within the limit find room here
            raise self._make_error("too many outcomes wait to be recorded")
        if self._committer.is_closing:
            raise self._make_error(CLOSED)
        request = self._committer.keep_outcome(work)
        if self._committer.is_failing:
            await trio.lowlevel.checkpoint()
            return
        try:
            if not await self._committer.watch.wait_for_event(request.answered, self._contents.patience):
                self._committer.suspect_disk()
        except trio.Cancelled:
            self._committer.suspect_disk()
            raise
        if request.error:
            raise self._make_error(request.error)

    async def _ask(self, request: PendingRequest, late: Late | None) -> Any:
        """Wait for the answer to a request; a caller that is cancelled or gives up leaves."""
        if self._committer.is_closing:
            raise self._make_error(CLOSED)
        if self._committer.waiting >= LEDGER_WAITING:
            raise self._make_error("too many requests wait for it; try again in a moment")
        self._committer.add_request(request)
        try:
            request.given_up = not await self._committer.watch.wait_for_event(
                request.answered, self._contents.patience
            )
            if request.given_up and late is not None:
                request.given_up = False
                late()
                await request.answered.wait()
        except trio.Cancelled:
            self._committer.leave_request(request)
            raise
        if request.given_up:
            self._committer.leave_request(request)
            raise self._make_error(self._committer.silence)
        if request.error:
            raise self._make_error(request.error)
        if request.refused is not None:
            raise request.refused
        return request.answer

    def _make_error(self, why: str) -> StorageFailed:
        return StorageFailed(f"the {self._contents.name}: {why}")
