"""Lists every route of the server in one table, and finds the route of a path; pure.

    GUIDE      the guide, which the OpenAPI document describes too
    PAGE       the chat page and its files, sources, guide, probes, figures, descriptions of the wire
    QUESTIONS  plain questions, and those of OpenAI's clients
    ROUTES     the HTTP API

Percent escapes are read here and nowhere else. The page's paths, where a file's name may hold any character, are
compared without them; those of the API and of questions as they are sent, so that each has one spelling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from .routes import ROUTES, Access, Route, Shape, is_api_path


def _page_route(name: str, path: str, summary: str, access: Access = "open") -> Route:
    return Route(
        name=name, method="GET", path=path, summary=summary, access=access, answers={200: None}, shape="plain"
    )


GUIDE: tuple[Route, ...] = (
    _page_route("guide", "/guide", "The list of the guide's pages, as HTML"),
    _page_route("guide_page", "/guide/{page}", "A page of the guide, as HTML"),
)
PAGE: tuple[Route, ...] = (
    _page_route("page", "/", "The chat page, or its WebSocket"),
    _page_route("asset", "/static/{asset}", "A file of the chat page"),
    _page_route("icon", "/favicon.ico", "The page's icon"),
    _page_route("healthz", "/healthz", "Whether the process lives"),
    _page_route("readyz", "/readyz", "Whether new clients are welcome"),
    _page_route("metrics", "/metrics", "The figures, for Prometheus", "token"),
    _page_route("openers", "/openers.json", "Questions to begin with", "user"),
    _page_route("source", "/source/{file:path}", "A file of the knowledge base around some lines", "user"),
    *GUIDE,
    _page_route("asyncapi", "/asyncapi.json", "The WebSocket's frames"),
    _page_route("session_diagram", "/session.mmd", "A session's states"),
    _page_route("socket", "/ws", "The WebSocket"),
)
QUESTIONS: tuple[Route, ...] = (
    Route(
        name="ask",
        method="POST",
        path="/ask",
        summary="Ask a question",
        access="token",
        answers={200: None},
        turn=True,
        shape="openai",
        takes_raw_body=True,
    ),
    Route(
        name="chat_completions",
        method="POST",
        path="/v1/chat/completions",
        summary="Ask a question as OpenAI's clients do",
        access="token",
        answers={200: None},
        turn=True,
        shape="openai",
        takes_raw_body=True,
    ),
    Route(
        name="list_models",
        method="GET",
        path="/v1/models",
        summary="The model that answers",
        access="token",
        answers={200: None},
        shape="openai",
    ),
)
TABLE: tuple[Route, ...] = (*PAGE, *QUESTIONS, *ROUTES)
"""All routes of the server."""


@dataclass(frozen=True, slots=True)
class PathMatch:
    """The routes at a path by their methods, the names in the path, and the shape of its errors.

    `elsewhere` is the same path without a final slash, where nothing is here and something is there.
    """

    shape: Shape
    routes: Mapping[str, Route] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""

    @property
    def allowed_methods(self) -> str:
        """The methods that work here, in the form of the header `Allow`."""
        return ", ".join(sorted({*self.routes, *(["HEAD"] if "GET" in self.routes else [])}))


_EXACT: dict[str, Route] = {route.path: route for route in (*PAGE, *QUESTIONS) if "{" not in route.path}
_PARTED = tuple(route for route in PAGE if "{" in route.path)


def match_path(path: bytes) -> PathMatch:
    """Return the match of a path, which is ASCII and without its query; it has no routes for an unknown path."""
    sent = path.decode("ascii", "replace")
    if is_api_path(path):
        matches = [(route, match) for route in ROUTES if (match := route.pattern.fullmatch(sent)) is not None]
        names = matches[0][1].groupdict() if matches else {}
        return PathMatch("problem", {route.method: route for route, _ in matches}, names)
    exact = _EXACT.get(sent)
    if exact is not None and exact.shape == "openai":
        return PathMatch("openai", {exact.method: exact})
    spelled = unquote(sent)
    exact = _EXACT.get(spelled)
    if exact is not None and exact.shape == "plain":
        return PathMatch("plain", {exact.method: exact})
    for route in _PARTED:
        match = route.pattern.fullmatch(spelled)
        if match is not None:
            return PathMatch("plain", {route.method: route}, match.groupdict())
    before = _EXACT.get(spelled[:-1]) if spelled.endswith("/") else None
    return PathMatch("plain", elsewhere=before.path if before is not None and before.shape == "plain" else "")
