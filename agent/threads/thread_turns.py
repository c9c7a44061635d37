"""The turns of threads: beginning a turn in the rows, waiting for its reply, and cancelling it in any process.

Each turn begins in the rows, where only one can be in progress, and a process that finds turns of another one wakes the
thread anew. A turn is cancelled in its row too, even if another process runs it. From then on it can neither claim a
call nor answer, and its process ends it when a hint comes, or else at its next sweep, every `SWEEP_EVERY` seconds. A
call that is claimed and not begun stops by itself; cancelling and deleting wait for that, so that nothing begins after
their answer. The wait is at most `BEGIN_SURE` seconds, and as long for a call that runs in another process.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import structlog
import trio

from ..config import BEGIN_LOOK, BEGIN_SURE, RECORD_TIMEOUT
from ..errors import AgentError, Conflict, NotFound, StorageFailed, describe_error
from ..ports.calls import StoredCall
from ..ports.clock import Clock
from ..ports.decide import CallResult
from ..ports.hints import Hint
from ..ports.thread_service import Listener, Reply
from ..ports.threads import TurnOpening, TurnStart, TurnStep
from ..tools.results import format_outcome
from .awake_thread import AwakeThread
from .thread_registry import AwakeThreads, Stores
from .turn_rows import TurnWaiter

_log = structlog.get_logger("agent.threads")


class ThreadTurns:
    """The turns of the threads of one server. `stores` have the rows, `waking` the threads that are awake here."""

    def __init__(self, stores: Stores, waking: AwakeThreads, clock: Clock) -> None:
        self._stores = stores
        self._waking = waking
        self._clock = clock
        self._beginning: dict[tuple[str, str], trio.Event] = {}  # threads in which a turn is being begun

    @property
    def beginning(self) -> tuple[tuple[str, str], ...]:
        """The project and the id of each thread in which a turn is being begun."""
        return tuple(self._beginning)

    async def run_turn(
        self,
        opening: TurnOpening,
        begin: Callable[[AwakeThread, tuple[CallResult, ...]], TurnWaiter],
        listener: Listener | None,
    ) -> Reply:
        """Begin a turn and return its reply. Cancelled, the turn is cancelled too, and stored as such."""
        key = opening.project, opening.thread
        if key in self._beginning:
            raise Conflict("turn_in_progress")
        awake = self._waking.get(*key)
        opening = replace(opening, alone=awake is None or not awake.is_asking)
        begun: TurnStart | None = None
        self._beginning[key] = trio.Event()
        try:
            begun = await self._stores.threads.begin_turn(opening)
            # Another process has cancelled its turn, else this turn could not begin.
            await self.stop_turn(awake)
            awake = await self._waking.wake(
                opening.project, opening.thread, begun.thread, begun.thread.turn - 1
            )
            if awake.is_closed:  # the server has begun to go down meanwhile
                raise Conflict("shutting_down")
            waiter = begin(awake, tuple(result_of(each) for each in begun.ended))
        except BaseException as error:
            if begun is not None or not isinstance(error, AgentError):  # the message is stored, or may be
                self._abandon_message(opening)
            raise
        finally:
            self._beginning.pop(key).set()
        try:
            return await waiter.wait()
        finally:
            if not waiter.over.is_set() or isinstance(waiter.error, StorageFailed):
                awake.cancel(opening.id)
            if awake.is_closed and waiter.reply is None:
                self._abandon_message(opening)  # a session that broke, or was cut off, has stored no end
            awake.leave(listener)

    async def await_begin(self, project: str, thread: str) -> None:
        """Wait until a turn that is being begun in the thread, if any, has reached its session, which can end it."""
        while (project, thread) in self._beginning:
            await self._beginning[project, thread].wait()

    async def stop_turn(self, awake: AwakeThread | None) -> None:
        """Cancel the turn of an awake thread, if it has one, and wait until its frames are stored and told."""
        if awake is None:
            return
        if awake.message is not None:
            awake.cancel(awake.message)
        await awake.wait_until_stored()

    async def cancel_stored(self, project: str, thread: str, calls_of: AwakeThread | None = None) -> None:
        """Cancel a turn in the rows, and wait until no call of it can begin, at most `BEGIN_SURE` seconds.

        With `calls_of` cancel every call of that thread too, also an approved one.
        """
        calls = calls_of is not None
        cancellation = await self._stores.threads.cancel_turn(project, thread, self._clock.now_ms(), calls)
        if cancellation.ended or calls:  # a turn that ran here has ended before
            self._stores.hints.send(Hint("thread_cancelled", thread))
        claimed = cancellation.claimed
        if calls_of is not None:
            calls_of.cancel()  # calls that were approved, and claimed here, before the rows refused a claim
        with trio.move_on_after(BEGIN_SURE):
            while claimed:
                await trio.sleep(BEGIN_LOOK)
                with suppress(StorageFailed):  # a store that cannot be read: wait until the time is over
                    claimed = tuple([each for each in claimed if await self._is_claimed(project, each)])

    async def _is_claimed(self, project: str, call: str) -> bool:
        try:
            return (await self._stores.calls.call(project, call)).status == "claimed"
        except NotFound:
            return False

    def _abandon_message(self, opening: TurnOpening) -> None:
        """Mark a message as cancelled that may be stored without a turn."""
        self._waking.start(partial(self._store_cancelled, opening))

    async def _store_cancelled(self, opening: TurnOpening) -> None:
        step = TurnStep(
            project=opening.project,
            thread=opening.thread,
            message=opening.id,
            status="cancelled",
            at=self._clock.now_ms(),
        )
        with trio.move_on_after(RECORD_TIMEOUT, shield=True):  # also where the server goes down at once
            try:
                await self._stores.threads.record_step(step)
            except (NotFound, Conflict, StorageFailed) as error:
                _log.warning(
                    "cancelled message could not be stored; it stays pending until its thread wakes",
                    **describe_error(error),
                )


def result_of(call: StoredCall) -> CallResult:
    """Return the outcome of a call in the form that a turn's prompt has."""
    succeeded = call.status == "done"
    formatted = format_outcome(succeeded, call.result or {})
    return CallResult(
        call_id=call.id,
        tool=call.tool,
        arguments=call.arguments,
        ok=succeeded,
        lines=formatted.lines,
        cut=formatted.cut,
    )
