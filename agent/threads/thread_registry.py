"""The threads that are awake in this process: waking them, letting them sleep, and looks for decisions made elsewhere,
at each sweep and at a hint.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog
import trio

from ..actions.runner import Runner
from ..errors import Conflict, NotFound, StorageFailed, describe_error
from ..ports.calls import CallStore, OverdueCall, StoredCall
from ..ports.hints import NO_HINTS, Hints
from ..ports.projects import ProjectStore
from ..ports.threads import Thread, ThreadState, ThreadStore
from ..ports.tools import CheckerFactory
from ..protocol import inbound
from ..session.context import SessionContext
from ..session.events import FrameReceived, SuggestionExpired
from .awake_thread import AwakeThread
from .settings import ThreadSettings

THREADS_AWAKE = 1000
THREAD_WAKES_WITH = 64  # exchanges, of which the newest that fit are kept
SWEEP_EVERY = 1.0  # seconds between two looks for due work
HINTS_GATHER = 0.02  # seconds after a hint until the look, which is at all threads that were named meanwhile

_log = structlog.get_logger("agent.threads")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of threads and of their projects and calls. `used` returns whether anything may have been written.
    `hints` tell of changes by other processes.
    """

    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    used: Callable[[], bool] = lambda: True
    hints: Hints = NO_HINTS


