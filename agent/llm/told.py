"""What values a user's words hold, of which the arguments of a call can be made; pure.

Strategy: the text is read once, for what has a form of its own: number tokens by their kind, e-mail addresses, links,
quotations, what follows a colon, names. Each is given away once. A value is the very characters that the user wrote, or
the number that they are; none is put together of several.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice
from typing import Final

from ..lang import LANGUAGES
from ..numbers.read import Kind, Token, tokens
from ..text.words import FUNCTION_WORDS, fold
from .choosing import Stems, stems

_VALUES = 64  # of one form that are looked at
_WORDS = 600  # of a text that are looked at for a name
_NEAR = 3  # words on either side of a value that may say what it is
_REACH = 80  # characters in which these stand
_DIGITS_MAX = 15  # of a number: more are not kept by every reader of JSON
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"'`|\\^{}]{1,2000}", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]")
_COLON = re.compile(r":[ \t\n]+(\S.*)", re.DOTALL)
_BEGINS = re.compile(r"(?:\A|[.!?:\n])\s*\Z")
_JOINING = "|".join(f"(?:{each.deciding.joining})" for each in LANGUAGES.values())
_PAIR_END = re.compile(r"[,;\n]|[.!?](?=\s|\Z)|\s(?:" + "|".join(sorted(
    frozenset().union(*(each.acting.carries_on for each in LANGUAGES.values()))
)) + r")\s", re.IGNORECASE)  # fmt: skip

COUNTS: Final = (Kind.NUMBER, Kind.QUANTITY, Kind.MONEY, Kind.PERCENT)
"""Kinds of tokens that are one number."""


@dataclass(slots=True)
class Told:
    """What a text holds and has not been given away. text: composed."""

    text: str
    numbers: list[Token] = field(init=False)
    mails: list[re.Match[str]] = field(init=False)
    links: list[re.Match[str]] = field(init=False)
    quotes: list[re.Match[str]] = field(init=False)
    _taken: list[tuple[int, int]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Read it."""
        self.mails = list(islice(_MAIL.finditer(self.text), _VALUES))
        self.links = list(islice(_LINK.finditer(self.text), _VALUES))
        self.quotes = list(islice(_QUOTED.finditer(self.text), _VALUES))
        within = [each.span() for each in (*self.mails, *self.links)]
        # A quotation that is more than a number is somebody's words, and the numbers in it are a part of them.
        within += [each.span() for each in self.quotes if len(_WORD.findall(each[1])) > 1]
        self.numbers = [
            each
            for each in islice(tokens(self.text), _VALUES)
            if not any(start < each.end and each.start < end for start, end in within)
        ]

    def free(self, start: int, end: int) -> bool:
        """Return whether nothing of text[start:end] has been given away."""
        return all(end <= first or last <= start for first, last in self._taken)

    def take(self, start: int, end: int) -> str:
        """Give text[start:end] away."""
        self._taken.append((start, end))
        return self.text[start:end].strip()

    def behind(self, name: list[str]) -> tuple[int, int] | None:
        """Return where the value stands that is said with a name: "name: value", "name = value", "name is value"."""
        found = _pair(tuple(name)).search(self.text) if name else None
        if found is None:
            return None
        quoted = _QUOTED.match(self.text, found.end())
        if quoted is not None:
            return quoted.span(1)
        end = _PAIR_END.search(self.text, found.end())
        return found.end(), end.start() if end is not None else len(self.text)

    def matches(self, found: list[re.Match[str]]) -> Iterator[re.Match[str]]:
        """Yield those that have not been given away."""
        return (each for each in found if self.free(*each.span()))

    def near(self, token: Token, meant: Stems) -> int:
        """Return how near some words, by their stems, stand to a token: more for one before it, and within it most."""
        before = _WORD.findall(self.text[max(0, token.start - _REACH) : token.start])[: -_NEAR - 1 : -1]
        after = _WORD.findall(self.text[token.end : token.end + _REACH])[:_NEAR]
        points = 2 * _NEAR + 1 if _among(_WORD.findall(token.text), meant) else 0
        for distance, word in enumerate(before):
            points += 2 * (_NEAR - distance) * _among([word], meant)
        for distance, word in enumerate(after):
            points += (2 * (_NEAR - distance) - 1) * _among([word], meant)
        return points

    def after_colon(self) -> tuple[int, int] | None:
        """Return where the text stands that follows the first colon."""
        found = _COLON.search(self.text)
        return found.span(1) if found is not None and self.free(*found.span(1)) else None

    def name(self) -> tuple[int, int] | None:
        """Return where the first name stands: words with capitals, of which the first begins no sentence."""
        said = list(islice(_WORD.finditer(self.text), _WORDS))
        for at, first in enumerate(said):
            if not _is_name(self.text, first):
                continue
            end = first.end()
            for word in said[at + 1 :]:
                if self.text[end : word.start()] not in (" ", "-") or not _is_name(self.text, word):
                    break
                end = word.end()
            if self.free(first.start(), end):
                return first.start(), end
        return None


@lru_cache(maxsize=1024)
def _pair(name: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a name and what leads to its value."""
    spelt = r"[\W_]{0,2}".join(map(re.escape, name))
    return re.compile(
        rf"(?<!\w){spelt}\s{{0,3}}(?:[:=]\s{{0,3}}|\s(?:{_JOINING})\s{{1,3}})(?=\S)", re.IGNORECASE
    )


def _among(said: list[str], meant: Stems) -> bool:
    return any(not stems(fold(word)).isdisjoint(meant) for word in said)


def _is_name(text: str, word: re.Match[str]) -> bool:
    written = word.group()
    return (
        written[0].isupper()
        and len(written) > 1
        and fold(written) not in FUNCTION_WORDS
        and _BEGINS.search(text, max(0, word.start() - 8), word.start()) is None
    )


def number(token: Token, whole: bool) -> int | float | None:
    """Return the number that a token is; None where it is none, or not a whole one where that is asked for."""
    if token.kind not in COUNTS or len(token.amounts) != 1 or len(token.amounts[0]) > _DIGITS_MAX:
        return None
    try:
        value = Decimal(token.amounts[0])
    except InvalidOperation:
        return None
    if value == value.to_integral_value():
        return int(value)
    return None if whole else float(value)
