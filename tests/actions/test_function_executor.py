"""Tools that are Python functions: threads and the loop, deadlines, exceptions and results."""

import io
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
import trio
from trio.testing import MockClock

from agent.actions.function_executor import FUNCTION_RESULT_MAX, FunctionExecutor
from agent.actions.runner import Runner
from agent.config import ACTION_TIMEOUT
from agent.errors import ActionFailed, ActionUnknown
from agent.host import WorkerThreads
from agent.ports.action import Call, Outcome
from agent.ports.tools import ToolFunction
from agent.ports.work import RunActionSync
from agent.storage.memory_ledger import MemoryLedger
from agent.testing.fakes import Figures, Noon
from agent.testing.network import inline
from agent.tools.functions import tool
from agent.tools.python_module import _describe_function
from tests.logs import logged

DEADLINE = 0.2  # seconds, in place of ACTION_TIMEOUT where threads are real
PATIENCE = 60.0


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged at the default level."""
    with logged() as stream:
        yield stream


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions have `DEADLINE` on the real clock."""
    monkeypatch.setattr("agent.actions.runner.ACTION_TIMEOUT", DEADLINE)


class Rig:
    """Runs calls of one function, as the server does."""

    def __init__(self, nursery: trio.Nursery, function: Callable[..., Any], run_sync: RunActionSync = inline):
        described = _describe_function("here", tool(function))[1]
        self.runner = Runner(
            nursery, MemoryLedger(), FunctionExecutor({"f": described}, run_sync), Noon(), Figures()
        )
        self.outcomes: list[Outcome] = []

    def start(self, **payload: Any) -> Any:
        """Start a call."""
        call = Call(suggestion_id=f"s{len(self.outcomes)}{id(payload)}", action="f", payload=payload)
        return self.runner.start(call, self.outcomes.append)

    async def run(self, **payload: Any) -> Outcome:
        """Return a call's outcome."""
        self.start(**payload)
        with trio.fail_after(PATIENCE):
            await self.runner.wait_idle()
        return self.outcomes[-1]


async def test_a_blocking_function_is_given_up_at_its_deadline(
    nursery: trio.Nursery, soon: None, log: io.StringIO
) -> None:
    """Its outcome is unknown, and the loop is free all the time; the thread is named in the log."""
    go_on = threading.Event()
    ticks = 0

    def hang() -> None:
        go_on.wait(PATIENCE)

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(DEADLINE / 20)
            ticks += 1

    nursery.start_soon(tick)
    rig = Rig(nursery, hang, WorkerThreads(1))
    began = trio.current_time()
    try:
        outcome = await rig.run()
    finally:
        go_on.set()
    assert outcome.status == "unknown"
    assert DEADLINE <= trio.current_time() - began < PATIENCE / 2
    assert ticks >= 5
    assert "blocking call left behind" in log.getvalue()
    assert "hang" in log.getvalue()
    nursery.cancel_scope.cancel()


async def test_without_a_free_thread_a_call_never_begins(nursery: trio.Nursery, soon: None) -> None:
    """It waits before `begin()`: at its deadline it failed, a stop takes it back, and later calls run again."""
    go_on, ran = threading.Event(), []

    def hang(name: str) -> str:
        ran.append(name)
        go_on.wait(PATIENCE)
        return name

    rig = Rig(nursery, hang, WorkerThreads(1))
    try:
        assert (await rig.run(name="first")).status == "unknown"
        assert (await rig.run(name="second")).status == "failed"
        running = rig.start(name="third")
        await trio.sleep(DEADLINE / 4)
        running.stop()
        await rig.runner.wait_idle()
        assert rig.outcomes[-1].status == "cancelled"
    finally:
        go_on.set()
    with trio.fail_after(PATIENCE):
        while (await rig.run(name="last")).status != "done":
            pass
    assert ran == ["first", "last"]


async def test_a_refused_begin_keeps_no_thread() -> None:
    """The function is not called, and the next one has the thread."""
    threads, ran = WorkerThreads(1), []

    def refuse() -> NoReturn:
        raise ActionFailed("no")

    with pytest.raises(ActionFailed):
        await threads(lambda: ran.append("refused"), refuse)
    with trio.fail_after(PATIENCE):
        await threads(lambda: ran.append("next"), lambda: ran.append("begin"))
    assert ran == ["begin", "next"]


