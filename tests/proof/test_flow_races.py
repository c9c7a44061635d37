"""Calls over HTTP that many decide at once, and what SIGKILL leaves of them: servers as processes, a real webhook.

RACE_ROUNDS=50 and FLOW_KILLS=20 take minutes.
"""

import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from agent.threads.hashes import digest
from tests.e2e.flow import PATIENCE, Caller, House, caller, house, served

pytestmark = pytest.mark.proof

ROUNDS = int(os.environ.get("RACE_ROUNDS", "3"))
KILLS = int(os.environ.get("FLOW_KILLS", "1"))
CLIENTS = 64
LOST = {"closed", "begun", "not_approved"}


# --- races


async def test_of_all_who_decide_one_does(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Sixty-four approve, edit, reject and begin a call at once: one decides, what runs is what that one approved.

    They ask one server, then two over one data folder.
    """
    seen: Counter[str] = Counter()
    with house(tmp_path) as at, served(at) as one, served(at) as other:
        async with caller(one) as first, caller(other) as second:
            for callers in ([first], [first, second]):
                for number in range(ROUNDS):
                    became = await _race(at, callers, ("refund", "ship")[number % 2], number)
                    seen[f"{len(callers)}: {became}"] += 1
        assert {len(at.hook.of(key)) for key, _ in at.hook.effects} <= {1}
    record_property("who decided", dict(seen))


async def _race(at: House, callers: list[Caller], kind: str, number: int) -> str:
    """Let all decide on one call; return what became of it, once everything about it is as it must be."""
    id = (await callers[number % len(callers)].chat(f"{kind} order A-17"))["tool_call_id"]
    drawn = random.Random(f"{kind} {number}")
    told: list[tuple[str, int, Any]] = []
    go = trio.Event()

    async def decide(place: int) -> None:
        operation = ("approve", "edit", "reject", "begin")[place % 4]
        await go.wait()
        late = 0.05 if operation == "reject" and number % 3 else 0.0  # it is the quickest of them
        await trio.sleep(late + drawn.uniform(0, 0.02))
        told.append((operation, *await _operate(callers[place // 4 % len(callers)], id, operation, place)))

    async with trio.open_nursery() as nursery:
        for place in range(CLIENTS):
            nursery.start_soon(decide, place)
        go.set()
    kept = await callers[0].get(f"/calls/{id}")
    won = [(operation, value) for operation, status, value in told if status == 200]
    codes = {value["code"] for _, status, value in told if status != 200}
    assert {status for _, status, _ in told} <= {200, 409}
    assert codes <= LOST, codes
    times = Counter(operation for operation, _ in won)
    effects = at.hook.of(id)
    if times["reject"]:  # a second rejection changes nothing, and is no conflict
        assert (effects, times["begin"]) == ([], 0)
        approvals = times["approve"] + times["edit"]
        assert (kept["status"], approvals) in (("rejected", 0), ("cancelled", 1)), times
        return f"{kind} {kept['status']}"
    ((operation, approved),) = [
        (operation, value) for operation, value in won if operation in ("approve", "edit")
    ]
    for field_ in ("arguments", "arguments_hash", "edited", "approved_by", "approved_at"):
        assert kept[field_] == approved[field_]
    assert (kept["edited"], digest(kept["arguments"])) == (operation == "edit", kept["arguments_hash"])
    if kind == "refund":
        assert (kept["status"], times["begin"], effects) == ("done", 0, [kept["arguments"]])
    else:
        (begun,) = [value for operation, value in won if operation == "begin"]
        assert (kept["status"], begun["arguments_hash"], effects) == ("claimed", kept["arguments_hash"], [])
    return f"{kind} {operation}"


async def _operate(client: Caller, id: str, operation: str, place: int) -> tuple[int, Any]:
    """Do one of them; who begins waits until somebody has decided."""
    if operation == "approve":
        return await client.approve(id)
    if operation == "edit":
        return await client.approve(id, outcome="edit", arguments={"order": f"B-{place}"})
    if operation == "reject":
        return await client.ask("POST", f"/calls/{id}/reject", {})
    with trio.fail_after(PATIENCE):
        while True:
            status, value = await client.ask("POST", f"/calls/{id}/begin", {})
            if status != 409 or value["code"] != "not_approved":
                return status, value
            await trio.sleep(0.05)


# --- kills


@dataclass
class Known:
    """What the callers of a server were told before it died. threads: of every message that was sent."""

    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    said: dict[str, tuple[str, str]] = field(default_factory=dict)  # a message's thread and reply, by its id
    threads: set[str] = field(default_factory=set)

    def chat(self, told: Any) -> Any:
        """Note the answer to a message."""
        self.threads.add(told["thread_id"])
        self.said[told["message_id"]] = told["thread_id"], told["response_json"]["message"]
        for each in told["calls"]:
            self.call(each)
        return told

    def call(self, told: Any) -> Any:
        """Note a call."""
        self.calls[told["id"]] = told
        return told


STEPS = ("chat", "approve", "claim", "webhook answer", "begin", "report")
AFTER = {  # of what its caller runs, a claim may have been made of which nobody was told
    "webhook": {
        "suggested": {"suggested", "cancelled", "unknown", "done"},
        "claimed": {"unknown", "done"},
        "done": {"done"},
    },
    "caller": {
        "suggested": {"suggested", "confirmed"},
        "confirmed": {"confirmed", "claimed"},
        "claimed": {"claimed", "done"},
        "done": {"done"},
    },
}


@pytest.mark.filterwarnings(
    "ignore:Async generator 'httpx:ResourceWarning"
)  # a request that was not sent whole
async def test_killed_at_any_step_what_was_told_is_there_and_nothing_runs_late(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each kill strikes a step of six callers at once, a moment after it was asked for."""
    drawn = random.Random(5)
    known = Known()
    found: Counter[tuple[str, str]] = Counter()
    steps: dict[str, str] = {}
    with house(tmp_path) as at:
        for kill in range(KILLS + 1):
            with served(at) as server:
                async with caller(server) as client:
                    await _all_is_there(client, at, known, found, steps)
                    if kill == KILLS:
                        break
                    at.hook.go_on.clear()
                    steps = await _struck(client, at, known, _moment(drawn), server.kill)
                at.hook.go_on.set()
    record_property("found", sorted(found.items()))
    assert {len(at.hook.of(key)) for key, _ in at.hook.effects} <= {1}
    assert found["claim", "unknown"] == KILLS


def _moment(drawn: random.Random) -> float:
    """Seconds to a kill: most often within the few milliseconds in which the steps are taken."""
    return drawn.uniform(0, 0.15) ** 2 / 0.15


async def _struck(
    client: Caller, at: House, known: Known, after: float, kill: Callable[[], None]
) -> dict[str, str]:
    """Bring a call to each step, take all steps at once, and kill; return which call is at which step."""
    steps: dict[str, str] = {}
    for step, message in zip(STEPS[1:], ("refund", "held", "refund", "ship", "ship"), strict=True):
        steps[step] = known.chat(await client.chat(f"{message} order A-17"))["tool_call_id"]
    for step in ("begin", "report"):
        known.call((await client.approve(steps[step]))[1])
    known.call(await client.post(f"/calls/{steps['report']}/begin", {}))
    quick, slow = [known.chat(await client.chat("hello"))["thread_id"] for _ in range(2)]

    async def chat(message: str, thread: str) -> None:
        known.chat(await client.chat(f"{message} order A-17", thread_id=thread))

    async def approve(step: str) -> None:
        known.call((await client.approve(steps[step]))[1])

    async def begin() -> None:
        known.call(await client.post(f"/calls/{steps['begin']}/begin", {}))

    async def report() -> None:
        result = {"tool_call_id": steps["report"], "ok": True, "data": {"weight": "12 kg"}, "continue": True}
        told = await client.post("/tools/result", result)
        known.call(told["call"])
        known.chat(told["reply"])

    async def take(step: Callable[..., Awaitable[None]], *of: str) -> None:
        with suppress(httpx.TransportError):  # the server was killed
            await step(*of)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take, chat, "look slowly at", slow)  # its turn is in progress at the kill, always
        nursery.start_soon(take, approve, "claim")
        with trio.fail_after(PATIENCE):
            while True:
                if at.hook.of(steps["claim"]):
                    break
                await trio.sleep(0.001)
        nursery.start_soon(take, approve, "webhook answer")
        nursery.start_soon(take, approve, "approve")
        nursery.start_soon(take, chat, "please refund", quick)
        nursery.start_soon(take, begin)
        nursery.start_soon(take, report)
        await trio.sleep(after)
        kill()
    return steps


