"""The HTTP server: one table of routes, and one sequence of checks for all of them.

    head -> route -> key -> rate -> method -> query -> type, length, readiness -> at the door: answer
                                                                              -> a place -> body -> work -> answer

The routes are in `agent.protocol.paths`, their handlers in `page_routes` and `api/`. Routes that take no time are
answered at the door. All others take a place as a WebSocket does, and may lose it to a newcomer while their body is
still on its way. During the work one task reads the connection: its end means that the client has left, and cancels the
work. So a client must not close its half before it has its answer.

A project's key opens that project and nothing else: another project's things, and the operator's routes, are answered
by the same 404 as things that never existed.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import trio

from ..config import HTTP_TIMEOUT, UPLOAD_MAX, UPLOADS_AT_ONCE
from ..ports.observe import Observer
from ..protocol.paths import PathMatch, match_path
from ..protocol.problems import ProblemError, code_of, decode_query
from ..protocol.routes import Access, Route, Shape
from .admission import GUESSING, NEEDS_TOKEN
from .api.answers import caught, failed, tell
from .api.keys import Guessing, Keys
from .api.once import key_of
from .api.uploads import ENVELOPE, Multipart
from .body import Bounds, announced, is_json
from .http_exchange import HttpExchange, Seated
from .limits import Cap, Slots
from .page_routes import NOWHERE
from .responses import Answer, plain_text
from .service import AdmittedRequest, Caller, DoorHandler, RouteService
from .sniff import Head, Refusal

UPLOAD_TIMEOUT = 30.0  # for an upload to come

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
    """Checks and serves the plain requests of all connections.

    `pages`: handlers of the page's routes, by name. `services`: the `RouteService` of each other shape; the paths of a
    shape without a service are unknown. `new_id` returns the id of a fault.
    """

    def __init__(
        self,
        keys: Keys,
        cap: Cap,
        observer: Observer,
        pages: Mapping[str, DoorHandler],
        services: Mapping[Shape, RouteService],
        new_id: Callable[[], str],
    ) -> None:
        self._keys = keys
        self._cap = cap
        self._observer = observer
        self._services = services
        self._pages = pages
        self._at_the_door = {**pages}
        for service in services.values():
            self._at_the_door |= service.door_handlers
        self._new_id = new_id
        self._uploads = Slots(UPLOADS_AT_ONCE)

    def tell(self, refusal: Refusal, head: Head | None) -> Answer:
        """Return a refusal in the shape of its path. `head`: that of the refused request, None if none came."""
        return tell(refusal, "plain" if head is None else self._find(head).shape)

    def refuse_guesses(self, head: Head, address: str | None) -> Refusal | None:
        """Return the refusal of an upgrade from an `address` that has shown too many wrong tokens, or None."""
        try:
            self._keys.check_guesses(head, address)
        except Guessing:
            self._observer.count("limited", "tokens")
            return GUESSING
        return None

    async def admit(self, head: Head, address: str | None) -> Refusal | Answer | Seated:
        """Return a `Refusal`, the `Answer` of a route that takes no place, or the function to call in a place."""
        found = self._find(head)
        admitted: Refusal | Answer | Seated = _TOO_LATE
        if found.shape == "problem":
            admitted = Refusal(503, "", code="storage")
        with trio.move_on_after(HTTP_TIMEOUT):
            admitted = await caught(partial(self._admit, found, head, address), self._new_id, found.shape)
        if isinstance(admitted, Answer) and found.shape == "problem":
            self._count(admitted)
        return admitted

    def _find(self, head: Head) -> PathMatch:
        """Return the routes of a path that this server has handlers for, in its `pages` or `services`."""
        found = match_path(head.path)
        if found.shape == "plain":
            return found if self._pages else PathMatch("plain")
        return found if found.shape in self._services else PathMatch("plain")

    async def _admit(self, found: PathMatch, head: Head, address: str | None) -> Refusal | Answer | Seated:
        route = found.routes.get(_method(head))
        who = _access_of(found, route, head)
        try:
            caller = (
                Caller()  # an open route of the API ignores keys, wrong ones too
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
            return _answer_unknown(found, head)
        query = decode_query(route.query, head.query) if found.shape == "problem" else None
        if route.access == "open":
            return await self._at_the_door[route.name](head, found.names)
        key = key_of(head) if found.shape == "problem" and route.method == "POST" else None
        admitted = AdmittedRequest(
            head=head, caller=caller, route=route, names=found.names, query=query, key=key
        )
        named = found.names.get("project_id") or getattr(query, "project_id", None)
        if not caller.may_see(named):
            raise ProblemError("not_found")
        refusal = self._refuse(admitted, address)
        if refusal is not None:
            return refusal
        if route.name in self._at_the_door:
            return await self._at_the_door[route.name](head, found.names)
        return partial(self._serve, self._services[found.shape], admitted)

    def _refuse_caller(
        self, found: PathMatch, route: Route | None, caller: Caller, address: str | None
    ) -> Refusal | None:
        """Return the refusal of a caller over its rate, or without such a route; or None."""
        if found.shape != "problem" or (route is not None and route.access == "open"):
            return None
        if not self._cap.requests.take(caller.name if caller.keyed else address, trio.current_time()):
            self._observer.count("limited", "requests")
            return _REQUESTS
        if not found.routes or (
            route is not None and route.access == "operator" and caller.project is not None
        ):
            return _NOT_FOUND
        return None

    def _refuse(self, admitted: AdmittedRequest, address: str | None) -> Refusal | None:
        """Return the refusal of a request that can be refused before its body is read, or None."""
        route, head = admitted.route, admitted.head
        service = self._services.get(route.shape)
        refusal = None
        if route.uploads:
            Multipart(head)  # raises if the head announces no multipart body
        elif (
            route.has_body
            and not is_json(head)
            and not (route.body_optional and not head.values(b"content-type"))
        ):
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
        service: RouteService,
        admitted: AdmittedRequest,
        exchange: HttpExchange,
        reading: trio.CancelScope,
        keep: Callable[[], None],
    ) -> None:
        """Read the body, do the work, and write the answer; see `http_exchange.Seated`."""
        with ExitStack() as upload:
            if admitted.route.uploads:
                if not self._uploads.acquire():
                    await self._answer(exchange, failed("too_many_uploads"))
                    return
                upload.callback(self._uploads.release)
            body = await self._read_in_place(service, admitted, exchange, reading, keep)
            if isinstance(body, Answer):
                upload.close()  # the body is no longer in memory
                await self._answer(exchange, body)
            elif body is not _LEFT:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(exchange.watch, nursery.cancel_scope)
                    await service.work(admitted, body, exchange, nursery.cancel_scope)
                    nursery.cancel_scope.cancel()
            del body  # free the body before the next upload takes its slot

    async def _read_in_place(
        self,
        service: RouteService,
        admitted: AdmittedRequest,
        exchange: HttpExchange,
        reading: trio.CancelScope,
        keep: Callable[[], None],
    ) -> Any:
        """Return as `_read_body` does, or the answer to a client that lost its place before its body was whole."""
        shape = admitted.route.shape
        body: Any = tell(_GIVEN_WAY[shape], shape)
        with reading:
            body = await caught(partial(self._read_body, service, admitted, exchange), self._new_id, shape)
        if reading.cancel_called:
            self._observer.count("limited", "silent")
        keep()
        return body

    async def _read_body(
        self, service: RouteService, admitted: AdmittedRequest, exchange: HttpExchange
    ) -> Any:
        """Return the body as `RouteService.decode` does, the `Answer` to an unusable one, or `_LEFT` without a body."""
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

    async def _answer(self, exchange: HttpExchange, answer: Answer) -> None:
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


def _access_of(found: PathMatch, route: Route | None, head: Head) -> Access:
    """Return the access that a path needs, also if it is unknown."""
    if route is not None:
        return route.access
    if found.shape == "problem":
        return "project"
    return "token" if found.shape == "openai" or head.method == b"POST" else "open"


def _answer_unknown(found: PathMatch, head: Head) -> Refusal | Answer:
    """Return the answer to an unknown path, or to a method that the path does not have."""
    if found.routes:
        allow = {"Allow": found.allowed_methods}
        if found.shape == "plain":
            return plain_text("Only GET and HEAD work here.\n", 405, allow)
        words = f"Use {found.allowed_methods} here." if found.shape == "openai" else ""
        return Refusal(405, words, allow, "method_not_allowed")
    if found.elsewhere and _method(head) == "GET":
        query = f"?{head.query.decode('ascii')}" if head.query else ""
        return plain_text("", 307, {"Location": found.elsewhere + query})
    return plain_text(NOWHERE, 404)
