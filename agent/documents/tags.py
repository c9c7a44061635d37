"""Reads tags in markdown: HTML and components (JSX), with the attributes that people read.

Strategy: one tag at a time, from a "<" that may begin one. Every search is bounded: a tag, its attributes and their
values have limits, and the ends of braces are looked up in a table that is made once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


def names(listed: str) -> frozenset[str]:
    """Return the words of `listed` as a set."""
    return frozenset(listed.split())


INLINE = names(
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rp rt ruby s samp small span strike "
    "strong sub sup time tt u var wbr"
)
BLOCK = names(
    "address article aside base blockquote body br button caption center col colgroup dd details dialog div dl dt "
    "embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html img input label legend "
    "li link main map menu meta nav ol optgroup option p picture pre progress search section select source summary "
    "table tbody td textarea tfoot th thead title tr track ul"
)
NON_TEXT = names("audio canvas iframe math noscript object script style svg template video")
"""Elements whose content is not text."""

READ = names("title subtitle summary label question answer heading header caption description eyebrow")
"""Attributes of components that people read. HTML's own elements have none (their `title` is a tooltip)."""

_NAME = re.compile(r"<(/?)([A-Za-z][\w.-]*)(?=[\s/>])")
_ATTRIBUTE = re.compile(
    r"\s*(?:(?P<name>[^\s\"'<>/={}]{1,200})"
    r"(?:\s*=\s*(?:\"(?P<double>[^\"]{0,8000})\"|'(?P<single>[^']{0,8000})'|(?P<value>\{)|(?P<bare>[^\s\"'=<>`{]{1,2000})))?"
    r"|(?P<spread>\{)|/(?!>))"
)
_END = re.compile(r"\s*(/?)>")
_LITERAL = re.compile(r"\"([^\"]*)\"|'([^']*)'|`([^`$]*)`")
_ATTRIBUTES = 100
_LONGEST = 20_000  # characters
_BRACES = 100_000  # in a document; with more, no brace counts as markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One tag.

    `closing`: it is an end tag. `alone`: it ends in "/>". `bare`: it has no attributes. `texts`: the attributes that
    people read, in their order. `codes`: offsets of template literals over several lines, which are code in an
    attribute. `end`: the offset after the tag.
    """

    name: str
    closing: bool
    alone: bool
    bare: bool
    texts: tuple[tuple[str, str], ...]
    codes: tuple[tuple[int, int], ...]
    end: int

    @property
    def html(self) -> str:
        """The name of the HTML element, "" for a component."""
        name = self.name.lower()
        return name if name in INLINE or name in BLOCK or name in NON_TEXT else ""


class Braces:
    """The pairs of braces of a text, found in one pass at the first call."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._ends: dict[int, int] | None = None

    def end(self, at: int) -> int:
        """Return the offset of the brace that closes the one at `at`, -1 when none does."""
        if self._ends is None:
            self._ends = {}
            if self._source.count("{") <= _BRACES:
                open_: list[int] = []
                for match in re.finditer(r"[{}]", self._source):
                    if match.group() == "{":
                        open_.append(match.start())
                    elif open_:
                        self._ends[open_.pop()] = match.start()
        return self._ends.get(at, -1)


def literal(expression: str) -> str:
    """Return the text of a JSX `expression` that is only a string, else ""."""
    match = _LITERAL.fullmatch(expression.strip())
    return next((group for group in match.groups() if group), "") if match else ""


def tag_at(source: str, at: int, braces: Braces) -> Tag | None:
    """Return the tag that begins at `at`, `None` when none does."""
    name = _NAME.match(source, at)
    if not name:
        return None
    texts: list[tuple[str, str]] = []
    codes: list[tuple[int, int]] = []
    pos = name.end()
    for count in range(_ATTRIBUTES):
        end = _END.match(source, pos)
        if end:
            return Tag(
                name=name[2],
                closing=bool(name[1]),
                alone=bool(end[1]),
                bare=count == 0,
                texts=tuple(texts),
                codes=tuple(codes),
                end=end.end(),
            )
        match = _ATTRIBUTE.match(source, pos)
        if not match or match.end() == pos or match.end() - at > _LONGEST:
            return None
        pos = match.end()
        value = match["double"] or match["single"] or match["bare"] or ""
        if match["value"] or match["spread"]:
            close = braces.end(pos - 1)
            if close < 0 or close - at > _LONGEST:
                return None
            value = literal(source[pos:close])
            if (
                source.startswith("`", pos)
                and source.startswith("`", close - 1)
                and "\n" in source[pos:close]
            ):
                codes.append((pos + 1, close - 1))
            pos = close + 1
        if match["name"] and match["name"].lower() in READ and value:
            texts.append((match["name"].lower(), value))
    return None


def sentence(texts: Sequence[tuple[str, str]]) -> str:
    """Join the texts of attributes, given as (name, text), into one line: "title: description"."""
    line = ""
    for _, text in texts:
        line += (" " if line.endswith((".", "?", "!", ":")) else ": ") + text if line else text
    return line
