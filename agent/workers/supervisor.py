"""The supervisor: it listens, starts workers, hands connections on, and ends together with all workers.

However a worker ends, the supervisor waits for its process, and then starts it again, later each time (`revival.py`),
unless the server is ending. A worker that does not answer for a while gets no connections, and is killed if it stays
silent. Connections that no worker takes wait here, one of each listener, and the others in the kernel's queue.

A `Supervisor` has the same methods as a single server: `run`, `drain`, `stop`.
"""

import math
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import structlog
import trio

from ..config import (
    ACCEPTED_AT_ONCE,
    ACTION_TIMEOUT,
    CLOSE_TIMEOUT,
    DRAIN_TIMEOUT,
    FLUSH_TIMEOUT,
    RECORD_TIMEOUT,
)
from ..errors import AgentError, UsageError
from ..server.accept import BatchListener, open_listeners
from ..server.capacity import make_places
from ..server.metrics import Metrics
from ..settings import Settings
from .balance import Balance
from .channel import Channel
from .child import Child, Spawn, spawn_process
from .messages import (
    AliveProbe,
    BeginWork,
    ConnectionsEnded,
    DrainRequest,
    StartFailed,
    StopRequest,
    ToSupervisor,
    WorkerLeaving,
    WorkerReady,
    WorkerUp,
)
from .rates import make_rates
from .revival import Revival, Silence, State
from .settings import pack_settings
from .supervisor_desk import SupervisorDesk

WORKER_START = 60.0  # until a worker accepts connections
WORKER_FULL = 0.01  # until the next try, when no worker takes a connection
WORKER_END = 10.0  # for a worker that was told to end at once, before it is killed
WORKER_PROBE = 1.0  # between two questions to a worker whether it is alive

_log = structlog.get_logger("agent.workers")
# The sum of a worker's own deadlines.
_DRAIN_SECONDS = (
    DRAIN_TIMEOUT + CLOSE_TIMEOUT + FLUSH_TIMEOUT + 2 * ACTION_TIMEOUT + 2 * RECORD_TIMEOUT + WORKER_END
)
_REMEDIES = {"silent": "it gets no connections until it does", "lost": "it is killed"}
Connection: TypeAlias = trio.socket.SocketType | socket.socket


class WorkerDied(AgentError):
    """A worker died at once, over and over; the message is one line with the remedy."""


class _RunningWorker:
    """A worker whose process runs. `channel_ended`: no further message comes from it."""

    def __init__(self, child: Child, channel: Channel[ToSupervisor]) -> None:
        self.child = child
        self.channel = channel
        self.up = trio.Event()
        self.channel_ended = trio.Event()
        self.silence = Silence()
        self.start_error = ""


async def _spawn_numbered(rates: int, _: int) -> Child:
    """Start the process of a worker. `rates`: the file descriptor of the shared rates."""
    return await spawn_process(rates)


