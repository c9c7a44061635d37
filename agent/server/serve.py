"""The listening server: one guarded task per connection.

    at the door: read the head -> Host, Origin -> routes that are answered at once (http_server.py)
    in a place:  a WebSocket's session (websocket.py), or questions and the HTTP API (http_server.py)

A newcomer to a full door pushes the oldest connection out; only clients with the token get a place (`limits.py`).
A connection carries up to `REQUESTS_MOST` requests, one after the other (`http_exchange.py`). Between two of them it
waits at the door for at most `IDLE_TIMEOUT` seconds; there it gives way to newcomers, and a drain ends it at once.

This is the first of the three places that catch every exception: a fault ends its own connection, with one line in
the log, and no other. Small writes leave at once: trio sets `TCP_NODELAY` on every socket stream.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TypeAlias

import structlog
import trio

from ..config import FLUSH_TIMEOUT
from ..errors import WireClosed
from ..ports.observe import Observer
from ..protocol.kinds import KIND_OF_PATH
from .accept import ListenerSource, make_listener
from .addresses import Addresses
from .admission import NEEDS_TOKEN, Admission
from .capacity import Place
from .client_limits import ClientLimits
from .gate import Gate
from .http_exchange import HttpExchange, PlacedHandler
from .http_server import HttpServer
from .limits import ConnectionLimits
from .request_head import Head, Refusal, close_now, hang_up, read_head, receive
from .responses import Answer
from .service import ShownKey
from .settings import FIRST_WORDS, TURNED_AWAY_BRIEFLY
from .sockets import is_reset, local_address, may_have_unread, peer_address
from .websocket import Connection, Handler, serve_websocket

REQUESTS_MOST = 100  # of one connection

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
UNAUTHORISED = 4401
"""The close code of a WebSocket without a right token or key."""
TOKEN_OVER = "the token is over: connect again with a new one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The parts of one server that all its connections share.

    `handler` runs the session of an accepted WebSocket; it reads, and it alone writes, until the session is over.
    `limits`: the limits, and the count of connections. `addresses` finds the address that a connection counts for.
    `has_voice`: whether a client that offers voice gets a connection with voice. `halves`: the paths of the halves of
    voice that are served; any other is a path that does not exist.
    """

    admission: Admission
    handler: Handler
    http: HttpServer
    limits: ConnectionLimits
    observer: Observer
    gate: Gate = field(default_factory=Gate)
    addresses: Addresses = field(default_factory=Addresses)
    has_voice: bool = False
    halves: Collection[bytes] = ()

    def render(self, refusal: Refusal, head: Head | None) -> bytes:
        """Return a refusal as bytes, in the shape that the client of `head` reads. None: no head came."""
        return self.http.answer_refusal(refusal, head).render(head is None or head.method != b"HEAD")


@dataclass(frozen=True, slots=True)
class _PlacedClient:
    """A client with a place.

    `admitted` answers its request; of an upgrade, it is the project's key that it has shown, or None.
    """

    head: Head
    place: Place
    address: str | None
    admitted: PlacedHandler | ShownKey | None
    exchange: HttpExchange


ClientTask: TypeAlias = Callable[[], Awaitable[bool]]
"""Serves a client in its place. Returns whether another request may follow on the connection."""


class _Visit:
    """A connection at the door for its request number `served`, from 0. `scope` is cancelled to push it out."""

    def __init__(self, served: int) -> None:
        self.served = served
        self.scope = trio.CancelScope()
        self.silent = served > 0  # no byte of the next request has come, so there is nothing to answer
        self.reading = True  # no answer has begun


