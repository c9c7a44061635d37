"""The state table of a connection: from the answer to its upgrade to the end of its socket.

`closing` waits for the client's half of the closing handshake; `flushing` expects nothing more from the client and
waits until all frames are written. A trigger that ends the connection at once skips both.
"""

from ..fsm import StateTable, TableWord, TransitionRow, make_rows


class ConnectionState(TableWord):
    """A state of a connection. `closed` is final."""

    HANDSHAKING = "handshaking"
    OPEN = "open"
    CLOSING = "closing"
    FLUSHING = "flushing"
    CLOSED = "closed"


class ConnectionTrigger(TableWord):
    """An occurrence that the table may have rows for."""

    ACCEPT = "accept"  # the upgrade was right
    GOODBYE = "goodbye"  # we send the first close frame
    PARTED = "parted"  # the client's close frame has come, or a fault after which it may send nothing more
    LEFT = "left"  # the client is gone without a close frame
    IN_VAIN = "in vain"  # the time to wait for the client's close frame is over
    WRITTEN = "written"  # every frame is written
    ABORT = "abort"  # the socket is dropped


class ConnectionGuard(TableWord):
    """No guards: every row of this table is taken unconditionally."""


class ConnectionDeed(TableWord):
    """A step that a row has done after its transition."""

    BEGIN = "begin"
    SAY_GOODBYE = "say_goodbye"
    TAKE_NO_MORE = "take_no_more"
    DELIVER_NO_MORE = "deliver_no_more"
    LET_GO = "let_go"
    DROP = "drop"


_SPEAKING = (ConnectionState.HANDSHAKING, ConnectionState.OPEN)
_WAITING = (*_SPEAKING, ConnectionState.CLOSING)

TABLE: StateTable[ConnectionState, ConnectionTrigger, ConnectionGuard, ConnectionDeed] = StateTable(
    title="Connection",
    states=ConnectionState,
    triggers=ConnectionTrigger,
    guards=ConnectionGuard,
    deeds=ConnectionDeed,
    initial=ConnectionState.HANDSHAKING,
    rows=(
        TransitionRow(
            ConnectionTrigger.ACCEPT,
            ConnectionState.HANDSHAKING,
            None,
            ConnectionState.OPEN,
            (ConnectionDeed.BEGIN,),
        ),
        *make_rows(
            ConnectionTrigger.GOODBYE,
            _SPEAKING,
            None,
            ConnectionState.CLOSING,
            ConnectionDeed.SAY_GOODBYE,
            ConnectionDeed.DELIVER_NO_MORE,
        ),
        *make_rows(
            ConnectionTrigger.PARTED, _WAITING, None, ConnectionState.FLUSHING, ConnectionDeed.TAKE_NO_MORE
        ),
        *make_rows(
            ConnectionTrigger.LEFT,
            _WAITING,
            None,
            ConnectionState.FLUSHING,
            ConnectionDeed.TAKE_NO_MORE,
            ConnectionDeed.DELIVER_NO_MORE,
        ),
        TransitionRow(
            ConnectionTrigger.IN_VAIN,
            ConnectionState.CLOSING,
            None,
            ConnectionState.CLOSED,
            (ConnectionDeed.LET_GO,),
        ),
        TransitionRow(ConnectionTrigger.WRITTEN, ConnectionState.FLUSHING, None, ConnectionState.CLOSED),
        *make_rows(
            ConnectionTrigger.ABORT,
            (*_WAITING, ConnectionState.FLUSHING),
            None,
            ConnectionState.CLOSED,
            ConnectionDeed.DROP,
            ConnectionDeed.DELIVER_NO_MORE,
        ),
    ),
)
