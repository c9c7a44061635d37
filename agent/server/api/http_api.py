"""The HTTP API: finds the handler of a request that `agent.server.http_server` has admitted and read.

The routes are in `agent.protocol.routes`, their handlers in the modules beside this one.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import inf
from typing import Any

import trio

from ...config import HTTP_TIMEOUT, RECORD_TIMEOUT
from ...errors import StorageFailed
from ...ports.observe import Observer
from ...ports.projects import HOUSE
from ...protocol import openapi
from ...protocol.problems import ProblemError, decode
from ...protocol.records import make_time
from ...protocol.route import Route
from ...protocol.views import Health
from ..http_exchange import HttpExchange
from ..request_head import Head, Refusal
from ..responses import Answer
from ..service import AdmittedRequest, DoorHandler
from . import calls, documents, feedback, inbox, memory, projects, stories, threads
from .answers import answer_problem, answer_refusal, answer_with, catch_errors
from .context import ApiServices, Handler, Request, UploadedFile, check_user
from .events import EventStream
from .idempotency import answer_once
from .owners import check_owner, find_owner

HANDLERS: Mapping[str, Handler] = {"list_project_threads": threads.list_threads} | {
    each.__name__: each
    for each in (
        projects.create_project,
        projects.list_projects,
        projects.get_project,
        projects.change_project,
        projects.delete_project,
        projects.create_key,
        projects.list_keys,
        projects.revoke_key,
        documents.put_document,
        documents.list_documents,
        documents.get_document,
        documents.delete_document,
        documents.prompt_debug,
        threads.chat,
        threads.list_threads,
        threads.get_thread,
        threads.list_messages,
        threads.list_thread_calls,
        threads.delete_thread,
        threads.cancel_turn,
        threads.cancel,
        calls.list_calls,
        calls.list_pending_calls,
        calls.list_tools,
        calls.get_call,
        calls.approve_call,
        calls.reject_call,
        calls.resume_call,
        calls.begin_call,
        calls.report_call,
        inbox.list_waiting_calls,
        inbox.list_decisions,
        inbox.export_decisions_csv,
        inbox.export_decisions_jsonl,
        memory.list_items,
        memory.propose_item,
        memory.get_item,
        memory.decide_item,
        feedback.give_feedback,
        feedback.list_feedback,
        feedback.export_feedback,
        *stories.HANDLERS,
    )
}
_EVENTS, _JSON = b"text/event-stream", b"application/json"


@dataclass(frozen=True, slots=True)
class _DecodedBody:
    """The body of a request. `digested`: the bytes of it that tell two requests with one `Idempotency-Key` apart."""

    body: Any
    digested: bytes


class HttpApi:
    """Serves the routes of the HTTP API (implements `agent.server.service.RouteService`).

    `services`: those of the handlers. `wait_ready` waits a bounded time until a turn can begin, and returns the reason
    that none can, or "". `draining` returns whether the server goes down, and takes no new work. `pace`: seconds
    between two pieces of a text that is streamed as events.
    """

    def __init__(
        self,
        services: ApiServices,
        observer: Observer,
        wait_ready: Callable[[], Awaitable[str]],
        draining: Callable[[], bool],
        pace: float = 0.0,
    ) -> None:
        self._services = services
        self._observer = observer
        self._wait_ready = wait_ready
        self._draining = draining
        self._pace = pace
        self.door_handlers: Mapping[str, DoorHandler] = {"openapi": self._openapi, "health": self._health}

    async def _openapi(self, _: Head, __: Mapping[str, str]) -> Answer:
        return Answer(status=200, content=openapi.document())

    async def _health(self, _: Head, __: Mapping[str, str]) -> Answer:
        now = make_time(self._services.clock.now_ms())
        with trio.move_on_after(RECORD_TIMEOUT), suppress(StorageFailed):
            await self._services.projects.project(HOUSE)
            return answer_with(Health("ok", now, "ok"))
        return answer_with(Health("unavailable", now, "unavailable"), 503, {"Retry-After": "2"})

    def refuse(self, route: Route) -> Refusal | None:
        """Return the refusal of a request that changes something while the server cannot do it, or None."""
        if route.method == "GET":
            return None
        return Refusal(503, "", code="shutting_down") if self._draining() else None

    def decode(self, admitted: AdmittedRequest, body: Any) -> _DecodedBody:
        """Return a body as its route's Struct, or as an `UploadedFile`."""
        route = admitted.route
        if isinstance(body, UploadedFile):
            return _DecodedBody(body, _digest_of_upload(body))
        if route.body is None:
            return _DecodedBody(None, b"")
        if route.takes_raw_body:
            return _DecodedBody(body, body)
        if route.body_optional and not body:
            return _DecodedBody(route.body(), b"")
        decoded = decode(route.body, body)
        check_owner(admitted.caller, route, body=decoded)
        return _DecodedBody(decoded, body)

    async def work(
        self,
        admitted: AdmittedRequest,
        body: _DecodedBody,
        exchange: HttpExchange,
        client_scope: trio.CancelScope,
    ) -> None:
        """Call the route's handler, and write its answer."""
        if not _wants_events(admitted):
            answer = await self._answer(admitted, body, None)
            self._count(answer)
            await exchange.answer(answer)
            return
        events = EventStream(exchange, self._pace_now, self._observer, client_scope.cancel)
        async with trio.open_nursery() as writing:
            writing.start_soon(events.run)
            answer = await self._answer(admitted, body, events)
            self._count(answer)
            events.end(answer)

    def _pace_now(self) -> float:
        """Return the pace of a text: 0 while the server goes down."""
        return 0.0 if self._draining() else self._pace

    async def _answer(
        self, admitted: AdmittedRequest, body: _DecodedBody, events: EventStream | None
    ) -> Answer:
        services, route, caller = self._services, admitted.route, admitted.caller

        async def act() -> Answer:
            why = await self._wait_ready() if route.turn and not self._draining() else ""
            closed = self.refuse(route) or (Refusal(503, why, code="starting") if why else None)
            if closed is not None:
                return answer_refusal(closed, "problem")
            project = _project(admitted, body.body)
            preferred = any(b"respond-async" in value.lower() for value in admitted.head.values(b"prefer"))
            request = Request(
                project=project,
                by=caller.name,
                names=admitted.names,
                query=admitted.query,
                body=body.body,
                async_preferred=preferred,
                listener=events,
                key=caller.key,
                owner=find_owner(admitted, body.body, project, services.own_project),
            )
            work = partial(self._run_handler, route, request)
            if (key := admitted.key) is None:
                return await work()
            digest = _digest(admitted.head, body.digested)
            now = services.clock.now_ms()

            async def answer() -> Answer:
                return await answer_once(services.requests, caller.name, key, digest, now, project, work)

            if route.name in ("approve_call", "resume_call") and not preferred:
                return await calls.answer_repeat(services, request, answer)
            return await answer()

        return await catch_errors(act, services.new_id)

    async def _run_handler(self, route: Route, request: Request) -> Answer:
        """Run a route's handler, within `HTTP_TIMEOUT` seconds if it is no turn."""
        handler = HANDLERS[route.name]
        with trio.move_on_after(HTTP_TIMEOUT) as limit:
            await check_user(self._services, request)
            if route.turn or (route.live and request.listener is not None):
                limit.deadline = inf
            return await handler(self._services, request)
        return answer_problem("storage")

    def _count(self, answer: Answer) -> None:
        if answer.status >= 400:
            self._observer.count("rejections", str(answer.status))


