"""A terminal with the user's line on its last row, while other text is written above it.

Strategy: the terminal hands on each key, and `LineEditor` makes lines of them. Reading waits on the event loop until
the terminal has input, so a cancel ends it at once and no thread is left behind. Before any text is written the row is
erased, and afterwards it is drawn again: when a streamed text stopped in the middle of a line, the next piece continues
there. The terminal is always restored at the end.
"""

import os
import shutil
import signal
import termios
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress

import trio

from ..text.terminal import printable
from .editor import PROMPT, LineEditor, count_columns

REDRAW_SIGNALS = (signal.SIGCONT, signal.SIGWINCH)  # the row is drawn anew after these
# By default these would end the process without restoring the terminal.
LEAVE_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_PASTES = "\x1b[?2004h", "\x1b[?2004l"  # turn the marking of pasted text on and off
_ERASE = "\r\x1b[K"


class Screen:
    """The screen of a chat.

    `steer`: writes control sequences to the terminal at once. `width`: returns the number of columns of a row.
    """

    def __init__(
        self,
        editor: LineEditor,
        steer: Callable[[str], None],
        width: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._editor = editor
        self._steer = steer
        self._width = width
        self._used = 0  # columns of the open line, which has no line break yet
        # The open line filled its row and the cursor moved on; a line break then adds no row.
        self._wrapped = False
        self._below = False  # the user's row stands under the open line
        self._drawn = False

    def write(self, text: str) -> None:
        """Write a text above the row; control characters are taken out of it."""
        self._write_above(printable(text))

    def write_typed(self, line: str) -> None:
        """Write a finished line above the row, as a part of the conversation."""
        self._wrapped = False
        self._write_above(f"{chr(10) if self._used else ''}{PROMPT}{line}\n")

    def draw(self) -> None:
        """Draw the row anew."""
        self._steer(self._erase_row() + self._draw_row())

    def leave(self) -> None:
        """Erase the row."""
        self._steer(self._erase_row())

    def _write_above(self, text: str) -> None:
        before = self._erase_row()
        if self._wrapped and text.startswith("\n"):
            text = text[1:]
        *whole_lines, last = text.split("\n")
        self._used = count_columns(last) + (0 if whole_lines else self._used)
        self._wrapped = self._used > 0 and self._used % self._columns() == 0
        end = ""
        if self._wrapped:
            self._used, end = 0, "\n"
        self._steer(before + text + end + self._draw_row())

    def _columns(self) -> int:
        return max(1, self._width())

    def _erase_row(self) -> str:
        """Return the sequence that erases the row and moves back to the end of the text above it."""
        if not self._drawn:
            return ""
        self._drawn = False
        return f"{_ERASE}\x1b[A\x1b[{self._used % self._columns() + 1}G" if self._below else _ERASE

    def _draw_row(self) -> str:
        row, cursor = self._editor.visible_row(self._width())
        self._drawn, self._below = True, self._used > 0
        return f"{chr(10) if self._below else ''}{_ERASE}{row}\r\x1b[{cursor}C"


async def read_lines(screen: Screen, editor: LineEditor, descriptor: int = 0) -> AsyncGenerator[str, None]:
    """Yield the lines that the user types, until the input ends. Cancelled, it ends at once."""
    screen.draw()
    while not editor.ended:
        await trio.lowlevel.wait_readable(descriptor)
        try:
            data = os.read(descriptor, 4096)
        except OSError:  # a terminal that has gone
            data = b""
        if not data:
            return
        for line in editor.feed(data):
            screen.write_typed(line)
            yield line
        screen.draw()


async def watch_signals(screen: Screen, descriptor: int, scope: trio.CancelScope) -> None:
    """Redraw the row after SIGCONT and SIGWINCH, and cancel `scope` on SIGTERM and SIGHUP, until cancelled."""
    with trio.open_signal_receiver(*REDRAW_SIGNALS, *LEAVE_SIGNALS) as signals:
        async for number in signals:
            if number in LEAVE_SIGNALS:
                scope.cancel()
                return
            _hand_on_keys(descriptor)
            screen.draw()


@contextmanager
def read_keys(screen: Screen, steer: Callable[[str], None], descriptor: int = 0) -> Iterator[None]:
    """Put the terminal into a mode that hands on each key, for the time of a block, and restore it afterwards."""
    before = termios.tcgetattr(descriptor)
    _hand_on_keys(descriptor)
    steer(_PASTES[0])
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # a terminal that has gone
            screen.leave()
            steer(_PASTES[1])
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _hand_on_keys(descriptor: int) -> None:
    """Hand on each key at once and show none; Ctrl-C and Ctrl-Z stay signals."""
    with suppress(termios.error):
        mode = termios.tcgetattr(descriptor)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)
