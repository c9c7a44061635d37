"""`agent memory`: what is remembered of everybody, looked at and decided on the machine that keeps it."""

import json
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
import trio

from agent import cli
from agent.commands import memory, paging
from agent.memory.own_memory import OwnMemory
from agent.ports.conversation import Scope
from agent.ports.memory import ItemDecision, Source
from agent.ports.threads import TurnOpening, TurnStep
from agent.storage.memories import FILE
from agent.storage.memories.memory_contents import SCHEMA
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.storage.sqlite import database_file
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, a_draft, accepted, an_exchange, budget, proposed
from tests.storage.test_storage_memories import contents, files_with, open_to_all, unprivileged

SOMEBODY = Scope("kb", "t7", "")
"""Whom a socket's server does not know."""


def keep(folder: Path, *work: Callable[[DatabaseMemory], Awaitable[Any]]) -> None:
    """Keep something in a folder, as a server does."""

    async def run() -> None:
        async with open_database_memory(folder, inline, Noon()) as memory:
            for each in work:
                await each(memory)

    trio.run(run)


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Ana has said and accepted (i1), what she is asked about (i2), and an event of somebody's (i3)."""
    folder = tmp_path_factory.mktemp("memories")
    event = a_draft("We met at noon", "meeting", "event", by_rule=True)
    keep(
        folder,
        lambda memory: memory.keep_exchanges([an_exchange("m1", "My budget is 50 SEK", "Noted.")], NOW),
        lambda memory: accepted(memory, budget(50)),
        lambda memory: proposed(memory, budget(60, message="m2")),
        lambda memory: proposed(memory, event, SOMEBODY),
    )
    return folder


@pytest.fixture
def folder(memories: Path, tmp_path: Path) -> Path:
    """A copy of `memories`."""
    return Path(shutil.copytree(memories, tmp_path, dirs_exist_ok=True))


class Run:
    """What one command line printed, and its status."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str, status: int = 0) -> list[str]:
        """Return the lines that a command prints."""
        assert (cli.main(["memory", *arguments, "--data", str(self._folder)]), arguments) == (
            status,
            arguments,
        )
        self.out, self.err = self._capsys.readouterr()
        return self.out.splitlines()

    def fails(self, *arguments: str) -> str:
        """Return the one line that says what is wrong and what to do; nothing else is printed."""
        assert self(*arguments, status=2) == []
        assert self.err.count("\n") == 1
        return self.err

    def status(self, id: str) -> str:
        """Return an item's status."""
        return str(json.loads(self("show", id, "--json")[0])["status"])


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(folder, capsys)


def ids(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines]


def test_everybodys_items_are_listed_by_status(run: Run) -> None:
    """With whose they are: the project, and the user or the thread; or those alone that are asked for."""
    lines = run("list")
    assert [line.split()[:3] for line in lines] == [
        ["i2", "proposed", "fact"],
        ["i1", "accepted", "fact"],
        ["i3", "accepted", "event"],
    ]
    assert ["p1/ana" in line for line in lines] == [True, True, False]
    assert lines[2].endswith("kb/thread t7  We met at noon")
    assert ids(run("list", "--user", "ana")) == ["i2", "i1"]
    assert ids(run("list", "--thread", "t7", "--project", "kb")) == ["i3"]
    assert ids(run("list", "--status", "accepted")) == ["i1", "i3"]
    (line,) = run("list", "--status", "proposed", "--json")
    assert (json.loads(line)["id"], json.loads(line)["scope"]) == (
        "i2",
        {"project": "p1", "thread": "", "user": "ana"},
    )


def test_nothing_to_list_is_told_from_silence(run: Run) -> None:
    """Beside the output, which stays empty; that is no failure."""
    assert run("list", "--user", "bo") == []
    assert run.err == "agent: no item matches: leave out a filter, or name another place with --data\n"


def test_an_item_is_shown_with_its_sources_and_history(run: Run) -> None:
    """And with what it would replace."""
    shown = "\n".join(run("show", "i2"))
    assert "i2  proposed  fact  p1/ana" in shown
    assert "says      The budget of atlas is 60 SEK" in shown
    assert "source    message m2  The budget of atlas is 60 SEK" in shown
    assert "replaces  i1, once it is accepted: The budget of atlas is 50 SEK" in shown
    assert "i2  propose: new -> proposed, by nobody" in shown
    run("accept", "i2", "--replaces", "i1")
    history = [line.split(maxsplit=2)[2] for line in run("show", "i2") if " -> " in line]
    assert history == [
        "i1  propose: new -> proposed, by nobody",
        "i1  approve: proposed -> accepted, by user",
        "i2  propose: new -> proposed, by nobody",
        "i1  supersede: accepted -> superseded, by user",
        "i2  approve: proposed -> accepted, by user",
    ]
    assert "  replaced  by i2" in run("show", "i1")


