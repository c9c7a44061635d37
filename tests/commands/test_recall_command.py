"""Keeping from the command line what was said elsewhere, and recalling it."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from agent import cli
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import NOW, an_exchange

Out = pytest.CaptureFixture[str]

TALK = (
    ("D1:1", "ann", "Ann", "2026-05-03T10:00:00", "Hi Ben! How was the weekend?"),
    ("D1:2", "ann", "Ben", "2026-05-03T10:00:00", "I adopted a grey kitten, her name is Misty."),
    (7, "work", "user", "2026-05-04T12:00:00+02:00", "My sprint ends on Friday."),
    (8, "work", "Assistant", "2026-05-04T10:01:00Z", "Then plan the review of the sprint."),
    (9, "work", "user", "2026-05-04T10:02:00Z", " "),
)


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run in an empty folder, without vectors: to open them takes longer than to search."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_DATA", raising=False)
    monkeypatch.setenv("AGENT_VECTORS", "off")
    lines = [dict(zip(("id", "thread", "speaker", "at", "text"), each, strict=True)) for each in TALK]
    Path("talk.jsonl").write_text("\n".join(map(json.dumps, lines)))


def kept(*more: str) -> None:
    """Keep the talk."""
    assert cli.main(["memory", "import", "--data", "data", "--turns", "talk.jsonl", *more]) == 0


def recalled(capsys: Out, *given: str) -> list[dict[str, Any]]:
    """Return what is recalled for one question."""
    capsys.readouterr()
    assert cli.main(["recall", *given, "--data", "data", "--json"]) == 0
    hits: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["hits"]
    return hits


def test_what_was_kept_is_recalled(capsys: Out) -> None:
    """By its own id, with when, who and where; kept twice it is there once."""
    kept()
    kept()
    assert capsys.readouterr().out == "4 turns of 2 threads are kept\n" * 2
    first, *others = recalled(capsys, "Which kitten did Ben adopt?")
    assert first | {"score": 1} == {
        "id": "D1:2",
        "score": 1,
        "text": TALK[1][4],
        "at": "2026-05-03T10:00:00Z",
        "speaker": "Ben",
        "thread": "ann",
    }
    assert "D1:2" not in [each["id"] for each in others]
    assert [each["speaker"] for each in recalled(capsys, "my sprint", "--thread", "work")] == [
        "user",
        "assistant",
    ]
    assert recalled(capsys, "my sprint", "-k", "1")[0]["at"] == "2026-05-04T10:00:00Z"


def test_threads_and_users_are_apart(capsys: Out) -> None:
    """One thread where it is named; and never another user's."""
    kept("--user", "ana")
    assert recalled(capsys, "kitten") == []
    assert recalled(capsys, "kitten", "--user", "eve") == []
    assert recalled(capsys, "kitten", "--user", "ana")[0]["id"] == "D1:2"
    assert recalled(capsys, "kitten", "--user", "ana", "--thread", "work") == []


def test_what_a_server_has_kept_is_recalled_by_its_project(capsys: Out) -> None:
    """Which is named; without it only what was imported is searched."""

    async def say() -> None:
        async with open_database_memory(Path("data"), inline, Noon()) as memory:
            await memory.keep_exchanges([an_exchange("m1", "My locker is blue.")], NOW)

    trio.run(say)
    asked = ("What is my locker like?", "--user", "ana")
    assert recalled(capsys, *asked) == []
    assert [each["id"] for each in recalled(capsys, *asked, "--project", "p1")][:1] == ["m1"]


def test_a_file_of_questions_gives_one_line_each(capsys: Out) -> None:
    """With the id as it was given; nothing that fits is an empty list."""
    kept()
    capsys.readouterr()
    asked = [
        {"id": [1], "text": "What is the name of Ben's kitten?"},
        {"id": "x", "text": "submarines in Mongolia"},
    ]
    Path("q.jsonl").write_text("\n".join(map(json.dumps, asked)))
    assert cli.main(["recall", "--data", "data", "--queries", "q.jsonl"]) == 0
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    assert (one["id"], one["hits"][0]["id"]) == ([1], "D1:2")
    assert two == {"id": "x", "hits": []}


def test_people_read_when_and_who(capsys: Out) -> None:
    """Score, time, speaker, id, and the text under it."""
    kept()
    capsys.readouterr()
    assert cli.main(["recall", "Ben's grey kitten", "--data", "data", "-k", "1"]) == 0
    head, text = capsys.readouterr().out.splitlines()
    assert head.endswith("  2026-05-03T10:00:00Z  Ben  D1:2")
    assert text == f"      {TALK[1][4]}"
    assert cli.main(["recall", "submarines in Mongolia", "--data", "data"]) == 0
    assert capsys.readouterr().out == "nothing found\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"at": "yesterday"}, "ISO 8601"),
        ({"at": "1960-01-01"}, "1970"),
        ({"id": ""}, "id must have"),
        ({"thread": "t" * 200}, "thread"),
        ({"text": 5}, "on one line"),
    ],
)
def test_a_line_that_cannot_be_kept_is_named_and_nothing_is_kept(
    capsys: Out, changed: dict[str, object], said: str
) -> None:
    """Exit status 2, one line."""
    good = {"id": "1", "thread": "t", "speaker": "user", "at": "2026-05-03", "text": "kitten"}
    Path("talk.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(good | changed))
    assert cli.main(["memory", "import", "--data", "data", "--turns", "talk.jsonl"]) == 2
    told = capsys.readouterr().err
    assert "talk.jsonl, line 2" in told
    assert said in told
    assert not Path("data").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["x"], "--data"),
        (["x", "--data", "memory"], "--data DIR"),
        (["x", "--data", "nowhere"], "--data DIR"),
        (["--data", "."], "one question"),
        (["x", "--data", ".", "-k", "0"], "-k"),
        (["x", "--data", ".", "--floor", "2"], "--floor"),
        (["x", "--data", ".", "--vectors", "openai:m"], "no model server"),
    ],
)
def test_a_mistake_says_what_to_do(capsys: Out, given: list[str], said: str) -> None:
    """Exit status 2, one line, and nothing is made."""
    assert cli.main(["recall", *given]) == 2
    assert said in capsys.readouterr().err
    assert not Path("nowhere").exists()
