"""A crowd of callers over HTTP, who change their minds and leave: `python -m tests.threads.crowd --seconds 30`.

The server is a process with its store on a disk and a webhook that refuses, dawdles and hangs up. Users chat (JSON and
events), close the connection at random moments, interrupt, approve (twice at once), edit, answer with words, reject,
take calls that run at the caller and report them, and delete threads. When they have gone, the database, the webhook's
effects and /metrics must agree: no effect twice and none unapproved, no message pending, no call left running.
"""

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import trio

from agent.bench.load import Target
from agent.soak.hook import Hook
from agent.storage.trust import FILE
from tests.bench.servers import ROOT, port_of, wait_until_ready

_ENDS = ("confirms_ended", "actions")  # what somebody was told, and what nobody was left to be told
SETTLED = 30.0  # seconds in which all that was begun must have ended
FATES = {"done": 80, "refused": 8, "broken": 4, "cut": 4, "lost": 4}
ORDER = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "remind_me", "description": "Write a reminder note.", "parameters": ORDER}]
SAYINGS: tuple[dict[str, Any], ...] = (
    {"message": "What does a return cost?"},
    {"message": "Please open a ticket: the parcel is broken"},
    {"message": 'Write a reminder note: "call the shop"', "tools": TOOLS},
)
Told = dict[str, Any]


@dataclass
class Town:
    """What all users share. confirmed: calls that somebody said yes to. begun, effects: how often each was."""

    port: int
    rng: Random
    confirmed: set[str] = field(default_factory=set)
    begun: Counter[str] = field(default_factory=Counter)
    effects: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    async def ask(
        self, method: str, path: str, body: Told | None = None, patience: float = 60.0, events: bool = False
    ) -> tuple[int, Any]:
        """Send a request, and read its answer for so many seconds; then the connection is closed, as status 0."""
        data = b"" if body is None else json.dumps(body).encode()
        accept = "text/event-stream" if events else "application/json"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        came = bytearray()
        with trio.move_on_after(patience) as closed:
            async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
                await stream.send_all(head.encode() + data)
                async for piece in stream:
                    came += piece
        if closed.cancelled_caught:
            self.did["left"] += 1
            return 0, None
        start, _, answer = bytes(came).partition(b"\r\n\r\n")
        status = int(start.split()[1])
        if status >= 500:
            self.broken.append(f"{method} {path}: {status} {answer[:120].decode()}")
        self.did[f"{path.split('/')[1]} {status}"] += 1
        if events or not answer:
            return status, None
        return status, json.loads(answer)


class User:
    """One caller, with a thread at a time."""

    def __init__(self, town: Town, number: int) -> None:
        self._town = town
        self._name = f"user {number}"
        self._rng = Random(f"{town.rng.random()}/{number}")
        self._thread: str | None = None
        self._waiting: list[Told] = []

    async def run(self) -> None:
        """Do one thing after another, until cancelled."""
        acts: dict[Callable[[], Any], int] = {
            self._chat: 8, self._approve: 5, self._edit: 1, self._respond: 1, self._reject: 2, self._delete: 1,
            self._cancel: 1,
        }  # fmt: skip
        while True:
            await self._rng.choices(list(acts), list(acts.values()))[0]()
            await trio.sleep(self._rng.expovariate(1 / 0.2))

    def _patience(self) -> float:
        return self._rng.choice((60.0, 60.0, self._rng.uniform(0, 0.2)))

    async def _chat(self) -> None:
        body = {"user_id": self._name, **self._rng.choice(SAYINGS), "interrupt": self._rng.random() < 0.3}
        if self._thread is not None:
            body["thread_id"] = self._thread
        else:
            body["interrupt"] = False
        events = self._rng.random() < 0.3
        status, found = await self._town.ask("POST", "/chat", body, self._patience(), events)
        if status == 200 and found is not None:
            self._thread = found["thread_id"]
            self._waiting += [each for each in found["calls"] if each["status"] == "suggested"]

    def _one(self) -> Told | None:
        return self._waiting.pop(self._rng.randrange(len(self._waiting))) if self._waiting else None

    async def _say(self, call: Told, patience: float | None = None, **more: Any) -> tuple[int, Any]:
        if more["outcome"] in ("accept", "edit"):
            self._town.confirmed.add(call["id"])
        path = f"/calls/{call['id']}/approve"
        wait = self._patience() if patience is None else patience
        return await self._town.ask("POST", path, {"user_id": self._name, **more}, wait)

    async def _approve(self) -> None:
        call = self._one()
        if call is None:
            return
        async with trio.open_nursery() as both:
            for _ in range(self._rng.choice((1, 1, 2))):
                both.start_soon(lambda: self._say(call, outcome="accept"))
        if call["runs_at"] == "caller":
            async with trio.open_nursery() as both:
                both.start_soon(self._take, call)
                both.start_soon(self._take, call)

    async def _take(self, call: Told) -> None:
        status, _ = await self._town.ask("POST", f"/calls/{call['id']}/begin", {})
        if status != 200:
            return
        self._town.begun[call["id"]] += 1
        self._town.effects[call["id"]] += 1
        report = {"tool_call_id": call["id"], "ok": True, "data": 1, "continue": self._rng.random() < 0.3}
        for patience in (self._patience(), 60.0):  # who was not heard says it again
            await self._town.ask("POST", "/tools/result", report, patience)

    async def _edit(self) -> None:
        call = self._one()
        if call is not None and call["runs_at"] != "caller":
            await self._say(call, outcome="edit", arguments={**call["arguments"], "subject": "Another"})

    async def _respond(self) -> None:
        call = self._one()
        if call is not None:
            await self._say(call, outcome="respond", text="No, what does a return cost?")

    async def _reject(self) -> None:
        call = self._one()
        if call is not None:
            await self._town.ask("POST", f"/calls/{call['id']}/reject", {})

    async def _delete(self) -> None:
        if self._thread is not None:
            await self._town.ask("DELETE", f"/threads/{self._thread}")
            self._thread, self._waiting = None, []

    async def _cancel(self) -> None:
        if self._thread is not None:
            await self._town.ask("DELETE", f"/threads/{self._thread}/turn")


