"""Bugs of our own, set off by one client: each ends no more than that client's turn, action or connection."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.answering.brain import GroundedBrain
from agent.compose.adapters import Adapters
from agent.llm.script import ScriptModel
from agent.ports.action import Call
from agent.ports.brain import Question, RunCall, TurnEvent
from agent.ports.tools import ToolDefinition
from agent.protocol import inbound
from agent.session.core import Core
from agent.session.session import Session
from agent.testing.network import network

from .enemy import MemoryEnemy, message
from .test_attacks import SCRIPT, SETTINGS, innocent, knowledge

WORD = "sesame"


class BrokenExecutor:
    """Carries out nothing for those who know the word."""

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Break after the effect began."""
        begin()
        raise ZeroDivisionError(WORD)


def break_the_brain(patch: pytest.MonkeyPatch) -> None:
    """Let the word break the turn's work."""
    real = GroundedBrain.answer

    async def answer(
        self: GroundedBrain, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        if WORD in question.text:
            raise ZeroDivisionError(question.text)
        await real(self, question, emit)

    patch.setattr(GroundedBrain, "answer", answer)


def break_the_core(patch: pytest.MonkeyPatch) -> None:
    """Let the word break the session itself."""
    real = Core._handle_message

    def broken(self: Core, frame: inbound.Message, tools: tuple[ToolDefinition, ...], key: str) -> None:
        if WORD in frame.text:
            raise ZeroDivisionError(frame.text)
        real(self, frame, tools, key)

    patch.setattr(Core, "_handle_message", broken)


def break_the_reader(patch: pytest.MonkeyPatch) -> None:
    """Let the word escape from what reads the connection."""
    real = Session.post

    def broken(self: Session, event: Any) -> None:
        if WORD in str(event):
            raise ZeroDivisionError(WORD)
        real(self, event)

    patch.setattr(Session, "post", broken)


@pytest.mark.parametrize(
    ("plant", "told", "logged"),
    [
        (break_the_brain, ("error internal", "stream_end done", "response model_failed"), "turn broke"),
        (break_the_core, ("error internal", "close 1011"), "session broke"),
        (break_the_reader, ("close 1011",), "connection failed"),
    ],
)
async def test_a_handlers_bug_ends_one_turn_or_one_connection(
    plant: Callable[[pytest.MonkeyPatch], None],
    told: tuple[str, ...],
    logged: str,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The one who set it off is told, where there is still a connection; the log has one line, without a word said."""
    plant(monkeypatch)
    parts = Adapters(knowledge=knowledge(), model=ScriptModel(SCRIPT))
    with capture_logs() as logs:
        async with network(SETTINGS, parts) as server, innocent(server) as before:
            usual = await before.ask()
            enemy = MemoryEnemy(server)
            question = message(id="1", text=f"Open {WORD}!")
            said = await enemy.converse(enemy.upgrade(), question, b"", every=5, then="eof")
            assert tuple(word for word in said if word != "stream") == ("101", *told)
            assert await before.ask() == pytest.approx(usual)
            async with innocent(server) as after:
                assert await after.ask() == pytest.approx(usual)
            assert len(server.app.registry) == 1
    faults = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["event"] for entry in faults] == [logged]
    assert WORD not in str([{k: v for k, v in entry.items() if k != "exc_info"} for entry in faults])


async def test_an_executors_bug_ends_one_action(autojump_clock: trio.testing.MockClock) -> None:
    """Its outcome is unknown, since it had begun; the session goes on, and so does everybody else."""
    parts = Adapters(knowledge=knowledge(), model=ScriptModel(SCRIPT), executor=BrokenExecutor())
    async with network(SETTINGS, parts) as server, innocent(server) as guilty, innocent(server) as other:
        suggested = await guilty.suggestion()
        await guilty.client.confirm(suggested["suggestionId"])
        result = (await guilty.client.frames_until("action_executed"))[-1]["result"]
        assert (result["success"], result["unknown"]) == (False, True)
        await guilty.ask()
        await other.ask()
