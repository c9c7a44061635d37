"""Every route of the server in one table, and the search for the route of a path; pure.

    PAGE       the chat page and its files, sources, probes, figures, descriptions of the wire
    QUESTIONS  plain questions, and those of OpenAI's clients
    ROUTES     the HTTP API

Percent escapes are read here and nowhere else. The page's paths, where a file's name may hold anything, are compared
without them; those of the API and of questions as they are sent, so that each has one spelling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from .routes import ROUTES, Route, Shape, Who, serves


def _page(name: str, path: str, summary: str, who: Who = "open") -> Route:
    return Route(name, "GET", path, summary, who, {200: None}, shape="plain")


PAGE: tuple[Route, ...] = (
    _page("page", "/", "The chat page, or its WebSocket"),
    _page("asset", "/static/{asset}", "A file of the chat page"),
    _page("icon", "/favicon.ico", "The page's icon"),
    _page("healthz", "/healthz", "Whether the process lives"),
    _page("readyz", "/readyz", "Whether new clients are welcome"),
    _page("metrics", "/metrics", "The figures, for Prometheus", "token"),
    _page("openers", "/openers.json", "Questions to begin with", "user"),
    _page("source", "/source/{file:path}", "A file of the knowledge base around some lines", "user"),
    _page("asyncapi", "/asyncapi.json", "The WebSocket's frames"),
    _page("session_diagram", "/session.mmd", "A session's states"),
    _page("socket", "/ws", "The WebSocket"),
)
QUESTIONS: tuple[Route, ...] = (
    Route(
        "ask",
        "POST",
        "/ask",
        "Ask a question",
        "token",
        {200: None},
        turn=True,
        shape="openai",
        takes=True,
    ),
    Route(
        "chat_completions",
        "POST",
        "/v1/chat/completions",
        "Ask a question as OpenAI's clients do",
        "token",
        {200: None},
        turn=True,
        shape="openai",
        takes=True,
    ),
    Route("list_models", "GET", "/v1/models", "Who answers", "token", {200: None}, shape="openai"),
)
TABLE: tuple[Route, ...] = (*PAGE, *QUESTIONS, *ROUTES)
"""All of them."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a path: the routes by their methods, the names in the path, and how its clients read an error.

    elsewhere: the path that this one would be without a slash behind it, where there is nothing here.
    """

    shape: Shape
    routes: Mapping[str, Route] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    elsewhere: str = ""

    @property
    def allowed(self) -> str:
        """The methods that work here, as the header Allow has them."""
        return ", ".join(sorted({*self.routes, *(["HEAD"] if "GET" in self.routes else [])}))


_EXACT: dict[str, Route] = {route.path: route for route in (*PAGE, *QUESTIONS) if "{" not in route.path}
_PARTED = tuple(route for route in PAGE if "{" in route.path)


def find(path: bytes) -> Found:
    """Return what is at a path, which is ASCII and without its query; no routes where nothing is."""
    sent = path.decode("ascii", "replace")
    if serves(path):
        matches = [(route, match) for route in ROUTES if (match := route.pattern.fullmatch(sent)) is not None]
        names = matches[0][1].groupdict() if matches else {}
        return Found("problem", {route.method: route for route, _ in matches}, names)
    exact = _EXACT.get(sent)
    if exact is not None and exact.shape == "openai":
        return Found("openai", {exact.method: exact})
    spelled = unquote(sent)
    exact = _EXACT.get(spelled)
    if exact is not None and exact.shape == "plain":
        return Found("plain", {exact.method: exact})
    for route in _PARTED:
        match = route.pattern.fullmatch(spelled)
        if match is not None:
            return Found("plain", {route.method: route}, match.groupdict())
    before = _EXACT.get(spelled[:-1]) if spelled.endswith("/") else None
    return Found("plain", elsewhere=before.path if before is not None and before.shape == "plain" else "")
