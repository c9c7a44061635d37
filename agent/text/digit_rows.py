"""Rows that begin with digits: dates, times, phones, versions, ordinals, factors, dimensions, identifiers."""

import re

from . import dates, identifiers
from .amounts import canonical, digits_at, suffix
from .normalise import SEAM
from .ranges import RangeRows
from .tables import words
from .tokens import Amount, Needs, clock
from .units import CODES, SIGNS, currency_of

_ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th|:e|:a)(?!\w)")
_FACTOR = re.compile(r"(\d{1,6}(?:[.,]\d{1,3})?)(?:x|×|-fold|-faldiga?|-faldigt|-falt)(?!\w)")
_TIMES = re.compile(r"[x×](\d{1,6})(?!\w)")
_DECADE = re.compile(r"\d{1,3}0(?:'?s|-tal(?:et|ets|s)?)(?!\w)")
_TIMELY = re.compile(
    r"\d{1,2}(?:[:.]\d\d| ?(?:[ap]\.?m|[fe]m)\b"
    r"|(?: ?- ?| to | till | until | and | och )\d{1,2}(?:[:.]\d\d| ?[ap]\.?m))",
    re.I,
)
_SIZED = re.compile(r"\d{1,6}(?:[.,]\d{1,4})?(?: ?[x×]| by |-f)")
_HOURS = re.compile(r"(\d{1,2}) ?- ?(\d{1,2})(?![\d:.])")
_CLOCK = re.compile(r"\d{1,2}[:.]\d\d(?!\d)")
_ABBREVIATIONS = words("kl nr no s p pp ca art kap tel sid max min tfn pos fig vol st ch sec par nos")
_MINUS = words("minus negative negativa negativt")
_DOLLARS = {"US": "USD", "A": "AUD", "AU": "AUD", "C": "CAD", "CA": "CAD", "NZ": "NZD", "HK": "HKD"}
_OPENERS = frozenset(" \n([{\"'“”«»:=<>~≈/|" + SEAM)


