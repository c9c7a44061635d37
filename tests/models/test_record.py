"""Recordings: what is kept, what is not, and what finds it again."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from types import MappingProxyType

import pytest
import trio
from msgspec.structs import replace

from agent.errors import ModelFailed
from agent.models.record import RecordingModel, ReplayModel, request_digest
from agent.ports.model import (
    CallDelta,
    Finish,
    ModelMessage,
    ModelRequest,
    NamedTool,
    Piece,
    TextDelta,
    Tool,
    ToolCall,
    ToolChoice,
    Usage,
)
from agent.testing.models import ASKED, FakeModel, Step, pieces_of
from agent.testing.network import inline

SAID: tuple[Piece, ...] = (
    TextDelta("å😀\n\u2028"),
    CallDelta(0, "c", "t", '{"x": '),
    CallDelta(0, arguments="1}"),
    Finish("length", Usage(3, 4)),
)


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_what_was_recorded_is_played_back(tmp_path: Path) -> None:
    """The same pieces, as JSON lines that only their owner may read, without the model."""
    assert await pieces_of(RecordingModel(FakeModel([SAID]), tmp_path, inline)) == list(SAID)
    assert await pieces_of(ReplayModel(tmp_path, inline)) == list(SAID)
    (file,) = files(tmp_path)
    assert file.name == f"{request_digest(ASKED)}.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    assert lines[0]["request"]["messages"][1]["text"] == ASKED.messages[1].text
    assert [*lines[1]] == ["text"]
    assert len(lines) == 1 + len(SAID)


async def test_the_last_answer_to_a_request_stays(tmp_path: Path) -> None:
    """One file a request."""
    model = RecordingModel(FakeModel([SAID, (TextDelta("new"), Finish("stop"))]), tmp_path, inline)
    await pieces_of(model)
    await pieces_of(model)
    assert (await pieces_of(ReplayModel(tmp_path, inline)))[0] == TextDelta("new")
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize(
    "steps", [(SAID[0], ModelFailed("x", "server")), (SAID[0],), (SAID[0], float("inf"))]
)
async def test_only_an_answer_that_finished_is_kept(
    tmp_path: Path, steps: Sequence[Step], autojump_clock: object
) -> None:
    """Neither a failure nor what a cancel cut off; no half of a file is left."""
    with trio.move_on_after(1):
        async with aclosing(RecordingModel(FakeModel([steps]), tmp_path, inline).stream(ASKED)) as stream:
            pieces = []
            try:
                async for piece in stream:
                    pieces.append(piece)
            except ModelFailed:
                pass
    assert pieces == [SAID[0]]
    assert files(tmp_path) == []


async def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    """By a failure of ours, without what was said."""
    with pytest.raises(ModelFailed, match="cannot be kept") as failed:
        await pieces_of(RecordingModel(FakeModel([SAID]), tmp_path / "gone", inline))
    assert failed.value.kind == "request"


async def test_what_was_not_recorded_says_what_to_do(tmp_path: Path) -> None:
    """And nothing of what was asked."""
    with pytest.raises(ModelFailed, match="record:DIR:MODEL") as failed:
        await pieces_of(ReplayModel(tmp_path, inline))
    assert failed.value.kind == "request"
    assert "SECRET" not in str(failed.value)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", "cut"),
        ("{}\n", "cut"),
        ('{}\n{"text": "a"}\n', "cut"),
        ("{}\n{}\n", "protocol"),
        ("{}\nx\n", "protocol"),
        ('{}\n{"finished": {"reason": "tired"}}\n', "protocol"),
        ("{}\n\xff\n", "protocol"),
    ],
)
async def test_a_recording_that_is_none_is_told(tmp_path: Path, content: str, kind: str) -> None:
    """Cut, empty, edited by hand."""
    (tmp_path / f"{request_digest(ASKED)}.jsonl").write_text(content, "latin-1")
    with pytest.raises(ModelFailed) as failed:
        await pieces_of(ReplayModel(tmp_path, inline))
    assert failed.value.kind == kind


def test_a_request_is_told_by_all_that_changes_an_answer() -> None:
    """Every part of it but `stable`; the order of a schema's keys is none, nor the kind of mapping that holds them."""
    others = [
        ASKED,
        replace(ASKED, messages=ASKED.messages[:1]),
        replace(ASKED, messages=(*ASKED.messages, ModelMessage("assistant", "", (ToolCall("c", "t", "1"),)))),
        replace(ASKED, messages=(*ASKED.messages, ModelMessage("assistant", "", (ToolCall("c", "t", "2"),)))),
        replace(ASKED, messages=(*ASKED.messages, ModelMessage("tool", "", call_id="1"))),
        replace(ASKED, tools=()),
        replace(ASKED, choice=ToolChoice.REQUIRED),
        replace(ASKED, choice=NamedTool("required")),
        replace(ASKED, form={}),
        replace(ASKED, max_tokens=1),
    ]
    assert len({request_digest(each) for each in others}) == len(others)
    one, other = ASKED.tools
    turned = Tool(one.name, one.description, MappingProxyType(dict(reversed([*one.schema.items()]))))
    assert request_digest(replace(ASKED, stable=2, tools=(turned, other))) == request_digest(ASKED)
    assert request_digest(ModelRequest(messages=(ModelMessage("user", "\ud800"),)))
