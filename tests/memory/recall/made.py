"""Turns for tests, and an index of them."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, TypeVar

from agent.memory.recall.index import RecallIndex
from agent.memory.recall.recall import IndexRecaller
from agent.ports.conversation import Scope
from agent.ports.memory import Changes, Item, Remark, StoredTurn
from agent.ports.recall import RecallQuery, RecallResult
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

    async def changes_after(self, after: int, limit: int) -> Changes:
        """Return the next changes."""
        self.asked += 1
        new = self.changes[after : after + limit]
        turns = tuple(each for each in new if isinstance(each, StoredTurn))
        return Changes(turns, tuple(each for each in new if isinstance(each, Item)), after + len(new))

    async def forgotten_ids(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of these were forgotten."""
        gone = [
            f"t{each.n}" for each in self.changes if isinstance(each, StoredTurn) and not each.remark.text
        ]
        return frozenset(ids) & frozenset(gone)


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


def recall_of(*turns: StoredTurn, items: Sequence[Item] = (), commit: bool = True) -> IndexRecaller:
    """What recalls turns and items."""
    recall = IndexRecaller(Feed(), inline)
    recall.apply_changes(turns, items)
    if commit:
        recall.index.commit()
    return recall


def search(text: str, scope: Scope = MINE, **other: Any) -> RecallQuery:
    """A search without a floor."""
    given: dict[str, Any] = {"lang": "en", "at": NOW, "limit": 10, "floor": 0.0} | other
    return RecallQuery(text=text, scope=scope, **given)


def best(found: RecallResult) -> list[str]:
    """Return the ids of what was found, best first."""
    return [each.id for each in sorted(found.excerpts, key=lambda each: -each.score)]
