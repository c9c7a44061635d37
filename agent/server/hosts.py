"""What a connection needs to know of the server that it is a client of."""

from math import inf
from typing import Protocol

from ..ports.wire import Wire


class Host(Protocol):
    """What the server decides about one client beyond its frames."""

    due: float
    """When the client must have said something, in seconds on the loop's clock."""

    def overdue(self, wire: Wire) -> None:
        """Close the connection of a client that has not."""
        ...

    def hear(self, wire: Wire, said: str | bytes) -> bool:
        """Take note of a whole message; False when it goes no further. Never blocks."""
        ...

    def come_back_in(self) -> int:
        """Return in how many seconds the client should come back when it is sent away; 0 when that is all one."""
        ...


class AnyHost:
    """Lets a client say what it likes, when it likes (implements `Host`)."""

    due = inf

    def overdue(self, wire: Wire) -> None:
        """Do nothing; it never is."""

    def hear(self, wire: Wire, said: str | bytes) -> bool:
        """Let it pass."""
        return True

    def come_back_in(self) -> int:
        """Say nothing."""
        return 0
