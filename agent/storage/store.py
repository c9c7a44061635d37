"""What a server keeps, as its parts: one value that knows no database."""

from collections.abc import Callable
from dataclasses import dataclass

from ..ports.calls import CallStore
from ..ports.ledger import Ledger
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore


@dataclass(frozen=True, slots=True)
class Store:
    """All that is kept, in one place: a claim of a kept call changes the call in the ledger's own transaction.

    used: whether anything but actions may be kept in it.
    """

    ledger: Ledger
    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    requests: RequestStore
    used: Callable[[], bool] = lambda: True
