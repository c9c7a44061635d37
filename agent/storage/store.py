"""The stores of a server in one record, independent of any database."""

from collections.abc import Callable
from dataclasses import dataclass

from ..ports.calls import CallStore
from ..ports.ledger import Ledger
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """All stores of a server over one database: claiming a kept call changes the call in the ledger's own transaction.

    `used` returns whether anything but the ledger may have been written.
    """

    ledger: Ledger
    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    requests: RequestStore
    used: Callable[[], bool] = lambda: True
