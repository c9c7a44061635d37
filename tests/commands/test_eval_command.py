"""`agent eval`: an operator's own questions, asked and judged in this process."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import cli
from agent.commands import evaluate
from agent.commands.local_answers import collect_answer
from tests.logs import logged

PAGE = "# Plans\n\nThe Standard plan costs 299 kr a month.\n\nThe Premium plan costs 599 kr a month.\n"
STANDARD = {
    "question": "What does the Standard plan cost?",
    "file": "a.md",
    "lines": [3, 3],
    "answer": ["299 kr"],
}
CASES: list[dict[str, Any]] = [
    {"id": "1", **STANDARD},
    {"id": "2", "question": "What does the Premium plan cost?", "file": "a.md", "answer": ["699 kr"]},
    {"id": "3", "question": "How long may a whale sleep?", "kind": "off"},
    {"id": "4", "question": "Who founded it?", "answer": []},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as a server's, with its settings, its documents and some cases."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(PAGE)
    (tmp_path / "agent.toml").write_text('kb = "docs"\nvectors = "off"\n')
    write_cases(tmp_path, CASES)
    monkeypatch.chdir(tmp_path)
    with logged():
        yield tmp_path


def write_cases(folder: Path, cases: list[dict[str, Any]]) -> None:
    """Write a file of cases, with an empty line in it."""
    (folder / "cases.jsonl").write_text("\n\n".join(map(json.dumps, cases)) + "\n", "utf-8")


def test_the_cases_are_asked_and_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each and a table; a case that lacks its answer is named by its line, and not counted."""
    assert cli.main(["eval", "cases.jsonl", "--json", "figures.json"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["right", "wrong", "right"]
    assert lines[3] == "3 of 3 cases were asked; the model is mock"
    assert "line 7" in err
    figures = json.loads((folder / "figures.json").read_bytes())
    assert (figures["right"], figures["wrong"], figures["refused"], figures["first"]) == (1, 1, 0, 1)
    assert (figures["off_refused"], figures["off_answered"]) == (1, 0)
    assert figures["uncounted"] == [{"id": "4", "line": 7}]
    assert [each["id"] for each in figures["results"]] == ["1", "2", "3"]
    assert "299 kr" in figures["results"][0]["answer"]


def test_another_folder_and_another_model_can_be_named(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for the server; a model that there is none of is the operator's mistake."""
    other = tmp_path_factory.mktemp("other")
    (other / "a.md").write_text(PAGE.replace("599", "699"))
    assert cli.main(["eval", "cases.jsonl", "--kb", str(other)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[:2]] == ["right", "right"]
    assert cli.main(["eval", "cases.jsonl", "--model", "nothing:here"]) == 2
    assert cli.main(["eval", "cases.jsonl", "--kb", "nowhere"]) == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        ('{"question": 5}', "line 2"),
        ('{"question": "q?", "answer": "49"}', "line 2"),
        ('{"question": "q?", "lines": [3, 1]}', "line 2"),
        ("[" * 100_000, "line 2"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_asked(
    line: str, part: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence with its number, and how a line is written."""
    (folder / "cases.jsonl").write_text(f"{json.dumps(CASES[0])}\n{line}\n")
    assert cli.main(["eval", "cases.jsonl"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err
    assert 'write {"id"' in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_used_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is not there, one without a complete case, and figures that have no folder."""
    write_cases(folder, CASES[3:])
    for arguments, part in (
        (["none.jsonl"], "cannot be read"),
        (["cases.jsonl"], "says what a right answer holds"),
    ):
        assert cli.main(["eval", *arguments]) == 2
        assert part in capsys.readouterr().err
    write_cases(folder, CASES)
    assert cli.main(["eval", "cases.jsonl", "--json", "no/where.json"]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_an_interrupt_leaves_what_was_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures of the cases until then, in the table and the file; the status says that some are missing."""
    asked = []

    async def interrupted(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return await collect_answer(*given)

    monkeypatch.setattr(evaluate, "collect_answer", interrupted)
    write_cases(folder, [{"id": str(number), **STANDARD} for number in range(200)])
    assert cli.main(["eval", "cases.jsonl", "--json", "figures.json"]) == 1
    out, err = capsys.readouterr()
    figures = json.loads((folder / "figures.json").read_bytes())
    assert 1 <= figures["asked"] == figures["right"] < 200
    assert f"{figures['asked']} of 200 cases were asked" in out
    assert f"ended after {figures['asked']} of 200 cases" in err
