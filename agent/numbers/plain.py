"""Brings a text to one plain form before numbers are read from it, and records the original place of each character.

Two passes, each a single left-to-right substitution over a pattern that cannot backtrack. The first works on
characters: character references are resolved, invisible characters dropped, digits and letters of any style mapped to
ASCII, dashes to "-", spaces to " ". The second works on markup: tags, links and code marks leave a `SEAM` where digits
meet across them (readers see one run) and nothing elsewhere; paired emphasis inside a digit run is stripped. Digits
that markup hides (in a tag's attributes, a link's target, a comment) come back as `hidden` spans, and character
references that are written with digits as `references`, so that no digit is ever lost.

Character references (`&#57;`, `&frac12;`) are resolved differently by the programs that show a text. A browser resolves
numeric references and some names also without the semicolon, Markdown only with it, and plain text shows references as
they are written. So a text is read with all references resolved. References that are written with digits are also
reported (`Reference`), because their character (a tab, a letter, an invisible character) need not be a part of any
number.
"""

import html
import re
from bisect import bisect_right
from dataclasses import dataclass
from html.entities import html5
from typing import Final, TypeAlias

from agent.lang import LANGUAGES
from agent.text.words import normalize_text

from .characters import FRACTION, SEAM, TABLE, plain_run
from .number_words import classify

REPAIRS = 50_000
"""Edits; a text that needs more is not read at all."""

Edit: TypeAlias = tuple[int, int, int, bool]
"""The length of the new characters, start and end of those replaced, and whether both match one to one."""


def back(starts: list[int], edits: list[Edit], at: int, last: bool) -> int:
    """Return the offset in the original text of the offset `at` after the edits of a pass.

    An offset inside an edit maps to the first original character of the edit, or to the last one if `last` is set.
    """
    index = bisect_right(starts, at) - 1
    if index < 0:
        return at
    length, begin, end, exact = edits[index]
    inside = at - starts[index]
    if inside < length:
        if exact and length == end - begin:
            return begin + inside
        return max(begin, end - 1) if last else begin
    return end + inside - length


class Edits:
    """The pieces of a text that is being rewritten, with the edits that map offsets back to the original text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces: list[str] = []
        self.starts: list[int] = []
        self.edits: list[Edit] = []
        self.length = 0
        self.done = 0

    def put(self, start: int, end: int, new: str, exact: bool = True) -> None:
        """Replace the text from `start` to `end` by `new`. `exact`: equal lengths match one to one."""
        kept = self.text[self.done : start]
        self.pieces += (kept, new)
        self.length += len(kept)
        self.starts.append(self.length)
        self.edits.append((len(new), start, end, exact))
        self.length += len(new)
        self.done = end
        if len(self.starts) > REPAIRS:
            raise TooMany

    def finish(self) -> str:
        """Return the rewritten text."""
        self.pieces.append(self.text[self.done :])
        return "".join(self.pieces)


class TooMany(Exception):
    """The text needs more than `REPAIRS` edits."""


AFTER_AMPERSAND: Final = (
    r"(?:\#[0-9]{1,40}(?![0-9])|\#[xX][0-9a-fA-F]{1,40}(?![0-9a-fA-F])|[a-zA-Z][a-zA-Z0-9]{1,31});?"
)
"""Regex of the characters after a reference's `&`; names have at most 31 letters, and more digits are no character."""

