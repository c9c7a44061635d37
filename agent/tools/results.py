"""What a call returned, as lines that a model reads, an argument may come from and an answer may cite.

Strategy: the result is flattened into `path: value` lines, keys in order, so that the same result is always the same
lines. Nothing in a value can look like another path's line: each line of a text becomes a line of its own path, a key
of anything but word characters is quoted, and what steers a reader is replaced. The items of a list are marked with
letters, not counted: an index is no number of the result, and must support none. At most `SHOWN_BYTES` and
`SHOWN_LINES` are shown, whole lines only. Each is a snippet of `tool/<call id>`, so what is said of a result is checked
and cited like any document.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from agent.errors import AgentError
from agent.ports.search import Snippet
from agent.protocol.payload import deeper_than
from agent.text.sentences import borders
from agent.text.terminal import printable_line

RESULT_BYTES: Final = 64 * 1024
"""Of a result, written as JSON."""
RESULT_DEPTH: Final = 16
"""Arrays and objects within one another."""
SHOWN_BYTES: Final = 8 * 1024
"""UTF-8 bytes of the lines that are shown, their line breaks included."""
SHOWN_LINES: Final = 256
"""That are shown: each is a snippet of its own, and every sentence of an answer is compared with each."""
LINE_CHARACTERS: Final = 1000
"""Of one line's value; a longer one goes on in the next line."""

_WHOLE: Final = "result"  # the path of a result that is no array or object
_KEY: Final = re.compile(r"[^\W\d_][\w-]{0,63}|_[\w-]{0,63}")
_LETTERS: Final = "abfghjknpqrsz"  # none of a Roman numeral, none that a number's word in some language needs
_BREAK: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|(?<=\d)[ ]*\t\s*(?=\d)")
_GAP: Final = re.compile(r"(?<!\d)\s+|\s+(?!\d)")


NOT_SHOWN: Final = "what came back is too large or too deep to be shown"
"""In place of such a result; without a number, for what a result says can be cited."""


class BadResult(AgentError):
    """A result cannot be taken; the message says which bound it is over."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a result: its first lines. cut: there are more."""

    lines: tuple[str, ...]
    cut: bool

    @property
    def text(self) -> str:
        """The lines in one text, as an argument's source is given."""
        return "\n".join(self.lines)

    def snippets(self, call_id: str) -> tuple[Snippet, ...]:
        """Return the lines as what an answer may cite: of the file `tool/<call id>`, counted from 1."""
        file = f"tool/{call_id}"
        return tuple([Snippet(file, line, number, number, line) for number, line in enumerate(self.lines, 1)])


def shown(result: Any) -> Shown:
    """Return what is shown of a result, a JSON value. Raises `BadResult` when it is too long, too deep or no JSON."""
    measured(result)
    lines: list[str] = []
    left = SHOWN_BYTES
    for line in _lines(result, ""):
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0 or len(lines) == SHOWN_LINES:
            return Shown(tuple(lines), True)
        lines.append(line)
    return Shown(tuple(lines), False)


def told(done: bool, result: Mapping[str, Any]) -> Shown:
    """Return what is shown of how a call ended: of one that was done its data, of any other why it was not.

    result: in the shape of an action's. What cannot be shown is told as such.
    """
    try:
        return shown(result["data"] if done and "data" in result else dict(result))
    except BadResult:
        return shown({"error": NOT_SHOWN})


def measured(result: Any) -> bytes:
    """Return a result as canonical JSON: keys in order, no white space. Raises `BadResult`."""
    if deeper_than(RESULT_DEPTH, result):
        raise BadResult(f"a result may be nested {RESULT_DEPTH} deep; give less of it")
    try:
        written = msgspec.json.encode(result, order="sorted")
    except (TypeError, ValueError):
        raise BadResult("a result is a JSON value of whole characters") from None
    if len(written) > RESULT_BYTES:
        raise BadResult(f"a result has at most {RESULT_BYTES} bytes as JSON; give less of it")
    return written


def _lines(value: Any, path: str) -> Iterator[str]:
    """Yield the lines of a value that stands at a path."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _lines(value[key], f"{path}.{_named(key)}" if path else _named(key))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from _lines(each, f"{path}[{_mark(place)}]")
    elif isinstance(value, str):
        for part in _parts(value):
            yield f"{path or _WHOLE}: {part}"
    else:
        yield f"{path or _WHOLE}: {msgspec.json.encode(value).decode()}"


def _named(key: str) -> str:
    """Return a key as it stands in a path: as it is when it is a plain name, else quoted."""
    if _KEY.fullmatch(key):
        return printable_line(key)
    return msgspec.json.encode(printable_line(_BREAK.sub(" ", key))).decode()


def _mark(place: int) -> str:
    """Return the mark of a list's item: a to z, then two letters, of those that make no number."""
    mark = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, len(_LETTERS))
        mark = _LETTERS[letter] + mark
    return mark


def _parts(text: str) -> Iterator[str]:
    """Yield a text line by line, a long line in parts that end between sentences, or at least between words.

    A run without any gap is cut where it is too long and its rest left out, which is said: half a number is another.
    """
    lines = [printable_line(line).strip() for line in _BREAK.split(text)]
    for line in [line for line in lines if line] or [""]:
        rest = line
        while len(rest) > LINE_CHARACTERS:
            ends = [end for end, _ in borders(rest, 0, LINE_CHARACTERS)]
            ends = ends or [gap.start() for gap in _GAP.finditer(rest, 0, LINE_CHARACTERS) if gap.start()]
            if not ends:
                break
            yield rest[: ends[-1]]
            rest = rest[ends[-1] :].strip()
        yield rest if len(rest) <= LINE_CHARACTERS else "…"
