"""Finding what was said: turns of conversations and live items, dated and by whom. Times are Unix milliseconds."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ..lang import Lang
from .conversation import Scope
from .memory import Item

ExcerptKind: TypeAlias = Literal["turn", "item"]
Reach: TypeAlias = Literal["scope", "thread", "user"]
"""How far a search goes. scope: every thread of its project and user, and where the user is not known its thread alone,
as whose an item is. thread: its thread alone. user: every thread of its project and user, known or not, which only an
operator may ask for."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for in what was said.

    text: any text. scope: whose; what is another's is not searched. at: now, what "last week" is counted from. limit:
    excerpts at most. tokens: that they may take together, estimated; 0 is no bound. speaker: the name of who asks, ""
    for the scope's user. shown: message ids that the reader has before him anyway, in the scope's thread. reach: see
    `Reach`. floor: of how surely anything fits, 0..1, below which nothing is found; None is the recaller's own.
    """

    text: str
    lang: Lang
    scope: Scope
    at: int
    limit: int
    tokens: int = 0
    speaker: str = ""
    shown: frozenset[str] = frozenset()
    reach: Reach = "scope"
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A turn or an item that fits. id: what it is cited by. by: who said it, "user", "assistant" or a name; "" of an
    item. score: 0..1, by which they were ranked; of the best one, how surely anything fits. text: what is shown of it,
    a part of a long turn.

    citable: it may support a number: an item, or what its user said. message: the turn's message id, "" of an item.
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


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found, oldest first. score: 0..1, how surely anything fits; below the floor there are no excerpts.

    disagreements: pairs of ids of excerpts of one key with different numbers, the older first. items: all that are
    live, as of the search, whose it was, in no order; None where who searches cannot tell. shown: what fits of that
    which the reader has before him anyway, as far as it may support a number, RECALLED_SHOWN at most.
    """

    excerpts: tuple[Excerpt, ...] = ()
    score: float = 0.0
    disagreements: tuple[tuple[str, str], ...] = ()
    items: tuple[Item, ...] | None = None
    shown: tuple[Excerpt, ...] = ()

    def without(self, ids: Collection[str]) -> "Recalled":
        """Return it without some excerpts."""
        if not ids:
            return self
        return Recalled(
            tuple(each for each in self.excerpts if each.id not in ids),
            self.score,
            tuple(pair for pair in self.disagreements if not any(id in ids for id in pair)),
            shown=tuple(each for each in self.shown if each.id not in ids),
        )


NOTHING = Recalled()


class Recaller(Protocol):
    """Finds what was said."""

    async def recall(self, search: Search) -> Recalled:
        """Return what fits, within its budget. A cancel leaves nothing. Raises `agent.errors.StorageFailed`."""
        ...
