"""The HTTP API on the edge: who calls, which route, what was sent, and the answer.

    head -> key -> rate -> route -> query -> type, length, readiness -> a place -> body -> handler -> answer -> closed

What there is stands in `agent.protocol.routes`; what each route does, in the modules beside this one. A request is
served on the connection itself, as questions are (`questions`): while it is worked on one task reads the connection,
and its end means that the client has left, which cancels the work. Health and the document are answered at the door.

A project's key opens that project and nothing else: what is another's, and what only the operator may do, is answered
by the 404 of what never existed.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import inf
from typing import Any

import trio

from ...config import HTTP_TIMEOUT, RECORD_TIMEOUT, UPLOAD_MAX, UPLOAD_TIMEOUT, UPLOADS_AT_ONCE
from ...errors import StorageFailed
from ...ports.observe import Observer
from ...ports.projects import HOUSE
from ...protocol import openapi
from ...protocol.problems import Unanswerable, code_of, decode, decode_query
from ...protocol.routes import ROUTES, Route, serves
from ...protocol.views import Health
from ..admission import GUESSING, Admission
from ..body import Bounds, announced, feed_body
from ..limits import Cap, Slots
from ..sniff import Head, Refusal, hang_up
from . import calls, documents, memory, projects, threads
from .answers import Answer, caught, failed, refused, told
from .events import Events
from .keys import Caller, Guessing, Keys
from .once import key_of, once
from .plain import Seated, is_json, until_it_leaves, write
from .rooms import Handler, Request, Rooms, Uploaded, check_user
from .uploads import ENVELOPE, Multipart

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
_USUAL = Bounds()
_UPLOAD = Bounds(UPLOAD_MAX + ENVELOPE, UPLOAD_TIMEOUT)
_EVENTS, _JSON = b"text/event-stream", b"application/json"


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A request whose head was read, and what that says."""

    head: Head
    caller: Caller
    route: Route
    names: Mapping[str, str]
    query: Any
    key: str | None

    @property
    def bounds(self) -> Bounds:
        """Of its body."""
        return _UPLOAD if self.route.uploads else _USUAL

    @property
    def wants_events(self) -> bool:
        """Whether it asks for events where there are some; of both that it accepts, the one that it names first."""
        accepted = b",".join(self.head.values(b"accept")).lower()
        events, json = accepted.find(_EVENTS), accepted.find(_JSON)
        return self.route.events and events >= 0 and (json < 0 or events < json)

    def project(self, body: Any) -> str:
        """Return whose things it is about: as it says, else as its key does, else the house's own.

        Raises Unanswerable for another one than its caller may see, as for what is not there.
        """
        named = self.names.get("project_id")
        for given in (self.query, body):
            named = named or getattr(given, "project_id", None)
        if not self.caller.may_see(named):
            raise Unanswerable("not_found")
        return named or self.caller.project or HOUSE


@dataclass(frozen=True, slots=True)
class _Came:
    """What a request brought. digested: what tells it from another's."""

    body: Any
    digested: bytes


