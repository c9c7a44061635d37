"""Reads HTML, files and elements inside markdown.

Strategy: the standard library's parser, which knows the line of each tag, after a pass that leaves it nothing to
stumble over: comments, declarations, scripts and styles are gone, and a "<" that begins no tag is text.
"""

import re
from collections.abc import Callable
from html.parser import HTMLParser

from .breath import Breath
from .builder import NOWHERE, Builder, Place
from .elements import Attributes, Elements
from .form import Document
from .source import decoded, split

_TAG = re.compile(
    r"</?[A-Za-z](?:[^<>\"']++|\"[^\"]{0,8000}+\"|'[^']{0,8000}+'){0,400}+>|</?[A-Za-z][^<>]{0,8000}+>"
)
_SILENT = re.compile(r"<(script|style)(?=[\s/>])", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_BREAK = re.compile(r"&(?:#(?:0*1[03]|[xX]0*[aAdD])(?![\da-fA-F])|NewLine(?=;));?")
_HEAD = 4_096  # bytes in which a page names its encoding; HTML asks for 1,024
_LONGEST = (
    100_000  # characters of a tag; a longer one is left out, since the parser makes objects of its attributes
)
_DECLARATION = 2_000  # characters of <!...> and <?...?>


def read(file: str, data: bytes, breath: Breath) -> Document:
    """Read a page. Raises `Unreadable`, and `GivenUp`."""
    named = _CHARSET.search(data, 0, _HEAD)
    lines = split(decoded(data, named[1].decode() if named else ""))
    builder = Builder(breath)
    elements = _fed("\n".join(lines), 1, builder, lambda text: text, NOWHERE)
    title = builder.headings.first_of_level_1 or elements.title
    return Document(
        file, title, elements.description, elements.lang, tuple(lines), "line", tuple(builder.blocks)
    )


def read_part(source: str, first: int, builder: Builder, plain: Callable[[str], str], place: Place) -> None:
    """Read elements that stand in another text, whose first line is `first` there.

    plain: takes out what that text's own format marks. place: where they stand.
    """
    _fed(source, first, builder, plain, place)


def _fed(source: str, first: int, builder: Builder, plain: Callable[[str], str], place: Place) -> Elements:
    elements = Elements(builder, plain, place)
    parser = _Parser(elements, first - 1)
    parser.feed(_harmless(source, builder.breath))
    parser.close()
    elements.finish()
    return elements


class _Parser(HTMLParser):
    """Hands on tags and text with their lines."""

    def __init__(self, elements: Elements, lines_before: int) -> None:
        super().__init__(convert_charrefs=True)
        self._elements = elements
        self._lines_before = lines_before

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._elements.start(tag, dict(attrs), self.getpos()[0] + self._lines_before)

    def handle_endtag(self, tag: str) -> None:
        self._elements.end(tag)

    def handle_data(self, data: str) -> None:
        self._elements.data(data, self.getpos()[0] + self._lines_before)


def _harmless(source: str, breath: Breath) -> str:
    """Return a source in which every "<" begins a tag, with its lines where they were; no reference makes one more."""
    source = _BREAK.sub(" ", source)
    out: list[str] = []
    ends: dict[str, int] = {}  # what was looked for in vain, and from where
    at = 0
    while (begin := source.find("<", at)) >= 0:
        breath.draw()
        out.append(source[at:begin])
        end = _silent_end(source, begin, ends)
        if end:
            out.append("\n" * source.count("\n", begin, end))
        elif tag := _TAG.match(source, begin):
            end = tag.end()
            short = end - begin <= _LONGEST
            out.append(tag.group() if short else "\n" * source.count("\n", begin, end))
        else:
            end = begin + 1
            out.append("&lt;")
        at = end
    out.append(source[at:])
    return "".join(out)


def _silent_end(source: str, begin: int, ends: dict[str, int]) -> int:
    """Return the offset after a comment, declaration, script or style that begins here; 0 when none does."""
    if source.startswith("<!--", begin):
        return _after("-->", source, begin + 4, ends)
    if source.startswith(("<!", "<?"), begin):
        return source.find(">", begin, begin + _DECLARATION) + 1
    silent = _SILENT.match(source, begin)
    if silent:
        end = _after(f"</{silent[1]}", source, begin, ends)
        return source.find(">", end - 1, end + _DECLARATION) + 1 if end else 0
    return 0


def _after(what: str, source: str, at: int, ends: dict[str, int]) -> int:
    if ends.get(what, len(source) + 1) <= at:
        return 0
    found = source.find(what, at)
    if found < 0:
        ends[what] = at
        return 0
    return found + len(what)
