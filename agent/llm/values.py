"""Finds the values in a user's words from which the arguments of a call can be made; pure.

Strategy: the text is read once for values with a form of their own: number tokens by `Kind`, e-mail addresses, links,
quotations, text behind a colon, names. Each value is taken once. A value is the very characters that the user wrote, or
the number that they are; no value is put together from several.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice
from typing import Final

from ..lang import LANGUAGES
from ..numbers.number_tokens import Kind, NumberToken, tokens
from ..text.words import FUNCTION_WORDS, fold
from .named_tools import Stems, stems

_VALUES = 64  # of one form that are read
_WORDS = 600  # of a text that are searched for a name
_NEAR = 3  # words on either side of a value that may name it
_REACH = 80  # characters in which these stand
_DIGITS_MAX = 15  # of a number: not every JSON reader keeps more
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
"""Kinds of tokens that hold one number."""


@dataclass(slots=True)
class TextValues:
    """The values of a text that have not been taken. `text`: composed."""

    text: str
    numbers: list[NumberToken] = field(init=False)
    mails: list[re.Match[str]] = field(init=False)
    links: list[re.Match[str]] = field(init=False)
    quotes: list[re.Match[str]] = field(init=False)
    _taken_spans: list[tuple[int, int]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Read the values of `text`."""
        self.mails = list(islice(_MAIL.finditer(self.text), _VALUES))
        self.links = list(islice(_LINK.finditer(self.text), _VALUES))
        self.quotes = list(islice(_QUOTED.finditer(self.text), _VALUES))
        within = [each.span() for each in (*self.mails, *self.links)]
        # A quotation of more than a number is a phrase of its own, and the numbers in it are a part of it.
        within += [each.span() for each in self.quotes if len(_WORD.findall(each[1])) > 1]
        self.numbers = [
            each
            for each in islice(tokens(self.text), _VALUES)
            if not any(start < each.end and each.start < end for start, end in within)
        ]

    def is_free(self, start: int, end: int) -> bool:
        """Return whether nothing of `text[start:end]` has been taken."""
        return all(end <= first or last <= start for first, last in self._taken_spans)

    def take_span(self, start: int, end: int) -> str:
        """Mark `text[start:end]` as taken, and return it stripped."""
        self._taken_spans.append((start, end))
        return self.text[start:end].strip()

    def find_after_name(self, name: list[str]) -> tuple[int, int] | None:
        """Return the place of the value behind a name: "name: value", "name = value", "name is value"."""
        match = _name_pattern(tuple(name)).search(self.text) if name else None
        if match is None:
            return None
        quoted = _QUOTED.match(self.text, match.end())
        if quoted is not None:
            return quoted.span(1)
        end = _PAIR_END.search(self.text, match.end())
        return match.end(), end.start() if end is not None else len(self.text)

    def free_matches(self, matches: list[re.Match[str]]) -> Iterator[re.Match[str]]:
        """Yield the items of `matches` that have not been taken."""
        return (each for each in matches if self.is_free(*each.span()))

    def score_nearness(self, token: NumberToken, meant: Stems) -> int:
        """Return how near the words of `meant` stand to `token`.

        A word before the token scores more than one behind it, and a word within it scores most.
        """
        before = _WORD.findall(self.text[max(0, token.start - _REACH) : token.start])[: -_NEAR - 1 : -1]
        after = _WORD.findall(self.text[token.end : token.end + _REACH])[:_NEAR]
        points = 2 * _NEAR + 1 if _is_among(_WORD.findall(token.text), meant) else 0
        for distance, word in enumerate(before):
            points += 2 * (_NEAR - distance) * _is_among([word], meant)
        for distance, word in enumerate(after):
            points += (2 * (_NEAR - distance) - 1) * _is_among([word], meant)
        return points

    def find_after_colon(self) -> tuple[int, int] | None:
        """Return the place of the text behind the first colon."""
        match = _COLON.search(self.text)
        return match.span(1) if match is not None and self.is_free(*match.span(1)) else None

    def find_name(self) -> tuple[int, int] | None:
        """Return the place of the first name: capitalised words, of which the first begins no sentence."""
        all_words = list(islice(_WORD.finditer(self.text), _WORDS))
        for at, first in enumerate(all_words):
            if not _is_name(self.text, first):
                continue
            end = first.end()
            for word in all_words[at + 1 :]:
                if self.text[end : word.start()] not in (" ", "-") or not _is_name(self.text, word):
                    break
                end = word.end()
            if self.is_free(first.start(), end):
                return first.start(), end
        return None


@lru_cache(maxsize=1024)
def _name_pattern(name: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a name and the sign or word that leads to its value."""
    spelt = r"[\W_]{0,2}".join(map(re.escape, name))
    return re.compile(
        rf"(?<!\w){spelt}\s{{0,3}}(?:[:=]\s{{0,3}}|\s(?:{_JOINING})\s{{1,3}})(?=\S)", re.IGNORECASE
    )


def _is_among(spoken: list[str], meant: Stems) -> bool:
    return any(not stems(fold(word)).isdisjoint(meant) for word in spoken)


def _is_name(text: str, word: re.Match[str]) -> bool:
    text_of_word = word.group()
    return (
        text_of_word[0].isupper()
        and len(text_of_word) > 1
        and fold(text_of_word) not in FUNCTION_WORDS
        and _BEGINS.search(text, max(0, word.start() - 8), word.start()) is None
    )


def number_of(token: NumberToken, whole: bool) -> int | float | None:
    """Return the number that a token holds; None when it holds none, or when `whole` is set and it is not whole."""
    if token.kind not in COUNTS or len(token.amounts) != 1 or len(token.amounts[0]) > _DIGITS_MAX:
        return None
    try:
        value = Decimal(token.amounts[0])
    except InvalidOperation:
        return None
    if value == value.to_integral_value():
        return int(value)
    return None if whole else float(value)
