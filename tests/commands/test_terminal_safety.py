"""No command lets a file, a name, an answer or an address steer the terminal: all are run on hostile content."""

import json
import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from agent import cli, diagrams
from agent.commands import ask as asking
from agent.commands import talk
from agent.errors import CannotConnect, WireClosed
from agent.host import WallClock, WorkerThreads
from agent.storage.open import open_ledger
from agent.storage.settings import StorageSettings
from tests.examples import sample

BAD = "\x1b]0;OWNED\x07\x1b[2J\x9b31m\u202e\u2066\r\x7f"
NAME = "a\x1b[31m\u202e\nforged"  # of a file; the system takes all but "/" and NUL
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run beside a knowledge base that nobody should trust."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_VECTORS", "off")  # to open them takes longer than to search
    kb = tmp_path / "kb"
    kb.mkdir()
    (kb / "terms.md").write_text(f"# Terms\n\nThe notice period is 14 days {BAD} really.\n")
    (kb / f"{NAME}1.md").write_text("# Terms\n\nThe notice period is 15 days.\n")
    (kb / f"{NAME}2.md").write_text("# Terms\n\nThe notice period is 16 days.\n")
    (kb / f"{NAME}3.md").symlink_to("terms.md")
    (tmp_path / "bad.jsonl").write_text(json.dumps({"id": BAD, "text": f"notice {BAD} period"}) + "\n{}\n")
    (tmp_path / "raw.jsonl").write_bytes(b'{"id":[1,\r"\xc2\x9b31m\x7f"],"text":"notice period"}\n')


def safe(capsys: Out, *, says: str) -> str:
    """Return what was printed, which says something and steers nothing."""
    out, err = capsys.readouterr()
    assert UNSAFE.findall(out + err) == []
    assert says in out + err
    return out + err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    sample(
        [
            (["search", "notice period"], 0, "14 days �]0;OWNED��[2J�31m��"),
            (["search", "notice period", "--json"], 0, "kb/a"),
            (["search", "--queries", "raw.jsonl"], 0, '[1, "�31m�"] notice period'),
            (["search", "--queries", "raw.jsonl", "--json"], 0, '"id":[1, "\\u009b31m\\u007f"]'),
            (["search", "--queries", "bad.jsonl"], 2, "bad.jsonl, line 2"),
            (["search", "x", "--kb", NAME], 2, "forged does not exist"),
            (["kb", "check"], 3, "unreadable: kb/a�[31m� forged3.md: "),
            (["kb", "check"], 3, "contradiction: kb/a�[31m� forged1.md:3, kb/a�[31m� forged2.md:3: "),
            (["verify", NAME], 2, "forged cannot be read"),
            (["ask", "x", "--url", f"ftp://{BAD}"], 2, "the URL must look like"),
            (["ask", "x", f"--{BAD}"], 2, "OWNED"),
            (["serve", "--kb", NAME], 2, "forged: point to a folder"),
            (["serve", "--model", f"script:{NAME}"], 2, "forged"),
            ([BAD], 2, "OWNED"),
            (["actions", "--data", f"{NAME}/nowhere"], 2, "there is no ledger in"),
        ],
        2,
    ),
)
def test_files_names_and_arguments_cannot_steer(
    arguments: list[str], status: int, says: str, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard output and error alike; a name stays on its line."""
    monkeypatch.setenv("AGENT_DATA", "memory")
    assert cli.main(arguments) == status
    safe(capsys, says=says)


def test_what_is_no_field_cannot_steer_either(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is printed is cleaned where it is printed, such as the difference to a file that lay there."""
    monkeypatch.setattr(diagrams, "render", lambda: {"session.md": ""})
    Path("diagrams").mkdir()
    Path("diagrams/session.md").write_text(f"{BAD}\n")
    assert cli.main(["diagrams", "--check"]) == 1
    safe(capsys, says="OWNED")


def test_a_forged_line_is_none(capsys: Out) -> None:
    """A line break in a name cannot look like a finding of its own."""
    assert cli.main(["kb", "check"]) == 3
    findings = safe(capsys, says="contradiction").splitlines()
    assert [each.split(":")[0] for each in findings] == ["unreadable", "contradiction", "read", "left out"]


def test_verify_answers_json_that_says_the_same(capsys: Out, tmp_path: Path) -> None:
    """Escaped, not replaced: a program reads what was there."""
    answer = "It costs 1\u200e299 kr\x9b."
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"answer": answer, "snippets": [{"file": "a", "snippet": "x"}]}, ensure_ascii=False)
    )
    assert cli.main(["verify", "in.jsonl"]) == 3
    for token in json.loads(safe(capsys, says="block"))["tokens"]:
        assert token["text"] in answer


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_ledger_cannot_steer(flags: list[str], capsys: Out, tmp_path: Path) -> None:
    """Rows are written by servers, whose actions and webhooks may be anybody's."""

    async def fill() -> None:
        async with open_ledger(
            StorageSettings(str(tmp_path)), Path("kb"), WorkerThreads(1), WallClock()
        ) as ledger:
            now = WallClock().now_ms()
            await ledger.claim(BAD, BAD, now)
            await ledger.record_outcome(BAD, "done", {"success": True, "data": {BAD: BAD}}, now)

    trio.run(fill)
    assert cli.main(["actions", "--data", str(tmp_path), *flags]) == 0
    said = safe(capsys, says="OWNED")
    if flags:
        assert json.loads(said)["result"]["data"] == {BAD: BAD}


