"""Handlers of the page's routes: chat page, sources, guide, probes, metrics, descriptions of the wire.

All answers come from memory, prepared before the server starts or held by the index: no thread, no file. A file of the
page is compressed when it is first asked for. Only metrics and readiness may take time: with several workers each
request collects those of all. The page's files carry an ETag of their content, so that a browser that asks again gets
304 and no body.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from gzip import compress
from html import escape
from importlib.resources import files
from urllib.parse import parse_qs

from ..lang import DEFAULT, LANGUAGES, Lang
from .branding import LOGO_POLICY, Logo
from .embed import make_embed_handlers, wrap_script
from .etags import answer_tagged, make_tag
from .guide import read_guide
from .page_bundle import join_modules
from .page_languages import make_inbox_script, make_script, make_story_script
from .request_head import Head
from .responses import JSON, Answer, plain_text
from .service import DoorHandler
from .source import Sections, answer_source

_ASSETS = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "docs.html": "text/html; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "embed.js": "text/javascript; charset=utf-8",
    "inbox.html": "text/html; charset=utf-8",
    "inbox.js": "text/javascript; charset=utf-8",
    "inbox.css": "text/css; charset=utf-8",
    "story.html": "text/html; charset=utf-8",
    "story.js": "text/javascript; charset=utf-8",
    "story.css": "text/css; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "microphone.js": "text/javascript; charset=utf-8",
}
"""The files that browsers load; each script with all modules that it imports, as one file."""
_GENERATED: Mapping[str, Callable[[], bytes]] = {
    "/static/languages.js": make_script,
    "/static/inbox-languages.js": make_inbox_script,
    "/static/story-languages.js": make_story_script,
}
"""The modules that are no files."""
_STYLES = {"inbox.css": ("style.css", "inbox.css"), "story.css": ("style.css", "story.css")}
"""The style sheets that consist of several files."""
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

    `asyncapi`: the wire's description, as JSON bytes. `session_diagram`: the state diagram, as Mermaid text. `metrics`
    returns the Prometheus text. `unready` returns the reason to send new clients elsewhere, or "". `sections` returns
    the sections of a file of the knowledge base. `openers` returns questions to begin with, in a language; None while
    they are not known yet. `name`: the page's title. `greeting`: its first text. `logo`: its image. `quotes`: no
    language model is set, and the page says so. `guests`: whether a visitor without a token may chat. `stories`: the
    page links to that of stories. `remembers`: the server keeps conversations. `leaves_copies`: forgotten words stay in
    a database server's backups. `voice`: the abilities of the server's voice, "hears" and "speaks". `trouble` returns
    the trouble of a server that still welcomes clients, or "".
    """

    asyncapi: bytes
    session_diagram: str
    metrics: Callable[[], Awaitable[bytes]]
    unready: Callable[[], Awaitable[str]]
    sections: Sections = lambda _: ()
    openers: Callable[[Lang], Sequence[str] | None] = lambda _: ()
    name: str = ""
    greeting: str = ""
    logo: Logo | None = None
    quotes: bool = False
    guests: bool = True
    stories: bool = False
    remembers: bool = False
    leaves_copies: bool = False
    voice: tuple[str, ...] = ()
    trouble: Callable[[], str] = lambda: ""


