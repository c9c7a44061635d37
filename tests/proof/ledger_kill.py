"""What the processes do that the ledger's proof starts and kills: the real runner over the real file.

Each function is the life of one process. It says over its pipe how far it has come; at a spot it waits for the kill.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trio

from agent.actions.runner import Runner
from agent.errors import StorageFailed
from agent.host import WallClock, WorkerThreads
from agent.ports.action import Call, Outcome
from agent.ports.conversation import NO_SCOPE, Scope
from agent.ports.ledger import ClaimStatus, LedgerRow
from agent.storage.database_ledger import DatabaseLedger, open_database_ledger
from agent.storage.places import Data
from agent.testing.fakes import Figures

AT_ONCE = 8  # claims of one process
PAUSE = 0.05  # seconds until a claim that failed is put again
BEFORE_CLAIM, BEFORE_EFFECT, BEFORE_RECORD = SPOTS = ("before claim", "before effect", "before record")


class Spot:
    """The place where a process waits to be killed; "" for one that is not."""

    def __init__(self, name: str, pipe: Connection) -> None:
        self._name = name
        self._pipe = pipe

    def reach(self, name: str) -> None:
        """Stop everything here, when this is the spot: nothing of this process runs until it is killed."""
        if name == self._name:
            self._pipe.send(name)
            self._pipe.recv()  # nothing is ever sent


class SpottedLedger:
    """The ledger, with the spots around its claim and record."""

    def __init__(self, ledger: DatabaseLedger, spot: Spot) -> None:
        self._ledger = ledger
        self._spot = spot
        self.get_row = ledger.get_row
        self.rows = ledger.rows

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim, before or after the spot."""
        self._spot.reach(BEFORE_CLAIM)
        won = await self._ledger.claim(suggestion_id, action, at, scope)
        self._spot.reach(BEFORE_EFFECT)
        return won

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record, after the spot."""
        self._spot.reach(BEFORE_RECORD)
        await self._ledger.record_outcome(suggestion_id, status, result, at)


class Append:
    """An executor whose effect is a line in a file, on disk when it returns."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "effects"

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Append the suggestion's id."""
        begin()
        self.write(call.suggestion_id)
        return {}

    def write(self, id: str) -> None:
        """Append an id."""
        file = os.open(self._path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(file, f"{id}\n".encode())
        os.fsync(file)
        os.close(file)


def effects(folder: Path) -> list[str]:
    """The ids whose effect has happened, once for each time."""
    path = folder / "effects"
    return path.read_text().splitlines() if path.exists() else []


async def _run(runner: Runner, suggestion_id: str) -> Outcome:
    """Run one action to its report."""
    reported: list[Outcome] = []
    runner.start(Call(suggestion_id=suggestion_id, action="append", payload={}), reported.append)
    await runner.wait_idle()
    return reported[0]


def one_action(folder: Path, suggestion_id: str, spot: str, pipe: Connection) -> None:
    """Open the file, run one action through the runner, and reach the spot on the way."""

    async def life() -> None:
        async with (
            open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger,
            trio.open_nursery() as nursery,
        ):
            spotted = SpottedLedger(ledger, Spot(spot, pipe))
            await _run(Runner(nursery, spotted, Append(folder), WallClock(), Figures()), suggestion_id)

    trio.run(life)
    pipe.send("it ran to its end")


def after_the_restart(folder: Path, suggestion_id: str, pipe: Connection) -> None:
    """Open the file, tell the row and the effects that are there, then how a second confirm would end."""

    async def life() -> tuple[LedgerRow | None, int, Outcome]:
        async with (
            open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger,
            trio.open_nursery() as nursery,
        ):
            runner = Runner(nursery, ledger, Append(folder), WallClock(), Figures())
            await runner.wait_idle()
            row, happened = await ledger.get_row(suggestion_id), effects(folder).count(suggestion_id)
            return row, happened, await _run(runner, suggestion_id)

    pipe.send(trio.run(life))


def many_actions(folder: Path, name: str, pipe: Connection) -> None:
    """Run one action after the other until killed."""

    async def life() -> None:
        async with (
            open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger,
            trio.open_nursery() as nursery,
        ):
            runner = Runner(nursery, ledger, Append(folder), WallClock(), Figures())
            pipe.send("open")
            for number in range(100_000):
                await _run(runner, f"{name}.{number}")

    trio.run(life)


def a_crowd_of_actions(folder: Path, name: str, pipe: Connection) -> None:
    """Run thirty actions at a time, so that many are claimed and recorded in one transaction, until killed."""

    async def life() -> None:
        async with (
            open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger,
            trio.open_nursery() as nursery,
        ):
            runner = Runner(nursery, ledger, Append(folder), WallClock(), Figures())
            pipe.send("open")
            for number in range(100_000):
                for one in range(30):
                    runner.start(
                        Call(suggestion_id=f"{name}.{number}.{one}", action="append", payload={}),
                        lambda _: None,
                    )
                await runner.wait_idle()

    trio.run(life)


def every_row(folder: Path, pipe: Connection) -> None:
    """Open the file and tell what every row says."""

    async def life() -> dict[str, str]:
        async with open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger:
            return {row.suggestion_id: row.status for row in await ledger.rows(1_000_000)}

    pipe.send(trio.run(life))


def claim_all(data: Data, folder: Path, ids: list[str], pipe: Connection) -> None:
    """Claim each id as other processes do, run its effect where it is won, record that it is done, and claim again what
    failed; tell how often each claim failed once all outcomes are written, and stay until told to leave.
    """

    async def life() -> None:
        failed: Counter[str] = Counter()
        figures, left = Figures(), iter(ids)

        async def claim(id: str) -> None:
            try:
                won = await ledger.claim(id, "append", WallClock().now_ms())
            except StorageFailed:
                failed[id] += 1
                await trio.sleep(PAUSE)
                await claim(id)
                return
            if won:
                Append(folder).write(id)
                await ledger.record_outcome(id, "done", {"success": True}, WallClock().now_ms())

        async def claim_each() -> None:
            for id in left:
                await claim(id)

        async with open_database_ledger(data, WorkerThreads(), WallClock(), figures) as ledger:
            pipe.send("open")
            await trio.to_thread.run_sync(pipe.recv)
            async with trio.open_nursery() as nursery:
                for _ in range(AT_ONCE):
                    nursery.start_soon(claim_each)
            while figures.levels.get("actions_unrecorded"):  # noqa: ASYNC110  # it is a plain figure
                await trio.sleep(PAUSE)
            pipe.send(failed)
            await trio.to_thread.run_sync(pipe.recv)

    trio.run(life)


def claimers(folder: Path, ids: list[str], pipe: Connection) -> None:
    """Two claimers of each id, started together with those of the other processes; tell how many each id was won."""

    async def life() -> dict[str, int]:
        won = dict.fromkeys(ids, 0)

        async def claimer(suggestion_id: str) -> None:
            if await ledger.claim(suggestion_id, "append", 0):
                won[suggestion_id] += 1

        async with open_database_ledger(folder, WorkerThreads(), WallClock()) as ledger:
            pipe.send("open")
            pipe.recv()
            async with trio.open_nursery() as nursery:
                for suggestion_id in ids:
                    nursery.start_soon(claimer, suggestion_id)
                    nursery.start_soon(claimer, suggestion_id)
        return won

    pipe.send(trio.run(life))
