"""Servers that are kept: offered while they are there, called, and started again; on virtual time."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from agent.actions.runner import Runner
from agent.config import ACTION_TIMEOUT
from agent.errors import ActionFailed, ActionUnknown, McpFailed, UsageError
from agent.mcp.answers import MCP_ANSWER_MAX, MCP_ERROR_CHARACTERS
from agent.mcp.open import MCP_START_WAIT, open_servers
from agent.mcp.server_keeper import MCP_PING_ANSWER, MCP_PING_EVERY, MCP_SETTLED, MCP_START
from agent.ports.action import Call, Executor, Outcome
from agent.ports.mcp import McpServer
from agent.storage.memory_ledger import MemoryLedger
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures, Noon
from agent.testing.mcp import FakeMcpServers
from agent.tools.offering import Offering

FILES = McpServer(name="files", command="files-server", auto=frozenset(("list",)))
CALL = Call(suggestion_id="s1", action="files.read", payload={"path": "a.txt"})
SILENT = float("inf")
TEXT_A = {"type": "text", "text": "a"}


class Kept:
    """One server that is kept, and what is offered of it."""

    def __init__(self, servers: FakeMcpServers, offering: Offering, executor: Executor) -> None:
        self.servers, self.offering, self.executor = servers, offering, executor
        self.begun = 0

    @property
    def offered(self) -> list[str]:
        return [tool.name for tool in self.offering]

    async def call(self, call: Call = CALL) -> Any:
        def begin() -> None:
            self.begun += 1

        return await self.executor.run(call, begin)


@asynccontextmanager
async def kept(servers: FakeMcpServers) -> AsyncGenerator[Kept, None]:
    offering = Offering((), (FILES,))
    async with open_servers(offering, SchemaArguments(), servers) as by_server:
        yield Kept(servers, offering, by_server["files"])


@pytest.fixture
def servers() -> FakeMcpServers:
    return FakeMcpServers({"name": "read"}, {"name": "list"})


async def test_a_server_that_is_there_is_offered_and_called(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """With the arguments that were approved, once, and by its own name for the tool."""
    async with kept(servers) as each:
        assert trio.current_time() == pytest.approx(0.1)
        assert each.offered == ["files.read", "files.list"]
        assert [tool.requires_approval for tool in each.offering] == [True, False]
        assert await each.call() == {"text": "done"}
        assert (each.begun, servers.called) == (1, [("read", {"path": "a.txt"})])
    assert (each.offered, len(servers.left)) == ([], 1)


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"content": []}, {}),
        ({"content": [TEXT_A, {"type": "image", "data": "AAAA"}, TEXT_A]}, {"text": "a\na"}),
        ({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"n": 1}}, {"n": 1}),
        ({"content": [], "structuredContent": {}}, {}),
        ({"content": [], "structuredContent": [1]}, {"answer": [1]}),
        ({"structuredContent": {"t": "x" * (MCP_ANSWER_MAX - 8)}}, {"t": "x" * (MCP_ANSWER_MAX - 8)}),
    ],
)
async def test_a_result_is_what_is_structured_else_its_text(
    servers: FakeMcpServers, autojump_clock: MockClock, result: Any, data: Any
) -> None:
    """As JSON; what cannot be shown as text is left out."""
    servers.answer = result
    async with kept(servers) as each:
        assert await each.call() == data


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


UNKNOWN: tuple[Any, ...] = (
    {"structuredContent": {"t": "x" * (MCP_ANSWER_MAX - 7)}},
    {"content": [{"type": "text", "text": "x" * MCP_ANSWER_MAX}]},
    {"structuredContent": deep(40)},
    McpFailed("broken", "the server answered with an error (-32603)"),
    McpFailed("gone", "the server has ended"),
)


@pytest.mark.parametrize("answer", UNKNOWN)
async def test_begun_without_a_word_on_its_end_is_unknown(
    servers: FakeMcpServers, autojump_clock: MockClock, answer: Any
) -> None:
    """Too long, too deep, an error of the server's or its end."""
    servers.answer = answer
    async with kept(servers) as each:
        with pytest.raises(ActionUnknown):
            await each.call()
        assert each.begun == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"content": [{"type": "text", "text": "no room"}], "isError": True}, "The tool failed: no room"),
        ({"content": [], "structuredContent": {"a": 1}, "isError": True}, "did not say why"),
        ({"content": [], "isError": "yes"}, "did not say why"),
        (McpFailed("refused", "the server answered with an error (-32602)"), "refused the call"),
    ],
)
async def test_what_the_server_says_has_failed_is_failed(
    servers: FakeMcpServers, autojump_clock: MockClock, answer: Any, said: str
) -> None:
    """With the words of the tool, where it has some."""
    servers.answer = answer
    async with kept(servers) as each:
        with pytest.raises(ActionFailed, match=said):
            await each.call()


async def test_the_words_of_a_failure_are_bounded(servers: FakeMcpServers, autojump_clock: MockClock) -> None:
    """However much a tool says of why it failed."""
    servers.answer = {"content": [{"type": "text", "text": "x" * 100_000}], "isError": True}
    async with kept(servers) as each:
        with pytest.raises(ActionFailed) as failed:
            await each.call()
    assert len(str(failed.value)) <= MCP_ERROR_CHARACTERS + 20


