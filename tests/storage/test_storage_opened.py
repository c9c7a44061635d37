"""All that is kept, as a server opens it: in a folder with its ledger, in memory when it is first asked for."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.errors import NotFound, UsageError
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.settings import Settings
from agent.storage.open import data_label, kb_label, open_store
from agent.storage.settings import StorageSettings
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.stored import NOW, a_call, with_calls

RUN: dict[str, Any] = {"needs_approval": False, "status": "confirmed", "runs_at": "record"}


async def test_a_folder_has_the_ledger_and_all_else_in_one_file(tmp_path: Path) -> None:
    """A call is there after a restart, with the row of its ledger."""
    settings = StorageSettings(str(tmp_path))
    async with open_store(settings, Path("/docs"), inline, Noon()) as store:
        await with_calls(store, a_call(**RUN))
        await store.ledger.claim("c1", "refund", NOW)
        await store.ledger.record_outcome("c1", "done", {"success": True}, NOW)
    async with open_store(settings, Path("/docs"), inline, Noon()) as store:
        assert (await store.calls.call(HOUSE, "c1")).status == "done"
        assert [(row.suggestion_id, row.kb) for row in await store.ledger.rows()] == [("c1", "/docs")]


async def test_in_memory_one_database_is_made_for_all_who_ask(tmp_path: Path) -> None:
    """The first call makes it; what one store keeps the others see; it ends with the block."""
    async with open_store(StorageSettings(), tmp_path, inline, Noon()) as store:
        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(store.projects.create_project, f"p{number}", "name", "", NOW)
        await with_calls(store, a_call())
        assert (await store.calls.call(HOUSE, "c1")).status == "suggested"
        assert len((await store.projects.projects(Window(9))).entries) == 5
    async with open_store(StorageSettings(), tmp_path, inline, Noon()) as store:
        with pytest.raises(NotFound):
            await store.calls.call(HOUSE, "c1")


async def test_in_memory_a_kept_call_is_claimed_where_it_is_kept(tmp_path: Path) -> None:
    """A socket's action stays in the dict; a call that is not confirmed is not claimed; both are listed."""
    async with open_store(StorageSettings(), tmp_path, inline, Noon()) as store:
        assert await store.ledger.claim("before", "send_sms", NOW)
        await with_calls(store, a_call(), a_call("c2", **RUN))
        assert not await store.ledger.claim("c1", "refund", NOW + 1)
        for id, won in (("c2", True), ("c2", False), ("before", False), ("after", True)):
            assert await store.ledger.claim(id, "x", NOW + 2) is won
        for id in ("before", "c2", "never"):
            await store.ledger.record_outcome(id, "done", {"success": True}, NOW + 3)
        assert (await store.calls.call(HOUSE, "c2")).status == "done"
        rows = await store.ledger.rows(2)
        assert {row.suggestion_id for row in rows} == {"c2", "after"}
        assert [(row.suggestion_id, row.status) for row in (await store.ledger.rows())[2:]] == [
            ("before", "done")
        ]
        for id, status in (("before", "done"), ("c2", "done"), ("after", "claimed")):
            row = await store.ledger.get_row(id)
            assert row is not None
            assert row.status == status
        assert await store.ledger.get_row("c1") is None


async def test_what_fails_in_the_block_comes_out_as_it_is(tmp_path: Path) -> None:
    """Neither the block's own error nor a cancel is wrapped in a group, or keeps it open."""

    async def fail() -> None:
        async with open_store(StorageSettings(), tmp_path, inline, Noon()) as store:
            await store.projects.project(HOUSE)
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    with trio.move_on_after(0) as scope:
        async with open_store(StorageSettings(), tmp_path, inline, Noon()):
            await trio.sleep_forever()
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("login", "options"),
    [
        ("", ""),
        ("u@", "?sslmode=require"),
        ("u:s3cret@", "?password=s3cret@s3cret"),
        ("u:12?s3cret@", ""),
        ("u:12#s3cret@", ""),
        ("u:12/s3cret@", ""),
        ("u:s3cret@s3cret@", ""),
    ],
)
def test_the_label_of_a_server_has_no_login(login: str, options: str) -> None:
    """Whatever characters of a URL stand in its password."""
    assert data_label(f"postgresql://{login}h:5432/d{options}") == "postgresql://h:5432/d"


SERVER = "postgresql://u@h/d"


def test_machines_that_share_a_server_agree_on_the_name_of_the_documents(tmp_path: Path) -> None:
    """Wherever each of them has its folder, and whichever release a link leads to; a folder's ledger has the path."""
    for release in ("one/handbook", "two/handbook", "release-7"):
        (tmp_path / release).mkdir(parents=True)
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "handbook").symlink_to(tmp_path / "release-7")
    for machine in ("one", "two", "three"):
        kb = tmp_path / machine / "handbook"
        chosen = Settings.of(kb=kb, data=SERVER)
        assert (kb_label(chosen.storage, kb), chosen.socket_project) == ("handbook", "handbook")
        chosen = Settings.of(kb=kb, data=SERVER, kb_name="The handbook")
        assert (kb_label(chosen.storage, kb), chosen.socket_project) == ("The handbook", "The handbook")
        kept = Settings.of(kb=kb, data=str(tmp_path))
        assert (kb_label(kept.storage, kb), kept.socket_project) == (str(kb.resolve()), str(kb))


@pytest.mark.parametrize("name", ["two\nlines", "x" * 101])
def test_a_name_that_cannot_be_shown_in_a_line_is_refused(name: str) -> None:
    """With the setting and its bounds."""
    with pytest.raises(UsageError, match=r"^kb-name must be a line of up to 100 characters$"):
        StorageSettings(SERVER, kb_name=name)


@pytest.mark.proof
def test_sqlalchemy_is_imported_when_something_is_kept() -> None:
    """A server that keeps nothing does not pay for it at its start, and none on SQLite for PostgreSQL's drivers."""
    script = (
        "import sys, trio\n"
        "from pathlib import Path\n"
        "from agent.host import WallClock, WorkerThreads\n"
        "from agent.storage.open import open_store\n"
        "from agent.storage.settings import StorageSettings\n"
        "async def main():\n"
        "    async with open_store(StorageSettings(), Path('.'), WorkerThreads(1), WallClock()) as store:\n"
        "        await store.ledger.claim('a', 'x', 1)\n"
        "        before = 'sqlalchemy' in sys.modules\n"
        "        await store.projects.project('default')\n"
        "        print(before, 'sqlalchemy' in sys.modules, 'sqlalchemy.dialects.postgresql' in sys.modules)\n"
        "trio.run(main)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False True False\n"
