"""`agent memory rebuild`: what is made of what is remembered, made anew and looked over."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from agent import cli
from agent.commands import rebuild
from agent.embedding.open import open_near as near_of
from agent.errors import StorageFailed
from agent.memory.recall.dense import RowVectors
from agent.memory.recall.scope_index import index_everything
from agent.ports.vectors import PackedVector, VectorKind, VectorStore
from agent.ports.work import RunSync
from agent.recall.index import RecallIndex
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from agent.testing.vectors import WordsEmbedder
from tests.remembered import ANA, NOW, a_draft, accepted, an_exchange, budget, proposed

Out = pytest.CaptureFixture[str]
OLD, NEW = VectorKind("old:1", 2), VectorKind("words:64", 64)
IDS = ("t1", "t2", "t3", "t4", "t5", "t6", "i1", "i2", "i3")


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[DatabaseMemory]:
    async with open_database_memory(folder, inline, Noon()) as memory:
        yield memory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six messages and answers, of which one was refused and two are forgotten; three items, of which one is live."""

    async def fill() -> None:
        async with kept(tmp_path) as memory:
            await memory.keep_exchanges([an_exchange("m1"), an_exchange("m2", blocked=True)], NOW)
            gone = await accepted(memory, a_draft("The door is blue", "door", message="m3"))
            await memory.keep_exchanges([an_exchange("m3")], NOW)
            await memory.forget_item(ANA, gone.id, NOW)
            await accepted(memory, budget(50, message="m8"))
            await proposed(memory, budget(60, message="m9"))
            await memory.keep_vectors(OLD, [PackedVector(id, b"ab", 1.0) for id in IDS])

    trio.run(fill)
    return tmp_path


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> WordsEmbedder:
    """What `--vectors words` names; all else is as it is."""
    found, real = WordsEmbedder(), near_of

    async def open_near(
        vectors: str, url: str | None, run_sync: RunSync, store: VectorStore | None = None
    ) -> Callable[[RecallIndex], Any] | None:
        if vectors != "words":
            return await real(vectors, url, run_sync, store)
        return lambda index: RowVectors(index.rows, found, run_sync, None, store)

    monkeypatch.setattr(rebuild, "open_near", open_near)
    monkeypatch.delenv("AGENT_VECTORS", raising=False)
    return found


def run(folder: Path, *arguments: str) -> int:
    return cli.main(["memory", "rebuild", "--data", str(folder), *arguments])


def vectors(folder: Path, kind: VectorKind) -> set[str]:
    """The ids of what has a vector."""

    async def look() -> set[str]:
        async with kept(folder) as memory:
            return {each.id for each in await memory.vectors(kind, IDS)}

    return trio.run(look)


def told(capsys: Out) -> list[str]:
    """The lines that were printed, without seconds."""
    return re.sub(r"\d+\.\d s", "N s", capsys.readouterr().out).splitlines()


def test_what_was_made_is_made_anew_and_counted(folder: Path, capsys: Out) -> None:
    """On both sides: what was said and not refused, and live items; vectors of before are gone."""
    assert run(folder, "--vectors", "words") == 0
    assert told(capsys) == [
        "thrown away: 6 vectors",
        "index: 3 of 3 messages and answers, 1 of 1 live items, in N s",
        "vectors: 4 of words kept, in N s",
    ]
    assert vectors(folder, OLD) == set()
    assert vectors(folder, NEW) == {"t1", "t2", "t3", "i2"}


@pytest.mark.parametrize("name", ["off", "static"])
def test_what_is_made_at_each_start_is_not_kept(folder: Path, capsys: Out, name: str) -> None:
    """That is said; the index is looked over all the same."""
    assert run(folder, "--vectors", name) == 0
    assert told(capsys)[1:] == [
        "index: 3 of 3 messages and answers, 1 of 1 live items, in N s",
        "vectors: none kept, in N s",
    ]
    assert vectors(folder, OLD) == set()


def test_what_the_index_lacks_is_told(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its ids, and by the exit status."""
    add = RecallIndex.add_turn
    monkeypatch.setattr(
        RecallIndex,
        "add_turn",
        lambda self, turn, later=False: None if turn.n == 3 else add(self, turn, later),
    )
    assert run(folder, "--vectors", "off") == 3
    out, err = capsys.readouterr()
    assert "index: 2 of 3 messages and answers, 1 of 1 live items" in out
    assert "lacks 1 of the ids (t3)" in err
    assert err.count("\n") == 1


def test_what_was_forgotten_meanwhile_is_not_missed(
    folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may be at work beside it."""

    async def after_a_while(*given: Any) -> None:
        async with kept(folder) as memory:
            await memory.forget_item(ANA, "i2", NOW)
        await index_everything(*given)

    monkeypatch.setattr("agent.commands.rebuild.index_everything", after_a_while)
    assert run(folder, "--vectors", "words") == 0
    assert "index: 3 of 3 messages and answers, 0 of 1 live items" in capsys.readouterr().out


def test_vectors_that_cannot_be_kept_are_told(
    folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was said is touched."""

    async def full(self: Any, kind: VectorKind, packed: Any) -> None:
        raise StorageFailed("the memory: database or disk is full")

    monkeypatch.setattr(DatabaseMemory, "keep_vectors", full)
    assert run(folder, "--vectors", "words") == 2
    out, err = capsys.readouterr()
    assert "4 vectors could not be kept" in err
    assert (err.count("\n"), "3 of 3" in out) == (1, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--vectors", "openai:m"], "asks no model server"),
        (["--vectors", "nonsense"], "vectors must be"),
        (["--vectors", "bert:nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_throws_nothing_away(
    folder: Path, capsys: Out, given: list[str], said: str
) -> None:
    """One line that says what to do, and exit status 2."""
    assert run(folder, *given) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), said in err) == ("", 1, True)
    assert len(vectors(folder, OLD)) == 6


def test_without_a_memory_there_is_nothing_to_rebuild(tmp_path: Path, capsys: Out) -> None:
    """And none is made."""
    assert run(tmp_path) == 2
    assert "there is no memory in" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_a_check_tells_how_many_are_kept(folder: Path, capsys: Out) -> None:
    """Without those that were emptied."""
    assert cli.main(["memory", "check", "--data", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "kept vectors of old:1: 6"
