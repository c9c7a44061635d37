"""The item's table: what becomes of an item, and that each row and each guard is needed for it."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import PROPOSAL_LAPSES
from agent.memory import states
from agent.memory.states import (
    DECIDES,
    TABLE,
    ItemChange,
    ItemRow,
    ItemState,
    ItemTrigger,
    change_item,
    make_item_engine,
)
from agent.ports.memory import LIVE, ItemStatus, ItemType

from ..broken_tables import without_guard, without_row
from .made import DAY, NOW, item

LAPSES = round(PROPOSAL_LAPSES * 1000)
OTHERS = tuple(each for each in get_args(ItemType) if each != "open_loop")
LOOP = ("open_loop",)
NOBODYS = ("fact", "rule", "decision", "open_loop", "idea", "preference", "lesson")
Case = tuple[dict[str, Any], str, dict[str, Any], ItemChange | None]


def cases() -> Iterator[Case]:
    """Everything that the table says, one by one: an item, what happens to it, when, and what becomes of it."""
    proposed = {"status": "proposed"}
    ended = {"expires_at": NOW}
    going = {"expires_at": NOW + 1}
    for kind in ("event", "metric"):
        yield {**proposed, **going, "type": kind}, "rule_accepts", {}, ItemChange("accepted", "rule")
        yield {**proposed, **going, "type": kind}, "rule_accepts", {"contradicts": True}, None
        yield {**proposed, "type": kind}, "rule_accepts", {}, None
    for kind in NOBODYS:
        yield {**proposed, **going, "type": kind}, "rule_accepts", {}, None
    for kind in OTHERS:
        yield {**proposed, "type": kind}, "approve", {}, ItemChange("accepted", "user", closes=True)
    yield {**proposed, "type": "open_loop"}, "approve", {}, ItemChange("active", "user", closes=True)
    for kind in ("fact", "open_loop"):
        stays = ItemChange("proposed", None, conflict=True)
        yield {**proposed, "type": kind}, "approve", {"contradicts": True}, stays
    yield proposed, "reject", {}, ItemChange("rejected", "user")
    yield proposed, "lapse", {"since": NOW - LAPSES}, ItemChange("expired", None)
    yield proposed, "lapse", {"since": NOW - LAPSES + 1}, None
    yield {**proposed, **ended}, "lapse", {}, ItemChange("expired", None)
    yield {**proposed, **going}, "lapse", {}, None
    yield {"type": "decision"}, "start", {}, ItemChange("active", None)
    for kind in (each for each in get_args(ItemType) if each != "decision"):
        yield {"type": kind}, "start", {}, None
    yield {"status": "active"}, "block", {}, ItemChange("blocked", None)
    yield {"status": "blocked"}, "unblock", {}, ItemChange("active", None)
    for status in ("active", "blocked"):
        yield (
            {"status": status, "type": "open_loop", "decided_by": "user"},
            "finish",
            {},
            ItemChange("done", "user"),
        )
        for kind in OTHERS:
            yield {"status": status, "type": kind}, "finish", {}, None
    for status in ("done", "rejected", "expired"):
        decided = {"status": status, "decided_by": "user"}
        yield decided, "reopen", {}, ItemChange("proposed", None)
        yield {**decided, **going}, "reopen", {}, ItemChange("proposed", None)
        yield {**decided, **ended}, "reopen", {}, None
        yield {**decided, "valid_to": NOW}, "reopen", {}, None
    for status in LIVE:
        yield {"status": status, **ended}, "expire", {}, ItemChange("expired", None)
        yield {"status": status, "valid_to": NOW}, "expire", {}, ItemChange("expired", None)
        yield {"status": status, **going}, "expire", {}, None
        yield {"status": status}, "expire", {}, None
    for status in (*LIVE, "done"):
        yield {"status": status, "decided_by": "rule"}, "supersede", {}, ItemChange("superseded", "rule")
    for status in get_args(ItemStatus):
        forgotten = ItemChange("forgotten", "user", erases=True)
        yield (
            {"status": status, "decided_by": "user"},
            "forget",
            {},
            None if status == "forgotten" else forgotten,
        )


def kept() -> bool:
    """Whether all that the table says is so."""
    return all(
        change_item(item(**facts), trigger, NOW, **{"since": NOW, **when}) == becomes
        for facts, trigger, when, becomes in cases()
    )


def named(row: ItemRow) -> str:
    return f"{row.trigger.name}-{row.source.name}-{row.guard.value if row.guard else None}"


def test_what_becomes_of_an_item() -> None:
    """Each state, trigger and fact that tells two cases apart."""
    for facts, trigger, when, becomes in cases():
        became = change_item(item(**facts), trigger, NOW, **{"since": NOW, **when})
        assert became == becomes, (facts, trigger, when)


@pytest.mark.parametrize("row", TABLE.rows, ids=named)
def test_every_row_is_needed(row: ItemRow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one row something else becomes of an item."""
    monkeypatch.setattr(states, "ENGINE", make_item_engine(without_row(TABLE, row)))
    assert not kept()


@pytest.mark.parametrize("row", [row for row in TABLE.rows if row.guard], ids=named)
def test_every_guard_is_needed(row: ItemRow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one guard something becomes of an item that must not."""
    monkeypatch.setattr(states, "ENGINE", make_item_engine(without_guard(TABLE, row)))
    assert not kept()


def test_what_is_not_in_the_table_is_refused() -> None:
    """Whatever the item is, and however late it is."""
    for status, trigger in product(ItemState, ItemTrigger):
        for kind, over in (
            product(get_args(ItemType), (None, NOW)) if not TABLE.rows_of(status, trigger) else ()
        ):
            it = item(status=status.value, type=kind, expires_at=over)
            assert change_item(it, trigger.value, NOW, since=0) is None


def test_its_words_are_the_ports() -> None:
    """The table's states are those that an item may have, and what a user may decide are triggers."""
    assert {each.value for each in ItemState} == set(get_args(ItemStatus))
    assert {each.value for each in ItemTrigger} > DECIDES
    with pytest.raises(ValueError, match="remember"):
        change_item(item(), "remember", NOW, since=0)


TRIGGERS = st.sampled_from([each.value for each in ItemTrigger])


@given(
    kind=st.sampled_from(get_args(ItemType)),
    happens=st.lists(st.tuples(TRIGGERS, st.booleans()), max_size=12),
)
def test_nothing_is_live_that_nobody_decided(kind: ItemType, happens: list[tuple[str, bool]]) -> None:
    """However an item came to be live: its user said so, or a rule of what passes by itself; and forgotten is final."""
    it, at, since = item(type=kind, status="proposed", expires_at=NOW + 5 * DAY), NOW, NOW
    for trigger, contradicts in happens:
        at += DAY
        was, changed = it, change_item(it, trigger, at, since, contradicts)
        if changed is None:
            continue
        it = item(type=kind, status=changed.status, decided_by=changed.decided_by, expires_at=it.expires_at)
        since = at if it.status != was.status else since
        assert was.status != "forgotten"
        assert (it.status in LIVE) <= (it.decided_by == "user" or kind in ("event", "metric"))
        assert (it.status == "proposed") <= (it.decided_by is None)
        if was.status not in LIVE and it.status in LIVE:
            assert trigger in ("approve", "rule_accepts")
            assert not contradicts
