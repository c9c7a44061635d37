"""`agent actions`: the ledger's rows, newest first."""

import json
from pathlib import Path

import pytest
import trio

from agent import cli
from agent.host import WallClock, WorkerThreads
from agent.storage.open import open_ledger
from agent.storage.settings import StorageSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which two actions were claimed and one has ended, and another server's is."""

    async def fill() -> None:
        now = WallClock().now_ms()
        kept = StorageSettings(str(tmp_path))
        async with open_ledger(kept, tmp_path / "other", WorkerThreads(1), WallClock()) as ledger:
            await ledger.claim("foreign", "send_sms", now)
            await ledger.record_outcome("foreign", "done", {"success": True, "data": {}}, now)
        async with open_ledger(kept, Path("kb"), WorkerThreads(1), WallClock()) as ledger:
            await ledger.claim("first", "send_sms", now - 1000)
            await ledger.record_outcome("first", "done", {"success": True, "data": {}}, now - 500)
            await ledger.claim("second", "create_ticket", now)

    trio.run(fill)
    return tmp_path


def test_actions_are_listed_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a dead process left running is unknown; nothing of a payload is shown."""
    assert cli.main(["actions", "--data", str(folder)]) == 0
    newest, oldest = capsys.readouterr().out.splitlines()
    assert newest.split()[2:] == ["unknown", "create_ticket", "second"]
    assert oldest.split()[2:] == ["done", "send_sms", "first"]


def test_those_of_other_knowledge_bases_are_listed_when_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all of them, or of one; which one is this folder's is found as a server finds it."""
    data = ["--data", str(folder)]
    assert cli.main(["actions", "--all", *data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[4] for line in lines] == ["second", "first", "foreign"]
    assert [line.split()[5] for line in lines] == [*[str(Path("kb").resolve())] * 2, str(folder / "other")]
    for environment in ({}, {"AGENT_KB": str(folder / "other")}):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        named = [] if environment else ["--kb", str(folder / "other")]
        assert cli.main(["actions", *named, *data]) == 0
        assert [line.split()[4] for line in capsys.readouterr().out.splitlines()] == ["foreign"]
    assert cli.main(["actions", "--kb", "nothing-here", *data]) == 0
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), "--all" in err) == ("", 1, True)


def test_actions_as_json_and_no_more_than_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object per line, with the result that the client got."""
    assert cli.main(["actions", "--data", str(folder), "--json", "-n", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["suggestionId"] == "second"


@pytest.mark.parametrize(
    ("arguments", "words"), [(["--data", "memory"], "--data DIR"), (["-n", "0"], "limit")]
)
def test_what_cannot_be_listed_is_said_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2."""
    assert cli.main(["actions", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_folder_without_a_ledger_is_an_error_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt folder is not made: an empty list would say that nothing was ever confirmed."""
    for folder in (tmp_path / "nope", tmp_path):
        assert cli.main(["actions", "--data", str(folder)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"there is no ledger in {folder}" in err
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_ledger_has_no_actions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the first server ran there is nothing to list, which is said, and nothing is made."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert cli.main(["actions"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), "nothing was confirmed yet" in err) == ("", 1, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [(), ("--all",), ("--json",)])
def test_a_ledger_without_an_action_is_told_from_silence(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line beside the output, which stays empty for a program that reads it; that is no failure."""

    async def make() -> None:
        async with open_ledger(StorageSettings(str(tmp_path)), Path("kb"), WorkerThreads(1), WallClock()):
            pass

    trio.run(make)
    assert cli.main(["actions", "--data", str(tmp_path), *options]) == 0
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"nothing was confirmed yet: no action is in the ledger of {tmp_path}" in err
