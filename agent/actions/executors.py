"""The executors that this process runs by itself: `RecordExecutor` returns a record, `DispatchExecutor` chooses one."""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
import trio

from ..ports.action import Call, Executor

_log = structlog.get_logger(__name__)


class RecordExecutor:
    """Returns a record of the call, after an adjustable wait.

    `before`, `after`: seconds to wait before and after `begin()`, so that a person or a test can reach the moments in
    between.
    """

    def __init__(self, before: float = 0.0, after: float = 0.0) -> None:
        self._before = before
        self._after = after

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Return the action and its payload as a record; the log line holds no payload.

        On cancel before `begin()` nothing is logged; after it the line is written and the wait is cut short.
        """
        await trio.sleep(self._before)
        begin()
        _log.info("action recorded", action=call.action, suggestionId=call.suggestion_id)
        await trio.sleep(self._after)
        return {"recorded": True, "action": call.action, "payload": dict(call.payload)}


class DispatchExecutor:
    """Hands a call to the executor of its action.

    `by_name`: executors of single actions. `otherwise`: the executor of all other actions. `by_server`: executors of
    MCP servers, for every action named by the server, a dot and any rest; such an action never goes to another
    executor, even if the server has no tool of that name. `functions`: the executor of every call that was proposed to
    run as a function, even if no function has its name any more.
    """

    def __init__(
        self,
        by_name: Mapping[str, Executor],
        otherwise: Executor,
        by_server: Mapping[str, Executor] | None = None,
        functions: Executor | None = None,
    ) -> None:
        self._by_name = dict(by_name)
        self._otherwise = otherwise
        self._by_server = dict(by_server or {})
        self._functions = functions

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Run the call with the executor of its action: result, errors and cancellation are that executor's."""
        if call.runs_at == "function" and self._functions is not None:
            return await self._functions.run(call, begin)
        server, dot, _ = call.action.partition(".")
        if dot and server in self._by_server:
            return await self._by_server[server].run(call, begin)
        return await self._by_name.get(call.action, self._otherwise).run(call, begin)