_NONE = frozenset(("", "\x00", "\ufffd"))  # the results of a number that stands for no character


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference that is written with digits, at `start` to `end` of the original text.

    `closed`: it ends in a semicolon; without one, only some programs resolve it.
    """

    start: int
    end: int
    closed: bool


def resolve_reference(written: str) -> tuple[str, int]:
    """Resolve the reference in characters that match "&" and `AFTER_AMPERSAND`.

    Return the resulting text and the number of characters that are the reference; 0 when there is none, and the text is
    unchanged.
    """
    if written[1] == "#":
        becomes = html.unescape(written)
        return (written, 0) if becomes in _NONE else (becomes, len(written))
    for size in range(len(written), 2, -1):  # the longest name at their start, as in a browser
        if (becomes := html5.get(written[1:size], "")) != "":
            return becomes + written[size:], size
    return written, 0


_LETTERS = "éÉ" + "".join(each.writing.letters + each.writing.letters.upper() for each in LANGUAGES.values())
"""Letters beyond ASCII that need no substitution: those of all languages, and the é of loan words."""
_PLAIN = re.compile(rf"[\n -%'-)+-;=?-Z\]^a-{{|}}{_LETTERS}°]*+")
_SPACED = re.compile(r" [ \n]|\n[ \t]|\n\n\n|\t")
_UNEVEN = ("  ", " \n", "\n ", "\n\n\n", "\t", "-\n")
_HYPHENATED = re.compile(r"(\d)-\n(?=\d)|(?<![^\W\d_])([^\W\d_]++)-\n([^\W\d_]++)")
_CHARACTER = re.compile(
    rf"[^\t\n -%'-\[\]-~{_LETTERS}°]"
    r"(?:(?<=\\)(?=[-.,:;%$+/'!?()\n ])|(?<=&)" + AFTER_AMPERSAND + rf"|(?<![&\\])[^\x00-\x7f{_LETTERS}°]*+)"
)
_MARKS_ABOVE = re.compile("[\u0300-\u036f]")
_PIECE = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]++|[₀-₉]++|.", re.S)
_ALONE = (
    r"\[(?=[^\[\]\n]{0,100}\]\()|\](?:(?<=\])\([^()\n]{0,400}\)|(?<=\])\[[^\[\]\d\n]{0,100}\])"
    r"|<[a-zA-Z/!?][^<>]{0,400}>|\[/?[a-zA-Z]{1,10}\]|``*+|~~~*+|\*\**+|__*+"
)
_MARKUP = re.compile(_ALONE)
_MARKUP_AND_SPACE = re.compile(_ALONE + r"|\t[ \t\n]*+| [ \t\n][ \t\n]*+|\n[ \t\n][ \t\n]*+")
_HAS_MARKUP = re.compile(r"[\]<\[`~*_]")
_BLOCK_TAG = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6]|hr|table|tbody|thead|section)\b", re.I)
_HEADING_TAG = re.compile(r"</?h[1-6]\s*/?>", re.I)
_SEAMS = re.compile(rf"[ \n]?[{SEAM}{FRACTION}][{SEAM}{FRACTION} \n]*+")
_PAIR_AFTER = re.compile(r"[\d.,]++(\*++)")


@dataclass(frozen=True, slots=True)
class Hidden:
    """Digits that markup hides from a reader; `text` is the markup, `start` and `end` are offsets in the original."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A text in plain form.

    `maps`: for each pass, last first, the edits that lead back to the original's offsets. `hidden`: digits in markup.
    `references`: those written with digits, in order. `spoilt`: the text needed more than `REPAIRS` edits, and nothing
    of it was read. `ordinary`: no character needed a substitution, so the text holds no symbol.
    """

    text: str
    maps: tuple[tuple[list[int], list[Edit]], ...]
    hidden: tuple[Hidden, ...] = ()
    references: tuple[Reference, ...] = ()
    spoilt: bool = False
    ordinary: bool = False

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original text of `start` to `end` in the plain text."""
        for starts, edits in self.maps:
            start, end = back(starts, edits, start, False), back(starts, edits, end - 1, True) + 1
        return start, end


def plain(text: str) -> Plain:
    """Return `text` in plain form, in time linear in its length."""
    if not any(spaces in text for spaces in _UNEVEN) and _PLAIN.fullmatch(text):
        return Plain(text=text, maps=(), ordinary=True)
    try:
        return _repair(text)
    except TooMany:
        return Plain(text=text, maps=(), spoilt=True)


def _repair(text: str) -> Plain:
    characters = Edits(text)
    references: list[Reference] = []
    for found in _CHARACTER.finditer(text):
        _characters(found.group(), found.start(), found.end(), characters, references)
    first = characters.finish()
    if "-\n" in first:
        hyphens = Edits(first)
        _join_hyphens(first, hyphens)
        first = hyphens.finish()
    else:
        hyphens = None
    markup = Edits(first)
    hidden: list[tuple[int, int, str]] = []
    _comments(first, markup, hidden)
    second = markup.finish()
    seams = Edits(second)
    _join(second, seams)
    third = seams.finish()
    passes = tuple(
        [(e.starts, e.edits) for e in (seams, markup, hyphens, characters) if e is not None and e.starts]
    )
    back = Plain(
        text="",
        maps=tuple([(e.starts, e.edits) for e in (hyphens, characters) if e is not None and e.starts]),
    )
    spans = tuple(Hidden(old, *back.origin(start, end)) for start, end, old in hidden)
    return Plain(text=third, maps=passes, hidden=spans, references=tuple(references))


def _join_hyphens(text: str, out: Edits) -> None:
    """Join what a hyphen at a line's end parts: digits, and words that form a number together."""
    for found in _HYPHENATED.finditer(text):
        digit, head, tail = found.groups()
        if digit is not None:
            out.put(found.start() + 1, found.end(), "-")
        elif classify(head + tail) is not None:
            out.put(found.end(2), found.start(3), "")


