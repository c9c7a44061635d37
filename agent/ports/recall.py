"""Searches conversations and memory: turns and live items, with date and speaker. Times are Unix milliseconds."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec

from ..lang import Lang
from .conversation import Scope
from .memory import Item

ExcerptKind: TypeAlias = Literal["turn", "item"]
Reach: TypeAlias = Literal["scope", "thread", "user"]
"""The reach of a search. `scope` covers every thread of its project and user, and for an unknown user its thread alone,
as for items. `thread` covers its thread alone. `user` covers every thread of its project and user, known or not,
which only an operator may request.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A search over turns and items.

    `text` is any text. Only the data of `scope` is searched. `at` is now, the reference of "last week". `limit` bounds
    the excerpts, `tokens` their estimated total; 0 is no bound. `speaker` is the name of the author, "" for the scope's
    user. `visible_messages` holds ids of messages, in the scope's thread, that the reader sees anyway. `reach` is
    described at `Reach`. `floor` is the certainty, 0..1, below which nothing is found; None is the recaller's own.
    """

    text: str
    lang: Lang
    scope: Scope
    at: int
    limit: int
    tokens: int = 0
    speaker: str = ""
    visible_messages: frozenset[str] = frozenset()
    reach: Reach = "scope"
    floor: float | None = None


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A fitting turn or item. `id` is its id in citations. `by` is its speaker, "user", "assistant" or a name; "" for
    an item. `score` is its rank, 0..1; that of the best one is the certainty that anything fits. `text` may be a
    part of a long turn.

    `citable` says that it may support a number: an item, or words of its user. `message` is the turn's message id, ""
    for an item.
    """

    id: str
    kind: ExcerptKind
    text: str
    at: int
    by: str
    thread: str
    score: float
    citable: bool
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The excerpts, oldest first. `score` is the certainty, 0..1, that anything fits; below the floor there are no
    excerpts.

    `disagreements` are pairs of ids of excerpts of one key with different numbers, the older first. `items` are all
    live items of the searched user, as of the search, in no order; None where the recaller cannot tell. `standing` are
    the ids of the excerpts that may be cited, as of the search; None likewise.
    `visible_excerpts` are fitting excerpts that the reader sees anyway, as far as they may support a number,
    `RECALLED_SHOWN` at most.
    """

    excerpts: tuple[Excerpt, ...] = ()
    score: float = 0.0
    disagreements: tuple[tuple[str, str], ...] = ()
    items: tuple[Item, ...] | None = None
    visible_excerpts: tuple[Excerpt, ...] = ()
    standing: frozenset[str] | None = None


NOTHING_RECALLED = RecallResult()


class Recaller(Protocol):
    """Searches turns and items."""

    async def recall(self, search: RecallQuery) -> RecallResult:
        """Return the fitting excerpts, within the budget. A cancel leaves nothing. Raises
        `agent.errors.StorageFailed`.
        """
        ...

    async def standing_ids(self, scope: Scope, ids: Collection[str], at: int) -> frozenset[str]:
        """Return the subset of these items and turns of `scope` that may be cited at the time `at`, as
        `agent.ports.memory.MemoryStore.citable_ids` does. Raises `agent.errors.StorageFailed`.
        """
        ...
