"""The check of a knowledge base from the command line."""

from pathlib import Path

import pytest

from agent import cli

Out = pytest.CaptureFixture[str]


def test_the_shipped_knowledge_base_is_clean(folder: Path, capsys: Out) -> None:
    """Its two languages say the same numbers in other words, and no file contradicts another."""
    assert cli.main(["kb", "check", "--kb", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("read: 12 files, ")


@pytest.fixture
def folder() -> Path:
    """The folder of the shipped knowledge base."""
    return Path(__file__).parents[2] / "kb"


def test_each_finding_is_a_line_and_status_3(tmp_path: Path, capsys: Out) -> None:
    """Kind, files, words: for a person, and for grep. What was passed over is named below them."""
    (tmp_path / "a.md").write_text("The return period is 30 days.\n")
    (tmp_path / "b.md").write_text("# FAQ\n\nThe return period is 14 days.\n")
    (tmp_path / "c.md").write_text(" \n")
    (tmp_path / "d.png").write_bytes(b"")
    assert cli.main(["kb", "check", "--kb", str(tmp_path)]) == 3
    assert capsys.readouterr().out.splitlines() == [
        "empty: kb/c.md: has nothing in it that can be cited",
        "contradiction: kb/a.md:1, kb/b.md:3: 30 day or 14 day? "
        "“The return period is 30 days.” and “The return period is 14 days.”",
        "read: 2 files, 2 sections, 2 statements (2 of paragraphs, 0 items, 0 rows, 0 of code, 0 of quotes)",
        "left out: 1 file: has nothing in it that can be cited (1)",
        "left out: 1 file of kinds that are not read: 1 .png",
    ]


def test_no_such_folder_is_one_line(capsys: Out, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Status 2; the folder comes from the environment too."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["kb", "check"]) == 2
    monkeypatch.setenv("AGENT_KB", "elsewhere")
    assert cli.main(["kb", "check"]) == 2
    assert "elsewhere does not exist" in capsys.readouterr().err
