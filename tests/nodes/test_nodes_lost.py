"""Nodes that are killed around an effect, and one that stands still: a node that lives ends what they left.

NODE_KILLS=60 takes some five minutes.
"""

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.e2e.flow import PATIENCE, Caller, House, Server, caller, house, served
from tests.nodes.test_nodes_together import until_pending
from tests.servers import empty_database, run_statement

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("NODE_KILLS", "4"))
STOPPED = 40.0  # seconds
SETTLED = 90.0  # seconds in which a node that lives has ended what a dead one left, which takes 30 and a look
AWAKE = 3.0  # seconds in which a node that is awake again has done what it would
WAYS = ("at once", "at the effect", "held", "at both", "unasked")  # in which a call comes to its effect
OPEN = """SELECT
(SELECT count(*) FROM agent_ledger.actions WHERE status = 'claimed'),
(SELECT count(*) FROM agent_ledger.calls WHERE status IN ('confirmed', 'claimed')),
(SELECT count(*) FROM agent_ledger.messages WHERE status = 'pending')"""
NODES = "SELECT count(*) FROM agent_ledger.nodes"
CLAIMS = "SELECT suggestion_id, status FROM agent_ledger.actions ORDER BY 1"


@pytest.mark.filterwarnings(
    "ignore:Async generator 'httpx:ResourceWarning"
)  # a request that was not sent whole
async def test_what_a_node_leaves_that_dies_or_stands_still_is_ended_by_another(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Of nodes that are killed each call has at most one effect and one outcome, which the node that lives tells. A
    node that stands still for 40 seconds finds its turn and its call ended when it is awake, and changes neither.

    Both at once, since both take half a minute of waiting.
    """
    found: Counter[str] = Counter()
    with empty_database() as url, house(tmp_path, url) as at, served(at) as lives:
        with served(at, "--turn-timeout", "300") as still:
            async with caller(lives) as witness, caller(still) as sleeper, trio.open_nursery() as nursery:
                await nursery.start(_stand_still, at, url, still, sleeper, witness, found)
                nursery.start_soon(_kill_many, at, witness, found)
        async with caller(lives) as witness:
            await _until_nothing_is_open(url)
    record_property("found", sorted(found.items()))
    assert {len(at.hook.of(key)) for key, _ in at.hook.effects} <= {1}
    assert "Traceback" not in (tmp_path / "log").read_text("utf-8")


# --- kills


async def _kill_many(at: House, witness: Caller, found: Counter[str]) -> None:
    """Kill nodes; then ask the witness how each of their calls has ended."""
    drawn = random.Random(7)
    calls: dict[str, str] = {}
    threads: list[str] = []
    for kill in range(KILLS):
        way = WAYS[kill % len(WAYS)]
        victim = await trio.to_thread.run_sync(at.start)
        try:
            async with caller(victim) as client:
                call, thread = await _kill_one(at, victim, client, witness, way, drawn)
        finally:
            victim.kill()
        threads.append(thread)
        if call:
            calls[call] = way
            assert (await witness.get(f"/calls/{call}"))["id"] == call
        at.hook.go_on.set()
    for call, way in calls.items():
        ended = await _until_settled(witness, call)
        effects = len(at.hook.of(call))
        found[f"killed {way}: {ended['status']} with {effects} effects"] += 1
        if (
            ended["status"] == "suggested"
        ):  # nobody heard the approval: it can be given again, and counts once
            assert effects == 0
            assert (await witness.approve(call))[0] == 200
            assert len(at.hook.of(call)) == 1
        else:
            assert effects == 1 if ended["status"] == "done" else effects <= (ended["status"] == "unknown")
    for thread in threads:
        await _until_ended(witness, thread)
        await witness.chat("hello again", thread_id=thread)


async def _kill_one(
    at: House, victim: Server, client: Caller, witness: Caller, way: str, drawn: random.Random
) -> tuple[str, str]:
    """Bring a call of the victim near its effect, and kill it; return the call, "" where it is not known, and its
    thread."""
    moment = drawn.uniform(0, 0.3) ** 2 / 0.3
    if way == "unasked":
        thread = (await client.chat("hello"))["thread_id"]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_cut_off, client, "/chat", _message("look slowly at order A-17", thread))
            await until_pending(witness, thread)
            await trio.sleep(drawn.uniform(0.5, 0.9))  # the model takes 0.7 s, and then it acts
            victim.kill()
        return "", thread
    at.hook.go_on.clear()
    told = await client.chat(f"{'held' if way == 'held' else 'refund'} order A-17")
    call = told["tool_call_id"]
    approval, answered = f"/calls/{call}/approve", trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_cut_off, client, approval, {"user_id": "anna"}, answered)
        if way == "at both":
            nursery.start_soon(_until_cut_off, witness, approval, {"user_id": "anna"})
        if way in ("at the effect", "held"):
            with trio.fail_after(PATIENCE):
                # On a busy machine a call may not be claimed in time, and then never runs.
                while not at.hook.of(call) and not answered.is_set():  # noqa: ASYNC110  a thread sees it
                    await trio.sleep(0.001)
        await trio.sleep(moment if way != "at the effect" else moment / 20)
        victim.kill()
    return call, told["thread_id"]


def _message(text: str, thread: str) -> dict[str, str]:
    return {"user_id": "anna", "message": text, "thread_id": thread}


async def _until_cut_off(
    client: Caller, path: str, body: dict[str, str], answered: trio.Event | None = None
) -> None:
    with suppress(httpx.TransportError):  # the node was killed
        await client.ask("POST", path, body)
    if answered is not None:
        answered.set()


async def _until_settled(witness: Caller, call: str) -> dict[str, Any]:
    """Return a call once no node works on it."""
    with trio.fail_after(SETTLED):
        while True:
            kept: dict[str, Any] = await witness.get(f"/calls/{call}")
            if kept["status"] not in ("confirmed", "claimed"):
                return kept
            await trio.sleep(0.2)


# --- standing still


async def _stand_still(
    at: House,
    url: str,
    still: Server,
    sleeper: Caller,
    witness: Caller,
    found: Counter[str],
    task_status: "trio.TaskStatus[None]",
) -> None:
    """Stop a node within a turn and within a call; wake it when both were ended elsewhere. Started once it stands."""
    call = (await sleeper.chat("held order A-17"))["tool_call_id"]
    thread = (await sleeper.chat("hello"))["thread_id"]
    told: list[tuple[int, Any]] = []

    async def ask(path: str, body: dict[str, str]) -> None:
        told.append(await sleeper.ask("POST", path, body))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, f"/calls/{call}/approve", {"user_id": "anna"})
        with trio.fail_after(PATIENCE):
            while not at.hook.of(call):  # noqa: ASYNC110  it is a thread's
                await trio.sleep(0.01)
        nursery.start_soon(ask, "/chat", _message("look patiently at order A-17", thread))
        await until_pending(witness, thread)
        still.process.send_signal(signal.SIGSTOP)
        task_status.started()
        began = trio.current_time()
        assert (await _until_settled(witness, call))["status"] == "unknown"
        assert await _until_ended(witness, thread) == "cancelled"
        found["stood still: ended elsewhere after seconds"] = round(trio.current_time() - began)
        await witness.chat("hello from elsewhere", thread_id=thread)
        before = await _everything(url, witness, thread, call)
        await trio.sleep_until(began + STOPPED)
        still.process.send_signal(signal.SIGCONT)
        at.hook.go_on.set()
    assert {status for status, _ in told} <= {200, 409, 503}, told
    await trio.sleep(AWAKE)
    after = await _everything(url, witness, thread, call)
    assert after == before, json.dumps([before, after, told], indent=1)
    assert not [each for each in after["calls"] if each["tool"] == "look_up" and at.hook.of(each["id"])]
    await sleeper.chat("hello, I am back", thread_id=thread)
    call = (await sleeper.chat("refund order A-17"))["tool_call_id"]
    assert (await sleeper.approve(call))[1]["status"] == "done"


async def _until_ended(witness: Caller, thread: str) -> str:
    """Return how the last turn of a thread has ended, once it has."""
    with trio.fail_after(SETTLED):
        while True:
            messages = (await witness.get(f"/threads/{thread}/messages?limit=200"))["items"]
            *_, asked = (each["status"] for each in messages if each["role"] == "user")
            if asked != "pending":
                return str(asked)
            await trio.sleep(0.2)


async def _everything(url: str, witness: Caller, thread: str, call: str) -> dict[str, Any]:
    """Return what a node could change that was told that its turn and its call have ended."""
    return {
        "call": await witness.get(f"/calls/{call}"),
        "calls": (await witness.get(f"/threads/{thread}/calls?limit=200"))["items"],
        "messages": (await witness.get(f"/threads/{thread}/messages?limit=200"))["items"],
        "claim": [row for row in run_statement(url, CLAIMS) if row[0] == call],
    }


async def _until_nothing_is_open(url: str) -> None:
    """Wait until no row is claimed, no turn is in progress, and no dead node has a row."""
    with trio.fail_after(SETTLED):
        while True:
            (counts,) = run_statement(url, OPEN)
            ((nodes,),) = run_statement(url, NODES)
            if tuple(counts) == (0, 0, 0) and nodes == 1:
                return
            await trio.sleep(0.2)
