"""The default executor: it carries nothing out and returns a record of the call."""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
import trio

from ..ports.action import Call

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
