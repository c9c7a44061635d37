"""Prints the output of commands, and names their exit statuses.

Strategy: results go to standard output and mistakes to standard error, one line each, at once. So a pipe gets each
result when it is ready, and a person reads one line for one mistake. Nothing else prints: files, names and answers of
servers may hold anything, and this module takes out the characters that could steer a terminal. A field that belongs
on one line is made one (`agent.text.terminal.printable_line`) where the line is put together.
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
ENDS_PROCESS: Final[ContextVar[bool]] = ContextVar("ends_process", default=False)
"""Whether the process ends with the command, as it does unless a program runs a command line of its own."""


def write(text: str) -> None:
    """Print a result, of one line or more, without a line break of its own."""
    print(_encodable(printable(text), sys.stdout), end="", flush=True)


def on_a_terminal() -> bool:
    """Return whether input and output are a terminal, and it can do more than show text."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def steer(text: str) -> None:
    """Print `text` to a terminal unchanged; the caller has cleaned the parts that are not its own."""
    print(_encodable(text, sys.stdout), end="", flush=True)


def write_line(line: bytes) -> None:
    """Print one line of JSON as UTF-8, in any encoding of the terminal."""
    sys.stdout.buffer.write(printable_json(line) + b"\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """Print `line` to standard error, without its own line breaks; print nothing where standard error is closed."""
    said = printable_line(" ".join(line.split()))
    try:
        print(_encodable(f"agent: {said}", sys.stderr), file=sys.stderr, flush=True)
    except BrokenPipeError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send the unwritten rest of `stream` to `os.devnull`, since its reader has left: no flush may fail at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _encodable(text: str, stream: TextIO | None) -> str:
    """Return `text` with the characters escaped that the encoding of `stream` lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
