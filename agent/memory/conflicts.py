"""Compares a draft with live items: the same as one of them, in contradiction to some, or unrelated.

Strategy: only items of the same key are compared, and only by their slots and numbers; text similarity decides
nothing. Numbers of the same kinds and units that do not all agree contradict each other, unless one is a lower bound
and the other an upper bound. So do two wordings where a subject has one value at a time. A number with a unit
contradicts one without, and one in another unit of the same measure ("50k", "50 000 kr", "50k EUR"), with any
values: nothing is converted, because only the user knows which unit is meant. An item that is neither the same nor
contradicted stays beside the draft.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..lang import LANGUAGES
from ..ports.memory import LIVE, Draft, Item
from .items import ONE_TEXT, kinds_compete, numbers_agree, same_wording, split_slot

_DENIAL: Final = re.compile(
    rf"\b(?:{'|'.join(each.remembering.no for each in LANGUAGES.values())})\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DraftComparison:
    """The relation of a draft to live items.

    `same`: the item that already says the same. `conflicts`: the items that the draft contradicts.
    """

    same: Item | None = None
    conflicts: tuple[Item, ...] = ()


def compare_draft(draft: Draft | Item, items: Iterable[Item]) -> DraftComparison:
    """Compare `draft`, or the item made of it, with the live ones of `items`, which are of its scope.

    An item that says the same ends the comparison: its own conflicts were settled when it became live.
    """
    related = [item for item in items if item.status in LIVE and item.key == draft.key]
    for item in related:
        if item.slot == draft.slot and _says_same(draft, item):
            return DraftComparison(item)
    return DraftComparison(None, tuple(item for item in related if _contradicts(draft, item)))


def find_finished_loop(key: Sequence[str], items: Iterable[Item]) -> Item | None:
    """Return the open loop that `key` reports as done; None for no match or several.

    A loop names an action and its object ("send the tax report"); the report often names the object alone.
    """
    named = set(key)
    loops = [
        each for each in items if each.type == "open_loop" and each.status in LIVE and named <= set(each.key)
    ]
    exact = [each for each in loops if named == set(each.key)] or loops
    return exact[0] if named and len(exact) == 1 else None


def find_mentioned_loop(before: Iterable[frozenset[str]], items: Sequence[Item]) -> Item | None:
    """Return the open loop that was mentioned last; None for no match, or for several in the same exchange.

    `before`: the stems of each exchange, newest first. An exchange mentions a loop if it has more than half of the
    loop's key.
    """
    loops = [each for each in items if each.type == "open_loop" and each.status in LIVE]
    for stems in before:
        named = [each for each in loops if 2 * len(stems.intersection(each.key)) > len(each.key)]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def _says_same(draft: Draft | Item, item: Item) -> bool:
    """Tell whether two items of one key and slot say the same. Equal wording slots already mean equal wording."""
    if draft.slot == ONE_TEXT:
        return same_wording(draft.text, item.text)
    return "|" not in draft.slot or (
        _denies(draft.text) == _denies(item.text) and numbers_agree(draft.numbers, item.numbers)
    )


def _denies(text: str) -> bool:
    """Tell whether `text` negates: "never before 10" and "always before 10" have one key and one number."""
    return _DENIAL.search(text) is not None


def _contradicts(draft: Draft | Item, item: Item) -> bool:
    if draft.slot == item.slot:
        return True  # `compare_draft` has already ruled out that both say the same
    (mine, named, kinds), (item_number, its_name, its_kinds) = split_slot(draft.slot), split_slot(item.slot)
    if not kinds or not its_kinds or named != its_name or {mine, item_number} == {"<", ">"}:
        return False
    if kinds == its_kinds:
        return not numbers_agree(draft.numbers, item.numbers)
    return _compete(kinds, its_kinds)


def _compete(kinds: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether `kinds` and `others` match one to one as comparable, with a unit that differs or is missing."""
    pairs = {(one, other) for one in kinds for other in others if kinds_compete(one, other)}
    matched = {one for one, _ in pairs} == {*kinds} and {other for _, other in pairs} == {*others}
    return matched and len(kinds) == len(others)
