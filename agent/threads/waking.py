"""Which threads are awake in this process: waking, sleeping, and a look now and then at what was decided elsewhere."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog
import trio

from ..actions.runner import Runner
from ..config import SWEEP_EVERY, THREAD_WAKES_WITH, THREADS_AWAKE
from ..errors import Conflict, NotFound, StorageFailed
from ..ports.calls import CallStore, Due, StoredCall
from ..ports.projects import ProjectStore
from ..ports.threads import Thread, ThreadStore, Woken
from ..ports.tools import Arguments
from ..protocol import inbound
from ..session.events import Expired, Received
from ..session.turn import Parts, where
from .awake import Awake
from .settings import ThreadSettings

_log = structlog.get_logger("agent.threads")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stores:
    """Where threads and what belongs to them are kept. used: whether anything was."""

    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    used: Callable[[], bool] = lambda: True


class Waking:
    """The threads that are awake. Run it in a nursery; threads wake once that has started.

    parts, runner, arguments: of their sessions, see `desk.ThreadDesk`.
    """

    def __init__(
        self,
        stores: Stores,
        parts: Parts,
        runner: Runner,
        settings: ThreadSettings,
        arguments: Arguments | None,
    ) -> None:
        self._stores = stores
        self._parts = parts
        self._runner = runner
        self._settings = settings
        self._arguments = arguments
        self._awake: dict[tuple[str, str], Awake] = {}
        self._one_at_a_time = trio.Lock()
        self._nursery: trio.Nursery | None = None

    def __len__(self) -> int:
        return len(self._awake)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the project and the id of each thread that is awake."""
        return iter(tuple(self._awake))

    async def run(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Keep threads awake, and look after what is due, until cancelled; then every thread ends."""
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            while True:
                await trio.sleep(SWEEP_EVERY)
                await self._sweep()

    def get(self, project: str, thread: str) -> Awake | None:
        """Return a thread, if it is awake here."""
        return self._awake.get((project, thread))

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do some work that nobody waits for; before this runs, nothing."""
        if self._nursery is not None:
            self._nursery.start_soon(work)

    async def see_through(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what some work returns; whoever waits may leave, and it is done all the same."""
        assert self._nursery is not None, "the desk is not running"
        done = trio.Event()
        came: list[T] = []
        went: list[Exception] = []

        async def see() -> None:
            try:
                came.append(await work())
            except Exception as error:  # noqa: BLE001 - told to who waits, if anybody still does
                went.append(error)
            finally:
                done.set()

        self._nursery.start_soon(see)
        await done.wait()
        if went:
            raise went[0]
        return came[0]

    def tell(self, call: StoredCall, frame: inbound.Inbound) -> None:
        """Tell the session of a call's thread what was decided, if it is awake."""
        awake = self.get(call.project, call.thread)
        if awake is not None:
            awake.post(Received(frame, trio.current_time()))

    async def wake(
        self, project: str, thread: str, known: Thread | None = None, turn: int | None = None
    ) -> Awake:
        """Return a thread, awake, as far as it has come in the rows. turn: how many turns it has behind it."""
        async with self._one_at_a_time:
            awake = self._awake.get((project, thread))
            if known is None:
                known = await self._stores.threads.thread(project, thread)
            expected = known.turn if turn is None else turn
            if awake is not None and not awake.over.is_set():
                awake.behind = awake.behind or awake.turn != expected
                if not awake.closed and not (awake.behind and awake.calm):
                    awake.turn = expected
                    return awake
                awake.sleep()  # others have begun turns meanwhile, or it is about to be over
                await awake.over.wait()
            if len(self._awake) >= THREADS_AWAKE and not self._make_room():
                raise Conflict("too_many_threads")
            woken = Woken(known)
            if expected:
                woken = await self._stores.threads.wake(project, thread, THREAD_WAKES_WITH)
            awake = Awake(project, thread, known.user, expected)
            self._awake[project, thread] = awake
            assert self._nursery is not None, "the desk is not running"
            await self._nursery.start(self._keep_awake, awake, woken)
            return awake

    async def _keep_awake(
        self, awake: Awake, woken: Woken, task_status: "trio.TaskStatus[Awake]" = trio.TASK_STATUS_IGNORED
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
            _log.error("thread broke", **where(error))
        finally:
            if self._awake.get(key) is awake:
                del self._awake[key]

    def _make_room(self) -> bool:
        """Let the thread sleep that has been calm the longest; False where none is."""
        calm = [each for each in self._awake.values() if each.calm]
        if calm:
            min(calm, key=lambda each: each.since).sleep()
        return bool(calm)

    async def end(self, project: str, thread: str) -> None:
        """End a thread that is to be deleted, whatever it does; who waits for it is told that it is not there."""
        awake = self._awake.get((project, thread))
        if awake is not None:
            awake.end(NotFound("the thread was deleted"))
            await awake.over.wait()

    async def _sweep(self) -> None:
        """Tell sessions what was decided elsewhere or by time, and let those sleep that were calm for a while."""
        due: tuple[Due, ...] = ()
        if self._stores.used():
            with suppress(StorageFailed):  # the next look is soon enough
                due = await self._stores.calls.due(self._parts.clock.now_ms())
        for each in due:
            awake = self._awake.get((each.project, each.thread))
            if awake is not None and each.status == "expired":
                awake.post(Expired(each.call, trio.current_time()))
        await self._end_cancelled()
        long_ago = trio.current_time() - self._settings.calm_time
        for awake in [each for each in self._awake.values() if each.since <= long_ago]:
            awake.sleep()

    async def _end_cancelled(self) -> None:
        """End the turns that another process has cancelled in their rows."""
        going = {(awake.scope.project, awake.message): awake for awake in self._awake.values()}
        named = [(project, message) for project, message in going if message is not None]
        if not named:
            return
        with suppress(StorageFailed):  # the next look is soon enough
            for key in await self._stores.threads.cancelled(named):
                if going[key].message == key[1]:
                    going[key].cancel(key[1])
