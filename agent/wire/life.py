"""A connection's life as a table: from the answer to its upgrade to its socket's end.

`closing` waits for the client's half of the closing handshake; `flushing` waits for nothing more from the client, only
for what is still to be written. What ends a connection at once skips both.
"""

from ..fsm import Row, Table, Word, rows


class Life(Word):
    """Where a connection is. `closed` is final."""

    HANDSHAKING = "handshaking"
    OPEN = "open"
    CLOSING = "closing"
    FLUSHING = "flushing"
    CLOSED = "closed"


class Happening(Word):
    """What can happen to a connection."""

    ACCEPT = "accept"  # its upgrade was right
    GOODBYE = "goodbye"  # we say the first close frame
    PARTED = "parted"  # the client's close frame has come, or a fault that ends what it may say
    LEFT = "left"  # the client is gone without one
    IN_VAIN = "in vain"  # it was waited for long enough
    WRITTEN = "written"  # nothing waits any more
    ABORT = "abort"  # the socket is dropped


class Guard(Word):
    """There is none: what happens is never refused for a fact."""


class Deed(Word):
    """What is done about it."""

    BEGIN = "begin"
    SAY_GOODBYE = "say_goodbye"
    TAKE_NO_MORE = "take_no_more"
    DELIVER_NO_MORE = "deliver_no_more"
    LET_GO = "let_go"
    DROP = "drop"


_SPEAKING = (Life.HANDSHAKING, Life.OPEN)
_WAITING = (*_SPEAKING, Life.CLOSING)

TABLE: Table[Life, Happening, Guard, Deed] = Table(
    title="Connection",
    states=Life,
    triggers=Happening,
    guards=Guard,
    deeds=Deed,
    initial=Life.HANDSHAKING,
    rows=(
        Row(Happening.ACCEPT, Life.HANDSHAKING, None, Life.OPEN, (Deed.BEGIN,)),
        *rows(Happening.GOODBYE, _SPEAKING, None, Life.CLOSING, Deed.SAY_GOODBYE, Deed.DELIVER_NO_MORE),
        *rows(Happening.PARTED, _WAITING, None, Life.FLUSHING, Deed.TAKE_NO_MORE),
        *rows(Happening.LEFT, _WAITING, None, Life.FLUSHING, Deed.TAKE_NO_MORE, Deed.DELIVER_NO_MORE),
        Row(Happening.IN_VAIN, Life.CLOSING, None, Life.CLOSED, (Deed.LET_GO,)),
        Row(Happening.WRITTEN, Life.FLUSHING, None, Life.CLOSED),
        *rows(
            Happening.ABORT, (*_WAITING, Life.FLUSHING), None, Life.CLOSED, Deed.DROP, Deed.DELIVER_NO_MORE
        ),
    ),
)
