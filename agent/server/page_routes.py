"""Handlers of the page's routes: chat page, sources, guide, probes, metrics, descriptions of the wire.

All answers come from memory, prepared before the server starts or held by the index: no thread, no file.
Only metrics and readiness may take time: with several workers each request collects those of all.
The page's files carry an ETag of their content, so that a browser that asks again gets 304 and no body.

Makes the script with the page's languages and their texts, from `agent.lang`, when the server starts.

Names that come over the wire (codes, actions, fields) keep their spelling; the page's own become camel case, as its
scripts spell theirs.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from ..lang import DEFAULT, LANGUAGES, Lang
from ..lang.page import PageTexts
from .etags import answer_tagged, make_tag
from .guide import read_guide
from .request_head import Head
from .responses import JSON, Answer, plain_text
from .service import DoorHandler
from .source import READING, Sections, answer_source

_ASSETS = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "docs.html": "text/html; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "answer.js": "text/javascript; charset=utf-8",
    "cards.js": "text/javascript; charset=utf-8",
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
GENERATED_ASSET = "languages.js"
"""The one script that is no file: `page_routes.make_script` makes it."""
_CLIENT = {
    "agent.js": "text/javascript; charset=utf-8",
    "agent.d.ts": "text/plain; charset=utf-8",
}
"""The client for programs in JavaScript, from `agent/client/js`, with its types."""
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN_PAGE = "There is nothing at this address; the chat page is at /.\n"
_NO_UPGRADE = "This is the WebSocket: connect to it as ws://, or open the chat page at /.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContents:
    """The contents of the page's routes that come from other rooms.

    `asyncapi`: the wire's description, as JSON bytes. `session_diagram`: the state diagram, as Mermaid text.
    `metrics` returns the Prometheus text. `unready` returns the reason to send new clients elsewhere, or "".
    `sections` returns the sections of a file of the knowledge base. `openers` returns questions to begin with, in a
    language; None while the documents are being read. `name`: the page's title. `greeting`: its first text.
    `quotes`: no language model is set, and the page says so. `trouble` returns the trouble of a server that still
    welcomes clients, or "".
    """

    asyncapi: bytes
    session_diagram: str
    metrics: Callable[[], Awaitable[bytes]]
    unready: Callable[[], Awaitable[str]]
    sections: Sections = lambda _: ()
    openers: Callable[[Lang], Sequence[str] | None] = lambda _: ()
    name: str = ""
    greeting: str = ""
    quotes: bool = False
    trouble: Callable[[], str] = lambda: ""


def make_page_handlers(contents: PageContents) -> Mapping[str, DoorHandler]:
    """Return the handlers of the page's routes, by their names in `agent.protocol.paths`."""
    page = _page(contents)
    assets = {name: _Asset(_ASSETS[name], _asset(name)) for name in _ASSETS if name != "index.html"}
    assets["index.html"] = _Asset(_ASSETS["index.html"], page)
    client = {
        name: _Asset(kind, files("agent").joinpath("client", "js", name).read_bytes())
        for name, kind in _CLIENT.items()
    }
    guide = read_guide()

    async def of_asset(head: Head, names: Mapping[str, str]) -> Answer:
        asset = assets.get(names["asset"])
        return plain_text(UNKNOWN_PAGE, 404) if asset is None else asset.answer(head)

    async def of_docs(head: Head, _: Mapping[str, str]) -> Answer:
        return assets["docs.html"].answer(head)

    async def of_source(head: Head, names: Mapping[str, str]) -> Answer:
        return answer_source(head, names["file"], contents.sections)

    async def of_openers(head: Head, _: Mapping[str, str]) -> Answer:
        return _openers(head, contents.openers)

    async def of_guide(head: Head, names: Mapping[str, str]) -> Answer:
        return guide(head, names.get("page", ""))

    async def of_figures(_: Head, __: Mapping[str, str]) -> Answer:
        return Answer(status=200, content=await contents.metrics(), kind=_PROMETHEUS)

    async def of_readiness(_: Head, __: Mapping[str, str]) -> Answer:
        return _readiness(await contents.unready(), contents.trouble())

    return {
        "page": _answer_file(assets["index.html"]),
        "asset": of_asset,
        "client": _answer_file(client["agent.js"]),
        "client_types": _answer_file(client["agent.d.ts"]),
        "icon": _answer_file(assets["icon.svg"]),
        "healthz": _answer_always(plain_text("ok\n")),
        "readyz": of_readiness,
        "metrics": of_figures,
        "openers": of_openers,
        "source": of_source,
        "docs": of_docs,
        "guide": of_guide,
        "guide_page": of_guide,
        "asyncapi": _answer_always(Answer(status=200, content=contents.asyncapi)),
        "session_diagram": _answer_always(plain_text(contents.session_diagram)),
        "socket": _answer_always(plain_text(_NO_UPGRADE, 426, {"upgrade": "websocket"})),
    }


