"""A shop's writes over HTTP, on two orders of our own: approved, declined, and with the server killed between."""

from copy import deepcopy
from typing import Any

import pytest

from tests.bench import shop

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
    shop.Write(
        "1",
        0,
        "Cancel my first order: no longer needed.",
        "cancel_pending_order",
        {"order_id": "#W11", "reason": "no longer needed"},
    ),
    shop.Write("2", 0, "The blue one, please.", "modify_pending_order_items", EXCHANGE),
]


@pytest.mark.proof
def test_what_nobody_approved_changes_nothing_and_a_kill_doubles_nothing() -> None:
    """The database at the end is what the approved writes make of it, each of them once."""
    with shop.served(SOME) as server:
        for play, ran in ((shop.play_rejected, 0), (shop.play_approved, 2), (shop.play_killed, 2)):
            end = play(server, SOME, DB)
            assert (end.asked, end.ran, end.wrong) == (2, ran, [])


def test_a_write_that_ran_twice_or_unasked_is_found() -> None:
    """The figures cannot be right by chance: a second run, and another database, are told of."""
    made = shop.Shop(deepcopy(DB))
    call = {"id": "a", "tool": "cancel_pending_order", "arguments": SOME[0].arguments}
    made.run(call)
    made.run(call)
    assert shop._ended(shop.End(1, 0, []), made, DB).wrong == [
        "a ran 2 times",
        "the database is not what it must be",
    ]


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
        assert shop.write(before, tool, given)[changed] != had
