"""Reads tags in markdown: HTML and components (JSX), with the attributes that people read.

Strategy: one tag at a time, from a "<" that may begin one. Every search is bounded: a tag, its attributes and their
values have limits, and the ends of braces are looked up in a table that is made once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


def split_names(names: str) -> frozenset[str]:
    """Return the names in `names`, which spaces separate."""
    return frozenset(names.split())


INLINE_ELEMENTS = split_names(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rp rt ruby s samp small span strike "
    "strong sub sup time tt u var wbr"
)
_BLOCK_ELEMENTS = split_names(
    "address article aside base blockquote body br button caption center col colgroup dd details dialog div dl dt "
    "embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html img input label "
    "legend li link main map menu meta nav ol optgroup option p picture pre progress search section select source "
    "summary table tbody td textarea tfoot th thead title tr track ul"
)
TEXTLESS_ELEMENTS = split_names("audio canvas iframe math noscript object script style svg template video")
"""Elements whose content is not text."""
_ELEMENTS = INLINE_ELEMENTS | _BLOCK_ELEMENTS | TEXTLESS_ELEMENTS

TEXT_ATTRIBUTES = split_names(
    "title subtitle summary label question answer heading header caption description eyebrow"
)
"""Attributes of components that people read. HTML's own elements have none (their `title` is a tooltip)."""

_NAME = re.compile(r"<(/?)([A-Za-z][\w.-]*)(?=[\s/>])")
_ATTRIBUTE = re.compile(
    r"\s*(?:(?P<name>[^\s\"'<>/={}]{1,200})"
    r"(?:\s*=\s*(?:\"(?P<double>[^\"]{0,8000})\"|'(?P<single>[^']{0,8000})'|(?P<value>\{)|(?P<bare>[^\s\"'=<>`{]{1,2000})))?"
    r"|(?P<spread>\{)|/(?!>))"
)
_END = re.compile(r"\s*(/?)>")
_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`$]*)`")
_MOST_ATTRIBUTES = 100
_LONGEST_TAG = 20_000  # characters
_MOST_BRACES = 100_000  # in a document; with more, no brace counts as markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One tag.

    `is_end`: it is an end tag. `is_self_closing`: it ends in "/>". `has_attributes`: it has any. `texts`: (name, text)
    of the attributes that people read, in their order. `code_spans`: (start, end) of template literals over several
    lines, which are code in an attribute. `end`: the offset after the tag.
    """

    name: str
    is_end: bool
    is_self_closing: bool
    has_attributes: bool
    texts: tuple[tuple[str, str], ...]
    code_spans: tuple[tuple[int, int], ...]
    end: int

    @property
    def html_name(self) -> str:
        """The name of the HTML element, "" for a component."""
        name = self.name.lower()
        return name if name in _ELEMENTS else ""


class BracePairs:
    """The pairs of braces of a text, found in one pass at the first call."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._ends: dict[int, int] | None = None

    def find_end(self, begin: int) -> int:
        """Return the offset of the brace that closes the one at `begin`, -1 when none does."""
        if self._ends is None:
            self._ends = self._pair_braces()
        return self._ends.get(begin, -1)

    def _pair_braces(self) -> dict[int, int]:
        """Return the offset of each closing brace by that of its opening one."""
        ends: dict[int, int] = {}
        opened: list[int] = []
        if self._source.count("{") <= _MOST_BRACES:
            for match in re.finditer(r"[{}]", self._source):
                if match.group() == "{":
                    opened.append(match.start())
                elif opened:
                    ends[opened.pop()] = match.start()
        return ends


def parse_string(expression: str) -> str:
    """Return the text of a JSX `expression` that is only a string, else ""."""
    match = _STRING.fullmatch(expression.strip())
    return next((group for group in match.groups() if group), "") if match else ""


def parse_tag(source: str, begin: int, braces: BracePairs) -> Tag | None:
    """Return the tag that begins at `begin`, `None` when none does."""
    name = _NAME.match(source, begin)
    if not name:
        return None
    texts: list[tuple[str, str]] = []
    code_spans: list[tuple[int, int]] = []
    at = name.end()
    for count in range(_MOST_ATTRIBUTES):
        end = _END.match(source, at)
        if end:
            return Tag(
                name=name[2],
                is_end=bool(name[1]),
                is_self_closing=bool(end[1]),
                has_attributes=count > 0,
                texts=tuple(texts),
                code_spans=tuple(code_spans),
                end=end.end(),
            )
        match = _ATTRIBUTE.match(source, at)
        if not match or match.end() == at or match.end() - begin > _LONGEST_TAG:
            return None
        at = match.end()
        value = match["double"] or match["single"] or match["bare"] or ""
        if match["value"] or match["spread"]:
            close = braces.find_end(at - 1)
            if close < 0 or close - begin > _LONGEST_TAG:
                return None
            expression = source[at:close]
            value = parse_string(expression)
            if expression[:1] == "`" == source[close - 1] and "\n" in expression:
                code_spans.append((at + 1, close - 1))
            at = close + 1
        if match["name"] and match["name"].lower() in TEXT_ATTRIBUTES and value:
            texts.append((match["name"].lower(), value))
    return None


def join_attribute_texts(texts: Sequence[tuple[str, str]]) -> str:
    """Join the texts of attributes, given as (name, text), into one line: "title: description"."""
    line = ""
    for _, text in texts:
        line += (" " if line.endswith((".", "?", "!", ":")) else ": ") + text if line else text
    return line
