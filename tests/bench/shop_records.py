"""A shop that the right calls of tau2 retail's tasks change: its writes, and what it shows of a customer."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from .decisions import SHOP, WRITES

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
    """Return what the shop shows of a customer: who it is, the order, and what its items can be exchanged for.

    Where an address is to be written: also where the customer's orders go, since it may be one of these that is meant.
    """
    if "order_id" not in given:
        who = db["users"][given["user_id"]]
        return {"user": who, "addresses": [db["orders"][number]["address"] for number in who["orders"]]}
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


def of_task(db: DB, some: Sequence[Write]) -> DB:
    """Return a copy of what a shop holds of the customers of some writes, to be changed; the products are its own."""
    given = [each.arguments for each in some]
    users = {
        each["user_id"] if "user_id" in each else db["orders"][each["order_id"]]["user_id"] for each in given
    }
    orders = [number for user in sorted(users) for number in db["users"][user]["orders"]]
    return {
        "users": {user: deepcopy(db["users"][user]) for user in users},
        "orders": {number: deepcopy(db["orders"][number]) for number in orders},
        "products": db["products"],
    }


@dataclass
class Shop:
    """The caller's side: its database, and how often each call has run."""

    db: DB
    ran: dict[str, int] = field(default_factory=dict)

    def run(self, call: dict[str, Any]) -> dict[str, Any]:
        """Run a call that was taken."""
        self.ran[call["id"]] = self.ran.get(call["id"], 0) + 1
        return write(self.db, call["tool"], call["arguments"])
