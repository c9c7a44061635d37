"""The processes that share one database on a server, and what each of them serves."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A process that shares the database.

    `since` and `seen`, its start and its last heartbeat, are Unix milliseconds by the server's clock. `kb` is a digest
    of the documents that it serves, "" before it has announced them. `version` is that of the package.
    """

    id: str
    since: int
    seen: int
    kb: str
    version: str


class Nodes(Protocol):
    """Shows the processes that share the database."""

    async def announce_documents(self, digest: str) -> None:
        """Show the other processes the digest of the documents served here, with the next heartbeat. Never waits."""
        ...

    async def list_nodes(self) -> tuple[Node, ...]:
        """Return the processes that live, this one among them, the oldest first. Raises `StorageFailed`."""
        ...
