"""Makes the titles of threads; pure."""

import re
from typing import Final

TITLE_MOST: Final = 60  # characters of a title that is made of a question
TITLE_READ: Final = 400  # characters of the question that are read for it

_SPACES = re.compile(r"\s+")


def shorten_title(question: str) -> str:
    """Return a question as a title: one line of at most `TITLE_MOST` characters, cut behind a word."""
    line = tidy_title(question)
    if len(line) <= TITLE_MOST:
        return line
    head, space, _ = line[:TITLE_MOST].rpartition(" ")
    return f"{head if space else line[: TITLE_MOST - 1]}…"


def tidy_title(title: str) -> str:
    """Return a title as one line: printable characters, one space between words."""
    return _SPACES.sub(" ", "".join([each if each.isprintable() else " " for each in title])).strip()
