"""Brings a text to one plain form before numbers are read from it, and records the original place of each character.

Strategy: passes that each are a single left-to-right substitution over a pattern that cannot backtrack. The first works
on characters: character references are resolved, invisible characters dropped, digits and letters of any style mapped
to ASCII, dashes to "-", spaces to " ". The next joins the parts of words and numbers that a hyphen breaks at a line's
end. The last two work on markup: tags, links and code marks leave a `SEAM` where digits meet across them (readers see
one run) and nothing elsewhere; paired emphasis inside a digit run is stripped. Digits that markup hides (in a tag's
attributes, a link's target, a comment) come back as `hidden` spans, and character references that are written with
digits as `references`, so that no digit is ever lost.

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

import msgspec

from agent.lang import LANGUAGES
from agent.text.words import normalize_text

from .characters import FRACTION, SEAM, TABLE, plain_run
from .number_words import classify

MOST_EDITS = 50_000
"""Edits; a text that needs more is not read at all."""

Edit: TypeAlias = tuple[int, int, int, bool]
"""The length of the new characters, start and end of those replaced, and whether both match one to one."""


def map_back(starts: list[int], edits: list[Edit], at: int, last: bool) -> int:
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
        self.copied = 0

    def replace(self, start: int, end: int, new: str, exact: bool = True) -> None:
        """Replace the text from `start` to `end` by `new`. `exact`: equal lengths match one to one."""
        before = self.text[self.copied : start]
        self.pieces += (before, new)
        self.length += len(before)
        self.starts.append(self.length)
        self.edits.append((len(new), start, end, exact))
        self.length += len(new)
        self.copied = end
        if len(self.starts) > MOST_EDITS:
            raise TooManyEdits

    def finish(self) -> str:
        """Return the rewritten text."""
        self.pieces.append(self.text[self.copied :])
        return "".join(self.pieces)


class TooManyEdits(Exception):
    """The text needs more than `MOST_EDITS` edits."""


AFTER_AMPERSAND: Final = (
    r"(?:\#[0-9]{1,40}(?![0-9])|\#[xX][0-9a-fA-F]{1,40}(?![0-9a-fA-F])|[a-zA-Z][a-zA-Z0-9]{1,31});?"
)
"""Regex of the characters after a reference's `&`; names have at most 31 letters, and more digits are no character."""

_NO_CHARACTER = frozenset(("", "\x00", "\ufffd"))  # the results of a number that stands for no character


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
        return (written, 0) if becomes in _NO_CHARACTER else (becomes, len(written))
    for size in range(len(written), 2, -1):  # the longest name at their start, as in a browser
        if (becomes := html5.get(written[1:size], "")) != "":
            return becomes + written[size:], size
    return written, 0


_LETTERS = "éÉ" + "".join(each.writing.letters + each.writing.letters.upper() for each in LANGUAGES.values())
"""Letters beyond ASCII that need no substitution: those of all languages, and the é of loan words."""
_QUIET_MARKS = "«»“”„•·›"
"""Marks that are no ASCII and stand for themselves; a `›` parts the headings of each citation."""
_PLAIN_TEXT = re.compile(rf"[\n -%'-)+-;=?-Z\]^a-{{|}}{_LETTERS}°{_QUIET_MARKS}]*+")
_SURPLUS_SPACE = re.compile(r" [ \n]|\n[ \t]|\n\n\n|\t")
_HYPHENATED = re.compile(r"(\d)-\n(?=\d)|(?<![^\W\d_])([^\W\d_]++)-\n([^\W\d_]++)")
_CHARACTER = re.compile(
    rf"[^\t\n -%'-\[\]-~{_LETTERS}°]"
    r"(?:(?<=\\)(?=[-.,:;%$+/'!?()\n ])|(?<=&)" + AFTER_AMPERSAND + rf"|(?<![&\\])[^\x00-\x7f{_LETTERS}°]*+)"
)
_MARKS_ABOVE = re.compile("[\u0300-\u036f]")
_RUN_PART = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]++|[₀-₉]++|.", re.S)
_MARKS = (
    r"\[(?=[^\[\]\n]{0,100}\]\()|\](?:(?<=\])\([^()\n]{0,400}\)|(?<=\])\[[^\[\]\d\n]{0,100}\])"
    r"|<[a-zA-Z/!?][^<>]{0,400}>|\[/?[a-zA-Z]{1,10}\]|``*+|~~~*+|\*\**+|__*+"
)
_MARKUP_ONLY = re.compile(_MARKS)
_MARKUP_AND_SPACE = re.compile(_MARKS + r"|\t[ \t\n]*+| [ \t\n][ \t\n]*+|\n[ \t\n][ \t\n]*+")
_HAS_MARKUP = re.compile(r"[\]<\[`~*_]")
_BLOCK_TAG = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6]|hr|table|tbody|thead|section)\b", re.I)
_HEADING_TAG = re.compile(r"</?h[1-6]\s*/?>", re.I)
_SEAMS = re.compile(rf"[ \n]?[{SEAM}{FRACTION}][{SEAM}{FRACTION} \n]*+")
_PAIR_AFTER = re.compile(r"[\d.,]++(\*++)")


