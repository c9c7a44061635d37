"""Reads HTML: files, and elements inside markdown.

Strategy: the standard library's parser, which knows the line of each tag, after a pass that removes its stumbling
blocks: comments, declarations, scripts and styles are gone, and a "<" that begins no tag is text.
"""

import re
from collections.abc import Callable
from html.parser import HTMLParser

from .blocks import Document
from .builder import TOP_LEVEL, BlockBuilder, BlockPlace
from .elements import Attributes, HtmlElements
from .source import decode_text, split_lines
from .step_counter import StepCounter

_TAG = re.compile(
    r"</?[A-Za-z](?:[^<>\"']++|\"[^\"]{0,8000}+\"|'[^']{0,8000}+'){0,400}+>|</?[A-Za-z][^<>]{0,8000}+>"
)
_SILENT = re.compile(r"<(script|style)(?=[\s/>])", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_BREAK = re.compile(r"&(?:#(?:0*1[03]|[xX]0*[aAdD])(?![\da-fA-F])|NewLine(?=;));?")
_HEAD = 4_096  # bytes in which a page names its encoding; HTML asks for 1,024
# Characters of a tag; a longer one is left out, since the parser makes objects of its attributes.
_LONGEST = 100_000
_DECLARATION = 2_000  # characters of <!...> and <?...?>


def read_html(file: str, data: bytes, step_counter: StepCounter) -> Document:
    """Read an HTML page. Raises `Unreadable`, and `GivenUp`."""
    charset = _CHARSET.search(data, 0, _HEAD)
    lines = split_lines(decode_text(data, charset[1].decode() if charset else ""))
    builder = BlockBuilder(step_counter)
    elements = _feed_elements("\n".join(lines), 1, builder, lambda text: text, TOP_LEVEL)
    title = builder.headings.first_of_level_1 or elements.title
    return builder.make_document(
        file, lines, title=title, description=elements.description, lang=elements.lang
    )


def read_part(
    source: str, first: int, builder: BlockBuilder, plain: Callable[[str], str], place: BlockPlace
) -> None:
    """Read elements that stand inside another text; `first` is the line where `source` begins in it.

    `plain`: removes the marks of that text's own format. `place`: the place of the elements.
    """
    _feed_elements(source, first, builder, plain, place)


def _feed_elements(
    source: str, first: int, builder: BlockBuilder, plain: Callable[[str], str], place: BlockPlace
) -> HtmlElements:
    elements = HtmlElements(builder, plain, place)
    parser = _HtmlParser(elements, first - 1)
    parser.feed(_remove_stumbling_blocks(source, builder.step_counter))
    parser.close()
    elements.finish()
    return elements


class _HtmlParser(HTMLParser):
    """Passes tags and text with their lines to `HtmlElements`."""

    def __init__(self, elements: HtmlElements, lines_before: int) -> None:
        super().__init__(convert_charrefs=True)
        self._elements = elements
        self._lines_before = lines_before

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._elements.open_element(tag, dict(attrs), self.getpos()[0] + self._lines_before)

    def handle_endtag(self, tag: str) -> None:
        self._elements.close_element(tag)

    def handle_data(self, data: str) -> None:
        self._elements.add_text(data, self.getpos()[0] + self._lines_before)


def _remove_stumbling_blocks(source: str, step_counter: StepCounter) -> str:
    """Return `source`, with its lines unmoved, so that every "<" begins a tag and no reference becomes a line break."""
    source = _BREAK.sub(" ", source)
    out: list[str] = []
    ends: dict[str, int] = {}  # an end mark that was not found -> the offset the search began at
    at = 0
    while (begin := source.find("<", at)) >= 0:
        step_counter.count_step()
        out.append(source[at:begin])
        end = _find_silent_end(source, begin, ends)
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


def _find_silent_end(source: str, begin: int, ends: dict[str, int]) -> int:
    """Return the offset after a comment, declaration, script or style that begins at `begin`, 0 when none does."""
    if source.startswith("<!--", begin):
        return _find_after("-->", source, begin + 4, ends)
    if source.startswith(("<!", "<?"), begin):
        return source.find(">", begin, begin + _DECLARATION) + 1
    silent = _SILENT.match(source, begin)
    if silent:
        end = _find_after(f"</{silent[1]}", source, begin, ends)
        return source.find(">", end - 1, end + _DECLARATION) + 1 if end else 0
    return 0


def _find_after(mark: str, source: str, at: int, ends: dict[str, int]) -> int:
    if ends.get(mark, len(source) + 1) <= at:
        return 0
    place = source.find(mark, at)
    if place < 0:
        ends[mark] = at
        return 0
    return place + len(mark)
