"""A mark tells which changes come before it, also where transactions end in any order."""

from dataclasses import replace
from itertools import combinations

from agent.memory.recall.scope_index import ScopeIndex, group_of
from agent.memory.recall.search import IndexSearch
from agent.ports.change_mark import BEGINNING, ChangeMark
from agent.ports.recall_store import Changes
from agent.recall.index import RecallIndex
from tests.memory.made import MINE

from .made import Feed, turn

LAST = 4  # transactions


def list_marks() -> list[ChangeMark]:
    """Every mark in so few transactions."""
    numbers = ((number, range(1, number + 1)) for number in range(LAST + 1))
    return [
        ChangeMark(number, frozenset(some))
        for number, before in numbers
        for count in range(number + 1)
        for some in combinations(before, count)
    ]


def list_seen(mark: ChangeMark) -> set[int]:
    """The transactions whose changes come before a mark."""
    return {*range(1, mark.number + 1)} - mark.open


def test_a_mark_covers_those_before_which_it_has_all_changes() -> None:
    """And none that is further on, of which it cannot tell."""
    for one in list_marks():
        for other in list_marks():
            holds = other.number <= one.number and list_seen(other) <= list_seen(one)
            assert one.covers(other) == holds, (one, other)
    assert all(each.covers(BEGINNING) and each.covers(each) for each in list_marks())


async def test_a_change_of_a_transaction_that_ended_after_the_first_page_is_taken() -> None:
    """Though its number is lower than others that the page has."""
    feed, index = Feed(*[turn(n, f"Kitten {n}.") for n in range(1, 6)]), RecallIndex()
    held = ScopeIndex(group_of(MINE), IndexSearch(index))
    held.take(Changes((turn(9, "A car."),), (), ChangeMark(4, frozenset({2}))))
    real = feed.load_group

    async def load(*given: object) -> object:
        rows = await real(*given)  # type: ignore[arg-type]
        return replace(rows, upto=ChangeMark(5, frozenset({2, 3})))

    vars(feed)["load_group"] = load
    await held.load_first(feed)
    held.take(Changes((turn(2, ""),), (), ChangeMark(4, frozenset({3}))))
    texts = [index.rows.texts[row] for row in range(len(index.rows)) if index.rows.texts[row]]
    assert sorted(texts) == ["A car.", "Kitten 1.", "Kitten 3.", "Kitten 4.", "Kitten 5."]
