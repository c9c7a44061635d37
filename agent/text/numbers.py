"""Typed number tokens: every place in a text that shows a number, read by kind and value.

The text is brought to plain form (`normalise`), then scanned once from left to right (`scanner`). At each digit
run, number word or numeric symbol the rows of the number rule are tried, longest first; a row counts only when
what it read ends at a border, so what touches is one token. What no row reads becomes an "unread" token: no
digit is ever skipped. English and Swedish; linear in the text.

What the rule cannot catch: a number that a source holds but says of something else.
"""

from .scanner import TOO_MANY, Scanner
from .tokens import Token

__all__ = ["TOO_MANY", "Token", "tokens"]


def tokens(text: str, *, source: bool = False) -> tuple[Token, ...]:
    """Return the number tokens of `text` in order, none overlapping another.

    text: an answer, or with `source` a snippet of a source. In a source list markers are skipped, "3 or 4" and
    "between 3 and 5" are ranges and first to third count; its tokens carry `gives`, an answer's `needs`.
    More than `TOO_MANY` tokens: the rest is not read and the last token is unread.
    """
    return Scanner(text, source).read()
