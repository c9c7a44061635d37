"""The HTTP server: one table of routes, one way through it, whatever a request is for.

    head -> route -> key -> rate -> method -> query -> type, length, readiness -> at the door: answer
                                                                              -> a place -> body -> work -> answer

What there is stands in `agent.protocol.paths`; what each route does, in `pages` and in `api/`. What needs no body is
answered at the door where it takes no time. Everything else takes a place as a WebSocket does, and gives it to a
newcomer while its body is still on its way. While it is worked on one task reads the connection, and its end means that
the client has left, which cancels the work: so a client must not close its half before it has its answer.

A project's key opens that project and nothing else: what is another's, and what only the operator may do, is answered
by the 404 of what never existed.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import trio

from ..config import HTTP_TIMEOUT, UPLOAD_MAX, UPLOAD_TIMEOUT, UPLOADS_AT_ONCE
from ..ports.observe import Observer
from ..protocol.paths import Found, find
from ..protocol.problems import Unanswerable, code_of, decode_query
from ..protocol.routes import Route, Shape, Who
from .admission import GUESSING, NEEDS_TOKEN
from .admitted import Admitted, AtTheDoor, Caller, Service
from .answers import Answer, plainly
from .api.answers import caught, failed, tell
from .api.keys import Guessing, Keys
from .api.once import key_of
from .api.uploads import ENVELOPE, Multipart
from .body import Bounds, announced, is_json
from .exchange import Exchange, Seated
from .limits import Cap, Slots
from .pages import NOWHERE
from .sniff import Head, Refusal

_USUAL = Bounds()
_UPLOAD = Bounds(UPLOAD_MAX + ENVELOPE, UPLOAD_TIMEOUT)
_NOT_JSON = Refusal(
    415, "Send Content-Type: application/json, and no Content-Encoding.", code="unsupported_media_type"
)
_MESSAGES = Refusal(
    429,
    "Too many messages from your address; wait a moment before you ask again.",
    {"Retry-After": "1"},
    "rate_limited",
)
_REQUESTS = Refusal(429, "", {"Retry-After": "10"}, "rate_limited")
_GIVEN_WAY: Mapping[Shape, Refusal] = {
    "openai": Refusal(503, "Others are waiting and your question did not come.", {"Retry-After": "2"}),
    "problem": Refusal(503, "Others are waiting and your request did not come.", code="full"),
}
_CUT_SHORT = Refusal(400, "Send the whole body: it ended before its end.", code="bad_request")
_TOO_LATE = Refusal(503, "This took too long; try again in a moment.", {"Retry-After": "2"})
_NO_KEY = Refusal(401, "", code="unauthorized")
_NOT_FOUND = Refusal(404, "", code="not_found")


class HttpServer:
    """Finds out what a request is for and whether it may, and serves it.

    pages: what answers the routes of the page, by their names. services: what serves the other ones, by the shape of
    their errors; a path of one that is not there leads nowhere. new_id: of a fault. keys: who may what.
    """

    def __init__(
        self,
        keys: Keys,
        cap: Cap,
        observer: Observer,
        pages: Mapping[str, AtTheDoor],
        services: Mapping[Shape, Service],
        new_id: Callable[[], str],
    ) -> None:
        self._keys = keys
        self._cap = cap
        self._observer = observer
        self._services = services
        self._pages = pages
        self._at_the_door = {**pages}
        for service in services.values():
            self._at_the_door |= service.at_the_door
        self._new_id = new_id
        self._uploads = Slots(UPLOADS_AT_ONCE)

    def tell(self, refusal: Refusal, head: Head | None) -> Answer:
        """Return a refusal as the clients of a path read it. head: what it answers, None where none came."""
        return tell(refusal, "plain" if head is None else self._find(head).shape)

    def refuse_guesses(self, head: Head, address: str | None) -> Refusal | None:
        """Return why a WebSocket is not even upgraded, if so many wrong tokens came from its address."""
        try:
            self._keys.check_guesses(head, address)
        except Guessing:
            self._observer.count("limited", "tokens")
            return GUESSING
        return None

    async def admit(self, head: Head, address: str | None) -> Refusal | Answer | Seated:
        """Return the answer to a request that is not served, or needs no place; else what serves it in one."""
        found = self._find(head)
        admitted: Refusal | Answer | Seated = _TOO_LATE
        if found.shape == "problem":
            admitted = Refusal(503, "", code="storage")
        with trio.move_on_after(HTTP_TIMEOUT):
            admitted = await caught(partial(self._admit, found, head, address), self._new_id, found.shape)
        if isinstance(admitted, Answer) and found.shape == "problem":
            self._count(admitted)
        return admitted

    def _find(self, head: Head) -> Found:
        """Return what is at a path here: a server may have no pages, or not all services."""
        found = find(head.path)
        if found.shape == "plain":
            return found if self._pages else Found("plain")
        return found if found.shape in self._services else Found("plain")

    async def _admit(self, found: Found, head: Head, address: str | None) -> Refusal | Answer | Seated:
        route = found.routes.get(_method(head))
        who = _who(found, route, head)
        try:
            caller = (
                Caller()  # whatever key is shown
                if found.shape == "problem" and who == "open"
                else await self._keys.caller_for(who, head, address)
            )
        except Guessing:
            self._observer.count("limited", "tokens")
            return GUESSING
        if caller is None:
            return _NO_KEY if found.shape == "problem" else NEEDS_TOKEN
        refusal = self._refuse_caller(found, route, caller, address)
        if refusal is not None:
            return refusal
        if route is None:
            return _nowhere(found, head)
        query = decode_query(route.query, head.query) if found.shape == "problem" else None
        if route.who == "open":
            return await self._at_the_door[route.name](head, found.names)
        key = key_of(head) if found.shape == "problem" and route.method == "POST" else None
        admitted = Admitted(head, caller, route, found.names, query, key)
        named = found.names.get("project_id") or getattr(query, "project_id", None)
        if not caller.may_see(named):
            raise Unanswerable("not_found")
        refusal = self._refuse(admitted, address)
        if refusal is not None:
            return refusal
        if route.name in self._at_the_door:
            return await self._at_the_door[route.name](head, found.names)
        return partial(self._serve, self._services[found.shape], admitted)

    def _refuse_caller(
        self, found: Found, route: Route | None, caller: Caller, address: str | None
    ) -> Refusal | None:
        """Return why a caller is served no such thing, or nothing now."""
        if found.shape != "problem" or (route is not None and route.who == "open"):
            return None
        if not self._cap.requests.take(caller.name if caller.keyed else address, trio.current_time()):
            self._observer.count("limited", "requests")
            return _REQUESTS
        if not found.routes or (route is not None and route.who == "operator" and caller.project is not None):
            return _NOT_FOUND
        return None

    def _refuse(self, admitted: Admitted, address: str | None) -> Refusal | None:
        """Return what can be said against a request before its body is read."""
        route, head = admitted.route, admitted.head
        service = self._services.get(route.shape)
        refusal = None
        if route.uploads:
            Multipart(head)  # refuses a body that is none
        elif route.has_body and not is_json(head) and not (route.bare and not head.values(b"content-type")):
            refusal = _NOT_JSON if route.shape == "openai" else Refusal(415, "", code=_NOT_JSON.code)
        if refusal is None and route.has_body:
            refusal = announced(head, _bounds(route))
        if refusal is None and service is not None:
            refusal = service.refuse(route)
        counts = refusal is None and route.shape == "openai" and route.has_body
        if counts and not self._cap.messages.take(address, trio.current_time()):
            self._observer.count("limited", "messages")
            return _MESSAGES
        return refusal

    async def _serve(
        self,
        service: Service,
        admitted: Admitted,
        exchange: Exchange,
        reading: trio.CancelScope,
        keep: Callable[[], None],
    ) -> None:
        """Read the body and answer; see `exchange.Seated`."""
        with ExitStack() as upload:
            if admitted.route.uploads:
                if not self._uploads.acquire():
                    await self._answer(exchange, failed("too_many_uploads"))
                    return
                upload.callback(self._uploads.release)
            came = await self._read_in_place(service, admitted, exchange, reading, keep)
            if isinstance(came, Answer):
                upload.close()  # nothing of the body is kept any more
                await self._answer(exchange, came)
            elif came is not _LEFT:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(exchange.watch, nursery.cancel_scope)
                    await service.work(admitted, came, exchange, nursery.cancel_scope)
                    nursery.cancel_scope.cancel()
            del came  # before another one may come in its place

    async def _read_in_place(
        self,
        service: Service,
        admitted: Admitted,
        exchange: Exchange,
        reading: trio.CancelScope,
        keep: Callable[[], None],
    ) -> Any:
        """Return what `_read` does, or the answer to a client that has given its place away before it had said all."""
        shape = admitted.route.shape
        came: Any = tell(_GIVEN_WAY[shape], shape)
        with reading:
            came = await caught(partial(self._read, service, admitted, exchange), self._new_id, shape)
        if reading.cancel_called:
            self._observer.count("limited", "silent")
        keep()
        return came

    async def _read(self, service: Service, admitted: Admitted, exchange: Exchange) -> Any:
        """Return the body as `Service.decode` has it, the answer to one that is none, or _LEFT."""
        route, shape = admitted.route, admitted.route.shape
        if not route.has_body:
            return service.decode(admitted, None)
        body = bytearray()
        form = Multipart(admitted.head) if route.uploads else None
        ended = await exchange.read(body.extend if form is None else form.feed, _bounds(route))
        if ended is None:
            return tell(_CUT_SHORT, shape) if shape == "problem" else _LEFT
        if isinstance(ended, Refusal):
            large = route.uploads and code_of(ended.status, ended.code) == "too_large"
            return failed("upload_too_large") if large else tell(ended, shape)
        return service.decode(admitted, bytes(body) if form is None else form.taken())

    async def _answer(self, exchange: Exchange, answer: Answer) -> None:
        self._count(answer)
        await exchange.answer(answer)

    def _count(self, answer: Answer) -> None:
        if answer.status >= 400:
            self._observer.count("rejections", str(answer.status))


_LEFT = object()


def _method(head: Head) -> str:
    return "GET" if head.method == b"HEAD" else head.method.decode("latin-1")


def _bounds(route: Route) -> Bounds:
    return _UPLOAD if route.uploads else _USUAL


def _who(found: Found, route: Route | None, head: Head) -> Who:
    """Return who may know what is at a path, be it that nothing is."""
    if route is not None:
        return route.who
    if found.shape == "problem":
        return "project"
    return "token" if found.shape == "openai" or head.method == b"POST" else "open"


def _nowhere(found: Found, head: Head) -> Refusal | Answer:
    """Return the answer where there is nothing, or nothing by that method."""
    if found.routes:
        allow = {"Allow": found.allowed}
        if found.shape == "plain":
            return plainly("Only GET and HEAD work here.\n", 405, allow)
        words = f"Use {found.allowed} here." if found.shape == "openai" else ""
        return Refusal(405, words, allow, "method_not_allowed")
    if found.elsewhere and _method(head) == "GET":
        query = f"?{head.query.decode('ascii')}" if head.query else ""
        return plainly("", 307, {"Location": found.elsewhere + query})
    return plainly(NOWHERE, 404)