class _Asset:
    """A file of the page. `kind`: its media type."""

    def __init__(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._content = content
        self._tag = make_tag(content)

    def answer(self, head: Head) -> Answer:
        """Return the file, or 304 when the request names its ETag."""
        return answer_tagged(head, self._content, self._tag, self._kind)


def _answer_file(asset: _Asset) -> DoorHandler:
    async def of_file(head: Head, _: Mapping[str, str]) -> Answer:
        return asset.answer(head)

    return of_file


@cache
def _asset(name: str) -> bytes:
    return (
        make_script() if name == GENERATED_ASSET else files(__package__).joinpath("static", name).read_bytes()
    )


def _page(contents: PageContents) -> bytes:
    """Return the chat page with the operator's `name` and `greeting`, escaped, and with `quotes`."""
    page = _asset("index.html").decode()
    if contents.name:
        page = page.replace("<title>Ask</title>", f"<title>{escape(contents.name)}</title>")
    quotes = "yes" if contents.quotes else ""
    for field, value in (("name", contents.name), ("greeting", contents.greeting), ("quotes", quotes)):
        page = page.replace(f'"agent-{field}" content=""', f'"agent-{field}" content="{escape(value)}"')
    return page.encode()


def _openers(head: Head, openers: Callable[[Lang], Sequence[str] | None]) -> Answer:
    """Return questions to begin with, in the language of the query's `lang`, as JSON."""
    wanted = parse_qs(head.query.decode("latin-1")).get("lang", [DEFAULT])[-1]
    found = openers(wanted if wanted in LANGUAGES else DEFAULT)
    if found is None:
        return plain_text(READING, 503, {"retry-after": "1"})
    content = json.dumps(found).encode()
    return answer_tagged(head, content, make_tag(content), JSON)


def _answer_always(answer: Answer) -> DoorHandler:
    async def always(_: Head, __: Mapping[str, str]) -> Answer:
        return answer

    return always


def _readiness(why: str, but: str) -> Answer:
    if why:
        return plain_text(f"not ready: {why}\n", 503)
    return plain_text(f"ready, but: {but}\n" if but else "ready\n")


_STATUSES = {401: "locked", 404: "gone", 503: "unread"}
_CLOSE_CODES = {1001: "gone", 1008: "unwelcome", 1009: "too_long", 1011: "broken", 1012: "restarting"}


def make_script() -> bytes:
    """Return the module `/static/languages.js` as UTF-8: `LANGUAGES` (name and words, by code) and `DEFAULT`."""
    languages = {
        code: {"name": language.name, "words": _words(language.page)} for code, language in LANGUAGES.items()
    }
    text = json.dumps(languages, ensure_ascii=False)
    return f"export const LANGUAGES = {text};\nexport const DEFAULT = {json.dumps(DEFAULT)};\n".encode()


def _words(page: PageTexts) -> dict[str, Any]:
    texts = {_to_camel_case(name): value for name, value in asdict(page).items()}
    texts["close"] = {code: texts["close"][name] for code, name in _CLOSE_CODES.items()}
    texts["source"] |= {status: texts["source"][name] for status, name in _STATUSES.items()}
    return texts


def _to_camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