@dataclass(frozen=True, slots=True)
class HiddenDigits:
    """Digits that markup hides from a reader; `text` is the markup, `start` and `end` are offsets in the original."""

    text: str
    start: int
    end: int


class PlainText(msgspec.Struct, frozen=True, kw_only=True):
    """A text in plain form.

    `maps`: for each pass, last first, the edits that lead back to the original's offsets. `hidden`: digits in markup.
    `references`: those written with digits, in order. `has_too_many_edits`: the text needed more than `MOST_EDITS`
    edits, and nothing of it was read. `is_unchanged`: no character needed a substitution, so the text holds no symbol.
    """

    text: str
    maps: tuple[tuple[list[int], list[Edit]], ...]
    hidden: tuple[HiddenDigits, ...] = ()
    references: tuple[Reference, ...] = ()
    has_too_many_edits: bool = False
    is_unchanged: bool = False

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original text of `start` to `end` in the plain text."""
        for starts, edits in self.maps:
            start, end = map_back(starts, edits, start, False), map_back(starts, edits, end - 1, True) + 1
        return start, end


def _has_surplus_space(text: str) -> bool:
    """Tell whether spaces or lines need a substitution, or a hyphen may part a word at a line's end."""
    lines = "\n" in text
    return "  " in text or (lines and (" \n" in text or "\n " in text or "-\n" in text or "\n\n\n" in text))


def make_plain(text: str) -> PlainText:
    """Return `text` in plain form, in time linear in its length."""
    if not _has_surplus_space(text) and _PLAIN_TEXT.fullmatch(text):
        return PlainText(text=text, maps=(), is_unchanged=True)
    try:
        return _rewrite(text)
    except TooManyEdits:
        return PlainText(text=text, maps=(), has_too_many_edits=True)


def _rewrite(text: str) -> PlainText:
    """Rewrite `text` in four passes: characters, hyphens at line ends, markup, and the seams that markup leaves."""
    characters = Edits(text)
    references: list[Reference] = []
    for match in _CHARACTER.finditer(text):
        _rewrite_characters(match, characters, references)
    hyphens = Edits(characters.finish())
    _join_hyphens(hyphens)
    markup = Edits(hyphens.finish())
    hidden: list[tuple[int, int, str]] = []
    _rewrite_markup(markup, hidden)
    seams = Edits(markup.finish())
    _join_seams(seams)
    before_markup = PlainText(text="", maps=_collect_maps(hyphens, characters))
    return PlainText(
        text=seams.finish(),
        maps=_collect_maps(seams, markup, hyphens, characters),
        hidden=tuple(HiddenDigits(old, *before_markup.origin(start, end)) for start, end, old in hidden),
        references=tuple(references),
    )


def _collect_maps(*passes: Edits) -> tuple[tuple[list[int], list[Edit]], ...]:
    """Return the edits of the passes that have any."""
    return tuple([(each.starts, each.edits) for each in passes if each.starts])


def _join_hyphens(out: Edits) -> None:
    """Join what a hyphen at a line's end parts: digits, and words that form a number together."""
    if "-\n" not in out.text:
        return
    for match in _HYPHENATED.finditer(out.text):
        digit, head, tail = match.groups()
        if digit is not None:
            out.replace(match.start() + 1, match.end(), "-")
        elif classify(head + tail) is not None:
            out.replace(match.end(2), match.start(3), "")


def _rewrite_characters(match: re.Match[str], out: Edits, references: list[Reference]) -> None:
    """Add the plain form of one match of `_CHARACTER`: a reference, or a run of characters that are not plain."""
    text, old = out.text, match.group()
    start, end = match.span()
    if old == "\\":  # escapes a mark, or breaks a line
        out.replace(start, end, "")
        return
    if old[0] == "&":
        becomes, size = resolve_reference(old)
        if size == 0:
            return  # no character: the reference shows as it is written
        if any(c.isdigit() for c in old[:size]):
            references.append(Reference(start, start + size, old[size - 1] == ";"))
        new = becomes if becomes.isascii() else plain_run(becomes, text[start - 1 : start])
    elif _MARKS_ABOVE.search(old):
        if _MARKS_ABOVE.match(old) and start > out.copied and text[start - 1].isalpha():
            start -= 1
        whole = normalize_text(text[start:end])
        new = plain_run(_MARKS_ABOVE.sub("", whole) if whole[0].isalpha() else whole, text[start - 1 : start])
        if new != old or end - start != len(old):
            out.replace(start, end, new, exact=False)
        return
    else:
        new = plain_run(old, text[start - 1 : start] if start else "")
        if len(old) > 1 and (len(new) != len(old) or "" in map(TABLE.__getitem__, map(ord, old))):
            _rewrite_run(old, start, out)
            return
    if new != old or end - start != len(old):
        out.replace(start, end, new)


