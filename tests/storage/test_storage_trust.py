"""The ledger's folder while it is open: deleted, moved, replaced, overwritten, full; and what lock files prove."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from agent.errors import AgentError
from agent.storage.committer import LEDGER_RETRY
from agent.storage.database_ledger import DatabaseLedger, open_database_ledger
from agent.storage.rows import ClaimRequest, OutcomeRequest, newest_rows
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.sqlite.owners import FOLDER as OWNERS
from agent.storage.sqlite.owners import LedgerOwner, is_dead_owner
from agent.storage.sqlite.trust import FILE, Trust, Untrusted
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.examples import sample
from tests.storage.opened import file_of

NOW = Noon().now_ms()
LOG = f"{FILE}-wal"


def ledger(folder: Path, told: list[str]) -> AbstractAsyncContextManager[DatabaseLedger]:
    return open_database_ledger(folder, inline, Noon(), told=told.append)


def opened(folder: Path) -> DatabaseFile:
    made = DatabaseFile(folder, Noon())
    made.open()
    return made


def statuses(of: DatabaseFile) -> dict[str, str]:
    return {row.suggestion_id: row.status for row in of.read(lambda connection: newest_rows(connection, 99))}


def die(file: DatabaseFile) -> None:
    """End as a killed process does: the kernel closes its files, and nothing is tidied up."""
    assert file._engine is not None
    assert file._connection is not None
    assert file._owner is not None
    file._connection.close()
    file._engine.dispose()
    file._owner.leave(tidy=False)


def lock_files(folder: Path) -> list[Path]:
    return list((folder / OWNERS).iterdir())


# --- the files of the database


def _delete(folder: Path) -> None:
    shutil.rmtree(folder)


def _delete_the_database(folder: Path) -> None:
    (folder / FILE).unlink()


def _delete_the_log(folder: Path) -> None:
    (folder / LOG).unlink()


def _replace(folder: Path) -> None:
    """Put a whole ledger in its place, one that another process made."""
    folder.rename(folder.with_name("old"))
    opened(folder).close()


def _put_a_copy_back(folder: Path) -> None:
    """Restore it from a copy that was taken while it ran."""
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def _overwrite_the_log(folder: Path) -> None:
    (folder / LOG).write_bytes(b"\x5a" * (folder / LOG).stat().st_size)


def _overwrite_the_start_of_the_log(folder: Path) -> None:
    with (folder / LOG).open("r+b", buffering=0) as file:
        file.write(b"\x5a" * 32)


def _truncate_the_log(folder: Path) -> None:
    os.truncate(folder / LOG, 0)


def _overwrite_everything(folder: Path) -> None:
    for name in (FILE, LOG):
        with (folder / name).open("r+b", buffering=0) as file:
            file.write(os.urandom((folder / name).stat().st_size))


@pytest.mark.parametrize(
    "spoil",
    sample(
        [
            _delete,
            _delete_the_database,
            _delete_the_log,
            _replace,
            _put_a_copy_back,
            _overwrite_the_log,
            _overwrite_the_start_of_the_log,
            _truncate_the_log,
            _overwrite_everything,
        ],
        3,
    ),
)
async def test_nothing_is_claimed_in_what_is_no_longer_the_ledger(
    tmp_path: Path, spoil: Callable[[Path], None], autojump_clock: MockClock
) -> None:
    """The next claim fails and every later one, it is told why and what to do, and it is never taken over."""
    folder, told = tmp_path / "data", list[str]()
    async with ledger(folder, told) as running:
        assert await running.claim("a", "x", NOW)
        spoil(folder)
        for name in ("b", "c"):
            with pytest.raises(AgentError, match="restart the server"):
                await running.claim(name, "x", NOW)
            await trio.sleep(5 * LEDGER_RETRY)
        assert len(told) == 1
        assert "restart the server" in told[0]


async def test_a_folder_that_comes_back_is_used_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Moved away and put back it is the same ledger: what was kept is written, and claims are won again."""
    folder, away, told = tmp_path / "data", tmp_path / "away", list[str]()
    async with ledger(folder, told) as running:
        assert await running.claim("a", "x", NOW)
        folder.rename(away)
        await running.record_outcome("a", "done", {"n": 1}, NOW)  # lets go at once: it is kept
        with pytest.raises(AgentError, match="gone"):
            await running.claim("b", "x", NOW)
        away.rename(folder)
        await trio.sleep(2 * LEDGER_RETRY)
        assert told[-1] == ""
        assert await running.claim("c", "x", NOW)
        row = await running.get_row("a")
        assert row is not None
        assert (row.status, row.result, await running.get_row("b")) == ("done", {"n": 1}, None)


