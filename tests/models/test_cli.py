"""The claude command, played by scripts: what it is given, what its lines mean, and that nothing of it stays."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.errors import ModelFailed
from agent.models.cli import SYSTEM, ClaudeCli
from agent.models.settings import MODEL_EVENT_MAX
from agent.ports.model import Finish, ModelMessage, ModelRequest, Piece, TextDelta, Tool, Usage
from agent.process import run_in_group
from agent.testing.models import outcome_of
from tests.examples import sample
from tests.strikes.spoken import printed

ASKED = ModelRequest(
    messages=(
        ModelMessage("system", "Rules."),
        ModelMessage("user", 'SECRET } "'),
        ModelMessage("assistant", "Yes?"),
    )
)
SAID: tuple[Piece, ...] = (TextDelta("½ "), TextDelta("å"), Finish("stop", Usage(3, 4)))
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "whole",
    "stop_reason": "end_turn",
}


def script(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "claude").write_text(text)
    return ("/bin/sh", str(folder / "claude"))


def says(folder: Path, lines: Sequence[Any], then: str = "") -> tuple[str, ...]:
    """Return a command that prints lines, given as bytes or as values."""
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines]
    (folder / "lines").write_bytes(b"".join(written))
    return script(folder, f"cat > /dev/null\ncat '{folder}/lines'\n{then}")


def model(folder: Path, command: Sequence[str], name: str | None = None, **environment: str) -> ClaudeCli:
    return ClaudeCli(name, str(folder), {"PATH": os.environ["PATH"], **environment}, command)


async def outcome(made: ClaudeCli, request: ModelRequest = ASKED) -> tuple[list[Piece], ModelFailed | None]:
    pieces, failure = await outcome_of(made, request)
    assert "SECRET" not in f"{failure} {failure!r}"
    return pieces, failure


async def test_what_it_is_given(tmp_path: Path) -> None:
    """The conversation by its standard input as JSON, no tools, no settings of this machine, and no key of ours."""
    (tmp_path / "lines").write_bytes(b"".join(printed(SAID)))
    command = script(
        tmp_path,
        f"cat > '{tmp_path}/asked'; env > '{tmp_path}/env'; for each; do echo \"[$each]\"; done > '{tmp_path}/flags'\n"
        f"pwd > '{tmp_path}/pwd'; cat '{tmp_path}/lines'\n",
    )
    environment = {
        "AGENT_TOKEN": "SECRET",
        "AGENT_MODEL_KEY": "SECRET",
        "OPENAI_API_KEY": "SECRET",
        "MINE": "yes",
    }
    request = ModelRequest(
        messages=ASKED.messages, tools=(Tool("t", "", {}),), form={"type": "array"}, max_tokens=77
    )
    pieces, failure = await outcome(model(tmp_path, command, "opus", **environment), request)
    assert failure is None
    assert pieces == list(SAID)
    read = {name: _read(tmp_path / name) for name in ("asked", "env", "flags", "pwd")}
    assert json.loads(read["asked"]) == {
        "messages": [
            {"role": "system", "text": "Rules."},
            {"role": "user", "text": 'SECRET } "'},
            {"role": "assistant", "text": "Yes?"},
        ],
        "form": {"type": "array"},
    }
    assert "SECRET" not in read["env"] + read["flags"]
    assert {"MINE=yes", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=77"} <= set(read["env"].split("\n"))
    assert read["flags"].split("\n")[:-1] == [
        *("[-p]", "[--output-format]", "[stream-json]", "[--verbose]", "[--include-partial-messages]"),
        *(
            "[--tools]",
            "[]",
            "[--strict-mcp-config]",
            "[--setting-sources]",
            "[]",
            "[--no-session-persistence]",
        ),
        *("[--system-prompt]", f"[{SYSTEM}]", "[--model]", "[opus]"),
    ]
    assert read["pwd"].strip() == str(tmp_path)


def _read(path: Path) -> str:
    return path.read_text("utf-8")


def event(data: Any, parent: str | None = None) -> dict[str, Any]:
    return {"type": "stream_event", "event": data, "parent_tool_use_id": parent}


def text(said: str, parent: str | None = None) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": said}
    return event({"type": "content_block_delta", "index": 0, "delta": delta}, parent)


@pytest.mark.parametrize(
    ("lines", "said", "reason"),
    [
        ([RESULT], "whole", "stop"),
        ([text("a"), b"\n", text("b"), {"type": "new"}, {"type": "system", "error": 5}, RESULT], "ab", "stop"),
        ([text("a"), text("x", "t1"), event({"type": "message_stop"}, "t1"), RESULT, b"x\n"], "a", "stop"),
        ([text("a"), RESULT | {"stop_reason": "max_tokens"}], "a", "length"),
        ([text("a"), event({"type": "message_delta", "delta": {"stop_reason": "refusal"}}),
          {key: value for key, value in RESULT.items() if key != "stop_reason"}], "a", "refusal"),
    ],
)  # fmt: skip
async def test_what_its_lines_mean(tmp_path: Path, lines: list[Any], said: str, reason: str) -> None:
    """Pieces, or the whole of an older command; what others than the answering model say is none of it."""
    pieces, failure = await outcome(model(tmp_path, says(tmp_path, lines)))
    assert failure is None
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == said
    assert isinstance(pieces[-1], Finish)
    assert pieces[-1].reason == reason


BROKEN = RESULT | {"is_error": True, "subtype": "success", "result": "SECRET"}


@pytest.mark.parametrize(
    ("lines", "then", "kind", "message"),
    sample([
        ([], "exit 3", "cut", r"status 3\): run `claude -p hello`"),
        ([text("a")], "", "cut", "ended before its answer"),
        ([text("a"), {key: value for key, value in RESULT.items() if key != "stop_reason"}], "", "cut", "a reason"),
        ([b"SECRET\n"], "", "protocol", "protocol"),
        ([b"\xff\n"], "", "protocol", "protocol"),
        ([b'{"type": "result", "usage": 5}\n'], "", "protocol", "protocol"),
        ([b'{"type": "stream_event"}\n'], "", "protocol", "protocol"),
        ([b"x" * (MODEL_EVENT_MAX + 1)], "sleep 60", "protocol", "over"),
        ([BROKEN], "", "server", "failed"),
        ([RESULT | {"subtype": "error_max_turns"}], "", "server", "failed"),
        ([{"type": "assistant", "error": "authentication_failed"}, BROKEN], "exit 1", "auth", "log in"),
        ([{"type": "assistant", "error": "rate_limit"}, BROKEN], "exit 1", "rate", "failed"),
        ([event({"type": "error", "error": {"type": "overloaded_error"}})], "sleep 60", "server", "failed"),
    ], 3),
)  # fmt: skip
async def test_each_fault_is_told_by_its_kind(
    tmp_path: Path, lines: list[Any], then: str, kind: str, message: str
) -> None:
    """In words of our own, and at once, whatever the command still does."""
    began = time.monotonic()
    _, failure = await outcome(model(tmp_path, says(tmp_path, lines, then)))
    assert failure is not None
    assert failure.kind == kind
    with pytest.raises(ModelFailed, match=message):
        raise failure
    assert time.monotonic() - began < 30


async def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Or that is none."""
    for command in (str(tmp_path / "nowhere"), str(tmp_path)):
        _, failure = await outcome(model(tmp_path, (command,)))
        assert failure is not None
        assert failure.kind == "connect"


