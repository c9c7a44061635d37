"""Kept vectors in their file: gone with their words, byte for byte, and in nobody's way."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import trio

from agent.errors import StorageFailed
from agent.ports.vectors import PackedVector, VectorKind
from agent.storage.memories import FILE
from agent.storage.memories.memory_contents import SCHEMA
from agent.storage.sqlite import database_file
from tests.remembered import ANA, NOW, a_draft, accepted, an_exchange
from tests.storage.opened import file_of
from tests.storage.test_storage_memories import Words, memory

KIND = VectorKind("mini:1", 384)


def a_vector(id: str, drawn: random.Random) -> PackedVector:
    """Bytes that are nowhere else."""
    return PackedVector(id, drawn.randbytes(KIND.dimension), 0.25)


def holding(folder: Path, vector: PackedVector) -> list[str]:
    """The files that hold any part of a vector: the longest part that one cell's page may hold begins anywhere."""
    parts = [vector.steps[at : at + 24] for at in range(0, KIND.dimension, 24)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(part in path.read_bytes() for part in parts)]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(2, 6))])
async def test_the_vector_of_what_is_forgotten_is_in_no_file(tmp_path: Path, seed: int) -> None:
    """Of items and turns, of several embedders, in any order, among others that stay; and after a restart."""
    drawn, words = random.Random(seed), Words(seed)
    kept: dict[str, list[PackedVector]] = {}
    gone: list[PackedVector] = []
    others = (KIND, VectorKind("mini:2", KIND.dimension))
    async with memory(tmp_path) as opened:
        for number in range(12 if seed == 1 else 24):
            name = words.word()
            draft = a_draft(f"The {name} is blue", name, message=f"m{number}")
            await opened.keep_exchanges(
                [an_exchange(f"m{number}", "a" * drawn.randrange(1, 900), "b", draft)], NOW
            )
            ids = (f"i{number + 1}", f"t{2 * number + 1}", f"t{2 * number + 2}")
            kept[ids[0]] = []
            for kind in others[: drawn.choice([1, 2])]:
                made = [a_vector(id, drawn) for id in ids]
                kept[ids[0]] += made
                await opened.keep_vectors(kind, made)
            if drawn.random() < 0.4:
                id = drawn.choice([*kept])
                assert holding(tmp_path, kept[id][0]) != []
                await opened.forget_item(ANA, id, NOW)
                gone += kept.pop(id)
                assert [name for each in gone for name in holding(tmp_path, each)] == []
        assert all(holding(tmp_path, each) for vectors in kept.values() for each in vectors)
    async with memory(tmp_path) as opened:
        found = await opened.vectors(KIND, [each.id for each in gone])
    assert found == ()
    assert [name for each in gone for name in holding(tmp_path, each)] == []


async def test_a_vector_that_was_emptied_before_a_kill_is_gone_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the process ended between the commit and the end of its log."""
    vector = a_vector("i1", random.Random(1))
    async with memory(tmp_path / "a") as opened:
        await accepted(opened, a_draft("The code is quetzal", "code"))
        await opened.keep_vectors(KIND, [vector])
        with monkeypatch.context() as patch:
            patch.setattr(database_file, "_EMPTY_LOG", "SELECT 0")
            await opened.forget_item(ANA, "i1", NOW)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert holding(tmp_path / "b", vector) == [f"{FILE}-wal"]
    async with memory(tmp_path / "b"):
        assert holding(tmp_path / "b", vector) == []


async def test_what_was_thrown_away_and_is_forgotten_then_is_in_no_file(tmp_path: Path) -> None:
    """Neither the vectors of before nor those that came in their place."""
    drawn, words = random.Random(1), Words(1)
    async with memory(tmp_path) as opened:
        exchanges = [
            an_exchange(f"m{n}", "a", "b", a_draft(f"It is {word}", word, message=f"m{n}"))
            for n, word in enumerate([words.word() for _ in range(99)])
        ]
        await opened.keep_exchanges(exchanges, NOW)
        before = [a_vector(f"i{n}", drawn) for n in range(1, 100)]
        await opened.keep_vectors(KIND, before)
        assert holding(tmp_path, before[6]) != []
        assert await opened.drop_vectors() == 99
        after = [a_vector(f"i{n}", drawn) for n in range(1, 100, 2)]
        await opened.keep_vectors(KIND, after)
        await opened.forget_item(ANA, "i7", NOW)
        assert [name for each in before for name in holding(tmp_path, each)] == []
        assert holding(tmp_path, after[3]) == []
        assert holding(tmp_path, after[4]) != []


async def test_several_processes_keep_vectors_in_one_file(tmp_path: Path) -> None:
    """Each that is there stays; whoever has forgotten has the last word."""
    drawn = random.Random(1)
    async with memory(tmp_path) as one, memory(tmp_path) as other:
        await one.keep_exchanges([an_exchange("m1", "a", "b", a_draft("The door is blue", "door"))], NOW)
        mine, yours = ([a_vector(id, drawn) for id in ("t1", "t2", "i1")] for _ in range(2))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.keep_vectors, KIND, mine)
            nursery.start_soon(other.keep_vectors, KIND, yours)
        found = await one.vectors(KIND, ["t1", "t2", "i1"])
        assert sorted(found, key=lambda each: each.id) in (
            sorted(mine, key=lambda each: each.id),
            sorted(yours, key=lambda each: each.id),
        )
        await one.forget_item(ANA, "i1", NOW)
        await other.keep_vectors(KIND, yours)
        assert await other.vectors(KIND, ["t1", "t2", "i1"]) == ()


async def test_a_file_without_vectors_gets_a_place_for_them(tmp_path: Path) -> None:
    """One of before they were kept; what is forgotten there has none from then on."""
    async with memory(tmp_path) as opened:
        await opened.keep_exchanges([an_exchange("m1", "a", "b", a_draft("The door is blue", "door"))], NOW)
    with closing(sqlite3.connect(tmp_path / FILE)) as old:
        for table in ("vectors", "embedders"):
            old.execute(f"DROP TABLE {table}")
        triggers = old.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'vectors_%' AND type = 'trigger'"
        )
        for (name,) in triggers.fetchall():
            old.execute(f"DROP TRIGGER {name}")
        assert old.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        old.commit()
    vector = a_vector("t1", random.Random(1))
    async with memory(tmp_path) as opened:
        await opened.keep_vectors(KIND, [vector])
        assert await opened.vectors(KIND, ["t1"]) == (vector,)
        await opened.forget_item(ANA, "i1", NOW)
        assert holding(tmp_path, vector) == []


async def test_a_full_disk_keeps_no_vectors_and_all_that_was_said(tmp_path: Path) -> None:
    """Nor half of them."""
    drawn = random.Random(1)
    async with memory(tmp_path) as opened:
        await opened.keep_exchanges([an_exchange(f"m{n}") for n in range(200)], NOW)
        connection = file_of(opened._database)._connection
        assert connection is not None
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        vectors = [a_vector(f"t{n}", drawn) for n in range(1, 400)]
        with pytest.raises(StorageFailed, match="full"):
            await opened.keep_vectors(KIND, vectors)
        assert await opened.vectors(KIND, [each.id for each in vectors]) == ()
        assert len(await opened.turns(0, 999)) == 400
