"""What a value of a call's arguments needs a source for: each of its numbers, dates, identifiers, and its words.

Strategy: a value is cut once. Its numbers are read as an answer's are (`agent.numbers`) and must stand in a source by
type and value; a bare one, whose unit only the schema knows, is also given by a percentage or a price of its value. A
word of letters and digits, an address, and a value that is all one word in capitals, is an identifier, and must stand
in a source letter for letter: "12A" is not 12 ampere's number. What is left of a text shares a content word with one.
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

from agent.config import ARGUMENT_NEEDS
from agent.lang import LANGUAGES
from agent.numbers import days
from agent.numbers.read import Kind, Token, tokens
from agent.text.words import fold, words

from .texts import AROUND, Text, plain

Sort = Literal["number", "date", "identifier", "words"]

_WORD: Final = re.compile(r"\S+")
_ADDRESS: Final = re.compile(r"[^\s@]+@[^\s@]+|[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_MIDNIGHT: Final = frozenset(
    ("00:00", "23:59", "23:59:59")
)  # behind a date, where a form asks for an instant
_ONE: Final = frozenset().union(*[each.counting.cardinals.ones for each in LANGUAGES.values()])
_LOOSE: Final = "any "  # keys of bare numbers, which an answer may lend a unit to, and an identifier may not


@dataclass(frozen=True, slots=True)
class Need:
    """One thing of a value that a source must hold.

    token: of a number, a date, and an identifier that is read as a number with its unit. text: of the others.
    dates: those that a date may be.
    """

    sort: Sort
    text: str
    token: Token | None = None
    dates: frozenset[date] = frozenset()

    def met_by(self, source: Text) -> bool:
        """Tell whether a source holds it."""
        token = self.token
        match self.sort:
            case "words":
                return source.shares(self.text)
            case "identifier":
                return self.text in source.identifiers or (token is not None and _strictly(source, token))
            case "date":
                return not self.dates.isdisjoint(source.dates) or (
                    token is not None and source.given.holds(token)
                )
        if token is None:
            return False
        if source.given.holds(token) or (token.kind is Kind.NUMBER and source.given.repeats(token)):
            return True
        return token.value == "1" and not _ONE.isdisjoint(source.words)


def _strictly(source: Text, token: Token) -> bool:
    """Tell whether a source holds a number with the very unit."""
    return any(
        source.given.keys.issuperset(group)
        for group in token.needs
        if not any(isinstance(key, str) and key.startswith(_LOOSE) for key in group)
    )


def needs(value: Any, required: bool) -> tuple[Need, ...]:
    """Return what a value needs, of a long text the first; () for true, false, null and what says nothing.

    required: whether words without a number are to have a source.
    """
    if value is None or isinstance(value, bool):
        return ()
    if isinstance(value, str):
        found = _of_text(value) if len(value) <= _KEPT else tuple(islice(_cut(value), ARGUMENT_NEEDS + 1))
        return found if required else tuple([need for need in found if need.sort != "words"])
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return _of_number(value)
    return (Need("identifier", repr(value)),)  # what is no JSON, or nested beyond reading: no source holds it


@lru_cache(maxsize=4096)
def _of_number(value: float) -> tuple[Need, ...]:
    """Return what a JSON number needs."""
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
    text = text.removesuffix(".0")
    return tuple([Need("number", token.text, token) for token in tokens(text, rates=False)])


_KEPT: Final = 1024  # characters of a value whose needs are kept


def _cut(value: str) -> Iterator[Need]:
    """Yield what a text needs."""
    said = plain(value)
    found = tokens(said, rates=False)
    starts = [token.start for token in found]
    taken: list[tuple[int, int]] = []
    whole = said.strip(AROUND)
    alone = len(whole.split()) == 1
    for match in _WORD.finditer(said):
        word = match.group().strip(AROUND)
        if _ADDRESS.fullmatch(word) or _mixed(word) or (alone and _capitals(word)):
            start = match.start() + match.group().index(word)
            at = bisect_right(starts, start) - 1
            token = found[at] if at >= 0 and _covers(found[at], start, start + len(word)) else None
            if token is None or token.kind not in (Kind.DATE, Kind.TIME, Kind.ORDINAL):
                taken.append((start, start + len(word)))
                yield Need("identifier", fold(word), token)
    dated = -1
    named = deque(taken)  # the identifiers, in their order, which the tokens pass one by one
    for token in found:
        while named and named[0][1] <= token.start:
            named.popleft()
        if named and named[0][0] < token.end:
            continue
        taken.append((token.start, token.end))
        dates = days.whole(token.text, [token])
        if dates:
            dated = token.end
            yield Need("date", token.text, token, dates)
        elif not (token.kind is Kind.TIME and token.value in _MIDNIGHT and token.start == dated + 1):
            yield Need("number", token.text, token)
    left = _without(said, taken)
    if words(left):
        yield Need("words", left)
    elif not taken and whole:
        yield Need("words", value)


_of_text = lru_cache(maxsize=4096)(lambda value: tuple(_cut(value)))


def _covers(token: Token, start: int, end: int) -> bool:
    """Tell whether a token was read of all of a word."""
    return token.start <= start and end <= token.end and token.kind not in (Kind.IDENTIFIER, Kind.UNREAD)


def _mixed(word: str) -> bool:
    """Tell whether letters and digits stand in one word."""
    return any(map(str.isalpha, word)) and any(map(str.isdecimal, word))


def _capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return what is left of a text without some spans, which do not overlap."""
    left: list[str] = []
    at = 0
    for start, end in sorted(spans):
        left.append(text[at:start])
        at = max(at, end)
    return " ".join([*left, text[at:]])
