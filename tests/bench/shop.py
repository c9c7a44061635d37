"""A shop's policy of confirming before each write, played over HTTP: `python -m tests.bench.shop`.

The right calls of tau2 retail's tasks, as a script model decides them. For each write the caller first reports what it
has looked up of the customer, then the write is asked for, as a call that waits for the customer's yes; then the caller
takes it, runs it on a model of the shop's database, and reports it. Whether the server let a write through that nobody
approved, or any twice, shows in the database at the end. Where an argument has no source in what the customer says and
what was looked up (the rest of the conversation is not in the data) the server asks instead of acting; that is counted.

- approved: it is what the right calls make of it;
- rejected: it is as it was, and no call could be taken;
- killed: kill -9 between the approval and the report, the server comes back on its folder, each write is there once.

Needs the folder AGENT_SHARED, or ../shared beside the checkout. Exit status 1 when an end state is another one, or when
fewer of the right writes are asked for than the gate is to let through.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.bench.load import Target

from .decisions import PASS, REASONS, SHOP, WRITES
from .servers import ROOT, port_of, wait_until_ready
from .tools import Refused, post

LOOK_UP = "look_up_customer"
DB = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Write:
    """One right call that changes something. task, step: where it is of the tasks. says: what the customer does."""

    task: str
    step: int
    says: str
    tool: str
    arguments: dict[str, Any]

    @property
    def looks(self) -> str:
        """The message for which the customer's records are looked up."""
        return f"{self.says} (task {self.task}, step {self.step}, look)"

    @property
    def asks(self) -> str:
        """The message for which the write is asked for."""
        return f"{self.says} (task {self.task}, step {self.step}, go)"


def writes() -> list[Write]:
    """Return the right calls that change something, in order."""
    found = []
    for task in json.loads((SHOP / "tasks.json").read_text("utf-8")):
        told = task["user_scenario"]["instructions"]
        says = "\n".join(str(told[key]) for key in ("reason_for_call", "known_info", "task_instructions"))
        for step, action in enumerate(task["evaluation_criteria"]["actions"] or []):
            if action["name"].startswith(WRITES):
                found.append(Write(task["id"], step, says, action["name"], action["arguments"]))
    return found


# --- the shop


