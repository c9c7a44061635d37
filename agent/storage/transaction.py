"""What a request to the database sees of the transaction that it is written in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

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


T = TypeVar("T")
Read: TypeAlias = Callable[[sa.Connection], T]
Write: TypeAlias = Callable[[Transaction], T]


@dataclass(frozen=True, slots=True)
class Reading:
    """A request that reads one state of the database."""

    work: Read[Any]


@dataclass(frozen=True, slots=True)
class Writing(Generic[T]):
    """A request that writes."""

    work: Write[T]

    def write(self, transaction: Transaction) -> T:
        """Write it, and return what its caller is answered."""
        return self.work(transaction)
