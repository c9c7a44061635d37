"""Finds the start of a number in digits, with the sign, currency and point right before it."""

import msgspec

from .characters import SEAM
from .language_tables import MINUS
from .reader import Before, NumberReader
from .units import CODES, SIGNS, currency_of

_DOLLARS = {"US": "USD", "A": "AUD", "AU": "AUD", "C": "CAD", "CA": "CAD", "NZ": "NZD", "HK": "HKD"}
SPACES = frozenset(("", " ", "\n"))
_OPENERS = frozenset(" \n([{\"'“”«»:=<>~≈/|" + SEAM)


class Digits(msgspec.Struct, kw_only=True):
    """A digit run from `at` to `end`.

    `char`: the character before it, "" where the text is already read. `follow`: the character behind it. `before`: the
    word before it. `start`: of the token with its sign and currency. `sign`: a minus. `point`: "." leads the digits.
    """

    at: int
    end: int
    char: str
    follow: str
    before: Before
    start: int
    sign: bool = False
    currency: str = ""
    point: bool = False

    def plain(self) -> bool:
        """Tell whether no sign, currency or point stands before the digits."""
        return not (self.sign or self.currency or self.point)

    def after(self, names: frozenset[str]) -> bool:
        """Tell whether the word before the digits is one of `names`."""
        return self.before.word.lower() in names and self.at - self.before.end <= 2


def digits_place(r: NumberReader, at: int, end: int) -> Digits:
    """Return the place of the digit run `at` to `end`."""
    low = r.at
    place = Digits(
        at=at,
        end=end,
        char=r.s[at - 1] if at > low else "",
        follow=r.s[end : end + 1],
        before=r.before(at),
        start=at,
    )
    _lead(r, place, low)
    return place


def _lead(r: NumberReader, place: Digits, low: int) -> None:
    """Read the sign, currency and point before the digits."""
    s, before = r.s, place.before
    start = place.at
    if place.char not in SPACES:
        if place.char in ".," and _opens(r, start - 1):
            start, place.point = start - 1, True
        if start > low and s[start - 1] in "-+" and _opens(r, start - 1):
            start, place.sign = start - 1, s[start - 1] == "-"
    mark = start - 1 if start > low and s[start - 1] in SIGNS else start - 2
    if mark >= low and s[mark] in SIGNS and (mark == start - 1 or s[start - 1] in " \n"):
        start, place.currency = mark, SIGNS[s[mark]]
        if before.end == mark and before.word in _DOLLARS and s[mark] == "$" and before.start >= low:
            start, place.currency = before.start, _DOLLARS[before.word]
        if not place.sign and start > low and s[start - 1] == "-" and _opens(r, start - 1):
            start, place.sign = start - 1, True
    elif before.word and before.start >= low:
        start = _word_lead(s, place, start)
    place.start = start


def _word_lead(s: str, place: Digits, start: int) -> int:
    """Read a currency's code or "minus" before the digits; return the start of the token with it."""
    before = place.before
    if before.word in CODES and s[before.end : start] in ("", " ") and before.end <= start:
        place.currency = currency_of(before.word) or ""
        return before.start
    minus = not place.sign and before.word.lower() in MINUS and before.end == start - 1
    if minus and s[start - 1] in " \n-":
        place.sign = True
        return before.start
    return start


def _opens(r: NumberReader, at: int) -> bool:
    """Tell whether a sign or point at `at` begins a number rather than follows something."""
    s = r.s
    if at <= r.at:
        return at == 0 or s[at - 1] in _OPENERS or not s[at - 1].isalnum()
    char = s[at - 1]
    return char in _OPENERS or char in SIGNS or char in "-+"
