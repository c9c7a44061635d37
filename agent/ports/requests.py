"""Requests that may come twice, and what is noted of who did what."""

from dataclasses import dataclass
from typing import Final, Protocol

ITEM_DECIDED: Final = "memory "
"""How the audit's events begin that say what was decided about a memory item; their subject is the item's id."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request was answered. status: of HTTP. project: whose it is, where the request made that project."""

    status: int
    body: bytes
    project: str | None = None


class RequestStore(Protocol):
    """Keeps the answers of requests that name a key, for IDEMPOTENCY_SECONDS, or as long as their project is there.

    owner: whose key it is.

    Raises `agent.errors.StorageFailed` when the store cannot be used.
    """

    async def first(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> Answered | None:
        """Note a request that begins, and return None; of one that was answered before, its answer.

        digest: SHA-256 of what was asked, in hex. project: whose things it is about. Raises `Conflict("key_reused")`
        when that was something else, or what was answered was forgotten since, and `Conflict("in_progress")` while it
        has no answer yet in a living process.
        """
        ...

    async def answered(self, owner: str, key: str, answer: Answered | None) -> None:
        """Note its answer; None forgets that it began, so that it may be tried again."""
        ...

    async def note(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Write a line of the audit: ids and words of ours, never what anybody said.

        Lines about an item go when it is forgotten (`agent.ports.threads.ThreadStore.forget`); those about a call stay.
        """
        ...
