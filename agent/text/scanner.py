"""The scan behind `numbers.tokens`: one pass over one text, one token at a time.

Borders decide what is one token. Between two digit runs with no letter, no blank line and no punctuation beside
a space lies none, so a row that stops there has not read its token whole, and the token stays unread.
"""

import re

from . import dates, identifiers
from .amounts import canonical, digits_at, fraction_after, scale, suffix
from .layout import Lines, without_markers
from .normalise import SEAM, SYMBOLS, plain
from .number_words import Word, classify
from .runs import run_at
from .tables import words
from .tokens import (
    KIND,
    Amount,
    Kind,
    Needs,
    Token,
    amount_gives,
    amount_needs,
    clock,
    range_gives,
    range_needs,
    show,
)
from .units import CODES, SHORT, SIGNS, currency_of

TOO_MANY = 10_000
"""Tokens; a text with more is read no further, and its last token is unread with the value "too many"."""

_SCAN = re.compile(rf"[^\W\d_]++|\d++|[{SYMBOLS}\u20e3]++")
_TOUCH = re.compile(rf"(?:[ \n]?(?:[.,:;'/\\|*{SEAM}]++)?|[^\w\s]*+(?:\\[a-zA-Z]{{1,20}}[^\w\s]*+)?)(?=\d)")
_CLUSTER = re.compile(
    rf"\w*+(?:(?:[ \n]?(?:[.,:;'/\\|*{SEAM}]++)?|[^\w\s]*+(?:\\[a-zA-Z]{{1,20}}[^\w\s]*+)?)(?=\d)\w++)*+"
)
_GLUED = re.compile(r"\w|-[A-Z]|[@^#]\w|_")
_CONNECTOR = re.compile(
    r"(?:(?P<dash>-)|(?P<spaced> - ?)|[ \n]"
    r"(?P<word>to|till|through|thru|t\.o\.m\.|upp till|up to|or|eller|and|och)[ \n])"
    r"(?:(?:about|around|approximately|approx\.?|roughly|circa|cirka|ca\.?|c:a|ungefär|omkring|runt|nearly|almost"
    r"|nästan|up to|upp till)[ \n]|[~≈])?"
)
_ABOUT = words(
    "about around approximately approx roughly circa cirka ca ungefär omkring runt nearly almost nästan"
)
_ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th|:e|:a)(?!\w)")
_FACTOR = re.compile(r"(\d{1,6}(?:[.,]\d{1,3})?)(?:x|×|-fold|-faldiga?|-faldigt|-falt)(?!\w)")
_DECADE = re.compile(r"\d{1,3}0(?:'?s|-tal(?:et|ets|s)?)(?!\w)")
_HALF_DAY = re.compile(r" ?(?:[ap]\.?m\b|[fe]m\b)", re.I)
_TIMES = re.compile(
    r"\d{1,2}(?:[:.]\d\d)?(?: ?- ?| to | till | until | and | och )\d{1,2}(?:[:.]\d\d| ?[ap]\.?m)", re.I
)
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
_ABBREVIATIONS = words("kl nr no s p pp ca art kap tel sid max min tfn pos fig vol st ch sec par nos")
_MINUS = words("minus negative negativa negativt")
_DOLLARS = {"US": "USD", "A": "AUD", "AU": "AUD", "C": "CAD", "CA": "CAD", "NZ": "NZD", "HK": "HKD"}
_LISTED = re.compile(r"(, )|,? (?:and|or|och|eller|&) ")
_OPENERS = frozenset(" \n([{\"'“”«»:=<>~≈/|" + SEAM)