async def serve(
    listeners: Sequence[ListenerSource],
    edge: Edge,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept and serve connections until the gate drains, then wait for the end of the open ones.

    Calls `task_status.started` once it listens. Returns after the drain, when the last connection has ended; the
    listeners are closed as soon as it accepts no more. Cancelled, every connection ends at once.
    """
    async with trio.open_nursery() as connections:
        with edge.gate.accepting:
            async with trio.open_nursery() as accepting:
                await accepting.start(partial(_accept, listeners, edge, connections))
                edge.gate.open()
                task_status.started()


async def serve_stream(edge: Edge, stream: trio.abc.Stream, peer: str | None = None) -> None:
    """Serve one connection, over a socket or any other stream, and close it.

    `peer`: the IP address at the other end; None takes that of a socket, or else this machine.
    Raises only `Cancelled`: a fault is logged, without the client's words, and ends this connection.
    """
    edge.limits.arrive()
    try:
        await _serve_requests(edge, stream, peer or peer_address(stream))
    except* WireClosed:
        pass  # the client has left, which is no fault
    except* Exception as faults:  # noqa: BLE001 - the edge of one connection
        _log.error("connection failed", exc_info=faults)
    finally:
        edge.limits.depart()
        await close_now(stream)


async def _accept(
    listeners: Sequence[ListenerSource],
    edge: Edge,
    connections: trio.Nursery,
    *,
    task_status: trio.TaskStatus[object],
) -> None:
    handler = partial(serve_stream, edge)
    accepting = [make_listener(each, edge.limits.batch_size, edge.limits.relieve) for each in listeners]
    await trio.serve_listeners(handler, accepting, handler_nursery=connections, task_status=task_status)


async def _serve_requests(edge: Edge, stream: trio.abc.Stream, peer: str | None) -> None:
    """Serve the requests of a connection, one after the other, until the last one."""
    for served in range(REQUESTS_MOST):
        may_continue = await _admit_connection(edge, stream, peer, _Visit(served))
        if not isinstance(may_continue, bool):
            may_continue = await may_continue()
        if not may_continue:
            return


async def _admit_connection(
    edge: Edge, stream: trio.abc.Stream, peer: str | None, visit: _Visit
) -> ClientTask | bool:
    """Serve a client at the door. Returns a `ClientTask` for a client with a place.

    Else returns whether another request may follow on the connection. The frame that holds the head has ended before
    the `ClientTask` runs, so that a WebSocket does not keep its head in memory.
    """
    door = edge.limits.door
    visitor = door.take_now(edge.addresses.of_peer(peer), trio.current_time())
    if visitor is None:
        if not visit.served:
            await _turn_away(edge, stream, _CROWDED)
        return False
    door.may_give_way(visitor, visit.scope.cancel, trio.current_time())
    admitted: _PlacedClient | bool = False
    try:
        with visit.scope:
            admitted = await _serve_at_door(edge, stream, peer, visit)
    finally:
        door.leave(visitor)
    if isinstance(admitted, _PlacedClient):
        return _make_client_task(edge, stream, admitted)
    if visit.scope.cancelled_caught:
        edge.observer.count("limited", "visitors")
        if visit.reading and not visit.silent:
            edge.observer.count("rejections", str(_CROWDED.status))
            await _push_out(edge, stream)
    return admitted


async def _read_head(edge: Edge, stream: trio.abc.Stream, visit: _Visit) -> Head | Refusal | None:
    """Read the head of a request; return None if the client sends none.

    A connection's later requests have `IDLE_TIMEOUT` seconds to begin; each head then has `HEAD_TIMEOUT` seconds.
    """
    begun = b""
    if visit.silent:
        with edge.limits.count_idle(), edge.gate.bound_wait():
            begun = await receive(stream)
        if not begun:
            return None
        visit.silent = False
    return await read_head(stream, begun, edge.halves)


async def _serve_at_door(
    edge: Edge, stream: trio.abc.Stream, peer: str | None, visit: _Visit
) -> _PlacedClient | bool:
    """Read a request and answer it, or return the client as `_PlacedClient` if its request needs a place.

    Else returns whether another request may follow on the connection.
    """
    head = None if is_reset(stream) else await _read_head(edge, stream, visit)
    visit.reading = False
    if head is None or is_reset(stream):
        if not visit.served:
            edge.observer.count("connections", "left")
        return False
    address = None if isinstance(head, Refusal) else edge.addresses.of_client(peer, head)
    refusal = next((each for each in (head, address) if isinstance(each, Refusal)), None)
    if refusal is None:
        assert isinstance(head, Head)
        assert not isinstance(address, Refusal)
        admitted = await _check_request(edge, stream, head, address)
        if not isinstance(admitted, Refusal):
            may_persist = visit.served + 1 < REQUESTS_MOST
            exchange = HttpExchange(
                stream, head, edge.observer, lambda: may_persist and not edge.gate.draining
            )
            if not visit.served or head.upgrade:
                edge.observer.count("connections", "websocket" if head.upgrade else "http")
            return await _admit(edge, stream, exchange, address, admitted)
        refusal = admitted
        if refusal is NEEDS_TOKEN:
            _log_refused_token(edge, head)
    if not visit.served:
        edge.observer.count("connections", "rejected")
    edge.observer.count("rejections", str(refusal.status))
    await hang_up(stream, edge.render(refusal, head if isinstance(head, Head) else refusal.of))
    return False


async def _check_request(
    edge: Edge, stream: trio.abc.Stream, head: Head, address: str | None
) -> Refusal | Answer | PlacedHandler | ShownKey | None:
    """Return a request's `Refusal`, its `Answer`, or the function that answers it in a place.

    Of a WebSocket, return the project's key that it shows, or None.
    """
    refusal = edge.admission.check(head, local_address(stream))
    if refusal is not None:
        return refusal
    return await (edge.http.admit_socket if head.upgrade else edge.http.admit)(head, address)


async def _admit(
    edge: Edge,
    stream: trio.abc.Stream,
    exchange: HttpExchange,
    address: str | None,
    admitted: Answer | PlacedHandler | ShownKey | None,
) -> _PlacedClient | bool:
    head = exchange.head
    if isinstance(admitted, Answer):
        await exchange.answer(admitted)
        await _end_exchange(exchange, stream)
        return exchange.may_continue
    key = admitted if isinstance(admitted, ShownKey) else None
    if head.upgrade and not _may_open(edge, head, key):
        _log_refused_token(edge, head)
        await serve_websocket(stream, head, partial(_close_unauthorised, edge))
        return False
    place = await edge.limits.places.take(address, trio.current_time())
    if isinstance(place, Place):
        return _PlacedClient(head, place, address, admitted, exchange)
    edge.observer.count("limited", place)
    await _turn_away(edge, stream, _GREEDY if place == "address" else _FULL, head)
    return False


def _may_open(edge: Edge, head: Head, key: ShownKey | None) -> bool:
    """Return whether the client of an upgrade may open it. `key`: the project's key that it has shown, if any.

    A half of voice is the operator's, by the rule of the routes that need the token.
    """
    if KIND_OF_PATH[head.path].is_half:
        return key is None and edge.admission.shows_operator_token(head)
    return edge.admission.may_open_socket(head) if key is None else key.project is not None


def _make_client_task(edge: Edge, stream: trio.abc.Stream, client: _PlacedClient) -> ClientTask:
    admitted = client.admitted
    if admitted is not None and not isinstance(admitted, ShownKey):
        return partial(_answer, edge, admitted, client.exchange, stream, client.place)
    kind = KIND_OF_PATH[client.head.path]
    guest = ClientLimits(edge.limits, client.place, client.address, edge.observer, kind)
    user = edge.admission.find_user(client.head)
    connection = Connection(stream, client.head, guest, user, admitted, edge.has_voice)
    time_left = edge.admission.find_time_left(client.head)
    handler = edge.handler if time_left == inf else partial(_handle_until, edge.handler, time_left)
    return partial(_serve_session, edge, guest, connection, handler)


async def _answer(
    edge: Edge, handler: PlacedHandler, exchange: HttpExchange, stream: trio.abc.Stream, place: Place
) -> bool:
    reading, places = trio.CancelScope(), edge.limits.places
    places.may_give_way(place, reading.cancel, trio.current_time() + FIRST_WORDS)
    try:
        await handler(exchange, reading, partial(places.keep, place))
        await _end_exchange(exchange, stream)
    finally:
        places.leave(place)
    return exchange.may_continue


async def _end_exchange(exchange: HttpExchange, stream: trio.abc.Stream) -> None:
    """Hang up after the last answer of a connection, with time for the client to read it.

    A client that sends nothing more needs no such time: to close a socket without unread bytes does not reset it, and
    the system goes on to send the answer.
    """
    if not (exchange.may_continue or (exchange.is_client_done and not may_have_unread(stream))):
        await hang_up(stream)


async def _serve_session(edge: Edge, guest: ClientLimits, connection: Connection, handler: Handler) -> bool:
    guest.start_giving_way(connection)
    try:
        if not await connection.serve(handler):
            edge.observer.count("aborts")
    finally:
        guest.release()
    return False


async def _handle_until(handler: Handler, seconds: float, connection: Connection) -> None:
    """Run `handler`; close the connection after `seconds`, when its token is over, also within a turn."""
    connection.start_task(_close_over, connection, seconds)
    await handler(connection)


async def _close_over(connection: Connection, seconds: float) -> None:
    await trio.sleep(seconds)
    connection.close(UNAUTHORISED, TOKEN_OVER)


async def _close_unauthorised(edge: Edge, connection: Connection) -> None:
    edge.observer.count("rejections", str(UNAUTHORISED))
    connection.close(UNAUTHORISED, "not authorised")
    await trio.lowlevel.checkpoint()


def _log_refused_token(edge: Edge, head: Head) -> None:
    """Log why a signed token was refused, without the token."""
    why = edge.admission.explain_refusal(head)
    if why:
        _log.info("token refused", why=why)


async def _turn_away(edge: Edge, stream: trio.abc.Stream, refusal: Refusal, head: Head | None = None) -> None:
    """Refuse a client over a limit. If many are being refused at once, each gets less time to read its answer."""
    edge.observer.count("rejections", str(refusal.status))
    if edge.limits.refusals.acquire():
        try:
            await hang_up(stream, edge.render(refusal, head))
        finally:
            edge.limits.refusals.release()
    else:
        await hang_up(stream, edge.render(refusal, head), TURNED_AWAY_BRIEFLY)


async def _push_out(edge: Edge, stream: trio.abc.Stream) -> None:
    """Refuse a connection without lingering: it has sent no byte, so closing at once does not reset it."""
    with trio.move_on_after(FLUSH_TIMEOUT), suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(edge.render(_CROWDED, None))
