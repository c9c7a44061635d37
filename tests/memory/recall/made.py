"""Turns for tests, and an index of them."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeVar

import trio

from agent.memory.recall.recall import IndexRecaller
from agent.ports.change_mark import ChangeMark
from agent.ports.conversation import Scope
from agent.ports.memory import LIVE, Item, Remark, StoredTurn
from agent.ports.recall import RecallQuery, RecallResult
from agent.ports.recall_store import ChangeListener, Changes, GroupRows, ScopeGroup
from agent.recall.index import RecallIndex
from tests.memory.made import MINE, NOW

MINUTE = 60_000
T = TypeVar("T")


def turn(
    n: int, text: str, by: str = "user", scope: Scope = MINE, at: int = 0, sitting: int = 0
) -> StoredTurn:
    """A turn; by: user, assistant, or a name. at: minutes before now."""
    role: Literal["user", "assistant"] = "assistant" if by == "assistant" else "user"
    name = "" if by in ("user", "assistant") else by
    return StoredTurn(
        n,
        scope,
        Remark(message=f"m{n}", role=role, text=text, at=NOW - at * MINUTE, speaker=name, sitting=sitting),
    )


TALK = (
    turn(1, "Hi Ben! How was the weekend?", "Ann", at=60),
    turn(2, "I adopted a grey kitten at the shelter on Saturday, her name is Misty.", "Ben", at=59),
    turn(3, "How lovely! I went hiking in the mountains with my sister.", "Ann", at=58),
    turn(4, "Which mountains? I have not been hiking since last summer.", "Ben", at=57),
    turn(5, "The Blue Ridge, and it rained the whole day.", "Ann", at=56),
)


class Feed:
    """What is kept, in a list of changes."""

    def __init__(self, *turns: StoredTurn, items: Sequence[Item] = ()) -> None:
        self.changes: list[StoredTurn | Item] = [*turns, *items]
        self.asked = 0

    async def find_last_change(self) -> ChangeMark:
        """Return how much was changed so far."""
        await trio.lowlevel.checkpoint()
        return ChangeMark(len(self.changes))

    async def changes_after(self, after: ChangeMark, limit: int) -> Changes:
        """Return the next changes."""
        await trio.lowlevel.checkpoint()
        self.asked += 1
        new = self.changes[after.number : after.number + limit]
        turns = tuple(each for each in new if isinstance(each, StoredTurn))
        items = tuple(each for each in new if isinstance(each, Item))
        return Changes(turns, items, ChangeMark(after.number + len(new)), more=len(new) == limit)

    async def load_group(self, group: ScopeGroup, limit: int) -> GroupRows:
        """Return what is kept of a group, as it is now."""
        await trio.lowlevel.checkpoint()
        turns = self._turns_of(group)
        items = {each.id: each for each in self.changes if isinstance(each, Item)}
        live = [each for each in items.values() if each.status in LIVE and holds(group, each.scope)]
        return GroupRows([*turns], tuple(turns.values())[:limit], tuple(live), ChangeMark(len(self.changes)))

    async def load_turns(self, numbers: Sequence[int]) -> tuple[StoredTurn, ...]:
        """Return these turns, as they are now."""
        await trio.lowlevel.checkpoint()
        turns = self._turns_of(None)
        return tuple(turns[number] for number in numbers)

    def _turns_of(self, group: ScopeGroup | None) -> dict[int, StoredTurn]:
        turns = (each for each in self.changes if isinstance(each, StoredTurn))
        found = {each.n: each for each in turns if group is None or holds(group, each.scope)}
        return dict(sorted(found.items()))

    async def citable_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return that all may be cited."""
        return frozenset(ids)

    async def listen_for_changes(self, hear: ChangeListener) -> None:
        """Tell nothing."""

    def count_unheard_writes(self) -> int:
        """Return how much was changed so far, none of which is told."""
        return len(self.changes)


def holds(group: ScopeGroup, scope: Scope) -> bool:
    """Whether a scope is one of a group."""
    thread = scope.thread if group.thread is None else group.thread
    return (scope.project, scope.user, scope.thread) == (group.project, group.user, thread)


async def inline(function: Callable[[], T]) -> T:
    """Do a thread's work at once (`agent.ports.work.RunSync`)."""
    return function()


def index_of(*turns: StoredTurn, commit: bool = True) -> RecallIndex:
    """An index of turns; commit: none of them waits."""
    index = RecallIndex()
    for each in turns:
        index.add_turn(each)
    if commit:
        index.commit()
    return index


def recall_of(*turns: StoredTurn, items: Sequence[Item] = ()) -> IndexRecaller:
    """What recalls turns and items."""
    return IndexRecaller(Feed(*turns, items=items), inline)


def search(text: str, scope: Scope = MINE, **other: Any) -> RecallQuery:
    """A search without a floor."""
    given: dict[str, Any] = {"lang": "en", "at": NOW, "limit": 10, "floor": 0.0} | other
    return RecallQuery(text=text, scope=scope, **given)


def best(found: RecallResult) -> list[str]:
    """Return the ids of what was found, best first."""
    return [each.id for each in sorted(found.excerpts, key=lambda each: -each.score)]
