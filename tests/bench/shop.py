"""A shop's policy of confirming before each write, played over HTTP: `python -m tests.bench.shop`.

The right calls of tau2 retail's tasks, as a script model decides them. For each write the caller first reports what it
has looked up of the customer, then the write is asked for, as a call that waits for the customer's yes; then the caller
takes it, runs it on a model of the shop's database, and reports it. Whether the server let a write through that nobody
approved, or any twice, shows in the database at the end. Where an argument has no source in what the customer says and
what was looked up (the rest of the conversation is not in the data) the server asks instead of acting; that is counted,
by what is asked for and why, and what is asked for though it was said or looked up is a fault.

- approved: each task on the shop as it was before any, as the data means it: it is what the right calls make of it;
- rejected: it is as it was, and no call could be taken;
- killed: kill -9 between the approval and the report, the server comes back on its folder, each write is there once.

Needs the folder AGENT_SHARED, or ../shared beside the checkout. Exit status 1 when an end state is another one, or when
fewer of the right writes are asked for than the gate is to let through.
"""

import json
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.bench.load.client import Target

from .decisions import PASS, REASONS, SHOP
from .servers import ROOT, port_of, wait_until_ready
from .shop_records import DB, Shop, Write, of_task, records, write, writes
from .tools import Refused, post

LOOK_UP = "look_up_customer"
FAULT = "fault"  # how the kinds of miss begin that are none of the data's


# --- the server and its caller


def script(some: Sequence[Write]) -> list[dict[str, str]]:
    """Return what the model decides for each message."""
    entries = []
    for each in some:
        act = {"mode": "ACT", "tool": each.tool, "args": each.arguments}
        entries.append({"match": each.asks[len(each.says) :], "text": json.dumps(act)})
        look = {"mode": "ACT", "tool": LOOK_UP, "args": {}}
        entries.append({"match": each.looks[len(each.says) :], "text": json.dumps(look)})
    return entries


def definitions(each: Write) -> list[dict[str, Any]]:
    """Return the tools of a message, as its caller defines them: reading asks nobody, a write asks the customer."""
    several, one = {"type": "array", "items": {"type": "string"}}, {"type": "string"}
    fields: dict[str, Any] = {
        name: {"type": "string", "enum": REASONS}
        if name == "reason"
        else several
        if isinstance(value, list)
        else one
        for name, value in each.arguments.items()
    }
    asked = {"type": "object", "properties": fields, "required": list(fields)}
    nothing = {"type": "object", "properties": {}}
    return [
        {"name": LOOK_UP, "description": "Looks the customer up.", "parameters": nothing,
         "requires_approval": False, "risk": "low"},
        {"name": each.tool, "description": "Changes the shop's records.", "parameters": asked,
         "requires_approval": True, "risk": "medium"},
    ]  # fmt: skip


