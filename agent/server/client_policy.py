"""The interface through which a connection asks its server about limits."""

from math import inf
from typing import Protocol

import trio

from ..ports.wire import Wire


class ClientPolicy(Protocol):
    """The server's decisions about one client: when it is idle, which messages pass, when it may reconnect."""

    due: float
    """The deadline of the client's first message, in seconds on the loop's clock."""

    def close_idle(self, wire: Wire) -> None:
        """Close the connection of a client that has sent no message by `due`."""
        ...

    def admit_message(self, wire: Wire, message: str | bytes) -> bool:
        """Count a whole message; return False if it must not reach the session. Never blocks."""
        ...

    def pick_reconnect_delay(self) -> int:
        """Return the seconds after which a client that is sent away should reconnect; 0 for no advice."""
        ...

    async def wait_to_leave(self) -> None:
        """Wait until the connection of a client that has left may end: of a crowd, a few in each pass of the loop."""
        ...


class NoClientPolicy:
    """A policy without limits (implements `ClientPolicy`)."""

    due = inf

    def close_idle(self, wire: Wire) -> None:
        """Do nothing: `due` is infinite."""

    def admit_message(self, wire: Wire, message: str | bytes) -> bool:
        """Let every message pass."""
        return True

    def pick_reconnect_delay(self) -> int:
        """Return 0: no advice."""
        return 0

    async def wait_to_leave(self) -> None:
        """Wait for nobody."""
        await trio.lowlevel.checkpoint()
