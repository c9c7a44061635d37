"""Chooses the executor of each action: by its name, by its server, or the default one."""

from collections.abc import Callable, Mapping
from typing import Any

from ..ports.action import Call, Executor


class DispatchExecutor:
    """Hands a call to the executor of its action.

    `by_name`: executors of single actions. `otherwise`: the executor of all other actions. `by_server`: executors of
    MCP servers, for every action named by the server, a dot and any rest; such an action never goes to another
    executor, even if the server has no tool of that name.
    """

    def __init__(
        self,
        by_name: Mapping[str, Executor],
        otherwise: Executor,
        by_server: Mapping[str, Executor] | None = None,
    ) -> None:
        self._by_name = dict(by_name)
        self._otherwise = otherwise
        self._by_server = dict(by_server or {})

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Run the call with the executor of its action: result, errors and cancellation are that executor's."""
        server, dot, _ = call.action.partition(".")
        if dot and server in self._by_server:
            return await self._by_server[server].run(call, begin)
        return await self._by_name.get(call.action, self._otherwise).run(call, begin)
