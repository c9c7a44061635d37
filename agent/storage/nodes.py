"""The processes that share a database on a server: the port `Nodes` over the table `nodes`.

Each shows a heartbeat in its row (`postgres/node.py`). In a folder there is no such table: processes that share one
find each other by the locks of files.
"""

import sqlalchemy as sa
import trio

from ..ports.nodes import Node
from .database import Database
from .schema import nodes
from .settings import NODE_DEAD_AFTER

_NEWEST = sa.select(sa.func.max(nodes.c.seen)).scalar_subquery()
_LIVING = (
    sa.select(nodes)
    .where(
        nodes.c.seen > _NEWEST - int(NODE_DEAD_AFTER * 1000)
    )  # the newest heartbeat is as good as the time
    .order_by(nodes.c.since, nodes.c.id)
)


class DatabaseNodes:
    """The processes that share an open database (implements `agent.ports.nodes.Nodes`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def announce_documents(self, digest: str) -> None:
        """Show the other processes the digest of the documents that this one serves, with its next heartbeat."""
        await trio.lowlevel.checkpoint()
        self._database.announce_documents(digest)

    async def list_nodes(self) -> tuple[Node, ...]:
        """Return the processes that live, this one among them, the oldest first."""
        return await self._database.read(load_nodes)


def load_nodes(connection: sa.Connection) -> tuple[Node, ...]:
    """Return the processes that live, the oldest first."""
    return tuple(Node(**row) for row in connection.execute(_LIVING).mappings())
