"""Selects and formats the items that every prompt holds: the user's rules and preferences, and the current situation.

Strategy: each kind has its own limit and its own budget of tokens, so that no kind crowds out another. Within a kind
the most pressing come first (loops by due day, the rest by age, newest first), and an item that does not fit is skipped
for the next. Rules and preferences keep an order that changes only with them, so that the beginning of a prompt stays
the same. Every item is checked again here, however it was read: live, valid now, and of this user. Lines stand between
fences that no item's text can close.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any, Final

from ..config import CHARACTERS_PER_TOKEN
from ..lang import LANGUAGES, Lang
from ..ports.conversation import Scope
from ..ports.memory import LIVE, Item, ItemType
from ..text.fences import fence_text
from .items import named_days

PICTURE_LOOPS = 10  # items of each kind in a prompt at most, and their tokens, 800 in all
PICTURE_EVENTS = 5
PICTURE_IDEAS = 5
PICTURE_STANDING = 20  # rules, preferences and lessons
PICTURE_LOOPS_TOKENS = 220
PICTURE_EVENTS_TOKENS = 110
PICTURE_IDEAS_TOKENS = 110
PICTURE_STANDING_TOKENS = 360

_STANDING: Final[tuple[ItemType, ...]] = ("rule", "preference", "lesson")  # the most binding first


@dataclass(frozen=True, slots=True)
class Picture:
    """The items that a model is told of, each tuple in the order in which it is shown."""

    standing: tuple[Item, ...] = ()
    open_loops: tuple[Item, ...] = ()
    events: tuple[Item, ...] = ()
    ideas: tuple[Item, ...] = ()


def make_picture(live: Iterable[Item], scope: Scope, at: int) -> Picture:
    """Return the items to tell a model at time `at` (Unix ms), for any question. `live`: the store's live items."""
    items_by_id = {item.id: item for item in live if _may_be_told(item, scope, at)}

    def of(kind: ItemType, by: Callable[[Item], Any]) -> Iterator[Item]:
        return iter(sorted((item for item in items_by_id.values() if item.type == kind), key=by))

    standing = _take_fitting(
        (item for kind in _STANDING for item in of(kind, _latest)), PICTURE_STANDING, PICTURE_STANDING_TOKENS
    )
    loops = _take_fitting(of("open_loop", _pressing), PICTURE_LOOPS, PICTURE_LOOPS_TOKENS)
    events = _take_fitting(of("event", _latest), PICTURE_EVENTS, PICTURE_EVENTS_TOKENS)
    ideas = _take_fitting(of("idea", _latest), PICTURE_IDEAS, PICTURE_IDEAS_TOKENS)
    return Picture(
        tuple(sorted(standing, key=lambda item: (_STANDING.index(item.type), _age(item)))),
        tuple(loops),
        tuple(sorted(events, key=_age)),
        tuple(sorted(ideas, key=_age)),
    )


def memory_section(of: Picture, lang: Lang) -> str:
    """Return the prompt's section of rules, preferences and lessons; "" if there are none."""
    return _format_section(LANGUAGES[lang].prompting.memory, of.standing)


def situation_section(of: Picture, lang: Lang) -> str:
    """Return the prompt's section of open loops, events and ideas; "" if there are none."""
    return _format_section(LANGUAGES[lang].prompting.situation, (*of.open_loops, *of.events, *of.ideas))


def due_day(item: Item) -> date | None:
    """Return the day a loop is due: the first whole date in its text."""
    return min(named_days(item.numbers), default=None)


def _may_be_told(item: Item, scope: Scope, at: int) -> bool:
    """Tell whether an item is live, valid at `at`, and of the user of `scope`.

    A known user's items count in every thread; an unknown user's only in their own thread.
    """
    reader = (scope.project, scope.user, scope.thread if not scope.user else "")
    owner = (item.scope.project, item.scope.user, item.scope.thread if not item.scope.user else "")
    ends = (item.valid_to, item.expires_at)
    return (
        owner == reader
        and item.status in LIVE
        and item.valid_from <= at
        and all(end is None or at < end for end in ends)
    )


def _age(item: Item) -> tuple[int, str]:
    return item.created_at, item.id


def _latest(item: Item) -> tuple[int, str]:
    return -item.created_at, item.id


def _pressing(item: Item) -> tuple[date, int, str]:
    return (due_day(item) or date.max, *_latest(item))


def _take_fitting(items: Iterable[Item], most: int, tokens: int) -> list[Item]:
    """Return the first items that fit a budget of `tokens` together, at most `most` of them."""
    tokens_left = tokens

    def fits(item: Item) -> bool:
        nonlocal tokens_left
        cost = -(-len(_format_line(item)) // CHARACTERS_PER_TOKEN)
        if cost > tokens_left:
            return False
        tokens_left -= cost
        return True

    return list(islice(filter(fits, items), most))


def _format_line(item: Item) -> str:
    day = datetime.fromtimestamp(item.created_at / 1000, UTC).date().isoformat()
    kind = f"{item.type}, {item.status}" if item.status == "blocked" else item.type
    return f"[{item.id} {day} {kind}] {' '.join(item.text.split())}"


def _format_section(lead: str, items: Sequence[Item]) -> str:
    return f"{lead}\n{fence_text(chr(10).join(map(_format_line, items)))}" if items else ""
