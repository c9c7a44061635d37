"""A connection's life as a table: from the answer to its upgrade to its socket's end.

`closing` waits for the client's half of the closing handshake; `flushing` waits for nothing more from the client, only
for what is still to be written. What ends a connection at once skips both.
"""

from enum import Enum

from ..fsm import Row, Table, rows


class Life(Enum):
    """Where a connection is. `closed` is final."""

    HANDSHAKING = "handshaking"
    OPEN = "open"
    CLOSING = "closing"
    FLUSHING = "flushing"
    CLOSED = "closed"


class Happening(Enum):
    """What can happen to a connection."""

    ACCEPT = "accept"  # its upgrade is answered, and it is read
    GOODBYE = "goodbye"  # we say the first close frame
    PARTED = "parted"  # the client's close frame has come, or a fault that ends what it may say
    LEFT = "left"  # the client is gone without one
    IN_VAIN = "in vain"  # it was waited for long enough
    WRITTEN = "written"  # nothing waits any more
    ABORT = "abort"  # the socket is dropped


_SPEAKING = (Life.HANDSHAKING, Life.OPEN)

TABLE: Table[Life, Happening] = Table(
    title="Connection",
    states=Life,
    triggers=Happening,
    initial=Life.HANDSHAKING,
    rows=(
        Row(Happening.ACCEPT, Life.HANDSHAKING, None, Life.OPEN),
        *rows(Happening.GOODBYE, _SPEAKING, None, Life.CLOSING),
        *rows(Happening.PARTED, (*_SPEAKING, Life.CLOSING), None, Life.FLUSHING),
        *rows(Happening.LEFT, (*_SPEAKING, Life.CLOSING), None, Life.FLUSHING),
        Row(Happening.IN_VAIN, Life.CLOSING, None, Life.CLOSED),
        Row(Happening.WRITTEN, Life.FLUSHING, None, Life.CLOSED),
        *rows(Happening.ABORT, (*_SPEAKING, Life.CLOSING, Life.FLUSHING), None, Life.CLOSED),
    ),
)
