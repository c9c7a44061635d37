"""A server to soak from the inside: on a real loopback port, in this process, and measured while it runs.

The server is the whole one (its sniffer, sessions, mock model and ledger) with three parts of ours: an observer that
keeps each cancel's exact time, an executor that is slow, fails on purpose and counts its effects, and a ledger that
is small and full from the start, so that remembering, which is bounded, does not look like leaking.
"""

import gc
import os
import sys
from array import array
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import trio
from trio._core._run import GLOBAL_RUN_CONTEXT

from ..app import Adapters, App, WallClock
from ..config import Settings
from ..errors import ActionFailed
from ..ports.action import Call
from ..retrieval.load import Document
from ..retrieval.search import KnowledgeBase
from ..server.metrics import Metrics
from ..storage.memory import MemoryLedger
from ..testing.demo import KNOWLEDGE
from .account import Tally
from .users import QUESTIONS

HALLUCINATED = 0.2  # the share of drafts with an invented number
MODEL_DELAY_MS = 1.0  # before each piece of a draft, so that there is a draft to cancel
FAILING = 0.1  # the share of actions that fail before their effect
ACTION_SECONDS = 0.25  # at most, before the effect and again after it
LEDGER_ROWS = 128
SETTLED = 15.0  # seconds in which everything of clients that have left must be gone
# Whose objects are counted: ours and those of the libraries that serve a connection.
COUNTED = ("agent", "trio", "trio_websocket", "wsproto", "h11", "hypercorn", "starlette")
# Not these: the soak's own, and trio's idle worker threads, which end by themselves when nobody needs one for a while.
PASSED_OVER = ("agent.soak", "trio._core._thread_cache")


class Stopwatch(Metrics):
    """The server's figures, and every cancel's seconds from frame decoded to stream_end handed to the stream."""

    def __init__(self) -> None:
        super().__init__()
        self.cancels = array("d")
        self.blind_until = 0.0  # a census stops the loop; what it delays is not the server's doing

    def measure(self, metric: str, seconds: float) -> None:
        """Keep a cancel's time too."""
        super().measure(metric, seconds)
        if metric == "cancel_seconds" and trio.current_time() > self.blind_until:
            self.cancels.append(seconds)


class Effects:
    """An executor whose effect is a count: slow on both sides of it, and failing now and then."""

    def __init__(self, seed: int, tally: Tally) -> None:
        self._rng = Random(seed)
        self._tally = tally
        self._begun: dict[str, None] = {}  # the last LEDGER_ROWS ids

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Take a moment, take effect, take another moment. Raises ActionFailed for a share, without an effect."""
        await trio.sleep(self._rng.uniform(0, ACTION_SECONDS))
        if self._rng.random() < FAILING:
            raise ActionFailed("It failed on purpose.")
        begin()
        if call.suggestion_id in self._begun:
            self._tally.violation("I4", f"the effect of {call.suggestion_id} began twice")
        self._begun[call.suggestion_id] = None
        if len(self._begun) > LEDGER_ROWS:
            del self._begun[next(iter(self._begun))]
        self._tally.count("effects")
        await trio.sleep(self._rng.uniform(0, ACTION_SECONDS))
        return {"ran": call.action}


@dataclass(frozen=True)
class Inside:
    """A server in this process, and what can be seen of it. `tasks`: how many lived before its first client."""

    app: App
    stopwatch: Stopwatch
    tasks: int

    async def idle(self) -> bool:
        """Wait until no session, timer, action or task of a client is left; False when some are after SETTLED s.

        Called by a task that has no children, beside no task that was not there before the first client.
        """
        runner, registry = self.app.runner, self.app.registry
        assert runner is not None
        with trio.move_on_after(SETTLED):
            # Nothing tells when the last task of a library ends.
            while len(registry) + registry.armed + runner.running or _tasks() > self.tasks:  # noqa: ASYNC110
                await trio.sleep(0.05)
            return True
        return False


@asynccontextmanager
async def inside(seed: int, clients: int, tally: Tally) -> AsyncGenerator[Inside, None]:
    """Run a server of our own on a free loopback port for the time of a block."""
    settings = Settings(
        port=0,
        mock_seed=seed,
        mock_hallucinate=HALLUCINATED,
        mock_delay_ms=MODEL_DELAY_MS,
        max_connections=max(clients, len(QUESTIONS)) + 16,
    )
    documents = [Document(f"kb/{name}", text) for name, text in KNOWLEDGE.items()]
    adapters = Adapters(
        knowledge=KnowledgeBase.build(documents),
        executor=Effects(seed, tally),
        ledger=await _full_ledger(),
    )
    app = App(settings, adapters)
    app.metrics = stopwatch = Stopwatch()
    async with trio.open_nursery() as nursery:
        await nursery.start(app.run)
        yield Inside(app, stopwatch, _tasks())
        app.stop()


async def _full_ledger() -> MemoryLedger:
    """Return a small ledger that is full of finished actions."""
    ledger, now = MemoryLedger(LEDGER_ROWS), WallClock().now_ms()
    for number in range(LEDGER_ROWS):
        await ledger.claim(f"{number:032x}", "send_sms", now)
        await ledger.record(f"{number:032x}", "done", {"success": True, "data": {"ran": "send_sms"}}, now)
    return ledger


@dataclass(frozen=True, slots=True)
class Census:
    """Resident bytes (None where the system does not tell), tasks, and live objects by type."""

    resident: int | None
    tasks: int
    objects: Counter[str]

    @classmethod
    def take(cls) -> "Census":
        """Collect garbage and count what is left."""
        _prune_deadlines()
        gc.collect()
        objects: Counter[str] = Counter()
        for each in gc.get_objects():
            module = type(each).__module__
            if (
                isinstance(module, str)
                and module.partition(".")[0] in COUNTED
                and not module.startswith(PASSED_OVER)
            ):
                objects[f"{module}.{type(each).__qualname__}"] += 1
        return cls(resident(), _tasks(), objects)

    def changed(self, since: "Census") -> dict[str, int]:
        """Return the types with more or fewer objects than before, and by how many."""
        names = self.objects.keys() | since.objects.keys()
        return {
            name: change for name in sorted(names) if (change := self.objects[name] - since.objects[name])
        }


def _prune_deadlines() -> None:
    """Let trio forget the deadlines that have been lifted; else it keeps up to a thousand scopes for a while."""
    GLOBAL_RUN_CONTEXT.runner.deadlines._prune()


def _tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


def resident() -> int | None:
    """Return this process's resident bytes, where /proc tells them."""
    if not sys.platform.startswith("linux"):
        return None
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