async def test_an_asynchronous_function_has_the_same_deadline(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """It is cancelled, and its outcome is unknown."""

    async def wait() -> None:
        await trio.sleep_forever()

    began = trio.current_time()
    assert (await Rig(nursery, wait).run()).status == "unknown"
    assert trio.current_time() - began == pytest.approx(ACTION_TIMEOUT)


MAY_HAVE_HAPPENED = "The function failed, perhaps after it had an effect; the server's log says why."


async def test_an_exception_of_a_function_that_needs_no_approval_is_a_failure() -> None:
    """It only reads, so nothing has happened, and it may be called again."""

    def find_order() -> NoReturn:
        raise KeyError("A-17")

    functions = {"find_order": ToolFunction(find_order, dict, only_reads=True)}
    executor = FunctionExecutor(functions, WorkerThreads(1))
    call = Call(suggestion_id="s", action="find_order", payload={}, runs_at="function")
    with pytest.raises(ActionFailed, match="the server's log says why"):
        await executor.run(call, lambda: None)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("fault", "status", "error"),
    [
        (ValueError("order\n4711"), "unknown", MAY_HAVE_HAPPENED),
        (SystemExit(4711), "unknown", MAY_HAVE_HAPPENED),
        (
            ActionFailed("There is no such order." + 2000 * "."),
            "failed",
            "There is no such order." + 977 * ".",
        ),
        (ActionUnknown("The bank is silent."), "unknown", "The bank is silent."),
    ],
)
async def test_an_exception_is_an_outcome(
    nursery: trio.Nursery, log: io.StringIO, fault: BaseException, status: str, error: str, is_async: bool
) -> None:
    """Its type and text are logged on one line and not shown, unless the function has raised an outcome itself."""

    def fail() -> NoReturn:
        raise fault

    async def fail_later() -> NoReturn:
        await trio.lowlevel.checkpoint()
        raise fault

    outcome = await Rig(nursery, fail_later if is_async else fail, WorkerThreads(1)).run()
    assert (outcome.status, outcome.result["error"]) == (status, error)
    hidden = error.startswith("The function failed")
    assert (f"{type(fault).__name__}: " in log.getvalue()) is hidden
    assert log.getvalue().count("\n") == hidden


@dataclass
class Order:
    id: str
    lines: tuple[int, ...]


def _nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("result", "data"),
    [
        ({"status": "sent"}, {"status": "sent"}),
        (None, {}),
        ([1, 2], {"answer": [1, 2]}),
        ("sent", {"answer": "sent"}),
        (Order("A-17", (1, 2)), {"id": "A-17", "lines": [1, 2]}),
        (object(), None),
        (sys, None),
        ("\ud800", None),
        (FUNCTION_RESULT_MAX * "x", None),
        (_nest(40), None),
        (_nest(5000), None),
    ],
)
async def test_a_result_is_json(nursery: trio.Nursery, result: object, data: Any) -> None:
    """What is none, or too much, is not shown: the function ran, and its outcome is not known."""

    def give() -> object:
        return result

    outcome = await Rig(nursery, give).run()
    if data is None:
        assert outcome.status == "unknown"
        assert outcome.result["error"] == "The function ran, but its result cannot be read."
    else:
        assert outcome.result == {"success": True, "data": data}


async def test_arguments_that_do_not_fit_call_nothing(nursery: trio.Nursery, log: io.StringIO) -> None:
    """They failed before `begin()`; what fits is given by name, and the rest keeps its defaults."""
    seen: list[tuple[int, str]] = []

    def add(count: int, unit: str = "kg") -> None:
        seen.append((count, unit))

    rig = Rig(nursery, add)
    assert (await rig.run(count="many")).result["error"] == "The arguments do not fit the function."
    assert "Expected `int`" in log.getvalue()
    assert (await rig.run(count=2)).status == "done"
    assert seen == [(2, "kg")]