def test_what_is_proposed_is_not_true_yet(run: Run) -> None:
    """It is of whom the operator names, from when he says, and what it contradicts is told."""
    about = ("fact", "budget of atlas", "The budget of atlas is 70 SEK", "--user", "ana", "--project", "p1")
    first, second = run("propose", *about, "--valid-from", "2026-05-01", "--valid-to", "2027-05-01T00:00:00Z")
    assert first.split()[:3] == ["i4", "proposed", "fact"]
    assert second == "i4 replaces i1: The budget of atlas is 50 SEK"
    item = json.loads(run("show", "i4", "--json")[0])
    assert (item["valid_to"], item["decided_by"], item["replaces"]) == (1_809_129_600_000, None, ["i1"])
    assert (item["scope"]["user"], item["sources"][0]["kind"]) == ("ana", "message")
    (line,) = run("propose", "fact", "door code", "The code is 1234", "--thread", "t7", "--project", "kb")
    assert "proposed" in line
    assert "kb/thread t7" in line


def test_a_rule_accepts_what_ends_by_itself(run: Run) -> None:
    """As everywhere."""
    (line,) = run(
        "propose", "metric", "visits", "There were 9 visits", "--user", "bo", "--expires-at", "2999-01-01"
    )
    assert line.split()[1] == "accepted"


def test_what_an_acceptance_replaces_is_told_first(run: Run) -> None:
    """Nothing is done before the operator has named it; done again, nothing more happens."""
    for named in ((), ("--replaces", "i3")):
        assert run("accept", "i2", *named, status=2) == ["i2 replaces i1: The budget of atlas is 50 SEK"]
        assert run.err.endswith("to accept it, agent memory accept i2 --replaces i1\n")
        assert run.status("i2") == "proposed"
    (line,) = run("accept", "i2", "--replaces", "i1")
    assert line.split()[:2] == ["i2", "accepted"]
    assert [run.status("i1"), run.status("i2")] == ["superseded", "accepted"]
    assert run("accept", "i2", "--replaces", "i1") == run("accept", "i2") == [line]


def test_nothing_is_named_that_is_not_replaced(run: Run) -> None:
    """Else its operator is mistaken about what he accepts."""
    run("propose", "fact", "door code", "The code is 1234", "--user", "ana")
    assert "it replaces nothing; to accept it, agent memory accept i4\n" in run.fails(
        "accept", "i4", "--replaces", "i1"
    )


def test_what_was_rejected_stays_so(run: Run) -> None:
    """Its table refuses the rest, and says what can be done."""
    assert run("reject", "i2")[0].split()[:2] == ["i2", "rejected"]
    assert "i2 is rejected, of type fact, and cannot be accepted now; " in run.fails("accept", "i2")
    assert run.err.endswith("what can be done: agent memory reopen i2 or agent memory forget i2\n")
    assert "i1 is accepted, of type fact, and cannot be rejected now; " in run.fails("reject", "i1")
    assert run.err.endswith("what can be done: agent memory edit i1 or agent memory forget i1\n")
    run("forget", "i1")
    assert "and cannot be corrected now; what can be done: agent memory show i1\n" in run.fails(
        "edit", "i1", "The budget is 70"
    )


def test_what_is_to_be_done_goes_on_as_its_table_says(run: Run) -> None:
    """Each decision has its word, and is refused where the item's state does not take it."""
    run("propose", "open_loop", "call anna", "Call Anna", "--user", "ana")
    run("accept", "i4")
    for word, status in (
        *(("block", "blocked"), ("unblock", "active"), ("done", "done"), ("reopen", "proposed")),
        ("accept", "active"),
    ):
        assert run(word, "i4")[0].split()[:2] == ["i4", status]
    assert "and cannot be started now; what can be done: agent memory done i4 or agent memory block i4" in (
        run.fails("start", "i4")
    )
    run("propose", "decision", "the tool", "We take the blue one", "--user", "ana")
    run("accept", "i5")
    assert run("start", "i5")[0].split()[:2] == ["i5", "active"]


