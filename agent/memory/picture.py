"""Which items a model is told of, and how: what its user wants kept to, and how things stand.

Strategy: each kind has its own bound and its own budget of tokens, so that no kind crowds out another; within a kind
the most pressing come first (loops by the day they are due, else the latest), and one that does not fit is passed over
for the next. What is shown of rules and preferences stands in an order that only a change of theirs changes, so that
the beginning of a prompt stays the same. Every item is looked at again, whatever it was read by: live, valid now, its
user's own. Lines stand between fences that nothing in them can close.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any, Final

from ..config import (
    CHARACTERS_PER_TOKEN,
    PICTURE_EVENTS,
    PICTURE_EVENTS_TOKENS,
    PICTURE_IDEAS,
    PICTURE_IDEAS_TOKENS,
    PICTURE_LOOPS,
    PICTURE_LOOPS_TOKENS,
    PICTURE_STANDING,
    PICTURE_STANDING_TOKENS,
)
from ..lang import LANGUAGES, Lang
from ..numbers.read import Kind
from ..ports.conversation import Scope
from ..ports.memory import LIVE, Item, ItemType
from ..text.fences import fenced

_STANDING: Final[tuple[ItemType, ...]] = ("rule", "preference", "lesson")  # the most binding first
_WHOLE_DATE: Final = len("2026-05-08")


@dataclass(frozen=True, slots=True)
class Picture:
    """What a model is told of, each in the order in which it is shown."""

    standing: tuple[Item, ...] = ()
    open_loops: tuple[Item, ...] = ()
    events: tuple[Item, ...] = ()
    ideas: tuple[Item, ...] = ()


def picture(live: Iterable[Item], scope: Scope, at: int) -> Picture:
    """Return what a model is told of at a time (Unix milliseconds), whatever is asked. live: what a store says is."""
    told = {item.id: item for item in live if _may_be_told(item, scope, at)}

    def of(kind: ItemType, by: Callable[[Item], Any]) -> Iterator[Item]:
        return iter(sorted((item for item in told.values() if item.type == kind), key=by))

    standing = _fitting(
        (item for kind in _STANDING for item in of(kind, _latest)), PICTURE_STANDING, PICTURE_STANDING_TOKENS
    )
    loops = _fitting(of("open_loop", _pressing), PICTURE_LOOPS, PICTURE_LOOPS_TOKENS)
    events = _fitting(of("event", _latest), PICTURE_EVENTS, PICTURE_EVENTS_TOKENS)
    ideas = _fitting(of("idea", _latest), PICTURE_IDEAS, PICTURE_IDEAS_TOKENS)
    return Picture(
        tuple(sorted(standing, key=lambda item: (_STANDING.index(item.type), _age(item)))),
        tuple(loops),
        tuple(sorted(events, key=_age)),
        tuple(sorted(ideas, key=_age)),
    )


def memory_section(of: Picture, lang: Lang) -> str:
    """Return what its user wants a model to keep to, as a prompt holds it; "" where that is nothing."""
    return _section(LANGUAGES[lang].prompting.memory, of.standing)


def situation_section(of: Picture, lang: Lang) -> str:
    """Return how things stand, as a prompt holds it; "" where nothing is remembered of it."""
    return _section(LANGUAGES[lang].prompting.situation, (*of.open_loops, *of.events, *of.ideas))


def due(item: Item) -> date | None:
    """Return the first whole date that a loop names, which is the day it is due."""
    named = (value for kind, value in item.numbers if kind == Kind.DATE and len(value) == _WHOLE_DATE)
    return min(map(date.fromisoformat, named), default=None)


def _may_be_told(item: Item, scope: Scope, at: int) -> bool:
    """Tell whether an item may be told of: live, valid at the time, and its user's.

    A user's items are theirs in every thread; of an unknown user only those of the same thread are.
    """
    theirs = (scope.project, scope.user, scope.thread if not scope.user else "")
    its = (item.scope.project, item.scope.user, item.scope.thread if not item.scope.user else "")
    ends = (item.valid_to, item.expires_at)
    return (
        its == theirs
        and item.status in LIVE
        and item.valid_from <= at
        and all(end is None or at < end for end in ends)
    )


def _age(item: Item) -> tuple[int, str]:
    return item.created_at, item.id


def _latest(item: Item) -> tuple[int, str]:
    return -item.created_at, item.id


def _pressing(item: Item) -> tuple[date, int, str]:
    return (due(item) or date.max, *_latest(item))


def _fitting(items: Iterable[Item], most: int, tokens: int) -> list[Item]:
    """Return the first items that fit a budget together, `most` of them at most."""
    left = tokens

    def fits(item: Item) -> bool:
        nonlocal left
        cost = -(-len(_line(item)) // CHARACTERS_PER_TOKEN)
        if cost > left:
            return False
        left -= cost
        return True

    return list(islice(filter(fits, items), most))


def _line(item: Item) -> str:
    day = datetime.fromtimestamp(item.created_at / 1000, UTC).date().isoformat()
    kind = f"{item.type}, {item.status}" if item.status == "blocked" else item.type
    return f"[{item.id} {day} {kind}] {' '.join(item.text.split())}"


def _section(lead: str, items: Sequence[Item]) -> str:
    return f"{lead}\n{fenced(chr(10).join(map(_line, items)))}" if items else ""
