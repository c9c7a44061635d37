"""What a command prints, and the exit statuses it may end with.

Strategy: results go to standard output and what went wrong to standard error, one line each, at once; so a pipe gets
what is ready, and a person reads one line for one mistake.
"""

import sys

OK, FAILED, USAGE, REFUSED = 0, 1, 2, 3
"""Done; refused by the world (no server there); the operator's mistake; done, and the answer is no."""


def write(text: str) -> None:
    """Print a result as it is, without a line break of its own."""
    print(text, end="", flush=True)


def write_line(line: bytes) -> None:
    """Print one line of UTF-8, whatever the terminal's encoding is."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """Print one line, whatever breaks are in it, to standard error."""
    print("agent: " + " ".join(line.split()), file=sys.stderr, flush=True)
