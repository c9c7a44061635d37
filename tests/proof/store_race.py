"""What the processes do that the stores' proof starts, races and kills: real files, real threads, real time.

Each function is the life of one process, which says over its pipe what a client of it would have been told.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trio

from agent.errors import Conflict, StorageFailed
from agent.host import WallClock, WorkerThreads
from agent.ports.calls import CallApproval, CallReport, StoredCall
from agent.ports.projects import HOUSE
from agent.ports.threads import StoredMessage, TurnOpening, TurnStep
from agent.storage.places import Data
from agent.storage.store import Store
from agent.storage.stores import open_stores

HOUR = 3_600_000
RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed", "runs_at": "record"}


def suggested(id: str, thread: str, message: str, turn: int, **other: Any) -> StoredCall:
    """A call that waits for an hour."""
    now = WallClock().now_ms()
    made = StoredCall(
        id=id,
        project=HOUSE,
        thread=thread,
        message=message,
        turn=turn,
        position=int(id.rpartition(".")[2]),
        tool="refund",
        arguments={"by": "the model"},
        arguments_hash="the model",
        proposed_hash="the model",
        runs_at="caller",
        needs_approval=True,
        status="suggested",
        created_at=now,
        deadline=now + HOUR,
    )
    return replace(made, **other)


async def turn(store: Store, message: str, thread: str, new: bool, *calls: dict[str, Any]) -> list[str]:
    """Keep a turn that suggests calls; return their ids."""
    now = WallClock().now_ms()
    begun = await store.threads.begin_turn(
        TurnOpening(project=HOUSE, thread=thread, user="u", id=message, content="text", at=now, new=new)
    )
    number = begun.thread.turn
    made = tuple(
        suggested(f"{message}.{place}", thread, message, number, **each) for place, each in enumerate(calls)
    )
    answer = StoredMessage(
        id=f"{message} answer",
        thread=thread,
        turn=number,
        role="assistant",
        content="text",
        status="done",
        created_at=now,
    )
    await store.threads.record_step(
        TurnStep(
            project=HOUSE, thread=thread, message=message, status="done", at=now, answer=answer, calls=made
        )
    )
    return [call.id for call in made]


def beginner(data: Data, name: str, log: Path, rounds: int, pipe: Connection) -> None:
    """Begin and end turns in one thread, as all others do; note both in a log, and tell what each try was answered."""

    async def life() -> Counter[str]:
        async with open_stores(data, WorkerThreads(), WallClock()) as kept:
            pipe.send("open")
            await trio.to_thread.run_sync(pipe.recv)
            answers: Counter[str] = Counter()
            for number in range(rounds):
                id = f"{name}-{number}"
                opening = TurnOpening(
                    project=HOUSE, thread="t1", user="u", id=id, content="text", at=_now(), alone=False
                )
                try:
                    await kept.store.threads.begin_turn(opening)
                except (Conflict, StorageFailed) as refused:
                    answers[refused.code if isinstance(refused, Conflict) else str(refused)] += 1
                    continue
                _append(log, f"begin {id}")
                _append(log, f"end {id}")
                step = TurnStep(project=HOUSE, thread="t1", message=id, status="done", at=_now())
                assert await kept.store.threads.record_step(step)
                answers["begun"] += 1
            return answers

    pipe.send(trio.run(life))


def _append(path: Path, line: str) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def racer(data: Data, name: str, ids: list[str], pipe: Connection) -> None:
    """Approve, edit, reject, answer, begin and report each call, as all others do; tell what was won."""

    async def life() -> list[tuple[str, str]]:
        async with open_stores(data, WorkerThreads(), WallClock()) as kept:
            pipe.send("open")
            await trio.to_thread.run_sync(pipe.recv)
            won: list[tuple[str, str]] = []
            drawn = random.Random(name)
            for id in ids:
                for operation, make in sorted(
                    _operations(kept.store, name, id).items(), key=lambda _: drawn.random()
                ):
                    if await _made(make):
                        won.append((id, operation))
                        # Begin before another process takes the approval back.
                        if operation in ("approve", "edit"):
                            break
                if await _made(lambda id=id: kept.store.calls.begin_call(HOUSE, id, _now(), _now() + HOUR)):  # type: ignore[misc]
                    won.append((id, "begin"))
                if await _made(lambda id=id: kept.store.calls.report_call(_report(id, name))):  # type: ignore[misc]
                    won.append((id, "report"))
            return won

    pipe.send(trio.run(life))


def _operations(store: Store, name: str, id: str) -> dict[str, Callable[[], Awaitable[object]]]:
    yes = CallApproval(project=HOUSE, call=id, by=name, at=_now())
    edit = replace(yes, arguments={"by": name}, arguments_hash=name)
    return {
        "approve": lambda: store.calls.approve_call(yes),
        "edit": lambda: store.calls.approve_call(edit),
        "reject": lambda: _once(store, name, id, "rejected"),
        "answer": lambda: _once(store, name, id, "answered"),
    }


async def _once(store: Store, name: str, id: str, status: Any) -> None:
    """Close a call; raises Conflict where it was closed so already, by one whose milliseconds end otherwise."""
    at = _now() // 100 * 100 + int(name[1:])
    if (await store.calls.close_call(HOUSE, id, status, at)).ended_at != at:
        raise Conflict("closed")


def _report(id: str, name: str) -> CallReport:
    return CallReport(
        project=HOUSE,
        call=id,
        ok=True,
        result={"success": True, "data": {"by": name}},
        digest=name,
        at=_now(),
    )


async def _made(make: Callable[[], Awaitable[object]]) -> bool:
    """Whether this process made a change; a file that is locked for too long is tried again, for it has none then."""
    while True:
        try:
            made = await make()
        except Conflict:
            return False
        except StorageFailed:
            continue
        return not (isinstance(made, tuple) and made[1])  # a report that was known


def _now() -> int:
    return WallClock().now_ms()


def liver(folder: Path, name: str, pipe: Connection) -> None:
    """Chat, approve, run, hand over and report until killed; tell of each step once a client would know of it."""

    async def life() -> None:
        async with open_stores(folder, WorkerThreads(), WallClock()) as kept, trio.open_nursery() as nursery:
            pipe.send(("open", "", ""))
            for user in range(3):
                nursery.start_soon(_chat, kept.store, f"{name}-{user}", pipe)

    trio.run(life)


async def _chat(store: Store, thread: str, pipe: Connection) -> None:
    for number in range(100_000):
        message = f"{thread}-{number}"
        kinds: tuple[dict[str, Any], ...] = (
            {},
            {"runs_at": "record"},
            {"runs_at": "record"},
            {"runs_at": "caller"},
        )
        waits, ours, late, theirs = await turn(store, message, thread, number == 0, *kinds)
        pipe.send(("message", message, "done"))
        for id in (waits, ours, late, theirs):
            pipe.send(("call", id, "suggested"))
        for id in (ours, late, theirs):
            await store.calls.approve_call(CallApproval(project=HOUSE, call=id, by="u", at=_now()))
            pipe.send(("call", id, "confirmed"))
        await store.calls.begin_call(HOUSE, theirs, _now(), _now() + HOUR)
        pipe.send(("call", theirs, "claimed"))
        assert await store.ledger.claim(ours, "refund", _now())
        pipe.send(("call", ours, "claimed"))
        await store.ledger.record_outcome(ours, "done", {"success": True}, _now())
        pipe.send(("call", ours, "done"))
        if number % 2:
            await store.calls.report_call(_report(theirs, thread))
            pipe.send(("call", theirs, "done"))
        await store.threads.begin_turn(
            TurnOpening(
                project=HOUSE, thread=thread, user="u", id=f"{message} more", content="text", at=_now()
            )
        )
        await store.threads.record_step(
            TurnStep(project=HOUSE, thread=thread, message=f"{message} more", status="cancelled", at=_now())
        )