async def test_one_that_does_not_listen_answers_all_the_same(tmp_path: Path) -> None:
    """It closes its input, or ends, before it has read all of it."""
    (tmp_path / "lines").write_bytes(b"".join(printed(SAID)))
    command = script(tmp_path, f"exec < /dev/null; cat '{tmp_path}/lines'\n")
    pieces, failure = await outcome(
        model(tmp_path, command), ModelRequest(messages=(ModelMessage("user", "x" * 1_000_000),))
    )
    assert failure is None
    assert pieces == list(SAID)


async def test_so_many_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one begins when one has ended, cancelled too."""
    monkeypatch.setattr("agent.models.cli.MODEL_PROCESSES", 2)
    command = script(tmp_path, f"echo x >> '{tmp_path}/begun'; cat > /dev/null; sleep 60")
    made = model(tmp_path, command)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(outcome, made)
        while _size(tmp_path / "begun") < 4:  # noqa: ASYNC110 - a process is looked at
            await trio.sleep(0.005)
        await trio.sleep(0.02)
        assert _size(tmp_path / "begun") == 4
        nursery.cancel_scope.cancel()
    _remove(tmp_path / "begun")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, made)
        while _size(tmp_path / "begun") < 2:  # noqa: ASYNC110 - a process is looked at
            await trio.sleep(0.005)
        nursery.cancel_scope.cancel()


@pytest.mark.proof
@pytest.mark.parametrize("ignores", [False, True])
async def test_a_cancel_ends_the_command_and_its_children(tmp_path: Path, ignores: bool) -> None:
    """Within a tenth of a second of real time, also where they ignore that they are asked to."""
    trap = "trap '' TERM\n" if ignores else ""
    child = f"({trap}echo x > '{tmp_path}/up'; while :; do sleep 0.01; echo x >> '{tmp_path}/alive'; done) &\nwait\n"
    command = script(tmp_path, f"{trap}cat > /dev/null; {child}")
    took = []
    for _ in range(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outcome, model(tmp_path, command))
            while not _exists(tmp_path / "up"):  # noqa: ASYNC110 - a process is looked at
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
            cancelled = trio.current_time()
        took.append(trio.current_time() - cancelled)
        size = _size(tmp_path / "alive")
        await trio.sleep(0.1)
        assert _size(tmp_path / "alive") == size
        _remove(tmp_path / "up")
    assert min(took) < 0.1, took  # a busy machine holds up most of them


@pytest.mark.proof
async def test_a_group_may_end_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who end when they are asked to are not killed: they have their time, here as much as they need."""
    monkeypatch.setattr("agent.process.PROCESS_LEAVE_TIMEOUT", 60.0)
    command = script(
        tmp_path, f"trap 'echo bye > {tmp_path}/bye; exit' TERM; echo up; while :; do sleep 0.005; done\n"
    )
    async with run_in_group(command, str(tmp_path), os.environ, grace=60.0) as process:
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b"up\n"
    assert _read(tmp_path / "bye") == "bye\n"


def _exists(path: Path) -> bool:
    return path.exists()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _remove(path: Path) -> None:
    path.unlink()