async def test_a_server_that_is_not_there_is_not_called(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """Failed before it began: while it starts, and from when it has ended until it is there again."""
    servers.start = 10.0
    async with kept(servers) as each:
        assert trio.current_time() == pytest.approx(MCP_START_WAIT)
        assert each.offered == []
        with pytest.raises(ActionFailed, match="nothing was done"):
            await each.call()
        await trio.sleep(10.0)
        assert each.offered == ["files.read", "files.list"]
        servers.lives[-1].end()
        await trio.sleep(0.5)
        assert each.offered == []
        with pytest.raises(ActionFailed, match="nothing was done"):
            await each.call()
        await trio.sleep(11.0)
        assert each.offered == ["files.read", "files.list"]
        await each.call()
    assert each.begun == 1


async def test_a_tool_that_its_server_does_not_have_is_not_called(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """It may have had it when it was suggested, before it was started again."""
    async with kept(servers) as each:
        for name in ("files.gone", "files.READ", "files."):
            with pytest.raises(ActionFailed, match="no longer offers it"):
                await each.call(Call(suggestion_id="s1", action=name, payload={}))
    assert (each.begun, servers.called) == (0, [])


async def test_a_server_that_ends_before_the_request_leaves_has_done_nothing(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """And one that ends after it is unknown."""
    servers.before, servers.after = 1.0, 1.0
    for at, error in ((0.5, ActionFailed), (1.5, ActionUnknown)):
        async with kept(servers) as each, trio.open_nursery() as nursery:
            nursery.start_soon(ends_after, at, servers.lives[-1].end)
            with pytest.raises((ActionFailed, ActionUnknown)) as raised:
                await each.call()
        assert raised.type is error
    assert len(servers.called) == 1


async def ends_after(seconds: float, end: Callable[[], None]) -> None:
    await trio.sleep(seconds)
    end()


async def test_it_is_started_again_with_growing_pauses(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """From a second to a minute; the pauses begin anew once it has lived for a while."""
    servers.fault = FileNotFoundError(2, "No such file or directory")
    async with kept(servers) as each:
        assert trio.current_time() == 0.0
        await trio.sleep(300.0)
        starts = [
            later - earlier for earlier, later in zip(servers.started, servers.started[1:], strict=False)
        ]
        assert starts == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60])
        servers.fault = None
        await trio.sleep(60.0)
        assert each.offered
        await trio.sleep(MCP_SETTLED)
        servers.lives[-1].end()
        ended = trio.current_time()
        await trio.sleep(5.0)
        assert servers.started[-1] == pytest.approx(ended + 1.0)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (FileNotFoundError(2, "No such file"), "its command cannot be started (No such file)"),
        (McpFailed("broken", "the server's answer is none of the protocol"), "none of the protocol"),
        (ExceptionGroup("SECRET", [ValueError("SECRET")]), "something broke (ValueError)"),
    ],
)
async def test_why_it_is_not_there_is_logged(
    servers: FakeMcpServers, autojump_clock: MockClock, fault: Exception, why: str
) -> None:
    """In a line, without a word of the server's; nothing else is hurt by whatever breaks."""
    servers.fault = fault
    with capture_logs() as logs:
        async with kept(servers):
            pass
    assert [(line["event"], line["server"]) for line in logs] == [("MCP server is not there", "files")]
    assert why in logs[0]["why"]
    assert "SECRET" not in str(logs)


