"""Data folders that earlier schemas left are opened, used and closed by today's code; no table changes without one."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from agent.ports.calls import CallApproval, CallReport, CallStatus
from agent.ports.feedback import Verdict
from agent.ports.memory import ItemStatus, MemoryStore
from agent.ports.pages import Window
from agent.ports.projects import HOUSE, Category
from agent.ports.requests import StoredAnswer
from agent.ports.threads import MessageRole, MessageStatus
from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.memories.store import open_database_memory
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.store import Store
from agent.storage.stores import open_stores
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.examples import sample
from tests.rated import a_rated_answer, a_rating
from tests.remembered import ANA, an_exchange
from tests.storage.filling.projects import DIGEST
from tests.storage.released import (
    FOLDERS,
    Rows,
    digest_schema,
    list_folders,
    read_rows,
    read_structure,
    unpack_folder,
)
from tests.stored import NOW, a_document, an_opening, said

CONTENTS = {each.file: each for each in (LEDGER, MEMORY)}
IN_THE_MAKING: dict[str, int] = {}
"""The schema of a file whose folder is yet to be made, while its tables still change."""

DROPPED = ("tries",)
"""Columns that are declared no more."""

RELEASED = """\
The tables or indexes of {file} changed, and its schema did not: files that are out there keep the old ones.
Write the step that brings older files to it, under the next number in agent/storage/migrations.py. Name the file and
the number in IN_THE_MAKING until the schema is complete and committed; then make a folder of it:
python -m tests.storage.released NAME COMMIT"""


@pytest.fixture(params=sample(reversed(list_folders()), 6))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data folder as an earlier schema left it."""
    unpack_folder(request.param, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as it is when it is new."""
    made = tmp_path_factory.mktemp("new")
    for contents in CONTENTS.values():
        file = DatabaseFile(made, Noon(), contents)
        file.open()
        file.close()
    return made


@pytest.mark.parametrize("file", CONTENTS)
def test_a_changed_table_has_another_schema(new: Path, file: str) -> None:
    """What today's code makes is what the newest folder of its number holds, statement by statement."""
    today = digest_schema(new / file)
    if today["version"] == IN_THE_MAKING.get(file):
        return
    released = [each["files"][file] for each in list_folders().values() if file in each["files"]]
    assert today == released[-1], RELEASED.format(file=file)


def test_every_schema_has_a_folder() -> None:
    """From the first to today's; its databases have the schema that is noted of them."""
    for file, contents in CONTENTS.items():
        numbers = {
            each["files"][file]["version"] for each in list_folders().values() if file in each["files"]
        }
        assert numbers | {IN_THE_MAKING.get(file, 1)} >= {*range(1, contents.version + 1)}
        assert contents.version == max(numbers) or contents.version == IN_THE_MAKING[file]


def test_a_folder_is_what_is_noted_of_it(tmp_path: Path) -> None:
    """Each is a few KB; a file that was made anew without its note is seen."""
    for name, noted in list_folders().items():
        unpack_folder(name, tmp_path / name)
        files = sorted((tmp_path / name).iterdir())
        assert {file.name: digest_schema(file) for file in files} == noted["files"]
        assert all(packed.stat().st_size < 8_000 for packed in (FOLDERS / name).iterdir())


def test_the_folders_hold_what_can_be_kept(tmp_path: Path) -> None:
    """The newest has rows in every table, of every status and kind that there is today."""
    unpack_folder([*list_folders()][-1], tmp_path)
    ledger, memory = (read_rows(tmp_path / file) for file in CONTENTS)
    assert [name for name, rows in (ledger | memory).items() if not rows] == []
    words: list[tuple[list[dict[str, Any]], str, Any]] = [
        (ledger["calls"], "status", CallStatus),
        (ledger["messages"], "status", MessageStatus),
        (ledger["messages"], "role", MessageRole),
        (ledger["documents"], "category", Category),
        *([(ledger["feedback"], "verdict", Verdict)] if "feedback" in ledger else []),
        (memory["items"], "status", ItemStatus),
    ]
    for rows, column, kinds in words:
        assert {row[column] for row in rows} == {*get_args(kinds)}
    assert {row["status"] for row in ledger["actions"]} == {
        "claimed",
        "done",
        "failed",
        "cancelled",
        "unknown",
    }


async def test_a_folder_is_opened_used_and_closed(folder: Path, new: Path) -> None:
    """Nothing of it is lost, what was at work is settled, all can go on, and its tables are today's at the end."""
    before = {name: read_rows(folder / name) for name in CONTENTS if _is_there(folder / name)}
    async with (
        open_stores(folder, inline, Noon(), kb="/docs") as kept,
        open_database_memory(folder, inline, Noon()) as memory,
    ):
        for name, rows in before.items():
            _check_kept(rows, read_rows(folder / name))
        if "calls" in before["ledger.sqlite"]:
            await _check_settled(kept.store)
            await _go_on(kept.store)
        assert (await kept.store.ledger.get_row("s-done")) is not None
        assert await kept.store.ledger.claim("s-done", "refund", NOW) is False
        if "memory.sqlite" in before:
            await _go_on_remembering(memory)
        await _begin_anew(kept.store, memory)
    for name in CONTENTS:
        assert read_structure(folder / name) == read_structure(new / name)
        with closing(sqlite3.connect(folder / name)) as opened:
            assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert opened.execute("PRAGMA foreign_key_check").fetchall() == []


def _is_there(file: Path) -> bool:
    return file.exists()


def _is_at_work(table: str, row: Mapping[str, Any]) -> bool:
    """Return whether a process that has ended was at work on a row, so that opening the file settles it."""
    if table == "actions":
        return bool(row["status"] == "claimed" and row["owner"] != "caller")
    running = table == "calls" and (row["status"], row["runs_at"] == "caller") == ("claimed", False)
    return running or (table in ("calls", "messages", "idempotency") and row["owner"] is not None)


def _check_kept(before: Rows, after: Rows) -> None:
    """Check that each row is there with all that it had, but for those that somebody was at work on."""
    for table, rows in before.items():
        for row in (row for row in rows if not _is_at_work(table, row)):
            kept = {column: value for column, value in row.items() if column not in DROPPED}
            assert kept in [{column: each[column] for column in kept} for each in after[table]], table


async def _check_settled(store: Store) -> None:
    """Check what the port says becomes of what a process that has ended was at work on."""
    assert (await store.calls.call(HOUSE, "c-ready")).status == "cancelled"
    assert (await store.calls.call(HOUSE, "c-running")).status == "unknown"
    assert (await store.threads.message(HOUSE, "m-work")).status == "cancelled"
    running = await store.ledger.get_row("s-running")
    assert running is not None
    assert running.status == "unknown"
    assert await store.requests.begin_request("u1", "at work", "d2", NOW) is None


async def _go_on(store: Store) -> None:
    """Do with what was kept what its users would do next."""
    found = await store.projects.find_key(DIGEST)
    assert found is not None
    assert found.project == "p2"
    assert await store.requests.begin_request("u1", "answered", "d1", NOW) == StoredAnswer(
        200, b'{"id":"m1"}'
    )
    revision, texts = await store.projects.texts("p2")
    assert {each.text for each in texts} == {"Basic costs 49 kr.", "Be brief.", "Closed today."}
    await store.projects.put_document(a_document("d9", project="p2", sha256="6" * 64), "Basic costs 59 kr.")
    assert (await store.projects.texts("p2"))[0] > revision
    assert [each.id for each in (await store.threads.load_state(HOUSE, "t1", 9)).live] == ["c-suggested"]
    for id in ("c-suggested", "c-confirmed"):
        if id == "c-suggested":
            await store.calls.approve_call(CallApproval(project=HOUSE, call=id, by="u2", at=NOW + 6))
        await store.calls.begin_call(HOUSE, id, NOW + 7, NOW + 9)
    for id in ("c-suggested", "c-confirmed", "c-claimed"):
        await store.calls.report_call(
            CallReport(project=HOUSE, call=id, ok=True, result={"success": True}, digest="d9", at=NOW + 8)
        )
        ended = await store.ledger.get_row(id)
        assert ended is not None
        assert ended.status == "done"
    for thread in ("t1", "t-work"):
        opening = an_opening(f"m-{thread}", thread=thread, new=False)
        assert (await store.threads.begin_turn(opening)).thread.turn == 2
        await store.threads.record_step(said(f"m-{thread}", thread=thread))
    await store.threads.delete_thread(HOUSE, "t-failed")
    await store.projects.delete_project("p2")


async def _go_on_remembering(memory: MemoryStore) -> None:
    """Decide, look up and forget what was kept."""
    [waiting] = (await memory.items(ANA, Window(9), ["proposed"])).entries
    assert waiting.text == "The budget of atlas is 70 SEK"
    assert (await memory.accept_item(ANA, waiting.id, NOW + 10)).supersedes is not None
    told = [turn.remark.text for turn in await memory.turns(0, 9)]
    assert {"I have a dog called Rex", "I see.", "What is my budget?", "It is 50 SEK"} <= {*told}
    gone = await memory.forget_item(ANA, waiting.id, NOW + 11)
    assert (gone.item.status, gone.item.text) == ("forgotten", "")
    assert await memory.count_gaps() == 2


async def _begin_anew(store: Store, memory: MemoryStore) -> None:
    """Keep something new of each kind."""
    await store.threads.begin_turn(an_opening("new", thread="t-new"))
    await store.threads.record_step(said("new", thread="t-new"))
    await store.requests.write_audit(NOW, HOUSE, "u1", "approved", "c1")
    await store.feedback.put_feedback(a_rating(), a_rated_answer())
    assert await store.ledger.claim("s-new", "call", NOW)
    await store.ledger.record_outcome("s-new", "done", {"success": True}, NOW)
    await memory.keep_exchanges([replace(an_exchange("m-new"), tries=1)], NOW)
