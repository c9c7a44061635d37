"""`GET /guide` and `GET /guide/PAGE`: the guide as HTML, under the page's own rules of content.

The pages are made from the package's Markdown with raw HTML switched off. A page runs no script and loads nothing but
the chat page's style. Links between pages lead to `/guide`, links to descriptions of the wire to the server's own, and
links into the repository become plain text, because a server has no repository to show.
"""

from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..guide.pages import PAGES, read_page, read_title
from .etags import answer_tagged, make_tag
from .request_head import Head
from .responses import Answer, plain_text

NO_PAGE = "The guide has no such page; /guide lists its pages.\n"
_HTML = "text/html; charset=utf-8"
_ADDRESSES: Final[Mapping[str, str]] = {
    **{f"{name}.md": f"/guide/{name}" for name in PAGES},
    "../../diagrams/openapi.json": "/openapi.json",
    "../../diagrams/asyncapi.json": "/asyncapi.json",
    "../../diagrams/session.md": "/session.mmd",
}


def read_guide() -> Callable[[Head, str], Answer]:
    """Read all pages, and return the function that answers a request for a page, or for the list of pages ("").

    Blocks. A page is rendered when it is first asked for.
    """
    texts = {name: read_page(name) for name in PAGES}

    @cache
    def render(name: str) -> tuple[bytes, str]:
        content = (_render_page(name, texts[name]) if name else _render_list(texts)).encode()
        return content, make_tag(content)

    def answer(head: Head, name: str) -> Answer:
        if name and name not in texts:
            return plain_text(NO_PAGE, 404)
        content, tag = render(name)
        return answer_tagged(head, content, tag, _HTML)

    return answer


def _render_page(name: str, text: str) -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.children is not None:
            token.children = _lead_links(token.children)
    links = "".join(
        f'<li><a href="/guide/{each}"{" aria-current=page" * (each == name)}>{each}</a></li>'
        for each in PAGES
    )
    body = markdown.renderer.render(tokens, markdown.options, {})
    return _document(read_title(text)[0], f'<nav aria-label="Guide"><ul>{links}</ul></nav>{body}')


def _lead_links(tokens: list[Token]) -> list[Token]:
    """Return inline tokens with their links led to addresses of the server, or taken away where it has none."""
    kept: list[Token] = []
    shown: list[bool] = []  # for each open link, whether it is kept
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrs["href"])
            address = address if address.startswith("https://") else _ADDRESSES.get(address, "")
            shown.append(bool(address))
            token.attrs["href"] = address
        if token.type not in ("link_open", "link_close") or shown[-1]:
            kept.append(token)
        if token.type == "link_close":
            shown.pop()
    return kept


def _render_list(texts: Mapping[str, str]) -> str:
    titles = {name: read_title(text) for name, text in texts.items()}
    rows = "".join(
        f'<dt><a href="/guide/{name}">{escape(title)}</a></dt><dd>{escape(sentence)}</dd>'
        for name, (title, sentence) in titles.items()
    )
    return _document("Guide", f"<h1>Guide</h1><dl>{rows}</dl>")


def _document(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="/static/style.css">\n</head>\n'
        f'<body class="guide">\n<main>{body}</main>\n</body>\n</html>\n'
    )
