"""What SIGKILL and other processes leave of what is remembered. MEMORY_KILLS=60 takes half a minute."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import trio

from agent.host import WallClock, WorkerThreads
from agent.memory.states import TABLE
from agent.ports.memory import LIVE, Change, Item, StoredTurn
from agent.ports.pages import Window
from agent.storage.memories import FILE
from agent.storage.memories.store import open_database_memory
from tests.forgetting import WHOSE, WORD, both_files
from tests.remembered import ANA, NOW, budget

from . import memory_kill
from .memory_kill import ROUNDS, SECRET
from .test_ledger_kill import PATIENCE, SIGKILL, process, told

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("MEMORY_KILLS", "6"))
RACERS = 4
MOVES = {
    (row.source.value, row.trigger.value, row.target.value) for row in TABLE.rows if row.target is not None
}
AFTER = {"proposed": 0, "accepted": 1, "superseded": 2, "forgotten": 2}
"""How far an item has come in each of the statuses that it has here."""


def told_all(pipe: Connection) -> list[tuple[str, str | int]]:
    """What a process says until it ends."""
    said = []
    while pipe.poll(PATIENCE):
        try:
            said.append(pipe.recv())
        except EOFError:
            return said
    raise AssertionError("the process hangs")


async def everything(folder: Path) -> tuple[dict[str, Item], dict[str, list[Change]], tuple[StoredTurn, ...]]:
    """What a server that is started again finds: items, what happened to each, and turns."""
    async with open_database_memory(folder, WorkerThreads(), WallClock()) as memory:
        page = await memory.items(ANA, Window(100), ["proposed", *LIVE, "superseded", "forgotten"])
        items = {item.id: item for item in page.entries}
        happened = {id: [line for line in await memory.history(ANA, id) if line.item == id] for id in items}
        turns = await memory.turns(0, 100)
        assert SECRET not in str([item for item in items.values() if item.status == "forgotten"])
        return items, happened, turns


def check(items: dict[str, Item], happened: dict[str, list[Change]]) -> None:
    """Each item is in one status, to which its table led it; one live one of a key and slot; none accepted twice."""
    for id, item in items.items():
        lines = happened[id]
        assert (lines[0].trigger, lines[0].before, lines[0].after) == ("propose", None, "proposed")
        assert all((line.before, line.trigger, line.after) in MOVES for line in lines[1:])
        assert [line.before for line in lines[1:]] == [line.after for line in lines[:-1]]
        assert (lines[-1].after, len(lines)) == (item.status, item.revision)
        assert Counter(line.trigger for line in lines)["approve"] <= 1
        assert (item.superseded_by is not None) == ("supersede" in {line.trigger for line in lines})
        if item.superseded_by is not None:
            assert items[item.superseded_by].status != "proposed"
    live = Counter((item.key, item.slot) for item in items.values() if item.status in LIVE)
    assert set(live.values()) <= {1}


def what_was_answered_stands(said: Iterable[tuple[str, str | int]], items: dict[str, Item]) -> None:
    """Whatever its caller was told of is so, or has gone further."""
    for status, id in said:
        if status != "ended":
            assert AFTER[items[str(id)].status] >= AFTER[status], (status, id)


def points(folder: Path, life: Callable[[Path, int, Connection], None] = memory_kill.one_life) -> list[int]:
    """Before which statements the lives are ended, evenly over a life, its first and last among them."""
    with process(life, folder / "whole", 0) as (_, pipe):
        statements = int(told_all(pipe)[-1][1])
    kills = min(KILLS, statements)
    assert kills > 1
    return [1 + at * (statements - 1) // (kills - 1) for at in range(kills)]


def test_killed_before_any_statement(tmp_path: Path) -> None:
    """Nothing is there by half, nothing that was answered is lost, and what was forgotten is in no file."""
    ends: Counter[int] = Counter()
    for point in points(tmp_path):
        folder = tmp_path / str(point)
        with process(memory_kill.one_life, folder, point) as (killed, pipe):
            said = told_all(pipe)
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
        items, happened, turns = trio.run(everything, folder)
        check(items, happened)
        what_was_answered_stands(said, items)
        assert len(turns) % 2 == 0
        assert len([id for id in items if happened[id][0].at == NOW]) >= len(turns) // 2
        for number in range(ROUNDS):
            forgotten = [id for status, id in said if status == "forgotten"]
            gone = len(forgotten) > number or (
                len(turns) > 2 * number and turns[2 * number].remark.text == ""
            )
            held = [
                path.name for path in folder.iterdir() if f"{SECRET}{number}".encode() in path.read_bytes()
            ]
            assert held == [] or (held == [FILE] and not gone), (point, number)
        ends[len(said)] += 1
    assert len(ends) > min(KILLS, 5 * ROUNDS) // 2  # they were killed in different places


async def unread(folder: Path) -> set[str]:
    """The messages that are still to be read by a model, of what a server finds that is started again."""
    found: set[str] = set()
    async with open_database_memory(folder, WorkerThreads(), WallClock()) as memory:
        while taken := await memory.take_unread(9, NOW, NOW):
            found |= {each.turn.remark.message for each in taken}
            for each in taken:
                await memory.record_reading(each, (), NOW)
    return found


def test_killed_while_a_model_reads(tmp_path: Path) -> None:
    """A message is still to be read, or what was found in it is proposed: never neither, and never both."""
    ends: Counter[int] = Counter()
    for point in points(tmp_path, memory_kill.one_reading):
        folder = tmp_path / str(point)
        with process(memory_kill.one_reading, folder, point) as (killed, pipe):
            said = told_all(pipe)
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
        items, happened, turns = trio.run(everything, folder)
        check(items, happened)
        read = Counter(item.sources[0].ref for item in items.values())
        assert set(read.values()) <= {1}
        left = trio.run(unread, folder)
        assert left.isdisjoint(read)
        assert left | {*read} == {turn.remark.message for turn in turns}
        assert {f"n{number}" for what, number in said if what == "read"} <= {*read}
        assert {f"n{number}" for what, number in said if what == "kept"} <= {*read} | left
        ends[len(said)] += 1
    assert len(ends) > 2


def test_killed_while_it_forgets(tmp_path: Path) -> None:
    """In either file: forgotten again it is in neither; until then the item is there whole, or is forgotten."""

    async def again(folder: Path, id: str) -> str:
        async with both_files(folder, WorkerThreads(), WallClock()) as (desk, memory, _):
            found = await memory.item(WHOSE, id)
            assert (found.status, bool(found.text)) in (("accepted", True), ("forgotten", False))
            await desk.forget_item(WHOSE, id)
            assert holding(folder) == []
            return found.status

    def holding(folder: Path) -> list[str]:
        return [
            path.name for path in folder.iterdir() if path.is_file() and WORD.encode() in path.read_bytes()
        ]

    found: Counter[str] = Counter()
    for point in points(tmp_path, memory_kill.one_forgetting):
        folder = tmp_path / str(point)
        with process(memory_kill.one_forgetting, folder, point) as (killed, pipe):
            ((_, id),) = told_all(pipe)
            killed.join(PATIENCE)
            assert killed.exitcode == SIGKILL
        found[trio.run(again, folder, str(id))] += 1
    assert set(found) == {"accepted", "forgotten"}
    assert holding(tmp_path / "whole") == []


def test_many_processes_accept_what_contradicts_each_other(tmp_path: Path) -> None:
    """Each proposal once, whoever was first; of all, one is live, and every other knows which one closed it."""

    async def propose() -> list[str]:
        async with open_database_memory(tmp_path, WorkerThreads(), WallClock()) as memory:
            return [
                found.item.id
                for n in range(12)
                for found in await memory.propose_drafts(ANA, [budget(n + 1)], NOW)
            ]

    ids = trio.run(propose)
    with ExitStack() as stack:
        racers = [
            stack.enter_context(process(memory_kill.accepter, tmp_path, ids[number:] + ids[:number]))[1]
            for number in range(RACERS)
        ]
        assert [told(pipe) for pipe in racers] == ["open"] * RACERS
        for pipe in racers:
            pipe.send("go")
        refused = sum(told(pipe) for pipe in racers)
    items, happened, _ = trio.run(everything, tmp_path)
    check(items, happened)
    assert Counter(item.status for item in items.values()) == {"accepted": 1, "superseded": len(ids) - 1}
    assert 0 < refused < RACERS * len(ids)
