"""What a command prints, and the exit statuses it may end with.

Strategy: results go to standard output and what went wrong to standard error, one line each, at once; so a pipe gets
what is ready, and a person reads one line for one mistake. Nothing else prints: files, names and answers of servers
may hold anything, and whatever could steer a terminal is taken out here. A field that belongs on one line is made one
(`agent.text.terminal.printable_line`) where the line is put together.
"""

import os
import sys
from contextvars import ContextVar
from typing import Final, TextIO

from ..text.terminal import printable, printable_json, printable_line

OK, FAILED, USAGE, REFUSED = 0, 1, 2, 3
"""Done; refused by the world (no server there); the operator's mistake; done, and the answer is no."""

SHOWS_ALL: Final[ContextVar[bool]] = ContextVar("shows_all", default=False)
"""Whether the help that is asked for is that of `--help all`."""


def write(text: str) -> None:
    """Print a result, of one line or more, without a line break of its own."""
    print(_encodable(printable(text), sys.stdout), end="", flush=True)


def on_a_terminal() -> bool:
    """Tell whether a person types, and reads what is printed on a terminal that can do more than show text."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def steer(text: str) -> None:
    """Print text to a terminal as it is: whoever calls this has cleaned what is not its own."""
    print(_encodable(text, sys.stdout), end="", flush=True)


def write_line(line: bytes) -> None:
    """Print one line of JSON as UTF-8, whatever the terminal's encoding is."""
    sys.stdout.buffer.write(printable_json(line) + b"\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """Print one line, whatever breaks are in it, to standard error; where nobody reads that, nothing."""
    said = printable_line(" ".join(line.split()))
    try:
        print(_encodable(f"agent: {said}", sys.stderr), file=sys.stderr, flush=True)
    except BrokenPipeError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let what is still to be written to a stream, whose reader has left, go nowhere: nothing may fail at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _encodable(text: str, stream: TextIO | None) -> str:
    """Return text that the stream's encoding can say; what it cannot is escaped."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