class Hostile:
    """A server's answers, whose every text is hostile."""

    def __init__(self, *frames: dict[str, Any]) -> None:
        self._frames = [*frames]

    async def ask(self, text: str, id: str | None = None, lang: str | None = None) -> str:
        """Take the question."""
        return "1"

    async def ping(self) -> None:
        """Answer at once."""
        await trio.lowlevel.checkpoint()

    async def next_frame(self) -> dict[str, Any]:
        """Return the next frame, then hang up."""
        await trio.lowlevel.checkpoint()
        if not self._frames:
            raise WireClosed(1011)
        return self._frames.pop(0)


CITATION = {"file": BAD + NAME, "snippet": f"x\n{BAD}", "lines": [1, 2]}
ENDS: tuple[dict[str, Any], ...] = (
    {"type": "response", "text": BAD, "citations": [CITATION], "blocked": {"code": BAD}},
    {"type": "error", "message": BAD, "code": BAD},
)
MORE: tuple[dict[str, Any], ...] = (
    {"type": "action_suggestion", "suggestionId": BAD, "action": BAD, "payload": {BAD: BAD, "n": [BAD]}},
    *(
        {"type": "action_executed", "suggestionId": BAD, "result": result}
        for result in (
            {"success": True, "data": {BAD: {BAD: BAD}}},
            {"success": False, "error": BAD},
            {"success": False, "unknown": True, "error": BAD},
        )
    ),
    {"type": "action_closed", "suggestionId": BAD, "reason": BAD},
)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the commands connect to a server that gives these frames."""

    def answer(*frames: dict[str, Any]) -> None:
        @asynccontextmanager
        async def connect(url: str, token: str | None) -> AsyncGenerator[Hostile, None]:
            yield Hostile({"type": "stream", "delta": BAD}, *frames)

        for module in (asking, talk):
            monkeypatch.setattr(module, "connect", connect)

    return answer


@pytest.mark.parametrize("end", ENDS)
def test_an_answer_cannot_steer(end: dict[str, Any], answering: Callable[..., None], capsys: Out) -> None:
    """`agent ask`, with all that a server can say."""
    answering(end, MORE[0] | {"missing": [BAD]})
    cli.main(["ask", "x"])
    safe(capsys, says="OWNED")


def test_a_chat_cannot_be_steered(
    answering: Callable[..., None], capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`agent chat`, with every kind of frame; keys of a webhook's answer are somebody's text too."""

    async def nobody() -> AsyncGenerator[str, None]:
        await trio.sleep_forever()
        yield ""

    answering(*ENDS, *MORE)
    monkeypatch.setattr("agent.client.open.read_stdin_lines", nobody)
    assert cli.main(["chat"]) == 1
    said = safe(capsys, says="the connection was closed")
    assert said.count("\n= [1] ") == len(MORE) - 1


def test_an_address_cannot_steer(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    """What was dialled is part of the complaint."""

    @asynccontextmanager
    async def connect(url: str, token: str | None) -> AsyncGenerator[Hostile, None]:
        raise CannotConnect(f"cannot connect to {url}: Connection refused")
        yield

    monkeypatch.setattr(talk, "connect", connect)
    for command in (["chat"], ["ask", "x"]):
        assert cli.main([*command, "--url", f"ws://h/{BAD}"]) == 1
        safe(capsys, says="cannot connect to ws://h/�]0;OWNED")


def test_a_terminal_that_cannot_say_a_letter_gets_an_escape(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Rather than a traceback in the middle of an answer."""
    monkeypatch.setattr(sys, "stdout", open(1, "w", encoding="latin-1", closefd=False))  # noqa: SIM115
    monkeypatch.setattr(sys, "stderr", open(2, "w", encoding="ascii", closefd=False))  # noqa: SIM115
    assert cli.main(["search", "notice period"]) == 0
    assert cli.main(["å"]) == 2
    out, err = capfdbinary.readouterr()
    assert b"14 days \\ufffd]0;OWNED" in out
    assert b'Unknown command "\\xe5"' in err
