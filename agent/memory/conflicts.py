"""What a draft means to the items that are live: the same as one of them, a contradiction, or nothing.

Strategy: only items of the same key are compared, and by their slots and numbers alone; how alike two texts are decides
nothing. Numbers of the same kinds and units that do not all agree contradict each other, unless one is a lower bound
and the other an upper one; so do two wordings of what has one value at a time. What neither is the same nor contradicts
stays beside it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..ports.memory import LIVE, Draft, Item
from .items import ONE_TEXT, agree, same_wording


@dataclass(frozen=True, slots=True)
class Compared:
    """What a draft is to live items. same: the one that says it already. conflicts: those that it contradicts."""

    same: Item | None = None
    conflicts: tuple[Item, ...] = ()


def compare(draft: Draft | Item, items: Iterable[Item]) -> Compared:
    """Compare a draft, or what was made of one, with items of its scope; those that are not live count for nothing.

    What one says already contradicts nothing: whatever stands against that was told when it became live.
    """
    related = [item for item in items if item.status in LIVE and item.key == draft.key]
    for item in related:
        if item.slot == draft.slot and _says_the_same(draft, item):
            return Compared(item)
    return Compared(None, tuple(item for item in related if _contradicts(draft, item)))


def _says_the_same(draft: Draft | Item, item: Item) -> bool:
    """Tell it of two of one key and slot. A slot that is a wording says so by itself."""
    if draft.slot == ONE_TEXT:
        return same_wording(draft.text, item.text)
    return "|" not in draft.slot or agree(draft.numbers, item.numbers)


def _contradicts(draft: Draft | Item, item: Item) -> bool:
    mine, _, what = draft.slot.partition("|")
    theirs, _, its = item.slot.partition("|")
    if draft.slot == item.slot:
        return True  # and what it says is not the same
    return (
        bool(what) and what == its and {mine, theirs} != {"<", ">"} and not agree(draft.numbers, item.numbers)
    )
