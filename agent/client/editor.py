"""A line editor: keys in, finished lines out, and the part of the line that one row of a terminal shows.

Strategy: this module knows no terminal. Bytes are read as UTF-8 and as the keys that terminals send (ECMA-48 and
xterm's); other sequences do nothing. The line stays on one row, which shows the part around the cursor, as in
linenoise: so it can be taken off the screen and put back when other text is written. A pasted text, between the marks
that a terminal puts around it, is one line: a line break in it becomes a space.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import ClassVar

from ..config import MAX_TEXT

PROMPT = "> "
HISTORY_LINES = 500
"""Lines of a history."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|O[A-Z]|[^\[O])", re.DOTALL)
_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
_LONGEST = 32  # characters of an escape sequence


def count_columns(text: str) -> int:
    """Return the number of columns that a text takes on a terminal (Unicode Standard Annex 11)."""
    return sum(map(_width_of, text))


def _width_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _bind_keys(does: Callable[["LineEditor"], None], *keys: str) -> dict[str, Callable[["LineEditor"], None]]:
    return dict.fromkeys(keys, does)


class LineEditor:
    """Edits one line after the other, with a history.

    `history`: earlier lines, oldest first. `ended`: the user wants no further line. `text`, `at`: the line and its
    cursor.
    """

    def __init__(self, history: Sequence[str] = ()) -> None:
        self.text = ""
        self.at = 0
        self.ended = False
        self.history = list(history)[-HISTORY_LINES:]
        self._place = len(self.history)  # in the history; its end is the line being typed
        self._typed = ""  # the line being typed, while a line of the history is shown
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""  # of a key whose end is still to come
        self._pasting = False

    def feed(self, data: bytes) -> list[str]:
        """Handle typed bytes; return the lines that they finished, without their ends."""
        found = []
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        while text:
            key = text[0]
            if key == "\x1b":
                match = _ESCAPE.match(text)
                if match is None and len(text) < _LONGEST:
                    self._rest = text
                    break
                key = match.group() if match else key
            text = text[len(key) :]
            if key in (_PASTE, _PASTED):
                self._pasting = key == _PASTE
            elif self._pasting or key.isprintable():
                self._insert(key if key.isprintable() else " ")
            elif key in "\r\n":
                found.append(self._finish())
            elif key in self._KEYS:
                self._KEYS[key](self)
        return found

    def visible_row(self, width: int) -> tuple[str, int]:
        """Return the text that a row of `width` columns shows, and the column of the cursor in it, from 0."""
        room = max(1, width - len(PROMPT) - 1)
        start, used = self.at, 0
        while start and used + _width_of(self.text[start - 1]) <= room:
            start -= 1
            used += _width_of(self.text[start])
        end, shown = self.at, used
        while end < len(self.text) and shown + _width_of(self.text[end]) <= room:
            shown += _width_of(self.text[end])
            end += 1
        return PROMPT + self.text[start:end], len(PROMPT) + used

    def _insert(self, text: str) -> None:
        if len(self.text) < MAX_TEXT:
            self.text = self.text[: self.at] + text + self.text[self.at :]
            self.at += len(text)

    def _finish(self) -> str:
        line = self.text
        if line.strip() and line != (self.history[-1] if self.history else ""):
            self.history = [*self.history, line][-HISTORY_LINES:]
        self._place = len(self.history)
        self._set_line("")
        return line

    def _set_line(self, text: str) -> None:
        self.text, self.at = text, len(text)

    def _show_history(self, step: int) -> None:
        """Show the line of the history that is `step` places away."""
        place = self._place + step
        if not 0 <= place <= len(self.history):
            return
        if self._place == len(self.history):
            self._typed = self.text
        self._place = place
        self._set_line(self.history[place] if place < len(self.history) else self._typed)

    def _move_to(self, at: int) -> None:
        self.at = min(max(at, 0), len(self.text))

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[: max(start, 0)] + self.text[end:]
        self.at = max(start, 0)

    def _word_before(self) -> int:
        return len(re.sub(r"\w*\W*\Z", "", self.text[: self.at]))

    def _word_after(self) -> int:
        found = re.compile(r"\W*\w*").match(self.text, self.at)
        return found.end() if found else self.at

    def _delete_or_end(self) -> None:
        if self.text:
            self._cut(self.at, self.at + 1)
        else:
            self.ended = True

    _KEYS: ClassVar[dict[str, Callable[["LineEditor"], None]]] = {
        **_bind_keys(lambda self: self._move_to(self.at - 1), "\x02", "\x1b[D", "\x1bOD"),
        **_bind_keys(lambda self: self._move_to(self.at + 1), "\x06", "\x1b[C", "\x1bOC"),
        **_bind_keys(lambda self: self._move_to(0), "\x01", "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~"),
        **_bind_keys(
            lambda self: self._move_to(len(self.text)), "\x05", "\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~"
        ),
        **_bind_keys(lambda self: self._move_to(self._word_before()), "\x1bb", "\x1b[1;5D", "\x1b[1;3D"),
        **_bind_keys(lambda self: self._move_to(self._word_after()), "\x1bf", "\x1b[1;5C", "\x1b[1;3C"),
        **_bind_keys(lambda self: self._cut(self.at - 1, self.at), "\x7f", "\x08"),
        **_bind_keys(lambda self: self._cut(self.at, self.at + 1), "\x1b[3~"),
        **_bind_keys(lambda self: self._cut(self.at, len(self.text)), "\x0b"),
        **_bind_keys(lambda self: self._cut(0, self.at), "\x15"),
        **_bind_keys(lambda self: self._cut(self._word_before(), self.at), "\x17", "\x1b\x7f"),
        **_bind_keys(lambda self: self._show_history(-1), "\x10", "\x1b[A", "\x1bOA"),
        **_bind_keys(lambda self: self._show_history(1), "\x0e", "\x1b[B", "\x1bOB"),
        **_bind_keys(_delete_or_end, "\x04"),
    }
