"""One SQLite file, or a database of memory, for many callers: for several processes of one machine, over restarts.

There is one connection, and it is blocking work: a disk may take a millisecond to sync, or a minute. So nobody uses it
but one task, the committer. Callers queue what they want and wait for an answer; the committer takes all that waits,
has it written in one transaction (file.py) through the injected `run_sync`, and answers each. What waits at the same
time has no order: whoever needs one waits for the first answer before asking for the second.

| a caller leaves (a deadline, a cancel) | what becomes of it |
| --- | --- |
| a write or a read, before its batch began | it is withdrawn: nothing happened |
| a claim, while its batch is written | when it turns out won, the row is recorded cancelled: it never ran |
| another write, while its batch is written | it is done whole, or not at all |
| a record, at any time | it stays, and is written |

A caller that gives up on a disk that does not answer (watch.py) leaves too, with an error; what it wrote that has an
`undo` is undone when it turns out to be written: nothing of it begins later.

So nobody waits longer than its own deadline, and the thread that holds the connection is never abandoned before the
database closes. A write is answered when its commit is on disk and the files are still to be trusted, not before.

An outcome is kept until it is written. When the file does not work (locked, full, gone, damaged, hanging) writes fail,
outcomes are kept and tried again every LEDGER_RETRY seconds, and `told` hears why, and hears "" when it works again;
with that many outcomes kept nothing more is claimed. Closing tries once more for a short time, then says in the log
what is still unrecorded: those rows stay claimed, and the next to open calls them unknown (settle.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import structlog
import trio

from ..config import (
    LEDGER_BATCH,
    LEDGER_CLOSE_TIMEOUT,
    LEDGER_LAST_TRY,
    LEDGER_READS,
    LEDGER_RETRY,
    LEDGER_UNRECORDED,
    LEDGER_WAITING,
)
from ..errors import AgentError, StorageFailed, UsageError
from ..ports.clock import Clock
from ..ports.observe import Observer
from ..ports.work import RunSync
from .asked import Asked, Late
from .contents import Contents
from .file import FAULTS, LOCK_WAIT, DatabaseFile, Report, Request, reason
from .ledger import LEDGER
from .rows import Claim, Record
from .stall import StallWatch
from .transaction import Read, Reading, Write, Writing
from .watch import DiskWatch

_log = structlog.get_logger("agent.storage")
_CANCELLED: Mapping[str, Any] = {"cancelled": True}
_SILENT = "its disk does not answer"
_CLOSED = "it is closed"
_NAMED = 100  # outcomes that the log names one by one when they could not be written

T = TypeVar("T")


class Database:
    """What is kept in the folder `data`, or with None in a database of memory that ends with this object.

    Open it with `async with`, in the task that closes it. Every method raises `agent.errors.StorageFailed` when the
    database cannot do it.

    run_sync: does the blocking work. clock: stamps rows that nobody else does. observer: keeps the level
    `actions_unrecorded`. told: hears why nothing can be claimed, and "" when it can again; never blocks.
    contents: what it holds; only a ledger has claims and outcomes. beside: another one of this process has it open.
    impatient: reads are refused for as long as its disk stalls.
    """

    def __init__(
        self,
        data: Path | None,
        run_sync: RunSync,
        clock: Clock,
        observer: Observer | None = None,
        told: Callable[[str], None] = lambda _: None,
        contents: Contents = LEDGER,
        beside: bool = False,
        impatient: bool = False,
    ) -> None:
        self._impatient = impatient
        self._reading: list[Asked] = []  # that are being read
        self._data = data
        self._contents = contents
        self._run_sync = run_sync
        self._watch = DiskWatch(run_sync)
        self._clock = clock
        self._observer = observer
        self._told = told
        self._file = DatabaseFile(data, clock, contents, beside)
        self._stall = StallWatch(self._file.progress, self._refuse_reads if impatient else None)
        self._waiting: dict[Asked, None] = {}  # writes and reads, in their order
        self._unrecorded: dict[Asked, None] = {}  # outcomes, in their order
        self._wanted = trio.Event()
        self._trouble = ""
        self._try_again = 0.0  # when a file that does not work is tried
        self._closing = False
        self._closed = False
        self._tasks = AsyncExitStack()
        self._committing = trio.CancelScope(shield=True, deadline=inf)  # which is set when it closes

    async def __aenter__(self) -> "Database":
        """Open the file and settle what dead processes left; raises UsageError when the folder cannot be used."""
        try:
            await self._run_sync(self._file.open)
        except FAULTS as error:
            raise UsageError(self._contents.unusable.format(data=self._data, why=reason(error))) from None
        nursery = await self._tasks.enter_async_context(trio.open_nursery())
        nursery.start_soon(self._commit)
        nursery.start_soon(self._stall.run)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is kept, close the file, and say what could not be written: within LEDGER_CLOSE_TIMEOUT.

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
            self._refuse([*self._waiting], _CLOSED)
            self._say_what_is_open()

    @property
    def stalled(self) -> bool:
        """Whether its thread stands still at something."""
        return self._stall.stalled

    async def read(self, work: Read[T], late: Late | None = None) -> T:
        """Return what `work` returns of one state of the database, in which it writes nothing.

        What it raises of `agent.errors` is raised. Cancelled, at once. late: see `write`.
        """
        if self.stalled and self._impatient:
            raise self._failed(_SILENT)
        answer: T = await self._ask(Asked(Reading(work)), late)
        return answer

    async def write(self, work: Write[T], undo: Write[object] | None = None, late: Late | None = None) -> T:
        """Return what `work` returns, once what it wrote is on disk.

        What it raises of `agent.errors` is raised, and nothing of it is written. Cancelled, at once; it is then written
        whole or not at all. undo: undoes it, where it was written after its caller had given up. late: is called
        when the disk does not answer, once, and the caller waits on; without it that is raised.
        """
        answer: T = await self._ask(Asked(Writing(work), undo and Writing(undo)), late)
        return answer

    async def keep(self, work: Write[object]) -> None:
        """Write something, as an outcome is written: when the file works, whoever waits for it."""
        await self._keep_until_written(Writing(work))

    async def claim(self, claim: Claim) -> bool:
        """Write a claim; True for exactly one of an id, in any process.

        Cancelled, nothing was claimed, or the row is recorded cancelled when it turns out to have been made.
        """
        if len(self._unrecorded) >= LEDGER_UNRECORDED:
            raise self._failed("too many outcomes wait to be recorded")
        return bool(await self._ask(Asked(claim), None))

    async def record(self, record: Record) -> None:
        """Write an outcome.

        Returns when it is on disk or, when the file does not work, as soon as it is kept to be written when it
        does. Cancelled, it is kept too. What ended more than TOMBSTONE_SECONDS before is forgotten.
        """
        await self._keep_until_written(record)

    # --- callers

    async def _keep_until_written(self, what: Request) -> None:
        if len(self._unrecorded) >= 2 * LEDGER_UNRECORDED:  # what was claimed within the limit has its place
            raise self._failed("too many outcomes wait to be recorded")
        if self._closing:
            raise self._failed(_CLOSED)
        asked = self._keep(what)
        if self._trouble:
            await trio.lowlevel.checkpoint()
            return
        try:
            if not await self._watch.outlast(asked.answered, self._contents.patience):
                self._suspect()
        except trio.Cancelled:
            self._suspect()
            raise
        if asked.error:
            raise self._failed(asked.error)

    async def _ask(self, asked: Asked, late: Late | None) -> Any:
        """Wait for an answer; a caller that is cancelled, or gives up, leaves."""
        if self._closing:
            raise self._failed(_CLOSED)
        if len(self._waiting) >= LEDGER_WAITING:
            raise self._failed("too many wait for it")
        self._waiting[asked] = None
        self._wanted.set()
        try:
            asked.given_up = not await self._watch.outlast(asked.answered, self._contents.patience)
            if asked.given_up and late is not None:
                asked.given_up = False
                late()
                await asked.answered.wait()
        except trio.Cancelled:
            self._leave(asked)
            raise
        if asked.given_up:
            self._leave(asked)
            raise self._failed(_SILENT)
        if asked.error:
            raise self._failed(asked.error)
        if asked.refused is not None:
            raise asked.refused
        return asked.answer

    def _failed(self, why: str) -> StorageFailed:
        return StorageFailed(f"the {self._contents.name}: {why}")

    def _leave(self, asked: Asked) -> None:
        asked.left = True
        self._waiting.pop(asked, None)  # where it is not, its batch has begun
        self._suspect()
        if asked.answered.is_set():  # in the instant between the cancel and its delivery
            self._end_unless_run(asked)

    def _suspect(self) -> None:
        """Somebody waits no more: was it for a disk that hangs?"""
        if self._watch.since is not None and trio.current_time() - self._watch.since > LOCK_WAIT:
            self._tell(_SILENT)

    def _keep(self, what: Request) -> Asked:
        asked = Asked(what)
        self._unrecorded[asked] = None
        self._level(1)
        self._wanted.set()
        return asked

    # --- the committer

    async def _commit(self) -> None:
        """Write what waits, batch by batch, until it closes; then what is kept, for a while; then close."""
        with self._committing:
            while not self._closing:
                if self._trouble:
                    with trio.move_on_at(self._try_again):
                        await self._wanted.wait()
                else:
                    await self._wanted.wait()
                self._wanted = trio.Event()
                while await self._batch() and (self._waiting or not self._trouble):
                    pass
            give_up = trio.current_time() + LEDGER_LAST_TRY
            while (self._waiting or self._unrecorded) and trio.current_time() < give_up:
                await self._batch()
                await trio.sleep(LEDGER_RETRY / 10 if self._trouble else 0)
            await self._run_sync(self._file.close)
            self._closed = True
        self._stall.stop()

    def _refuse_reads(self) -> None:
        """Answer who reads from a disk that stalls."""
        reads = [each for each in self._waiting if isinstance(each.what, Reading)]
        self._waiting = {each: None for each in self._waiting if each not in reads}
        self._refuse([*self._reading, *reads], _SILENT)

    async def _batch(self) -> bool:
        """Do what waits, or try a file that did not work; False when there was nothing to do."""
        first = next(iter(self._waiting), None)
        overdue = self._trouble and trio.current_time() >= self._try_again  # however much is read meanwhile
        if first is not None and isinstance(first.what, Reading) and not overdue:
            reads = (asked for asked in self._waiting if isinstance(asked.what, Reading))
            await self._read([*islice(reads, LEDGER_READS)])
            return True
        writes = (asked for asked in self._waiting if not isinstance(asked.what, Reading))
        batch = [*islice(self._unrecorded, LEDGER_BATCH), *islice(writes, LEDGER_BATCH)]
        if not batch and not self._trouble:
            return False
        await self._write(batch)
        return bool(batch)

    async def _read(self, batch: list[Asked]) -> None:
        for asked in batch:
            del self._waiting[asked]
        works = [asked.what.work for asked in batch if isinstance(asked.what, Reading)]
        self._reading = batch
        self._stall.begin()
        try:
            answers: Sequence[Any] = await self._watch.do(partial(self._file.read_each, works))
        except (OSError, RuntimeError) as error:  # a thread could not be started
            answers = [error] * len(batch)
        except trio.Cancelled:
            self._refuse(batch, _CLOSED)
            raise
        finally:
            self._reading = []
            self._stall.end()
        for asked, answer in zip(batch, answers, strict=True):
            if isinstance(answer, AgentError):
                asked.refused = answer
            elif isinstance(answer, Exception):
                asked.error = reason(answer)
            else:
                asked.answer = answer
            asked.answered.set()

    async def _write(self, batch: list[Asked]) -> None:
        for asked in batch:
            self._waiting.pop(asked, None)
        requests = [asked.what for asked in batch if not isinstance(asked.what, Reading)]
        self._stall.begin()
        try:
            report = await self._watch.do(partial(self._file.commit, requests))
        except trio.Cancelled:
            self._refuse((asked for asked in batch if asked not in self._unrecorded), _CLOSED)
            raise
        except (OSError, RuntimeError) as error:  # a thread could not be started
            report = Report([None] * len(batch), trouble=reason(error))
        finally:
            self._stall.end()
        for place, asked in enumerate(batch):
            asked.refused = report.refused.get(place)
            self._settle(asked, report.answers[place], report.faults.get(place, ""), report.trouble)
        self._try_again = trio.current_time() + LEDGER_RETRY
        self._tell(report.trouble)

    def _settle(self, asked: Asked, answer: Any, fault: str, trouble: str) -> None:
        """Answer one of a batch; what is kept and was not written stays."""
        asked.error = fault or trouble
        if asked not in self._unrecorded:
            asked.answer = answer
            self._end_unless_run(asked)
        elif not trouble:
            del self._unrecorded[asked]
            self._level(-1)
            if fault and isinstance(asked.what, Record):
                _log.error("outcome can never be recorded", suggestionId=asked.what.suggestion_id, why=fault)
        else:
            asked.error = ""  # it is kept, which is what was asked for
        asked.answered.set()

    def _end_unless_run(self, asked: Asked) -> None:
        """Keep an end for the row that a claim may have made for which nobody waits, or that is not won; or an undo."""
        if asked.given_up and asked.undo is not None and asked.refused is None:
            self._keep(asked.undo)
        if isinstance(asked.what, Claim) and asked.answer and (asked.left or asked.error):
            claim, now = asked.what, self._clock.now_ms()
            self._keep(Record(claim.suggestion_id, "cancelled", _CANCELLED, now, claim.attempt))

    def _refuse(self, asked: Iterable[Asked], why: str) -> None:
        for each in asked:
            each.error = why
            each.answered.set()

    def _tell(self, trouble: str) -> None:
        """Say it once when something begins to go wrong, becomes another thing, or is over."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            _log.error(f"{self._contents.name} does not work", why=trouble, unrecorded=len(self._unrecorded))
        else:
            _log.warning(f"{self._contents.name} works again", unrecorded=len(self._unrecorded))
        self._told(trouble)

    def _say_what_is_open(self) -> None:
        if not self._closed:
            why = f"{self._contents.name} left open, because its disk does not answer"
            _log.error(why, unrecorded=len(self._unrecorded))
        elif self._unrecorded:
            _log.error(
                f"{self._contents.name} closed with outcomes unrecorded", unrecorded=len(self._unrecorded)
            )
        outcomes = (asked.what for asked in self._unrecorded if isinstance(asked.what, Record))
        for record in islice(outcomes, _NAMED):
            _log.error("outcome not recorded", suggestionId=record.suggestion_id, status=record.status)
        self._level(-len(self._unrecorded))
        self._unrecorded.clear()

    def _level(self, change: int) -> None:
        if self._observer is not None and change:
            self._observer.gauge("actions_unrecorded", change)
