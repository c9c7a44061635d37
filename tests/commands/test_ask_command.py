"""`agent ask --explain`: the same brain on the operator's own terminal, without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import cli
from agent.client.descriptions import TO_CONFIRM
from agent.commands import ask as asking
from tests.logs import logged


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as a server's, with its settings and its documents; no server can be asked.

    The command sets up logging, which is left afterwards as it was found.
    """
    (tmp_path / "docs").mkdir()
    text = "# Plans\n\nThe Standard plan costs 299 kr a month, \x1b[2Jand more.\n"
    (tmp_path / "docs" / "a.md").write_text(text)
    (tmp_path / "agent.toml").write_text('kb = "docs"\nvectors = "off"\n')
    monkeypatch.chdir(tmp_path)

    def connect(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(asking, "connect", connect)
    with logged():
        yield tmp_path


@pytest.mark.usefixtures("folder")
def test_a_supported_answer_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Why comes first, then the answer and its sources as ever; nothing of it steers the terminal."""
    assert cli.main(["ask", "--explain", "what", "does", "the", "standard", "plan", "cost?"]) == 0
    why, _, answer = capsys.readouterr().out.partition("\n\n")
    lines = why.split("\n")
    assert lines[0] == "query (en): what does the standard plan cost?"
    for part in ("found: ", "draft 1:", "number '299 kr': held by kb/a.md:3: ", "answered: "):
        assert any(line.startswith(part) for line in lines), part
    assert "\x1b" not in why + answer
    assert "299 kr" in answer
    assert "Sources:\n  [1] kb/a.md:3 (Plans)\n    The Standard plan costs 299 kr" in answer


@pytest.mark.usefixtures("folder")
def test_a_refused_answer_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number that was refused is shown here, and in the answer it is not."""
    monkeypatch.setenv("AGENT_MOCK_HALLUCINATE", "1")
    assert cli.main(["ask", "what does the standard plan cost?", "--explain"]) == 3
    why, _, answer = capsys.readouterr().out.partition("\n\n")
    assert "REFUSED, no cited snippet holds it; nearest " in why
    assert answer.startswith("I cannot verify that\n(refused: ")


@pytest.mark.usefixtures("folder")
def test_a_question_without_an_answer_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """With what came nearest."""
    assert cli.main(["ask", "--explain", "--lang", "sv", "vem vann hockeyguldet?"]) == 3
    why, _, answer = capsys.readouterr().out.partition("\n\n")
    assert "query (sv): vem vann hockeyguldet?\nfound: nothing that is sure enough\nnearest" in why
    assert answer.startswith("Jag hittar inget stöd i kunskapsbasen.\n")


@pytest.mark.usefixtures("folder")
def test_a_request_for_an_action_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is suggested and how to confirm it; it is no refusal."""
    assert cli.main(["ask", "--explain", "call me on 0701740605"]) == 0
    answer = capsys.readouterr().out.partition("\n\n")[2]
    suggested = "Suggested, not done: schedule_callback (phone: 0701740605)"
    assert answer == f"Please confirm this.\n{suggested}\n{TO_CONFIRM}\n"


def test_another_folder_can_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --kb, which is of no use to a server that reads its own."""
    (folder / "other").mkdir()
    (folder / "other" / "b.txt").write_text("Returns are free for 30 days.\n")
    assert cli.main(["ask", "--explain", "--kb", "other", "are returns free?"]) == 0
    assert "held by kb/b.txt:1" in capsys.readouterr().out
    assert cli.main(["ask", "--kb", "other", "are returns free?"]) == 2
    assert "--kb goes with --explain" in capsys.readouterr().err
    assert cli.main(["ask", "--explain", "--kb", "nowhere", "are returns free?"]) == 2
    assert "does not exist" in capsys.readouterr().err