async def test_a_claim_whose_files_went_while_it_was_written_never_ran(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gone between the first look and the answer, the claim is lost; back again, its row says that it never ran."""
    folder, away, told = tmp_path / "data", tmp_path / "away", list[str]()
    read_back = Trust.read_back

    def then_move(trust: Trust, claimed: list[str]) -> None:
        read_back(trust, claimed)
        if claimed == ["a"]:
            folder.rename(away)

    monkeypatch.setattr(Trust, "read_back", then_move)
    async with ledger(folder, told) as running:
        with pytest.raises(AgentError, match="gone"):
            await running.claim("a", "x", NOW)
        away.rename(folder)
        await trio.sleep(2 * LEDGER_RETRY)
        row = await running.get_row("a")
        assert row is not None
        assert (row.status, row.result) == ("cancelled", {"cancelled": True})
        assert told[-1] == ""


def test_an_outcome_is_that_of_one_attempt(tmp_path: Path) -> None:
    """The first one stands; of a claim that the same process has not won, and of another's, nothing is written."""
    file, other = opened(tmp_path), opened(tmp_path)
    file.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW, attempt="second")])
    file.commit(
        [
            OutcomeRequest(suggestion_id="a", status="cancelled", result={}, at=NOW, attempt="first"),
            OutcomeRequest(suggestion_id="a", status="cancelled", result={}, at=NOW),
        ]
    )
    other.commit([OutcomeRequest(suggestion_id="a", status="cancelled", result={}, at=NOW, attempt="second")])
    assert statuses(other) == {"a": "claimed"}
    file.commit(
        [
            OutcomeRequest(suggestion_id="a", status=status, result={}, at=NOW, attempt="second")
            for status in ("done", "failed")
        ]
    )
    assert statuses(other) == {"a": "done"}
    other.close()
    file.close()


def test_a_claim_that_cannot_be_read_back_is_not_won(tmp_path: Path) -> None:
    """What another connection does not find was not written."""
    file = opened(tmp_path)
    assert file.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)]).trouble == ""
    trust = Trust(tmp_path, 0.0)
    trust.read_back(["a"])
    with pytest.raises(Untrusted, match="read back"):
        trust.read_back(["a", "b"])
    trust.close()
    file.close()


def test_what_others_may_do_with_a_database_is_no_damage(tmp_path: Path) -> None:
    """Another program reads it, writes to it, copies it, and empties its log the way SQLite does."""
    file = opened(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        for number, statement in enumerate(
            ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(RESTART)", "ANALYZE")
        ):
            other.execute(statement).fetchall()
            assert file.commit([ClaimRequest(suggestion_id=f"a{number}", action="x", at=NOW)]).trouble == ""
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert (tmp_path / LOG).stat().st_size == 0
        assert file.commit([]).trouble == ""
        with closing(sqlite3.connect(tmp_path / "copy")) as copy:
            other.backup(copy)
    assert file.commit([ClaimRequest(suggestion_id="b", action="x", at=NOW)]).trouble == ""
    assert len(statuses(file)) == 5
    file.close()


def test_looking_at_the_files_keeps_sqlites_locks(tmp_path: Path) -> None:
    """After claims, with their second connections, the database still cannot be locked against the ledger."""
    file = opened(tmp_path)
    assert file.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)]).trouble == ""
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None, timeout=0.0)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    file.close()