async def _all_is_there(
    client: Caller, at: House, known: Known, found: Counter[tuple[str, str]], steps: dict[str, str]
) -> None:
    """Check what a restart finds, use every thread at once, and forget it."""
    effects = list(at.hook.effects)
    calls = {each["id"]: each for each in await _every(client, "/calls")}
    for id, told in known.calls.items():
        kept = calls[id]
        assert kept["status"] in AFTER[told["runs_at"]][told["status"]], (told["status"], kept["status"])
        frozen = (
            ("arguments_hash", "approved_by", "lease_until", "result")
            if told["status"] != "suggested"
            else ()
        )
        for name in ("tool", "arguments", *frozen):
            assert told[name] in (None, kept[name]), name
    for call in calls.values():
        ran = len(at.hook.of(call["id"]))
        assert ran <= (call["status"] in ("done", "unknown")), call["status"]
        assert ran == 1 or call["status"] != "done" or call["runs_at"] == "caller"
    messages = {
        thread: await _every(client, f"/threads/{thread}/messages") for thread in sorted(known.threads)
    }
    for id, (thread, reply) in known.said.items():
        (asked,) = [each for each in messages[thread] if each["id"] == id]
        assert asked["status"] == "done"
        assert reply in [each["content"] for each in messages[thread] if each["turn"] == asked["turn"]]
    assert "pending" not in {each["status"] for all in messages.values() for each in all}
    for step, id in steps.items():
        found[step, calls[id]["status"]] += 1
    if "report" in steps and calls[steps["report"]]["status"] == "claimed":
        result = {"tool_call_id": steps["report"], "ok": True, "data": {"weight": "12 kg"}}
        assert (await client.post("/tools/result", result))["call"]["status"] == "done"
    for thread in sorted(known.threads):
        await client.chat("hello again", thread_id=thread)
    assert at.hook.effects == effects
    known.calls.clear()
    known.said.clear()
    known.threads.clear()


async def _every(client: Caller, path: str) -> list[Any]:
    """Every entry of a list."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = await client.get(f"{path}?limit=200{cursor}")
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"