class HttpApi:
    """Answers the requests of the HTTP API, each on a connection of its own (implements `plain.Plain`).

    rooms: what it works on. unready: says why no turn can begin now, "" when one can. draining: whether the server goes
    down, and takes nothing new. pace: seconds between two pieces of a text that is told as events.
    """

    own_keys = True

    def __init__(
        self,
        rooms: Rooms,
        admission: Admission,
        cap: Cap,
        observer: Observer,
        unready: Callable[[], str],
        draining: Callable[[], bool],
        pace: float = 0.0,
    ) -> None:
        self._rooms = rooms
        self._keys = Keys(admission, rooms.projects, cap.wrong_tokens)
        self._cap = cap
        self._observer = observer
        self._unready = unready
        self._draining = draining
        self._pace = pace
        self._uploads = Slots(UPLOADS_AT_ONCE)

    def serves(self, head: Head) -> bool:
        """Whether a request is for one of the paths here, there or not, by whatever method."""
        return serves(head.path)

    def render(self, refusal: Refusal, head: Head) -> bytes:
        """Return a refusal of the edge's as a problem."""
        return refused(refusal, code_of(refusal.status, refusal.code)).render(head.method != b"HEAD")

    async def admit(self, head: Head, address: str | None) -> Refusal | bytes | Seated:
        """Return the answer to a request that is not served, or needs no place; else what answers it in one."""
        found: _Admitted | Answer = failed("storage")
        with trio.move_on_after(HTTP_TIMEOUT):
            found = await caught(partial(self._admitted, head, address), self._rooms.new_id)
        if isinstance(found, _Admitted):
            return partial(self._serve, found)
        self._count(found)
        return found.render(head.method != b"HEAD")

    async def _admitted(self, head: Head, address: str | None) -> _Admitted | Answer:
        """Return a request that is to be served, or the answer to one that is not."""
        path = head.path.decode("latin-1")
        found = [(each, match) for each in ROUTES if (match := each.pattern.fullmatch(path)) is not None]
        method = "GET" if head.method == b"HEAD" else head.method.decode("latin-1")
        route, match = next(((each, match) for each, match in found if each.method == method), (None, None))
        if route is not None and route.who == "open":
            decode_query(route.query, _query(head))
            return await self._open(route)
        try:
            caller = await self._keys.caller(head, address)
        except Guessing:
            self._observer.count("limited", "tokens")
            return refused(GUESSING, "rate_limited")
        if caller is None:
            return failed("unauthorized")
        if not self._cap.requests.take(caller.name if caller.keyed else address, trio.current_time()):
            self._observer.count("limited", "requests")
            return failed("rate_limited", headers={"Retry-After": "10"})
        if not found or (route is not None and route.who == "operator" and caller.project is not None):
            return failed("not_found")
        if route is None or match is None:
            allowed = sorted(
                {each.method for each, _ in found} | {"HEAD" for each, _ in found if each.method == "GET"}
            )
            return failed("method_not_allowed", headers={"Allow": ", ".join(allowed)})
        admitted = _Admitted(
            head,
            caller,
            route,
            match.groupdict(),
            decode_query(route.query, _query(head)),
            key_of(head) if route.method == "POST" else None,
        )
        admitted.project(None)
        return self._unacceptable(admitted) or admitted

    async def _open(self, route: Route) -> Answer:
        if route.name == "openapi":
            return Answer(200, openapi.document())
        now = self._rooms.clock.now_ms()
        with trio.move_on_after(RECORD_TIMEOUT), suppress(StorageFailed):
            await self._rooms.projects.project(HOUSE)
            return told(Health("ok", now, "ok"))
        return told(Health("unavailable", now, "unavailable"), 503, {"Retry-After": "2"})

    def _unacceptable(self, admitted: _Admitted) -> Answer | None:
        """Return what can be said against a request before its body is read."""
        route, head = admitted.route, admitted.head
        if route.body is not None:
            if route.uploads:
                Multipart(head)  # refuses a body that is none
            elif not is_json(head) and not (route.bare and not head.values(b"content-type")):
                return failed("unsupported_media_type")
            refusal = announced(head, admitted.bounds)
            if refusal is not None:
                return refused(refusal, code_of(refusal.status, refusal.code))
        return self._closed(route)

    def _closed(self, route: Route) -> Answer | None:
        """Return why a request that changes something cannot be done now, if it cannot."""
        if route.method == "GET":
            return None
        if self._draining():
            return failed("shutting_down")
        why = self._unready() if route.turn else ""
        return failed("starting", why) if why else None

    async def _serve(
        self,
        admitted: _Admitted,
        stream: trio.abc.Stream,
        reading: trio.CancelScope,
        keep: Callable[[], None],
    ) -> None:
        """Read the body, answer and hang up; see `plain.Seated`."""
        with ExitStack() as upload:
            if admitted.route.uploads:
                if not self._uploads.acquire():
                    await self._refuse(admitted, stream, failed("too_many_uploads"))
                    return
                upload.callback(self._uploads.release)
            await self._read_and_answer(admitted, stream, reading, keep, upload.close)

    async def _read_and_answer(
        self,
        admitted: _Admitted,
        stream: trio.abc.Stream,
        reading: trio.CancelScope,
        keep: Callable[[], None],
        answered: Callable[[], None],
    ) -> None:
        """Do so. answered: called when nothing of the body is kept any more."""
        came: _Came | Answer = failed("full", "Others are waiting and your request did not come.")
        with reading:
            came = await caught(partial(self._read, admitted, stream), self._rooms.new_id)
        if reading.cancel_called:
            self._observer.count("limited", "silent")
        keep()
        if isinstance(came, Answer):
            answered()
            await self._refuse(admitted, stream, came)
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_it_leaves, stream, nursery.cancel_scope)
            await self._tell(admitted, stream, came, nursery.cancel_scope)
            nursery.cancel_scope.cancel()
        del came  # before another one may come in its place
        answered()
        await hang_up(stream)

    async def _read(self, admitted: _Admitted, stream: trio.abc.Stream) -> _Came | Answer:
        """Return the body, or the answer to one that is none."""
        route, head = admitted.route, admitted.head
        if route.body is None:
            return _Came(None, b"")
        body = bytearray()
        form = Multipart(head) if route.uploads else None
        ended = await feed_body(stream, head, body.extend if form is None else form.feed, admitted.bounds)
        if isinstance(ended, Refusal):
            code = code_of(ended.status, ended.code)
            return (
                failed("upload_too_large") if route.uploads and code == "too_large" else refused(ended, code)
            )
        if ended is None:
            return failed("bad_request", "Send the whole body: it ended before its end.")
        if form is not None:
            upload = form.taken()
            return _Came(upload, _digest_of_upload(upload))
        if route.bare and not body:
            return _Came(route.body(), b"")
        return _Came(decode(route.body, bytes(body)), bytes(body))

    async def _tell(
        self,
        admitted: _Admitted,
        stream: trio.abc.Stream,
        came: _Came,
        work: trio.CancelScope,
    ) -> None:
        """Do what is asked, and write the answer."""
        if not admitted.wants_events:
            answer = await self._answer(admitted, came, None)
            self._count(answer)
            await write(stream, answer.render(admitted.head.method != b"HEAD"), self._observer)
            return
        events = Events(stream, admitted.head.version == b"1.1", self._pace_now, self._observer, work.cancel)
        async with trio.open_nursery() as writing:
            writing.start_soon(events.run)
            answer = await self._answer(admitted, came, events)
            self._count(answer)
            events.end(answer)

    def _pace_now(self) -> float:
        """Return the pace of a text; a server that goes down keeps none."""
        return 0.0 if self._draining() else self._pace

    async def _answer(self, admitted: _Admitted, came: _Came, events: Events | None) -> Answer:
        rooms, route, caller = self._rooms, admitted.route, admitted.caller

        async def act() -> Answer:
            closed = self._closed(route)
            if closed is not None:
                return closed
            project = admitted.project(came.body)
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

    async def _refuse(self, admitted: _Admitted, stream: trio.abc.Stream, answer: Answer) -> None:
        self._count(answer)
        await hang_up(stream, answer.render(admitted.head.method != b"HEAD"))

    def _count(self, answer: Answer) -> None:
        if answer.status >= 400:
            self._observer.count("rejections", str(answer.status))


def _query(head: Head) -> bytes:
    return head.target.partition(b"?")[2]


def _digest(head: Head, body: bytes) -> str:
    """Return what tells one request from another: what is asked for, and with what body."""
    return sha256(b"%s %s\n%s" % (head.method, head.target, body)).hexdigest()


def _digest_of_upload(upload: Uploaded) -> bytes:
    """Return what tells one upload from another; a client chooses a new boundary each time."""
    about = f"{upload.category}\n{upload.filename}\n{upload.mime}\n".encode()
    return about + sha256(upload.data).digest()
