"""The check of a knowledge base from the command line."""

from pathlib import Path

import pytest

from agent import cli
from tests.embedding.small import Small

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


def test_vectors_are_made_beforehand(tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sections at a time; a second run finds them, and so does a server of that data folder."""
    monkeypatch.setattr("agent.retrieval.folder.EMBED_AT_ONCE", 2)
    kb, model = tmp_path / "kb", tmp_path / "model"
    for folder in (kb, model):
        folder.mkdir()
    for number in range(5):
        (kb / f"{number}.md").write_text(f"# Price {number}\n\nWe pay the price for two months.\n")
    Small().save(model)
    flags = ["--kb", str(kb), "--data", str(tmp_path / "data"), "--vectors", f"bert:{model}"]
    assert cli.main(["kb", "embed", *flags]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *[f"{done} of 5 sections" for done in (2, 4, 5)],
        f"all sections of {kb} have vectors",
    ]
    assert cli.main(["kb", "embed", *flags]) == 0
    assert capsys.readouterr().out.splitlines() == ["5 of 5 sections", f"all sections of {kb} have vectors"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"vectors": "off"}, "vectors off makes none: name a kind, such as --vectors minilm"),
        ({"data": "memory"}, "vectors in memory end with this command: name the server's folder"),
        ({"kb": "nowhere"}, "nowhere"),
    ],
)
def test_vectors_that_cannot_be_made_are_one_line(
    changed: dict[str, str], says: str, folder: Path, tmp_path: Path, capsys: Out
) -> None:
    """With the remedy, and status 2."""
    given = {"kb": str(folder), "data": str(tmp_path), "vectors": "static"} | changed
    assert cli.main(["kb", "embed", *(f"--{name}={value}" for name, value in given.items())]) == 2
    assert says in capsys.readouterr().err
