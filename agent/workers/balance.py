"""The choice of the worker that gets the next connection. Pure: it counts, and knows no process and no socket."""

from dataclasses import dataclass


@dataclass(slots=True)
class _WorkerLoad:
    """The load of a worker. `last` is when it got its latest connection, counted in connections."""

    connections: int = 0
    ready: bool = False
    silent: bool = False
    last: int = 0


class Balance:
    """The number of connections of each worker.

    A worker that can answer goes before one that still reads its documents; then comes the worker with the fewest
    connections, then the one whose latest connection is oldest. A silent worker gets none.
    """

    def __init__(self) -> None:
        self._loads: dict[int, _WorkerLoad] = {}
        self._given = 0

    def add_worker(self, worker: int) -> None:
        """Count a worker in, which accepts connections and has none."""
        self._loads[worker] = _WorkerLoad()

    def mark_ready(self, worker: int) -> None:
        """Note that a worker can answer; one that has left cannot."""
        if worker in self._loads:
            self._loads[worker].ready = True

    def pause_worker(self, worker: int) -> None:
        """Offer a worker nothing until it is heard again; it keeps what it has. Idempotent."""
        if worker in self._loads:
            self._loads[worker].silent = True

    def resume_worker(self, worker: int) -> None:
        """Offer a worker connections again. Idempotent."""
        if worker in self._loads:
            self._loads[worker].silent = False

    def remove_worker(self, worker: int) -> None:
        """Count a worker out, with all that it has. Idempotent."""
        self._loads.pop(worker, None)

    def order(self) -> list[int]:
        """Return the workers in the order in which they should be offered the next connection."""
        return sorted((worker for worker, load in self._loads.items() if not load.silent), key=self._rank)

    def count_given(self, worker: int) -> None:
        """Note that a worker has taken a connection."""
        self._given += 1
        self._loads[worker].connections += 1
        self._loads[worker].last = self._given

    def count_ended(self, worker: int, count: int) -> None:
        """Note that `count` connections of a worker have ended; one that has left has none."""
        load = self._loads.get(worker)
        if load is not None:
            load.connections = max(0, load.connections - count)

    def _rank(self, worker: int) -> tuple[bool, int, int, int]:
        load = self._loads[worker]
        return not load.ready, load.connections, load.last, worker
