"""The committer of a database: the one task that uses its connection.

Callers queue their requests (`Database`). The committer takes all requests that wait, has them written in one
transaction or read in one visit to the thread, and answers each. Outcomes are kept until they are written: when the
file does not work, they are tried again every `LEDGER_RETRY` seconds.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Any

import structlog
import trio

from ..errors import AgentError
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .backend import LOCK_WAIT, BatchReport, DatabasePlace, WriteRequest, reason
from .contents import DatabaseContents
from .disk_watch import DiskWatch
from .pending_requests import PendingRequest, UnrecordedOutcomes
from .rows import OutcomeRequest
from .stall_watch import StallWatch
from .transaction import Follow, FunctionRequest, ReadRequest

LEDGER_BATCH = 128  # claims, and outcomes, in one transaction
LEDGER_READS = 16  # in one visit to its thread: claims meanwhile wait for them
BESIDE_READS = 64  # of a connection that only reads: each visit takes a look of a busy event loop
LEDGER_RETRY = 1.0  # between two tries of a file that does not work; of a server, on average
LEDGER_LAST_TRY = 1.5  # for outcomes that still wait when the server ends ...
LEDGER_CLOSE_TIMEOUT = 3.0  # ... and for all of its end
CLOSED = "it is closed"

_log = structlog.get_logger("agent.storage")
_SILENT = "its disk does not answer"
_SILENT_SERVER = "its server does not answer: look at the server, and at the network between"


class Committer:
    """The committer of the database in `place`. Open its backend, then run it in a nursery until it is closed.

    The arguments are those of `Database`. `silence` is the trouble when the disk or the server does not answer.
    `watch` is the patience of callers with the thread, `is_closing` whether no further request is taken.
    """

    def __init__(
        self,
        place: DatabasePlace,
        run_sync: RunSync,
        clock: Clock,
        observer: Observer | None,
        report_trouble: Callable[[str], None],
        contents: DatabaseContents,
        beside: bool,
        impatient: bool,
    ) -> None:
        self.silence = _SILENT_SERVER if place.is_server else _SILENT
        self.watch = DiskWatch(run_sync)
        self.unrecorded = UnrecordedOutcomes(observer)
        self.is_closing = False
        self.backend = place.make_backend(clock, contents, beside)
        self.stall = StallWatch(self.backend.progress, self._refuse_reads if impatient else None)
        # `count_unheard_writes` before the batch that is told or written
        self.unheard_before: int | None = None
        self.follow: Follow | None = None
        self._reading: list[PendingRequest] = []  # the batch that is being read
        self._reads_at_once = BESIDE_READS if beside else LEDGER_READS
        # Its clients lose a server at the same moment: they do not come back at the same moment too.
        self._retry_jitter = 0.5 if place.is_server else 0.0
        self._contents = contents
        self._run_sync = run_sync
        self._report_to = report_trouble
        self._documents = ""
        self._upkeep_at = inf
        self._waiting: dict[PendingRequest, None] = {}  # writes and reads, in their order
        self._wanted = trio.Event()
        self._trouble = ""
        self._try_again = 0.0  # when a file that does not work is tried
        self._closed = False
        self._hear: Callable[[Any], None] = lambda _: None
        self._unknown = 0  # writes of which it is not known whether they are on disk
        self._committing = trio.CancelScope(shield=True, deadline=inf)  # the deadline is set on closing

    @property
    def is_failing(self) -> bool:
        """Whether the last write failed, and is not yet known to work again."""
        return bool(self._trouble)

    @property
    def waiting(self) -> int:
        """The number of requests that wait for their batch."""
        return len(self._waiting)

    async def open(self) -> None:
        """Open the backend; raises one of its `faults`."""
        await self._run_sync(self.backend.open)
        self._upkeep_at = trio.current_time() + self.backend.upkeep_every

    def begin_closing(self) -> None:
        """Let `run` end, within `LEDGER_CLOSE_TIMEOUT`. A thread that does not come back is left."""
        self.is_closing = True
        self._wanted.set()
        now = trio.current_time()
        since = now if self.watch.since is None else self.watch.since  # a disk that hangs has had its time
        self._committing.deadline = max(since + LEDGER_CLOSE_TIMEOUT, now + LOCK_WAIT)

    def end(self) -> None:
        """Fail the requests that still wait, and log the outcomes that could not be written."""
        self._fail_requests([*self._waiting], CLOSED)
        self._log_unrecorded()

    def announce_documents(self, digest: str) -> None:
        """Show the other processes the digest of the documents served here. Never waits."""
        self._documents = digest
        self._upkeep_at = min(self._upkeep_at, trio.current_time() if self.backend.has_nodes else inf)
        self._wanted.set()

    def count_unheard_writes(self) -> int | None:
        """Return the number of `Database.count_unheard_writes`."""
        foreign = self.backend.count_foreign_commits()
        return None if foreign is None else self._unknown + foreign

    def follow_writes(self, follow: Follow, hear: Callable[[Any], None]) -> None:
        """Run each followed request with `follow`, and call `hear` with its result (see `Database.follow_writes`)."""
        if self.backend.in_order:
            self.follow, self._hear = follow, hear

    def add_request(self, request: PendingRequest) -> None:
        """Let a request wait for its batch."""
        self._waiting[request] = None
        self._wanted.set()

    def keep_outcome(self, work: WriteRequest) -> PendingRequest:
        """Keep a write until it is written; return its request."""
        request = self.unrecorded.keep(work)
        self._wanted.set()
        return request

    def leave_request(self, request: PendingRequest) -> None:
        """Withdraw a request whose caller leaves, or reverse it if it turns out to be written."""
        request.left = True
        self._waiting.pop(request, None)  # it is not there once its batch has begun
        self.suspect_disk()
        if request.answered.is_set():  # in the instant between the cancel and its delivery
            self._end_unless_run(request)

    def suspect_disk(self) -> None:
        """Report the disk when a caller has waited longer than a lock can take."""
        if self.watch.since is not None and trio.current_time() - self.watch.since > LOCK_WAIT:
            self._report_trouble(self.silence)

    async def run(self) -> None:
        """Write waiting requests batch by batch until closing; then retry kept outcomes for a while, and close the
        file.
        """
        with self._committing:
            while not self.is_closing:
                await self._wait_until_wanted()
                self._wanted = trio.Event()
                while await self._do_batch() and (self._waiting or not self._trouble):
                    pass
            give_up = trio.current_time() + LEDGER_LAST_TRY
            while (self._waiting or self.unrecorded) and trio.current_time() < give_up:
                await self._do_batch()
                await trio.sleep(LEDGER_RETRY / 10 if self._trouble else 0)
            await self._run_sync(self.backend.close)
            self._closed = True
        self.stall.stop()

    async def _wait_until_wanted(self) -> None:
        """Wait for a request, or until it is time for the upkeep or for another try."""
        until = min(self._upkeep_at, self._try_again if self._trouble else inf)
        if until == inf:  # the usual case: a deadline costs as much as a statement
            await self._wanted.wait()
            return
        with trio.move_on_at(until):
            await self._wanted.wait()

    def _refuse_reads(self) -> None:
        """Fail the reads that wait while the disk stalls."""
        reads = [each for each in self._waiting if isinstance(each.what, ReadRequest)]
        self._waiting = {each: None for each in self._waiting if each not in reads}
        self._fail_requests([*self._reading, *reads], self.silence)

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
        batch = [*islice(self.unrecorded, LEDGER_BATCH), *islice(writes, LEDGER_BATCH)]
        if not batch and not self._trouble:
            return False
        await self._write_batch(batch)
        return bool(batch)

    async def _keep_up(self) -> None:
        try:
            trouble = await self.watch.run_call(partial(self.backend.keep_up, self._documents))
        except (OSError, RuntimeError) as error:  # a thread could not be started
            trouble = reason(error)
        self._upkeep_at = trio.current_time() + self.backend.upkeep_every
        if trouble and not self._trouble:
            self._try_again = trio.current_time() + LEDGER_RETRY
            self._report_trouble(trouble)

    async def _read_batch(self, batch: list[PendingRequest]) -> None:
        for request in batch:
            del self._waiting[request]
        works = [request.what.work for request in batch if isinstance(request.what, ReadRequest)]
        self._reading = batch
        self.stall.begin()
        try:
            answers: Sequence[Any] = await self.watch.run_call(partial(self.backend.read_each, works))
        except (OSError, RuntimeError) as error:  # a thread could not be started
            answers = [error] * len(batch)
        except trio.Cancelled:
            self._fail_requests(batch, CLOSED)
            raise
        finally:
            self._reading = []
            self.stall.end()
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
        self.unheard_before = None if self.follow is None else self.count_unheard_writes()
        self.stall.begin()
        try:
            report = await self.watch.run_call(partial(self.backend.commit, requests))
        except trio.Cancelled:
            self._fail_requests((request for request in batch if request not in self.unrecorded), CLOSED)
            raise
        except (OSError, RuntimeError) as error:  # a thread could not be started
            report = BatchReport(answers=[None] * len(batch), trouble=reason(error))
        finally:
            self.stall.end()
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
        elif self.follow is not None and isinstance(request.what, FunctionRequest):
            self._unknown += 1  # asked for before writes were followed, or an `undo`
        if request not in self.unrecorded:
            request.answer = answer
            self._end_unless_run(request)
        elif not trouble:
            self.unrecorded.remove(request)
            if fault and isinstance(request.what, OutcomeRequest):
                _log.error(
                    "outcome can never be recorded", suggestionId=request.what.suggestion_id, why=fault
                )
        else:
            request.error = ""  # the outcome is kept, as its caller asked
        request.answered.set()

    def _end_unless_run(self, request: PendingRequest) -> None:
        """Keep the reversals of a request that its caller left, or that failed after it had run."""
        for reversal in request.find_reversals(self.backend.clock):
            self.keep_outcome(reversal)

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
            _log.error(f"{self._contents.name} does not work", why=trouble, unrecorded=len(self.unrecorded))
        else:
            _log.warning(f"{self._contents.name} works again", unrecorded=len(self.unrecorded))
        self._report_to(trouble)

    def _log_unrecorded(self) -> None:
        if not self._closed:
            why = f"{self._contents.name} left open, because {self.silence}"
            _log.error(why, unrecorded=len(self.unrecorded))
        elif self.unrecorded:
            _log.error(
                f"{self._contents.name} closed with outcomes unrecorded", unrecorded=len(self.unrecorded)
            )
        self.unrecorded.log_and_clear()
