"""Faults from outside: processes are stopped or killed, the disk is slow, silent or full.

Two tasks bring them about, one for the processes and one for the disk, so that faults of both meet. Each fault ends by
itself, and a calm follows. While a server starts the disk works: a start may refuse a full one.
"""

import errno
import signal
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Final

import trio

from .history import Event
from .records import Records
from .server import ServerProcess

_SETTLED: Final = 11.0  # seconds after which a worker's death counts as the first of a row
_IN_A_ROW: Final = 2  # deaths of workers that have not lived so long; after six the server ends, as it should


class Faults:
    """Brings about the faults of one run."""

    def __init__(self, server: ServerProcess, records: Records, seed: int) -> None:
        self._server = server
        self._records = records
        self._processes, self._disk = Random(f"{seed}/processes"), Random(f"{seed}/disk")
        self._starting = trio.Lock()
        self._quick_deaths = 0

    async def run(self) -> None:
        """Bring faults about until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._of_processes)
            nursery.start_soon(self._of_disk)

    async def restore_calm(self) -> None:
        """End every fault, and start the server where it is down. Raises TimeoutError where it does not start."""
        self._server.misbehave("sync", "")
        self._server.misbehave("write", "")
        if self._server.runs:
            self._server.signal([*self._server.find_workers(), self._server.pid], signal.SIGCONT)
        else:
            self._server.start()
        await self._server.wait_until_ready()

    async def _of_processes(self) -> None:
        kinds: dict[str, tuple[int, Callable[[], Awaitable[None]]]] = {
            "stop worker": (3, self._stop_worker),
            "stop worker for long": (1, self._stop_worker_for_long),
            "stop server": (1, self._stop_server),
            "kill worker": (2, self._kill_worker),
            "kill server": (1, self._kill_server),
            "kill supervisor": (1, self._kill_supervisor),
        }
        for kind in _draw_kinds(self._processes, {kind: times for kind, (times, _) in kinds.items()}):
            await trio.sleep(self._processes.uniform(0.5, 2.0))
            if not self._server.runs:
                self._records.wrong.append(f"the server has ended by itself: {self._server.read_log()}")
                await self._start()
            await self._record_fault(kind, kinds[kind][1])

    async def _of_disk(self) -> None:
        kinds = {"slow disk": self._slow_disk, "silent disk": self._silent_disk, "full disk": self._full_disk}
        for kind in _draw_kinds(self._disk, dict.fromkeys(kinds, 1)):
            await trio.sleep(self._disk.uniform(0.5, 4.0))
            await self._record_fault(kind, kinds[kind])

    async def _record_fault(self, kind: str, bring_about: Callable[[], Awaitable[None]]) -> None:
        began = trio.current_time()
        try:
            await bring_about()
        finally:
            self._records.faults.append(Event(kind, began, trio.current_time(), client="fault"))

    async def _start(self) -> None:
        async with self._starting:
            self._server.misbehave("sync", "")
            self._server.misbehave("write", "")
            self._quick_deaths = 0
            self._server.start()
            await self._server.wait_until_ready()

    # --- processes

    async def _stop_worker(self) -> None:
        await self._stop(self._draw_worker(), self._processes.uniform(0.3, 2.5))

    async def _stop_worker_for_long(self) -> None:
        """Stop a worker until the supervisor gives it no more connections."""
        await self._stop(self._draw_worker(), self._processes.uniform(5.5, 7.5))

    async def _stop_server(self) -> None:
        pids = [self._server.pid, *self._server.find_workers()]
        await self._stop(pids, self._processes.uniform(0.3, 2.0))

    async def _stop(self, pids: list[int], seconds: float) -> None:
        self._server.signal(pids, signal.SIGSTOP)
        try:
            await trio.sleep(seconds)
        finally:
            self._server.signal(pids, signal.SIGCONT)

    async def _kill_worker(self) -> None:
        drawn = self._draw_worker()
        quick = any(self._server.measure_age(pid) < _SETTLED for pid in drawn)
        if quick and self._quick_deaths >= _IN_A_ROW:
            return
        self._quick_deaths = self._quick_deaths + 1 if quick else 0
        self._server.signal(drawn, signal.SIGKILL)

    async def _kill_server(self) -> None:
        self._server.kill()
        await self._start()

    async def _kill_supervisor(self) -> None:
        """Kill the supervisor alone: its workers have to end by themselves, while another server starts."""
        self._server.kill(everything=False)
        await self._start()

    def _draw_worker(self) -> list[int]:
        """Return the process id of a worker; none where none runs."""
        workers = self._server.find_workers()
        return [self._processes.choice(workers)] if workers else []

    # --- the disk

    async def _slow_disk(self) -> None:
        await self._misbehave("sync", f"slow {self._disk.randint(30, 400)}", self._disk.uniform(1.0, 3.0))

    async def _silent_disk(self) -> None:
        """Let syncs hang, for longer than a request waits for them."""
        await self._misbehave("sync", "pause", self._disk.uniform(1.0, 4.5))

    async def _full_disk(self) -> None:
        await self._misbehave("write", f"fail {errno.ENOSPC}", self._disk.uniform(0.3, 3.0))

    async def _misbehave(self, kind: str, mode: str, seconds: float) -> None:
        async with self._starting:
            self._server.misbehave(kind, mode)
            try:
                await trio.sleep(seconds)
            finally:
                self._server.misbehave(kind, "")


def _draw_kinds(rng: Random, times: dict[str, int]) -> Iterator[str]:
    """Yield each kind so many times in a random order, again and again."""
    kinds = sorted(times)
    while True:
        yield from rng.sample(kinds, sum(times.values()), counts=[times[kind] for kind in kinds])