class Supervisor:
    """One server of several workers. `run` it in a nursery; it is ready when that has started.

    `spawn` starts the worker with a number; `None` starts processes.
    """

    def __init__(self, settings: Settings, spawn: Spawn | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.port = settings.server.port
        self.unread = ""  # a worker knows this, and logs it
        self._spawn = spawn
        self._balance = Balance()
        self._workers: dict[int, _RunningWorker] = {}
        self._unready = set(range(1, settings.server.workers + 1))  # workers that have not read all documents
        self._all_up = trio.Event()
        self._all_ready = trio.Event()
        self._is_started = False
        self._fatal_error: AgentError | None = None
        self._drain = trio.Event()
        self._accepting = trio.CancelScope()
        self._returned_sender, self._returned = trio.open_memory_channel[socket.socket](math.inf)
        self._end_scope = trio.CancelScope()  # around the workers; its deadline kills them

    async def run(self, task_status: "trio.TaskStatus[Supervisor]" = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until drained or stopped. `task_status` gets the supervisor once every worker accepts connections.

        Raises `UsageError` when the port cannot be used, or a worker's first start names another mistake of the
        operator. Raises `WorkerDied`, after a drain, when a worker dies over and over. Each comes in an
        `ExceptionGroup`. Cancelled, every worker is killed.
        """
        listeners = await open_listeners(self.settings.server)
        self.port = int(listeners[0].socket.getsockname()[1])
        rates = -1 if self._spawn is not None else make_rates()
        spawn: Spawn = self._spawn or partial(_spawn_numbered, rates)
        try:
            async with trio.open_nursery() as nursery:
                places = make_places(
                    self.settings.server.max_connections, self.settings.server.max_per_address
                )
                desk = SupervisorDesk(places, self.metrics, nursery)
                with self._end_scope:
                    async with trio.open_nursery() as workers:
                        for number in range(1, self.settings.server.workers + 1):
                            workers.start_soon(self._keep_running, number, spawn, desk)
                        await self._all_up.wait()
                        self._is_started = True
                        task_status.started(self)
                        await self._accept_all(listeners)
                if self._fatal_error is not None:
                    raise self._fatal_error
                if self._end_scope.cancelled_caught:
                    _log.warning("workers killed", why="they did not end in time")
                nursery.cancel_scope.cancel()
        finally:
            for listener in listeners:
                listener.socket.close()
            if rates >= 0:
                os.close(rates)

    async def ready(self) -> None:
        """Wait until every worker has read the documents."""
        await self._all_ready.wait()

    def drain(self) -> None:
        """Begin to end: accept no new connections, let current work end. Idempotent, never blocks."""
        if not self._drain.is_set():
            self._drain.set()
            self._accepting.cancel()
            self._all_up.set()  # `run` must not wait for more workers
            self._end_scope.deadline = trio.current_time() + _DRAIN_SECONDS
            self._tell_all(DrainRequest())

    def stop(self) -> None:
        """End at once. Idempotent, never blocks."""
        self.drain()
        self._tell_all(StopRequest())
        self._end_scope.deadline = min(self._end_scope.deadline, trio.current_time() + WORKER_END)

    # --- connections

    async def _accept_all(self, listeners: Sequence[trio.SocketListener]) -> None:
        """Accept connections until the drain; then the port is free."""
        with self._accepting:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._give_returned)
                for listener in listeners:
                    nursery.start_soon(self._accept_from, listener)

    async def _accept_from(self, listener: trio.SocketListener) -> None:
        """Accept the connections of one listener, one after the other, until cancelled."""
        batches = BatchListener(listener, lambda: ACCEPTED_AT_ONCE, lambda: None)
        try:
            while True:
                try:
                    stream = await batches.accept()
                except OSError as error:  # no file descriptor is left, or the connection is gone
                    _log.error("connection not accepted", why=error.strerror)
                    await trio.sleep(WORKER_FULL)
                    continue
                try:
                    await self.give_connection(stream.socket)
                finally:
                    stream.socket.close()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_TIMEOUT):
                await batches.aclose()

    async def give_connection(self, connection: Connection) -> None:
        """Give a connection to the first worker that takes it, as soon as one does."""
        while True:
            if self._offer_connection(connection):
                return
            await trio.sleep(WORKER_FULL)

    def _offer_connection(self, connection: Connection) -> bool:
        """Offer a connection to the workers, in the order of `Balance`; return whether one took it."""
        for number in self._balance.order():
            if self._workers[number].child.give(connection):  # type: ignore[arg-type]
                self._balance.count_given(number)
                return True
        return False

    def _take_back_connections(self, number: int, child: Child) -> None:
        """Take back the connections that a worker has not taken; during a drain close them.

        There are as many as fit into its socket's buffer, some hundreds.
        """
        while (connection := child.take_back()) is not None:
            self._balance.count_ended(number, 1)
            if self._drain.is_set():
                connection.close()
            else:
                self._returned_sender.send_nowait(connection)

    async def _give_returned(self) -> None:
        """Give connections that were taken back to other workers."""
        try:
            async for connection in self._returned:
                try:
                    await self.give_connection(connection)
                finally:
                    connection.close()
        finally:
            with suppress(trio.WouldBlock):
                while True:
                    self._returned.receive_nowait().close()

    # --- workers

    async def _keep_running(self, number: int, spawn: Spawn, desk: SupervisorDesk) -> None:
        """Run a worker, and after its death the next in its place."""
        revival = Revival()
        while not self._drain.is_set():
            began = trio.current_time()
            how = await self._run_worker(number, spawn, desk)
            if self._drain.is_set():
                return
            pause = revival.count_death(trio.current_time() - began)
            self.metrics.count("worker_deaths")
            if pause is None:
                self._end_with_error(
                    WorkerDied(f"worker {number} ended at once, over and over ({how}): its log lines say why")
                )
                return
            _log.error("worker died", worker=number, how=how, again_in=pause)
            with trio.move_on_after(pause):
                await self._drain.wait()

    def _end_with_error(self, error: AgentError) -> None:
        """End the server with the first such error; current clients are served to the end."""
        self._fatal_error = self._fatal_error or error
        if self._is_started:
            self.drain()
        else:
            self._end_scope.cancel()

    async def _run_worker(self, number: int, spawn: Spawn, desk: SupervisorDesk) -> str:
        """Run a worker until its process has ended; return how it ended."""
        try:
            child = await spawn(number)
        except OSError as error:
            return f"it could not be started: {error.strerror}"
        channel: Channel[ToSupervisor] = Channel(child.stream, ToSupervisor)
        worker = self._workers[number] = _RunningWorker(child, channel)
        try:
            desk.add_worker(number, channel.send)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.write)
                nursery.start_soon(self._handle_messages, number, worker, desk)
                nursery.start_soon(self._await_start, worker)
                nursery.start_soon(self._probe_worker, number, worker)
                count, settings = self.settings.server.workers, pack_settings(self.settings)
                channel.send(BeginWork(number, count, self.port, settings))
                if self._drain.is_set():
                    channel.send(DrainRequest())
                status = await child.wait()
                with trio.move_on_after(WORKER_END):
                    await worker.channel_ended.wait()
                nursery.cancel_scope.cancel()
            self._take_back_connections(number, child)
        finally:
            del self._workers[number]
            self._balance.remove_worker(number)
            desk.remove_worker(number)
            child.kill()
            with trio.CancelScope(shield=True, deadline=trio.current_time() + WORKER_END):
                await child.wait()
            child.close()
        if worker.start_error and not self._is_started:
            self._end_with_error(UsageError(worker.start_error))
        return worker.start_error or (f"signal {-status}" if status < 0 else f"exit status {status}")

    async def _await_start(self, worker: _RunningWorker) -> None:
        """Kill a worker that does not come up within `WORKER_START` seconds."""
        with trio.move_on_after(WORKER_START) as late:
            await worker.up.wait()
        if late.cancelled_caught:
            worker.child.kill()

    async def _probe_worker(self, number: int, worker: _RunningWorker) -> None:
        """Probe a worker again and again; a silent one loses its waiting connections, a lost one is killed."""
        state: State = "alive"
        while state != "lost":
            await trio.sleep(WORKER_PROBE)
            before, state = state, worker.silence.ask(self._drain.is_set())
            if state == "silent":
                self._balance.pause_worker(number)
                self._take_back_connections(number, worker.child)
            if state not in ("alive", before):
                _log.error(f"worker {state}", worker=number, why="it does not answer", then=_REMEDIES[state])
            worker.channel.send(AliveProbe())
        worker.child.kill()

    async def _handle_messages(self, number: int, worker: _RunningWorker, desk: SupervisorDesk) -> None:
        """Handle the messages of a worker until none come; then it has `WORKER_END` seconds to end."""
        while (message := await worker.channel.receive()) is not None:
            worker.silence.hear()
            self._balance.resume_worker(number)
            match message:
                case WorkerUp():
                    self._balance.add_worker(number)
                    worker.up.set()
                    self._check_workers()
                case WorkerReady():
                    self._balance.mark_ready(number)
                    self._unready.discard(number)
                    self._check_workers()
                case WorkerLeaving():
                    worker.silence.leave()
                    self._take_back_connections(number, worker.child)
                    self._balance.remove_worker(number)
                case StartFailed(words=words):
                    worker.start_error = words
                case ConnectionsEnded(count=count):
                    self._balance.count_ended(number, count)
                case _:
                    desk.hear(number, message)
        worker.channel_ended.set()
        self._balance.remove_worker(number)
        await trio.sleep(WORKER_END)
        worker.child.kill()

    def _check_workers(self) -> None:
        """Set `_all_up` and `_all_ready` once all workers are up, or ready."""
        if len(self._workers) == self.settings.server.workers and all(
            each.up.is_set() for each in self._workers.values()
        ):
            self._all_up.set()
        if not self._unready:
            self._all_ready.set()

    def _tell_all(self, message: DrainRequest | StopRequest) -> None:
        """Send `message` to every worker."""
        for worker in self._workers.values():
            worker.channel.send(message)
