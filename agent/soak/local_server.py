"""A server to soak from the inside: on a real loopback port, in this process, and measured while it runs.

The server is the whole one (its sniffer, sessions, mock model, live knowledge base, tools, webhook and storage) with
an observer of ours, `Stopwatch`, which keeps each cancel's exact time. Its data is on a disk that is made slow
(`SlowDisk`). Without data it has a ledger alone, in memory, small and full from the start, so that remembering, which
is bounded, does not look like leaking.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

import trio

from ..app import App
from ..compose.adapters import Adapters
from ..config import MEMORY
from ..host import WallClock, WorkerThreads, find_function_name
from ..ports.work import RunSync
from ..server.metrics import Metrics
from ..settings import Settings
from ..storage.memory_ledger import MemoryLedger
from ..storage.open import open_store
from .census import count_tasks
from .figures import Histogram
from .tools import write_file
from .users import QUESTIONS
from .voices import VOICES_MAX, write_script

HALLUCINATED = 0.2  # the share of drafts with an invented number
MODEL_DELAY_MS = 1.0  # before each piece of a draft, so that there is a draft to cancel
LEDGER_ROWS = 128
AT_ONCE = 3  # requests of one user over HTTP, and some whose client has left
CONFIRM_TIME = 30.0  # seconds in which a suggestion can be confirmed: a run of a minute sees some expire
CALM = 1.0  # seconds after which a thread sleeps; the last census waits until all threads sleep
LEASE = 10.0  # seconds in which a caller reports, so that some do not
SETTLED = 15.0  # seconds in which everything of clients that have left must be gone
# The share of a slow disk's pieces of work that take so many times longer than the others.
HICCUPS = (0.01, 25.0)
# Reads are not slowed: their pages are cached. Importing `storage` for the name costs 0.2 s.
READING = "DatabaseFile.read_each"
OF_THREADS = "agent.threads."  # tasks; one of them stores a thread's frames before they are sent
T = TypeVar("T")


class Stopwatch(Metrics):
    """The server's figures, and the duration of every cancel, in seconds.

    It runs from the frame decoded to the `stream_end` handed to the stream. `kept`: the cancels of threads, which
    report only after the cancel is on the disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self.cancels = Histogram()
        self.kept = Histogram()
        self.blind_until = 0.0  # a census stops the loop; its delays are not the server's

    def measure(self, metric: str, seconds: float) -> None:
        """Record a duration, and add a cancel's duration to its histogram."""
        super().measure(metric, seconds)
        if metric == "cancel_seconds" and trio.current_time() > self.blind_until:
            of_thread = trio.lowlevel.current_task().name.startswith(OF_THREADS)
            (self.kept if of_thread else self.cancels).add(seconds)


class SlowDisk:
    """Blocking work on a disk that is slow to sync (implements `agent.ports.work.RunSync`).

    Each piece of work but reading, in its thread, takes `seconds` longer, and a hundredth of them 25 times that.
    """

    def __init__(self, run_sync: RunSync, seconds: float, seed: int) -> None:
        self._run_sync = run_sync
        self._seconds = seconds
        self._rng = Random(f"{seed}/disk")

    async def __call__(self, function: Callable[[], T]) -> T:
        """Run `function` later and return its result; raises and cancels like the `run_sync` that is slowed down."""
        if find_function_name(function) == READING:
            return await self._run_sync(function)
        share, times = HICCUPS
        seconds = self._seconds * (times if self._rng.random() < share else 1)

        def slowly() -> T:
            try:
                return function()
            finally:
                time.sleep(seconds)

        return await self._run_sync(slowly)


