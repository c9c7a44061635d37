"""Two approvers race through 200 waiting calls of 50 threads while 20 users chat: no effect twice, no list out of date.

The server runs for real, in two processes over one file, behind the loopback interface; its calls are carried out by a
webhook that counts. Both approvers follow the live list, so that a change is told to them by a process that did not
make it half of the time.
"""

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from ..e2e.test_process import serve

pytestmark = pytest.mark.proof

THREADS, CALLS_OF_ONE, CHATTING = 50, 4, 20
LATEST = (
    10.0  # seconds that a list may be behind on a busy machine: it looks every 0.2 s, and says so each 15
)
TOKEN = "a-token-of-24-characters"
KEY = {"X-AGENT-KEY": TOKEN}
TOOL = {
    "name": "ship_order",
    "description": "Ship an order",
    "parameters": {"order_id": {"type": "string", "required": True}, "note": {"type": "string"}},
    "risk": "high",
    "runs_at": "webhook",
}


@contextmanager
def counting() -> Iterator[tuple[str, Counter[str]]]:
    """Run a webhook; yield its address and how often each call came."""
    effects: Counter[str] = Counter()
    counted = threading.Lock()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Count a call."""
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with counted:
                effects[body["suggestionId"]] += 1
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", effects
    finally:
        server.shutdown()
        server.server_close()


class Approver:
    """A person at the live list. `told`: when each call was first told in each status."""

    def __init__(self, name: str, http: httpx.AsyncClient) -> None:
        self.name = name
        self.told: dict[tuple[str, str], float] = {}
        self.calls: dict[str, Any] = {}
        self.decided: dict[
            str, tuple[str, float]
        ] = {}  # by this approver: the outcome, and when it was answered
        self.lost = 0  # decisions that came second
        self._http = http

    async def follow(self, task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
        """Read the live list until cancelled."""
        live = {**KEY, "Accept": "text/event-stream"}
        async with self._http.stream("GET", "/calls/waiting", headers=live, timeout=None) as answer:
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = json.loads(line.removeprefix("data: "))
                now = time.monotonic()
                for call in event.get("calls", ()):
                    self.calls[call["id"]] = call
                    self.told.setdefault((call["id"], call["status"]), now)
                if event["type"] == "listed":
                    task_status.started()
                    task_status = trio.TASK_STATUS_IGNORED

    def has_heard_every_end(self) -> bool:
        """Return whether no call is open, as far as the list has told."""
        return all(call["status"] in ("done", "rejected") for call in self.calls.values())

    async def work(self, ids: list[str]) -> None:
        """Decide about every call that still waits in the list, in this order."""
        for number, id in enumerate(ids):
            if self.calls[id]["status"] != "suggested":
                continue
            await self.decide(id, ("accept", "edit", "accept", "reject")[(number + len(self.name)) % 4])

    async def decide(self, id: str, outcome: str) -> None:
        """Decide about a call; note when the answer came."""
        call = self.calls[id]
        said: dict[str, Any] = {"user_id": call["user_id"], "approver": self.name}
        if outcome == "reject":
            path, said = f"/calls/{id}/reject", {**said, "waiting": True, "reason": "Not now."}
        else:
            path, said = f"/calls/{id}/approve", {**said, "arguments_hash": call["arguments_hash"]}
            if outcome == "edit":
                said |= {"outcome": "edit", "arguments": {**call["arguments"], "note": self.name}}
        answer = await self._http.post(
            path, json=said, headers={**KEY, "Prefer": "respond-async"}, timeout=60
        )
        if answer.status_code == 200:
            self.decided[id] = (outcome, time.monotonic())
        else:
            assert answer.status_code == 409, answer.text
            assert answer.json()["decision"]["approver"] != self.name, answer.text
            self.lost += 1


async def chat(http: httpx.AsyncClient, user: str, turns: list[float]) -> None:
    """Ask one question after another; note how long each took."""
    while True:
        begun = time.monotonic()
        message = {"user_id": user, "message": "What does a return cost?"}
        answer = await http.post("/chat", json=message, headers=KEY, timeout=60)
        assert answer.status_code == 200, answer.text
        turns.append(time.monotonic() - begun)
        await trio.sleep(0.5)


async def suggest(http: httpx.AsyncClient, number: int, made: dict[str, float]) -> None:
    """Have the calls of one thread suggested; note when each answer came."""
    thread = None
    for order in range(CALLS_OF_ONE):
        message = {"user_id": f"u{number}", "message": f"Please ship order A-{number}{order}"}
        if thread is not None:
            message["thread_id"] = thread
        answer = (await http.post("/chat", json=message, headers=KEY, timeout=60)).json()
        made[answer["tool_call"]["id"]] = time.monotonic()
        thread = answer["thread_id"]


async def play(address: str) -> tuple[list[Approver], dict[str, float], list[float]]:
    """Play the day of two approvers; return them, when each call was made, and how long the turns of others took."""
    made: dict[str, float] = {}
    turns: list[float] = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, limits=limits) as http, trio.open_nursery() as nursery:
        approvers = [Approver(name, http) for name in ("Eva", "Ivo B")]
        for each in approvers:
            await nursery.start(each.follow)
        for number in range(CHATTING):
            nursery.start_soon(chat, http, f"chatting-{number}", turns)
        for first in range(0, THREADS, 10):
            async with trio.open_nursery() as making:
                for number in range(first, first + 10):
                    making.start_soon(suggest, http, number, made)
        with trio.move_on_after(LATEST):
            while any(made.keys() - each.calls.keys() for each in approvers):  # noqa: ASYNC110
                await trio.sleep(0.05)
        ids = sorted(made, key=lambda id: approvers[0].calls[id]["deadline"])
        async with trio.open_nursery() as deciding:
            for each in approvers:
                deciding.start_soon(each.work, ids)
        with trio.move_on_after(20 + LATEST):
            while not all(each.has_heard_every_end() for each in approvers):  # noqa: ASYNC110
                await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    return approvers, made, turns


def test_two_approvers_race_through_200_calls(tmp_path: Path) -> None:
    """Each call is decided once, by the approver that the audit names, and carried out at most once."""
    with counting() as (hook, effects):
        (tmp_path / "tools.json").write_text(json.dumps({"tools": [{**TOOL, "url": hook}]}), encoding="utf-8")
        options = ("--tools", "tools.json", "--token", TOKEN, "--data", "data", "--workers", "2")
        rates = ("--api-rate", "0", "--rate-limit", "0", "--address-rate", "0", "--pace-ms", "0")
        with serve(tmp_path, *options, *rates) as (_, port):
            address = f"http://127.0.0.1:{port}"
            approvers, made, turns = trio.run(play, address)
            history: list[Any] = []
            cursor = ""
            while cursor is not None:
                more = f"&cursor={cursor}" if cursor else ""
                page = httpx.get(f"{address}/calls/history?limit=200{more}", headers=KEY).json()
                history += page["items"]
                cursor = page["next_cursor"]
    one, two = approvers
    assert len(made) == THREADS * CALLS_OF_ONE
    assert not {*one.decided} & {*two.decided}
    assert {*one.decided} | {*two.decided} == {*made}
    named = {id: each.name for each in approvers for id in each.decided}
    assert {row["call_id"]: row["approver"] for row in history} == named
    assert len(history) == len(made)
    approved = {id for each in approvers for id, (outcome, _) in each.decided.items() if outcome != "reject"}
    assert effects == dict.fromkeys(approved, 1)
    edited = {row["call_id"] for row in history if row["event"] == "edited"}
    assert edited == {
        id for each in approvers for id, (outcome, _) in each.decided.items() if outcome == "edit"
    }
    assert {each.calls[id]["status"] for each in approvers for id in made} == {"done", "rejected"}
    new = [each.told[id, "suggested"] - at for each in approvers for id, at in made.items()]
    changed = []
    for each in approvers:
        for id, (_, at) in [*one.decided.items(), *two.decided.items()]:
            first = min(
                when for (told, status), when in each.told.items() if told == id and status != "suggested"
            )
            changed.append(first - at)
    sys.stdout.write(
        f"\n{len(made)} calls, {len(effects)} effects, {one.lost + two.lost} decisions came second; "
        f"the list was behind by {max(new):.2f} s for a new call and {max(changed):.2f} s for a decision at most; "
        f"{len(turns)} turns of {CHATTING} users, the slowest {max(turns):.2f} s\n"
    )
    assert len(turns) > 2 * CHATTING
    assert max(new) <= LATEST
    assert max(changed) <= LATEST