def test_a_text_is_corrected_by_another_item(run: Run) -> None:
    """Which is live in its place, and comes from that correction; a proposed one is rejected for it."""
    assert run("edit", "i1", "My budget is 70 SEK")[0].split()[:2] == ["i4", "accepted"]
    assert run.status("i1") == "superseded"
    (line,) = run("show", "i4", "--json")
    assert [source["ref"] for source in json.loads(line)["sources"]] == ["edit:i1"]
    run("propose", "fact", "a door", "The door is blue", "--user", "ana")
    assert run("edit", "i5", "The door is red", "--lang", "en")[0].split()[:2] == ["i6", "accepted"]
    assert run.status("i5") == "rejected"
    assert "nothing was done: the text is empty" in run.fails("edit", "i6", " ")


def test_every_decision_has_its_command() -> None:
    """And each says in one line what it does."""
    for decision in get_args(ItemDecision):
        help = memory.command[decision].help
        assert "\n" not in help.split("\n\n")[0].strip(), decision


def test_what_changed_meanwhile_is_not_decided(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may have decided it between the look and the word."""
    decide = OwnMemory.decide_item

    async def late(self: Any, scope: Scope, id: str, *rest: Any) -> Any:
        await decide(self, scope, id, "reject")
        return await decide(self, scope, id, *rest)

    monkeypatch.setattr(OwnMemory, "decide_item", late)
    for word in (("accept", "i2", "--replaces", "i1"), ("reject", "i2")):
        if word[0] == "reject":
            run("propose", "fact", "a door", "The door is blue", "--user", "ana")
            word = ("reject", "i4")
        assert "changed meanwhile: look at it with agent memory show" in run.fails(*word)


def test_what_is_forgotten_is_gone_from_its_thread_too(run: Run, folder: Path) -> None:
    """The messages that a server keeps beside the memory."""

    async def say() -> None:
        settings = StorageSettings(str(folder))
        async with open_store(settings, Path("kb"), inline, Noon()) as store:
            await store.projects.create_project("p1", "P", "", NOW)
            await store.threads.begin_turn(
                TurnOpening(
                    project="p1",
                    thread="t1",
                    user="ana",
                    id="m1",
                    content="My budget is 50 SEK",
                    at=NOW,
                    new=True,
                )
            )
            await store.threads.record_step(
                TurnStep(project="p1", thread="t1", message="m1", status="done", at=NOW)
            )

    trio.run(say)
    assert any("ledger" in each for each in files_with(folder, "50 SEK"))
    run("forget", "i1")
    assert files_with(folder, "50 SEK") == []


def test_what_is_forgotten_is_in_no_file(run: Run, folder: Path) -> None:
    """Nor what was said in the messages that it comes from, and their answers."""
    assert files_with(folder, "50 SEK") != []
    assert run("forget", "i1") == ["i1 is forgotten, and 2 messages and answers with it"]
    assert files_with(folder, "50 SEK") == []
    assert run("forget", "i1") == ["i1 is forgotten, and 2 messages and answers with it"]  # as it was before
    assert ids(run("list")) == ["i2", "i3"]
    assert ids(run("list", "--status", "forgotten")) == ["i1"]
    assert "  says      (forgotten)" in run("show", "i1")


def test_what_was_brought_from_elsewhere_is_forgotten_as_any(run: Run, folder: Path, tmp_path: Path) -> None:
    """Exported with its turns, imported into another folder, proposed there, and forgotten: in no file of that."""
    lines = [json.loads(line) for line in run("export", "--user", "ana", "--turns")]
    turns = tmp_path / "turns.jsonl"
    with turns.open("w") as written:
        for turn in (each for each in lines if each["kind"] == "turn"):
            at = datetime.fromtimestamp(turn["at"] / 1000, UTC).isoformat()
            said = {"id": f"{turn['message']}{turn['role']}", "thread": "t1", "at": at, "text": turn["text"]}
            written.write(json.dumps(said | {"speaker": turn["role"]}) + "\n")
    other = Run(tmp_path / "other", run._capsys)
    other("import", "--turns", str(turns), "--user", "ana")
    assert files_with(tmp_path / "other", "50 SEK") != []
    other("propose", "fact", "budget", "My budget is 50 SEK", "--user", "ana", "--project", "")
    other("accept", "i1")
    assert other("forget", "i1") == ["i1 is forgotten, and 1 messages and answers with it"]
    assert files_with(tmp_path / "other", "50 SEK") == []


def test_everything_is_exported_page_by_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item with its sources and history, then what was said; each once, however small the pages are."""
    document = replace(
        a_draft("It is 9 m long", "hall"), sources=(Source("document", "kb/a.md", 3, 4, "9 m"),)
    )
    keep(run._folder, lambda memory: accepted(memory, document))
    monkeypatch.setattr(paging, "PAGE_MOST", 1)
    lines = [json.loads(line) for line in run("export", "--turns")]
    assert [line["kind"] for line in lines] == ["item"] * 4 + ["turn"] * 2
    assert [line["id"] for line in lines] == ["i1", "i2", "i3", "i4", "t1", "t2"]
    assert [change["trigger"] for change in lines[0]["history"]] == ["propose", "approve"]
    assert lines[3]["sources"][0]["first"] == 3
    assert (lines[4]["scope"]["user"], lines[4]["role"], lines[4]["text"]) == (
        "ana",
        "user",
        "My budget is 50 SEK",
    )
    assert [json.loads(line)["id"] for line in run("export", "--turns", "--user", "")] == ["i3"]
    assert "cites" not in lines[4]  # which is not read: an empty list would say that there are none
    assert len(run("export")) == 4


def test_the_memory_is_looked_over(run: Run, folder: Path) -> None:
    """How much there is, how much is missing, and that the file is whole."""
    keep(
        folder,
        lambda memory: memory.record_gap(ANA, NOW, 3),
        lambda memory: memory.record_gap(SOMEBODY, NOW, 2),
    )
    assert run("check") == [
        "file: whole",
        "items: 1 proposed, 2 accepted",
        "messages and answers: 2",
        "exchanges that could not be kept: 5",
    ]


def test_a_damaged_file_is_found(run: Run, folder: Path) -> None:
    """Rows that belong to nothing, and pages that nothing refers to; or so damaged that it says no more."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as file:
        file.execute("PRAGMA foreign_keys=OFF")
        file.execute("INSERT INTO gaps (scope, at, count) VALUES (99, 0, 1)")
        file.execute("PRAGMA writable_schema=ON")
        file.execute("DELETE FROM sqlite_master WHERE name = 'turn_cites_of'")
    lines = run("check", status=3)
    assert "damaged: a row of gaps belongs to a row of scopes that is not there" in lines
    assert any("never used" in line for line in lines)
    assert all(line.startswith("damaged: ") for line in lines)
    assert "put a backup of memory.sqlite in its place" in run.err
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema=ON")
        file.execute("UPDATE sqlite_master SET rootpage = 2 WHERE name = 'items_listed'")
    assert run("check", status=3) == ["damaged: database disk image is malformed"]


USER = ("--user", "ana")


BAD = (
    (("show", "i99"), "there is no item i99: agent memory list shows"),
    (("accept", "nonsense"), "there is no item nonsense"),
    (("reject", "i0"), "there is no item i0"),
    (("forget", "t1"), "there is no item t1"),
    (("propose", "fact", "a door", "x" * 501, *USER), "500 characters at most; split it"),
    (("propose", "fact", "a door", " ", *USER), "give the sentence to remember"),
    (("propose", "metric", "visits", "9 visits", *USER), "give expires_at"),
    (("propose", "fact", "12 4711", "It is blue", *USER), "must have words"),
    (
        ("propose", "fact", "a door", "It is blue", *USER, "--valid-to", "2026-02-30"),
        "valid-to must be a date",
    ),
    (
        ("propose", "fact", "a door", "It is blue", *USER, "--valid-from", "1969-01-01"),
        "from 1970 to 9999",
    ),
    (
        ("propose", "fact", "a door", "It is blue", *USER, "--valid-to", "1999-01-01"),
        "later than valid_from",
    ),
    (("propose", "event", "a door", "It is blue", *USER, "--expires-at", "1999-01-01"), "later than now"),
    (("propose", "fact", "a door", "It is blue", *USER, "--valid-to", "0001-01-01"), "must be a date"),
    (("propose", "truth", "a door", "It is blue", *USER), "truth"),
    (("propose", "fact", "a door", "It is blue"), "--user NAME, or --thread ID"),
    (("list", "--status", "true"), "true"),
)


def test_what_cannot_be_done_is_said_and_changes_nothing(run: Run) -> None:
    """One line that says what to do, and exit status 2."""
    before = run("export", "--turns")
    for arguments, words in BAD:
        assert words in run.fails(*arguments), arguments
    assert run("export", "--turns") == before


def test_a_folder_without_a_memory_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt folder is not made, and an empty one gets no file."""
    for folder in (tmp_path / "nope", tmp_path):
        said = Run(folder, capsys).fails("propose", "fact", "a door", "It is blue", *USER)
        assert f"there is no memory in {folder}: name the folder that a server keeps, its --data DIR" in said
    assert list(tmp_path.iterdir()) == []
    assert cli.main(["memory", "list", "--data", "memory"]) == 2
    assert "--data DIR" in capsys.readouterr().err


def test_a_newer_memory_is_left_as_it_is(run: Run, folder: Path) -> None:
    """Byte for byte."""
    with closing(sqlite3.connect(folder / FILE)) as made:
        made.execute(f"PRAGMA user_version={SCHEMA + 1}")
    before = contents(folder)
    told = run.fails("list")
    assert f"{FILE} has schema {SCHEMA + 1}, written by a newer version" in told
    assert f"up to {SCHEMA}: run the newer version; nothing in it was changed." in told
    assert contents(folder) == before


def test_a_folder_that_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    with open_to_all() as folder:
        keep(folder, lambda memory: accepted(memory, budget(50)))
        (folder / FILE).chmod(0o444)
        folder.chmod(0o555)
        before = contents(folder)
        with unprivileged():
            said = Run(folder, capsys).fails("forget", "i1")
        assert "readonly database; nothing in it was changed" in said
        assert "as a user who may write there" in said
        assert contents(folder) == before


def test_on_a_full_disk_nothing_is_half_done(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And that is said, once."""
    with closing(sqlite3.connect(folder / FILE)) as file:
        (pages,) = file.execute("PRAGMA page_count").fetchone()
    pragmas = (*database_file._PRAGMAS["memory"], f"max_page_count={pages}")
    monkeypatch.setitem(database_file._PRAGMAS, "memory", pragmas)
    for number in range(9):  # until the last page is full
        before = run("export")
        words = ("propose", "fact", f"door {chr(ord('a') + number)}", "å" * 499 + str(number), *USER)
        if cli.main(["memory", *words, "--data", str(folder)]):
            break
    out, err = run._capsys.readouterr()
    assert (
        err
        == "agent: the memory: database or disk is full; nothing is half done: put that right and try again\n"
    )
    assert out.count("\n") == number
    assert run("export") == before


def test_what_is_remembered_cannot_steer_a_terminal(run: Run, folder: Path) -> None:
    """Whatever somebody said."""
    bad = "It is \x1b]0;OWNED\x07\x9b31m\u202e\rred"
    hostile = a_draft(bad, "door", message="\x1b[2J")
    keep(folder, lambda memory: proposed(memory, hostile, Scope("\x1b[31m", "", "\u202eana")))
    for arguments in (("list",), ("list", "--json"), ("show", "i4"), ("show", "i4", "--json"), ("export",)):
        assert "OWNED" in "".join(run(*arguments))
        assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", run.out) == []


async def test_a_server_that_runs_is_not_hurt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It sees at once what was decided beside it, keeps what it is told, and may forget."""
    async with open_database_memory(folder, inline, Noon()) as server:
        for arguments in (
            ("accept", "i2", "--replaces", "i1"),
            ("check",),
            ("export", "--turns"),
            ("forget", "i3"),
        ):
            assert await trio.to_thread.run_sync(cli.main, ["memory", *arguments, "--data", str(folder)]) == 0
            await server.keep_exchanges([an_exchange(arguments[0])], NOW)
        assert (await server.item(ANA, "i1")).status == "superseded"
        assert (await server.item(SOMEBODY, "i3")).status == "forgotten"
        await server.forget_item(ANA, "i1", NOW)
        assert files_with(folder, "50 SEK", "at noon") == []
    capsys.readouterr()


def test_a_decision_is_a_command_or_a_word_of_decide(run: Run) -> None:
    """Both do the same, and refuse the same in the same words."""
    run("decide", "i2", "accept", status=2)
    assert "--replaces i1" in run.err
    run("decide", "i2", "accept", "--replaces", "i1")
    assert (run.status("i2"), run.status("i1")) == ("accepted", "superseded")
    assert run.fails("decide", "i2", "block") == run.fails("block", "i2")
    assert "--replaces goes with accept" in run.fails("decide", "i2", "reopen", "--replaces", "i1")
    assert "DECISION" in run.fails("decide", "i2", "keep").upper()


def test_the_help_begins_with_the_commands_that_people_use_most(capsys: pytest.CaptureFixture[str]) -> None:
    """Each decision stands as a command of its own at the end."""
    assert cli.main(["memory", "--help"]) == 0
    names = re.findall(r"^│ ([a-z]+) ", capsys.readouterr().out, re.MULTILINE)
    assert names[:5] == ["list", "decide", "forget", "export", "import"]
    assert set(names[-7:]) == set(get_args(ItemDecision))
    assert set(names) == {name for name in memory.command if not name.startswith("-")}
