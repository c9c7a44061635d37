"""Scenarios in which something is remembered, struck in every way: of what was cancelled nothing is kept.

Nothing half written, nothing live without its user's word, nothing suggested after a cancel, nothing left running.
Every step is struck with MEMORY_STRIDE=1 in the environment (minutes); else every so-manieth, each way at others.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from agent.memory import exchange_keeper
from agent.memory.message_items import MessageItems
from agent.ports.conversation import Scope
from agent.ports.memory import ExchangeRecord
from agent.session.actions import SessionActions
from agent.session.events import SuggestionExpired
from agent.session.turns import SessionTurns
from agent.storage.memories import item_decisions, known_ids
from agent.storage.transaction import Transaction
from tests.planted import kept_when_cancelled
from tests.strikes.inject import Point, quiet, run_point, steps_of, strike_all
from tests.strikes.plots import memories
from tests.strikes.strikes import STRIKES

STRIDE = int(os.environ.get("MEMORY_STRIDE", "90"))


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.mark.proof
@pytest.mark.parametrize("name", memories())
def test_nothing_breaks_where_something_is_remembered(name: str) -> None:
    """Struck at its steps in every way, a scenario leaves whole rows, and only such as their user said and approved."""
    bad: list[Point] = []
    total = 0
    for strike in STRIKES:
        points, broken = strike_all(memories()[name], strike, stride=STRIDE)
        total += points
        bad += broken
    assert total >= 5
    assert not bad, f"{len(bad)} of {total} points broke something; the first:\n{bad[0]}"


def accepted_unasked(patch: pytest.MonkeyPatch) -> None:
    """Whatever is said is taken for an order to remember it."""
    patch.setattr(MessageItems, "orders_item", lambda self, item: True)


def accepted_by_a_model(patch: pytest.MonkeyPatch) -> None:
    """What a memory model finds is true at once."""
    real = item_decisions.propose_drafts

    def propose(transaction: Transaction, scope: Scope, drafts: Any, at: int) -> Any:
        return [
            replace(each, item=item_decisions.accept_item(scope, each.item.id, at, None, None, transaction))
            for each in real(transaction, scope, drafts, at)
        ]

    patch.setattr("agent.storage.memories.unread_turns.propose_drafts", propose)


def half_kept(patch: pytest.MonkeyPatch) -> None:
    """Of an exchange only the question is written."""
    real = exchange_keeper._make_record

    def kept(*args: Any) -> ExchangeRecord:
        whole = real(*args)
        return replace(whole, remarks=whole.remarks[:1])

    patch.setattr(exchange_keeper, "_make_record", kept)


def offered_after_a_cancel(patch: pytest.MonkeyPatch) -> None:
    """A cancel does not take back what an answered message leads to."""
    patch.setattr(SessionTurns, "disown_message", lambda self, message: None)


def declined_by_time(patch: pytest.MonkeyPatch) -> None:
    """A suggestion whose time is over rejects what it was about."""
    real = SessionActions.expire_suggestion

    def expired(self: SessionActions, event: SuggestionExpired) -> None:
        found = self._suggestions.get(event.suggestion_id)
        real(self, event)
        if found is not None:
            self.decline_item(found)

    patch.setattr(SessionActions, "expire_suggestion", expired)


def answer_left(patch: pytest.MonkeyPatch) -> None:
    """An answer that cites what was forgotten meanwhile is kept as it was said."""
    patch.setattr(known_ids, "find_forgotten", lambda ids, connection: frozenset())


@pytest.mark.proof
@pytest.mark.parametrize(
    ("plant", "plot", "strike", "stride", "found"),
    [
        (kept_when_cancelled, "proposal_confirmed", "cancel", 20, "M5: "),
        (accepted_unasked, "proposal_left", "cancel", 999, "accepted, and nobody was asked"),
        (accepted_by_a_model, "found_by_a_model", "cancel", 999, "accepted, and nobody was asked"),
        (half_kept, "order_to_remember", "cancel", 999, "M4: "),
        (offered_after_a_cancel, "proposal_left", "cancel", 1, "after a cancel"),
        (declined_by_time, "proposal_left", "confirm", 999, "was rejected by nobody"),
        (answer_left, "forgotten_elsewhere_while_it_is_cited", "cancel", 999, "M2: "),
    ],
    ids=lambda value: getattr(value, "__name__", "") if callable(value) else "",
)
def test_each_fault_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None],
    plot: str,
    strike: str,
    stride: int,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the strikes look for is found where it is planted."""
    plant(monkeypatch)
    first = 0 if stride > 500 else 1
    points = range(first, steps_of(memories()[plot]) if first else 1, stride)
    broken = [line for k in points for line in run_point(memories()[plot], strike, k).broken]
    assert any(found in line for line in broken), broken[:3]