def write(db: DB, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Change the database as a write says; return the record that was changed."""
    if tool == "modify_user_address":
        who: dict[str, Any] = db["users"][given["user_id"]]
        who["address"] = _address(given)
        return who
    order: dict[str, Any] = db["orders"][given["order_id"]]
    if tool == "cancel_pending_order":
        order |= {"status": "cancelled", "cancel_reason": given["reason"]}
    elif tool == "modify_pending_order_address":
        order["address"] = _address(given)
    elif tool == "modify_pending_order_payment":
        order["payment_history"].append({"payment_method_id": given["payment_method_id"]})
    elif tool == "return_delivered_order_items":
        order |= {"status": "return requested", "return": given}
    elif tool == "exchange_delivered_order_items":
        order |= {"status": "exchange requested", "exchange": given}
    else:
        assert tool == "modify_pending_order_items", tool
        _exchange(db, order, given)
    return order


def _address(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("address1", "address2", "city", "country", "state", "zip")}


def _exchange(db: DB, order: dict[str, Any], given: dict[str, Any]) -> None:
    order["status"] = "pending (items modified)"
    order["payment_history"].append({"payment_method_id": given["payment_method_id"]})
    for old, new in zip(given["item_ids"], given["new_item_ids"], strict=True):
        item = next(each for each in order["items"] if each["item_id"] == old)
        item |= db["products"][item["product_id"]]["variants"][new] | {"item_id": new}


def records(db: DB, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the shop shows of a customer: who it is, the order, and what its items can be exchanged for."""
    if "order_id" not in given:
        return {"user": db["users"][given["user_id"]]}
    order = db["orders"][given["order_id"]]
    who = db["users"][order["user_id"]]
    asked = set(given.get("item_ids", ()))
    products = {item["product_id"] for item in order["items"] if item["item_id"] in asked}
    options = {
        id: " ".join(variant["options"].values())
        for product in sorted(products)
        for id, variant in db["products"][product]["variants"].items()
        if "new_item_ids" in given
    }
    other = [db["orders"][number]["address"] for number in who["orders"]] if "address1" in given else []
    return {"options": options, "user": who, "order": order, "addresses": other}


@dataclass
class Shop:
    """The caller's side: its database, and how often each call has run."""

    db: DB
    ran: dict[str, int] = field(default_factory=dict)

    def run(self, call: dict[str, Any]) -> dict[str, Any]:
        """Run a call that was taken."""
        self.ran[call["id"]] = self.ran.get(call["id"], 0) + 1
        return write(self.db, call["tool"], call["arguments"])


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
        wait_until_ready(Target("127.0.0.1", self.port))

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


def ask(server: Served, shop: Shop, each: Write, thread: str | None) -> tuple[str, dict[str, Any] | None]:
    """Look the customer up and have a write asked for; return the thread, and the call that waits, if one does."""
    message = {"user_id": "customer", "message": each.looks, "tools": definitions(each)}
    found = post(server.port, "/chat", message | ({"thread_id": thread} if thread else {}))
    call = found["tool_call"]
    if call is not None:
        seen = records(shop.db, each.tool, each.arguments)
        post(server.port, "/tools/result", {"tool_call_id": call["id"], "ok": True, "data": seen})
    asked = message | {"message": each.asks, "thread_id": found["thread_id"]}
    call = post(server.port, "/chat", asked)["tool_call"]
    return found["thread_id"], call if call is not None and call["tool"] == each.tool else None


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
    """How a play ended. asked: writes that waited for a yes. wrong: what is not as it must be."""

    asked: int
    ran: int
    wrong: list[str]


def play_approved(server: Served, some: Sequence[Write], db: DB) -> End:
    """Every write is approved, taken and reported."""
    shop, gold, end, threads = Shop(deepcopy(db)), deepcopy(db), End(0, 0, []), dict[str, str]()
    for each in some:
        thread, call = ask(server, shop, each, threads.get(each.task))
        threads[each.task] = thread
        if call is None:
            continue
        end.asked += 1
        if take(server, shop, call) is not None:
            end.wrong.append(f"task {each.task}: {each.tool} could be taken before its approval")
        approve(server, call)
        report = take(server, shop, call)
        if report is None:
            end.wrong.append(f"task {each.task}: {each.tool} could not be taken")
            continue
        post(server.port, "/tools/result", report)
        write(gold, each.tool, each.arguments)
    return _ended(end, shop, gold)


def play_rejected(server: Served, some: Sequence[Write], db: DB) -> End:
    """Every write is declined."""
    shop, end = Shop(deepcopy(db)), End(0, 0, [])
    for each in some:
        _, call = ask(server, shop, each, None)
        if call is None:
            continue
        end.asked += 1
        post(server.port, f"/calls/{call['id']}/reject", {})
        if take(server, shop, call) is not None:
            end.wrong.append(f"task {each.task}: {each.tool} could be taken though it was declined")
    return _ended(end, shop, db)


def play_killed(server: Served, some: Sequence[Write], db: DB) -> End:
    """The server is killed once when every second write is approved, and the others are taken and run as well."""
    shop, gold, end = Shop(deepcopy(db)), deepcopy(db), End(0, 0, [])
    waiting: list[tuple[Write, dict[str, Any], dict[str, Any] | None]] = []
    for number, each in enumerate(some):
        _, call = ask(server, shop, each, None)
        if call is None:
            continue
        end.asked += 1
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
    end.ran = sum(shop.ran.values())
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
        for wrong in end.wrong[:5]:
            say(f"    {wrong}")
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
