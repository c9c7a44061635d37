"""Decides which claimer runs an action, and records the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .conversation import NO_SCOPE, Scope

ClaimStatus = Literal["claimed", "done", "failed", "cancelled", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One claimed action. `claimed_at` and `ended_at` are Unix milliseconds; `result` is the result sent to the client.

    `kb` is the knowledge base of the server that claimed it, as an absolute path; None when that is not known. A claim
    that succeeded after its claimer had stopped waiting is `cancelled`, even if its client got another result.
    """

    suggestion_id: str
    action: str
    status: ClaimStatus
    claimed_at: int
    ended_at: int | None = None
    result: Mapping[str, Any] | None = None
    kb: str | None = None


class Ledger(Protocol):
    """Claims and outcomes of actions; the same in memory and in a database (one contract suite)."""

    async def claim(self, suggestion_id: str, action: str, at: int, scope: Scope = NO_SCOPE) -> bool:
        """Claim an action at Unix milliseconds `at`; True for exactly one claimer of an id, ever.

        `scope` is the owner of the claim; its texts are forgotten by that scope. The claim is one atomic step. A cancel
        takes effect at once: the claimer runs nothing, so there is no row, or one that is recorded `cancelled` as soon
        as possible.
        """
        ...

    async def record_outcome(
        self, suggestion_id: str, status: ClaimStatus, result: Mapping[str, Any], at: int
    ) -> None:
        """Record the outcome of a claimed action; the first outcome stands, a second changes nothing.

        An outcome that cannot be written now is kept and written later. A cancel takes effect at once, and the outcome
        is kept too.
        """
        ...

    async def get_row(self, suggestion_id: str) -> LedgerRow | None:
        """Return the row of a claimed action, or None."""
        ...

    async def rows(self, limit: int = 100, kb: str | None = None) -> tuple[LedgerRow, ...]:
        """Return the newest rows, newest first. `kb` selects one knowledge base; None means all."""
        ...