async def soak(town: Town, data: Path, users: int, seconds: float) -> None:
    """Let users come and go for so many seconds, and say in `town.broken` what does not agree."""
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number in range(users):
                nursery.start_soon(User(town, number).run)
    with trio.move_on_after(SETTLED):
        while left := _left(data / FILE):  # noqa: ASYNC110  the database tells nobody
            await trio.sleep(0.5)
    town.broken += left
    await _agree(town, data / FILE)


def _rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def _left(file: Path) -> list[str]:
    """Return what has not ended. What a caller has taken, or may take, is the caller's."""
    running = "SELECT id, status FROM calls WHERE status IN ('confirmed', 'claimed') AND runs_at <> 'caller'"
    left = [f"call {id} is left {status}" for id, status in _rows(file, running)]
    pending = "SELECT id FROM messages WHERE status = 'pending'"
    left += [f"message {id} is left pending" for (id,) in _rows(file, pending)]
    claimed = "SELECT suggestion_id FROM actions WHERE status = 'claimed' AND owner <> 'caller'"
    return left + [f"action {id} is left claimed" for (id,) in _rows(file, claimed)]


async def _agree(town: Town, file: Path) -> None:
    calls = {id: row for id, *row in _rows(file, "SELECT id, status, runs_at, approved_by FROM calls")}
    actions = dict(_rows(file, "SELECT suggestion_id, status FROM actions WHERE owner <> 'caller'"))
    wrong = town.broken
    wrong += [f"{id} took effect {count} times" for id, count in town.effects.items() if count > 1]
    wrong += [f"{id} took effect unapproved" for id in town.effects if id not in town.confirmed]
    wrong += [f"{id} ran unapproved" for id in actions if id not in town.confirmed]
    for id, status in actions.items():
        least, most = {"done": (1, 1), "unknown": (0, 1)}.get(status, (0, 0))
        if not least <= town.effects[id] <= most:
            wrong.append(f"{id} is {status} and took effect {town.effects[id]} times")
        if id in calls and calls[id][0] != status:
            wrong.append(f"{id} is {calls[id][0]}, and {status} in the ledger")
    figures = dict(await _metrics(town.port))
    for status in ("done", "failed", "unknown"):
        told = sum(float(figures.get(f'agent_{name}_total{{outcome="{status}"}}', 0)) for name in _ENDS)
        if told != (kept := sum(each == status for each in actions.values())):
            wrong.append(f"/metrics tells of {told:g} actions {status}, the ledger of {kept}")
    if float(figures["agent_actions_running"]) or float(figures["agent_actions_unrecorded"]):
        wrong.append("/metrics tells of actions that are running or unrecorded")


async def _metrics(port: int) -> list[tuple[str, str]]:
    came = bytearray()
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        async for piece in stream:
            came += piece
    lines = (line.rpartition(" ") for line in bytes(came).decode().splitlines() if not line.startswith("#"))
    return [(name, value) for name, _, value in lines]


async def _main(users: int, seconds: float, seed: int, say: Callable[[str], object]) -> int:
    effects: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="agent-crowd-") as name:
        hook = Hook(seed, lambda id: effects.update([id]), FATES)
        async with trio.open_nursery() as nursery:
            await nursery.start(hook.serve)
            command = [
                *(sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", str(ROOT / "kb")),
                *("--vectors", "off", "--log-level", "error", "--rate-limit", "0", "--data", name),
                *("--action-webhook", f"http://127.0.0.1:{hook.port}/", "--mock-delay-ms", "1"),
            ]
            process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)  # noqa: ASYNC220
            try:
                town = Town(port_of(process), Random(seed), effects=effects)
                await trio.to_thread.run_sync(wait_until_ready, Target("127.0.0.1", town.port))
                await soak(town, Path(name), users, seconds)
            finally:
                process.kill()
                process.communicate()
            nursery.cancel_scope.cancel()
    say(", ".join(f"{count} {what}" for what, count in sorted(town.did.items())))
    say(f"{len(town.confirmed)} calls approved, {sum(town.begun.values())} begun by callers, "
        f"{sum(effects.values())} effects; {len(town.broken)} broken")  # fmt: skip
    for each in town.broken[:10]:
        say(f"    {each}")
    return int(bool(town.broken))


def main(say: Callable[[str], object] = print) -> int:
    """Soak, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.threads.crowd")
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    return trio.run(_main, told.users, told.seconds, told.seed, say)


if __name__ == "__main__":
    sys.exit(main())