class DigitRows(RangeRows):
    """Reads the token that begins at a digit run."""

    __slots__ = ()

    def digits(self, at: int, end: int) -> None:
        """Read the token whose first digit run is `at` to `end`."""
        s, low = self.s, self.at
        before = s[at - 1] if at > low else ""
        if self.source and before == "." and self.prev_end == at - 1 and self.prev_start >= low:
            start = self.prev_start
            self._digits(at, end, before)
            last = self.found[-1]
            ends = {identifiers.run_at(s, start), self.at, self.cluster_end(identifiers.run_at(s, start))}
            runs = [f"id {s[start:end].casefold()}" for end in sorted(ends)]
            self.found[-1] = last._replace(gives=(*last.gives, *runs))
        else:
            hyphened = (
                before == "-" and self.prev_end == at - 1 and self.prev_start >= low and self.prev.islower()
            )
            start, many = self.prev_start, len(self.found)
            self._digits(at, end, before)
            if hyphened and len(self.found) == many + 1 and self.found[-1].start >= 0:
                self._named(start, at)

    def _named(self, start: int, at: int) -> None:
        """Let a number after a small-lettered word, as in `covid-19`, also be the name that both make."""
        last = self.found[-1]
        if last.kind == "number" and self.s[at : self.at].isdecimal():
            key = f"id {self.s[start : self.at].casefold()}"
            if self.source:
                self.found[-1] = last._replace(gives=(*last.gives, key))
            else:
                self.found[-1] = last._replace(needs=(*last.needs, (key,)))

    def _digits(self, at: int, end: int, before: str) -> None:
        if before and before not in " \n(" and self._identifier(at, before):
            return
        start, sign, currency, point = self._prefix(at, before)
        if before in ("±", "^", "√", "∛", "∜"):
            self.unread(at - 1, at)
            return
        if not point and not currency and not sign and self._fixed(start, at, end, before):
            return
        self.number(start, at, sign, currency, point)

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
            (before == "-" and not self.prev.islower())
            or before in "@^/\\"
            or (before == "." and not self.source and self.prev.lower() not in _ABBREVIATIONS)
        ):
            start = self.prev_start
        else:
            return False
        times = _TIMES.match(s, start)
        if times is not None and self.border(times.end()):
            key, value = f"id {times.group()}", canonical(times[1])
            self.put(
                "factor", value, start, times.end(), ((key,), (f"x {value}",)), (key, f"x {value}"), (value,)
            )
            return True
        self.exact("identifier", start, max(identifiers.run_at(s, start), at + 1))
        if not self.border(self.at):
            self.at = start
            self.found.pop()
            last = self.cluster_end(max(identifiers.run_at(s, start), at))
            self.exact("unread", start, max(last, at + 1))
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
        if mark >= low and s[mark] in SIGNS and (mark == start - 1 or s[start - 1] in " \n"):
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
        alone = follow == "" or (follow in " \n" and size > 2 and not s[end + 1 : end + 2].isdigit())
        if alone and s[at] != "0" and self.prev.lower() not in dates.OPENING and before not in tuple("+("):
            return False
        if size == 4 and follow in "-/":
            date = dates.iso_at(s, at)
            if date is not None and self.dated((date,)):
                return True
        if size <= 2 and self.months and self.dated(dates.day_first_at(s, at)):
            return True
        if (s[start] in "+(0" or s[at] == "0" or before == "(" or (follow in "-. " and size in (1, 3))) and (
            self._phone(start, at, before)
        ):
            return True
        if size <= 2 and self._time(at):
            return True
        if follow == ".":
            last = identifiers.dotted_at(s, at)
            if last is not None and self.border(last):
                amount = digits_at(s, at, None)
                if amount is None or amount.end < last:
                    self.exact("identifier", at, last)
                    return True
        return self._shaped(at, follow)

    def _shaped(self, at: int, follow: str) -> bool:
        s = self.s
        if follow and follow in "snrt:":
            found = _ORDINAL.match(s, at)
            if found is not None:
                self.ordinal(canonical(found[1]), at, found.end())
                return True
        if follow and follow in "s'-":
            found = _DECADE.match(s, at)
            if found is not None:
                self.exact("identifier", at, found.end(), found.group().replace("'", ""))
                return True
        if not _SIZED.match(s, at):
            return False
        sized = identifiers.dimension_at(s, at)
        if sized is not None and self.border(sized[0]):
            self.exact("identifier", at, sized[0], sized[1])
            return True
        found = _FACTOR.match(s, at)
        if found is not None and self.border(found.end()):
            self.factor(canonical(found[1].replace(",", ".")), at, found.end())
            return True
        return False

    def dated(self, read: "tuple[dates.Date, ...]") -> bool:
        """Add dates when the last of them ends at a border (a time may follow)."""
        if not read:
            return False
        end = read[-1].end
        if not self.border(end) and not (self.s[end : end + 1] == " " and _CLOCK.match(self.s, end + 1)):
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
            self.put("date", value, date.start, date.end, ((f"d {value}",),), tuple(gives), (value,))
        self.chain.clear()
        return True

    def _phone(self, start: int, at: int, before: str) -> bool:
        s = self.s
        called = self.prev.lower() in identifiers.CALLS and at - self.prev_end <= 2
        first = at - 1 if before == "(" else start
        found = identifiers.phone_at(s, first, called)
        if found is None and first != at:
            first, found = at, identifiers.phone_at(s, at, called)
        if found is None or not self.border(found[0]):
            return False
        key = f"ph {found[1]}"
        self.put("phone", found[1], first, found[0], ((key,),), (key,), (found[1],))
        return True

    def _time(self, at: int) -> bool:
        s = self.s
        hint = self.prev.lower() in dates.OPENING and at - self.prev_end <= 2
        if not hint and not _TIMELY.match(s, at):
            return False
        span = dates.time_range_at(s, at)
        if span is not None and self.border(span[0]) and not self._money_follows(span[0]):
            end, low, high = span
            both = (f"r t {low} {high}", f"t {low}", f"t {high}")
            self.put(
                "range",
                f"{clock(str(low))}-{clock(str(high))}",
                at,
                end,
                ((both[0],),),
                both,
                (str(low), str(high)),
            )
            return True
        if hint and self.prev.lower() in ("kl", "klockan") and self._hours(at):
            return True
        time = dates.time_at(s, at)
        if time is None or not self.border(time.end):
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
        self.put("time", clock(str(time.seconds)), at, time.end, needs, gives, (str(time.seconds),))
        return True

    def _hours(self, at: int) -> bool:
        """Read `9-17` after "kl": whole hours."""
        found = _HOURS.match(self.s, at)
        if found is None or not self.border(found.end()) or self._money_follows(found.end()):
            return False
        low, high = int(found[1]), int(found[2])
        if high > 24 or low >= high:
            return False
        both = (f"r t {low * 3600} {high * 3600}", f"r n {low} {high}")
        gives = (*both, f"t {low * 3600}", f"t {high * 3600}", f"n {low}", f"n {high}")
        value = f"{clock(str(low * 3600))}-{clock(str(high * 3600))}"
        self.put("range", value, at, found.end(), ((both[0],), (both[1],)), gives, (str(low), str(high)))
        return True

    def _money_follows(self, end: int) -> bool:
        """Tell whether a unit, currency or percent makes a number of what looked like a time."""
        probe = suffix(self.s, Amount(end, ("0",)))
        return probe.sort != "n" or probe.shift != 0
