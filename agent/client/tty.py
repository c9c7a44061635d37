"""A terminal whose last row is the line that a person types, whatever is written above it meanwhile.

Strategy: the terminal is told to hand on each key, and `Editor` makes lines of them. Reading waits on the event loop
for the terminal to have something, so a cancel ends it at once and no thread is left behind. Before anything is written
the row is taken off, and afterwards it is put back: where a streamed text stopped in the middle of a line, the next
piece goes on there. However it ends, the terminal is as it was.
"""

import os
import shutil
import signal
import termios
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress

import trio

from ..text.terminal import printable
from .editor import PROMPT, Editor, columns

AGAIN = (signal.SIGCONT, signal.SIGWINCH)  # after which the row is drawn anew
LEAVE = (signal.SIGTERM, signal.SIGHUP)  # which would leave the terminal as it is now
_PASTES = "\x1b[?2004h", "\x1b[?2004l"  # mark what is pasted, and do so no more
_ERASE = "\r\x1b[K"


class Screen:
    """Where a chat is shown.

    steer: writes to the terminal as it is, at once. width: tells how many columns a row has.
    """

    def __init__(
        self,
        editor: Editor,
        steer: Callable[[str], None],
        width: Callable[[], int] = lambda: shutil.get_terminal_size().columns,
    ) -> None:
        self._editor = editor
        self._steer = steer
        self._width = width
        self._used = 0  # columns of the line that is not ended yet
        self._wrapped = False  # it filled its row, so that it seems ended; an end of it that comes is none
        self._below = False  # the row stands under that line
        self._drawn = False

    def write(self, text: str) -> None:
        """Write a text above the row; what could steer the terminal is taken out of it."""
        self._put(printable(text))

    def typed(self, line: str) -> None:
        """Leave a line that was finished where it stands, as a part of what was said."""
        self._wrapped = False
        self._put(f"{chr(10) if self._used else ''}{PROMPT}{line}\n")

    def draw(self) -> None:
        """Draw the row anew."""
        self._steer(self._off() + self._on())

    def leave(self) -> None:
        """Take the row off."""
        self._steer(self._off())

    def _put(self, said: str) -> None:
        before = self._off()
        if self._wrapped and said.startswith("\n"):
            said = said[1:]
        *whole, last = said.split("\n")
        self._used = columns(last) + (0 if whole else self._used)
        self._wrapped = self._used > 0 and self._used % self._columns() == 0
        end = ""
        if self._wrapped:
            self._used, end = 0, "\n"
        self._steer(before + said + end + self._on())

    def _columns(self) -> int:
        return max(1, self._width())

    def _off(self) -> str:
        """Return what takes the row off and goes back to where the text above it ended."""
        if not self._drawn:
            return ""
        self._drawn = False
        return f"{_ERASE}\x1b[A\x1b[{self._used % self._columns() + 1}G" if self._below else _ERASE

    def _on(self) -> str:
        row, cursor = self._editor.row(self._width())
        self._drawn, self._below = True, self._used > 0
        return f"{chr(10) if self._below else ''}{_ERASE}{row}\r\x1b[{cursor}C"


async def lines(screen: Screen, editor: Editor, descriptor: int = 0) -> AsyncGenerator[str, None]:
    """Yield the lines that a person types, until there are no more. Cancelled, it ends at once."""
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
            screen.typed(line)
            yield line
        screen.draw()


async def heed(screen: Screen, descriptor: int, scope: trio.CancelScope) -> None:
    """Draw the row anew when the terminal came back or has another size, and leave when told to; until cancelled."""
    with trio.open_signal_receiver(*AGAIN, *LEAVE) as signals:
        async for number in signals:
            if number in LEAVE:
                scope.cancel()
                return
            _hand_on_keys(descriptor)
            screen.draw()


@contextmanager
def keys(screen: Screen, steer: Callable[[str], None], descriptor: int = 0) -> Iterator[None]:
    """Let the terminal hand on each key for the time of a block, and be as it was afterwards."""
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
