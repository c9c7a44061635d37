"""The promises that hold for every tool, on virtual time with a tool that is a Python function."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent import tool
from agent.compose.adapters import Adapters
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.decide import Act, Noop
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.fakes import Noon, ScriptedDecider
from agent.testing.network import Network, network

from ..server import parted
from ..server.api import TOKEN, read, request

HOUSE = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")
SLOW = 5.0  # seconds of a refund


@pytest.fixture
def refunded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The orders that a function of the module `promised_tools` has refunded."""
    orders: list[str] = []

    @tool(risk="high")
    async def refund(order: str) -> dict[str, int]:
        """Refund an order."""
        orders.append(order)
        await trio.sleep(SLOW)
        return {"paid": 299}

    module = ModuleType("promised_tools")
    module.refund = refund  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return orders


@asynccontextmanager
async def open_server(data: Path, answer: str) -> AsyncGenerator[Network, None]:
    """A server whose model asks for a refund of A-17, and then gives `answer`."""
    settings = Settings.of(
        token=TOKEN, tools=Path("promised_tools"), data=str(data), vectors="off", pace_ms=0
    )
    parts = Adapters(
        model=ScriptModel((ScriptEntry(match="", text=answer),)),
        decider=ScriptedDecider(Act("refund", {"order": "A-17"}), Noop()),
        clock=Noon(),
    )
    async with network(settings, parts, (HOUSE,)) as net:
        yield net


async def post(net: Network, target: str, **body: Any) -> tuple[int, Any]:
    """Return status and JSON value of an answer."""
    end = net.open()
    end.feed(request("POST", target, json.dumps(body | {"user_id": "anna"}).encode(), key=TOKEN))
    status, _, answer = parted(await read(end))
    return status, json.loads(answer)


async def suggest(net: Network) -> str:
    """Return the id of a call that waits for its user."""
    status, said = await post(net, "/chat", message="Refund order A-17")
    assert (status, said["tool_call"]["status"]) == (200, "suggested")
    return str(said["tool_call_id"])


async def test_nothing_runs_without_an_approval(
    tmp_path: Path, refunded: list[str], autojump_clock: MockClock
) -> None:
    """Neither while it waits nor after a reject; an approval of a rejected call is refused."""
    async with open_server(tmp_path, "It is done.") as net:
        call = await suggest(net)
        await trio.sleep(60)
        assert (await post(net, f"/calls/{call}/reject"))[1]["status"] == "rejected"
        assert (await post(net, f"/calls/{call}/approve"))[1]["code"] == "closed"
        await trio.sleep(60)
    assert refunded == []


async def test_two_approvals_at_once_run_it_once(
    tmp_path: Path, refunded: list[str], autojump_clock: MockClock
) -> None:
    """And a reject that comes while it runs changes nothing."""
    answers: list[tuple[int, Any]] = []
    async with open_server(tmp_path, "It is done.") as net:
        call = await suggest(net)

        async def decide(word: str, after: float) -> None:
            await trio.sleep(after)
            answers.append(await post(net, f"/calls/{call}/{word}"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(decide, "approve", 0.0)
            nursery.start_soon(decide, "approve", 0.0)
            nursery.start_soon(decide, "reject", SLOW / 2)
    assert refunded == ["A-17"]
    assert [answer["status"] for status, answer in answers if status == 200].count("done") >= 1
    assert "rejected" not in [answer["status"] for _, answer in answers]


@pytest.mark.parametrize(("answer", "shown"), [("We paid 299.", True), ("We paid 298.", False)])
async def test_only_numbers_of_the_result_are_said(
    tmp_path: Path, refunded: list[str], autojump_clock: MockClock, answer: str, shown: bool
) -> None:
    """The answer after the call is verified against the function's result, which it cites."""
    async with open_server(tmp_path, answer) as net:
        call = await suggest(net)
        status, done = await post(net, f"/calls/{call}/approve", **{"continue": True})
    assert (status, done["status"]) == (200, "done")
    assert (answer == done["reply"]["response_json"]["message"]) is shown
    assert "298" not in json.dumps(done["reply"])
    if shown:
        assert {each["file"] for each in done["reply"]["citations"]} == {f"tool/{call}"}
