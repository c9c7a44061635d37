"""How many calls the gate lets through, and how many it stops, without a model: `python -m tests.bench.decisions`.

First When2Call: questions with the tools that were offered, and for each a call that a model made, labelled with what
would have been right: this call, a question back, or neither, since no tool fits. Each call goes through the gate: its
tool is offered, its arguments are what the schema asks for, and each has a source in the question. Half of what should
have been a question differs from a right call only in what the user never said, so the last counts most there.

Then tau2 retail: the right calls of a shop's tasks against what the user says and what the shop's tools return of that
user: the user, their orders, and the products of these. A call that changes something must find its ids there. The
conversation, in which the rest is said, is not in the data.

The time is that of ten arguments against 20 KB of sources that have been read: at most 1 ms.

Needs the folder AGENT_SHARED, or ../shared beside the checkout. Exit status 1 when a figure is beyond its bound.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from agent.structured.schema import compile_validator
from agent.tools.results import format_result
from agent.tools.sources import SourceTexts, SourceTrace, trace_sources

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("AGENT_SHARED") or ROOT.parent / "shared") / "data"
CALLS = DATA / "when2call_dev.jsonl"
SHOP = DATA / "tau2_retail"

PASS, STOP = (
    0.8,
    0.75,
)  # of the right calls that pass, and of those that should have been a question that are stopped
BOUND_MS = 1.0
TODAY = date(2023, 3, 1)  # when the questions were written, about; they say no more
SPELT = {"dict": "object", "float": "number", "tuple": "array", "any": None}
WRITES = ("cancel_", "exchange_", "modify_", "return_")
REASONS = ["no longer needed", "ordered by mistake"]  # of a cancellation
IDS = ("_id", "_ids")

Row = dict[str, Any]


def mapped(schema: Any) -> Any:
    """Return a schema with Python's names of types as JSON Schema's; "any" says nothing."""
    if isinstance(schema, list):
        return [mapped(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: mapped(value) for key, value in schema.items()}
    spelt = schema.get("type")
    if isinstance(spelt, str):
        made["type"] = SPELT.get(spelt, spelt)
        if made["type"] is None:
            del made["type"]
    return made


def calls() -> list[Row]:
    """Return the questions with their calls."""
    return [json.loads(line) for line in CALLS.read_text("utf-8").splitlines()]


def gate(row: Row) -> str:
    """Return what stops a question's call, "tool", "schema" or "source"; "" when nothing does."""
    call = json.loads(row["answers"]["tool_call"])
    offered = {tool["name"]: mapped(tool["parameters"]) for tool in map(json.loads, row["tools"])}
    if call["name"] not in offered:
        return "tool"
    parameters = offered[call["name"]]
    if not compile_validator(parameters).is_valid(call["arguments"]):
        return "schema"
    return (
        "source"
        if trace_sources(call["arguments"], parameters, SourceTexts(row["question"]), TODAY).missing
        else ""
    )


def gated(rows: list[Row]) -> dict[str, Counter[str]]:
    """Return for each label how often what stopped a call."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(row["correct_answer"], Counter())[gate(row)] += 1
    return found


def provenance() -> Iterator[tuple[str, dict[str, Any], SourceTrace]]:
    """Yield each right call of the shop's tasks: its tool, its arguments, and where they come from."""
    shop = json.loads((SHOP / "db.json").read_text("utf-8"))
    for task in json.loads((SHOP / "tasks.json").read_text("utf-8")):
        wanted = task["evaluation_criteria"]["actions"] or []
        told = task["user_scenario"]["instructions"]
        user = "\n".join(str(told[key]) for key in ("reason_for_call", "known_info", "task_instructions"))
        sources = SourceTexts(user, results=_records(shop, wanted, user))
        for action in wanted:
            arguments = action["arguments"]
            yield action["name"], arguments, trace_sources(arguments, _parameters(arguments), sources, TODAY)


