"""Carries out each action where its tool says, and every other one where the operator's actions go."""

from collections.abc import Callable, Mapping
from typing import Any

from ..ports.action import Call, Executor


class DispatchExecutor:
    """Hands a call to the executor of its action. by_name: those that have one of their own; otherwise: the rest's."""

    def __init__(self, by_name: Mapping[str, Executor], otherwise: Executor) -> None:
        self._by_name = dict(by_name)
        self._otherwise = otherwise

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Carry out the call as the executor of its action does, with its result, its errors and its way to cancel."""
        return await self._by_name.get(call.action, self._otherwise).run(call, begin)
