"""A model that an operator wrote: found, made, and asked like every other; its faults are failures of a model."""

import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.errors import ModelFailed, UsageError
from agent.models.custom import CustomModel
from agent.models.open import open_language_model
from agent.models.settings import ModelSettings
from agent.ports.model import CallDelta, Finish, ModelRequest, Piece, TextDelta
from agent.testing.fakes import Figures
from agent.testing.models import FakeModel, outcome_of
from agent.testing.network import inline

PARROT = """
from agent.ports.model import Finish, TextDelta

class Parrot:
    async def stream(self, request):
        yield TextDelta(request.messages[-1].text)
        yield Finish("stop")

class Mute:
    pass

class Picky(Parrot):
    def __init__(self, key):
        pass

parrot = Parrot()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make the current folder one with modules of an operator's own, which are not imported any more afterwards."""
    (tmp_path / "my_models.py").write_text(PARROT)
    (tmp_path / "my_broken.py").write_text("import my_missing\n")
    (tmp_path / "my_wrong.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("my_models", "my_broken", "my_wrong"):
        sys.modules.pop(name, None)


async def test_a_class_of_the_current_folder_answers(folder: Path) -> None:
    """It is made without arguments, and asked as it stands."""
    settings = ModelSettings(model="my_models:Parrot")
    async with open_language_model(settings, Figures(), inline, {}) as model:
        pieces, failure = await outcome_of(model)
    assert (pieces, failure) == ([TextDelta("So?"), Finish("stop")], None)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("my_nothing:Parrot", "cannot be imported (ModuleNotFoundError: No module named 'my_nothing')"),
        ("my_broken:Parrot", "cannot be imported (ModuleNotFoundError: No module named 'my_missing')"),
        ("my_wrong:Parrot", "cannot be imported (ZeroDivisionError"),
        ("my_models:Owl", "no class with a method stream"),
        ("my_models:Mute", "no class with a method stream"),
        ("my_models:Picky", "cannot be made (TypeError"),
        ("my_models:parrot", "no class with a method stream"),
    ],
)
async def test_a_class_that_cannot_be_made_is_one_line(folder: Path, place: str, reason: str) -> None:
    """The line begins with the setting and names what is missing."""
    with pytest.raises(UsageError) as wrong:
        async with open_language_model(ModelSettings(model=place), Figures(), inline, {}):
            pass
    assert str(wrong.value).startswith("model my_")
    assert reason in str(wrong.value)
    assert "\n" not in str(wrong.value)


class Raising:
    """Raises an exception that repeats the prompt."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield one piece and fail."""
        yield TextDelta("It costs ")
        raise ValueError(request.messages[1].text)


async def test_an_exception_is_a_failure_without_its_text() -> None:
    """The log has the traceback; the failure, which clients may see, has the type alone."""
    with capture_logs() as lines:
        pieces, failure = await outcome_of(CustomModel(Raising()))
    assert pieces == [TextDelta("It costs ")]
    assert failure is not None
    assert failure.kind == "server"
    assert str(failure) == "the model's code raised ValueError: the log has the traceback"
    assert isinstance(lines[0]["exc_info"], ValueError)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ([ModelFailed("SECRET", "rate", 3.0)], "rate"),
        (["text"], "protocol"),
        ([TextDelta("a")], "cut"),
        ([CallDelta(0, "c", "f", "{}")], "cut"),
    ],
)
async def test_other_faults_have_their_kind(steps: list[Piece], kind: str) -> None:
    """A failure of its own keeps its kind, and none of its words."""
    _, failure = await outcome_of(CustomModel(FakeModel([steps])))
    assert failure is not None
    assert failure.kind == kind
    assert "SECRET" not in str(failure)
