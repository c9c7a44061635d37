"""The operator's file of tools, and the settings that name it."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from agent.actions.executors import DispatchExecutor
from agent.commands.settings import read_settings
from agent.compose.adapters import Adapters
from agent.compose.composition import open_composition
from agent.compose.tools import read_toolbox
from agent.errors import BadTool, UsageError
from agent.ports.brain import Brain
from agent.ports.tools import ToolDefinition
from agent.settings import Settings
from agent.storage.memory_ledger import MemoryLedger
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures, Noon
from agent.tools.file import read_tools


def offered(settings: Settings) -> tuple[ToolDefinition, ...]:
    """The operator's tools, as a server of these settings has them."""
    return tuple(read_toolbox(settings=settings, clock=Noon()).operator)


def written(path: Path, content: Any) -> Path:
    file = path / "tools.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_tools_are_read_by_name(tmp_path: Path) -> None:
    """They are the operator's, and one that does not say where it runs goes where actions go."""
    file = written(tmp_path, {"tools": [{"name": "b", "url": "https://hook.test/"}, {"name": "a"}]})
    tools = read_tools(file, SchemaArguments(), "webhook")
    assert [(tool.name, tool.origin, tool.runs_at) for tool in tools] == [
        ("a", "operator", "webhook"),
        ("b", "operator", "webhook"),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "tools.json: Input data was truncated"),
        ("[]", 'must be a JSON object like {"tools": [...]}'),
        ("{}", 'must be a JSON object like {"tools": [...]}'),
        ({"tools": [], "mcpServers": []}, "/mcpServers: must be an object"),
        (
            {"mcpServers": {"a": {"url": "https://h/"}}},
            "/mcpServers/a/url: only servers that a command starts",
        ),
        ({"tools": [], "tool": []}, "nothing else"),
        ({"tools": {}}, "tools must be an array"),
        (
            {"tools": [{"name": "a"}, {"name": "get_order", "risk": 1}]},
            "/tools/1/risk: must be low, medium or high (tool get_order)",
        ),
        ({"tools": [{"name": "a"}, {"name": "A"}]}, "/tools/1/name: another tool has the name A"),
        ("x" * (1024 * 1024 + 1), "the file has over 1048576 bytes"),
        ("[" * 100_000, "tools.json: "),
    ],
)
def test_a_file_that_cannot_be_used_is_named_in_one_line(tmp_path: Path, content: Any, expected: str) -> None:
    """With the file, and the tool and its part where it is one's fault."""
    file = written(tmp_path, content)
    with pytest.raises(UsageError) as raised:
        read_tools(file, SchemaArguments())
    assert str(raised.value).startswith(f"tools {file}: ")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_can_name_servers_alone(tmp_path: Path) -> None:
    """As one that is copied from another client does; none of them is there before it was started."""
    read = read_tools(written(tmp_path, {"mcpServers": {"a": {"command": "a"}}}), SchemaArguments())
    assert ([server.name for server in read.servers], tuple(read)) == (["a"], ())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_tools(tmp_path / "none.json", SchemaArguments())


def test_the_flags_choose_file_and_risk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--tools` and `--approve-from` arrive in the settings, and the composition reads the file."""
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, {"tools": [{"name": "a"}]})
    settings = read_settings(["--tools", str(file), "--approve-from", "low"])
    assert (settings.tools.tools, settings.tools.approve_from) == (file, "low")
    assert [tool.runs_at for tool in offered(settings)] == ["record"]
    hooked = Settings.of(tools=file, action_webhook="https://hook.test/")
    assert [tool.runs_at for tool in offered(hooked)] == ["webhook"]
    assert read_toolbox(settings=Settings(), clock=Noon()).sockets is None


def test_a_risk_that_is_none_is_refused() -> None:
    """The operator is told the three."""
    with pytest.raises(UsageError, match="approve-from must be low, medium or high"):
        Settings.of(approve_from="never")


async def test_the_composition_has_the_tools_and_runs_them(tmp_path: Path) -> None:
    """What is composed names them, its executor knows where each runs, and a message's stand beside them."""
    file = written(tmp_path, {"tools": [{"name": "a"}]})
    chosen = Adapters(brain=cast(Brain, object()), ledger=MemoryLedger())
    async with open_composition(
        settings=Settings.of(tools=file),
        adapters=chosen,
        observer=Figures(),
        on_ledger_trouble=lambda _: None,
    ) as server:
        assert isinstance(server.executor, DispatchExecutor)
        assert server.read_socket_tools is None
    chosen = Adapters(brain=cast(Brain, object()), ledger=MemoryLedger())
    open_to_all = Settings.of(tools=file, client_tools=True)
    async with open_composition(
        settings=open_to_all, adapters=chosen, observer=Figures(), on_ledger_trouble=lambda _: None
    ) as server:
        assert server.read_socket_tools is not None
        assert [tool.name for tool in server.read_socket_tools([{"name": "b"}])] == ["b"]
        with pytest.raises(BadTool, match="operator"):
            server.read_socket_tools([{"name": "a"}])
