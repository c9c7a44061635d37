"""Servers as processes, by the SDK and in real time: one of the SDK's own, and some that misbehave."""

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import memory_stream_one_way_pair, wait_all_tasks_blocked

from agent.actions.runner import BeginRefused
from agent.config import PROCESS_LEAVE_TIMEOUT
from agent.errors import ActionFailed, ActionUnknown, McpFailed
from agent.mcp.open import open_servers
from agent.mcp.stdio import MCP_LEAVE, MCP_OWED, Pipes
from agent.ports.action import Call, Executor
from agent.ports.mcp import McpServer, McpSession
from agent.structured.arguments import SchemaArguments
from agent.tools.offering import Offering

from .test_stdio import Full

pytestmark = pytest.mark.proof
HERE = Path(__file__).parent
PATIENCE = 60.0  # for what takes a second; a machine that is busy with other things is slow


class Real:
    """A server that is kept, and a way to call its tools."""

    def __init__(self, offering: Offering, executor: Executor) -> None:
        self.offering, self.executor = offering, executor
        self.begun = 0

    async def call(self, tool: str, _begin: Callable[[], None] | None = None, **arguments: Any) -> Any:
        def begin() -> None:
            if _begin is not None:
                _begin()
            self.begun += 1

        return await self.executor.run(Call(suggestion_id="s1", action=f"p.{tool}", payload=arguments), begin)

    async def give_up(self, tool: str) -> None:
        """Call a tool that does not answer, and wait for it no more soon after it has begun."""
        with trio.CancelScope() as scope:

            def soon() -> None:
                scope.deadline = trio.current_time() + 0.1

            await self.call(tool, soon)
        assert scope.cancelled_caught

    async def when_it_answers(self, tool: str) -> Any:
        """Call a tool once its server is in no doubt any more."""
        with trio.fail_after(PATIENCE):
            while True:
                try:
                    return await self.call(tool)
                except ActionFailed:
                    await trio.sleep(0.01)

    async def until_it_is_there(self, there: bool = True) -> None:
        with trio.fail_after(PATIENCE):
            while bool(self.offering) is not there:  # noqa: ASYNC110 - what is looked at is what is told
                await trio.sleep(0.01)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are found deaf soon, and soon started again."""
    monkeypatch.setattr("agent.mcp.server_keeper.MCP_PAUSE_FIRST", 0.1)
    monkeypatch.setattr("agent.mcp.server_keeper.MCP_PING_ANSWER", 0.3)


@asynccontextmanager
async def kept(*command: str, **env: str) -> AsyncGenerator[Real]:
    pytest.importorskip("mcp")
    server = McpServer(name="p", command=command[0], args=command[1:], env=env)
    offering = Offering((), (server,))
    async with open_servers(offering, SchemaArguments()) as by_server:
        yield Real(offering, by_server["p"])


@asynccontextmanager
async def odd(*ways: str, **env: str) -> AsyncGenerator[Real]:
    async with kept(sys.executable, "-S", str(HERE / "odd_server.py"), *ways, **env) as real:
        await real.until_it_is_there()
        yield real


def lives(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not taken note of does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until_dead(*pids: int) -> None:
    with trio.fail_after(PATIENCE):
        while any(map(lives, pids)):  # noqa: ASYNC110 - they are no children of ours
            await trio.sleep(0.01)


async def test_a_server_of_the_sdk_is_called_cancelled_and_killed() -> None:
    """Done, failed, nothing at all before begin, and unknown when it dies amid a call."""
    async with kept(sys.executable, str(HERE / "real_server.py")) as real:
        await real.until_it_is_there()
        assert [tool.name for tool in real.offering] == ["p.add", "p.known", "p.fail", "p.hang"]
        assert all(tool.requires_approval and tool.runs_at == "mcp" for tool in real.offering)
        assert await real.call("add", a=1, b=2) == {"result": 3}
        with pytest.raises(ActionFailed, match="The tool failed: "):
            await real.call("fail")
        with pytest.raises(ActionFailed, match="The tool failed: "):
            await real.call("add", a="x", b=2)
        begun = real.begun

        with trio.CancelScope() as scope:
            scope.cancel()
            await real.call("add", a=2, b=2)
        assert (scope.cancelled_caught, real.begun) == (True, begun)

        def refuse() -> None:
            raise BeginRefused("stop was first")

        with pytest.raises(BeginRefused):
            await real.call("add", refuse, a=3, b=2)
        await real.give_up("hang")
        pid, added = map(int, (await real.when_it_answers("known"))["text"].split())
        assert added == 1

        with pytest.raises(ActionUnknown, match="has ended"):
            await real.call("hang", lambda: os.kill(pid, signal.SIGKILL))
        await real.until_it_is_there(False)
        with pytest.raises(ActionFailed, match="nothing was done"):
            await real.call("add", a=1, b=2)
    assert not lives(pid)


@pytest.mark.usefixtures("_impatient")
async def test_a_deaf_server_is_ended_with_all_that_it_started_and_started_again() -> None:
    """It neither answers nor ends, whatever it is told; to leave it takes a bounded time."""
    async with odd("deaf", "child") as real:
        pids = (await real.call("told"))["pids"]
        await real.give_up("stay")
        with pytest.raises(ActionFailed, match="nothing was done"):
            await real.call("told")
        await real.until_it_is_there(False)
        await until_dead(*pids)
        await real.until_it_is_there()
        pids = (await real.call("told"))["pids"]
        await real.give_up("stay")
        before = trio.current_time()
    assert trio.current_time() - before < MCP_LEAVE + PROCESS_LEAVE_TIMEOUT + 15  # a machine may be busy
    await until_dead(*pids)


async def test_garbage_and_questions_hurt_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that are no messages, messages that nobody asked for, too long ones and too many; none of it is logged.

    The arguments arrive as they were approved, and the server does not see our keys.
    """
    monkeypatch.setenv("AGENT_TOKEN", "SECRET")
    with capture_logs() as logs:
        async with odd("garbage", SHOP_KEY="k") as real:
            assert [tool.name for tool in real.offering] == ["p.told", "p.stay"]
            given: Any = {"a": None, "b": [1.0, {"c": None}], "d": 10**17, "e": "\u2028å\n", "f": {}}
            for _ in range(2):
                told = await real.call("told", **given)
                assert json.dumps(told["arguments"]) == json.dumps(given)
                assert "SHOP_KEY" in told["env"]
                assert "AGENT_TOKEN" not in told["env"]
    assert "99913" not in str(logs)
    assert not lives(told["pids"][0])


