"""What a request to the database sees of the transaction that it is written in."""

from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa


@dataclass(slots=True)
class Transaction:
    """A write transaction, which holds many requests, each in a savepoint of its own.

    owner: who this process is in the rows that it makes. dead: whether another owner has certainly ended.
    claimed: ids of the rows that the ledger got in it, which are read back before anybody is told. erases: set by a
    request that takes words out of the file: they are out of its log too before it is answered.
    """

    connection: sa.Connection
    owner: str = ""
    dead: Callable[[str], bool] = lambda _: False
    claimed: list[str] = field(default_factory=list)
    erases: bool = False
