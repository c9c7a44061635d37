"""Lists every route of the server in one table, and finds the route of a path; pure.

    PAGE       the chat page and its files, sources, guide, probes, figures, descriptions of the wire
    QUESTIONS  plain questions, and those of OpenAI's and of MCP's clients
    ROUTES     the HTTP API

`DESCRIBED` are those that the OpenAPI document describes: all but the files of the page, and the WebSocket.

The page's percent escapes are read here, those of a model's name by its handler, and no others. The page's paths, where
a file's name may hold any character, are compared without them; those of the API and of questions as they are sent, so
that each has one spelling.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from .completion_answers import AskAnswer, Completion, ModelInfo, ModelList
from .completions import AskRequest, CompletionRequest
from .embeddings import EmbeddingList, EmbeddingRequest
from .mcp import RpcAnswer, RpcMessage
from .responses_api import ResponseObject, ResponseRequest
from .route import Access, Route, Shape
from .routes import ROUTES, is_api_path


def _page_route(
    name: str,
    path: str,
    summary: str,
    kind: str = "text/plain",
    access: Access = "open",
    refusals: tuple[int, ...] = (),
) -> Route:
    answers = dict.fromkeys((200, *refusals))
    return Route(
        name=name,
        method="GET",
        path=path,
        summary=summary,
        access=access,
        answers=answers,
        shape="plain",
        kind=kind,
    )


_HTML, _JSON = "text/html", "application/json"
PAGE: tuple[Route, ...] = (
    _page_route("page", "/", "The chat page, or its WebSocket", _HTML),
    _page_route("asset", "/static/{asset}", "A file of the chat page", refusals=(404,)),
    _page_route("embed", "/embed.js", "A chat for any website, as a script", "text/javascript"),
    _page_route(
        "embed_config", "/embed.json", "What that chat shows first, for pages that may use it", _JSON
    ),
    _page_route("client", "/agent.js", "A client for programs, as a JavaScript module", "text/javascript"),
    _page_route("client_types", "/agent.d.ts", "The types of that client, for TypeScript"),
    _page_route("icon", "/favicon.ico", "The page's icon", "image/svg+xml"),
    _page_route("logo", "/logo", "The operator's logo, where there is one", "image/png", refusals=(404,)),
    _page_route("healthz", "/healthz", "Whether the process lives"),
    _page_route("readyz", "/readyz", "Whether new clients are welcome", refusals=(503,)),
    _page_route("metrics", "/metrics", "The figures, for Prometheus", access="token", refusals=(401,)),
    _page_route("openers", "/openers.json", "Questions to begin with", _JSON, access="user", refusals=(401,)),
    _page_route(
        "uploads",
        "/uploads.json",
        "Where the caller may upload documents",
        _JSON,
        access="user",
        refusals=(401,),
    ),
    _page_route(
        "source",
        "/source/{file:path}",
        "A file of the knowledge base around some lines; JSON where the request accepts that",
        _HTML,
        access="user",
        refusals=(400, 401, 404, 503),
    ),
    _page_route("inbox", "/inbox", "The page of an approver of calls", _HTML),
    _page_route("story", "/story", "The page of stories, or their WebSocket", _HTML),
    _page_route("docs", "/docs", "The routes and frames, with a form to try each route, as HTML", _HTML),
    _page_route("guide", "/guide", "The list of the guide's pages, as HTML", _HTML),
    _page_route("guide_page", "/guide/{page}", "A page of the guide, as HTML", _HTML, refusals=(404,)),
    _page_route("asyncapi", "/asyncapi.json", "The WebSocket's frames", _JSON),
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
        answers={200: AskAnswer},
        body=AskRequest,
        turn=True,
        shape="openai",
    ),
    Route(
        name="chat_completions",
        method="POST",
        path="/v1/chat/completions",
        summary="Ask a question as OpenAI's clients do",
        access="token",
        answers={200: Completion},
        body=CompletionRequest,
        turn=True,
        events=True,
        shape="openai",
    ),
    Route(
        name="responses",
        method="POST",
        path="/v1/responses",
        summary="Ask a question as clients of OpenAI's Responses API do",
        access="token",
        answers={200: ResponseObject},
        body=ResponseRequest,
        turn=True,
        events=True,
        shape="openai",
    ),
    Route(
        name="embeddings",
        method="POST",
        path="/v1/embeddings",
        summary="The vectors of texts, where the server makes vectors",
        access="token",
        answers={200: EmbeddingList},
        body=EmbeddingRequest,
        turn=True,
        shape="openai",
    ),
    Route(
        name="mcp",
        method="POST",
        path="/mcp",
        summary="Ask, search and read the documents as clients of the Model Context Protocol do",
        access="token",
        answers={200: RpcAnswer, 202: None},
        body=RpcMessage,
        turn=True,
        shape="rpc",
    ),
    Route(
        name="list_models",
        method="GET",
        path="/v1/models",
        summary="The model that answers, in a list",
        access="token",
        answers={200: ModelList},
        shape="openai",
    ),
    Route(
        name="get_model",
        method="GET",
        path="/v1/models/{model:path}",
        summary="The model that answers, by its name",
        access="token",
        answers={200: ModelInfo},
        shape="openai",
    ),
)
TABLE: tuple[Route, ...] = (*PAGE, *QUESTIONS, *ROUTES)
"""All routes of the server."""
DESCRIBED: tuple[Route, ...] = tuple(
    route for route in TABLE if route.name not in ("asset", "icon", "logo", "socket")
)


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


def _first_part(path: str) -> str:
    return path.split("/", 2)[1]


def _group_routes(keyed: Iterable[tuple[str, Route]]) -> dict[str, tuple[Route, ...]]:
    groups: dict[str, tuple[Route, ...]] = {}
    for key, route in keyed:
        groups[key] = (*groups.get(key, ()), route)
    return groups


_OPENAI = b"/v1"
_EXACT: dict[str, Route] = {route.path: route for route in (*PAGE, *QUESTIONS) if "{" not in route.path}
_PARTED = tuple(route for route in (*PAGE, *QUESTIONS) if "{" in route.path)
_API_EXACT = {
    path: PathMatch("problem", {route.method: route for route in routes})
    for path, routes in _group_routes((each.path, each) for each in ROUTES if "{" not in each.path).items()
}
# by the first part of the path
_API_PARTED = _group_routes((_first_part(route.path), route) for route in ROUTES if "{" in route.path)


def match_path(path: bytes) -> PathMatch:
    """Return the match of a path, which is ASCII and without its query; it has no routes for an unknown path."""
    sent = path.decode("ascii", "replace")
    if is_api_path(path):
        exact = _API_EXACT.get(sent)
        if exact is not None:
            return exact
        parted = _API_PARTED.get(_first_part(sent), ())
        matches = [(route, match) for route in parted if (match := route.pattern.fullmatch(sent)) is not None]
        names = matches[0][1].groupdict() if matches else {}
        return PathMatch("problem", {route.method: route for route, _ in matches}, names)
    found = _match_shapes(sent, "openai", "rpc")
    if found.routes:
        return found
    if path == _OPENAI or path.startswith(_OPENAI + b"/"):
        return PathMatch("openai")
    spelled = unquote(sent)
    found = _match_shapes(spelled, "plain")
    if found.routes:
        return found
    before = _EXACT.get(spelled[:-1]) if spelled.endswith("/") else None
    return PathMatch("plain", elsewhere=before.path if before is not None and before.shape == "plain" else "")


def _match_shapes(spelled: str, *shapes: Shape) -> PathMatch:
    """Return the match of a path among the routes of some `shapes` outside the API."""
    exact = _EXACT.get(spelled)
    if exact is not None and exact.shape in shapes:
        return PathMatch(exact.shape, {exact.method: exact})
    for route in _PARTED:
        match = route.pattern.fullmatch(spelled) if route.shape in shapes else None
        if match is not None:
            return PathMatch(route.shape, {route.method: route}, match.groupdict())
    return PathMatch("plain")
