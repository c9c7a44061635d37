"""The numbered steps that upgrade a file of an earlier schema: what they keep, and what is left when one fails."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agent.storage.contents import DatabaseContents
from agent.storage.ledger import LEDGER
from agent.storage.memories.memory_contents import MEMORY
from agent.storage.migrations import add_column, rebuild_table
from agent.storage.sqlite.connection import make_engine
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.header import NewerVersionError
from agent.storage.sqlite.upgrade import read_version, stamp_version, upgrade_file
from agent.testing.fakes import Noon
from tests.examples import sample
from tests.storage.released import Rows, list_folders, read_rows, unpack_folder
from tests.storage.test_storage_released import DROPPED

EARLIER = [
    pytest.param(name, contents, id=f"{name}-{contents.name}")
    for name, noted in list_folders().items()
    for contents in (LEDGER, MEMORY)
    if contents.file in noted["files"]
]
"""The files of every folder that an earlier schema left."""


@pytest.mark.parametrize("contents", [LEDGER, MEMORY], ids=lambda contents: contents.name)
def test_the_steps_have_a_number_each(contents: DatabaseContents) -> None:
    """From the second schema on, without a gap."""
    assert [*contents.steps] == [*range(2, contents.version + 1)]


@pytest.mark.parametrize(("name", "contents"), sample(EARLIER, 3))
def test_each_step_keeps_every_row(tmp_path: Path, name: str, contents: DatabaseContents) -> None:
    """One after the other, each for itself: all rows that were there, and no reference to a row that is not."""
    unpack_folder(name, tmp_path)
    file = tmp_path / contents.file
    before = read_rows(file)
    assert any(before.values())
    for number in range(2, contents.version + 1):
        with _connect(file) as connection:
            version = read_version(connection)
            upgrade_file(connection, {each: step for each, step in contents.steps.items() if each <= number})
        assert _read_version(file) == max(version, number)
        _check_kept(before, read_rows(file))
        assert _query(file, "PRAGMA foreign_key_check") == []


@pytest.mark.parametrize(("name", "contents"), sample(EARLIER, 3))
def test_a_step_can_run_twice(tmp_path: Path, name: str, contents: DatabaseContents) -> None:
    """Where an older process that had the file open writes its own number, nothing changes."""
    unpack_folder(name, tmp_path)
    for _ in range(2):
        with _connect(tmp_path / contents.file) as connection:
            upgrade_file(connection, contents.steps)
            before = [*connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all()]
            stamp_version(connection, 1)
            upgrade_file(connection, contents.steps)
            assert [*connection.exec_driver_sql("SELECT name, sql FROM sqlite_master").all()] == before


@pytest.mark.parametrize("contents", [LEDGER, MEMORY], ids=lambda contents: contents.name)
def test_a_step_that_fails_leaves_the_file_at_the_schema_before_it(
    tmp_path: Path, contents: DatabaseContents
) -> None:
    """With all rows; the steps before it are kept, and it is tried again when the file is opened again."""
    unpack_folder([*list_folders()][-1], tmp_path)
    file, at = tmp_path / contents.file, contents.version
    table = "threads" if contents is LEDGER else "scopes"
    before = read_rows(file)
    good = {at + 1: lambda connection: add_column(connection, table, "more TEXT")}

    def fail(connection: sa.Connection) -> None:
        add_column(connection, table, "less TEXT")
        connection.exec_driver_sql("DELETE FROM lost")

    failing = replace(contents, steps={**contents.steps, **good, at + 2: fail})
    with pytest.raises(sa.exc.OperationalError, match="no such table: lost"):
        DatabaseFile(tmp_path, Noon(), failing).open()
    assert _read_version(file) == at + 1
    columns = {name for _, name, *_ in _query(file, f"PRAGMA table_info({table})")}
    assert "more" in columns
    assert "less" not in columns
    _check_kept(before, read_rows(file))
    with _connect(file) as connection:
        upgrade_file(connection, {**good, at + 2: lambda _: None})
    assert _read_version(file) == at + 2


def test_a_step_that_orphans_rows_is_undone(tmp_path: Path) -> None:
    """Foreign keys are not checked while it runs, but before it is kept."""
    unpack_folder([*list_folders()][-1], tmp_path)
    file = tmp_path / LEDGER.file
    before, version = read_rows(file), _read_version(file)

    def empty(connection: sa.Connection) -> None:
        connection.exec_driver_sql("DELETE FROM threads")

    with _connect(file) as connection, pytest.raises(sqlite3.IntegrityError, match="without parents"):
        upgrade_file(connection, {version + 1: empty})
    assert _read_version(file) == version
    assert read_rows(file) == before


def test_a_table_is_made_anew_with_its_rows_numbers_indexes_and_triggers(tmp_path: Path) -> None:
    """Other tables still refer to it, and no number of a row that was deleted is used again."""
    unpack_folder([*list_folders()][-1], tmp_path)
    file = tmp_path / LEDGER.file
    before = read_rows(file)
    indexes = "SELECT name, sql FROM sqlite_master WHERE type <> 'table' ORDER BY name"
    made, numbers = _query(file, indexes), "SELECT * FROM sqlite_sequence ORDER BY name"
    with closing(sqlite3.connect(file, isolation_level=None)) as opened:
        opened.execute("UPDATE sqlite_sequence SET seq = seq + 7")
    last = _query(file, numbers)

    def change(connection: sa.Connection) -> None:
        for table in ("threads", "calls", "actions"):
            rebuild_table(connection, table, lambda statement: statement.replace("TEXT NOT", "TEXT NOT  "))

    with _connect(file) as connection:
        upgrade_file(connection, {_read_version(file) + 1: change})
    assert read_rows(file) == before
    assert _query(file, indexes) == made
    assert _query(file, numbers) == last
    for table in ("threads", "calls", "actions"):
        [(statement,)] = _query(file, f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
        assert "TEXT NOT   NULL" in statement
    with closing(sqlite3.connect(file, isolation_level=None)) as opened:
        opened.execute("PRAGMA foreign_keys=ON")
        opened.execute("DELETE FROM threads")
        assert opened.execute("SELECT count(*) FROM messages").fetchone() == (0,)


@pytest.mark.parametrize("contents", [LEDGER, MEMORY], ids=lambda contents: contents.name)
def test_a_newer_file_is_refused_with_the_remedy(tmp_path: Path, contents: DatabaseContents) -> None:
    """Its schema and the newest that this version reads are named."""
    unpack_folder([*list_folders()][-1], tmp_path)
    newer, known = contents.version + 1, contents.version
    with _connect(tmp_path / contents.file) as connection:
        stamp_version(connection, newer)
    with pytest.raises(NewerVersionError) as refused:
        DatabaseFile(tmp_path, Noon(), contents).open()
    assert str(refused.value) == (
        f"{contents.file} has schema {newer}, written by a newer version, and this version reads schemas up to"
        f" {known}: run the newer version"
    )


def test_a_process_that_runs_on_leaves_the_number_of_a_newer_one(tmp_path: Path) -> None:
    """It tries its file with an empty batch, which writes the number that is there."""
    file = DatabaseFile(tmp_path, Noon())
    file.open()
    with _connect(tmp_path / LEDGER.file) as connection:
        stamp_version(connection, LEDGER.version + 1)
    assert file.commit([]).trouble == ""
    file.close()
    assert _read_version(tmp_path / LEDGER.file) == LEDGER.version + 1


@contextmanager
def _connect(file: Path) -> Iterator[sa.Connection]:
    engine = make_engine(file, 0.0)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _query(file: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as opened:
        return opened.execute(statement).fetchall()


def _read_version(file: Path) -> int:
    [(version,)] = _query(file, "PRAGMA user_version")
    return int(version)


def _check_kept(before: Rows, after: Rows) -> None:
    """Check that each row is there with all that it had; columns may have come, and those of `DROPPED` gone."""
    for table, rows in before.items():
        kept = [{name: row[name] for name in row if name not in DROPPED} for row in rows]
        assert [
            {name: row[name] for name in each} for each, row in zip(kept, after[table], strict=True)
        ] == kept