@pytest.mark.usefixtures("_impatient")
async def test_a_flood_is_read_slowly() -> None:
    """It costs next to nothing, and other work goes on; a server that only floods does not answer and is ended."""
    async with odd("flood") as real:
        (pid,) = (await real.call("told"))["pids"]
        spent = time.process_time()
        await trio.sleep(0.7)
        assert time.process_time() - spent < 0.35
        await real.give_up("told")
        await real.until_it_is_there(False)
        await until_dead(pid)


def session_over(
    pipes: Pipes, monkeypatch: pytest.MonkeyPatch
) -> contextlib.AbstractAsyncContextManager[McpSession]:
    """Return a session of the SDK's with what is at the other end of some pipes."""
    pytest.importorskip("mcp")
    sdk = importlib.import_module("agent.mcp.sdk")

    @asynccontextmanager
    async def started(server: McpServer) -> AsyncGenerator[Pipes]:
        yield pipes

    monkeypatch.setattr(sdk, "start_server", started)
    session: contextlib.AbstractAsyncContextManager[McpSession] = sdk.connect(
        McpServer(name="p", command="p")
    )
    return session


async def test_questions_of_a_server_that_reads_no_answer_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few wait to be answered; the others are dropped."""
    says, receive = memory_stream_one_way_pair()
    pipes = Pipes(Full(), receive)
    async with session_over(pipes, monkeypatch):
        before = trio.lowlevel.current_statistics().tasks_living
        for number in range(200):
            asked = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            await says.send_all(json.dumps(asked).encode() + b"\n")
        await wait_all_tasks_blocked()
        assert pipes.is_busy
        assert trio.lowlevel.current_statistics().tasks_living - before == MCP_OWED
    await says.aclose()


async def test_no_call_is_written_without_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for it: only what was begun can leave."""
    types = pytest.importorskip("mcp_types")
    send, told = memory_stream_one_way_pair()
    pipes = Pipes(send, memory_stream_one_way_pair()[1])
    params = types.CallToolRequestParams(name="add", arguments={})
    async with session_over(pipes, monkeypatch) as session:
        with pytest.raises(AssertionError, match=r"without its begin"):
            await vars(session)["_session"].send_request(
                types.CallToolRequest(params=params), types.CallToolResult
            )
    await send.aclose()
    assert await told.receive_some() == b""


async def test_a_write_that_fails_is_the_end_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has closed its input and not its output: nothing that was asked is answered, and that is told at once."""
    send, told = memory_stream_one_way_pair()
    says, receive = memory_stream_one_way_pair()
    await told.aclose()
    async with session_over(Pipes(send, receive), monkeypatch) as session:
        with trio.fail_after(5):
            for _ in range(2):
                with pytest.raises(McpFailed) as failed:
                    await session.tools()
                assert failed.value.kind == "gone"
            await session.wait_ended()
    await says.aclose()


async def test_a_command_that_is_not_there_is_said(tmp_path: Path) -> None:
    """In a line with the reason; the server starts without it."""
    with capture_logs() as logs:
        for command in (str(tmp_path / "none"), str(tmp_path), "/bin/true"):
            async with kept(command) as real:
                assert len(real.offering) == 0
    assert [line["why"] for line in logs] == [
        "its command cannot be started (No such file or directory)",
        "its command cannot be started (Permission denied)",
        "the server has ended",
    ]
