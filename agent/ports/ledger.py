"""The ledger decides which claimer runs an action, and remembers how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .conversation import NO_SCOPE, Scope

Status = Literal["claimed", "done", "failed", "cancelled", "unknown"]


@dataclass(frozen=True, slots=True)
class Row:
    """One claimed action. `claimed_at` and `ended_at` are Unix milliseconds; `result` is what the client got.

    kb: the knowledge base whose server claimed it, as an absolute path; None when that is not known.
    A claim whose claimer waited no longer, and that turned out won, is cancelled, whatever its client got.
    """

    suggestion_id: str
    action: str
    status: Status
    claimed_at: int
    ended_at: int | None = None
    result: Mapping[str, Any] | None = None
    kb: str | None = None


class Ledger(Protocol):
    """Claims and outcomes of actions; the same behind memory and a database (one contract suite)."""

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id, ever.

        scope: whose it is, by which what it says can be forgotten. One atomic step. Cancelled, at once: the claimer
        runs nothing, so there is no row, or one that is recorded cancelled as soon as it can be.
        """
        ...

    async def record(self, suggestion_id: str, status: Status, result: Mapping[str, Any], at: int) -> None:
        """Record the outcome of a claimed action; the first outcome stands, a second changes nothing.

        What cannot be written now is kept and written when it can be. Cancelled, at once, and it is kept too.
        """
        ...

    async def get(self, suggestion_id: str) -> Row | None:
        """Return the row of a claimed action, or None."""
        ...

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[Row, ...]:
        """Return the newest rows, newest first. kb: only those of this knowledge base; None is all of them."""
        ...
