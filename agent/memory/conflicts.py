"""What a draft means to the items that are live: the same as one of them, a contradiction, or nothing.

Strategy: only items of the same key are compared, and by their slots and numbers alone; how alike two texts are decides
nothing. Numbers of the same kinds and units that do not all agree contradict each other, unless one is a lower bound
and the other an upper one; so do two wordings of what has one value at a time. A number that has a unit contradicts one
without, and one in another unit of the same measure ("50k", "50 000 kr", "50k EUR"), whatever their values: nothing is
converted, and which is meant only its user knows. What neither is the same nor contradicts stays beside it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..lang import LANGUAGES
from ..ports.memory import LIVE, Draft, Item
from .items import ONE_TEXT, agree, comparable, places, same_wording

_DENIAL: Final = re.compile(
    rf"\b(?:{'|'.join(each.remembering.no for each in LANGUAGES.values())})\b", re.IGNORECASE
)


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


def finished(key: Sequence[str], items: Iterable[Item]) -> Item | None:
    """Return the loop that is open and that words with this key say is done; None where there is none, or several.

    A loop says what is to be done about a thing ("send the tax report"), what is done is often the thing alone.
    """
    named = set(key)
    loops = [
        each for each in items if each.type == "open_loop" and each.status in LIVE and named <= set(each.key)
    ]
    exact = [each for each in loops if named == set(each.key)] or loops
    return exact[0] if named and len(exact) == 1 else None


def spoken_of(before: Iterable[frozenset[str]], items: Sequence[Item]) -> Item | None:
    """Return the loop that is open and that was spoken of last; None where there is none, or several at once.

    before: the stems of each exchange, the newest first. It speaks of a loop if it has more than half of its key.
    """
    loops = [each for each in items if each.type == "open_loop" and each.status in LIVE]
    for stems in before:
        named = [each for each in loops if 2 * len(stems.intersection(each.key)) > len(each.key)]
        if named:
            return named[0] if len(named) == 1 else None
    return None


def _says_the_same(draft: Draft | Item, item: Item) -> bool:
    """Tell it of two of one key and slot. A slot that is a wording says so by itself."""
    if draft.slot == ONE_TEXT:
        return same_wording(draft.text, item.text)
    return "|" not in draft.slot or (
        _denies(draft.text) == _denies(item.text) and agree(draft.numbers, item.numbers)
    )


def _denies(text: str) -> bool:
    """Tell whether a text denies something: "never before 10" and "always before 10" have one key and one number."""
    return _DENIAL.search(text) is not None


def _contradicts(draft: Draft | Item, item: Item) -> bool:
    if draft.slot == item.slot:
        return True  # and what it says is not the same
    (mine, named, kinds), (theirs, its_name, its_kinds) = places(draft.slot), places(item.slot)
    if not kinds or not its_kinds or named != its_name or {mine, theirs} == {"<", ">"}:
        return False
    if kinds == its_kinds:
        return not agree(draft.numbers, item.numbers)
    return _in_place_of(kinds, its_kinds)


def _in_place_of(kinds: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether as many numbers stand in the place of others, of which some have another unit, or none."""
    pairs = {(one, other) for one in kinds for other in others if comparable(one, other)}
    matched = {one for one, _ in pairs} == {*kinds} and {other for _, other in pairs} == {*others}
    return matched and len(kinds) == len(others)