async def test_a_full_disk_refuses_claims_and_keeps_outcomes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Full, nothing more is claimed, and outcomes are kept; with room again, everything is written."""
    told: list[str] = []
    async with ledger(tmp_path, told) as running:
        limit = file_of(running._database)._connection
        assert limit is not None
        await running.claim("a", "x", NOW)
        pages = limit.exec_driver_sql("PRAGMA page_count").scalar_one()
        limit.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        await running.record_outcome("a", "done", {"data": "å" * 40_000}, NOW)
        with pytest.raises(AgentError, match="full"):
            await running.claim("b", "x", NOW)
        assert told == ["database or disk is full"]
        limit.exec_driver_sql("PRAGMA max_page_count=1000000")
        await trio.sleep(2 * LEDGER_RETRY)
        row = await running.get_row("a")
        assert row is not None
        assert (row.status, told[-1], await running.get_row("b")) == ("done", "", None)


# --- the owners' files


def test_a_lock_file_proves_a_death_only_when_it_is_the_owners_own(tmp_path: Path) -> None:
    """Held: alive. There and free: dead. Gone, replaced, or no owner of ours: no proof."""
    owner = LedgerOwner(tmp_path)
    assert (owner.has_lock_file, is_dead_owner(tmp_path, owner.id)) == (True, False)
    owner.leave(tidy=False)
    assert is_dead_owner(tmp_path, owner.id)
    (path,) = lock_files(tmp_path)
    path.rename(tmp_path / "kept")
    assert not is_dead_owner(tmp_path, owner.id)
    shutil.copy(tmp_path / "kept", path)
    assert not is_dead_owner(tmp_path, owner.id)
    for other in ("", ".", "..", "nobody", f"../{path.name}.1", "x.y"):
        assert not is_dead_owner(tmp_path, other)


@pytest.mark.parametrize("lose", ["delete", "delete all", "replace"])
def test_a_lost_lock_file_makes_no_running_action_unknown(tmp_path: Path, lose: str) -> None:
    """A second process opens: what the first one runs stays claimed, and is recorded as it ends."""
    first = opened(tmp_path)
    first.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)])
    (path,) = lock_files(tmp_path)
    if lose == "delete all":
        shutil.rmtree(tmp_path / OWNERS)
    else:
        path.unlink()
    if lose == "replace":
        path.touch()
    second = opened(tmp_path)
    assert statuses(second) == {"a": "claimed"}
    assert first.commit([OutcomeRequest(suggestion_id="a", status="done", result={}, at=NOW)]).trouble == ""
    assert statuses(second) == {"a": "done"}
    second.close()
    first.close()
    assert lock_files(tmp_path) == []


def test_an_owner_whose_file_was_lost_takes_a_new_place_with_its_next_claim(tmp_path: Path) -> None:
    """From then on its death can be proved again, also of what it had claimed before."""
    first, living = opened(tmp_path), opened(tmp_path)
    first.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)])
    shutil.rmtree(tmp_path / OWNERS)
    assert first.commit([ClaimRequest(suggestion_id="b", action="x", at=NOW)]).trouble == ""
    second = opened(tmp_path)
    assert statuses(second) == {"a": "claimed", "b": "claimed"}
    second.close()
    die(first)
    third = opened(tmp_path)
    assert statuses(third) == {"a": "unknown", "b": "unknown"}
    third.close()
    living.close()


def test_a_dead_owner_without_a_file_is_found_when_nobody_else_is_there(tmp_path: Path) -> None:
    """While another has the database open its rows are left alone; who is alone with it calls them unknown."""
    living, dead = opened(tmp_path), opened(tmp_path)
    dead.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)])
    living.commit([ClaimRequest(suggestion_id="b", action="x", at=NOW)])
    shutil.rmtree(tmp_path / OWNERS)
    die(dead)
    second = opened(tmp_path)
    assert statuses(second) == {"a": "claimed", "b": "claimed"}
    second.close()
    living.commit([OutcomeRequest(suggestion_id="b", status="done", result={}, at=NOW)])
    living.close()
    alone = opened(tmp_path)
    assert statuses(alone) == {"a": "unknown", "b": "done"}
    alone.close()


def test_closing_with_something_claimed_leaves_the_proof(tmp_path: Path) -> None:
    """An owner that could not record everything leaves its file, so that the next to open finds it dead."""
    living, leaving = opened(tmp_path), opened(tmp_path)
    leaving.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)])
    leaving.close()
    assert len(lock_files(tmp_path)) == 2
    second = opened(tmp_path)
    assert statuses(second) == {"a": "unknown"}
    second.close()
    living.close()
    assert lock_files(tmp_path) == []


def test_a_failed_transaction_keeps_the_old_place(tmp_path: Path) -> None:
    """A new place is taken only with the commit that moves the rows to it."""
    file = opened(tmp_path)
    file.commit([ClaimRequest(suggestion_id="a", action="x", at=NOW)])
    shutil.rmtree(tmp_path / OWNERS)
    assert file._connection is not None
    file._connection.exec_driver_sql("PRAGMA max_page_count=1")
    before = file._owner
    assert (
        "full"
        in file.commit(
            [OutcomeRequest(suggestion_id="a", status="done", result={"data": "å" * 40_000}, at=NOW)]
        ).trouble
    )
    assert file._owner is before
    assert lock_files(tmp_path) == []
    file._connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert file.commit([ClaimRequest(suggestion_id="b", action="x", at=NOW)]).trouble == ""
    assert file._owner is not before
    assert len(lock_files(tmp_path)) == 1
    file.close()


def test_only_who_claims_or_records_has_it_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nothing runs on does not pay for a connection made afresh; a write that tries the file does."""

    class Note:
        def write(self, transaction: object) -> str:
            return "kept"

    read: list[list[str]] = []
    usual = Trust.read_back

    def read_back(trust: Trust, claimed: list[str]) -> None:
        read.append(list(claimed))
        usual(trust, claimed)

    monkeypatch.setattr(Trust, "read_back", read_back)
    file = opened(tmp_path)
    assert file.commit([Note()]).answers == ["kept"]
    assert read == []
    file.commit([Note(), ClaimRequest(suggestion_id="a", action="act", at=NOW)])
    file.commit([OutcomeRequest(suggestion_id="a", status="done", result={"success": True}, at=NOW)])
    file.commit([])
    assert read == [["a"], [], []]
    file.close()
