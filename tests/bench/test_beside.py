"""The table that puts a language model beside the mock tells of no question what nobody asked."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import trio.testing

from agent.evaluation.cases import Case
from agent.models.record import RecordingModel, ReplayModel
from agent.ports.model import Finish, LanguageModel, TextDelta
from agent.testing.models import FakeModel, Step
from agent.testing.network import inline

from . import beside
from .labelled import rows_of, sets

PAGE = "# Plans\n\nThe Standard plan costs 299 kr a month.\n\nThe Premium plan costs 599 kr a month.\n"
CHOSEN = beside.settings("replay:unused")


def row(id: str, question: str, kind: str = "number", line: int = 3, answer: str = "") -> Case:
    """Return a labelled question."""
    given = Case(id=id, question=question, lang="en", kind=kind)
    if kind == "off":
        return given
    return msgspec.structs.replace(given, file="plans.md", lines=(line, line), answer=(answer,))


ROWS = [
    row("1", "What does the Standard plan cost?", answer="299 kr"),
    row("2", "What does the Premium plan cost?", line=5, answer="599 kr"),
    row("3", "How long may a whale sleep?", "off"),
    row("4", "Is the Premium plan a Standard plan?", "off"),
]


def says(text: str) -> Sequence[Step]:
    """Return an answer of one piece."""
    return [TextDelta(text), Finish("stop")]


def documents(folder: Path) -> Path:
    """Write a set; return the folder that holds it."""
    (folder / "shop").mkdir()
    (folder / "shop" / "plans.md").write_text(PAGE, "utf-8")
    (folder / "shop.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(ROWS))
    return folder


async def asked(folder: Path, model: LanguageModel, rows: Sequence[Case]) -> list[beside.Asked]:
    """Ask both some questions over the shop's page."""
    return await beside.ask(folder / "shop", rows, model, CHOSEN)


async def test_what_was_not_recorded_is_left_out_of_both(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Also a question whose redraft was not recorded; one that finds nothing is counted for itself."""
    documents(tmp_path)
    recordings = tmp_path / "said"
    recordings.mkdir()
    model = FakeModel([says("It costs 299 kr a month."), says("It costs 777 kr."), says("I do not know.")])
    recording = RecordingModel(model, recordings, inline)
    (first,) = await asked(tmp_path, recording, ROWS[:1])
    assert (first.mock, first.model) == (beside.Ended("right"), beside.Ended("right"))
    (second,) = await asked(tmp_path, recording, ROWS[1:2])
    assert second.model == beside.Ended("wrong")
    assert len(second.requests) == 2  # 777 stands nowhere, so it was asked again
    assert sets(tmp_path) == ["shop"]

    replaying = ReplayModel(recordings, inline)
    again = await asked(tmp_path, replaying, rows_of(tmp_path, "shop"))
    assert [each.model for each in again] == [first.model, second.model, None, None]
    assert [each.mock is None for each in again] == [False, False, True, True]
    assert [len(each.requests) for each in again] == [1, 2, 0, 1]
    lines = beside.lines({"shop": again}, "it")
    assert lines[1].startswith(
        "of 4 questions 2 could be asked of it, 1 were not recorded and 1 find nothing"
    )
    figures = [[int(each) for each in line.split()[1:]] for line in lines[4:6]]
    assert figures == [[2, 2, 0, 0, 1, 1, 0, 0, 0, 0]] * 2  # the set's, and all

    redraft = sorted(
        recordings.glob("*.jsonl"), key=lambda file: file.read_bytes().find(b"I do not know") > 0
    )[-1]
    redraft.unlink()
    assert [each.model for each in await asked(tmp_path, replaying, ROWS[:2])] == [first.model, None]


async def test_why_it_was_refused_is_told(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """By its code, since an invented number is another thing than a model that failed."""
    documents(tmp_path)
    model = FakeModel([says("It costs 777 kr."), says("It costs 778 kr.")])
    both = await asked(tmp_path, model, [ROWS[0], ROWS[1], ROWS[3]])
    assert [each.model for each in both] == [
        beside.Ended("refused", "number_mismatch"),
        beside.Ended("refused", "model_failed"),
        beside.Ended("right", "model_failed"),
    ]
    assert (
        beside.lines({"shop": both}, "it")[-1] == "refusals of the model: model_failed 2, number_mismatch 1"
    )
