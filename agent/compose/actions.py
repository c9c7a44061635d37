"""Opens the executor of confirmed actions and tool calls."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from ..actions.function_executor import FunctionExecutor
from ..actions.open import open_executor
from ..host import WorkerThreads
from ..mcp.open import open_servers
from ..ports.action import Executor
from ..settings import Settings
from .adapters import Adapters
from .tools import Toolbox

# Functions that run in threads at once; a function that hangs keeps its thread, and more calls wait before they
# begin.
_FUNCTIONS_AT_ONCE = 16


@asynccontextmanager
async def open_actions(
    *,
    settings: Settings,
    adapters: Adapters,
    toolbox: Toolbox,
    memory_executors: Mapping[str, Executor] | None,
) -> AsyncGenerator[Executor, None]:
    """Start the MCP servers of `toolbox`, and open the executor over them, for the time of a block.

    `memory_executors`: carry out the actions of the memory, by action name; `None` where there is no memory.
    `adapters.executor` replaces all of it, and no MCP server is started. Raises `agent.errors.UsageError` when an
    executor or a server cannot be used. On exit, also when cancelled, the executor closes first; then all MCP servers
    end, at the same time.
    """
    if adapters.executor is not None:
        yield adapters.executor
        return
    async with _open_servers(adapters=adapters, toolbox=toolbox) as by_server:
        tools = toolbox.operator.own
        run_sync = adapters.run_action_sync or WorkerThreads(_FUNCTIONS_AT_ONCE)
        functions = FunctionExecutor(toolbox.functions, run_sync)
        async with open_executor(settings.actions, tools, by_server, memory_executors, functions) as executor:
            yield executor


@asynccontextmanager
async def _open_servers(
    *, adapters: Adapters, toolbox: Toolbox
) -> AsyncGenerator[Mapping[str, Executor] | None, None]:
    """Start the MCP servers for the time of a block; give `None` where no tool can be called."""
    if toolbox.arguments is None:
        yield None
        return
    async with open_servers(toolbox.operator, toolbox.arguments, adapters.mcp) as by_server:
        yield by_server
