"""Diagrams say what the code says, are the same every time, and a stale one is told."""

import re
from pathlib import Path

import pytest

from agent import diagrams
from agent.diagrams import check, imports, render, write
from agent.session.states import TABLE, SessionState, SessionTrigger


def test_session_diagram_holds_every_row_and_state() -> None:
    """Each row of the table is an arrow with its guard, each state a row of the matrix."""
    text = render()["session.md"]
    assert "```mermaid\nstateDiagram-v2\n" in text
    arrows = text[: text.index("What each state")]
    for row in TABLE.rows:
        target = row.source if row.target is None else row.target
        guard = f" [{row.guard.value}]" if row.guard else ""
        assert f"{row.source.value} --> {target.value}: {row.trigger.value}{guard}" in arrows
    matrix = text[text.index("| state |") :]
    assert all(f"| {state.value} |" in matrix for state in SessionState)
    assert all(f" {trigger.value} |" in matrix.splitlines()[0] for trigger in SessionTrigger)


def test_every_promised_file_is_rendered_the_same_twice() -> None:
    """The diagrams are pure functions of the code."""
    assert set(render()) == {
        "session.md",
        "suggestion.md",
        "item.md",
        "version.md",
        "chapter.md",
        "connection.md",
        "listening.md",
        "utterance.md",
        "mouth.md",
        "layers.md",
        "asyncapi.json",
        "openapi.json",
    }
    assert render() == render()
    assert all(text.endswith("\n") for text in render().values())


def test_imports_are_read_in_every_spelling(tmp_path: Path) -> None:
    """Absolute and relative imports count, other packages and a room's own do not."""
    package = tmp_path / "house"
    (package / "attic" / "box").mkdir(parents=True)
    for name in ("__init__", "cellar", "hall", "yard", "shed", "porch", "attic/__init__"):
        (package / f"{name}.py").write_text("")
    (package / "hall.py").write_text(
        "import os\nimport house.yard\nfrom house import shed\nfrom . import cellar\n"
    )
    (package / "porch.py").write_text(
        "from house.attic.box import x\nfrom .nowhere import y\nfrom trio import z\n"
    )
    (package / "attic" / "old.py").write_text(
        "from ..cellar import x\nfrom . import box\nfrom .box import y\n"
    )
    (package / "attic" / "box" / "deep.py").write_text("def f():\n    from ...yard import x\n")
    assert imports(package) == {
        "attic": {"cellar", "yard"},
        "cellar": set(),
        "hall": {"cellar", "shed", "yard"},
        "porch": {"attic"},
        "shed": set(),
        "yard": set(),
    }


def test_layers_picture_leaves_out_what_follows(tmp_path: Path) -> None:
    """An arrow that other arrows imply is drawn in the table only, and a cycle does not hang."""
    package = tmp_path / "house"
    package.mkdir()
    (package / "a.py").write_text("from . import b, c\n")
    (package / "b.py").write_text("from . import c\n")
    (package / "c.py").write_text("")
    (package / "x.py").write_text("from . import y\n")
    (package / "y.py").write_text("from . import x\n")
    text = diagrams._layers(package)
    arrows = re.findall(r"^    (\w+)_ --> (\w+)_$", text, re.MULTILINE)
    assert arrows == [("a", "b"), ("b", "c"), ("x", "y"), ("y", "x")]
    assert "| a | b, c |" in text
    assert "| c | nothing of its own package |" in text


def test_this_package_is_drawn_as_it_imports() -> None:
    """The diagram of this very package has its known edges."""
    text = render()["layers.md"]
    assert "| protocol | config, errors, lang, ports |" in text
    assert "    config_ --> errors_\n" in text


def test_written_diagrams_are_not_stale(tmp_path: Path) -> None:
    """What `write` wrote passes `check`; writing again changes nothing."""
    folder = tmp_path / "diagrams"
    assert sorted(write(folder)) == sorted(render())
    assert check(folder) == ""
    assert write(folder) == []


@pytest.mark.parametrize("name", ["session.md", "asyncapi.json"])
def test_an_edited_diagram_is_shown_as_a_diff(name: str, tmp_path: Path) -> None:
    """The diff names the file and shows the edited line and the line it must be."""
    write(tmp_path)
    path = tmp_path / name
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(["edited\n", *lines[1:]]))
    diff = check(tmp_path)
    assert f"--- {path} (in the folder)\n+++ {path} (from the code)\n" in diff
    assert "\n-edited\n" in diff
    assert f"\n+{lines[0]}" in diff


def test_missing_extra_and_unreadable_files_are_stale(tmp_path: Path) -> None:
    """A folder holds the diagrams and nothing else."""
    assert "+# Session\n" in check(tmp_path)
    write(tmp_path)
    (tmp_path / "old.md").write_text("gone")
    assert "-gone\n" in check(tmp_path)
    (tmp_path / "old.md").write_bytes(b"")
    assert "old.md: differs in what cannot be shown" in check(tmp_path)
    (tmp_path / "old.md").unlink()
    (tmp_path / "layers.md").write_bytes(b"\xff")
    assert "+# Layers\n" in check(tmp_path)