def _parameters(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that asks for some arguments, and says of them what the shop's policy does."""
    properties = {name: {"enum": REASONS} if name == "reason" else {} for name in arguments}
    return {"type": "object", "properties": properties, "required": list(arguments)}


def _records(shop: dict[str, Any], wanted: list[Row], user: str) -> list[str]:
    """Return what the shop's tools return of a task's user, each result as its lines, as far as they are shown."""
    who = _user(shop, wanted, user)
    if who is None:
        return []
    orders = [shop["orders"][number] for number in who["orders"]]
    products = {
        item["product_id"]: shop["products"][item["product_id"]] for each in orders for item in each["items"]
    }
    return [format_result(each).text for each in (who, *orders, *products.values())]


def _user(shop: dict[str, Any], wanted: list[Row], user: str) -> Any:
    """Return the user of a task: whom its calls name, by id or order; else whom its text does, by name and postcode."""
    for action in wanted:
        given = action["arguments"]
        if given.get("user_id") in shop["users"]:
            return shop["users"][given["user_id"]]
        if given.get("order_id") in shop["orders"]:
            return shop["users"][shop["orders"][given["order_id"]]["user_id"]]
    for each in shop["users"].values():
        name = f"{each['name']['first_name']} {each['name']['last_name']}"
        if name in user and each["address"]["zip"] in user:
            return each
    return None


def ids_asked_for(found: SourceTrace) -> tuple[str, ...]:
    """Return the pointers of the ids that have no source."""
    return tuple(pointer for pointer in found.missing if pointer.split("/")[1].endswith(IDS))


def cost() -> float:
    """Return the milliseconds in which ten arguments are traced among 20 KB of sources that have been read."""
    lines = [
        f"Article {number * 37 + 1000} costs {number * 13 + 5} kr and ships in {number % 9 + 2} days."
        for number in range(370)
    ]
    documents = [" ".join(lines[at : at + 37]) for at in range(0, 370, 37)]
    sources = SourceTexts(
        "Two of K-4711, please, on Friday", ["to Ada"], snippets=documents, results=["order: W2378156"]
    )
    arguments = {
        "a": 2, "b": "K-4711", "c": "2023-03-03", "d": "W2378156", "e": 14246, "f": "Article 14246", "g": "Ada",
        "h": "nobody said this", "i": "Q9", "j": 123456,
    }  # fmt: skip
    schema = _parameters(arguments)
    best = float("inf")
    for _ in range(200):
        began = time.process_time()
        missing = trace_sources(arguments, schema, sources, TODAY).missing
        best = min(best, time.process_time() - began)
        assert missing == ("/h", "/i", "/j")
    return best * 1000


def main(say: Callable[[str], object] = print) -> int:
    """Print the figures, and return the exit status."""
    fails = False
    took = cost()
    fails |= took > BOUND_MS
    say(f"ten arguments against 20 KB of sources that are read: {took:.2f} ms (bound {BOUND_MS:.0f})")
    if CALLS.is_file():
        found = gated(calls())
        none, right, asking = (found[label] for label in ("cannot_answer", "tool_call", "request_for_info"))
        passed, stopped = right[""] / right.total(), 1 - asking[""] / asking.total()
        fails |= none["tool"] < none.total() or passed < PASS or stopped < STOP
        say(f"unknown tools stopped: {none['tool']} of {none.total()}")
        say(
            f"right calls that pass: {right['']} of {right.total()}, {passed:.0%} (bound {PASS:.0%}); {_why(right)}"
        )
        say(
            f"missing questions that are stopped: {stopped:.0%} of {asking.total()} (bound {STOP:.0%}); {_why(asking)}"
        )
    else:
        say(f"{CALLS.name} is left out: set AGENT_SHARED to the folder of shared data")
    if SHOP.is_dir():
        fails |= _tell_shop(say)
    else:
        say(f"{SHOP.name} is left out: set AGENT_SHARED to the folder of shared data")
    return int(fails)


def _why(found: Counter[str]) -> str:
    return f"stopped by the schema {found['schema']}, by a source {found['source']}"


def _tell_shop(say: Callable[[str], object]) -> bool:
    """Print what of the shop's right calls finds its sources; return whether a write is asked for an id."""
    every = list(provenance())
    writes = [each for each in every if each[0].startswith(WRITES)]
    reads = [each for each in every if not each[0].startswith(WRITES)]
    asked = [each for each in writes if ids_asked_for(each[2])]
    say(f"writes that are asked for an id: {len(asked)} of {len(writes)} (bound 0)")
    for what, some in (("writes", writes), ("reads", reads)):
        alone = sum(each[2].elsewhere for each in some)
        say(f"{what} that wait, for ids or numbers that only results hold: {alone} of {len(some)}")
        say(
            f"{what} whose arguments all have a source: {sum(not each[2].missing for each in some)} of {len(some)}"
        )
    return bool(asked)


if __name__ == "__main__":
    sys.exit(main())
