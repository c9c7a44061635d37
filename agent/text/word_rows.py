"""Rows that begin with a word: number words, months, factors, magnitudes, Roman numerals, look-alikes."""

import re

from . import dates
from .amounts import negate, suffix
from .digit_rows import DigitRows
from .number_words import Word
from .runs import run_at
from .tables import words
from .tokens import Amount
from .units import CODES, SHORT, SIGNS

_MANY = re.compile(
    r"\w+(?:[ \n]of)?[ \n](hundred|thousand|million|billion|hundra|tusen|miljoner|miljarder)s?(?!\w)", re.I
)
_POWER = {
    "hundred": 2, "hundra": 2, "thousand": 3, "tusen": 3, "million": 6, "miljoner": 6, "billion": 9, "miljarder": 9,
}  # fmt: skip
_OF_MAGNITUDE = re.compile(r"[ \n](?:of|av)[ \n](hundreds|thousands|millions|billions)(?!\w)", re.I)
_PLURAL_POWER = {"hundreds": 2, "thousands": 3, "millions": 6, "billions": 9}
_OF = re.compile(r"[ \n](?:of|av)(?=[ \n])")
_CHAPTERS = words(
    "version kapitel chapter part del kap avsnitt section article artikel volume volym bilaga appendix"
)
_MINUS = words("minus negative negativa negativt")
_IDIOM = re.compile(r"[ -](?:check|click|tap|press)(?:s|ed|ing|ping|ped)?(?![^\W_])", re.I)
_PRONOUN = re.compile(r" (?!(?:of|and|or|in|is|to|av|och|eller|är|om|till)\b)[a-z]")
_NUMERIC_RUN = re.compile(r"[^\W\d_]")


class WordRows(DigitRows):
    """Reads the token that begins with a word that says something about numbers."""

    __slots__ = ()

    def word(self, word: Word, start: int, end: int, text: str) -> None:
        """Read the token that begins with a word that says something about numbers."""
        sort = word.sort
        if sort in ("cardinal", "article", "ordinal", "third", "fraction"):
            self._run(word, start, end)
        elif sort == "month":
            self._dates_after(start)
        elif sort == "factor" and not _IDIOM.match(self.s, end):
            self.factor(word.value, start, end)
        elif sort in ("quantity", "vague", "magnitude"):
            self._magnitude(word, start, end)
        elif sort == "symbol":
            for match in _NUMERIC_RUN.finditer(text):
                if match.group()[0].isnumeric():
                    self.symbol(match.group(), start + match.start(), start + match.end())
        elif sort == "roman" or (
            sort == "letter"
            and self.prev.lower() in _CHAPTERS
            and start - self.prev_end <= 2
            and not (text == "I" and self.prev.islower() and _PRONOUN.match(self.s, end))
        ):
            if self.s[end : end + 1] == "-" and self.s[end + 1 : end + 2].isdecimal():
                return  # the digits take it with them
            name = word.value
            self.put("roman", name, start, end, ((f"rom {name}",),), (f"rom {name}",), (name,))
        elif sort == "lookalike":
            probe = suffix(self.s, Amount(end, ("0",)))
            weak = probe.sort == "q" and (
                probe.unit in SHORT or len(text) == 1 or self.s[end + 1 : probe.end] in SHORT
            )
            if self._currency_before(start) or probe.sort in "m%p‰" or (probe.sort == "q" and not weak):
                self.exact("unread", start, max(end, probe.end))
        elif sort == "opaque":
            self.exact("unread", start, end)

    def _currency_before(self, start: int) -> bool:
        """Tell whether a currency stands right before `start`."""
        before = self.s[max(start - 2, 0) : start].rstrip(" ")
        return before[-1:] in SIGNS or (self.prev in CODES and 0 < start - self.prev_end <= 1)

    def _dates_after(self, start: int) -> None:
        read = dates.month_first_at(self.s, start)
        if not self.dated(read) and read:
            self.exact("unread", start, self.cluster_end(read[0].end))

    def _magnitude(self, word: Word, start: int, end: int) -> None:
        """Read `several thousand`, `hundreds of thousands`, `a decade`, `a dozen`, `ett par dagar`."""
        s = self.s
        many = (
            _MANY.match(s, start)
            if word.sort == "vague" or (word.sort, word.value) == ("quantity", "2")
            else None
        )
        if many is not None:
            power, end = _POWER[many[1].lower()], many.end()
        elif word.sort == "magnitude":
            more = _OF_MAGNITUDE.match(s, end)
            power = int(word.value) + (_PLURAL_POWER[more[1].lower()] if more is not None else 0)
            if word.value == "1" and more is None and s[start:end].lower() == "tens":
                return
            end = more.end() if more is not None else end
        elif word.sort == "vague":
            return
        else:
            self._group(word, start, end)
            return
        key = f"mag {power}"
        self.put("magnitude", f"10^{power}", start, end, ((key,),), (key,))

    def _group(self, word: Word, start: int, end: int) -> None:
        amount = Amount(end, (word.value,), words=True)
        if word.unit is not None:
            amount.sort = "m" if word.unit[0] == "$" else "q"
            amount.unit = word.unit.removeprefix("$")
        else:
            of = _OF.match(self.s, end)
            suffix(self.s, amount)
            if amount.sort == "n" and of is not None:
                further = suffix(self.s, Amount(of.end(), (word.value,), words=True))
                amount = further if further.sort != "n" else amount
        self.amount(amount, start)

    def _run(self, word: Word, start: int, end: int) -> None:
        article = self.prev in ("a", "A", "an") and start - self.prev_end == 1
        run = run_at(self.s, word, end, article)
        if run.what == "exempt":
            return
        if run.what == "unread":
            self.exact("unread", start, run.end)
        elif run.low is not None and run.amount is not None:
            if self._same_unit(run.low, run.amount):
                self.span(run.low, run.amount, start)
            else:
                self.exact("unread", start, run.end)
        elif run.what == "ordinal":
            if run.ordinal > 3 or self.source:
                self.ordinal(str(run.ordinal), start, run.end)
            else:
                self.at = run.end
        elif run.amount is not None:
            first = start
            if self.prev.lower() in _MINUS and 0 < start - self.prev_end <= 1 and self.prev_start >= self.at:
                negate(run.amount)
                first = self.prev_start
            if not self.ranged(run.amount, first):
                self.amount(run.amount, first)