def _rewrite_run(old: str, start: int, out: Edits) -> None:
    """Add the plain form of a run piece by piece, so that offsets stay exact."""
    for match in _RUN_PART.finditer(old):
        at = start + match.start()
        new = plain_run(match.group(), out.text[at - 1 : at])
        if new != match.group():
            out.replace(at, start + match.end(), new)


def _rewrite_markup(out: Edits, hidden: list[tuple[int, int, str]]) -> None:
    """Rewrite markup. Comments are found by plain search, since they may contain anything.

    `hidden`: gets (start, end, text) of the markup that holds digits.
    """
    text = out.text
    at = 0
    pattern = (
        _MARKUP_AND_SPACE
        if _SURPLUS_SPACE.search(text)
        else _MARKUP_ONLY
        if _HAS_MARKUP.search(text)
        else None
    )
    if pattern is None:
        return
    while True:
        start = text.find("<!--", at)
        end = text.find("-->", start + 4) if start >= 0 else -1
        if end < 0:
            _rewrite_marks(at, len(text), out, hidden, pattern)
            return
        _rewrite_marks(at, start, out, hidden, pattern)
        at = end + 3
        out.replace(start, at, SEAM)
        if _has_number(text[start:at]):
            hidden.append((start, at, text[start:at]))


def _has_number(text: str) -> bool:
    return any(c.isnumeric() for c in text)


def _rewrite_marks(
    start: int, end: int, out: Edits, hidden: list[tuple[int, int, str]], pattern: re.Pattern[str]
) -> None:
    """Rewrite the matches of `pattern` from `start` to `end`."""
    for count, match in enumerate(pattern.finditer(out.text, start, end)):
        if count > 2 * MOST_EDITS:
            raise TooManyEdits
        old = match.group()
        new = _find_replacement(old, match)
        if new is None:
            continue
        if SEAM in new and _has_number(old) and not _HEADING_TAG.fullmatch(old):
            hidden.append((match.start(), match.end(), old))
        if new != old:
            out.replace(match.start(), match.end(), new)


def _find_replacement(old: str, match: re.Match[str]) -> str | None:
    """Return the replacement of the mark `old`, or `None` to leave it."""
    text, first = match.string, old[0]
    if first in " \t\n":
        lines = old.count("\n")
        return "\n\n" if lines > 1 else "\n" if lines else " "
    if first == "<":
        if "://" in old or "@" in old:
            return None
        return SEAM + "\n" if _BLOCK_TAG.match(old) else SEAM
    if first not in "*_":
        return SEAM
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    if before.isspace() and after.isspace():
        return None
    if first == "_":
        return None if before.isalnum() and after.isalnum() else ""
    if before.isdigit() and after.isdigit():
        return "" if _is_paired(match, len(old)) else None
    return ""


def _is_paired(match: re.Match[str], size: int) -> bool:
    """Tell whether an emphasis mark between two digits opens or closes emphasis over one of the runs."""
    text = match.string
    after = _PAIR_AFTER.match(text, match.end())
    if after is not None and len(after.group(1)) == size:
        return True
    at = match.start() - 1
    while at >= 0 and text[at] in "0123456789.,":
        at -= 1
    return at + 1 >= size and text[at + 1 - size : at + 1] == "*" * size


def _join_seams(out: Edits) -> None:
    """Leave one seam where digits meet across markup, and nothing elsewhere."""
    text = out.text
    if SEAM not in text:
        return
    for match in _SEAMS.finditer(text):
        start, end, old = match.start(), match.end(), match.group()
        lines = old.count("\n")
        space = "\n\n" if lines > 1 else "\n" if lines else " " if " " in old else ""
        before = start > 0 and text[start - 1].isdigit()
        if before and end < len(text) and text[end].isdigit() and "\n\n" not in old:
            out.replace(start, end, " " if old == FRACTION or old == " " + FRACTION else SEAM)
        else:
            out.replace(start, end, space)
