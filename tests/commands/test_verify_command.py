"""The filter of JSON lines: what goes in, what comes out, and what a line that cannot be read does."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import cli

Out = pytest.CaptureFixture[str]

PRICES = [
    {"file": "kb/a.md", "snippet": "Basic costs 149 kr."},
    {"file": "kb/b.md", "snippet": "Premium: 599 kr"},
]


def line(answer: str, **source: Any) -> str:
    """Return one line of input."""
    return json.dumps({"answer": answer, **source}) + "\n"


def verified(capsys: Out) -> list[dict[str, Any]]:
    """Return the lines that were printed."""
    return [json.loads(each) for each in capsys.readouterr().out.splitlines()]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put bytes where standard input is read."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


def test_every_number_names_the_snippet_that_holds_it(stdin: Any, capsys: Out) -> None:
    """An index into the snippets as they were given, whatever order they are cited in."""
    stdin(line("Premium costs 599 kr, Basic 149 kr.", snippets=PRICES).encode())
    assert cli.main(["verify"]) == 0
    (report,) = verified(capsys)
    assert report == {
        "verdict": "pass",
        "tokens": [
            {"text": "599 kr", "kind": "money", "value": "599 SEK", "supported_by": 1},
            {"text": "149 kr", "kind": "money", "value": "149 SEK", "supported_by": 0},
        ],
        "unsupported": [],
    }


def test_passages_are_cut_at_blank_lines(stdin: Any, capsys: Out) -> None:
    """The index is that of the block."""
    stdin(line("It takes 5 days.", passages="Nothing.\n\nIt takes\n5 days.\n").encode())
    assert cli.main(["verify"]) == 0
    assert [token["supported_by"] for token in verified(capsys)[0]["tokens"]] == [1]


def test_one_blocked_answer_is_status_3(tmp_path: Path, capsys: Out) -> None:
    """The others are answered all the same, in their order, over all files; blank lines and other keys are nothing."""
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(
        "\ufeff" + line("149 kr", snippets=PRICES) + "\n" + line("Basic is 249 kr.", snippets=PRICES)
    )
    two.write_text(line("No number.", snippets=[], id=7, passages=None).rstrip("\n"))
    assert cli.main(["verify", str(one), str(two)]) == 3
    reports = verified(capsys)
    assert [report["verdict"] for report in reports] == ["pass", "block", "pass"]
    assert reports[1]["unsupported"] == ["249 kr"]
    assert reports[1]["tokens"][0]["supported_by"] is None


def test_the_same_snippet_twice_is_two_sources(stdin: Any, capsys: Out) -> None:
    """Equal snippets are told apart by where they stand."""
    stdin(line("599 kr", snippets=[PRICES[0], PRICES[1], PRICES[1]]).encode())
    assert cli.main(["verify"]) == 0
    assert verified(capsys)[0]["tokens"][0]["supported_by"] in (1, 2)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[]",
        b"\xff{}",
        b'{"snippets": []}',
        b'{"answer": 1, "snippets": []}',
        b'{"answer": "x", "snippets": [{"file": "a"}]}',
        b'{"answer": "x", "snippets": "a"}',
        b'{"answer": "x"}',
        b'{"answer": "x", "snippets": [], "passages": ""}',
        b'{"answer": "x", "passages": "", "y": ' + b"[" * 100_000,
    ],
)
def test_a_bad_line_is_told_and_nothing_before_it_is_lost(bad: bytes, stdin: Any, capsys: Out) -> None:
    """One line on standard error with the number of the line and what to write; status 2, also after a block."""
    stdin(line("9 kr", snippets=[]).encode() + b"\n" + bad + b"\n" + line("no", passages="").encode())
    assert cli.main(["verify"]) == 2
    out, err = capsys.readouterr()
    assert [json.loads(each)["verdict"] for each in out.splitlines()] == ["block"]
    assert err.startswith("agent: standard input, line 3: ")
    assert (err.count("\n"), '{"answer": "..."' in err) == (1, True)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: Out) -> None:
    """It is named, and the files before it are answered."""
    good = tmp_path / "good.jsonl"
    good.write_text(line("no number", passages=""))
    assert cli.main(["verify", str(good), str(tmp_path / "none.jsonl")]) == 2
    out, err = capsys.readouterr()
    assert (out.count("\n"), err.count("\n")) == (1, 1)
    assert "none.jsonl cannot be read: No such file or directory" in err


def test_nothing_in_is_nothing_out(stdin: Any, capsys: Out) -> None:
    """An empty input passes."""
    stdin(b"")
    assert cli.main(["verify"]) == 0
    assert capsys.readouterr().out == ""


def test_a_line_is_answered_at_once_and_without_the_server() -> None:
    """A process at the other end of a pipe gets its answer before it sends more; no server or index is imported."""
    code = (
        "import sys; from agent.cli import main; status = main(['verify'])\n"
        "heavy = {'trio', 'tantivy', 'trio_websocket', 'h11', 'structlog', 'markdown_it'} & set(sys.modules)\n"
        "sys.exit(status if not heavy else repr(heavy))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1]), "PYTHONIOENCODING": "ascii"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    for answer, verdict in (("½ är 0,5", "pass"), ("½ är 0,7", "block")):
        process.stdin.write(line(answer, passages="en halv, ½").encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["verdict"] == verdict
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (3, b"")


@pytest.mark.parametrize(("binding", "status"), [("off", 0), ("strict", 3)])
def test_strict_binding(binding: str, status: int, stdin: Any, capsys: Out) -> None:
    """Asked for, a number said of the wrong thing is refused."""
    stdin(line("Basic costs 599 kr.", snippets=PRICES).encode())
    assert cli.main(["verify", "--binding", binding]) == status
    assert verified(capsys)[0]["unsupported"] == ([] if status == 0 else ["599 kr"])
