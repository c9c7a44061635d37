"""What the users of one crowd share: where the server is, what they note, and when they have to go."""

from dataclasses import dataclass, field

import trio

from .book import next_run
from .figures import Tally
from .notes import Note
from .pages import Pages
from .wire import HANDSHAKE_TIMEOUT, Line, open_line

PATIENT_CLIENTS = 200  # up to so many; a larger crowd on the same machine waits longer in proportion


def slower(clients: int) -> float:
    """Return by what factor a crowd of so many clients must be more patient with the machine that it shares."""
    return max(1.0, clients / PATIENT_CLIENTS)


@dataclass(frozen=True, slots=True)
class Target:
    """Where the server is, its token if it has one, and the mean seconds a user thinks before it does something.

    clients: how many users there are at a time. tools: whether the server takes tools.
    """

    host: str
    port: int
    token: str | None = None
    think: float = 1.0
    clients: int = 1
    tools: bool = True

    @property
    def slower(self) -> float:
        """By what factor this crowd is more patient."""
        return slower(self.clients)


@dataclass(slots=True)
class Scene:
    """What the users of one crowd share.

    stop: set when they shall settle and leave. drain: set before the server is told to go down; then it may hang up.
    note, pages: as for an account, or a talk's calls. run: tells the numbers of this crowd from those of others.
    """

    target: Target
    tally: Tally
    note: Note | None = None
    pages: Pages | None = None
    run: int = field(default_factory=next_run)
    stop: trio.Event = field(default_factory=trio.Event)
    drain: trio.Event = field(default_factory=trio.Event)

    @property
    def over(self) -> bool:
        """Whether they have to go, or may be told to."""
        return self.stop.is_set() or self.drain.is_set()

    async def line(self, greet: bool = False) -> Line:
        """Open a connection; as `open_line`."""
        target = self.target
        patience = HANDSHAKE_TIMEOUT * target.slower
        return await open_line(target.host, target.port, target.token, greet, patience)
