"""The listening server: one guarded task per connection, and what each connection turns out to be.

    at the door: read the head -> Host, Origin -> what is answered at once (http.py)
    in a place:  WebSocket: the handler; a question in a plain request, and what the HTTP API does (http.py)

Who finds no room at the door pushes the oldest out, and a place is given only to who has shown the token (limits.py).
A connection may carry one request after the other (exchange.py); in between it waits at the door, for IDLE_TIMEOUT
seconds, where it gives way like all others, and a server that goes down waits for none of those.

This is the first of the three places that catch every exception: a fault ends its own connection, with one line in
the log, and no other. Small writes leave at once: trio sets TCP_NODELAY on every socket stream.
"""

import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import structlog
import trio

from ..config import FIRST_WORDS, FLUSH_TIMEOUT, IDLE_TIMEOUT, REQUESTS_MOST, TURNED_AWAY_BRIEFLY
from ..errors import WireClosed
from ..ports.observe import Observer
from .accept import Listens, many_at_once
from .addresses import Addresses
from .admission import Admission
from .answers import Answer
from .exchange import Exchange, Seated
from .guest import Guest
from .http import HttpServer
from .limits import Cap
from .places import Place
from .sniff import Head, Refusal, close_now, hang_up, read_head, receive
from .websocket import Connection, Handler, serve_websocket

