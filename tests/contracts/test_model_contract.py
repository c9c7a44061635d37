"""What every language model must do, whatever it is made of. A new one joins by a line in RIGS.

Over real sockets and processes: what a model must let go of is the kernel's.
"""

import gc
import os
import shlex
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import pytest
import trio

from agent.errors import ModelFailed
from agent.models.anthropic import Anthropic
from agent.models.cli import ClaudeCli
from agent.models.custom import CustomModel
from agent.models.http import HttpModel
from agent.models.openai import OpenAI
from agent.models.record import RecordingModel, ReplayModel, request_digest
from agent.models.shape import ServiceProtocol
from agent.ports.model import (
    CallDelta,
    Finish,
    LanguageModel,
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
from agent.testing.models import ASKED, FakeModel, outcome_of, pieces_of
from agent.testing.network import inline
from tests.strikes.instrument import Strike
from tests.strikes.spoken import SHAPES, printed
from tests.strikes.upstream import Reply, after, reply, upstream

T = TypeVar("T")
Ending: TypeAlias = Literal["whole", "cut", "hang"]
Given: TypeAlias = tuple[Sequence[Piece], Ending]
DONE = Finish("stop", Usage(12, 3))
SAID: tuple[Piece, ...] = (TextDelta("It costs "), TextDelta("½ å"), TextDelta(" 😀.\n\n"), DONE)


class Rig:
    """A model that answers what it was made with, and whether the other side still holds anything."""

    def __init__(self, model: LanguageModel, running: Callable[[], int]) -> None:
        self.model = model
        self.running = running


@asynccontextmanager
async def _fake(folder: Path, given: Given) -> AsyncGenerator[Rig, None]:
    pieces, ending = given
    model = FakeModel([[*pieces, *([float("inf")] if ending == "hang" else [])]] * 100)
    yield Rig(model, lambda: model.running)


def _served(shape: str) -> Callable[[Path, Given], AbstractAsyncContextManager[Rig]]:
    @asynccontextmanager
    async def rig(folder: Path, given: Given) -> AsyncGenerator[Rig, None]:
        pieces, ending = given
        whole = reply(SHAPES[shape](pieces))
        made = whole if ending == "whole" else after(whole, len(whole.steps), ending)
        async with upstream(made) as service:
            url = service.url + "/v1"
            adapter: ServiceProtocol = OpenAI("m", url) if shape == "openai" else Anthropic("m", url)
            yield Rig(HttpModel(adapter), lambda: service.open)

    return rig


@asynccontextmanager
async def _custom(folder: Path, given: Given) -> AsyncGenerator[Rig, None]:
    async with _fake(folder, given) as rig:
        yield Rig(CustomModel(rig.model), lambda: rig.running())


@asynccontextmanager
async def _cli(folder: Path, given: Given) -> AsyncGenerator[Rig, None]:
    """A script that prints the command's lines; hanging, it has a child that ignores being asked to end."""
    pieces, ending = given
    (folder / "lines").write_bytes(b"".join(printed(pieces)))
    (folder / "claude").write_text(
        f"cat > /dev/null; echo $$ >> {folder}/pids; cat {shlex.quote(str(folder / 'lines'))}\n"
        + ("(trap '' TERM; sleep 60 & wait; sleep 60) & wait\n" if ending == "hang" else "")
    )

    def running() -> int:
        pids = (folder / "pids").read_text().split() if (folder / "pids").exists() else []
        return sum(_group_runs(int(pid)) for pid in pids)

    model = ClaudeCli(None, str(folder), os.environ, ("/bin/sh", str(folder / "claude")))
    yield Rig(model, running)


def _group_runs(pid: int) -> bool:
    """Whether anything of a process group is alive: one that is killed and not yet reaped by init is not."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group) == pid and state not in "ZX":
            return True
    return False


@asynccontextmanager
async def _replay(folder: Path, given: Given) -> AsyncGenerator[Rig, None]:
    pieces, ending = given
    recording = RecordingModel(FakeModel([(*pieces, DONE)] * 3), folder, inline)
    async with aclosing(recording.stream(ASKED)) as stream:
        async for _ in stream:
            pass
    place = folder / f"{request_digest(ASKED)}.jsonl"
    if not any(isinstance(piece, Finish) for piece in pieces):
        place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))

    async def never(function: Callable[[], T]) -> T:
        await trio.sleep_forever()
        raise AssertionError

    yield Rig(ReplayModel(folder, never if ending == "hang" else inline), lambda: 0)


RIGS: dict[str, Callable[[Path, Given], AbstractAsyncContextManager[Rig]]] = {
    "fake": _fake,
    "openai": _served("openai"),
    "anthropic": _served("anthropic"),
    "cli": _cli,
    "custom": _custom,
    "replay": _replay,
}


@pytest.fixture(params=RIGS)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Rig]]:
    return lambda *pieces, ending="whole": RIGS[request.param](tmp_path, (pieces, ending))


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


async def let_go(rig: Rig) -> None:
    """Nothing is held on the other side, and nothing is left to the collector (which would be a warning)."""
    with trio.move_on_after(30):
        while rig.running():  # noqa: ASYNC110 - processes are looked at, not heard of
            await trio.sleep(0.005)
    assert rig.running() == 0
    gc.collect(0)


async def test_text_comes_in_pieces_and_ends_once(
    rig: Callable[..., AbstractAsyncContextManager[Rig]],
) -> None:
    """As it was said, with its usage; `Finished` is last, and nothing is held after it."""
    async with rig(*SAID) as made:
        pieces = await pieces_of(made.model)
        assert text_of(pieces) == "It costs ½ å 😀.\n\n"
        assert [piece for piece in pieces if isinstance(piece, Finish)] == [DONE]
        assert pieces[-1] == DONE
        assert all(piece.text for piece in pieces if isinstance(piece, TextDelta))
        await let_go(made)


async def test_calls_are_told_apart(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """Of two that alternate and have the same id, each has its own arguments; id and name stand in its first piece."""
    said = (
        CallDelta(0, "c", "ticket", ""),
        CallDelta(1, "c", "sms", '{"te'),
        CallDelta(0, arguments='{"a":'),
        CallDelta(1, arguments='xt": "å"}'),
        CallDelta(0, arguments="1}"),
        Finish("calls", Usage(1, 2)),
    )
    async with rig(*said) as made:
        pieces = await pieces_of(made.model)
        calls = [piece for piece in pieces if isinstance(piece, CallDelta)]
        for index, name, arguments in ((0, "ticket", '{"a":1}'), (1, "sms", '{"text": "å"}')):
            mine = [call for call in calls if call.index == index]
            assert [(call.id, call.name) for call in mine] == [("c", name)] + [("", "")] * (len(mine) - 1)
            assert "".join(call.arguments for call in mine) == arguments
        assert pieces[-1] == said[-1]


@pytest.mark.parametrize("reason", ["length", "refusal"])
async def test_why_it_ended_is_told(
    rig: Callable[..., AbstractAsyncContextManager[Rig]], reason: Literal["length", "refusal"]
) -> None:
    """Whoever asks can tell a cut answer and a refusal from a whole one."""
    async with rig(TextDelta("No"), Finish(reason)) as made:
        pieces = await pieces_of(made.model)
        assert text_of(pieces) == "No"
        assert isinstance(pieces[-1], Finish)
        assert pieces[-1].reason == reason


async def test_an_answer_may_be_empty(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """Nothing but its end."""
    async with rig(DONE) as made:
        assert await pieces_of(made.model) == [DONE]


@pytest.mark.parametrize("said", [SAID[:2], ()])
async def test_without_its_last_word_an_answer_was_cut(
    rig: Callable[..., AbstractAsyncContextManager[Rig]], said: tuple[Piece, ...]
) -> None:
    """However cleanly it ends; what had come before was given."""
    async with rig(*said) as made:
        pieces, failure = await outcome_of(made.model)
        assert failure is not None
        assert failure.kind == "cut"
        assert text_of(pieces) == text_of(said)
        await let_go(made)


@pytest.mark.parametrize("taken", [0, 1])
async def test_closed_early_it_lets_go(
    rig: Callable[..., AbstractAsyncContextManager[Rig]], taken: int
) -> None:
    """Whoever has heard enough closes it, or never begins; the other side learns of it."""
    async with rig(*SAID) as made:
        stream = made.model.stream(ASKED)
        for _ in range(taken):
            await anext(stream)
        await stream.aclose()
        await let_go(made)


async def test_cancelled_it_lets_go(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """Also one that says nothing any more, and its next answer is another one."""
    async with rig(*SAID[:-1], ending="hang") as made:
        for _ in range(2):
            with trio.move_on_after(0.05) as scope:
                await pieces_of(made.model)
            assert scope.cancelled_caught
        await let_go(made)


async def test_cancelled_before_it_begins(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """It asks nobody for anything that lasts."""
    async with rig(*SAID) as made:
        with trio.CancelScope() as scope:
            scope.cancel()
            await pieces_of(made.model)
        assert scope.cancelled_caught
        await let_go(made)


@pytest.mark.parametrize("close", [False, pytest.param(True, marks=pytest.mark.proof)])
async def test_cancelled_at_any_step_it_lets_go(
    rig: Callable[..., AbstractAsyncContextManager[Rig]], close: bool
) -> None:
    """After the k-th step of the task that asks, for each k until it is done; or closed at the first piece after it."""
    async with rig(*SAID) as made:
        steps, done = 0, False
        while not done:
            steps += 1
            assert steps < 1000
            with trio.CancelScope() as scope:
                strike = Strike(steps, trio.CancelScope() if close else scope)
                trio.lowlevel.add_instrument(strike)
                stream = made.model.stream(ASKED)
                try:
                    async for _ in stream:
                        if close and strike.left <= 0:
                            break
                    else:
                        done = strike.left > 0
                except ModelFailed:
                    done = strike.left > 0  # a fake has nothing left to say
                finally:
                    trio.lowlevel.remove_instrument(strike)
                    with trio.move_on_after(1, shield=True):
                        await stream.aclose()
            await let_go(made)


async def test_two_at_once_do_not_mix(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """Each stream is its own."""
    async with rig(*SAID) as made, trio.open_nursery() as nursery:
        told: list[list[Piece]] = []

        async def ask() -> None:
            told.append(await pieces_of(made.model))

        nursery.start_soon(ask)
        nursery.start_soon(ask)
    assert [text_of(pieces) for pieces in told] == ["It costs ½ å 😀.\n\n"] * 2


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
WIDE = ModelRequest(
    messages=(
        ModelMessage("system", "Rules \ud800"),
        ModelMessage("user", ""),
        ModelMessage(
            "assistant", "", (ToolCall("c", "t", '{"a": 1}'), ToolCall("c", "t", "not JSON \udfff"))
        ),
        ModelMessage("tool", "", call_id="c"),
        ModelMessage("tool", "\0", call_id=None),
        ModelMessage("system", "late"),
        ModelMessage("user", "Q" * 200_000),
    ),
    tools=(Tool("t", "does", SCHEMA),),
    choice=NamedTool("t"),
    form=SCHEMA,
    max_tokens=7,
    stable=99,
)


async def test_any_request_is_answered(rig: Callable[..., AbstractAsyncContextManager[Rig]]) -> None:
    """Halves of characters, calls that are none, all at once; who knows only some requests says so."""
    async with rig(*SAID) as made:
        pieces, failure = await outcome_of(made.model, WIDE)
        assert text_of(pieces) == text_of(SAID) or (failure is not None and failure.kind == "request")
        assert (failure is None) == (not isinstance(made.model, ReplayModel))
        assert "QQ" not in f"{failure} {failure!r}"


async def test_a_request_that_cannot_be_written_is_refused(
    rig: Callable[..., AbstractAsyncContextManager[Rig]],
) -> None:
    """By whoever writes it; nothing else is raised."""
    broken = {"a": object()}
    request = ModelRequest(
        messages=(ModelMessage("user", "x"),),
        tools=(Tool("t", "", broken),),
        choice=ToolChoice.REQUIRED,
        form=broken,
    )
    async with rig(*SAID) as made:
        pieces, failure = await outcome_of(made.model, request)
        if isinstance(made.model, FakeModel | CustomModel):  # a model that writes no request
            assert text_of(pieces) == text_of(SAID)
        else:
            assert failure is not None
            assert failure.kind == "request"


def test_a_reply_is_what_it_was_made_of() -> None:
    """The tools of these tests: the parts of a reply are one a piece and those around them."""
    assert len(reply(SHAPES["openai"](SAID)).steps) == 1 + 3 + 3
    assert Reply().steps == ()
