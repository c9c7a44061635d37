"""How soon one node hears of what another has done: NODES_ROUNDS=20 measures it, and NODES_HINTS=off without hints.

A cancel and the end of a call are heard within 0.3 s by hints, and within 1.5 s by looking, on a quiet machine. The
bounds here are those of a busy one; the figures are properties in the test's report (`--junitxml`).
"""

import os
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest
import trio

from tests.e2e.flow import PATIENCE, Caller, House, Server, caller
from tests.nodes.test_nodes_together import until_pending

pytestmark = pytest.mark.proof

ROUNDS = int(os.environ.get("NODES_ROUNDS", "3"))
HEARD = 10.0  # seconds, on a machine that is busy with other things
AFTERWARDS = 1.0  # seconds in which a call that began too late would take effect


async def test_a_cancel_at_one_node_ends_the_turn_at_the_other(
    shared: House, nodes: tuple[Server, Server], record_property: Callable[[str, object], None]
) -> None:
    """Soon; and when it is answered, no call of that turn begins any more."""
    took: list[float] = []
    async with caller(nodes[0]) as one, caller(nodes[1]) as other:
        for _ in range(ROUNDS):
            thread = (await one.chat("hello"))["thread_id"]
            told: list[tuple[int, Any]] = []

            async def look(thread: str = thread, told: list[tuple[int, Any]] = told) -> None:
                body = {"user_id": "anna", "message": "look slowly at order A-17", "thread_id": thread}
                told.append(await one.ask("POST", "/chat", body))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(look)
                await until_pending(other, thread)
                began = trio.current_time()
                assert (await other.ask("DELETE", f"/threads/{thread}/turn"))[0] == 204
                effects = list(shared.hook.effects)
            took.append(trio.current_time() - began)
            assert [(status, value["code"]) for status, value in told] == [(409, "cancelled")]
            await trio.sleep(AFTERWARDS / ROUNDS)
            assert shared.hook.effects == effects
    _tell(record_property, "cancel to the end of the turn elsewhere", took)


async def test_an_approval_waits_at_one_node_for_the_call_that_the_other_runs(
    shared: House, nodes: tuple[Server, Server], record_property: Callable[[str, object], None]
) -> None:
    """The same approval, sent to both, is answered by both as soon as the call has run, which it does once."""
    took: list[float] = []
    async with caller(nodes[0]) as one, caller(nodes[1]) as other:
        for number in range(ROUNDS):
            shared.hook.go_on.clear()
            call = (await one.chat("held order A-17"))["tool_call_id"]
            told: list[tuple[float, int, Any]] = []

            async def approve(
                client: Caller, call: str = call, key: str = f"key{number}", told: list[Any] = told
            ) -> None:
                answer = await client.ask(
                    "POST", f"/calls/{call}/approve", {"user_id": "anna"}, Idempotency_Key=key
                )
                told.append((trio.current_time(), *answer))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(approve, one)
                with trio.fail_after(PATIENCE):
                    while not shared.hook.of(call):  # noqa: ASYNC110  it is a thread's
                        await trio.sleep(0.01)
                nursery.start_soon(approve, other)
                await trio.sleep(1.2)  # longer than who only looks now and then looks often
                assert told == []
                shared.hook.go_on.set()
                began = trio.current_time()
            assert [(status, value["status"]) for _, status, value in told] == [(200, "done")] * 2
            assert len(shared.hook.of(call)) == 1
            took.append(max(at for at, *_ in told) - began)
    _tell(record_property, "end of a call to the answer elsewhere", took)


def _tell(record_property: Callable[[str, object], None], what: str, took: list[float]) -> None:
    figures = f"{what}: half of {len(took)} within {median(took):.3f} s, all within {max(took):.3f} s"
    record_property("figures", figures)
    assert max(took) < HEARD, figures
