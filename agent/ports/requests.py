"""Recognises repeated requests by their idempotency key, and writes the audit."""

from dataclasses import dataclass
from typing import Final, Protocol

ITEM_DECIDED: Final = "memory "
"""The prefix of audit events about a decision on a memory item; their subject is the item's id."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to a request. `status` is of HTTP. `project` is the project that the request created, if any."""

    status: int
    body: bytes
    project: str | None = None


class RequestStore(Protocol):
    """Stores the answers of requests with a key, for `IDEMPOTENCY_SECONDS`, or as long as their project exists.

    `owner` is the owner of the key.

    Raises `agent.errors.StorageFailed` when the store cannot be used.
    """

    async def begin_request(
        self, owner: str, key: str, digest: str, at: int, project: str | None = None
    ) -> StoredAnswer | None:
        """Record that a request begins, and return None; for one that was answered before, return its answer.

        `digest` is the SHA-256 of the request in hex. `project` is the project of its subject. Raises
        `Conflict("key_reused")` when the key came with another request, or when its answer was forgotten since, and
        `Conflict("in_progress")` while it has no answer yet in a living process.
        """
        ...

    async def record_answer(self, owner: str, key: str, answer: StoredAnswer | None) -> None:
        """Record the answer to a request; None forgets that it began, so that it may be tried again."""
        ...

    async def write_audit(self, at: int, project: str, user: str, event: str, subject: str) -> None:
        """Write a line of the audit: ids and fixed words, never a user's words.

        Lines about an item go when it is forgotten (`agent.ports.threads.ThreadStore.forget_turns`); lines about a call
        stay.
        """
        ...
