"""A shop's writes over HTTP, on two orders of our own: approved, declined, and with the server killed between."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.bench import shop, shop_records

ANNA = {"user_id": "anna_1", "payment_methods": {"card_11": {"id": "card_11"}}, "orders": ["#W11", "#W12"]}
DB: dict[str, Any] = {
    "users": {"anna_1": ANNA | {"address": {}}},
    "orders": {
        number: {
            "order_id": number, "user_id": "anna_1", "status": "pending", "address": {}, "payment_history": [],
            "items": [{"item_id": "701", "product_id": "70", "options": {"color": "red"}}],
        }
        for number in ("#W11", "#W12")
    },
    "products": {"70": {"variants": {"702": {"item_id": "702", "options": {"color": "blue"}, "price": 5}}}},
}  # fmt: skip
EXCHANGE = {"order_id": "#W12", "item_ids": ["701"], "new_item_ids": ["702"], "payment_method_id": "card_11"}
SOME = [
    shop_records.Write(
        "1",
        0,
        "Cancel my first order: no longer needed.",
        "cancel_pending_order",
        {"order_id": "#W11", "reason": "no longer needed"},
    ),
    shop_records.Write("2", 0, "The blue one, please.", "modify_pending_order_items", EXCHANGE),
]


@pytest.mark.proof
def test_what_nobody_approved_changes_nothing_and_a_kill_doubles_nothing() -> None:
    """The database at the end is what the approved writes make of it, each of them once."""
    again = [*SOME, replace(SOME[1], task="3")]  # a task of its own, which finds the item as it was
    with shop.served(again) as server:
        for play, ran in ((shop.play_rejected, 0), (shop.play_approved, 2), (shop.play_killed, 2)):
            end = play(server, SOME, DB)
            assert (end.asked, end.ran, end.wrong) == (2, ran, [])
        end = shop.play_approved(server, again, DB)
        assert (end.asked, end.ran, end.wrong) == (3, 3, [])


def test_a_write_that_ran_twice_or_unasked_is_found() -> None:
    """The figures cannot be right by chance: a second run, and another database, are told of."""
    made = shop_records.Shop(deepcopy(DB))
    call = {"id": "a", "tool": "cancel_pending_order", "arguments": SOME[0].arguments}
    made.run(call)
    made.run(call)
    assert shop._ended(shop.End(1, 0, []), made, DB).wrong == [
        "a ran 2 times",
        "the database is not what it must be",
    ]


def test_a_task_changes_nothing_of_another_ones_shop() -> None:
    """Each task has the shop as it was before any, and nothing but its own customers of it."""
    some = [SOME[1]]
    first = shop_records.of_task(DB, some)
    shop_records.write(first, SOME[1].tool, SOME[1].arguments)
    assert first["orders"]["#W12"]["items"][0]["item_id"] == "702"
    assert shop_records.of_task(DB, some)["orders"]["#W12"]["items"][0]["item_id"] == "701"
    assert shop_records.of_task(DB, some)["users"] == DB["users"]


def test_where_a_customer_is_to_live_is_looked_up_in_the_orders() -> None:
    """Who says "the address of my order" is shown that address."""
    db = deepcopy(DB)
    db["orders"]["#W11"]["address"] = {"city": "Lund"}
    assert shop_records.records(db, "modify_user_address", {"user_id": "anna_1"})["addresses"] == [
        {"city": "Lund"},
        {},
    ]


def test_a_miss_is_counted_by_what_stands_nowhere() -> None:
    """What is asked for is told by its names; asking for what was said or looked up, or failing, is a fault."""
    each = replace(
        SOME[0], says="To 5 Elm, Lund", arguments={"address1": "5 Elm", "city": "Lund", "zip": "22100"}
    )
    asked = {"response_json": {"mode": "ASK"}, "blocked": None}
    assert shop.missed(each, asked, {}) == "asked back, stands nowhere: zip"
    assert shop.missed(each, asked, {"zip": "221001"}) == "asked back, stands nowhere: zip"
    empty = replace(each, arguments=each.arguments | {"city": "", "zip": "9", "reason": "no longer needed"})
    assert shop.missed(empty, asked, {}) == "asked back, stands nowhere: zip; left empty: city"
    for answer in (
        asked,
        asked | {"response_json": {"mode": "NOOP"}},
        asked | {"blocked": {"code": "model_failed"}},
    ):
        assert shop.missed(each, answer, {"zip": "22100"}).startswith(shop.FAULT)
    end = shop.End(0, 0, [])
    for why in ("asked back, left empty: city", f"{shop.FAULT}: asked for what was said or looked up"):
        end.count(each, shop.Asked("thread", None, why))
    assert (end.asked, len(end.missed), len(end.wrong)) == (0, 2, 1)


def test_every_write_changes_what_it_says() -> None:
    """Each of the shop's writes, on its own."""
    where = {name: name for name in ("address1", "address2", "city", "country", "state", "zip")}
    for tool, given, changed in (
        ("modify_user_address", {"user_id": "anna_1", **where}, "address"),
        ("modify_pending_order_address", {"order_id": "#W11", **where}, "address"),
        ("modify_pending_order_payment", {"order_id": "#W11", "payment_method_id": "x"}, "payment_history"),
        ("return_delivered_order_items", {"order_id": "#W11", "item_ids": ["701"]}, "return"),
        ("exchange_delivered_order_items", {"order_id": "#W11"}, "exchange"),
        ("modify_pending_order_items", EXCHANGE, "items"),
    ):
        before = deepcopy(DB)
        old = before["users"]["anna_1"] if "user_id" in given else before["orders"][given["order_id"]]
        had = deepcopy(old.get(changed))
        assert shop_records.write(before, tool, given)[changed] != had
