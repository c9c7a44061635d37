"""Carries out each action where its tool says, and every other one where the operator's actions go."""

from collections.abc import Callable, Mapping
from typing import Any

from ..ports.action import Call, Executor


class DispatchExecutor:
    """Hands a call to the executor of its action.

    by_name: those that have one of their own. otherwise: the rest's. by_server: those of servers, for every action
    whose name is the server's, a dot and anything: it is never another's, also when the server has none of that name.
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
        """Carry out the call as the executor of its action does, with its result, its errors and its way to cancel."""
        server, dot, _ = call.action.partition(".")
        if dot and server in self._by_server:
            return await self._by_server[server].run(call, begin)
        return await self._by_name.get(call.action, self._otherwise).run(call, begin)