_log = structlog.get_logger("agent.server")
_FULL = Refusal(503, "All connections are taken; try again in a moment.", {"Retry-After": "2"})
_CROWDED = Refusal(
    503, "Too many connections wait here and sent no request; try again in a moment.", {"Retry-After": "2"}
)
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
        self._idle: set[trio.CancelScope] = set()

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
        """Accept no more; the connections there are go on, those in their handshake too. Idempotent.

        Those that wait for their next request end.
        """
        self.accepting.cancel()
        for scope in self._idle:
            scope.cancel()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for a next request in the block, for IDLE_TIMEOUT seconds and not once the server goes down."""
        with trio.move_on_after(0 if self.draining else IDLE_TIMEOUT) as scope:
            self._idle.add(scope)
            try:
                yield
            finally:
                self._idle.discard(scope)


@dataclass(frozen=True, slots=True)
class Edge:
    """What every connection of one server shares.

    handler: runs the session of an accepted WebSocket; it reads and alone writes, until the session is over.
    cap: the limits, and who is connected.
    addresses: whom a connection counts for.
    """

    admission: Admission
    handler: Handler
    http: HttpServer
    cap: Cap
    observer: Observer
    gate: Gate = field(default_factory=Gate)
    addresses: Addresses = field(default_factory=Addresses)

    def render(self, refusal: Refusal, head: Head | None) -> bytes:
        """Return a refusal as who sent this head can read it; None where no head came."""
        return self.http.tell(refusal, head).render(head is None or head.method != b"HEAD")


@dataclass(frozen=True, slots=True)
class _LetIn:
    """A client with a place, and its upgrade, or what answers its request."""

    head: Head
    place: Place
    address: str | None
    seated: Seated | None
    exchange: Exchange


Seat: TypeAlias = Callable[[], Awaitable[bool]]
"""Serves a client in its place; returns whether another request may follow."""


class _Visit:
    """A connection at the door for one request: the scope that ends when it is pushed out, and how far it is.

    served: how many requests it has had answered before.
    """

    def __init__(self, served: int) -> None:
        self.served = served
        self.scope = trio.CancelScope()
        self.silent = served > 0  # nothing of a next request has come, and nothing can be answered
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
        await _serve_requests(edge, stream, peer or _peer(stream))
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


async def _serve_requests(edge: Edge, stream: trio.abc.Stream, peer: str | None) -> None:
    """Serve one request after the other, until none may follow or none does."""
    for served in range(REQUESTS_MOST):
        goes_on = await _find_seat(edge, stream, peer, _Visit(served))
        if not isinstance(goes_on, bool):
            goes_on = await goes_on()
        if not goes_on:
            return


async def _find_seat(edge: Edge, stream: trio.abc.Stream, peer: str | None, visit: _Visit) -> Seat | bool:
    """Serve a client at the door; return what serves one that was given a place, which knows no head any more.

    False: nothing may follow. True: another request may.
    """
    door = edge.cap.door
    visitor = door.enter(edge.addresses.of_peer(peer), trio.current_time())
    if visitor is None:
        if not visit.served:
            await _turn_away(edge, stream, _CROWDED)
        return False
    door.may_give_way(visitor, visit.scope.cancel, trio.current_time())
    let_in: _LetIn | bool = False
    try:
        with visit.scope:
            let_in = await _at_the_door(edge, stream, peer, visit)
    finally:
        door.leave(visitor)
    if isinstance(let_in, _LetIn):
        return _seat(edge, stream, let_in)
    if visit.scope.cancelled_caught:
        edge.observer.count("limited", "visitors")
        if visit.reading and not visit.silent:
            edge.observer.count("rejections", str(_CROWDED.status))
            await _push_out(edge, stream)
    return let_in


async def _read_head(edge: Edge, stream: trio.abc.Stream, visit: _Visit) -> Head | Refusal | None:
    """Read the head of a request; None where none comes. The next one of a connection may begin in its own time."""
    begun = b""
    if visit.silent:
        with edge.cap.idling(), edge.gate.waiting():
            begun = await receive(stream)
        if not begun:
            return None
        visit.silent = False
    return await read_head(stream, begun)


async def _at_the_door(edge: Edge, stream: trio.abc.Stream, peer: str | None, visit: _Visit) -> _LetIn | bool:
    """Find out what a client wants; serve it, unless that needs a place, with which it is returned.

    False: nothing may follow. True: another request may.
    """
    head = None if _gone(stream) else await _read_head(edge, stream, visit)
    visit.reading = False
    if head is None or _gone(stream):
        if not visit.served:
            edge.observer.count("connections", "left")
        return False
    address = None if isinstance(head, Refusal) else edge.addresses.of_client(peer, head)
    refusal = next((each for each in (head, address) if isinstance(each, Refusal)), None)
    if refusal is None:
        assert isinstance(head, Head)
        assert not isinstance(address, Refusal)
        admitted = await _admitted(edge, stream, head, address)
        if not isinstance(admitted, Refusal):
            may_persist = visit.served + 1 < REQUESTS_MOST
            exchange = Exchange(stream, head, edge.observer, lambda: may_persist and not edge.gate.draining)
            if not visit.served or head.upgrade:
                edge.observer.count("connections", "websocket" if head.upgrade else "http")
            return await _admit(edge, stream, exchange, address, admitted)
        refusal = admitted
    if not visit.served:
        edge.observer.count("connections", "rejected")
    edge.observer.count("rejections", str(refusal.status))
    await hang_up(stream, edge.render(refusal, head if isinstance(head, Head) else refusal.of))
    return False


async def _admitted(
    edge: Edge, stream: trio.abc.Stream, head: Head, address: str | None
) -> Refusal | Answer | Seated | None:
    """Return why a request is not served, its answer, or what answers it in a place; None for a WebSocket."""
    refusal = edge.admission.check(head, _reached(stream))
    if refusal is not None:
        return refusal
    return edge.http.refuse_guesses(head, address) if head.upgrade else await edge.http.admit(head, address)


async def _admit(
    edge: Edge,
    stream: trio.abc.Stream,
    exchange: Exchange,
    address: str | None,
    admitted: Answer | Seated | None,
) -> _LetIn | bool:
    head = exchange.head
    if isinstance(admitted, Answer):
        await exchange.answer(admitted)
        if not exchange.goes_on:
            await hang_up(stream)
        return exchange.goes_on
    if head.upgrade and not edge.admission.welcomes(head):
        await serve_websocket(stream, head, partial(_unauthorised, edge))
        return False
    place = await edge.cap.places.take(address, trio.current_time())
    if isinstance(place, Place):
        return _LetIn(head, place, address, admitted, exchange)
    edge.observer.count("limited", place)
    await _turn_away(edge, stream, _GREEDY if place == "address" else _FULL, head)
    return False


def _seat(edge: Edge, stream: trio.abc.Stream, let_in: _LetIn) -> Seat:
    if let_in.seated is not None:
        return partial(_answer, edge, let_in.seated, let_in.exchange, stream, let_in.place)
    guest = Guest(edge.cap, let_in.place, let_in.address, edge.observer)
    return partial(
        _host, edge, guest, Connection(stream, let_in.head, guest, edge.admission.user(let_in.head))
    )


async def _answer(
    edge: Edge, seated: Seated, exchange: Exchange, stream: trio.abc.Stream, place: Place
) -> bool:
    reading, places = trio.CancelScope(), edge.cap.places
    places.may_give_way(place, reading.cancel, trio.current_time() + FIRST_WORDS)
    try:
        await seated(exchange, reading, partial(places.keep, place))
    finally:
        places.leave(place)
    if not exchange.goes_on:
        await hang_up(stream)
    return exchange.goes_on


async def _host(edge: Edge, guest: Guest, connection: Connection) -> bool:
    guest.sit_down(connection)
    try:
        if not await connection.serve(edge.handler):
            edge.observer.count("aborts")
    finally:
        guest.get_up()
    return False


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


async def _push_out(edge: Edge, stream: trio.abc.Stream) -> None:
    """Say why and be done: one that has sent nothing has nothing unread, so closing at once does not reset it."""
    with trio.move_on_after(FLUSH_TIMEOUT), suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(edge.render(_CROWDED, None))


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
