"""The listening server: one guarded task per connection, and what each connection turns out to be.

    capped? -> read the head -> Host, Origin, token -> WebSocket: the handler | plain HTTP: the ASGI server

This is the first of the three places that catch every exception: a fault ends its own connection, with one line in
the log, and no other. Small writes leave at once: trio sets TCP_NODELAY on every socket stream.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
import trio

from ..config import TURNED_AWAY, TURNED_AWAY_BRIEFLY
from ..errors import WireClosed
from ..ports.observe import Observer
from .accept import ManyAtOnce
from .admission import Admission
from .hypercorn_edge import HttpServer
from .limits import Cap
from .sniff import Head, Refusal, hang_up, read_head
from .websocket import Connection, Handler, serve_websocket

_log = structlog.get_logger("agent.server")
_FULL = Refusal(503, "All connections are taken; try again in a moment.", {"Retry-After": "2"})
_UNAUTHORISED = 4401


class Gate:
    """Whether the server takes new connections. It opens when it listens and closes once, for good.

    trouble: what an open server cannot do just now, as a sentence; it accepts connections all the same.
    """

    def __init__(self) -> None:
        self.accepting = trio.CancelScope()  # around the accept loop
        self.trouble = ""
        self._open = False

    @property
    def unready(self) -> str:
        """Why new clients should be sent elsewhere, as a sentence; "" when they are welcome."""
        if self.draining:
            return "The server is going down."
        return self.trouble if self._open else "The server is starting."

    @property
    def draining(self) -> bool:
        """Whether `drain` was called."""
        return self.accepting.cancel_called

    def open(self) -> None:
        """Note that the server listens."""
        self._open = True

    def drain(self) -> None:
        """Accept no more; the connections there are go on, those in their handshake too. Idempotent."""
        self.accepting.cancel()


@dataclass(frozen=True, slots=True)
class Edge:
    """What every connection of one server shares.

    handler: runs the session of an accepted WebSocket; it reads and alone writes, until the session is over.
    cap: counts connections. turned_away: those over the cap that are told so at leisure.
    """

    admission: Admission
    handler: Handler
    http: HttpServer
    cap: Cap
    observer: Observer
    gate: Gate = field(default_factory=Gate)
    turned_away: Cap = field(default_factory=lambda: Cap(TURNED_AWAY))


async def serve(
    listeners: Sequence[trio.SocketListener],
    edge: Edge,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept and serve connections until the gate drains, then see the ones there are to their end.

    Started when it listens. Returns when it has drained and the last connection has ended; the listeners are
    closed as soon as it accepts no more. Cancelled, every connection ends at once.
    """
    async with trio.open_nursery() as connections:
        with edge.gate.accepting:
            async with trio.open_nursery() as accepting:
                await accepting.start(partial(_accept, listeners, edge, connections))
                edge.gate.open()
                task_status.started()


async def serve_stream(edge: Edge, stream: trio.abc.Stream) -> None:
    """Serve one connection, over a socket or any other stream, and close it.

    Raises nothing but Cancelled: a fault is logged, without what the client said, and ends this connection.
    """
    try:
        if edge.cap.acquire():
            try:
                await _serve(edge, stream)
            finally:
                edge.cap.release()
        else:
            await _turn_away(edge, stream)
    except* WireClosed:
        pass  # a client that is gone is nobody's fault
    except* Exception as faults:  # noqa: BLE001 - the edge of one connection
        _log.error("connection failed", exc_info=faults)
    finally:
        await trio.aclose_forcefully(stream)


async def _accept(
    listeners: Sequence[trio.SocketListener],
    edge: Edge,
    connections: trio.Nursery,
    *,
    task_status: trio.TaskStatus[object],
) -> None:
    handler = partial(serve_stream, edge)
    many = [ManyAtOnce(each) for each in listeners]
    await trio.serve_listeners(handler, many, handler_nursery=connections, task_status=task_status)


async def _serve(edge: Edge, stream: trio.abc.Stream) -> None:
    head = None if _gone(stream) else await read_head(stream)
    if head is None or _gone(stream):
        edge.observer.count("connections", "left")
        return
    refusal = head if isinstance(head, Refusal) else edge.admission.check(head, _address(stream))
    if refusal is not None:
        edge.observer.count("connections", "rejected")
        edge.observer.count("rejections", str(refusal.status))
        await hang_up(stream, refusal.render(body=not (isinstance(head, Head) and head.method == b"HEAD")))
        return
    assert isinstance(head, Head)
    if head.upgrade:
        edge.observer.count("connections", "websocket")
        welcome = edge.admission.authorised(head)
        await serve_websocket(stream, head, partial(_session if welcome else _unauthorised, edge))
    else:
        edge.observer.count("connections", "http")
        await edge.http.serve(stream, head)


async def _session(edge: Edge, connection: Connection) -> None:
    try:
        await edge.handler(connection)
    finally:
        if connection.aborted:
            edge.observer.count("aborts")


async def _unauthorised(edge: Edge, connection: Connection) -> None:
    edge.observer.count("rejections", str(_UNAUTHORISED))
    connection.put_close(_UNAUTHORISED, "not authorised")
    await trio.lowlevel.checkpoint()


async def _turn_away(edge: Edge, stream: trio.abc.Stream) -> None:
    """Tell a client over the cap to come back. When many are being told, each gets less time to read it."""
    edge.observer.count("rejections", "503")
    if edge.turned_away.acquire():
        try:
            await hang_up(stream, _FULL.render())
        finally:
            edge.turned_away.release()
    else:
        await hang_up(stream, _FULL.render(), TURNED_AWAY_BRIEFLY)


def _gone(stream: trio.abc.Stream) -> bool:
    """Whether the client has reset the connection, with its request still readable: nobody would get an answer.

    A crowd that resets fills the queue of connections that wait to be accepted; serving the dead would keep those
    behind them waiting for seconds.
    """
    if not isinstance(stream, trio.SocketStream):
        return False
    return bool(stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def _address(stream: trio.abc.Stream) -> str | None:
    """Return the address that the client reached, where there is one."""
    try:
        return str(stream.socket.getsockname()[0]) if isinstance(stream, trio.SocketStream) else None
    except OSError:
        return None
