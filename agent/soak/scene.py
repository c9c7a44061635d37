"""The shared state of the users of one crowd: the server's address, the note takers, and the signals to leave."""

from dataclasses import dataclass, field
from random import Random

import trio

from .book import next_run
from .figures import Tally
from .notes import NoteWriter
from .pages import Pages
from .wire import HANDSHAKE_TIMEOUT, ClientSocket, open_socket

PATIENT_CLIENTS = 200  # up to so many; a larger crowd on the same machine waits longer in proportion


def slower(clients: int) -> float:
    """Return the factor by which a crowd of `clients` users must be more patient with the machine that it shares."""
    return max(1.0, clients / PATIENT_CLIENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The server's address, its token if it has one, and the mean seconds that a user thinks before each act.

    `clients`: the number of users at a time. `tools`: whether the server takes tools.
    """

    host: str
    port: int
    token: str | None = None
    think: float = 1.0
    clients: int = 1
    tools: bool = True

    @property
    def slower(self) -> float:
        """The factor by which this crowd is more patient."""
        return slower(self.clients)


@dataclass(slots=True, kw_only=True)
class Scene:
    """The shared state of one crowd.

    `stop`: set when the users shall settle and leave. `drain`: set before the server drains; from then on it may hang
    up. `note`, `pages`: as for an `Account`, or a talk's calls. `run`: tells the numbers of this crowd from those of
    others.
    """

    target: Target
    tally: Tally
    note: NoteWriter | None = None
    pages: Pages | None = None
    run: int = field(default_factory=next_run)
    stop: trio.Event = field(default_factory=trio.Event)
    drain: trio.Event = field(default_factory=trio.Event)

    @property
    def over(self) -> bool:
        """Whether the users have to go, or the server may end their connections."""
        return self.stop.is_set() or self.drain.is_set()

    async def pause(self, rng: Random, mean: float) -> None:
        """Let a user think for `mean` seconds on average, or until the users have to settle."""
        with trio.move_on_after(rng.expovariate(1 / mean)):
            await self.stop.wait()

    async def cut_short(self, staying: trio.CancelScope) -> None:
        """Cancel `staying`, the acts of one user, when the users have to settle."""
        await self.stop.wait()
        staying.cancel()

    async def line(self, offers: str = "") -> ClientSocket:
        """Open a connection, as `open_socket` does."""
        target = self.target
        patience = HANDSHAKE_TIMEOUT * target.slower
        return await open_socket(target.host, target.port, target.token, offers, patience)