def _wants_events(admitted: AdmittedRequest) -> bool:
    """Return whether to answer with events: the route has them, and `Accept` names them, and before JSON."""
    accepted = b",".join(admitted.head.values(b"accept")).lower()
    events, json = accepted.find(_EVENTS), accepted.find(_JSON)
    return admitted.route.events and events >= 0 and (json < 0 or events < json)


def _project(admitted: AdmittedRequest, body: Any) -> str:
    """Return the project of a request: the one that it names, else its key's, else `HOUSE`.

    Raises `ProblemError` with `not_found` for a project that its caller may not see.
    """
    named = admitted.names.get("project_id")
    for given in (admitted.query, body):
        named = named or getattr(given, "project_id", None)
    if not admitted.caller.may_see(named):
        raise ProblemError("not_found")
    return named or admitted.caller.project or HOUSE


def _digest(head: Head, body: bytes) -> str:
    """Return the digest of a request: of its method, its target and its body."""
    return sha256(b"%s %s\n%s" % (head.method, head.target, body)).hexdigest()


def _digest_of_upload(upload: UploadedFile) -> bytes:
    """Return the digest of an upload's fields and data. Its body would not do: each request has a new boundary."""
    about = f"{upload.category}\n{upload.filename}\n{upload.mime}\n".encode()
    return about + sha256(upload.data).digest()
