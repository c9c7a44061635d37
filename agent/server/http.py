"""What is answered over plain HTTP: the chat page, sources, the probes, the figures, the descriptions of the wire.

Everything is read or made before the server starts, or held by the index, and answered from memory: no thread, no file.
Only the figures and the readiness may be waited for: those of several workers are asked for when somebody wants them.
The page's files carry an ETag of their content, so that a browser that asks again gets 304 and no body.

Each route says itself whether it needs the token. A check of the path beforehand would have to read it exactly as the
router does, which decodes percent escapes.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..lang import DEFAULT, LANGUAGES, Lang
from ..ports.observe import Observer
from .admission import NEEDS_TOKEN
from .languages import script
from .source import PATH, READING, Sections, source
from .tagged import tag_of, tagged

_ASSETS = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "answer.js": "text/javascript; charset=utf-8",
    "details.js": "text/javascript; charset=utf-8",
    "openers.js": "text/javascript; charset=utf-8",
    "source.js": "text/javascript; charset=utf-8",
    "list.js": "text/javascript; charset=utf-8",
    "language.js": "text/javascript; charset=utf-8",
    "kept.js": "text/javascript; charset=utf-8",
    "items.js": "text/javascript; charset=utf-8",
    "memory.js": "text/javascript; charset=utf-8",
    "languages.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
MADE = "languages.js"
"""The file of the page that stands nowhere: it is made from the languages."""
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_NO_UPGRADE = "This is the WebSocket: connect to it as ws://, or open the chat page at /.\n"
# The page loads nothing from elsewhere, runs no inline script, and cannot be framed.
SECURITY: Mapping[str, str] = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Contents:
    """What the routes serve that this layer does not know.

    asyncapi: the wire's description, as JSON bytes. session_diagram: the state diagram, as Mermaid text.
    metrics: returns the Prometheus text. unready: says why new clients are not welcome, "" when they are.
    authorised: whether one of these values of Authorization shows the token, where one is asked for.
    sections: the sections of a file of the knowledge base. openers: questions to begin with, in a language; None while
    the documents are being read. name, greeting: what the operator calls the page, and lets it say first. limping: says
    what does not work though clients are welcome, "" when all does. welcome: as authorised, for what the page needs;
    None is the same.
    """

    asyncapi: bytes
    session_diagram: str
    metrics: Callable[[], Awaitable[bytes]]
    unready: Callable[[], Awaitable[str]]
    authorised: Callable[[Sequence[bytes]], bool]
    sections: Sections = lambda _: ()
    openers: Callable[[Lang], Sequence[str] | None] = lambda _: ()
    name: str = ""
    greeting: str = ""
    limping: Callable[[], str] = lambda: ""
    welcome: Callable[[Sequence[bytes]], bool] | None = None


def make_app(contents: Contents, observer: Observer) -> ASGIApp:
    """Return the ASGI application: the routes, with security headers on every answer, and no WebSocket.

    observer: counts the requests that showed no token where one is needed.
    """
    guarded = partial(_guarded, contents.authorised, observer)
    for_pages = partial(_guarded, contents.welcome or contents.authorised, observer)
    routes = [
        _static("/", "index.html", _page(contents)),
        *(_static(f"/static/{name}", name, _asset(name)) for name in _ASSETS if name != "index.html"),
        _static("/static/index.html", "index.html", _page(contents)),
        _static("/favicon.ico", "icon.svg", _asset("icon.svg")),
        _fixed("/healthz", lambda: PlainTextResponse("ok\n")),
        _asked("/readyz", partial(_readiness, contents.unready, contents.limping)),
        guarded("/metrics", partial(_figures, contents.metrics)),
        for_pages("/openers.json", partial(_openers, contents.openers)),
        for_pages(PATH, partial(_source, contents.sections)),
        _fixed("/asyncapi.json", lambda: Response(contents.asyncapi, media_type="application/json")),
        _fixed("/session.mmd", lambda: PlainTextResponse(contents.session_diagram)),
        _fixed("/ws", lambda: PlainTextResponse(_NO_UPGRADE, 426, {"upgrade": "websocket"})),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _plain_words})

    async def only_http(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is not plain HTTP (the sniffer lets none through) and put the headers on the rest."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await app(scope, receive, _with_headers(send))

    return only_http


def _asset(name: str) -> bytes:
    return script() if name == MADE else files(__package__).joinpath("static", name).read_bytes()


def _page(contents: Contents) -> bytes:
    """Return the chat page with what the operator calls it, escaped."""
    page = _asset("index.html").decode()
    if contents.name:
        page = page.replace("<title>Ask</title>", f"<title>{escape(contents.name)}</title>")
    for field, value in (("name", contents.name), ("greeting", contents.greeting)):
        page = page.replace(f'"agent-{field}" content=""', f'"agent-{field}" content="{escape(value)}"')
    return page.encode()


async def _openers(openers: Callable[[Lang], Sequence[str] | None], request: Request) -> Response:
    """Return questions to begin with in the language that is asked for, as JSON."""
    wanted = request.query_params.get("lang", DEFAULT)
    found = openers(wanted if wanted in LANGUAGES else DEFAULT)
    if found is None:
        return PlainTextResponse(READING, 503, {"retry-after": "1"})
    content = json.dumps(found).encode()
    return tagged(request, content, tag_of(content), {"content-type": "application/json"})


def _static(path: str, name: str, content: bytes) -> Route:
    tag, kind = tag_of(content), {"content-type": _ASSETS[name]}

    async def endpoint(request: Request) -> Response:
        return tagged(request, content, tag, kind)

    return Route(path, endpoint, methods=["GET", "HEAD"])


def _fixed(path: str, answer: Callable[[], Response]) -> Route:
    async def endpoint(_: Request) -> Response:
        return answer()

    return Route(path, endpoint, methods=["GET", "HEAD"])


def _asked(path: str, answer: Callable[[], Awaitable[Response]]) -> Route:
    async def endpoint(_: Request) -> Response:
        return await answer()

    return Route(path, endpoint, methods=["GET", "HEAD"])


def _guarded(
    authorised: Callable[[Sequence[bytes]], bool],
    observer: Observer,
    path: str,
    answer: Callable[[Request], Awaitable[Response]],
) -> Route:
    """Return a route that answers only who shows the token."""

    async def endpoint(request: Request) -> Response:
        shown = [value.encode("latin-1") for value in request.headers.getlist("authorization")]
        if authorised(shown):
            return await answer(request)
        observer.count("rejections", "401")
        return PlainTextResponse(f"{NEEDS_TOKEN.words}\n", NEEDS_TOKEN.status, NEEDS_TOKEN.headers)

    return Route(path, endpoint, methods=["GET", "HEAD"])


async def _readiness(unready: Callable[[], Awaitable[str]], limping: Callable[[], str]) -> Response:
    why = await unready()
    if why:
        return PlainTextResponse(f"not ready: {why}\n", 503)
    but = limping()
    return PlainTextResponse(f"ready, but: {but}\n" if but else "ready\n")


async def _figures(metrics: Callable[[], Awaitable[bytes]], _: Request) -> Response:
    return Response(await metrics(), headers={"content-type": _PROMETHEUS})


async def _source(sections: Sections, request: Request) -> Response:
    return source(request, sections)


async def _plain_words(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {
        404: "There is nothing at this address; the chat page is at /.",
        405: "Only GET and HEAD work here.",
    }
    return PlainTextResponse(
        words.get(error.status_code, error.detail) + "\n", error.status_code, error.headers
    )


def _with_headers(send: Send) -> Send:
    extra = [(name.encode(), value.encode()) for name, value in SECURITY.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *extra]
        await send(message)

    return sending
