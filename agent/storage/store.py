"""The stores of a server in one record, independent of any database."""

from collections.abc import Callable
from dataclasses import dataclass

from ..ports.calls import CallStore
from ..ports.clock import Clock
from ..ports.feedback import FeedbackStore
from ..ports.hints import NO_HINTS, Hints
from ..ports.inbox import InboxStore
from ..ports.ledger import Ledger
from ..ports.nodes import Nodes
from ..ports.projects import ProjectStore
from ..ports.requests import RequestStore
from ..ports.threads import ThreadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """All stores of a server over one database: claiming a kept call changes the call in the ledger's own transaction.

    `used` returns whether anything but the ledger may have been written. `nodes` shows the processes that share the
    database over a server, `None` where none does. `clock` is the time of all of them, `None` for this machine's.
    `hints` tell of other processes' changes.
    """

    ledger: Ledger
    projects: ProjectStore
    threads: ThreadStore
    calls: CallStore
    requests: RequestStore
    feedback: FeedbackStore
    inbox: InboxStore
    used: Callable[[], bool] = lambda: True
    nodes: Nodes | None = None
    clock: Clock | None = None
    hints: Hints = NO_HINTS
