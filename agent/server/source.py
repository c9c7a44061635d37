"""`GET /source/<file>?lines=3-5`: a file of the knowledge base as the index holds it, around some lines.

No file outside the index can be reached: a name is looked up among the files that were read, and only a file's sections
are shown (`agent.grounding.view`). A browser gets a page, which runs no script; a program that accepts JSON, as the
chat page does, gets the same as data. Names and texts may hold any characters: the page escapes them.
"""

import json
import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from typing import Any
from urllib.parse import parse_qs, quote

from ..grounding.view import FileView, ViewLine, ViewSection, view_source
from ..lang import DEFAULT, LANGUAGES, Lang
from ..ports.search import Passage
from .etags import answer_tagged, make_tag
from .request_head import Head
from .responses import JSON, Answer, plain_text

Sections = Callable[[str], Sequence[Passage] | None]
"""Returns the sections of a file, () for an unknown file, and None while the documents are being read."""

_LINES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)
_VARY = {"vary": "Accept, Accept-Language"}
_BAD_LINES = (
    "Say which lines once, as lines=3 or lines=3-5, counted from 1; without lines the whole file is shown.\n"
)
_NO_FILE = "There is no such file in the index; a citation's file is its name, as in /source/kb/prices.md?lines=3-5.\n"
_NO_LINES = "The index holds nothing of these lines; leave out lines to see the whole file.\n"
READING = "The documents are being read; try again in a moment.\n"


def answer_source(head: Head, file: str, sections: Sections) -> Answer:
    """Answer a request for a source: 400 for malformed `lines`, 404 for a file or lines that the index lacks."""
    query = parse_qs(head.query.decode("latin-1"), keep_blank_values=True)
    lines = _parse_lines(query.get("lines", []))
    if lines is None:
        return plain_text(_BAD_LINES, 400)
    passages = sections(file)
    if passages is None:
        return plain_text(READING, 503, {"retry-after": "1"})
    if not passages:
        return plain_text(_NO_FILE, 404)
    view = view_source(passages, lines or None)
    if view is None:
        return plain_text(_NO_LINES, 404)
    if b"application/json" in b",".join(head.values(b"accept")):
        content, kind = json.dumps(_encode_view(view)).encode(), JSON
    else:
        content, kind = (
            _render_page(view, _preferred_language(head)).encode("utf-8", "replace"),
            "text/html; charset=utf-8",
        )
    return answer_tagged(head, content, make_tag(content), kind, _VARY)


def _parse_lines(given: Sequence[str]) -> tuple[int, int] | tuple[()] | None:
    """Parse the query's `lines` into the first and the last line; () if none are given, None if malformed."""
    if not given:
        return ()
    found = _LINES.fullmatch(given[0])
    if found is None or len(given) > 1:
        return None
    first = int(found[1])
    last = int(found[2] or first)
    return (first, last) if 1 <= first <= last else None


def _encode_view(view: FileView) -> dict[str, Any]:
    """Return a view as JSON values. A text is a list of `runs`: plain, number, plain, number, ..."""
    return {
        "file": view.file,
        "lines": view.lines,
        "whole": view.whole,
        "above": view.above,
        "below": view.below,
        "parts": [
            {
                "heading": " › ".join(part.headings),
                "lines": [
                    {"line": piece.line, "kind": piece.kind, "cited": piece.cited, "text": split_runs(piece)}
                    for piece in part.pieces
                ],
            }
            for part in view.parts
        ],
    }


def split_runs(piece: ViewLine) -> list[str]:
    """Return a line's text cut at its numbers: each second run is a number."""
    found, at = [], 0
    for start, end in piece.numbers:
        found += [piece.text[at:start], piece.text[start:end]]
        at = end
    return [*found, piece.text[at:]]


def _preferred_language(head: Head) -> Lang:
    """Return the first language of `Accept-Language` if it is one of `LANGUAGES`, else `DEFAULT`."""
    wanted = b",".join(head.values(b"accept-language"))[:2].decode("latin-1").lower()
    return wanted if wanted in LANGUAGES else DEFAULT


def _render_page(view: FileView, lang: Lang) -> str:
    """Return a view as an HTML page."""
    page = LANGUAGES[lang].page
    words = page.source
    here = quote(f"/source/{view.file}", safe="/", errors="replace")
    name = escape(view.file)
    notes = ""
    if view.lines is not None:
        first, last = view.lines
        notes = f"<p>{words.marked.format(lines=first if first == last else f'{first}–{last}')}</p>"
    if not view.whole and view.lines is not None:
        notes += f'<p><a href="{here}">{page.whole}</a></p>'
    above = f'<p class="cut">{words.above}</p>' if view.above else ""
    below = ""
    if view.below is not None:
        on = f'<a href="{here}?lines={view.below}">{words.on.format(line=view.below)}</a>'
        below = f'<p class="cut">{words.below} {on}</p>'
    body = "".join(_render_section(part) for part in view.parts)
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{name}</title>\n'
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">\n'
        '<link rel="stylesheet" href="/static/style.css">\n</head>\n<body class="source">\n'
        f"<header><h1>{name}</h1></header>\n<main>{notes}{above}{body}{below}"
        f'<p class="held">{words.held}</p></main>\n</body>\n</html>\n'
    )


def _render_section(part: ViewSection) -> str:
    heading = f"<h2>{escape(' › '.join(part.headings))}</h2>" if part.headings else ""
    lines = groupby(enumerate(part.pieces), key=lambda each: each[1].line or -each[0])
    shown = "".join(_render_line([piece for _, piece in pieces]) for _, pieces in lines)
    return f"<section>{heading}{shown}</section>\n"


def _render_line(pieces: Sequence[ViewLine]) -> str:
    """Return a line's pieces as HTML: the line's number, and its text with the numbers in it marked."""
    first = pieces[0]
    marked = ' aria-current="true"' if first.cited else ""
    number = "" if first.line is None else str(first.line)
    text = " ".join(f"<span>{_mark_numbers(piece)}</span>" for piece in pieces)
    return (
        f'<p class="line {first.kind}"{marked}><span class="number">{number}</span> <span>{text}</span></p>'
    )


def _mark_numbers(piece: ViewLine) -> str:
    return "".join(
        f"<mark>{escape(run)}</mark>" if number % 2 else escape(run)
        for number, run in enumerate(split_runs(piece))
    )
