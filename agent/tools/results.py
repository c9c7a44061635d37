"""Turns the result of a call into lines that a model reads, an argument may come from and an answer may cite.

Strategy: the result is flattened into `path: value` lines, keys in order, so that the same result always gives the same
lines. Nothing in a value can look like the line of another path: each line of a text becomes a line of its own path, a
key with characters other than word characters is quoted, and control characters are replaced. The items of a list are
marked with letters, not counted: an index is no number of the result, and must support none. At most `SHOWN_BYTES` and
`SHOWN_LINES` are shown, whole lines only. Each line is a snippet of `tool/<call id>`, so a statement about a result is
verified and cited like any other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agent.errors import AgentError
from agent.ports.search import Snippet
from agent.protocol.payload import is_deeper_than
from agent.text.sentences import find_borders
from agent.text.terminal import printable_line

RESULT_BYTES: Final = 64 * 1024
"""Of a result as JSON."""
RESULT_DEPTH: Final = 16
"""Levels of nested arrays and objects."""
SHOWN_BYTES: Final = 8 * 1024
"""UTF-8 bytes of the lines that are shown, with their line breaks."""
SHOWN_LINES: Final = 256
"""Lines that are shown: each is a snippet of its own, and every sentence of an answer is compared with each."""
LINE_CHARACTERS: Final = 1000
"""Of the value of one line; a longer value goes on in the next line."""

_WHOLE: Final = "result"  # the path of a result that is no array or object
_KEY: Final = re.compile(r"[^\W\d_][\w-]{0,63}|_[\w-]{0,63}")
_LETTERS: Final = "abfghjknpqrsz"  # no letter of a Roman numeral or of a one-letter number word
_BREAK: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|(?<=\d)[ ]*\t\s*(?=\d)")
_GAP: Final = re.compile(r"(?<!\d)\s+|\s+(?!\d)")


NOT_SHOWN: Final = "what came back is too large or too deep to be shown"
"""Stands in place of such a result; it holds no number, since the text of a result can be cited."""


class BadResult(AgentError):
    """A result cannot be taken; the message names the bound that it exceeds."""


@dataclass(frozen=True, slots=True)
class ResultLines:
    """The first lines of a result. `cut`: there are more."""

    lines: tuple[str, ...]
    cut: bool

    @property
    def text(self) -> str:
        """The lines in one text, as a source of arguments."""
        return "\n".join(self.lines)

    def make_snippets(self, call_id: str) -> tuple[Snippet, ...]:
        """Return the lines as snippets that an answer may cite: of the file `tool/<call id>`, counted from 1."""
        file = f"tool/{call_id}"
        return tuple(
            [
                Snippet(file=file, text=line, first=number, last=number, plain_text=line)
                for number, line in enumerate(self.lines, 1)
            ]
        )


def format_result(result: Any) -> ResultLines:
    """Return the lines of a result, a JSON value. Raises `BadResult` when it is too long, too deep or no JSON."""
    encode_result(result)
    lines: list[str] = []
    bytes_left = SHOWN_BYTES
    for line in _flatten(result, ""):
        bytes_left -= len(line.encode("utf-8", "replace")) + 1
        if bytes_left < 0 or len(lines) == SHOWN_LINES:
            return ResultLines(tuple(lines), True)
        lines.append(line)
    return ResultLines(tuple(lines), False)


def format_outcome(is_done: bool, result: Mapping[str, Any]) -> ResultLines:
    """Return the lines of a call's outcome: its data when it is done, else the reason that it is not.

    `result`: in the form of an action's result. A result that cannot be shown becomes `NOT_SHOWN`.
    """
    try:
        return format_result(result["data"] if is_done and "data" in result else dict(result))
    except BadResult:
        return format_result({"error": NOT_SHOWN})


def encode_result(result: Any) -> bytes:
    """Return a result as canonical JSON: keys in order, no white space. Raises `BadResult`."""
    if is_deeper_than(RESULT_DEPTH, result):
        raise BadResult(f"a result may be nested {RESULT_DEPTH} deep; give less of it")
    try:
        encoded = msgspec.json.encode(result, order="sorted")
    except (TypeError, ValueError):
        raise BadResult("a result is a JSON value of whole characters") from None
    if len(encoded) > RESULT_BYTES:
        raise BadResult(f"a result has at most {RESULT_BYTES} bytes as JSON; give less of it")
    return encoded


def _flatten(value: Any, path: str) -> Iterator[str]:
    """Yield the lines of `value` at `path`."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _flatten(value[key], f"{path}.{_format_key(key)}" if path else _format_key(key))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from _flatten(each, f"{path}[{_mark_of(place)}]")
    elif isinstance(value, str):
        for part in _split_lines(value):
            yield f"{path or _WHOLE}: {part}"
    else:
        yield f"{path or _WHOLE}: {msgspec.json.encode(value).decode()}"


def _format_key(key: str) -> str:
    """Return a key as it stands in a path: a plain name as it is, any other key quoted."""
    if _KEY.fullmatch(key):
        return printable_line(key)
    return msgspec.json.encode(printable_line(_BREAK.sub(" ", key))).decode()


def _mark_of(place: int) -> str:
    """Return the mark of a list's item: one of `_LETTERS`, then two of them."""
    mark = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(_LETTERS))
        mark = _LETTERS[letter] + mark
    return mark


def _split_lines(text: str) -> Iterator[str]:
    """Yield `text` line by line, a long line in parts that end between sentences, or at least between words.

    A run of over `LINE_CHARACTERS` without any gap becomes "…": half a number is another number.
    """
    lines = [printable_line(line).strip() for line in _BREAK.split(text)]
    for line in [line for line in lines if line] or [""]:
        rest = line
        while len(rest) > LINE_CHARACTERS:
            ends = [end for end, _ in find_borders(rest, 0, LINE_CHARACTERS)]
            ends = ends or [gap.start() for gap in _GAP.finditer(rest, 0, LINE_CHARACTERS) if gap.start()]
            if not ends:
                break
            yield rest[: ends[-1]]
            rest = rest[ends[-1] :].strip()
        yield rest if len(rest) <= LINE_CHARACTERS else "…"
