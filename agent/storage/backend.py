"""The port below `Database`: a database of any make that is opened, written in batches, read and closed.

`places.py` names the implementations. All functions of a backend block, and one thread uses it at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
import trio

from ..errors import AgentError
from ..ports.clock import Clock
from ..ports.hints import Hints
from ..ports.work import RunSync
from .contents import DatabaseContents
from .stall_watch import Progress
from .transaction import Transaction

E = TypeVar("E", bound=Exception)

BAD_REQUEST = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of a request that is itself at fault, of any database."""

LOCK_WAIT = 1.0  # seconds for another process's write; less than the runner's time for a claim or a record


class WriteRequest(Protocol):
    """A request to write."""

    def write(self, transaction: Transaction) -> Any:
        """Write the request and return the answer for its caller; raises `AgentError` when it is refused."""
        ...


@dataclass(slots=True, kw_only=True)
class BatchReport:
    """The result of a batch.

    `answers` holds the return value of each request; with a `trouble` they count for nothing. `refused` maps the place
    of a request in the batch to the error that refused it; `faults` maps a place to the reason why the request can
    never be written, `busy` to the reason why it was not written this time. `erasing` lists the places of requests that
    take words out of a file. `trouble` is the reason why the batch failed, "" once it is on disk.
    """

    answers: list[Any]
    refused: dict[int, AgentError] = field(default_factory=dict)
    faults: dict[int, str] = field(default_factory=dict)
    busy: dict[int, str] = field(default_factory=dict)
    erasing: list[int] = field(default_factory=list)
    trouble: str = ""


class Backend(Protocol):
    """An implementation of a database.

    `progress` is that of the thread that uses it. `faults` are the errors of `open` when the database is at fault.
    `in_order` says that one transaction writes at a time, so that numbers of rows come in the order of commits.
    `upkeep_every` is the seconds between two calls of `keep_up`, infinite where there is nothing to do. `has_nodes`
    says that the processes that share the database have rows in the table `nodes`.
    """

    progress: Progress
    faults: tuple[type[Exception], ...]
    in_order: bool
    upkeep_every: float
    has_nodes: bool

    @property
    def clock(self) -> Clock:
        """The time of all processes that share the database."""
        ...

    def open(self) -> None:
        """Open the database, settle the work of dead processes, prune old rows; raises one of `faults`."""
        ...

    def commit(self, requests: Sequence[WriteRequest]) -> BatchReport:
        """Write `requests` in one transaction. An empty batch writes too, to find out whether the database works."""
        ...

    def read_each(self, works: Sequence[Callable[[sa.Connection], Any]]) -> list[Any]:
        """Run several reads; return for each its result or the error that it raised."""
        ...

    def keep_up(self, documents: str) -> str:
        """Show that this process lives and serves documents of this digest, and do the waiting work. Return the
        trouble, or "".

        Ends the work of processes that have died meanwhile.
        """
        ...

    def count_foreign_commits(self) -> int | None:
        """Return a number that grows with each commit of another process, or `None` while that is unknown.

        The only function for the event loop: it never waits.
        """
        ...

    def close(self) -> None:
        """Close the database. Claims that have no outcome are settled, at the latest when it is opened again."""
        ...


class DatabasePlace(Protocol):
    """A place for databases: a folder, the memory of this process, or a server. `str` names it without any secret.

    `is_server`: other machines use it too, and it may be away for a while. `reads_beside` says that reads may have a
    connection of their own, beside the one that writes.
    """

    is_server: bool
    reads_beside: bool

    def make_backend(self, clock: Clock, contents: DatabaseContents, beside: bool = False) -> Backend:
        """Return a backend that is not open yet.

        `clock` stamps the rows of dead owners. `beside` says that this process has the database open already.
        """
        ...

    def carry_hints(self, run_sync: RunSync, nursery: trio.Nursery) -> Hints:
        """Return the hints between the processes that use this place, which are carried until `nursery` is cancelled.

        `run_sync` runs blocking functions. No task of `nursery` raises, whether or not the connection fails.
        """
        ...


def reason(error: BaseException) -> str:
    """Return the cause of `error` in one line, without its statement and values."""
    cause = getattr(error, "orig", None) or error
    return (str(getattr(cause, "strerror", None) or cause) or type(cause).__name__).splitlines()[0]


def strip_traceback(error: E) -> E:
    """Return `error` without its traceback and causes.

    These hold statements. A thread that drops the last reference would end the statements, and so wait for the database
    and its disk.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