class AwakeThreads:
    """The threads that are awake. Run it in a nursery; threads wake once that has started.

    `parts`, `runner` and `arguments` are those of `desk.ThreadDesk`.
    """

    def __init__(
        self,
        stores: Stores,
        parts: SessionContext,
        runner: Runner,
        settings: ThreadSettings,
        arguments: CheckerFactory | None,
    ) -> None:
        self._stores = stores
        self._parts = parts
        self._runner = runner
        self._settings = settings
        self._arguments = arguments
        self._awake: dict[tuple[str, str], AwakeThread] = {}
        self._named: set[str] = set()  # threads that hints have named
        self._hinted = trio.Event()
        self._one_at_a_time = trio.Lock()
        self._nursery: trio.Nursery | None = None

    def __len__(self) -> int:
        return len(self._awake)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the project and the id of each thread that is awake."""
        return iter(tuple(self._awake))

    async def run(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Keep threads awake and sweep them until cancelled; then end every thread."""
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            sweep_at = trio.current_time() + SWEEP_EVERY
            while True:
                with trio.move_on_at(sweep_at):
                    await self._hinted.wait()
                    await trio.sleep(HINTS_GATHER)
                self._hinted, named, self._named = trio.Event(), self._named, set()
                if trio.current_time() < sweep_at:
                    await self._end_cancelled(
                        [each for each in self._awake.values() if each.scope.thread in named]
                    )
                else:  # it looks at all of them
                    await self._sweep()
                    sweep_at = trio.current_time() + SWEEP_EVERY

    def hear_thread(self, id: str) -> None:
        """Look soon whether the turn of a thread was cancelled in its row, if it runs here."""
        if any(awake.scope.thread == id and awake.message is not None for awake in self._awake.values()):
            self._named.add(id)
            self._hinted.set()

    def get(self, project: str, thread: str) -> AwakeThread | None:
        """Return the `AwakeThread` if it is awake here, else `None`."""
        return self._awake.get((project, thread))

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` in the background; before `run` do nothing."""
        if self._nursery is not None:
            self._nursery.start_soon(work)

    async def run_to_end(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work` and return its result; `work` goes on when the caller is cancelled."""
        assert self._nursery is not None, "`ThreadDesk.run` has not started"
        finished = trio.Event()
        results: list[T] = []
        errors: list[Exception] = []

        async def run_work() -> None:
            try:
                results.append(await work())
            except Exception as error:  # noqa: BLE001 - raised in the caller, if it still waits
                errors.append(error)
            finally:
                finished.set()

        self._nursery.start_soon(run_work)
        await finished.wait()
        if errors:
            raise errors[0]
        return results[0]

    def tell_session(self, call: StoredCall, frame: inbound.Inbound) -> None:
        """Pass a decision about a call to the session of its thread, if that is awake."""
        awake = self.get(call.project, call.thread)
        if awake is not None:
            awake.post(FrameReceived(frame, trio.current_time()))

    async def wake(
        self, project: str, thread: str, known: Thread | None = None, turn: int | None = None
    ) -> AwakeThread:
        """Wake a thread, or wake it anew when its rows hold turns of another process.

        `turn`: how many turns have begun in it.
        """
        async with self._one_at_a_time:
            awake = self._awake.get((project, thread))
            if known is None:
                known = await self._stores.threads.thread(project, thread)
            expected = known.turn if turn is None else turn
            if awake is not None and not awake.over.is_set():
                awake.behind = awake.behind or awake.turn != expected
                if not awake.is_closed and not (awake.behind and awake.is_calm):
                    awake.turn = expected
                    return awake
                awake.sleep()  # another process has begun turns in it, or it is about to end
                await awake.over.wait()
            if len(self._awake) >= THREADS_AWAKE and not self._make_room():
                raise Conflict("too_many_threads")
            woken = ThreadState(known)
            if expected:
                woken = await self._stores.threads.load_state(project, thread, THREAD_WAKES_WITH)
            awake = AwakeThread(project, thread, known.user, expected)
            self._awake[project, thread] = awake
            assert self._nursery is not None, "`ThreadDesk.run` has not started"
            await self._nursery.start(self._keep_awake, awake, woken)
            return awake

    async def _keep_awake(
        self,
        awake: AwakeThread,
        woken: ThreadState,
        task_status: "trio.TaskStatus[AwakeThread]" = trio.TASK_STATUS_IGNORED,
    ) -> None:
        key = awake.scope.project, awake.scope.thread
        try:
            await awake.run(
                self._parts,
                self._runner,
                self._stores.threads,
                self._stores.calls,
                self._settings.approval_time,
                woken,
                self._arguments,
                task_status,
            )
        except Exception as error:  # noqa: BLE001 - the edge of one thread
            _log.error("thread broke", **describe_error(error))
        finally:
            if self._awake.get(key) is awake:
                del self._awake[key]

    def _make_room(self) -> bool:
        """Let the thread sleep that has been calm the longest; return `False` if none is calm."""
        calm = [each for each in self._awake.values() if each.is_calm]
        if calm:
            min(calm, key=lambda each: each.since).sleep()
        return bool(calm)

    async def end(self, project: str, thread: str) -> None:
        """End a thread that is about to be deleted; waiting tasks get `NotFound`."""
        awake = self._awake.get((project, thread))
        if awake is not None:
            awake.end(NotFound("the thread was deleted"))
            await awake.over.wait()

    async def _sweep(self) -> None:
        """Tell sessions about calls that have expired, end turns cancelled elsewhere, and let calm threads sleep."""
        due: tuple[OverdueCall, ...] = ()
        if self._stores.used():
            with suppress(StorageFailed):  # the next look is soon enough
                due = await self._stores.calls.expire_calls(self._parts.clock.now_ms())
        for each in due:
            awake = self._awake.get((each.project, each.thread))
            if awake is not None and each.status == "expired":
                awake.post(SuggestionExpired(each.call, trio.current_time()))
        await self._end_cancelled(self._awake.values())
        long_ago = trio.current_time() - self._settings.calm_time
        for awake in [each for each in self._awake.values() if each.since <= long_ago]:
            awake.sleep()

    async def _end_cancelled(self, looked_at: Iterable[AwakeThread]) -> None:
        """End those turns of some threads that another process has cancelled in their rows."""
        threads_by_message = {(awake.scope.project, awake.message): awake for awake in looked_at}
        messages = [(project, message) for project, message in threads_by_message if message is not None]
        if not messages:
            return
        with suppress(StorageFailed):  # the next look is soon enough
            for key in await self._stores.threads.cancelled_messages(messages):
                if threads_by_message[key].message == key[1]:
                    threads_by_message[key].cancel(key[1])
