"""Cuts a value of a call's arguments into the parts that need a source: numbers, dates, identifiers, and words.

Strategy: a value is cut once. Its numbers are read as an answer's are (`agent.numbers`) and must stand in a source by
type and value. A bare number, whose unit only the schema knows, is also supported by a percentage or a price of its
value. A word of letters and digits, an address, and a value that is one single word in capitals is an identifier, and
must stand in a source letter for letter: "12A" is not the number of 12 ampere. The rest of a text must share a content
word with a source.
"""

import math
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Literal

from agent.lang import LANGUAGES
from agent.numbers import days
from agent.numbers.number_tokens import Kind, NumberToken, tokens
from agent.text.words import fold, split_words

from .settings import ARGUMENT_NEEDS
from .texts import AROUND, SourceText, space_numbers

Sort = Literal["number", "date", "identifier", "words"]

_WORD: Final = re.compile(r"\S+")
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+|[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
# Times behind a date, in a form that requires an instant.
_MIDNIGHT: Final = frozenset(("00:00", "23:59", "23:59:59"))
_ONES: Final = frozenset().union(*[each.counting.cardinals.ones for each in LANGUAGES.values()])
_BARE_KEY: Final = "any "  # begins the key of a bare number, whose unit an answer may state


@dataclass(frozen=True, slots=True)
class Need:
    """One part of a value that a source must hold.

    `token`: the token of a number, of a date, or of an identifier that also reads as a number with its unit. `text`:
    the characters of the part. `dates`: the dates that a date may mean.
    """

    sort: Sort
    text: str
    token: NumberToken | None = None
    dates: frozenset[date] = frozenset()

    def is_met_by(self, source: SourceText) -> bool:
        """Return whether `source` holds this part."""
        token = self.token
        match self.sort:
            case "words":
                return source.shares_word(self.text)
            case "identifier":
                return self.text in source.identifiers or (
                    token is not None and _holds_strictly(source, token)
                )
            case "date":
                return not self.dates.isdisjoint(source.dates) or (
                    token is not None and source.number_keys.holds(token)
                )
        if token is None:
            return False
        if source.number_keys.holds(token) or (
            token.kind is Kind.NUMBER and source.number_keys.repeats(token)
        ):
            return True
        return token.value == "1" and not _ONES.isdisjoint(source.words)


def _holds_strictly(source: SourceText, token: NumberToken) -> bool:
    """Return whether a source holds a number with exactly its unit."""
    return any(
        source.number_keys.keys.issuperset(group)
        for group in token.needs
        if not any(isinstance(key, str) and key.startswith(_BARE_KEY) for key in group)
    )


def find_needs(value: Any, required: bool) -> tuple[Need, ...]:
    """Return the needs of a value, the first ones of a long text; () for true, false, null and empty values.

    `required`: whether words without a number need a source.
    """
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, str):
        needs = (
            _needs_of_text(value)
            if len(value) <= _CACHED_MAX
            else tuple(islice(_cut_text(value), ARGUMENT_NEEDS + 1))
        )
        return needs if required else tuple([need for need in needs if need.sort != "words"])
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return _needs_of_number(value)
    return (Need("identifier", repr(value)),)  # no JSON, or nested too deep to read: no source holds it


@lru_cache(maxsize=4096)
def _needs_of_number(value: float) -> tuple[Need, ...]:
    """Return the `Need`s of a JSON number."""
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
    text = text.removesuffix(".0")
    return tuple([Need("number", token.text, token) for token in tokens(text, rates=False)])


_CACHED_MAX: Final = 1024  # characters of a value whose needs are cached


def _cut_text(value: str) -> Iterator[Need]:
    """Yield the `Need`s of a text."""
    spaced = space_numbers(value)
    all_tokens = tokens(spaced, rates=False)
    starts = [token.start for token in all_tokens]
    spans: list[tuple[int, int]] = []
    whole = spaced.strip(AROUND)
    alone = len(whole.split()) == 1
    for match in _WORD.finditer(spaced):
        word = match.group().strip(AROUND)
        if _ADDRESS.fullmatch(word) or _is_mixed(word) or (alone and _is_in_capitals(word)):
            start = match.start() + match.group().index(word)
            at = bisect_right(starts, start) - 1
            token = all_tokens[at] if at >= 0 and _covers(all_tokens[at], start, start + len(word)) else None
            if token is None or token.kind not in (Kind.DATE, Kind.TIME, Kind.ORDINAL):
                spans.append((start, start + len(word)))
                yield Need("identifier", fold(word), token)
    date_end = -1
    identifier_spans = deque(spans)  # the identifiers in their order, dropped as the tokens pass them
    for token in all_tokens:
        while identifier_spans and identifier_spans[0][1] <= token.start:
            identifier_spans.popleft()
        if identifier_spans and identifier_spans[0][0] < token.end:
            continue
        spans.append((token.start, token.end))
        dates = days.find_dates(token.text, [token])
        if dates:
            date_end = token.end
            yield Need("date", token.text, token, dates)
        elif not (token.kind is Kind.TIME and token.value in _MIDNIGHT and token.start == date_end + 1):
            yield Need("number", token.text, token)
    rest = _remove_spans(spaced, spans)
    if split_words(rest):
        yield Need("words", rest)
    elif not spans and whole:
        yield Need("words", value)


_needs_of_text = lru_cache(maxsize=4096)(lambda value: tuple(_cut_text(value)))


def _covers(token: NumberToken, start: int, end: int) -> bool:
    """Return whether `token` covers a whole word."""
    return token.start <= start and end <= token.end and token.kind not in (Kind.IDENTIFIER, Kind.UNREAD)


def _is_mixed(word: str) -> bool:
    """Return whether a word holds both letters and digits."""
    return any(map(str.isalpha, word)) and any(map(str.isdecimal, word))


def _is_in_capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _remove_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return `text` without `spans`, which do not overlap."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        parts.append(text[at:start])
        at = max(at, end)
    return " ".join([*parts, text[at:]])