class Scanner:
    """Reads one text; `read` may be called once."""

    __slots__ = (
        "_lines",
        "at",
        "chain",
        "earlier",
        "found",
        "plain",
        "prev",
        "prev_end",
        "prev_start",
        "s",
        "source",
        "text",
    )

    def __init__(self, text: str, source: bool) -> None:
        self.text = text
        self.source = source
        self.plain = plain(without_markers(text) if source else text)
        self.s = self.plain.text
        self.at = 0
        self.found: list[Token] = []
        self.prev, self.prev_start, self.prev_end = "", -1, -1
        self.earlier = ""
        self.chain: list[tuple[int, Amount, int, int]] = []
        self._lines: Lines | None = None

    def read(self) -> tuple[Token, ...]:
        """Return the tokens of the text."""
        s = self.s
        links = {
            start: (end, url) for start, end, url in identifiers.urls(s) if any(c.isnumeric() for c in url)
        }
        for match in _SCAN.finditer(s):
            start = match.start()
            if start < self.at:
                continue
            text = match.group()
            if text[0].isdecimal():
                self._digits(start, match.end())
            elif text[0].isalpha() or text[0].isnumeric():
                if start in links:
                    self._url(start, *links[start])
                else:
                    word = classify(text)
                    if word is not None:
                        self._word(word, start, match.end(), text)
                self.earlier = self.prev
                self.prev, self.prev_start, self.prev_end = text, start, match.end()
            else:
                self._symbol(text, start, match.end())
            if len(self.found) > TOO_MANY:
                last = self.found[-1]
                self.found[-1] = Token(last.text, "unread", "too many", last.start, last.end)
                break
        if not self.plain.hidden:
            return tuple(self.found)
        for hidden in self.plain.hidden:
            keys = self._same(hidden.text)
            self.found.append(Token(hidden.text, "unread", hidden.text, hidden.start, hidden.end, *keys))
        return tuple(sorted(self.found, key=lambda token: token.start))

    # Emitting

    def _put(
        self, kind: Kind, value: str, start: int, end: int, needs: Needs, gives: "tuple[str, ...]",
        amounts: "tuple[str, ...]" = (),
    ) -> None:  # fmt: skip
        """Add a token over plain offsets."""
        first, last = self.plain.origin(start, end) if self.plain.maps else (start, end)
        if self.source:
            self.found.append(Token(self.text[first:last], kind, value, first, last, (), gives, amounts))
        else:
            self.found.append(Token(self.text[first:last], kind, value, first, last, needs, (), amounts))
        self.at = max(end, self.at)

    def _same(self, text: str) -> "tuple[Needs, tuple[str, ...]]":
        key = f"id {text.casefold()}"
        return (((key,),), ()) if not self.source else ((), (key,))

    def _exact(self, kind: Kind, start: int, end: int, value: str | None = None) -> None:
        """Add a token that only the same characters support."""
        value = self.s[start:end] if value is None else value
        key = f"id {value.casefold()}"
        self._put(kind, value, start, end, ((key,),), (key,), (value,))
        self.chain.clear()

    def _symbol(self, text: str, start: int, end: int) -> None:
        key = f"sym {text}"
        self._put("symbol", text, start, end, ((key,),), (key,))

    def _url(self, start: int, end: int, url: str) -> None:
        """A URL supports itself, and each segment of its path supports itself."""
        parts = identifiers.segments(url.partition("://")[2])
        gives = [f"id {url.casefold()}", *(f"id {part.casefold()}" for part in parts)]
        gives += (f"n {part}" for part in parts if part.isdecimal() and part[0] != "0")
        self._put("identifier", url, start, end, ((gives[0],),), tuple(gives), tuple(parts))

    def _amount(self, amount: Amount, start: int) -> None:
        needs = () if self.source else amount_needs(amount)
        gives = amount_gives(amount) if self.source else ()
        self._put(KIND[amount.sort], show(amount), start, amount.end, needs, gives, amount.values)
        self._inherit(amount, start)

    def _inherit(self, amount: Amount, start: int) -> None:
        """Let "18, 24 and 36 months" give its unit to the bare numbers before it."""
        chain = self.chain
        if chain:
            between = _LISTED.fullmatch(self.s, chain[-1][3], start)
            if between is None or len(chain) > 20:
                chain.clear()
            elif amount.sort in "qm%" and between.group(1) is None and not amount.prefixed:
                for index, earlier, _, _ in chain:
                    self._rekey(index, earlier, amount)
                chain.clear()
        if amount.sort == "n" and not (len(amount.values[0]) == 4 and "1000" < amount.values[0] < "2999"):
            chain.append((len(self.found) - 1, amount, start, amount.end))
        else:
            chain.clear()

    def _rekey(self, index: int, earlier: Amount, unit: Amount) -> None:
        token = self.found[index]
        as_unit = Amount(earlier.end, earlier.values, earlier.same, unit.sort, unit.unit)
        self.found[index] = Token(
            token.text, KIND[unit.sort], show(as_unit), token.start, token.end,
            () if self.source else amount_needs(as_unit),
            (*token.gives, *amount_gives(as_unit)) if self.source else (),
            token.amounts,
        )  # fmt: skip

    # Borders

    def _border(self, end: int) -> bool:
        """Tell whether a token that ends at `end` ends at a border."""
        s = self.s
        if end >= len(s):
            return True
        if _GLUED.match(s, end):
            return False
        if s[end - 1].isalpha():
            return True
        touch = _TOUCH.match(s, end)
        if touch is None:
            return True
        if touch.group() == "|":  # cells of a table row
            return s.startswith("|", s.rfind("\n", 0, end) + 1)
        return self.source and touch.group() == ":" and self._labels(end)

    def _labels(self, end: int) -> bool:
        """Tell whether a source's line opens with a label that ends here, as in "Table 3:104 items"."""
        return _LABEL.fullmatch(self.s, self.s.rfind("\n", 0, end) + 1, end) is not None

    def _unread(self, start: int, at: int) -> None:
        """Take everything that touches the digits at `at` as one token that no row reads."""
        found = _CLUSTER.match(self.s, at)
        end = max(found.end() if found is not None else at + 1, at + 1)
        run = identifiers.run_at(self.s, at)
        kind: Kind = "unread"
        if run >= end and any(c.isalpha() for c in self.s[start:run]):
            end, kind = run, "identifier"
        self._exact(kind, start, end)

    # Digits

    def _digits(self, at: int, end: int) -> None:
        """Read the token whose first digit run is `at` to `end`."""
        s, low = self.s, self.at
        before = s[at - 1] if at > low else ""
        if before and before not in " \n(" and self._identifier(at, before):
            return
        start, sign, currency, point = self._prefix(at, before)
        if before == "±" or (before == "^"):
            self._unread(at - 1, at)
            return
        if not point and not currency and not sign and self._fixed(start, at, end, before):
            return
        self._number(start, at, sign, currency, point)

    def _identifier(self, at: int, before: str) -> bool:
        """Read digits that letters lead into: `H1N1`, `ABC-123`, `kb/2.md`."""
        s = self.s
        joined = self.prev_end == at - 1 and self.prev_start >= self.at and self.prev != ""
        if before.isalnum() or before == "_":
            start = self.prev_start if self.prev_end >= at - 1 and self.prev_start >= self.at else at - 1
            if self.prev_end == at and self.prev in CODES:
                return False
        elif not joined:
            return False
        elif (
            (before == "-" and not self.prev.islower() and self.prev not in CODES)
            or before in "@^/\\"
            or (before == "." and not self.source and self.prev.lower() not in _ABBREVIATIONS)
        ):
            start = self.prev_start
        else:
            return False
        self._exact("identifier", start, max(identifiers.run_at(s, start), at + 1))
        if not self._border(self.at):
            self.at = start
            self.found.pop()
            found = _CLUSTER.match(s, max(identifiers.run_at(s, start), at))
            self._exact("unread", start, found.end() if found is not None else at + 1)
        return True

    def _prefix(self, at: int, before: str) -> "tuple[int, bool, str, bool]":
        """Return (start, negative, currency, leading point) of what stands before the digits at `at`."""
        s, low = self.s, self.at
        start, sign, currency, point = at, False, "", False
        if before and before in ".," and self._opens(at - 1):
            start, point = at - 1, True
        if start > low and s[start - 1] == "-" and self._opens(start - 1):
            start, sign = start - 1, True
        elif start > low and s[start - 1] == "+" and self._opens(start - 1):
            start -= 1
        mark = start - 1 if start > low and s[start - 1] in SIGNS else start - 2
        if mark >= low and s[mark] in SIGNS and (mark == start - 1 or s[start - 1] == " "):
            start, currency = mark, SIGNS[s[mark]]
            if self.prev_end == mark and self.prev in _DOLLARS and s[mark] == "$" and self.prev_start >= low:
                start, currency = self.prev_start, _DOLLARS[self.prev]
            if not sign and start > low and s[start - 1] == "-" and self._opens(start - 1):
                start, sign = start - 1, True
        elif (
            self.prev in CODES
            and self.prev_start >= low
            and 0 <= start - self.prev_end <= 1
            and s[self.prev_end : start] in ("", " ")
        ):
            start, currency = self.prev_start, currency_of(self.prev) or ""
        elif (
            not sign
            and self.prev.lower() in _MINUS
            and self.prev_end == start - 1
            and self.prev_start >= low
            and s[start - 1] in " \n-"
        ):
            start, sign = self.prev_start, True
        return start, sign, currency, point

    def _opens(self, at: int) -> bool:
        """Tell whether a sign or point at `at` begins a number rather than follows something."""
        if at <= self.at:
            return at == 0 or self.s[at - 1] in _OPENERS or not self.s[at - 1].isalnum()
        char = self.s[at - 1]
        return char in _OPENERS or char in SIGNS or char in "-+"

    def _fixed(self, start: int, at: int, end: int, before: str) -> bool:
        """Try the rows with a shape of their own: dates, phones, times, versions, ordinals, factors, dimensions."""
        s = self.s
        follow = s[end : end + 1]
        size = end - at
        if follow == "" or (
            follow in " \n"
            and size > 2
            and not s[end + 1 : end + 2].isdigit()
            and s[at] != "0"
            and before not in "+("
        ):
            return False
        if size == 4 and follow in "-/":
            date = dates.iso_at(s, at)
            if date is not None and self._dates((date,)):
                return True
        if size <= 2 and self._dates(dates.day_first_at(s, at)):
            return True
        if (s[at] == "0" or (before and before in "+(") or follow in "-. ") and self._phone(
            start, at, before
        ):
            return True
        if size <= 2 and self._time(at, follow):
            return True
        if follow == ".":
            last = identifiers.dotted_at(s, at)
            if last is not None and self._border(last):
                amount = digits_at(s, at, None)
                if amount is None or amount.end < last:
                    self._exact("identifier", at, last)
                    return True
        return self._shaped(at, follow)

    def _shaped(self, at: int, follow: str) -> bool:
        s = self.s
        if follow and follow in "snrt:":
            found = _ORDINAL.match(s, at)
            if found is not None:
                self._ordinal(canonical(found[1]), at, found.end())
                return True
        if follow and follow in "s'-":
            found = _DECADE.match(s, at)
            if found is not None:
                self._exact("identifier", at, found.end(), found.group().replace("'", ""))
                return True
        sized = identifiers.dimension_at(s, at)
        if sized is not None and self._border(sized[0]):
            self._exact("identifier", at, sized[0], sized[1])
            return True
        found = _FACTOR.match(s, at)
        if found is not None and self._border(found.end()):
            self._factor(canonical(found[1].replace(",", ".")), at, found.end())
            return True
        return False

    def _dates(self, read: "tuple[dates.Date, ...]") -> bool:
        """Add dates when the last of them ends at a border (a time may follow)."""
        if not read:
            return False
        end = read[-1].end
        if not self._border(end) and not (self.s[end : end + 1] == " " and _CLOCK.match(self.s, end + 1)):
            return False
        for date in read:
            year, month, day = date.year, date.month, date.day
            value = f"{year:04}-{month:02}-{day:02}" if year else f"{month:02}-{day:02}"
            if not day:
                value = f"{year:04}-{month:02}"
            gives = [f"d {value}"]
            if year:
                gives += (f"n {year}", f"d {year:04}-{month:02}")
                if day:
                    gives.append(f"d {month:02}-{day:02}")
            self._put("date", value, date.start, date.end, ((f"d {value}",),), tuple(gives), (value,))
        self.chain.clear()
        return True

    def _phone(self, start: int, at: int, before: str) -> bool:
        s = self.s
        if before == "(" and s[at] == "0":
            start = at - 1
        called = self.prev.lower() in identifiers.CALLS and at - self.prev_end <= 2
        found = identifiers.phone_at(s, start, called)
        if found is None or not self._border(found[0]):
            return False
        key = f"ph {found[1]}"
        self._put("phone", found[1], start, found[0], ((key,),), (key,), (found[1],))
        return True

    def _time(self, at: int, follow: str) -> bool:
        s = self.s
        hint = self.prev.lower() in dates.OPENING and at - self.prev_end <= 2
        if not (
            hint
            or follow in ":."
            or _HALF_DAY.match(s, at + 1)
            or _HALF_DAY.match(s, at + 2)
            or _TIMES.match(s, at)
        ):
            return False
        span = dates.time_range_at(s, at)
        if span is not None and self._border(span[0]) and not self._money_follows(span[0]):
            end, low, high = span
            both = (f"r t {low} {high}", f"t {low}", f"t {high}")
            self._put(
                "range",
                f"{clock(str(low))}-{clock(str(high))}",
                at,
                end,
                ((both[0],),),
                both,
                (str(low), str(high)),
            )
            return True
        time = dates.time_at(s, at)
        if time is None or not self._border(time.end):
            return False
        clocked = self.prev.lower() in ("kl", "klockan") and hint
        if not time.sure and (not hint or not (time.dotted or clocked) or self._money_follows(time.end)):
            return False
        key = f"t {time.seconds}"
        needs: Needs = ((key,),)
        gives: tuple[str, ...] = (key,)
        if not time.sure:
            amount = digits_at(s, at, None)
            if amount is not None and amount.end == time.end:
                needs, gives = (*needs, (f"n {amount.values[0]}",)), (*gives, f"n {amount.values[0]}")
        self._put("time", clock(str(time.seconds)), at, time.end, needs, gives, (str(time.seconds),))
        return True

    def _money_follows(self, end: int) -> bool:
        """Tell whether a unit, currency or percent makes a number of what looked like a time."""
        probe = suffix(self.s, Amount(end, ("0",)))
        return probe.sort != "n" or probe.shift != 0

    def _ordinal(self, value: str, start: int, end: int) -> None:
        needs = ((f"o {value}",), (f"n {value}",))
        self._put("ordinal", value, start, end, needs, (f"o {value}", f"n {value}"), (value,))
        self.chain.clear()

    def _factor(self, value: str, start: int, end: int) -> None:
        self._put("factor", value, start, end, ((f"x {value}",),), (f"x {value}",), (value,))
        self.chain.clear()

    def _number(self, start: int, at: int, sign: bool, currency: str, point: bool) -> None:
        """Read an amount or a range that begins with digits."""
        amount = self._digits_amount(at, sign, currency, point)
        if amount is not None:
            if self._range(amount, start):
                return
            if self._border(amount.end):
                self._amount(amount, start)
                return
        self._unread(start if sign or currency or point else at, at)

    def _digits_amount(self, at: int, sign: bool, currency: str, point: bool) -> Amount | None:
        """Read digits with sign and currency as `_prefix` found them, and what follows them."""
        amount = digits_at(self.s, at, self._swedish(at))
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
            _negate(amount)
        return suffix(self.s, amount)

    def _swedish(self, at: int) -> bool | None:
        """Return the language of the line, asked only when a lone separator may stand here."""
        if not _LONE.match(self.s, at):
            return None
        if self._lines is None:
            self._lines = Lines(self.s)
        return self._lines.swedish(at)

    # Ranges

    def _range(self, first: Amount, start: int) -> bool:
        """Add a range when `first` is the first end of one that ends at a border."""
        s = self.s
        if s[first.end : first.end + 1] not in _RANGE_STARTS:
            return False
        joint = _CONNECTOR.match(s, first.end)
        if joint is None:
            return False
        word = joint["word"]
        if word is not None and not self._ranging(word, start):
            return False
        last = self._operand(joint.end(), word is not None)
        if (
            last is None
            or not self._same_unit(first, last, joint["spaced"] is not None)
            or not self._border(last.end)
        ):
            return False
        low, high = "|".join(first.values), show(last)
        needs = () if self.source else range_needs(first, last)
        gives = range_gives(first, last) if self.source else ()
        self._put("range", f"{low}-{high}", start, last.end, needs, gives, (*first.values, *last.values))
        self.chain.clear()
        return True

    def _ranging(self, word: str, start: int) -> bool:
        """Tell whether the word between two numbers makes a range of them."""
        if word in ("or", "eller"):
            return self.source
        if word in ("and", "och"):
            before = self.earlier.lower() if self.prev.lower() in _ABOUT else self.prev.lower()
            if self.prev_start >= start:
                before = self.earlier.lower()
            return before in ("between", "mellan")
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
            return self._digits_amount(at, bool(sign), currency, False)
        found = _WORD.match(s, at) if not currency and not sign else None
        if found is None:
            return None
        if found.group() in CODES and s[found.end() : found.end() + 1] == " ":
            return self._digits_amount(found.end() + 1, False, currency_of(found.group()) or "", False)
        word = classify(found.group()) if words else None
        if word is None or word.sort not in ("cardinal", "article", "fraction"):
            return None
        run = run_at(s, word, found.end(), False)
        return run.amount if run.what == "amount" else None

    @staticmethod
    def _same_unit(first: Amount, last: Amount, spaced: bool) -> bool:
        """Bring both ends of a range to one unit; False when they are no range."""
        if (
            first.sort == "n"
            and (last.sort != "n" or last.shift)
            and not spaced | (first.shift and last.shift)
        ):
            if last.shift and not first.shift:
                scale(first, last.shift)
            first.sort, first.unit = last.sort, last.unit
            return True
        if first.sort == "n" and last.sort != "n":
            if last.shift and not first.shift:
                scale(first, last.shift)
            first.sort, first.unit = last.sort, last.unit
            return True
        if first.sort == "m" and first.prefixed and last.sort == "n":
            if last.shift and not first.shift:
                scale(first, last.shift)
            last.sort, last.unit = "m", first.unit
            return True
        if first.sort == "m" and first.prefixed and last.prefixed and last.shift and not first.shift:
            return first.unit == last.unit
        if {first.unit, last.unit} <= {"degree?", "degF", "degC"} and first.sort == last.sort == "q":
            if first.unit == "degree?":
                first.unit = last.unit
            return first.unit == last.unit
        return first.sort == last.sort and first.unit == last.unit

    # Words

    def _word(self, word: Word, start: int, end: int, text: str) -> None:
        """Read the token that begins with a word that says something about numbers."""
        sort = word.sort
        if sort in ("cardinal", "article", "ordinal", "third", "fraction"):
            self._run(word, start, end)
        elif sort == "month":
            self._dates_after(start)
        elif sort == "factor":
            self._factor(word.value, start, end)
        elif sort in ("quantity", "vague", "magnitude"):
            self._magnitude(word, start, end)
        elif sort == "symbol":
            for match in _NUMERIC_RUN.finditer(text):
                if match.group()[0].isnumeric():
                    self._symbol(match.group(), start + match.start(), start + match.end())
        elif sort == "roman" or (
            sort == "letter" and self.prev.lower() in _CHAPTERS and start - self.prev_end == 1
        ):
            self._put("roman", text, start, end, ((f"rom {text}",),), (f"rom {text}",), (text,))
        elif sort == "lookalike":
            probe = suffix(self.s, Amount(end, ("0",)))
            weak = probe.sort == "q" and (
                probe.unit in SHORT or len(text) == 1 or self.s[end + 1 : probe.end] in SHORT
            )
            if probe.sort in "m%p" or (probe.sort == "q" and not weak):
                self._exact("unread", start, probe.end)
        elif sort == "opaque":
            self._exact("unread", start, end)

    def _dates_after(self, start: int) -> None:
        read = dates.month_first_at(self.s, start)
        if not self._dates(read) and read:
            found = _CLUSTER.match(self.s, read[0].end)
            self._exact("unread", start, found.end() if found is not None else read[0].end)

    def _magnitude(self, word: Word, start: int, end: int) -> None:
        """Read `several thousand`, `hundreds of thousands`, `a decade`, `a dozen`, `ett par dagar`."""
        s = self.s
        many = _MANY.match(s, start) if word.sort == "vague" or word.value == "2" else None
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
        self._put("magnitude", f"10^{power}", start, end, ((key,),), (key,))

    def _group(self, word: Word, start: int, end: int) -> None:
        amount = Amount(end, (word.value,), words=True)
        if word.unit is not None:
            amount.sort, amount.unit = "q", word.unit
        else:
            of = _OF.match(self.s, end)
            suffix(self.s, amount)
            if amount.sort == "n" and of is not None:
                further = suffix(self.s, Amount(of.end(), (word.value,), words=True))
                amount = further if further.sort != "n" else amount
        self._amount(amount, start)

    def _run(self, word: Word, start: int, end: int) -> None:
        article = self.prev in ("a", "A", "an") and start - self.prev_end == 1
        run = run_at(self.s, word, end, article)
        if run.what == "exempt":
            return
        if run.what == "unread":
            self._exact("unread", start, run.end)
        elif run.what == "ordinal":
            if run.ordinal > 3 or self.source:
                self._ordinal(str(run.ordinal), start, run.end)
            else:
                self.at = run.end
        elif run.amount is not None:
            first = start
            if self.prev.lower() in _MINUS and 0 < start - self.prev_end <= 1 and self.prev_start >= self.at:
                _negate(run.amount)
                first = self.prev_start
            if not self._range(run.amount, first):
                self._amount(run.amount, first)


_LABEL = re.compile(r"[^\W\d_]{3,20} \d{1,3}")
_CLOCK = re.compile(r"\d{1,2}[:.]\d\d(?!\d)")
_LONE = re.compile(r"\d{1,3}[.,]\d{3}(?!\d)")
_WORD = re.compile(r"[^\W\d_]++")
_NUMERIC_RUN = re.compile(r"[^\W\d_]")
_RANGE_STARTS = frozenset("- \n")


def _negate(amount: Amount) -> None:
    amount.values = tuple([v if v == "0" else "-" + v for v in amount.values])
    amount.same = amount.same and f"{amount.same}-"
