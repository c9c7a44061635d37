"""The listening server: one guarded task per connection, and what each connection turns out to be.

    at the door: read the head -> Host, Origin, token -> plain HTTP: the ASGI server
    in a place:  WebSocket: the handler; a question in a plain request, and what the HTTP API does: their APIs

Who finds no room at the door pushes the oldest out, and a place is given only to who has shown the token (limits.py).

This is the first of the three places that catch every exception: a fault ends its own connection, with one line in
the log, and no other. Small writes leave at once: trio sets TCP_NODELAY on every socket stream.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import structlog
import trio

from ..config import FIRST_WORDS, FLUSH_TIMEOUT, TURNED_AWAY_BRIEFLY
from ..errors import WireClosed
from ..ports.observe import Observer
from .accept import Listens, many_at_once
from .addresses import Addresses
from .admission import GUESSING, NEEDS_TOKEN, Admission
from .api.plain import Plain, Seated
from .guest import Guest
from .hypercorn_edge import HttpServer
from .limits import Cap
from .places import Place
from .sniff import Head, Refusal, close_now, hang_up, read_head
from .websocket import Connection, Handler, serve_websocket

_log = structlog.get_logger("agent.server")
_FULL = Refusal(503, "All connections are taken; try again in a moment.", {"Retry-After": "2"})
_CROWDED = Refusal(
    503, "Too many connections wait here and sent no request; try again in a moment.", {"Retry-After": "2"}
)
_PUSHED_OUT = _CROWDED.render()
_GREEDY = Refusal(
    429,
    "Your address has all the connections that one may have; see --max-per-address.",
    {"Retry-After": "10"},
)
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
    cap: the limits, and who is connected.
    addresses: whom a connection counts for. apis: what is answered on the connection itself, each for its own paths.
    """

    admission: Admission
    handler: Handler
    http: HttpServer
    cap: Cap
    observer: Observer
    gate: Gate = field(default_factory=Gate)
    addresses: Addresses = field(default_factory=Addresses)
    apis: tuple[Plain, ...] = ()

    def api_for(self, head: Head) -> Plain | None:
        """Return what answers a request in place of the HTTP server, where it is for that."""
        return next((each for each in self.apis if each.serves(head)), None)

    def render(self, refusal: Refusal, head: Head | None) -> bytes:
        """Return a refusal as who sent this head can read it; None where no head came."""
        if head is None:
            return refusal.render()
        api = self.api_for(head)
        return refusal.render(body=head.method != b"HEAD") if api is None else api.render(refusal, head)


@dataclass(frozen=True, slots=True)
class _LetIn:
    """A client with a place, and its upgrade, or what answers its request."""

    head: Head
    place: Place
    address: str | None
    seated: Seated | None


Seat: TypeAlias = Callable[[], Awaitable[None]]