class Served:
    """A server that can be killed and started again on its folder."""

    def __init__(self, folder: Path, some: Sequence[Write]) -> None:
        (folder / "kb").mkdir()
        (folder / "kb" / "shop.md").write_text("# The shop\n\nOrders can be changed and returned.\n")
        (folder / "script.json").write_text(json.dumps(script(some)), encoding="utf-8")
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        command = [
            *(sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", str(self._folder / "kb")),
            *("--vectors", "off", "--log-level", "error", "--data", str(self._folder / "data")),
            *("--rate-limit", "0", "--pace-ms", "0", "--model", f"script:{self._folder / 'script.json'}"),
        ]
        self._process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
        self.port = port_of(self._process)
        wait_until_ready(Target(host="127.0.0.1", port=self.port))

    def kill(self) -> None:
        """Kill it, as nothing can keep it from."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate(timeout=60)
            self._process = None


@contextmanager
def served(some: Sequence[Write]) -> Iterator[Served]:
    """Run a server whose model decides these writes for the time of a block."""
    with tempfile.TemporaryDirectory(prefix="agent-shop-") as name:
        made = Served(Path(name), some)
        try:
            made.start()
            yield made
        finally:
            made.kill()


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking for a write. call: what waits for a yes, if anything does; else why: what kind of a miss."""

    thread: str
    call: dict[str, Any] | None
    why: str = ""


def missed(each: Write, answer: dict[str, Any], seen: Any) -> str:
    """Return why no write waits for a yes: what was asked for, and whether it stands in what was said or looked up.

    answer: of the server. seen: the records that were looked up.
    """
    mode = answer["response_json"]["mode"]
    if answer["blocked"] or mode != "ASK":
        return f"{FAULT}: no question but {answer['blocked'] or mode}"
    known = f"{each.says}\n{json.dumps(seen, ensure_ascii=False)}".casefold()
    nowhere, empty = [], []
    for name, value in each.arguments.items():
        texts = value if isinstance(value, list) else [value]
        if name == "reason":  # the shop's policy names them
            continue
        if not all(texts):
            empty.append(name)
        elif not all(re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", known) for text in texts):
            nowhere.append(name)
    if not nowhere and not empty:
        return f"{FAULT}: asked for what was said or looked up"
    parts = [
        f"{what}: {', '.join(names)}"
        for what, names in (("stands nowhere", nowhere), ("left empty", empty))
        if names
    ]
    return f"asked back, {'; '.join(parts)}"


def ask(server: Served, shop: Shop, each: Write, thread: str | None) -> Asked:
    """Look the customer up and have a write asked for."""
    message = {"user_id": "customer", "message": each.looks, "tools": definitions(each)}
    found = post(server.port, "/chat", message | ({"thread_id": thread} if thread else {}))
    call = found["tool_call"]
    if call is None:
        return Asked(found["thread_id"], None, f"{FAULT}: the customer could not be looked up")
    seen = records(shop.db, each.tool, each.arguments)
    post(server.port, "/tools/result", {"tool_call_id": call["id"], "ok": True, "data": seen})
    asked = message | {"message": each.asks, "thread_id": found["thread_id"]}
    answer = post(server.port, "/chat", asked)
    call = answer["tool_call"]
    if call is not None and call["tool"] == each.tool:
        return Asked(found["thread_id"], call)
    return Asked(found["thread_id"], None, missed(each, answer, seen))


def approve(server: Served, call: dict[str, Any]) -> None:
    """Say the customer's yes."""
    post(server.port, f"/calls/{call['id']}/approve", {"user_id": "customer", "outcome": "accept"})


def take(server: Served, shop: Shop, call: dict[str, Any]) -> dict[str, Any] | None:
    """Take a call and run it; return what is to be reported, None where it may not be taken."""
    try:
        taken = post(server.port, f"/calls/{call['id']}/begin", {})
    except Refused:
        return None
    return {"tool_call_id": call["id"], "ok": True, "data": shop.run(taken)}


@dataclass(slots=True)
class End:
    """How a play ended. asked: writes that waited for a yes. wrong: what is not as it must be. missed: the others.

    These are counted by why none of them waited.
    """

    asked: int
    ran: int
    wrong: list[str]
    missed: Counter[str] = field(default_factory=Counter)

    def count(self, each: Write, asked: Asked) -> dict[str, Any] | None:
        """Count what came of asking for a write; return the call that waits."""
        if asked.call is None:
            self.missed[asked.why] += 1
            if asked.why.startswith(FAULT):
                self.wrong.append(f"task {each.task}: {each.tool}: {asked.why}")
        else:
            self.asked += 1
        return asked.call


def play_approved(server: Served, some: Sequence[Write], db: DB) -> End:
    """Every write is approved, taken and reported; each task finds the shop as it was before any."""
    end = End(0, 0, [])
    for _, theirs in groupby(some, key=lambda each: each.task):
        _play_task(server, list(theirs), db, end)
    return end


def _play_task(server: Served, some: Sequence[Write], db: DB, end: End) -> None:
    shop, gold = Shop(of_task(db, some)), of_task(db, some)
    thread: str | None = None
    for each in some:
        asked = ask(server, shop, each, thread)
        thread = asked.thread
        call = end.count(each, asked)
        if call is None:
            continue
        if take(server, shop, call) is not None:
            end.wrong.append(f"task {each.task}: {each.tool} could be taken before its approval")
        approve(server, call)
        report = take(server, shop, call)
        if report is None:
            end.wrong.append(f"task {each.task}: {each.tool} could not be taken")
            continue
        post(server.port, "/tools/result", report)
        write(gold, each.tool, each.arguments)
    _ended(end, shop, gold)


def play_rejected(server: Served, some: Sequence[Write], db: DB) -> End:
    """Every write is declined."""
    shop, end = Shop(deepcopy(db)), End(0, 0, [])
    for each in some:
        call = end.count(each, ask(server, shop, each, None))
        if call is None:
            continue
        post(server.port, f"/calls/{call['id']}/reject", {})
        if take(server, shop, call) is not None:
            end.wrong.append(f"task {each.task}: {each.tool} could be taken though it was declined")
    return _ended(end, shop, db)


def play_killed(server: Served, some: Sequence[Write], db: DB) -> End:
    """The server is killed once when every second write is approved, and the others are taken and run as well."""
    shop, gold, end = Shop(deepcopy(db)), deepcopy(db), End(0, 0, [])
    waiting: list[tuple[Write, dict[str, Any], dict[str, Any] | None]] = []
    for number, each in enumerate(some):
        call = end.count(each, ask(server, shop, each, None))
        if call is None:
            continue
        approve(server, call)
        waiting.append((each, call, take(server, shop, call) if number % 2 else None))
        write(gold, each.tool, each.arguments)
    server.kill()
    server.start()
    for each, call, report in waiting:
        again = take(server, shop, call)
        if (again is None) == (report is None):
            end.wrong.append(
                f"task {each.task}: {each.tool} was {'not ' if again is None else ''}to be had again"
            )
        told = report or again
        if told is None:
            continue
        for _ in range(2):  # the same report again is answered as it was
            ended = post(server.port, "/tools/result", told)["call"]
            if ended["status"] != "done":
                end.wrong.append(f"task {each.task}: {each.tool} ended {ended['status']}")
    return _ended(end, shop, gold)


def _ended(end: End, shop: Shop, wanted: DB) -> End:
    end.ran += sum(shop.ran.values())
    end.wrong += [f"{id} ran {times} times" for id, times in shop.ran.items() if times > 1]
    if shop.db != wanted:
        end.wrong.append("the database is not what it must be")
    return end


def first_of_each(some: Sequence[Write]) -> list[Write]:
    """Return the first write to each record, so that none waits for another one's."""
    kept: dict[str, Write] = {}
    for each in some:
        kept.setdefault(each.arguments.get("order_id") or each.arguments["user_id"], each)
    return list(kept.values())


PLAYS: dict[str, Callable[[Served, Sequence[Write], DB], End]] = {
    "approved": play_approved,
    "rejected": play_rejected,
    "killed between": play_killed,
}


def main(say: Callable[[str], object] = print, most: int | None = None) -> int:
    """Play all of it; print how many of the writes, and return the exit status. most: only so many writes."""
    if not SHOP.is_dir():
        say(f"{SHOP.name} is left out: set AGENT_SHARED to the folder of shared data")
        return 0
    db, every = json.loads((SHOP / "db.json").read_text("utf-8")), writes()[:most]
    fails = False
    for name, play in PLAYS.items():
        some = every if name == "approved" else first_of_each(every)
        with served(some) as server:
            end = play(server, some, db)
        fails |= bool(end.wrong) or end.asked < PASS * len(some)
        say(
            f"{name}: {end.asked} of {len(some)} writes waited for a yes (bound {PASS:.0%}), "
            f"{end.ran} ran; {len(end.wrong)} wrong"
        )
        for why, many in end.missed.most_common():
            say(f"    {many} {why}")
        for wrong in end.wrong[:5]:
            say(f"    {wrong}")
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
