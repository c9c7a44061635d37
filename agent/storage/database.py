"""One database, shared by many callers of a process and by several processes, across restarts.

The database has one connection, and using it blocks: a disk may take a millisecond to sync, or a minute. So only one
task uses the connection, the committer. Callers queue their requests and wait for an answer. The committer takes all
requests that wait, has them written in one transaction (`backend.py`) through the injected `run_sync`, and
answers each. Requests that wait at the same time have no order: a caller that needs one waits for the first answer
before it asks again.

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

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import islice
from math import inf
from types import TracebackType
from typing import Any, TypeVar

import structlog
import trio

from ..errors import AgentError, StorageFailed, UsageError
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .backend import LOCK_WAIT, BatchReport, DatabasePlace, WriteRequest, reason
from .contents import DatabaseContents
from .disk_watch import DiskWatch
from .ledger import LEDGER
from .pending_requests import Late, PendingRequest, UnrecordedOutcomes
from .rows import ClaimRequest, OutcomeRequest
from .stall_watch import StallWatch
from .transaction import Follow, FunctionRequest, Read, ReadRequest, Write

T = TypeVar("T")

LEDGER_WAITING = 10_000  # claims and readers that wait for the ledger's file
LEDGER_UNRECORDED = 10_000  # outcomes that wait for it; with so many nothing more is claimed
LEDGER_BATCH = 128  # claims, and outcomes, in one transaction
LEDGER_READS = 16  # in one visit to its thread: claims meanwhile wait for them
BESIDE_READS = 64  # of a connection that only reads: each visit takes a look of a busy event loop
LEDGER_RETRY = 1.0  # between two tries of a file that does not work; of a server, on average
LEDGER_LAST_TRY = 1.5  # for outcomes that still wait when the server ends ...
LEDGER_CLOSE_TIMEOUT = 3.0  # ... and for all of its end

_log = structlog.get_logger("agent.storage")
_SILENT = "its disk does not answer"
_SILENT_SERVER = "its server does not answer: look at the server, and at the network between"
_CLOSED = "it is closed"


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
        self._reading: list[PendingRequest] = []  # the batch that is being read
        self._reads_at_once = BESIDE_READS if beside else LEDGER_READS
        self._place = place
        self._silence = _SILENT_SERVER if place.is_server else _SILENT
        # Its clients lose a server at the same moment: they do not come back at the same moment too.
        self._retry_jitter = 0.5 if place.is_server else 0.0
        self._contents = contents
        self._run_sync = run_sync
        self._watch = DiskWatch(run_sync)
        self._report_to = report_trouble
        self._backend = place.make_backend(clock, contents, beside)
        self._documents = ""
        self._upkeep_at = inf
        self._stall = StallWatch(self._backend.progress, self._refuse_reads if impatient else None)
        self._waiting: dict[PendingRequest, None] = {}  # writes and reads, in their order
        self._unrecorded = UnrecordedOutcomes(observer)
        self._wanted = trio.Event()
        self._trouble = ""
        self._try_again = 0.0  # when a file that does not work is tried
        self._closing = False
        self._closed = False
        self._follow: Follow | None = None
        self._hear: Callable[[Any], None] = lambda _: None
        # `count_unheard_writes` before the batch that is told or written
        self.unheard_before: int | None = None
        self._unknown = 0  # writes of which it is not known whether they are on disk
        self._tasks = AsyncExitStack()
        self._committing = trio.CancelScope(shield=True, deadline=inf)  # the deadline is set on closing

    async def __aenter__(self) -> "Database":
        """Open the file and settle the rows of dead processes; raises `UsageError` when the folder cannot be used."""
        try:
            await self._run_sync(self._backend.open)
        except self._backend.faults as error:
            why = self._contents.unusable.format(data=self._place, why=reason(error))
            raise UsageError(why if self._place.is_server else f"{why}; {self._contents.instead}") from None
        self._upkeep_at = trio.current_time() + self._backend.upkeep_every
        nursery = await self._tasks.enter_async_context(trio.open_nursery())
        nursery.start_soon(self._commit)
        nursery.start_soon(self._stall.run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the kept outcomes, close the file and log the outcomes that could not be written, within
        `LEDGER_CLOSE_TIMEOUT`.

        A thread that does not come back is left to the end of the process.
        """
        self._closing = True
        self._wanted.set()
        now = trio.current_time()
        since = now if self._watch.since is None else self._watch.since  # a disk that hangs has had its time
        self._committing.deadline = max(since + LEDGER_CLOSE_TIMEOUT, now + LOCK_WAIT)
        try:
            await self._tasks.aclose()  # not handed the block's error, which would come out of it in a group
        finally:
            self._fail_requests([*self._waiting], _CLOSED)
            self._log_unrecorded()

    @property
    def clock(self) -> Clock:
        """The time of all processes that share the database: they compare stamps of this clock."""
        return self._backend.clock

    @property
    def has_nodes(self) -> bool:
        """Whether processes that share the database have rows in the table `nodes`."""
        return self._backend.has_nodes

    def announce_documents(self, digest: str) -> None:
        """Show the other processes the digest of the documents served here. Never waits."""
        self._documents = digest
        self._upkeep_at = min(self._upkeep_at, trio.current_time() if self.has_nodes else inf)
        self._wanted.set()

    @property
    def is_stalled(self) -> bool:
        """Whether the database's thread makes no progress."""
        return self._stall.stalled

    @property
    def is_failing(self) -> bool:
        """Whether the last write failed, and is not yet known to work again."""
        return bool(self._trouble)

    def count_unheard_writes(self) -> int | None:
        """Return a number that grows whenever there may be a write of which `follow_writes` does not tell, or `None`
        while that is unknown.

        Another process may have written, or a write of this process failed and may be on disk all the same. It never
        waits, and takes some 5 us.
        """
        foreign = self._backend.count_foreign_commits()
        return None if foreign is None else self._unknown + foreign

    async def read(self, work: Read[T], late: Late | None = None) -> T:
        """Return the result of `work` on one state of the database; `work` writes nothing.

        An `AgentError` of `work` is raised. A cancel takes effect at once. For `late` see `write`.
        """
        if self.is_stalled and self._impatient:
            raise self._make_error(self._silence)
        answer: T = await self._ask(PendingRequest(what=ReadRequest(work)), late)
        return answer

    def follow_writes(self, follow: Follow, hear: Callable[[Any], None]) -> None:
        """Run each `write` from now on with `follow`, and call `hear` with the result once it is on disk, in the order
        of the writes, before the caller is answered and whether or not the caller has left. `hear` never raises.

        Where commits have no order of their own, nothing is told, and `count_unheard_writes` stays unknown.
        """
        if self._backend.in_order:
            self._follow, self._hear = follow, hear

    async def write(self, work: Write[T], undo: Write[object] | None = None, late: Late | None = None) -> T:
        """Return the result of `work` once its changes are on disk.

        When `work` raises an `AgentError`, that is raised and nothing is written. A cancel takes effect at once; the
        request is then written whole or not at all. `undo` reverses a request that was written, or may be, though its
        caller had given up or heard that it failed. `late` is called once when the disk does not answer, and the caller
        waits on; without `late` that raises `StorageFailed`.
        """
        what: FunctionRequest[Any] = FunctionRequest(work)
        if self._follow is not None:
            what = FunctionRequest(partial(self._follow, work))
        request = PendingRequest(
            what=what, undo=undo and FunctionRequest(undo), followed=self._follow is not None
        )
        answer: T = await self._ask(request, late)
        return answer

    async def write_eventually(self, work: Write[object]) -> None:
        """Write `work` as an outcome is written: as soon as the file works, whether or not a caller still waits."""
        await self._keep_until_written(FunctionRequest(work))

    async def claim(self, claim: ClaimRequest) -> bool:
        """Write a claim; return `True` for exactly one claim of an id, in any process.

        Cancelled, nothing is claimed, or the row is recorded cancelled if it turns out to have been written.
        """
        if len(self._unrecorded) >= LEDGER_UNRECORDED:
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
        if len(self._unrecorded) >= 2 * LEDGER_UNRECORDED:  # claims within the limit find room here
            raise self._make_error("too many outcomes wait to be recorded")
        if self._closing:
            raise self._make_error(_CLOSED)
        request = self._keep_outcome(work)
        if self._trouble:
            await trio.lowlevel.checkpoint()
            return
        try:
            if not await self._watch.wait_for_event(request.answered, self._contents.patience):
                self._suspect_disk()
        except trio.Cancelled:
            self._suspect_disk()
            raise
        if request.error:
            raise self._make_error(request.error)

    async def _ask(self, request: PendingRequest, late: Late | None) -> Any:
        """Wait for the answer to a request; a caller that is cancelled or gives up leaves."""
        if self._closing:
            raise self._make_error(_CLOSED)
        if len(self._waiting) >= LEDGER_WAITING:
            raise self._make_error("too many requests wait for it; try again in a moment")
        self._waiting[request] = None
        self._wanted.set()
        try:
            request.given_up = not await self._watch.wait_for_event(request.answered, self._contents.patience)
            if request.given_up and late is not None:
                request.given_up = False
                late()
                await request.answered.wait()
        except trio.Cancelled:
            self._leave(request)
            raise
        if request.given_up:
            self._leave(request)
            raise self._make_error(self._silence)
        if request.error:
            raise self._make_error(request.error)
        if request.refused is not None:
            raise request.refused
        return request.answer

    def _make_error(self, why: str) -> StorageFailed:
        return StorageFailed(f"the {self._contents.name}: {why}")

    def _leave(self, request: PendingRequest) -> None:
        request.left = True
        self._waiting.pop(request, None)  # it is not there once its batch has begun
        self._suspect_disk()
        if request.answered.is_set():  # in the instant between the cancel and its delivery
            self._end_unless_run(request)

    def _suspect_disk(self) -> None:
        """Report the disk when a caller has waited longer than a lock can take."""
        if self._watch.since is not None and trio.current_time() - self._watch.since > LOCK_WAIT:
            self._report_trouble(self._silence)

    def _keep_outcome(self, work: WriteRequest) -> PendingRequest:
        request = self._unrecorded.keep(work)
        self._wanted.set()
        return request

    # --- the committer

    async def _commit(self) -> None:
        """Write waiting requests batch by batch until closing; then retry kept outcomes for a while, and close the
        file.
        """
        with self._committing:
            while not self._closing:
                with trio.move_on_at(min(self._upkeep_at, self._try_again if self._trouble else inf)):
                    await self._wanted.wait()
                self._wanted = trio.Event()
                while await self._do_batch() and (self._waiting or not self._trouble):
                    pass
            give_up = trio.current_time() + LEDGER_LAST_TRY
            while (self._waiting or self._unrecorded) and trio.current_time() < give_up:
                await self._do_batch()
                await trio.sleep(LEDGER_RETRY / 10 if self._trouble else 0)
            await self._run_sync(self._backend.close)
            self._closed = True
        self._stall.stop()

    def _refuse_reads(self) -> None:
        """Fail the reads that wait while the disk stalls."""
        reads = [each for each in self._waiting if isinstance(each.what, ReadRequest)]
        self._waiting = {each: None for each in self._waiting if each not in reads}
        self._fail_requests([*self._reading, *reads], self._silence)

    async def _do_batch(self) -> bool:
        """Write or read one batch, or retry a file that did not work; return `False` when there was nothing to do."""
        if trio.current_time() >= self._upkeep_at:
            await self._keep_up()
        first = next(iter(self._waiting), None)
        overdue = self._trouble and trio.current_time() >= self._try_again  # however much is read meanwhile
        if first is not None and isinstance(first.what, ReadRequest) and not overdue:
            reads = (request for request in self._waiting if isinstance(request.what, ReadRequest))
            await self._read_batch([*islice(reads, self._reads_at_once)])
            return True
        writes = (request for request in self._waiting if not isinstance(request.what, ReadRequest))
        batch = [*islice(self._unrecorded, LEDGER_BATCH), *islice(writes, LEDGER_BATCH)]
        if not batch and not self._trouble:
            return False
        await self._write_batch(batch)
        return bool(batch)

    async def _keep_up(self) -> None:
        try:
            trouble = await self._watch.run_call(partial(self._backend.keep_up, self._documents))
        except (OSError, RuntimeError) as error:  # a thread could not be started
            trouble = reason(error)
        self._upkeep_at = trio.current_time() + self._backend.upkeep_every
        if trouble and not self._trouble:
            self._try_again = trio.current_time() + LEDGER_RETRY
            self._report_trouble(trouble)

    async def _read_batch(self, batch: list[PendingRequest]) -> None:
        for request in batch:
            del self._waiting[request]
        works = [request.what.work for request in batch if isinstance(request.what, ReadRequest)]
        self._reading = batch
        self._stall.begin()
        try:
            answers: Sequence[Any] = await self._watch.run_call(partial(self._backend.read_each, works))
        except (OSError, RuntimeError) as error:  # a thread could not be started
            answers = [error] * len(batch)
        except trio.Cancelled:
            self._fail_requests(batch, _CLOSED)
            raise
        finally:
            self._reading = []
            self._stall.end()
        for request, answer in zip(batch, answers, strict=True):
            if isinstance(answer, AgentError):
                request.refused = answer
            elif isinstance(answer, Exception):
                request.error = reason(answer)
            else:
                request.answer = answer
            request.answered.set()

    async def _write_batch(self, batch: list[PendingRequest]) -> None:
        for request in batch:
            self._waiting.pop(request, None)
        requests = [request.what for request in batch if not isinstance(request.what, ReadRequest)]
        self.unheard_before = None if self._follow is None else self.count_unheard_writes()
        self._stall.begin()
        try:
            report = await self._watch.run_call(partial(self._backend.commit, requests))
        except trio.Cancelled:
            self._fail_requests((request for request in batch if request not in self._unrecorded), _CLOSED)
            raise
        except (OSError, RuntimeError) as error:  # a thread could not be started
            report = BatchReport(answers=[None] * len(batch), trouble=reason(error))
        finally:
            self._stall.end()
        for place, request in enumerate(batch):
            request.refused = report.refused.get(place)
            trouble = report.trouble or report.busy.get(place, "")
            self._settle(request, report.answers[place], report.faults.get(place, ""), trouble)
        jitter = random.uniform(-self._retry_jitter, self._retry_jitter)
        self._try_again = trio.current_time() + LEDGER_RETRY * (1 + jitter)
        self._report_trouble(report.trouble)

    def _settle(self, request: PendingRequest, answer: Any, fault: str, trouble: str) -> None:
        """Answer one request of a batch; a kept outcome that was not written stays."""
        request.error = fault or trouble
        if request.error:
            self._unknown += 1
        elif request.followed and request.refused is None:
            self._hear(answer)
            answer = answer.answer
        elif self._follow is not None and isinstance(request.what, FunctionRequest):
            self._unknown += 1  # asked for before writes were followed, or an `undo`
        if request not in self._unrecorded:
            request.answer = answer
            self._end_unless_run(request)
        elif not trouble:
            self._unrecorded.remove(request)
            if fault and isinstance(request.what, OutcomeRequest):
                _log.error(
                    "outcome can never be recorded", suggestionId=request.what.suggestion_id, why=fault
                )
        else:
            request.error = ""  # the outcome is kept, as its caller asked
        request.answered.set()

    def _end_unless_run(self, request: PendingRequest) -> None:
        """Keep the reversals of a request that its caller left, or that failed after it had run."""
        for reversal in request.find_reversals(self.clock):
            self._keep_outcome(reversal)

    def _fail_requests(self, requests: Iterable[PendingRequest], why: str) -> None:
        for each in requests:
            each.error = why
            each.answered.set()

    def _report_trouble(self, trouble: str) -> None:
        """Log and report trouble once: when it begins, changes or ends."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            _log.error(f"{self._contents.name} does not work", why=trouble, unrecorded=len(self._unrecorded))
        else:
            _log.warning(f"{self._contents.name} works again", unrecorded=len(self._unrecorded))
        self._report_to(trouble)

    def _log_unrecorded(self) -> None:
        if not self._closed:
            why = f"{self._contents.name} left open, because {self._silence}"
            _log.error(why, unrecorded=len(self._unrecorded))
        elif self._unrecorded:
            _log.error(
                f"{self._contents.name} closed with outcomes unrecorded", unrecorded=len(self._unrecorded)
            )
        self._unrecorded.log_and_clear()
