"""The state table of a connection: from the answer to its upgrade to the end of its socket.

`closing` waits for the client's half of the closing handshake; `flushing` expects nothing more from the client and
waits until all frames are written. A trigger that ends the connection at once skips both.

A row reads: on a trigger (`_T`), in these states (`_S`), without a guard, go to that state and do the deeds (`_D`).
"""

from ..fsm import StateTable, TableWord, make_rows


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

    START_IO = "start_io"
    SEND_CLOSE_FRAME = "send_close_frame"
    CLOSE_OUTBOX = "close_outbox"
    STOP_DELIVERY = "stop_delivery"
    CLOSE_STREAM = "close_stream"
    DROP_STREAM = "drop_stream"


_S, _T, _G, _D = ConnectionState, ConnectionTrigger, ConnectionGuard, ConnectionDeed

_SPEAKING = (_S.HANDSHAKING, _S.OPEN)
_WAITING = (*_SPEAKING, _S.CLOSING)

TABLE: StateTable[ConnectionState, ConnectionTrigger, ConnectionGuard, ConnectionDeed] = StateTable(
    title="Connection",
    states=ConnectionState,
    triggers=ConnectionTrigger,
    guards=ConnectionGuard,
    deeds=ConnectionDeed,
    initial=_S.HANDSHAKING,
    rows=(
        *make_rows(_T.ACCEPT, _S.HANDSHAKING, None, _S.OPEN, _D.START_IO),
        *make_rows(_T.GOODBYE, _SPEAKING, None, _S.CLOSING, _D.SEND_CLOSE_FRAME, _D.STOP_DELIVERY),
        *make_rows(_T.PARTED, _WAITING, None, _S.FLUSHING, _D.CLOSE_OUTBOX),
        *make_rows(_T.LEFT, _WAITING, None, _S.FLUSHING, _D.CLOSE_OUTBOX, _D.STOP_DELIVERY),
        *make_rows(_T.IN_VAIN, _S.CLOSING, None, _S.CLOSED, _D.CLOSE_STREAM),
        *make_rows(_T.WRITTEN, _S.FLUSHING, None, _S.CLOSED),
        *make_rows(_T.ABORT, (*_WAITING, _S.FLUSHING), None, _S.CLOSED, _D.DROP_STREAM, _D.STOP_DELIVERY),
    ),
)
