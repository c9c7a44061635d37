"""`agent actions`: the ledger's rows, newest first."""

import json
from pathlib import Path

import pytest
import trio

from agent import cli
from agent.app import Threads, WallClock
from agent.config import Settings
from agent.storage.open import opened_ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which two actions were claimed and one has ended."""

    async def fill() -> None:
        async with opened_ledger(Settings(data=str(tmp_path)), Threads(1), WallClock()) as ledger:
            now = WallClock().now_ms()
            await ledger.claim("first", "send_sms", now - 1000)
            await ledger.record("first", "done", {"success": True, "data": {}}, now - 500)
            await ledger.claim("second", "create_ticket", now)

    trio.run(fill)
    return tmp_path


def test_actions_are_listed_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a dead process left running is unknown; nothing of a payload is shown."""
    assert cli.main(["actions", "--data", str(folder)]) == 0
    newest, oldest = capsys.readouterr().out.splitlines()
    assert newest.split()[2:] == ["unknown", "create_ticket", "second"]
    assert oldest.split()[2:] == ["done", "send_sms", "first"]


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
