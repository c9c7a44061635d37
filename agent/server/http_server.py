"""The HTTP server: one table of routes, and one sequence of checks for all of them.

    head -> route -> key -> rate -> method -> query -> type, length, readiness -> at the door: answer
                                                                              -> a place -> body -> work -> answer

The routes are in `agent.protocol.paths`, their handlers in `page_routes` and `api/`. Routes that take no time are
answered at the door. All others take a place as a WebSocket does, and may lose it to a newcomer while their body is
still on its way. During the work one task reads the connection: its end means that the client has left, and cancels the
work. So a client must not close its half before it has its answer.

A project's key opens that project and nothing else: another project's things, and the operator's routes, are answered
by the same 404 as things that never existed. A user's own token opens that user's things, on the routes that say so.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import trio

from ..config import HTTP_TIMEOUT, UPLOAD_MAX, UPLOADS_AT_ONCE
from ..errors import StorageFailed
from ..ports.observe import Observer
from ..ports.tracing import TRACE_PARENT
from ..protocol.paths import PathMatch, match_path
from ..protocol.problems import ProblemError, code_of, decode_query
from ..protocol.route import Access, Route, Shape
from .admission import NEEDS_TOKEN, TOO_MANY_GUESSES
from .api.answers import answer_problem, answer_refusal, catch_errors
from .api.idempotency import parse_idempotency_key
from .api.keys import Keys, TooManyGuesses
from .api.owners import check_owner
from .api.uploads import ENVELOPE, Multipart
from .body import USUAL, Bounds, check_announced_body, is_json
from .http_exchange import HttpExchange, PlacedHandler
from .limits import ConnectionLimits, Slots
from .page_routes import UNKNOWN_PAGE
from .project_pages import ProjectPages
from .request_head import Head, Refusal
from .responses import Answer, plain_text
from .service import AdmittedRequest, Caller, DoorHandler, RouteService, ShownKey

UPLOAD_TIMEOUT = 30.0  # seconds in which an upload must have come

_UPLOAD_BOUNDS = Bounds(UPLOAD_MAX + ENVELOPE, UPLOAD_TIMEOUT)
_NOT_JSON = Refusal(
    415, "Send Content-Type: application/json, and no Content-Encoding.", code="unsupported_media_type"
)
_TOO_MANY_MESSAGES = Refusal(
    429,
    "Too many messages from your address; wait a moment before you ask again.",
    {"Retry-After": "1"},
    "rate_limited",
)
_TOO_MANY_REQUESTS = Refusal(429, "", {"Retry-After": "10"}, "rate_limited")
_QUESTION_LOST = Refusal(503, "Others are waiting and your question did not come.", {"Retry-After": "2"})
_PLACE_LOST: Mapping[Shape, Refusal] = {
    "openai": _QUESTION_LOST,
    "rpc": _QUESTION_LOST,
    "problem": Refusal(503, "Others are waiting and your request did not come.", code="full"),
}
_CUT_SHORT = Refusal(400, "Send the whole body: it ended before its end.", code="bad_request")
_TOO_LATE = Refusal(503, "This took too long; try again in a moment.", {"Retry-After": "2"})
_NO_KEY = Refusal(401, "", code="unauthorized")
_NOT_FOUND = Refusal(404, "", code="not_found")
_NO_ROUTE = "There is nothing at this address; /v1/chat/completions, /v1/responses and /v1/models are."


class HttpServer:
    """Checks and serves the plain requests of all connections.

    `pages`: handlers of the page's routes, by name. `services`: the `RouteService` of each other shape; the paths of a
    shape without a service are unknown. `new_id` returns the id of a fault. `project_pages`: the parts of the page that
    belong to projects; None if there are none.
    """

    def __init__(
        self,
        keys: Keys,
        limits: ConnectionLimits,
        observer: Observer,
        pages: Mapping[str, DoorHandler],
        services: Mapping[Shape, RouteService],
        new_id: Callable[[], str],
        project_pages: ProjectPages | None = None,
    ) -> None:
        self._keys = keys
        self._limits = limits
        self._observer = observer
        self._services = services
        self._pages = pages
        self._door_handlers = {**pages}
        for service in services.values():
            self._door_handlers |= service.door_handlers
        self._new_id = new_id
        self._project_pages = project_pages
        self._uploads = Slots(UPLOADS_AT_ONCE)

    def answer_refusal(self, refusal: Refusal, head: Head | None) -> Answer:
        """Return a refusal in the shape of its path. `head`: that of the refused request, None if none came."""
        return answer_refusal(refusal, "plain" if head is None else self._match_route(head).shape)

    async def admit_socket(self, head: Head, address: str | None) -> Refusal | ShownKey | None:
        """Return the project's key that an upgrade shows, or None if it shows none.

        Returns the refusal of an `address` that has shown too many wrong tokens, and while keys cannot be looked up.
        """
        try:
            if not self._keys.shows_key(head):
                self._keys.check_guesses(head, address)
                return None
            with trio.move_on_after(HTTP_TIMEOUT):
                return await self._keys.find_shown_key(head, address)
        except TooManyGuesses:
            self._observer.count("limited", "tokens")
            return TOO_MANY_GUESSES
        except StorageFailed:
            pass
        return _TOO_LATE

    async def admit(self, head: Head, address: str | None) -> Refusal | Answer | PlacedHandler:
        """Return a `Refusal`, the `Answer` of a route that takes no place, or the function to call in a place."""
        match = self._match_route(head)
        admitted: Refusal | Answer | PlacedHandler = _TOO_LATE
        if match.shape == "problem":
            admitted = Refusal(503, "", code="storage")
        with trio.move_on_after(HTTP_TIMEOUT):
            admitted = await catch_errors(
                partial(self._admit, match, head, address), self._new_id, match.shape
            )
        if isinstance(admitted, Answer) and match.shape == "problem":
            self._count(admitted)
        return admitted

    def _match_route(self, head: Head) -> PathMatch:
        """Return the routes of a path that this server has handlers for, in its `pages` or `services`."""
        match = match_path(head.path)
        if match.shape == "plain":
            return match if self._pages else PathMatch("plain")
        return match if match.shape in self._services else PathMatch("plain")

    async def _admit(
        self, match: PathMatch, head: Head, address: str | None
    ) -> Refusal | Answer | PlacedHandler:
        """Check a request in the order that the module draws, then have its route answer it."""
        route = match.routes.get(_method(head))
        caller = await self._find_caller(_access_of(match, route, head), match, head, address)
        if isinstance(caller, Refusal):
            return caller
        refusal = self._refuse_caller(match, route, caller, address)
        if refusal is not None:
            return refusal
        if route is None:
            return _answer_unknown(match, head)
        query = decode_query(route.query, head.query) if match.shape == "problem" else None
        check_owner(caller, route, query)
        if route.access == "open":
            return await self._door_handlers[route.name](head, match.names)
        key = parse_idempotency_key(head) if match.shape == "problem" and route.method == "POST" else None
        if not caller.may_see(match.names.get("project_id") or getattr(query, "project_id", None)):
            raise ProblemError("not_found")
        admitted = AdmittedRequest(
            head=head, caller=caller, route=route, names=match.names, query=query, key=key
        )
        return self._refuse(admitted, address) or await self._answer_admitted(admitted)

    async def _find_caller(
        self, access: Access, match: PathMatch, head: Head, address: str | None
    ) -> Caller | Refusal:
        """Return whose key or token a request shows, or the refusal of one that shows none that opens its path."""
        if match.shape == "problem" and access == "open":
            return Caller()  # an open route of the API ignores keys, wrong ones too
        try:
            caller = await self._keys.caller_for(access, head, address)
        except TooManyGuesses:
            self._observer.count("limited", "tokens")
            return TOO_MANY_GUESSES
        return caller or (_NO_KEY if match.shape == "problem" else NEEDS_TOKEN)

    async def _answer_admitted(self, admitted: AdmittedRequest) -> Refusal | Answer | PlacedHandler:
        """Return the answer of a route that takes no place, or the function to call in a place."""
        route = admitted.route
        if route.access == "user":
            answer = None if self._project_pages is None else await self._project_pages.answer(admitted)
            if answer is not None or admitted.caller.project is not None:
                return answer or _NOT_FOUND
        if route.name in self._door_handlers:
            return await self._door_handlers[route.name](admitted.head, admitted.names)
        return partial(self._serve, self._services[route.shape], admitted)

    def _refuse_caller(
        self, match: PathMatch, route: Route | None, caller: Caller, address: str | None
    ) -> Refusal | None:
        """Return the refusal of a caller over its rate, or without such a route; or None."""
        if match.shape != "problem" or (route is not None and route.access == "open"):
            return None
        if not self._limits.requests.take(caller.name if caller.keyed else address, trio.current_time()):
            self._observer.count("limited", "requests")
            return _TOO_MANY_REQUESTS
        if not match.routes or (
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
            refusal = Refusal(415, "", code=_NOT_JSON.code) if route.shape == "problem" else _NOT_JSON
        if refusal is None and route.has_body:
            refusal = check_announced_body(head, _bounds(route))
        if refusal is None and service is not None:
            refusal = service.refuse(route)
        is_message = refusal is None and route.shape != "problem" and route.has_body
        if is_message and not self._limits.messages.take(address, trio.current_time()):
            self._observer.count("limited", "messages")
            return _TOO_MANY_MESSAGES
        return refusal

    async def _serve(
        self,
        service: RouteService,
        admitted: AdmittedRequest,
        exchange: HttpExchange,
        body_scope: trio.CancelScope,
        keep: Callable[[], None],
    ) -> None:
        """Read the body, do the work, and write the answer; see `http_exchange.PlacedHandler`."""
        with ExitStack() as upload:
            if admitted.route.uploads or admitted.route.takes_raw_body:
                if not self._uploads.acquire():
                    await self._answer(exchange, answer_problem("too_many_uploads"))
                    return
                upload.callback(self._uploads.release)
            body = await self._read_in_place(service, admitted, exchange, body_scope, keep)
            if isinstance(body, Answer):
                upload.close()  # the body is no longer in memory
                await self._answer(exchange, body)
            elif body is not _CLIENT_GONE:
                TRACE_PARENT.set(_find_trace_parent(admitted.head))
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
        body_scope: trio.CancelScope,
        keep: Callable[[], None],
    ) -> Any:
        """Return as `_read_body` does, or the answer to a client that lost its place before its body was whole."""
        shape = admitted.route.shape
        body: Any = answer_refusal(_PLACE_LOST[shape], shape)
        with body_scope:
            body = await catch_errors(
                partial(self._read_body, service, admitted, exchange), self._new_id, shape
            )
        if body_scope.cancel_called:
            self._observer.count("limited", "silent")
        keep()
        return body

    async def _read_body(
        self, service: RouteService, admitted: AdmittedRequest, exchange: HttpExchange
    ) -> Any:
        """Return the body as `RouteService.decode` does, the `Answer` to an unusable one, or else `_CLIENT_GONE`."""
        route, shape = admitted.route, admitted.route.shape
        if not route.has_body:
            return service.decode(admitted, None)
        body = bytearray()
        form = Multipart(admitted.head) if route.uploads else None
        outcome = await exchange.read(body.extend if form is None else form.feed, _bounds(route))
        if outcome is None:
            return answer_refusal(_CUT_SHORT, shape) if shape == "problem" else _CLIENT_GONE
        if isinstance(outcome, Refusal):
            large = route.uploads and code_of(outcome.status, outcome.code) == "too_large"
            return answer_problem("upload_too_large") if large else answer_refusal(outcome, shape)
        return service.decode(admitted, bytes(body) if form is None else form.finish())

    async def _answer(self, exchange: HttpExchange, answer: Answer) -> None:
        self._count(answer)
        await exchange.answer(answer)

    def _count(self, answer: Answer) -> None:
        if answer.status >= 400:
            self._observer.count("rejections", str(answer.status))


_CLIENT_GONE = object()


def _find_trace_parent(head: Head) -> str:
    """Return the one `traceparent` of a request; "" where there is none, or more than one."""
    values = head.values(b"traceparent")
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _method(head: Head) -> str:
    return "GET" if head.method == b"HEAD" else head.method.decode("latin-1")


def _bounds(route: Route) -> Bounds:
    if route.uploads:
        return _UPLOAD_BOUNDS
    return Bounds(route.body_most, UPLOAD_TIMEOUT) if route.takes_raw_body else USUAL


def _access_of(match: PathMatch, route: Route | None, head: Head) -> Access:
    """Return the access that a path needs, also if it is unknown."""
    if route is not None:
        return route.access
    if match.shape == "problem":
        return "project"
    return "token" if match.shape != "plain" or head.method == b"POST" else "open"


def _answer_unknown(match: PathMatch, head: Head) -> Refusal | Answer:
    """Return the answer to an unknown path, or to a method that the path does not have."""
    if match.routes:
        allow = {"Allow": match.allowed_methods}
        if match.shape == "plain":
            return plain_text("Only GET and HEAD work here.\n", 405, allow)
        words = "" if match.shape == "problem" else f"Use {match.allowed_methods} here."
        return Refusal(405, words, allow, "method_not_allowed")
    if match.shape == "openai":
        return Refusal(404, _NO_ROUTE, code="not_found")
    if match.elsewhere and _method(head) == "GET":
        query = f"?{head.query.decode('ascii')}" if head.query else ""
        return plain_text("", 307, {"Location": match.elsewhere + query})
    return plain_text(UNKNOWN_PAGE, 404)
