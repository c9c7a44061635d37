"""Searching from the command line: for people, for programs, one question or many."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import cli

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run beside a small knowledge base in two languages."""
    (tmp_path / "kb" / "sv").mkdir(parents=True)
    (tmp_path / "kb" / "prices.md").write_text(
        "# Prices\n\nA hub costs 99 kr.\nA camera\ncosts 199 kr.\n\nNone.\n"
    )
    (tmp_path / "kb" / "sv" / "priser.md").write_text("# Priser\n\nEn hubb kostar 99 kr.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_KB", raising=False)
    monkeypatch.setenv("AGENT_VECTORS", "off")  # to open them takes longer than to search


def test_hits_are_shown_with_their_place(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """Score, file and lines, and the snippet as it stands there; with the vectors that are used where none are set."""
    monkeypatch.delenv("AGENT_VECTORS")
    assert cli.main(["search", "what does a camera cost"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("  kb/prices.md:4-5")
    assert cli.main(["search", "vad kostar en hubb", "-k", "1", "--lang", "sv"]) == 0
    first, *snippet = capsys.readouterr().out.splitlines()
    assert first.endswith("  kb/sv/priser.md:3")
    assert snippet == ["      En hubb kostar 99 kr."]


def test_nothing_found_is_said(capsys: Out) -> None:
    """The floor is that of the server; without it whatever matches is ranked."""
    asked = "which planet costs nothing in Mongolia"
    assert cli.main(["search", asked]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    assert cli.main(["search", asked, "--json"]) == 0
    assert capsys.readouterr().out == '{"hits":[]}\n'
    assert cli.main(["search", asked, "--floor", "0"]) == 0
    assert "kb/prices.md" in capsys.readouterr().out


def test_a_file_of_questions_gives_one_line_each(capsys: Out) -> None:
    """With the id as it was given, whatever JSON it is, and at most k hits."""
    lines = [
        {"id": 1, "text": "camera price"},
        {"id": "två", "text": "hubb kostar", "more": 1},
        {"id": [], "text": ""},
    ]
    Path("q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert cli.main(["search", "--queries", "q.jsonl", "--json", "-k", "1", "--kb", "kb"]) == 0
    one, two, three = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [found["id"] for found in (one, two, three)] == [1, "två", []]
    assert list(one) == ["id", "hits"]
    (hit,) = one["hits"]
    assert (hit["file"], hit["lines"], 0 < hit["score"] <= 1) == ("kb/prices.md", [4, 5], True)
    assert [hit["file"] for hit in two["hits"]] == ["kb/sv/priser.md"]
    assert three["hits"] == []
    assert cli.main(["search", "--queries", "q.jsonl"]) == 0
    assert capsys.readouterr().out.startswith("1 camera price\n")


def test_a_bad_line_comes_after_what_was_found(capsys: Out) -> None:
    """The lines before it are answered, and it is named."""
    Path("q.jsonl").write_text('{"id": 1, "text": "camera"}\n\n{"id": 2}\n')
    assert cli.main(["search", "--queries", "q.jsonl", "--json"]) == 2
    out, err = capsys.readouterr()
    assert (out.count("\n"), err.count("\n")) == (1, 1)
    assert err.startswith("agent: q.jsonl, line 3: ")
    assert 'write {"id": "...", "text": "..."}' in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--queries FILE.jsonl"),
        (["x", "--queries", "q.jsonl"], "--queries FILE.jsonl"),
        (["x", "-k", "0"], "-k must be"),
        (["x", "--floor", "1.5"], "--floor must be"),
        (["x", "--kb", "nowhere"], "nowhere does not exist"),
        (["--queries", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["x", "--vectors", "openai:embed"], "works with agent serve"),
    ],
)
def test_what_cannot_be_searched_is_one_line(arguments: list[str], words: str, capsys: Out) -> None:
    """Status 2, and what to do."""
    assert cli.main(["search", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err


def test_standard_input_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question on the command line is all there is."""
    unread: Any = io.TextIOWrapper(io.BytesIO(b"{"))
    monkeypatch.setattr(sys, "stdin", unread)
    assert cli.main(["search", "camera"]) == 0
    assert unread.read() == "{"
