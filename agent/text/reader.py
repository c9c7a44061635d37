"""What every row of the number rule stands on: the text and how far it is read, borders, and adding tokens.

Borders decide what is one token. Between two digit runs with no letter, no blank line and no punctuation beside
a space lies none, so a row that stops there has not read its token whole, and the token stays unread.
"""

import re

from . import identifiers
from .layout import Lines, without_markers
from .normalise import SEAM, plain
from .tokens import KIND, Amount, Key, Kind, Needs, Token, amount_gives, amount_needs, show

_BETWEEN = (
    rf"(?:(?:\n(?:> ?){{1,8}}|[ \n])?(?:[.,:;'/\\|*{SEAM}]++)?|[^\w\s\\]*+\\[a-zA-Z]{{1,20}}[^\w\s]*+|[^\w\s]*+"
    r"|[^\w\s]*+_[^\w\s]*+)(?=\d)"
)
_TOUCH = re.compile(_BETWEEN)
_CLUSTER = re.compile(rf"\w*+(?:{_BETWEEN}\w++)*+")
_GLUED = re.compile(r"[\w○◯⭕⚪●‱]|-[A-Z]|[@^#]\w")
_LABEL = re.compile(r"[^\W\d_]{3,20} \d{1,3}")
_LETTER = re.compile(r"[^\W\d_]")
_HOURLY = re.compile(r"(?:[01]?\d|2[0-4])\.(?:00|15|30|45)")
_LISTED = re.compile(r"(, )|,? (?:and|or|och|eller|&) ")
_LONE = re.compile(r"\d{1,3}[.,]\d{3}(?!\d)")


class Reader:
    """One text, read from left to right: `at` is how far tokens reach, `found` what was read."""

    __slots__ = (
        "_lines",
        "at",
        "chain",
        "found",
        "months",
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
        self.chain: list[tuple[int, Amount, int, int]] = []
        self.months = True
        self._lines: Lines | None = None

    def look(self, at: int) -> None:
        """Find the word that ends at most two characters before `at`: `prev`, `prev_start`, `prev_end`."""
        self.prev, self.prev_start, self.prev_end = self.word_before(at)

    def word_before(self, at: int) -> tuple[str, int, int]:
        """Return the word that ends at most two characters before `at` and its offsets, or ("", -1, -1)."""
        s = self.s
        end = at
        for _ in range(2):
            if end and not s[end - 1].isalpha():
                end -= 1
        start = end
        while start and s[start - 1].isalpha():
            start -= 1
        return (s[start:end], start, end) if start < end else ("", -1, -1)

    # Adding tokens

    def put(
        self, kind: Kind, value: str, start: int, end: int, needs: Needs, gives: tuple[Key, ...],
        amounts: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """Add a token over plain offsets; an answer's keeps its needs, a source's what it gives."""
        first, last = start, end
        if self.plain.maps:
            first, last = self.plain.origin(start, end)
            if self.found and first < self.found[-1].end:  # both lie in one repair
                first = self.found[-1].end
                last = max(first, last)
        if self.source:
            needs = ()
        else:
            gives = ()
        self.found.append(Token(self.text[first:last], kind, value, first, last, needs, gives, amounts))
        self.at = max(end, self.at)

    def exact(self, kind: Kind, start: int, end: int, value: str | None = None) -> None:
        """Add a token that only the same characters support."""
        value = self.s[start:end] if value is None else value
        key = f"id {value.casefold()}"
        self.put(kind, value, start, end, ((key,),), (key,), (value,))
        self.chain.clear()

    def unread(self, start: int, at: int) -> None:
        """Take everything that touches the digits at `at` as one token that no row reads."""
        found = _CLUSTER.match(self.s, at)
        end = max(found.end() if found is not None else at + 1, at + 1)
        run = identifiers.run_at(self.s, at)
        kind: Kind = "unread"
        if run >= end and _LETTER.search(self.s, start, run):
            end, kind = run, "identifier"
        self.exact(kind, start, end)

    def cluster_end(self, at: int) -> int:
        """Return where what touches the characters at `at` ends."""
        found = _CLUSTER.match(self.s, at)
        return found.end() if found is not None else at

    def symbol(self, text: str, start: int, end: int) -> None:
        """Add characters of numeric value that no row reads."""
        key = f"sym {text}"
        self.put("symbol", text, start, end, ((key,),), (key,))

    def url(self, start: int, end: int, url: str) -> None:
        """Add a URL: it supports itself, and each segment of its path supports itself."""
        parts = identifiers.segments(url.partition("://")[2])
        gives = [f"id {url.casefold()}", *(f"id {part.casefold()}" for part in parts)]
        gives += (f"n {part}" for part in parts if part.isdecimal() and part[0] != "0")
        self.put("identifier", url, start, end, ((gives[0],),), tuple(gives), tuple(parts))

    def ordinal(self, value: str, start: int, end: int) -> None:
        """Add an ordinal; it is supported by value."""
        needs = ((f"o {value}",), (f"n {value}",))
        self.put("ordinal", value, start, end, needs, (f"o {value}", f"n {value}"), (value,))
        self.chain.clear()

    def factor(self, value: str, start: int, end: int) -> None:
        """Add a factor; only the same factor supports it."""
        self.put("factor", value, start, end, ((f"x {value}",),), (f"x {value}",), (value,))
        self.chain.clear()

    def amount(self, amount: Amount, start: int) -> None:
        """Add an amount; a unit is also given to the bare numbers listed before it."""
        needs = () if self.source else amount_needs(amount)
        gives = amount_gives(amount) if self.source else ()
        if gives and amount.sort == "n" and _HOURLY.fullmatch(self.s, start, amount.end):
            gives = tuple([key for key in gives if key[:2] != "b "])  # perhaps an hour: no count of anything
        self.put(KIND[amount.sort], show(amount), start, amount.end, needs, gives, amount.values)
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
        same = Amount(earlier.end, earlier.values, earlier.same, unit.sort, unit.unit)
        needs = () if self.source else amount_needs(same)
        gives = (*token.gives, *amount_gives(same)) if self.source else ()
        self.found[index] = Token(
            token.text, KIND[unit.sort], show(same), token.start, token.end, needs, gives, token.amounts
        )

    # Borders

    def border(self, end: int) -> bool:
        """Tell whether a token that ends at `end` ends at a border."""
        s = self.s
        if end >= len(s):
            return True
        if _GLUED.match(s, end):
            return False
        if s[end - 1].isalpha() or (s[end - 2] == "^" and s[end - 3].isalpha()):
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

    def swedish(self, at: int) -> bool | None:
        """Return the language of the line, asked only when a lone separator may stand here."""
        if not _LONE.match(self.s, at):
            return None
        if self._lines is None:
            self._lines = Lines(self.s)
        return self._lines.swedish(at)
