"""Items for tests."""

from dataclasses import replace
from typing import Any

from agent.ports.conversation import Scope
from agent.ports.memory import Item, Source

MINE = Scope("p", "t", "ana")
DAY = 24 * 3600 * 1000
NOW = 1_000 * DAY

_ITEM = Item(
    id="i1",
    type="fact",
    status="accepted",
    key=("atlas", "budget"),
    slot="s",
    text="The budget of Atlas is 50 000 kr",
    numbers=(("money SEK", "50000 SEK"),),
    scope=MINE,
    valid_from=NOW - DAY,
    valid_to=None,
    expires_at=None,
    supersedes=None,
    superseded_by=None,
    confidence=1.0,
    sources=(Source("message", "m1"),),
    created_at=NOW - DAY,
    decided_at=None,
    decided_by=None,
    revision=1,
)


def item(**other: Any) -> Item:
    """An item, but for what is said otherwise."""
    return replace(_ITEM, **other)
