"""The HTTP API: what each of its routes does, once a request for it was let in and read (`agent.server.http`).

What there is stands in `agent.protocol.routes`; what each route does, in the modules beside this one.
"""

from collections.abc import Callable, Mapping
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
from ...protocol.problems import Unanswerable, decode
from ...protocol.routes import Route
from ...protocol.views import Health
from ..admitted import Admitted, AtTheDoor
from ..answers import Answer
from ..exchange import Exchange
from ..sniff import Head, Refusal
from . import calls, documents, memory, projects, threads
from .answers import caught, failed, tell, told
from .events import Events
from .once import once
from .rooms import Handler, Request, Rooms, Uploaded, check_user

HANDLERS: Mapping[str, Handler] = {
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
        calls.get_call,
        calls.approve_call,
        calls.reject_call,
        calls.begin_call,
        calls.report_call,
        memory.list_items,
        memory.get_item,
        memory.decide_item,
    )
}
_EVENTS, _JSON = b"text/event-stream", b"application/json"


@dataclass(frozen=True, slots=True)
class _Came:
    """What a request brought. digested: what tells it from another's."""

    body: Any
    digested: bytes


class HttpApi:
    """Serves the routes of the HTTP API (implements `agent.server.admitted.Service`).

    rooms: what it works on. unready: says why no turn can begin now, "" when one can. draining: whether the server goes
    down, and takes nothing new. pace: seconds between two pieces of a text that is told as events.
    """

    def __init__(
        self,
        rooms: Rooms,
        observer: Observer,
        unready: Callable[[], str],
        draining: Callable[[], bool],
        pace: float = 0.0,
    ) -> None:
        self._rooms = rooms
        self._observer = observer
        self._unready = unready
        self._draining = draining
        self._pace = pace
        self.at_the_door: Mapping[str, AtTheDoor] = {"openapi": self._openapi, "health": self._health}

    async def _openapi(self, _: Head, __: Mapping[str, str]) -> Answer:
        return Answer(200, openapi.document())

    async def _health(self, _: Head, __: Mapping[str, str]) -> Answer:
        now = self._rooms.clock.now_ms()
        with trio.move_on_after(RECORD_TIMEOUT), suppress(StorageFailed):
            await self._rooms.projects.project(HOUSE)
            return told(Health("ok", now, "ok"))
        return told(Health("unavailable", now, "unavailable"), 503, {"Retry-After": "2"})

    def refuse(self, route: Route) -> Refusal | None:
        """Return why a request that changes something cannot be done now, if it cannot."""
        if route.method == "GET":
            return None
        if self._draining():
            return Refusal(503, "", code="shutting_down")
        why = self._unready() if route.turn else ""
        return Refusal(503, why, code="starting") if why else None

    def decode(self, admitted: Admitted, body: Any) -> _Came:
        """Return a body as its route's Struct, or as an `Uploaded`."""
        route = admitted.route
        if isinstance(body, Uploaded):
            return _Came(body, _digest_of_upload(body))
        if route.body is None:
            return _Came(None, b"")
        if route.bare and not body:
            return _Came(route.body(), b"")
        return _Came(decode(route.body, body), body)

    async def work(self, admitted: Admitted, body: _Came, exchange: Exchange, left: trio.CancelScope) -> None:
        """Do what is asked, and write the answer."""
        if not _wants_events(admitted):
            answer = await self._answer(admitted, body, None)
            self._count(answer)
            await exchange.answer(answer)
            return
        events = Events(exchange, self._pace_now, self._observer, left.cancel)
        async with trio.open_nursery() as writing:
            writing.start_soon(events.run)
            answer = await self._answer(admitted, body, events)
            self._count(answer)
            events.end(answer)

    def _pace_now(self) -> float:
        """Return the pace of a text; a server that goes down keeps none."""
        return 0.0 if self._draining() else self._pace

    async def _answer(self, admitted: Admitted, came: _Came, events: Events | None) -> Answer:
        rooms, route, caller = self._rooms, admitted.route, admitted.caller

        async def act() -> Answer:
            closed = self.refuse(route)
            if closed is not None:
                return tell(closed, "problem")
            project = _project(admitted, came.body)
            preferred = any(b"respond-async" in value.lower() for value in admitted.head.values(b"prefer"))
            request = Request(
                project, caller.name, admitted.names, admitted.query, came.body, preferred, events
            )
            work = partial(self._within, route, request)
            if admitted.key is None:
                return await work()
            asked = _digest(admitted.head, came.digested)
            now = rooms.clock.now_ms()
            return await once(rooms.requests, caller.name, admitted.key, asked, now, project, work)

        return await caught(act, rooms.new_id)

    async def _within(self, route: Route, request: Request) -> Answer:
        """Do what a route is for; what is no turn gets HTTP_TIMEOUT seconds for it."""
        handler = HANDLERS[route.name]
        with trio.move_on_after(HTTP_TIMEOUT) as limit:
            await check_user(self._rooms, request)
            if route.turn:
                limit.deadline = inf
            return await handler(self._rooms, request)
        return failed("storage")

    def _count(self, answer: Answer) -> None:
        if answer.status >= 400:
            self._observer.count("rejections", str(answer.status))


def _wants_events(admitted: Admitted) -> bool:
    """Whether it asks for events where there are some; of both that it accepts, the one that it names first."""
    accepted = b",".join(admitted.head.values(b"accept")).lower()
    events, json = accepted.find(_EVENTS), accepted.find(_JSON)
    return admitted.route.events and events >= 0 and (json < 0 or events < json)


def _project(admitted: Admitted, body: Any) -> str:
    """Return whose things a request is about: as it says, else as its key does, else the house's own.

    Raises Unanswerable for another one than its caller may see, as for what is not there.
    """
    named = admitted.names.get("project_id")
    for given in (admitted.query, body):
        named = named or getattr(given, "project_id", None)
    if not admitted.caller.may_see(named):
        raise Unanswerable("not_found")
    return named or admitted.caller.project or HOUSE


def _digest(head: Head, body: bytes) -> str:
    """Return what tells one request from another: what is asked for, and with what body."""
    return sha256(b"%s %s\n%s" % (head.method, head.target, body)).hexdigest()


def _digest_of_upload(upload: Uploaded) -> bytes:
    """Return what tells one upload from another; a client chooses a new boundary each time."""
    about = f"{upload.category}\n{upload.filename}\n{upload.mime}\n".encode()
    return about + sha256(upload.data).digest()