class _Visit:
    """A connection at the door: the scope that ends when it is pushed out, and how far it is."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.reading = True  # nothing was answered yet


async def serve(
    listeners: Sequence[Listens],
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


async def serve_stream(edge: Edge, stream: trio.abc.Stream, peer: str | None = None) -> None:
    """Serve one connection, over a socket or any other stream, and close it.

    peer: the IP address it counts for; None is that of a socket, or else this machine.
    Raises nothing but Cancelled: a fault is logged, without what the client said, and ends this connection.
    """
    edge.cap.arrive()
    try:
        seat = await _find_seat(edge, stream, peer or _peer(stream))
        if seat is not None:
            await seat()
    except* WireClosed:
        pass  # a client that is gone is nobody's fault
    except* Exception as faults:  # noqa: BLE001 - the edge of one connection
        _log.error("connection failed", exc_info=faults)
    finally:
        edge.cap.depart()
        await close_now(stream)


async def _accept(
    listeners: Sequence[Listens],
    edge: Edge,
    connections: trio.Nursery,
    *,
    task_status: trio.TaskStatus[object],
) -> None:
    handler = partial(serve_stream, edge)
    many = [many_at_once(each, edge.cap.at_once, edge.cap.relieve) for each in listeners]
    await trio.serve_listeners(handler, many, handler_nursery=connections, task_status=task_status)


async def _find_seat(edge: Edge, stream: trio.abc.Stream, peer: str | None) -> "Seat | None":
    """Serve a client at the door; return what serves one that was given a place, which knows no head any more."""
    door, visit = edge.cap.door, _Visit()
    visitor = door.enter(edge.addresses.of_peer(peer), trio.current_time())
    if visitor is None:
        await _turn_away(edge, stream, _CROWDED)
        return None
    door.may_give_way(visitor, visit.scope.cancel, trio.current_time())
    let_in = None
    try:
        with visit.scope:
            let_in = await _at_the_door(edge, stream, peer, visit)
    finally:
        door.leave(visitor)
    if let_in is not None:
        return _seat(edge, stream, let_in)
    if visit.scope.cancelled_caught:
        edge.observer.count("limited", "visitors")
        if visit.reading:
            edge.observer.count("rejections", str(_CROWDED.status))
            await _push_out(stream)
    return None


async def _at_the_door(edge: Edge, stream: trio.abc.Stream, peer: str | None, visit: _Visit) -> _LetIn | None:
    """Find out what a client wants; serve it, unless that needs a place, with which it is returned."""
    head = None if _gone(stream) else await read_head(stream)
    visit.reading = False
    if head is None or _gone(stream):
        edge.observer.count("connections", "left")
        return None
    address = None if isinstance(head, Refusal) else edge.addresses.of_client(peer, head)
    refusal = next((each for each in (head, address) if isinstance(each, Refusal)), None)
    if refusal is None:
        assert isinstance(head, Head)
        assert not isinstance(address, Refusal)
        admitted = _refusal(edge, stream, head, address) or await _admitted(edge, head, address)
        if not isinstance(admitted, Refusal):
            return await _admit(edge, stream, head, address, admitted)
        refusal = admitted
    edge.observer.count("connections", "rejected")
    edge.observer.count("rejections", str(refusal.status))
    await hang_up(stream, edge.render(refusal, head if isinstance(head, Head) else refusal.of))
    return None


def _refusal(edge: Edge, stream: trio.abc.Stream, head: Head, address: str | None) -> Refusal | None:
    """Return why this request is not served, or None. Who shows the right token is refused nothing for wrong ones.

    A lock on an address would also lock out whoever else is behind it, and the token is too long to be guessed; what
    the limit saves is the work on those who try.
    """
    api = edge.api_for(head)
    if api is not None and api.own_keys:
        return edge.admission.check(head, _reached(stream), own_keys=True)
    refusal = edge.admission.check(head, _reached(stream))
    wrong = refusal in (None, NEEDS_TOKEN) and edge.admission.shows_another(head)
    if wrong and not edge.cap.wrong_tokens.take(address, trio.current_time()):
        edge.observer.count("limited", "tokens")
        return GUESSING
    return refusal


async def _admitted(edge: Edge, head: Head, address: str | None) -> Refusal | bytes | Seated | None:
    """Return what an API says to a request for it; None where it is for none."""
    api = edge.api_for(head)
    return None if api is None else await api.admit(head, address)


async def _admit(
    edge: Edge, stream: trio.abc.Stream, head: Head, address: str | None, admitted: bytes | Seated | None
) -> _LetIn | None:
    edge.observer.count("connections", "websocket" if head.upgrade else "http")
    if isinstance(admitted, bytes):
        await hang_up(stream, admitted)
        return None
    if admitted is None and not head.upgrade:
        await edge.http.serve(stream, head)
        return None
    if head.upgrade and not edge.admission.welcomes(head):
        await serve_websocket(stream, head, partial(_unauthorised, edge))
        return None
    place = await edge.cap.places.take(address, trio.current_time())
    if isinstance(place, Place):
        return _LetIn(head, place, address, admitted)
    edge.observer.count("limited", place)
    await _turn_away(edge, stream, _GREEDY if place == "address" else _FULL, head)
    return None


def _seat(edge: Edge, stream: trio.abc.Stream, let_in: _LetIn) -> Seat:
    if let_in.seated is not None:
        return partial(_answer, edge, let_in.seated, stream, let_in.place)
    guest = Guest(edge.cap, let_in.place, let_in.address, edge.observer)
    return partial(
        _host, edge, guest, Connection(stream, let_in.head, guest, edge.admission.user(let_in.head))
    )


async def _answer(edge: Edge, seated: Seated, stream: trio.abc.Stream, place: Place) -> None:
    reading, places = trio.CancelScope(), edge.cap.places
    places.may_give_way(place, reading.cancel, trio.current_time() + FIRST_WORDS)
    try:
        await seated(stream, reading, partial(places.keep, place))
    finally:
        places.leave(place)


async def _host(edge: Edge, guest: Guest, connection: Connection) -> None:
    guest.sit_down(connection)
    try:
        if not await connection.serve(edge.handler):
            edge.observer.count("aborts")
    finally:
        guest.get_up()


async def _unauthorised(edge: Edge, connection: Connection) -> None:
    edge.observer.count("rejections", str(_UNAUTHORISED))
    connection.close(_UNAUTHORISED, "not authorised")
    await trio.lowlevel.checkpoint()


async def _turn_away(edge: Edge, stream: trio.abc.Stream, why: Refusal, head: Head | None = None) -> None:
    """Tell a client over a limit to come back. When many are being told, each gets less time to read it."""
    edge.observer.count("rejections", str(why.status))
    if edge.cap.turned_away.acquire():
        try:
            await hang_up(stream, edge.render(why, head))
        finally:
            edge.cap.turned_away.release()
    else:
        await hang_up(stream, edge.render(why, head), TURNED_AWAY_BRIEFLY)


async def _push_out(stream: trio.abc.Stream) -> None:
    """Say why and be done: one that has sent nothing has nothing unread, so closing at once does not reset it."""
    with trio.move_on_after(FLUSH_TIMEOUT), suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(_PUSHED_OUT)


def _gone(stream: trio.abc.Stream) -> bool:
    """Whether the client has reset the connection, with its request still readable: nobody would get an answer.

    A crowd that resets fills the queue of connections that wait to be accepted; serving the dead would keep those
    behind them waiting for seconds.
    """
    if not isinstance(stream, trio.SocketStream):
        return False
    return bool(stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def _reached(stream: trio.abc.Stream) -> str | None:
    """Return the address that the client reached, where there is one."""
    try:
        return str(stream.socket.getsockname()[0]) if isinstance(stream, trio.SocketStream) else None
    except OSError:
        return None


def _peer(stream: trio.abc.Stream) -> str | None:
    """Return the client's address, where there is one."""
    try:
        return str(stream.socket.getpeername()[0]) if isinstance(stream, trio.SocketStream) else None
    except OSError:
        return None