async def test_a_server_that_does_not_tell_its_tools_is_given_up(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """After MCP_START seconds it is ended, and started again."""
    servers.start = SILENT
    async with kept(servers):
        await trio.sleep_until(MCP_START + 0.5)
        assert servers.left == pytest.approx([MCP_START])
        assert len(servers.started) == 1
        await trio.sleep(1.0)
        assert len(servers.started) == 2


async def test_a_deaf_server_is_ended_and_started_again(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """It is asked now and then whether it answers."""
    async with kept(servers) as each:
        await trio.sleep(MCP_PING_EVERY * 1.5)
        assert len(servers.started) == 1
        servers.deaf = True
        await trio.sleep(MCP_PING_EVERY / 2 + MCP_PING_ANSWER + 0.2)
        assert (each.offered, len(servers.left)) == ([], 1)
        servers.deaf = False
        await trio.sleep(1.5)
        assert each.offered == ["files.read", "files.list"]


async def test_a_call_without_an_answer_is_unknown_and_puts_the_server_in_doubt(
    servers: FakeMcpServers, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The runner's deadline rules. Until the server has answered anything nothing is called; deaf, it is restarted."""
    servers.after, servers.deaf = SILENT, True
    outcomes: list[Outcome] = []
    async with kept(servers) as each:
        runner = Runner(nursery, MemoryLedger(), each.executor, Noon(), Figures())
        runner.start(CALL, outcomes.append)
        await trio.sleep(0.2)
        runner.start(Call(suggestion_id="s2", action="files.read", payload={}), outcomes.append)
        await trio.sleep(ACTION_TIMEOUT)
        runner.start(Call(suggestion_id="s3", action="files.read", payload={}), outcomes.append)
        await runner.wait_idle()
        ended = trio.current_time()
        assert [(one.suggestion_id, one.status) for one in outcomes] == [
            ("s1", "unknown"),
            ("s3", "failed"),
            ("s2", "unknown"),
        ]
        await trio.sleep_until(ended + MCP_PING_ANSWER + 1.5)
        assert len(servers.started) == 2
        servers.after = 0.0
        await each.call()


async def test_a_slow_tool_does_not_end_its_server(
    servers: FakeMcpServers, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """It answers when it is asked, and is called again at once."""
    servers.after = SILENT
    async with kept(servers) as each:
        with trio.move_on_after(5.0):
            await each.call()
        servers.after = 0.1
        await trio.sleep(0.1)
        assert await each.call() == {"text": "done"}
        assert len(servers.started) == 1


async def test_a_stop_before_it_begins_leaves_nothing(
    servers: FakeMcpServers, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """Neither a call, nor a doubt about the server."""
    servers.before = 1.0
    outcomes: list[Outcome] = []
    async with kept(servers) as each:
        runner = Runner(nursery, MemoryLedger(), each.executor, Noon(), Figures())
        running = runner.start(CALL, outcomes.append)
        await trio.sleep(0.5)
        running.stop()
        await runner.wait_idle()
        assert ([one.status for one in outcomes], servers.called) == (["cancelled"], [])
        await each.call()


async def test_a_tool_that_cannot_be_offered_is_left_out_with_a_line(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """The others are offered; so is a name in auto that no tool has, for it may be a slip."""
    servers.tools = (
        {"name": "a/b"},
        {"name": "long", "description": "SECRET" * 1000},
        {"name": "read"},
        {"name": "Read"},
    )
    with capture_logs() as logs:
        async with kept(servers) as each:
            assert each.offered == ["files.read"]
    told = [(line["event"], line.get("tool")) for line in logs]
    assert told == [
        ("MCP tool left out", "?"),
        ("MCP tool left out", "long"),
        ("MCP tool left out", "Read"),
        ("MCP server has no such tool: correct auto in its settings", None),
        ("MCP server is there", None),
    ]
    assert "SECRET" not in str(logs)


async def test_too_many_tools_are_said_in_a_line(servers: FakeMcpServers, autojump_clock: MockClock) -> None:
    """Those over the bounds of all together are left out."""
    servers.tools = [{"name": f"t{number}"} for number in range(300)]
    with capture_logs() as logs:
        async with kept(servers) as each:
            assert len(each.offered) == 256
    assert logs[-1]["left_out"] == 44


async def test_leaving_takes_as_long_as_the_slowest_server(
    servers: FakeMcpServers, autojump_clock: MockClock
) -> None:
    """All are left at the same time, and a call that hangs keeps none."""
    servers.leave, servers.start = 1.0, 0.0
    offering = Offering((), tuple(McpServer(name=name, command=name) for name in "abc"))
    async with open_servers(offering, SchemaArguments(), servers):
        assert sorted(tool.name for tool in offering)[0] == "a.list"
    assert trio.current_time() == pytest.approx(1.0)
    assert (len(servers.left), len(offering)) == (3, 0)


class Strike(trio.abc.Instrument):
    """Cancels a scope at the n-th step of any task."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self._scope, self.left = scope, step

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.left -= 1
        if self.left == 0:
            self._scope.cancel()


@pytest.mark.parametrize("whole", [False, True])
async def test_struck_at_any_step_it_leaves_nothing(whole: bool, autojump_clock: MockClock) -> None:
    """A call, or all of it: the tool is called if and only if it began, and each server that was started is left."""
    step, struck = 0, True
    while struck:
        step += 1
        servers = FakeMcpServers({"name": "read"})
        begun: list[bool] = []
        offering = Offering((), (FILES,))
        around, call = trio.CancelScope(), trio.CancelScope()
        strike = Strike(around if whole else call, step)
        trio.lowlevel.add_instrument(strike)
        with around:
            async with open_servers(offering, SchemaArguments(), servers) as by_server:
                with call:
                    await by_server["files"].run(CALL, partial(begun.append, True))
        trio.lowlevel.remove_instrument(strike)
        struck = strike.left <= 0
        assert len(servers.called) == len(begun)
        assert len(servers.left) == len(servers.lives)
        assert len(offering) == 0
    assert step > 10


async def test_without_servers_nothing_is_kept(autojump_clock: MockClock) -> None:
    """And nothing is imported: what starts them is asked for only where there are some."""
    async with open_servers(Offering(), SchemaArguments()) as by_server:
        assert by_server == {}


async def test_without_the_extra_the_operator_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one line."""
    monkeypatch.setattr("agent.mcp.open.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'agent-server\[mcp\]'"):
        await open_servers(Offering((), (FILES,)), SchemaArguments()).__aenter__()
