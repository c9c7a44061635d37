"""Carries out the calls of tools that are Python functions of the operator.

Strategy: a synchronous function runs in a worker thread, and `begin()` is called in the very step in which a thread is
free for it, so a call that waits for a thread has had no effect. An asynchronous function runs on the event loop. The
runner's deadline ends the wait for either; a thread cannot be stopped, so it goes on, its result is lost, and the
outcome is unknown. So it is after an exception of a function that needs an approval: it may come from the answer to a
request that had its effect. A function that knows better raises `ActionFailed`. The type and text of other exceptions
are for the log alone, since they may hold anything.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import msgspec
import structlog
import trio

from ..config import MAX_NESTING
from ..errors import ActionFailed, ActionUnknown
from ..ports.action import Call
from ..ports.tools import ToolFunction
from ..ports.work import RunActionSync
from ..protocol.payload import is_deeper_than
from ..text.terminal import printable_line

FUNCTION_RESULT_MAX = 16 * 1024  # bytes of a result, as JSON
FUNCTION_ERROR_CHARACTERS = 1000  # of an exception's text

_log = structlog.get_logger(__name__)


class FunctionExecutor:
    """Calls the function of each action. `functions`: by name. `run_sync`: runs synchronous functions in threads."""

    def __init__(self, functions: Mapping[str, ToolFunction], run_sync: RunActionSync) -> None:
        self._functions = functions
        self._run_sync = run_sync

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Call the function and return its result: an object unchanged, `None` as {}, another value under `answer`.

        Raises `ActionFailed` when there is no such function (a call may be approved after a restart with another
        module), when the arguments do not fit its types, and when a function that only reads raises an exception.
        Raises `ActionUnknown` when another function raises an exception, and when a result is no JSON value, has over
        `FUNCTION_RESULT_MAX` bytes or is over `MAX_NESTING` deep. The text of these two errors, raised by the function
        itself, is kept. On cancel a thread is left behind.
        """
        await trio.lowlevel.checkpoint()
        tool = self._functions.get(call.action)
        if tool is None:
            raise ActionFailed("This server has no function of this name any more.")
        try:
            arguments = tool.read_arguments(call.payload)
        except msgspec.ValidationError as error:
            _log_fault("function arguments refused", call, error)
            raise ActionFailed("The arguments do not fit the function.") from None
        if tool.is_async:
            begin()
            with _map_faults(call, tool):
                result = await tool.function(**arguments)
            return _read_result(call, result)

        @wraps(tool.function)
        def work() -> Mapping[str, Any]:
            with _map_faults(call, tool):
                result = tool.function(**arguments)
            return _read_result(call, result)

        return await self._run_sync(work, begin)


@contextmanager
def _map_faults(call: Call, tool: ToolFunction) -> Iterator[None]:
    """Make an exception of the operator's code an outcome. SystemExit, too: it would end the server."""
    try:
        yield
    except ActionFailed as error:
        raise ActionFailed(str(error)[:FUNCTION_ERROR_CHARACTERS]) from None
    except ActionUnknown as error:
        raise ActionUnknown(str(error)[:FUNCTION_ERROR_CHARACTERS]) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  the edge of one action: a fault becomes its outcome
        _log_fault("function failed", call, error)
        if tool.only_reads:
            raise ActionFailed("The function failed; the server's log says why.") from None
        raise ActionUnknown(
            "The function failed, perhaps after it had an effect; the server's log says why."
        ) from None


def _log_fault(event: str, call: Call, error: BaseException) -> None:
    text = printable_line(f"{type(error).__name__}: {error}"[:FUNCTION_ERROR_CHARACTERS])
    _log.warning(event, action=call.action, suggestionId=call.suggestion_id, error=text)


def _read_result(call: Call, result: object) -> Mapping[str, Any]:
    """Return a function's result as JSON has it. Blocks as long as a large result takes."""
    try:
        text = msgspec.json.encode(result)
        if len(text) > FUNCTION_RESULT_MAX:
            raise ValueError(f"the result has {len(text)} bytes; {FUNCTION_RESULT_MAX} are the most")
        value = msgspec.json.decode(text)
        if is_deeper_than(MAX_NESTING, value):
            raise ValueError(f"the result is nested over {MAX_NESTING} deep")
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        _log_fault("function result unreadable", call, error)
        raise ActionUnknown("The function ran, but its result cannot be read.") from None
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"answer": value}