def make_page_handlers(contents: PageContents) -> Mapping[str, DoorHandler]:
    """Return the handlers of the page's routes, by their names in `agent.protocol.paths`."""
    page = _page(contents)
    assets = {name: _Asset(_ASSETS[name], _asset(name)) for name in _ASSETS if name != "index.html"}
    assets["index.html"] = _Asset(_ASSETS["index.html"], page)
    client = {name: _Asset(kind, _read_client(name)) for name, kind in _CLIENT.items()}
    bubble = _Asset(_ASSETS["embed.js"], wrap_script(_asset("embed.js")))
    guide = read_guide()

    async def of_asset(head: Head, names: Mapping[str, str]) -> Answer:
        asset = assets.get(names["asset"])
        return plain_text(UNKNOWN_PAGE, 404) if asset is None else asset.answer(head)

    async def of_source(head: Head, names: Mapping[str, str]) -> Answer:
        return answer_source(head, names["file"], contents.sections)

    async def of_openers(head: Head, _: Mapping[str, str]) -> Answer:
        return _openers(head, contents.openers)

    async def of_logo(head: Head, _: Mapping[str, str]) -> Answer:
        logo = contents.logo
        if logo is None:
            return plain_text(UNKNOWN_PAGE, 404)
        return answer_tagged(head, logo.content, make_tag(logo.content), logo.kind, LOGO_POLICY)

    async def of_guide(head: Head, names: Mapping[str, str]) -> Answer:
        return guide(head, names.get("page", ""))

    async def of_figures(_: Head, __: Mapping[str, str]) -> Answer:
        return Answer(status=200, content=await contents.metrics(), kind=_PROMETHEUS)

    async def of_readiness(_: Head, __: Mapping[str, str]) -> Answer:
        return _readiness(await contents.unready(), contents.trouble())

    return {
        "page": _answer_file(assets["index.html"]),
        "asset": of_asset,
        **make_embed_handlers(
            bubble.answer, name=contents.name, greeting=contents.greeting, guests=contents.guests
        ),
        "client": _answer_file(client["agent.js"]),
        "client_types": _answer_file(client["agent.d.ts"]),
        "icon": _answer_file(assets["icon.svg"]),
        "logo": of_logo,
        "healthz": _answer_always(plain_text("ok\n")),
        "readyz": of_readiness,
        "metrics": of_figures,
        "openers": of_openers,
        "source": of_source,
        "docs": _answer_file(assets["docs.html"]),
        "inbox": _answer_file(assets["inbox.html"]),
        "story": _answer_file(assets["story.html"]),
        "guide": of_guide,
        "guide_page": of_guide,
        "asyncapi": _answer_always(Answer(status=200, content=contents.asyncapi)),
        "session_diagram": _answer_always(plain_text(contents.session_diagram)),
        "socket": _answer_always(plain_text(_NO_UPGRADE, 426, {"upgrade": "websocket"})),
    }


class _Asset:
    """A file of the page, as it is and compressed. `kind`: its media type."""

    def __init__(self, kind: str, content: bytes) -> None:
        self._kind = kind
        self._plain = content, make_tag(content)

    @cached_property
    def _packed(self) -> tuple[bytes, str]:
        """The compressed file and its ETag, made when a browser first asks for it: all together delay the start."""
        packed = compress(self._plain[0], mtime=0)
        return packed, make_tag(packed)

    def answer(self, head: Head) -> Answer:
        """Return the file, or 304 when the request names its ETag; compressed for a browser that accepts gzip."""
        packs = head.accepts_gzip
        content, tag = self._packed if packs else self._plain
        encoding = {"content-encoding": "gzip"} if packs else {}
        return answer_tagged(head, content, tag, self._kind, {**encoding, "vary": "accept-encoding"})


def _answer_file(asset: _Asset) -> DoorHandler:
    async def of_file(head: Head, _: Mapping[str, str]) -> Answer:
        return asset.answer(head)

    return of_file


@cache
def _asset(name: str) -> bytes:
    if name.endswith(".js"):
        return join_modules(f"/static/{name}", read_module).encode()
    return b"\n".join(map(_read_static, _STYLES.get(name, (name,))))


def read_module(address: str) -> str:
    """Return the text of the page's module at an address, such as `/static/list.js`."""
    if address in _GENERATED:
        return _GENERATED[address]().decode()
    folder, _, name = address.rpartition("/")
    return (_read_static(name) if folder else _read_client(name)).decode()


def _read_static(name: str) -> bytes:
    return files(__package__).joinpath("static", name).read_bytes()


def _read_client(name: str) -> bytes:
    return files("agent").joinpath("client", "js", name).read_bytes()


def _page(contents: PageContents) -> bytes:
    """Return the chat page with `name`, `greeting` and `logo` of the operator, escaped, and what the server does."""
    page = _asset("index.html").decode()
    if contents.name:
        page = page.replace("<title>Ask</title>", f"<title>{escape(contents.name)}</title>")
    values = {
        "name": contents.name,
        "greeting": contents.greeting,
        "quotes": "yes" if contents.quotes else "",
        "memory": "yes" if contents.remembers else "",
        "stories": "yes" if contents.stories else "",
        "copies": "yes" if contents.leaves_copies else "",
        "voice": " ".join(contents.voice),
        "logo": "/logo" if contents.logo is not None else "",
    }
    for field, value in values.items():
        page = page.replace(f'"agent-{field}" content=""', f'"agent-{field}" content="{escape(value)}"')
    return page.encode()


def _openers(head: Head, openers: Callable[[Lang], Sequence[str] | None]) -> Answer:
    """Return questions to begin with, in the language of the query's `lang`, as JSON.

    While they are not known, the list is empty, and `Retry-After` says when to ask again.
    """
    wanted = parse_qs(head.query.decode("latin-1")).get("lang", [DEFAULT])[-1]
    found = openers(wanted if wanted in LANGUAGES else DEFAULT)
    if found is None:
        return Answer(status=200, content=b"[]", headers={"retry-after": "1"})
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
