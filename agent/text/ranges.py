"""Rows for amounts and ranges: `299 kr`, `3-5 dagar`, `between 3 and 5`, `$5 to $10`."""

import re

from .amounts import canonical, digits_at, fraction_after, negate, scale, suffix
from .number_words import classify
from .reader import Reader
from .runs import run_at
from .tables import words
from .tokens import Amount, range_gives, range_needs, show
from .units import CODES, SIGNS, currency_of

_CONNECTOR = re.compile(
    r"(?:(?P<dash>-)|(?P<spaced> - ?)|[ \n]"
    r"(?P<word>to|till|through|thru|t\.o\.m\.|upp till|up to|or|eller|and|och)[ \n])"
    r"(?:(?:about|around|approximately|approx\.?|roughly|circa|cirka|ca\.?|c:a|ungefär|omkring|runt|nearly|almost"
    r"|nästan|up to|upp till)[ \n]|[~≈])?",
    re.I,
)
_ABOUT = words(
    "about around approximately approx roughly circa cirka ca ungefär omkring runt nearly almost nästan"
)
_BETWEEN = words("between mellan")
_WORD = re.compile(r"[^\W\d_]++")
_STARTS = frozenset("- \n")


class RangeRows(Reader):
    """Reads amounts, alone or as the ends of a range."""

    __slots__ = ()

    def number(self, start: int, at: int, sign: bool, currency: str, point: bool) -> None:
        """Read an amount or a range that begins with digits."""
        amount = self.digits_amount(at, sign, currency, point)
        if amount is not None:
            if self.ranged(amount, start):
                return
            if self.border(amount.end):
                self.amount(amount, start)
                return
        self.unread(start if sign or currency or point else at, at)

    def digits_amount(self, at: int, sign: bool, currency: str, point: bool) -> Amount | None:
        """Read digits with sign and currency as `_prefix` found them, and what follows them."""
        amount = digits_at(self.s, at, self.swedish(at))
        if amount is None:
            return None
        if point:
            if "." in amount.values[0] or "/" in amount.values[0] or amount.same is not None:
                return None
            amount.values = (canonical("0." + self.s[at : amount.end]),)
        if currency:
            amount.sort, amount.unit, amount.prefixed = "m", currency, True
        else:
            fraction_after(self.s, amount)
        if sign:
            negate(amount)
        return suffix(self.s, amount)

    def ranged(self, first: Amount, start: int) -> bool:
        """Add a range when `first` is the first end of one that ends at a border."""
        s = self.s
        if s[first.end : first.end + 1] not in _STARTS:
            return False
        joint = _CONNECTOR.match(s, first.end)
        if joint is None:
            return False
        word = joint["word"] and joint["word"].lower()
        if word is not None and not self._ranging(word, start):
            return False
        last = self._operand(joint.end(), word is not None)
        if last is None or not self._same_unit(first, last) or not self.border(last.end):
            return False
        self.span(first, last, start)
        return True

    def span(self, first: Amount, last: Amount, start: int) -> None:
        """Add a range of two amounts of one unit."""
        low, high = "|".join(first.values), show(last)
        needs = () if self.source else range_needs(first, last)
        gives = range_gives(first, last) if self.source else ()
        self.put("range", f"{low}-{high}", start, last.end, needs, gives, (*first.values, *last.values))
        self.chain.clear()

    def _ranging(self, word: str, start: int) -> bool:
        """Tell whether the word between two numbers makes a range of them."""
        if word in ("or", "eller"):
            return self.source
        if word in ("and", "och"):
            before, at, _ = self.word_before(start)
            if before.lower() in _ABOUT:
                before, _, _ = self.word_before(at)
            return before.lower() in _BETWEEN
        return True

    def _operand(self, at: int, words: bool) -> Amount | None:
        """Read the second end of a range."""
        s = self.s
        sign = currency = ""
        if s[at : at + 1] == "-":
            sign, at = "-", at + 1
        if s[at : at + 1] in SIGNS and s[at : at + 1]:
            currency, at = SIGNS[s[at]], at + 1
        if s[at : at + 1].isdecimal():
            return self.digits_amount(at, bool(sign), currency, False)
        found = _WORD.match(s, at) if not currency and not sign else None
        if found is None:
            return None
        if found.group() in CODES and s[found.end() : found.end() + 1] == " ":
            return self.digits_amount(found.end() + 1, False, currency_of(found.group()) or "", False)
        word = classify(found.group()) if words else None
        if word is None or word.sort not in ("cardinal", "article", "fraction"):
            return None
        run = run_at(s, word, found.end(), False)
        return run.amount if run.what == "amount" else None

    @staticmethod
    def _same_unit(first: Amount, last: Amount) -> bool:
        """Bring both ends of a range to one unit, in place; False when they are no range."""
        inherits = first.sort == "n" and (last.sort != "n" or bool(last.shift))
        extends = first.sort == "m" and first.prefixed and last.sort == "n"
        if (inherits or extends) and last.shift and not first.shift:
            scale(first, last.shift)
        if inherits:
            first.sort, first.unit = last.sort, last.unit
        elif extends:
            last.sort, last.unit = "m", first.unit
        elif first.sort == last.sort == "q" and first.unit == "degree?" and last.unit in ("degF", "degC"):
            first.unit = last.unit
        return first.sort == last.sort and first.unit == last.unit
