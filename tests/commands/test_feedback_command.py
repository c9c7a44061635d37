"""`agent feedback`: what users said of answers, on the machine that keeps it."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from agent import cli
from agent.ports.feedback import Verdict
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.rated import a_rated_answer, a_rating
from tests.stored import NOW


async def fill(store: Store) -> None:
    """Keep two verdicts about the operator's documents, and one about a project's."""
    await store.projects.create_project("p2", "Shop", "", NOW)
    await store.feedback.put_feedback(a_rating("k1"), a_rated_answer(question="What\x1b[2J is\nit?"))
    await store.feedback.put_feedback(
        a_rating("k2", verdict="up", text=""), a_rated_answer(blocked="no_sources")
    )
    await store.feedback.put_feedback(a_rating("k3"), a_rated_answer(project="p2"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with feedback."""

    async def run() -> None:
        async with open_store(StorageSettings(str(tmp_path)), Path("kb"), inline, Noon()) as store:
            await fill(store)

    trio.run(run)
    return tmp_path


def run(folder: Path, *arguments: str, status: int = 0) -> None:
    """Run a command line."""
    assert cli.main(["feedback", *arguments, "--data", str(folder)]) == status


def test_feedback_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, of all projects or one; nothing of it steers the terminal."""
    run(folder, "list")
    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    lines = [line.split() for line in out.splitlines()]
    assert [(line[0], line[2], line[3]) for line in lines] == [
        ("1", "down", "ann"),
        ("2", "up", "ann"),
        ("3", "down", "ann"),
    ]
    assert lines[0][-3:] == ["said:", "Too", "old"]
    assert "(refused: no_sources)" in out
    for more, numbers in (
        (("--verdict", "down"), ["1", "3"]),
        (("--project", "p2"), ["3"]),
        (("--project", "default", "--after", "1"), ["2"]),
    ):
        run(folder, "list", *more)
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == numbers
    run(folder, "list", "--after", "9")
    assert "there is no such feedback" in capsys.readouterr().err


def test_feedback_is_exported_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON lines with all that is kept."""
    run(folder, "export", "--project", "default")
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["question"], first["citations"][0]["file"]) == ("What\x1b[2J is\nit?", "kb/prices.md")
    assert (second["verdict"], second["blocked"], second["created_at"]) == (
        "up",
        "no_sources",
        first["created_at"],
    )


@pytest.mark.parametrize(("verdict", "files"), [("down", [""]), ("up", ["prices.md"])])
def test_feedback_becomes_cases(
    verdict: Verdict, files: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which `agent eval` takes, and names as incomplete until their owner has written what is right."""
    run(folder, "cases", "--verdict", verdict)
    lines = capsys.readouterr().out
    assert [json.loads(line)["file"] for line in lines.splitlines()] == files
    (folder / "cases.jsonl").write_text(lines)
    assert cli.main(["eval", str(folder / "cases.jsonl")]) == 2
    assert "no case that says what a right answer holds" in capsys.readouterr().err


def test_a_question_makes_one_case(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The latest of it."""

    async def more() -> None:
        async with open_store(StorageSettings(str(folder)), Path("kb"), inline, Noon()) as store:
            await store.feedback.put_feedback(a_rating("k9", text="Still old"), a_rated_answer())

    trio.run(more)
    run(folder, "cases")
    made: list[Any] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["id"], each["text"]) for each in made] == [("1", "Too old"), ("4", "Still old")]


def test_what_cannot_be_opened_says_so(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without a ledger, one in memory, and a project that is not there; nothing is made."""
    empty = tmp_path / "empty"
    for where, more, part in (
        (str(empty), (), "there is no feedback in"),
        ("memory", (), "ends with its server"),
        (str(folder), ("--project", "p9"), "there is no project p9"),
    ):
        assert cli.main(["feedback", "list", "--data", where, *more]) == 2
        assert part in capsys.readouterr().err
    assert not empty.exists()