@dataclass(frozen=True)
class SoakedServer:
    """A server in this process, with its instruments.

    `tasks`: the number of tasks before its first client. `over`: set when it has gone down and its ledger is closed.
    """

    app: App
    stopwatch: Stopwatch
    tasks: int
    over: trio.Event

    async def idle(self) -> bool:
        """Wait until no session, timer, action or task of a client is left.

        Returns `False` when some are left after `SETTLED` seconds. Called by a task that has no children, beside no
        task that was not there before the first client.
        """
        runner, registry = self.app.runner, self.app.registry
        assert runner is not None
        with trio.move_on_after(SETTLED):
            # Nothing tells when the last task of a library ends.
            while len(registry) + registry.armed_count + runner.running_count or count_tasks() > self.tasks:  # noqa: ASYNC110
                await trio.sleep(0.05)
            return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a server to soak.

    `knowledge`: folder of the knowledge base; beside it stands the operator's file of tools. `webhook`: the port of an
    endpoint on this machine; `None` only records. `data`: folder of all data; `None` keeps only a ledger, in memory,
    and serves no users over HTTP. `slow`: seconds that each write to it takes longer. `remembered`: folder of the
    users' memory; `None` remembers nothing. `aloud`: whether the server speaks and hears.
    """

    knowledge: Path
    webhook: int | None = None
    data: Path | None = None
    slow: float = 0.0
    remembered: Path | None = None
    aloud: bool = False

    @property
    def script(self) -> Path:
        """The script of the server's ear."""
        return self.knowledge.with_suffix(".script.json")

    @property
    def tools(self) -> Path:
        """The operator's file of tools."""
        return self.knowledge.with_suffix(".tools.json")


@asynccontextmanager
async def run_server(
    seed: int, clients: int, ground: Surroundings, callers: int = 0
) -> AsyncGenerator[SoakedServer, None]:
    """Run a server of our own on a free loopback port for the time of a block, or until it has drained.

    `clients`, `callers`: the number of users over sockets and over HTTP.
    """
    write_file(ground.tools)
    if ground.aloud:
        write_script(ground.script)
    settings = Settings.of(
        port=0,
        kb=ground.knowledge,
        mock_seed=seed,
        mock_hallucinate=HALLUCINATED,
        mock_delay_ms=MODEL_DELAY_MS,
        # A user that drops a connection and comes back has two for a moment.
        max_connections=2 * max(clients, len(QUESTIONS)) + AT_ONCE * callers + 16,
        action_webhook=None if ground.webhook is None else f"http://127.0.0.1:{ground.webhook}/",
        data=str(ground.data or ground.remembered or MEMORY),
        memory="off" if ground.remembered is None else "on",
        tools=ground.tools,
        calm_time=CALM,
        confirm_time=CONFIRM_TIME,
        lease_time=LEASE,
        mouth="tone" if ground.aloud else None,
        ear=f"script:{ground.script}" if ground.aloud else None,
        voice_streams=VOICES_MAX,
    )
    stopwatch, over = Stopwatch(), trio.Event()
    async with trio.open_nursery() as nursery:
        app, watched = await nursery.start(_serve, settings, ground, seed, stopwatch, over)
        yield SoakedServer(app, stopwatch, watched, over)
        app.stop()


async def _serve(
    settings: Settings,
    ground: Surroundings,
    seed: int,
    stopwatch: Stopwatch,
    over: trio.Event,
    task_status: "trio.TaskStatus[tuple[App, int]]",
) -> None:
    async with _open_adapters(settings, ground, seed, stopwatch) as adapters:
        app = App(settings, adapters)
        app.metrics = stopwatch
        async with trio.open_nursery() as nursery:
            await nursery.start(app.run)
            await app.ready()
            task_status.started((app, count_tasks()))
    over.set()


@asynccontextmanager
async def _open_adapters(
    settings: Settings, ground: Surroundings, seed: int, observer: Metrics
) -> AsyncGenerator[Adapters, None]:
    slowly = SlowDisk(WorkerThreads(2), ground.slow, seed)
    if ground.data is not None:
        run_sync = SlowDisk(WorkerThreads(1), ground.slow, seed)
        async with open_store(settings.storage, ground.knowledge, run_sync, WallClock(), observer) as store:
            yield Adapters(store=store, remember_sync=slowly)
        return
    ledger, now = MemoryLedger(LEDGER_ROWS), WallClock().now_ms()
    for number in range(LEDGER_ROWS):
        await ledger.claim(f"{number:032x}", "send_sms", now)
        await ledger.record_outcome(
            f"{number:032x}", "done", {"success": True, "data": {"ran": "send_sms"}}, now
        )
    yield Adapters(ledger=ledger, remember_sync=slowly)