def _characters(old: str, start: int, end: int, out: Edits, references: list[Reference]) -> None:
    """Add the plain form of one match of `_CHARACTER`: a reference, or a run of characters that are not plain."""
    text = out.text
    if old == "\\":  # escapes a mark, or breaks a line
        out.put(start, end, "")
        return
    if old[0] == "&":
        becomes, size = resolve_reference(old)
        if size == 0:
            return  # no character: the reference shows as it is written
        if any(c.isdigit() for c in old[:size]):
            references.append(Reference(start, start + size, old[size - 1] == ";"))
        new = becomes if becomes.isascii() else plain_run(becomes, text[start - 1 : start])
    elif _MARKS_ABOVE.search(old):
        if _MARKS_ABOVE.match(old) and start > out.done and text[start - 1].isalpha():
            start -= 1
        whole = normalize_text(text[start:end])
        new = plain_run(_MARKS_ABOVE.sub("", whole) if whole[0].isalpha() else whole, text[start - 1 : start])
        if new != old or end - start != len(old):
            out.put(start, end, new, exact=False)
        return
    else:
        new = plain_run(old, text[start - 1 : start] if start else "")
        if len(old) > 1 and (len(new) != len(old) or "" in map(TABLE.__getitem__, map(ord, old))):
            _pieces(old, start, out)
            return
    if new != old or end - start != len(old):
        out.put(start, end, new)


def _pieces(old: str, start: int, out: Edits) -> None:
    """Add the plain form of a run piece by piece, so that offsets stay exact."""
    for found in _PIECE.finditer(old):
        at = start + found.start()
        new = plain_run(found.group(), out.text[at - 1 : at])
        if new != found.group():
            out.put(at, start + found.end(), new)


def _comments(text: str, out: Edits, hidden: list[tuple[int, int, str]]) -> None:
    """Rewrite markup into `out`. Comments are found by plain search, since they may contain anything."""
    at = 0
    pattern = _MARKUP_AND_SPACE if _SPACED.search(text) else _MARKUP if _HAS_MARKUP.search(text) else None
    if pattern is None:
        return
    while True:
        start = text.find("<!--", at)
        end = text.find("-->", start + 4) if start >= 0 else -1
        if end < 0:
            _markup(text, at, len(text), out, hidden, pattern)
            return
        _markup(text, at, start, out, hidden, pattern)
        at = end + 3
        out.put(start, at, SEAM)
        if _shows_number(text[start:at]):
            hidden.append((start, at, text[start:at]))


def _shows_number(text: str) -> bool:
    return any(c.isnumeric() for c in text)


def _markup(
    text: str, start: int, end: int, out: Edits, hidden: list[tuple[int, int, str]], pattern: re.Pattern[str]
) -> None:
    for count, found in enumerate(pattern.finditer(text, start, end)):
        if count > 2 * REPAIRS:
            raise TooMany
        old = found.group()
        new = _mark(old, text, found)
        if new is None:
            continue
        if SEAM in new and _shows_number(old) and not _HEADING_TAG.fullmatch(old):
            hidden.append((found.start(), found.end(), old))
        if new != old:
            out.put(found.start(), found.end(), new)


def _mark(old: str, text: str, found: re.Match[str]) -> str | None:
    """Return the replacement of one match of `_MARKUP`, or `None` to leave it."""
    first = old[0]
    if first in " \t\n":
        lines = old.count("\n")
        return "\n\n" if lines > 1 else "\n" if lines else " "
    if first == "<":
        if "://" in old or "@" in old:
            return None
        return SEAM + "\n" if _BLOCK_TAG.match(old) else SEAM
    if first not in "*_":
        return SEAM
    before = text[found.start() - 1] if found.start() else " "
    after = text[found.end()] if found.end() < len(text) else " "
    if before.isspace() and after.isspace():
        return None
    if first == "_":
        return None if before.isalnum() and after.isalnum() else ""
    if before.isdigit() and after.isdigit():
        return "" if _is_paired(text, found, len(old)) else None
    return ""


def _is_paired(text: str, found: re.Match[str], size: int) -> bool:
    """Tell whether an emphasis mark between two digits opens or closes emphasis over one of the runs."""
    after = _PAIR_AFTER.match(text, found.end())
    if after is not None and len(after.group(1)) == size:
        return True
    at = found.start() - 1
    while at >= 0 and text[at] in "0123456789.,":
        at -= 1
    return at + 1 >= size and text[at + 1 - size : at + 1] == "*" * size


def _join(text: str, out: Edits) -> None:
    """Leave one seam where digits meet across markup, and nothing elsewhere."""
    if SEAM not in text:
        return
    for found in _SEAMS.finditer(text):
        start, end, old = found.start(), found.end(), found.group()
        lines = old.count("\n")
        space = "\n\n" if lines > 1 else "\n" if lines else " " if " " in old else ""
        before = start > 0 and text[start - 1].isdigit()
        if before and end < len(text) and text[end].isdigit() and "\n\n" not in old:
            out.put(start, end, " " if old == FRACTION or old == " " + FRACTION else SEAM)
        else:
            out.put(start, end, space)
