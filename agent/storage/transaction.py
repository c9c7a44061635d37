"""Requests to the database, and the transaction in which they are written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa


@dataclass(slots=True, kw_only=True)
class Transaction:
    """A write transaction of many requests, of which each succeeds or fails alone. A request may be run twice: where
    another one fails, the whole batch is undone and run again.

    `owner` is the id of this process in the rows that it makes. `dead` returns whether another owner has certainly
    ended. `claimed` lists the ids of rows that the ledger got; they are read back before any caller is answered. A
    request that takes words out of the file sets `erases`: the log is truncated before the request is answered. `noted`
    are rows that the request notes for the follower of its writes.
    """

    connection: sa.Connection
    owner: str = ""
    dead: Callable[[str], bool] = lambda _: False
    claimed: list[str] = field(default_factory=list)
    erases: bool = False
    noted: list[Any] = field(default_factory=list)


T = TypeVar("T")
Read: TypeAlias = Callable[[sa.Connection], T]
Write: TypeAlias = Callable[[Transaction], T]


class FollowedAnswer(Protocol):
    """The result of a followed write: the `answer` for its caller, with more for the follower."""

    @property
    def answer(self) -> Any:
        """The result of the write itself."""
        ...


Follow: TypeAlias = Callable[[Write[Any], Transaction], FollowedAnswer]
"""Runs a write and returns its answer with what has changed."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request to read one state of the database."""

    work: Read[Any]


@dataclass(frozen=True, slots=True)
class FunctionRequest(Generic[T]):
    """A request to write."""

    work: Write[T]

    def write(self, transaction: Transaction) -> T:
        """Write the request and return the answer for its caller."""
        return self.work(transaction)
